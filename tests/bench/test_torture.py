"""The test bed of faults itself: a few seconds of it, with a fixed seed."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from bench.fuzz import mutated, patterns_of

from wakebook.capture.hosts import HOSTS
from wakebook.capture.read import Reader
from wakebook.capture.state import Session

BENCH = Path(__file__).resolve().parents[2] / "bench" / "torture.py"


def test_a_few_kills_with_a_fixed_seed() -> None:
    words = ["--minutes", "0.02", "--seed", "7", "--only", "remember"]
    done = subprocess.run(
        [sys.executable, str(BENCH), *words], capture_output=True, text=True, env=dict(os.environ)
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "seed 7" in done.stdout and " 0 failures" in done.stdout
    assert "remember: " in done.stdout


@pytest.mark.parametrize("name", HOSTS)
def test_a_line_of_any_shape_is_read_past(tmp_path: Path, name: str) -> None:
    chance, patterns = random.Random(11), patterns_of(name)
    path = tmp_path / "fuzzed.jsonl"
    path.write_bytes(b"".join(mutated(chance, chance.choice(patterns)) + b"\n" for _ in range(400)))
    session = Session(host=name, id="fuzzed", path=path, size=path.stat().st_size)
    assert sum(1 for _ in Reader(session, 0, 1 << 20, closing=True)) >= 0


def test_a_result_that_is_no_text_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    block = '{"type":"tool_result","tool_use_id":"t","content":1e3}'
    path.write_text(
        '{"type":"user","uuid":"u","sessionId":"s","timestamp":"2026-11-09T08:00:00Z",'
        f'"message":{{"role":"user","content":[{block}]}}}}\n'
    )
    session = Session(host="claude-code", id="s", path=path, size=path.stat().st_size)
    assert [*Reader(session, 0, 1 << 20, closing=True)] == []
