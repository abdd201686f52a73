"""Claude Code: a plugin folder of our own, put in with the client's own commands.

The folder (`claude_code_files`) is a marketplace with one plugin. Its copy in the home names
this Wakebook and this home by their full paths, and the client runs it from there: nothing has
to be on PATH. The client's commands change three files and its copy of the plugin, which `--undo`
looks after; its state file (.claude.json), which may hold secrets, is left alone.
"""

import json
import math
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from wakebook.base.decode import loads
from wakebook.base.errors import WakebookError
from wakebook.hosts.plan import Where, Wires, behind, check, sessions_in, shipped
from wakebook.memory import Memory
from wakebook.upkeep.doctor import Check
from wakebook.version import __version__

NAME = "claude-code"
Json = dict[str, Any]
PLUGIN = "wakebook@wakebook"
MARKET = "wakebook"
FILES = Path(__file__).parent / "claude_code_files"
INSIDE = "plugins/wakebook"  # the plugin, in the marketplace folder
GRACE = 3  # seconds that the client waits longer than a hook's time box


def plan(where: Where) -> Wires:
    folder = config_folder(where)
    settings, _, _ = _client_files(folder)
    claude = where.which("claude")
    does = [("plugin", "marketplace", "add", str(where.folder)), ("plugin", "install", PLUGIN)]
    undoes = [("plugin", "uninstall", PLUGIN), ("plugin", "marketplace", "remove", MARKET)]
    notes = []
    if settings.get("disableAllHooks"):
        notes = ["settings.json says disableAllHooks: until that is gone, only the tools work."]
    if claude:
        notes.append("Start a new session, or type /reload-plugins in one that runs.")
    else:
        said = "`claude` is not on PATH. Run these two where it is:"
        notes += [said, *(shlex.join(("claude", *words)) for words in does)]
    return Wires(
        files=files(where),
        by_hand=not claude,
        commands=tuple((claude, *words) for words in does if claude),
        undo_commands=tuple((claude, *words) for words in undoes if claude),
        touched=touched(folder),
        settings=sessions_in(where, "claude_code", folder / "projects"),
        notes=tuple(notes),
    )


def touched(folder: Path) -> tuple[Path, ...]:
    """What the client's commands write, and what it makes for a plugin when it runs it."""
    plugins = folder / "plugins"
    return (
        folder / "settings.json",
        plugins / "known_marketplaces.json",
        plugins / "installed_plugins.json",
        plugins / "marketplaces" / MARKET,  # of which the client makes only the folder above
        plugins / "cache" / MARKET,
        plugins / "data" / f"{MARKET}-{MARKET}",
    )


def without(where: Where, path: Path, data: bytes) -> bytes | None:
    """A file of the client's, changed since, without our plugin. None: nothing else is in it."""
    text = data.decode("utf-8-sig", "replace")
    found = _parsed(text, path)
    if path.name == "known_marketplaces.json":
        found.pop(MARKET, None)
    else:
        ours = {"enabledPlugins": PLUGIN, "extraKnownMarketplaces": MARKET}
        ours = {"plugins": PLUGIN} if path.name == "installed_plugins.json" else ours
        for section, name in ours.items():
            if isinstance(found.get(section), dict):
                found[section].pop(name, None)
                if not found[section]:
                    del found[section]
    if set(found) <= ({"version"} if path.name == "installed_plugins.json" else set()):
        return None
    end = "\n" if text.endswith("\n") else ""
    return (json.dumps(found, indent=2, ensure_ascii=False) + end).encode()


def files(where: Where) -> dict[str, bytes]:
    """The shipped folder with this Wakebook and this home in it."""
    found = shipped(FILES)
    program, *arguments = where.command
    plugin = json.loads(found[f"{INSIDE}/.claude-plugin/plugin.json"]) | {"version": __version__}
    hooks = json.loads(found[f"{INSIDE}/hooks/hooks.json"])
    timeout = math.ceil(where.config.hooks.seconds) + GRACE
    for event, groups in hooks["hooks"].items():
        command = shlex.join([*where.hook, NAME, event, "--home", str(where.home)])
        for hook in (hook for group in groups for hook in group["hooks"]):
            hook |= {"command": command, "timeout": timeout}
    server = json.loads(found[f"{INSIDE}/.mcp.json"])
    words = [*arguments, "mcp", "--home", str(where.home)]
    server["mcpServers"][MARKET] |= {"command": program, "args": words}
    filled = {".claude-plugin/plugin.json": plugin, "hooks/hooks.json": hooks, ".mcp.json": server}
    for name, content in filled.items():
        text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
        found[f"{INSIDE}/{name}"] = text.encode()
    command = shlex.join((*where.command, "--home", str(where.home)))
    quoted = json.dumps(command, ensure_ascii=False)[1:-1]
    for name in [name for name in found if name.startswith(f"{INSIDE}/commands/")]:
        # a slash command runs this Wakebook, and may do so without asking
        text = found[name].decode().replace('"Bash(wakebook ', f'"Bash({quoted} ')
        found[name] = text.replace("\n!`wakebook ", f"\n!`{command} ").encode()
    return found


def config_folder(where: Where) -> Path:
    chosen = where.env.get("CLAUDE_CONFIG_DIR")
    return Path(chosen) if chosen else where.user / ".claude"


def _client_files(folder: Path) -> tuple[Json, Json, Json]:
    """The client's settings, marketplaces and installed plugins. Raises WakebookError."""
    plugins = folder / "plugins"
    settings = read_json(folder / "settings.json")
    markets = read_json(plugins / "known_marketplaces.json")
    return settings, markets, read_json(plugins / "installed_plugins.json").get("plugins", {})


def read_json(path: Path) -> Json:
    """A file of the client's; empty if there is none. Raises WakebookError if it is broken."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise WakebookError(f"{path}: cannot be read ({error}). Nothing was changed.") from error
    return _parsed(text, path)


def _parsed(text: str, path: Path) -> Json:
    try:
        found = loads(text) if text.strip() else {}
    except ValueError as error:
        said = f"{path}: is not JSON ({error}), and Claude Code cannot read it either."
        raise WakebookError(f"{said} Correct it and try again; nothing was changed.") from error
    if not isinstance(found, dict):
        raise WakebookError(f"{path}: is no JSON object. Correct it; nothing was changed.")
    return found


SEARCH = b"memory_search"
SECONDS = 20.0  # for another Wakebook to say its version
LARGEST = 1 << 20  # bytes of a plugin's file that is looked into
LOOKED_INTO = (".json", ".js", ".mjs", ".ts", ".py", ".md")
MANAGED = {
    "linux": Path("/etc/claude-code/managed-settings.json"),
    "darwin": Path("/Library/Application Support/ClaudeCode/managed-settings.json"),
}
_check = partial(check, NAME)


def checks(where: Where, memory: Memory) -> list[Check]:
    """Empty if Claude Code is not used here. Only files are read, the client is not started."""
    folder = config_folder(where)
    if not folder.is_dir() and not where.which("claude"):
        return []
    try:
        settings, markets, installed = _client_files(folder)
        chosen = where.env.get("CLAUDE_CONFIG_DIR")
        state = read_json((Path(chosen) if chosen else where.user) / ".claude.json")
    except WakebookError as error:
        return [_check("settings", "fail", str(error), "")]
    wired = PLUGIN in installed or PLUGIN in settings.get("enabledPlugins", {})
    if not wired and not where.folder.is_dir():
        return [_check("plugin", "note", "Claude Code is here, but not connected.")]
    return [
        *_plugin(where, settings, markets, installed),
        _hook_check(settings, folder / "settings.json"),
        _shadows(installed, settings, state),
        behind(memory, NAME),
    ]


def _plugin(where: Where, settings: Json, markets: Json, installed: Json) -> Iterator[Check]:
    at = markets.get(MARKET, {}).get("installLocation", "")
    if PLUGIN not in installed or not at:
        said = "The plugin's folder is there, but Claude Code has not installed it."
        yield _check("plugin", "fail", said)
    elif Path(at) != where.folder:
        yield _check("plugin", "warn", f"Claude Code runs the plugin of another home: {at}.")
    elif not where.folder.is_dir():
        yield _check("plugin", "fail", f"The plugin's folder {at} is gone.")
    elif not settings.get("enabledPlugins", {}).get(PLUGIN):
        yield _check("plugin", "fail", "The plugin is disabled.", f"claude plugin enable {PLUGIN}")
    else:
        yield from _folder(where, where.folder / INSIDE)


def _folder(where: Where, root: Path) -> Iterator[Check]:
    try:
        version = read_json(root / ".claude-plugin" / "plugin.json").get("version")
        hooks = read_json(root / "hooks" / "hooks.json").get("hooks", {})
        server = read_json(root / ".mcp.json").get("mcpServers", {}).get(MARKET, {})
    except WakebookError as error:
        yield _check("plugin", "fail", str(error))
        return
    if not hooks or not server:
        yield _check("plugin", "fail", f"{root} is incomplete.")
    elif version != __version__:
        said = f"The plugin is of Wakebook {version}; this is {__version__}."
        yield _check("plugin", "warn", said)
    else:
        yield _check("plugin", "ok", "The plugin is installed, enabled and of this version.")
    groups = [group for event in hooks.values() for group in event]
    entries = [hook for group in groups for hook in group.get("hooks", ())]
    lines = [shlex.split(str(hook.get("command", ""))) for hook in entries]
    lines.append([str(server.get("command", "")), *map(str, server.get("args", ()))])
    yield _program(where, lines)


def _program(where: Where, lines: list[list[str]]) -> Check:
    """Whether what the plugin starts is still there (an environment may have been removed)."""
    gone = {line[0] for line in lines if line and not shutil.which(line[0])}
    if gone:
        said = f"The plugin runs {', '.join(sorted(gone))}, which is not there any more."
        return _check("command", "fail", said)
    if any("--home" not in line or line[-1] != str(where.home) for line in lines):
        return _check("command", "warn", "Some hooks work for another home.")
    if said := next(filter(None, (_broken(where, line) for line in lines)), ""):
        return _check("command", "fail", said)
    return _check("command", "ok", f"Its hooks and tools run {lines[0][0]} for this home.")


def _broken(where: Where, line: list[str]) -> str:
    """What is wrong with another Wakebook than this one, if the plugin runs one."""
    end = next((n for n, word in enumerate(line) if word in ("claude-code", "mcp")), 0)
    program = tuple(line[:end])
    if program in (where.command, where.hook):
        return ""
    if any("wakebook.__main__" in word for word in program):  # of another environment
        program = (program[0], "-P", "-m", "wakebook")
    program = program[:-1] if program[-1:] == ("hook",) else program
    line = [*program, "--version"]
    try:
        done = subprocess.run(line, capture_output=True, text=True, timeout=SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"The plugin runs {shlex.join(program)}, which does not work: {error}."
    if done.returncode or __version__ not in done.stdout:
        version = done.stdout.strip() or "does not answer"
        return f"The plugin runs another Wakebook, {shlex.join(program)}: {version}."
    return ""


def _hook_check(settings: Json, path: Path) -> Check:
    managed = MANAGED.get(sys.platform)
    try:
        policy = read_json(managed) if managed else {}
    except WakebookError:  # not for us to read
        policy = {}
    if settings.get("disableAllHooks"):
        said = f"{path} says disableAllHooks: nothing is told at the start of a session."
        return _check("hooks", "fail", said, f"take disableAllHooks out of {path}")
    if policy.get("disableAllHooks") or policy.get("allowManagedHooksOnly"):
        said = f"{managed} allows no hooks of plugins: only the tools work."
        return _check("hooks", "fail", said, "ask whoever manages this machine")
    return _check("hooks", "ok", "Hooks are not switched off.")


def _shadows(installed: Json, settings: Json, state: Json) -> Check:
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
        return _check("tools", "warn", said, "claude mcp list")
    return _check("tools", "ok", "Nothing else offers memory_search.")


def _searches(entry: Any) -> bool:
    if not isinstance(entry, dict):
        return False
    words = [str(entry.get("command", "")), *map(str, entry.get("args") or ())]
    ours = "wakebook" in json.dumps(words) and "mcp" in words
    return ours or any(_mentions(Path(word)) for word in words if word.endswith(LOOKED_INTO))


def _mentions(path: Path) -> bool:
    """Whether a file, or one in a folder, names the tool."""
    try:
        if path.is_dir():
            inside = (one for one in path.rglob("*") if one.suffix in LOOKED_INTO)
            return any(_mentions(one) for one in inside if one.is_file())
        return path.stat().st_size <= LARGEST and SEARCH in path.read_bytes()
    except OSError:
        return False
