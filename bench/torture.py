"""Torture: kill, fill and break at every step; nothing is lost, nothing twice, all of it heals.

    python bench/torture.py [--minutes 10] [--seed N] [--only NAME,...] [--every [N]]

Each piece of work (catch-up, index, tick, review, remember, forget, erase, rebuild, import, sync
with another machine) runs in a child process in a copy of a home. At a random system call of
Python, SQLite or git (or, with --every, at each one in turn) the process dies by SIGKILL, or a call
fails with EIO, or the disk is full from there on, or only half is written. The work is done again,
mostly with the next fault, until it gets through. Then the home must hold what an undisturbed one
holds: each entry once, closed transcripts unchanged, every line valid, git sound; and `doctor`
finds no failure. After a sync both machines and the remote must agree.

Besides: clocks that jump, eight writers beside the service, mutated lines of every format, and
requests over HTTP and MCP that are made from the table of verbs.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests import homes
from tests.story import NEXT_DAY, WORKDAY, Claude, chat
from tests.upkeep.erasing import holding

from bench import faulty, fuzz
from wakebook import Memory
from wakebook.base.errors import NotFound
from wakebook.log import log

NOW = "2026-11-20T08:00:00Z"
PARROT = "The parrot of the lighthouse keeper is called Quillfeather."
NOTE = "knowledge/projects/tidepool/progress.md"
DESK, LAPTOP = "desk", "laptop"
LOCKED = 423  # the writers have kept the service waiting for too long
KILLS = 40  # in one home, at most, before the work may end
HEALED = ("ok", "note", "warn")


class Work(NamedTuple):
    """A piece of work: how a home for it is made, what is done, and what must be true then."""

    make: Callable[[Bed, Path], None]
    do: Callable[[Bed, Path], object]
    check: Callable[[Bed, Path, Path], None]  # with the undisturbed home
    place: str = ""  # of the home, in a folder that holds more


class Bed:
    """The folder of everything, the conversations in it, and the tally."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.seed, self.chance = folder, seed, random.Random(seed)
        self.tally: Counter[str] = Counter()
        self.failures: list[str] = []
        self.layer = faulty.Layer()
        self.export = folder / "notes.md"
        self.export.write_text("# Decisions\n" + "".join(f"- Rule {n} holds.\n" for n in range(9)))
        projects = folder / "user" / ".claude" / "projects" / "-home-mira-tidepool"
        projects.mkdir(parents=True)
        _talk(projects)

    def copy(self, pattern: Path) -> Path:
        root = self.folder / "home"
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(pattern, root, symlinks=True)
        return root


def _talk(projects: Path) -> None:
    """Two sessions that take turns for three days."""
    talks = [Claude(projects, f"{n}e551011-0000-4000-8000-00000000000{n}") for n in (1, 2)]
    for part in range(4):
        talk = talks[part % 2]
        talk.at = datetime(2026, 11, 9 + part // 2, 8 + 9 * (part % 2), tzinfo=UTC)
        chat(talk, WORKDAY if part % 2 else NEXT_DAY)


def entries(root: Path) -> Counter[tuple[str, str, str]]:
    reading = log.read(Memory(root).home)
    assert not reading.bad, f"log.jsonl: {reading.bad}"
    ids = [one.id for one in reading.entries]
    assert len(ids) == len(set(ids)), "an id stands in the log twice"
    return Counter((one.type, one.subject, one.content) for one in reading.entries)


def conversations(root: Path) -> dict[str, bytes]:
    found = sorted((root / "raw" / "conversations").rglob("*.md"))
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in found}


# --- the work ------------------------------------------------------------------------------
def _fresh(bed: Bed, root: Path) -> None:
    homes.made(root)


def _quiet(bed: Bed, root: Path) -> None:
    homes.made(root).home.config.write_text("[git]\nenabled = false\n")


def _read(bed: Bed, root: Path) -> None:
    memory = homes.made(root)
    memory.catch_up(closing=True)
    memory.remember(PARROT, subject="tidepool")
    memory.remember("Someone has to paint the pier.", type_="task", subject="tidepool")
    memory.index.sync()
    memory.history.commit()


def _edited(bed: Bed, root: Path) -> None:
    _read(bed, root)
    path = root / NOTE
    path.write_text(path.read_text().replace("paint the pier", "paint the pier and the boat"))


def _rebuilt(bed: Bed, root: Path) -> None:
    """A work tree knows where it lies, so this one is built in place."""
    _read(bed, root)


def _same(bed: Bed, root: Path, whole: Path) -> None:
    here, there = entries(root), entries(whole)
    assert here == there, f"more: {here - there}, less: {there - here}"
    assert conversations(root) == conversations(whole), "other transcripts than undisturbed"


def _index(bed: Bed, root: Path, whole: Path) -> None:
    _same(bed, root, whole)
    found = [hit.ref for hit in Memory(root).search("Quillfeather").hits]
    assert len(found) >= 1 and len(found) == len(set(found)), f"search finds {found}"


def _drop_index(bed: Bed, root: Path) -> None:
    _read(bed, root)
    for path in root.glob("index.db*"):
        path.unlink()


def _remember(bed: Bed, root: Path) -> None:
    Memory(root).remember(f"Thing {os.urandom(6).hex()} was said.")


def _remembered(bed: Bed, root: Path, whole: Path) -> None:
    """What a killed one was to keep is there once or not at all; the last one is there."""
    found = entries(root)
    new = Counter({one: count for one, count in found.items() if one[2].startswith("Thing ")})
    assert max(new.values()) == 1, f"twice: {new}"
    assert 1 <= len(new) <= KILLS + 1, f"{len(new)} new ones"
    assert (found - new).total() == entries(whole).total() - 1, "others are gone"


def _forget(bed: Bed, root: Path) -> None:
    memory = Memory(root)
    wanted = [one.id for one in log.read(memory.home).entries if one.content == PARROT]
    with suppress(NotFound):
        memory.forget(wanted) if wanted else memory.notes.update()


def _erase(bed: Bed, root: Path) -> None:
    memory = Memory(root)
    if memory.eraser.finish() is None:
        memory.eraser.erase("Quillfeather")


def _erased(bed: Bed, root: Path, whole: Path) -> None:
    assert entries(root) == entries(whole), "other entries than undisturbed"
    left = holding(root, "Quillfeather")
    assert not left, f"still in {left}"


def _rebuild(bed: Bed, root: Path) -> None:
    memory = Memory(root)
    with suppress(NotFound):  # merged, and removed: then there is nothing left to do
        if not memory.rebuilds._site("again").merged():
            memory.rebuilds.build(branch="again")
        memory.rebuilds.merge("again")


def _rebuilds(bed: Bed, root: Path, whole: Path) -> None:
    _same(bed, root, whole)
    assert Memory(root).rebuilds.listed() == [], "a rebuild is left"


def _machines(sealed: bool) -> Callable[[Bed, Path], None]:
    """Two machines that have learned different things. One has pushed them, the other has not."""

    def made(bed: Bed, root: Path) -> None:
        remote = root / "remote.git"
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", remote], check=True)
        _read(bed, root / DESK)
        _by_hand(root / DESK)
        desk = Memory(root / DESK)
        desk.sync.add(str(remote), name=DESK, sealed=sealed)
        laptop = Memory(root / LAPTOP)
        laptop.sync.clone(str(remote), name=LAPTOP, key=desk.sync.key() if sealed else "")
        _by_hand(root / LAPTOP)
        laptop = Memory(root / LAPTOP)
        _forget(bed, root / LAPTOP)
        for memory in (desk, laptop):
            name = memory.home.root.name
            memory.remember(f"The {name} has a lamp.", subject="tidepool")
            note = memory.home.root / NOTE
            note.write_text(f"{note.read_text()}\nThe {name} was here.\n")
        laptop.sync()

    return made


def _by_hand(root: Path) -> None:
    """No sync that starts by itself: it would run on beside the faults."""
    (root / "machine.toml").write_text('[schedule]\nsync = ""\n')


def _agree(bed: Bed, root: Path, whole: Path) -> None:
    """Both machines and the remote have the same files, and all that an undisturbed sync has."""
    for name in (LAPTOP, DESK, LAPTOP):
        Memory(root / name).sync()
    _same(bed, root / DESK, whole / DESK)
    trees = [_tree(root / name) for name in (DESK, LAPTOP)]
    assert trees[0] == trees[1], f"the machines differ: {trees}"
    assert Memory(root / LAPTOP).sync.standing().agree, "the remote says that they differ"
    waiting = Memory(root / DESK).history.git().waiting()
    assert not waiting, f"not committed: {waiting}"


def _tree(root: Path) -> str:
    told = subprocess.run(
        ["git", "-C", str(root), "rev-parse", "HEAD^{tree}"], capture_output=True, text=True
    )
    return told.stdout.strip()


def _sync(bed: Bed, root: Path) -> None:
    Memory(root / DESK).sync()


WORK = {
    "catch-up": Work(_quiet, lambda bed, root: Memory(root).catch_up(closing=True), _same),
    "catch-up with git": Work(_fresh, lambda bed, root: Memory(root).catch_up(closing=True), _same),
    "index": Work(_drop_index, lambda bed, root: Memory(root).index.sync(), _index),
    "tick": Work(_read, lambda bed, root: Memory(root).tick(), _same),
    "review": Work(_edited, lambda bed, root: Memory(root).notes.accept(), _same),
    "remember": Work(_fresh, _remember, _remembered),
    "forget": Work(_read, _forget, _same),
    "erase": Work(_read, _erase, _erased),
    "rebuild": Work(_rebuilt, _rebuild, _rebuilds),
    "import": Work(_fresh, lambda bed, root: Memory(root).import_("markdown", bed.export), _same),
    "sync": Work(_machines(False), _sync, _agree, DESK),
    "sync sealed": Work(_machines(True), _sync, _agree, DESK),
}


# --- faults --------------------------------------------------------------------------------
class Bench:
    """One piece of work with its pattern, the undisturbed home, and how many calls it makes."""

    def __init__(self, bed: Bed, name: str) -> None:
        self.bed, self.name, self.work = bed, name, WORK[name]
        self.pattern = bed.folder / f"{name}.pattern"
        self.whole = bed.folder / f"{name}.whole"
        root = bed.folder / "home"  # a home always lies in the same place: states know where
        shutil.rmtree(root, ignore_errors=True)
        self.work.make(bed, root)
        shutil.copytree(root, self.pattern, symlinks=True)
        done = self._run(root, 0, faulty.COUNT)
        assert not done.crash and not done.error, f"{name}: {done.crash or done.error}"
        self.steps = done.steps or 60
        shutil.move(root, self.whole)

    def _run(self, root: Path, at: int, mode: int) -> faulty.Ended:
        here = root / self.work.place
        return self.bed.layer.run(lambda: self.work.do(self.bed, root), here, at, mode)

    def trial(self, mode: str, only: int = 0) -> None:
        """Faults in one home until the work gets through, and then a look at it. `only`: one fault,
        at this call."""
        bed, chance = self.bed, self.bed.chance
        root = bed.copy(self.pattern)
        places: list[int] = []
        for _ in range(KILLS if mode == "kill" and not only else 1):
            at = only or chance.randint(1, self.steps)
            done = self._run(root, at, faulty.MODES[mode])
            places.append(at)
            bed.tally[f"{self.name}: {mode}"] += done.died if mode == "kill" else 1
            if done.crash:
                self._failed(mode, places, done.crash)
                return
            _age_locks(root)
            if not done.died:
                break
        try:
            self._finish(root)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
            self._failed(mode, places, f"{type(error).__name__}: {error}")

    def _finish(self, root: Path) -> None:
        self.work.do(self.bed, root)
        self.work.check(self.bed, root, self.whole)
        root /= self.work.place
        ill = [one for one in Memory(root).doctor(quick=True) if one.state not in HEALED]
        assert not ill, f"doctor: {ill}"
        if (root / ".git").is_dir():
            done = subprocess.run(
                ["git", "-C", str(root), "fsck", "--no-dangling", "--no-progress"],
                capture_output=True, text=True,
            )  # fmt: skip
            assert done.returncode == 0, f"git fsck: {done.stderr}{done.stdout}"

    def _failed(self, mode: str, places: list[int], why: str) -> None:
        said = f"{self.name}, {mode} at {places} of {self.steps}: {why[-1500:]}"
        self.bed.failures.append(said)
        print("FAILED", said, flush=True)  # and once more at the end


def _age_locks(root: Path) -> None:
    """As if a minute had passed since git was killed."""
    for path in root.glob("**/.git/**/*.lock"):
        with suppress(OSError):
            os.utime(path, (0, 0))


# --- other trouble ---------------------------------------------------------------------------
def clocks(bed: Bed, until: float) -> None:
    """The clock jumps by hours to years, forwards and back, between catch-ups and ticks."""
    root = bed.folder / "home"
    while time.monotonic() < until and bed.tally["clocks: jumps"] < 200:
        shutil.rmtree(root, ignore_errors=True)
        _quiet(bed, root)
        for _ in range(5):
            at = datetime.fromtimestamp(bed.chance.uniform(1.0e9, 2.5e9), UTC)
            os.environ["WAKEBOOK_NOW"] = at.isoformat()
            Memory(root).catch_up()
            Memory(root).tick()
            bed.tally["clocks: jumps"] += 1
        os.environ["WAKEBOOK_NOW"] = NOW
        Memory(root).catch_up(closing=True)
        if not entries(root):
            bed.failures.append("clocks: nothing was learned")


def writers(bed: Bed) -> None:
    """Eight processes and the service write to one home: everything is there, once."""
    from tests.service import serving

    root = bed.folder / "home"
    shutil.rmtree(root, ignore_errors=True)
    _quiet(bed, root)
    children = []
    with serving.serving(root) as service:
        for number in range(8):
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    for count in range(20):
                        Memory(root).remember(f"Writer {number} says {count}.")
                    code = 0
                finally:
                    os._exit(code)
            children.append(child)
        for count in range(20):
            said = {"text": f"The service says {count}."}
            while service.ask("/v1/remember", said).status == LOCKED:  # it says to try again
                bed.tally["writers: tries that found it locked"] += 1
        codes = [os.waitpid(child, 0)[1] for child in children]
    found = Counter({one: count for one, count in entries(root).items() if " says " in one[2]})
    bed.tally["writers: entries"] += len(found)
    if len(found) != 180 or any(codes) or max(found.values()) > 1:
        bed.failures.append(f"writers: {len(found)} of 180 entries, codes {codes}")


def schedule(bed: Bed, benches: list[Bench], every: int) -> Iterator[None]:
    """Each call in turn (or each Nth: N seeds one after the other reach all of them) where that is
    asked for; else faults at random."""
    modes = list(faulty.MODES) if bed.layer.has_library else ["kill"]
    if every:
        for bench in benches:
            first = 1 + bed.seed % every
            for step in range(first, bench.steps + 1, every):
                bench.trial("kill", step)
                yield
            print(f"{bench.name}: {first} to {bench.steps} by {every}, to the end", flush=True)
        return
    while True:
        for bench in benches:
            bench.trial(bed.chance.choice(["kill", "kill", *modes]))
            yield


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0, help="0: another one each time")
    parser.add_argument("--only", default="", help=f"some of {', '.join(WORK)}, fuzz")
    parser.add_argument(
        "--every", type=int, nargs="?", const=1, default=0, metavar="N",
        help="one kill at each call in turn, or at each Nth",
    )  # fmt: skip
    parser.add_argument("--lines", type=int, default=100_000, help="mutated, of each format")
    chosen = parser.parse_args()
    why = faulty.prepare()
    seed = chosen.seed or random.SystemRandom().randint(1, 1 << 30)
    print(f"seed {seed}" + (f" ({why})" if why else ""), flush=True)
    only = [name for name in chosen.only.split(",") if name]
    began = time.monotonic()
    until = began + chosen.minutes * 60
    shm = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="wakebook-torture-", dir=shm) as folder:
        user = Path(folder) / "user"
        user.mkdir()
        os.environ |= {
            "HOME": str(user), "WAKEBOOK_NOW": NOW, "WAKEBOOK_OFFLINE": "1",
            "GIT_CONFIG_NOSYSTEM": "1", "GIT_CEILING_DIRECTORIES": folder,
            "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "maintenance.auto",
            "GIT_CONFIG_VALUE_0": "false",
        }  # fmt: skip
        bed = Bed(Path(folder), seed)
        names = [name for name in WORK if not only or name in only]
        benches = [Bench(bed, name) for name in names]
        print(*(f"{one.name}: {one.steps} calls" for one in benches), sep="\n", flush=True)
        rest = not only or "fuzz" in only
        share = 0.75 if rest else 1.0  # of the time, for the faults
        for _ in schedule(bed, benches, chosen.every) if benches else ():
            if time.monotonic() > began + (until - began) * share:
                break
        if rest:
            clocks(bed, time.monotonic() + (until - time.monotonic()) * 0.2)
            writers(bed)
            fuzz.everything(bed, chosen.lines, until)
    for one in bed.failures:
        print("FAILED", one)
    for name, count in sorted(bed.tally.items()):
        print(f"{count:>8,}  {name}")
    kills = sum(count for name, count in bed.tally.items() if name.endswith(": kill"))
    seconds = time.monotonic() - began
    print(f"{kills:,} kills in {seconds:.0f} s, {len(bed.failures)} failures, seed {seed}")
    sys.exit(1 if bed.failures else 0)


if __name__ == "__main__":
    main()
