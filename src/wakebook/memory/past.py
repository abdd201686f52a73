"""The verbs of history: what git knows about the home."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

from wakebook.base import clock
from wakebook.base.errors import NotFound
from wakebook.memory.keeping import Keeping

if TYPE_CHECKING:
    from datetime import datetime

    from wakebook.history.branches import Dropped, Exploration, Snapshot
    from wakebook.history.githooks import Problem
    from wakebook.history.past import Difference, Learned, Moment
    from wakebook.history.push import Pushed
    from wakebook.history.revisions import Commit
    from wakebook.models.chat import Models
    from wakebook.recall.show import Shown
    from wakebook.upkeep.undo import Rewrite, Undone


class Past(Keeping):
    def commit(self, summary: str = "") -> str | None:
        """Commit every change now, except transcripts that are still being written."""
        with self._writing():
            pass  # what a crash left half done is finished first
        return self.history().now(clock.now(), summary)

    def plan_commit(self, summary: str = "") -> Models:
        """The models, not asked, with what they would be asked for a commit's message."""
        models = self.models.unasked()
        if not summary:
            self.history(models).proposal()
        return models

    def when(self, text: str) -> Learned:
        """When something was said, and when it came into the files."""
        from wakebook.history.past import when

        return when(self.history(), self.chains().entries, text)

    def diff(self, since: str, until: str = "", *, stat: bool = False) -> Difference:
        """What has changed in knowledge/ and in the log since a day, an age or a tag."""
        from wakebook.history.past import difference

        self.home.require()
        return difference(
            self.history(), since, until, self.now(), lambda: self.chains().entries, stat=stat
        )

    @contextmanager
    def at(self, when: str) -> Iterator[tuple[Self, Moment, Callable[[Sequence[str]], None]]]:
        """This memory as it was at a moment, to be read and thrown away.

        With it come the moment, and a function that brings conversations into it.
        """
        from wakebook.history.past import extracted, find

        self.home.require()
        repository = self.history().required()
        found = find(repository, when, self.now(), end=True)
        if found.commit is None:
            raise NotFound(f"Nothing was committed before {found.name}: git knows no earlier home.")
        quiet = self.config.with_(
            git=self.config.git.with_(enabled=False),
            briefing=self.config.briefing.with_(memory_file=""),
            embedding=self.config.embedding.with_(provider="none"),
        )
        with extracted(self.home, repository, found.commit) as (home, bring):
            yield type(self)(home.root, config=quiet, dry=True), found, bring

    def at_show(self, when: str, ref: str, first: int = 0, lines: int = 0) -> tuple[Moment, Shown]:
        """What a reference pointed at then."""
        from wakebook.history.past import needed

        with self.at(when) as (then, found, bring):
            try:
                bring(needed(ref, then.entry))
                return found, then.get(ref, first, lines)
            except NotFound as error:
                said = str(error).replace(str(then.home.root), str(self.home.root))
                raise NotFound(f"At {found.name}: {said}") from error

    def at_wake(self, when: str) -> tuple[Moment, str]:
        """What a new session would have been told then."""
        from wakebook.notes.briefing import briefing
        from wakebook.recall.wake import wake

        with self.at(when) as (then, found, _):
            chains, settings = then.chains(), self.config.briefing
            return found, wake(chains, (), briefing(chains, then.registry(), found.at, settings))

    def snapshot(self, name: str, *, before: bool = False) -> Snapshot:
        """Give this moment a name: commit what waits, and tag it."""
        from wakebook.history.branches import snapshot

        with self._writing():
            return snapshot(self.history(), name, clock.now(), before)

    def undo(self) -> Undone:
        """Take the last rewrite back."""
        from wakebook.upkeep.undo import undo

        with self._writing():
            history = self.history()
            done = undo(history, clock.now())
            self._wanted_back(done.restored, done.removed)
            self._quietly("notes", lambda: self.notes(full=True))
            self._quietly("brief", lambda: self.brief(ask=False))
            history.backup(f"notes after undo {done.rewrite.name}", history.waiting())
        return done

    def _wanted_back(self, restored: Sequence[str], removed: Sequence[str]) -> None:
        """Notes that came back from the archive stay for a while."""
        from wakebook.notes.retire import wanted_back

        names = [name.removeprefix("knowledge/") for name in restored]
        wanted_back(self.home, [one for one in names if f"archive/{one}" in removed], self.now())

    def rewrites(self) -> list[Rewrite]:
        """What `undo` could take back, and has taken back; newest first."""
        from wakebook.upkeep.undo import rewrites

        self.home.require()
        return rewrites(self.history())

    def explore(self, name: str) -> Exploration:
        """A branch to try something out, in a home of its own."""
        from wakebook.history.branches import explore

        with self._writing():
            return explore(self.history(), name, clock.now())

    def explorations(self) -> list[Exploration]:
        from wakebook.history.branches import explorations

        self.home.require()
        return explorations(self.history())

    def drop(self, name: str) -> Dropped:
        """Put an exploration away; a tag keeps it."""
        from wakebook.history.branches import drop

        with self._writing():
            return drop(self.history(), name)

    def put_away(self, now: datetime) -> list[Dropped]:
        """Put explorations away that nobody has worked on for a while."""
        from wakebook.history.branches import prune

        with self._writing():
            return prune(self.history(), now, self.config.git.explore_days)

    def tag(self, now: datetime) -> str:
        """Tag the day of `now`, and the week of the last Sunday if it has no tag yet."""
        from wakebook.history import branches as tags

        with self._writing():
            history = self.history()
            done = [name for name in (tags.daily(history, now), tags.weekly(history, now)) if name]
        return f"tagged {', '.join(done)}" if done else "nothing new to tag"

    def check_staged(self) -> list[Problem]:
        """What is wrong with what is about to be committed: for the pre-commit hook."""
        from wakebook.history.githooks import before_commit

        self.home.require()
        return before_commit(self.home, self.config)

    def refresh(self) -> None:
        """Bring the index up to date, as far as that goes: for the post-commit hook."""
        self.home.require()
        self._quietly("index", self._index.sync)

    def push(self) -> Pushed | None:
        """Push to the remote that config.toml names, if it is time to."""
        from wakebook.history.push import push

        self.home.require()
        repository = self.history().repository
        if repository is None:
            return None
        return push(self.home, self.config, repository, clock.now())


__all__ = [
    "Commit",
    "Difference",
    "Dropped",
    "Exploration",
    "Learned",
    "Moment",
    "Past",
    "Problem",
    "Pushed",
    "Rewrite",
    "Snapshot",
    "Undone",
]
