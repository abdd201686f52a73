"""Plan: what wiring a host changes, byte by byte, before anything does; and what a host is."""

import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec

from wakebook.base import config
from wakebook.base.errors import WakebookError
from wakebook.learn.account import UNACCOUNTED
from wakebook.memory import Memory
from wakebook.upkeep.doctor import Check, State


class Where(msgspec.Struct, frozen=True, kw_only=True):
    """Where everything is."""

    home: Path  # of Wakebook
    command: tuple[str, ...]  # that runs wakebook, from anywhere
    user: Path  # the user's home folder
    env: Mapping[str, str]
    folder: Path  # our own files for this host
    quick: tuple[str, ...] = ()  # the same for `wakebook hook`, in less time

    @property
    def hook(self) -> tuple[str, ...]:
        return self.quick or (*self.command, "hook")

    @property
    def config(self) -> config.Config:
        return config.load(self.home / "config.toml")

    def which(self, program: str) -> str | None:
        return shutil.which(program, path=self.env.get("PATH", ""))


class Change(msgspec.Struct, frozen=True):
    """A file of the host. None: there is no such file."""

    path: Path
    before: bytes | None
    after: bytes | None


class Wires(msgspec.Struct, frozen=True, kw_only=True):
    changes: tuple[Change, ...] = ()
    files: dict[str, bytes] = {}  # our own, relative to `Where.folder`
    commands: tuple[tuple[str, ...], ...] = ()
    undo_commands: tuple[tuple[str, ...], ...] = ()
    touched: tuple[Path, ...] = ()  # files and folders that the commands may change
    settings: dict[str, Any] = {}  # of config.toml: "section.name" -> value
    notes: tuple[str, ...] = ()
    by_hand: bool = False  # the user has to do the rest: the notes say what


class HostModule(Protocol):
    """What the module of a host has. `without` gives one of its files, changed since it was wired,
    without our part (None: it was ours); `checks` is empty if the host is not used here."""

    def plan(self, where: Where) -> Wires: ...
    def without(self, where: Where, path: Path, data: bytes) -> bytes | None: ...
    def checks(self, where: Where, memory: Memory) -> list[Check]: ...


def read(path: Path) -> bytes | None:
    """A host's file; None if there is none. Raises WakebookError if it cannot be read."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
    except OSError as error:
        raise WakebookError(f"{path} cannot be read: {error.strerror}.") from error


def shipped(folder: Path) -> dict[str, bytes]:
    """The files that come with Wakebook for a host, by their path in this folder."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def sessions_in(where: Where, name: str, folder: Path) -> dict[str, Any]:
    """The setting by which Wakebook finds a host's sessions, if it does not look there anyway."""
    known = getattr(where.config.hosts, name)
    if folder in [config.expand(each) for each in known]:
        return {}
    return {f"hosts.{name}": [*known, str(folder)]}


def check(host: str, what: str, state: State, said: str, run: str | None = None) -> Check:
    """One thing about a host. Without `run`, connecting it anew mends it."""
    again = "" if state == "ok" else f"wakebook init --host {host}"
    return Check(f"{host} {what}".strip(), state, said, again if run is None else run)


def amiss(where: Where, words: Sequence[str]) -> str:
    """What is wrong with a command that a host runs for this home, if anything is."""
    if not where.which(words[0]):
        return f"runs {words[0]}, which is not there"
    home = words[words.index("--home") + 1] if "--home" in words[:-1] else ""
    if Path(home).expanduser().resolve() != where.home.resolve():
        return f"is for another home ({home or 'none is named'})"
    return ""


def tested(where: Where, program: str, measured: tuple[int, ...]) -> Check:
    """Whether a host is as new as the one that Wakebook was tested with."""
    name = f"{program} version"
    line = [program, "--version"]
    try:
        done = subprocess.run(line, env=where.env, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Check(name, "warn", f"`{program} --version` failed: {error}")
    said = done.stdout.strip() or done.stderr.strip()
    number = re.search(r"(\d+)\.(\d+)\.(\d+)", said)
    if number and tuple(map(int, number.groups())) < measured:
        wanted = ".".join(map(str, measured))
        old = f"{said} is older than {wanted}, with which Wakebook was tested"
        return Check(name, "note", old, f"{program} update")
    return Check(name, "ok", said)


def behind(memory: Memory, name: str) -> Check:
    """Whether all sessions of a host are read: the last of what `doctor` looks at."""
    accounts = [one for one in memory.audit() if one.ref.startswith(f"{name}/")]
    left = [one for one in accounts if one.status in UNACCOUNTED]
    if not left:
        return Check(f"{name} sessions", "ok", f"{len(accounts)}, nothing behind")
    said = f"{len(left)} of {len(accounts)} sessions are not read to their end"
    return Check(f"{name} sessions", "warn", said, "wakebook catch-up")
