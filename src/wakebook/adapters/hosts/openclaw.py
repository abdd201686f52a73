"""OpenClaw: our plugin in its memory slot.

The plugin's folder (`openclaw_files`, with the definition of the tools beside it) is put into the
home and named in openclaw.json, which is JSON5 and is edited in place. MEMORY.md of the agent's
workspace becomes the one that Wakebook briefs: OpenClaw loads it by itself, and not in groups.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wakebook import config
from wakebook.adapters.hosts import openclaw_json as json5
from wakebook.adapters.hosts import openclaw_places as places
from wakebook.adapters.hosts import openclaw_settings as settings
from wakebook.adapters.hosts.wiring import Change, Plan, Where
from wakebook.errors import WakebookError

if TYPE_CHECKING:
    from wakebook.memory import Check, Memory

NAME = "openclaw"
LABEL = "OpenClaw"
FILES = Path(__file__).parent / "openclaw_files"
TOOLS = Path(__file__).parents[1] / "tools.json"
MEMORY = "MEMORY.md"
CRON_KEY = "wakebook-briefing"
BEGIN = "<!-- BEGIN GENERATED BRIEFING -->"
END = "<!-- END GENERATED BRIEFING -->"
SESSIONS = (
    '"session": {"reset": {"mode": "daily", "atHour": 5, "idleMinutes": 360}, '
    '"resetByType": {"group": {"mode": "daily", "atHour": 5, "idleMinutes": 180}}}'
)

_BLOCK = re.compile(
    r"(?:(?<=\n)\r?\n|\A|(?<=\n))<!-- (?:BEGIN GENERATED BRIEFING|wakebook:begin \S+) -->"
    r".*?<!-- (?:END GENERATED BRIEFING|wakebook:end \S+) -->(?:\r?\n|\Z)",
    re.DOTALL,
)


def plan(where: Where) -> Plan:
    path = places.config_file(where)
    data, text = _read(path)
    values = settings.values_of(path, text)
    after = settings.put_in(where, path, text).encode("utf-8")
    note = places.workspace(where, values) / MEMORY
    changes = (Change(path, data, after), *_briefed(note))
    found = shutil.which("openclaw", path=where.env.get("PATH", ""))
    return Plan(
        changes=tuple(one for one in changes if one.before != one.after),
        files=files(),
        commands=((found, *_cron(where)),) if found else (),
        undo_commands=(_uncron(found),) if found else (),
        settings=_own_settings(where, note),
        notes=tuple(_notes(where, values, text, found)),
    )


def without(where: Where, path: Path, data: bytes) -> bytes | None:
    """Our part taken out of a file that was changed since."""
    text = data.decode("utf-8", "surrogateescape")
    left = _BLOCK.sub("", text) if path.name == MEMORY else settings.take_out(where, path, text)
    return left.encode("utf-8", "surrogateescape") if left.strip() else None


def checks(where: Where, memory: Memory) -> list[Check]:
    from wakebook.adapters.hosts.openclaw_checks import checks as found

    return found(where, memory)


def files() -> dict[str, bytes]:
    """The plugin, as it is put into the home."""
    found = {
        path.relative_to(FILES).as_posix(): path.read_bytes()
        for path in sorted(FILES.rglob("*"))
        if path.is_file()
    }
    return found | {"tools.json": TOOLS.read_bytes()}


# --- the nightly briefing ----------------------------------------------------------------


def _cron(where: Where) -> tuple[str, ...]:
    """A job of the gateway, which asks no model for it."""
    argv = json.dumps([*where.command, "--home", str(where.home), "brief"])
    what = ("--name", CRON_KEY, "--cron", "0 3 * * *", "--exact", "--no-deliver")
    return ("cron", "add", *what, "--command-argv", argv, "--declaration-key", CRON_KEY)


def _uncron(openclaw: str) -> tuple[str, ...]:
    return (sys.executable, "-m", "wakebook.adapters.hosts.openclaw_cron", openclaw, CRON_KEY)


# --- files, settings, notes --------------------------------------------------------------


def _read(path: Path) -> tuple[bytes, str]:
    try:
        data = path.read_bytes()
        return data, data.decode("utf-8")
    except FileNotFoundError:
        raise WakebookError(
            f"{path}: OpenClaw has no configuration there. Set it up first (`openclaw onboard`), "
            "or say where it is with OPENCLAW_CONFIG_PATH or OPENCLAW_STATE_DIR."
        ) from None
    except OSError as error:
        raise WakebookError(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise WakebookError(f"{path} is not UTF-8: {error}. Correct it, then try again.") from error


def _briefed(path: Path) -> Iterator[Change]:
    """The place for the briefing. A workspace that OpenClaw has yet to make is left to it."""
    if not path.parent.is_dir():
        return
    data = path.read_bytes() if path.is_file() else None
    text = (data or b"").decode("utf-8", "surrogateescape")
    if BEGIN in text:
        return
    new = "\r\n" if 0 < text.count("\n") == text.count("\r\n") else "\n"
    gap = "" if not text else new if text.endswith("\n") else new * 2
    text = f"{text}{gap}{BEGIN}{new}{END}{new}"
    yield Change(path, data, text.encode("utf-8", "surrogateescape"))


def _own_settings(where: Where, note: Path) -> dict[str, Any]:
    found: dict[str, Any] = {"briefing.memory_file": str(note)}
    state = places.state_folder(where)
    known = config.load(where.home / "config.toml").hosts.openclaw
    folders = [places.expanded(where, one) for one in known]
    if not any(one == state or state in one.parents for one in folders):
        found["hosts.openclaw"] = [*known, str(state)]
    return found


def _notes(where: Where, values: Any, text: str, openclaw: str | None) -> Iterator[str]:
    yield "A gateway that runs takes this over by itself; if it does not: openclaw gateway restart"
    if not openclaw:
        yield "`openclaw` is not on PATH. Add the nightly briefing with the gateway running:"
        yield shlex.join(("openclaw", *_cron(where)))
    if json5.commented(text):
        yield (
            "openclaw.json has comments. They stay, but OpenClaw drops them when it writes the "
            f"file itself; {where.folder / 'backup'} keeps it as it was."
        )
    if "$include" in text:
        yield "openclaw.json includes other files: ours is written beside, and wins over theirs."
    if settings.PLUGIN in (json5.get(values, ("plugins", "deny")) or ()):
        yield "plugins.deny names wakebook: take it out, or the plugin is not loaded."
    if json5.get(values, ("plugins", "enabled")) is False:
        yield "plugins.enabled is false: no plugin is loaded until you change that."
    internal = json5.get(values, ("hooks", "internal"), {})
    if isinstance(internal, dict) and internal.get("enabled") and not internal.get("entries"):
        yield "All bundled hooks are on: `openclaw hooks disable session-memory` avoids doubles."
    if settings.lends(where):
        yield (
            "OpenClaw's own model reads the conversations, because config.toml names none. It "
            'costs what your provider takes; [models] off = ["extract"] has rules read them.'
        )
    if json5.get(values, ("session", "reset")) is None:
        yield f"Sessions never end by themselves. Suggested, not applied: {SESSIONS}"
