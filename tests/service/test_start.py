"""The first hook of a wired host starts the service: one a home, which ends by itself."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.hosts.hooking import HOST, command, event, fresh, until
from tests.journeys.command import call, run
from tests.service.serving import ended, serving
from tests.story import Claude
from wakebook import Memory
from wakebook.hosts import wiring
from wakebook.hosts.plan import Wires
from wakebook.service.address import Running, is_locked, look
from wakebook.service.address import ended as last
from wakebook.service.start import PAUSE, start, stop


@pytest.fixture
def wired(memory: Memory) -> Memory:
    """As `init --host claude-code` leaves the home."""
    wiring.wire(memory, HOST, Wires())
    return memory


def configured(memory: Memory, **settings: Any) -> Memory:
    lines = [f"{name} = {json.dumps(value)}" for name, value in settings.items()]
    memory.home.config.write_text("\n".join(["[service]", *lines, ""]))
    return Memory(memory.home.root)


def hook(memory: Memory, name: str, claude: Claude, **fields: Any) -> subprocess.Popen[bytes]:
    """Begun, as a host begins it: nobody waits yet."""
    begun = subprocess.Popen(
        command(memory.home.root, HOST, name),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        process_group=0,
    )
    assert begun.stdin
    begun.stdin.write(json.dumps(event(name, claude, **fields)).encode())
    begun.stdin.close()
    begun.stdin = None
    return begun


def fired(memory: Memory, name: str, claude: Claude, **fields: Any) -> bytes:
    out, _ = hook(memory, name, claude, **fields).communicate(timeout=60)
    return out


def up(memory: Memory) -> Running:
    until(lambda: look(memory.home).state == "up")
    return look(memory.home)


def test_the_first_hook_of_a_wired_host_starts_it_and_the_next_is_answered_by_it(
    wired: Memory, projects: Path
) -> None:
    fired(wired, "SessionStart", fresh(projects), source="startup")
    found = up(wired)
    assert found.by == f"a hook of {HOST}"
    assert found.memory > 10 << 20
    assert os.getsid(found.pid) == found.pid  # a process session of its own
    assert Path(f"/proc/{found.pid}/cwd").readlink() == wired.home.root
    parent = Path(f"/proc/{found.pid}/stat").read_text().rpartition(")")[2].split()[1]
    assert int(parent) != os.getpid()
    fired(wired, "UserPromptSubmit", fresh(projects), prompt="Which database?")
    assert look(wired.home).pid == found.pid
    shown = call("status", "--home", str(wired.home.root)).text
    assert f"process {found.pid}, since " in shown
    assert "started by a hook of claude-code" in shown
    known = json.loads(call("status", "--home", str(wired.home.root), "--json").out)
    assert known["service"]["by"] == f"a hook of {HOST}"
    assert any(
        f"process {found.pid}" in one.said and one.state == "ok"
        for one in wiring.examined(wired, quick=True)["service"]
    )


@pytest.mark.parametrize("host", ["", "codex", HOST])
def test_a_home_that_nobody_wired_and_one_that_does_not_want_it_start_none(
    memory: Memory, projects: Path, host: str
) -> None:
    if host:
        wiring.wire(memory, host, Wires())
    if host == HOST:
        configured(memory, auto=False)
    fired(memory, "SessionStart", fresh(projects), source="startup")
    told = memory.home.cache / "told"
    until(lambda: len(list(told.glob("start-*.json"))) == 2)  # the last thing that it does
    assert not is_locked(memory.home)
    assert not (memory.home.cache / "service.log").exists()


def test_the_end_of_a_session_starts_none(wired: Memory, claude: Claude) -> None:
    fired(wired, "SessionEnd", claude, reason="other")
    until(lambda: [one for one in wired.audit() if one.status == "ok"])
    assert not is_locked(wired.home)


def test_of_ten_hooks_at_once_one_starts_it(wired: Memory, projects: Path) -> None:
    names = ("SessionStart", "UserPromptSubmit", "Stop") * 4
    hooks = [
        hook(wired, name, Claude(projects, f"s{number}"), source="startup", prompt="Which one?")
        for number, name in enumerate(names)
    ]
    for one in hooks:
        one.communicate(timeout=120)
    found = up(wired)
    time.sleep(0.5)
    running = subprocess.run(["ps", "-wweo", "pid,args"], capture_output=True, text=True).stdout
    mine = [line for line in running.splitlines() if f"--home {wired.home.root} --by" in line]
    assert [int(line.split()[0]) for line in mine] == [found.pid]


def test_one_that_was_killed_blocks_nothing(wired: Memory, projects: Path) -> None:
    fired(wired, "SessionStart", fresh(projects), source="startup")
    first = up(wired).pid
    os.kill(first, signal.SIGKILL)
    until(lambda: not is_locked(wired.home))
    fired(wired, "SessionStart", fresh(projects), source="startup")
    assert up(wired).pid != first
    known = last(wired.home)
    assert known
    assert (known.pid, known.why) == (first, "it was killed, or it crashed")


def test_the_host_and_its_process_group_may_be_killed(wired: Memory, projects: Path) -> None:
    """It waits for nothing: the hook's pipes are closed, and its group is not the service's."""
    begun = hook(wired, "SessionStart", fresh(projects), source="startup")
    begun.communicate(timeout=60)
    found = up(wired)
    assert os.getpgid(found.pid) != begun.pid
    ours, its = (open_files(pid) for pid in (os.getpid(), found.pid))
    assert not {one for one in its & ours if one.startswith("pipe:")}


def open_files(pid: int) -> set[str]:
    found = set()
    for path in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):
            found.add(str(path.readlink()))
    return found


def test_one_that_nobody_asks_ends_and_says_why(wired: Memory, projects: Path) -> None:
    configured(wired, idle_minutes=0.001)
    fired(wired, "SessionStart", fresh(projects), source="startup")
    up(wired)
    until(lambda: not is_locked(wired.home))
    known = last(wired.home)
    assert known
    assert known.why == "no request had come for 0.001 minutes"
    assert not (wired.home.cache / "service.json").exists()
    shown = call("status", "--home", str(wired.home.root)).text
    assert "does not run; the last one ended at" in shown
    (process,) = [
        one for one in wiring.examined(wired, quick=True)["service"] if one.name == "process"
    ]
    assert "the next hook starts it (the last one ended at" in process.said


def test_one_that_a_command_started_stays(memory: Memory) -> None:
    configured(memory, idle_minutes=0.001)
    with serving(memory.home.root) as service:
        time.sleep(6)
        assert service.process.poll() is None


def test_one_that_needs_too_much_memory_ends_and_is_left_alone_for_a_while(
    wired: Memory, projects: Path
) -> None:
    configured(wired, memory_mb=20)
    fired(wired, "SessionStart", fresh(projects), source="startup")
    until(lambda: (known := last(wired.home)) and "more than memory_mb" in known.why)
    until(lambda: not is_locked(wired.home))
    assert any("more than memory_mb" in one["error"] for one in wired.home.traces("failure"))
    assert not start(wired.home, wired.config.service, HOST)
    mark = wired.home.cache / "service.starting"
    os.utime(mark, (time.time() - PAUSE - 1,) * 2)
    assert start(wired.home, wired.config.service, HOST)


def test_one_that_cannot_start_is_not_tried_again_at_once(wired: Memory) -> None:
    settings = wired.config.service
    wired.home.config.write_text("[service]\nport = 'no number'\n")
    assert start(wired.home, settings, HOST)
    until(lambda: not is_locked(wired.home))
    assert b"port" in (wired.home.cache / "service.log").read_bytes()
    assert not start(wired.home, settings, HOST)


def test_what_a_host_said_is_read_even_if_no_service_can_be_started(
    wired: Memory, claude: Claude
) -> None:
    (wired.home.cache / "service.log").mkdir(parents=True)  # where its words would go
    fired(wired, "Stop", claude)
    until(lambda: [one for one in wired.audit() if one.status == "ok"])
    assert not is_locked(wired.home)
    assert any("could not be started" in one["error"] for one in wired.home.traces("failure"))


def test_one_whose_home_is_gone_ends(wired: Memory, projects: Path) -> None:
    fired(wired, "SessionStart", fresh(projects), source="startup")
    pid = up(wired).pid
    shutil.rmtree(wired.home.root, ignore_errors=True)

    def gone() -> bool:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        return False

    until(gone)


def test_a_port_that_is_taken_is_no_reason_not_to_start(wired: Memory, projects: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        configured(wired, port=port)
        fired(wired, "SessionStart", fresh(projects), source="startup")
        assert up(wired).port not in (0, port)


def test_it_can_be_stopped_even_if_it_hangs(wired: Memory, projects: Path) -> None:
    home = str(wired.home.root)
    assert "No service runs" in run("serve", "stop", "--home", home)
    fired(wired, "SessionStart", fresh(projects), source="startup")
    pid = up(wired).pid
    os.kill(pid, signal.SIGSTOP)
    shown = run("serve", "stop", "--home", home)
    assert f"has ended (process {pid})" in shown
    assert "The next hook starts it again" in shown
    assert not is_locked(wired.home)
    known = last(wired.home)
    assert known
    assert known.why == "it was told to (SIGTERM)"


def test_it_ends_when_the_last_host_is_taken_out(wired: Memory, projects: Path) -> None:
    fired(wired, "SessionStart", fresh(projects), source="startup")
    up(wired)
    wiring.wire(wired, "codex", Wires())
    wiring.unwire(wired, HOST)
    assert is_locked(wired.home)
    wiring.unwire(wired, "codex")
    assert not is_locked(wired.home)
    assert stop(wired.home) is None
    ended(wired.home.root)
