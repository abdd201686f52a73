"""The sliding window: a conversation that has outgrown its budget, made to fit.

First old tool results shrink to a line each, then the oldest messages drop. A tool call and its
results stay or go together, because providers refuse one without the other; and what a user asked
goes last of its exchange, because a list must not begin with an answer.
These never drop: system messages, what stands before the first message of a user, the last
message of a user, and the last message with its call. Pure: the given list stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from wakebook.capture.transcript import one_line
from wakebook.recall import messages as view
from wakebook.recall.messages import Message, Result

FIRST_WORDS = 80  # characters of a shrunk result's text
_SHRUNK = re.compile(r"\[[^\n]{1,300}, shortened\)\]")


class Slid(msgspec.Struct, frozen=True, kw_only=True):
    """What is left, and what has become of each message (by its number in the given list)."""

    messages: list[Message]
    kept: tuple[int, ...]
    dropped: tuple[int, ...]
    shrunk: tuple[int, ...]  # messages with a tool result that is one line now; none of dropped
    tokens_before: int
    tokens_after: int
    budget: int
    fits: bool
    saved: bool | None = None  # what drops is in the memory; None: nobody looked
    why: str = ""  # why it does not fit, or was not saved


def slide(messages: Sequence[Message], budget_tokens: int, *, drop: bool = True) -> Slid:
    """The messages that fit the budget. With `drop` off, tool results shrink and that is all."""
    sliding = _Sliding(messages, budget_tokens)
    sliding.shrink()
    if drop:
        sliding.drop()
    return sliding.slid(drop)


class _Sliding:
    def __init__(self, messages: Sequence[Message], budget: int) -> None:
        self._messages = list(messages)
        self._tokens = [view.tokens(message) for message in messages]
        self._roles = [view.role_of(message) for message in messages]
        self._budget = budget
        self._before = self._total = sum(self._tokens)
        self._head = view.first_user(messages)
        self._units = _units(messages)
        self._together: dict[int, list[int]] = {}
        for index, unit in enumerate(self._units):
            self._together.setdefault(unit, []).append(index)
        self._kept = set(range(len(self._messages)))
        self._shrunk: set[int] = set()

    def shrink(self) -> None:
        """Old tool results become a line each, the oldest first, until it is enough."""
        found = view.results(self._messages)
        last = self._units[found[-1].index] if found else -1  # nobody may have read it yet
        for one in found:
            if self._total <= self._budget:
                return
            known = one.strange or _SHRUNK.fullmatch(one.text)
            if one.index >= self._head and self._units[one.index] != last and not known:
                self._put(one, _line(one))

    def _put(self, one: Result, line: str) -> None:
        shorter = view.replaced(self._messages[one.index], one, line)
        saved = self._tokens[one.index] - view.tokens(shorter)
        if saved > 0:
            self._total -= saved
            self._tokens[one.index] -= saved
            self._messages[one.index] = shorter
            self._shrunk.add(one.index)

    def drop(self) -> None:
        """The oldest messages go, until it is enough."""
        fixed = self._fixed()
        for asked, units in self._exchanges():
            if self._total <= self._budget:
                break
            loose = [unit for unit in units if unit not in fixed]
            while loose and self._total > self._budget:
                self._drop(loose.pop(0))
            stays = any(self._roles[unit] != "system" for unit in units if unit in fixed)
            if not (loose or stays) and asked not in fixed | {-1}:
                self._drop(asked)  # alone, it would look like an open question

    def _fixed(self) -> set[int]:
        """The units that never drop."""
        users = [i for i, role in enumerate(self._roles) if role == "user"]
        never = {i for i, role in enumerate(self._roles) if i < self._head or role == "system"}
        never |= {*users[-1:], *range(len(self._messages))[-1:]}
        return {self._units[i] for i in never}

    def _exchanges(self) -> list[tuple[int, list[int]]]:
        """What a user said (-1: nobody), with the units that follow until a user speaks again."""
        found: list[tuple[int, list[int]]] = [(-1, [])]
        for unit, members in self._together.items():
            if len(members) == 1 and self._roles[unit] == "user":
                found.append((unit, []))
            else:
                found[-1][1].append(unit)
        return found

    def _drop(self, unit: int) -> None:
        for index in self._together[unit]:
            self._kept.discard(index)
            self._total -= self._tokens[index]

    def slid(self, dropping: bool) -> Slid:
        kept = sorted(self._kept)
        fits = self._total <= self._budget
        what = "what never drops has" if dropping else "without dropping anything it has"
        need = f"{what} {self._total:,} tokens, and the budget is {self._budget:,}"
        return Slid(
            messages=[self._messages[i] for i in kept],
            kept=tuple(kept),
            dropped=tuple(i for i in range(len(self._messages)) if i not in self._kept),
            shrunk=tuple(sorted(self._shrunk & self._kept)),
            tokens_before=self._before,
            tokens_after=self._total,
            budget=self._budget,
            fits=fits,
            why="" if fits else need,
        )


def _units(messages: Sequence[Message]) -> list[int]:
    """For each message the first of those that it stays or goes together with.

    A call is answered by the next result with its id: some models use an id again.
    """
    first = list(range(len(messages)))

    def leader(index: int) -> int:
        while first[index] != index:
            index = first[index]
        return index

    asked: dict[str, int] = {}
    for index, message in enumerate(messages):
        for call in view.answers(message):
            if call in asked:
                one, other = sorted((leader(index), leader(asked[call])))
                first[other] = one
        asked.update((call, index) for call, _ in view.calls(message))
    return [leader(index) for index in range(len(messages))]


def _line(result: Result) -> str:
    """A result in one line: the tool, its first words, how long it was."""
    tool = one_line(result.tool, 60) or "tool"
    pictures = f", {result.media} pictures" if result.media > 1 else ", 1 picture"
    size = f"{len(result.text):,} characters{pictures if result.media else ''}, shortened"
    return f"[{tool}: {one_line(result.text, FIRST_WORDS) or 'no text'} ({size})]"
