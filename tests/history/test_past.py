"""Git as memory: when, diff, at, snapshot, tags, undo."""

from __future__ import annotations

import os
import shutil
import signal
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from tests import homes
from tests.crash import run_and_die
from tests.history.test_git import git, subjects
from tests.journeys.command import run, run_json
from tests.story import NEXT_DAY, WORKDAY, Claude, chat
from wakebook import Memory
from wakebook.base.errors import GitError, NotFound
from wakebook.history import branches as tags
from wakebook.history import past
from wakebook.history.past import blame
from wakebook.upkeep.undo import show_at

NOTE = "knowledge/reference/berth.md"


@pytest.fixture(params=["own", "inside"])
def place(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def tmp_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return homes.emptied(tmp_path_factory.getbasetemp() / "past")


@pytest.fixture
def memory(place: str, tmp_path: Path) -> Memory:
    """A home in a repository of its own, and one inside of another repository."""
    if place == "own":
        return homes.made(tmp_path / "home")
    outer = tmp_path / "outer"
    memory = Memory(outer / "notes" / "home")

    def make() -> None:
        outer.mkdir()
        git(outer, "init", "-q", "-b", "main")
        (outer / "code.py").write_text("1")
        git(outer, "add", "code.py")
        git(outer, "commit", "-qm", "code")
        memory.init()

    return homes.again(tmp_path, memory, make, place)


class Days:
    """A memory whose clock is set by hand."""

    def __init__(self, memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
        self.memory = memory
        self._set = monkeypatch.setenv

    def at(self, moment: str) -> Memory:
        self._set("WAKEBOOK_NOW", moment)
        return self.memory

    def write(self, moment: str, name: str, text: str) -> str | None:
        path = self.memory.home.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return self.at(moment).history.commit(f"write {name}")


@pytest.fixture
def days(tmp_path: Path, memory: Memory, place: str, monkeypatch: pytest.MonkeyPatch) -> Days:
    days = Days(memory, monkeypatch)
    monkeypatch.setenv("TZ", "UTC")

    def pass_by() -> None:
        days.at("2026-11-10T12:00:00Z").remember("The berth has a fuse of 10 A")
        memory.history.commit()
        days.write("2026-11-11T12:00:00Z", NOTE, "The fuse has 10 A.\n")
        days.write("2026-11-12T12:00:00Z", NOTE, "The fuse has 16 A.\n")
        days.at("2026-11-13T12:00:00Z").remember('They call it "the red one"')
        memory.history.commit()

    days.memory = homes.again(tmp_path, memory, pass_by, f"{place}, after days")
    days.at("2026-11-14T12:00:00Z")
    return days


# --- moments -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "end", "expected"),
    [
        ("2026-03-29", False, "2026-03-29T00:00:00+00:00"),
        ("2026-03-29", True, "2026-03-29T23:59:59+01:00"),  # the clocks changed on that day
        ("2026-02-16T14:00", True, "2026-02-16T14:00:00+00:00"),
        ("2026-02-16T14:00:00Z", False, "2026-02-16T14:00:00+00:00"),
        ("yesterday", False, "2026-07-14T00:00:00+01:00"),
        ("today", True, "2026-07-15T23:59:59+01:00"),
        ("7d", False, "2026-07-08T12:00:00+01:00"),
        ("now", False, "2026-07-15T12:00:00+01:00"),
        ("first-release", False, None),
        ("2026-13-40", False, None),
        ("99999999999w", False, None),
        ("2026-W07", False, None),  # which is a tag
    ],
)
def test_moments_are_in_the_users_time_zone(text: str, end: bool, expected: str | None) -> None:
    now = datetime(2026, 7, 15, 12, tzinfo=ZoneInfo("Europe/Lisbon"))
    found = past.moment(text, now, end)
    assert (found.isoformat() if found else None) == expected


# --- when --------------------------------------------------------------------------------


def test_when_knows_what_was_said_and_what_became_of_it(days: Days) -> None:
    found = days.memory.history.when("10 a")
    assert [entry.content for entry in found.entries] == ["The berth has a fuse of 10 A"]
    assert [f"{commit.at:%d}" for commit in found.commits] == ["10", "11", "12"]
    first, second, third = found.commits
    assert "log.jsonl" in [file for file, _ in first.added] and not first.removed
    assert second.added == ((NOTE, "The fuse has 10 A."),) and not second.removed
    assert third.removed == ((NOTE, "The fuse has 10 A."),) and not third.added


def test_when_finds_text_that_the_log_has_to_escape(days: Days) -> None:
    found = days.memory.history.when('"the red one"')
    assert len(found.entries) == 1
    assert [f"{commit.at:%d}" for commit in found.commits] == ["13"]


def test_when_works_without_git_and_says_so(days: Days) -> None:
    days.memory.home.config.write_text("[git]\nenabled = false\n")
    found = Memory(days.memory.home.root).history.when("10 A")
    assert len(found.entries) == 1 and found.commits == ()
    assert "From the log alone" in found.note


def test_when_looks_into_conversations(memory: Memory, projects: Path) -> None:
    claude = Claude(projects).user("Is the quay wall still leaking near the slipway?")
    claude.agent("The quay wall is dry since Tuesday.")
    memory.catch_up()
    found = memory.history.when("quay  wall is dry")
    assert [(one.speaker, one.session) for one in found.turns] == [("agent", claude.session)]
    home = str(memory.home.root)
    assert "In conversations" in run("--home", home, "when", "quay wall is dry")
    assert memory.history.when("dry quay").turns == ()


def test_the_command_when(days: Days) -> None:
    home = str(days.memory.home.root)
    said = run("--home", home, "when", "10", "A")
    assert "The berth has a fuse of 10 A" in said
    assert "first  2026-11-10 12:00" in said and "gone   2026-11-12 12:00" in said
    assert "Nothing says" in run("--home", home, "when", "[bold]zebra", code=1)
    assert len(run_json("--home", home, "when", "10 A")["commits"]) == 3


# --- diff --------------------------------------------------------------------------------


def test_diff_shows_notes_and_entries_between_two_moments(days: Days) -> None:
    found = days.memory.history.diff("2026-11-12", "2026-11-12")
    assert [(one.path, one.added, one.removed) for one in found.files] == [(NOTE, 1, 1)]
    assert "-The fuse has 10 A.\n+The fuse has 16 A." in found.patch
    assert found.added == ()
    assert [entry.content for entry in days.memory.history.diff("2d").added] == [
        'They call it "the red one"'
    ]


def test_diff_without_an_end_knows_what_is_not_committed_yet(days: Days) -> None:
    (days.memory.home.root / "knowledge/people/ada.md").write_text("Ada\nBo\n")
    days.memory.remember("new")
    found = days.memory.history.diff("1h")
    added = {one.path: one.added for one in found.files}
    assert added["knowledge/people/ada.md"] == 2 and NOTE not in added
    assert "+Ada\n+Bo" in found.patch
    assert [entry.content for entry in found.added] == ["new"]
    assert days.memory.history.diff("1h", stat=True).patch == ""


def test_diff_since_before_the_first_commit_is_everything(days: Days) -> None:
    found = days.memory.history.diff("2020-01-01")
    assert len(found.added) == 2 and "before the first commit" in found.since
    assert "knowledge/identity/SOUL.md" in {one.path for one in found.files}
    with pytest.raises(NotFound, match="no commit yet"):
        days.memory.history.diff("2020-01-01", "2020-02-01")


def test_the_command_diff(days: Days) -> None:
    home = str(days.memory.home.root)
    said = run("--home", home, "diff", "--since", "2026-11-12", "--stat", "--log")
    assert NOTE in said and "the red one" in said and "+The fuse" not in said
    assert "+The fuse has 16 A." in run("--home", home, "diff", "--since", "2026-11-12")
    assert run_json("--home", home, "diff")["files"][0]["path"].startswith("knowledge/")
    assert "no date and no tag" in run("--home", home, "diff", "--since", "nonsense", code=9)


# --- at ----------------------------------------------------------------------------------


def test_at_shows_a_file_as_it_was_at_the_end_of_a_day(days: Days) -> None:
    memory = days.memory
    for day, line in (("2026-11-11", "10 A"), ("2026-11-12", "16 A")):
        _, shown = show_at(memory, day, NOTE)
        assert shown.lines == ((1, f"The fuse has {line}."),)
    assert (memory.home.root / NOTE).read_text() == "The fuse has 16 A.\n"
    with pytest.raises(NotFound, match=r"At 2026-11-10 23:59: There is no file"):
        show_at(memory, "2026-11-10", NOTE)
    with pytest.raises(NotFound, match="Nothing was committed before"):
        show_at(memory, "2020-01-01", NOTE)
    assert list(memory.home.cache.glob("at-*")) == []


def test_at_knows_only_the_entries_of_then(days: Days) -> None:
    with days.memory.at("2026-11-12") as (then, _, _):
        assert [entry.content for entry in then.log.chains().entries] == [
            "The berth has a fuse of 10 A"
        ]
    assert len(list(days.memory.log.chains().entries)) == 2


def test_at_shows_an_entry_with_the_words_it_came_from(
    memory: Memory, projects: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    days = Days(memory, monkeypatch)
    claude = chat(Claude(projects), WORKDAY)
    days.at("2026-11-09T08:00:00Z").catch_up()
    memory.history.commit()
    chat(claude.pause(days=4), NEXT_DAY)
    days.at("2026-11-14T08:00:00Z").catch_up()
    memory.history.commit()
    entry = next(entry for entry in memory.log.chains().entries if "14 November" in entry.content)
    assert len(memory.get(entry.id).history) == 2  # it was corrected since
    _, shown = show_at(memory, "2026-11-10", entry.id)
    assert shown.history == (entry,) and shown.status == ""
    assert any("14 November" in line for _, line in shown.lines)
    _, shown = show_at(memory, "2026-11-10", f"session:{claude.session[:4]}")
    assert len(shown.transcripts) == 1


def test_the_command_at(days: Days) -> None:
    home = str(days.memory.home.root)
    assert "10 A." in run("--home", home, "at", "2026-11-11", "show", NOTE)
    assert "red one" not in run("--home", home, "at", "2026-11-11", "log")
    assert "wakebook-memory" in run("--home", home, "at", "3d", "wake")
    assert NOTE in run("--home", home, "at", "2026-11-11", "search", "fuse")
    found = run_json("--home", home, "at", "2026-11-11", "show", NOTE)
    assert found["commit"]["at"] == "2026-11-11T12:00:00Z"
    assert "Say what to show" in run("--home", home, "at", "2026-11-11", "show", code=2)


# --- snapshots and tags ------------------------------------------------------------------


def test_a_snapshot_commits_what_waits_and_is_never_moved(days: Days) -> None:
    memory = days.memory
    memory.history.commit()
    memory.remember("not due")
    memory.remember("waiting")
    made = memory.history.snapshot("First release!")
    assert made.tag == "memory/milestone/First-release" and made.committed
    assert "waiting" in git(memory.home.root, "show", f"{made.tag}:./log.jsonl")
    head = git(memory.home.root, "rev-parse", "HEAD")
    memory.remember("later")
    with pytest.raises(GitError, match="never moved"):
        memory.history.snapshot("First release!")
    assert git(memory.home.root, "rev-parse", "HEAD") == head  # it complained before it did
    days.at("2026-11-20T00:00:00Z")
    with memory.at("First-release") as (then, _, _):
        assert [entry.content for entry in then.log.chains().entries][-1] == "waiting"
    assert memory.history.snapshot("the rewrite", before=True).tag == "memory/before/the-rewrite"
    assert [entry.content for entry in memory.history.diff("First-release").added] == ["later"]


@pytest.mark.parametrize("name", ["", "///", "…", "-", ".."])
def test_a_name_that_git_cannot_have_is_refused(days: Days, name: str) -> None:
    before = git(days.memory.home.root, "tag")
    with pytest.raises(GitError, match="cannot be a name"):
        days.memory.history.snapshot(name)
    assert git(days.memory.home.root, "tag") == before


@pytest.mark.parametrize("name", ["a b~c^d:e?f*g[h", "ä/ö", "x.lock", "a..b", "@{1}", "-n"])
def test_every_other_name_is_made_to_fit(days: Days, name: str) -> None:
    made = days.memory.history.snapshot(name)
    assert made.tag in git(days.memory.home.root, "tag").splitlines()


def test_the_command_snapshot(days: Days) -> None:
    home = str(days.memory.home.root)
    said = run("--home", home, "snapshot", "--before", "the", "big", "move")
    assert "memory/before/the-big-move" in said
    assert "never moved" in run("--home", home, "snapshot", "--before", "the big move", code=8)


def test_a_day_is_tagged_once_and_only_if_something_happened(days: Days) -> None:
    memory = days.memory
    assert tags.daily(memory.history.git(), datetime(2026, 11, 13, 23, 59, tzinfo=UTC)) == (
        "memory/daily/2026-11-13"
    )
    tagged = git(memory.home.root, "rev-parse", "memory/daily/2026-11-13")
    assert memory.history.tag(datetime(2026, 11, 13, 23, 59, tzinfo=UTC)) == "nothing new to tag"
    assert memory.history.tag(datetime(2026, 11, 14, 23, 59, tzinfo=UTC)) == "nothing new to tag"
    days.write("2026-11-14T23:30:00Z", NOTE, "new")
    assert memory.history.tag(datetime(2026, 11, 14, 23, 59, tzinfo=UTC)) == (
        "tagged memory/daily/2026-11-14"
    )
    assert git(memory.home.root, "rev-parse", "memory/daily/2026-11-13") == tagged


def test_what_commits_leave_is_packed_but_not_in_your_own_repository(
    days: Days, place: str
) -> None:
    memory, moment = days.memory, datetime(2026, 11, 13, 23, 59, tzinfo=UTC)
    commits = git(memory.home.root, "rev-list", "HEAD")
    assert "packed" not in memory.history.tag(moment)
    assert ("; history packed, " in memory.history.tag(moment, 1)) is (place != "inside")
    loose = git(memory.home.root, "count-objects")
    assert loose.startswith("0 objects") is (place != "inside")
    assert git(memory.home.root, "rev-list", "HEAD") == commits
    git(memory.home.root, "fsck", "--full", "--strict")


def test_a_late_job_tags_the_day_that_it_is_about(days: Days) -> None:
    found = tags.daily(days.memory.history.git(), datetime(2026, 11, 11, 23, 59, tzinfo=UTC))
    assert "10 A." in git(days.memory.home.root, "show", f"{found}:./{NOTE}")


@pytest.mark.parametrize(
    ("moment", "name"),
    [
        ("2026-11-15T23:59:00+00:00", "memory/weekly/2026-W46"),
        ("2026-11-16T00:30:00+01:00", "memory/weekly/2026-W46"),  # it was off on the Sunday
        ("2026-11-21T23:59:00+00:00", "memory/weekly/2026-W46"),
        ("2026-11-14T23:59:00+00:00", ""),  # its week is not over, and there was none before
        ("2026-11-22T23:59:00+00:00", ""),  # nothing happened in that week
        ("2026-11-09T23:30:00+00:00", ""),
    ],
)
def test_the_week_of_the_last_sunday_is_tagged(days: Days, moment: str, name: str) -> None:
    assert tags.weekly(days.memory.history.git(), datetime.fromisoformat(moment)) == name
    assert tags.weekly(days.memory.history.git(), datetime.fromisoformat(moment)) == ""


def test_a_late_week_is_tagged_as_it_was_on_its_sunday(days: Days) -> None:
    """In the user's time zone, with what was committed before their Monday."""
    lisbon = ZoneInfo("Europe/Lisbon")
    days.write("2027-01-03T23:30:00Z", NOTE, "on the Sunday\n")
    days.write("2027-01-04T00:30:00Z", NOTE, "on the Monday\n")
    found = tags.weekly(days.memory.history.git(), datetime(2027, 1, 7, 12, tzinfo=lisbon))
    assert found == "memory/weekly/2026-W53"
    assert git(days.memory.home.root, "show", f"{found}:./{NOTE}") == "on the Sunday"
    tokyo = datetime(2027, 1, 11, 1, tzinfo=ZoneInfo("Asia/Tokyo"))
    late = tags.weekly(days.memory.history.git(), tokyo)  # both are of its Monday
    assert git(days.memory.home.root, "show", f"{late}:./{NOTE}") == "on the Monday"


# --- undo --------------------------------------------------------------------------------


def rewrite(memory: Memory, name: str, texts: dict[str, str | None], title: str = "") -> None:
    """What a condensing job does."""
    home = memory.home
    paths = [home.root / file for file in texts]
    with home.locked(), memory.history.git().rewrite("maintenance", title or name, paths, name):
        for path, text in zip(paths, texts.values(), strict=True):
            if text is None:
                path.unlink()
            else:
                home.replace(path, text)


def test_a_rewrite_stands_between_two_commits(days: Days) -> None:
    memory = days.memory
    (memory.home.root / NOTE).write_text("Not committed yet.\n")
    rewrite(memory, "weekly", {NOTE: "Short.\n"}, "roll the week up")
    assert subjects(memory.home.root)[:2] == [
        "maintenance: roll the week up",
        "memory: before roll the week up",
    ]
    assert "Not committed yet." in git(memory.home.root, "show", f"HEAD^:./{NOTE}")
    assert "Rewrite: weekly" in git(memory.home.root, "log", "-1", "--format=%b")


def test_undo_brings_back_what_was_and_keeps_what_came_since(days: Days) -> None:
    memory = days.memory
    long = "".join(f"line {number}\n" for number in range(30))
    days.write("2026-11-14T12:00:00Z", NOTE, long)
    rewrite(memory, "monthly", {NOTE: long.replace("line 3\n", ""), "archive/x.md": "moved"})
    (memory.home.root / NOTE).write_text((memory.home.root / NOTE).read_text() + "mine\n")
    (memory.home.root / "knowledge/people/ada.md").write_text("waiting")
    done = memory.undo()
    assert (memory.home.root / NOTE).read_text() == long + "mine\n"
    assert not (memory.home.root / "archive/x.md").exists()
    assert done.restored == (NOTE,) and done.removed == ("archive/x.md",)
    assert memory.history.git().waiting() == []
    assert "maintenance: undo monthly" in git(memory.home.root, "log", "--format=%s", "-2")


def test_undo_goes_back_one_by_one_and_ends(days: Days) -> None:
    memory = days.memory
    rewrite(memory, "first", {NOTE: "one\n"})
    rewrite(memory, "second", {NOTE: "two\n"})
    assert memory.undo().rewrite.name == "second"
    assert (memory.home.root / NOTE).read_text() == "one\n"
    assert [(one.name, one.undone) for one in memory.rewrites()] == [
        ("second", True),
        ("first", False),
    ]
    assert memory.undo().rewrite.name == "first"
    assert (memory.home.root / NOTE).read_text() == "The fuse has 16 A.\n"
    with pytest.raises(NotFound, match="no rewrite to take back"):
        memory.undo()
    rewrite(memory, "third", {NOTE: None})
    assert memory.undo().restored == (NOTE,)


def test_undo_of_what_changed_since_in_the_same_place_changes_nothing(days: Days) -> None:
    memory = days.memory
    rewrite(memory, "weekly", {NOTE: "Short.\n", "knowledge/people/ada.md": "Ada"})
    (memory.home.root / NOTE).write_text("Short, and mine.\n")
    with pytest.raises(GitError, match=rf"{NOTE} changed in the same places.*Nothing was changed"):
        memory.undo()
    assert (memory.home.root / NOTE).read_text() == "Short, and mine.\n"
    assert (memory.home.root / "knowledge/people/ada.md").read_text() == "Ada"


def test_undo_leaves_the_index_of_the_repository_alone(days: Days) -> None:
    memory = days.memory
    top = Path(git(memory.home.root, "rev-parse", "--show-toplevel"))
    rewrite(memory, "weekly", {NOTE: "Short.\n"})
    (top / "staged.py").write_text("2")
    git(top, "add", "staged.py")
    memory.undo()
    assert "A  staged.py" in git(top, "status", "--porcelain").splitlines()


def test_a_rewrite_that_cannot_be_backed_up_does_not_happen(days: Days) -> None:
    memory = days.memory
    top = Path(git(memory.home.root, "rev-parse", "--show-toplevel"))
    (memory.home.root / NOTE).write_text("mine\n")
    (top / ".git" / "MERGE_HEAD").write_text(git(top, "rev-parse", "HEAD") + "\n")
    with pytest.raises(GitError, match="middle of a merge"):
        rewrite(memory, "weekly", {NOTE: "Short.\n"})
    assert (memory.home.root / NOTE).read_text() == "mine\n"


def test_a_rewrite_that_fails_half_way_leaves_no_commit_of_it(days: Days) -> None:
    memory = days.memory
    with (
        pytest.raises(ValueError),
        memory.home.locked(),
        memory.history.git().rewrite("maintenance", "weekly", [memory.home.root / NOTE]),
    ):
        raise ValueError
    assert memory.rewrites() == []


def test_a_rewrite_whose_commit_failed_is_committed_by_itself_later(days: Days) -> None:
    memory = days.memory
    rewrite(memory, "first", {NOTE: "one\n"})
    top = Path(git(memory.home.root, "rev-parse", "--show-toplevel"))
    lock = top / ".git" / "HEAD.lock"
    with memory.home.locked():
        history = memory.history.git()
        with history.rewrite("maintenance", "second", [memory.home.root / NOTE]) as touched:
            memory.home.replace(memory.home.root / NOTE, "two\n")
            memory.home.replace(memory.home.root / "archive/x.md", "moved\n")
            touched.append(memory.home.root / "archive/x.md")
            (memory.home.root / "knowledge/people/ada.md").write_text("Ada")
            history.before_touching([memory.home.root / "knowledge/people/ada.md"])
            lock.touch()
    assert any("HEAD.lock" in problem for problem in memory.status().problems)
    with pytest.raises(GitError):  # and nothing earlier is taken back meanwhile
        memory.undo()
    assert (memory.home.root / NOTE).read_text() == "two\n"
    lock.unlink()
    memory.remember("something else")
    memory.history.commit("all that waits")
    assert [one.name for one in memory.rewrites()] == ["second", "first"]
    second = memory.rewrites()[0].commit
    files = git(memory.home.root, "show", "--relative", "--name-only", "--format=", second)
    assert files.splitlines() == ["archive/x.md", NOTE]
    assert memory.undo().rewrite.name == "second"
    assert (memory.home.root / NOTE).read_text() == "one\n"
    assert not (memory.home.root / "archive/x.md").exists()
    assert len(list(memory.log.chains().entries)) == 3


def test_undo_takes_a_rewrite_back_that_was_not_committed(days: Days) -> None:
    memory = days.memory
    rewrite(memory, "first", {NOTE: "one\n"})
    with pytest.raises(ValueError), memory.home.locked():
        paths = [memory.home.root / NOTE]
        with memory.history.git().rewrite("maintenance", "second", paths):
            memory.home.replace(memory.home.root / NOTE, "two\n")
            raise ValueError
    assert memory.undo().rewrite.name == "second"
    assert (memory.home.root / NOTE).read_text() == "one\n"
    assert memory.undo().rewrite.name == "first"


def test_a_rewrite_that_was_killed_is_never_committed_without_its_line(
    memory: Memory, tmp_path: Path
) -> None:
    path = memory.home.root / NOTE
    path.write_text("long\n")
    memory.history.commit()
    named = 0
    for step in range(1, 100):
        shutil.copytree(memory.home.root, tmp_path / f"{step}" / "home", symlinks=True)
        outer = memory.history.git().required()
        if not outer.own:
            shutil.copytree(outer.common, tmp_path / f"{step}" / ".git")
            (tmp_path / f"{step}" / "notes").mkdir()
            (tmp_path / f"{step}" / "home").rename(tmp_path / f"{step}" / "notes" / "home")
        below = "home" if outer.own else "notes/home"
        other = Memory(tmp_path / f"{step}" / below)
        died = run_and_die(partial(rewrite, other, "weekly", {NOTE: "short\n"}), step)
        again = Memory(other.home.root)
        again.remember("something else")
        again.history.commit()
        changed = (again.home.root / NOTE).read_text() == "short\n"
        assert [one.name for one in again.rewrites()] == (["weekly"] if changed else []), step
        assert list(again.home.cache.glob("rewriting.json")) == []
        named += changed
        if not died:
            break
    assert not died and named > 3


def test_notes_that_a_killed_rewrite_had_moved_come_along(memory: Memory) -> None:
    old, new = memory.home.root / NOTE, memory.home.root / "archive/reference/berth.md"
    old.write_text("long\n")
    memory.history.commit()

    def retire() -> None:
        with memory.home.locked(), memory.history.git().rewrite("maintenance", "retire", [old]):
            new.parent.mkdir(parents=True)
            old.rename(new)
            os.kill(os.getpid(), signal.SIGKILL)

    assert run_and_die(retire, 10_000)
    again = Memory(memory.home.root)
    again.history.commit()
    done = again.undo()
    assert old.read_text() == "long\n" and not new.exists()
    assert done.moved == {NOTE: "archive/reference/berth.md"}


BLOCK = "<!-- wakebook:begin own -->\n{}<!-- wakebook:end own -->\n"


def test_words_next_to_a_generated_block_are_no_clash(days: Days) -> None:
    """Also where the rewrite itself brought the block, and right below its end."""
    memory, path = days.memory, days.memory.home.root / NOTE
    for before in ("Mine.\n", "Mine.\n\n" + BLOCK.format("- long\n- long\n")):
        path.write_text(before)
        memory.history.commit()
        after = "Mine.\n\n" + BLOCK.format("- short\n")
        rewrite(memory, "rollup", {NOTE: after})
        path.write_text(after.replace("Mine.", "Mine, too.") + "more\n")
        memory.history.commit()
        assert memory.undo().restored == (NOTE,)
        text = path.read_text()
        assert text.startswith("Mine, too.\n") and text.endswith(
            "<!-- wakebook:end own -->\nmore\n"
        )
        assert "short" not in text and text.count("- long") == before.count("- long")


def test_words_that_came_into_the_commit_of_a_rewrite_stay(days: Days) -> None:
    """It was killed before its commit, and somebody wrote before the next one."""
    memory, path = days.memory, days.memory.home.root / NOTE
    path.write_text("Mine.\n\n" + BLOCK.format("- long\n"))
    memory.history.commit()
    rewrite(memory, "monthly", {NOTE: "Mine.\nMore.\n\n" + BLOCK.format("- short\n")})
    memory.undo()
    text = path.read_text()
    assert text.startswith("Mine.\nMore.\n") and "- long" in text and "- short" not in text


def test_a_note_that_moved_back_is_told_once(memory: Memory) -> None:
    (memory.home.root / NOTE).write_text("mine\n")
    memory.history.commit()
    moved = "archive/reference/berth.md"
    rewrite(memory, "retire 1 notes", {NOTE: None, moved: "mine\n", "archive/other.md": "x"})
    said = run("--home", str(memory.home.root), "undo")
    assert f"is back   {NOTE}" in said and "removed   archive/other.md" in said
    assert moved not in said


def test_the_command_undo(days: Days) -> None:
    home = str(days.memory.home.root)
    assert "no rewrite yet" in run("--home", home, "undo", "--list")
    rewrite(days.memory, "weekly", {NOTE: "Short.\n"})
    assert "weekly" in run("--home", home, "undo", "--list")
    said = run("--home", home, "undo")
    assert "Took back weekly" in said and f"is back   {NOTE}" in said
    assert "taken back" in run("--home", home, "undo", "--list")
    assert "no rewrite" in run("--home", home, "undo", code=9)


# --- without git -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command", [["diff"], ["at", "7d", "log"], ["snapshot", "x"], ["undo"], ["explore", "x"]]
)
def test_without_git_each_command_says_what_is_missing(days: Days, command: list[str]) -> None:
    days.memory.home.config.write_text("[git]\nenabled = false\n")
    said = run("--home", str(days.memory.home.root), *command, code=8)
    assert "needs the home's history in git: switched off" in said


def test_blame_names_the_commit_behind_a_line(days: Days) -> None:
    repository = days.memory.history.git().required()
    assert f"{blame(repository, NOTE, 1).at:%d}" == "12"
    with pytest.raises(GitError, match="line 7"):
        blame(repository, NOTE, 7)


def test_notes_that_git_keeps_in_another_form_are_read_as_they_were(days: Days) -> None:
    """As git-crypt keeps them: another text in the history than in the files."""
    memory, root = days.memory, days.memory.home.root
    for name, value in (
        ("filter.turn.clean", "tr a-z n-za-m"),
        ("filter.turn.smudge", "tr a-z n-za-m"),
        ("diff.turn.textconv", "cat"),
    ):
        git(root, "config", name, value)
    (root / ".gitattributes").write_text("knowledge/private/** filter=turn diff=turn\n")
    note = "knowledge/private/health.md"
    days.write("2026-11-15T12:00:00Z", note, "the doctor said yes\n")
    assert "gur qbpgbe" in git(root, "cat-file", "blob", f"HEAD:./{note}")
    _, shown = show_at(memory, "2026-11-15", note)
    assert shown.lines == ((1, "the doctor said yes"),)
    assert len(memory.history.when("the doctor").commits) == 1
    rewrite(memory, "weekly", {note: None})
    memory.undo()
    assert (root / note).read_text() == "the doctor said yes\n"
    there = Memory(memory.history.explore("idea").home)
    assert (there.home.root / note).read_text() == "the doctor said yes\n"
