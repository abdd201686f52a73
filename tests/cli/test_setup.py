"""`wakebook setup` with the hosts' own files in a user folder, and `wakebook` alone."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import CODEX
from tests.hosts.test_wiring import Snapshot
from tests.journeys.command import COLUMNS, run, run_json
from tests.story import Claude
from wakebook import Memory
from wakebook.base.home import Home
from wakebook.service.address import is_locked, look


@pytest.fixture
def alone(user: Path, home: Path) -> Path:
    """A home that wants no service."""
    run("init")
    (home / "config.toml").write_text("[service]\nauto = false\n")
    return home


def screen(*words: str, keys: str) -> tuple[int, str]:
    """The command on a terminal on which this is typed: its exit code, and what is drawn."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "wakebook", *words],
        stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
        env=os.environ | COLUMNS | {"TERM": "xterm-256color"},
    )  # fmt: skip
    os.close(theirs)
    os.write(ours, keys.encode())
    drawn = b""
    try:
        while part := os.read(ours, 65_536):
            drawn += part
    except OSError:  # it has ended
        pass
    os.close(ours)
    return process.wait(), drawn.decode()


# --- there and back ----------------------------------------------------------------------


def test_one_command_wires_all_reads_starts_and_tells_and_one_takes_it_back(
    user: Path, home: Path, claude: Claude
) -> None:
    before = Snapshot(user)
    said = run("setup", "--yes")
    for label in ("Claude Code", "Codex", "OpenClaw", "pi"):
        assert f"● {label} is wired" in said
    assert f"{home} will be made" in said
    assert f"new file: {user}/.codex/hooks.json" in said
    assert f"changed: {user}/.codex/config.toml" in said
    assert "plugin install wakebook@wakebook" in (home.parent / "ran").read_text()
    assert "6 messages read" in said
    service = look(Home(home))
    assert service.state == "up" and f"The service runs (process {service.pid})" in said
    assert "started by `wakebook setup`" in run("status")
    told = run("wake")
    assert "Postgres" in told and told in said
    assert "wakebook setup --undo" in said

    log = (home / "log.jsonl").read_bytes()
    again = run("setup", "--yes")
    assert again.count("wired already") == 4 and f"process {service.pid}" in again
    assert (home / "log.jsonl").read_bytes() == log

    dry = run("setup", "--undo", "--dry-run")
    assert f"will be put back: {user}/.codex/config.toml" in dry and "Nothing was changed" in dry
    assert look(Home(home)).pid == service.pid
    back = run("setup", "--undo")
    assert Snapshot(user) == before
    assert f"The service has ended (process {service.pid})" in back
    assert not is_locked(Home(home))
    assert f"Your memory stays in {home}" in back and (home / "log.jsonl").read_bytes() == log
    assert "Nothing to take back" in run("setup", "--undo")


def test_a_service_of_an_older_version_is_started_anew(user: Path, home: Path) -> None:
    first = run_json("setup", "--yes", "--host", "pi")["service"]
    path = home / ".cache" / "service.json"
    path.write_text(path.read_text().replace(first["version"], "0.0.1"))
    second = run_json("setup", "--yes", "--host", "pi")["service"]
    assert second["state"] == "up" and second["pid"] != first["pid"]
    assert second["version"] == first["version"]
    run("setup", "--undo")


def test_what_a_model_would_cost_can_be_asked(alone: Path) -> None:
    (alone / "config.toml").write_text('[models]\nmain = "anthropic/claude-sonnet-5-5"\n')
    shown = run("setup", "--dry-run")
    assert "anthropic/claude-sonnet-5-5 reads" in shown and "catch-up --dry-run" in shown


def test_the_notes_on_a_host_are_shown_before_the_question(alone: Path) -> None:
    costs = "It costs what your provider takes"
    assert costs in run("setup", code=1)
    assert costs in run("setup", "--dry-run")
    assert run("setup", "--yes").count(costs) == 1


def test_one_host_is_put_back_and_the_others_stay(alone: Path, user: Path) -> None:
    run("setup", "--yes", "--host", "codex", "--host", "pi")
    assert not (alone / "hosts" / "openclaw").exists()
    assert not (alone / "hosts" / "claude-code").exists()
    assert "pi is as it was" in run("setup", "--undo", "--host", "pi")
    assert not (user / ".pi" / "agent" / "extensions").exists()
    assert (user / ".codex" / "hooks.json").exists()
    assert [one["host"] for one in run_json("setup", "--undo")["hosts"]] == ["codex"]
    assert (user / ".codex" / "config.toml").read_bytes() == CODEX


def test_a_host_that_was_not_found_is_wired_if_it_is_named(home: Path) -> None:
    run("init")
    (home / "config.toml").write_text("[service]\nauto = false\n")
    said = run("setup", "--yes", "--host", "pi")
    assert "was not found here" in said and "pi is wired" in said
    assert (Path.home() / ".pi" / "agent" / "extensions" / "wakebook.js").exists()


def test_one_that_cannot_be_wired_is_named_and_the_others_go_on(alone: Path, user: Path) -> None:
    (user / ".openclaw" / "openclaw.json").unlink()
    said = run("setup", "--yes", code=1)
    assert "OpenClaw has no configuration there" in said
    assert "OpenClaw is left out" in said and "Codex is wired" in said
    found = {one["host"]: one for one in run_json("setup", "--yes", code=1)["hosts"]}
    assert "no configuration" in found["openclaw"]["problem"] and not found["openclaw"]["wired"]
    assert found["codex"]["wired"] and found["codex"]["changes"] == []


def test_if_none_can_be_wired_nothing_is_made(home: Path) -> None:
    (Path.home() / ".openclaw").mkdir()
    assert "none of them can be wired yet" in run("setup", "--yes", code=1)
    assert not home.exists()


def test_a_command_of_a_host_that_fails_is_told(alone: Path, user: Path) -> None:
    program = alone.parent / "bin" / "claude"
    program.write_text("#!/bin/sh\necho no such plugin >&2\nexit 3\n")
    said = run("setup", "--yes", "--host", "claude-code", code=1)
    assert "failed: no such plugin" in said and "Run it by hand" in said


def test_a_home_that_wants_no_service_gets_none(alone: Path) -> None:
    said = run("setup", "--yes", "--host", "pi")
    assert "auto is false in [service] of config.toml" in said and "No service runs" in said
    assert not is_locked(Home(alone))


def test_json_tells_everything(alone: Path, user: Path, claude: Claude) -> None:
    dry = run_json("setup", "--dry-run")
    assert not dry["done"] and not any(one["wired"] for one in dry["hosts"])
    told = run_json("setup", "--yes")
    assert told["done"] and told["home"] == str(alone)
    assert [one["host"] for one in told["hosts"]] == ["openclaw", "claude-code", "codex", "pi"]
    changes = {one["path"]: one["kind"] for one in told["hosts"][2]["changes"]}
    assert changes[f"{user}/.codex/config.toml"] == "changed"
    assert changes[f"{user}/.codex/hooks.json"] == "new file"
    assert told["messages"] == 6 and told["entries"] > 0
    assert told["wake"] == run("wake")
    assert told["service"]["state"] == "off"


# --- nothing is done ---------------------------------------------------------------------


def test_without_a_terminal_and_without_yes_nothing_is_changed(user: Path, home: Path) -> None:
    before = Snapshot(user)
    said = run("setup", code=1, stdin="y\n")
    assert "no terminal to ask on" in said and "--yes" in said
    assert "give --yes" in run("setup", "--json", code=2)
    shown = run("setup", "--dry-run")
    assert f"{user}/.pi/agent/extensions/wakebook.js" in shown and "Nothing was changed" in shown
    assert Snapshot(user) == before and not home.exists()


def test_on_a_terminal_it_asks_once(user: Path, home: Path, projects: Path) -> None:
    before = Snapshot(user)
    code, drawn = screen("setup", "--host", "codex", keys="n\n")
    assert code == 1 and drawn.count("Do all this?") == 1 and "Nothing was changed" in drawn
    assert Snapshot(user) == before and not home.exists()
    for number in range(3):
        Claude(projects, f"5e551011-0000-4000-8000-00000000000{number}").user("I prefer uv.")
    code, drawn = screen("setup", "--host", "codex", keys="y\nn\n")
    assert code == 0 and "Codex is wired" in drawn
    assert "/3" in drawn  # the progress bar
    assert (user / ".codex" / "hooks.json").exists()
    run("setup", "--undo")


def test_where_no_host_is_found_it_says_where_it_looked(home: Path) -> None:
    said = run("setup", "--yes", code=1)
    for program, folder in (
        ("claude", ".claude"), ("codex", ".codex"), ("openclaw", ".openclaw"), ("pi", ".pi")
    ):  # fmt: skip
        assert f"the command {program}, the folder {Path.home() / folder}" in said
    assert "wakebook setup --host NAME" in said and "wakebook init" in said
    assert run_json("setup", "--yes", code=1)["hosts"] == []
    assert not home.exists()


def test_there_is_nothing_to_take_back_without_a_home(home: Path) -> None:
    assert "no Wakebook home" in run("setup", "--undo", code=3)


# --- `wakebook` alone --------------------------------------------------------------------


def test_alone_without_a_home_it_says_how_to_begin(home: Path) -> None:
    said = run(code=3)
    assert f"There is no memory in {home} yet" in said and "wakebook setup" in said
    assert not home.exists()


def test_alone_it_says_how_the_memory_is_doing(alone: Path, claude: Claude) -> None:
    Memory(alone).catch_up(closing=True)
    count = run_json("status")["counts"]
    said = run()
    assert f"{alone} holds {sum(count.values())} entries of 1 conversation" in said
    assert "2026-11-08" in said and "OpenClaw, Claude Code, Codex, pi not wired" in said
    assert "wakebook setup " in said and "wakebook search WORDS" in said
    assert "wrong" not in said and len(said.splitlines()) < 12
    run("setup", "--yes")
    said = run()
    assert "OpenClaw, Claude Code, Codex, pi wired" in said and "not wired" not in said
    assert "wakebook setup" not in said and "wakebook wake" in said


def test_alone_it_does_not_call_wired_what_is_left_to_do(alone: Path, user: Path) -> None:
    (alone.parent / "bin" / "claude").unlink()
    (user / ".claude").mkdir()
    for _ in range(2):
        said = run("setup", "--yes", "--host", "claude-code")
        assert "not wired yet: this is left to do" in said and "wired already" not in said
    said = run()
    assert "Claude Code not quite wired" in said and "wakebook setup " in said


def test_alone_it_names_what_is_wrong_and_what_to_run(alone: Path, claude: Claude) -> None:
    said = run(code=1)
    assert "behind" in said and "wakebook catch-up" in said
    run("catch-up")
    with (alone / "log.jsonl").open("a") as log:
        log.write("{\n" * 5)
    said = run(code=1)
    assert said.count("wrong") == 3 and "and 2 more: `wakebook status`" in said
    assert "wakebook doctor" in said
