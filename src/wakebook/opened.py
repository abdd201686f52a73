"""Opened: one home with its settings, log, state, index and models, each read when first used.

The façade makes one and hands it to every room. Whatever writes takes the home's lock through
`writing`, which first finishes what a crash may have left half done.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from wakebook.base import clock
from wakebook.base import config as configs
from wakebook.base.config import Config
from wakebook.base.errors import ConfigError, WakebookError
from wakebook.base.home import Home, locate

if TYPE_CHECKING:
    from datetime import datetime, tzinfo

    from wakebook.capture.state import Session, State
    from wakebook.learn.extract import Extractor
    from wakebook.learn.reading import Notes, Work
    from wakebook.log.chains import Chains
    from wakebook.log.log import Ledger
    from wakebook.log.subjects import Registry
    from wakebook.models.chat import Models
    from wakebook.models.model import Lend
    from wakebook.store.index import Index

# Folders of the home that hold sessions: chats of your own agents, and imports.
SESSIONS, IMPORTS = "sessions", "imports"


def quiet(what: str, done: int, total: int) -> None:
    """Shows no progress."""


class Opened:
    def __init__(
        self,
        home: str | os.PathLike[str] | None = None,
        extractor: Extractor | None = None,
        *,
        lend: Lend | None = None,
        config: Config | None = None,
        dry: bool = False,
        verbatim: Callable[[], Extractor] | None = None,
        notes: Notes | None = None,
    ) -> None:
        """`lend`: the host's own model, as a function of (system, prompt, most tokens).
        `config`: instead of config.toml. `dry`: ask no model, note what would be asked.
        `verbatim`: makes the reader of imported memories. `notes`: those that tell
        entries."""
        self.home = Home(locate(home))
        self.lend = lend
        self.dry = dry
        self.beside: Mapping[str, Opened] = {}  # team memories that may be read here, by name
        self.here = ""  # the folder that agents ask from, where they all ask from one
        self._extractor = extractor
        self._config = config
        self._verbatim = verbatim
        self._notes = notes

    @cached_property
    def config(self) -> Config:
        self.home.require()
        found = self._config or configs.load(self.home.config)
        own = (str(self.home.root / name) for name in (SESSIONS, IMPORTS))
        plain = (*found.hosts.plain, *own)
        found = found.with_(hosts=found.hosts.with_(plain=plain))
        above = self.home.root.parents
        if len(above) > 2 and (above[1].name, above[0].name) == (".cache", "explore"):
            # an exploration keeps to itself: it reads no sessions, pushes nothing, and writes no
            # MEMORY.md elsewhere
            found = found.with_(
                hosts=found.hosts.with_(**dict.fromkeys(found.hosts.settings, ())),
                git=found.git.with_(push=""),
                briefing=found.briefing.with_(memory_file=""),
            )
        return found

    def now(self) -> datetime:
        """Now, in the user's time zone: days begin and end there."""
        return clock.now().astimezone(self._zone)

    @cached_property
    def _zone(self) -> tzinfo:
        try:
            return clock.zone(self.config.schedule.time_zone)
        except ValueError as error:
            where = f"{self.home.config}: [schedule] time_zone"
            raise ConfigError(f"{where}: {error}. Write one like Europe/Lisbon.") from error

    # --- what there is -----------------------------------------------------------------------

    @cached_property
    def models(self) -> Models:
        return self.models_with(self.config)

    def models_with(self, config: Config, *, dry: bool = False) -> Models:
        """Models by other settings than the home's."""
        from wakebook.models.chat import Models

        return Models(self.home, config, os.environ, lend=self.lend, dry=dry or self.dry)

    @cached_property
    def ledger(self) -> Ledger:
        from wakebook.log.log import Ledger

        return Ledger(self.home)

    @cached_property
    def index(self) -> Index:
        from wakebook.store.index import Index

        return Index(self.home, self.config)

    @property
    def extractor(self) -> Extractor:
        if self._extractor is None:
            from wakebook.learn.reading import choose

            self._extractor = choose(self.models, self.home, self.config)
        return self._extractor

    def work(self, verbatim: Extractor | None = None, *, sparing: bool = False) -> Work:
        """What reading a conversation takes. `verbatim`: another reader of imported memories."""
        from wakebook.learn.reading import Work

        return Work(
            self.home,
            self.config,
            self.ledger,
            self.extractor,
            sparing=sparing,
            verbatim=(lambda: verbatim) if verbatim else self._verbatim,
            notes=self._notes,
        )

    def chains(self) -> Chains:
        self.home.require()
        return self.ledger.chains()

    def registry(self) -> Registry:
        from wakebook.log import subjects

        return subjects.load(self.home)

    def project(self, cwd: str) -> str:
        """The key of a folder's project, if the memory knows it."""
        if not (cwd and self.home.projects.exists()):
            return ""
        from wakebook.capture import project

        known = project.load(self.home)
        key = known.of(cwd)
        return key if key in known.known else ""

    def is_off(self, cwd: str) -> bool:
        """Whether nothing is told or captured in a folder: its project is off."""
        from wakebook.capture import project

        modes = self.config.projects.values()
        known = project.load(self.home) if modes and cwd else None
        return known is not None and known.mode_of(cwd, "", modes) == "off"

    @property
    def syncs(self) -> bool:
        """Whether this home was ever synced. Asked often, and looks at one file only."""
        return (self.home.root / "machine.json").exists()

    def state(self) -> State:
        from wakebook.capture import state as states

        return states.load(self.home)

    def sessions(self, paths: Sequence[Path] = ()) -> list[Session]:
        """Every session that can be found: in the hosts' folders, or at the given paths."""
        from wakebook.capture.discover import sessions

        return sessions(self.config.hosts, self.state(), paths, self.home.root)

    def memory_file(self) -> Path:
        """MEMORY.md: in the home, or wherever config.toml says."""
        chosen = self.config.briefing.memory_file
        return self.home.root / configs.expand(chosen) if chosen else self.home.memory

    def elsewhere(self) -> list[Path]:
        """Files outside of the home that belong to the memory: MEMORY.md, mounted notes."""
        found: list[Path] = []
        if self.config.briefing.memory_file:
            found.append(self.memory_file().resolve())
        if self.config.mounts.homes or self.config.mounts.notes:
            from wakebook.store.index import notes

            found += notes(self.home, self.config)
        return found

    # --- writing -----------------------------------------------------------------------------

    @contextmanager
    def writing(self) -> Iterator[State]:
        from wakebook.learn.entries import settle

        self.home.require()
        with self.home.locked():
            yield settle(self.home)
        if "index" in vars(self):  # another one looks for changes when it is made
            self.index.changed()

    def settle(self) -> None:
        """Finish what a crash may have left half done."""
        with self.writing():
            pass

    def quietly(self, where: str, work: Callable[[], object]) -> None:
        """A step that nothing else depends on: if it fails, `status` shows why."""
        try:
            work()
        except (WakebookError, OSError) as error:
            self.home.trace("failure", where=where, error=str(error))
