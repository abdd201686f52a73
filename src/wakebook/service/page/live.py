"""Live: open pages hear which kinds of things have changed, whoever has changed them.

The home's files are watched as long as a page listens, and a little longer: who goes from one view
to the next lets go of one stream and asks for another, and to begin to watch a large home is work.
An event says no more than kinds: the page asks for what it shows. A page that has missed events (it
was hidden, or the service was away) asks once when it is back.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path

from wakebook.base.home import Home
from wakebook.service.page import needs

BEAT_SECONDS = 15.0  # so that a dead connection is noticed
LISTENERS = 24
LINGER_SECONDS = 20.0  # that files are watched though no page listens
KINDS = {  # the first part of a path in the home -> the kind of thing that it is
    "log.jsonl": "entries",
    "forgotten.jsonl": "entries",
    "withheld.jsonl": "entries",
    "subjects.json": "entries",
    "projects.json": "entries",
    "waiting.jsonl": "review",
    "knowledge": "notes",
    "archive": "notes",
    "topics": "topics",
    "raw": "conversations",
    "state.json": "upkeep",
    "trace.jsonl": "upkeep",
    "config.toml": "upkeep",
}


def kind_of(root: Path, path: str) -> str:
    """Which kind of thing a file of the home is about; nothing if no page shows it."""
    try:
        inside = Path(path).relative_to(root)
        first = inside.parts[0]
    except (ValueError, IndexError):
        return ""
    if inside.as_posix() == ".cache/turns.jsonl":
        return "told"
    return "" if Path(path).name.startswith(".wakebook-") else KINDS.get(first, "")


class Live:
    def __init__(self, home: Home) -> None:
        self._root = home.root.resolve()
        self._listeners: set[asyncio.Queue[str]] = set()
        self._watching: asyncio.Task[None] | None = None
        self._ending = asyncio.Event()

    def end(self) -> None:
        """The service stops: every connection is closed."""
        self._ending.set()
        self.tell("")
        self._rest()

    def tell(self, *kinds: str) -> None:
        """Something has changed."""
        needs.changed()
        told = event("changed", {"kinds": sorted({*kinds})})
        for one in self._listeners:
            if one.qsize() < 100:
                one.put_nowait(told)

    async def listen(self) -> AsyncGenerator[str, None]:
        """The events, until the service ends."""
        queue: asyncio.Queue[str] = asyncio.Queue()
        self._listeners.add(queue)
        if self._watching is None or self._watching.done():
            self._watching = asyncio.create_task(self._watch())
        try:
            yield "retry: 1000\n\n" + event("ready", {})
            while not self._ending.is_set():
                try:
                    yield await asyncio.wait_for(queue.get(), BEAT_SECONDS)
                except TimeoutError:
                    yield ": still here\n\n"
        finally:
            self._listeners.discard(queue)
            asyncio.get_running_loop().call_later(LINGER_SECONDS, self._rest)

    def _rest(self) -> None:
        """Watch no more, unless a page listens."""
        if self._watching and (self._ending.is_set() or not self._listeners):
            self._watching.cancel()
            self._watching = None

    @property
    def full(self) -> bool:
        return len(self._listeners) >= LISTENERS

    async def _watch(self) -> None:
        from watchfiles import awatch

        changes = awatch(self._root, debounce=250, step=50, ignore_permission_denied=True,
                         watch_filter=lambda _, path: bool(kind_of(self._root, path)))  # fmt: skip
        async for found in changes:
            self.tell(*(kind_of(self._root, path) for _, path in found))


def event(name: str, data: object) -> str:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"
