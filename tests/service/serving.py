"""The real `wakebook serve`, as a process of its own, and raw requests to it."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, NamedTuple

from tests import homes
from tests.story import KEYS, NOW
from tests.warm import Process
from wakebook.base.home import Home
from wakebook.service.address import is_locked

SECONDS = 60


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def kind(self) -> str:
        return str(self.json["error"]["kind"])


class _Unix(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=SECONDS)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(SECONDS)
        self.sock.connect(self._path)


class Service:
    """One that is ready."""

    def __init__(self, home: Path, process: Process, ready: Mapping[str, Any]):
        self.home = home
        self.process = process
        self.port: int = ready["port"]
        self.socket: str = ready["socket"]
        self.token = (home / "token").read_text().strip()

    @property
    def out(self) -> IO[bytes]:
        return self.process.stdout

    def lines(self) -> Iterator[Any]:
        """What it tells from now on."""
        for line in self.out:
            yield json.loads(line)

    def ask(
        self,
        path: str,
        body: Any = None,
        *,
        method: str = "",
        unix: bool = False,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """As a client with the token does. A header that is "" is left out."""
        given = {
            "Host": f"127.0.0.1:{self.port}",
            "Content-Type": "application/json" if body is not None else "",
            "Authorization": "" if unix else f"Bearer {self.token}",
        } | dict(headers or {})
        data = (
            body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        )
        link = _Unix(self.socket) if unix else http.client.HTTPConnection(
            "127.0.0.1", self.port, timeout=SECONDS
        )  # fmt: skip
        try:
            link.putrequest(method or ("GET" if body is None else "POST"), path, skip_host=True)
            for name, value in given.items():
                if value:
                    link.putheader(name, value)
            if body is not None and "Transfer-Encoding" not in given:
                link.putheader("Content-Length", str(len(data)))
            link.endheaders(data or None)
            found = link.getresponse()
            return Answer(found.status, dict(found.getheaders()), found.read())
        finally:
            link.close()

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(SECONDS)


def own_env(folder: Path, **more: str) -> dict[str, str]:
    """As every test has it, for what outlives one."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("WAKEBOOK_", "GIT_", "XDG_", *KEYS))
    }
    (folder / "user").mkdir(exist_ok=True)
    return kept | {
        "HOME": str(folder / "user"),
        "WAKEBOOK_NOW": NOW,
        "WAKEBOOK_OFFLINE": "1",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "maintenance.auto",
        "GIT_CONFIG_VALUE_0": "false",
        "GIT_CEILING_DIRECTORIES": str(folder),
        **more,
    }


def start(home: Path, *arguments: str, env: Mapping[str, str] | None = None) -> Service:
    process = Process("serve", "--json", "--home", str(home), *arguments, env=env)
    process.stdin.close()
    for line in process.stdout:
        told = json.loads(line)
        if told.get("ready"):
            return Service(home, process, told)
    raise AssertionError(f"the service ended with {process.wait()} before it was ready")


@contextmanager
def serving(home: Path, env: Mapping[str, str] | None = None, port: int = 0) -> Iterator[Service]:
    service = start(home, "--port", str(port), env=env)
    try:
        yield service
    finally:
        if service.process.poll() is None:
            service.process.kill()
            service.process.wait()
        service.out.close()


def ended(home: Path) -> None:
    """The service that a hook has started for a home is no more."""
    until = time.monotonic() + SECONDS
    while is_locked(Home(home)):
        with suppress(OSError, ValueError):  # it may still be starting
            pid = json.loads((home / ".cache" / "service.json").read_bytes())["pid"]
            os.kill(pid, signal.SIGKILL)
        assert time.monotonic() < until, f"a service of {home} does not end"
        time.sleep(0.02)


def made(folder: Path) -> Path:
    """A home, as `wakebook init` leaves it."""
    return homes.made(folder / "home").home.root
