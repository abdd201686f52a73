"""Replay: transcripts through an extractor, as if they were said again.

InOrder: rules read in the order in which sweeps have read (`schedule`), each turn with what was
known by then. The log comes out as the sweeps have made it, byte for byte the same each time.

InRounds: a model reads conversations of different sessions at the same time. What it found is
taken in the order in which it was said. A transcript at which it fails is tried again by the next
run; if it fails again, what was found in it before stays.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import partial

import msgspec

from wakebook.base.errors import Deferred, LeftAlone, ModelError, NotAsked, TranscriptError
from wakebook.base.home import Home
from wakebook.capture import archive
from wakebook.capture import project as projects
from wakebook.capture import state as states
from wakebook.capture.archive import Turn
from wakebook.learn import reread, written
from wakebook.learn.entries import (
    Source,
    admitted,
    complete,
    parted,
    related,
    replaced_in,
    subject_of_project,
)
from wakebook.learn.extract import ENOUGH, Draft, Extractor, Scene, likeness, subject_types
from wakebook.learn.reading import heard
from wakebook.learn.select.ledger import Ledger
from wakebook.log import subjects
from wakebook.log.chains import Chains, extend, resolve
from wakebook.log.entry import HEARD, ORIGIN, Entry, as_dict
from wakebook.models.calls import Called, Calls
from wakebook.rebuild import carry
from wakebook.rebuild.site import Journal, Listed, Step

Progress = Callable[[str, int, int], None]
BUNCH = 50  # transcripts between two writes
PATIENCE = 3  # failures in a row
THREADS = 32
TRIES = 2  # of one transcript, before it stays as it was read


class Stopped(msgspec.Struct, frozen=True):
    """Why a replay has not come to its end."""

    failed: dict[str, str] = {}  # transcript -> why; the next run tries again
    left: int = 0  # not tried
    reason: str = ""


class CountedCalls(Calls):
    """The calls of a home, as ever; and this rebuild counts its own."""

    def __init__(self, home: Home) -> None:
        super().__init__(home)
        self._fresh: list[Called] = []

    def add(self, call: Called) -> None:
        self._fresh.append(call)
        super().add(call)

    def taken(self) -> tuple[int, float, int]:
        """Calls, dollars, and calls without a price, since the last time. Between two rounds, when
        no thread adds any."""
        calls, self._fresh = self._fresh, []
        cost = round(sum(one.cost or 0.0 for one in calls), 8)
        return len(calls), cost, sum(one.cost is None for one in calls)


class Replay(ABC):
    def __init__(
        self,
        home: Home,
        scratch: Home,
        extractor: Extractor,
        main: Chains,
        journal: Journal,
        calls: CountedCalls,
        together: int = 1,
    ) -> None:
        """`home`: whose transcripts are read; `scratch`: where it says what it left out. What
        stands in the journal is taken from there. `together`: conversations at a time, at most."""
        assert journal.plan is not None
        self._home, self._scratch, self._extractor = home, scratch, extractor
        self.main = main
        self._old = carry.by_transcript(main.entries)
        self._now = journal.plan.began
        self._projects = projects.load(home)
        self._folders = {one.id: one.cwd for one in states.load(home).sessions.values()}
        self._journal, self._calls, self._together = journal, calls, together
        self._paths = frozenset(journal.plan.transcripts)
        self.chains = resolve(())
        known, name = subjects.load(home), extractor.name
        self.registry = carry.first_registry(known, main, name, self._project)
        self.carried = journal.carried()
        self._found: dict[str, list[Entry]] = {}  # transcript -> what was found in it
        self._fresh: list[Entry] = []  # since the last write
        self._step = Step()  # since the last write
        types = {slug: one for step in journal.steps for slug, one in step.types.items()}
        for entry in journal.entries():
            self._take([entry], types)
            if entry.id not in self.carried:
                self._found.setdefault(entry.transcript, []).append(entry)
        self._fresh = []
        self._done = journal.read()
        last = journal.steps[-1] if journal.steps else Step()
        self._turns = dict(last.turns)  # of those read in part
        self._step = Step()

    @abstractmethod
    def run(self, items: Sequence[Listed], progress: Progress) -> Stopped:
        """Read what has not been read."""

    def log(self) -> list[Entry]:
        """The new log, once everything was read."""
        return [
            carry.relinked(one, self.main, self.chains, self.carried, self._found)
            if one.id in self.carried and one.replaces and one.id not in self.chains.replaced_by
            else one
            for one in self.chains.entries
        ]

    def _source(self, path: str) -> tuple[Source, str]:
        """A transcript, and what it is about."""
        transcript = archive.read(self._home, path)
        cwd = self._folders.get(str(transcript.front.get("session_id")), "")
        source = reread.source_of(transcript, self._now, self._projects, cwd)
        old = self._old.get(path, ())
        return source, reread.subject_of(source.project, old, self._projects)

    def _project(self, entry: Entry) -> str:
        """The working folder's subject of the conversation that an entry is from."""
        if entry.transcript not in self._paths:
            return ""
        try:
            front = archive.read(self._home, entry.transcript).front
        except TranscriptError:
            return ""
        key = projects.project_of(front, self._projects, self._folders.get(entry.session, ""))
        return subject_of_project(self._projects, key)

    def _scene(self, source: Source, subject: str, ends: bool) -> Scene:
        return Scene(
            current=related(self.chains, source.path),
            subjects=self.registry.names(),
            people=self.registry.people(),
            subject=self.registry.for_entry(subject) if subject else "",
            project=source.project,
            ends=ends,
            gone=replaced_in(self.chains, source.path),
            heard=partial(heard, self._home, source, self.chains),
        )

    def _admit(self, source: Source, drafts: Sequence[Draft]) -> None:
        old, names = self._old.get(source.path, ()), tuple(self.registry.names())
        drafts = written.unwritten(drafts, source, self.main)
        drafts = written.with_handoff(self._scratch, drafts, source, {}, old, names)
        entries = admitted(self._scratch, drafts, source, self.chains, self.registry, self._now)
        kept, held = parted(entries, asks=False)
        known = [one for one in held if any(likeness(one, other) >= ENOUGH for other in old)]
        self._step.held += [
            f"{one.content} ({one.extra[ORIGIN]})" for one in held if one not in known
        ]
        kept += known
        self._found.setdefault(source.path, []).extend(kept)
        self._take(kept, subject_types(drafts))

    def _ended(self, path: str) -> None:
        self._turns.pop(path, None)
        self._done.add(path)
        self._step.read.append(path)

    def _stays(self, path: str, reason: str) -> None:
        """A transcript that cannot be read anew keeps what was found in it before."""
        self._scratch.trace("failure", where=f"rebuild of {path}", error=reason)
        for entry in self._old.get(path, ()):
            self._carry(entry)
        self._ended(path)
        self._step.kept.append(path)

    def _carry(self, entry: Entry) -> None:
        entries = carry.linked(entry, self.main, self.chains, self._found)
        new = [one.id for one in entries]
        self.carried.update(new)
        self._step.carried += new
        self._take(entries)

    def _take(self, entries: Sequence[Entry], types: Mapping[str, str] | None = None) -> None:
        self.chains = extend(self.chains, entries)
        self.registry = self.registry.ensure((one.subject for one in entries), types)
        self._step.types |= types or {}
        self._fresh += entries

    def _write(self) -> None:
        step = self._step
        step.entries = [as_dict(one) for one in self._fresh]
        step.turns = {path: count for path, count in self._turns.items() if count}
        step.calls, step.cost, step.unpriced = self._calls.taken()
        if step != Step(turns=step.turns):
            self._journal.add(step)
        self._fresh, self._step = [], Step()


# --- rules, in the order of the sweeps ---------------------------------------------------
class MoreTurns(msgspec.Struct):
    """Some more turns of a conversation."""

    path: str
    upto: int = 0  # turns, from the first one on
    ends: bool = False  # all of them, and the conversation ends
    until: datetime | None = None  # when what the log has next was said
    first: int = 0  # the first of these turns in which something was found; 0: none
    said: datetime | None = None  # when that was


def schedule(main: Chains, items: Sequence[Listed]) -> list[Entry | MoreTurns]:
    """In which order rules read, and which entries are carried between, so that nothing but the
    reading differs.

    Sweeps read conversations that overlap in portions, and end them hours later. The log shows in
    which order that was: each entry has its transcript and its turns. The replay goes through it
    in the same order, and comes to the same log if the rules are the same. Turns in which nothing
    was found leave no trace: where conversations were read in portions, they are read when they
    were said. A conversation that the log does not know (it may be lost) is read as a whole, in
    the order in which they were said, which is that of `items`.
    """
    by_path = {item.path: item for item in items}
    last_entries = _last_entries(main)
    known = {entry.transcript for entry in main.entries}
    unknown = deque(item for item in items if item.path not in known)
    ended: set[str] = set()
    steps: list[Entry | MoreTurns] = []

    def read_unknown(before: datetime | None) -> None:
        while unknown and (before is None or unknown[0].started < before):
            path = unknown.popleft().path
            steps.append(MoreTurns(path, ends=True))
            ended.add(path)

    for entry in main.entries:
        if entry.extra.get(HEARD):
            continue  # it comes again with what changes it
        item = by_path.get(entry.transcript)
        read_unknown(item.started if item else entry.timestamp)
        if item and item.path in ended:
            continue
        last = steps[-1] if steps else None
        same = item is not None and isinstance(last, MoreTurns) and last.path == item.path
        if isinstance(last, MoreTurns) and not same:
            last.until = entry.timestamp
        if not same:
            steps.append(MoreTurns(item.path) if item else entry)
        step = steps[-1]
        if isinstance(step, MoreTurns):
            turn = max(entry.evidence, default=0)
            step.upto = max(step.upto, turn)
            if entry.type not in ("question", "handoff"):  # those are found when it ends
                step.first = min(step.first or turn, turn)
                step.said = step.said or entry.timestamp
            if entry.id in last_entries:
                step.ends = True
                ended.add(step.path)
    read_unknown(None)
    return [*steps, *(MoreTurns(path, ends=True) for path in by_path if path not in ended)]


def _last_entries(main: Chains) -> set[str]:
    """With which each conversation ended: its first handoff, or the last that it has."""
    found: dict[str, Entry] = {}
    for entry in main.entries:
        known = found.get(entry.transcript)
        if not entry.extra.get(HEARD) and (known is None or known.type != "handoff"):
            found[entry.transcript] = entry
    return {entry.id for entry in found.values()}


class InOrder(Replay):
    def run(self, items: Sequence[Listed], progress: Progress) -> Stopped:
        steps = schedule(self.main, items)
        self._open: dict[str, tuple[Source, str]] = {}
        self._ahead: dict[str, deque[int]] = {}  # turns in which the log has something
        for step in steps:
            if isinstance(step, MoreTurns):
                self._ahead.setdefault(step.path, deque()).append(step.first)
        begun = deque(items)
        going_on: list[str] = []
        for step in steps:
            if isinstance(step, Entry):
                self._carry(step)
                continue
            self._ahead[step.path].popleft()
            if step.said and not step.ends:  # a sweep that read portions: others were read, too
                while begun and begun[0].started <= step.said:
                    going_on.append(begun.popleft().path)
                going_on = [path for path in going_on if path not in self._done]
                for path in going_on:
                    if path != step.path:
                        self._some_more(MoreTurns(path, until=step.said))
            self._some_more(step)
            if len(self._step.read) >= BUNCH:
                last = self._step.read[-1]
                self._write()
                progress(last, len(self._done), len(items))
        self._write()
        return Stopped()

    def _some_more(self, step: MoreTurns) -> None:
        """Read on to where the sweep was then, and to the end if it ended."""
        path = step.path
        if path in self._done:
            return
        try:
            source, subject = self._open.get(path) or self._source(path)
            self._open[path] = (source, subject)
            first = self._turns.get(path, 0)
            ahead = next((turn for turn in self._ahead.get(path, ()) if turn), 0)
            last = None if step.ends else _reached(source.turns, step, first, ahead)
            if last is not None and last <= first:
                return
            scene = self._scene(source, subject, step.ends)
            drafts = reread.read(self._extractor, source, scene, first, last)
        except TranscriptError as error:
            self._open.pop(path, None)
            self._stays(path, str(error))
            return
        self._admit(source, drafts)
        if last is not None:
            self._turns[path] = last
        else:
            del self._open[path]
            self._ended(path)


def _reached(turns: Sequence[Turn], step: MoreTurns, first: int, ahead: int) -> int:
    """How many turns had been read: to what was found, and what else was said by then."""
    certain = min(max(step.upto, first), len(turns))
    count = certain
    while (
        count < len(turns)
        and count + 1 != ahead
        and step.until is not None
        and turns[count].at <= step.until
    ):
        count += 1
    return max(certain, complete(turns[:count]))  # an agent's last turn could still grow


# --- a model, several conversations at a time --------------------------------------------
class InRounds(Replay):
    def run(self, items: Sequence[Listed], progress: Progress) -> Stopped:
        replayed = frozenset(one.path for one in items) - frozenset(self._journal.kept())
        along = carry.carried(self.main, replayed)
        # still to be carried, oldest last
        self._waiting = [one for one in reversed(along) if one.id not in self.chains.by_id]
        stopped = self._rounds(items, progress)
        if not stopped.failed and not stopped.left:
            self._carry_until(None)
        self._write()
        return stopped

    def _rounds(self, items: Sequence[Listed], progress: Progress) -> Stopped:
        tries = self._journal.failures()
        failed: dict[str, str] = {}
        left = [one for one in items if one.path not in self._done]
        streak = 0
        with ThreadPoolExecutor(min(self._together, THREADS)) as pool:
            while left:
                self._carry_until(left[0].started)
                now, left = self._round(left)
                # with the scene as it is before the round: nothing changes while others read
                scenes = [self._scene_of(item.path) for item in now]
                results = list(pool.map(self._attempt, now, scenes))
                later = sum(isinstance(one, Deferred) for one in results)
                for item, result in zip(now, results, strict=True):
                    if isinstance(result, Deferred):
                        continue
                    if not isinstance(result, ModelError | TranscriptError):
                        streak = 0
                        self._admit(result[0], _unsaid(result[1], self._fresh))
                        self._ended(item.path)
                        continue
                    streak += not isinstance(result, TranscriptError)
                    asked = not isinstance(result, NotAsked | LeftAlone)
                    often = asked and tries[item.path] + 1 >= TRIES
                    if isinstance(result, TranscriptError) or often:
                        self._stays(item.path, str(result))
                        continue
                    failed[item.path] = str(result)
                    if asked:
                        self._step.failed[item.path] = str(result)
                self._write()
                progress(now[-1].path, len(items) - len(left), len(items))
                if later:
                    reason = f"{later:,} of them in a batch: run it again later."
                    return Stopped(failed, len(left) + later, reason)
                stop = next((one for one in results if isinstance(one, NotAsked | LeftAlone)), None)
                if stop or streak >= PATIENCE:
                    reason = str(stop) if stop else "The model failed too often in a row."
                    return Stopped(failed, len(left), reason)
        return Stopped(failed)

    def _round(self, left: list[Listed]) -> tuple[list[Listed], list[Listed]]:
        """The next conversations of different sessions, and the rest."""
        count = 1
        sessions = {left[0].session}
        until = self._waiting[-1].timestamp if self._waiting else None
        while count < min(self._together, len(left)):
            item = left[count]
            if item.session in sessions or (until and item.started > until):
                break  # what it says builds on what is read now
            sessions.add(item.session)
            count += 1
        return left[:count], left[count:]

    def _scene_of(self, path: str) -> Scene | None:
        try:
            return self._scene(*self._source(path), True)
        except TranscriptError:
            return None  # as `_attempt` will find

    def _attempt(
        self, item: Listed, scene: Scene | None
    ) -> tuple[Source, list[Draft]] | ModelError | TranscriptError:
        try:
            source, _ = self._source(item.path)
            assert scene is not None
            return source, reread.read(self._extractor, source, scene)
        except (ModelError, TranscriptError) as error:
            return error

    def _carry_until(self, moment: datetime | None) -> None:
        while self._waiting and (moment is None or self._waiting[-1].timestamp < moment):
            self._carry(self._waiting.pop())


def _unsaid(drafts: Sequence[Draft], round_: Sequence[Entry]) -> list[Draft]:
    """Without what another conversation of the same round says already."""
    if not round_:
        return list(drafts)
    ledger = Ledger(round_)
    return [one for one in drafts if one.type == "handoff" or not ledger.holds(one)]
