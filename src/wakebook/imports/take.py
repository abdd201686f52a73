"""Importing: chats and memories from elsewhere go through the one flow.

What was brought is put on the shelf (<home>/imports) as plain sessions, and those are caught up
on: archived, read, closed, as any host's. So an import can be killed and run again, and the same
one twice adds nothing.
"""

from __future__ import annotations

import zipfile
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from wakebook.base.errors import TranscriptError
from wakebook.base.home import Home
from wakebook.imports import chatgpt, claude, markdown, mem0
from wakebook.imports import export as parcel
from wakebook.imports import markdown as openclaw_memory
from wakebook.imports.export import Bad, Conversation, Export, Passed
from wakebook.imports.extractor import ImportExtractor
from wakebook.imports.mem0 import SQLITE
from wakebook.imports.shelf import FOLDER, Placed, Shelf
from wakebook.learn.catch_up import Sweep

Progress = Callable[[str, int, int], None]
SOURCES: dict[str, Callable[[Path], Export]] = {
    one.NAME: one.read for one in (chatgpt, claude, markdown, mem0, openclaw_memory)
}
TALK = (chatgpt.NAME, claude.NAME)


class Imported(msgspec.Struct, frozen=True, kw_only=True):
    """What an import found, and what became of it."""

    source: str
    path: str
    talk: bool  # conversations; otherwise the items of memories
    found: int = 0  # conversations, or files with something in them
    new: int = 0  # of them, those with something new
    messages: int = 0  # messages or items in them
    fresh: int = 0  # that were not imported before
    entries: int = 0  # remembered now
    known: int = 0  # items that the log said already
    refused: int = 0  # items that gave orders to whoever reads them, or were forgotten
    gone: int = 0  # items that were imported before, and are not there any more: they stay
    elsewhere: int = 0  # messages that another conversation holds, which this one branched off
    redacted: int = 0  # secrets
    cut: int = 0  # messages that were too long
    skipped: dict[str, int] = {}  # why messages, items or files were left out -> how many
    passed: dict[str, str] = {}  # files that were left out, and why
    bad: dict[str, str] = {}  # what could not be read, and why
    failed: dict[str, str] = {}  # sessions that could not be archived or read, and why
    first: datetime | None = None
    last: datetime | None = None
    dry: bool = False
    questions: int = 0  # that a model would be asked, of a dry run
    cost: float | None = 0.0  # dollars; None: not known

    @property
    def ok(self) -> bool:
        return not self.bad and not self.failed


class Gathered:
    """The first half: everything is on the shelf."""

    def __init__(self, source: str, path: Path) -> None:
        self.source = source
        self.path = path
        self.paths: list[Path] = []
        self._taken: set[Path] = set()
        self._counts: Counter[str] = Counter()
        self._skipped: Counter[str] = Counter()
        self._passed: dict[str, str] = {}
        self._bad: dict[str, str] = {}
        self._times: list[datetime] = []

    def bad(self, name: str, why: str) -> None:
        while name in self._bad:
            name += "'"
        self._bad[name] = why

    def passed(self, name: str, why: str) -> None:
        self._passed[name] = why

    def empty(self, conversation: Conversation) -> None:
        self._skipped.update(conversation.skipped)
        self._skipped["without words"] += 1

    def took(self, conversation: Conversation, placed: Placed) -> None:
        if placed.path in self._taken and not placed.fresh:
            return  # the same one, in another file of the export
        self._skipped.update(conversation.skipped)
        self._counts.update(
            found=1,
            new=bool(placed.fresh),
            messages=len(conversation.lines),
            fresh=placed.fresh,
            elsewhere=placed.elsewhere,
            gone=placed.gone,
            redacted=placed.redacted,
            cut=placed.cut,
        )
        times = [line.at for line in conversation.lines if line.at]
        self._times = [min(times + self._times), max(times + self._times)] if times else self._times
        if (placed.fresh or placed.held) and placed.path not in self._taken:
            self.paths.append(placed.path)
            self._taken.add(placed.path)

    def report(self, done: Sweep, reader: ImportExtractor, dry: bool) -> Imported:
        talk = self.source in TALK
        counts: dict[str, Any] = dict(self._counts)
        if talk:
            counts["gone"] = 0  # what a person edited away was said all the same
        return Imported(
            source=self.source,
            path=str(self.path),
            talk=talk,
            entries=done.entries,
            known=len(reader.known),
            refused=0 if talk else max(len(reader.drafted) - done.entries, 0),
            skipped={reason: count for reason, count in self._skipped.items() if count},
            passed=self._passed,
            bad=self._bad,
            failed={**done.failed, **done.held, **dict.fromkeys(done.given_up, GIVEN_UP)},
            first=self._times[0] if self._times else None,
            last=self._times[-1] if self._times else None,
            dry=dry,
            **counts,
        )

    def require_something(self) -> None:
        """Raises TranscriptError if there was nothing of this kind, with what would fit."""
        if self._counts["found"] or self._skipped["without words"] or self._passed:
            return
        fits = guess(self.path)
        if fits and fits != self.source:
            raise TranscriptError(
                f"{self.path}: nothing of {self.source} is in it, but it looks like {fits}. Run "
                f"`wakebook import {fits} {self.path}`."
            )
        name, why = next(iter(self._bad.items()), ("", ""))
        if why:
            more = f" {len(self._bad) - 1} more like that." if len(self._bad) > 1 else ""
            raise TranscriptError(f"{name}: {why.rstrip('.')}.{more}")
        raise TranscriptError(f"{self.path}: nothing to import. {WANTED[self.source]}")


GIVEN_UP = "failed before: `wakebook catch-up --retry-failed`"
WANTED = {
    chatgpt.NAME: "Name the zip of ChatGPT's data export, its folder, or conversations.json.",
    claude.NAME: "Name the zip of claude.ai's data export, its folder, or conversations.json.",
    markdown.NAME: "Name a note that ends in .md, or a folder with such notes.",
    mem0.NAME: "Name a .json or .jsonl export of mem0, or its history.db.",
    openclaw_memory.NAME: "Name OpenClaw's workspace (with MEMORY.md) or its memory folder.",
}


def gather(home: Home, source: str, path: Path, progress: Progress) -> Gathered:
    """Put everything that lies at a path on the shelf. Raises TranscriptError."""
    if source not in SOURCES:
        known = ", ".join(SOURCES)
        raise TranscriptError(f"There is no import from {source!r}. There are {known}.")
    _not_ours(home, path)
    export = SOURCES[source](path)
    gathered = Gathered(source, path)
    shelf = Shelf(home, source)
    for number, part in enumerate(export.parts, 1):
        if isinstance(part, Bad):
            gathered.bad(part.name, part.why)
        elif isinstance(part, Passed):
            gathered.passed(part.name, part.why)
        elif not part.lines:
            gathered.empty(part)
        else:
            gathered.took(part, shelf.put(part))
        progress(f"reading {source}", number, max(export.count, number + 1))
    gathered.require_something()
    return gathered


def _not_ours(home: Home, path: Path) -> None:
    whole, root = path.resolve(), home.root.resolve()
    if whole == root or whole.is_relative_to(root):
        raise TranscriptError(
            f"{path}: lies in this home, and is known already. Import what comes from elsewhere."
        )


__all__ = ["FOLDER", "SOURCES", "TALK", "Gathered", "Imported", "gather"]


# -----------------------------------------------------------------------------
# Guess: which import fits what lies at a path, for whoever named another one.

HEAD = 1 << 18  # bytes of a file that are looked at
SIGNS = {b'"chat_messages"': "claude", b'"mapping"': "chatgpt", b'"memory"': "mem0"}


def guess(path: Path) -> str:
    """The name of a source, or nothing."""
    if path.is_dir():
        return _folder(path)
    if path.suffix.lower() in markdown.SUFFIXES:
        return "markdown"
    head = _head(path)
    if head.startswith(SQLITE):
        return "mem0"
    places = {head.find(sign): name for sign, name in SIGNS.items() if sign in head}
    return places[min(places)] if places else ""


def _folder(path: Path) -> str:
    for member in parcel.members(path):
        if found := guess(member.path):
            return found
    if openclaw_memory.is_workspace(path):
        return "openclaw-memory"
    return "markdown" if markdown.files(path) else ""


def _head(path: Path) -> bytes:
    try:
        if path.suffix.lower() != ".zip":
            with path.open("rb") as stream:
                return stream.read(HEAD)
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if name.endswith(".json")]
            wanted = [name for name in names if "conversations" in name] or names
            return archive.open(wanted[0]).read(HEAD) if wanted else b""
    except (OSError, zipfile.BadZipFile, RuntimeError, NotImplementedError):
        return b""
