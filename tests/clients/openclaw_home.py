"""A machine with OpenClaw and Wakebook on it: the real gateway, the real command line."""

from __future__ import annotations

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.clients import clients
from tests.clients.wired import end_service
from wakebook import Memory

MAIN = "agent:main:main"
STARTING = 240.0  # seconds; 9 to 60 when the machine does nothing else


class Claw:
    """Everything is in one folder; the gateway runs from `start` to `kill` or `stop`."""

    def __init__(self, folder: Path, model: str) -> None:
        self.home = folder / "memory"
        self.state = folder / "user" / ".openclaw"
        self.workspace = folder / "workspace"
        self.config = self.state / "openclaw.json"
        self.output = folder / "gateway.txt"
        self._openclaw = clients.openclaw()
        self._gateway: subprocess.Popen[bytes] | None = None
        self.state.mkdir(parents=True)
        self.workspace.mkdir()
        self.port = _free_port()
        self.config.write_text(json.dumps(self._settings(model, self.port), indent=2) + "\n")
        self.env = self._environment(folder / "bin")

    def _settings(self, model: str, port: int) -> dict[str, Any]:
        cost = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite"), 0)
        fake = {"id": "fake-1", "name": "Fake", "reasoning": False, "input": ["text"], "cost": cost}
        provider = {
            "baseUrl": model,
            "apiKey": "sk-fake",
            "api": "openai-completions",
            "models": [fake | {"contextWindow": 128_000, "maxTokens": 4096}],
        }
        auth = {"mode": "token", "token": "test-token"}
        return {
            "gateway": {"mode": "local", "bind": "loopback", "port": port, "auth": auth},
            "logging": {"file": str(self.state / "openclaw.log")},
            "models": {"mode": "merge", "providers": {"fake": provider}},
            "agents": {
                "defaults": {
                    "workspace": str(self.workspace),
                    "skipBootstrap": True,
                    "model": {"primary": "fake/fake-1"},
                    "heartbeat": {"every": "0m"},
                }
            },
        }

    def _environment(self, programs: Path) -> dict[str, str]:
        """Apart from the user's own, with an `openclaw` on PATH and the clock as it goes."""
        programs.mkdir()
        program = programs / "openclaw"
        program.write_text(f'#!/bin/sh\nexec {shlex.join(self._openclaw)} "$@"\n')
        program.chmod(0o755)
        apart = ("WAKEBOOK_", "OPENCLAW_", "GIT_", "XDG_")
        env = {name: value for name, value in os.environ.items() if not name.startswith(apart)}
        home = str(self.state.parent)
        return env | {
            "HOME": home,
            "OPENCLAW_HOME": home,
            "PATH": f"{programs}{os.pathsep}{env['PATH']}",
            "WAKEBOOK_HOME": str(self.home),
            "WAKEBOOK_OFFLINE": "1",
            "GIT_CONFIG_NOSYSTEM": "1",
            "PYTHONPATH": str(Path(__file__).resolve().parents[2] / "src"),
        }

    # --- the gateway -----------------------------------------------------------------------

    def start(self) -> None:
        with self.output.open("ab") as output:
            begin = output.tell()
            self._gateway = subprocess.Popen(
                [*self._openclaw, "gateway", "run"],
                env=self.env,
                stdout=output,
                stderr=output,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        self.until(lambda: b"http server listening" in self.said[begin:], STARTING)
        self.until(lambda: b"ready" in self.said[begin:].rpartition(b"listening")[2], STARTING)

    @property
    def said(self) -> bytes:
        """What the gateway has printed so far."""
        if self._gateway is not None and self._gateway.poll() is not None:
            raise AssertionError(self.output.read_text(errors="replace")[-3000:])
        return self.output.read_bytes()

    def kill(self) -> None:
        """kill -9: nobody says goodbye. Our child has a session of its own and sees the end."""
        assert self._gateway
        os.kill(self._gateway.pid, signal.SIGKILL)
        self._gateway.wait()
        self._gateway = None

    def stop(self) -> None:
        assert self._gateway
        self._gateway.terminate()
        self._gateway.wait(60)
        self._gateway = None

    def __enter__(self) -> Claw:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._gateway is not None:
            os.killpg(self._gateway.pid, signal.SIGKILL)
            self._gateway.wait()
        end_service(self.home)

    # --- commands --------------------------------------------------------------------------

    def openclaw(self, *arguments: str, code: int = 0) -> str:
        return self._run([*self._openclaw, *arguments], code)

    def wakebook(self, *arguments: str, code: int = 0) -> str:
        return self._run([sys.executable, "-m", "wakebook", *arguments], code)

    def _run(self, command: list[str], code: int) -> str:
        done = subprocess.run(command, env=self.env, capture_output=True, text=True, timeout=300)
        assert done.returncode == code, f"{command}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def say(self, message: str, key: str = MAIN) -> Any:
        """A turn of the agent. After a crash the gateway is busy with the last one for a while."""
        given = ("--agent", "main", "--session-key", key, "--message", message, "--json")
        command = [*self._openclaw, "agent", *given]
        for _ in range(20):
            done = subprocess.run(command, env=self.env, capture_output=True, text=True)
            if "SESSION_WORK_START_CHANGED" not in done.stdout:
                break
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        return json.loads(done.stdout[done.stdout.index("{") :])

    def begin(self, message: str) -> subprocess.Popen[bytes]:
        """A turn that nobody waits for."""
        command = [*self._openclaw, "agent", "--agent", "main", "--message", message]
        nothing = subprocess.DEVNULL
        return subprocess.Popen(command, env=self.env, stdout=nothing, stderr=nothing)

    def call(self, method: str, **parameters: Any) -> str:
        return self.openclaw("gateway", "call", method, "--params", json.dumps(parameters))

    def reset(self) -> None:
        """What /new does."""
        self.call("sessions.reset", key=MAIN, reason="new")

    def type(self, message: str, key: str = MAIN) -> None:
        """As a person does it who chats: slash commands are run."""
        script = str(Path(__file__).with_name("typed.mjs"))
        self._run([self._openclaw[0], script, str(self.port), "test-token", key, message], 0)

    # --- what became of it -----------------------------------------------------------------

    @property
    def memory(self) -> Memory:
        return Memory(self.home)

    def contents(self, kind: str = "") -> list[str]:
        entries = self.memory.log.chains().entries
        return [entry.content for entry in entries if kind in ("", entry.type)]

    def until(self, true: Callable[[], bool], seconds: float = 60.0) -> None:
        end = time.monotonic() + seconds
        while not true():
            assert time.monotonic() < end, self.output.read_text(errors="replace")[-3000:]
            time.sleep(0.1)


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port
