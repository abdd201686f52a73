"""Edits of generated text: kept, listed, and taken over or undone when somebody says so, once."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.crash import run_and_die
from tests.history.test_git import git
from tests.notes.test_write import NOW, edit, note, plain, quiet, tell, tree
from tests.store.making import lose_derived
from wakebook import Memory
from wakebook.base.errors import NotFound, WakebookError
from wakebook.log.entry import RETRACTED, Entry
from wakebook.notes import condensed
from wakebook.notes.condensed import Condensed, CondensedLine

__all__ = ["plain"]  # the fixture


def contents(memory: Memory) -> list[str]:
    """What holds and was not taken back."""
    found = memory.log.chains().current()
    return sorted(one.content for one in found if not one.extra.get(RETRACTED))


def accept(memory: Memory, *names: str) -> list[Entry]:
    """Accept, and see that nothing is left to review and nothing comes of a second time."""
    done = memory.notes.accept(*names)
    assert memory.notes.proposals() == []
    size = memory.home.log.stat().st_size
    memory.notes.accept()
    assert memory.home.log.stat().st_size == size
    assert memory.notes.update(full=True).edited == ()
    return list(done.entries)


# --- kept and listed -----------------------------------------------------------------------


def test_an_edited_block_stays_until_somebody_decides(memory: Memory) -> None:
    memory.remember("Tokens live 15 min", subject="auth")
    path = note(memory, "projects/auth/notes.md")
    edit(path, "15 min", "20 min")
    edited = path.read_bytes()
    memory.remember("Something else", subject="auth")
    memory.notes.update(full=True)
    lose_derived(memory)
    again = Memory(memory.home.root)
    done = again.notes.update()
    assert path.read_bytes() == edited
    assert done.edited == ("projects/auth/notes.md#notes",)
    [proposal] = again.notes.proposals()
    assert proposal.path == "knowledge/projects/auth/notes.md"
    assert path.read_text().split("\n")[proposal.line - 1] == "## Facts"
    [change] = proposal.changes
    assert (change.kind, change.old, change.new) == (
        "changed",
        "- Tokens live 15 min ([[2026-11-09]])",
        "- Tokens live 20 min ([[2026-11-09]])",
    )
    assert any("wakebook review" in hint for hint in again.status().notes)
    assert again.status().knowledge.edited == (f"{proposal.path}:{proposal.line}",)


def test_what_was_learned_after_an_edit_is_not_taken_for_removed(plain: Memory) -> None:
    """Without git, and with what was written never committed."""
    tell(plain, "Tokens live 15 min")
    plain.notes.update()
    edit(note(plain, "projects/auth/notes.md"), "15 min", "20 min")
    tell(plain, "Something quite new")
    plain.notes.update()
    for forget in (False, True):
        if forget:
            lose_derived(plain)
        [proposal] = Memory(plain.home.root).notes.proposals()
        assert [change.kind for change in proposal.changes] == ["changed"]
    accept(plain)
    assert contents(plain) == ["Something quite new", "Tokens live 20 min"]
    assert "Something quite new" in note(plain, "projects/auth/notes.md").read_text()


def test_an_edit_is_compared_with_what_git_has_when_the_cache_is_gone(memory: Memory) -> None:
    memory.remember("Tokens live 15 min", subject="auth")
    memory.remember("The office is upstairs", subject="auth")
    memory.history.commit()
    edit(note(memory, "projects/auth/notes.md"), "- The office is upstairs ([[2026-11-09]])\n", "")
    memory.remember("Something quite new", subject="auth")
    lose_derived(memory)
    [proposal] = Memory(memory.home.root).notes.proposals()
    assert [(one.kind, "upstairs" in one.old) for one in proposal.changes] == [("removed", True)]


def test_an_edit_outside_a_block_or_only_of_spaces_is_nobodys_proposal(plain: Memory) -> None:
    tell(plain, "Tokens live 15 min")
    plain.notes.update()
    path = note(plain, "projects/auth/notes.md")
    edit(path, "# Auth", "# Mine")
    edit(path, "## Facts\n", "## Facts   \n")
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert plain.notes.proposals() == []


def test_an_edited_block_moves_with_its_note_and_can_be_accepted_there(plain: Memory) -> None:
    tell(plain, "Tokens live 15 min")
    plain.notes.update()
    edit(note(plain, "projects/auth/notes.md"), "15 min", "20 min")
    plain.log.rename_subject("auth", "login")
    plain.notes.update()
    [entry] = accept(plain)
    assert (entry.content, entry.subject) == ("Tokens live 20 min", "login")


def test_a_subject_with_an_edit_that_waits_is_not_merged_away(memory: Memory) -> None:
    memory.remember("Tokens live 15 min", subject="auth")
    memory.remember("Shop opens", subject="shop")
    memory.history.commit()
    edit(note(memory, "projects/auth/notes.md"), "15 min", "20 min")
    with pytest.raises(WakebookError, match="was edited by hand"):
        memory.log.rename_subject("auth", "shop", merge=True)
    accept(memory)
    memory.log.rename_subject("auth", "shop", merge=True)
    assert "20 min" in note(memory, "projects/shop/notes.md").read_text()
    assert memory.notes.proposals() == []


# --- accepted ---------------------------------------------------------------------------------


def test_every_kind_of_change_in_a_projects_notes(memory: Memory) -> None:
    memory.remember("Send the form", type_="task", subject="auth")
    memory.remember("Paint the boat", type_="task", subject="auth")
    memory.remember("Is it enough?", type_="question", subject="auth")
    memory.remember("Use Postgres", type_="decision", subject="auth", detail="SQLite locks up")
    memory.history.commit()
    progress = note(memory, "projects/auth/progress.md")
    edit(progress, "- [ ] Send the form", "- [x] Send the form")
    edit(
        progress, "- [ ] Paint the boat (since [[2026-11-09]])\n", "- [ ] Order new ropes for it\n"
    )
    edit(progress, "- Is it enough?", "- Is it enough for Friday?")
    edit(note(memory, "projects/auth/context.md"), "SQLite locks up", "SQLite is too slow")
    entries = {one.content: one for one in accept(memory)}
    assert entries["Send the form"].status == "done"
    assert entries["Is it enough for Friday?"].type == "question"
    decision = entries["Use Postgres"]
    assert (decision.type, decision.detail) == ("decision", "SQLite is too slow")
    assert entries["Order new ropes for it"].status == "open"
    assert {one.subject for one in entries.values()} == {"auth"}
    assert all(one.session == "manual" for one in entries.values())
    chains = memory.log.chains()
    assert not chains.dangling
    assert sorted(one.content for one in chains.still_open.values()) == [
        "Is it enough for Friday?",
        "Order new ropes for it",
    ]
    text = progress.read_text()
    assert "- [x] [[2026-11-09]]: Send the form" in text
    assert "Order new ropes for it (since [[2026-11-09]])" in text


def test_a_line_that_was_taken_out_holds_no_longer_anywhere(memory: Memory) -> None:
    memory.remember("We use Oracle", subject="auth")
    memory.remember("We use Linux", subject="auth")
    memory.history.commit()
    edit(note(memory, "projects/auth/notes.md"), "- We use Oracle ([[2026-11-09]])\n", "")
    [entry] = accept(memory)
    assert entry.extra[RETRACTED] is True
    assert contents(memory) == ["We use Linux"]
    for path, text in tree(memory).items():
        told = [line for line in text.split("\n") if "Oracle" in line]
        assert all(line.startswith("- ~~") for line in told), path
    assert memory.notes.missing_links() == []


def test_a_persons_note_a_reference_and_a_shelf(plain: Memory) -> None:
    plain.log.add_subject("Jane Doe", "person")
    plain.log.add_subject("Postgres", "system")
    tell(plain, "Likes short mails", kind="preference", subject="jane-doe")
    tell(plain, "Runs on lagoon", subject="postgres")
    tell(plain, "Prefer uv", kind="preference", subject="")
    plain.notes.update()
    edit(note(plain, "people/jane-doe.md"), "## Communication\n", "## Communication\n- No calls\n")
    edit(note(plain, "reference/postgres.md"), "on lagoon", "on dune")
    edit(note(plain, "reference/_preferences.md"), "Prefer uv", "Prefer pixi")
    entries = {one.content: one for one in accept(plain)}
    assert (entries["No calls"].subject, entries["No calls"].kind) == ("jane-doe", "preference")
    assert entries["Runs on dune"].subject == "postgres"
    assert (entries["Prefer pixi"].subject, entries["Prefer pixi"].kind) == ("", "preference")


def test_somebody_who_was_only_mentioned_becomes_a_subject(plain: Memory) -> None:
    tell(plain, "Ylva is the photographer", kind="relationship", subject="shop")
    plain.notes.update()
    path = note(plain, "people/ylva.md")
    edit(path, "## Context\n", "## Context\n- Drinks tea in the morning\n")
    [entry] = accept(plain)
    assert entry.subject == "ylva"
    assert plain.log.registry().get("ylva").type == "person"
    assert "Drinks tea in the morning" in path.read_text()
    assert "Ylva is the photographer" in path.read_text()


def test_a_journal_and_what_is_added_below_a_subject(plain: Memory) -> None:
    tell(plain, "Tokens live 15 min")
    tell(plain, "About nothing", subject="")
    plain.notes.update()
    path = note(plain, "journal/2026-11-09.md")
    edit(path, "- Tokens live 15 min", "- Tokens live 20 min\n- Also something entirely new")
    edit(path, "## Other\n", "## Other\n- Nobody knows why\n")
    entries = {one.content: one.subject for one in accept(plain)}
    assert entries == {
        "Tokens live 20 min": "auth",
        "Also something entirely new": "auth",
        "Nobody knows why": "",
    }


def test_observations(plain: Memory) -> None:
    tell(plain, "Send the form", type="task", status="open")
    tell(plain, "Use Postgres", type="decision")
    plain.notes.update()
    path = note(plain, "memory/observations.md")
    edit(path, "To do: Send the form", "To do: Send the long form")
    edit(path, "- 🟡 2026-11-09 Use Postgres (auth)\n", "")
    entries = {one.content: one for one in accept(plain)}
    assert entries["Send the long form"].status == "open"
    assert entries["No longer holds: Use Postgres"].extra[RETRACTED] is True


@pytest.mark.parametrize("elsewhere", ["", "MEMORY.md", "AGENT.md"])
def test_the_briefing_and_the_rollup_of_memory_md(tmp_path: Path, elsewhere: str) -> None:
    path = tmp_path / "workspace" / elsewhere if elsewhere else None
    settings = ["[briefing]", f'memory_file = "{path}"'] if path else []
    memory = quiet(tmp_path / "home", *settings)
    [uv] = tell(memory, "We use uv", type="decision")
    tell(memory, "Send the form", type="task", status="open")
    tell(memory, "Is it enough?", type="question")
    rewrite = Condensed(at=NOW, by="rules", lines=(CondensedLine((uv.id,)),))
    condensed.save(memory.home, {"memory/MEMORY.md#memory": rewrite})
    memory.notes.update()
    memory.notes.brief()
    path = path or memory.home.memory
    pending = "## Pending\n- Send the form (auth)\n"
    edit(path, pending, "## Pending\n- Send the long form (auth)\n- Buy ropes and anchors\n")
    edit(
        path,
        "## Key Decisions\n- 2026-11-09: We use uv",
        "## Key Decisions\n- 2026-11-09: We use pixi",
    )
    assert len(memory.notes.proposals()) == 2
    entries = {one.content: one for one in accept(memory)}
    assert set(entries) == {"Send the long form", "Buy ropes and anchors", "We use pixi"}
    assert entries["Send the long form"].subject == "auth"
    assert entries["Buy ropes and anchors"].status == "open"
    after = path.read_text()
    assert "\n# Core Memory\n" in after
    assert "We use uv" not in after
    assert "- Buy ropes and anchors" in after


def test_lines_that_only_refer_to_entries_correct_none_of_them(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = memory.remember("The launch is on 14 November", subject="shop")
    tell(memory, "Deploy with make", "Test with make", kind="procedure", subject="shop")
    monkeypatch.setenv("WAKEBOOK_NOW", "2026-11-10T08:00:00Z")
    memory.remember("The launch is on 21 November", subject="shop", replaces=[old.id])
    memory.remember("The launch is on 28 November", subject="shop")
    memory.notes.brief()
    before = contents(memory)
    places = {
        note(memory, "journal/2026-11-09.md"): "- ~~The launch",
        note(memory, "projects/_active.md"): "- **[[",
        note(memory, "projects/shop/context.md"): "- 2 in [[procedures/shop]]",
        memory.home.memory: "may conflict",  # which dismisses it
    }
    for path, part in places.items():
        lines = path.read_text().split("\n")
        kept = [line for line in lines if part not in line]
        assert len(kept) == len(lines) - 1, path
        path.write_text("\n".join(kept))
    assert len(memory.notes.proposals()) == len(places)
    done = memory.notes.accept()
    assert done.entries == ()
    assert len(done.left) == len(places) - 1
    assert memory.notes.conflicts() == []
    assert contents(memory) == before
    assert memory.notes.proposals() == []


def test_moving_lines_changes_nothing(plain: Memory) -> None:
    tell(plain, "Tokens live 15 min", "The office is upstairs", "Uses RS256")
    plain.notes.update()
    path = note(plain, "projects/auth/notes.md")
    first = "- Uses RS256 ([[2026-11-09]])\n"
    edit(path, first, "")
    edit(path, "<!-- wakebook:sum", f"{first}<!-- wakebook:sum")
    before = path.read_text()
    assert accept(plain) == []
    assert path.read_text() != before


def test_secrets_in_an_edit_are_redacted(plain: Memory) -> None:
    tell(plain, "The key is in the vault")
    plain.notes.update()
    secret = "sk-ant-api03-" + "Ab1" * 30
    edit(note(plain, "projects/auth/notes.md"), "is in the vault", f"is {secret}")
    [entry] = accept(plain)
    assert secret not in entry.content
    assert secret not in plain.home.log.read_text()


def test_by_number_or_by_path_and_each_only_once(memory: Memory) -> None:
    memory.remember("Tokens live 15 min", subject="auth")
    memory.remember("The shop opens at 9", subject="shop")
    edit(note(memory, "projects/auth/notes.md"), "15 min", "20 min")
    edit(note(memory, "projects/shop/notes.md"), "at 9", "at 10")
    with pytest.raises(NotFound, match="wakebook review"):
        memory.notes.accept("3")
    with pytest.raises(NotFound):
        memory.notes.reject("projects/none.md")
    assert len(memory.notes.proposals()) == 2
    done = memory.notes.accept("2", "2", "projects/shop/notes.md")
    assert [one.content for one in done.entries] == ["The shop opens at 10"]
    assert len(done.proposals) == 1
    [left] = memory.notes.proposals()
    assert left.path == "knowledge/projects/auth/notes.md"


def test_the_same_words_can_be_added_again_later(plain: Memory) -> None:
    tell(plain, "Paint the boat", type="task", status="open")
    plain.notes.update()
    path = note(plain, "projects/auth/progress.md")
    for _ in range(2):
        edit(path, "## Next\n", "## Next\n- [ ] Buy milk and bread\n")
        accept(plain)
        assert "- [ ] Buy milk and bread" in path.read_text()
        edit(path, "- [ ] Buy milk and bread", "- [x] Buy milk and bread")
        [entry] = accept(plain)
        assert entry.status == "done"
        assert "- [ ] Buy milk" not in path.read_text()


def test_killed_at_any_step_of_accepting_everything_is_there_once(tmp_path: Path) -> None:
    start = quiet(tmp_path / "start")
    tell(start, "Tokens live 15 min", "The office is upstairs")
    start.notes.update()
    path = note(start, "projects/auth/notes.md")
    edit(path, "15 min", "20 min")
    edit(path, "## Facts\n", "## Facts\n- Brand new and unlike the others\n")
    expected = ["Brand new and unlike the others", "The office is upstairs", "Tokens live 20 min"]
    step = 0
    while True:
        step += 1
        home = tmp_path / "home"
        shutil.copytree(start.home.root, home)
        died = run_and_die(lambda home=home: Memory(home).notes.accept(), step)  # type: ignore[misc]
        memory = Memory(home)
        memory.notes.accept()
        assert contents(memory) == expected, step
        assert len(list(memory.log.chains().entries)) == 4, step
        assert memory.notes.proposals() == [], step
        assert "20 min" in note(memory, "projects/auth/notes.md").read_text()
        shutil.rmtree(home)
        if not died:
            break
    assert step > 10  # otherwise nothing was counted


# --- rejected --------------------------------------------------------------------------------


def test_rejecting_writes_what_the_log_has_and_git_keeps_the_edit(memory: Memory) -> None:
    memory.remember("Tokens live 15 min", subject="auth")
    memory.notes.brief()
    memory.history.commit()
    path = note(memory, "projects/auth/notes.md")
    before = path.read_bytes()
    edit(path, "15 min", "20 min")
    edit(memory.home.memory, "15 min", "20 min")
    memory.remember("Something new", subject="auth")
    log = memory.home.log.read_bytes()
    found = memory.notes.reject()
    assert len(found) == 2
    assert memory.home.log.read_bytes() == log
    assert memory.notes.proposals() == []
    assert b"15 min" in path.read_bytes()
    assert b"20 min" not in path.read_bytes()
    assert b"Something new" in path.read_bytes()
    assert path.read_bytes() != before
    assert "20 min" not in memory.home.memory.read_text()
    said = git(memory.home.root, "log", "-p", "-S20 min", "--format=%s")
    assert "+- Tokens live 20 min" in said


def test_nothing_to_review(plain: Memory) -> None:
    tell(plain, "one")
    plain.notes.update()
    assert plain.notes.proposals() == []
    done = plain.notes.accept()
    assert (done.proposals, done.entries) == ((), ())
    assert plain.notes.reject() == []


def test_an_acceptance_that_was_killed_is_accepted_once_even_without_the_index(
    memory: Memory,
) -> None:
    """The entry is in the log, the block is not written anew, and what it was is not known."""
    memory.remember("Someone has to paint the pier.", type_="task", subject="auth")
    path = note(memory, "projects/auth/progress.md")
    edit(path, "paint the pier", "paint the pier and the boat")
    edited = path.read_bytes()
    memory.notes.accept()
    path.write_bytes(edited)
    lose_derived(memory)
    again = Memory(memory.home.root)
    again.notes.update()
    again.notes.accept()
    said = [one.content for one in again.log.chains().entries]
    assert said.count("Someone has to paint the pier and the boat.") == 1
    assert again.notes.proposals() == []
