"""The verbs that keep knowledge small: what the daily, weekly and monthly jobs do."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from wakebook.memory.past import Past

if TYPE_CHECKING:
    from wakebook.notes.condensing import Condensing as Condensed
    from wakebook.notes.condensing import Find
    from wakebook.notes.desk import Desk
    from wakebook.notes.retire import Retired


class Condensing(Past):
    def _desk(self, now: datetime) -> Desk:
        from wakebook.notes.desk import Desk

        self.home.require()
        return Desk(self.home, self.config, self.history(), now)

    def _condense(self, now: datetime, *finds: Find) -> Condensed:
        from wakebook.notes.condensing import run

        self.notes()
        return run(self._desk(now), self.models, *finds)

    def daily(self, now: datetime) -> str:
        """Condense the journals of the last days that are too long, and the observations."""
        from wakebook.notes.condensing import journals, observations

        return _told(self._condense(now, journals, observations))

    def weekly(self, now: datetime) -> str:
        """Roll what the week brought up into MEMORY.md."""
        from wakebook.notes.condensing import rollup

        return _told(self._condense(now, rollup))

    def monthly(self, now: datetime) -> str:
        """Distil the notes that are too long, and retire what has decayed."""
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
        gone = self.put_away(now) if self.history().repository else []
        said += [f"{len(gone)} explorations put away"] if gone else []
        return "; ".join(said)

    def retire(self, *, now: datetime | None = None, dry: bool = False) -> Retired:
        """Move what has decayed to archive/."""
        from wakebook.notes.retire import retire

        desk = self._desk(now or self.now())
        with self._writing():
            return retire(desk, dry)

    def restore(self, name: str) -> tuple[str, str]:
        """Bring a note back from archive/. From where to where."""
        from wakebook.notes.retire import restore

        desk = self._desk(self.now())
        with self._writing():
            old, new = restore(desk, name)
        self._quietly("notes", self.notes)
        return old, new


def _told(done: Condensed) -> str:
    saved = f" ({done.lines} lines saved)" if done.lines > 0 else ""
    parts = [f"{len(done.done)} condensed{saved}"] if done.done else []
    parts += [f"{name} stays as it is: {why}" for name, why in done.refused.items()]
    return "; ".join(parts) or "nothing to condense"
