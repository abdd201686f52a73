"""Codex's hooks.json with our hooks in it, and without them.

Codex knows a hook by its place (file, event, group, number in the group) and remembers which it
may run under that name. So ours are added at the end of each event's list: nobody else's hook
moves, and nobody has to be trusted again.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from wakebook.base.errors import WakebookError

QUICK = "wakebook.__main__"  # of whatever environment

# What Codex waits for a hook, in seconds: SessionEnd's is at most 3 in Codex itself.
EVENTS = {"SessionStart": 10, "UserPromptSubmit": 10, "PreCompact": 30, "Stop": 10, "SessionEnd": 3}
SPEAKING = ("SessionStart", "UserPromptSubmit")  # their text may be longer than 2,500 tokens


def wired(path: Path, before: bytes | None, command: Sequence[str], home: Path) -> bytes:
    """The file with our hooks, each once; everything else as it was."""
    data = _load(path, before)
    hooks = data.setdefault("hooks", {})
    for event in EVENTS:
        ours = _handler(command, event, home)
        groups = hooks.setdefault(event, [])
        places = [(group, at) for group, at, handler in _handlers(groups) if is_ours(handler)]
        for group, at in places[:1]:
            groups[group]["hooks"][at] = ours
        for group, at in reversed(places[1:]):
            del groups[group]["hooks"][at]
        if not places:
            groups.append({"hooks": [ours]})
    return _dump(data, before)


def without(path: Path, before: bytes) -> bytes | None:
    """The file with our hooks taken out; None if nothing else is in it."""
    data = _load(path, before)
    hooks = data.get("hooks", {})
    for event in [event for event in hooks if event in EVENTS]:
        mixed = [group for group in hooks[event] if any(map(is_ours, group.get("hooks", [])))]
        for group in mixed:
            group["hooks"] = [each for each in group["hooks"] if not is_ours(each)]
        emptied = {id(group) for group in mixed if not group["hooks"]}
        hooks[event] = [group for group in hooks[event] if id(group) not in emptied]
        if mixed and not hooks[event]:
            del hooks[event]
    return None if not hooks and set(data) <= {"hooks"} else _dump(data, before)


def ours(path: Path, data: bytes) -> dict[str, str]:
    """Our hooks in this file: the command by event."""
    hooks = _load(path, data).get("hooks", {})
    return {
        event: str(handler["command"])
        for event in EVENTS
        for _, _, handler in _handlers(hooks.get(event, []))
        if is_ours(handler)
    }


def places(path: Path, data: bytes | None, mine: bool) -> set[str]:
    """The names under which Codex remembers the hooks of this file: ours, or the others'."""
    hooks = _load(path, data).get("hooks", {})
    return {
        f"{path}:{label(event)}:{group}:{at}"
        for event, groups in hooks.items()
        for group, at, handler in _handlers(groups)
        if is_ours(handler) == mine
    }


def label(event: str) -> str:
    """SessionStart -> session_start"""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()


def is_ours(handler: Any) -> bool:
    try:
        words = shlex.split(handler["command"])
    except (KeyError, TypeError, ValueError, AttributeError):
        return False
    if "codex" not in words:
        return False
    program = words[: words.index("codex")]
    ours = Path(program[-2]).name == "wakebook" if len(program) > 1 else False
    return program[-1:] == ["hook"] and (ours or any(QUICK in word for word in program))


def _handler(command: Sequence[str], event: str, home: Path) -> dict[str, Any]:
    line = shlex.join([*command, "codex", event, "--home", str(home)])
    found: dict[str, Any] = {"type": "command", "command": line, "timeout": EVENTS[event]}
    return found | ({"additionalContextLimit": 0} if event in SPEAKING else {})


def _handlers(groups: list[Any]) -> Iterator[tuple[int, int, Any]]:
    for number, group in enumerate(groups):
        for at, handler in enumerate(group.get("hooks", [])):
            yield number, at, handler


def _load(path: Path, data: bytes | None) -> dict[str, Any]:
    if data is None or not data.strip():
        return {}
    try:
        found = json.loads(data.decode("utf-8-sig"), object_pairs_hook=_once)
        _understand(found)
    except (ValueError, TypeError) as error:
        raise WakebookError(
            f"{path} cannot be understood ({error}). Nothing was changed. "
            "Repair the file (Codex does not read it like this either), then try again."
        ) from None
    assert isinstance(found, dict)
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{twice[0]!r} stands there twice")
    return dict(pairs)


def _understand(data: Any) -> None:
    hooks = data.get("hooks", {}) if isinstance(data, dict) else None
    if not isinstance(hooks, dict):
        raise TypeError('not an object with "hooks"')
    for event, groups in hooks.items():
        lists = [group.get("hooks", []) for group in groups if isinstance(group, dict)]
        if not isinstance(groups, list) or len(lists) < len(groups):
            raise TypeError(f"{event} is not a list of objects")
        if not all(isinstance(each, list) for each in lists):
            raise TypeError(f'"hooks" in {event} is not a list')


def _dump(data: dict[str, Any], before: bytes | None) -> bytes:
    """JSON, indented as the file was."""
    old = (before or b"").decode("utf-8-sig", "replace")
    step = re.search(r"\n([ \t]+)\S", old)
    one_line = bool(old.strip()) and "\n" not in old.strip()
    indent = None if one_line else step[1] if step else "  "
    text = json.dumps(data, indent=indent, ensure_ascii=False)
    return (text + ("" if old.strip() and not old.endswith("\n") else "\n")).encode()
