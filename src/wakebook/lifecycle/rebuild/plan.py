"""Plan: which transcripts a rebuild reads, in which order; and what became of it.

Once a rebuild is done its plan is committed on its branch (extract.json), so that it can be
merged even if its work tree was removed.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from wakebook import clock, markdown
from wakebook.capture import state as states
from wakebook.capture.imports.export import holds_memories
from wakebook.errors import NotFound, WakebookError
from wakebook.home import Home

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
