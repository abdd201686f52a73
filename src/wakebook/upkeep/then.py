"""Then: what the memory said at an earlier moment."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from wakebook.base.errors import NotFound
from wakebook.history.past import needed
from wakebook.recall.turn import wake

if TYPE_CHECKING:
    from wakebook.base.home import Home
    from wakebook.history.past import Moment
    from wakebook.history.timeline import Bring
    from wakebook.log.logbook import Logbook
    from wakebook.notes.notes import Notes
    from wakebook.recall.show import Shown


class Remembers(Protocol):
    """The memory, now or then."""

    @property
    def home(self) -> Home: ...
    @property
    def log(self) -> Logbook: ...
    @property
    def notes(self) -> Notes: ...
    def get(self, ref: str, first: int = 0, lines: int = 0) -> Shown: ...
    def at(self, when: str) -> AbstractContextManager[tuple[Remembers, Moment, Bring]]: ...


def show_at(
    memory: Remembers, when: str, ref: str, first: int = 0, lines: int = 0
) -> tuple[Moment, Shown]:
    """What a reference pointed at then."""
    with memory.at(when) as (then, moment, bring):
        try:
            bring(needed(ref, then.log.entry))
            return moment, then.get(ref, first, lines)
        except NotFound as error:
            said = str(error).replace(str(then.home.root), str(memory.home.root))
            raise NotFound(f"At {moment.name}: {said}") from error


def wake_at(memory: Remembers, when: str) -> tuple[Moment, str]:
    """What a new session would have been told then."""
    with memory.at(when) as (then, moment, _):
        lines = then.notes.briefing(moment.at, prose=False)
        return moment, wake(then.log.chains(), (), lines)
