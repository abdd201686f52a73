"""How fast the notes follow the log, and how fast everything is read again.

    python bench/notes.py [--sizes 500,5000,50000] [--transcripts 1000] [--runs 7] [--json]

full          all notes written from the log alone, in a process of its own: seconds, files, and
              the most memory that it had
10 new        ten new entries (a session about five subjects) are in the log; the notes that they
              belong to are written. Median wall time of `--runs` times, in milliseconds:
              running   in a process that goes on (a watch, a server)
              new       in a new process, from its first import to the last write, without the
                        start of Python itself; `least` is the least of them
              all sizes by turns, so that other work on the machine meets all of them
files         that those ten entries changed
50,000 : 5,000  the median of the larger over that of the smaller: 1 is independent of the size
rebuild       `wakebook rebuild --extractor rules` of so many archived conversations, from the
              first one read to the commit on the branch; entries lost or gained should be 0

Two series. In `longer` only the log's length differs: ten entries a day, a subject for every
hundred entries, 40 open ones; 50,000 entries are 14 years. In `larger` everything grows: all of it
within one year and over 500 subjects, with one entry in a hundred open.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

NOW = datetime(2026, 11, 9, 8, tzinfo=UTC)
WORDS = (
    "retry queue billing launch webhook invoice staging harbour voucher design mooring permit "
    "schema latency backup ferry sensor budget contract release"
).split()
NAMES = "Ylva Jonas Petra Tomas Marta Ines Henrik Oona Pavel Greta Bruno Leonie".split()
MIX: dict[tuple[Any, Any], int] = {  # type and kind -> how many of a hundred
    ("fact", None): 34,
    ("decision", None): 18,
    ("task", None): 18,
    ("fact", "lesson"): 10,
    ("handoff", None): 8,
    ("fact", "event"): 5,
    ("question", None): 3,
    ("fact", "preference"): 3,
    ("fact", "relationship"): 1,
}
UPDATE = """
import sys, time
began = time.perf_counter()
from wakebook import Memory
done = Memory(sys.argv[1]).notes(full=sys.argv[2] == "full")
seconds = time.perf_counter() - began
most = next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]
print(seconds, len(done.written), most)
"""


class Shape(NamedTuple):
    """A log: how many entries, over how many days and subjects, and how many are open."""

    entries: int
    days: float
    subjects: int
    open: int
    long: bool  # subjects come and go, as they do over years


def longer(count: int) -> Shape:
    return Shape(count, count / 10, max(5, count // 100), 40, True)


def larger(count: int) -> Shape:
    return Shape(count, 365, 500, count // 100, False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="500,5000,50000")
    parser.add_argument("--transcripts", type=int, default=1000, help="0: no rebuild")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    sizes = [int(size) for size in chosen.sizes.split(",")]
    os.environ["WAKEBOOK_NOW"] = NOW.isoformat()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HOME"] = folder
        homes = [
            Prepared(shape.__name__, Path(folder) / f"{shape.__name__}-{size}", shape(size))
            for shape in (longer, larger)
            for size in sizes
        ]
        for _ in range(chosen.runs):  # by turns: other work on the machine meets all of them
            for home in homes:
                home.update()
        rows = [home.row() for home in homes]
        again = rebuild(Path(folder), chosen.transcripts) if chosen.transcripts else {}
    if chosen.json:
        print(json.dumps({"notes": rows, "rebuild": again}, indent=2))
        return
    print(__doc__.strip(), "\n")
    _print(rows)
    for name, value in {**ratios(rows), **again}.items():
        print(f"{name:58} {value}")


def _print(rows: list[dict[str, Any]]) -> None:
    names = list(rows[0])
    print(" | ".join(names))
    print(" | ".join("---" for _ in names))
    for row in rows:
        print(" | ".join(f"{row[name]:,}" if name != "series" else row[name] for name in names))
    print()


def ratios(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The larger of the last two sizes over the smaller, for each series."""
    found: dict[str, Any] = {}
    for series in dict.fromkeys(row["series"] for row in rows):
        sizes = [row for row in rows if row["series"] == series]
        if len(sizes) < 2:
            continue
        small, large = sizes[-2:]
        for where in ("running", "new"):
            name = f"{series}, {where}: {large['entries']:,} : {small['entries']:,}"
            found[name] = round(large[f"10 {where}, ms"] / small[f"10 {where}, ms"], 2)
            found[f"{name}, by the least"] = round(
                large[f"{where}, least"] / small[f"{where}, least"], 2
            )
    return found


# --- projecting ---------------------------------------------------------------------------


class Prepared:
    """A home with a log of this shape and its notes, and what was measured in it."""

    def __init__(self, series: str, root: Path, shape: Shape) -> None:
        from wakebook import Memory
        from wakebook.log import log
        from wakebook.log.subjects import Registry, Subject, save

        self._series, self._root, self._shape = series, root, shape
        self._memory = memory = Memory(root)
        memory.init()
        chance = random.Random(shape.entries)
        entries = _entries(chance, shape)
        names = sorted({entry.subject for entry in entries if entry.subject})
        with memory.home.locked():
            save(memory.home, Registry({one: Subject(one, one, _kind(one)) for one in names}))
            log.append(memory.home, entries)
        self._subjects = len(names)
        self._full = _process(root, "full")
        recent = names[-5:] if shape.long else chance.sample(names, 5)
        self._add = _ten(chance, memory, recent)
        self._running: list[float] = []
        self._new: list[tuple[float, float, float]] = []
        self._files = 0
        self._add()
        memory.notes.update()  # the first time imports

    def update(self) -> None:
        self._add()
        began = time.perf_counter()
        self._files = len(self._memory.notes.update().written)
        self._running.append(time.perf_counter() - began)
        self._add()
        self._new.append(_process(self._root, "changed"))

    def row(self) -> dict[str, Any]:
        new = [one[0] for one in self._new]
        return {
            "series": self._series,
            "entries": self._shape.entries,
            "subjects": self._subjects,
            "open": self._shape.open,
            "full, s": round(self._full[0], 1),
            "full, files": int(self._full[1]),
            "full, MB": round(self._full[2] / 1024),
            "10 running, ms": round(statistics.median(self._running) * 1000, 1),
            "running, least": round(min(self._running) * 1000, 1),
            "10 new, ms": round(statistics.median(new) * 1000, 1),
            "new, least": round(min(new) * 1000, 1),
            "new, MB": round(max(one[2] for one in self._new) / 1024),
            "files": self._files,
        }


def _process(root: Path, what: str) -> tuple[float, float, float]:
    """Seconds, files written and kilobytes of a new process that writes the notes."""
    command = [sys.executable, "-c", UPDATE, str(root), what]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    seconds, files, memory = map(float, done.stdout.split())
    return seconds, files, memory


def _kind(name: str) -> str:
    """Of five subjects three are projects."""
    number = int(name.rpartition("-")[2])
    return {3: "person", 4: "system"}.get(number % 5, "project")


def _entries(chance: random.Random, shape: Shape) -> list[Any]:
    """A log in order of time."""
    step = timedelta(days=shape.days) / shape.entries
    made: list[Any] = []
    for number in range(shape.entries):
        place = number * shape.subjects // shape.entries
        slot = place - chance.randint(0, 4) if shape.long else chance.randrange(shape.subjects)
        subject = f"subject-{max(0, slot) + 1:03}"
        at = NOW - timedelta(hours=3) - step * (shape.entries - number)
        is_open = shape.entries - number <= shape.open * 3 and number % 3 == 0
        made.append(_entry(chance, number, at, subject, is_open, made))
    return made


def _entry(
    chance: random.Random, number: int, at: datetime, subject: str, is_open: bool, made: list[Any]
) -> Any:
    from wakebook.log.entry import Entry, derived_id

    type_, kind = chance.choices(list(MIX), list(MIX.values()))[0]
    if is_open:
        type_, kind = ("question", None) if number % 4 == 0 else ("task", None)
    elif type_ == "question":  # of those that are open, there is a number
        type_ = "decision"
    words = " ".join(chance.choices(WORDS, k=chance.randint(6, 16)))
    lead = f"{chance.choice(NAMES)} is our {words}" if kind == "relationship" else words
    old = made[-chance.randint(1, min(len(made), 60))] if made and chance.random() < 0.12 else None
    replaces = (old.id,) if old and old.type == type_ and old.status != "open" else ()
    return Entry(
        id=derived_id("bench", "entry", str(number)),
        timestamp=at.replace(second=0, microsecond=0),
        type=type_,
        kind=kind,
        status=("open" if is_open else "done") if type_ == "task" else None,
        content=f"{lead[0].upper()}{lead[1:]} {number}",
        detail=" ".join(chance.choices(WORDS, k=8)) if chance.random() < 0.4 else "",
        subject="" if kind in ("preference", "relationship") else subject,
        session=f"session-{number // 8}",
        replaces=replaces,
    )


def _ten(chance: random.Random, memory: Any, subjects: list[str]) -> Callable[[], None]:
    """A function that adds ten entries of now to the log."""
    from wakebook.log import log

    count = 0

    def add() -> None:
        nonlocal count
        made: list[Any] = []
        for place in range(10):
            number = 10_000_000 + count * 10 + place
            made.append(_entry(chance, number, NOW, subjects[place // 2], False, made))
        count += 1
        with memory.home.locked():
            log.append(memory.home, made)

    return add


# --- rebuilding -----------------------------------------------------------------------------


def rebuild(folder: Path, count: int) -> dict[str, Any]:
    from tests import year

    from wakebook import Memory

    os.environ["WAKEBOOK_NOW"] = "2027-01-02T08:00:00Z"
    memory = Memory(folder / "rebuild")
    memory.init()
    for talk in year.year(sessions=count):
        year.Session(folder / ".claude" / "projects", talk).until()
    began = time.perf_counter()
    memory.catch_up()
    read = time.perf_counter() - began
    began, used = time.perf_counter(), time.process_time()
    built = memory.rebuilds.build()
    seconds, busy = time.perf_counter() - began, time.process_time() - used
    assert built.done is not None
    tally = memory.rebuilds.compare(built.name).comparison.total
    return {
        "transcripts": len(built.done.plan.transcripts),
        "entries": built.done.entries,
        "the first reading, with a commit for each, s": round(read, 1),
        "rebuild by rules, s (aim: under 60)": round(seconds, 1),
        "of it, CPU of its process, s": round(busy, 1),
        "entries gained and lost": f"{tally.added} and {tally.lost}",
    }


if __name__ == "__main__":
    main()
