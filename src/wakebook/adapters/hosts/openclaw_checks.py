"""What `wakebook doctor` looks at in OpenClaw. Only files are read; the gateway is not asked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wakebook.adapters.hosts import openclaw as host
from wakebook.adapters.hosts import openclaw_json as json5
from wakebook.adapters.hosts import openclaw_places as places
from wakebook.adapters.hosts import openclaw_settings as settings
from wakebook.adapters.hosts.wiring import behind
from wakebook.errors import WakebookError

if TYPE_CHECKING:
    from wakebook.adapters.hosts.wiring import Where
    from wakebook.memory import Check, Memory

CONNECT = f"wakebook init --host {host.NAME}"
MANIFEST = "openclaw.plugin.json"
SHADOWED = {"memory_search", "memory_get"}


def checks(where: Where, memory: Memory) -> list[Check]:
    """Empty if OpenClaw is not used here."""
    path = places.config_file(where)
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
        behind(memory, host.NAME),
    ]


def _check(what: str, state: Any, said: str, run: str = "") -> Check:
    from wakebook.memory import Check

    return Check(name=f"{host.NAME} {what}", state=state, said=said, run=run)


def _plugin(where: Where, values: Any) -> Iterator[Check]:
    """Ours is listed, is there, and is this version's."""
    listed = str(where.folder) in (json5.get(values, settings.PATHS) or ())
    installed = places.state_folder(where) / "extensions" / settings.PLUGIN
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
    for name, data in host.files().items():
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
    folders += sorted((places.state_folder(where) / "extensions").glob("*"))
    for folder in folders:
        try:
            manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
            name, tools = str(manifest["id"]), set(manifest["contracts"]["tools"]) & SHADOWED
        except (OSError, ValueError, KeyError, TypeError):
            continue
        enabled = json5.get(values, ("plugins", "entries", name, "enabled"))
        if name != settings.PLUGIN and tools and enabled is not False:
            yield name, tools
