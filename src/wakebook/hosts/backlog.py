"""Backlog: work that no host waits for, and who does it: the service, or a hook's own process.

`Hooks` are for the service, `Now` for the child of a hook's process when there is no service. Both
hold behind.lock as long as they read what hosts have said.
"""

import json
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from wakebook.base import clock
from wakebook.base.decode import loads
from wakebook.base.errors import WakebookError
from wakebook.base.home import Home
from wakebook.hosts import HOSTS
from wakebook.hosts.events import Errand, Payload, about, act_of, answer, do, told_of
from wakebook.hosts.lock import hold, wait
from wakebook.hosts.told import arrived
from wakebook.memory import Memory

ENDINGS = ("close", "reset", "sweep")  # what a new session wants to know about
Done = Callable[[str, str, Exception | None], None]  # a work's act, host/session, what went wrong


class Backlog:
    """The same work that waits already is not put a second time; one that runs is, because more
    may have been said since it began. A clean end works everything off first."""

    def __init__(self, cache: Path, do: Callable[[Errand], None]) -> None:
        """`cache`: where other processes see that there is work. `do` raises nothing."""
        self._cache = cache
        self._do = do
        self._lock = -1
        self._waiting: dict[Errand, int] = {}  # each with its number, oldest first
        self._number = 0  # of the last work that was put
        self._running: tuple[Errand, int] | None = None  # the one that runs, with its number
        self._ended = self._gone = False  # asked to end; has nothing left and takes no more
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="behind")
        self._thread.start()

    def put(self, work: Errand) -> None:
        if not self._put(work):  # late, but not lost
            self._do(work)

    def _put(self, work: Errand) -> bool:
        """Whether the thread takes it: one that has found nothing left to do takes no more."""
        with self._changed:
            if self._gone:
                return False
            if work.act == "close":  # which does what keeping does, and more
                self._waiting.pop(work._replace(act="keep"), None)
            if work not in self._waiting:
                self._number += 1
                self._waiting[work] = self._number
            if self._lock < 0:
                self._lock = hold(str(self._cache))
            self._changed.notify_all()
            return True

    def wait(self, seconds: float) -> None:
        """Until the sessions that have ended are read, here and elsewhere, but not longer."""
        until = clock.monotonic() + seconds
        with self._changed:
            last = self._number
            self._changed.wait_for(lambda: not self._ending(last), seconds)
            ours = self._lock >= 0
        if not ours:
            wait(str(self._cache), until - clock.monotonic())

    def __len__(self) -> int:
        with self._changed:
            return len(self._waiting) + bool(self._running)

    def end(self) -> None:
        """Work off what waits, and then no more."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        self._thread.join()

    def _ending(self, last: int) -> bool:
        """Whether a session that ended up to this number is still to be read."""
        left = [*self._waiting.items(), *([self._running] if self._running else [])]
        return any(number <= last and work.act in ENDINGS for work, number in left)

    def _run(self) -> None:
        while work := self._next():
            self._do(work)

    def _next(self) -> Errand | None:
        with self._changed:
            self._running = None
            if not self._waiting and self._lock >= 0:
                os.close(self._lock)
                self._lock = -1
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._waiting or self._ended)
            if not self._waiting:
                self._gone = True
                return None
            work = next(iter(self._waiting))
            self._running = work, self._waiting.pop(work)
            return work


def payload_of(data: bytes) -> Payload:
    """What a host has sent. Raises WakebookError if it is no JSON object."""
    try:
        payload = loads(data or b"{}")
    except ValueError as error:
        raise WakebookError(f"What the host has sent is not JSON: {error}.") from error
    if not isinstance(payload, dict):
        raise WakebookError("What the host has sent is no JSON object.")
    return payload


class Hooks(Backlog):
    """The events of hosts, as a service answers them; what follows is done in a thread."""

    act = staticmethod(act_of)
    payload = staticmethod(payload_of)

    def __init__(self, home: Home, memory: Callable[[], Memory], done: Done) -> None:
        self.events: Mapping[str, Iterable[str]] = {name: about(name).events for name in HOSTS}
        self._memory, self._done, self._home = memory, done, home
        super().__init__(home.cache, self._work)

    def answer(
        self, memory: Memory, host: str, event: str, payload: Payload, asked: int = 0
    ) -> Payload:
        return answer(memory, host, event, payload, self, asked)

    def waiting(self, host: str, payload: Payload, asked: int) -> str:
        """The name of the answer to what a host asked then, if it matters whether it arrives."""
        return told_of(self._home.cache, host, payload, asked).waiting

    def arrived(self, name: str) -> None:
        arrived(str(self._home.cache), name)

    def _work(self, work: Errand) -> None:
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
        self._works: list[Errand] = []

    def put(self, work: Errand) -> None:
        self._works.append(work)

    def wait(self, seconds: float) -> None:
        wait(str(self._memory.home.cache), seconds)

    def work(self) -> None:
        lock = hold(str(self._memory.home.cache)) if self._works else -1
        for one in self._works:
            do(self._memory, one)
        if lock >= 0:
            os.close(lock)


def begun(
    root: str, host: str, event: str, data: bytes, asked: int
) -> tuple[Memory, str, bytes, Now]:
    """The name of the answer (see `told`), the answer, and what is to be done after it."""
    memory, payload = Memory(root), payload_of(data)
    behind = Now(memory)
    found = answer(memory, host, event, payload, behind, asked)
    body = json.dumps(found, ensure_ascii=False).encode("utf-8", "replace") if found else b""
    return memory, told_of(memory.home.cache, host, payload, asked).waiting, body, behind
