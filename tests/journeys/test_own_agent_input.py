"""Your own agent: what it hands over is written down, or refused with a reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.journeys.test_own_agent import again, say, statuses
from wakebook import Memory
from wakebook.base.errors import NotInitialised, WakebookError

WRONG = [
    " ", "\n", " a", "a ", "a/b", "../../etc/passwd", "a\\b", ".", "..", "manual", "a\0b", "a\nb",
    "\ud83d", "\u202eabc", "x" * 201, None, 7, b"a",
]  # fmt: skip


@pytest.mark.parametrize("name", WRONG, ids=ascii)
def test_an_id_that_cannot_be_one_is_refused(memory: Memory, name: Any) -> None:
    with pytest.raises(WakebookError, match="cannot be the id of a session"):
        memory.session(name)
    assert not (memory.home.root / "sessions").exists()


def test_ids_that_look_alike_have_files_of_their_own(memory: Memory) -> None:
    names = [
        "a",
        "A",
        "a b",
        "a-b",
        "A-b",
        "Ünïcode",
        "ünïcode",
        "日本",
        "...",
        "x" * 200,
        "-",
        "+49",
    ]
    chats = [memory.session(name) for name in names]
    files = {chat.path.name.lower() for chat in chats}  # as on a file system without case
    assert len(files) == len(names)
    for chat in chats:
        assert chat.path.parent == memory.home.root / "sessions"
        say(chat, "Hello.")
    again(memory).catch_up(closing=True)
    assert statuses(memory) == {f"plain/{name}": "ok" for name in names}


def test_without_an_id_every_session_is_a_new_one(memory: Memory) -> None:
    first, second = memory.session(), memory.session()
    assert first.id != second.id and first.id.startswith("2026-11-09-")
    assert memory.session(first.id).path == first.path


@pytest.mark.parametrize("wrong", [None, 7, b"bytes", ["list"], {"role": "user"}], ids=repr)
def test_what_is_no_text_is_refused_and_nothing_is_written(memory: Memory, wrong: Any) -> None:
    chat = memory.session("typed")
    with pytest.raises(WakebookError, match="A message is text, not"):
        chat.user(wrong)
    with pytest.raises(WakebookError, match="A message is text, not"):
        chat.agent(wrong)
    with pytest.raises(WakebookError, match="A tool's name is text, not"):
        chat.tool(wrong, {}, "")
    with pytest.raises(WakebookError, match="The model is text, not"):
        memory.session("typed", model=wrong)
    if wrong is not None:
        with pytest.raises(WakebookError, match="An id is text, not"):
            chat.user("Hello", id=wrong)
    assert not chat.path.exists()


def test_odd_text_is_written_and_read(memory: Memory) -> None:
    chat = memory.session("odd")
    texts = ["half \ud83d of one", "nul \0 here", "\u2028 line", "x" * 3_000_000]
    for text in texts:
        chat.user(text)
    chat.user("   ")  # nothing was said
    assert [one["content"] for one in chat.messages()] == ["half ? of one", *texts[1:]]
    chat.end()
    assert statuses(memory) == {"plain/odd": "ok"}


def test_a_message_that_would_not_be_read_is_refused(memory: Memory) -> None:
    memory.home.config.write_text("[capture]\nmax_record_megabytes = 1\n")
    chat = again(memory).session("huge")
    chat.user("before")
    with pytest.raises(WakebookError, match=r"2 MB in huge: \[capture\] max_record_megabytes is 1"):
        chat.tool("cat", {"path": "x"}, "x" * (2 << 20))
    assert len(chat.messages()) == 1


def test_there_must_be_a_home(tmp_path: Path) -> None:
    with pytest.raises(NotInitialised):
        Memory(tmp_path / "none").session("a")
    assert not (tmp_path / "none").exists()
