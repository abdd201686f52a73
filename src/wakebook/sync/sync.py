"""Sync: the handle of this room. Which remote there is, and what machines have said."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from datetime import datetime
from typing import IO, TYPE_CHECKING

import msgspec

from wakebook.base.errors import GitError, WakebookError
from wakebook.capture.project import load as known
from wakebook.history.timeline import Timeline
from wakebook.opened import Opened
from wakebook.sync import carry, machine, together
from wakebook.sync.machine import Seen
from wakebook.sync.together import Exchange
from wakebook.sync.went import Went, load, save

if TYPE_CHECKING:
    from wakebook.history.repository import Repository
    from wakebook.notes.notes import Notes
    from wakebook.sync.heal import Wound
    from wakebook.sync.share import Shared


class Machines(msgspec.Struct, frozen=True, kw_only=True):
    """How syncing stands."""

    remote: str
    me: str  # this machine's id
    machines: tuple[Seen, ...]
    agree: bool  # all of them have the same files
    went: Went
    waiting: int  # files that have not been committed


class Syncing:
    def __init__(
        self,
        opened: Opened,
        history: Timeline,
        notes: Notes,
        followed: Callable[[], object],
        init: Callable[[], object],
    ) -> None:
        """`followed`: does what follows from another log. `init`: completes a home."""
        self._opened, self._history, self._notes = opened, history, notes
        self._followed, self._init = followed, init

    def _after(self, files: Collection[str] | None) -> None:
        index, quietly = self._opened.index, self._opened.quietly
        if files is None:
            index.changed()
            quietly("index", index.sync)
        else:
            quietly("notes", lambda: self._notes.update(changed=files))
            self._followed()

    @property
    def remote(self) -> str:
        """The remote that was added; nothing if there is none."""
        return machine.this(self._opened.home).remote

    def add(
        self, remote: str, *, name: str = "", sealed: bool = False, token: str = ""
    ) -> Exchange:
        """Sync with this remote from now on, and for the first time now. `token`: of a tenant, if
        the remote is a server for teams."""
        home, repository = self._opened.home, self._repository()
        if token and sealed:
            raise GitError("A server for teams reads what it keeps: it cannot be sealed.")
        remote = carry.address(remote, token)
        carry.asked(repository, remote)  # a wrong one is said at once
        before = machine.this(home)
        if sealed:
            self.key()
        chosen = name or before.name
        machine.change(home, remote=remote, token=token, sealed=sealed, name=chosen, paused=False)
        try:
            return self()
        except WakebookError:
            machine.write(home, before)
            raise

    def remove(self) -> str:
        """Sync no more. What is there stays, here and on the remote."""
        before = self.remote
        machine.change(self._opened.home, remote="", token="")
        return before

    def __call__(
        self,
        remote: str = "",
        *,
        dry: bool = False,
        even_so: bool = False,
        seconds: float = carry.SECONDS,
    ) -> Exchange:
        chosen = carry.address(remote) if remote else self.remote
        if not chosen:
            raise GitError(
                "There is no remote yet. `wakebook sync add REMOTE` adds one: an empty private "
                "git repository, or a folder that `git init --bare` has made."
            )
        if machine.this(self._opened.home).paused and not dry:
            machine.change(self._opened.home, paused=False)
        return together.sync(
            self._opened,
            self._history.git(),
            chosen,
            after=self._after,
            dry=dry,
            even_so=even_so,
            seconds=seconds,
        )

    def clone(self, remote: str, *, key: str = "", name: str = "", token: str = "") -> Exchange:
        """A home on a new machine, from what others have pushed."""
        from wakebook.sync.clone import clone

        home, remote = self._opened.home, carry.address(remote, token)
        clone(home, remote, key)
        self._init()
        chosen = name or machine.name()
        machine.change(home, remote=remote, token=token, sealed=bool(key), name=chosen)
        self._after(None)
        return self()

    def start(self, seconds: float = 0.0) -> bool:
        """Sync in a process of its own, if a remote was added and the last sync is a while ago.
        Waits for it so long at most. Whether it has ended by then."""
        from wakebook.sync.behind import start

        return start(self._opened.home, seconds)

    def brought(self) -> datetime | None:
        """When the last sync came that has brought something and can be taken back."""
        return load(self._opened.home).brought

    def clashes(self) -> tuple[str, ...]:
        """What a person should look at, because two machines have changed the same."""
        return load(self._opened.home).notes

    def settle(self, *names: str) -> tuple[str, ...]:
        """Say that these were looked at: by file, or all of them."""
        known = load(self._opened.home)
        left = tuple(one for one in known.notes if names and not one.startswith(names))
        if left != known.notes:
            save(self._opened.home, msgspec.structs.replace(known, notes=left))
        return tuple(one for one in known.notes if one not in left)

    def ask_again(self, notes: Iterable[str]) -> None:
        """Say that these were not looked at after all."""
        known = load(self._opened.home)
        left = tuple(dict.fromkeys((*known.notes, *notes)))
        save(self._opened.home, msgspec.structs.replace(known, notes=left))

    def heal(self) -> list[Wound]:
        """Put together what file-sync tools and plain merges have left. Committed before."""
        from wakebook.sync.heal import heal, wounds

        opened, git = self._opened, self._history.git()
        if not wounds(opened.home):
            return []
        with opened.writing():
            git.backup("before healing", git.waiting())
            done = heal(opened.home)
        self._after([name for one in done for name in (one.path, one.of)])
        return done

    def undo(self) -> Exchange:
        """Take back what the last sync has brought. The next one is made by hand."""
        done = together.take_back(self._opened, self._history.git(), self.remote)
        machine.change(self._opened.home, paused=True)
        self._after((*done.changed, *done.gone))
        return done

    def key(self, given: str = "") -> str:
        """The key of a sealed remote; `given`: that of another machine."""
        from wakebook.sync.sealed import key

        self._opened.home.require()
        return key(self._opened.home, given)

    def share(self, remote: str, *, subject: str = "", project: str = "") -> Shared:
        """Give what holds about a subject, or in a project, to others."""
        from wakebook.log.query import Query, pick
        from wakebook.sync.share import give

        opened = self._opened
        registry, chains = opened.registry(), opened.chains()
        remote = carry.address(remote)
        if bool(subject) == bool(project):
            raise WakebookError("Name what is shared: a subject, or a project.")
        projects = (known(opened.home).find(project),) if project else ()
        slugs = (registry.get(subject).slug,) if subject else ()
        wanted = Query(subjects=slugs, projects=projects)
        found = pick(chains, wanted, registry.aliases())
        return give(
            self._repository(), remote, machine.this(opened.home), subject or project, found
        )

    def take(self, remote: str) -> list[Shared]:
        """Have what others share at a remote wait for review."""
        from wakebook.sync.share import take

        opened = self._opened
        with opened.writing():
            me, remote = machine.this(opened.home), carry.address(remote)
            return take(self._repository(), opened.home, remote, me, opened.chains())

    def standing(self, *, ask: bool = True) -> Machines:
        """How syncing stands; `ask`: what the remote knows of other machines."""
        repository, me = self._repository(), machine.this(self._opened.home)
        if ask and me.remote:
            with suppress(carry.Offline):  # what was last known is shown
                together.fetched(self._opened.home, repository, me.remote, carry.SECONDS)
        seen = machine.others(repository)
        head = repository.head()
        files = repository.resolve_tree(head) if head else ""
        waiting = len(self._history.git().waiting())
        return Machines(
            remote=me.remote,
            me=me.id,
            machines=tuple(seen),
            agree=not waiting and {one.files for one in seen} <= {files},
            went=load(self._opened.home),
            waiting=waiting,
        )

    # --- as the remote of other machines ---------------------------------------------------------

    def offered(self, service: str, protocol: str, ours: bool) -> bytes:
        """See host.py."""
        from wakebook.sync import host

        return host.offered(self._opened, self._history.git(), service, protocol, ours)

    def given(self, asked: IO[bytes], protocol: str) -> bytes:
        from wakebook.sync import host

        return host.given(self._history.git(), asked, protocol)

    def taken(self, pushed: IO[bytes], protocol: str, may_erase: Callable[[], None]) -> bytes:
        from wakebook.sync import host

        git = self._history.git()
        return host.taken(
            self._opened, git, pushed, protocol, after=self._after, may_erase=may_erase
        )

    def _repository(self) -> Repository:
        return self._history.git().required()
