"""Text as it is shown, written and sent to a model: cleaned, prefixed, cut, dealt into batches."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wakebook.base import config

EMPTY = "Nothing yet: the log holds no entries."  # what the briefing says then
# About a token each, rather too many than too few: a tokenizer merges more than this does.
_TOKEN = re.compile(r"[A-Za-z]{1,4}|\d{1,3}|[^\sA-Za-z\d]")
_UNSEEN = ("Cc", "Cf", "Zl", "Zp", "Co", "Cn")
# What moves a cursor, hides, or turns the direction of what follows; joiners belong to scripts.
_UNSHOWN = re.compile(
    "\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u2069\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
# What a model was trained with, where that is known: before a question, before a document.
_TRAINED = {"nomic-embed-text": ("search_query: ", "search_document: ")}


def tokens(text: str) -> int:
    """An estimate that needs no tokenizer."""
    return sum(1 for _ in _TOKEN.finditer(text))


def cut(text: str, limit: int) -> str:
    if len(text) <= limit:  # a token has at least one character
        return text
    token = next(islice(_TOKEN.finditer(text), limit, None), None)
    return text[: token.start()].rstrip() if token else text


def one_line(text: str, limit: int) -> str:
    """The gist of some text on one line, cut with an ellipsis."""
    line = " ".join(text[: limit * 8].split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def whole(text: str) -> str:
    """Without halves of characters, which cannot be written anywhere."""
    return text.encode("utf-8", "replace").decode()


def visible(text: str) -> str:
    """With control, zero-width and direction characters written out (\\u202e), as JSON would."""
    return text if text.isprintable() else _UNSHOWN.sub(_written_out, text)


def _written_out(sign: re.Match[str]) -> str:
    code = ord(sign[0])
    if code > 0xFFFF:  # as JSON has it: in two halves
        high, low = divmod(code - 0x10000, 0x400)
        return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"
    return f"\\u{code:04x}"


def printable(text: str) -> str:
    """One line without control and format characters: nothing that moves a terminal's cursor,
    hides, or turns the direction of what follows."""
    flat = " ".join(text.split())
    if flat.isprintable():
        return flat
    import unicodedata

    kept = (" " if unicodedata.category(sign) in _UNSEEN else sign for sign in text)
    return " ".join("".join(kept).split())


def line_end(text: str) -> str:
    """How the lines of a text end: as in Windows if all of them do."""
    return "\r\n" if 0 < text.count("\n") == text.count("\r\n") else "\n"


def clean(text: str) -> str:
    """Without what servers choke on: zero bytes and halves of characters."""
    return whole(text).replace("\0", " ").strip()


def prefix(model: str, settings: config.Embedding, query: bool) -> str:
    """What the settings put before a text, or what the model is known to want."""
    if settings.query_prefix or settings.document_prefix:
        return settings.query_prefix if query else settings.document_prefix
    for known, (before_query, before_document) in _TRAINED.items():
        if known in model:
            return before_query if query else before_document
    return ""


def identity(name: str, settings: config.Embedding) -> str:
    """A model's name with all else that its vectors depend on."""
    if settings.dimensions:
        name += f":{settings.dimensions}"
    if settings.query_prefix or settings.document_prefix:
        both = f"{settings.query_prefix}\0{settings.document_prefix}"
        name += f"+{hashlib.sha256(both.encode()).hexdigest()[:8]}"
    return name


def batches(texts: Sequence[str], size: int, limit: int) -> Iterator[list[str]]:
    """In order; at most `size` texts and about `limit` tokens each, but at least one text."""
    batch: list[str] = []
    total = 0
    for text in texts:
        weight = tokens(text)
        if batch and (len(batch) >= size or total + weight > limit):
            yield batch
            batch, total = [], 0
        batch.append(text)
        total += weight
    if batch:
        yield batch
