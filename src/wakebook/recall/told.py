"""Told: a person's look at what turns were told (see `tellings`), turn by turn and compared; a
message that is only tried; and a word on whether something helped.

Only `rate` writes. Looking at a turn changes nothing, nor does trying a message: nothing counts as
told or decided, no model is asked.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from wakebook.base import clock
from wakebook.base.decode import decode
from wakebook.base.errors import NotFound, WakebookError
from wakebook.capture import project as projects
from wakebook.log.query import Query
from wakebook.recall import ratings
from wakebook.recall.gate import Gate
from wakebook.recall.scope import Place, scope
from wakebook.recall.slot import Context, Item, label
from wakebook.recall.tellings import NAME, OLD, TAKEN_BACK, Telling, made
from wakebook.store import figures

if TYPE_CHECKING:
    from wakebook.opened import Opened
    from wakebook.recall.topics.book import Book
    from wakebook.recall.turn import Turns

ELSEWHERE = 40  # findings that are looked at for other projects' ...
SHOWN = 6  # ... of which so many are shown


class TurnTold(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A turn in a list: a Telling without what was told."""

    id: str
    timestamp: str
    session: str
    event: str = "prompt"
    host: str = ""
    project: str = ""
    message: str = ""
    budget: int = 0
    tokens: int = 0
    milliseconds: float = 0.0
    late: tuple[str, ...] = ()
    answer: str = ""
    place: tuple[str, int, int] = ("", 0, 0)  # the file, and where in it


class SessionTold(msgspec.Struct, frozen=True, kw_only=True):
    session: str
    host: str
    project: str  # its name
    turns: int
    told: int  # turns that were told anything
    tokens: int
    first: str
    last: str
    message: str  # the first one


class Told(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A finding of a turn, as it is now."""

    slot: str  # empty: it just missed
    item: Item
    type: str = ""  # of an entry
    text: str = ""
    status: str = ""
    subject: str = ""
    replaced_by: str = ""  # since
    gone: bool = False  # forgotten since
    useful: bool | None = None  # as it was rated for this message
    decision: str = ""  # about the topic


class TurnDifference(msgspec.Struct, frozen=True, kw_only=True):
    """Of a turn to the one before it."""

    before: str  # its id
    new: tuple[str, ...]  # told now, not then
    gone: tuple[str, ...]  # told then, not now
    again: tuple[str, ...]  # both
    tokens: int  # more than then


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """One turn, with all that can be said of it."""

    turn: Telling
    project: str  # its name
    arrived: str  # yes; not yet; or the id of the turn that brought it
    told: tuple[Told, ...]
    missed: tuple[Told, ...]
    elsewhere: tuple[Item, ...]  # what other projects say of it, which is not told here
    earlier: str = ""  # the turn before, and after
    later: str = ""
    difference: TurnDifference | None = None


class Tellings:
    """The handle: `memory.told`."""

    def __init__(self, opened: Opened, topics: Book, turns: Turns) -> None:
        self._opened, self._topics, self._turns = opened, topics, turns

    # --- looking -----------------------------------------------------------------------------

    def turns(self, session: str = "") -> list[TurnTold]:
        """All turns that are kept, or those of a session, the oldest first."""
        self._opened.home.require()
        days = self._opened.config.state.told_days
        least = clock.iso(clock.now() - timedelta(days=days))
        kept = [one for one in pages(self._opened.home.cache).read() if one.timestamp >= least]
        if not session:
            return kept
        exact = [one for one in kept if one.session == session]
        return exact or [one for one in kept if one.session.startswith(session)]

    def sessions(self) -> list[SessionTold]:
        """Every session that was told something, or nothing, the newest first."""
        known, found = projects.load(self._opened.home), dict[str, list[TurnTold]]()
        for one in self.turns():
            found.setdefault(one.session, []).append(one)
        told = [
            SessionTold(
                session=name,
                host=turns[-1].host,
                project=known.name(turns[-1].project) if turns[-1].project else "",
                turns=len(turns),
                told=sum(one.tokens > 0 for one in turns),
                tokens=sum(one.tokens for one in turns),
                first=turns[0].timestamp,
                last=turns[-1].timestamp,
                message=next((one.message for one in turns if one.message), ""),
            )
            for name, turns in found.items()
        ]
        return sorted(told, key=lambda one: one.last, reverse=True)

    def turn(self, name: str) -> Telling:
        """By its id, or a unique beginning. Raises NotFound."""
        return self._read(self._turn(name))

    def _turn(self, name: str) -> TurnTold:
        begins = [one for one in self.turns() if one.id.startswith(name)] if name else []
        exact = [one for one in begins if one.id == name] or begins
        if len(exact) != 1:
            several = f" {len(exact)} begin with it; give more of it." if exact else ""
            raise NotFound(
                f"There is no turn {name!r}.{several} `wakebook context --told` lists those that "
                "are kept."
            )
        return exact[0]

    def _read(self, turn: TurnTold) -> Telling:
        name, start, size = turn.place
        with suppress(OSError, msgspec.MsgspecError):
            with (self._opened.home.cache / name).open("rb") as stream:
                stream.seek(start)
                told = decode(stream.read(size), Telling)
            if told.id == turn.id:
                return told
        raise NotFound(f"The turn {turn.id} has left the record meanwhile.")

    def look(self, name: str) -> Look:
        """A turn with what its findings are now, and compared with the one before."""
        turn = self._turn(name)
        told, around = self._read(turn), self.turns(turn.session)
        at = next(number for number, one in enumerate(around) if one.id == turn.id)
        before = self._read(around[at - 1]) if at else None
        brought = [one.id for one in around[at + 1 :] if turn.answer and turn.answer in one.late]
        waits = self._opened.home.cache / "told" / f"{turn.answer}.wait"
        arrived = brought[0] if brought else "not yet" if turn.answer and waits.exists() else "yes"
        known = projects.load(self._opened.home)
        return Look(
            turn=told,
            project=known.name(told.project) if told.project else "",
            arrived=arrived,
            told=self._seen(told, [(slot.name, one) for slot in told.slots for one in slot.items]),
            missed=self._seen(told, [("", one) for one in told.missed]),
            elsewhere=self.elsewhere(told.message, told.project, clock.parse(told.timestamp)),
            earlier=around[at - 1].id if at else "",
            later=around[at + 1].id if at + 1 < len(around) else "",
            difference=difference(told, before) if before else None,
        )

    def _seen(self, told: Telling, items: Sequence[tuple[str, Item]]) -> tuple[Told, ...]:
        rated = {
            one.finding.ref: one.useful
            for one in ratings.ratings(self._opened.home)
            if one.finding.message == told.message
        }
        judged = self._topics.judgements() if told.decisions else {}
        topics = {f"topic {one.topic}": one.id for one in told.decisions}
        refs = [item.ref for _, item in items]
        none: dict[str, figures.EntryNow] = {}
        found = self._opened.index.peek(lambda store: figures.entries(store, refs), none)
        return tuple(self._told(slot, item, found, rated, judged, topics) for slot, item in items)

    def _told(
        self,
        slot: str,
        item: Item,
        found: dict[str, figures.EntryNow],
        rated: dict[str, bool | None],
        judged: dict[str, bool],
        topics: dict[str, str],
    ) -> Told:
        seen, decision = found.get(item.ref), topics.get(item.label, "")
        useful = judged.get(decision) if decision else rated.get(item.ref)
        entry = seen.entry if seen else None
        return Told(
            slot=slot,
            item=item,
            type=entry.type if entry else "",
            text=entry.content if entry else "",
            status=seen.status if seen else "",
            subject=entry.subject if entry else "",
            replaced_by=seen.replaced_by if seen else "",
            gone=item.label == TAKEN_BACK,
            useful=useful,
            decision=decision,
        )

    # --- trying ------------------------------------------------------------------------------

    def trial(
        self, message: str, *, budget: int = 0, project: str = "", session: str = ""
    ) -> Context:
        """What a message would be told now, within a budget and in a project; after all that a
        session was told, if one is named."""
        if not budget:
            budget = self._opened.config.hooks.budget
        before = "".join(self._read(one).text for one in self._since_start(session))
        skip = ("identity", "memory", "projects", "handoff", "journal", "history")
        place = {"project": project} if project else {"everywhere": True}
        return self._turns.context(
            message, budget=budget, skip=skip, told=before, trial=True, **place
        )

    def tried(self, message: str, *, budget: int = 0, project: str = "", session: str = "") -> Look:
        """The same, as a turn is looked at."""
        done = self.trial(message, budget=budget, project=project, session=session)
        told = made([done], session=session, message=message, event="trial")
        items = [(slot.name, one) for slot in told.slots for one in slot.items]
        known = projects.load(self._opened.home)
        return Look(
            turn=told,
            project=known.name(told.project) if told.project else "",
            arrived="yes",
            told=self._seen(told, items),
            missed=self._seen(told, [("", one) for one in told.missed]),
            elsewhere=self.elsewhere(message, told.project),
        )

    def _since_start(self, session: str) -> list[TurnTold]:
        kept = self.turns(session) if session else []
        starts = [at for at, one in enumerate(kept) if one.event == "start"]
        return kept[starts[-1] :] if starts else kept

    def elsewhere(
        self, message: str, project: str, before: datetime | None = None
    ) -> tuple[Item, ...]:
        """What is about a message, but belongs to other projects and so is not told in this one."""
        opened, known = self._opened, projects.load(self._opened.home)
        if not (message and project and project in known.known):
            return ()
        here = scope(opened, Place(project=project), message)
        query = Query(text=message, files=True)
        found = opened.index.passages(query, clock.now(), ELSEWHERE)
        if found.question is None:
            return ()
        until = before.timestamp() if before else None
        sure = [
            one
            for one in Gate(found.question).let_in(found.found)
            if not one.replaced_by and (until is None or one.row.at <= until)
        ]
        ids = [one.id for one in sure]
        none: dict[int, tuple[str, bool]] = {}
        whose = opened.index.peek(lambda store: figures.projects(store, ids), none)
        items = [
            Item(
                label=label(one.text),
                tokens=0,
                score=round(one.score, 4),
                reason=f"another project: {known.name(whose[one.id][0])}",
                ref=one.ref,
            )
            for one in sure
            if one.id in whose and not here.holds(*whose[one.id])
        ]
        return tuple(items[:SHOWN])

    # --- rating ------------------------------------------------------------------------------

    def rate(self, turn: str, ref: str, useful: bool | None) -> Told:
        """Say whether a finding of a turn helped; None takes it back. `ref`: of the finding, or
        the name of a topic. Feeds the thresholds of topics, and what like messages are told."""
        told = self.turn(turn)
        items = [(slot.name, one) for slot in told.slots for one in slot.items]
        items += [("", one) for one in told.missed]
        fitting = [one for one in items if one[1].ref and ref in (one[1].ref, one[1].label)]
        decision = next((one.id for one in told.decisions if ref in (one.topic, one.id)), "")
        if decision:
            self._topics.judge(decision, useful=useful)
            item = Item(label=f"topic {ref}", tokens=0, ref=ref)
            return Told(slot="topics", item=item, useful=useful, decision=decision)
        if not fitting:
            raise NotFound(f"The turn {told.id} has no finding {ref!r}. `--json` lists them.")
        if not told.message:
            raise WakebookError("Only what was told for a message can be rated.")
        slot, item = fitting[0]
        ratings.rate(self._opened.home, item.ref, told.message, useful, clock.now())
        return self._seen(told, [(slot, item)])[0]


def difference(now: Telling, before: Telling) -> TurnDifference:
    then, told = _labels(before), _labels(now)
    return TurnDifference(
        before=before.id,
        new=tuple(one for one in told if one not in then),
        gone=tuple(one for one in then if one not in told),
        again=tuple(one for one in told if one in then),
        tokens=now.tokens - before.tokens,
    )


def _labels(told: Telling) -> list[str]:
    return list(dict.fromkeys(one.label for slot in told.slots for one in slot.items))


# --- the record, read as far as lists need it ----------------------------------------------------
class Pages:
    """The turns of a home without their texts. What is added to a file is read alone."""

    def __init__(self, cache: Path) -> None:
        self._cache, self._lock = cache, threading.Lock()
        self._read: dict[str, tuple[int, int, list[TurnTold]]] = {}  # inode, size, turns

    def read(self) -> list[TurnTold]:
        with self._lock:
            return [one for name in (OLD, NAME) for one in self._of(name)]

    def _of(self, name: str) -> Iterable[TurnTold]:
        inode, size, turns = self._read.get(name, (0, 0, []))
        try:
            with (self._cache / name).open("rb") as stream:
                there = os.fstat(stream.fileno())
                if there.st_ino != inode or there.st_size < size:
                    size, turns = 0, []
                if there.st_size > size:
                    stream.seek(size)
                    new, size = _turns(name, size, stream.read(there.st_size - size))
                    turns = turns + new
                self._read[name] = (there.st_ino, size, turns)
        except FileNotFoundError:
            self._read.pop(name, None)
            return []
        return turns


def _turns(name: str, at: int, data: bytes) -> tuple[list[TurnTold], int]:
    """The turns of whole lines, and where these end."""
    found: list[TurnTold] = []
    for line in data.splitlines(keepends=True):
        if not line.endswith(b"\n"):
            break
        with suppress(msgspec.MsgspecError, UnicodeDecodeError):
            place = (name, at, len(line))
            found.append(msgspec.structs.replace(decode(line, TurnTold), place=place))
        at += len(line)
    return found, at


@lru_cache(8)
def pages(cache: Path) -> Pages:
    """One for a home: the threads of a service share it."""
    return Pages(cache)
