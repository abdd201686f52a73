"""What a hook costs: the whole process `wakebook hook`, against `python -c pass`, in one run.

    python bench/hooks.py [--entries 10000] [--runs 40] [--json]

cpu     user + system time of the process that the host starts, its minimum over the runs: what the
        machine does beside it does not count. Without the service a child of it does the work:
        that is in the wall time of what the host waits for, not here
wall    from the start of the process to its end, the median
x pass  cpu, as a multiple of `python -c pass` of the same interpreter
mcp     `wakebook mcp`, from the start of the process to its answer to initialize
A home with that many entries; a service that has answered before. Every SessionStart is of a
session of its own; the prompts are of one session, each about something else. Nothing is left to
do from the event before. Hooks are run as `wakebook init --host` writes them down for a host.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from bench.turns import home, words

from wakebook.hosts import lock, wiring
from wakebook.memory import Memory
from wakebook.upkeep.jobs import ORDER

NOW = "2026-11-09T08:00:00Z"
AIM = 1.3  # times `python -c pass`, with the service up
EVENTS = ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd", "PreCompact")


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--entries", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args(argv)
    os.environ |= {"WAKEBOOK_NOW": NOW, "WAKEBOOK_OFFLINE": "1"}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        os.environ["HOME"] = folder
        root = Path(folder) / "home"
        home(root, asked.entries)
        rows = measured(root, transcript(Path(folder)), asked.runs)
    if asked.json:
        print(json.dumps(rows, indent=2))
        return
    print(__doc__.strip(), "\n")
    print("| process | cpu ms | wall ms | x pass |\n|---|---|---|---|")
    for row in rows:
        print(f"| {row['process']} | {row['cpu']} | {row['wall']} | {row['x pass']} |")
    print(f"\naim with the service up: {AIM:g} x pass at most")


def measured(root: Path, transcript: Path, runs: int) -> list[dict[str, Any]]:
    bare = timed("python -c pass", [[sys.executable, "-c", "pass"]] * runs, [b""] * runs)
    rows = [bare]
    with service(root):
        for event in EVENTS:
            times(root, transcript, event, 3)  # it has answered before
            rows.append(times(root, transcript, event, runs, ", service up"))
    for event in EVENTS:
        rows.append(times(root, transcript, event, max(runs // 4, 3), ", alone"))
    rows.append(_mcp(root, max(runs // 2, 3)))
    for row in rows:
        row["x pass"] = round(row["cpu"] / bare["cpu"], 2)
    return rows


def _mcp(root: Path, runs: int) -> dict[str, Any]:
    command = [sys.executable, "-P", "-m", "wakebook", "mcp", "--home", str(root)]
    client = {"name": "bench", "version": "1"}
    asked = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": asked}
    cpu, wall = [], []
    for _ in range(runs):
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
            assert running.stdin and running.stdout
            running.stdin.write(json.dumps(hello).encode() + b"\n")
            running.stdin.flush()
            assert b"protocolVersion" in running.stdout.readline()
            wall.append(time.perf_counter() - began)
            running.stdin.close()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    return {
        "process": "mcp, until initialize is answered",
        "cpu": round(min(cpu) * 1000, 1),
        "wall": round(statistics.median(wall) * 1000, 1),
    }


def hook(root: Path, event: str) -> list[str]:
    quick = wiring.where(Memory(root), "claude-code").hook
    return [*quick, "claude-code", event, "--home", str(root)]


def times(root: Path, transcript: Path, event: str, runs: int, how: str = "") -> dict[str, Any]:
    command = hook(root, event)
    chance = random.Random(event)
    told = [
        {
            "session_id": _session(event, how, run, transcript),
            "transcript_path": str(transcript),
            "hook_event_name": event,
            "prompt": f"{words(chance, 6)}?",
            "source": "startup",
        }
        for run in range(runs)
    ]
    inputs = [json.dumps(one).encode() for one in told]
    if event == "UserPromptSubmit":  # as in a session that has begun
        subprocess.run(hook(root, "SessionStart"), input=inputs[0], capture_output=True)
    return timed(f"{event}{how}", [command] * runs, inputs, root / ".cache")


def _session(event: str, how: str, run: int, transcript: Path) -> str:
    known = {"PreCompact": transcript.stem, "UserPromptSubmit": f"prompts{how}"}
    return known.get(event, f"{event}{how}{run}")


def timed(
    name: str, commands: list[list[str]], inputs: list[bytes], cache: Path | None = None
) -> dict[str, Any]:
    cpu, wall = [], []
    for command, data in zip(commands, inputs, strict=True):
        if cache:
            lock.wait(str(cache), 20.0)
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run(command, input=data, capture_output=True)
        wall.append(time.perf_counter() - began)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert done.returncode == 0, done.stderr
        cpu.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    return {
        "process": name,
        "cpu": round(min(cpu) * 1000, 1),
        "wall": round(statistics.median(wall) * 1000, 1),
    }


@contextmanager
def service(root: Path) -> Iterator[None]:
    config = root / "config.toml"
    text = config.read_text()
    if 'observe = ""' not in text:  # no job is due meanwhile
        off = "".join(f'{name} = ""\n' for name in ORDER)
        config.write_text(text.replace("[schedule]\n", f"[schedule]\n{off}"))
    command = [sys.executable, "-m", "wakebook", "serve", "--port", "0", "--home", str(root)]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while not (root / ".cache" / "service.json").exists():
            assert running.poll() is None, "the service has ended"
            time.sleep(0.05)
        yield
    finally:
        running.terminate()
        running.wait()


def transcript(folder: Path) -> Path:
    """A short session of Claude Code."""
    path = folder / ".claude" / "projects" / "-home-mira-tidepool" / "5b1e.jsonl"
    path.parent.mkdir(parents=True)
    said = [("user", "We decided to use Postgres for the ledger."), ("assistant", "Noted.")]
    lines = [
        {
            "type": role,
            "uuid": f"u{number}",
            "sessionId": path.stem,
            "timestamp": f"2026-11-09T07:5{number}:00Z",
            "cwd": "/home/mira/tidepool",
            "message": {"role": role, "content": text},
        }
        for number, (role, text) in enumerate(said)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


if __name__ == "__main__":
    assert shutil.which("git"), "git is needed"
    main()
