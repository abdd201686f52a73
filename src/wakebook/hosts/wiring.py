"""Wiring: a host is told about Wakebook, and back again.

Whatever a plan touches is first kept in the home (hosts/HOST/backup/), with a list of it. `unwire`
puts it back: the very bytes, if the file is as we left it; otherwise it takes only our part out.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import msgspec
from msgspec.structs import replace

from wakebook.base.decode import decode, loads
from wakebook.base.errors import NotFound, WakebookError
from wakebook.base.home import PREFIX, Home
from wakebook.hosts import HOSTS, host, toml
from wakebook.hosts.events import about
from wakebook.hosts.plan import Where, Wires, check, read
from wakebook.memory import Memory
from wakebook.service import address, start, unit
from wakebook.upkeep.doctor import Check, examine
from wakebook.version import __version__

LIST = "wired.json"
SECONDS = 120.0  # for a host's own command
PACKAGES = Path(__file__).parents[2]
# -S leaves out what Python looks for at its start, which takes longer than a call to the service;
# -I keeps the user's project and environment out. If all this is gone one day, Python says so
# with exit code 1; for a script that is not there it would be 2, which blocks every prompt.
QUICKLY = "import sys; sys.path[:0] = [sys.argv.pop(1)]; from wakebook.__main__ import main; main()"

MOVED = {"wakebook.adapters.hosts.openclaw_cron": "wakebook.hosts.openclaw"}  # in older lists
Told = Callable[[str], None]  # hears of every command that is run


class WiredFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file or folder as it was before, and as we left it."""

    path: str
    before: str = ""  # the name of its backup; empty: it was not there
    after: str = ""  # a digest; empty: it is not there
    folder: bool = False
    made: tuple[str, ...] = ()  # folders above it that were not there
    mode: int = 0  # its permissions
    changed: bool = False  # by its owner, between two wirings: its backup is not all of it


class Wired(msgspec.Struct, frozen=True, kw_only=True):
    """What was done, so that it can be undone."""

    version: str
    kept: tuple[WiredFile, ...] = ()
    files: tuple[str, ...] = ()
    undo_commands: tuple[tuple[str, ...], ...] = ()
    by_hand: bool = False  # something was left to the user
    settings: dict[str, str | None] = {}  # of config.toml: the lines that were there
    config_before: str = ""  # config.toml as it was
    config_after: str = ""  # its digest as we left it; empty: it has been changed since


def where(memory: Memory, name: str) -> Where:
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


def examined(
    memory: Memory, host: str | None = None, *, quick: bool = False, ask: bool = False
) -> dict[str, list[Check]]:
    """All that `doctor` finds, by group; with a host, only how that one is wired."""
    found: dict[str, list[Check]] = {}
    if host is None:
        own, home = memory.doctor(quick=quick, ask=ask), memory.home
        if home.exists():
            own += examine([("service: process", lambda: address.checks(home, unit.here(home)))])
        for one in sorted(own, key=lambda one: one.name.startswith("round trip")):
            found.setdefault(one.name.partition(": ")[0], []).append(one)
    for name in HOSTS if host is None else (host,):
        checks = examine([(f"{name} wiring", partial(_checks, memory, name))])
        if not checks and host:
            said = "is not used here: neither its command nor its folder was found"
            checks = [check(name, "wiring", "note", said)]
        if checks:
            found[name] = checks
    return {group: [_within(group, one) for one in checks] for group, checks in found.items()}


def _checks(memory: Memory, name: str) -> list[Check]:
    """Nothing if the host is not installed, has never been run, and was not wired by us."""
    used = memory.home.exists() and seen(memory, name)
    return host(name).checks(where(memory, name), memory) if used else []


def seen(memory: Memory, name: str) -> str:
    """The program or the folder by which a host is known to be used here; empty if it is not."""
    place = where(memory, name)
    folders = [one for one in (folder(place, name), place.folder) if one.is_dir()]
    return place.which(about(name).program) or "".join(map(str, folders[:1]))


def folder(place: Where, name: str) -> Path:
    """Where a host has its own files."""
    variable, usual = about(name).folder
    return Path(place.env.get(variable) or place.user / usual)


def _within(group: str, one: Check) -> Check:
    """By its name in the group."""
    before, _, name = one.name.partition(": ")
    name = (name or before).removeprefix(f"{group} ").removeprefix(f"{group}: ")
    return replace(one, name=name)


def wired(memory: Memory, name: str) -> Wired | None:
    """What was done for a host; None if nothing was."""
    path = where(memory, name).folder / LIST
    try:
        return decode(path.read_bytes(), Wired)
    except FileNotFoundError:
        return None
    except msgspec.MsgspecError as error:
        said = f"{path} cannot be read: {error}. Its backups lie beside it."
        raise WakebookError(said) from error


def unfinished(memory: Memory, name: str) -> bool:
    """Whether a host is wired but for what the user has yet to do by hand."""
    done = wired(memory, name)
    left = done is not None and done.by_hand
    return left and any(one.state == "fail" for one in _checks(memory, name))


def wire(memory: Memory, name: str, plan: Wires, told: Told = lambda line: None) -> list[str]:
    """Do what a plan says. Notes on what did not go as planned; raises before it half does it."""
    place, home = where(memory, name), memory.home
    with home.locked():
        for change in plan.changes:
            if read(change.path) != change.before:
                raise WakebookError(f"{change.path} has changed this moment. Try again.")
        earlier = wired(memory, name) or Wired(version="")
        # the first backup is the one that counts
        known = {one.path: _looked_at(one) for one in earlier.kept}
        paths = [one.path for one in plan.changes] + list(plan.touched)
        fresh = [_keep(home, place, path) for path in paths if str(path) not in known]
        kept = [*known.values(), *fresh]
        planned = {str(one.path): _sum(one.after) for one in plan.changes}
        was = home.config.read_bytes().decode("utf-8")
        text, lines = was, {}
        for setting, value in plan.settings.items():
            text, lines[setting] = toml.put(text, setting, value)
        same = not earlier.settings or _sum(was.encode()) == earlier.config_after
        done = Wired(
            version=__version__,
            kept=tuple(replace(one, after=planned.get(one.path, one.after)) for one in kept),
            files=tuple(plan.files),
            undo_commands=plan.undo_commands,
            by_hand=plan.by_hand,
            settings=lines | earlier.settings,
            config_before=earlier.config_before or was,
            config_after=_sum(text.encode()) if same else "",
        )
        _save(home, place, done)  # if we get no further
        for file in set(earlier.files) - set(plan.files):
            (place.folder / file).unlink(missing_ok=True)
        for file, data in plan.files.items():
            home.replace(place.folder / file, data)
        for change in plan.changes:
            _write(home, change.path, change.after)
        if text != was:
            home.replace(home.config, text)
    notes = [note for command in plan.commands if (note := _run(command, told))]
    with home.locked():
        left = tuple(replace(one, after=_digest(Path(one.path))) for one in kept)
        _save(home, place, replace(done, kept=left))
    return notes


def unwire(memory: Memory, name: str, told: Told = lambda line: None) -> list[str]:
    """Put everything back. Notes on what the user should look at."""
    done = wired(memory, name)
    if done is None:
        raise NotFound(f"{name} is not wired to this home. `wakebook init --host {name}` does it.")
    place, home = where(memory, name), memory.home
    # looked at before: the host's own command may leave traces in them
    changed = [one for one in done.kept if _looked_at(one).changed]
    others = any(_of_another(one, place.home) for one in changed)
    if others:
        notes = [f"{about(name).label} is wired to another home by now: that stays as it is."]
    else:
        commands = [[MOVED.get(word, word) for word in one] for one in done.undo_commands]
        notes = [note for command in commands if (note := _run(command, told))]
    with home.locked():
        for one in done.kept:
            if one.folder or (one in changed and others):
                continue
            path = Path(one.path)
            if path.is_dir():
                if not one.before:
                    shutil.rmtree(path)
            elif one in changed:
                notes += _take_out(home, place, one)
            else:
                _write(home, path, _backup(place, one), one.mode)
            for leftover in path.resolve().parent.glob(f"{PREFIX}*.tmp"):  # of one that was killed
                leftover.unlink(missing_ok=True)
            for folder in map(Path, one.made):
                with suppress(OSError):
                    folder.rmdir()  # only an empty one goes
        notes += _reset(home, done)
        shutil.rmtree(place.folder)
    if address.look(home).by and not any((home.root / "hosts").glob(f"*/{LIST}")):
        start.stop(home)  # no hook is left that would ask it
    return notes


def _keep(home: Home, place: Where, path: Path) -> WiredFile:
    """What a path holds now, put aside."""
    made, above = [], path.parent
    while not above.exists():
        made.append(str(above))
        above = above.parent
    kept = WiredFile(path=str(path), folder=path.is_dir(), made=tuple(made))
    data = read(path)
    if data is None or kept.folder:
        return kept
    backup = f"{hashlib.sha256(os.fsencode(path)).hexdigest()[:8]}-{path.name}"
    home.replace(place.folder / "backup" / backup, data)
    return replace(kept, before=backup, mode=path.stat().st_mode & 0o777)


def _looked_at(one: WiredFile) -> WiredFile:
    """With a note, if it is not as we left it."""
    return replace(one, changed=one.changed or _digest(Path(one.path)) != one.after)


def _save(home: Home, place: Where, done: Wired) -> None:
    data = msgspec.json.format(msgspec.json.encode(done), indent=2)
    home.replace(place.folder / LIST, data + b"\n")


def _of_another(one: WiredFile, home: Path) -> bool:
    """Whether a host's settings have a Wakebook in them, but not that of this home."""
    path = Path(one.path)
    data = read(path) if path.suffix in (".json", ".toml", ".js") else None
    if data is None or b"wakebook" not in data:
        return False
    text = data.decode("utf-8", "replace")
    names = [json.dumps(str(home), ensure_ascii=ascii)[1:-1] for ascii in (True, False)]
    return not any(name in text for name in (str(home), *names))


def _take_out(home: Home, place: Where, one: WiredFile) -> list[str]:
    """Our part of a file that was changed since. A note, if it is not as it was before."""
    path = Path(one.path)
    data, before = read(path), _backup(place, one)
    if data is None or data == before:
        return []
    left = host(place.folder.name).without(place, path, data)
    if before is not None and (left is None or _same(left, before)):
        left = before
    if left != data:
        _write(home, path, left, one.mode)
    if left in (before, data):
        return []
    return [f"{path} has been changed since: only our part was taken out."]


def _backup(place: Where, one: WiredFile) -> bytes | None:
    return (place.folder / "backup" / one.before).read_bytes() if one.before else None


def _same(left: bytes, right: bytes) -> bool:
    """Whether two texts mean the same, as JSON or as TOML."""
    for parse in (loads, tomllib.loads):
        with suppress(ValueError):
            return bool(parse(left.decode()) == parse(right.decode()))
    return False


def _reset(home: Home, done: Wired) -> list[str]:
    """config.toml as it was: the very bytes, if it is as we left it. A note, if it cannot be."""
    if not done.settings:
        return []
    was = home.config.read_bytes()
    text = done.config_before
    if _sum(was) != done.config_after:
        try:
            text = was.decode("utf-8")
            for name, line in done.settings.items():
                text, _ = toml.set_line(text, name, line)
        except ValueError as error:
            names = ", ".join(done.settings)
            return [f"{home.config} cannot be understood ({error}): take out {names} by hand."]
    if text.encode() != was:
        home.replace(home.config, text)
    return []


def _write(home: Home, path: Path, data: bytes | None, mode: int = 0) -> None:
    """A host's file, whole, with the permissions that it has or had. A link stays a link."""
    path = path.resolve()
    if data is None:
        path.unlink(missing_ok=True)
        return
    try:
        mode = path.stat().st_mode & 0o777 if path.exists() else mode or 0o600
        home.replace(path, data, mode)
    except OSError as error:
        raise WakebookError(f"{path} cannot be written: {error.strerror}.") from error


def _digest(path: Path) -> str:
    return _sum(read(path)) or "folder" * path.is_dir()


def _sum(data: bytes | None) -> str:
    return hashlib.sha256(data).hexdigest() if data is not None else ""


def _run(command: Sequence[str], told: Told) -> str:
    """Run a host's own command. What went wrong, if something did."""
    shown = " ".join(command)
    told(shown)
    pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
    try:
        done = subprocess.run(
            command, stdin=nothing, stdout=pipe, stderr=pipe, errors="replace", timeout=SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"`{shown}` could not be run: {error}. Run it by hand."
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip())[-300:]
        return f"`{shown}` failed: {said}. Run it by hand."
    return ""
