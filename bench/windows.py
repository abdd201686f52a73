"""Measure how long a window of 3,000 messages takes from a transcript to its entries and handoff.

    python bench/windows.py --data FOLDER [--than WAKEBOOK] [--only NAME]

Each window is one transcript, read by `catch-up --close` into a home of its own: `users`, messages
of LongMemEval's invented users in no project; `project`, what people say in one place (500 of the
messages, most with something to keep; the others are the agent's); `friends`, LoCoMo, as if in a
project. Printed are processor seconds on one thread, as a multiple of `python -c pass`, since
machines differ; `--than` gives another `wakebook` to run beside it, and how many times as long
this one takes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))
sys.path.insert(1, str(Path(__file__).parents[1]))

from bench import labelled

MOST = 3000
BARE = 25  # starts of Python, each of which is but a few ticks of the clock
WORKS = 4  # messages of the agent at work, after its answer
OURS = Path(sys.executable).with_name("wakebook")
Said = tuple[str, str]  # role, text


def users(data: Path) -> Iterator[Said]:
    raw = labelled.longmemeval(data)
    for name, turns in raw.sessions.items():
        if not name.startswith(("share", "ultra")):  # these tell of nobody's life
            yield from ((turn["role"], turn["content"]) for turn in turns)


def project(_: Path) -> Iterator[Said]:
    for talk in labelled.lines("talks"):
        for one in talk["messages"]:
            yield "user", one["text"]
            yield "assistant", one.get("reply") or "I looked at it and changed what you asked for."
            for step in range(WORKS):
                yield "assistant", f"Reading the next file, step {step}. 12 passed."


def friends(data: Path) -> Iterator[Said]:
    for one in json.loads((data / "locomo" / "locomo5.json").read_text("utf-8")):
        talk, number = one["conversation"], 1
        while f"session_{number}" in talk:
            for turn in talk[f"session_{number}"]:
                first = turn["speaker"] == talk["speaker_a"]
                yield "user" if first else "assistant", turn["text"]
            number += 1


WINDOWS = {"users": (users, ""), "project": (project, "/work/x"), "friends": (friends, "/work/x")}


def written(folder: Path, said: Iterator[Said], cwd: str) -> tuple[Path, int]:
    """A transcript of the messages, and how many there are."""
    at, path = datetime(2026, 3, 1, tzinfo=UTC), folder / "window.jsonl"
    head = {"session": "window"} | ({"cwd": cwd} if cwd else {})
    lines = [json.dumps(head)]
    for role, text in islice(said, MOST):
        at += timedelta(seconds=20)
        lines.append(json.dumps({"role": role, "content": text, "timestamp": at.isoformat()}))
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path, len(lines) - 1


def seconds(*command: str | Path, home: Path) -> float:
    """Of processor time, on one thread."""
    names = {"HOME": str(home), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    before = os.times()
    subprocess.run(command, check=True, env=os.environ | names, cwd=home, stdout=subprocess.DEVNULL)
    after = os.times()
    used = after.children_user + after.children_system
    return used - before.children_user - before.children_system


def read(wakebook: Path, transcript: Path) -> float:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "memory"
        seconds(wakebook, "init", "--home", home, home=Path(folder))
        close = ("catch-up", "--close", "--home", home, transcript)
        return seconds(wakebook, *close, home=Path(folder))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="with longmemeval/ and locomo/")
    parser.add_argument("--than", type=Path, help="another wakebook to run beside this one")
    parser.add_argument("--only", choices=WINDOWS, help="one of the windows")
    args = parser.parse_args()
    for name, (said, cwd) in WINDOWS.items():
        if args.only in (None, name):
            with tempfile.TemporaryDirectory() as folder:
                path, count = written(Path(folder), said(args.data), cwd)
                starts = [
                    seconds(sys.executable, "-c", "pass", home=Path(folder)) for _ in range(BARE)
                ]
                bare = sum(starts) / BARE
                begun, took = time.monotonic(), read(OURS, path)
                wall = time.monotonic() - begun
                print(f"{name:8} {count:,} messages: {took:.1f} s of processor time", end="")
                print(
                    f", {took / bare:,.0f} times `python -c pass`, {wall:.1f} s in all",
                    end="",
                )
                than = took / read(args.than, path) if args.than else 0.0
                print(f", {than:.1f} times {args.than}" if than else "", flush=True)


if __name__ == "__main__":
    main()
