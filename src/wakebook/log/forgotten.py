"""Forgotten: what you took out of the log, without saying what it was (forgotten.jsonl).

A receipt names the entry's id and the turns that said it, and has hashes of its session, its
transcript and each of its terms. That is enough to know it again when the transcript is read once
more, by whatever extractor and in whatever words. The hashes are made with a key that is not in
git (`keyed`): who has the receipt alone cannot even try out words. A machine with another key
knows it by its id.

A receipt of an older Wakebook has the path as it is, and hashes of the words beside their salt,
with no key. It counts as it did, and the next writing puts a new one in its place.
"""

import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path

import msgspec

from wakebook.base import clock
from wakebook.base.decode import decode
from wakebook.base.errors import WakebookError
from wakebook.base.home import Home
from wakebook.log import keyed
from wakebook.log.entry import Entry

FILE = "forgotten.jsonl"
HALF = 0.5  # of its terms, at the same turn: it is the same thing
LEAST = 2  # terms that a handoff has to share before a line of it goes
WITHHELD = "Something in this session was forgotten on purpose"

Terms = Callable[[str], frozenset[str]]


class Receipt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    id: str
    at: str
    type: str = ""  # of an older one; since then only whether it is a handoff
    key: str = ""  # which key it is made with
    session: str = ""
    transcript: str = ""
    evidence: tuple[int, ...] = ()
    salt: str = ""
    terms: tuple[str, ...] = ()

    @property
    def handoff(self) -> bool:
        return self.type == "handoff"


class Forgotten:
    """All receipts, and the key to them. An entry's id is `in` it if it was forgotten."""

    def __init__(self, receipts: Iterable[Receipt] = (), secret: bytes = b"") -> None:
        self.all = tuple(receipts)
        self._secret = secret
        mark = keyed.mark(secret)
        known = [one for one in self.all if one.key in ("", mark)]
        self.unknown = len(self.all) - len(known)  # the key of these is not there
        self.ids = frozenset(one.id for one in self.all)
        self._places: dict[str, list[Receipt]] = {}
        for one in known:
            self._places.setdefault(one.transcript, []).append(one)
        self._known = known

    def __contains__(self, name: object) -> bool:
        return name in self.ids

    def __bool__(self) -> bool:
        return bool(self.all)

    def _hash(self, kind: str, text: str) -> str:
        return keyed.hashed(self._secret, kind, text)

    def at(self, transcript: str) -> list[Receipt]:
        """Those of a transcript."""
        if not transcript or not self._places:
            return []
        hashed = self._hash("transcript", transcript)
        return [*self._places.get(transcript, ()), *self._places.get(hashed, ())]

    def of(self, session: str, transcripts: Iterable[str]) -> int:
        """How many entries of a session were forgotten. An older receipt has only its path."""
        hashed = self._hash("session", session) if self._places else ""
        new = sum(one.session == hashed for one in self._known if one.key)
        return new + sum(len(self._places.get(path, ())) for path in transcripts)

    def share(self, receipt: Receipt, terms: Iterable[str]) -> float:
        """How many of a receipt's terms are among these."""
        hashes = {self._term(receipt, term) for term in terms}
        found = len(hashes.intersection(receipt.terms))
        return found / len(receipt.terms) if receipt.terms else 0.0

    def _term(self, receipt: Receipt, term: str) -> str:
        salted = _salted(receipt.salt, term)
        return keyed.hashed(self._secret, "term", salted, size=6) if receipt.key else salted

    def tells(self, text: str, terms: Terms) -> bool:
        """Whether a text has all terms of something that was forgotten."""
        return bool(self._known) and self._tells(self._known, terms(text))

    def _tells(self, receipts: Iterable[Receipt], said: frozenset[str]) -> bool:
        return any(len(one.terms) >= LEAST and self.share(one, said) == 1 for one in receipts)

    def without(self, entry: Entry, terms: Terms) -> Entry | None:
        """The entry if it may be kept: None if it was forgotten, a handoff without its words."""
        if entry.id in self.ids:
            return None
        receipts = self.at(entry.transcript)
        if not receipts:
            return entry
        said = terms(entry.content)
        if any(self._same(receipt, entry, said) for receipt in receipts):
            return None
        return self._blanked(entry, receipts, terms) if entry.type == "handoff" else entry

    def _same(self, receipt: Receipt, entry: Entry, said: frozenset[str]) -> bool:
        alike = receipt.handoff == (entry.type == "handoff")
        here = alike and bool(set(receipt.evidence) & set(entry.evidence))
        return here and self.share(receipt, said) >= HALF

    def _blanked(self, entry: Entry, receipts: Sequence[Receipt], terms: Terms) -> Entry:
        """A handoff without the lines that say what was forgotten."""
        lines = entry.detail.split("\n")
        kept = [line for line in lines if not self._tells(receipts, terms(line))]
        tells = self._tells(receipts, terms(entry.content))
        content = WITHHELD if tells else entry.content
        if content == entry.content and len(kept) == len(lines):
            return entry
        return entry.with_(content=content, detail="\n".join(kept))


def receipt(entry: Entry, terms: Terms, now: datetime, secret: bytes) -> Receipt:
    salt = os.urandom(8).hex()
    plain = Receipt(
        id=entry.id,
        at=clock.iso(now),
        type=entry.type,
        transcript=entry.transcript,
        evidence=entry.evidence,
        salt=salt,
        terms=tuple(sorted(_salted(salt, term) for term in terms(entry.content))),
    )
    return sealed(plain, secret, entry.session)


def sealed(plain: Receipt, secret: bytes, session: str = "") -> Receipt:
    """A receipt that says nothing without the key, of one that says something."""
    if plain.key:
        return plain
    path = plain.transcript
    terms = (keyed.hashed(secret, "term", term, size=6) for term in plain.terms)
    return msgspec.structs.replace(
        plain,
        type="handoff" if plain.handoff else "",
        key=keyed.mark(secret),
        session=keyed.hashed(secret, "session", session) if session else "",
        transcript=keyed.hashed(secret, "transcript", path) if path else "",
        terms=tuple(sorted(terms)),
    )


def moved(one: Receipt, transcript: str) -> Receipt:
    return msgspec.structs.replace(one, transcript=transcript)


def read(data: bytes, where: object = FILE) -> list[Receipt]:
    """The receipts of a file. Raises WakebookError."""
    found: list[Receipt] = []
    for number, line in enumerate(data.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            found.append(decode(line, Receipt))
        except msgspec.MsgspecError as error:
            raise WakebookError(
                f"{where}, line {number}: not a receipt ({error}). Correct or remove that line: "
                "what it stands for could come back unnoticed."
            ) from error
    return found


def load(home: Home) -> Forgotten:
    """All receipts. A file that cannot be read stops the work: nothing may come back."""
    path = home.root / FILE
    try:
        return parsed(path.read_bytes(), path, keyed.key(home))
    except FileNotFoundError:
        return Forgotten()


def parsed(data: bytes, path: Path, secret: bytes) -> Forgotten:
    """Receipts as they stand in a file. `path`: of the file, for what is wrong with them."""
    return Forgotten(read(data, path), secret)


def add(home: Home, receipts: Sequence[Receipt]) -> None:
    """Write receipts down, those that are not there yet, and seal older ones. Under the lock."""
    known = load(home)
    secret = keyed.made(home)
    old = [sealed(one, secret, _session(home, one)) for one in known.all]
    there = {one.id for one in old}
    after = [*old, *(one for one in receipts if one.id not in there)]
    if after != list(known.all):  # the file as a whole: half a receipt would be worse than none
        write(home, after)


def write(home: Home, receipts: Iterable[Receipt]) -> None:
    home.replace(home.root / FILE, encoded(receipts))


def encoded(receipts: Iterable[Receipt]) -> bytes:
    return b"".join(msgspec.json.encode(one) + b"\n" for one in receipts)


def _session(home: Home, plain: Receipt) -> str:
    """Of an older receipt, which has only its transcript."""
    if plain.key or not plain.transcript:
        return ""
    from wakebook.base import markdown

    try:
        text = (home.root / plain.transcript).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return str(markdown.split(text)[0].get("session_id", ""))


def _salted(salt: str, term: str) -> str:
    data = term.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=6, key=bytes.fromhex(salt)).hexdigest()
