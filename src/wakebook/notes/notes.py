"""Notes: the handle of this room. Pages, the briefing, what people changed in them, the vault.

The files of this room take it as their first argument: it has the home, the settings, git, and the
paths of the notes.
"""

from __future__ import annotations

import stat
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wakebook.base.errors import WakebookError
from wakebook.base.text import line_end
from wakebook.opened import Opened, quiet

if TYPE_CHECKING:
    from wakebook.base.config import Config
    from wakebook.history.history import History
    from wakebook.history.timeline import Timeline
    from wakebook.log.entry import Entry
    from wakebook.notes import book as books
    from wakebook.notes import briefing as briefings
    from wakebook.notes import (
        check,
        condense,
        condensed,
        contradictions,
        moves,
        page,
        review,
        vault,
        write,
    )
    from wakebook.notes import prose as proses
    from wakebook.notes import why as whys
    from wakebook.store.sync import Progress
else:

    class Later:
        """A file of this room, imported when it is first used: a host waits for some verbs."""

        def __init__(self, name: str) -> None:
            self._name = f"wakebook.notes.{name}"

        def __getattr__(self, name: str) -> Any:
            return getattr(import_module(self._name), name)

    books, briefings, proses, whys = map(Later, ("book", "briefing", "prose", "why"))
    check, condense, condensed, moves = map(Later, ("check", "condense", "condensed", "moves"))
    page, review, vault, write = map(Later, ("page", "review", "vault", "write"))
    contradictions = Later("contradictions")


class Notes:
    def __init__(self, opened: Opened, history: Timeline) -> None:
        self.opened, self.home, self._history = opened, opened.home, history

    @property
    def config(self) -> Config:
        return self.opened.config

    def git(self) -> History:
        return self._history.git()

    # --- where they are ----------------------------------------------------------------------

    @property
    def memory(self) -> Path:
        """MEMORY.md, wherever it lives."""
        return self.opened.memory_file().resolve()

    def below(self, path: Path) -> str:
        """A note's path below knowledge/ or archive/."""
        if path.resolve() == self.memory:
            return page.MEMORY
        for top in (page.KNOWLEDGE, page.ARCHIVE):
            if path.is_relative_to(self.home.root / top):
                return path.relative_to(self.home.root / top).as_posix()
        return str(path)

    def file(self, key: str) -> Path:
        """The file of a block (path#name): active, or retired."""
        path = key.partition("#")[0]
        if path == page.MEMORY:
            return self.memory
        active, retired = (self.home.root / top / path for top in (page.KNOWLEDGE, page.ARCHIVE))
        return retired if retired.exists() and not active.exists() else active

    @contextmanager
    def book(self, now: datetime) -> Iterator[books.Book]:
        """The notes as they would be written now."""
        import sqlite3

        from wakebook.store.catalogue import Catalogue, destroy

        try:
            with self.home.locked(), closing(Catalogue(self.home)) as catalogue:
                catalogue.sync()
                registry, blocks = self.opened.registry(), condensed.load(self.home)
                yield books.Book(catalogue, registry, blocks, self.config, now)
        except sqlite3.DatabaseError as error:
            destroy(self.home)
            raise WakebookError(
                f"The cache of the notes was damaged ({error}) and is made anew: try again."
            ) from error

    def update(
        self,
        *,
        full: bool = False,
        changed: Collection[str] = (),
        overwrite: Sequence[str] = (),
        progress: Progress = quiet,
    ) -> write.Updated:
        """Write the notes whose entries have changed; with `full`, all of them, from nothing.
        `changed`: files of the home, some of them notes, that another machine has changed.
        `overwrite`: blocks (path#name) that are written although a person has changed them."""
        with self.opened.writing():
            return write.update(
                self.home,
                self.config,
                self.opened.now(),
                full=full,
                changed=changed,
                before=lambda paths: self.git().before_touching(paths),
                overwrite=overwrite,
                progress=progress,
            )

    def refresh(self) -> None:
        """The same after something else was done, which stands even if this fails."""
        self.opened.quietly("notes", self.update)

    def backup(self, paths: Sequence[Path]) -> None:
        """What people wrote is in git before anything near it changes. Raises GitError."""
        ours = [one for one in paths if one.is_relative_to(self.home.root) and one.exists()]
        self.git().backup("notes as they were", ours)

    # --- what people have changed ------------------------------------------------------------

    def proposals(self) -> list[review.Proposal]:
        """What people have changed in generated blocks."""
        return review.proposals(self)

    def accept(self, *names: str) -> review.Accepted:
        """Take over what people have changed: by number or path, or everything."""
        with self.opened.writing():
            found = self._set_aside(names)
            done = review.accept(self, found)
            self._overwrite(found)
        self.opened.quietly("brief", lambda: self.brief(ask=False))
        return done

    def reject(self, *names: str) -> list[review.Proposal]:
        """Write generated blocks anew. What people had changed stays in git."""
        with self.opened.writing():
            found = self._set_aside(names)
            self._overwrite(found)
        return found

    def _set_aside(self, names: Sequence[str]) -> list[review.Proposal]:
        """These proposals, safe before anything else happens. Raises GitError."""
        found = review.chosen(self.proposals(), names)
        review.set_aside(self.home, self.git(), found)
        return found

    def _overwrite(self, found: Sequence[review.Proposal]) -> None:
        """Write these blocks as the log has them."""
        self.update(overwrite=[one.key for one in found])
        if any(one.block == "briefing" for one in found):
            self.brief(ask=False, overwrite=True)

    def edit(self, name: str, text: str, seen: str) -> Path:
        """Write a note as a person has edited it, if it is still the one that they saw (`seen`: its
        `page.file_sum`). What it was is committed first. Raises WakebookError."""
        with self.opened.writing():
            path = whys.file_of(self, name)
            old, mode = path.read_bytes(), stat.S_IMODE(path.stat().st_mode)
            if page.file_sum(old) != seen:
                raise WakebookError(f"{name} was changed since you saw it. Nothing was written.")
            if not mode & 0o200:
                raise WakebookError(f"{name} is read-only: nothing was written.")
            self.backup([path])
            lines = text.replace("\r\n", "\n")
            if line_end(old.decode("utf-8", "replace")) == "\r\n":
                lines = lines.replace("\n", "\r\n")
            self.home.replace(path, lines, mode)
        return path

    def why(self, place: str) -> whys.Why:
        """Where a line of a note comes from: FILE:LINE."""
        return whys.why(self, place)

    def missing_links(self) -> list[page.DeadLink]:
        """Links of notes that lead nowhere."""
        self.home.require()
        return check.dead_links(self.home)

    def knowledge(self) -> check.Knowledge:
        """How the notes stand, for `status` and `doctor`."""
        self.home.require()
        return check.knowledge(self)

    def brief(self, *, ask: bool = True, overwrite: bool = False) -> briefings.Brief:
        """Write the briefing between its markers in MEMORY.md. With `ask`, a model puts what is
        active into words and looks for contradictions; without, what it said the last time is used
        where it still holds. A block that a person has edited is left alone, unless `overwrite`."""
        self.home.require()
        now = self.opened.now()
        said = briefings.asked(self, now) if ask else proses.load(self.home)
        with self.opened.writing():
            done = briefings.write(self, now, said, overwrite)
        if done.total > self.config.notes.memory_cap:
            self.refresh()  # what the weeks have left makes room
        return done

    def conflicts(self) -> list[tuple[Entry, Entry]]:
        """Entries that seem to contradict each other, (older, newer)."""
        return briefings.conflicts(self, self.opened.now(), proses.load(self.home))

    def dismiss(self, *numbers: str) -> list[tuple[Entry, Entry]]:
        """Say of contradictions that they are none: by their numbers, or all of them."""
        with self.opened.writing():
            found = contradictions.picked(self.conflicts(), numbers)
            pairs = [(old.id, new.id) for old, new in found]
            contradictions.dismiss(self.home, pairs, self.opened.now())
        self.opened.quietly("brief", lambda: self.brief(ask=False))
        return found

    def dismiss_pair(self, old: str, new: str, *, dismissed: bool = True) -> None:
        """Say of two entries that they do not contradict each other; or take that back."""
        with self.opened.writing():
            change = contradictions.dismiss if dismissed else contradictions.ask_again
            change(self.home, [(old, new)], self.opened.now())
        self.opened.quietly("brief", lambda: self.brief(ask=False))

    def put_back(self, path: Path, text: bytes, seen: bytes) -> None:
        """A note as it was before a decision about it, if it has not changed since."""
        with self.opened.writing():
            if path.read_bytes() != seen:
                where = page.shown(self.home, path)
                raise WakebookError(f"{where} has changed since: it is left as it is.")
            self.home.replace(path, text)

    # --- keeping it small --------------------------------------------------------------------

    def daily(self, now: datetime) -> str:
        """Condense the journals of the last days that are too long, and the observations."""
        return self._condense("daily", now)

    def weekly(self, now: datetime) -> str:
        """Roll what the week brought up into MEMORY.md."""
        return self._condense("weekly", now)

    def monthly(self, now: datetime) -> str:
        """Condense the notes that are too long, and retire what has decayed."""
        return self._condense("monthly", now) + self._decayed(now)

    def prune(self, now: datetime) -> str:
        """Keep MEMORY.md below its cap, retire what has decayed, put old branches away."""
        said = self._condense("prune", now) + self._decayed(now)
        gone = self._history.put_away(now) if self.git().repository else []
        return f"{said}; {len(gone)} explorations put away" if gone else said

    def _condense(self, job: str, now: datetime) -> str:
        self.update()
        return condense.keep(self, job, now)

    def _decayed(self, now: datetime) -> str:
        moved = len(self.retire(now=now).moved)
        return f"; {moved} retired to archive/" if moved else ""

    def retire(self, *, now: datetime | None = None, dry: bool = False) -> moves.Retired:
        """Move what has decayed to archive/."""
        with self.opened.writing():
            return moves.retire(self, now or self.opened.now(), dry)

    def restore(self, name: str) -> tuple[str, str]:
        """Bring a note back from archive/. From where to where."""
        with self.opened.writing():
            done = moves.restore(self, name)
        self.refresh()
        return done

    def wanted_back(self, restored: Sequence[str], removed: Sequence[str]) -> None:
        """Notes that came back from the archive stay for a while."""
        names = [name.removeprefix("knowledge/") for name in restored]
        back = [one for one in names if f"archive/{one}" in removed]
        moves.wanted_back(self.home, back, self.opened.now())

    def rename(self, old: str, new: str, *, merge: bool = False) -> tuple[str, int]:
        """Rename a subject in registry and log, or merge it into another one. Entries changed."""
        slug = self.opened.registry().get(old).slug if merge else ""
        for one in self.proposals() if merge else ():  # edits must not get lost with a note
            if slug in one.path.removesuffix(".md").split("/"):
                raise WakebookError(
                    f"{one.path} was edited by hand: run `wakebook review`, then merge {slug}."
                )
        return moves.rename(self.home, self.git(), old, new, merge=merge)

    def obsidian(
        self, path: Path, dry: bool = False, progress: Progress = quiet
    ) -> vault.BuiltVault:
        """Add what is new to the journals and topic pages of a vault; change nothing else. `dry`:
        only say what would be done."""
        self.home.require()
        with nullcontext() if dry else self.opened.writing():  # a crash's leftovers are finished
            return vault.build(self, path, dry, progress)
