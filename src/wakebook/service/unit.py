"""Unit: the text that starts the service at login, and where it belongs.

On Linux a systemd user unit, on a Mac a launchd agent. Both texts carry a line that says they are
Wakebook's; a file without it is never touched.
"""

import hashlib
import os
import plistlib
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from wakebook.base.config import Config
from wakebook.base.errors import WakebookError
from wakebook.base.home import Home

MARK = "Installed by Wakebook"
ABOUT = f"{MARK}: `wakebook serve install` writes it anew, `... uninstall` removes it."
SECONDS = 200.0  # for a command: a clean stop takes its time
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
        left = f"{path} was not written by Wakebook, and is left alone."
        raise WakebookError(f"{left} Move it away, then try again.")
    return True


def here(home: Home) -> Unit:
    """The unit for a home on this machine."""
    return unit(home.root, Path.home(), os.environ, sys.platform, sys.executable)


def install(home: Home, unit: Unit) -> tuple[bool, bool]:
    """Write it, and start it if it can be: whether it was there before, and runs now."""
    again = is_ours(unit.path)
    home.replace(unit.path, unit.text, SAFE)
    started = run(unit.there).returncode == 0
    if started:
        if again and unit.kind == "launchd":  # it is not loaded twice
            _run_all(unit.stop, must=False)
        _run_all(unit.start)
    return again, started


def uninstall(unit: Unit) -> tuple[bool, bool]:
    """Stop and remove it: whether there was one, and it could be stopped."""
    there = is_ours(unit.path)
    stopped = there and run(unit.there).returncode == 0
    if stopped:
        _run_all(unit.stop, must=unit.kind == "systemd")
    if there:
        unit.path.unlink()
        enabled = unit.path.parent / "default.target.wants" / unit.path.name
        if enabled.is_symlink():  # made by `enable`, where no systemd runs that could disable it
            enabled.unlink()
    if stopped:
        _run_all(unit.gone)
    return there, stopped


def run(words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """A command that cannot be run has failed."""
    nothing = subprocess.DEVNULL
    try:
        return subprocess.run(words, capture_output=True, text=True, timeout=SECONDS, stdin=nothing)
    except (OSError, subprocess.TimeoutExpired):
        return subprocess.CompletedProcess(words, 1, "", "it could not be run")


def _run_all(commands: Iterable[Sequence[str]], must: bool = True) -> None:
    for words in commands:
        done = run(words)
        if must and done.returncode:
            said = done.stderr.strip()
            raise WakebookError(f"`{shlex.join(words)}` failed: {said}. Run it by hand to see why.")


def unseen_keys(config: Config) -> Iterator[str]:
    """Notes on keys of models that only this shell knows: they are no use at login."""
    for name in dict.fromkeys(filter(None, (config.models.main, config.models.cheap))):
        section = name.partition("/")[0]
        if section in ("anthropic", "openai", "gemini") and not getattr(config, section).key_file:
            yield (
                f"{name}: the service does not see the variables of your shell. Put the key into "
                f"a file (mode 0600) and name it as key_file in [{section}]."
            )


def _systemd(name: str, home: Path, settings: Path, words: tuple[str, ...]) -> Unit:
    full = f"{name}.service"
    control, reload = ("systemctl", "--user"), ("daemon-reload",)
    shown = "".join(letter if letter.isprintable() else "?" for letter in _utf8(str(home)))
    told = {"about": ABOUT, "home": shown.replace("%", "%%"), "start": exec_start(words)}
    template = Path(__file__).with_name("systemd.unit").read_text()
    return Unit(
        kind="systemd",
        name=full,
        path=settings / "systemd" / "user" / full,
        text=template.format(**told),
        start=tuple((*control, *words) for words in (reload, ("enable", full), ("restart", full))),
        stop=((*control, "disable", "--now", full),),
        gone=((*control, *reload),),
        restart=(*control, "restart", full),
        there=(*control, "show", "--property=Version"),
    )


def exec_start(words: tuple[str, ...]) -> str:
    """A command line for ExecStart=. The colon says that $NAME is no variable there. A program
    whose path has quotes, backslashes or line breaks is run by a shell: systemd does not take it.
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
        said = "its name is not UTF-8, and no unit can hold it. Rename it."
        raise WakebookError(f"{os.fsencode(text).decode('utf-8', 'replace')}: {said}") from None
    return text


def _launchd(name: str, home: Path, user: Path, words: tuple[str, ...]) -> Unit:
    told = str(home / ".cache" / "service.log")
    settings = plistlib.loads(Path(__file__).with_name("launchd.plist").read_bytes())
    settings |= {"Label": name, "ProgramArguments": list(map(_utf8, words))}
    settings |= {"StandardOutPath": told, "StandardErrorPath": told}
    try:
        text = plistlib.dumps(settings, sort_keys=False).decode()
    except ValueError as error:  # control characters, which XML does not have
        raise WakebookError(f"{str(home)!r}: no plist can hold this name: {error}.") from None
    head, _, rest = text.partition("\n")
    path = user / "Library" / "LaunchAgents" / f"{name}.plist"
    control, domain, own = "launchctl", f"gui/{os.getuid()}", f"gui/{os.getuid()}/{name}"
    return Unit(
        kind="launchd",
        name=name,
        path=path,
        text=f"{head}\n<!-- {ABOUT} -->\n{rest}",
        start=((control, "enable", own), (control, "bootstrap", domain, str(path))),
        stop=((control, "bootout", own),),
        restart=(control, "kickstart", "-k", own),
        there=(control, "print", domain),
    )


def timers(home: Home) -> tuple[str, str]:
    """A line for cron, and two files for systemd, that run the jobs every few minutes."""
    script = Path(sys.executable).with_name("wakebook")
    program = [str(script)] if script.exists() else [sys.executable, "-m", "wakebook"]
    # in full: cron knows neither your PATH nor WAKEBOOK_HOME
    words = [*program, "--home", str(home.root), "jobs", "run"]
    cron = shlex.join(words).replace("%", "\\%")  # a % is a new line to cron
    timer = Path(__file__).with_name("timer.txt").read_text(encoding="utf-8")
    return f"*/5 * * * * {cron} >/dev/null", timer.format(command=" ".join(map(_word, words)))


def _word(word: str) -> str:
    word = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{word}"' if not word or any(sign in word for sign in " \t;'\"\\") else word
