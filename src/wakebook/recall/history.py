"""History: what was said in this session, newest first into the budget, oldest first in the text.

It comes from the messages that a caller hands over, or else from the session's transcript. A tool
call is one line. What follows the first line of a message is indented, so that nobody's words can
pass for another's.
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
from wakebook.recall.once import Once
from wakebook.recall.slot import Item, label

TITLE = "# Earlier in this session"
ROLES = {"user": "user", "assistant": "agent", "tool": "tool"}
SHOWN = 8  # messages that are listed, the newest
LONGEST = 400  # tokens of one message; more of it is cut
CHARACTERS = 20 * LONGEST  # of a message that are looked at


class Spoke(NamedTuple):
    role: str
    text: str


class Remembered(NamedTuple):
    text: str = ""
    tokens: int = 0
    items: tuple[Item, ...] = ()
    dropped: int = 0


class Transcripts:
    """The newest transcript of a session, kept until it changes."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._kept: dict[str, tuple[tuple[int, int], list[Spoke]]] = {}

    def path(self, session: str) -> str:
        """The transcript of the session's newest window; empty if there is none."""
        return (archive.paths_of(self._home, session) or [""])[-1] if session else ""

    def said(self, path: str) -> list[Spoke]:
        try:
            found = (self._home.root / path).stat()
            signature = (found.st_mtime_ns, found.st_size)
            kept = self._kept.get(path)
            if kept and kept[0] == signature:
                return kept[1]
            turns = archive.read(self._home, path).turns
        except (TranscriptError, OSError):
            return []
        said = [Spoke(turn.role, turn.text) for turn in turns if turn.text.strip()]
        self._kept = {path: (signature, said)}
        return said


def of_messages(messages: Sequence[Message]) -> list[Spoke]:
    """The words of a message list, in the shape of any host."""
    found = []
    tools: dict[str, str] = {}
    for message in messages:
        tools.update(shapes.calls(message))
        role = ROLES.get(shapes.role(message), "")
        text = shapes.said(message, tools).strip() if role else ""
        if text:
            found.append(Spoke(role, text))
    return found


def pack(said: Sequence[Spoke], room: int, told: Once) -> Remembered:
    """As many of the newest messages as fit, without a gap. `told`: what was said elsewhere."""
    left = room - tokenizer.count(f"{TITLE}\n\n")
    kept: list[str] = []
    for one in reversed(said):
        line = _line(one, told)
        size = tokenizer.count(f"{line}\n\n")
        if size > left:
            break
        kept.append(line)
        left -= size
    if not kept:
        return Remembered(dropped=len(said))
    items = tuple(Item(label=label(line), tokens=tokenizer.count(line)) for line in kept[:SHOWN])
    text = "\n\n".join([TITLE, *reversed(kept)])
    return Remembered(text, room - left, items, len(said) - len(kept))


def _line(one: Spoke, told: Once) -> str:
    """A message. Its first line always stands; a later one that was told elsewhere does not."""
    text = one.text.strip()[:CHARACTERS]
    if tokenizer.count(text) > LONGEST:
        text = f"{tokenizer.cut(text, LONGEST).rstrip()} …"
    first, *rest = text.split("\n")
    kept = [f"  {line.rstrip()}" for line in rest if not told.has(line)]
    return "\n".join([f"**{one.role}**: {first.rstrip()}", *kept])
