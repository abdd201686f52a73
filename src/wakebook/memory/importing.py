"""The verb that takes over what other chats and memories know."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from wakebook.memory.learning import Learning

if TYPE_CHECKING:
    from wakebook.capture.state import Session
    from wakebook.imports.extractor import ImportExtractor
    from wakebook.imports.take import Gathered, Imported
    from wakebook.learn.catch_up import Sweep
    from wakebook.learn.reading import Report
    from wakebook.models.chat import Planned
    from wakebook.store.sync import Progress


def _quiet(what: str, done: int, total: int) -> None:
    pass


class Importing(Learning):
    def import_(
        self,
        source: str,
        path: str | os.PathLike[str],
        *,
        dry: bool = False,
        progress: Progress = _quiet,
    ) -> Imported:
        """Take over an export or an old memory: chatgpt, claude, markdown, mem0, openclaw-memory.

        The same one twice adds nothing. With `dry` it happens to a copy of this home, which is
        thrown away, and no model is asked.
        """
        self.home.require()
        place = Path(os.path.abspath(os.path.expanduser(path)))  # noqa: PTH100, PTH111
        if not dry:
            return self._import(source, place, progress)
        with self.rehearsal() as copy:
            _lend_shelf(self.home.root, copy.home.root)
            done = copy._import(source, place, progress, dry=True)
            return _priced(done, copy.models.planned)

    def _import(self, source: str, path: Path, progress: Progress, dry: bool = False) -> Imported:
        from wakebook.imports.extractor import ImportExtractor
        from wakebook.imports.take import gather

        with self._writing():
            pass  # what a crash left half done is finished first
        gathered = gather(self.home, source, path, progress)
        reader = ImportExtractor(self.home)
        done = self._taken(gathered, reader, progress)
        return gathered.report(done, reader, dry)

    def _taken(self, gathered: Gathered, reader: ImportExtractor, progress: Progress) -> Sweep:
        """Catch up on what is on the shelf, in the order in which it was said."""
        from wakebook.imports.take import TALK
        from wakebook.learn.catch_up import Sweep, sweep
        from wakebook.learn.reading import Work

        if not gathered.paths:
            return Sweep()
        if gathered.source in TALK:
            return self.catch_up(gathered.paths, closing=True, progress=progress)
        found, history, done = self.sessions(gathered.paths), self.history(), 0

        def told(session: Session, report: Report) -> None:
            for path in report.closed:
                history.conversation(path)

        def finished(session: Session) -> None:
            nonlocal done
            done += 1
            progress("remembering", done, len(found))

        work = Work(self.home, self.config, self._ledger, reader, verbatim=reader)
        swept = sweep(work, found, closing=True, told=told, finished=finished)
        self._afterwards(bool(swept.entries))
        return swept


def _priced(done: Imported, planned: Sequence[Planned]) -> Imported:
    """With what a model would have been asked."""
    import msgspec

    costs = [one.cost for one in planned]
    known = None if None in costs else sum(cost for cost in costs if cost)
    return msgspec.structs.replace(done, questions=len(planned), cost=known)


def _lend_shelf(home: Path, copy: Path) -> None:
    """What was imported before, for a rehearsal. Its files are replaced, never written into."""
    from wakebook.imports.shelf import FOLDER

    if (home / FOLDER).is_dir():
        import shutil

        shutil.copytree(home / FOLDER, copy / FOLDER, copy_function=_linked)


def _linked(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        import shutil

        shutil.copy2(source, target)
