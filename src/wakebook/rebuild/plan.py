"""Plan: which transcripts a rebuild reads, in which order; and what became of it.

Once a rebuild is done its plan is committed on its branch (extract.json), so that it can be
merged even if its work tree was removed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from wakebook.base import clock, markdown
from wakebook.base.errors import NotFound, WakebookError
from wakebook.base.home import Home
from wakebook.capture import state as states
from wakebook.capture.state import holds_memories
from wakebook.log.chains import Chains
from wakebook.log.entry import Entry

VERSION = 1
FILE = "extract.json"
_FIRST = datetime.min.replace(tzinfo=UTC)


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    version: int = VERSION
    name: str
    extractor: str  # rules, or provider/model
    since: datetime | None = None
    began: datetime
    base: str  # the commit that it was made from
    transcripts: tuple[str, ...] = ()  # in the order in which they are read


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """A plan that was carried out."""

    plan: Plan
    kept: tuple[str, ...] = ()  # transcripts that could not be read: their old entries stay
    entries: int = 0
    calls: int = 0
    cost: float = 0.0
    unpriced: int = 0  # calls whose price is not known

    @property
    def replayed(self) -> frozenset[str]:
        """The transcripts whose entries are new."""
        return frozenset(self.plan.transcripts) - frozenset(self.kept)


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """A closed transcript, as far as its frontmatter says."""

    path: str
    session: str
    started: datetime
    key: tuple[datetime, str, int, str]  # its place in the order


def listed(home: Home) -> list[Listed]:
    """Every closed transcript, in the order in which they were said, as a sweep takes them.

    Not those of imported memories: there is nothing to read anew, and their entries come along.
    """
    still_open = {item.window.path for item in states.load(home).sessions.values() if item.window}
    found: list[Listed] = []
    for path in home.conversations.glob("*/*/*/*.md"):
        name = home.relative(path)
        front = _front(home, name)
        memories = holds_memories(str(front.get("channel")))
        if front.get("closed") and name not in still_open and not memories:
            started = clock.parse(front.get("started")) or _FIRST
            session = str(front.get("session_id") or "")
            number = front.get("window")
            number = number if isinstance(number, int) else 1
            key = (started, f"{front.get('host')}/{session}", number, name)
            found.append(Listed(path=name, session=session, started=started, key=key))
    return sorted(found, key=lambda one: one.key)


def _front(home: Home, name: str) -> dict[str, object]:
    try:
        with (home.root / name).open(encoding="utf-8", errors="replace") as stream:
            head = stream.read(4096)
            if head.startswith("---\n") and "\n---\n" not in head:
                head += stream.read()
    except OSError as error:
        home.trace("failure", where=f"rebuild of {name}", error=str(error))
        return {}
    return markdown.split(head)[0]


def wanted(found: Sequence[Listed], since: datetime | None) -> list[Listed]:
    """Those that are read anew. Raises NotFound if there are none."""
    if not found:
        raise NotFound(
            "There is no archived conversation to read anew. `wakebook catch-up` reads your "
            "agents' sessions; a conversation is archived for good once it has ended."
        )
    chosen = [one for one in found if since is None or one.started >= since]
    if not chosen:
        assert since is not None
        raise NotFound(f"No archived conversation began after {clock.iso(since)}.")
    return chosen


def decode(data: bytes, where: str) -> Done:
    try:
        done = msgspec.json.decode(data, type=Done)
    except msgspec.MsgspecError as error:
        raise WakebookError(f"{where}: not written by a rebuild ({error}).") from error
    if done.plan.version > VERSION:
        raise WakebookError(f"{where}: written by a newer Wakebook. Update this one.")
    return done


def encode(done: Done) -> bytes:
    return msgspec.json.format(msgspec.json.encode(done), indent=1) + b"\n"


# -----------------------------------------------------------------------------
# Schedule: in which order rules read, so that nothing but the reading differs.
#
# Sweeps read conversations that overlap in portions, and end them hours later. The log shows in
# which order that was: each entry has its transcript and its turns. The replay goes through it
# in the same order, and comes to the same log if the rules are the same. Turns in which nothing
# was found leave no trace: where conversations were read in portions, they are read when they
# were said. A conversation that the log does not know (it may be lost) is read as a whole, in
# the order in which they were said.


class Carry(msgspec.Struct, frozen=True):
    """An entry that is not read anew."""

    entry: Entry


class Read(msgspec.Struct):
    """Some more turns of a conversation."""

    path: str
    upto: int = 0  # turns, from the first one on
    ends: bool = False  # all of them, and the conversation ends
    until: datetime | None = None  # when what the log has next was said
    first: int = 0  # the first of these turns in which something was found; 0: none
    said: datetime | None = None  # when that was


def schedule(main: Chains, items: Sequence[Listed]) -> list[Carry | Read]:
    """`items`: the transcripts to read, in the order in which they were said."""
    steps = _Steps(main, items)
    for entry in main.entries:
        steps.add(entry)
    steps.rest()
    return steps.steps


class _Steps:
    def __init__(self, main: Chains, items: Sequence[Listed]) -> None:
        self._items = {item.path: item for item in items}
        self._ends = _ends(main)
        known = {entry.transcript for entry in main.entries}
        self._unknown = deque(item for item in items if item.path not in known)
        self._ended: set[str] = set()
        self.steps: list[Carry | Read] = []

    def add(self, entry: Entry) -> None:
        item = self._items.get(entry.transcript)
        self._before(item.started if item else entry.timestamp)
        last = self.steps[-1] if self.steps else None
        if item is None:
            self._step(Carry(entry), entry)
        elif item.path not in self._ended:
            if not (isinstance(last, Read) and last.path == item.path):
                last = Read(item.path)
                self._step(last, entry)
            self._more(last, entry)

    def rest(self) -> None:
        """What the log does not know, or has not seen the end of."""
        self._before(None)
        left = [path for path in self._items if path not in self._ended]
        self.steps += [Read(path, ends=True) for path in left]

    def _more(self, step: Read, entry: Entry) -> None:
        turn = max(entry.evidence, default=0)
        step.upto = max(step.upto, turn)
        if entry.type not in ("question", "handoff"):  # those are found when it ends
            step.first = min(step.first or turn, turn)
            step.said = step.said or entry.timestamp
        if entry.id in self._ends:
            step.ends = True
            self._ended.add(step.path)

    def _step(self, step: Carry | Read, entry: Entry) -> None:
        last = self.steps[-1] if self.steps else None
        if isinstance(last, Read):
            last.until = entry.timestamp
        self.steps.append(step)

    def _before(self, moment: datetime | None) -> None:
        while self._unknown and (moment is None or self._unknown[0].started < moment):
            path = self._unknown.popleft().path
            self.steps.append(Read(path, ends=True))
            self._ended.add(path)


def _ends(main: Chains) -> set[str]:
    """The entries with which a conversation ended: its first handoff, or the last that it has."""
    found: dict[str, Entry] = {}
    for entry in main.entries:
        known = found.get(entry.transcript)
        if known is None or known.type != "handoff":
            found[entry.transcript] = entry
    return {entry.id for entry in found.values()}
