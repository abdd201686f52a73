"""Where OpenClaw keeps its things: as its environment variables and its settings say."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wakebook.base import config
from wakebook.base.errors import WakebookError
from wakebook.base.text import line_end
from wakebook.hosts import openclaw_json as json5
from wakebook.hosts import openclaw_settings as settings
from wakebook.hosts.wiring import Change, Plan, Where, behind

if TYPE_CHECKING:
    from wakebook.hosts.wiring import Where
    from wakebook.memory import Memory
    from wakebook.upkeep.doctor import Check


def state_folder(where: Where) -> Path:
    chosen = _named(where, "OPENCLAW_STATE_DIR")
    if chosen:
        return chosen
    profile = where.env.get("OPENCLAW_PROFILE", "").strip()
    name = f".openclaw-{profile}" if profile not in ("", "default") else ".openclaw"
    return (_named(where, "OPENCLAW_HOME") or where.user) / name


def config_file(where: Where) -> Path:
    return _named(where, "OPENCLAW_CONFIG_PATH") or state_folder(where) / "openclaw.json"


def workspace_of(where: Where, values: Any) -> Path:
    """Of the agent that people talk to: the default one, or the only one."""
    agents = json5.get(values, ("agents", "entries"), {})
    listed = json5.get(values, ("agents", "list"), [])
    entries = list(agents.values()) if isinstance(agents, dict) else []
    entries += listed if isinstance(listed, list) else []
    entries = [one for one in entries if isinstance(one, dict)]
    chosen = [one for one in entries if one.get("default")] or entries
    own = chosen[0].get("workspace") if chosen else None
    given = own or json5.get(values, ("agents", "defaults", "workspace"))
    if isinstance(given, str) and given.strip():
        return expanded(where, given)
    return _named(where, "OPENCLAW_WORKSPACE_DIR") or state_folder(where) / "workspace"


def _named(where: Where, variable: str) -> Path | None:
    value = where.env.get(variable, "").strip()
    return expanded(where, value) if value not in ("", "undefined", "null") else None


def expanded(where: Where, text: str) -> Path:
    text = re.sub(r"\$\{(\w+)\}", lambda found: where.env.get(found[1], found[0]), text)
    if text == "~" or text.startswith("~/"):
        return where.user / text[2:]
    return where.user / text  # which an absolute path overrides


# -----------------------------------------------------------------------------
# OpenClaw: our plugin in its memory slot.
#
# The plugin's folder (`openclaw_files`, with the definition of the tools beside it) is put into the
# home and named in openclaw.json, which is JSON5 and is edited in place. MEMORY.md of the agent's
# workspace becomes the one that Wakebook briefs: OpenClaw loads it by itself, and not in groups.

NAME = "openclaw"
LABEL = "OpenClaw"
FILES = Path(__file__).parent / "openclaw_files"
TOOLS = Path(__file__).parents[1] / "service" / "tools.json"
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
    path = config_file(where)
    data, text = _read(path)
    values = settings.values_of(path, text)
    after = settings.put_in(where, path, text).encode("utf-8")
    note = workspace_of(where, values) / MEMORY
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
    return (sys.executable, "-m", "wakebook.hosts.openclaw_cron", openclaw, CRON_KEY)


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
    new = line_end(text)
    gap = "" if not text else new if text.endswith("\n") else new * 2
    text = f"{text}{gap}{BEGIN}{new}{END}{new}"
    yield Change(path, data, text.encode("utf-8", "surrogateescape"))


def _own_settings(where: Where, note: Path) -> dict[str, Any]:
    found: dict[str, Any] = {"briefing.memory_file": str(note)}
    state = state_folder(where)
    known = config.load(where.home / "config.toml").hosts.openclaw
    folders = [expanded(where, one) for one in known]
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


# -----------------------------------------------------------------------------
# What `wakebook doctor` looks at in OpenClaw. Only files are read; the gateway is not asked.

CONNECT = f"wakebook init --host {NAME}"
MANIFEST = "openclaw.plugin.json"
SHADOWED = {"memory_search", "memory_get"}


def checks(where: Where, memory: Memory) -> list[Check]:
    """Empty if OpenClaw is not used here."""
    path = config_file(where)
    if not path.exists():
        return []
    try:
        values = settings.values_of(path, path.read_text(encoding="utf-8"))
    except (WakebookError, OSError, UnicodeDecodeError) as error:
        return [_check("settings", "fail", f"{path}: {error}", "openclaw doctor")]
    if json5.get(values, settings.ENTRY) is None and not where.folder.is_dir():
        return [_check("plugin", "note", "OpenClaw is here, but not connected.", CONNECT)]
    return [
        *_plugin(where, values),
        *_slot(values),
        *_permissions(values),
        *_doubles(values),
        *_shadows(where, values),
        behind(memory, NAME),
    ]


def _check(what: str, state: Any, said: str, run: str = "") -> Check:
    from wakebook.upkeep.doctor import Check

    return Check(name=f"{NAME} {what}", state=state, said=said, run=run)


def _plugin(where: Where, values: Any) -> Iterator[Check]:
    """Ours is listed, is there, and is this version's."""
    listed = str(where.folder) in (json5.get(values, settings.PATHS) or ())
    installed = state_folder(where) / "extensions" / settings.PLUGIN
    folder = where.folder if listed else installed
    if json5.get(values, ("plugins", "enabled")) is False:
        yield _check("plugin", "fail", "plugins.enabled is false: no plugin is loaded.", CONNECT)
    elif not (folder / MANIFEST).is_file():
        where_to = folder if listed else f"plugins.load.paths, and not in {installed}"
        yield _check("plugin", "fail", f"The plugin is not in {where_to}.", CONNECT)
    elif settings.PLUGIN in (json5.get(values, ("plugins", "deny")) or ()):
        yield _check("plugin", "fail", "plugins.deny names wakebook: take it out.")
    elif _not_allowed(values):
        yield _check("plugin", "fail", "plugins.allow does not name wakebook.", CONNECT)
    elif json5.get(values, (*settings.ENTRY, "enabled")) is False:
        yield _check("plugin", "fail", "The plugin is switched off.", CONNECT)
    elif _differs(folder):
        yield _check("plugin", "warn", f"{folder} is of another version of Wakebook.", CONNECT)
    elif json5.get(values, (*settings.ENTRY, "config", "home")) != str(where.home):
        home = json5.get(values, (*settings.ENTRY, "config", "home")) or "the default home"
        yield _check("plugin", "warn", f"It remembers in another home: {home}.", CONNECT)
    else:
        yield _check("plugin", "ok", f"The plugin is in {folder}.")


def _not_allowed(values: Any) -> bool:
    allowed = json5.get(values, settings.ALLOW)
    return bool(allowed) and settings.PLUGIN not in allowed


def _differs(folder: Path) -> bool:
    for name, data in files().items():
        try:
            if (folder / name).read_bytes() != data:
                return True
        except OSError:
            return True
    return False


def _slot(values: Any) -> Iterator[Check]:
    owner = json5.get(values, settings.SLOT)
    if owner == settings.PLUGIN:
        yield _check("memory slot", "ok", "The memory slot is Wakebook's.")
    else:
        yield _check("memory slot", "fail", f"The memory slot has {owner or 'nobody'}.", CONNECT)


def _permissions(values: Any) -> Iterator[Check]:
    given = json5.get(values, (*settings.ENTRY, "hooks"), {})
    missing = [name for name in settings.PERMISSIONS if not json5.get(given, (name,))]
    if missing:
        said = f"{' and '.join(missing)} not given: OpenClaw drops our hooks silently."
        yield _check("hooks", "fail", said, CONNECT)
    else:
        yield _check("hooks", "ok", "The hooks are allowed.")


def _doubles(values: Any) -> Iterator[Check]:
    if json5.get(values, settings.CORE) is not False:
        said = "memory-core is on: beside us it loads, and its tools can hide ours."
        yield _check("memory-core", "warn", said, CONNECT)
    if json5.get(values, settings.FLUSH) is not False:
        said = "The memory flush is on: the agent writes notes that Wakebook has already."
        yield _check("memory flush", "note", said, CONNECT)
    hook = json5.get(values, settings.HOOK)
    if isinstance(hook, dict) and hook.get("enabled") is not False:
        said = "The session-memory hook is on: it saves the same conversations again."
        yield _check("session-memory", "note", said, CONNECT)


def _shadows(where: Where, values: Any) -> Iterator[Check]:
    """Another plugin that offers tools of these names."""
    for name, tools in sorted(_others(where, values)):
        said = f"The plugin {name} has {' and '.join(sorted(tools))} too, and may hide ours."
        yield _check("tools", "warn", said, f"openclaw plugins disable {name}")


def _others(where: Where, values: Any) -> Iterator[tuple[str, set[str]]]:
    listed = json5.get(values, settings.PATHS) or []
    folders = [Path(one) for one in listed if isinstance(one, str)]
    folders += sorted((state_folder(where) / "extensions").glob("*"))
    for folder in folders:
        try:
            manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
            name, tools = str(manifest["id"]), set(manifest["contracts"]["tools"]) & SHADOWED
        except (OSError, ValueError, KeyError, TypeError):
            continue
        enabled = json5.get(values, ("plugins", "entries", name, "enabled"))
        if name != settings.PLUGIN and tools and enabled is not False:
            yield name, tools
