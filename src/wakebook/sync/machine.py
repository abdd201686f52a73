"""Machine: which one this is, and what others have said of themselves.

A machine has an id of its own in state that is not in git (machine.json). After each sync it tells
the remote which files it has (a hash of all of them), under a ref that only it writes: so all
machines can see whether they agree, and none of it is part of the memory's history.
"""

from __future__ import annotations

import os
import socket
from datetime import datetime

import msgspec

from wakebook.base import clock
from wakebook.base.decode import decode
from wakebook.base.errors import GitError
from wakebook.base.home import Home
from wakebook.history.repository import Repository
from wakebook.sync import carry

FILE = "machine.json"
FORMAT = 1  # of what is synced: an older Wakebook must not merge what it does not know


class Machine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    id: str
    name: str
    remote: str = ""  # that it syncs with
    token: str = ""  # which the remote wants, if it is a server for teams
    sealed: bool = False  # the remote must not be able to read it
    paused: bool = False  # a sync was taken back: the next one is made by hand


class Seen(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a machine has said of itself."""

    id: str
    name: str
    at: datetime
    files: str  # a hash of all of them
    entries: int = 0
    version: str = ""
    format: int = 1


def name() -> str:
    """What a machine is called that has been given no name."""
    return socket.gethostname().partition(".")[0] or "machine"


def this(home: Home) -> Machine:
    """This machine; it gets its id when it is first asked for."""
    path = home.root / FILE
    try:
        found = decode(path.read_bytes(), Machine)
        carry.let_in(found.remote, found.token)
        return found
    except (FileNotFoundError, msgspec.MsgspecError, UnicodeDecodeError):
        return write(home, Machine(id=os.urandom(6).hex(), name=name()))


def change(home: Home, **values: str | bool) -> Machine:
    return write(home, msgspec.structs.replace(this(home), **values))


def write(home: Home, made: Machine) -> Machine:
    home.replace(home.root / FILE, msgspec.json.encode(made) + b"\n")
    return made


def said(repository: Repository, machine: Machine, files: str, entries: int) -> str:
    """A commit in which this machine says what it has."""
    from wakebook.version import __version__

    seen = Seen(
        id=machine.id,
        name=machine.name,
        at=clock.now(),
        files=files,
        entries=entries,
        version=__version__,
        format=FORMAT,
    )
    blob = carry.keep(repository, FILE, msgspec.json.encode(seen) + b"\n")
    before = repository.resolve(f"{carry.MACHINES}{machine.id}")
    return carry.commit(
        repository,
        {FILE: carry.File("100644", blob)},
        "",
        f"machine: {machine.name}",
        [before] if before else [],
    )


def check(repository: Repository, remote: str) -> None:
    """Refuse what a newer Wakebook has written. Raises GitError."""
    newer = next((one for one in others(repository) if one.format > FORMAT), None)
    if newer:
        raise GitError(
            f"{remote} was written by a newer Wakebook ({newer.version} on {newer.name}). Upgrade "
            "the one on this machine, then sync. Nothing was changed."
        )


def others(repository: Repository) -> list[Seen]:
    """Every machine that has said something, the last one first."""
    names = repository.git("for-each-ref", "--format=%(refname)", carry.MACHINES).split()
    found = [repository.show(name, FILE) for name in names]
    seen = []
    for data in found:
        try:
            seen.append(decode(data or b"", Seen))
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue
    return sorted(seen, key=lambda one: one.at, reverse=True)
