"""Entry: one thing that was learned, and the only thing that an extractor writes.

Fields are those of the log's format (docs/formats.md). An entry that came out of a
conversation has an id derived from what was said and where, so that reading the same
words again gives the same id and the log never holds it twice. Unknown fields are kept
in `extra` and survive a read and a write.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Literal, get_args

import msgspec

from wakebook.base import clock
from wakebook.base import decode as decoding
from wakebook.base.errors import InvalidEntry

Type = Literal["task", "fact", "decision", "question", "handoff"]
Status = Literal["open", "done"]
EntryKind = Literal["lesson", "procedure", "preference", "event", "relationship"]

TYPES: tuple[str, ...] = get_args(Type)
STATUSES: tuple[str, ...] = get_args(Status)
KINDS: tuple[str, ...] = get_args(EntryKind)
HEARD = "heard"  # kept only when a later sentence of another conversation changed it
RETRACTED = "retracted"  # extra field: all that it says is that what it replaces holds no longer
ORIGIN = "origin"  # extra field: where it comes from, if it is not the user's own words
CONTENT, DETAIL = 8_000, 32_000  # characters: the largest entry
ID = re.compile(r"[A-Za-z0-9_-]{12}")
SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")

WAS = "Was: "  # in an entry's detail, before the words that it replaces
PARTLY = "In part no longer: "  # or replaces in part
DOUBTS = "Perhaps no longer: "  # there, before words that it may have changed
_PAST = re.compile(
    rf"(?:(?:;| —) |^)(?:{WAS}|{PARTLY}|{DOUBTS}).*?(?= \((?:since )?\[\[[^\]\n]*\]\]\)$|$)",
    re.MULTILINE,
)

_encode = msgspec.json.Encoder().encode


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: str
    timestamp: datetime
    type: Type
    content: str
    session: str  # the host's session id, or "manual"
    detail: str = ""
    subject: str = ""
    project: str = ""  # that it was said in: a key of projects.json
    replaces: tuple[str, ...] = ()
    status: Status | None = None  # tasks only
    kind: EntryKind | None = None
    evidence: tuple[int, ...] = ()  # turns of the archived transcript
    transcript: str = ""  # that transcript, relative to the home
    by: str = ""  # what extracted it: "rules", or a model and its prompt
    pinned: bool = False
    extra: dict[str, Any] = {}

    def with_(self, **changes: Any) -> Entry:
        return msgspec.structs.replace(self, **changes)


class _OneReplaced(Entry, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """As most lines with a replacement have it: one id, not a list."""

    replaces: str  # type: ignore[assignment]


_decode = msgspec.json.Decoder(Entry).decode
_decode_one = msgspec.json.Decoder(_OneReplaced).decode
_UNDECODED = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
_FIELDS = frozenset(Entry.__struct_fields__) - {"extra"}
_TEXTS = ("id", "type", "content", "session", "detail", "subject", "project", "transcript", "by")
_REQUIRED = ("type", "content", "session")
_ORDER = (  # of a line, after id and timestamp
    "type", "content", "detail", "status", "subject", "project", "kind", "replaces", "pinned",
    "session", "evidence", "transcript", "by",
)  # fmt: skip


def present(text: str) -> str:
    """A text without what corrections keep of the words that they correct ("Was: ..."). People like
    to see it in their notes; an agent is told what holds."""
    if not has_past(text):
        return text
    first = _PAST.search(text)
    return news_first(_PAST.sub("", text), first[0].lstrip("; —") if first else "")


def news_first(content: str, detail: str) -> str:
    """The words of an entry. A correction that stands behind what it corrects, because it says too
    little alone, comes first: "she's on Thursdays now (was: Greta fires on Tuesdays)". One that
    replaces a part of what it corrects comes with the rest."""
    first = detail.partition("\n")[0]
    if first.startswith(PARTLY) and content:
        return f"{content} ({PARTLY[0].lower()}{first[1:].rstrip(' .')})"
    old = first.removeprefix(WAS) if first.startswith(WAS) else ""
    before, behind, news = content.partition(f"{old} " if old else "\0")
    return f"{before}{news} (was: {old.rstrip(' .')})" if behind else content


def has_past(text: str) -> bool:
    return any(one in text for one in (WAS, PARTLY, DOUBTS))


def doubts(detail: str) -> list[str]:
    """The words that an entry may have changed."""
    return [line.removeprefix(DOUBTS) for line in detail.split("\n") if line.startswith(DOUBTS)]


def counted(entries: Iterable[Entry]) -> str:
    """How many there are of each type: 2 decisions, 1 fact."""
    types = Counter(entry.type for entry in entries)
    return ", ".join(f"{n} {type_}{'s' if n > 1 else ''}" for type_, n in types.items())


def new_id() -> str:
    """A nanoid: 12 characters of 64, from the system's randomness."""
    return _id(os.urandom(9))


def _id(data: bytes) -> str:
    """Nine bytes in the nanoid alphabet, never starting like an option of a command."""
    text = base64.urlsafe_b64encode(data).decode()
    return {"-": "0", "_": "1"}.get(text[0], text[0]) + text[1:]


def derived_id(source: str, kind: str, content: str) -> str:
    """The id of what a conversation said: the same words give the same id. `source` is the host's
    id of the message, which a fork shares with its parent."""
    seed = "\x1f".join((source, kind, content)).encode("utf-8", "surrogatepass")
    return _id(hashlib.blake2b(seed, digest_size=9).digest())


def slugify(text: str) -> str:
    """Lower-case kebab-case, or nothing if the text has no letters or digits for it."""
    import unicodedata

    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return "-".join(re.findall(r"[a-z0-9]+", plain.lower()))[:60].strip("-")


def too_large(content: str, detail: str) -> str:
    """Why these words do not fit into an entry, or ""."""
    for name, text, most in (("text", content, CONTENT), ("detail", detail, DETAIL)):
        if len(text) > most:
            return (
                f"The {name} has {len(text):,} characters; an entry holds {most:,}. Say the "
                "essence, or put the whole into a note or a file and remember where it is."
            )
    return ""


def fitted(entry: Entry) -> Entry:
    """The entry, cut to the largest size where it is larger, which the cut text says."""
    if not too_large(entry.content, entry.detail):
        return entry
    return entry.with_(content=_cut(entry.content, CONTENT), detail=_cut(entry.detail, DETAIL))


def _cut(text: str, most: int) -> str:
    note = f" … [cut: {len(text):,} characters]"
    return text if len(text) <= most else text[: most - len(note)] + note


def validate(entry: Entry) -> Entry:
    """The entry itself, if it keeps the rules; otherwise InvalidEntry says which it breaks."""
    if problem := _problem(entry):
        raise InvalidEntry(f"entry {entry.id!r}: {problem}")
    return entry


def _problem(entry: Entry) -> str:
    if not ID.fullmatch(entry.id):
        return "id must be 12 characters of A-Z a-z 0-9 _ -"
    if entry.type not in TYPES:
        return f"type must be one of {', '.join(TYPES)}, not {entry.type!r}"
    if not entry.content or entry.content.isspace():
        return "content is empty"
    if entry.type == "task":
        if entry.status not in STATUSES:
            return "a task needs a status: open or done"
    elif entry.status is not None:
        return "only a task has a status"
    if entry.kind is not None and entry.kind not in KINDS:
        return f"kind must be one of {', '.join(KINDS)}"
    if entry.subject and not SLUG.fullmatch(entry.subject):
        return f"subject {entry.subject!r} is not lower-case-kebab-case"
    if not entry.session:
        return "session is missing"
    if entry.id in entry.replaces:
        return "an entry cannot replace itself"
    if entry.evidence and min(entry.evidence) < 1:
        return "evidence counts turns from 1"
    return ""


def decode(line: bytes) -> Entry:
    """One line of log.jsonl. Raises InvalidEntry with the reason."""
    try:  # the common case, all in C: known fields, of the right types
        entry = _decode(line)
    except _UNDECODED:
        try:
            one = msgspec.structs.asdict(_decode_one(line))
        except _UNDECODED:
            return _decode_slowly(line)
        entry = Entry(**one | {"replaces": (one["replaces"],)})
    if entry.timestamp.tzinfo is not UTC or entry.extra:
        return _decode_slowly(line)
    return validate(entry)


def _decode_slowly(line: bytes) -> Entry:
    try:
        return from_dict(decoding.decode(line, dict[str, Any]))
    except msgspec.ValidationError as error:
        raise InvalidEntry("not a JSON object") from error
    except msgspec.DecodeError as error:
        raise InvalidEntry(f"not valid JSON: {error}") from error


def from_dict(raw: Mapping[str, Any]) -> Entry:
    timestamp = clock.parse(raw.get("timestamp"))
    if timestamp is None:
        raise InvalidEntry(f"timestamp {raw.get('timestamp')!r} is not ISO 8601")
    replaces = raw.get("replaces") or ()
    try:
        entry = Entry(
            **{name: _text(raw, name) for name in _TEXTS},
            timestamp=timestamp,
            replaces=(replaces,) if isinstance(replaces, str) else tuple(replaces),
            status=raw.get("status"),
            kind=raw.get("kind"),
            evidence=tuple(int(number) for number in raw.get("evidence") or ()),
            pinned=raw.get("pinned") is True,
            extra={key: value for key, value in raw.items() if key not in _FIELDS},
        )
    except (TypeError, ValueError) as error:
        raise InvalidEntry(str(error)) from error
    return validate(entry)


def _text(raw: Mapping[str, Any], name: str) -> Any:
    value = raw.get(name, "")
    if not isinstance(value, str):
        raise InvalidEntry(f"{name} must be text, not {value!r}")
    return value


def as_dict(entry: Entry) -> dict[str, Any]:
    """The entry as it stands in the log: empty optional fields are left out."""
    raw: dict[str, Any] = {"id": entry.id, "timestamp": clock.iso(entry.timestamp)}
    for name in _ORDER:
        value = getattr(entry, name)
        if value or name in _REQUIRED:
            raw[name] = list(value) if isinstance(value, tuple) else value
    if len(entry.replaces) == 1:
        raw["replaces"] = entry.replaces[0]
    return raw | entry.extra


def encode(entry: Entry) -> bytes:
    return _encode(as_dict(entry)) + b"\n"
