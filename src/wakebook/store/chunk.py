"""Chunk: the piece of text that is found. How entries, notes and transcripts are cut.

An entry is one chunk and so is a turn of a conversation; a note is cut at its headings, and
a long section into pieces of about 400 tokens that overlap by 80. What Wakebook generated
into a note is left out: it is made of entries, which are chunks themselves.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any

from wakebook.base import markdown
from wakebook.base import text as texts
from wakebook.store import words

if TYPE_CHECKING:
    from wakebook.capture.archive import Transcript, Turn
    from wakebook.log.entry import Entry

VERSION = "4"  # part of the index's fingerprint
TOKENS = 400
OVERLAP = 80

_FOLDERS = {
    "knowledge/identity": "identity",
    "knowledge/memory": "memory",
    "knowledge/journal": "journal",
    "knowledge/projects": "project",
    "knowledge/people": "person",
    "knowledge/procedures": "procedure",
    "knowledge/reference": "reference",
    "topics": "topic",
    "raw/conversations": "conversation",
}
_HEADING = re.compile(r"(#{1,6})[ \t]+(.*?)[ \t#]*$")
_FENCE = re.compile(r"[ \t]{0,3}(`{3,}|~{3,})")
_SHORT = re.compile(r".{1,150}(?:\s|$)|.{150}", re.DOTALL)  # mostly of at most 80 tokens
_SPEAKER = re.compile(r"([A-Z][\w'’-]{0,30}(?: [A-Z][\w'’-]{0,30}){0,2}): ")
_DAY = re.compile(r"(\d{4}-\d\d-\d\d)")


Section = tuple[list[str], int, Sequence[str]]  # headings above, first line, lines


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    text: str
    category: str
    name: str = ""  # an entry's id
    title: str = ""  # the headings above a section, the title of a conversation
    detail: str = ""  # an entry's detail; what tools were called in a turn
    speaker: str = ""
    type: str = ""
    subject: str = ""
    status: str = ""
    kind: str = ""
    session: str = ""
    host: str = ""
    place: int = 0  # the turn's number, or which piece of the file this is
    line: int = 0  # first and last line in the file
    last_line: int = 0
    at: int = 0  # seconds since 1970; 0 if it has no date
    pinned: bool = False
    archived: bool = False
    replaced_by: str = ""
    project: str = ""
    own: bool = False  # about the user, and so for every project

    @property
    def is_dated(self) -> bool:
        """Whether its time belongs to it, rather than to the file that it stands in."""
        return bool(self.name) or self.category in ("conversation", "journal")

    def digest(self) -> bytes:
        """Changes when anything changes that a search could see, except where it stands."""
        said = f"{self.place} {self.at}" if self.category == "conversation" else f"{self.at}"
        flags = f"{said if self.is_dated else ''} {self.pinned} {self.archived}"
        seen = (
            self.text, self.category, self.name, self.title, self.detail, self.speaker, self.type,
            self.subject, self.status, self.kind, self.session, self.host, flags, self.project,
        )  # fmt: skip
        text = "\x1f".join(seen).encode("utf-8", "replace")
        return hashlib.blake2b(text, digest_size=16).digest()


def category(path: str) -> tuple[str, bool]:
    """The category of a file of the home by its folder, and whether it is archived."""
    inner = path.removeprefix("archive/")
    for folder, name in _FOLDERS.items():
        if inner.startswith((folder + "/", folder.removeprefix("knowledge/") + "/")):
            return name, inner != path
    return "reference", inner != path


def of_entry(entry: Entry, host: str = "", *, own: bool = False) -> Chunk:
    return Chunk(
        name=entry.id,
        category="memory",
        text=entry.content,
        detail=entry.detail,
        type=entry.type,
        subject=entry.subject,
        status=entry.status or ("open" if entry.type == "question" else ""),
        kind=entry.kind or "",
        session=entry.session,
        host=host,
        at=int(entry.timestamp.timestamp()),
        pinned=entry.pinned,
        project=entry.project,
        own=own,
    )


def of_transcript(transcript: Transcript, project: str = "") -> Iterator[Chunk]:
    front = transcript.front
    _, archived = category(transcript.path)
    names = _speakers(transcript.turns)
    for turn in transcript.turns:
        quotes = "\n".join(turn.quotes)
        if not (turn.text.strip() or quotes):
            continue
        yield Chunk(
            category="conversation",
            text=turn.text,
            title=str(front.get("topic") or ""),
            detail=quotes,
            speaker=names.get(turn.number, turn.role),
            session=str(front.get("session_id") or ""),
            host=str(front.get("host") or ""),
            place=turn.number,
            line=turn.line,
            last_line=turn.last_line,
            at=int(turn.at.timestamp()),
            archived=archived,
            project=project,
        )


def _speakers(turns: Sequence[Turn]) -> dict[int, str]:
    """turn -> name, in a conversation whose turns begin with "Name: ", as group chats do."""
    found = {turn.number: match[1] for turn in turns if (match := _SPEAKER.match(turn.text))}
    often = [name for name in set(found.values()) if list(found.values()).count(name) > 1]
    kept = {number: name for number, name in found.items() if name in often}
    return kept if 2 * len(kept) > len(turns) else {}


def of_note(path: str, text: str, modified: int, whole: bool = False) -> Iterator[Chunk]:
    """The sections of a note, and the pieces of its long ones. Generated lines are left out,
    because their entries are in the log; with `whole` they are in."""
    front, body = markdown.split(text)
    above = text[: len(text) - len(body)].count("\n")
    kind, archived = category(path)
    common = Chunk(
        text="",
        category=kind,
        subject=_subject(path, kind),
        at=_date(path, front, modified),
        pinned=front.get("pinned") is True,
        archived=archived,
    )
    if not whole and _is_generated(body):
        return  # its entries are found themselves
    name = str(front.get("title") or "") or path.rsplit("/", 1)[-1].removesuffix(".md")
    place = 0
    sections = list(_sections(body.split("\n"), whole))
    for number, (headings, start, lines) in enumerate(sections):
        below = sections[number + 1][0] if number + 1 < len(sections) else []
        if headings and not any(map(str.strip, lines)) and len(below) <= len(headings):
            lines = [headings[-1], *lines[1:]]  # a heading that says it all
        title = " › ".join(headings if headings[:1] == [name] else [name, *headings])
        for first, last, piece in _pieces(lines):
            if piece.strip():
                place += 1
                said = replace(common, text=piece.strip("\n"), title=title, place=place)
                line = above + start + 1
                yield replace(said, line=line + first, last_line=line + last)


def _is_generated(body: str) -> bool:
    """Whether a note has nothing of its own but headings."""
    lines = body.split("\n")
    ours = markdown.generated(lines)
    own = (line for number, line in enumerate(lines) if number not in ours)
    return bool(ours) and not any(line.strip() and not _HEADING.match(line) for line in own)


def _subject(path: str, kind: str) -> str:
    """projects/<slug>/… and people/<slug>.md are about their subject."""
    parts = path.split("/")
    if kind == "project" and "projects" in parts[:-2]:
        return parts[parts.index("projects") + 1]
    if kind == "person":
        return parts[-1].removesuffix(".md").strip("_")
    return ""


def _date(path: str, front: dict[str, Any], modified: int) -> int:
    """When a note was written: its frontmatter, the day in its name, or the file's time."""
    from wakebook.base import clock

    for name in ("updated", "date", "created"):
        if found := clock.parse(front.get(name)):
            return int(found.timestamp())
    with suppress(ValueError):
        if day := _DAY.search(path):
            return int(datetime.fromisoformat(day[1]).replace(tzinfo=UTC).timestamp())
    return modified


def _sections(lines: Sequence[str], whole: bool = False) -> Iterator[Section]:
    """The headings above, the first line's index and the lines of each section."""
    hidden = markdown.marker_lines(lines) if whole else markdown.generated(lines)
    levels: list[tuple[int, str]] = []
    fence, start = "", 0
    for index, line in enumerate(lines):
        mark = _FENCE.match(line)
        if mark and (not fence or line.strip() == fence):
            fence = "" if fence else mark[1]
        heading = None if fence or index in hidden else _HEADING.match(line)
        if heading:
            yield [text for _, text in levels], start, _shown(lines, start, index, hidden)
            level = len(heading[1])
            levels = [item for item in levels if item[0] < level] + [(level, heading[2])]
            start = index
    yield [text for _, text in levels], start, _shown(lines, start, len(lines), hidden)


def _shown(lines: Sequence[str], start: int, stop: int, hidden: set[int]) -> list[str]:
    """Lines of a section, without the heading and with generated lines blanked."""
    shown = ["" if number in hidden else lines[number] for number in range(start, stop)]
    if shown and _HEADING.match(shown[0]):
        shown[0] = ""
    return shown


def _pieces(lines: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """First and last line and text of runs of at most 400 tokens. Each begins 80 tokens
    before the last one ended, also within a long line."""
    parts = [(number, part) for number, line in enumerate(lines) for part in _parts(line)]
    sizes = [texts.tokens(part) + 1 for _, part in parts]
    start = 0
    while start < len(parts):
        stop, size = start, 0
        while stop < len(parts) and (stop == start or size + sizes[stop] <= TOKENS):
            size += sizes[stop]
            stop += 1
        run = parts[start:stop]
        of_lines = groupby(run, key=lambda one: one[0])  # a long line stays one
        text = "\n".join("".join(part for _, part in group) for _, group in of_lines)
        yield run[0][0], run[-1][0], text
        if stop == len(parts):
            return
        back, again = stop, 0
        while back - 1 > start and again + sizes[back - 1] <= OVERLAP:
            back -= 1
            again += sizes[back]
        start = back


def _parts(line: str) -> Iterator[str]:
    """A long line in parts that are small enough to be said again."""
    if len(line) <= TOKENS and texts.tokens(line) <= OVERLAP:
        yield line
        return
    for part in _SHORT.findall(line):
        size = max(len(part) * OVERLAP // max(2 * texts.tokens(part), 1), 1)
        step = size if size < len(part) // 2 else len(part)  # letters that are a token each
        yield from (part[at : at + step] for at in range(0, len(part), step))


# Fields: which words of a chunk count how much, and what its meaning is taken from.

FIELDS_VERSION = "1"  # part of the index's fingerprint
TEXT = 1.0
TITLE = 0.5
SUBJECT = 1.5
DETAIL = 0.5
ABOUT = 1.0  # who said it and when


def uses(chunk: Chunk) -> tuple[dict[str, float], int, str]:
    """How much a chunk uses each term; its length in words; its language."""
    text = words.tokens(chunk.text)
    detail = words.tokens(chunk.detail)
    language = words.language(text or detail)
    counted: dict[str, float] = {}
    length = 0
    for found, weight in (
        (text, TEXT),
        (detail, DETAIL),
        (words.tokens(heading(chunk)), TITLE),
        (chunk.subject.split("-"), SUBJECT),
        (about(chunk), ABOUT),
    ):
        for term in words.terms(found, language):
            counted[term] = counted.get(term, 0.0) + weight
            length += weight >= TEXT
    counted.pop("", None)
    return counted, length, language


def about(chunk: Chunk) -> list[str]:
    """Who said it and when, as words that a question may use."""
    day = datetime.fromtimestamp(chunk.at, UTC) if chunk.at and chunk.is_dated else None
    when = [str(day.day), f"{day:%B}".lower(), str(day.year)] if day else []
    return words.tokens(chunk.speaker) + when


def heading(chunk: Chunk) -> str:
    """What stands above it and is about it. A conversation's title is about its beginning."""
    return chunk.title if chunk.category != "conversation" else ""


def meaning(chunk: Chunk) -> str:
    """The text that is embedded."""
    text = chunk.text.removeprefix(f"{chunk.speaker}: ") if chunk.speaker else chunk.text
    parts = (heading(chunk), chunk.subject.replace("-", " "))
    return "\n".join(part for part in (*parts, text, chunk.detail) if part)
