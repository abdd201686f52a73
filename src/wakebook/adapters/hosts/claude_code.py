"""Claude Code: a plugin folder of our own, put in with the client's own commands.

The folder (`claude_code_files`) is a marketplace with one plugin. Its copy in the home names
this Wakebook and this home by their full paths, and the client runs it from there: nothing has
to be on PATH, and a new `init` takes effect at the next session. What the client's commands
change are three files and its copy of the plugin; those are what `--undo` looks after. The
client's state file (.claude.json) is left alone: it may hold secrets, and these commands change
nothing in it.
"""

from __future__ import annotations

import json
import math
import re
import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wakebook import config
from wakebook.adapters.hosts.wiring import Plan, Where
from wakebook.errors import WakebookError
from wakebook.version import __version__

if TYPE_CHECKING:
    from wakebook.memory import Check, Memory

NAME = "claude-code"
LABEL = "Claude Code"
PLUGIN = "wakebook@wakebook"
MARKET = "wakebook"
FILES = Path(__file__).parent / "claude_code_files"
INSIDE = "plugins/wakebook"  # the plugin, in the marketplace folder
GRACE = 3  # seconds that the client waits longer than a hook's time box


def plan(where: Where) -> Plan:
    folder = config_folder(where)
    settings = read_json(folder / "settings.json")
    read_json(folder / "plugins" / "known_marketplaces.json")
    read_json(folder / "plugins" / "installed_plugins.json")
    claude = shutil.which("claude", path=where.env.get("PATH", ""))
    add = ("plugin", "marketplace", "add", str(where.folder))
    install = ("plugin", "install", PLUGIN)
    notes = [*_warnings(settings)]
    if claude:
        notes.append("Start a new session, or type /reload-plugins in one that runs.")
    else:
        notes += [
            "`claude` is not on PATH, so nothing of Claude Code's was changed. Run these two:",
            shlex.join(("claude", *add)),
            shlex.join(("claude", *install)),
        ]
    return Plan(
        files=files(where),
        by_hand=not claude,
        commands=((claude, *add), (claude, *install)) if claude else (),
        undo_commands=(
            (claude, "plugin", "uninstall", PLUGIN),
            (claude, "plugin", "marketplace", "remove", MARKET),
        )
        if claude
        else (),
        touched=touched(folder),
        settings=_settings(where, folder),
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
    elif path.name == "installed_plugins.json":
        _drop(found, "plugins", PLUGIN)
        if set(found) <= {"version"}:
            found = {}
    else:
        _drop(found, "enabledPlugins", PLUGIN)
        _drop(found, "extraKnownMarketplaces", MARKET)
    if not found:
        return None
    end = "\n" if text.endswith("\n") else ""
    return (json.dumps(found, indent=2, ensure_ascii=False) + end).encode()


def checks(where: Where, memory: Memory) -> list[Check]:
    from wakebook.adapters.hosts.claude_code_checks import checks

    return checks(where, memory)


# --- the plugin's files ------------------------------------------------------------------


def files(where: Where) -> dict[str, bytes]:
    """The shipped folder with this Wakebook and this home in it."""
    found = {
        path.relative_to(FILES).as_posix(): path.read_bytes()
        for path in sorted(FILES.rglob("*"))
        if path.is_file()
    }
    for name, change in (
        (f"{INSIDE}/.claude-plugin/plugin.json", _manifest),
        (f"{INSIDE}/hooks/hooks.json", _hooks),
        (f"{INSIDE}/.mcp.json", _server),
    ):
        content = change(where, json.loads(found[name]))
        found[name] = (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode()
    for name in found:
        if name.startswith(f"{INSIDE}/commands/"):
            found[name] = _slash(where, found[name].decode()).encode()
    return found


def _manifest(where: Where, content: dict[str, Any]) -> dict[str, Any]:
    return content | {"version": __version__}


def _hooks(where: Where, content: dict[str, Any]) -> dict[str, Any]:
    box = config.load(where.home / "config.toml").hooks.seconds
    for event, groups in content["hooks"].items():
        command = [*where.hook, NAME, event, "--home", str(where.home)]
        for hook in (hook for group in groups for hook in group["hooks"]):
            hook |= {"command": shlex.join(command), "timeout": math.ceil(box) + GRACE}
    return content


def _server(where: Where, content: dict[str, Any]) -> dict[str, Any]:
    program, *arguments = where.command
    server = content["mcpServers"][MARKET]
    server |= {"command": program, "args": [*arguments, "mcp", "--home", str(where.home)]}
    return content


def _slash(where: Where, text: str) -> str:
    """A slash command that runs Wakebook runs this one, and may do so without asking."""
    command = shlex.join((*where.command, "--home", str(where.home)))
    quoted = json.dumps(command, ensure_ascii=False)[1:-1]
    text = text.replace('"Bash(wakebook ', f'"Bash({quoted} ')
    return re.sub(r"(?m)^!`wakebook ", lambda _: f"!`{command} ", text)


# --- the client's configuration ----------------------------------------------------------


def config_folder(where: Where) -> Path:
    chosen = where.env.get("CLAUDE_CONFIG_DIR")
    return Path(chosen) if chosen else where.user / ".claude"


def read_json(path: Path) -> dict[str, Any]:
    """A file of the client's; empty if there is none. Raises WakebookError if it is broken."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise WakebookError(f"{path}: cannot be read ({error}). Nothing was changed.") from error
    return _parsed(text, path)


def _parsed(text: str, path: Path) -> dict[str, Any]:
    try:
        found = json.loads(text) if text.strip() else {}
    except ValueError as error:
        raise WakebookError(
            f"{path}: is not JSON ({error}), and Claude Code cannot read it either. "
            "Correct it and try again; nothing was changed."
        ) from error
    if not isinstance(found, dict):
        raise WakebookError(f"{path}: is no JSON object. Correct it; nothing was changed.")
    return found


def _drop(found: dict[str, Any], section: str, name: str) -> None:
    inside = found.get(section)
    if isinstance(inside, dict):
        inside.pop(name, None)
        if not inside:
            del found[section]


def _settings(where: Where, folder: Path) -> dict[str, Any]:
    """Wakebook reads sessions from ~/.claude; a folder of the user's choice has to be named."""
    sessions = str(folder / "projects")
    known = config.load(where.home / "config.toml").hosts.claude_code
    places = [str(Path(place.replace("~", str(where.user), 1))) for place in known]
    return {} if sessions in places else {"hosts.claude_code": [*known, sessions]}


def _warnings(settings: dict[str, Any]) -> list[str]:
    if settings.get("disableAllHooks"):
        return ["settings.json says disableAllHooks: until that is gone, only the tools work."]
    return []
