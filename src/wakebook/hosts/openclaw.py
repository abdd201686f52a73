"""OpenClaw: our plugin in its memory slot.

The plugin's folder (`openclaw_files` and tools.json) is put into the home and named in
openclaw.json, which is JSON5 and is edited in place. What would remember the same things twice, or
hide our tools, is switched off there: memory-core (with dreaming on it loads beside us), its memory
flush, the session-memory hook. MEMORY.md of the agent's workspace becomes the one that Wakebook
briefs: OpenClaw loads it by itself, and not in groups. The notes in memory/ beside it are found
where they lie.
"""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from wakebook.base import markdown
from wakebook.base.errors import WakebookError
from wakebook.hosts import json5
from wakebook.hosts.plan import Change, Where, Wires, behind, check, read, shipped
from wakebook.memory import Memory
from wakebook.upkeep.doctor import Check

NAME = "openclaw"
FILES = Path(__file__).parent / "openclaw_files"
TOOLS = Path(__file__).parents[1] / "service" / "tools.json"
MANIFEST = "openclaw.plugin.json"
SHADOWED = {"memory_search", "memory_get"}
MEMORY = "MEMORY.md"
LEGACY = "memory.md"  # which OpenClaw does not read when there is a MEMORY.md
CRON_KEY = "wakebook-briefing"
CRON_SECONDS = 60
SESSIONS = (
    '"session": {"reset": {"mode": "daily", "atHour": 5, "idleMinutes": 360}, '
    '"resetByType": {"group": {"mode": "daily", "atHour": 5, "idleMinutes": 180}}}'
)
# Places in openclaw.json
PLUGIN = "wakebook"
ENTRY = ("plugins", "entries", PLUGIN)
PATHS = ("plugins", "load", "paths")
ALLOW = ("plugins", "allow")
SLOT = ("plugins", "slots", "memory")
CORE = ("plugins", "entries", "memory-core", "enabled")
FLUSH = ("agents", "defaults", "compaction", "memoryFlush", "enabled")
PRUNING = ("agents", "defaults", "contextPruning")
HOOK = ("hooks", "internal", "entries", "session-memory")
PERMISSIONS = ("allowConversationAccess", "allowPromptInjection")

_BLOCK = re.compile(
    r"(?:(?<=\n)\r?\n|\A|(?<=\n))<!-- (?:BEGIN GENERATED BRIEFING|wakebook:begin \S+) -->"
    r".*?<!-- (?:END GENERATED BRIEFING|wakebook:end \S+) -->(?:\r?\n|\Z)",
    re.DOTALL,
)
_MISSING = object()
_check = partial(check, NAME)
Place = tuple[str, ...]


def plan(where: Where) -> Wires:
    path = config_file(where)
    data = read(path)
    if data is None:
        said = f"{path}: OpenClaw has no configuration there. Set it up first (`openclaw onboard`)"
        chosen = "or say where it is with OPENCLAW_CONFIG_PATH or OPENCLAW_STATE_DIR."
        raise WakebookError(f"{said}, {chosen}")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise WakebookError(f"{path} is not UTF-8: {error}. Correct it, then try again.") from error
    values = values_of(path, text)
    after = text
    for place, value in _wanted(where, values):
        after = _put(path, after, place, value)
    note = workspace_of(where, values) / MEMORY
    changes = (Change(path, data, after.encode("utf-8")), *_briefed(note))
    found = where.which(NAME)
    undo = (sys.executable, "-m", "wakebook.hosts.openclaw", found or "", CRON_KEY)
    return Wires(
        changes=tuple(one for one in changes if one.before != one.after),
        files=files(),
        commands=((found, *_cron(where)),) if found else (),
        undo_commands=(undo,) if found else (),
        settings=_own_settings(where, note),
        notes=tuple(_notes(where, values, text, found)),
    )


def without(where: Where, path: Path, data: bytes) -> bytes | None:
    """Our part taken out of a file that was changed since."""
    text = data.decode("utf-8", "surrogateescape")
    own = path.name in (MEMORY, LEGACY)
    left = _BLOCK.sub("", text) if own else _taken_out(where, path, text)
    return left.encode("utf-8", "surrogateescape") if left.strip() else None


def files() -> dict[str, bytes]:
    """The plugin, as it is put into the home."""
    return shipped(FILES) | {"tools.json": TOOLS.read_bytes()}


def state_folder(where: Where) -> Path:
    """Where OpenClaw keeps its things, as its environment says."""
    if chosen := _named(where, "OPENCLAW_STATE_DIR"):
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
    return where.user / re.sub(r"^~(/|$)", "", text)  # which an absolute path overrides


def values_of(path: Path, text: str) -> dict[str, Any]:
    try:
        values = json5.read(text)
    except json5.NotJson as error:
        said = "Nothing was changed; `openclaw doctor` says what is wrong with it."
        raise WakebookError(f"{path}, {error}. {said}") from error
    if not isinstance(values, dict):
        raise WakebookError(f"{path}: an object is expected. Nothing was changed.")
    return values


def _wanted(where: Where, values: Any) -> Iterator[tuple[Place, Any]]:
    """Every setting of ours and its place, given what stands there now."""
    paths = json5.get(values, PATHS, [])
    if isinstance(paths, list) and str(where.folder) not in paths:
        yield PATHS, [*paths, str(where.folder)]
    allowed = json5.get(values, ALLOW)
    if isinstance(allowed, list) and allowed and PLUGIN not in allowed:
        yield ALLOW, [*allowed, PLUGIN]
    yield SLOT, PLUGIN
    ours = {"command": list(where.command), "home": str(where.home), "lend": _lends(where)}
    if json5.get(values, ENTRY) is None:
        hooks = dict.fromkeys(PERMISSIONS, True)
        yield ENTRY, {"enabled": True, "hooks": hooks, "config": ours}
    else:  # its owner may have more in there than we know of
        yield (*ENTRY, "enabled"), True
        for permission in PERMISSIONS:
            yield (*ENTRY, "hooks", permission), True
        for name, value in ours.items():
            yield (*ENTRY, "config", name), value
    yield CORE, False
    yield FLUSH, False
    if json5.get(values, PRUNING) is None and where.config.pruning.mode != "off":
        yield PRUNING, _pruning(where)
    if _is_on(json5.get(values, HOOK)):
        yield (*HOOK, "enabled"), False


def _pruning(where: Where) -> dict[str, Any]:
    """OpenClaw prunes old tool results by the rules of our `prune`: by [pruning], as far as it has
    the same settings."""
    ours = where.config.pruning
    clear = {"enabled": ours.hard_clear, "placeholder": ours.hard_clear_placeholder}
    tools = {"allow": list(ours.tools_allow), "deny": list(ours.tools_deny)}
    named = {name: listed for name, listed in tools.items() if listed}
    wanted = {"mode": ours.mode, "ttl": f"{max(ours.ttl_ms // 60_000, 1)}m", "hardClear": clear}
    return wanted | ({"tools": named} if named else {})


def _is_on(hook: Any) -> bool:
    return isinstance(hook, dict) and hook.get("enabled") is not False


def _lends(where: Where) -> bool:
    """Whether OpenClaw's model reads the conversations: the user has named no other."""
    return where.config.models.main in ("", "host")


def _taken_out(where: Where, path: Path, text: str) -> str:
    """Without ours; what was there before is put back, what was changed since stays."""
    before = _before(where, path)
    values = values_of(path, text)
    ours: dict[Place, Any] = {SLOT: PLUGIN, CORE: False, FLUSH: False, PRUNING: _pruning(where)}
    if json5.get(before, HOOK) is not None:
        ours[(*HOOK, "enabled")] = False
    changed = [place for place, value in ours.items() if json5.get(values, place) == value]
    for place in (*changed, ENTRY):
        was = json5.get(before, place, _MISSING)
        text = _dropped(text, place, before) if was is _MISSING else _put(path, text, place, was)
    for place, one in ((PATHS, str(where.folder)), (ALLOW, PLUGIN)):
        text = _unlisted(path, text, place, one, before)
    return text


def _put(path: Path, text: str, place: Place, value: Any) -> str:
    try:
        return json5.put(text, place, value)
    except json5.NotJson as error:
        raise WakebookError(f"{path}: {error}. Nothing was changed; correct it first.") from error


def _before(where: Where, path: Path) -> Any:
    """The file as it was when it was wired; nothing is known of it without its backup."""
    for backup in (where.folder / "backup").glob(f"*-{path.name}"):
        with suppress(OSError, ValueError, json5.NotJson):
            return json5.read(backup.read_text(encoding="utf-8"))
    return {}


def _unlisted(path: Path, text: str, place: Place, one: str, before: Any) -> str:
    """Without this item of a list."""
    listed = json5.get(values_of(path, text), place)
    was = json5.get(before, place)
    if not isinstance(listed, list) or one not in listed or one in (was or ()):
        return text
    left = [other for other in listed if other != one]
    if not left and was is None:
        return _dropped(text, place, before)
    return _put(path, text, place, left)


def _dropped(text: str, place: Place, before: Any) -> str:
    """Without it, and without the objects around it that were made for it."""
    text = json5.drop(text, place)
    while place := place[:-1]:
        if json5.get(json5.read(text), place) != {} or json5.get(before, place) is not None:
            break
        text = json5.drop(text, place)
    return text


def _briefed(path: Path) -> Iterator[Change]:
    """The place for the briefing. A workspace that OpenClaw has yet to make is left to it."""
    if not path.parent.is_dir():
        return
    data = path.read_bytes() if path.is_file() else None
    text = (data or b"").decode("utf-8", "surrogateescape")
    old = path.with_name(LEGACY)
    if data is None and old.is_file():  # it would be shadowed: its words move
        before = old.read_bytes()
        text = before.decode("utf-8", "surrogateescape")
        yield Change(old, before, None)
    if markdown.BEGIN not in text:
        text = markdown.put(text, markdown.BRIEFING, ())
    if text.encode("utf-8", "surrogateescape") != data:
        yield Change(path, data, text.encode("utf-8", "surrogateescape"))


def _cron(where: Where) -> tuple[str, ...]:
    """The nightly briefing: a job of the gateway, which asks no model for it."""
    argv = json.dumps([*where.command, "--home", str(where.home), "brief"])
    what = ("--name", CRON_KEY, "--cron", "0 3 * * *", "--exact", "--no-deliver")
    return ("cron", "add", *what, "--command-argv", argv, "--declaration-key", CRON_KEY)


def _uncron(openclaw: str, key: str) -> int:
    """Take our job out of the gateway, which makes it by its key but removes it by its id only."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [openclaw, "cron", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=CRON_SECONDS)

    done = run("list", "--all", "--json")
    if done.returncode:
        sys.stderr.write(done.stderr)
        return done.returncode
    jobs = json.loads(done.stdout).get("jobs", [])
    removed = [run("rm", one["id"]) for one in jobs if one.get("declarationKey") == key]
    return max((one.returncode for one in removed), default=0)


def _own_settings(where: Where, note: Path) -> dict[str, Any]:
    state, known = state_folder(where), where.config.hosts.openclaw
    folders = [expanded(where, one) for one in known]
    looked = any(state in (one, *one.parents) for one in folders)
    sessions = {} if looked else {"hosts.openclaw": [*known, str(state)]}
    notes, mounted = str(note.parent / "memory"), where.config.mounts.notes
    mounts = {} if notes in mounted else {"mounts.notes": [*mounted, notes]}
    return {"briefing.memory_file": str(note), **sessions, **mounts}


def _notes(where: Where, values: Any, text: str, openclaw: str | None) -> Iterator[str]:
    yield "A running gateway picks this up by itself; if it does not: openclaw gateway restart"
    if not openclaw:
        yield "`openclaw` is not on PATH. Add the nightly briefing with the gateway running:"
        yield shlex.join((NAME, *_cron(where)))
    if json5.commented(text):
        said = "They stay, but OpenClaw drops them when it writes the file itself"
        yield f"openclaw.json has comments. {said}; {where.folder / 'backup'} keeps it as it was."
    if "$include" in text:
        yield "openclaw.json includes other files: ours is written beside, and wins over theirs."
    if PLUGIN in (json5.get(values, ("plugins", "deny")) or ()):
        yield "plugins.deny names wakebook: take it out, or the plugin is not loaded."
    if json5.get(values, ("plugins", "enabled")) is False:
        yield "plugins.enabled is false: no plugin is loaded until you change that."
    internal = json5.get(values, ("hooks", "internal"), {})
    if isinstance(internal, dict) and internal.get("enabled") and not internal.get("entries"):
        yield "All bundled hooks are on: `openclaw hooks disable session-memory` avoids doubles."
    if _lends(where):
        yield (
            "OpenClaw's own model reads the conversations, because config.toml names none. It "
            'costs what your provider takes; [models] off = ["extract"] has rules read them.'
        )
    if said := _no_workspace(where, values):
        yield said
    if json5.get(values, PRUNING) is None and where.config.pruning.mode != "off":
        yield "OpenClaw prunes old tool results from now on; the agent sees where they were."
    if json5.get(values, ("session", "reset")) is None:
        yield f"Sessions never end by themselves. Suggested, not applied: {SESSIONS}"


def _no_workspace(where: Where, values: Any) -> str:
    """What is to be said if the folder of the agent is not there."""
    folder = workspace_of(where, values)
    said = "Until it is, MEMORY.md gets no briefing, and there are no notes to find."
    return "" if folder.is_dir() else f"There is no workspace {folder} yet. {said}"


def checks(where: Where, memory: Memory) -> list[Check]:
    """Empty if OpenClaw is not used here. Only files are read, the gateway is not asked."""
    path = config_file(where)
    if not path.exists():
        return []
    try:
        values = values_of(path, path.read_text(encoding="utf-8"))
    except (WakebookError, OSError, UnicodeDecodeError) as error:
        return [_check("settings", "fail", f"{path}: {error}", "openclaw doctor")]
    if json5.get(values, ENTRY) is None and not where.folder.is_dir():
        return [_check("plugin", "note", "OpenClaw is here, but not connected.")]
    found = [_plugin(where, values), *_slot_and_hooks(values), *_doubles(where, values)]
    if said := _no_workspace(where, values):
        found.append(_check("workspace", "note", said, "openclaw setup"))
    return [*found, behind(memory, NAME)]


def _plugin(where: Where, values: Any) -> Check:
    """Ours is listed, is there, and is this version's."""
    listed = str(where.folder) in (json5.get(values, PATHS) or ())
    installed = state_folder(where) / "extensions" / PLUGIN
    folder = where.folder if listed else installed
    allowed = json5.get(values, ALLOW)
    home = json5.get(values, (*ENTRY, "config", "home"))
    if json5.get(values, ("plugins", "enabled")) is False:
        return _check("plugin", "fail", "plugins.enabled is false: no plugin is loaded.")
    if not (folder / MANIFEST).is_file():
        where_to = folder if listed else f"plugins.load.paths, and not in {installed}"
        return _check("plugin", "fail", f"The plugin is not in {where_to}.")
    if PLUGIN in (json5.get(values, ("plugins", "deny")) or ()):
        return _check("plugin", "fail", "plugins.deny names wakebook: take it out.", "")
    if allowed and PLUGIN not in allowed:
        return _check("plugin", "fail", "plugins.allow does not name wakebook.")
    if json5.get(values, (*ENTRY, "enabled")) is False:
        return _check("plugin", "fail", "The plugin is switched off.")
    if any(_differs(folder / name, data) for name, data in files().items()):
        return _check("plugin", "warn", f"{folder} is of another version of Wakebook.")
    if home != str(where.home):
        said = f"It remembers in another home: {home or 'the default home'}."
        return _check("plugin", "warn", said)
    return _check("plugin", "ok", f"The plugin is in {folder}.")


def _differs(path: Path, data: bytes) -> bool:
    try:
        return path.read_bytes() != data
    except OSError:
        return True


def _slot_and_hooks(values: Any) -> Iterator[Check]:
    owner = json5.get(values, SLOT)
    if owner == PLUGIN:
        yield _check("memory slot", "ok", "The memory slot is Wakebook's.")
    else:
        yield _check("memory slot", "fail", f"The memory slot has {owner or 'no plugin'}.")
    given = json5.get(values, (*ENTRY, "hooks"), {})
    if missing := [name for name in PERMISSIONS if not json5.get(given, (name,))]:
        said = f"{' and '.join(missing)} not given: OpenClaw drops our hooks silently."
        yield _check("hooks", "fail", said)
    else:
        yield _check("hooks", "ok", "The hooks are allowed.")


def _doubles(where: Where, values: Any) -> Iterator[Check]:
    """What remembers the same a second time, and other plugins with tools of these names."""
    if json5.get(values, CORE) is not False:
        said = "memory-core is on: beside us it loads, and its tools can hide ours."
        yield _check("memory-core", "warn", said)
    if json5.get(values, FLUSH) is not False:
        said = "The memory flush is on: the agent writes notes that Wakebook has already."
        yield _check("memory flush", "note", said)
    if _is_on(json5.get(values, HOOK)):
        said = "The session-memory hook is on: it saves the same conversations again."
        yield _check("session-memory", "note", said)
    if json5.get(values, (*PRUNING, "mode")) != "cache-ttl":
        said = "Old tool results are not pruned: long sessions fill the model's window sooner."
        yield _check("pruning", "note", said)
    for name, tools in sorted(_others(where, values)):
        said = f"The plugin {name} has {' and '.join(sorted(tools))} too, and may hide ours."
        yield _check("tools", "warn", said, f"openclaw plugins disable {name}")


def _others(where: Where, values: Any) -> Iterator[tuple[str, set[str]]]:
    listed = json5.get(values, PATHS) or []
    folders = [Path(one) for one in listed if isinstance(one, str)]
    folders += sorted((state_folder(where) / "extensions").glob("*"))
    for folder in folders:
        try:
            manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
            name, tools = str(manifest["id"]), set(manifest["contracts"]["tools"]) & SHADOWED
        except (OSError, ValueError, KeyError, TypeError):
            continue
        enabled = json5.get(values, ("plugins", "entries", name, "enabled"))
        if name != PLUGIN and tools and enabled is not False:
            yield name, tools


if __name__ == "__main__":  # the command that `unwire` runs
    sys.exit(_uncron(sys.argv[1], sys.argv[2]))
