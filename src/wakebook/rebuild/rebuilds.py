"""Rebuilds: the handle of this room. All conversations read anew, compared, merged or dropped."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from wakebook.base import clock
from wakebook.base.errors import ConfigError

if TYPE_CHECKING:
    from datetime import datetime

    from wakebook.base.config import Config
    from wakebook.history.timeline import Timeline
    from wakebook.learn.extract import Extractor
    from wakebook.models.chat import Models
    from wakebook.opened import Opened
    from wakebook.rebuild.build import Builder, Built
    from wakebook.rebuild.merge import Dropped, Merged
    from wakebook.rebuild.replay import Spending
    from wakebook.rebuild.report import Rebuild, Rehearsed, Standing
    from wakebook.rebuild.site import Site
    from wakebook.store.sync import Progress


def _quiet(what: str, done: int, total: int) -> None:
    pass


class Rebuilds:
    def __init__(self, opened: Opened, history: Timeline, followed: Callable[[], None]) -> None:
        """`followed`: what has to be done when the log has become another one."""
        self._opened = opened
        self._home = opened.home
        self._history = history
        self._followed = followed

    def build(
        self,
        *,
        extractor: str = "rules",
        model: str = "",
        branch: str = "",
        since: datetime | None = None,
        progress: Progress = _quiet,
    ) -> Built:
        """Read all archived conversations anew, on a branch of their own; or go on with it.

        `extractor`: rules or model. `model`: another one than [models] main.
        """
        from wakebook.rebuild.build import Wanted, default_name

        self._home.require()
        builder, _ = self._builder(extractor, model)
        reads, now = builder.extractor.name, self._opened.now()
        name = branch or default_name(self._home, self._history.git(), reads, now)
        return builder.build(self._site(name), Wanted(since=since), progress)

    def plan(
        self,
        *,
        extractor: str = "rules",
        model: str = "",
        since: datetime | None = None,
        progress: Progress = _quiet,
    ) -> tuple[Rehearsed, Models | None]:
        """What a rebuild would read, and what it would ask a model. Nothing is changed."""
        from wakebook.base.home import Home
        from wakebook.rebuild.report import rehearse

        home = self._home
        home.require()
        builder, models = self._builder(extractor, model, dry=True)
        home.folder(home.cache)
        with tempfile.TemporaryDirectory(prefix="rehearsal-", dir=home.cache) as folder:
            done = rehearse(home, Home(folder), builder, since, progress)
        return done, models

    def listed(self) -> list[Standing]:
        """Every rebuild that is not merged or dropped, and how it stands."""
        from wakebook.rebuild.report import standings

        self._home.require()
        return standings(self._home, self._history.git())

    def check_questions(self, path: Path) -> int:
        """How many labelled questions a file holds. Raises if one is not as it should be."""
        from wakebook.rebuild.quality import load

        return len(load(path))

    def compare(self, name: str, questions: Path | None = None) -> Rebuild:
        """What would be different. With labelled questions, also how well they are answered."""
        from wakebook.rebuild.report import report

        self._home.require()
        config = self._opened.config
        return report(self._home, config, self._site(name), questions, clock.now())

    def merge(self, name: str) -> Merged:
        """The rebuilt log in the place of this one, with what came since."""
        from wakebook.rebuild.merge import merge

        opened = self._opened
        opened.settle()
        git = self._history.git()
        done = merge(self._home, opened.config, git, self._site(name), opened.now())
        self._followed()
        return done

    def drop(self, name: str) -> Dropped:
        from wakebook.rebuild.merge import drop

        self._home.require()
        return drop(self._home, self._site(name))

    def _site(self, name: str) -> Site:
        from wakebook.rebuild.site import Site

        return Site(self._home, self._history.git(), name)

    def _builder(
        self, extractor: str, model: str, dry: bool = False
    ) -> tuple[Builder, Models | None]:
        from wakebook.rebuild.build import Builder
        from wakebook.rebuild.replay import Spending

        spending, opened = Spending(), self._opened
        config, models = opened.config, None
        reader: Extractor
        if extractor == "model":
            from wakebook.learn.ask import ModelExtractor

            if model:
                config = config.with_(models=config.models.with_(main=model))
            models = self._counted(config, spending, dry)
            reader = ModelExtractor(models, self._home, config.models.request_tokens)
        else:
            from wakebook.learn.select.extractor import RuleExtractor

            reader = RuleExtractor()
        git = self._history.git()
        return Builder(self._home, config, git, reader, spending, opened.now()), models

    def _counted(self, config: Config, spending: Spending, dry: bool) -> Models:
        """Models whose calls a rebuild knows of."""
        from wakebook.rebuild.replay import CountedCalls

        models = self._opened.models_with(config, dry=dry)
        models.calls = CountedCalls(self._home, spending)
        if not models.has("extract"):
            raise ConfigError(
                "No model reads conversations: name one with --model, or as main in [models] "
                "of config.toml, and leave extract out of off."
            )
        return models
