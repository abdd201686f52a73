"""Timeline: the handle of this room. What git knows about the home, and moments of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from wakebook.base import clock
from wakebook.base.errors import NotFound

if TYPE_CHECKING:
    from datetime import datetime

    from wakebook.base.config import Config
    from wakebook.base.home import Home
    from wakebook.history.branches import Dropped, Exploration, Snapshot
    from wakebook.history.githooks import Problem
    from wakebook.history.history import History
    from wakebook.history.past import Change, Difference, Learned, Moment
    from wakebook.history.push import Pushed
    from wakebook.history.repository import Repository
    from wakebook.models.chat import Models
    from wakebook.opened import Opened


LOOSE = 64 << 20  # bytes of loose objects that are left as they are
TURNS = 120  # of conversations that are looked at, the most alike first
Bring = Callable[[Sequence[str]], None]


class Timeline:
    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        self._home = opened.home
        self._repository: Repository | None = None

    def git(self, models: Models | None = None) -> History:
        """What goes into git, and when."""
        from wakebook.history.history import History

        opened = self._opened
        found = History(self._home, opened.config, models or opened.models, self._repository)
        self._repository = found.repository  # looking for it takes a process
        return found

    def commit(self, summary: str = "") -> str | None:
        """Commit every change now, except transcripts that are still being written."""
        self._opened.settle()
        return self.git().now(clock.now(), summary)

    def plan_commit(self, summary: str = "") -> Models:
        """The models, not asked, with what they would be asked for a commit's message."""
        models = self._opened.models.unasked()
        if not summary:
            self.git(models).proposal()
        return models

    # --- the past ----------------------------------------------------------------------------

    def when(self, text: str) -> Learned:
        """When something was said, and when it came into the files."""
        from datetime import UTC, datetime

        from wakebook.history.past import Said, when
        from wakebook.log.query import Query

        opened = self._opened
        query = Query(text=text, categories=("conversation",))
        found = opened.index.passages(query, clock.now(), TURNS).found if text.strip() else ()
        turns = (
            Said(
                at=datetime.fromtimestamp(one.row.at, UTC),
                session=one.session,
                speaker=one.row.speaker,
                text=one.content,
                ref=one.ref,
            )
            for one in found
        )
        return when(self.git(), opened.chains().entries, text, turns)

    def diff(self, since: str, until: str = "", *, stat: bool = False) -> Difference:
        """What has changed in knowledge/ and in the log since a day, an age or a tag."""
        from wakebook.history.past import difference

        self._home.require()
        opened = self._opened
        return difference(
            self.git(), since, until, opened.now(), lambda: opened.chains().entries, stat=stat
        )

    def changed_since(self, since: str) -> list[Change]:
        """The notes that have changed since a day, an age or a tag."""
        from wakebook.history.past import changes

        return changes(self.git().required(), self._then(since), "", ("knowledge",))

    def patch_since(self, since: str, note: str) -> str:
        """What has changed in one note."""
        from wakebook.history.past import patch

        return patch(self.git().required(), self._then(since), "", (note,))

    def changed_by(self, commit: str) -> list[Change]:
        """The files that a commit has changed."""
        from wakebook.history.past import changes

        return changes(self.git().required(), f"{commit}^", commit, (".",))

    def _then(self, since: str) -> str:
        """The commit of a moment; the empty tree before the first one."""
        from wakebook.history.past import empty_tree, find

        repository = self.git().required()
        found = find(repository, since, self._opened.now())
        return found.commit.id if found.commit else empty_tree(repository)

    @contextmanager
    def then(self, when: str) -> Iterator[tuple[Home, Config, Moment, Bring]]:
        """The home as it was at a moment, to be read and thrown away, and its settings. With it
        come the moment, and a function that brings conversations into it."""
        from wakebook.history.past import extracted, find

        self._home.require()
        opened, repository = self._opened, self.git().required()
        found = find(repository, when, opened.now(), end=True)
        if found.commit is None:
            raise NotFound(f"Nothing was committed before {found.name}: git knows no earlier home.")
        config = opened.config
        quiet = config.with_(
            git=config.git.with_(enabled=False),
            briefing=config.briefing.with_(memory_file=""),
            embedding=config.embedding.with_(provider="none"),
        )
        with extracted(self._home, repository, found.commit) as (home, bring):
            yield home, quiet, found, bring

    # --- names and branches ------------------------------------------------------------------

    def snapshot(self, name: str, *, before: bool = False) -> Snapshot:
        """Give this moment a name: commit what waits, and tag it."""
        from wakebook.history.branches import snapshot

        with self._opened.writing():
            return snapshot(self.git(), name, clock.now(), before)

    def explore(self, name: str) -> Exploration:
        """A branch to try something out, in a home of its own."""
        from wakebook.history.branches import explore

        with self._opened.writing():
            return explore(self.git(), name, clock.now())

    def explorations(self) -> list[Exploration]:
        from wakebook.history.branches import explorations

        self._home.require()
        return explorations(self.git())

    def drop(self, name: str) -> Dropped:
        """Put an exploration away; a tag keeps it."""
        from wakebook.history.branches import drop

        with self._opened.writing():
            return drop(self.git(), name)

    def put_away(self, now: datetime) -> list[Dropped]:
        """Put explorations away that have not changed for a while."""
        from wakebook.history.branches import prune

        with self._opened.writing():
            return prune(self.git(), now, self._opened.config.git.explore_days)

    def tag(self, now: datetime, least: int = LOOSE) -> str:
        """Tag the day of `now`, and the week of the last Sunday if it has no tag yet; pack what the
        day's commits have left, if it is at least so many bytes."""
        from wakebook.history import branches

        with self._opened.writing():
            git = self.git()
            done = [one for one in (branches.daily(git, now), branches.weekly(git, now)) if one]
            saved = git.repository.pack(least) if git.repository else 0
        packed = f"; history packed, {saved >> 20} MB less" if saved else ""
        return (f"tagged {', '.join(done)}" if done else "nothing new to tag") + packed

    # --- git's own hooks, and other machines -------------------------------------------------

    def check_staged(self) -> list[Problem]:
        """What is wrong with what is about to be committed: for the pre-commit hook."""
        from wakebook.history.githooks import before_commit

        self._home.require()
        return before_commit(self._home, self._opened.config)

    def push(self) -> Pushed | None:
        """Push to the remote that config.toml names, if it is time to."""
        from wakebook.history.push import push

        self._home.require()
        repository = self.git().repository
        if repository is None:
            return None
        return push(self._home, self._opened.config, repository, clock.now())
