"""A hook's work without the service, in the child of the process that the host waits for."""

from __future__ import annotations

import fcntl
import json
import os

from wakebook import clock
from wakebook.adapters.hooks.events import Work, answer, do
from wakebook.errors import WakebookError
from wakebook.memory import Memory


class Now:
    """Does what is behind when the answer is out, and waits for other processes that do."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._works: list[Work] = []

    def put(self, work: Work) -> None:
        self._works.append(work)

    def wait(self, seconds: float) -> None:
        path = self._memory.home.cache / "behind.lock"
        try:
            lock = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            return  # nobody has ever been behind
        try:
            _wait(lock, clock.monotonic() + seconds)
        finally:
            os.close(lock)

    def work(self) -> None:
        for one in self._works:
            do(self._memory, one)


def _wait(lock: int, until: float) -> None:
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError:
            if clock.monotonic() >= until:
                return
            clock.sleep(0.02)


def begun(root: str, host: str, event: str, data: bytes) -> tuple[bytes, Now]:
    """The answer, and what is to be done after it."""
    memory = Memory(root)
    behind = Now(memory)
    found = answer(memory, host, event, payload_of(data), behind)
    body = json.dumps(found, ensure_ascii=False).encode("utf-8", "replace") if found else b""
    return body, behind


def payload_of(data: bytes) -> dict[str, object]:
    """What a host has sent. Raises WakebookError if it is no JSON object."""
    try:
        payload = json.loads(data or b"{}")
    except (ValueError, RecursionError) as error:
        raise WakebookError(f"What the host has sent is not JSON: {error}.") from error
    if not isinstance(payload, dict):
        raise WakebookError("What the host has sent is no JSON object.")
    return payload
