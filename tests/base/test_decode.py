"""Threads that read a type for the first time at the same time; and text that is out to harm."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.journeys.command import process, run
from tests.story import WORKDAY, Claude, chat
from wakebook import Memory
from wakebook.base.decode import decode, loads
from wakebook.capture.hosts import HOSTS

DEEP = "[" * 100_000
RACE = """
from __future__ import annotations
import sys, threading, types
from wakebook.base.decode import convert, decode

DEFINED = '''
from __future__ import annotations
import msgspec
class Leaf(msgspec.Struct):
    words: list[str] = []
class Twig(msgspec.Struct):
    {leaves}
class Tree(msgspec.Struct):
    {twigs}
'''
leaves = "; ".join(f"leaf{n}: dict[str, Leaf] | None = None" for n in range(12))
twigs = "; ".join(f"twig{n}: list[Twig] | None = None" for n in range(12))
sys.setswitchinterval(1e-6)
for number in range(30):
    module = sys.modules[f"fresh{number}"] = types.ModuleType(f"fresh{number}")
    exec(DEFINED.format(leaves=leaves, twigs=twigs), vars(module))
    start = threading.Barrier(6)
    raw = {"twig5": [{"leaf11": {"a": {"words": ["b"]}}}]}
    read = []

    def work(module=module, start=start, read=read):
        start.wait()
        read.append(decode(b'{"twig5": [{"leaf11": {"a": {"words": ["b"]}}}]}', module.Tree))
        read.append(convert(raw, module.Tree))

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(read) == 12 and all(one == read[0] for one in read)
"""


def test_threads_may_be_the_first_to_read_a_type() -> None:
    """msgspec alone crashes the process here."""
    done = subprocess.run([sys.executable, "-c", RACE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("text", [DEEP, '{"a":' * 100_000, DEEP + "]" * 100_000])
def test_what_is_nested_too_deeply_is_broken_like_anything_else(text: str) -> None:
    with pytest.raises(msgspec.DecodeError, match="deeply"):
        decode(text.encode(), dict[str, Any] if text[0] == "{" else Any)
    with pytest.raises(ValueError, match="deeply"):
        loads(text)


def test_no_utf_8_and_no_number() -> None:
    with pytest.raises(msgspec.DecodeError, match="UTF-8"):
        decode(b'"\xff"', str)
    with pytest.raises(ValueError, match="NaN is no number"):
        loads("[NaN]", strict=True)


@pytest.mark.parametrize("text", [DEEP, '{"type":"user","message":' + DEEP])
def test_a_deeply_nested_last_line_without_an_end_stops_nothing(
    memory: Memory, projects: Path, text: str
) -> None:
    """It is what a session looks like to `catch-up --close`, `audit` and `status`."""
    chat(Claude(projects), WORKDAY).torn(text)
    home = ("--home", str(memory.home.root))
    run(*home, "catch-up", "--close")
    run(*home, "status", "--sessions")
    run(*home, "status")
    assert any("Postgres" in entry.content for entry in memory.opened.chains().entries)


def test_a_deeply_nested_line_in_any_of_our_own_files_is_no_traceback(memory: Memory) -> None:
    root = memory.home.root
    memory.remember("One.", subject="tidepool")
    for name in ("log.jsonl", "trace.jsonl", "waiting.jsonl", "feedback.jsonl", "costs/x.jsonl"):
        (root / name).parent.mkdir(exist_ok=True)
        with (root / name).open("a") as stream:
            stream.write(DEEP)
    home = ("--home", str(root))
    run(*home, "status", code=1)
    run(*home, "subjects", "rename", "tidepool", "rockpool")
    assert Memory(root).remember("Two.").content == "Two."
    assert DEEP in (root / "log.torn").read_text()


def test_every_host_reads_such_a_file_without_an_error(tmp_path: Path, memory: Memory) -> None:
    for name in HOSTS:
        path = tmp_path / f"{name}.jsonl"
        path.write_text(f"{DEEP}\n{DEEP}")
        with pytest.raises(Exception, match="no session in a known format"):
            memory.catch_up([path])


def test_a_terminal_that_is_not_utf_8_gets_escapes(memory: Memory) -> None:
    memory.remember("Łódź — 你好 😀")
    home = ("--home", str(memory.home.root))
    for words in (["wake"], ["wake"], ["log", "--json"]):  # the second one is short cut
        done = process(*home, *words, PYTHONIOENCODING="ascii")
        assert (done.code, done.err) == (0, b"")
    assert loads(done.out)[0]["content"] == "Łódź — 你好 😀"


def test_on_windows_it_says_that_it_does_not_run_there() -> None:
    code = "import sys; sys.platform = 'win32'; sys.argv = ['wakebook']; import wakebook"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert "does not run on Windows" in done.stderr and "WSL" in done.stderr
