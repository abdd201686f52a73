"""Set-up for the tests of learning without a model: what is said, and what is kept of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from wakebook.capture.transcript import Message, Role, Tool
from wakebook.learn.extract import Draft, Scene, after
from wakebook.learn.select.extractor import Selector
from wakebook.log.entry import Entry, Status, Type, validate

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
SELECTOR = Selector()


def talk(*said: str, name: str = "m") -> list[Message]:
    """Messages in turn. A leading ">" makes it the agent's."""
    found = []
    for turn, text in enumerate(said, 1):
        role: Role = "agent" if text.startswith(">") else "user"
        found.append(Message(role, text.removeprefix(">"), f"{name}{turn}", NOW, turn=turn))
    return found


def known(identity: str, type_: Type, content: str, status: Status | None = None) -> Entry:
    return Entry(
        id=identity.ljust(12, "-"),
        timestamp=NOW,
        type=type_,
        content=content,
        session="before",
        status=status,
    )


def extract(*said: str, current: Sequence[Entry] = (), scene: Scene | None = None) -> list[Draft]:
    return SELECTOR.extract(talk(*said), scene or Scene(current=current))


def contents(*said: str, current: Sequence[Entry] = ()) -> list[str]:
    return [draft.content for draft in extract(*said, current=current)]


def one(*said: str, current: Sequence[Entry] = ()) -> Draft:
    drafts = extract(*said, current=current)
    assert len(drafts) == 1, drafts
    return drafts[0]


def logged(draft: Draft) -> Entry:
    return validate(draft.entry("now", NOW))


def remembered(*sessions: Sequence[str], project: str = "") -> list[Entry]:
    """What is current after some sessions, one after the other."""
    current: list[Entry] = []
    for number, said in enumerate(sessions):
        scene = Scene(current=current, subject=project)
        drafts = SELECTOR.extract(talk(*said, name=f"s{number}-"), scene)
        current = after(current, [logged(draft) for draft in drafts])
    return current


def read(messages: Sequence[Message], current: Sequence[Entry] = ()) -> list[Draft]:
    """A whole window that ends."""
    return SELECTOR.read(messages, Scene(current=current, ends=True)).drafts


def user(text: str, turn: int) -> Message:
    return Message("user", text, f"m{turn}", NOW, turn=turn)


def agent(text: str, turn: int, *tools: Tool) -> Message:
    return Message("agent", text, f"m{turn}", NOW, turn=turn, tools=tools)
