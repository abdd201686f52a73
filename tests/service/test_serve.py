"""The service as a process: it starts, works, stops and is killed."""

from __future__ import annotations

import fcntl
import json
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import homes
from tests.journeys.command import run, run_json
from tests.service.serving import SECONDS, Answer, Service, serving, start
from tests.story import Claude
from wakebook import Memory
from wakebook.log.query import Query
from wakebook.service.call import call


def until(found: Callable[[], Any]) -> Any:
    """What comes true sooner or later."""
    end = time.monotonic() + SECONDS
    while not (value := found()):
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.02)
    return value


def told(service: Service, wanted: Callable[[Any], bool]) -> Any:
    """The next line of this kind that it prints."""
    late = threading.Timer(2 * SECONDS, service.process.kill)
    late.start()
    try:
        return next(line for line in service.lines() if wanted(line))
    finally:
        late.cancel()


def spoke(folder: Path, number: int) -> Claude:
    """A short conversation with something to remember."""
    claude = Claude(folder, f"5e551011-0000-4000-8000-0000000000{number:02}")
    claude.user(f"We decided to paint boat number {number} green, because it is cheap.")
    claude.agent(f"Noted: boat {number} is green.")
    return claude


def event(service: Service, name: str, claude: Claude) -> tuple[int, bytes]:
    payload = {"session_id": claude.session, "transcript_path": str(claude.path)}
    body = json.dumps(payload).encode()
    found = call(str(service.home), f"/v1/hooks/claude-code/{name}", body, SECONDS)
    assert found is not None
    return found[:2]


def handoffs(memory: Memory) -> set[str]:
    fresh = Memory(memory.home.root)
    return {one.session for one in fresh.log.entries(Query(types=("handoff",)))}


def test_it_says_where_it_is_and_that_it_is_gone(tmp_path_factory: pytest.TempPathFactory) -> None:
    memory = homes.made(tmp_path_factory.mktemp("s") / "home")  # short enough for a socket
    written = memory.home.cache / "service.json"
    with serving(memory.home.root) as service:
        found = json.loads(written.read_text())
        assert found["pid"] == service.process.pid
        assert found["port"] == service.port
        assert found["socket"] == service.socket == str(memory.home.cache / "service.sock")
        assert found.keys() == {"pid", "port", "socket", "version", "started", "by"}
        assert call(str(memory.home.root), "/health", method="GET", seconds=SECONDS)
        assert service.stop() == 0
        assert list(service.lines())[-1] == {"stopped": True}
    assert not written.exists()
    assert not Path(service.socket).exists()
    assert call(str(memory.home.root), "/health", method="GET") is None


def test_ctrl_c_ends_it_as_well(memory: Memory) -> None:
    with serving(memory.home.root) as service:
        assert service.stop(signal.SIGINT) == 0


def test_a_hook_is_answered_at_once_and_its_work_is_done_behind(
    memory: Memory, projects: Path
) -> None:
    with serving(memory.home.root) as service:
        claude = spoke(projects, 1)
        assert event(service, "Stop", claude) == (200, b"")
        until(lambda: list(memory.home.conversations.glob("*/*/*/*.md")))
        assert event(service, "SessionEnd", claude) == (200, b"")
        until(lambda: handoffs(memory) == {claude.session})
        assert event(service, "SessionEnd", claude) == (200, b"")  # twice: nothing twice
        assert service.stop() == 0
    assert [one.status for one in memory.audit()] == ["ok"]
    found = memory.log.entries(Query(types=("handoff",)))
    assert len(found) == 1


def test_the_watcher_catches_up(memory: Memory, projects: Path) -> None:
    memory.home.config.write_text("[watch]\nwrites = 2\n")
    with serving(memory.home.root) as service:
        told(service, lambda line: line.get("job") == "tags")  # the last one at the start
        claude = spoke(projects, 1)
        line = told(service, lambda line: line.get("messages"))
        assert line["failed"] == {}
        assert service.stop() == 0
    assert claude.session in {one.id for one in memory.opened.state().sessions.values()}


def test_what_was_said_before_is_recovered_at_the_start(memory: Memory, projects: Path) -> None:
    spoke(projects, 1)
    with serving(memory.home.root) as service:
        assert told(service, lambda line: line.get("messages"))["messages"] == 2
        assert service.stop() == 0


def test_a_clean_stop_works_the_backlog_off(memory: Memory, projects: Path) -> None:
    with serving(memory.home.root) as service:
        told(service, lambda line: line.get("job") == "tags")
        said = [spoke(projects, number) for number in range(6)]
        for claude in said:
            assert event(service, "SessionEnd", claude) == (200, b"")
        assert service.stop() == 0
    assert {one.session for one in said} == handoffs(memory)
    assert {one.status for one in memory.audit()} == {"ok"}


def test_what_runs_is_answered_before_it_stops(memory: Memory) -> None:
    answers: list[Answer] = []
    with serving(memory.home.root) as service:
        told(service, lambda line: line.get("job") == "tags")
        body = {"text": "The kiosk is called Heron."}
        asking = threading.Thread(target=lambda: answers.append(service.ask("/v1/remember", body)))
        with memory.home.lock.open("rb+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            asking.start()
            until(lambda: _running(service))
            service.process.send_signal(signal.SIGTERM)
            told(service, lambda line: line.get("stopping"))
        asking.join(SECONDS)
        assert service.process.wait(SECONDS) == 0
    assert len(answers) == 1
    assert answers[0].status in (200, 423)  # on a slow machine it may have waited long enough
    assert bool(memory.log.entries(Query(text="Heron"))) is (answers[0].status == 200)


def _running(service: Service) -> bool:
    """Whether another request than this one is being answered."""
    text = service.ask("/metrics", unix=True).body.decode()
    found = text.partition("\nwakebook_requests_running ")[2].partition("\n")[0]
    return int(found) > 1


def test_killed_in_the_middle_and_started_again(memory: Memory, projects: Path) -> None:
    with serving(memory.home.root) as service:
        said = [spoke(projects, number) for number in range(3)]
        for claude in said:
            event(service, "Stop", claude)
        service.process.kill()
        service.process.wait()
    assert Path(service.socket).exists()  # it had no time to tidy up
    assert (memory.home.cache / "service.json").exists()
    assert call(str(memory.home.root), "/health", method="GET") is None
    with serving(memory.home.root) as again:
        assert again.ask("/health", unix=True).status == 200
        body = {"session": "", "paths": []}
        assert again.ask("/v1/catch-up", body, unix=True).status == 200
        assert again.stop() == 0
    assert {one.status for one in memory.audit()} <= {"ok", "open"}
    assert {one.session for one in said} == {
        one.id for one in memory.opened.state().sessions.values()
    }


def test_a_second_service_of_the_same_home_is_refused(memory: Memory) -> None:
    with serving(memory.home.root) as service:
        home = str(memory.home.root)
        said = run("serve", "--port", "0", "--home", home, code=1)
        assert f"already runs for {home} (pid {service.process.pid})" in said
        assert service.ask("/health").status == 200
        assert service.stop() == 0


def test_a_port_that_is_taken(memory: Memory) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        memory.home.config.write_text(f"[service]\nport = {port}\n")
        said = run("serve", "--home", str(memory.home.root), code=5)
    assert f"Port {port} of 127.0.0.1 is taken" in said
    assert "port in [service]" in said
    assert "--port" in said
    with serving(memory.home.root) as service:  # nothing of the refused one is left
        assert service.stop() == 0


def test_the_port_of_config_toml(memory: Memory) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        port = other.getsockname()[1]
    memory.home.config.write_text(f"[service]\nport = {port}\n")
    service = start(memory.home.root)
    try:
        assert service.port == port
        assert service.stop() == 0
    finally:
        service.process.kill()
        service.out.close()


def test_no_home_and_a_wrong_config(memory: Memory, tmp_path: Path) -> None:
    run("serve", "--home", str(tmp_path / "nowhere"), code=3)
    memory.home.config.write_text("[service]\nport = 'any'\n")
    assert "port" in run("serve", "--home", str(memory.home.root), code=5)
    memory.home.config.write_text("[service]\nport = 70000\n")
    run("serve", "--home", str(memory.home.root), code=5)


def test_people_are_told_where_it_is_and_not_the_token(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    memory = homes.made(tmp_path_factory.mktemp("s") / "home")  # short enough for a socket
    process = subprocess.Popen(
        [sys.executable, "-m", "wakebook", "serve", "--port", "0", "--home", str(memory.home.root)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    said = ""
    for line in process.stdout:
        said += line
        if "reads" in line:
            break
    process.terminate()
    said += process.stdout.read()
    assert process.wait(SECONDS) == 0
    process.stdout.close()
    assert "http://127.0.0.1:" in said
    assert "/mcp" in said
    assert str(memory.home.cache / "service.sock") in said
    assert f"cat {memory.home.root / 'token'}" in said
    assert (memory.home.root / "token").read_text().strip() not in said
    assert "Stopping" in said


def test_a_home_whose_path_is_too_long_for_a_socket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / ("long" * 20) / ("longer" * 10)
    Memory(home).init()
    with tempfile.TemporaryDirectory(prefix="w", dir="/tmp") as short:
        monkeypatch.setenv("TMPDIR", short)
        with serving(home) as service:
            path = Path(service.socket)
            assert path.parent.parent == Path(short)
            assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            found = call(str(home), "/health", method="GET", seconds=SECONDS)
            assert found
            assert found[0] == 200
            assert service.stop() == 0


def test_new_settings_count_without_a_restart(memory: Memory, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    spoke(elsewhere, 7)
    with serving(memory.home.root) as service:
        told(service, lambda line: line.get("job") == "tags")
        memory.home.config.write_text("[schedule]\nobserve = 'now and then'\n")
        assert "observe" in told(service, lambda line: line.get("error"))["error"]
        memory.home.config.write_text(f"[hosts]\nclaude_code = [{str(elsewhere)!r}]\n")
        assert told(service, lambda line: line.get("messages"))["messages"] == 2
        assert service.stop() == 0


def test_a_home_without_a_token_gets_one(memory: Memory) -> None:
    token = memory.home.root / "token"
    token.unlink(missing_ok=True)
    with serving(memory.home.root) as service:
        assert stat.S_IMODE(token.stat().st_mode) == 0o600
        assert len(service.token) >= 32
        assert service.ask("/v1/wake", {}).status == 200
        assert service.stop() == 0


def test_it_goes_on_when_nobody_reads_what_it_prints(memory: Memory, projects: Path) -> None:
    with serving(memory.home.root) as service:
        service.out.close()
        claude = spoke(projects, 1)
        assert event(service, "SessionEnd", claude) == (200, b"")
        until(lambda: handoffs(memory) == {claude.session})
        assert service.ask("/v1/tick", {"names": ["observe"]}).status == 200
        assert service.stop(signal.SIGHUP) == 0


def test_what_fails_behind_is_shown_by_status(memory: Memory, tmp_path: Path) -> None:
    with serving(memory.home.root) as service:
        (tmp_path / "broken.jsonl").write_text("this is no conversation")
        payload = {"session_id": "x", "transcript_path": str(tmp_path / "broken.jsonl")}
        assert service.ask("/v1/hooks/claude-code/Stop", payload, unix=True).status == 200
        told(service, lambda line: "broken.jsonl" in line.get("error", ""))
        assert service.stop() == 0
    found = run_json("status", "--home", str(memory.home.root), code=1)
    assert any("broken.jsonl" in problem for problem in found["problems"])
