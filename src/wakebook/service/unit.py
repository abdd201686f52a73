"""Unit: the text that starts the service at login, and where it belongs.

On Linux a systemd user unit, on a Mac a launchd agent. Everything here is pure: the platform,
the user's folder and the environment are arguments, and commands to run come as a list. Both
texts carry a line that says they are Wakebook's; a file without it is never touched.
"""

from __future__ import annotations

import hashlib
import os
import plistlib
from collections.abc import Mapping
from pathlib import Path

import msgspec

from wakebook.base.errors import WakebookError

MARK = "Installed by Wakebook"
ABOUT = f"{MARK}: `wakebook serve install` writes it anew, `... uninstall` removes it."
STOP_SECONDS = 150  # what runs is finished first; a model may take two minutes to answer
AGAIN_SECONDS = 10
USELESS = (2, 3, 5)  # exit codes that another try does not change: usage, no home, config.toml
SAFE = 0o644


class Unit(msgspec.Struct, frozen=True, kw_only=True):
    """What starts the service of one home."""

    kind: str  # systemd, launchd
    name: str
    path: Path
    text: str
    start: tuple[tuple[str, ...], ...]  # to be run when it is written
    stop: tuple[tuple[str, ...], ...]  # ... before it is removed
    gone: tuple[tuple[str, ...], ...] = ()  # ... after that
    restart: tuple[str, ...] = ()
    there: tuple[str, ...] = ()  # succeeds where units can be started


def unit(home: Path, user: Path, env: Mapping[str, str], platform: str, python: str) -> Unit:
    """The unit for a home on a platform (as in `sys.platform`)."""
    words = (python, "-P", "-m", "wakebook", "serve", "--home", str(home))
    name = "wakebook"
    if home != user / ".wakebook":  # any other home's unit says whose it is
        name += f"-{hashlib.sha256(os.fsencode(home)).hexdigest()[:8]}"
    if platform == "darwin":
        return _launchd(name, home, user, words)
    chosen = env.get("XDG_CONFIG_HOME", "")
    return _systemd(name, home, Path(chosen if chosen.startswith("/") else user / ".config"), words)


def is_ours(path: Path) -> bool:
    """Whether there is a unit that Wakebook wrote. Raises WakebookError for another one."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return False
    if MARK.encode() not in data:
        raise WakebookError(
            f"{path} was not written by Wakebook, and is left alone. Move it away, then try again."
        )
    return True


def _systemd(name: str, home: Path, settings: Path, words: tuple[str, ...]) -> Unit:
    full = f"{name}.service"
    control = ("systemctl", "--user")
    shown = "".join(letter if letter.isprintable() else "?" for letter in _utf8(str(home)))
    text = (
        Path(__file__)
        .with_name("systemd.unit")
        .read_text()
        .format(
            about=ABOUT,
            home=shown.replace("%", "%%"),
            start=exec_start(words),
            again=AGAIN_SECONDS,
            useless=" ".join(map(str, USELESS)),
            stop=STOP_SECONDS,
        )
    )
    return Unit(
        kind="systemd",
        name=full,
        path=settings / "systemd" / "user" / full,
        text=text,
        start=(
            (*control, "daemon-reload"),
            (*control, "enable", full),
            (*control, "restart", full),
        ),
        stop=((*control, "disable", "--now", full),),
        gone=((*control, "daemon-reload"),),
        restart=(*control, "restart", full),
        there=(*control, "show", "--property=Version"),
    )


def exec_start(words: tuple[str, ...]) -> str:
    """A command line for ExecStart=. The colon says that $NAME is no variable there.

    systemd takes no program whose path has quotes, backslashes or line breaks, so that such a
    one is run by a shell.
    """
    if any(letter in words[0] for letter in "\"'\\") or not words[0].isprintable():
        words = ("/bin/sh", "-c", 'exec "$0" "$@"', *words)
    return ":" + " ".join(map(quoted, words))


def quoted(word: str) -> str:
    """A word in systemd's quotes: C's escapes, and a percent sign is written twice."""
    safe = _utf8(word).replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    escaped = (
        c if c.isprintable() else "".join(f"\\x{byte:02x}" for byte in c.encode()) for c in safe
    )
    return f'"{"".join(escaped)}"'


def _utf8(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        shown = os.fsencode(text).decode("utf-8", "replace")
        raise WakebookError(
            f"{shown}: its name is not UTF-8, and no unit can hold it. Rename it."
        ) from None
    return text


def _launchd(name: str, home: Path, user: Path, words: tuple[str, ...]) -> Unit:
    told = str(home / ".cache" / "service.log")
    settings = {
        "Label": name,
        "ProgramArguments": list(map(_utf8, words)),
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": AGAIN_SECONDS,
        "ExitTimeOut": STOP_SECONDS,
        "ProcessType": "Background",
        "Umask": 0o077,
        "StandardOutPath": told,
        "StandardErrorPath": told,
    }
    try:
        text = plistlib.dumps(settings, sort_keys=False).decode()
    except ValueError as error:  # control characters, which XML does not have
        raise WakebookError(f"{str(home)!r}: no plist can hold this name: {error}.") from None
    head, _, rest = text.partition("\n")
    path = user / "Library" / "LaunchAgents" / f"{name}.plist"
    domain = f"gui/{os.getuid()}"
    return Unit(
        kind="launchd",
        name=name,
        path=path,
        text=f"{head}\n<!-- {ABOUT} -->\n{rest}",
        start=(
            ("launchctl", "enable", f"{domain}/{name}"),
            ("launchctl", "bootstrap", domain, str(path)),
        ),
        stop=(("launchctl", "bootout", f"{domain}/{name}"),),
        restart=("launchctl", "kickstart", "-k", f"{domain}/{name}"),
        there=("launchctl", "print", domain),
    )
