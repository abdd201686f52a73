"""Parts: one home, opened, with everything that its verbs are made of. Nothing is read before
it is needed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
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
    from wakebook.history.history import History
    from wakebook.history.repository import Repository
    from wakebook.learn.extract import Extractor
    from wakebook.learn.reading import Work
    from wakebook.log.chains import Chains
    from wakebook.log.log import Ledger
    from wakebook.log.subjects import Registry
    from wakebook.models.chat import Models
    from wakebook.models.model import Lend
    from wakebook.store.index import Index

# Of the home: chats of your own agents, and what was imported. Known without any configuration.
SESSIONS, IMPORTS = "sessions", "imports"


class Parts:
    def __init__(
        self,
        home: str | os.PathLike[str] | None = None,
        extractor: Extractor | None = None,
        *,
        lend: Lend | None = None,
        config: Config | None = None,
        dry: bool = False,
    ) -> None:
        """`lend`: the host's own model, as a function of (system, prompt, most tokens).
        `config`: instead of config.toml. `dry`: ask no model, note what would be asked."""
        self.home = Home(locate(home))
        self._extractor = extractor
        self._lend = lend
        self._config = config
        self._dry = dry
        self._repository: Repository | None = None

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

    @cached_property
    def models(self) -> Models:
        from wakebook.models.chat import Models

        return Models(self.home, self.config, os.environ, lend=self._lend, dry=self._dry)

    @cached_property
    def _ledger(self) -> Ledger:
        from wakebook.log.log import Ledger

        return Ledger(self.home)

    @cached_property
    def _index(self) -> Index:
        from wakebook.store.index import Index

        return Index(self.home, self.config)

    @property
    def extractor(self) -> Extractor:
        if self._extractor is None:
            from wakebook.learn.ask import choose

            self._extractor = choose(self.models, self.home, self.config)
        return self._extractor

    def _work(self, sparing: bool = False) -> Work:
        from wakebook.imports.extractor import ImportExtractor
        from wakebook.learn.reading import Work

        return Work(
            self.home,
            self.config,
            self._ledger,
            self.extractor,
            sparing=sparing,
            verbatim=ImportExtractor(self.home),
        )

    def chains(self) -> Chains:
        self.home.require()
        return self._ledger.chains()

    def registry(self) -> Registry:
        from wakebook.log import subjects

        return subjects.load(self.home)

    def state(self) -> State:
        from wakebook.capture import state as states

        return states.load(self.home)

    def sessions(self, paths: Sequence[Path] = ()) -> list[Session]:
        """Every session that can be found: the hosts' folders, or the given paths."""
        from wakebook.capture.discover import sessions

        return sessions(self.config.hosts, self.state(), paths)

    @contextmanager
    def _writing(self) -> Iterator[State]:
        from wakebook.learn.entries import settle

        self.home.require()
        with self.home.locked():
            yield settle(self.home)
        self._index.changed()

    def history(self, models: Models | None = None) -> History:
        from wakebook.history.history import History

        found = History(self.home, self.config, models or self.models, self._repository)
        self._repository = found.repository  # looking for it takes a process
        return found

    def _quietly(self, where: str, work: Callable[[], object]) -> None:
        """What went wrong is in `status`; nothing else depends on it."""
        try:
            work()
        except (WakebookError, OSError) as error:
            self.home.trace("failure", where=where, error=str(error))
