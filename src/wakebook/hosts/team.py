"""The events of hosts, as a server for teams answers them: what follows is a worker's job."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from wakebook.hosts import HOSTS
from wakebook.hosts.backlog import payload_of
from wakebook.hosts.events import Errand, Payload, about, act_of, answer, told_of
from wakebook.hosts.told import arrived
from wakebook.memory import Memory


class _Elsewhere:
    """Work that this process does not do."""

    def put(self, work: Errand) -> None: ...
    def wait(self, seconds: float) -> None: ...


class TeamHooks:
    """See `HostEvents` in service/app.py."""

    act = staticmethod(act_of)
    payload = staticmethod(payload_of)

    def __init__(self) -> None:
        self.events: Mapping[str, Iterable[str]] = {name: about(name).events for name in HOSTS}

    def answer(
        self, memory: Memory, host: str, event: str, payload: Payload, asked: int = 0
    ) -> Payload:
        found = answer(memory, host, event, payload, _Elsewhere(), asked)
        if found and (name := told_of(memory.home.cache, host, payload, asked).waiting):
            arrived(str(memory.home.cache), name)
        return found

    def waiting(self, host: str, payload: Payload, asked: int) -> str:
        return ""

    def arrived(self, name: str) -> None: ...

    def __len__(self) -> int:
        return 0

    def end(self) -> None: ...
