"""Sync: the handle of this room. Which remote there is, and what machines have said."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from wakebook.base.errors import GitError
from wakebook.history.timeline import Timeline
from wakebook.opened import Opened
from wakebook.sync import carry, machine, together
from wakebook.sync.machine import Seen
from wakebook.sync.together import Synced, Went

if TYPE_CHECKING:
    from wakebook.history.repository import Repository


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """How syncing stands."""

    remote: str
    me: str  # this machine's id
    machines: tuple[Seen, ...]
    agree: bool  # all of them have the same files
    went: Went
    waiting: int  # files that have not been committed


class Sync:
    def __init__(self, opened: Opened, history: Timeline, after: Callable[[], object]) -> None:
        self._opened, self._history, self._after = opened, history, after

    @property
    def remote(self) -> str:
        """The remote that was added; nothing if there is none."""
        return machine.this(self._opened.home).remote

    def add(self, remote: str, name: str = "") -> Synced:
        """Sync with this remote from now on, and for the first time now."""
        repository = self._repository()
        if not remote.strip() or remote.startswith("-"):
            raise GitError(f"{remote!r} is no remote. Give an address or a folder, like git does.")
        carry.asked(repository, remote)  # a wrong one is said at once
        done = self(remote)
        machine.change(self._opened.home, remote=remote, **({"name": name} if name else {}))
        return done

    def remove(self) -> str:
        """Sync no more. What is there stays, here and on the remote."""
        before = self.remote
        machine.change(self._opened.home, remote="")
        return before

    def __call__(
        self,
        remote: str = "",
        *,
        dry: bool = False,
        even_so: bool = False,
        seconds: float = carry.SECONDS,
    ) -> Synced:
        chosen = remote or self.remote
        if not chosen:
            raise GitError(
                "There is no remote yet. `wakebook sync add REMOTE` adds one: an empty private "
                "git repository, or a folder that `git init --bare` has made."
            )
        return together.sync(
            self._opened,
            self._history.git(),
            chosen,
            after=self._after,
            dry=dry,
            even_so=even_so,
            seconds=seconds,
        )

    def standing(self, *, ask: bool = True) -> Standing:
        """How syncing stands; `ask`: what the remote knows of other machines."""
        repository, me = self._repository(), machine.this(self._opened.home)
        if ask and me.remote:
            carry.fetch(repository, me.remote)
        seen = machine.others(repository)
        head = repository.head()
        files = repository.git("rev-parse", f"{head}^{{tree}}").strip() if head else ""
        waiting = len(self._history.git().waiting())
        return Standing(
            remote=me.remote,
            me=me.id,
            machines=tuple(seen),
            agree=not waiting and {one.files for one in seen} <= {files},
            went=together.load(self._opened.home),
            waiting=waiting,
        )

    def _repository(self) -> Repository:
        return self._history.git().required()
