"""The kill loop: kill -9 at random steps, 200 times, and an identical log in the end.

    python bench/kills.py [--kills 200] [--seed 1]

Two conversations take turns, with pauses that cut them into windows; everything that is said
in them is there from the start. `catch-up` is run again and again in a process of its own that
dies by SIGKILL at a random step that touches the disk (half-way through it, if it is a write),
until one gets through. Then the log, the transcripts and the subjects are compared byte by
byte with those of a home that was never disturbed, and it begins again with a fresh home.
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
        os.environ |= {"HOME": folder, "WAKEBOOK_NOW": "2026-11-20T08:00:00Z"}
        projects = Path(folder) / ".claude" / "projects" / "-home-mira-tidepool"
        projects.mkdir(parents=True)
        _talk(projects)
        reference = home(Path(folder) / "undisturbed")
        reference.catch_up()
        whole = contents(reference)
        steps: Counter[int] = Counter()
        homes = different = 0
        while steps.total() < chosen.kills:
            homes += 1
            memory = home(Path(folder) / f"killed-{homes}")
            while run_and_die(
                lambda at=memory.home.root: Memory(at).catch_up(),  # type: ignore[misc]
                step := chance.randint(1, 60),
            ):
                steps[step] += 1
            different += contents(memory) != whole
        entries = whole["log.jsonl"].count(b"\n")
        print(__doc__.strip(), "\n")
        print(f"killed {steps.total()} times, at {len(steps)} different steps, in {homes} homes")
        print(f"a log of {entries} entries, {len(whole) - 2} transcripts and the subjects:")
        print("byte for byte identical in all of them" if not different else f"{different} DIFFER")
        sys.exit(1 if different else 0)


def _talk(projects: Path) -> None:
    """Eight days of two sessions that take turns, morning and evening."""
    talks = [Claude(projects, f"{n}e551011-0000-4000-8000-00000000000{n}") for n in (1, 2)]
    turns = WORKDAY + NEXT_DAY
    for part in range(16):
        talk = talks[part % 2]
        talk.at = datetime(2026, 11, 9 + part // 2, 8 + 9 * (part % 2), tzinfo=UTC)
        for number in range(4):
            role, text = turns[(part * 4 + number) % len(turns)]
            talk.user(f"{text} ({part})") if role == "user" else talk.agent(text)


if __name__ == "__main__":
    main()
