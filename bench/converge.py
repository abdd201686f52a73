"""Three machines that sync through one remote, and whether they come to the same memory.

    python bench/converge.py [--operations 10000] [--seed 1] [--kills 0.1] [--sealed]

Each operation is one of: remember, correct, finish a task, forget, rename a subject, write into a
note, edit a block, read a conversation (the same on two machines, or another one), change a
setting, sync, and a sync that is killed by SIGKILL at a random step. Clocks are off by up to three
days, and some remotes refuse for a while. At the end every machine syncs until nothing moves, and
all files (log, subjects, receipts, notes, conversations) are compared byte by byte, with the
answers to a few searches. Entries that were remembered and never forgotten must be there, those
that were forgotten nowhere.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.crash import run_and_die
from tests.story import NEXT_DAY, WORKDAY, Claude, chat

from wakebook import Memory
from wakebook.base.errors import GitError, WakebookError
from wakebook.base.home import PREFIX, TRACKED

MACHINES = ("desk", "laptop", "server")
BEGIN = datetime(2026, 3, 2, 9, tzinfo=UTC)
NOUNS = "pump heron gauge ledger buoy lantern signal anchor".split()
STEPS = 60  # at which a sync may be killed
QUESTIONS = ("Which port does the pump use?", "heron", "What is open?")


class Fleet:
    """Some machines with one remote."""

    def __init__(self, folder: Path, seed: int, *, sealed: bool = False) -> None:
        self.folder, self.chance = folder, random.Random(seed)
        self.remote = folder / "remote.git"
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", self.remote], check=True)
        self.hours, self.done, self.sealed = 0, Counter[str](), sealed
        self.kept: dict[str, str] = {}  # entries that must be there, by id
        self.forgotten: dict[str, str] = {}
        self.off = dict(zip(MACHINES, (0, 3 * 24, -2 * 24), strict=True))  # hours of each clock
        self.projects = {name: folder / name / "sessions" for name in MACHINES}
        self.sessions: list[Path] = []
        key = ""
        for name in MACHINES:
            memory = self.memory(name)
            memory.init()
            (memory.home.root / "machine.toml").write_text('[schedule]\nsync = ""\n')
            memory = self.memory(name)
            if key:
                memory.sync.key(key)
            memory.sync.add(str(self.remote), name=name, sealed=sealed)
            key = memory.sync.key() if sealed else ""

    def memory(self, name: str) -> Memory:
        """A machine's memory, with its own clock."""
        moment = BEGIN + timedelta(hours=self.hours + self.off[name])
        os.environ["WAKEBOOK_NOW"] = moment.isoformat().replace("+00:00", "Z")
        return Memory(self.folder / name / "home")

    def operate(self, kills: float = 0.0) -> None:
        self.hours += self.chance.choice((0, 0, 1, 5))
        name = self.chance.choice(MACHINES)
        verbs: list[Callable[[str], None]] = [
            *[self.remember] * 6,
            *[self.correct] * 3,
            *[self.sync] * 4,
            self.finish,
            self.forget,
            self.rename,
            self.write,
            self.edit,
            self.read,
            self.set,
        ]
        verb = self.chance.choice(verbs)
        if verb == self.sync and self.chance.random() < kills:
            verb = self.killed
        verb(name)
        self.done[verb.__name__] += 1

    # --- what people do ----------------------------------------------------------------

    def remember(self, name: str) -> None:
        noun, number = self.chance.choice(NOUNS), self.chance.randint(1000, 9999)
        kind = self.chance.choice(("fact", "decision", "task", "question"))
        text = f"The {noun} uses port {number} on {name}"
        subject = noun if self.chance.random() < 0.5 else ""
        entry = self.memory(name).remember(text, type_=kind, subject=subject)
        self.kept[entry.id] = text

    def correct(self, name: str) -> None:
        memory = self.memory(name)
        entries = [one for one in memory.log.chains().current() if one.type != "handoff"]
        if entries:
            old = self.chance.choice(entries)
            number = self.chance.randint(1000, 9999)
            text = f"It uses port {number} now, says {name}"
            self.kept[memory.remember(text, replaces=[old.id]).id] = text

    def finish(self, name: str) -> None:
        memory = self.memory(name)
        tasks = [one for one in memory.log.chains().still_open.values() if one.type == "task"]
        if tasks:
            old = self.chance.choice(tasks)
            done = memory.remember(old.content, type_="task", status="done", replaces=[old.id])
            self.kept[done.id] = old.content

    def forget(self, name: str) -> None:
        memory = self.memory(name)
        known = [key for key in self.kept if key in memory.log.chains().by_id]
        if known:
            gone = self.chance.choice(known)
            memory.forget([gone])
            self.forgotten[gone] = self.kept.pop(gone)

    def rename(self, name: str) -> None:
        memory = self.memory(name)
        known = [one.slug for one, _ in memory.log.subjects()]
        if known:
            new = f"{self.chance.choice(NOUNS)}-{self.chance.randint(1, 9)}"
            try:
                memory.log.rename_subject(self.chance.choice(known), new, merge=True)
            except WakebookError:
                self.done["refused"] += 1

    def write(self, name: str) -> None:
        path = self.memory(name).home.root / "knowledge" / "identity" / "USER.md"
        lines = path.read_text().splitlines()
        at = self.chance.randint(lines.index("---", 1) + 1, len(lines))
        lines.insert(at, f"Line {self.chance.randint(1, 10**6)} of {name}.")
        path.write_text("\n".join(lines) + "\n")

    def edit(self, name: str) -> None:
        notes = sorted((self.memory(name).home.root / "knowledge").rglob("*.md"))
        path = self.chance.choice(notes)
        path.write_text(path.read_text() + f"\nA word of {name}: {self.chance.randint(1, 10**6)}\n")

    def read(self, name: str) -> None:
        memory = self.memory(name)
        folder = self.projects[name] / "-home-mira-tidepool"
        folder.mkdir(parents=True, exist_ok=True)
        number = self.chance.randint(1, 4)  # few: so that two machines read the same
        talk = Claude(folder, f"{number}e551011-0000-4000-8000-00000000000{number}")
        if not talk.path.exists():
            chat(talk, WORKDAY if number % 2 else NEXT_DAY)
        memory.catch_up([folder], closing=True)

    def set(self, name: str) -> None:
        memory = self.memory(name)
        days = self.chance.randint(1, 60)
        text = memory.home.config.read_text()
        kept = [line for line in text.splitlines() if not line.startswith("active_days")]
        at = kept.index("[briefing]") + 1
        memory.home.config.write_text(
            "\n".join([*kept[:at], f"active_days = {days}", *kept[at:]]) + "\n"
        )

    def sync(self, name: str) -> None:
        refuses = self.chance.random() < 0.05
        hook = self.remote / "hooks" / "pre-receive"
        if refuses:
            hook.write_text("#!/bin/sh\nexit 1\n")
            hook.chmod(0o755)
        try:
            self.memory(name).sync()
        except GitError:
            assert refuses, name
        finally:
            hook.unlink(missing_ok=True)

    def killed(self, name: str) -> None:
        memory = self.memory(name)
        run_and_die(lambda: memory.sync(), self.chance.randint(1, STEPS))

    # --- whether they agree --------------------------------------------------------------

    def settle(self, most: int = 8) -> int:
        """Sync until nothing moves. How many rounds it took."""
        for number in range(1, most + 1):
            moved = False
            for name in MACHINES:
                done = self.memory(name).sync()
                moved = moved or bool(done.received or done.sent or done.changed or done.gone)
            if not moved:
                return number
        raise AssertionError(f"still moving after {most} rounds")

    def files(self, name: str) -> dict[str, bytes]:
        root = self.folder / name / "home"
        found: dict[str, bytes] = {}
        for top in TRACKED:
            path = root / top
            paths = sorted(path.rglob("*")) if path.is_dir() else [path]
            found |= {
                one.relative_to(root).as_posix(): one.read_bytes()
                for one in paths
                if one.is_file() and not one.name.startswith(PREFIX)
            }
        return found

    def differences(self) -> list[str]:
        """What is not as it should be."""
        found: list[str] = []
        sides = {name: self.files(name) for name in MACHINES}
        first = sides[MACHINES[0]]
        for name, files in sides.items():
            odd = sorted(
                key for key in files.keys() | first.keys() if files.get(key) != first.get(key)
            )
            found += [f"{name}: {key} differs" for key in odd]
            log = files["log.jsonl"].decode()
            ids = [line.split('"')[3] for line in log.splitlines()]
            found += [f"{name}: {key} stands twice" for key, n in Counter(ids).items() if n > 1]
            found += [
                f"{name}: {key} is lost ({self.kept[key]})" for key in self.kept.keys() - set(ids)
            ]
            found += [f"{name}: {key} is back" for key in self.forgotten.keys() & set(ids)]
            for key, data in files.items():
                if b"<<<<<<< " in data or b">>>>>>> " in data:
                    found.append(f"{name}: {key} has marks of a merge")
        self.off = dict.fromkeys(MACHINES, 0)
        answers = [
            [[hit.ref for hit in self.memory(name).search(q, limit=5).hits] for q in QUESTIONS]
            for name in MACHINES
        ]
        found += [] if answers.count(answers[0]) == len(answers) else [f"answers differ: {answers}"]
        return found


def play(folder: Path, seed: int, operations: int, kills: float, *, sealed: bool = False) -> Fleet:
    """A fleet after so many operations, settled."""
    fleet = Fleet(folder, seed, sealed=sealed)
    for _ in range(operations):
        fleet.operate(kills)
    fleet.settle()
    return fleet


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--operations", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kills", type=float, default=0.2, help="share of syncs that are killed")
    parser.add_argument("--each", type=int, default=250, help="operations of one fleet")
    parser.add_argument("--sealed", action="store_true")
    chosen = parser.parse_args()
    print(__doc__.strip(), "\n")
    total, wrong = Counter[str](), 0
    for number in range(max(1, chosen.operations // chosen.each)):
        with tempfile.TemporaryDirectory() as folder:
            os.environ |= {"HOME": folder, "GIT_CONFIG_GLOBAL": os.devnull}
            seed = chosen.seed + number
            fleet = play(Path(folder), seed, chosen.each, chosen.kills, sealed=chosen.sealed)
            found = fleet.differences()
            total += fleet.done
            wrong += len(found)
            print(f"seed {seed}: {'agree' if not found else found[:5]}", flush=True)
    print(", ".join(f"{count:,} {name}" for name, count in total.most_common()))
    print(f"{total.total():,} operations, {wrong} differences")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
