"""A home is never a source, and a closed transcript is never rewritten."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests import homes
from tests.story import NEXT_DAY, WORKDAY, Claude, chat
from wakebook import Memory
from wakebook.base.errors import TranscriptError
from wakebook.capture import archive
from wakebook.capture import state as states


def files(memory: Memory) -> dict[str, bytes]:
    root = memory.home.root
    found = sorted(memory.home.conversations.rglob("*.md"))
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in found}


@pytest.fixture
def knowing(memory: Memory, projects: Path) -> Memory:
    """Of two conversations, which are over."""
    chat(Claude(projects), WORKDAY)
    chat(Claude(projects, "5e551011-0000-4000-8000-000000000002").pause(hours=9), NEXT_DAY)
    memory.catch_up(closing=True)
    return memory


def test_a_folder_that_holds_the_home_is_read_without_it(knowing: Memory, tmp_path: Path) -> None:
    other = homes.made(tmp_path / "other")
    shutil.copytree(knowing.home.conversations, other.home.conversations, dirs_exist_ok=True)
    (tmp_path / "chat.md").write_text(
        "## user\nWe go with Redis for the queue.\n\n## agent\nFine.\n"
    )
    before, log = files(knowing), knowing.home.log.read_bytes()
    sweep = knowing.catch_up([tmp_path], closing=True)
    assert [report.ref for report in sweep.reports if report.messages] == ["plain/chat"]
    after = files(knowing)
    assert {name: after[name] for name in before} == before and len(after) == len(before) + 1
    assert knowing.home.log.read_bytes().startswith(log)
    assert not any(account.status == "changed" for account in knowing.audit())


@pytest.mark.parametrize("below", ["", "raw", "raw/conversations", ".cache/rebuild/again/raw"])
def test_a_home_itself_is_refused_with_the_reason(knowing: Memory, below: str) -> None:
    if below.startswith(".cache"):
        knowing.rebuilds.build(branch="again")
    before = files(knowing)
    with pytest.raises(TranscriptError, match="a Wakebook home"):
        knowing.catch_up([knowing.home.root / below], closing=True)
    assert files(knowing) == before


@pytest.mark.parametrize("below", ["", "raw", "folder", "file"])
def test_a_link_to_a_home_is_no_way_around_it(knowing: Memory, tmp_path: Path, below: str) -> None:
    before = files(knowing)
    file = knowing.home.root / next(iter(before))
    target = {"file": file, "folder": file.parent}.get(below, knowing.home.root / below)
    links = tmp_path / "links"
    links.mkdir()
    (links / "chat.md").symlink_to(target)
    for named in (links, links / "chat.md"):
        with pytest.raises(TranscriptError, match=r"a Wakebook home|no session in a known format"):
            knowing.catch_up([named], closing=True)
    assert files(knowing) == before


def test_the_chats_of_your_own_agent_in_the_home_are_a_source(memory: Memory) -> None:
    chats = memory.home.root / "sessions"
    chats.mkdir()
    said = '{"role":"user","content":"We go with Postgres for the bookings."}\n'
    (chats / "mine.jsonl").write_text(said + '{"role":"assistant","content":"Fine."}\n')
    assert memory.catch_up([chats], closing=True).messages == 2
    other = homes.made(memory.home.root.parent / "other")
    with pytest.raises(TranscriptError, match="a Wakebook home"):
        other.catch_up([chats], closing=True)


def test_another_host_with_the_same_session_id_gets_a_file_of_its_own(
    knowing: Memory, tmp_path: Path
) -> None:
    before = files(knowing)
    [path, *_] = before
    copy = tmp_path / "elsewhere.md"
    copy.write_bytes(before[path])
    knowing.catch_up([copy], closing=True)
    after = files(knowing)
    assert {name: after[name] for name in before} == before
    assert len(after) == len(before) + 1


def test_without_its_cursors_a_replaced_source_overwrites_nothing(
    knowing: Memory, projects: Path
) -> None:
    before = files(knowing)
    knowing.home.state.unlink()
    [source, *_] = sorted(projects.glob("*.jsonl"))
    source.unlink()
    chat(Claude(projects), [("user", WORKDAY[0][1]), ("agent", "Another answer."), *NEXT_DAY])
    (source.with_suffix(".jsonl")).write_text("{}\n" + source.read_text())  # another first line
    Memory(knowing.home.root).catch_up(closing=True)
    after = files(knowing)
    assert {name: after[name] for name in before} == before


def test_the_writer_of_transcripts_refuses_a_closed_one(knowing: Memory) -> None:
    [path, *_] = files(knowing)
    text = (knowing.home.root / path).read_text()
    archive.write(knowing.home, path, text)  # the same once more, as after a crash
    with pytest.raises(TranscriptError, match="is closed"):
        archive.write(knowing.home, path, text + "More.\n")
    assert (knowing.home.root / path).read_text() == text


def test_a_window_that_state_takes_for_open_and_is_closed_fails_visibly(
    knowing: Memory, projects: Path
) -> None:
    """As after a copy of an older state.json was put back."""
    claude = Claude(projects, "5e551011-0000-4000-8000-000000000003")
    claude.at = datetime(2026, 11, 9, 7, 30, tzinfo=UTC)
    chat(claude, WORKDAY[:2])
    knowing.catch_up()
    kept = knowing.home.state.read_bytes()
    chat(claude, WORKDAY[2:])
    knowing.catch_up(closing=True)
    before = files(knowing)
    knowing.home.state.write_bytes(kept)
    claude.user("And one more thing: the parrot is called Quillfeather.")
    memory = Memory(knowing.home.root)
    sweep = memory.catch_up(closing=True)
    assert any("is closed" in error for error in sweep.failed.values())
    assert files(memory) == before
    assert any("is closed" in account.note for account in memory.status().accounts)


@pytest.mark.parametrize("change", ["changed", "removed"])
def test_audit_names_the_transcript_that_differs(knowing: Memory, change: str) -> None:
    [path, *_] = files(knowing)
    file = knowing.home.root / path
    file.chmod(0o600)
    if change == "changed":
        file.write_text(file.read_text().replace("Postgres", "MariaDB"))
    else:
        file.unlink()
    found = [account for account in knowing.audit() if account.status == "changed"]
    assert [account.ref for account in found] == [path]
    assert f"{path} was {change}" in found[0].note and "checkout HEAD" in found[0].note
    assert any(check.name == "sessions: changed" for check in knowing.doctor(quick=True))


def test_the_state_of_a_home_is_never_a_session(knowing: Memory) -> None:
    assert all(
        "conversations" not in one.path for one in states.load(knowing.home).sessions.values()
    )
