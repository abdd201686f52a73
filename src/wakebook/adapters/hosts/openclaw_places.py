"""Where OpenClaw keeps its things: as its environment variables and its settings say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wakebook.adapters.hosts import openclaw_json as json5

if TYPE_CHECKING:
    from wakebook.adapters.hosts.wiring import Where


def state_folder(where: Where) -> Path:
    chosen = _named(where, "OPENCLAW_STATE_DIR")
    if chosen:
        return chosen
    profile = where.env.get("OPENCLAW_PROFILE", "").strip()
    name = f".openclaw-{profile}" if profile not in ("", "default") else ".openclaw"
    return (_named(where, "OPENCLAW_HOME") or where.user) / name


def config_file(where: Where) -> Path:
    return _named(where, "OPENCLAW_CONFIG_PATH") or state_folder(where) / "openclaw.json"


def workspace(where: Where, values: Any) -> Path:
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
