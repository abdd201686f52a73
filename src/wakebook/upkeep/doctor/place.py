"""The home as a place: is it there, is it ours alone, is there room, can it be written to."""

from __future__ import annotations

import os
import shlex
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from wakebook.base import clock, config
from wakebook.base.errors import ConfigError, Locked, WakebookError
from wakebook.base.home import Home
from wakebook.base.text import printable
from wakebook.capture import state as states
from wakebook.upkeep.doctor import Check, to_edit, to_run
from wakebook.upkeep.jobs import table

OWN = "config.toml log.jsonl subjects.json state.json trace.jsonl index.db .cache".split()
LITTLE = 500 << 20  # bytes that are left on the disk
NOTHING = 50 << 20
PATIENCE = 3.0  # seconds; nobody writes for longer
OTHERS = 0o077


def checks(home: Home) -> Iterator[Check]:
    yield there(home)
    if not home.exists():
        return
    yield permissions(home)
    yield space(home, shutil.disk_usage(home.root).free)
    yield settings(home)
    yield cursors(home)
    yield lock(home)
    yield token(home)


def there(home: Home) -> Check:
    if home.exists():
        return Check("home: folder", "ok", str(home.root))
    what = "has no config.toml" if home.root.is_dir() else "does not exist"
    return Check("home: folder", "fail", f"{home.root} {what}", to_run(home, "init"))


def permissions(home: Home) -> Check:
    """What others could read. Behind a closed door it hardly matters what lies open."""
    name, root = "home: permissions", shlex.quote(str(home.root))
    paths = [home.root, *(path for name in OWN if (path := home.root / name).exists())]
    shut = [path for path in paths if not os.access(path, os.R_OK | os.W_OK)]
    if shut:
        said = f"you may not read and write {_names(home, shut)}"
        return Check(name, "fail", said, f"chmod -R u+rwX {root}")
    foreign = [path for path in paths if path.stat().st_uid != os.geteuid()]
    if foreign:
        said = f"{_names(home, foreign)}: owned by another user, who may write it as well"
        return Check(name, "note", said, f'chown -R "$(id -u)" {root}')
    mend = f"chmod -R go-rwx {root}"
    if _mode(home.root) & OTHERS:
        said = f"{home.root} is {_mode(home.root):04o}: other users can look into it"
        return Check(name, "warn", said, mend)
    loose = [path for path in paths if _mode(path) & OTHERS]
    if loose:
        said = f"{_names(home, loose)}: readable for others, if the folder did not keep them out"
        return Check(name, "note", said, mend)
    return Check(name, "ok", "nobody else can read it (0700, 0600)")


def _names(home: Home, paths: list[Path]) -> str:
    return ", ".join("the home" if path == home.root else path.name for path in paths)


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def space(home: Home, free: int) -> Check:
    said = f"{free / 1e9:,.1f} GB free" if free >= 1e9 else f"{free / 1e6:,.0f} MB free"
    if free >= LITTLE:
        return Check("home: space", "ok", said)
    run = f"df -h {shlex.quote(str(home.root))}"
    if free >= NOTHING:
        return Check("home: space", "warn", said, run)
    return Check("home: space", "fail", f"{said}: writing fails soon", run)


def settings(home: Home) -> Check:
    """Everything that is read from config.toml before work begins."""
    try:
        found = config.load(home.config)
        table(found.schedule, home.config)
        clock.zone(found.schedule.time_zone)
    except ConfigError as error:
        return Check("home: config.toml", "fail", str(error), to_edit(home.config))
    except ValueError as error:
        said = f"{home.config}: [schedule] time_zone: {error}. Write one like Europe/Lisbon."
        return Check("home: config.toml", "fail", said, to_edit(home.config))
    return Check("home: config.toml", "ok", "valid")


def cursors(home: Home) -> Check:
    """How far everything was read: state.json."""
    try:
        known = len(states.load(home).sessions)
    except WakebookError as error:
        aside = shlex.join(["mv", str(home.state), f"{home.state}.broken"])
        return Check("home: state.json", "fail", str(error), aside)
    return Check("home: state.json", "ok", f"knows {known:,} sessions")


def lock(home: Home, seconds: float = PATIENCE) -> Check:
    try:
        with home.locked(seconds):
            return Check("home: lock", "ok", "free")
    except Locked:
        holder = holder_of(home.lock)
    if not holder:
        said = f"somebody has been writing for {seconds:g} s, and goes on"
        return Check("home: lock", "warn", said, f"lsof {shlex.quote(str(home.lock))}")
    said = (
        f"process {holder} ({_command_of(holder)}) has been writing for {seconds:g} s and goes on. "
        "Wait for it, or end it if it hangs: nothing gets lost"
    )
    return Check("home: lock", "warn", said, f"kill {holder}")


def holder_of(path: Path) -> int:
    """The process that holds a lock on a file, where the system tells; 0: unknown."""
    inode = str(path.stat().st_ino)
    try:
        lines = Path("/proc/locks").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    for line in lines:  # 3: FLOCK  ADVISORY  WRITE 4711 00:2f:112233 0 EOF
        words = line.split()
        if "FLOCK" in words and "->" not in words and words[5].rpartition(":")[2] == inode:
            return max(int(words[4]), 0)
    return 0


def _command_of(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return "unknown"
    return printable(b" ".join(words).decode("utf-8", "replace"))[:120] or "unknown"


def token(home: Home) -> Check:
    """What a client on the service's port has to show. The socket does without."""
    name, path = "home: token", home.root / "token"
    try:
        text = path.read_text(encoding="ascii", errors="replace").strip()
    except FileNotFoundError:
        said = "there is none yet, so nobody can use the service's port (its socket works)"
        return Check(name, "note", said, to_run(home, "init"))
    if _mode(path) & OTHERS:
        said = f"token is {_mode(path):04o}: whoever reads it can use the service"
        return Check(name, "warn", said, f"chmod 600 {shlex.quote(str(path))}")
    if not text or not text.isprintable() or " " in text:
        run = f"rm {shlex.quote(str(path))} && {to_run(home, 'init')}"
        return Check(name, "warn", "what the file token holds is no token", run)
    return Check(name, "ok", "only you can read it")
