"""Retire: what has not been touched for long moves to archive/, where it can still be found.

A journal goes by its age. Another note goes by its score, e^(-decay x days) x references: how long
ago it last changed, and how often other notes refer to it. Nothing moves that is pinned or open, or
that an active note refers to: one that changed lately, or that a person wrote. For a journal only
what people wrote counts, because every generated line links to its day. Nothing is ever deleted,
and `restore` brings it back.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime
from pathlib import Path

import msgspec

from wakebook.base import clock, markdown
from wakebook.base.config import Config
from wakebook.base.errors import NotFound, WakebookError
from wakebook.base.home import Home
from wakebook.capture import state as states
from wakebook.notes import follow as moves
from wakebook.notes import page as links
from wakebook.notes import page as pages
from wakebook.notes.book import Book
from wakebook.notes.desk import Desk
from wakebook.notes.write import ARCHIVE, KNOWLEDGE, files

KINDS = ("project", "person", "reference", "procedure", "journal")
ALWAYS = ("memory/", "identity/")  # read in every session: always active


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """A note that might retire, with what speaks for and against it."""

    path: str  # below knowledge/
    days: float  # since it last changed
    references: int  # of other notes to it
    score: float
    needed: bool  # something in it is pinned or open, or an active note refers to it


class Retired(msgspec.Struct, frozen=True):
    moved: dict[str, str]  # from -> to, relative to the home


class _File(msgspec.Struct, frozen=True, kw_only=True):
    page: str
    days: float
    held: bool
    links: frozenset[str]  # targets
    by_hand: frozenset[str]  # those outside of generated text


def retire(desk: Desk, dry: bool = False) -> Retired:
    """Move what has decayed, between two commits. Under the writer lock."""
    home = desk.home
    going = _going(scores(desk), desk.config, desk.now)
    if dry or not going:
        return Retired({f"{KNOWLEDGE}/{path}": f"{ARCHIVE}/{path}" for path in going})
    moved: dict[str, str] = {}
    old = [home.root / KNOWLEDGE / path for path in going]
    with desk.history.rewrite(
        "maintenance", f"retire {len(going)} note{'s' * (len(going) > 1)}", old
    ) as touched:
        for source, path in zip(old, going, strict=True):
            target = moves.move(home, source, home.root / ARCHIVE / path)
            touched.append(target)
            moved[home.relative(source)] = home.relative(target)
    return Retired(moved)


def _going(notes: Sequence[Note], config: Config, now: datetime) -> list[str]:
    settings = config.notes
    by_page: dict[str, list[Note]] = {}
    for note in notes:
        by_page.setdefault(pages.at(note.path), []).append(note)

    def decayed(note: Note) -> bool:
        if note.path.startswith("journal/"):
            age = (now.date() - date.fromisoformat(Path(note.path).stem)).days
            return age > settings.journal_days and note.days > settings.retire_days
        return note.score < settings.retire_score and note.days > settings.retire_days

    return [
        note.path
        for together in by_page.values()  # a project's notes stay or go together
        if all(decayed(one) and not one.needed for one in together)
        for note in together
    ]


def scores(desk: Desk) -> list[Note]:
    """The notes that could retire, with their scores."""
    config = desk.config
    files = _dated(_files(desk))
    ends = _ends(files)
    cited: dict[str, set[str]] = {}
    needed: dict[str, set[str]] = {}
    for path, file in files.items():
        active = file.days <= config.notes.retire_days or path.startswith(ALWAYS)
        for target in file.links:
            to = ends.get(target.lower().removesuffix(".md"))
            if to is None or files[to].page == file.page or path == "people/_index.md":
                continue
            cited.setdefault(files[to].page, set()).add(path)
            journal = to.startswith("journal/")
            if target in file.by_hand or (active and not journal and file.page[:8] != "journal/"):
                needed.setdefault(files[to].page, set()).add(path)
    return [
        Note(
            path=path,
            days=file.days,
            references=len(cited.get(file.page, ())),
            score=_score(config, file.days, len(cited.get(file.page, ()))),
            needed=file.held or file.page in needed,
        )
        for path, file in files.items()
        if file.page.partition("/")[0] in KINDS and "/" in file.page
    ]


def _score(config: Config, days: float, references: int) -> float:
    """Its being there counts as one reference: recency alone decides about what nobody cites."""
    return math.exp(-config.notes.decay_per_day * max(days, 0.0)) * (1 + references)


def _files(desk: Desk) -> dict[str, _File]:
    """Every active note, by its path below knowledge/. What is not Wakebook's has no page."""
    folder = desk.home.root / KNOWLEDGE
    found: dict[str, _File] = {}
    restored = states.load(desk.home).restored  # somebody wanted it back: it counts from then on
    with desk.book() as book:
        for path in files(desk.home, KNOWLEDGE):
            try:
                text = path.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError):
                continue
            name = path.relative_to(folder).as_posix()
            found[name] = _file(name, text, book, desk.now, restored.get(name))
    return found


def _file(path: str, text: str, book: Book, now: datetime, restored: datetime | None) -> _File:
    page = pages.at(path) if markdown.names(text) else ""
    try:
        blocks = book.blocks(page) if page else []
    except ValueError:
        blocks, page = [], ""  # journal/anything.md
    items = [item for block in blocks if block.path == path for item in block.items]
    lines = text.splitlines()
    ours = markdown.generated(lines)
    spoken = links.found_in(text)
    dates = [clock.parse(markdown.split(text)[0].get("updated")), restored]
    last = max([*(item.at for item in items), *(one for one in dates if one)], default=None)
    return _File(
        page=page or f"own/{path}",
        days=(now - last).total_seconds() / 86400 if last else math.nan,
        held=any(item.held for item in items),
        links=frozenset(target for _, target in spoken),
        by_hand=frozenset(target for number, target in spoken if number - 1 not in ours),
    )


def _dated(files: dict[str, _File]) -> dict[str, _File]:
    """A note that says nothing is as old as the others of its page; alone, it is new."""
    newest: dict[str, float] = {}
    for file in files.values():
        if not math.isnan(file.days):
            newest[file.page] = min(file.days, newest.get(file.page, math.inf))
    return {
        path: msgspec.structs.replace(file, days=newest.get(file.page, 0.0))
        if math.isnan(file.days)
        else file
        for path, file in files.items()
    }


def _ends(files: Iterable[str]) -> dict[str, str]:
    """Every end of a note's path -> the note."""
    ends: dict[str, str] = {}
    for path in files:
        parts = path.removesuffix(".md").lower().split("/")
        for first in range(len(parts)):
            ends.setdefault("/".join(parts[first:]), path)
    return ends


def restore(desk: Desk, name: str) -> tuple[str, str]:
    """Bring a note back, between two commits. From where to where. Under the writer lock."""
    home = desk.home
    relative = name.removeprefix(f"{home.root}/").removeprefix(f"{ARCHIVE}/")
    relative = relative.removeprefix(f"{KNOWLEDGE}/")
    archive = (home.root / ARCHIVE).resolve()
    old = (archive / relative).resolve()
    if not old.is_relative_to(archive):
        raise WakebookError(f"{name} is not in the archive of this home.")
    relative = old.relative_to(archive).as_posix()
    old = home.root / ARCHIVE / relative
    if old.resolve() == archive:
        raise WakebookError("Name a note or a folder of the archive: not all of it.")
    files = sorted(old.rglob("*.md")) if old.is_dir() else [old]
    if not files or not files[0].is_file():
        raise NotFound(
            f"{ARCHIVE}/{relative} does not exist. `ls {home.root / ARCHIVE}` shows all."
        )
    new = home.root / KNOWLEDGE / relative.removeprefix("merged/")
    for path in files:
        target = new / path.relative_to(old) if old.is_dir() else new
        if target.exists():
            raise WakebookError(
                f"{home.relative(target)} exists already. Move it away first, or put the two "
                f"together by hand: the old one is {home.relative(path)}."
            )
    names = [path.relative_to(home.root / ARCHIVE).as_posix() for path in files]
    wanted_back(home, [one.removeprefix(f"{moves.MERGED}/") for one in names], desk.now)
    is_folder = old.is_dir()
    with desk.history.rewrite("maintenance", f"restore {home.relative(new)}", files) as touched:
        for path in files:
            target = new / path.relative_to(old) if is_folder else new
            touched.append(moves.move(home, path, target))
    return home.relative(old), home.relative(new)


def wanted_back(home: Home, paths: Sequence[str], now: datetime) -> None:
    """Put down that somebody wanted these notes back: their age counts from now on."""
    if paths:
        state = states.load(home)
        restored = state.restored | dict.fromkeys(paths, now.astimezone(UTC))
        states.save(home, msgspec.structs.replace(state, restored=restored))
