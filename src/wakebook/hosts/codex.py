"""Codex: hooks in ~/.codex/hooks.json, and the tools over MCP in ~/.codex/config.toml.

Codex skips a hook in silence until the user has allowed it, on a screen that it shows when it
starts. We never do that for the user: `init` says it, and the checks ask Codex whether it was
done. What Codex remembers about our hooks, in [hooks.state] of config.toml, goes with them.
"""

import json
import os
import re
import selectors
import shlex
import subprocess
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO, Any

import msgspec
import tomlkit

from wakebook.base import clock
from wakebook.base.decode import convert, loads
from wakebook.base.errors import WakebookError
from wakebook.hosts import toml
from wakebook.hosts.plan import (
    Change,
    Where,
    Wires,
    amiss,
    behind,
    check,
    read,
    sessions_in,
    tested,
)
from wakebook.memory import Memory
from wakebook.upkeep.doctor import Check
from wakebook.version import __version__

NAME = "codex"
MEASURED = (0, 166, 0)  # the version that this was built and is tested with
TRUST = (
    "Codex runs no hook before you have allowed it. Start `codex` once: it says "
    '"Hooks need review"; choose "Trust all and continue", or review them first '
    "(later: /hooks). Until then nothing is remembered as it happens."
)
OFF = "config.toml turns hooks off ([features] hooks = false): none will run. Take that out."
# What Codex waits for a hook, in seconds: SessionEnd's is at most 3 in Codex itself.
WAITS = {
    "SessionStart": 10, "UserPromptSubmit": 10, "PreCompact": 30, "Stop": 10, "SessionEnd": 3,
    "PostToolUse": 5,
}  # fmt: skip
# Their text may be longer than 2,500 tokens.
SPEAKING = ("SessionStart", "UserPromptSubmit", "PostToolUse")
SERVER = "wakebook"
MARK = "# Wakebook's memory tools: put here by `wakebook init --host codex`, taken out by --undo"
SECONDS = 15.0  # Codex answers in 0.3 s, plus what the slowest MCP server of the user's takes
_check = partial(check, NAME)


def plan(where: Where) -> Wires:
    hooks, settings = _files(where)
    old, text = read(hooks), read(settings)
    changes = (
        Change(settings, text, with_server(settings, text, where.command, where.home)),
        Change(hooks, old, with_hooks(hooks, old, where.hook, where.home)),
    )
    changed = tuple(change for change in changes if change.before != change.after)
    notes = [TRUST] if any(change.path == hooks for change in changed) else []
    if _hooks_off(_values(settings, text)):
        notes.append(OFF)
    own = sessions_in(where, NAME, hooks.parent / "sessions")
    return Wires(changes=changed, settings=own, notes=tuple(notes))


def without(where: Where, path: Path, data: bytes) -> bytes | None:
    """A file of Codex's that was changed since, with our part taken out; None: it was ours."""
    if path.name == "hooks.json":
        return without_hooks(path, data)
    return without_server(path, data, _records(where, path, data))


def _files(where: Where) -> tuple[Path, Path]:
    chosen = where.env.get("CODEX_HOME", "")
    folder = Path(chosen).expanduser() if chosen else where.user / ".codex"
    return folder / "hooks.json", folder / "config.toml"


def _records(where: Where, path: Path, data: bytes) -> set[str]:
    """What Codex remembers about our hooks, whether they are still in hooks.json or not."""
    hooks = _files(where)[0]
    try:
        others = {
            f"{hooks}:{_label(event)}:{group}:{at}"
            for event, groups in _load(hooks, read(hooks)).get("hooks", {}).items()
            for group, at, handler in _handlers(groups)
            if not is_ours(handler)
        }
    except WakebookError:
        return set()
    labels = tuple(f"{hooks}:{_label(event)}:" for event in WAITS)
    return {key for key in _state(_values(path, data)).keys() - others if key.startswith(labels)}


def with_hooks(path: Path, before: bytes | None, command: Sequence[str], home: Path) -> bytes:
    """The file with our hooks, each once; everything else as it was.

    Codex knows a hook by its place (file, event, group, number in the group). So ours are added at
    the end of each event's list: no other hook moves, and none has to be trusted again.
    """
    data = _load(path, before)
    hooks = data.setdefault("hooks", {})
    for event, seconds in WAITS.items():
        line = shlex.join([*command, NAME, event, "--home", str(home)])
        ours: dict[str, Any] = {"type": "command", "command": line, "timeout": seconds}
        ours |= {"additionalContextLimit": 0} if event in SPEAKING else {}
        groups = hooks.setdefault(event, [])
        places = [(group, at) for group, at, handler in _handlers(groups) if is_ours(handler)]
        for group, at in places[:1]:
            groups[group]["hooks"][at] = ours
        for group, at in reversed(places[1:]):
            del groups[group]["hooks"][at]
        if not places:
            groups.append({"hooks": [ours]})
    return _dump(data, before)


def without_hooks(path: Path, before: bytes) -> bytes | None:
    """The file with our hooks taken out; None if nothing else is in it."""
    data = _load(path, before)
    hooks = data.get("hooks", {})
    for event in [event for event in hooks if event in WAITS]:
        mixed = [group for group in hooks[event] if any(map(is_ours, group.get("hooks", [])))]
        for group in mixed:
            group["hooks"] = [each for each in group["hooks"] if not is_ours(each)]
        emptied = {id(group) for group in mixed if not group["hooks"]}
        hooks[event] = [group for group in hooks[event] if id(group) not in emptied]
        if mixed and not hooks[event]:
            del hooks[event]
    return None if not hooks and set(data) <= {"hooks"} else _dump(data, before)


def is_ours(handler: Any) -> bool:
    try:
        words = shlex.split(handler["command"])
    except (KeyError, TypeError, ValueError, AttributeError):
        return False
    if NAME not in words:
        return False
    program = words[: words.index(NAME)]
    named = len(program) > 1 and Path(program[-2]).name == "wakebook"
    quick = any("wakebook.__main__" in word for word in program)  # of whatever environment
    return program[-1:] == ["hook"] and (named or quick)


def _label(event: str) -> str:
    """SessionStart -> session_start"""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()


def _handlers(groups: list[Any]) -> Iterator[tuple[int, int, Any]]:
    for number, group in enumerate(groups):
        for at, handler in enumerate(group.get("hooks", [])):
            yield number, at, handler


class _Group(msgspec.Struct):
    hooks: list[Any] = []


class _File(msgspec.Struct):
    hooks: dict[str, list[_Group]] = {}


def _load(path: Path, data: bytes | None) -> dict[str, Any]:
    if data is None or not data.strip():
        return {}
    try:
        found: dict[str, Any] = json.loads(data.decode("utf-8-sig"), object_pairs_hook=_once)
        convert(found, _File)
    except (ValueError, msgspec.ValidationError) as error:
        raise _unclear(path, error, " (Codex does not read it like this either)") from None
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{twice[0]!r} stands there twice")
    return dict(pairs)


def _dump(data: dict[str, Any], before: bytes | None) -> bytes:
    """JSON, indented as the file was."""
    old = (before or b"").decode("utf-8-sig", "replace")
    step = re.search(r"\n([ \t]+)\S", old)
    one_line = bool(old.strip()) and "\n" not in old.strip()
    indent = None if one_line else step[1] if step else "  "
    text = json.dumps(data, indent=indent, ensure_ascii=False)
    return (text + ("" if old.strip() and not old.endswith("\n") else "\n")).encode()


def with_server(path: Path, before: bytes | None, command: Sequence[str], home: Path) -> bytes:
    """The file with our server at its end, once, under a comment by which we know it again."""
    text = (before or b"").decode("utf-8", "replace")
    if SERVER in _servers(_values(path, before)):
        if MARK not in text:
            raise _refused(path, "already has an MCP server called wakebook that is not ours")
        text = _cut(path, text, set())
    arguments = [*command[1:], "mcp", "--home", str(home)]
    ours = {"command": command[0], "args": arguments, "startup_timeout_sec": 20}
    ours |= {"default_tools_approval_mode": "approve"}
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    after = (
        f"{text}{gap}{MARK}\n[mcp_servers.{SERVER}]\n{tomlkit.dumps(ours)}\n"
        f'[mcp_servers.{SERVER}.tools.forget]\napproval_mode = "prompt"\n'
    )
    try:
        values = tomllib.loads(after)
    except tomllib.TOMLDecodeError:
        why = "has its MCP servers in one line, to which none can be added"
        raise _refused(path, why) from None
    if SERVER not in _servers(values) or not _same(values, tomllib.loads(text), set()):
        raise _refused(path, "cannot be added to safely")
    return after.encode()


def without_server(path: Path, before: bytes, keys: Iterable[str]) -> bytes | None:
    """The file without our server and without Codex's word on these hooks; None if it was ours."""
    _values(path, before)
    after = _cut(path, before.decode(), set(keys))
    return after.encode() if after.strip() else None


def _cut(path: Path, text: str, keys: set[str]) -> str:
    """Our tables out, and those of [hooks.state] with these keys; checked by the values."""
    was = tomllib.loads(text)
    emptied = bool(keys) and _state(was).keys() <= keys

    def goes(name: tuple[str, ...]) -> bool:
        record = emptied or (len(name) > 2 and name[2] in keys)
        return name[:2] == ("mcp_servers", SERVER) or (name[:2] == ("hooks", "state") and record)

    try:
        after = toml.without_tables(text, MARK, goes)
        done = _same(was, tomllib.loads(after), keys)
    except ValueError:
        done = False
    if not done:
        said = f"{path} was changed so that our part cannot be told from yours. Nothing was changed"
        raise WakebookError(f"{said}. Take [mcp_servers.{SERVER}] out of it by hand.")
    return after


def _same(one: dict[str, Any], other: dict[str, Any], keys: set[str]) -> bool:
    """Whether two files have the same values, but for ours."""
    for data in (one, other):
        _servers(data).pop(SERVER, None)
        for key in keys & _state(data).keys():
            del _state(data)[key]
        if isinstance(data.get("hooks"), dict) and data["hooks"].get("state") == {}:
            del data["hooks"]["state"]
        for table in ("hooks", "mcp_servers"):
            if data.get(table) == {}:
                del data[table]
    return repr(one) == repr(other)  # nan is not itself


def _servers(data: dict[str, Any]) -> dict[str, Any]:
    found = data.get("mcp_servers", {})
    return found if isinstance(found, dict) else {}


def _state(data: dict[str, Any]) -> dict[str, Any]:
    hooks = data.get("hooks", {})
    found = hooks.get("state", {}) if isinstance(hooks, dict) else {}
    return found if isinstance(found, dict) else {}


def _hooks_off(data: dict[str, Any]) -> bool:
    features = data.get("features", {})
    return features.get("hooks", features.get("codex_hooks", True)) is False


def _values(path: Path, data: bytes | None) -> dict[str, Any]:
    try:
        return tomllib.loads((data or b"").decode())
    except ValueError as error:
        raise _unclear(path, error) from None


def _unclear(path: Path, error: Exception, more: str = "") -> WakebookError:
    said = f"{path} cannot be understood ({error}). Nothing was changed."
    return WakebookError(f"{said} Repair the file{more}, then try again.")


def _refused(path: Path, why: str) -> WakebookError:
    return WakebookError(
        f"{path} {why}. Nothing was changed. Take that entry out (codex mcp remove {SERVER}), or "
        f"write the servers as tables ([mcp_servers.NAME]), then try again."
    )


def checks(where: Where, memory: Memory) -> list[Check]:
    """Is it wired to this home, may its hooks run, are its tools there, is anything behind?"""
    hooks, settings = _files(where)
    try:
        events = _load(hooks, read(hooks)).get("hooks", {})
        values = _values(settings, read(settings))
    except WakebookError as error:
        return [_check("", "fail", str(error))]
    ours = {
        event: str(handler["command"])
        for event in WAITS
        for _, _, handler in _handlers(events.get(event, []))
        if is_ours(handler)
    }
    server = _servers(values).get(SERVER)
    server = server if isinstance(server, dict) else None
    if not ours and server is None:
        return [_check("", "note", "not connected")]
    found = [_hooks(where, ours, hooks), _entry(where, server, settings)]
    if _hooks_off(values):
        found.append(_check("hooks", "warn", OFF, ""))
    return [*found, *_asked(where, bool(ours), server is not None), behind(memory, NAME)]


def _hooks(where: Where, ours: dict[str, str], path: Path) -> Check:
    if missing := [event for event in WAITS if event not in ours]:
        return _check("hooks", "fail", f"{path} lacks ours for {', '.join(missing)}")
    for event, line in ours.items():
        if wrong := amiss(where, shlex.split(line)):
            return _check("hooks", "fail", f"{path}: the hook for {event} {wrong}")
    return _check("hooks", "ok", f"{len(ours)} in {path}")


def _entry(where: Where, server: dict[str, Any] | None, path: Path) -> Check:
    if server is None:
        return _check("tools", "fail", f"{path} lacks [mcp_servers.wakebook]")
    words = [str(server.get("command", "")), *map(str, server.get("args", []))]
    if wrong := amiss(where, words):
        return _check("tools", "fail", f"{path}: the MCP server {wrong}")
    if server.get("enabled") is False:
        return _check("tools", "warn", f"{path}: the MCP server has enabled = false", "")
    return _check("tools", "ok", f"[mcp_servers.wakebook] in {path}")


def _asked(where: Where, hooks: bool, tools: bool) -> Iterator[Check]:
    """What Codex itself says."""
    codex = where.which(NAME)
    if not codex:
        yield _check("", "note", "`codex` is not on the PATH, so it was not asked", "")
        return
    yield tested(where, NAME, MEASURED)
    questions: dict[str, Any] = {"hooks/list": {"cwds": [str(where.user)]}}
    questions["mcpServerStatus/list"] = {"detail": "toolsAndAuthOnly"}
    answers = ask([codex], where.env, questions)
    if hooks:
        yield _trust(answers.get("hooks/list"))
    if tools:
        yield from _offered(answers.get("mcpServerStatus/list"))


def _trust(answer: Any) -> Check:
    if answer is None:
        said = "Codex did not say whether it runs our hooks: look at /hooks in it"
        return _check("trust", "note", said, NAME)
    ours = [each for entry in answer["data"] for each in entry["hooks"] if is_ours(each)]
    untrusted = [each for each in ours if each["trustStatus"] in ("untrusted", "modified")]
    disabled = ", ".join(each["eventName"] for each in ours if not each["enabled"])
    if not ours:
        return _check("trust", "fail", "Codex does not see our hooks")
    if untrusted:
        waiting = ", ".join(each["eventName"] for each in untrusted)
        return _check("trust", "fail", f"not allowed yet: {waiting}. {TRUST}", NAME)
    if disabled:
        said = f"turned off in Codex: {disabled}. Turn them on under /hooks"
        return _check("trust", "warn", said, NAME)
    return _check("trust", "ok", f"Codex runs all {len(ours)} hooks")


def _offered(answer: Any) -> Iterator[Check]:
    """Are our tools there, and does another server have a memory_search?"""
    if answer is None:
        said = "Codex did not say which tools it has: look at /mcp in it"
        yield _check("tools", "note", said, "")
        return
    tools = {server["name"]: set(server["tools"]) for server in answer["data"]}
    if "memory_search" not in tools.pop(SERVER, set()):
        run = "wakebook mcp < /dev/null"
        yield _check("tools", "fail", "Codex gets no tools from our MCP server", run)
    for name in sorted(name for name, offered in tools.items() if "memory_search" in offered):
        said = f"the MCP server {name!r} offers a memory_search too: the model may ask that one"
        yield _check("tools", "warn", said, f"codex mcp remove {shlex.quote(name)}")


def ask(codex: Sequence[str], env: Mapping[str, str], questions: dict[str, Any]) -> dict[str, Any]:
    """The answers of `codex app-server` by method; one that did not come in time, or was an
    error, is missing. Only questions: which hooks may run is the user's to decide."""
    client = {"name": "wakebook", "title": "Wakebook", "version": __version__}
    lines = [{"id": 0, "method": "initialize", "params": {"clientInfo": client}}]
    lines += [{"method": "initialized", "params": {}}]
    names = dict(enumerate(questions, 1))
    lines += [{"id": at, "method": name, "params": questions[name]} for at, name in names.items()]
    pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
    command = [*codex, "app-server"]
    try:
        child = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=nothing, env=env)
    except OSError:
        return {}
    assert child.stdin and child.stdout
    try:
        child.stdin.write(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
        child.stdin.flush()
        return _answers(child.stdout, names)
    except OSError:
        return {}
    finally:
        child.stdin.close()
        child.stdout.close()
        try:
            child.wait(2)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def _answers(out: IO[bytes], names: dict[int, str]) -> dict[str, Any]:
    end, rest, waiting = clock.monotonic() + SECONDS, b"", set(names)
    found: dict[str, Any] = {}
    with selectors.DefaultSelector() as selector:
        selector.register(out, selectors.EVENT_READ)
        while waiting and selector.select(max(0.0, end - clock.monotonic())):
            data = os.read(out.fileno(), 65536)
            if not data:
                break
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                with suppress(ValueError, AttributeError):  # noise, and no JSON object
                    answer = loads(line)
                    at = answer.get("id")
                    if at in waiting and "method" not in answer:
                        waiting.discard(at)
                        found |= {names[at]: answer["result"]} if "result" in answer else {}
    return found
