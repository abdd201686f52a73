"""History: what was said in this session, newest first into the budget, oldest first in the text.

It comes from the messages that a caller hands over, or else from the session's transcript. A tool
call is one line.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from wakebook.capture import archive
from wakebook.errors import TranscriptError
from wakebook.home import Home
from wakebook.models import tokenizer
from wakebook.recall import messages as shapes
from wakebook.recall.messages import Message
from wakebook.recall.slot import Item

TITLE = "# Earlier in this session"
ROLES = {"user": "user", "assistant": "agent", "tool": "tool"}
LONGEST = 400  # tokens of one message; more of it is cut


class Spoke(NamedTuple):
    role: str
    text: str


class Remembered(NamedTuple):
    text: str = ""
    tokens: int = 0
    items: tuple[Item, ...] = ()
    dropped: int = 0


def of_session(home: Home, session: str) -> list[Spoke]:
    """The words of the session's newest transcript."""
    paths = archive.paths_of(home, session)
    if not paths:
        return []
    try:
        turns = archive.read(home, paths[-1]).turns
    except (TranscriptError, OSError):
        return []
    return [Spoke(turn.role, turn.text) for turn in turns if turn.text.strip()]


def of_messages(messages: Sequence[Message]) -> list[Spoke]:
    """The words of a message list, in the shape of any host."""
    found = []
    for message in messages:
        role = ROLES.get(shapes.role(message), "")
        text = shapes.said(message).strip() if role else ""
        if text:
            found.append(Spoke(role, text))
    return found


def lines(said: Sequence[Spoke]) -> list[str]:
    found = []
    for one in said:
        text = "\n".join(line.rstrip() for line in one.text.strip().split("\n"))
        if tokenizer.count(text) > LONGEST:
            text = f"{tokenizer.cut(text, LONGEST)} …"
        found.append(f"**{one.role}**: {text}")
    return found


def pack(said: Sequence[Spoke], room: int) -> Remembered:
    """As many of the newest messages as fit, without a gap."""
    told = lines(said)
    left = room - tokenizer.count(f"{TITLE}\n\n")
    kept: list[str] = []
    for line in reversed(told):
        size = tokenizer.count(f"{line}\n\n")
        if size > left:
            break
        kept.append(line)
        left -= size
    if not kept:
        return Remembered(dropped=len(told))
    text = "\n\n".join([TITLE, *reversed(kept)])
    items = tuple(
        Item(label=line[:100].replace("\n", " "), tokens=tokenizer.count(line)) for line in kept[:8]
    )
    return Remembered(text, room - left, items, len(told) - len(kept))


def need(said: Sequence[Spoke]) -> int:
    """Tokens that all of it would take."""
    if not said:
        return 0
    return tokenizer.count("\n\n".join([TITLE, *lines(said)]))
