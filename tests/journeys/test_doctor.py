"""Something is broken, the doctor says what to run, somebody runs it, and it is mended."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests import homes
from tests.journeys.command import call, run
from tests.story import WORKDAY, Claude, chat
from wakebook import Memory
from wakebook.base import clock

HOLD = """
import sys, time
from wakebook.base.home import Home
with Home(sys.argv[1]).locked():
    print("locked", flush=True)
    time.sleep(600)
"""


@pytest.fixture(autouse=True)
def _found_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`wakebook` on the PATH, no client of any host, and an editor that removes a line."""
    folder = tmp_path / "bin"
    folder.mkdir()
    script(folder / "wakebook", f'exec "{sys.executable}" -m wakebook "$@"')
    script(folder / "editor", 'case "$1" in +*) sed -i "${1#+}d" "$2";; *) sed -i 1d "$1";; esac')
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setenv("EDITOR", str(folder / "editor"))


def script(path: Path, body: str) -> None:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with a blank in its path, which is the usual one from here on."""
    root = tmp_path / "my home"
    monkeypatch.setenv("WAKEBOOK_HOME", str(root))
    homes.made(root)
    return root


def doctor(*options: str) -> dict[str, Any]:
    """What it says, by "group: name"; the worst of a name."""
    done = call("doctor", "--json", *options)
    assert done.err == b"" and done.code in (0, 1), done.err
    found = json.loads(done.out)
    assert found["well"] == (done.code == 0)
    order = ("ok", "note", "warn", "fail")
    named: dict[str, Any] = {}
    for one in sorted(found["checks"], key=lambda one: order.index(one["state"])):
        named[f"{one['group']}: {one['name']}"] = one
    return named


def mended(name: str, state: str, said: str, after: str = "ok") -> None:
    """The doctor tells of it; what it says to run is run; the doctor is content."""
    found = doctor("--quick")[name]
    assert found["state"] == state and said in found["said"], found
    done = subprocess.run(found["run"], shell=True, capture_output=True, text=True, input="")
    assert done.returncode == 0, done.stdout + done.stderr
    now = doctor("--quick").get(name, {"state": "ok"})
    assert now["state"] == after, now


# --- what it says ------------------------------------------------------------------------


def test_all_is_well(root: Path) -> None:
    text = run("doctor")
    for group in ("home", "log", "git", "index", "notes", "model", "sessions", "hooks", "jobs"):
        assert f"\n{group}\n" in f"\n{text}", group
    assert "✓ all of it    written, read, indexed, found, told and forgotten" in text
    assert "● all well" in text and "✗" not in text and "!" not in text
    assert "round trip" not in run("doctor", "--quick")


def test_every_problem_comes_with_what_to_run(root: Path) -> None:
    (root / "log.jsonl").write_text("nonsense [red]\n")
    text = run("doctor", "--quick", code=1)
    assert "  ✗ lines        log.jsonl line 1: " in text
    assert f"${{EDITOR:-vi}} +1 '{root / 'log.jsonl'}'" in text
    assert "● 1 problem" in text


def test_without_a_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAKEBOOK_HOME", str(tmp_path / "nowhere"))
    text = run("doctor", code=1)
    assert "✗ folder" in text and "wakebook init" in text
    assert "✓ all of it" in text  # the installation itself is fine
    mended("home: folder", "fail", "does not exist")


def test_a_machine_on_which_git_is_broken(root: Path, tmp_path: Path) -> None:
    script(tmp_path / "bin" / "git", "echo 'git: it is dark here' >&2; exit 3")
    found = doctor()
    assert found["git: repository"]["state"] == "warn"
    assert found["round trip: all of it"]["state"] == "fail"
    assert "it is dark here" in found["round trip: all of it"]["said"]
    assert found["log: lines"]["state"] == "ok"


# --- broken and mended -------------------------------------------------------------------


def open_door(root: Path) -> None:
    root.chmod(0o755)


def bad_line(root: Path) -> None:
    Memory(root).remember("Mira lives in Lund.")
    with (root / "log.jsonl").open("a") as stream:
        stream.write("nonsense\n")


def bad_setting(root: Path) -> None:
    (root / "config.toml").write_text("serach = 1\n[search]\nmax_results = 7\n")


def bad_state(root: Path) -> None:
    (root / "state.json").write_text("{")


def no_index(root: Path) -> None:
    Memory(root).index.sync()
    for path in root.glob("index.db*"):
        path.unlink()


def open_token(root: Path) -> None:
    (root / "token").write_text("s3cret\n")
    (root / "token").chmod(0o644)


def no_repository(root: Path) -> None:
    (root / ".git").rename(root.parent / "away")


def new_session(root: Path) -> None:
    folder = Path.home() / ".claude" / "projects" / "-home-mira-tidepool"
    folder.mkdir(parents=True)
    chat(Claude(folder), WORKDAY)


def uncommitted(root: Path) -> None:
    Memory(root).history.commit()
    (root / "knowledge" / "reference" / "boats.md").write_text("# Boats\n")


def failing_hook(root: Path) -> None:
    run("hook", "claude-code", "SessionStart", stdin="nonsense")


@pytest.mark.parametrize(
    ("breaks", "name", "state", "said"),
    [
        (open_door, "home: permissions", "warn", "0755"),
        (bad_line, "log: lines", "fail", "line 2"),
        (bad_setting, "home: config.toml", "fail", "serach"),
        (bad_state, "home: state.json", "warn", "could not be read once"),
        (no_index, "index: content", "note", "not made yet"),
        (open_token, "home: token", "warn", "0644"),
        (no_repository, "git: repository", "warn", "no repository"),
        (new_session, "sessions: behind", "warn", "never read"),
        (uncommitted, "git: commits", "note", "1 change"),
    ],
)
def test_mended(
    root: Path, breaks: Callable[[Path], None], name: str, state: str, said: str
) -> None:
    breaks(root)
    mended(name, state, said)


def test_a_hook_that_fails(root: Path) -> None:
    failing_hook(root)
    mended("hooks: failures", "warn", "claude-code SessionStart", after="note")


def test_a_locked_home(root: Path) -> None:
    hold = [sys.executable, "-c", HOLD, str(root)]
    with subprocess.Popen(hold, stdout=subprocess.PIPE) as holder:
        try:
            assert holder.stdout and holder.stdout.readline() == b"locked\n"
            found = doctor("--quick")["home: lock"]
            assert found["state"] == "warn" and f"process {holder.pid} (" in found["said"]
            assert found["run"] == f"kill {holder.pid}"
            subprocess.run(found["run"], shell=True, check=True)
            assert holder.wait(30) == -signal.SIGTERM
        finally:
            holder.kill()
    assert doctor("--quick")["home: lock"]["state"] == "ok"


# --- the service -------------------------------------------------------------------------


def until(root: Path, there: bool) -> None:
    limit = clock.monotonic() + 60
    while (root / ".cache" / "service.json").exists() is not there:
        assert clock.monotonic() < limit, "the service takes too long"
        clock.sleep(0.05)


@contextmanager
def serving(root: Path, command: str = "exec wakebook serve") -> Iterator[subprocess.Popen[bytes]]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (root / "config.toml").write_text(f"[service]\nport = {port}\n")
    process = subprocess.Popen(["/bin/sh", "-c", command], stdout=subprocess.DEVNULL)
    try:
        until(root, there=True)
        yield process
    finally:
        process.send_signal(signal.SIGCONT)
        process.kill()
        process.wait()


def test_a_service_that_runs_hangs_and_dies(root: Path) -> None:
    assert doctor("--quick")["service: process"]["state"] == "note"
    with serving(root) as process:
        found = doctor("--quick")
        states = {one["state"] for name, one in found.items() if name.startswith("service: ")}
        assert states <= {"ok", "note"}, found
        assert str(process.pid) in found["service: process"]["said"]
        assert "127.0.0.1:" in found["service: port"]["said"]
        process.send_signal(signal.SIGSTOP)
        hangs = doctor("--quick")["service: process"]
        assert hangs["state"] == "fail" and hangs["run"] == "wakebook serve stop"
    dead = doctor("--quick")["service: process"]  # killed, and service.json lies there still
    assert dead["state"] == "warn" and "ended without a word" in dead["said"]
    assert dead["run"] == "wakebook serve"
    (root / ".cache" / "service.json").unlink()
    with serving(root, f"exec {dead['run']}"):
        assert doctor("--quick")["service: process"]["state"] == "ok"


def test_a_service_file_that_somebody_else_s_process_number_makes_look_alive(root: Path) -> None:
    cache = root / ".cache"
    cache.mkdir(exist_ok=True)
    written = {"pid": os.getpid(), "port": 1, "socket": str(cache / "service.sock")}
    (cache / "service.json").write_text(json.dumps(written))
    found = doctor("--quick")["service: process"]
    assert found["state"] == "warn" and "ended without a word" in found["said"]
    (cache / "service.json").write_text("nonsense")
    found = doctor("--quick")["service: process"]
    assert found["state"] == "warn" and "cannot be read" in found["said"]


def test_a_service_of_another_version_on_another_port(root: Path) -> None:
    with serving(root):
        path = root / ".cache" / "service.json"
        known = json.loads(path.read_text())
        path.write_text(json.dumps(known | {"version": "0.0.1", "port": 1}))
        found = doctor("--quick")
        assert found["service: version"]["state"] == "warn"
        assert "it is 0.0.1" in found["service: version"]["said"]
        assert found["service: version"]["run"] == "wakebook serve stop && wakebook serve"
        assert found["service: port"]["state"] == "warn"
        Path(known["socket"]).chmod(0o666)
        open_to_all = doctor("--quick")["service: socket"]
        assert open_to_all["state"] == "warn"
        subprocess.run(open_to_all["run"], shell=True, check=True)
        assert "service: socket" not in doctor("--quick")


# --- hosts -------------------------------------------------------------------------------


def test_a_host_that_is_not_here(root: Path) -> None:
    names = {name.partition(": ")[0] for name in doctor("--quick")}
    assert not names & {"openclaw", "claude-code", "codex", "pi"}
    found = doctor("--host", "codex")
    assert list(found) == ["codex: wiring"] and found["codex: wiring"]["state"] == "note"
    assert found["codex: wiring"]["run"] == "wakebook init --host codex"


def test_only_one_host(root: Path) -> None:
    (Path.home() / ".claude").mkdir()
    (Path.home() / ".codex").mkdir()
    (root / "log.jsonl").write_text("nonsense\n")  # which is not looked at
    found = doctor("--host", "claude-code")
    assert found and {name.partition(": ")[0] for name in found} == {"claude-code"}
    both = {name.partition(": ")[0] for name in doctor("--quick")}
    assert {"claude-code", "codex", "log"} <= both
