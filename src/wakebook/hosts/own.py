"""A hook's work without the service, in the child of the process that the host waits for."""

from __future__ import annotations

import json
import os

from wakebook.base.errors import WakebookError
from wakebook.hosts.backlog import hold, wait
from wakebook.hosts.events import Work, answer, do, undelivered
from wakebook.memory import Memory


class Now:
    """Does what is behind when the answer is out, and waits for other processes that do."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._works: list[Work] = []

    def put(self, work: Work) -> None:
        self._works.append(work)

    def late(self, host: str, data: bytes) -> None:
        """The answer came too late."""
        undelivered(self._memory, host, payload_of(data))

    def wait(self, seconds: float) -> None:
        wait(self._memory.home.cache, seconds)

    def work(self) -> None:
        lock = hold(self._memory.home.cache) if self._works else -1
        for one in self._works:
            do(self._memory, one)
        if lock >= 0:
            os.close(lock)


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
