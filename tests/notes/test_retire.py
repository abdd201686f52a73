"""What has not been touched for long moves to archive/; what is needed stays; all can come back."""

from __future__ import annotations

import math
from datetime import timedelta
from pathlib import Path

import pytest

from tests.history.test_git import git, subjects
from tests.lend import NOW, entry, known
from tests.notes.condensing import OWN, Go, at, note, own_words
from tests.store.making import lose_derived
from wakebook import Memory
from wakebook.base.config import Config
from wakebook.base.errors import NotFound, WakebookError
from wakebook.log.entry import Entry
from wakebook.notes.moves import Candidate, scores

__all__ = ["at"]  # a fixture


def about(memory: Memory, subject: str, days: float, type_: str = "project", **more: str) -> Entry:
    """Something that was said about a subject, so long ago."""
    if subject not in memory.log.registry().subjects:
        memory.log.add_subject(subject, type_)
    text = more.pop("content", f"The {subject} is as it should be")
    [made] = known(memory, entry(days, text, more.pop("kind_", "fact"), subject=subject))
    memory.notes.update()
    return made


def scored(memory: Memory, path: str) -> Candidate:
    [found] = [one for one in scores(memory.notes, memory.opened.now()) if one.path == path]
    return found


def going(memory: Memory) -> set[str]:
    return set(memory.notes.retire(dry=True).moved)


def archived(memory: Memory, path: str) -> Path:
    return memory.home.root / "archive" / path


# --- by age and by score ---------------------------------------------------------------------


@pytest.mark.parametrize(("days", "goes"), [(90, False), (91, True)])
def test_a_journal_goes_when_it_is_older_than_ninety_days(
    memory: Memory, days: int, goes: bool
) -> None:
    known(memory, entry(days, "The tide was high"))
    memory.notes.update()
    name = f"journal/{NOW - timedelta(days=days):%Y-%m-%d}.md"
    assert (f"knowledge/{name}" in going(memory)) is goes
    memory.notes.retire()
    assert archived(memory, name).exists() is goes
    assert note(memory, name).exists() is not goes


@pytest.mark.parametrize(("days", "references"), [(20, 0), (92, 1), (100, 3)])
def test_the_score_is_recency_times_references(
    memory: Memory, days: float, references: int
) -> None:
    """e^(-0.05 x days) x references, where its being there is one of them."""
    about(memory, "fleet", days)
    for number in range(references):
        path = note(memory, f"reference/own-{number}.md")
        path.write_text("See [[projects/fleet/notes]].\nAnd [[projects/fleet/notes|again]].\n")
    found = scored(memory, "projects/fleet/notes.md")
    assert found.references == references + 1, "the day on which it was said links to it"
    assert found.score == pytest.approx(math.exp(-0.05 * days) * (references + 2))


def decayed(memory: Memory) -> bool:
    return "knowledge/projects/fleet/notes.md" in going(memory)


def without_journals(memory: Memory) -> None:
    """Nothing refers to anything."""
    for path in (memory.home.root / "knowledge" / "journal").glob("*.md"):
        path.unlink()


@pytest.mark.parametrize(("days", "goes"), [(92.0, False), (92.2, True)])
def test_a_note_goes_when_its_score_is_below_a_hundredth(
    memory: Memory, days: float, goes: bool
) -> None:
    """ln(100) / 0.05 is 92.1 days."""
    about(memory, "fleet", days)
    without_journals(memory)
    assert (scored(memory, "projects/fleet/notes.md").score < 0.01) is goes
    assert decayed(memory) is goes


@pytest.mark.parametrize(("days", "goes"), [(30, False), (30.1, True)])
def test_a_note_has_to_be_silent_for_thirty_days_whatever_its_score(
    memory: Memory, days: float, goes: bool
) -> None:
    memory.home.config.write_text("[notes]\nretire_score = 1.0\n")
    memory = Memory(memory.home.root)
    about(memory, "fleet", days)
    without_journals(memory)
    assert decayed(memory) is goes


def test_references_keep_a_note_longer(memory: Memory) -> None:
    """Every other note that refers to it counts, however often it does, and however old it is."""
    about(memory, "fleet", 100)
    about(memory, "harbour", 100, content="See [[projects/fleet/notes]]")
    without_journals(memory)
    assert decayed(memory), "somebody's words are no link"
    own_words(memory, "projects/harbour/notes.md", "See [[projects/fleet/notes]].\n")
    assert scored(memory, "projects/fleet/notes.md").references == 1
    assert not decayed(memory)


def test_a_projects_notes_stay_or_go_together(memory: Memory) -> None:
    about(memory, "fleet", 200)
    about(memory, "fleet", 10, kind_="decision", content="Sell Otter")
    assert not going(memory) & {"knowledge/projects/fleet/notes.md"}
    about(memory, "harbour", 200)
    about(memory, "harbour", 201, kind_="decision", content="Buy a crane")
    memory.notes.retire()
    parts = [note(memory, f"projects/harbour/{part}.md") for part in ("notes", "context")]
    assert not any(path.exists() for path in parts) and not parts[0].parent.exists()
    assert archived(memory, "projects/harbour/notes.md").exists()
    assert archived(memory, "projects/harbour/context.md").exists()


def test_people_reference_and_procedures_go_as_well(memory: Memory) -> None:
    about(memory, "petra", 300, "person")
    about(memory, "postgres", 300, "system")
    known(memory, entry(300, "Rinse the sails", kind="procedure", subject="postgres"))
    memory.notes.update()
    memory.notes.retire()
    for name in ("people/petra.md", "reference/postgres.md", "procedures/postgres.md"):
        assert archived(memory, name).exists(), name


# --- what stays ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["task", "question"])
def test_what_is_open_keeps_its_notes(memory: Memory, kind: str) -> None:
    made = about(memory, "fleet", 400, kind_=kind)
    about(memory, "fleet", 300)
    journal = f"knowledge/journal/{made.timestamp:%Y-%m-%d}.md"
    assert not decayed(memory) and journal not in going(memory)
    known(memory, entry(299, "Done", replaces=(made.id,)))
    memory.notes.update()
    assert decayed(memory) and journal in going(memory)


def test_what_is_pinned_keeps_its_notes(memory: Memory) -> None:
    memory.log.add_subject("fleet")
    known(memory, entry(400, "Otter is ours", subject="fleet", pinned=True))
    memory.notes.update()
    assert not decayed(memory)
    assert "knowledge/journal/2025-10-05.md" not in going(memory)


def test_what_an_active_note_refers_to_stays(memory: Memory) -> None:
    about(memory, "fleet", 400)
    about(memory, "harbour", 5)
    assert decayed(memory)
    own_words(memory, "projects/harbour/notes.md", "Boats: [[fleet/notes]]\n")
    assert not decayed(memory)


def test_what_memory_refers_to_stays(memory: Memory) -> None:
    about(memory, "fleet", 400)
    own_words(memory, "memory/MEMORY.md", "My boats: [[projects/fleet/notes|the fleet]]\n")
    own_words(memory, "memory/MEMORY.md", "That day: [[2025-10-05]]\n")
    assert not decayed(memory) and "knowledge/journal/2025-10-05.md" not in going(memory)
    text = memory.home.memory.read_text().replace("[[projects/fleet/notes|the fleet]]", "x")
    memory.home.memory.write_text(text)
    assert decayed(memory)


def test_a_link_in_a_code_fence_keeps_nothing(memory: Memory) -> None:
    about(memory, "fleet", 400)
    own_words(memory, "memory/MEMORY.md", "```\n[[projects/fleet/notes]]\n```\n")
    assert decayed(memory)


def test_peoples_own_notes_and_what_is_read_always_stay(memory: Memory) -> None:
    about(memory, "fleet", 400)
    about(memory, "harbour", 1)
    about(memory, "petra", 1, "person")
    own = {
        "reference/mine.md": "Old and mine.\n",
        "journal/holidays.md": "Not a day.\n",
        "journal/2020-01-01.md": "A day before all this.\n",
        "projects/fleet/plan.md": "---\nupdated: 2020-01-01\n---\nMy plan.\n",
        "identity/SOUL.md": "I am Silas.\n",
    }
    for name, words in own.items():
        note(memory, name).parent.mkdir(exist_ok=True, parents=True)
        note(memory, name).write_text(words)
    memory.notes.retire()
    assert all(note(memory, name).read_text() == words for name, words in own.items())
    assert archived(memory, "projects/fleet/notes.md").exists()
    stay = ("memory/MEMORY.md", "memory/observations.md", "people/_index.md", "projects/_active.md")
    assert all(note(memory, name).exists() for name in stay)
    assert not any(archived(memory, name).exists() for name in stay)


def test_a_file_that_cannot_be_read_stays(memory: Memory) -> None:
    about(memory, "fleet", 400)
    path = note(memory, "projects/fleet/notes.md")
    path.write_bytes(path.read_bytes() + b"\xff\xfe")
    memory.notes.retire()
    assert path.exists()


# --- how it goes -----------------------------------------------------------------------------


def retired(memory: Memory) -> bytes:
    """A home with a project that has retired, with somebody's words in it. The note."""
    about(memory, "fleet", 400, content="Otter has a walnut tiller")
    about(memory, "harbour", 1)
    own_words(memory, "projects/fleet/notes.md")
    own_words(memory, "projects/harbour/notes.md", "The other one: fleet\n")
    before = note(memory, "projects/fleet/notes.md").read_bytes()
    memory.notes.update()
    memory.index.sync()
    if memory.config.git.enabled:
        memory.history.commit("all of it")
    memory.notes.retire()
    assert not note(memory, "projects/fleet/notes.md").exists()
    return before


def test_human_text_moves_along_and_nothing_is_deleted(memory: Memory) -> None:
    before = retired(memory)
    assert archived(memory, "projects/fleet/notes.md").read_bytes() == before
    assert OWN.encode() in before
    assert subjects(memory.home.root)[0].startswith("maintenance: retire ")
    moved = git(memory.home.root, "show", "-M", "--name-status", "--format=%b").splitlines()
    assert any(line.startswith("Rewrite: retire ") for line in moved)
    changes = [line.split("\t") for line in moved if "\t" in line]
    assert changes and all(kind == "R100" for kind, *_ in changes)
    assert ["R100", "knowledge/projects/fleet/notes.md", "archive/projects/fleet/notes.md"] in (
        changes
    )
    assert git(memory.home.root, "status", "--porcelain", "--", "knowledge", "archive") == ""
    kept = git(memory.home.root, "show", "HEAD~1:knowledge/projects/fleet/notes.md")
    assert kept == before.decode().strip()


def test_nothing_to_retire_is_no_commit(memory: Memory) -> None:
    about(memory, "fleet", 1)
    memory.history.commit()
    before = subjects(memory.home.root)
    assert memory.notes.retire().moved == {} and subjects(memory.home.root) == before


def test_a_dry_run_moves_nothing(memory: Memory) -> None:
    about(memory, "fleet", 400)
    path = "projects/fleet/notes.md"
    assert memory.notes.retire(dry=True).moved[f"knowledge/{path}"] == f"archive/{path}"
    assert note(memory, path).exists()


def test_it_can_still_be_found(memory: Memory) -> None:
    retired(memory)
    refs = [hit.ref for hit in memory.search("Mira's own words").hits]
    assert any(ref.startswith("archive/projects/fleet/notes.md") for ref in refs), refs
    assert memory.search("walnut tiller").hits, "and what the log says, as ever"


def test_links_to_it_still_lead_somewhere(memory: Memory) -> None:
    retired(memory)
    own_words(memory, "projects/harbour/notes.md", "[[projects/fleet/notes]] [[2025-10-05]]\n")
    assert memory.notes.missing_links() == []


def test_why_and_show_know_it_there(memory: Memory) -> None:
    retired(memory)
    path = archived(memory, "projects/fleet/notes.md")
    lines = path.read_text().splitlines()
    number = next(n for n, line in enumerate(lines, 1) if "walnut" in line)
    why = memory.notes.why(f"archive/projects/fleet/notes.md:{number}")
    assert [one.content for one in why.entries] == ["Otter has a walnut tiller"]


def test_writing_everything_anew_leaves_it_there(memory: Memory) -> None:
    before = retired(memory)
    memory.notes.update()
    memory.notes.update(full=True)
    assert not note(memory, "projects/fleet/notes.md").exists()
    assert archived(memory, "projects/fleet/notes.md").read_bytes() == before


def test_news_about_it_brings_it_back(memory: Memory) -> None:
    retired(memory)
    about(memory, "fleet", 0, content="Otter has a new mast")
    text = note(memory, "projects/fleet/notes.md").read_text()
    assert "new mast" in text and "walnut" in text and text.endswith(OWN)
    assert not archived(memory, "projects/fleet").exists()


def test_news_bring_it_back_although_the_cache_is_gone(memory: Memory) -> None:

    retired(memory)
    lose_derived(memory)
    about(memory, "fleet", 0, content="Otter has a new mast")
    assert "new mast" in note(memory, "projects/fleet/notes.md").read_text()


def test_late_news_of_an_old_day_stay_in_the_archive(memory: Memory) -> None:
    retired(memory)
    known(memory, entry(400, "Petra had seen a whale"))
    memory.notes.update()
    assert "whale" in archived(memory, "journal/2025-10-05.md").read_text()
    assert not note(memory, "journal/2025-10-05.md").exists()


def test_undo_takes_it_back(memory: Memory) -> None:
    before = retired(memory)
    memory.undo()
    assert note(memory, "projects/fleet/notes.md").read_bytes() == before
    assert not archived(memory, "projects/fleet/notes.md").exists()


def test_without_git_it_moves_as_well(memory: Memory) -> None:
    memory.home.config.write_text("[git]\nenabled = false\n")
    memory = Memory(memory.home.root)
    before = retired(memory)
    assert archived(memory, "projects/fleet/notes.md").read_bytes() == before
    memory.notes.restore("projects/fleet/notes.md")
    assert note(memory, "projects/fleet/notes.md").read_bytes() == before


def test_never_over_another_file(memory: Memory) -> None:
    there = archived(memory, "projects/fleet/notes.md")
    there.parent.mkdir(parents=True)
    about(memory, "fleet", 400)
    there.write_text("Somebody put this here.\n")
    memory.notes.retire()
    assert there.read_text() == "Somebody put this here.\n"
    files = (memory.home.root / "archive" / "projects" / "fleet").iterdir()
    both = [*files, note(memory, "projects/fleet/notes.md")]
    assert any("as it should be" in path.read_text() for path in both if path.exists())


def test_the_jobs_retire(memory: Memory) -> None:
    about(memory, "fleet", 400)
    assert "retired to archive/" in memory.notes.monthly(memory.opened.now())
    about(memory, "harbour", 401)
    assert "retired to archive/" in memory.notes.prune(memory.opened.now())


# --- and back --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "archive/projects/fleet/notes.md",
        "projects/fleet/notes.md",
        "knowledge/projects/fleet/notes.md",
        "{root}/archive/projects/fleet/notes.md",
        "archive/projects/fleet",
        "projects/fleet/",
    ],
)
def test_restore_by_any_of_its_names(memory: Memory, name: str) -> None:
    before = retired(memory)
    memory.notes.restore(name.format(root=memory.home.root))
    assert note(memory, "projects/fleet/notes.md").read_bytes() == before
    assert not archived(memory, "projects/fleet/notes.md").exists()
    assert archived(memory, "projects/fleet").exists() is name.endswith(".md")
    assert subjects(memory.home.root)[0].startswith("maintenance: restore knowledge/projects/fleet")
    status = git(memory.home.root, "show", "-M", "--name-status", "--format=").splitlines()
    assert status and all(line.startswith("R100") for line in status)


def test_a_restored_note_stays_for_a_while(memory: Memory, at: Go) -> None:
    """Whoever wants it back does not want it gone on Sunday."""
    retired(memory)
    memory.notes.restore("projects/fleet/notes.md")
    memory.notes.update()
    assert not decayed(memory)
    at(NOW + timedelta(days=20))
    memory.notes.prune(memory.opened.now())
    assert note(memory, "projects/fleet/notes.md").exists()


@pytest.mark.parametrize("name", ["projects/nowhere.md", "archive/journal/1999-01-01.md", "people"])
def test_what_is_not_there_cannot_come_back(memory: Memory, name: str) -> None:
    retired(memory)
    with pytest.raises(NotFound, match="does not exist"):
        memory.notes.restore(name)


def test_it_never_replaces_a_note(memory: Memory) -> None:
    before = retired(memory)
    path = note(memory, "projects/fleet/notes.md")
    path.parent.mkdir()
    path.write_text("A new one.\n")
    for name in ("projects/fleet/notes.md", "projects/fleet"):
        with pytest.raises(WakebookError, match="exists already"):
            memory.notes.restore(name)
    assert path.read_text() == "A new one.\n"
    assert archived(memory, "projects/fleet/notes.md").read_bytes() == before


@pytest.mark.parametrize(
    "name",
    [
        "../config.toml",
        "archive/../../outside.md",
        "archive/../log.jsonl",
        "{tmp}/outside.md",
        "../../outside.md",
        "journal/../../knowledge/memory/MEMORY.md",
    ],
)
def test_only_from_the_archive(memory: Memory, tmp_path: Path, name: str) -> None:
    retired(memory)
    outside = tmp_path / "outside.md"
    outside.write_text("Not yours.\n")
    before = sorted(path for path in memory.home.root.rglob("*") if ".git/" not in str(path))
    with pytest.raises(WakebookError):
        memory.notes.restore(name.format(tmp=tmp_path))
    assert outside.read_text() == "Not yours.\n"
    after = sorted(path for path in memory.home.root.rglob("*") if ".git/" not in str(path))
    assert after == before


@pytest.mark.parametrize("name", ["", ".", "archive", "archive/", "./"])
def test_not_everything_at_once_by_mistake(memory: Memory, name: str) -> None:
    retired(memory)
    with pytest.raises(WakebookError):
        memory.notes.restore(name)
    assert archived(memory, "projects/fleet/notes.md").exists()


def test_a_link_out_of_the_archive_is_not_followed(memory: Memory, tmp_path: Path) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text("Not yours.\n")
    link = archived(memory, "reference/link.md")
    link.parent.mkdir(parents=True)
    link.symlink_to(outside)
    with pytest.raises(WakebookError, match="not in the archive"):
        memory.notes.restore("reference/link.md")
    assert link.is_symlink()


def test_the_defaults_are_those_of_the_design() -> None:
    notes = Config().notes
    assert (notes.decay_per_day, notes.retire_score, notes.retire_days) == (0.05, 0.01, 30)
    assert notes.journal_days == 90
