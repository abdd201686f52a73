"""A server for teams in a process of its own, and workers beside it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

from wakebook.base import clock


class Answer(NamedTuple):
    status: int
    data: Any
    headers: Mapping[str, str]


class Team:
    """One database, with as many servers and workers as a test starts."""

    def __init__(self, url: str, folder: Path, env: Mapping[str, str]) -> None:
        self.url = url
        self._env = {**env, "WAKEBOOK_TEAM_URL": url, "WAKEBOOK_TEAM_FOLDER": str(folder)}
        self._env["WAKEBOOK_TEAM_HEART_SECONDS"] = "0.3"
        self.running: list[subprocess.Popen[str]] = []

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "wakebook", "team", *words, "--json"]
        return subprocess.run(command, env=self._env, capture_output=True, text=True, timeout=120)

    def command(self, *words: str, code: int = 0) -> Any:
        done = self.run(*words)
        assert done.returncode == code, done.stdout + done.stderr
        return json.loads(done.stdout)

    def process(self, *words: str) -> tuple[subprocess.Popen[str], dict[str, Any]]:
        """Start one, and wait until it is ready."""
        with Path(self._env.get("TEAM_LOG", os.devnull)).open("a") as told:
            one = subprocess.Popen(
                [sys.executable, "-m", "wakebook", "team", *words, "--json"],
                env=self._env,
                stdout=subprocess.PIPE,
                stderr=told,
                text=True,
            )
        self.running.append(one)
        assert one.stdout is not None
        line = one.stdout.readline()
        return one, json.loads(line or "{}")

    def server(self) -> int:
        """Its port."""
        return int(self.process("serve", "--port", "0")[1]["port"])

    def end(self) -> None:
        while self.running:
            one = self.running.pop()
            one.kill()
            one.communicate()


def ask(
    port: int,
    path: str,
    body: Any = None,
    token: str = "",
    method: str = "POST",
    **headers: str,
) -> Answer:
    link = HTTPConnection("127.0.0.1", port, timeout=30)
    given = {"Content-Type": "application/json", "Accept": "application/json"}
    given |= {key.replace("_", "-"): value for key, value in headers.items()}
    if token:
        given["Authorization"] = f"Bearer {token}"
    data = body if isinstance(body, bytes) else json.dumps(body or {}).encode()
    try:
        link.request(method, path, data if method == "POST" else None, given)
        found = link.getresponse()
        text = found.read()
        try:
            told = json.loads(text) if text else None
        except ValueError:
            told = text.decode()
        return Answer(found.status, told, {k.lower(): v for k, v in found.getheaders()})
    finally:
        link.close()


def until(found: Callable[[], object], seconds: float = 60.0) -> None:
    end = clock.monotonic() + seconds
    while not found():
        assert clock.monotonic() < end, "it takes too long"
        clock.sleep(0.05)
