"""OpenClaw: an event tree (see `tree`), in SQLite today and in JSON lines before.

`agents/<id>/agent/openclaw-agent.sqlite` holds every session of an agent (see
`openclaw_store`). Older versions wrote `agents/<id>/sessions/<session>.jsonl` and renamed
the file to `.jsonl.reset.<time>` or `.jsonl.deleted.<time>`; each such file is a session
part of its own. `reader` gives the one of the two that a session needs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from wakebook.capture.hosts import jsonl, tree
from wakebook.capture.hosts.openclaw_store import Store, is_store
from wakebook.capture.hosts.pi import is_openclaw, model_of, read
from wakebook.capture.session import Kind, Session, kind_of_key
from wakebook.capture.transcript import Record
from wakebook.errors import TranscriptError

STORES = ("agents/*/agent/openclaw-agent.sqlite", "agent/openclaw-agent.sqlite", "*.sqlite")
FILES = ("agents/*/sessions/*.jsonl*", "sessions/*.jsonl*", "*.jsonl*")
NOT_HUMAN = (
    "A new session was started via /new or /reset",
    "Read HEARTBEAT.md if it exists",
    "Pre-compaction memory flush",
)
CANNED = ("✅ New session started", "✅ Session reset", "HEARTBEAT_OK", "NO_REPLY")

_INTERNAL = re.compile(
    r"<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>.*?(?:<<<END_OPENCLAW_INTERNAL_CONTEXT>>>|\Z)",
    re.DOTALL,
)
_SLASH = re.compile(r"/[A-Za-z][\w:.-]*\Z")
_NAME = re.compile(r"(?P<id>[^.]+)\.jsonl(?:\.(?P<part>(?:reset|deleted)\..+))?\Z")
_TASK = re.compile(rb'"text":\s*"\[(cron:|Subagent )')


class ChatTree(tree.Tree):
    """A tree without what OpenClaw itself puts into the mouth of user and agent."""

    def heard(self, message: tree.Message, text: str) -> tuple[str, str]:
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


class OpenClaw:
    """Both kinds of source under one name."""

    name = "openclaw"
    unit = "seq"
    tree = True

    def __init__(self) -> None:
        self._store = Store(ChatTree)
        self._rotated = Rotated()

    def reader(self, session: Session) -> Store | Rotated:
        return self._rotated if ".jsonl" in session.path.name else self._store

    def discover(self, root: Path) -> Iterator[Session]:
        if root.is_file():
            stored = is_store(jsonl.head(root, 16))
            yield from self._store.sessions(root) if stored else self._rotated.sessions([root])
            return
        seen: set[tuple[Path, str]] = set()
        for path in _matches(root, STORES):
            try:
                for session in self._store.sessions(path):
                    seen.add((_agent(path), session.id))
                    yield session
            except TranscriptError:  # a session that cannot be read: catch_up says so
                yield Session(host=self.name, id=f"{_agent(path).name}-store", path=path)
        for session in self._rotated.sessions(_matches(root, FILES)):
            if session.part or (_agent(session.path), session.id) not in seen:
                yield session

    def recognises(self, path: Path, head: bytes) -> bool:
        if is_store(head):
            return self._store.recognises(path)
        return tree.header(head) is not None and is_openclaw(path, head)

    def records(
        self, session: Session, position: int, limit: int, closing: bool
    ) -> Iterator[Record]:
        return self.reader(session).records(session, position, limit, closing)

    def size(self, session: Session) -> int:
        return self.reader(session).size(session)

    def digest(self, session: Session, start: int, end: int) -> str:
        return self.reader(session).digest(session, start, end)

    def beginning(self, session: Session, captured: Callable[[Path], bool]) -> int:
        return 0


class Rotated(jsonl.Files):
    """The older files. A session is `<id>.jsonl`; a rotated one is a part of its own."""

    name = OpenClaw.name
    tree = True

    def discover(self, root: Path) -> Iterator[Session]:
        return OpenClaw().discover(root)

    def recognises(self, path: Path, head: bytes) -> bool:
        return OpenClaw().recognises(path, head)

    def sessions(self, paths: list[Path]) -> Iterator[Session]:
        listed: dict[Path, dict[str, tuple[str, dict[str, Any]]]] = {}
        for path in paths:
            name, head = _NAME.match(path.name), jsonl.head(path)
            found = tree.header(head)
            if name is None or found is None or not is_openclaw(path, head):
                continue
            if path.parent not in listed:
                listed[path.parent] = _listed(path.parent / "sessions.json")
            key, entry = listed[path.parent].get(name["id"], ("", {}))
            yield Session(
                host=self.name,
                id=name["id"],
                path=path,
                kind=_kind(key, entry, head),
                key=key,
                part=name["part"] or "",
                size=path.stat().st_size,
                cwd=found.cwd or "",
                channel=str(entry.get("channel") or entry.get("lastChannel") or ""),
                model=str(entry.get("model") or "") or model_of(head),
            )

    def records(
        self, session: Session, position: int, limit: int, closing: bool
    ) -> Iterator[Record]:
        events = ChatTree(tree.root(jsonl.head(session.path)))
        return read(events, session, position, limit, closing)


def _matches(root: Path, patterns: tuple[str, ...]) -> list[Path]:
    return [path for pattern in patterns for path in sorted(root.glob(pattern)) if path.is_file()]


def _agent(path: Path) -> Path:
    """The folder of the agent that a source belongs to."""
    return path.parent.parent if path.parent.name in ("agent", "sessions") else path.parent


def _listed(path: Path) -> dict[str, tuple[str, dict[str, Any]]]:
    """Session id -> (key, entry) out of sessions.json, as far as it can be read."""
    try:
        raw = msgspec.json.decode(path.read_bytes())
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    entries = raw.items() if isinstance(raw, dict) else ()
    return {
        str(entry["sessionId"]): (key, entry)
        for key, entry in entries
        if isinstance(entry, dict) and entry.get("sessionId")
    }


def _kind(key: str, entry: dict[str, Any], head: bytes) -> Kind:
    if not key:  # not listed any more: the first message may tell
        task = _TASK.search(head)
        return "main" if task is None else "cron" if task[1] == b"cron:" else "subagent"
    kind = kind_of_key(key)
    if kind == "main" and entry.get("spawnedBy"):
        return "subagent"
    if kind == "main" and entry.get("chatType") in ("group", "channel"):
        return "group"
    return kind
