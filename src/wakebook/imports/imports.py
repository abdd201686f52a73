"""Imports: the handle of this room. Takes over what other chats and memories know."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from wakebook.imports.extractor import ImportExtractor
from wakebook.imports.shelf import FOLDER
from wakebook.imports.take import TALK, gather
from wakebook.learn.catch_up import Sweep

if TYPE_CHECKING:
    from wakebook.capture.state import Session
    from wakebook.imports.take import Imported
    from wakebook.learn.extract import Extractor
    from wakebook.models.chat import Planned
    from wakebook.opened import Opened
    from wakebook.store.sync import Progress


class CatchUp(Protocol):
    def __call__(
        self,
        found: Sequence[Session],
        *,
        reader: Extractor | None,
        closing: bool,
        finished: Callable[[Session], None],
    ) -> Sweep: ...


def take_over(
    opened: Opened,
    source: str,
    path: str | os.PathLike[str],
    catch_up: CatchUp,
    progress: Progress,
) -> Imported:
    """Put an export or an old memory on the shelf, and catch up on it."""
    place = Path(os.path.abspath(os.path.expanduser(path)))  # noqa: PTH100, PTH111
    opened.settle()
    gathered = gather(opened.home, source, place, progress)
    talk, reader = gathered.source in TALK, ImportExtractor(opened.home)
    found, read = opened.sessions(gathered.paths) if gathered.paths else [], 0

    def finished(session: Session) -> None:
        nonlocal read
        read += 1
        progress(session.ref if talk else "remembering", read, len(found))

    opened.models.insist = False
    done = Sweep()
    if found:
        by = None if talk else reader
        done = catch_up(found, reader=by, closing=True, finished=finished)
    return gathered.report(done, reader, opened.dry)


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
