"""What Codex itself says about its set-up: `codex app-server`, asked over its stdio.

Only questions are asked. Which hooks may run is the user's to decide, on Codex's own screen.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
from collections.abc import Mapping, Sequence
from typing import IO, Any

from wakebook import __version__, clock

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
