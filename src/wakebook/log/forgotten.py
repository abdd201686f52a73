"""Forgotten: what you took out of the log, without saying what it was (forgotten.jsonl).

A receipt names the entry's id, the turns of the transcript that said it, and salted hashes of
its terms. That is enough to know it again when the transcript is read once more, by whatever
extractor and in whatever words, and does not tell what it said.
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
from wakebook.log.entry import Entry

FILE = "forgotten.jsonl"
HALF = 0.5  # of its terms, at the same turn: it is the same thing
LEAST = 2  # terms that a handoff has to share before a line of it goes
WITHHELD = "Something in this session was forgotten on purpose"

Terms = Callable[[str], frozenset[str]]


class Receipt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    id: str
    at: str
    type: str
    transcript: str = ""
    evidence: tuple[int, ...] = ()
    salt: str = ""
    terms: tuple[str, ...] = ()

    def share(self, terms: Iterable[str]) -> float:
        """How many of its terms are among these."""
        hashes = {_hash(self.salt, term) for term in terms}
        return len(hashes.intersection(self.terms)) / len(self.terms) if self.terms else 0.0


class Forgotten(msgspec.Struct, frozen=True):
    ids: frozenset[str] = frozenset()
    by_transcript: dict[str, tuple[Receipt, ...]] = {}

    def without(self, entry: Entry, terms: Terms) -> Entry | None:
        """The entry if it may be kept: None if it was forgotten, a handoff without its words."""
        if entry.id in self.ids:
            return None
        receipts = self.by_transcript.get(entry.transcript, ()) if entry.transcript else ()
        if not receipts:
            return entry
        said = terms(entry.content)
        if any(_same(receipt, entry, said) for receipt in receipts):
            return None
        return _blanked(entry, receipts, terms) if entry.type == "handoff" else entry


def _same(receipt: Receipt, entry: Entry, said: frozenset[str]) -> bool:
    alike = (receipt.type == "handoff") == (entry.type == "handoff")
    here = alike and bool(set(receipt.evidence) & set(entry.evidence))
    return here and receipt.share(said) >= HALF


def _blanked(entry: Entry, receipts: Sequence[Receipt], terms: Terms) -> Entry:
    """A handoff without the lines that say what was forgotten."""

    def tells(text: str) -> bool:
        said = terms(text)
        return any(len(one.terms) >= LEAST and one.share(said) == 1 for one in receipts)

    lines = entry.detail.split("\n")
    kept = [line for line in lines if not tells(line)]
    content = WITHHELD if tells(entry.content) else entry.content
    if content == entry.content and len(kept) == len(lines):
        return entry
    return entry.with_(content=content, detail="\n".join(kept))


def receipt(entry: Entry, terms: Terms, now: datetime) -> Receipt:
    salt = os.urandom(8).hex()
    return Receipt(
        id=entry.id,
        at=clock.iso(now),
        type=entry.type,
        transcript=entry.transcript,
        evidence=entry.evidence,
        salt=salt,
        terms=tuple(sorted(_hash(salt, term) for term in terms(entry.content))),
    )


def load(home: Home) -> Forgotten:
    """All receipts. A file that cannot be read stops the work: nothing may come back."""
    path = home.root / FILE
    try:
        return parsed(path.read_bytes(), path)
    except FileNotFoundError:
        return Forgotten()


def parsed(data: bytes, path: Path) -> Forgotten:
    """Receipts as they stand in a file. `path`: of the file, for what is wrong with them."""
    ids: set[str] = set()
    found: dict[str, tuple[Receipt, ...]] = {}
    for number, line in enumerate(data.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            one = decode(line, Receipt)
        except msgspec.MsgspecError as error:
            raise WakebookError(
                f"{path}, line {number}: not a receipt ({error}). Correct or remove that line: "
                "what it stands for could come back unnoticed."
            ) from error
        ids.add(one.id)
        if one.transcript:
            found[one.transcript] = (*found.get(one.transcript, ()), one)
    return Forgotten(frozenset(ids), found)


def add(home: Home, receipts: Sequence[Receipt]) -> None:
    """Write receipts down, those that are not there yet. Under the writer lock."""
    known = load(home).ids
    new = [one for one in receipts if one.id not in known]
    if new:  # the file as a whole: half a receipt would be worse than none
        path = home.root / FILE
        before = path.read_bytes() if path.exists() else b""
        if before and not before.endswith(b"\n"):
            before += b"\n"
        home.replace(path, before + b"".join(msgspec.json.encode(one) + b"\n" for one in new))


def _hash(salt: str, term: str) -> str:
    data = term.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=6, key=bytes.fromhex(salt)).hexdigest()
