"""The sliding window: a conversation that has outgrown its budget, made to fit.

First old tool results shrink to a line each, then the oldest messages drop. A tool call and its
results stay or go together, because providers refuse one without the other; and what a user asked
goes last of its exchange, because a list must not begin with an answer.
These never drop: system messages, what stands before the first message of a user, the last
message of a user, and the last message with its call. Pure: the given list stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from wakebook.base.errors import ConfigError, NotFound, TranscriptError, WakebookError
from wakebook.base.text import one_line
from wakebook.recall import messages as view
from wakebook.recall.messages import Message, Result

if TYPE_CHECKING:
    from wakebook.capture.state import Session
    from wakebook.learn.catch_up import Sweep
    from wakebook.learn.flush import Flushed
    from wakebook.opened import Opened
    from wakebook.recall.prune import Pruned


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
    saved: bool | None = None  # what drops is in the memory; None: not checked
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
        last = self._units[found[-1].index] if found else -1  # the model may not have read it yet
        for one in found:
            if self._total <= self._budget:
                return
            known = one.strange or _SHRUNK.fullmatch(one.text)
            if one.index < self._head or self._units[one.index] == last or known:
                continue
            shorter = view.replaced(self._messages[one.index], one, _line(one))
            saved = self._tokens[one.index] - view.tokens(shorter)
            if saved > 0:
                self._total -= saved
                self._tokens[one.index] -= saved
                self._messages[one.index] = shorter
                self._shrunk.add(one.index)

    def drop(self) -> None:
        """The oldest messages go, until it is enough."""
        users = [i for i, role in enumerate(self._roles) if role == "user"]
        never = {i for i, role in enumerate(self._roles) if i < self._head or role == "system"}
        never |= {*users[-1:], *range(len(self._messages))[-1:]}
        fixed = {self._units[i] for i in never}
        for asked, units in self._exchanges():
            if self._total <= self._budget:
                break
            loose = [unit for unit in units if unit not in fixed]
            while loose and self._total > self._budget:
                self._drop(loose.pop(0))
            stays = any(self._roles[unit] != "system" for unit in units if unit in fixed)
            if not (loose or stays) and asked not in fixed | {-1}:
                self._drop(asked)  # alone, it would look like an open question

    def _exchanges(self) -> list[tuple[int, list[int]]]:
        """What a user said (-1: no user), with the units that follow until a user speaks again."""
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
    """For each message the first of those that it stays or goes together with. A call is answered
    by the next result with its id: some models use an id again."""
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


class Windows:
    """What a model is sent: pruned, slid, and saved before any of it goes."""

    def __init__(self, opened: Opened, catch_up: Callable[[list[Session]], Sweep]) -> None:
        self._opened = opened
        self._home = opened.home
        self._catch_up = catch_up

    def prune(
        self, messages: Sequence[Message], window: int, *, idle_ms: int | None = None
    ) -> Pruned:
        """A message list with smaller old tool results, by [pruning] in config.toml. `window`:
        tokens; `idle_ms`: since the model was last called, if that is known."""
        from wakebook.recall import prune

        try:
            return prune.prune(messages, window, self._opened.config.pruning, idle_ms=idle_ms)
        except ConfigError as error:
            raise ConfigError(f"{self._home.config}: {error}") from error

    def slide(
        self, messages: Sequence[Message], budget: int, session: str = "", *, anyway: bool = False
    ) -> Slid:
        """A message list that fits a budget of tokens: its oldest messages drop. With a session, it
        is first caught up on and checked. If it is not safely in the memory, nothing drops, unless
        `anyway`."""
        from wakebook.learn.flush import Flushed

        slid = slide(messages, budget)
        if not slid.dropped or not session:
            return slid
        found = self._found(session)
        done = found if isinstance(found, Flushed) else self._saved(found)
        if done.ok:
            return msgspec.structs.replace(slid, saved=True)
        if not anyway:
            slid = slide(messages, budget, drop=False)
        why = "; ".join(filter(None, (f"{done.session} is not saved: {done.why}", slid.why)))
        return msgspec.structs.replace(slid, saved=False, why=why)

    def flush(
        self,
        session: str,
        *,
        tokens: int | None = None,
        window: int | None = None,
        compactions: int | None = None,
        paths: Sequence[Path] = (),
    ) -> Flushed:
        """Save a session before its host compacts it, and check that it is saved. With `tokens`
        (used so far) and `window` (the context window) only if that is due, and once in each round.
        `compactions`: how often the host has compacted it; without it, what the session's file
        tells, and where that tells nothing each call is a round. `paths`: where the session is, if
        that is known."""
        from wakebook.learn.flush import Flushed, flush_due, flushed_at, mark, rounds

        self._home.require()
        if (tokens is None) != (window is None):
            raise WakebookError("A flush needs both or neither: the tokens used, and the window.")
        full = (tokens, window) if tokens is not None and window is not None else None
        settings = self._opened.config.flush
        if full and not (due := flush_due(*full, settings)):  # before anything is read
            return Flushed(session=session, due=False, why=due.reason)
        found = self._found(session, paths)
        if isinstance(found, Flushed):
            return found
        turn = rounds(found, self._opened.config) if compactions is None else compactions
        last = flushed_at(self._opened.state(), found)
        if full and not (due := flush_due(*full, settings, compactions=turn, flushed_at=last)):
            return Flushed(session=found[0].ref, due=False, round=turn, why=due.reason)
        done = self._saved(found)
        if done.ok and turn is not None:
            mark(self._home, found, turn)
        return msgspec.structs.replace(done, round=turn)

    def _found(self, name: str, paths: Sequence[Path] = ()) -> list[Session] | Flushed:
        """The sources of a session, or what to say if there is none."""
        from wakebook.capture.discover import named
        from wakebook.learn.flush import unknown

        if not name:
            return unknown(self._home, name, "no session was named")
        try:
            return named(self._opened.sessions(paths), name)
        except (NotFound, TranscriptError) as error:
            return unknown(self._home, name, str(error))

    def _saved(self, found: list[Session]) -> Flushed:
        from wakebook.learn.flush import save

        opened = self._opened
        opened.models.insist = False
        read = partial(self._catch_up, found)
        return save(opened.home, opened.config, found, read, opened.chains)
