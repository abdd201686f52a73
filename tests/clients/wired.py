"""A Wakebook that a client is wired to, and what tests ask it about."""

from __future__ import annotations

import fcntl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.clients.responses import Ask
from tests.journeys.command import run, run_json
from wakebook import Memory
from wakebook.base.home import Home
from wakebook.hosts import host, wiring
from wakebook.service.start import stop

STATES = ("ok", "note", "warn", "fail")


class Wired:
    host: str

    def __init__(self, home: Path) -> None:
        self.home = home
        self.memory = Memory(home)

    def init(self, *words: str) -> str:
        if not self.home.exists():
            run("init", "--home", str(self.home))
        return run("init", "--home", str(self.home), "--host", self.host, *words)

    def entries(self) -> list[str]:
        """What is remembered, but for the handoffs."""
        found = run_json("log", "--home", str(self.home), "--all")
        return [entry["content"] for entry in found if entry["type"] != "handoff"]

    def behind(self) -> int:
        """Sources that the audit finds unaccounted for; it has found some source."""
        found: dict[str, Any] = run_json("audit", "--home", str(self.home))
        assert found["accounts"]
        return int(found["unaccounted"])

    def checks(self) -> dict[str, str]:
        """The worst state by name."""
        found: dict[str, str] = {}
        place = wiring.where(self.memory, self.host)
        for check in host(self.host).checks(place, self.memory):
            found[check.name] = max(found.get(check.name, "ok"), check.state, key=STATES.index)
        return found

    def settle(self) -> None:
        """Until what the hooks have left behind them is done."""
        path = self.home / ".cache" / "behind.lock"
        if path.exists():  # some hook has run
            with path.open("a") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)


def end_service(home: Path) -> None:
    """The service that the first hook has started."""
    if home.exists():
        stop(Home(home))


def told(ask: Ask) -> str:
    """What Wakebook has told the model."""
    return "\n".join(text for _, text in ask.said if text.startswith("<wakebook-memory>"))


def until(true: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


@contextmanager
def service(home: Path) -> Iterator[subprocess.Popen[bytes]]:
    """`wakebook serve`, up."""
    words = [sys.executable, "-m", "wakebook", "serve", "--port", "0", "--home", str(home)]
    with (home / "served.txt").open("wb") as out:
        process = subprocess.Popen(words, stdout=out, stderr=out)
    try:
        until(lambda: process.poll() is not None or (home / ".cache" / "service.json").exists())
        assert process.poll() is None, (home / "served.txt").read_text()
        yield process
    finally:
        process.kill()
        process.wait()
