"""The kill loop: kill -9 at random steps, 200 times, and an identical log in the end.

    python bench/kills.py [--kills 200] [--seed 1]

A conversation goes on, a message at a time. After each message `catch_up` is run in a
process of its own that dies by SIGKILL at a random step that touches the disk (half-way
through it, if it is a write). When enough processes have died, one more catch-up runs to the
end, and the log, the transcripts and the subjects are compared byte by byte with those of a
home that was never disturbed.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.crash import run_and_die
from tests.story import NEXT_DAY, WORKDAY, Claude

from wakebook import Memory


def home(folder: Path) -> Memory:
    memory = Memory(folder)
    memory.init()
    memory.home.config.write_text("[git]\nenabled = false\n")
    return Memory(folder)


def contents(memory: Memory) -> dict[str, bytes]:
    root = memory.home.root
    files = [memory.home.log, memory.home.subjects, *memory.home.conversations.rglob("*.md")]
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in files}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    chance = random.Random(chosen.seed)
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"HOME": folder, "WAKEBOOK_NOW": "2026-11-09T17:55:00Z"}
        projects = Path(folder) / ".claude" / "projects" / "-home-mira-tidepool"
        projects.mkdir(parents=True)
        talk = Claude(projects)
        talk.at = datetime(2026, 11, 9, 12, 0, tzinfo=UTC)
        memory = home(Path(folder) / "killed")
        steps: Counter[int] = Counter()
        runs = 0
        turns = WORKDAY + NEXT_DAY
        while steps.total() < chosen.kills:
            role, text = turns[runs % len(turns)]
            talk.user(f"{text} ({runs})") if role == "user" else talk.agent(text)
            runs += 1
            step = chance.randint(1, 40)
            if run_and_die(lambda: Memory(memory.home.root).catch_up(), step):
                steps[step] += 1
        Memory(memory.home.root).catch_up(closing=True)
        reference = home(Path(folder) / "undisturbed")
        reference.catch_up(closing=True)
        killed, whole = contents(memory), contents(reference)
        entries = whole["log.jsonl"].count(b"\n")
        print(__doc__.strip(), "\n")
        print(f"runs {runs}, killed {steps.total()} times, at {len(steps)} different steps")
        print(f"log of {entries} entries, byte for byte: {_same(killed, whole, 'log.jsonl')}")
        print(f"transcripts and subjects: {'identical' if killed == whole else 'DIFFERENT'}")
        sys.exit(0 if killed == whole else 1)


def _same(one: dict[str, bytes], other: dict[str, bytes], name: str) -> str:
    return "identical" if one[name] == other[name] else "DIFFERENT"


if __name__ == "__main__":
    main()
