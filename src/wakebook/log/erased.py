"""Erased: what must not come back when a host's files are read again (erased.jsonl).

A line is a tombstone, and says nothing about what it stands for: a keyed hash of the words of a
text and how many they were, a keyed hash of a session's id, or a span of time. It counts for what
was said until the erasure; who says the same again later, says it anew.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from datetime import datetime

import msgspec

from wakebook.base import clock
from wakebook.base.decode import decode
from wakebook.base.errors import WakebookError
from wakebook.base.home import Home
from wakebook.capture.transcript import Message, Tool
from wakebook.log import keyed

FILE = "erased.jsonl"
ERASED = "[erased]"
_WORD = re.compile(r"\w+")


class Tombstone(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    at: datetime  # of the erasure
    key: str = ""  # which key its hashes are made with
    hash: str = ""  # of a text's words
    words: int = 0
    first: str = ""  # two characters of the first word's hash: most words need not be hashed whole
    session: str = ""  # hash of its id
    since: datetime | None = None  # from here until the erasure


class Tombstones:
    """All of them, with the key."""

    def __init__(self, stones: Iterable[Tombstone], secret: bytes) -> None:
        self.all = tuple(stones)
        self._secret = secret
        mark = keyed.mark(secret)
        self.unknown = sum(bool(one.key) and one.key != mark for one in self.all)
        known = [one for one in self.all if one.key == mark]
        self._texts = [one for one in known if one.hash]
        self._sessions = {one.session: one.at for one in known if one.session}
        self._spans = [(one.since, one.at) for one in self.all if one.since]
        self._firsts: dict[str, str] = {}

    def __bool__(self) -> bool:
        return bool(self.all)

    def of_session(self, session: str) -> Callable[[Message], Message]:
        """What to do with every message of a session before it is kept."""
        gone_until = self._sessions.get(keyed.hashed(self._secret, "session", session))

        def kept(message: Message) -> Message:
            at = message.at
            gone = gone_until is not None and (at is None or at <= gone_until)
            if gone or (at and any(since <= at <= until for since, until in self._spans)):
                return msgspec.structs.replace(message, text="", tools=(), attachments=())
            texts = [one for one in self._texts if at is None or at <= one.at]
            return self._without(message, texts) if texts else message

        return kept

    def _without(self, message: Message, texts: list[Tombstone]) -> Message:
        tools = tuple(
            Tool(
                self.without(tool.name, texts),
                self.without(tool.summary, texts),
                tool.result and self.without(tool.result, texts),
                tool.error,
            )
            for tool in message.tools
        )
        return msgspec.structs.replace(
            message,
            text=self.without(message.text, texts),
            tools=tools,
            attachments=tuple(self.without(one, texts) for one in message.attachments),
        )

    def without(self, text: str, texts: list[Tombstone] | None = None) -> str:
        """A text with what was erased gone from it."""
        found = list(_WORD.finditer(text))
        words = [_plain(match[0]) for match in found]
        spans: list[tuple[int, int]] = []
        for stone in self._texts if texts is None else texts:
            for place in range(len(words) - stone.words + 1):
                some = words[place : place + stone.words]
                if self._first(some[0]) == stone.first and _hash(self._secret, some) == stone.hash:
                    spans.append((found[place].start(), found[place + stone.words - 1].end()))
        for start, end in sorted(spans, reverse=True):
            text = text[:start] + ERASED + text[end:]
        return text

    def _first(self, word: str) -> str:
        known = self._firsts.get(word)
        if known is None:
            known = self._firsts[word] = keyed.hashed(self._secret, "first", word, size=1)
        return known


def _plain(word: str) -> str:
    return unicodedata.normalize("NFKC", word).casefold()


def _hash(secret: bytes, words: list[str]) -> str:
    return keyed.hashed(secret, "text", *words)


def of_text(secret: bytes, text: str, now: datetime) -> Tombstone | None:
    words = [_plain(word) for word in _WORD.findall(text)]
    if not words:
        return None
    return Tombstone(
        at=now,
        key=keyed.mark(secret),
        hash=_hash(secret, words),
        words=len(words),
        first=keyed.hashed(secret, "first", words[0], size=1),
    )


def of_session(secret: bytes, session: str, now: datetime) -> Tombstone:
    hashed = keyed.hashed(secret, "session", session)
    return Tombstone(at=now, key=keyed.mark(secret), session=hashed)


def load(home: Home) -> Tombstones:
    """All tombstones. A file that cannot be read stops the work: nothing may come back."""
    path = home.root / FILE
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return Tombstones((), b"")
    found: list[Tombstone] = []
    for number, line in enumerate(data.splitlines(), start=1):
        try:
            found += [decode(line, Tombstone)] if line.strip() else []
        except msgspec.MsgspecError as error:
            raise WakebookError(
                f"{path}, line {number}: not a tombstone ({error}). Correct or remove that line: "
                "what it stands for could come back unnoticed."
            ) from error
    return Tombstones(found, keyed.key(home))


def add(home: Home, stones: Iterable[Tombstone]) -> None:
    """Write tombstones down, those that are not there yet. Under the writer lock."""
    known = load(home).all
    same = {(one.hash, one.session, one.since, clock.iso(one.at)) for one in known}
    new = [
        one for one in stones if (one.hash, one.session, one.since, clock.iso(one.at)) not in same
    ]
    if new:
        lines = b"".join(msgspec.json.encode(one) + b"\n" for one in (*known, *new))
        home.replace(home.root / FILE, lines)
