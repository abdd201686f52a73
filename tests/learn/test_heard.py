"""What was said and not kept is kept after all when a later sentence changes it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests import homes
from tests.learn.selecting import SELECTOR, logged, talk
from wakebook import Memory
from wakebook.learn.extract import Heard, Scene, after
from wakebook.log.entry import Entry

OLD = "queue = RabbitMQ"
BEFORE = f"write me the page. {OLD}"
NOW = "the queue is NATS instead of RabbitMQ now"


def tell(memory: Memory, name: str, day: int, *said: str, cwd: str = "/src/heron") -> None:
    """A conversation of its own, and catching up with it."""
    folder = memory.home.root.parent / "chats"
    folder.mkdir(exist_ok=True)
    lines: list[dict[str, str]] = [{"session": name, "cwd": cwd}]
    for minute, text in enumerate(said):
        at = f"2026-03-{day:02}T09:{minute:02}:00Z"
        role = "assistant" if text.startswith(">") else "user"
        lines.append({"role": role, "content": text.removeprefix(">"), "timestamp": at})
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / f"{name}.jsonl").write_text(text, "utf-8")
    memory.catch_up([folder], closing=True)


def facts(memory: Memory) -> dict[str, Entry]:
    return {one.content: one for one in memory.log.chains().entries if one.type == "fact"}


@pytest.fixture
def plain(tmp_path: Path) -> Memory:
    return homes.made(tmp_path / "home")


def test_a_change_keeps_both_sentences(plain: Memory) -> None:
    tell(plain, "first", 2, BEFORE, ">Done.")
    assert not facts(plain)  # a plain statement beside a request is not worth it by itself
    tell(plain, "second", 9, NOW, ">Noted.")
    found = facts(plain)
    old, new = found[OLD], found[NOW]
    assert new.replaces == (old.id,) and new.session == "second"
    assert (old.session, old.evidence, old.timestamp.day) == ("first", (1,), 2)
    assert old.transcript != new.transcript and old.project == new.project
    assert [one.content for one in plain.log.chains().current() if one.type == "fact"] == [NOW]


def test_it_is_found_once(plain: Memory) -> None:
    tell(plain, "first", 2, BEFORE, ">Done.")
    tell(plain, "second", 9, NOW, ">Noted.")
    tell(plain, "third", 16, "the queue is Kafka now, NATS is gone", ">Noted.")
    found = facts(plain)
    assert len(found) == 3
    assert found["the queue is Kafka now, NATS is gone"].replaces == (found[NOW].id,)


def test_another_project_changes_nothing_here(plain: Memory) -> None:
    tell(plain, "first", 2, BEFORE, ">Done.")
    tell(plain, "second", 9, NOW, ">Noted.", cwd="/src/kestrel")
    assert OLD not in facts(plain)


def test_what_was_taken_back_before_it_was_needed_stays_away(plain: Memory) -> None:
    tell(plain, "first", 2, BEFORE, ">Done.")
    for path in plain.home.conversations.rglob("*.md"):
        path.chmod(0o600)
        path.write_text(path.read_text("utf-8").replace(OLD, ""), "utf-8")
    tell(plain, "second", 9, NOW, ">Noted.")
    assert OLD not in facts(plain)


@pytest.mark.parametrize("cut", range(1, 5))
def test_it_does_not_matter_where_a_conversation_was_cut(cut: int) -> None:
    said = talk(BEFORE, ">Done.", "thanks", ">Sure.", NOW)
    whole = [logged(one) for one in SELECTOR.extract(said, Scene())]
    first = [logged(one) for one in SELECTOR.extract(said[:cut], Scene())]
    scene = Scene(earlier=said[:cut], current=after((), first))
    parts = [*first, *(logged(one) for one in SELECTOR.extract(said[cut:], scene))]
    assert [one.id for one in parts] == [one.id for one in whole]
    assert len(whole) == 2


def test_what_was_said_elsewhere_is_asked_for_only_when_it_may_matter() -> None:
    asked: list[int] = []

    def heard() -> list[Heard]:
        asked.append(1)
        return []

    SELECTOR.extract(talk("How do tides work?", ">The moon pulls.", "ok"), Scene(heard=heard))
    assert not asked
    SELECTOR.extract(talk("My cat Olive is nine.", "The gate is at 5 now."), Scene(heard=heard))
    assert asked == [1]
