"""Which sessions are there. Every host is asked about its own folders; a file that a person
names is recognised by its beginning. What a home is made of is never a session, be it this home or
another one: its transcripts look like plain chats, and were read already."""

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from wakebook.base.config import Hosts, expand
from wakebook.base.errors import NotFound, TranscriptError
from wakebook.base.home import TRACKED
from wakebook.capture.hosts import HOSTS, host, jsonl
from wakebook.capture.state import Session, State

SOURCES = ("sessions", "imports")  # of a home: chats of your own agents, and what was imported
PARTS = (*TRACKED, ".git", ".cache", "hosts", "costs")


def sessions(
    folders: Hosts, state: State, paths: Sequence[Path] = (), home: Path | None = None
) -> list[Session]:
    """Every session that can be found: in the hosts' folders and where any was before, or at
    the given paths. `home`: whose sessions/ and imports/ are sources."""
    if paths:
        return distinct([one for path in paths for one in _named_at(path, home)], state)
    found = list(discover(folders))
    there = {session.path for session in found}
    for known in state.sessions.values():
        path = Path(known.path)
        if path not in there and path.exists():
            there.add(path)
            with suppress(TranscriptError):  # the audit reports it
                found += sessions_at(path)
    return distinct(outside(found, home), state)


def _named_at(path: Path, home: Path | None) -> list[Session]:
    found = sessions_at(path)
    kept = outside(found, home)
    if not kept:
        raise TranscriptError(
            f"{path}: holds nothing but a Wakebook home, whose transcripts are never read as "
            "sessions. Name the folder of the agent that the conversations were held with."
        )
    return kept


def outside(found: Iterable[Session], home: Path | None = None) -> list[Session]:
    """The sessions that are no part of a home; `home`: the one whose own sources are meant."""
    owners: dict[Path, tuple[tuple[Path, str], ...]] = {}

    def is_part(path: Path) -> bool:
        if path.is_symlink():
            path = path.resolve()
        if path.parent not in owners:  # a folder may be a link into a home, or lie in one itself
            seen = dict.fromkeys((path, path.resolve()))
            owners[path.parent] = tuple(above for one in seen if (above := _home_above(one)))
        return any(
            top in PARTS or (top in SOURCES and home is not None and not _same(root, home))
            for root, top in owners[path.parent]
        )

    return [session for session in found if not is_part(session.path)]


def _home_above(path: Path) -> tuple[Path, str] | None:
    """The nearest home that a file lies in, and the folder of the home."""
    for root in path.parents:
        if (root / "log.jsonl").is_file() and (root / "config.toml").is_file():
            return root, path.relative_to(root).parts[0]
    return None


def _same(root: Path, home: Path) -> bool:
    """A copy for a rehearsal, below the home, has the home's own sources."""
    try:
        return any(root.samefile(one) for one in (home, *home.parents))
    except OSError:
        return False


def discover(folders: Hosts) -> Iterator[Session]:
    """Every session in the configured folders. A missing folder yields nothing.

    A file or folder that cannot be read yields a session that fails when it is read: what
    is not seen must not look like what is not there.
    """
    for name in HOSTS:
        for folder in getattr(folders, name.replace("-", "_")):
            root = expand(folder)
            if _exists(root):
                yield from map(_nameable, host(name).discover(root))
                yield from map(_nameable, _closed_to_us(name, root))


def _closed_to_us(name: str, root: Path) -> Iterator[Session]:
    refused: list[OSError] = []
    for folder, _, names in os.walk(root, onerror=refused.append):
        for file in names:
            path = Path(folder, file)
            ours = path.suffix in (".jsonl", ".md", ".sqlite") and path.is_file()
            if ours and not os.access(path, os.R_OK):
                yield Session(host=name, id=path.stem, path=path)
    for error in refused:
        path = Path(str(error.filename))
        yield Session(host=name, id=path.name, path=path)


def _nameable(session: Session) -> Session:
    """A name that is not UTF-8 cannot be written down: such a session fails, visibly."""
    text = str(session.path)
    try:
        text.encode()
    except UnicodeEncodeError:
        shown = os.fsencode(text).decode("utf-8", "replace")
        return Session(host=session.host, id=Path(shown).stem, path=Path(shown))
    return session


def sessions_at(path: Path) -> list[Session]:
    """The sessions in a file or folder that a person names, whatever host they are of."""
    if not _exists(path):
        raise TranscriptError(
            f"{path}: no such file or folder, or no permission to see it. Check the path."
        )
    if not (path.is_file() or path.is_dir()):
        raise TranscriptError(f"{path}: neither a file nor a folder.")
    path = Path(os.path.abspath(path))  # noqa: PTH100 - without following links
    if path.is_dir():
        found = [_nameable(session) for each in map(host, HOSTS) for session in each.search(path)]
    else:
        head = _head(path)
        ours = next((one for one in map(host, HOSTS) if one.recognises(path, head)), None)
        found = list(ours.discover(path)) if ours else []
    if not found:
        raise TranscriptError(
            f"{path}: no session in a known format. Wakebook reads the files of "
            f"{', '.join(HOSTS)}; docs/formats.md shows the plain one."
        )
    return found


def distinct(sessions: Iterable[Session], state: State) -> list[Session]:
    """Every source once, each with a ref of its own.

    Two files may claim the same session id (two agents, two folders with a chat.md). The one
    that is known, or else the first, keeps the plain ref; the others are told apart by path.
    """
    by_ref: dict[str, list[Session]] = {}
    for session in {(session.ref, session.path): session for session in sessions}.values():
        by_ref.setdefault(session.ref, []).append(session)
    found: list[Session] = []
    for ref, group in by_ref.items():
        known = state.sessions.get(ref)
        owner = next((one for one in group if known and str(one.path) == known.path), group[0])
        found += [session if session is owner else _apart(session) for session in group]
    return found


def _apart(session: Session) -> Session:
    mark = hashlib.sha256(os.fsencode(session.path)).hexdigest()[:8]
    part = f"{session.part}.{mark}" if session.part else f"at.{mark}"
    return msgspec.structs.replace(session, part=part)


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            return jsonl.beginning(stream)
    except OSError as error:
        raise TranscriptError(
            f"{path}: cannot be read ({error.strerror}). Check its permissions."
        ) from error


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False


def written(
    found: Sequence[Session], since: datetime | None, until: datetime | None
) -> list[Session]:
    """Those whose files were last written to in this time. None: without an end."""

    def fits(session: Session) -> bool:
        try:
            at = datetime.fromtimestamp(session.path.stat().st_mtime, UTC)
        except OSError:
            return True  # reading it says what is wrong
        return (since is None or at >= since) and (until is None or at < until)

    return [session for session in found if fits(session)] if since or until else list(found)


def named(found: Sequence[Session], name: str) -> list[Session]:
    """The sessions that an id, or the beginning of one, stands for. No name: all."""
    if not name:
        return list(found)
    exact = [item for item in found if name in (item.id, item.ref)]
    matching = exact or [item for item in found if item.id.startswith(name)]
    if not matching:
        raise NotFound(
            f"No session {name!r} in the hosts' folders. `wakebook status --sessions` lists all; "
            "a file elsewhere is caught up on with `wakebook catch-up PATH`."
        )
    if len({item.id for item in matching}) > 1:
        names = ", ".join(sorted(item.id for item in matching)[:5])
        raise NotFound(f"{name!r} fits several sessions: {names}. Give more of the id.")
    return matching
