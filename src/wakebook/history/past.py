"""The past: when something was learned, what has changed since, and how everything was then.

Git answers, and nothing is checked out for it: files of an earlier commit are written into a
folder below .cache and read from there. The log knows by itself when something was said.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, time, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from wakebook.base.errors import GitError, InvalidEntry, NotFound
from wakebook.base.home import Home
from wakebook.history import revisions
from wakebook.history.repository import Repository
from wakebook.history.revisions import Change, Commit
from wakebook.log.entry import Entry, decode

if TYPE_CHECKING:
    from wakebook.history.history import History

NOTES = ("knowledge", "topics", "archive")
READ = ("log.jsonl", "subjects.json", "config.toml", "prices.toml", "prompts", *NOTES)
TAGS = ("", "memory/", "memory/milestone/", "memory/before/", "memory/weekly/")
_AGE = re.compile(r"(\d+)([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


class Learned(msgspec.Struct, frozen=True, kw_only=True):
    """When a text came into the memory: said, and committed."""

    text: str
    entries: tuple[Entry, ...]  # that hold it, oldest first
    commits: tuple[Commit, ...]  # that brought it or took it away, oldest first
    note: str = ""


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """What has changed between two moments."""

    since: str
    until: str
    files: tuple[Change, ...]
    patch: str = ""
    added: tuple[Entry, ...] = ()  # entries of the log
    gone: tuple[Entry, ...] = ()


class Moment(msgspec.Struct, frozen=True):
    """A commit, and how it was asked for."""

    commit: Commit | None  # None: before the first one
    at: datetime
    name: str


def moment(text: str, now: datetime, end: bool = False) -> datetime | None:
    """A day, a moment or an age, in the time zone of `now`. None if it is none of them.

    A day stands for its beginning, or with `end` for its last second.
    """
    said = text.strip().lower()
    if said == "now":
        return now
    if said in ("today", "yesterday"):
        said = f"{now - timedelta(days=said == 'yesterday'):%Y-%m-%d}"
    if aged := _AGE.fullmatch(said):
        try:
            return now - timedelta(**{_UNITS[aged[2]]: int(aged[1])})
        except OverflowError:
            return None
    try:
        if _DAY.fullmatch(said):
            day = datetime.fromisoformat(said).date()
            clocked = time(23, 59, 59) if end else time()
            return datetime.combine(day, clocked, tzinfo=now.tzinfo)
        if "w" in said:  # a week's name is a tag's, and not its Monday
            return None
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=now.tzinfo)


def find(repository: Repository, text: str, now: datetime, end: bool = False) -> Moment:
    """The commit of a moment (the last one before it), a tag, or a commit's own name."""
    at = moment(text, now, end)
    if at is not None:
        before = revisions.commit_before(repository, at)
        return Moment(before, at, f"{at:%Y-%m-%d %H:%M}")
    for ref in (*(f"refs/tags/{prefix}{text}" for prefix in TAGS), text):
        if identity := repository.resolve(ref):
            commit = revisions.describe(repository, identity)
            name = commit.short if ref == text else ref.removeprefix("refs/tags/")
            return Moment(commit, commit.at.astimezone(now.tzinfo), name)
    raise NotFound(
        f"{text!r} is no date and no tag. Write 2026-02-20, 2026-02-20T14:00, 7d, or a name that "
        f"`git -C {repository.root} tag` lists."
    )


def when(history: History, entries: Iterable[Entry], text: str) -> Learned:
    """When a text was said, by the log, and when it came into the files, by git."""
    wanted = _words(text)
    if not wanted:
        raise NotFound("An empty text is everywhere. Give the words that you look for.")
    said = [one for one in entries if wanted in _words(f"{one.content} {one.detail or ''}")]
    note, commits = "", list[Commit]()
    if history.repository is None:
        note = f"From the log alone: {history.note()}."
    else:
        coded = json.dumps(text.strip(), ensure_ascii=False)[1:-1]  # as it stands in the log
        commits = revisions.search(history.repository, text.strip(), NOTES)
        commits += revisions.search(history.repository, coded, ("log.jsonl",))
    return Learned(
        text=text,
        entries=tuple(sorted(said, key=lambda entry: entry.timestamp)),
        commits=tuple(_joined(commits)),
        note=note,
    )


def _words(text: str) -> str:
    return " ".join(text.lower().split())


def _joined(commits: Sequence[Commit]) -> list[Commit]:
    """Each commit once, oldest first, with all its lines."""
    found: dict[str, Commit] = {}
    for commit in commits:
        if known := found.get(commit.id):
            added, removed = known.added + commit.added, known.removed + commit.removed
            commit = msgspec.structs.replace(commit, added=added, removed=removed)
        found[commit.id] = commit
    return sorted(found.values(), key=lambda commit: commit.at)


def difference(
    history: History,
    since: str,
    until: str,
    now: datetime,
    entries: Callable[[], Iterable[Entry]],
    *,
    stat: bool = False,
) -> Difference:
    """What has changed in the knowledge and in the log. `entries`: those of now."""
    repository = history.required()
    if not repository.head():
        raise GitError(f"There is no commit in {repository.top} yet, and nothing to compare.")
    first = find(repository, since, now)
    last = find(repository, until, now, end=True) if until else None
    if last is not None and last.commit is None:
        raise NotFound(f"There was no commit yet at {last.name}: nothing had changed by then.")
    old = first.commit.id if first.commit else revisions.empty_tree(repository)
    new = last.commit.id if last and last.commit else ""
    before = _entries(repository, old)
    after = _entries(repository, new) if new else list(entries())
    known, left = {entry.id for entry in before}, {entry.id for entry in after}
    return Difference(
        since=first.name + ("" if first.commit else " (before the first commit)"),
        until=last.name if last else "now",
        files=tuple(revisions.changes(repository, old, new, ("knowledge",))),
        patch="" if stat else revisions.patch(repository, old, new, ("knowledge",)),
        added=tuple(entry for entry in after if entry.id not in known),
        gone=tuple(entry for entry in before if entry.id not in left),
    )


def _entries(repository: Repository, commit: str) -> list[Entry]:
    """The log as it was."""
    found: list[Entry] = []
    for line in (repository.show(commit, "log.jsonl") or b"").split(b"\n"):
        try:
            found += [decode(line)] if line.strip() else []
        except InvalidEntry:
            continue  # `status` tells of it
    return found


@contextmanager
def extracted(
    home: Home, repository: Repository, commit: Commit
) -> Iterator[tuple[Home, Callable[[Sequence[str]], None]]]:
    """The home as it was, in a folder that is thrown away: log, notes and settings.

    Conversations are many; the function that comes with it brings those that are wanted.
    """
    with home.scratch("at-") as then:

        def bring(paths: Sequence[str]) -> None:
            revisions.extract(repository, commit.id, paths, then.root)

        bring(READ)
        if not then.log.exists():
            raise NotFound(f"The home {home.root} was not in git yet at {commit.short}.")
        then.config.touch()
        yield then, bring


def needed(ref: str, entry_of: Callable[[str], Entry]) -> Sequence[str]:
    """The conversations that are needed to show a reference."""
    from wakebook.base import ref as refs

    wanted = refs.parse(ref)
    if wanted.kind == "session":
        return ("raw",)
    if wanted.kind == "path":
        inside = Path(wanted.name).as_posix()
        return () if inside.startswith(("/", "../")) else (inside,)
    transcript = entry_of(wanted.name).transcript
    return (transcript,) if transcript else ()
