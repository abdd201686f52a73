"""Brief: the briefing, written between its markers; every byte outside of them stays."""

from __future__ import annotations

import sqlite3
import stat
from collections.abc import Sequence
from contextlib import closing, suppress
from datetime import datetime
from pathlib import Path

import msgspec

from wakebook.base import config as configs
from wakebook.base import markdown
from wakebook.base.config import Config
from wakebook.base.errors import WakebookError
from wakebook.base.home import Home
from wakebook.history.history import History
from wakebook.log import subjects
from wakebook.log.log import Ledger
from wakebook.models.chat import Models
from wakebook.notes import page as pages
from wakebook.notes import prose as proses
from wakebook.notes.book import key
from wakebook.notes.briefing import active, sources
from wakebook.notes.item import Line
from wakebook.notes.prose import Prose
from wakebook.notes.write import lines_json, memory_path
from wakebook.store.catalogue import Catalogue


class Brief(msgspec.Struct, frozen=True, kw_only=True):
    """What writing the briefing did."""

    path: Path
    lines: tuple[str, ...]
    changed: bool
    total: int  # lines of the whole file
    edited: bool = False  # somebody has changed the block, and it was left alone


def prose(
    home: Home, models: Models, ledger: Ledger, now: datetime, settings: configs.Briefing, ask: bool
) -> Prose:
    """What a model says: asked now, or kept from the last time. Not under the lock."""
    kept = proses.load(home)
    if not ask or not (models.has("briefing") or models.has("contradictions")):
        return kept
    busy = active(ledger.chains().current(), subjects.load(home).aliases(), now, settings)
    said = proses.write(models, kept, busy, now, settings)
    if said != kept:
        proses.save(home, said)
    return said


def write(
    home: Home,
    history: History,
    ledger: Ledger,
    now: datetime,
    config: Config,
    said: Prose,
    overwrite: bool = False,
) -> Brief:
    """Under the writer lock; what was there is committed first."""
    made = sources(ledger.chains(), subjects.load(home), now, config.briefing, said)
    lines = [line.text for line in made]
    path = memory_path(home, config)
    try:
        # bytes, not text: line ends belong to whoever wrote them
        old = path.read_bytes().decode("utf-8") if path.exists() else ""
    except UnicodeDecodeError as error:
        raise WakebookError(f"{path} is not UTF-8: {error}. Convert it first.") from error
    there = _block(path, old)
    edited = there is not None and there.edited and list(there.lines) != lines and not overwrite
    new = old if edited else _written(old, lines)
    if new != old:
        mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o600
        if not mode & 0o200:
            raise WakebookError(f"{path} is read-only: the briefing was not written.")
        history.before_touching(path)
        if path.exists() and path.read_bytes() != old.encode("utf-8"):
            raise WakebookError(f"{path} was written by somebody else meanwhile: try again.")
        home.replace(path, new, mode)
        _note(home, made)
    return Brief(
        path=path,
        lines=tuple(lines),
        changed=new != old,
        total=len(new.splitlines()),
        edited=edited,
    )


def _block(path: Path, text: str) -> markdown.Block | None:
    try:
        return markdown.block(text, markdown.BRIEFING)
    except markdown.BrokenBlock as error:
        raise markdown.BrokenBlock(
            f"{path}: {error}. Then run `wakebook notes brief` again."
        ) from error


def _note(home: Home, made: Sequence[Line]) -> None:
    """Write down what was written, for when somebody edits it."""
    with suppress(sqlite3.Error), closing(Catalogue(home)) as catalogue:
        catalogue.note_block(key(pages.MEMORY, markdown.BRIEFING), lines_json(made))


def _written(text: str, lines: Sequence[str]) -> str:
    new = markdown.put(text, markdown.BRIEFING, lines)
    return markdown.set_front(new, {"line_count": new.count("\n")})
