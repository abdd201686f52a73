"""Time and Upkeep: what was, what runs, and what can be taken back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.notes.test_write import note
from tests.page.asking import do, forms, markup, text, undo
from tests.story import NOW
from wakebook import Memory
from wakebook.base.errors import NotFound, WakebookError
from wakebook.service.page import behind


@pytest.fixture
def corrected(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> Memory:
    """Something was said, and corrected two days later."""
    monkeypatch.setenv("WAKEBOOK_NOW", "2026-11-05T08:00:00Z")
    old = memory.remember("The launch is on 14 November.", subject="tidepool")
    memory.history.commit()
    monkeypatch.setenv("WAKEBOOK_NOW", "2026-11-07T08:00:00Z")
    memory.remember("The launch is on 21 November.", subject="tidepool", replaces=[old.id])
    memory.history.commit()
    monkeypatch.setenv("WAKEBOOK_NOW", NOW)
    return memory


def test_a_day_shows_what_held_then(corrected: Memory) -> None:
    then, now = (text(corrected, f"/time?day={day}") for day in ("2026-11-06", "2026-11-08"))
    assert "As of Friday, 6 November 1 entry had been learned by then, 1 since." in then
    assert then.index("What held then") < then.index("14 November") < then.index("Changed since")
    assert "14 November" not in now and "21 November" in now
    assert "Nothing had been learned yet" in text(corrected, "/time?day=2026-11-01")


def test_the_notes_that_changed_since_are_shown_line_by_line(corrected: Memory) -> None:
    assert "projects/tidepool/notes.md" in text(corrected, "/time?day=2026-11-06")
    file = "knowledge/projects/tidepool/notes.md"
    shown = markup(corrected, f"/time/notes?since=2026-11-07&file={file}")
    assert "<ins>" in shown and "21 November" in shown and "/dev/null" not in shown
    with pytest.raises(NotFound):
        text(corrected, "/time/notes?since=7d&file=token")


def test_an_earlier_value_holds_again_and_that_is_taken_back(corrected: Memory) -> None:
    found = forms(corrected, "/time?day=2026-11-06")
    form = next(one for one in found if one["do"] == "hold-again")
    done = do(corrected, **form)
    assert [one.content for one in corrected.log.chains().current()] == [
        "The launch is on 14 November."
    ]
    assert "has changed since" in do(corrected, **form).said
    undo(corrected, done)
    assert [one.content for one in corrected.log.chains().current()] == [
        "The launch is on 21 November."
    ]


def test_a_task_that_was_done_since_keeps_its_words(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAKEBOOK_NOW", "2026-11-05T08:00:00Z")
    old = memory.remember("Book the photographer.", type_="task", status="open")
    monkeypatch.setenv("WAKEBOOK_NOW", "2026-11-07T08:00:00Z")
    done = memory.remember(old.content, type_="task", status="done", replaces=[old.id])
    since = markup(memory, "/time?day=2026-11-06").partition("Changed since")[2]
    assert "☑" in since and "<s>" not in since and "done · " in since
    story = text(memory, f"/entry/{done.id}").partition("Its story")[2]
    assert story.index("open") < story.index("done")


@pytest.mark.parametrize("day", ["nonsense", "9999-12-31", "0001-01-01", "2026-02-31", ""])
def test_any_day_is_a_page(corrected: Memory, day: str) -> None:
    assert "As of " in text(corrected, f"/time?day={day}")


def test_undo_says_first_what_it_would_change(memory: Memory) -> None:
    assert "no rewrite to take back" in text(memory, "/time/undo")
    memory.remember("Tokens live 15 min", subject="auth")
    path = note(memory, "projects/auth/notes.md")
    memory.history.commit()
    away = memory.home.root / "archive" / "projects" / "auth" / "notes.md"
    away.parent.mkdir(parents=True)
    path.rename(away)
    memory.history.commit()
    form = next(one for one in forms(memory, "/time") if one["do"] == "unarchive")
    done = do(memory, **form)
    assert path.exists() and not away.exists()
    shown = text(memory, "/time/undo")
    assert "restore knowledge/projects/auth/notes.md" in shown
    assert "archive/projects/auth/notes.md" in shown
    undo(memory, done)
    assert away.exists()


def test_jobs_are_listed_and_run(memory: Memory) -> None:
    shown = text(memory, "/upkeep")
    assert "observe" in shown and "every 15th minute" in shown
    done = do(memory, "run", job="tags")
    assert done.said.startswith("tags: ok")
    assert "ok" in text(memory, "/upkeep").partition("tags")[2]


def test_costs_stand_beside_the_budget(memory: Memory) -> None:
    costs = memory.home.root / "costs"
    costs.mkdir()
    call = {"at": "2026-11-08T10:00:00Z", "operation": "extract", "model": "a/b", "prompt": "x",
            "outcome": "ok", "tokens_in": 10, "tokens_out": 5, "cost": 1.25}  # fmt: skip
    (costs / "2026-11.jsonl").write_text(json.dumps(call) + "\n")
    shown = text(memory, "/upkeep")
    assert "$1.25" in shown and "1 call in the last 30 days" in shown
    assert 'aria-label="Cost of models by day' in markup(memory, "/upkeep")


def test_what_went_wrong_is_shown(memory: Memory) -> None:
    memory.home.trace("failure", where="job briefing", error="the disk is <full>")
    known = behind.Known()
    for _ in range(60):  # the first answer is waited for a little
        known = behind.ask(memory.home, "status")
        if known.value:
            break
    assert "the disk is <full>" in text(memory, "/upkeep")
    assert "<full>" not in markup(memory, "/upkeep")


def test_a_command_that_fails_is_told(tmp_path: Path) -> None:
    from wakebook.base.home import Home

    home = Home(tmp_path / "nothing")
    known = behind.ask(home, "status")
    while known.running:
        known = behind.ask(home, "status")
    assert known.value is None and "wakebook" in known.error


def test_a_rebuild_says_first_what_it_would_do_and_is_dropped_again(knowing: Memory) -> None:
    behind.waited(knowing.home, "rebuild", "--dry-run")
    shown = text(knowing, "/upkeep/rebuild")
    assert "1 conversation read anew, by rules, at no cost" in shown and "Nothing has" in shown
    done = do(knowing, "rebuild")
    [name] = [one.name for one in knowing.rebuilds.listed()]
    assert done.to.endswith(f"/upkeep/rebuild/{name}") and name in text(knowing, "/upkeep")
    behind.waited(knowing.home, "rebuild", "show", name)
    shown = text(knowing, f"/upkeep/rebuild/{name}")
    assert "What would be different" in shown and "Merge it" in shown
    assert "dropped" in undo(knowing, done).said and knowing.rebuilds.listed() == []


def test_a_rebuild_that_was_dropped_is_there_again(knowing: Memory) -> None:
    name = knowing.rebuilds.build().name
    before = knowing.rebuilds.listed()
    done = do(knowing, "drop", name=name)
    assert knowing.rebuilds.listed() == []
    undo(knowing, done)
    assert knowing.rebuilds.listed() == before and before[0].complete


def test_a_merge_that_changed_nothing_takes_nothing_else_back(knowing: Memory) -> None:
    path = note(knowing, "projects/tidepool/notes.md")
    knowing.history.commit()
    away = knowing.home.root / "archive" / "projects" / "tidepool" / "notes.md"
    away.parent.mkdir(parents=True)
    path.rename(away)
    knowing.history.commit()
    back = do(knowing, "unarchive", name="projects/tidepool/notes.md")
    assert back.undo and path.exists()
    done = do(knowing, "merge", name=knowing.rebuilds.build().name)
    if done.undo:
        assert done.fields["rewrite"] != back.fields["rewrite"]
        with pytest.raises(WakebookError, match="rewritten since"):
            undo(knowing, back)
    else:
        undo(knowing, back)
        assert away.exists()
