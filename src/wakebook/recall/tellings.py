"""Tellings: what each turn of each session was really told, why, and what just missed.

    .cache/turns.jsonl       one turn a line, the newest last
    .cache/turns.old.jsonl   what that file was before it reached half of its bound

A turn is one append without a wait for the disk: it survives the process, however that ends. Two
settings bound it, [state] told_megabytes and told_days. Nothing depends on it: it can be deleted.
Who writes takes the lock of the file itself, so that no turn is added to one that is being
rewritten: `forget` takes back what it takes from the memory, and `erase` drops the whole turn.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from wakebook.base import clock
from wakebook.base.decode import decode
from wakebook.base.errors import Locked
from wakebook.base.text import printable, whole
from wakebook.log.entry import new_id
from wakebook.recall.slot import Context, Item, Slot
from wakebook.recall.topics.activation import Decision

if TYPE_CHECKING:
    from wakebook.base.home import Home
    from wakebook.opened import Opened

NAME, OLD = "turns.jsonl", "turns.old.jsonl"  # in .cache/
MESSAGE = 400  # characters of a message, without secrets
LOOKED_AT = 4_000  # characters of it, for secrets
PATIENCE = 0.2  # seconds that a hook waits for a file that is being rewritten
TAKEN_BACK = "[forgotten]"
LEAST, HALF = 2, 0.5  # terms that a line shares with what is forgotten of its conversation
_BULLET = re.compile(r"^\s*(?:[-*] |\d+\. )")


class Telling(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One turn, and what it was told."""

    id: str
    timestamp: str
    session: str
    event: str = "prompt"  # start, prompt, tool; context: asked for by an agent of your own
    host: str = ""
    project: str = ""  # its key
    message: str = ""  # its first words
    budget: int = 0
    tokens: int = 0
    milliseconds: float = 0.0
    late: tuple[str, ...] = ()  # answers to earlier turns that came too late, and came with this
    answer: str = ""  # the name of this answer, where it is known whether it arrives
    text: str = ""
    slots: tuple[Slot, ...] = ()
    missed: tuple[Item, ...] = ()
    decisions: tuple[Decision, ...] = ()  # about topics
    notes: tuple[str, ...] = ()


# --- writing -----------------------------------------------------------------------------------
def keep(
    opened: Opened,
    parts: Sequence[Context],
    *,
    session: str,
    message: str = "",
    text: str | None = None,
    **about: str | tuple[str, ...],
) -> None:
    """Write a turn down. `text`: all that it was told, if that is not just its parts. If it fails,
    `status` shows why, and the turn is told all the same."""
    if opened.config.state.told_megabytes:
        told = made(parts, session=session, message=message, text=text, **about)
        opened.quietly("told", lambda: _append(opened, told))


def made(
    parts: Sequence[Context],
    *,
    session: str = "",
    message: str = "",
    text: str | None = None,
    **about: str | tuple[str, ...],
) -> Telling:
    """A turn. `parts`: the contexts that it is told, in their order. `about`: other fields."""
    from wakebook.capture.secrets import redact

    about = {"timestamp": clock.iso(clock.now()), **about}
    return Telling(
        id=new_id(),
        session=session,
        message=printable(redact(whole(message[:LOOKED_AT]))[0])[:MESSAGE],
        project=next((one.project for one in parts if one.project), ""),
        budget=max((one.budget for one in parts), default=0),
        tokens=sum(one.tokens for one in parts),
        milliseconds=round(sum(sum(one.steps.values()) for one in parts), 1),
        text="".join(one.text for one in parts) if text is None else text,
        slots=_joined([slot for one in parts for slot in one.slots]),
        missed=tuple(item for one in parts for item in one.missed),
        decisions=tuple(
            replace(one, session="", message="", at="") for part in parts for one in part.decisions
        ),
        notes=tuple(note for one in parts for note in one.notes),
        **about,  # type: ignore[arg-type]
    )


def _joined(slots: Sequence[Slot]) -> tuple[Slot, ...]:
    """Each once: of a start and its first prompt, that which says more."""
    found: dict[str, Slot] = {}
    for slot in slots:
        if slot.name not in found or slot.tokens > found[slot.name].tokens:
            found[slot.name] = slot
    return tuple(found.values())


def _append(opened: Opened, told: Telling) -> None:
    home, settings = opened.home, opened.config.state
    path = home.cache / NAME
    home.folder(home.cache)
    with _held(path, PATIENCE):
        with path.open("rb") as stream:
            size, first = os.fstat(stream.fileno()).st_size, stream.read(120)
        half = clock.iso(clock.now() - timedelta(days=settings.told_days / 2))
        begun = re.search(rb'"timestamp":"([^"]+)"', first)
        old = begun is not None and begun[1].decode() < half
        if old or size > settings.told_megabytes << 19:
            path.replace(home.cache / OLD)
        home.append(path, msgspec.json.encode(told) + b"\n", durable=False)


@contextmanager
def _held(path: Path, seconds: float = 60.0) -> Iterator[None]:
    """The file's own lock. Raises Locked after this time."""
    until = clock.monotonic() + seconds
    while (descriptor := _locked(path)) < 0:
        if clock.monotonic() > until:
            raise Locked(f"{path} is being rewritten for {seconds:g} s: this turn is not in it.")
        clock.sleep(0.005)
    try:
        yield
    finally:
        os.close(descriptor)


def _locked(path: Path) -> int:
    """A descriptor that holds the lock; -1 while another process does, or has replaced the file."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    with suppress(BlockingIOError, FileNotFoundError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(descriptor).st_ino == os.stat(path).st_ino:  # noqa: PTH116
            return descriptor
    os.close(descriptor)
    return -1


# --- reading -----------------------------------------------------------------------------------
def read(home: Home, since: datetime | None = None) -> list[Telling]:
    """All turns, the oldest first. Half a line, which a full disk may leave, is passed over."""
    least = clock.iso(since) if since else ""
    found: list[Telling] = []
    for name in (OLD, NAME):
        with suppress(FileNotFoundError):
            for line in (home.cache / name).read_bytes().splitlines():
                with suppress(msgspec.MsgspecError, UnicodeDecodeError):
                    found.append(decode(line, Telling))
    return [one for one in found if one.timestamp >= least]


# --- taking back -------------------------------------------------------------------------------
def forgetting(
    home: Home, ids: Collection[str], transcripts: Collection[str]
) -> Callable[[], Iterable[Path]]:
    """The step of `forget`: no turn keeps what these entries say."""
    says = saying(home, ids, transcripts)

    def take_back() -> Iterable[Path]:
        for path in (home.cache / OLD, home.cache / NAME):
            if path.exists():
                with _held(path):
                    lines = path.read_bytes().splitlines(keepends=True)
                    kept = [_without(line, says) for line in lines]
                    if kept != lines:
                        home.replace(path, b"".join(kept))
        return ()  # it is not in git

    return take_back


def saying(home: Home, ids: Collection[str], transcripts: Collection[str]) -> Says:
    """Of entries that are still in the log. Of a handoff, which says much else, its id alone."""
    from wakebook.log import log

    texts = [e.content for e in log.read(home).entries if e.id in ids and e.type != "handoff"]
    return Says(ids, texts, transcripts)


class Says:
    """Whether a text says what is forgotten: by an id, or by all of its words."""

    def __init__(
        self, ids: Collection[str], texts: Iterable[str], transcripts: Collection[str]
    ) -> None:
        from wakebook.base.words import terms

        self._ids, self._paths, self._terms = set(ids), tuple(transcripts), terms
        self._wanted = [found for text in texts if (found := terms(text))]

    def item(self, item: Item) -> bool:
        """What was told of one of its conversations may be half of it, or a piece."""
        near = bool(self._paths) and item.ref.startswith(self._paths)
        return item.ref in self._ids or self.text(item.label, near)

    def text(self, text: str, near: bool = False) -> bool:
        if any(one in text for one in self._ids):
            return True
        said = self._terms(text)
        for wanted in self._wanted:
            both = len(said & wanted)
            piece = near and both >= LEAST and both >= HALF * min(len(wanted), len(said))
            if piece or both == len(wanted):
                return True
        return False


def _without(line: bytes, says: Says) -> bytes:
    try:
        told = decode(line, Telling)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return b""  # half a line: whatever it says
    gone = [item.label for item in _items(told) if says.item(item)]
    begins = [_bare(label)[:40] for label in gone]
    lines = told.text.split("\n")
    for at, each in enumerate(lines):
        bare = _bare(each)
        if says.text(each) or any(one and bare.startswith(one) for one in begins):
            lines[at] = TAKEN_BACK
    parts = re.split(r"(?<=[.!?])\s+", told.message)
    after = replace(
        told,
        text="\n".join(lines),
        message=" ".join(TAKEN_BACK if says.text(part) else part for part in parts),
        slots=tuple(replace(slot, items=_left(slot.items, says)) for slot in told.slots),
        missed=_left(told.missed, says),
    )
    return line if after == told else msgspec.json.encode(after) + b"\n"


def _items(told: Telling) -> Iterator[Item]:
    yield from told.missed
    for slot in told.slots:
        yield from slot.items


def _left(items: Sequence[Item], says: Says) -> tuple[Item, ...]:
    blank = {"label": TAKEN_BACK, "reason": "", "ref": ""}
    return tuple(replace(one, **blank) if says.item(one) else one for one in items)


def _bare(line: str) -> str:
    return _BULLET.sub("", line).rstrip("…").strip()
