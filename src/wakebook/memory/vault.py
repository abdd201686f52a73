"""The verb that writes an Obsidian vault."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from wakebook.memory.looking import Looking

if TYPE_CHECKING:
    from wakebook.log.chains import Chains
    from wakebook.log.subjects import Registry
    from wakebook.notes.vault import Built
    from wakebook.store.sync import Progress


class Vault(Looking):
    def vault(
        self,
        path: Path,
        dry: bool = False,
        progress: Progress = lambda what, done, total: None,
    ) -> Built:
        """Add what is new to the journals and topic pages of a vault; change nothing else.

        `dry`: only say what would be done.
        """
        from wakebook.notes.vault import build

        self.home.require()
        zone = self.now().tzinfo
        assert zone is not None
        if dry:
            return build(self.home, path, self._told, zone, dry=True)
        with self._writing():  # what a crash left half done is finished first
            return build(self.home, path, self._told, zone, progress=progress)

    def _told(self) -> tuple[Chains, Registry]:
        return self.chains(), self.registry()
