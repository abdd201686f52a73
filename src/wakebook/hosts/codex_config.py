"""Codex's config.toml with our MCP server in it, and without it.

Ours is a block of text at the end, under a comment by which we know it again. Nothing else is
touched: the file is never written anew from its values. Every change is checked by reading the
values before and after.

Codex itself adds to this file later, for one thing which hooks may run ([hooks.state]). What it
says about our hooks goes with them.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from wakebook.base.errors import WakebookError

NAME = "wakebook"
MARK = "# Wakebook's memory tools: put here by `wakebook init --host codex`, taken out by --undo"

_HEADER = re.compile(r"\s*\[\[?\s*(.+?)\s*\]\]?\s*(?:#.*)?")


def wired(path: Path, before: bytes | None, command: Sequence[str], home: Path) -> bytes:
    """The file with our server at its end, once; everything else as it was."""
    text = _text(path, before)
    data = _values(path, text)
    if NAME in _servers(data):
        if MARK not in text:
            raise _refused(path, "already has an MCP server called wakebook that is not ours")
        text = _cut(path, text, set())
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    after = text + gap + _block(command, home)
    try:
        values = tomllib.loads(after)
    except tomllib.TOMLDecodeError:
        raise _refused(
            path, "has its MCP servers in one line, to which none can be added"
        ) from None
    if _servers(values).pop(NAME, None) is None or not _same(values, tomllib.loads(text)):
        raise _refused(path, "cannot be added to safely")
    return after.encode()


def without(path: Path, before: bytes, keys: Iterable[str]) -> bytes | None:
    """The file without our server and without Codex's word on these hooks; None if it was ours."""
    text = _text(path, before)
    _values(path, text)
    after = _cut(path, text, set(keys))
    return after.encode() if after.strip() else None


def server(path: Path, data: bytes | None) -> dict[str, Any] | None:
    """Our entry, or whichever is called like that."""
    found = _servers(_values(path, _text(path, data))).get(NAME)
    return found if isinstance(found, dict) else None


def hooks_off(path: Path, data: bytes | None) -> bool:
    """Whether the file turns all hooks off."""
    features = _values(path, _text(path, data)).get("features", {})
    return features.get("hooks", features.get("codex_hooks", True)) is False


def trust_records(path: Path, data: bytes | None) -> set[str]:
    """The hooks about which Codex has something to say in this file."""
    hooks = _values(path, _text(path, data)).get("hooks", {})
    return set(hooks.get("state", {})) if isinstance(hooks, dict) else set()


def _block(command: Sequence[str], home: Path) -> str:
    arguments = [*command[1:], "mcp", "--home", str(home)]
    return (
        f"{MARK}\n[mcp_servers.{NAME}]\ncommand = {_string(command[0])}\n"
        f"args = [{', '.join(map(_string, arguments))}]\nstartup_timeout_sec = 20\n"
        'default_tools_approval_mode = "approve"\n\n'
        f'[mcp_servers.{NAME}.tools.forget]\napproval_mode = "prompt"\n'
    )


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")


def _cut(path: Path, text: str, keys: set[str]) -> str:
    """Our tables out, and those of [hooks.state] with these keys; checked by the values."""

    def goes(name: tuple[str, ...]) -> bool:
        return name[:2] == ("mcp_servers", NAME) or (
            name[:2] == ("hooks", "state") and len(name) > 2 and name[2] in keys
        )

    try:
        after = _tables_out(text, goes)
        if _state(tomllib.loads(after)) == {}:  # at most its heading is left, and was ours
            was = _state(tomllib.loads(text))
            after = _tables_out(after, lambda name: bool(was) and name == ("hooks", "state"))
        left = _reduced(tomllib.loads(after), keys)
    except tomllib.TOMLDecodeError:
        left = {}
    if not _same(_reduced(tomllib.loads(text), keys), left):
        raise WakebookError(
            f"{path} was changed so that our part cannot be told from yours. Nothing was changed. "
            f"Take [mcp_servers.{NAME}] out of it by hand."
        )
    return after


def _tables_out(text: str, goes: Callable[[tuple[str, ...]], bool]) -> str:
    """Without these tables, and without the empty line before each of them."""
    kept: list[str] = []
    gap: list[str] = []  # empty lines after a table that goes
    going = False
    for line in text.splitlines(keepends=True):
        name = _name(line)
        was, bare = going, not line.strip()
        if name or line.rstrip("\r\n") == MARK:
            going = goes(name) if name else True
        elif line.lstrip().startswith("#"):
            going = False  # somebody's remark about what comes next
        if going and not was and kept and not kept[-1].strip():
            kept.pop()
        if not going:
            kept += [*gap, line]
        gap = [*gap, line] if going and bare else []
    return "".join(kept + gap)


def _name(line: str) -> tuple[str, ...]:
    """The parts of a table's name, if the line is the heading of one."""
    found = _HEADER.fullmatch(line.rstrip("\r\n"))
    if not found:
        return ()
    try:
        value: Any = tomllib.loads(f"{found[1]} = 1")
    except tomllib.TOMLDecodeError:
        return ()
    parts: list[str] = []
    while isinstance(value, dict):
        [(part, value)] = value.items()
        parts.append(part)
    return tuple(parts)


def _reduced(data: dict[str, Any], keys: set[str]) -> dict[str, Any]:
    """The values that are not ours."""
    _servers(data).pop(NAME, None)
    for key in keys & set(_state(data)):
        del _state(data)[key]
    if isinstance(data.get("hooks"), dict) and data["hooks"].get("state") == {}:
        del data["hooks"]["state"]
    for table in ("hooks", "mcp_servers"):
        if data.get(table) == {}:
            del data[table]
    return data


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    for data in (one, other):
        if data.get("mcp_servers") == {}:
            del data["mcp_servers"]
    return repr(one) == repr(other)  # nan is not itself


def _servers(data: dict[str, Any]) -> dict[str, Any]:
    found = data.get("mcp_servers", {})
    return found if isinstance(found, dict) else {}


def _state(data: dict[str, Any]) -> dict[str, Any]:
    hooks = data.get("hooks", {})
    found = hooks.get("state", {}) if isinstance(hooks, dict) else {}
    return found if isinstance(found, dict) else {}


def _text(path: Path, data: bytes | None) -> str:
    try:
        return (data or b"").decode()
    except UnicodeDecodeError as error:
        raise _unreadable(path, error) from None


def _values(path: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: Exception) -> WakebookError:
    return WakebookError(
        f"{path} cannot be understood ({error}). Nothing was changed. "
        "Repair the file, then try again."
    )


def _refused(path: Path, why: str) -> WakebookError:
    return WakebookError(
        f"{path} {why}. Nothing was changed. Take that entry out (codex mcp remove {NAME}), or "
        f"write the servers as tables ([mcp_servers.NAME]), then try again."
    )
