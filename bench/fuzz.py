"""Fuzz: lines of every host's format, bent out of shape, and requests that nobody would make.

A line is mutated byte by byte and value by value. Requests are made from the table of verbs: fields
with values of the right and of the wrong kind, too many, too few, and bodies that are no JSON. No
line may raise anything, no request may be answered with a 500, and the service must still be well.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import time
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from tests import homes
from tests.capture.test_codex import answer, meta, user
from tests.capture.test_pi import lines as pi_lines
from tests.service import serving

from wakebook import Memory
from wakebook.base.errors import WakebookError
from wakebook.capture.hosts import HOSTS
from wakebook.capture.read import Reader
from wakebook.capture.state import Session
from wakebook.verbs import SESSIONS, TOOLS, VERBS

if TYPE_CHECKING:
    from bench.torture import Bed

TOGETHER = 2000  # lines of a file
LIMIT = 1 << 20
AWAY = {"doctor", "tick", "commit"}  # slow, or tried elsewhere
ODD: list[Any] = [
    None, True, 0, -1, 1 << 70, 1e308, "", "x", "\0", "\u202e", "\ud800", "../../etc/passwd", "/",
    "é" * 300, [], {}, [[[]]], {"a": {"b": [1]}}, "[" * 5000, "2026-13-45T99:99:99Z", "\x1b[31m",
]  # fmt: skip


def everything(bed: Bed, lines: int, until: float) -> None:
    for name in HOSTS:
        _format(bed, name, lines, until)
    _requests(bed, until)


# --- lines ---------------------------------------------------------------------------------
def patterns_of(name: str) -> list[bytes]:
    if name in ("claude-code", "openclaw"):
        folder = Path(str(resources.files("wakebook") / "samples" / name))
        files = sorted(path for path in folder.rglob("*.jsonl*") if path.is_file())
        return [line for path in files for line in path.read_bytes().splitlines()][:300]
    records: list[Any] = [{"session": "s", "cwd": "/p"}, {"role": "user", "content": "Hello."}]
    if name == "codex":
        records = [meta(), user("Let's go with Postgres."), answer("Fine.")]
    elif name == "pi":
        records = pi_lines()
    return [json.dumps(one).encode() for one in records]


def mutated(chance: random.Random, line: bytes) -> bytes:
    kind = chance.random()
    if kind < 0.4:  # another value somewhere in it
        try:
            found = json.loads(line)
        except ValueError:
            found = {}
        _bend(chance, found)
        return json.dumps(found).encode("utf-8", "replace").replace(b"\n", b"")
    data = bytearray(line)
    for _ in range(chance.randint(1, 8)):
        at = chance.randrange(len(data)) if data else 0
        if kind < 0.6 and data:
            data[at] = chance.randrange(256)
        elif kind < 0.75:
            del data[at : at + chance.randint(1, 40)]
        elif kind < 0.9:
            data[at:at] = data[at : at + chance.randint(1, 40)]
        else:
            data[at:at] = chance.choice([b"[" * 2000, b'{"a":' * 500, b"\xff\xfe", b"\0", b'"'])
    return bytes(data).replace(b"\n", b"")


def _bend(chance: random.Random, found: Any) -> None:
    """Put an odd value into it, at any depth."""
    while isinstance(found, dict | list) and found:
        key: Any = chance.choice(list(found)) if isinstance(found, dict) else 0
        inner = found[key]
        if not isinstance(inner, dict | list) or not inner or chance.random() < 0.3:
            found[key] = chance.choice(ODD)
            return
        found = inner


def _format(bed: Bed, name: str, count: int, until: float) -> None:
    patterns, path = patterns_of(name), bed.folder / f"fuzzed-{name}.jsonl"
    while bed.tally[f"lines: {name}"] < count and time.monotonic() < until:
        path.write_bytes(b"\n".join(_some(bed.chance, patterns)) + b"\n")
        session = Session(host=name, id="fuzzed", path=path, size=path.stat().st_size)
        try:
            for _ in Reader(session, 0, LIMIT, closing=True):
                pass
        except WakebookError:
            pass
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
            kept = Path("/tmp") / f"wakebook-fuzzed-{name}-{os.getpid()}.jsonl"
            shutil.copy(path, kept)
            bed.failures.append(f"lines of {name}: {error!r} (kept: {kept})")
            print("FAILED", bed.failures[-1], flush=True)
            return
        bed.tally[f"lines: {name}"] += TOGETHER


def _some(chance: random.Random, patterns: list[bytes]) -> Iterator[bytes]:
    for _ in range(TOGETHER):
        yield mutated(chance, chance.choice(patterns))


# --- requests ------------------------------------------------------------------------------
def bodies(chance: random.Random, verb: Any) -> bytes:
    """A request for a verb: its own fields, and what does not belong there."""
    names = [field.encode_name for field in msgspec.structs.fields(verb.asks)]
    asked = {name: _value(chance) for name in names if chance.random() < 0.4}
    if chance.random() < 0.2:
        asked[chance.choice(["", "x", "yes", "home"])] = chance.choice(ODD)
    data = json.dumps(asked).encode("utf-8", "replace")
    return mutated(chance, data) if chance.random() < 0.3 else data


def _value(chance: random.Random) -> Any:
    plain = ["tidepool", "Which day?", 3, True, ["a"], "2026-11-09T08:00:00Z", "fact", "main"]
    return chance.choice(plain if chance.random() < 0.6 else ODD)


def _requests(bed: Bed, until: float) -> None:
    root = bed.folder / "home"
    shutil.rmtree(root, ignore_errors=True)
    homes.made(root)
    Memory(root).remember("The parrot is called Quillfeather.", subject="tidepool")
    verbs = [one for one in (*VERBS.values(), *SESSIONS.values()) if one.name not in AWAY]
    with serving.serving(root) as service:
        while time.monotonic() < until and bed.tally["requests: HTTP"] < 3000:
            verb = bed.chance.choice(verbs)
            path, body = verb.path.replace("{id}", "fuzz"), bodies(bed.chance, verb)
            _asked(bed, service, "HTTP", path, body)
            tool = bed.chance.choice([*TOOLS, "none", ""])
            given = {name: _value(bed.chance) for name in ("query", "path", "text", "ids", "type")}
            call: Any = {"name": tool, "arguments": bed.chance.choice([given, {}, [], None, "x"])}
            message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
            data = json.dumps(message).encode("utf-8", "replace")
            data = mutated(bed.chance, data) if bed.chance.random() < 0.4 else data
            _asked(bed, service, "MCP", "/mcp", data)
        if service.ask("/v1/status", {}).status != 200 or service.process.poll() is not None:
            bed.failures.append("requests: the service is not well afterwards")


def _asked(bed: Bed, service: serving.Service, kind: str, path: str, body: bytes) -> None:
    headers = {"Accept": "application/json, text/event-stream"} if kind == "MCP" else {}
    found = service.ask(path, body, headers=headers)
    bed.tally[f"requests: {kind}"] += 1
    if found.status >= 500 and found.status != 503:
        bed.failures.append(
            f"requests: {path} {body[:300]!r} -> {found.status} {found.body[:300]!r}"
        )
        print("FAILED", bed.failures[-1], flush=True)
