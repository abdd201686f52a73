"""OpenClaw: an event tree (see `pi`), in SQLite today and in JSON lines before.

`agents/<id>/agent/openclaw-agent.sqlite` holds every session of an agent (`_Store`). Older
versions wrote `agents/<id>/sessions/<session>.jsonl` and renamed the file to `.jsonl.reset.<time>`
or `.jsonl.deleted.<time>`; each such file is a session part of its own. A session of the store can
be written as such a file (`written`), for a server that does not see the store.
"""

import hashlib
import re
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing as ended
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from wakebook.base.decode import decode
from wakebook.base.errors import TranscriptError
from wakebook.capture.hosts import jsonl
from wakebook.capture.hosts.pi import MODEL, NodeMessage, Pi, Tree, header, is_openclaw, root
from wakebook.capture.state import UNREAD, Kind, Session, kind_of_key
from wakebook.capture.transcript import Event, Ignored, Record

PAGE = 500  # rows a query: a long read never keeps the gateway from a checkpoint
BUSY_SECONDS = 5
STORES = ("agents/*/agent/openclaw-agent.sqlite", "agent/openclaw-agent.sqlite", "*.sqlite")
FILES = ("agents/*/sessions/*.jsonl*", "sessions/*.jsonl*", "*.jsonl*")
NOT_HUMAN = (
    "A new session was started via /new or /reset",
    "Read HEARTBEAT.md if it exists",
    "Pre-compaction memory flush",
    "[System]",  # such as: your previous turn was interrupted by a gateway restart
)
CANNED = ("✅ New session started", "✅ Session reset", "HEARTBEAT_OK", "NO_REPLY")

_INTERNAL = re.compile(
    r"<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>.*?(?:<<<END_OPENCLAW_INTERNAL_CONTEXT>>>|\Z)",
    re.DOTALL,
)
_SLASH = re.compile(r"/[A-Za-z][\w:.-]*\Z")
_NAME = re.compile(r"(?P<id>[^.]+)\.jsonl(?:\.(?P<part>(?:reset|deleted)\..+))?\Z")
_TASK = re.compile(rb'"text":\s*"\[(cron:|Subagent )')


class _Known(msgspec.Struct, frozen=True):
    """What the store knows of a session and its events do not say. It never changes."""

    key: str = ""
    kind: Kind = "main"


class _Head(msgspec.Struct):
    wakebook: _Known | None = None


_head = msgspec.json.Decoder(_Head)
_object = msgspec.json.Decoder(dict[str, Any])


class OpenClaw(Pi):
    """The older files by itself. A session is `<id>.jsonl`; a rotated one is a part of its own."""

    name = "openclaw"

    def discover(self, root: Path) -> Iterator[Session]:
        if root.is_file():
            yield from _stored(root) if _is_store(jsonl.head(root, 16)) else _rotated([root])
            return
        seen: set[tuple[Path, str]] = set()
        for path in _matches(root, STORES):
            try:
                for session in _stored(path):
                    seen.add((_agent(path), session.id))
                    yield session
            except TranscriptError:  # a session that cannot be read: catch_up says so
                yield Session(host=self.name, id=f"{_agent(path).name}{UNREAD}", path=path)
        for session in _rotated(_matches(root, FILES)):
            if session.part or (_agent(session.path), session.id) not in seen:
                yield session

    def search(self, root: Path) -> Iterator[Session]:
        seen: set[Path] = set()
        below = (agents.parent for agents in root.rglob("agents") if agents.parent != root)
        for place in (root, *below, *root.rglob("*.sqlite")):
            found = [session for session in self.discover(place) if session.path not in seen]
            seen.update(session.path for session in found)
            yield from found

    def recognises(self, path: Path, head: bytes) -> bool:
        if not _is_store(head):
            return header(head) is not None and is_openclaw(path, head)
        try:
            with _open(path) as database:
                return bool(_columns(database, "transcript_events"))
        except TranscriptError:
            return False

    def format(self, session: Session) -> jsonl.Host:
        return self if ".jsonl" in session.path.name else _Store()

    def heard(self, message: NodeMessage, text: str) -> tuple[str, str]:
        """Without what OpenClaw itself puts into the mouth of user and agent."""
        if message.role == "assistant":
            return ("", "canned-reply") if text.startswith(CANNED) else super().heard(message, text)
        if "<<<BEGIN_OPENCLAW" in text:
            text = _INTERNAL.sub("", text).strip()
            if not text:
                return "", "internal-context"
        if _SLASH.match(text):
            return "", "slash-command"
        if text.startswith(NOT_HUMAN):
            return "", "gateway-prompt"
        return super().heard(message, text)


def _is_store(head: bytes) -> bool:
    return head.startswith(b"SQLite format 3\x00")


def _matches(root: Path, patterns: tuple[str, ...]) -> list[Path]:
    return [path for pattern in patterns for path in sorted(root.glob(pattern)) if path.is_file()]


def _agent(path: Path) -> Path:
    """The folder of the agent that a source belongs to."""
    return path.parent.parent if path.parent.name in ("agent", "sessions") else path.parent


class _Store(OpenClaw):
    """The SQLite store, read while the gateway runs.

    It is opened read-only, and never as immutable: the gateway writes to it through a WAL.
    A position is a sequence number: p means that the next event to take has seq >= p. Other
    versions may lack a column or a table, so only what exists is asked for.
    """

    unit = "seq"

    def records(
        self, session: Session, position: int, limit: int, closing: bool
    ) -> Iterator[Record]:
        with _open(session.path) as database:
            tree = Tree(_root(database, session.id), self.heard)
            packed = _packed(database)
            for seq, data, zstd, oversized in _rows(database, session.id, position, limit, packed):
                found = jsonl.OVERSIZED if oversized else _meaning(tree, data, zstd, limit)
                yield Record(seq, seq + 1, found)

    def size(self, session: Session) -> int:
        with _open(session.path) as database:
            query = "SELECT MAX(seq) + 1 FROM transcript_events WHERE session_id = ?"
            return int(database.execute(query, (session.id,)).fetchone()[0] or 0)

    def digest(self, session: Session, start: int, end: int) -> str:
        sha = hashlib.sha256()
        with _open(session.path) as database:
            packed = _packed(database)
            query = (
                f"SELECT CAST(event_json AS BLOB), {packed} FROM transcript_events"  # noqa: S608
                " WHERE session_id = ? AND seq >= ? AND seq < ? ORDER BY seq"
            )
            rows = database.execute(query, (session.id, start, end))
            for number, (data, zstd) in enumerate(rows):
                sha.update(b"\n" if number else b"")
                sha.update(data if data is not None else zstd or b"")
        return sha.hexdigest()


@contextmanager
def _open(path: Path) -> Iterator[sqlite3.Connection]:
    try:
        # a reader that is left half-way may be cleaned up by another thread
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=ro",
            uri=True,
            timeout=BUSY_SECONDS,
            check_same_thread=False,
        )
        with ended(connection) as database:
            database.text_factory = lambda data: data.decode("utf-8", "replace")
            yield database
    except sqlite3.Error as error:
        raise TranscriptError(
            f"{path}: OpenClaw's store cannot be read ({error}). "
            "If the gateway is stopped and its -wal file belongs to another user, "
            "start the gateway once or run Wakebook as that user."
        ) from error


def _columns(database: sqlite3.Connection, table: str) -> set[str]:
    return {row[1] for row in database.execute(f"PRAGMA table_info({table})")}


def _packed(database: sqlite3.Connection) -> str:
    """The column with compressed events, or what stands for it where there is none."""
    return "event_zstd" if "event_zstd" in _columns(database, "transcript_events") else "NULL"


def _rows(
    database: sqlite3.Connection, identity: str, position: int, limit: int, packed: str
) -> Iterator[tuple[int, bytes | None, bytes | None, bool]]:
    size = f"COALESCE(length(CAST(event_json AS BLOB)), length({packed}), 0)"
    query = (
        f"SELECT seq, CASE WHEN {size} <= :limit THEN CAST(event_json AS BLOB) END,"  # noqa: S608
        f" CASE WHEN {size} <= :limit THEN {packed} END, {size} > :limit"
        " FROM transcript_events WHERE session_id = :id AND seq >= :from ORDER BY seq"
        f" LIMIT {PAGE}"
    )
    while True:
        given = {"id": identity, "from": position, "limit": limit}
        rows = database.execute(query, given).fetchall()
        yield from rows
        if len(rows) < PAGE:
            return
        position = rows[-1][0] + 1


def _meaning(tree: Tree, data: bytes | None, zstd: bytes | None, limit: int) -> tuple[Event, ...]:
    if data is None and zstd is not None:
        data = _unpacked(zstd, limit)
        if data is None:
            return (Ignored("zstd", unknown=True),)
    return tree.events(data or b"") or jsonl.UNREADABLE


def _unpacked(packed: bytes, limit: int) -> bytes | None:
    """Decompressed data; None when it is damaged or larger than the limit."""
    if sys.version_info >= (3, 14):
        from compression import zstd

        try:
            unpacked = zstd.ZstdDecompressor().decompress(packed, max_length=limit)
        except zstd.ZstdError:
            return None
        return bytes(unpacked)
    import zstandard

    try:
        return zstandard.ZstdDecompressor().decompress(packed, max_output_size=limit)
    except zstandard.ZstdError:
        return None


def _root(database: sqlite3.Connection, identity: str) -> str:
    query = (
        "SELECT CAST(event_json AS BLOB) FROM transcript_events"
        " WHERE session_id = ? AND event_json IS NOT NULL ORDER BY seq LIMIT 10"
    )
    rows = database.execute(query, (identity,)).fetchall()
    return root(b"\n".join(row[0] for row in rows))


def _stored(path: Path) -> Iterator[Session]:
    with _open(path) as database:
        if not _columns(database, "transcript_events"):
            return
        query = "SELECT session_id, MAX(seq) FROM transcript_events GROUP BY session_id"
        for identity, last in database.execute(query).fetchall():
            yield _session(database, path, identity, last)


def _row(database: sqlite3.Connection, table: str, where: str, value: str) -> dict[str, Any]:
    """One row, as far as table, column and row exist."""
    if where not in _columns(database, table):
        return {}
    found = database.execute(f"SELECT * FROM {table} WHERE {where} = ? LIMIT 1", (value,))  # noqa: S608
    names = [column[0] for column in found.description]
    return next((dict(zip(names, row, strict=True)) for row in found), {})


def _session(database: sqlite3.Connection, path: Path, identity: str, last: int) -> Session:
    window = _row(database, "session_windows", "session_id", identity)
    key = window.get("session_key") or ""
    if not key:
        named = _row(database, "session_nodes", "current_session_id", identity)
        key = named.get("session_key") or ""
    entry = _row(database, "session_nodes", "session_key", key) if key else {}
    first = _row(database, "transcript_events", "session_id", identity)
    opening = header((first.get("event_json") or "").encode())
    return Session(
        host=OpenClaw.name,
        id=identity,
        path=path,
        kind=_kind(key, window, entry),
        key=key,
        size=last + 1,
        cwd=(opening.cwd if opening else "") or "",
        channel=window.get("channel") or "",
        model=window.get("model") or "",
        ended=bool(entry) and entry.get("current_session_id") != identity,
    )


def _kind(key: str, window: dict[str, Any], entry: dict[str, Any]) -> Kind:
    if (kind := kind_of_key(key)) != "main":
        return kind
    if window.get("spawned_by") or entry.get("spawned_by") or window.get("acp_owned"):
        return "subagent"
    if entry.get("created_via") == "cron":
        return "cron"
    if window.get("hook_external_content_source"):
        return "hook"
    shared = {window.get("chat_type"), window.get("session_scope")}
    return "group" if shared & {"group", "channel"} else "main"


def written(session: Session, limit: int) -> Iterator[bytes]:
    """The lines of a session of the store, as an older file has them. Those of a session that has
    grown begin with the same ones."""
    known = {"wakebook": {"key": session.key, "kind": session.kind}}
    with _open(session.path) as database:
        rows = _rows(database, session.id, 0, limit, _packed(database))
        for number, (_, data, zstd, _) in enumerate(rows):
            found = data if data is not None else _unpacked(zstd, limit) if zstd else None
            event = jsonl.load(_object, found) if found else None
            if event is not None:
                yield msgspec.json.encode(event if number else event | known) + b"\n"


def _rotated(paths: list[Path]) -> Iterator[Session]:
    listed: dict[Path, dict[str, tuple[str, dict[str, Any]]]] = {}
    for path in paths:
        name, head = _NAME.match(path.name), jsonl.head(path)
        found = header(head)
        if name is None or found is None or not is_openclaw(path, head):
            continue
        if path.parent not in listed:
            listed[path.parent] = _listed(path.parent / "sessions.json")
        key, entry = listed[path.parent].get(name["id"], ("", {}))
        known = next(jsonl.first(_head, head, 1), _Head()).wakebook
        yield Session(
            host=OpenClaw.name,
            id=name["id"],
            path=path,
            kind=known.kind if known else _kind_of(key, entry, head),
            key=known.key if known else key,
            part=name["part"] or "",
            ended=bool(name["part"]),
            size=path.stat().st_size,
            cwd=found.cwd or "",
            channel=str(entry.get("channel") or entry.get("lastChannel") or ""),
            model=str(entry.get("model") or "") or jsonl.matched(MODEL, head),
        )


def _listed(path: Path) -> dict[str, tuple[str, dict[str, Any]]]:
    """Session id -> (key, entry) out of sessions.json, as far as it can be read."""
    try:
        raw = decode(path.read_bytes(), Any)
    except (OSError, msgspec.DecodeError):
        return {}
    entries = raw.items() if isinstance(raw, dict) else ()
    return {
        str(entry["sessionId"]): (key, entry)
        for key, entry in entries
        if isinstance(entry, dict) and entry.get("sessionId")
    }


def _kind_of(key: str, entry: dict[str, Any], head: bytes) -> Kind:
    if not key:  # not listed any more: the first message may tell
        task = _TASK.search(head)
        return "main" if task is None else "cron" if task[1] == b"cron:" else "subagent"
    named = {"spawned_by": "spawnedBy", "chat_type": "chatType"}
    return _kind(key, {new: entry.get(old) for new, old in named.items()}, {})
