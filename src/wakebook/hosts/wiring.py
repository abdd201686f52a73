"""Wiring: a host is told about Wakebook, and back again.

A plan says what changes, byte by byte, before anything does. Whatever is touched is first kept
in the home (hosts/HOST/backup/), with a list of it, so that `undo` can put it back: the very
bytes, if the file is as we left it; otherwise without our part, and with everything that its
owner has changed since.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import msgspec

from wakebook.base.errors import NotFound, WakebookError
from wakebook.hosts import settings
from wakebook.learn.account import UNACCOUNTED
from wakebook.memory import Memory
from wakebook.upkeep.doctor import Check

HOSTS = ("openclaw", "claude-code", "codex", "pi")
LIST = "wired.json"
SECONDS = 120.0  # for a host's own command
PACKAGES = Path(__file__).parents[2]
# -S leaves out what Python looks for at its start, which takes longer than a call to the service;
# -I keeps the user's project and environment out. If all this is gone one day, Python says so
# with exit code 1; for a script that is not there it would be 2, which blocks every prompt.
QUICKLY = "import sys; sys.path[:0] = [sys.argv.pop(1)]; from wakebook.__main__ import main; main()"


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


class Change(msgspec.Struct, frozen=True):
    """A file of the host. None: there is no such file."""

    path: Path
    before: bytes | None
    after: bytes | None


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    changes: tuple[Change, ...] = ()
    files: dict[str, bytes] = {}  # our own, relative to `Where.folder`
    commands: tuple[tuple[str, ...], ...] = ()
    undo_commands: tuple[tuple[str, ...], ...] = ()
    touched: tuple[Path, ...] = ()  # files and folders that the commands may change
    settings: dict[str, Any] = {}  # of config.toml: "section.name" -> value
    notes: tuple[str, ...] = ()
    by_hand: bool = False  # the user has to do the rest: the notes say what


class Host(Protocol):
    NAME: str
    LABEL: str

    def plan(self, where: Where) -> Plan: ...
    def without(self, where: Where, path: Path, data: bytes) -> bytes | None: ...
    def checks(self, where: Where, memory: Memory) -> list[Check]: ...


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """A file or folder as it was before, and as we left it."""

    path: str
    before: str = ""  # the name of its backup; empty: it was not there
    after: str = ""  # a digest; empty: it is not there
    folder: bool = False
    made: tuple[str, ...] = ()  # folders above it that were not there
    mode: int = 0  # its permissions
    changed: bool = False  # by its owner, between two wirings: its backup is not all of it


class Wired(msgspec.Struct, frozen=True, kw_only=True):
    """What was done, for whoever undoes it."""

    version: str
    kept: tuple[Kept, ...] = ()
    files: tuple[str, ...] = ()
    undo_commands: tuple[tuple[str, ...], ...] = ()
    settings: dict[str, str | None] = {}  # of config.toml: the lines that were there
    config_before: str = ""  # config.toml as it was
    config_after: str = ""  # its digest as we left it; empty: it has been changed since


def host(name: str) -> Host:
    """The module of a host."""
    from importlib import import_module

    if name not in HOSTS:
        raise WakebookError(f"There is no host {name!r}. There are: {', '.join(HOSTS)}.")
    found: Any = import_module(f"wakebook.hosts.{name.replace('-', '_')}")
    return found  # type: ignore[no-any-return]


def where(memory: Memory, name: str) -> Where:
    import sys

    home = memory.home.root
    return Where(
        home=home,
        # -P: hosts run it in the user's project, whose files must not pass for modules
        command=(sys.executable, "-P", "-m", "wakebook"),
        quick=(sys.executable, "-I", "-S", "-c", QUICKLY, str(PACKAGES), "hook"),
        user=Path.home(),
        env=dict(os.environ),
        folder=home / "hosts" / name,
    )


def behind(memory: Memory, name: str) -> Check:
    """Whether all sessions of a host are read: the last of what `doctor` looks at."""
    accounts = [one for one in memory.audit() if one.ref.startswith(f"{name}/")]
    left = [one for one in accounts if one.status in UNACCOUNTED]
    if not left:
        return Check(f"{name} sessions", "ok", f"{len(accounts)}, nothing behind")
    said = f"{len(left)} of {len(accounts)} sessions are not read to their end"
    return Check(f"{name} sessions", "warn", said, "wakebook catch-up")


# --- there -------------------------------------------------------------------------------


def wire(
    memory: Memory, name: str, plan: Plan, told: Callable[[str], None] = lambda line: None
) -> list[str]:
    """Do what a plan says. Notes on what did not go as planned; raises before it half does it."""
    place = where(memory, name)
    home = memory.home
    with home.locked():
        for change in plan.changes:
            if read(change.path) != change.before:
                raise WakebookError(f"{change.path} has changed this moment. Try again.")
        earlier = wired(memory, name) or Wired(version="")
        # the first backup is the one that counts
        known = {one.path: _looked_at(one) for one in earlier.kept}
        paths = [one.path for one in plan.changes] + list(plan.touched)
        fresh = [_keep(memory, name, path) for path in paths if str(path) not in known]
        planned = {str(one.path): _sum(one.after) for one in plan.changes}
        kept = [*known.values(), *fresh]
        was = home.config.read_bytes().decode("utf-8")
        text, lines = _settled(was, plan.settings)
        digest = hashlib.sha256(was.encode()).hexdigest()
        same = not earlier.settings or digest == earlier.config_after
        done = Wired(
            version=_version(),
            kept=tuple(_left(one, planned) for one in kept),  # if we get no further
            files=tuple(plan.files),
            undo_commands=plan.undo_commands,
            settings=lines | earlier.settings,
            config_before=earlier.config_before or was,
            config_after=hashlib.sha256(text.encode()).hexdigest() if same else "",
        )
        _save(memory, name, done)
        for file in set(earlier.files) - set(plan.files):
            (place.folder / file).unlink(missing_ok=True)
        for file, data in plan.files.items():
            home.replace(place.folder / file, data)
        for change in plan.changes:
            _write(change.path, change.after)
        if text != was:
            home.replace(home.config, text)
    notes = [note for command in plan.commands if (note := _run(command, told))]
    with home.locked():
        left = tuple(msgspec.structs.replace(one, after=_digest(Path(one.path))) for one in kept)
        _save(memory, name, msgspec.structs.replace(done, kept=left))
    return notes


def wired(memory: Memory, name: str) -> Wired | None:
    """What was done for a host; None if nothing was."""
    path = where(memory, name).folder / LIST
    try:
        return msgspec.json.decode(path.read_bytes(), type=Wired)
    except FileNotFoundError:
        return None
    except msgspec.MsgspecError as error:
        raise WakebookError(
            f"{path} cannot be read: {error}. Its backups lie beside it."
        ) from error


def _keep(memory: Memory, name: str, path: Path) -> Kept:
    """What a path holds now, put aside."""
    made, above = [], path.parent
    while not above.exists():
        made.append(str(above))
        above = above.parent
    kept = Kept(path=str(path), folder=path.is_dir(), made=tuple(made))
    data = read(path)
    if data is None or kept.folder:
        return kept
    backup = f"{hashlib.sha256(os.fsencode(path)).hexdigest()[:8]}-{path.name}"
    memory.home.replace(where(memory, name).folder / "backup" / backup, data)
    return msgspec.structs.replace(kept, before=backup, mode=path.stat().st_mode & 0o777)


def _left(one: Kept, planned: Mapping[str, str]) -> Kept:
    """As it will be when everything is done."""
    return msgspec.structs.replace(one, after=planned.get(one.path, one.after))


def _looked_at(one: Kept) -> Kept:
    """With a note, if it is not as we left it."""
    same = not one.changed and _digest(Path(one.path)) == one.after
    return msgspec.structs.replace(one, changed=not same)


def _save(memory: Memory, name: str, done: Wired) -> None:
    data = msgspec.json.format(msgspec.json.encode(done), indent=2)
    memory.home.replace(where(memory, name).folder / LIST, data + b"\n")


# --- and back ----------------------------------------------------------------------------


def unwire(memory: Memory, name: str, told: Callable[[str], None] = lambda line: None) -> list[str]:
    """Put everything back. Notes on what somebody should look at."""
    done = wired(memory, name)
    if done is None:
        raise NotFound(f"{name} is not wired to this home. `wakebook init --host {name}` does it.")
    ours = [one for one in done.kept if not _looked_at(one).changed]
    home = where(memory, name).home
    others = any(_of_another(one, home) for one in done.kept if one not in ours)
    # looked at before: the host's own command may leave traces in them
    if others:
        notes = [f"{host(name).LABEL} is wired to another home by now: that stays as it is."]
    else:
        notes = [note for command in done.undo_commands if (note := _run(command, told))]
    with memory.home.locked():
        _put_back(
            memory, name, [one for one in done.kept if one in ours or not others], ours, notes
        )
        _reset(memory, done)
        shutil.rmtree(where(memory, name).folder)
    return notes


def _put_back(
    memory: Memory, name: str, kept: Sequence[Kept], ours: Sequence[Kept], notes: list[str]
) -> None:
    for one in kept:
        path = Path(one.path)
        if one.folder:
            continue
        if path.is_dir():
            if not one.before:
                shutil.rmtree(path)
        elif one in ours:
            _write(path, _backup(memory, name, one), one.mode)
        else:
            _take_out(memory, name, one, notes)
        _beside(path).unlink(missing_ok=True)  # of a wiring that was killed
        for folder in map(Path, one.made):
            with suppress(OSError):
                folder.rmdir()  # only an empty one goes


def _of_another(one: Kept, home: Path) -> bool:
    """Whether a host's settings have a Wakebook in them, but not that of this home."""
    path = Path(one.path)
    data = read(path) if path.suffix in (".json", ".toml", ".js") else None
    if data is None or b"wakebook" not in data:
        return False
    text = data.decode("utf-8", "replace")
    names = {
        str(home),
        json.dumps(str(home))[1:-1],
        json.dumps(str(home), ensure_ascii=False)[1:-1],
    }
    return not any(name in text for name in names)


def _take_out(memory: Memory, name: str, one: Kept, notes: list[str]) -> None:
    """Our part of a file that was changed since."""
    path = Path(one.path)
    data, before = read(path), _backup(memory, name, one)
    if data is None or data == before:
        return
    left = host(name).without(where(memory, name), path, data)
    if left is not None and before is not None and _same(left, before):
        left = before
    if left is None and before is not None:
        left = before
    if left != data:
        _write(path, left, one.mode)
    if left not in (before, data):
        notes.append(f"{path} has been changed since: only our part was taken out.")


def _backup(memory: Memory, name: str, one: Kept) -> bytes | None:
    if not one.before:
        return None
    return (where(memory, name).folder / "backup" / one.before).read_bytes()


def _same(left: bytes, right: bytes) -> bool:
    """Whether two texts mean the same, as JSON or as TOML."""
    import tomllib

    for read in (json.loads, tomllib.loads):
        with suppress(ValueError):
            return bool(read(left.decode()) == read(right.decode()))
    return False


# --- our own settings --------------------------------------------------------------------


def _settled(text: str, wanted: Mapping[str, Any]) -> tuple[str, dict[str, str | None]]:
    """config.toml with these settings, and the lines that it had."""
    before: dict[str, str | None] = {}
    for name, value in wanted.items():
        text, before[name] = settings.put(text, name, value)
    return text, before


def _reset(memory: Memory, done: Wired) -> None:
    """config.toml as it was: the very bytes, if it is as we left it."""
    if not done.settings:
        return
    path = memory.home.config
    was = path.read_bytes()
    if hashlib.sha256(was).hexdigest() == done.config_after:
        memory.home.replace(path, done.config_before)
        return
    text = was.decode("utf-8")
    for name, line in done.settings.items():
        text, _ = settings.lines(text, name, line)
    if text.encode() != was:
        memory.home.replace(path, text)


# --- files and commands ------------------------------------------------------------------


def read(path: Path) -> bytes | None:
    """A host's file; None if there is none. Raises WakebookError if it cannot be read."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
    except OSError as error:
        raise WakebookError(f"{path} cannot be read: {error.strerror}.") from error


def _beside(path: Path) -> Path:
    return path.resolve().with_name(f".{path.resolve().name}.wakebook")


def _write(path: Path, data: bytes | None, mode: int = 0) -> None:
    """A host's file, whole, with the permissions that it has or had. A link stays a link."""
    path = path.resolve()
    if data is None:
        path.unlink(missing_ok=True)
        return
    try:
        mode = path.stat().st_mode & 0o777 if path.exists() else mode or 0o600
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = _beside(path)
        fresh.unlink(missing_ok=True)
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(descriptor)
        fresh.chmod(mode)
        fresh.replace(path)
    except OSError as error:
        raise WakebookError(f"{path} cannot be written: {error.strerror}.") from error


def _digest(path: Path) -> str:
    return _sum(read(path)) or "folder" * path.is_dir()


def _sum(data: bytes | None) -> str:
    return hashlib.sha256(data).hexdigest() if data is not None else ""


def _run(command: tuple[str, ...], told: Callable[[str], None]) -> str:
    """Run a host's own command. What went wrong, if something did."""
    shown = " ".join(command)
    told(shown)
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"`{shown}` could not be run: {error}. Run it by hand."
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip())[-300:]
        return f"`{shown}` failed: {said}. Run it by hand."
    return ""


def _version() -> str:
    from wakebook import __version__

    return __version__
