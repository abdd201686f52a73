"""The real `wakebook hook`, as the process that a host starts and waits for."""

from __future__ import annotations

import fcntl
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from tests.journeys.command import forked
from tests.story import Claude
from wakebook import Memory

SECONDS = 30  # after which nothing is going to happen any more
T = TypeVar("T")
HOST = "claude-code"
OTHER = "5e551011-0000-4000-8000-000000000002"
MOST = 9_900
PATIENT = 60  # seconds: a slow machine is not what most of these are about


class Told(NamedTuple):
    code: int
    out: bytes
    err: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def context(self) -> str:
        """What the session is told; empty if nothing is."""
        if not self.out:
            return ""
        found = self.json
        assert list(found) == ["hookSpecificOutput"]
        assert sorted(found["hookSpecificOutput"]) == ["additionalContext", "hookEventName"]
        return str(found["hookSpecificOutput"]["additionalContext"])


def command(home: Path, host: str, event: str) -> list[str]:
    return [sys.executable, "-m", "wakebook", "hook", host, event, "--home", str(home)]


def fired(
    home: Path,
    host: str,
    event: str,
    payload: Mapping[str, Any] | bytes = b"",
    env: Mapping[str, str] | None = None,
) -> Told:
    """An event, and what is answered: JSON or nothing, and always with success."""
    data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    told = Told(*forked("hook", host, event, "--home", str(home), stdin=data, **(env or {})))
    assert told.code == 0, told
    assert b"Traceback" not in told.err
    assert not told.out or isinstance(told.json, dict)
    return told


def until(found: Callable[[], T]) -> T:
    """Waits for something that another process does."""
    end = time.monotonic() + SECONDS
    while not (value := found()):
        assert time.monotonic() < end, "it has not happened"
        time.sleep(0.02)
    return value


def settled(home: Path) -> None:
    """Until nobody is behind any more."""
    path = home / ".cache" / "behind.lock"
    if path.exists():
        with path.open("rb") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)


def hooked(memory: Memory, **settings: Any) -> Memory:
    """The memory, opened again with these [hooks] for its only settings."""
    lines = [f"{name} = {json.dumps(value)}" for name, value in settings.items()]
    memory.home.config.write_text("\n".join(["# of a test", "[hooks]", *lines, ""]))
    return Memory(memory.home.root)


def failures(memory: Memory) -> list[str]:
    return [f"{one['where']}: {one['error']}" for one in memory.home.traces("failure")]


def contents(memory: Memory) -> list[str]:
    """What was learned, in the order of the log."""
    entries = Memory(memory.home.root).log.chains().entries
    return [f"{one.content} (done)" if one.status == "done" else one.content for one in entries]


def twice(memory: Memory) -> list[tuple[str, str, str | None]]:
    """What stands in the log more than once."""
    entries = Memory(memory.home.root).log.chains().entries
    found = [(one.type, one.content, one.status) for one in entries]
    return [one for one in found if found.count(one) > 1]


@contextmanager
def held(home: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Another process writes to the home all the while."""
    code = (
        "import sys; from wakebook.base.home import Home\n"
        "with Home(sys.argv[1]).locked(): print(flush=True); sys.stdin.read()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(home)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin and process.stdout
    process.stdout.readline()
    try:
        yield process
    finally:
        process.stdin.close()
        process.wait(SECONDS)
        process.stdout.close()


def event(name: str, claude: Claude, **fields: Any) -> dict[str, Any]:
    return {
        "session_id": claude.session,
        "transcript_path": str(claude.path),
        "cwd": "/home/mira/tidepool",
        "hook_event_name": name,
        **fields,
    }


def fresh(projects: Path) -> Claude:
    """A session that has no file yet, as it is when it starts."""
    return Claude(projects, OTHER)


def send(memory: Memory, name: str, claude: Claude, **fields: Any) -> Any:
    return fired(memory.home.root, HOST, name, event(name, claude, **fields))
