"""Notes: the handle of this room. Pages, the briefing, what people changed in them, the vault."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from wakebook.base.errors import WakebookError

if TYPE_CHECKING:
    from wakebook.history.timeline import Timeline
    from wakebook.log.chains import Chains
    from wakebook.log.subjects import Registry
    from wakebook.notes.brief import Brief
    from wakebook.notes.condensing import Condensing, Find
    from wakebook.notes.desk import Desk
    from wakebook.notes.knowledge import Knowledge
    from wakebook.notes.page import Broken
    from wakebook.notes.retire import Retired
    from wakebook.notes.review import Accepted, Proposal
    from wakebook.notes.vault import Built
    from wakebook.notes.why import Behind, Why
    from wakebook.notes.write import Updated
    from wakebook.opened import Opened
    from wakebook.store.sync import Progress


def _quiet(what: str, done: int, total: int) -> None:
    pass


class Notes:
    def __init__(self, opened: Opened, history: Timeline) -> None:
        self._opened = opened
        self._home = opened.home
        self._history = history

    def update(self, *, full: bool = False, progress: Progress = _quiet) -> Updated:
        """Write the notes whose entries have changed; with `full`, all of them, from nothing."""
        from wakebook.notes import write

        opened = self._opened
        with opened.writing():
            return write.update(
                self._home,
                opened.config,
                opened.now(),
                full=full,
                before=self._before,
                progress=progress,
            )

    def refresh(self) -> None:
        """The same after something else was done, which stands even if this fails."""
        self._opened.quietly("notes", self.update)

    # --- what people have changed ------------------------------------------------------------

    def proposals(self) -> list[Proposal]:
        """What people have changed in generated blocks."""
        from wakebook.notes.review import proposals

        return proposals(self._behind())

    def accept(self, *names: str) -> Accepted:
        """Take over what people have changed: by number or path, or everything."""
        from wakebook.notes.review import accept, chosen

        with self._opened.writing():
            found = chosen(self.proposals(), names)
            self._set_aside(found)
            done = accept(self._behind(), found)
            self._rewrite(found)
        self._opened.quietly("brief", lambda: self.brief(ask=False))
        return done

    def reject(self, *names: str) -> list[Proposal]:
        """Write generated blocks anew. What people had changed stays in git."""
        from wakebook.notes.review import chosen

        with self._opened.writing():
            found = chosen(self.proposals(), names)
            self._set_aside(found)
            self._rewrite(found)
        return found

    def _set_aside(self, found: Sequence[Proposal]) -> None:
        """What people have edited is safe before anything else happens. Raises GitError."""
        from wakebook.notes.review import set_aside

        paths = [self._home.root / one.path for one in found]
        set_aside(self._home, self._history.git(), paths)

    def _rewrite(self, found: Sequence[Proposal]) -> None:
        """Write these blocks as the log has them."""
        from wakebook.notes import write

        opened, keys = self._opened, [one.key for one in found]
        write.update(self._home, opened.config, opened.now(), before=self._before, overwrite=keys)
        if any(one.block == "briefing" for one in found):
            self.brief(ask=False, overwrite=True)

    # --- looking -----------------------------------------------------------------------------

    def why(self, place: str) -> Why:
        """Where a line of a note comes from: FILE:LINE."""
        from wakebook.notes.why import why

        return why(self._behind(), place)

    def missing_links(self) -> list[Broken]:
        """Links of notes that lead nowhere."""
        from wakebook.notes.knowledge import missing

        self._home.require()
        return missing(self._home)

    def knowledge(self) -> Knowledge:
        """How the notes stand, for `status` and `doctor`."""
        from wakebook.notes.knowledge import knowledge

        return knowledge(self.desk(self._opened.now()))

    def _behind(self) -> Behind:
        from wakebook.notes import prose
        from wakebook.notes.why import Behind

        opened = self._opened
        chains, said = opened.chains(), prose.load(self._home)
        git = self._history.git()
        return Behind(self._home, opened.config, git, opened.now(), chains, said)

    def _before(self, paths: Sequence[Path]) -> None:
        """What people wrote is in git before anything near it changes."""
        self._history.git().before_touching(*paths)

    # --- the briefing ------------------------------------------------------------------------

    def brief(self, *, ask: bool = True, overwrite: bool = False) -> Brief:
        """Write the briefing between its markers in MEMORY.md.

        With `ask`, a model puts what is active into words and looks for contradictions;
        without, what it said the last time is used where it still holds. A block that a
        person has edited is left alone, unless `overwrite`.
        """
        from wakebook.notes import brief

        opened, home = self._opened, self._home
        home.require()
        now, config = opened.now(), opened.config
        said = brief.prose(home, opened.models, opened.ledger, now, config.briefing, ask)
        with opened.writing():
            git = self._history.git()
            done = brief.write(home, git, opened.ledger, now, config, said, overwrite)
        if done.total > config.notes.memory_cap:
            self.refresh()  # what the weeks have left makes room
        return done

    def briefing(self, now: datetime, *, prose: bool = True) -> list[str]:
        """The lines of the briefing. Without `prose`, nothing that a model has written."""
        from wakebook.notes.briefing import RULES, briefing
        from wakebook.notes.prose import load

        opened = self._opened
        said = load(self._home) if prose else RULES
        return briefing(opened.chains(), opened.registry(), now, opened.config.briefing, said)

    # --- keeping it small --------------------------------------------------------------------

    def desk(self, now: datetime) -> Desk:
        from wakebook.notes.desk import Desk

        self._home.require()
        return Desk(self._home, self._opened.config, self._history.git(), now)

    def _condense(self, now: datetime, *finds: Find) -> Condensing:
        from wakebook.notes.condensing import run

        self.update()
        return run(self.desk(now), self._opened.models, *finds)

    def daily(self, now: datetime) -> str:
        """Condense the journals of the last days that are too long, and the observations."""
        from wakebook.notes.condensing import journals, observations

        return _told(self._condense(now, journals, observations))

    def weekly(self, now: datetime) -> str:
        """Roll what the week brought up into MEMORY.md."""
        from wakebook.notes.condensing import rollup

        return _told(self._condense(now, rollup))

    def monthly(self, now: datetime) -> str:
        """Condense the notes that are too long, and retire what has decayed."""
        from wakebook.notes.condensing import long_notes

        done = _told(self._condense(now, long_notes))
        moved = len(self.retire(now=now).moved)
        return f"{done}; {moved} retired to archive/" if moved else done

    def prune(self, now: datetime) -> str:
        """Keep MEMORY.md below its cap, retire what has decayed, put old branches away."""
        from wakebook.notes.condensing import memory

        said = [_told(self._condense(now, memory))]
        moved = len(self.retire(now=now).moved)
        said += [f"{moved} retired to archive/"] if moved else []
        gone = self._history.put_away(now) if self._history.git().repository else []
        said += [f"{len(gone)} explorations put away"] if gone else []
        return "; ".join(said)

    def retire(self, *, now: datetime | None = None, dry: bool = False) -> Retired:
        """Move what has decayed to archive/."""
        from wakebook.notes.retire import retire

        desk = self.desk(now or self._opened.now())
        with self._opened.writing():
            return retire(desk, dry)

    def restore(self, name: str) -> tuple[str, str]:
        """Bring a note back from archive/. From where to where."""
        from wakebook.notes.retire import restore

        desk = self.desk(self._opened.now())
        with self._opened.writing():
            old, new = restore(desk, name)
        self.refresh()
        return old, new

    def rename(self, old: str, new: str, *, merge: bool = False) -> tuple[str, int]:
        """Rename a subject in registry and log, or merge it into another one. Entries changed."""
        from wakebook.log import subjects
        from wakebook.notes.rename import rename

        if merge:
            self._require_reviewed(subjects.load(self._home).get(old).slug)
        return rename(self._home, self._history.git(), old, new, merge=merge)

    def _require_reviewed(self, slug: str) -> None:
        """What a person has edited in a subject's notes must not get lost with them."""
        waiting = [
            one.path for one in self.proposals() if slug in one.path.removesuffix(".md").split("/")
        ]
        if waiting:
            raise WakebookError(
                f"{waiting[0]} was edited by hand: run `wakebook notes review`, then merge {slug}."
            )

    def wanted_back(self, restored: Sequence[str], removed: Sequence[str]) -> None:
        """Notes that came back from the archive stay for a while."""
        from wakebook.notes.retire import wanted_back

        names = [name.removeprefix("knowledge/") for name in restored]
        back = [one for one in names if f"archive/{one}" in removed]
        wanted_back(self._home, back, self._opened.now())

    # --- Obsidian ----------------------------------------------------------------------------

    def obsidian(self, path: Path, dry: bool = False, progress: Progress = _quiet) -> Built:
        """Add what is new to the journals and topic pages of a vault; change nothing else.

        `dry`: only say what would be done.
        """
        from wakebook.notes.vault import build

        opened = self._opened
        self._home.require()
        zone = opened.now().tzinfo
        assert zone is not None

        def told() -> tuple[Chains, Registry]:
            return opened.chains(), opened.registry()

        if dry:
            return build(self._home, path, told, zone, dry=True)
        with opened.writing():  # what a crash left half done is finished first
            return build(self._home, path, told, zone, progress=progress)


def _told(done: Condensing) -> str:
    saved = f" ({done.lines} lines saved)" if done.lines > 0 else ""
    parts = [f"{len(done.done)} condensed{saved}"] if done.done else []
    parts += [f"{name} stays as it is: {why}" for name, why in done.refused.items()]
    return "; ".join(parts) or "nothing to condense"
