"""Codex: hooks in ~/.codex/hooks.json, and the tools over MCP in ~/.codex/config.toml.

Codex skips a hook in silence until the user has allowed it, on a screen that it shows when it
starts. We never do that for the user: `init` says it, and the checks ask Codex whether it was
done.
"""

from __future__ import annotations

import json
import os
import re
import selectors
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from wakebook import __version__
from wakebook.base import clock, config
from wakebook.base.errors import WakebookError
from wakebook.hosts import codex_config, codex_hooks
from wakebook.hosts.wiring import Change, Plan, Where, behind, read
from wakebook.upkeep.doctor import Check

if TYPE_CHECKING:
    from wakebook.memory import Memory

NAME = "codex"
LABEL = "Codex"
MEASURED = (0, 166, 0)  # the version that this was built and is tested with
TRUST = (
    "Codex runs no hook before you have allowed it. Start `codex` once: it says "
    '"Hooks need review"; choose "Trust all and continue", or review them first '
    "(later: /hooks). Until then nothing is remembered as it happens."
)
OFF = "config.toml turns hooks off ([features] hooks = false): none will run. Take that out."


def folder(where: Where) -> Path:
    chosen = where.env.get("CODEX_HOME", "")
    return Path(chosen).expanduser() if chosen else where.user / ".codex"


def plan(where: Where) -> Plan:
    hooks, settings = folder(where) / "hooks.json", folder(where) / "config.toml"
    old, text = read(hooks), read(settings)
    changes = (
        Change(settings, text, codex_config.wired(settings, text, where.command, where.home)),
        Change(hooks, old, codex_hooks.wired(hooks, old, where.hook, where.home)),
    )
    changed = tuple(change for change in changes if change.before != change.after)
    notes = [TRUST] if any(change.path == hooks for change in changed) else []
    if codex_config.hooks_off(settings, text):
        notes.append(OFF)
    return Plan(changes=changed, settings=_settings(where), notes=tuple(notes))


def _settings(where: Where) -> dict[str, Any]:
    """Where its sessions are, if that is not where we look anyway."""
    sessions = folder(where) / "sessions"
    known = config.load(where.home / "config.toml").hosts.codex
    if sessions in [config.expand(each) for each in known]:
        return {}
    return {"hosts.codex": [*known, str(sessions)]}


def without(where: Where, path: Path, data: bytes) -> bytes | None:
    """A file of Codex's that was changed since, with our part taken out; None: it was ours."""
    if path.name == "hooks.json":
        return codex_hooks.without(path, data)
    return codex_config.without(path, data, _records(where, path, data))


def _records(where: Where, path: Path, data: bytes) -> set[str]:
    """What Codex remembers about our hooks, whether they are still in hooks.json or not."""
    hooks = folder(where) / "hooks.json"
    try:
        others = codex_hooks.places(hooks, read(hooks), mine=False)
    except WakebookError:
        return set()
    labels = tuple(f"{hooks}:{codex_hooks.label(event)}:" for event in codex_hooks.EVENTS)
    known = codex_config.trust_records(path, data)
    return {key for key in known - others if key.startswith(labels)}


def checks(where: Where, memory: Memory) -> list[Check]:
    """Is it wired to this home, may its hooks run, are its tools there, is anything behind?"""
    again = f"wakebook init --host {NAME}"
    hooks, settings = folder(where) / "hooks.json", folder(where) / "config.toml"
    try:
        ours = codex_hooks.ours(hooks, read(hooks) or b"")
        server = codex_config.server(settings, read(settings))
        off = codex_config.hooks_off(settings, read(settings))
    except WakebookError as error:
        return [Check("codex", "fail", str(error), again)]
    if not ours and server is None:
        return [Check("codex", "note", "not connected", again)]
    found = [_hooks(where, ours, hooks, again), _entry(where, server, settings, again)]
    if off:
        found.append(Check("codex hooks", "warn", OFF))
    return [*found, *_asked(where, bool(ours), server is not None), behind(memory, NAME)]


def _hooks(where: Where, ours: dict[str, str], path: Path, again: str) -> Check:
    missing = [event for event in codex_hooks.EVENTS if event not in ours]
    if missing:
        return Check("codex hooks", "fail", f"{path} lacks ours for {', '.join(missing)}", again)
    for event, line in ours.items():
        wrong = _wrong(where, shlex.split(line))
        if wrong:
            return Check("codex hooks", "fail", f"{path}: the hook for {event} {wrong}", again)
    return Check("codex hooks", "ok", f"{len(ours)} in {path}")


def _entry(where: Where, server: dict[str, Any] | None, path: Path, again: str) -> Check:
    if server is None:
        return Check("codex tools", "fail", f"{path} lacks [mcp_servers.wakebook]", again)
    words = [str(server.get("command", "")), *map(str, server.get("args", []))]
    wrong = _wrong(where, words)
    if wrong:
        return Check("codex tools", "fail", f"{path}: the MCP server {wrong}", again)
    if server.get("enabled") is False:
        return Check("codex tools", "warn", f"{path}: the MCP server has enabled = false")
    return Check("codex tools", "ok", f"[mcp_servers.wakebook] in {path}")


def _wrong(where: Where, words: list[str]) -> str:
    """What is wrong with a command that a file of Codex's has."""
    if not shutil.which(words[0], path=where.env.get("PATH", "")):
        return f"runs {words[0]}, which is not there"
    home = words[words.index("--home") + 1] if "--home" in words[:-1] else ""
    if Path(home).expanduser().resolve() != where.home.resolve():
        return f"is for another home ({home or 'none is named'})"
    return ""


def _asked(where: Where, hooks: bool, tools: bool) -> Iterator[Check]:
    """What Codex itself says."""
    codex = shutil.which("codex", path=where.env.get("PATH", ""))
    if not codex:
        yield Check("codex", "note", "`codex` is not on the PATH, so it was not asked")
        return
    yield _version(codex, where)
    questions: dict[str, Any] = {"hooks/list": {"cwds": [str(where.user)]}}
    questions["mcpServerStatus/list"] = {"detail": "toolsAndAuthOnly"}
    answers = ask([codex], where.env, questions)
    if hooks:
        yield _trust(answers.get("hooks/list"))
    if tools:
        yield from _offered(answers.get("mcpServerStatus/list"))


def _trust(answer: Any) -> Check:
    name, look = "codex trust", "codex"
    if answer is None:
        said = "Codex did not say whether it runs our hooks: look at /hooks in it"
        return Check(name, "note", said, look)
    ours = [
        each for entry in answer["data"] for each in entry["hooks"] if codex_hooks.is_ours(each)
    ]
    waiting = [
        each["eventName"] for each in ours if each["trustStatus"] in ("untrusted", "modified")
    ]
    disabled = [each["eventName"] for each in ours if not each["enabled"]]
    if not ours:
        return Check(name, "fail", "Codex does not see our hooks", f"wakebook init --host {NAME}")
    if waiting:
        return Check(name, "fail", f"not allowed yet: {', '.join(waiting)}. {TRUST}", look)
    if disabled:
        said = f"turned off in Codex: {', '.join(disabled)}. Turn them on under /hooks"
        return Check(name, "warn", said, look)
    return Check(name, "ok", f"Codex runs all {len(ours)} hooks")


def _offered(answer: Any) -> Iterator[Check]:
    """Are our tools there, and does another server have a memory_search?"""
    if answer is None:
        yield Check(
            "codex tools", "note", "Codex did not say which tools it has: look at /mcp in it"
        )
        return
    tools = {server["name"]: set(server["tools"]) for server in answer["data"]}
    mine = tools.pop(codex_config.NAME, set())
    if "memory_search" not in mine:
        said = "Codex gets no tools from our MCP server"
        yield Check("codex tools", "fail", said, "wakebook mcp < /dev/null")
    for name in sorted(name for name, offered in tools.items() if "memory_search" in offered):
        said = f"the MCP server {name!r} offers a memory_search too: the model may ask that one"
        yield Check("codex tools", "warn", said, f"codex mcp remove {shlex.quote(name)}")


def _version(codex: str, where: Where) -> Check:
    try:
        done = subprocess.run(
            [codex, "--version"], env=where.env, capture_output=True, text=True, timeout=10
        )
        said = done.stdout.strip()
    except (OSError, subprocess.TimeoutExpired) as error:
        return Check("codex version", "warn", f"`codex --version` failed: {error}")
    number = re.search(r"(\d+)\.(\d+)\.(\d+)", said)
    if number and tuple(map(int, number.groups())) < MEASURED:
        wanted = ".".join(map(str, MEASURED))
        old = f"{said} is older than {wanted}, with which Wakebook was tested"
        return Check("codex version", "note", old, "codex update")
    return Check("codex version", "ok", said)


# -----------------------------------------------------------------------------
# What Codex itself says about its set-up: `codex app-server`, asked over its stdio.
#
# Only questions are asked. Which hooks may run is the user's to decide, on Codex's own screen.

SECONDS = 15.0  # it answers in 0.3 s, plus what the slowest MCP server of the user's takes


def ask(
    codex: Sequence[str], env: Mapping[str, str], questions: Mapping[str, Any]
) -> dict[str, Any]:
    """The answers by method; one that did not come in time, or was an error, is missing."""
    client = {"name": "wakebook", "title": "Wakebook", "version": __version__}
    lines = [{"id": 0, "method": "initialize", "params": {"clientInfo": client}}]
    lines += [{"method": "initialized", "params": {}}]
    names = dict(enumerate(questions, 1))
    lines += [{"id": at, "method": name, "params": questions[name]} for at, name in names.items()]
    pipe = subprocess.PIPE
    try:
        child = subprocess.Popen(
            [*codex, "app-server"], stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=env
        )
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
        _end(child)


def _answers(out: IO[bytes], names: dict[int, str]) -> dict[str, Any]:
    end, rest = clock.monotonic() + SECONDS, b""
    found: dict[str, Any] = {}
    waiting = set(names)
    with selectors.DefaultSelector() as selector:
        selector.register(out, selectors.EVENT_READ)
        while waiting and selector.select(max(0.0, end - clock.monotonic())):
            read = os.read(out.fileno(), 65536)
            if not read:
                break
            *lines, rest = (rest + read).split(b"\n")
            for answer in map(_object, lines):
                at = answer.get("id")
                if at in waiting and "method" not in answer:
                    waiting.discard(at)
                    found |= {names[at]: answer["result"]} if "result" in answer else {}
    return found


def _object(line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _end(child: subprocess.Popen[bytes]) -> None:
    for stream in (child.stdin, child.stdout):
        if stream:
            stream.close()
    try:
        child.wait(2)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
