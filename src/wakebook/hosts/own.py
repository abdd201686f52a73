"""The two that answer hooks: the service (Hooks), and without it a hook's own process (Now)."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from wakebook.base.errors import WakebookError
from wakebook.base.home import Home
from wakebook.hosts.backlog import Backlog, hold, wait
from wakebook.hosts.events import ACTS, Work, act_of, answer, do, undelivered
from wakebook.memory import Memory


class Hooks:
    """The events of hosts, as the service answers them; what follows is done in a thread."""

    events: Mapping[str, Iterable[str]] = ACTS

    def __init__(
        self,
        home: Home,
        memory: Callable[[], Memory],
        done: Callable[[str, str, Exception | None], None],
    ) -> None:
        """`done` hears of every work: its act, host/session, and what went wrong."""
        self._memory = memory
        self._done = done
        self._backlog = Backlog(home.cache, self._do)

    def act(self, host: str, event: str) -> str:
        return act_of(host, event)

    def payload(self, body: bytes) -> dict[str, Any]:
        return payload_of(body)

    def answer(
        self, memory: Memory, host: str, event: str, payload: Mapping[str, Any]
    ) -> dict[str, Any]:
        return answer(memory, host, event, payload, self._backlog)

    def undelivered(self, memory: Memory, host: str, payload: Mapping[str, Any]) -> None:
        undelivered(memory, host, payload)

    def __len__(self) -> int:
        return len(self._backlog)

    def end(self) -> None:
        self._backlog.end()

    def _do(self, work: Work) -> None:
        failed: Exception | None = None
        try:
            do(self._memory(), work)
        except Exception as error:  # noqa: BLE001 - one work must not end the others
            failed = error
        self._done(work.act, f"{work.host}/{work.session}".removesuffix("/"), failed)


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
