"""What `wakebook doctor` looks at in Claude Code.

Only files are read; the client is not started. A check that finds nothing wrong says so in one
line, so that a person sees what was looked at.
"""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wakebook.adapters.hosts.claude_code import (
    INSIDE,
    LABEL,
    MARKET,
    NAME,
    PLUGIN,
    config_folder,
    read_json,
)
from wakebook.adapters.hosts.wiring import behind
from wakebook.errors import WakebookError
from wakebook.version import __version__

if TYPE_CHECKING:
    from wakebook.adapters.hosts.wiring import Where
    from wakebook.memory import Check, Memory

CONNECT = f"wakebook init --host {NAME}"
SEARCH = b"memory_search"
SECONDS = 20.0  # for another Wakebook to say its version
LARGEST = 1 << 20  # bytes of a plugin's file that is looked into
LOOKED_INTO = (".json", ".js", ".mjs", ".ts", ".py", ".md")
MANAGED = {
    "linux": Path("/etc/claude-code/managed-settings.json"),
    "darwin": Path("/Library/Application Support/ClaudeCode/managed-settings.json"),
}


def checks(where: Where, memory: Memory) -> list[Check]:
    """Empty if Claude Code is not used here."""
    folder = config_folder(where)
    present = folder.is_dir() or shutil.which("claude", path=where.env.get("PATH", ""))
    if not present:
        return []
    try:
        settings = read_json(folder / "settings.json")
        markets = read_json(folder / "plugins" / "known_marketplaces.json")
        installed = read_json(folder / "plugins" / "installed_plugins.json").get("plugins", {})
        state = read_json(_state_file(where))
    except WakebookError as error:
        return [_check("settings", "fail", str(error))]
    wired = PLUGIN in installed or PLUGIN in settings.get("enabledPlugins", {})
    if not wired and not where.folder.is_dir():
        return [_check("plugin", "note", f"{LABEL} is here, but not connected.", CONNECT)]
    return [
        *_plugin(where, settings, markets, installed),
        *_hooks(settings, folder / "settings.json"),
        *_shadows(installed, settings, state),
        behind(memory, NAME),
    ]


def _check(what: str, state: Any, said: str, run: str = "") -> Check:
    from wakebook.memory import Check

    return Check(name=f"{NAME} {what}", state=state, said=said, run=run)


# --- the plugin --------------------------------------------------------------------------


def _plugin(
    where: Where, settings: dict[str, Any], markets: dict[str, Any], installed: dict[str, Any]
) -> Iterator[Check]:
    problem = _not_installed(where, settings, markets, installed)
    if problem:
        yield problem
        return
    root = where.folder / INSIDE
    try:
        version = read_json(root / ".claude-plugin" / "plugin.json").get("version")
        hooks = read_json(root / "hooks" / "hooks.json").get("hooks", {})
        server = read_json(root / ".mcp.json").get("mcpServers", {}).get(MARKET, {})
    except WakebookError as error:
        yield _check("plugin", "fail", str(error), CONNECT)
        return
    if not hooks or not server:
        yield _check("plugin", "fail", f"{root} is incomplete.", CONNECT)
    elif version != __version__:
        said = f"The plugin is of Wakebook {version}; this is {__version__}."
        yield _check("plugin", "warn", said, CONNECT)
    else:
        yield _check("plugin", "ok", "The plugin is installed, enabled and of this version.")
    lines = [shlex.split(one) for one in _commands(hooks)]
    lines.append([str(server.get("command", "")), *map(str, server.get("args", ()))])
    yield _program(where, lines)


def _not_installed(
    where: Where, settings: dict[str, Any], markets: dict[str, Any], installed: dict[str, Any]
) -> Check | None:
    at = markets.get(MARKET, {}).get("installLocation", "")
    enabled = settings.get("enabledPlugins", {}).get(PLUGIN)
    if PLUGIN not in installed or not at:
        said = "The plugin's folder is there, but Claude Code has not installed it."
        return _check("plugin", "fail", said, CONNECT)
    if Path(at) != where.folder:
        said = f"Claude Code runs the plugin of another home: {at}."
        return _check("plugin", "warn", said, CONNECT)
    if not where.folder.is_dir():
        return _check("plugin", "fail", f"The plugin's folder {at} is gone.", CONNECT)
    if not enabled:
        return _check("plugin", "fail", "The plugin is disabled.", f"claude plugin enable {PLUGIN}")
    return None


def _commands(hooks: dict[str, Any]) -> Iterator[str]:
    for groups in hooks.values():
        for group in groups:
            yield from (str(hook.get("command", "")) for hook in group.get("hooks", ()))


def _program(where: Where, lines: list[list[str]]) -> Check:
    """Whether what the plugin starts is still there (an environment may have been removed)."""
    gone = {line[0] for line in lines if line and not shutil.which(line[0])}
    if gone:
        said = f"The plugin runs {', '.join(sorted(gone))}, which is not there any more."
        return _check("command", "fail", said, CONNECT)
    if any("--home" not in line or line[-1] != str(where.home) for line in lines):
        return _check("command", "warn", "Some hooks work for another home.", CONNECT)
    said = next((said for line in lines if (said := _broken(where, line))), "")
    if said:
        return _check("command", "fail", said, CONNECT)
    return _check("command", "ok", f"Its hooks and tools run {lines[0][0]} for this home.")


def _broken(where: Where, line: list[str]) -> str:
    """What is wrong with another Wakebook than this one, if the plugin runs one."""
    end = next((n for n, word in enumerate(line) if word in ("claude-code", "mcp")), 0)
    program = tuple(line[:end])
    if program in (where.command, where.hook):
        return ""
    if any("wakebook.adapters.entry" in word for word in program):  # of another environment
        program = (program[0], "-P", "-m", "wakebook")
    program = program[:-1] if program[-1:] == ("hook",) else program
    try:
        done = subprocess.run(
            [*program, "--version"], capture_output=True, text=True, timeout=SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"The plugin runs {shlex.join(program)}, which does not work: {error}."
    if done.returncode or __version__ not in done.stdout:
        version = done.stdout.strip() or "does not answer"
        return f"The plugin runs another Wakebook, {shlex.join(program)}: {version}."
    return ""


# --- what can be in the way --------------------------------------------------------------


def _hooks(settings: dict[str, Any], path: Path) -> Iterator[Check]:
    managed = MANAGED.get(sys.platform)
    try:
        policy = read_json(managed) if managed else {}
    except WakebookError:  # not for us to read
        policy = {}
    if settings.get("disableAllHooks"):
        said = f"{path} says disableAllHooks: nothing is told at the start of a session."
        yield _check("hooks", "fail", said, f"take disableAllHooks out of {path}")
    elif policy.get("disableAllHooks") or policy.get("allowManagedHooksOnly"):
        said = f"{managed} allows no hooks of plugins: only the tools work."
        yield _check("hooks", "fail", said, "ask whoever manages this machine")
    else:
        yield _check("hooks", "ok", "Hooks are not switched off.")


def _state_file(where: Where) -> Path:
    """Where the client keeps the MCP servers that a user has added."""
    chosen = where.env.get("CLAUDE_CONFIG_DIR")
    return (Path(chosen) if chosen else where.user) / ".claude.json"


def _shadows(
    installed: dict[str, Any], settings: dict[str, Any], state: dict[str, Any]
) -> Iterator[Check]:
    """Others that offer a memory_search: the model would have to choose between the two."""
    enabled = settings.get("enabledPlugins", {})
    others = [
        f"the plugin {name}"
        for name, places in installed.items()
        if name != PLUGIN and enabled.get(name)
        if any(_mentions(Path(str(place.get("installPath", "")))) for place in places)
    ]
    scopes = [state, *state.get("projects", {}).values()]
    servers = {k: v for scope in scopes for k, v in scope.get("mcpServers", {}).items()}
    others += [f"the MCP server {name}" for name, entry in servers.items() if _searches(entry)]
    if others:
        said = f"{', '.join(sorted(others))} offers memory_search too. One of the two is enough."
        yield _check("tools", "warn", said, "claude mcp list")
    else:
        yield _check("tools", "ok", "Nobody else offers memory_search.")


def _searches(entry: Any) -> bool:
    if not isinstance(entry, dict):
        return False
    words = [str(entry.get("command", "")), *map(str, entry.get("args") or ())]
    if "wakebook" in json.dumps(words) and "mcp" in words:
        return True
    return any(_mentions(Path(word)) for word in words if word.endswith(LOOKED_INTO))


def _mentions(path: Path) -> bool:
    """Whether a file, or one in a folder, names the tool."""
    try:
        if path.is_dir():
            inside = (one for one in path.rglob("*") if one.suffix in LOOKED_INTO)
            return any(_mentions(one) for one in inside if one.is_file())
        return path.stat().st_size <= LARGEST and SEARCH in path.read_bytes()
    except OSError:
        return False
