"""The verbs that start over: rebuild, and forget."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from wakebook.base import clock
from wakebook.base.errors import ConfigError
from wakebook.memory.keeping import Keeping

if TYPE_CHECKING:
    from datetime import datetime

    from wakebook.base.config import Config
    from wakebook.learn.extract import Extractor
    from wakebook.models.chat import Models
    from wakebook.rebuild.build import Builder, Built
    from wakebook.rebuild.merge import Dropped, Merged
    from wakebook.rebuild.replay import Spending
    from wakebook.rebuild.report import Rebuild, Rehearsed, Standing
    from wakebook.rebuild.site import Site
    from wakebook.store.sync import Progress
    from wakebook.upkeep.forget import Forgetting


def _quiet(what: str, done: int, total: int) -> None:
    pass


class Rebuilding(Keeping):
    # --- rebuild -----------------------------------------------------------------------

    def rebuild(
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

        self.home.require()
        builder, _ = self._builder(extractor, model)
        reads = builder.extractor.name
        name = branch or default_name(self.home, self.history(), reads, self.now())
        return builder.build(self._site(name), Wanted(since=since), progress)

    def plan_rebuild(
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

        self.home.require()
        builder, models = self._builder(extractor, model, dry=True)
        self.home.folder(self.home.cache)
        with tempfile.TemporaryDirectory(prefix="rehearsal-", dir=self.home.cache) as folder:
            done = rehearse(self.home, Home(folder), builder, since, progress)
        return done, models

    def rebuilds(self) -> list[Standing]:
        """Every rebuild that is not merged or dropped, and how it stands."""
        from wakebook.rebuild.report import standings

        self.home.require()
        return standings(self.home, self.history())

    def check_questions(self, path: Path) -> int:
        """How many labelled questions a file holds. Raises if one is not as it should be."""
        from wakebook.rebuild.quality import load

        return len(load(path))

    def compare_rebuild(self, name: str, questions: Path | None = None) -> Rebuild:
        """What would be different. With labelled questions, also how well they are answered."""
        from wakebook.rebuild.report import report

        self.home.require()
        return report(self.home, self.config, self._site(name), questions, clock.now())

    def merge_rebuild(self, name: str) -> Merged:
        """The rebuilt log in the place of this one, with what came since."""
        from wakebook.rebuild.merge import merge

        with self._writing():
            pass  # what a crash left half done is finished first
        done = merge(self.home, self.config, self.history(), self._site(name), self.now())
        self._followed()
        return done

    def drop_rebuild(self, name: str) -> Dropped:
        from wakebook.rebuild.merge import drop

        self.home.require()
        return drop(self.home, self._site(name))

    def _site(self, name: str) -> Site:
        from wakebook.rebuild.site import Site

        return Site(self.home, self.history(), name)

    def _builder(
        self, extractor: str, model: str, dry: bool = False
    ) -> tuple[Builder, Models | None]:
        from wakebook.rebuild.build import Builder
        from wakebook.rebuild.replay import Spending

        spending = Spending()
        config, models = self.config, None
        reader: Extractor
        if extractor == "model":
            from wakebook.learn.ask import ModelExtractor

            config = self._with_model(model)
            models = self._counted(config, spending, dry)
            reader = ModelExtractor(models, self.home, config.models.request_tokens)
        else:
            from wakebook.learn.select.extractor import RuleExtractor

            reader = RuleExtractor()
        builder = Builder(self.home, config, self.history(), reader, spending, self.now())
        return builder, models

    def _counted(self, config: Config, spending: Spending, dry: bool) -> Models:
        """Models whose calls a rebuild knows of."""
        from wakebook.models.chat import Models
        from wakebook.rebuild.replay import CountedCalls

        models = Models(self.home, config, os.environ, lend=self._lend, dry=dry or self._dry)
        models.calls = CountedCalls(self.home, spending)
        if not models.has("extract"):
            raise ConfigError(
                "No model reads conversations: name one with --model, or as main in [models] "
                "of config.toml, and leave extract out of off."
            )
        return models

    def _with_model(self, model: str) -> Config:
        if not model:
            return self.config
        return self.config.with_(models=self.config.models.with_(main=model))

    # --- forget ------------------------------------------------------------------------

    def plan_forget(self, names: Sequence[str], *, chain: bool = False) -> Forgetting:
        """What would go, and what would follow from it."""
        from wakebook.upkeep.forget import plan

        return plan(self.chains(), [self.entry(name).id for name in names], chain)

    def forget(self, names: Sequence[str], *, chain: bool = False) -> Forgetting:
        """Take entries out of the log for good: they leave the notes and the index, too."""
        from wakebook.upkeep.forget import forget, still_there

        with self._writing():
            going = self.plan_forget(names, chain=chain)
            forget(self.home, self.history(), going, clock.now())
        shutil.rmtree(self.home.cache / "told", ignore_errors=True)  # to sessions that go on
        self._quietly("notes", lambda: self.notes(full=True))
        self._followed()
        return still_there(self.home, going)

    def _followed(self) -> None:
        """What follows from another log, so that nothing shows the old one."""
        self._quietly("brief", lambda: self.brief(ask=False))
        self.history().batch(clock.now(), ask=False)
        self._index.changed()
        self._quietly("index", self._index.sync)
