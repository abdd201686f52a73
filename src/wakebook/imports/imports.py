"""Imports: the handle of this room. Takes over what other chats and memories know."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from wakebook.imports.extractor import ImportExtractor
from wakebook.imports.shelf import FOLDER
from wakebook.imports.take import TALK, Gathered, gather
from wakebook.learn.catch_up import Sweep

if TYPE_CHECKING:
    from wakebook.capture.state import Session
    from wakebook.imports.take import Imported
    from wakebook.learn.extract import Extractor
    from wakebook.models.chat import Planned
    from wakebook.opened import Opened
    from wakebook.store.sync import Progress

# Catches up on some sessions: their reader, and who hears when one is done.
CatchUp = Callable[["list[Session]", "Extractor | None", Callable[["Session"], None]], Sweep]


def take_over(
    opened: Opened, source: str, path: Path, catch_up: CatchUp, progress: Progress
) -> Imported:
    """Put an export or an old memory on the shelf, and catch up on it."""
    opened.settle()
    gathered = gather(opened.home, source, path, progress)
    reader = ImportExtractor(opened.home)
    done = _read(opened, gathered, reader, catch_up, progress)
    return gathered.report(done, reader, opened.dry)


def _read(
    opened: Opened,
    gathered: Gathered,
    reader: ImportExtractor,
    catch_up: CatchUp,
    progress: Progress,
) -> Sweep:
    if not gathered.paths:
        return Sweep()
    found, done = opened.sessions(gathered.paths), 0
    talk = gathered.source in TALK

    def finished(session: Session) -> None:
        nonlocal done
        done += 1
        progress(session.ref if talk else "remembering", done, len(found))

    return catch_up(found, None if talk else reader, finished)


def priced(done: Imported, planned: Sequence[Planned]) -> Imported:
    """With what a model would have been asked."""
    costs = [one.cost for one in planned]
    known = None if None in costs else sum(cost for cost in costs if cost)
    return msgspec.structs.replace(done, questions=len(planned), cost=known)


def lend_shelf(home: Path, copy: Path) -> None:
    """What was imported before, for a rehearsal. Its files are replaced, never written into."""
    if (home / FOLDER).is_dir():
        shutil.copytree(home / FOLDER, copy / FOLDER, copy_function=_linked)


def _linked(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
