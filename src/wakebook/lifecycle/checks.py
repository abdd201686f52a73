"""Checks: what may not go into the history as it is.

The same rules hold for the pre-commit hook, which looks at what is staged, and for Wakebook's
own commits, which look at the files. A transcript is never changed once it is closed; a
MEMORY.md that is too long, or frontmatter that nobody can read, is better mended now than found
in a year. Everything else about a note is its author's business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import PurePosixPath

import msgspec

from wakebook import markdown
from wakebook.config import Notes
from wakebook.recall.topics import files
from wakebook.recall.topics.topic import BadTopic

FOLDERS = ("raw/conversations", "knowledge", "topics", "archive")
MEMORY = "knowledge/memory/MEMORY.md"
REWRITE = "WAKEBOOK_REWRITE"  # for whoever has to take something out of a closed transcript
ENCRYPTED = b"\0GITCRYPT"


class Change(msgspec.Struct, frozen=True):
    """A file that is about to be committed. `before` is what the last commit holds."""

    path: str  # relative to the home
    now: Callable[[], bytes | None]
    before: Callable[[], bytes | None]


class Problem(msgspec.Struct, frozen=True):
    path: str
    text: str
    line: int = 0
    refused: bool = True  # otherwise a warning

    def __str__(self) -> str:
        return f"{self.path}{f':{self.line}' if self.line else ''}: {self.text}"


def check(changes: Iterable[Change], notes: Notes, rewrite: bool = False) -> list[Problem]:
    """What is wrong with some changes. `rewrite`: closed transcripts may change, this once."""
    return [
        problem
        for change in changes
        if change.path.endswith(".md") and change.path.startswith(tuple(f"{f}/" for f in FOLDERS))
        for problem in _problems(change, notes, rewrite)
    ]


def _problems(change: Change, notes: Notes, rewrite: bool) -> Iterator[Problem]:
    data = change.now()
    conversation = change.path.startswith("raw/conversations/")
    if conversation and not rewrite and _is_closed(before := change.before()) and data != before:
        done = "changed" if data is not None else "removed or renamed"
        yield Problem(
            change.path,
            f"this conversation is closed and may not be {done}. "
            f"`git checkout HEAD -- {change.path}` brings it back; {REWRITE}=1 git commit … "
            "commits it all the same.",
        )
    elif data is not None and not data.startswith(ENCRYPTED):
        text = data.decode("utf-8", "replace")
        yield from _frontmatter(change.path, text, needed=conversation)
        if change.path == MEMORY:
            yield from _length(text, notes)
        if change.path.startswith("topics/"):
            yield from _topic(change.path, text)


def _topic(path: str, text: str) -> Iterator[Problem]:
    """A topic that cannot be used yet is no reason to lose what was written."""
    if PurePosixPath(path).name.startswith(("_", ".")) or markdown.read_front(text).problem:
        return  # it is none, or that was said already
    found = files.parse(path, text)
    if isinstance(found, BadTopic):
        yield Problem(path, f"{found.problem} The topic is left out until then.", found.line, False)


def _is_closed(data: bytes | None) -> bool:
    if data is None:
        return False
    front, _ = markdown.split(data.decode("utf-8", "replace"))
    return front.get("closed") is True


def _frontmatter(path: str, text: str, needed: bool) -> Iterator[Problem]:
    front = markdown.read_front(text)
    if front.problem:
        yield Problem(path, f"{front.problem}.", front.line)
    elif front.values is None and needed:
        yield Problem(path, "a conversation begins with frontmatter, and this has none.", 1)


def _length(text: str, notes: Notes) -> Iterator[Problem]:
    lines = len(text.splitlines())
    if lines > notes.memory_refuse:
        yield Problem(
            MEMORY,
            f"{lines} lines, and {notes.memory_refuse} are the most that is committed. Shorten "
            "your own part of it, or run `wakebook tick prune`.",
        )
    elif lines > notes.memory_warn:
        yield Problem(
            MEMORY, f"{lines} lines (cap: {notes.memory_cap}). Shorten it soon.", refused=False
        )
