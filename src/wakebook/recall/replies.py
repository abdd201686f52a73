"""Replies: what the user said to an agent's turn, which decides what that turn is worth."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from wakebook.learn.phrases import cues, lower
from wakebook.recall.stale import Utterance
from wakebook.store.hits import Passage

LONGEST = 160  # characters of a reply that is told beside the turn
After = Callable[[Passage], Iterable[Utterance]]


def refused(passage: Passage, after: After) -> bool:
    """Whether an agent's passage proposes something that the user then did not want: said so, or
    said something else than yes."""
    if not _has(cues.OFFERS, passage):
        return False
    reply = _reply(passage, after).lower()
    if not reply or lower(cues.REFUSES).match(reply) or _has(cues.CHOICES, passage):
        return lower(cues.REFUSES).match(reply) is not None
    yes = lower(cues.YES).match(reply)
    rest = reply[yes.end() :] if yes else reply
    return not (yes and yes.end()) and not any(map(lower(cues.COMMIT).match, (rest, reply)))


def reply_to(passage: Passage, after: After) -> str:
    """What a user chose of what an agent's turn offers, if that is short."""
    offers = _has(cues.CHOICES, passage) or _has(cues.OFFERS, passage)
    reply = _reply(passage, after) if offers else ""
    return " ".join(reply.split()) if len(reply) <= LONGEST else ""


def _has(cue: str, passage: Passage) -> bool:
    return lower(cue).search(passage.content.lower()) is not None


def _reply(passage: Passage, after: After) -> str:
    found = (one.text for one in after(passage) if one.turn == passage.row.place + 1)
    return next(found, "").removeprefix("user: ")
