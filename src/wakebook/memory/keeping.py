"""The verbs that keep knowledge: the briefing and the notes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from wakebook.memory.looking import Looking

if TYPE_CHECKING:
    from wakebook.notes.brief import Brief
    from wakebook.notes.page import Broken
    from wakebook.notes.review import Accepted, Proposal
    from wakebook.notes.why import Behind, Why
    from wakebook.notes.write import Updated
    from wakebook.store.sync import Progress


class Keeping(Looking):
    def notes(self, *, full: bool = False, progress: Progress | None = None) -> Updated:
        """Write the notes whose entries have changed; with `full`, all of them, from nothing."""
        from wakebook.notes import write as notes

        with self._writing():
            return notes.update(
                self.home,
                self.config,
                self.now(),
                full=full,
                before=self._before,
                progress=progress or (lambda what, done, total: None),
            )

    def proposals(self) -> list[Proposal]:
        """What people have changed in generated blocks."""
        from wakebook.notes.review import proposals

        return proposals(self._behind())

    def accept(self, *names: str) -> Accepted:
        """Take over what people have changed: by number or path, or everything."""
        from wakebook.notes.review import accept, chosen

        with self._writing():
            found = chosen(self.proposals(), names)
            self._set_aside(found)
            done = accept(self._behind(), found)
            self._rewrite(found)
        self._quietly("brief", lambda: self.brief(ask=False))
        return done

    def reject(self, *names: str) -> list[Proposal]:
        """Write generated blocks anew. What people had changed stays in git."""
        from wakebook.notes.review import chosen

        with self._writing():
            found = chosen(self.proposals(), names)
            self._set_aside(found)
            self._rewrite(found)
        return found

    def _set_aside(self, found: Sequence[Proposal]) -> None:
        """What people have edited is safe before anything else happens. Raises GitError."""
        from wakebook.notes.review import set_aside

        set_aside(self.home, self.history(), [self.home.root / one.path for one in found])

    def _rewrite(self, found: Sequence[Proposal]) -> None:
        """Write these blocks as the log has them."""
        from wakebook.notes import write as notes

        keys = [one.key for one in found]
        notes.update(self.home, self.config, self.now(), before=self._before, overwrite=keys)
        if any(one.block == "briefing" for one in found):
            self.brief(ask=False, overwrite=True)

    def why(self, place: str) -> Why:
        """Where a line of a note comes from: FILE:LINE."""
        from wakebook.notes.why import why

        return why(self._behind(), place)

    def missing_links(self) -> list[Broken]:
        """Links of notes that lead nowhere."""
        from wakebook.notes.knowledge import missing

        self.home.require()
        return missing(self.home)

    def _behind(self) -> Behind:
        from wakebook.notes import prose
        from wakebook.notes.why import Behind

        chains, said = self.chains(), prose.load(self.home)
        return Behind(self.home, self.config, self.history(), self.now(), chains, said)

    def _before(self, paths: Sequence[Path]) -> None:
        """What people wrote is in git before anything near it changes."""
        self.history().before_touching(*paths)

    def brief(self, *, ask: bool = True, overwrite: bool = False) -> Brief:
        """Write the briefing between its markers in MEMORY.md.

        With `ask`, a model puts what is active into words and looks for contradictions;
        without, what it said the last time is used where it still holds. A block that a
        person has edited is left alone, unless `overwrite`.
        """
        from wakebook.notes import brief

        self.home.require()
        now, settings = self.now(), self.config.briefing
        said = brief.prose(self.home, self.models, self._ledger, now, settings, ask)
        with self._writing():
            done = brief.write(
                self.home, self.history(), self._ledger, now, self.config, said, overwrite
            )
        if done.total > self.config.notes.memory_cap:
            self._quietly("notes", self.notes)  # what the weeks have left makes room
        return done
