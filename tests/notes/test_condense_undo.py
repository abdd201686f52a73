"""Condensing is between two commits: what was rewritten can be taken back, and nothing else is."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

from tests.history.test_git import git, subjects
from tests.lend import NOW, entry, known
from tests.notes.condensing import (
    OWN,
    TODAY,
    Go,
    at,
    busy,
    day_of,
    note,
    own_words,
    problems,
    rollup,
    sayings,
    shown,
    text,
    week,
)
from wakebook import Memory
from wakebook.base.errors import GitError, WakebookError
from wakebook.notes import condensed

__all__ = ["at", "busy"]  # fixtures


# --- taking it back --------------------------------------------------------------------------


def test_a_backup_stands_before_the_rewrite(busy: Memory) -> None:
    own_words(busy, TODAY)
    before = note(busy, TODAY).read_bytes()
    busy.notes.daily(busy.opened.now())
    assert subjects(busy.home.root)[0] == f"maintenance: journal {TODAY}"
    body = git(busy.home.root, "log", "-1", "--format=%B")
    assert f"Rewrite: journal {TODAY}" in body
    kept = git(busy.home.root, "show", f"HEAD~1:knowledge/{TODAY}")
    assert kept == before.decode().strip()
    assert set(git(busy.home.root, "show", "--name-only", "--format=").splitlines()) == {
        condensed.NAME,
        f"knowledge/{TODAY}",
    }


def test_undo_brings_every_byte_back_until_the_job_runs_again(busy: Memory, at: Go) -> None:
    own_words(busy, TODAY)
    before = note(busy, TODAY).read_bytes()
    busy.notes.daily(busy.opened.now())
    done = busy.undo()
    assert done.rewrite.name == f"journal {TODAY}"
    assert note(busy, TODAY).read_bytes() == before
    busy.notes.update()
    busy.notes.update(full=True)
    assert note(busy, TODAY).read_bytes() == before, "nobody asked for it to be condensed again"
    at(NOW + timedelta(hours=1))
    busy.notes.daily(busy.opened.now())
    assert len(shown(busy)) <= 40


def test_undo_after_more_was_said_keeps_what_was_said(busy: Memory) -> None:
    before = shown(busy)
    busy.notes.daily(busy.opened.now())
    known(busy, entry(0.001, "Late in the evening a heron came"))
    busy.notes.update()
    own_words(busy, TODAY)
    busy.undo()
    busy.notes.update()
    assert set(shown(busy)) == {*before, "- Late in the evening a heron came"}
    assert note(busy, TODAY).read_text().endswith(OWN)
    assert not busy.status().knowledge.edited


def test_undo_goes_back_step_by_step(memory: Memory, at: Go) -> None:
    known(memory, *day_of(60, 2, days=1), *day_of(60, 3, days=2))
    memory.notes.update()
    paths = [note(memory, f"journal/2026-11-0{day}.md") for day in (8, 7)]
    before = [path.read_bytes() for path in paths]
    memory.notes.daily(memory.opened.now())
    after = [path.read_bytes() for path in paths]
    assert before[0] != after[0] and before[1] != after[1]
    memory.undo()
    assert [path.read_bytes() for path in paths] == [after[0], before[1]]
    memory.undo()
    assert [path.read_bytes() for path in paths] == before


def test_undo_of_a_rollup_after_a_new_briefing(memory: Memory, at: Go) -> None:
    week(memory, 1, NOW)
    memory.notes.brief(ask=False)
    memory.notes.weekly(memory.opened.now())
    assert rollup(memory)
    at(NOW + timedelta(days=1))
    known(memory, entry(-0.9, "Scrape the barnacles off the hull", "task"))
    memory.notes.brief(ask=False)
    memory.notes.update()
    memory.undo()
    memory.notes.update()
    assert rollup(memory) == []
    assert "Scrape the barnacles" in text(memory, "memory/MEMORY.md", "briefing")


def test_git_that_refuses_keeps_the_old_text(busy: Memory) -> None:
    """No backup, no rewrite."""
    own_words(busy, TODAY)
    before = note(busy, TODAY).read_bytes()
    (busy.home.root / ".git" / "HEAD.lock").write_text("")
    with pytest.raises(GitError):
        busy.notes.daily(busy.opened.now())
    assert note(busy, TODAY).read_bytes() == before
    assert not (busy.home.root / condensed.NAME).exists()


def test_without_git_it_works_as_well(memory: Memory) -> None:
    memory.home.config.write_text("[git]\nenabled = false\n")
    memory = Memory(memory.home.root)
    before = subjects(memory.home.root)
    known(memory, *day_of(60))
    week(memory, 1, NOW)
    memory.notes.daily(memory.opened.now())
    memory.notes.weekly(memory.opened.now())
    memory.notes.monthly(memory.opened.now())
    memory.notes.prune(memory.opened.now())
    assert len(shown(memory)) <= 40 and rollup(memory)
    assert subjects(memory.home.root) == before


def test_a_memory_that_lives_elsewhere_is_rolled_up_there(memory: Memory, tmp_path: Path) -> None:
    elsewhere = tmp_path / "workspace" / "MEMORY.md"
    elsewhere.parent.mkdir()
    elsewhere.write_text("# Mine\n")
    memory.home.config.write_text(f"[briefing]\nmemory_file = {json.dumps(str(elsewhere))}\n")
    memory = Memory(memory.home.root)
    made = week(memory, 1, NOW)
    memory.notes.weekly(memory.opened.now())
    assert made[0].content in elsewhere.read_text() and elsewhere.read_text().startswith("# Mine\n")
    assert rollup(memory) == []


def test_two_rewrites_of_one_note_are_taken_back_one_by_one(busy: Memory, at: Go) -> None:
    whole = set(shown(busy))
    busy.notes.daily(busy.opened.now())
    first = shown(busy)
    later = [entry(0.001, f"Later {one}") for one in sayings(30, seed=9)]
    known(busy, *later)
    busy.notes.update()
    between = shown(busy)
    at(NOW + timedelta(hours=1))
    busy.notes.daily(busy.opened.now())
    assert len(shown(busy)) <= 40
    busy.undo()
    busy.notes.update()
    assert shown(busy) == between and set(first) < set(between)
    busy.undo()
    busy.notes.update()
    assert set(shown(busy)) == whole | {f"- {one.content}" for one in later}
    assert not busy.status().knowledge.edited


# --- what else happens to what was condensed ----------------------------------------------------


def test_what_is_forgotten_leaves_the_record_as_well(memory: Memory) -> None:
    said = "Mira stores the secret recipe of the boat school in Postgres"
    one, other = entry(0.002, said), entry(0.001, f"{said} now")
    known(memory, *day_of(45), one, other)
    memory.notes.daily(memory.opened.now())
    record = memory.home.root / condensed.NAME
    assert "recipe" in record.read_text() and text(memory).count("recipe") == 1
    memory.forget([other.id])
    assert f"- {said}" in shown(memory) and "recipe of the boat school in Postgres now" not in (
        record.read_text()
    )
    memory.forget([one.id])
    assert "recipe" not in record.read_text() and "recipe" not in text(memory)
    assert len(shown(memory)) <= 41, "all else is as it was condensed"


def test_a_rewrite_goes_along_with_a_renamed_subject(memory: Memory) -> None:
    memory.log.add_subject("fleet")
    texts = sayings(200, seed=5)
    known(memory, *[entry(n / 4, one, subject="fleet") for n, one in enumerate(texts)])
    memory.notes.monthly(memory.opened.now())
    before = shown(memory, "projects/fleet/notes.md", "notes")
    assert len(before) <= 120
    memory.log.rename_subject("fleet", "armada")
    memory.notes.update()
    assert shown(memory, "projects/armada/notes.md", "notes") == before


@pytest.mark.parametrize("data", [b"{", b'{"journal/2026-11-09.md#journal": 1}'])
def test_a_broken_record_is_told_and_nothing_is_lost(busy: Memory, data: bytes) -> None:
    busy.notes.daily(busy.opened.now())
    before = note(busy, TODAY).read_bytes()
    path = busy.home.root / condensed.NAME
    path.write_bytes(data)
    for work in (busy.notes.update, lambda: busy.notes.daily(busy.opened.now())):
        with pytest.raises(WakebookError, match=r"condensed\.json: cannot be read .*checkout"):
            work()
    busy.remember("It goes on all the same")
    assert problems(busy, "condensed.json")
    assert note(busy, TODAY).read_bytes() == before and path.read_bytes() == data
    git(busy.home.root, "checkout", condensed.NAME)
    busy.notes.update()
    assert "It goes on all the same" in text(busy)
    assert len(shown(busy)) <= 42


def test_a_note_with_broken_markers_is_not_condensed(busy: Memory) -> None:
    path = note(busy, TODAY)
    broken = path.read_text().replace("<!-- wakebook:end journal -->\n", "")
    path.write_text(broken)
    assert busy.notes.daily(busy.opened.now()) == "nothing to condense"
    assert path.read_text() == broken
    assert problems(busy, "do not pair up")
