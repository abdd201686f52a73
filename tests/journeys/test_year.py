"""A year of work through every job: the home stays small, and nothing open is ever lost."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

import pytest

from tests import year
from tests.history.test_git import git
from tests.journeys.command import run, run_json
from wakebook import Memory
from wakebook.base import markdown
from wakebook.log.entry import Entry
from wakebook.notes.book import NOTHING
from wakebook.notes.page import NoteLine
from wakebook.notes.why import made_lines
from wakebook.upkeep.jobs import Ran

SETTINGS = """
[schedule]
time_zone = "Europe/Lisbon"
briefing = "30 1 * * *"
[embedding]
provider = "none"
"""
HOLIDAY = range(212, 222)  # ten days on which the machine is off
PRUNED = 234  # the Sunday after MEMORY.md has become too long
OWN = "\nThis I wrote myself, between two sessions.\n\n- and it stays: «as it is»  \n"
MINE = "\n## Mine\n" + "- one of my lines\n" * 115
PINNED = "The harbour master answers on channel 12"
SUNDAY = 6


class Diary:
    """Somebody's home through the year, with a clock that is moved by hand."""

    def __init__(self, root: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root
        self._folder = folder
        self._environment = monkeypatch
        self.ran: list[Ran] = []
        self.ticks: list[datetime] = []  # in the user's time zone
        self.own: dict[str, str] = {}  # what a person wrote -> where it stood at first
        self.cited = ""  # the day of a journal that a person refers to
        self._going_on: list[year.Session] = []
        self.at(datetime(2026, 1, 1, 7, tzinfo=UTC)).init()
        (root / "config.toml").write_text(SETTINGS)
        self.memory = Memory(root)

    def at(self, moment: datetime) -> Memory:
        self._environment.setenv("WAKEBOOK_NOW", moment.astimezone(UTC).isoformat())
        return Memory(self.root)

    def tick(self, moment: datetime) -> list[Ran]:
        self.at(moment)
        self._going_on = [one for one in self._going_on if not one.until(moment)]
        done = self.memory.tick()
        assert not [ran for ran in done if ran.outcome != "ok"], done
        self.ticks.append(moment.astimezone(year.ZONE))
        self.ran += done
        return done

    def begins(self, talk: year.Talk) -> None:
        """A session: what is said in it by then is there at every tick."""
        self._going_on.append(year.Session(self._folder, talk))

    def slots(self, job: str) -> list[date]:
        return [ran.slot.date() for ran in self.ran if ran.job == job and ran.slot]

    # --- what a person does by hand ------------------------------------------------------

    def writes(self, path: str, text: str) -> None:
        """Somebody adds their own words at the end of a note, or makes one."""
        file = self.root / path
        before = file.read_text() if file.exists() else ""
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(before + text)
        self.own[text] = path

    def replaces(self, path: str, old: str, new: str) -> None:
        file = self.root / path
        assert old in file.read_text()
        file.write_text(file.read_text().replace(old, new, 1))
        if self.own.pop(old, ""):
            self.own[new] = path

    # --- what the home looks like ----------------------------------------------------------

    def notes(self) -> dict[str, bytes]:
        return {
            path.relative_to(self.root).as_posix(): path.read_bytes()
            for top in ("knowledge", "archive")
            for path in sorted((self.root / top).rglob("*.md"))
        }

    def blocks(self) -> Iterator[tuple[Path, markdown.Block]]:
        for name in self.notes():
            text = (self.root / name).read_text()
            for block in markdown.names(text):
                there = markdown.block(text, block)
                assert there is not None and not there.edited, f"{name}#{block}"
                yield self.root / name, there

    def block(self, path: str, name: str) -> tuple[str, ...]:
        there = markdown.block((self.root / "knowledge" / path).read_text(), name)
        return there.lines if there else ()


def local(day: date, hour: int, minute: int) -> datetime:
    return datetime.combine(day, time(hour, minute), year.ZONE)


@pytest.fixture
def diary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Diary:
    folder = Path.home() / ".claude" / "projects"
    return Diary(Path.home() / ".wakebook", folder, monkeypatch)


def test_a_year_of_work(diary: Diary) -> None:
    live_through(diary)
    every_job_ran_when_it_should(diary)
    old_journals_are_archived(diary)
    nothing_is_lost(diary)
    every_line_says_why(diary)
    history_is_whole(diary)
    notes_from_nothing_are_the_same(diary)
    a_rebuild_is_the_same(diary)


# --- the year -------------------------------------------------------------------------------


def live_through(diary: Diary) -> None:
    talks: dict[date, list[year.Talk]] = {}
    for talk in year.year(quiet=HOLIDAY):
        talks.setdefault(talk.day, []).append(talk)
    assert sum(map(len, talks.values())) == year.SESSIONS
    for number in range(year.DAYS):
        day = year.FIRST + timedelta(days=number)
        for talk in talks.get(day, ()):
            diary.begins(talk)
        for moment in moments(number, day, len(talks.get(day, ()))):
            if "daily" in [ran.job for ran in diary.tick(moment)]:
                within_caps(diary, day)
        by_hand(diary, number)
    diary.tick(local(day + timedelta(days=1), 9, 0))


def moments(number: int, day: date, sessions: int) -> Iterator[datetime]:
    """When somebody ticks: in the last minute of a day on which something happens."""
    if number in HOLIDAY:
        return
    if day in (year.SPRING, year.AUTUMN):  # around the hour that is missing or comes twice
        begin = local(day, 0, 0).astimezone(UTC)
        yield from (begin + timedelta(minutes=minutes) for minutes in (45, 85, 105, 155))
    back = number == HOLIDAY[-1] + 1
    if back:
        yield local(day, 8, 0)
    if sessions > 3 or number == PRUNED:  # half of them are read while they go on
        yield local(day, 12, 37)
    if sessions or back or day.weekday() == SUNDAY or day.day == 1:
        yield local(day, 23, 59)


def within_caps(diary: Diary, day: date) -> None:
    """What holds whenever the jobs of a day have run."""
    notes = diary.memory.config.notes
    memory = (diary.root / "knowledge/memory/MEMORY.md").read_text()
    assert len(memory.splitlines()) <= notes.memory_cap, day
    briefing = markdown.block(memory, markdown.BRIEFING)
    assert briefing is None or len(briefing.lines) <= 80, day
    if (diary.root / "knowledge/memory/observations.md").exists():
        observed = diary.block("memory/observations.md", "observations")
        told = [line.removeprefix("- ") for line in observed if line.startswith("- ")]
        assert sum(len(line.split()) for line in told) <= notes.observations_words, day
    for path in (diary.root / "knowledge/journal").glob("*.md"):
        lines = diary.block(f"journal/{path.name}", "journal")
        assert len(lines) <= notes.journal_lines, (day, path.name)


def by_hand(diary: Diary, number: int) -> None:
    """What a person does on some evenings."""
    memory = diary.memory
    if number == 30:
        memory.remember(PINNED, pinned=True)
        memory.remember("Renew the passport", type_="task", status="open")
        diary.cited = min(path.stem for path in (diary.root / "knowledge/journal").iterdir())
        diary.writes("knowledge/reference/ideas.md", f"# Ideas{OWN}See [[{diary.cited}]].\n")
        diary.writes("knowledge/projects/lantern/notes.md", f"{OWN}Mind the lamps.\n")
    if number == 50:
        memory.log.rename_subject("lantern", "lighthouse")
    if number == 70:
        fact = memory.remember("The office rent is 900 euros", subject="tidepool", pinned=True)
        memory.remember("The office rent is 950 euros", subject="tidepool", replaces=[fact.id])
        memory.remember("Is there a berth for the ferry?", type_="question", subject="tidepool")
    if number == 110:
        diary.writes("knowledge/projects/orchard/context.md", f"{OWN}Cider first.\n")
    if number == 155:
        memory.log.rename_subject("orchard", "brightwork", merge=True)
    if number == 190:
        edit_and_accept(diary)
    if number == 230:  # MEMORY.md gets long, so that its generated part has to shrink
        diary.writes("knowledge/memory/MEMORY.md", MINE)
    if number == 330:
        diary.replaces("knowledge/memory/MEMORY.md", MINE, "\n## Mine\nShorter now.\n")


def edit_and_accept(diary: Diary) -> None:
    """Somebody corrects a line and ticks a task in the note itself, and adds a line."""
    path = "knowledge/projects/tidepool/progress.md"
    lines = diary.block("projects/tidepool/progress.md", "progress")
    tasks = [line for line in lines if line.startswith("- [ ]")]
    diary.replaces(path, tasks[0], tasks[0].replace("- [ ]", "- [x]"))
    diary.replaces(path, tasks[1], f"{tasks[1]}\n- [ ] Paint the fence behind the office")
    memory = diary.memory
    [proposal] = memory.notes.proposals()
    assert [change.kind for change in proposal.changes] == ["done", "added"]
    done = memory.notes.accept()
    assert [(one.type, one.status) for one in done.entries] == [("task", "done"), ("task", "open")]
    assert not memory.notes.proposals()


# --- what has become of it --------------------------------------------------------------------


def every_job_ran_when_it_should(diary: Diary) -> None:
    """Once for every slot that somebody ticked after; of those that were missed, for the last."""
    assert diary.slots("daily") == diary.slots("tags") == newest(diary, time(23, 59))
    assert diary.slots("briefing") == newest(diary, time(1, 30))
    days = [date(2025, 12, 28) + timedelta(days=7 * week) for week in range(53)]
    sundays = [day for day in days if day != date(2026, 8, 2)]  # of two in the holiday one
    assert diary.slots("weekly") == diary.slots("prune") == sundays
    months = [date(2026, month, 1) for month in range(1, 13)]
    assert diary.slots("monthly") == [*months, date(2027, 1, 1)]
    done = Counter(ran.job for ran in diary.ran if "condensed" in ran.said)
    assert {"daily", "weekly", "monthly", "prune"} <= set(done), done
    assert any("retired" in ran.said for ran in diary.ran)
    assert any("reflect" in one for one in git(diary.root, "log", "--format=%s").splitlines())


def newest(diary: Diary, at: time) -> list[date]:
    """The days of the last such times before each tick."""
    one = timedelta(days=1)
    return sorted({tick.date() - one * (tick.time() < at) for tick in diary.ticks})


def old_journals_are_archived(diary: Diary) -> None:
    today = date(2027, 1, 1)
    days = diary.memory.config.notes.journal_days
    held = {entry.id for entry in held_entries(diary.memory)}
    kept = {path.stem for path in (diary.root / "knowledge/journal").glob("*.md")}
    archived = {path.stem for path in (diary.root / "archive/journal").glob("*.md")}
    assert not kept & archived and len(archived) > 10
    open_days = {
        entry.timestamp.astimezone(year.ZONE).date().isoformat()
        for entry in diary.memory.log.chains().entries
        if entry.id in held
    }
    for name in kept:
        young = (today - date.fromisoformat(name)).days <= days + 7  # prune comes once a week
        assert young or name in open_days or name == diary.cited, name
    for name in archived:
        assert name not in open_days, name


def held_entries(memory: Memory) -> list[Entry]:
    """What must not get lost: everything that is open or pinned."""
    chains = memory.log.chains()
    return [entry for entry in chains.current() if entry.pinned or chains.is_open(entry)]


def nothing_is_lost(diary: Diary) -> None:
    memory = diary.memory
    held = held_entries(memory)
    kinds = Counter(entry.type for entry in held)
    assert kinds["task"] > 20 and kinds["question"] > 5, kinds
    assert any(entry.content == PINNED for entry in held)
    told: dict[str, list[str]] = {}  # entry -> the lines of the active notes that stand for it
    for place, line in generated(diary):
        if place.startswith("knowledge/"):
            for one in line.ids:
                told.setdefault(one, []).append(place)
    texts = {name: data.decode().splitlines() for name, data in diary.notes().items()}
    for number, entry in enumerate(held):
        named = [
            (name, int(line))
            for name, _, line in (place.rpartition(":") for place in told[entry.id])
            if entry.content in texts[name][int(line) - 1]
        ]
        assert len({name for name, _ in named}) >= 3, entry  # observations, its note, its day
        if number % 10 == 0:
            found = memory.notes.why("{}:{}".format(*named[0]))
            assert entry.id in [one.id for one in found.entries], named
    now = diary.notes()
    for text, path in diary.own.items():
        homes = [name for name, data in now.items() if text in data.decode()]
        assert len(homes) == 1, (path, homes)
    assert memory.notes.missing_links() == []
    no_note_is_gone(diary)


def no_note_is_gone(diary: Diary) -> None:
    """Whatever was a note once is one, or has moved."""
    ever = git(diary.root, "log", "--name-only", "--format=", "--", "knowledge", "archive")
    there = {name.partition("/")[2] for name in diary.notes()}
    for path in {line for line in ever.splitlines() if line.endswith(".md")}:
        name = path.partition("/")[2]
        renamed = name.replace("projects/lantern/", "projects/lighthouse/")
        assert there & {name, renamed, f"merged/{name}"}, path


def generated(diary: Diary) -> Iterator[tuple[str, NoteLine]]:
    """Every generated line of the notes, as FILE:LINE, with what it is made from."""
    notes = diary.memory.notes
    with notes.book(diary.memory.opened.now()) as book:
        for path, block in diary.blocks():
            name = path.relative_to(diary.root).as_posix()
            if name.startswith("archive/merged/"):
                continue
            made = made_lines(notes, book, path, block.name)
            assert tuple(line.text for line in made) == block.lines, (name, block.name)
            for number, line in enumerate(made, block.first):
                yield f"{name}:{number}", line


def every_line_says_why(diary: Diary) -> None:
    """Every generated line is what would be written now, and stands for entries."""
    memory = diary.memory
    known = memory.log.chains().by_id
    lines = [(place, line) for place, line in generated(diary) if line.text not in ("", NOTHING)]
    assert len(lines) > 2000
    for place, line in lines:
        assert line.ids and all(one in known for one in line.ids), place
    for place, line in lines[::100]:
        found = memory.notes.why(place)
        assert {one.id for one in found.entries} == set(line.ids), place
        said = [one for one in found.entries if one.session != "manual"]
        assert all(one.transcript and one.evidence for one in said if one.type != "handoff")


def history_is_whole(diary: Diary) -> None:
    assert git(diary.root, "fsck", "--full", "--strict") == ""
    stamps = git(diary.root, "log", "--format=%cI").splitlines()
    days = {datetime.fromisoformat(stamp).astimezone(year.ZONE).date() for stamp in stamps}
    days = {day for day in days if day.year == 2026}
    tags = git(diary.root, "tag", "--list", "memory/daily/*").splitlines()
    assert tags == [f"memory/daily/{day}" for day in sorted(days)]
    sundays = [day for day in diary.slots("tags") if day.weekday() == SUNDAY]
    weeks = {"{}-W{:02}".format(*day.isocalendar()[:2]) for day in sundays}
    busy = {"{}-W{:02}".format(*day.isocalendar()[:2]) for day in days}
    tags = git(diary.root, "tag", "--list", "memory/weekly/*").splitlines()
    assert tags == [f"memory/weekly/{week}" for week in sorted(weeks & busy)]
    found = run_json("status")
    assert found["problems"] == []
    assert git(diary.root, "status", "--porcelain") == ""


def notes_from_nothing_are_the_same(diary: Diary) -> None:
    before = diary.notes()
    done = Memory(diary.root).notes.update(full=True)
    assert diary.notes() == before and done.written == () and not done.problems
    other = Memory(diary.root.parent / "other")
    other.init()
    for name in ("config.toml", "log.jsonl", "subjects.json", "condensed.json"):
        shutil.copy(diary.root / name, other.home.root / name)
    other = Memory(other.home.root)
    other.notes.brief()
    other.notes.update(full=True)
    anew = {
        (path.relative_to(other.home.root / "knowledge").as_posix(), name): block.lines
        for path in (other.home.root / "knowledge").rglob("*.md")
        for name in markdown.names(path.read_text())
        if (block := markdown.block(path.read_text(), name)) is not None
    }
    there = {
        (path.relative_to(diary.root).as_posix().partition("/")[2], block.name): block.lines
        for path, block in diary.blocks()
    }
    assert anew.keys() <= there.keys()
    for key, lines in there.items():
        if not key[0].startswith("merged/") and lines != (NOTHING,):
            assert anew.get(key) == lines, key


def a_rebuild_is_the_same(diary: Diary) -> None:
    notes, log = diary.notes(), (diary.root / "log.jsonl").read_bytes()
    run("rebuild", "--extractor", "rules", "--branch", "again")
    built = diary.root / ".cache/rebuild/again"
    assert Counter((built / "log.jsonl").read_bytes().splitlines()) == Counter(log.splitlines())
    run("rebuild", "--merge", "again")
    assert sorted((diary.root / "log.jsonl").read_bytes().splitlines()) == sorted(log.splitlines())
    assert diary.notes() == notes
    assert git(diary.root, "fsck", "--full", "--strict") == ""
    assert "all well" in run("status")
