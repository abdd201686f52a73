"""What of openclaw.json is ours: put in, and taken out again.

Everything that would remember the same things twice, or hide our tools, is switched off:
memory-core (with dreaming on it loads beside us), its memory flush, the session-memory hook.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wakebook.base import config
from wakebook.base.errors import WakebookError
from wakebook.hosts import openclaw_json as json5

if TYPE_CHECKING:
    from wakebook.hosts.wiring import Where

PLUGIN = "wakebook"
ENTRY = ("plugins", "entries", PLUGIN)
PATHS = ("plugins", "load", "paths")
ALLOW = ("plugins", "allow")
SLOT = ("plugins", "slots", "memory")
CORE = ("plugins", "entries", "memory-core", "enabled")
FLUSH = ("agents", "defaults", "compaction", "memoryFlush", "enabled")
HOOK = ("hooks", "internal", "entries", "session-memory")
PERMISSIONS = ("allowConversationAccess", "allowPromptInjection")

Place = tuple[str, ...]


def values_of(path: Path, text: str) -> dict[str, Any]:
    try:
        values = json5.read(text)
    except json5.NotJson as error:
        raise WakebookError(
            f"{path}, {error}. Nothing was changed; `openclaw doctor` says what is wrong with it."
        ) from error
    if not isinstance(values, dict):
        raise WakebookError(f"{path}: an object is expected. Nothing was changed.")
    return values


def put_in(where: Where, path: Path, text: str) -> str:
    for place, value in _wanted(where, values_of(path, text)):
        text = _put(path, text, place, value)
    return text


def take_out(where: Where, path: Path, text: str) -> str:
    """Without ours; what was there before is put back, what was changed since stays."""
    before = _before(where, path)
    values = values_of(path, text)
    ours: dict[Place, Any] = {SLOT: PLUGIN, CORE: False, FLUSH: False}
    if json5.get(before, HOOK) is not None:
        ours[(*HOOK, "enabled")] = False
    for place, value in ours.items():
        if json5.get(values, place) == value:
            text = _restored(path, text, place, before)
    text = _restored(path, text, ENTRY, before)
    for place, one in ((PATHS, str(where.folder)), (ALLOW, PLUGIN)):
        text = _unlisted(path, text, place, one, before)
    return text


def lends(where: Where) -> bool:
    """Whether OpenClaw's model reads the conversations: the user has named no other."""
    return config.load(where.home / "config.toml").models.main in ("", "host")


def _wanted(where: Where, values: Any) -> Iterator[tuple[Place, Any]]:
    """Every setting of ours and its place, given what stands there now."""
    paths = json5.get(values, PATHS, [])
    if isinstance(paths, list) and str(where.folder) not in paths:
        yield PATHS, [*paths, str(where.folder)]
    allowed = json5.get(values, ALLOW)
    if isinstance(allowed, list) and allowed and PLUGIN not in allowed:
        yield ALLOW, [*allowed, PLUGIN]
    yield SLOT, PLUGIN
    ours = {"command": list(where.command), "home": str(where.home), "lend": lends(where)}
    if json5.get(values, ENTRY) is None:
        hooks = dict.fromkeys(PERMISSIONS, True)
        yield ENTRY, {"enabled": True, "hooks": hooks, "config": ours}
    else:  # somebody may have more in there than we know of
        yield (*ENTRY, "enabled"), True
        for permission in PERMISSIONS:
            yield (*ENTRY, "hooks", permission), True
        for name, value in ours.items():
            yield (*ENTRY, "config", name), value
    yield CORE, False
    yield FLUSH, False
    hook = json5.get(values, HOOK)
    if isinstance(hook, dict) and hook.get("enabled") is not False:
        yield (*HOOK, "enabled"), False


def _put(path: Path, text: str, place: Place, value: Any) -> str:
    try:
        return json5.put(text, place, value)
    except json5.NotJson as error:
        raise WakebookError(f"{path}: {error}. Nothing was changed; correct it first.") from error


def _before(where: Where, path: Path) -> Any:
    """The file as it was when it was wired; nothing is known of it without its backup."""
    for backup in (where.folder / "backup").glob(f"*-{path.name}"):
        try:
            return json5.read(backup.read_text(encoding="utf-8"))
        except (OSError, ValueError, json5.NotJson):
            continue
    return {}


def _restored(path: Path, text: str, place: Place, before: Any) -> str:
    missing = object()
    was = json5.get(before, place, missing)
    return _dropped(text, place, before) if was is missing else _put(path, text, place, was)


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
