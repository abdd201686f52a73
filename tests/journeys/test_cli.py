"""Journeys through the real command, as a process of its own."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Any

import pytest

from tests.journeys.command import run, run_json
from tests.service.serving import ended
from tests.story import NEXT_DAY, WORKDAY, Claude, chat
from wakebook import Memory
from wakebook.cli import COMMANDS


def test_a_first_day(projects: Path) -> None:
    claude = chat(Claude(projects), WORKDAY)
    assert "Your home is" in run("init")
    assert "left alone" in run("init")
    assert "never read" in run("audit", code=1)
    assert "entries remembered" in run("catch-up")
    assert "Nothing new" in run("catch-up")
    assert "nothing behind" in run("audit")
    woken = run("wake")
    assert f"Session: {claude.session}" in woken
    assert run("wake") == woken
    assert "Let's go with Postgres" in run("log")
    found = run_json("search", "postgres", "--type", "decision")["hits"]
    assert [hit["type"] for hit in found] == ["decision"]
    shown = run("show", found[0]["ref"][:6])
    assert "Where it was said" in shown and "SQLite locks up" in shown
    assert "Active" in run("brief")
    assert "● all well" in run("status")


def test_corrections_by_hand_and_their_history() -> None:
    run("init")
    first = run_json("remember", "The launch is on 14 November", "--subject", "tidepool")
    second = run_json("remember", "The launch is on 21 November", "-r", first["id"])
    assert second["replaces"] == first["id"]
    assert [entry["id"] for entry in run_json("log")] == [second["id"]]
    everything = run_json("log", "--all")
    assert everything[0]["replaced_by"] == second["id"]
    assert "How it came to this" in run("show", second["id"])
    task = run_json("remember", "--type", "task", "Deploy", "to", "lagoon")
    assert task["state"] == "open"
    run("remember", "--type", "task", "--done", "--replaces", task["id"], "Deployed to lagoon")
    assert run_json("search", "--status", "open", code=1)["hits"] == []
    assert "There is no entry 'zzzz'" in run("remember", "x", "--replaces", "zzzz", code=9)
    assert "--done is for" in run("remember", "x", "--done", code=2)


def test_remember_reads_standard_input_and_redacts() -> None:
    run("init")
    run("remember", "-", stdin="our db is postgres://mira:hunter22@lagoon/db\n")
    [entry] = run_json("log")
    assert entry["content"] == "our db is postgres://mira:[redacted:url-password]@lagoon/db"


def test_subjects() -> None:
    run("init")
    run("subjects", "add", "Auth Migration")
    run("remember", "x", "--subject", "auth-migration")
    assert "auth-migration" in run("subjects", "list")
    assert "1 entries" in run("subjects", "rename", "auth-migration", "login")
    run("subjects", "add", "sign-in")
    run("subjects", "merge", "login", "sign-in")
    [item] = run_json("subjects", "list")
    assert item["subject"]["aliases"] == ["auth-migration", "login"]
    run("subjects", "delete", "sign-in")
    assert run_json("subjects", "list") == []
    assert "There is no subject" in run("subjects", "delete", "sign-in", code=9)


def test_filters_and_dates(projects: Path) -> None:
    run("init")
    chat(Claude(projects), WORKDAY)
    chat(Claude(projects, "5e551011-0000-4000-8000-000000000002").pause(hours=12), NEXT_DAY)
    run("catch-up")
    assert len(run_json("log", "--since", "10h")) < len(run_json("log", "--since", "2d"))
    assert run_json("log", "--until", "2026-11-01") == []
    assert run_json("log", "-n", "1", "--type", "handoff")[0]["type"] == "handoff"
    found = run_json("search", "--session", "5e55", "--limit", "99")["hits"]
    assert {hit["session"][-1] for hit in found} == {"1", "2"}
    assert "is no date" in run("log", "--since", "whenever", code=2)
    assert "Nothing found" in run("search", "--subject", "nothing-like-this", code=1)
    assert run_json("search", "--subject", "nothing-like-this", code=1)["hits"] == []


def test_show_sessions_and_files(projects: Path) -> None:
    claude = chat(Claude(projects), WORKDAY)
    run("init")
    run("catch-up")
    session = run_json("show", f"session:{claude.session[:8]}")
    assert session["name"] == claude.session
    [path] = session["transcripts"]
    lines = run_json("show", f"{path}#1-2")["lines"]
    assert lines == [{"line": 1, "text": "---"}, {"line": 2, "text": "format: 1"}]
    assert "no file" in run("show", "../../etc/passwd.md", code=9)
    assert "no session" in run("show", "session:nope", code=9)
    assert "path#12" in run("show", "log.jsonl#x", code=9)


def test_catch_up_on_a_file_from_anywhere(tmp_path: Path) -> None:
    run("init")
    chat_file = tmp_path / "my-agent.md"
    chat_file.write_text("## user\nI prefer tea over coffee.\n\n## agent\nNoted.\n")
    assert run_json("catch-up", str(chat_file), "--close")["messages"] == 2
    assert run_json("catch-up", str(chat_file))["messages"] == 0
    assert run_json("audit")["unaccounted"] == 0
    unknown = tmp_path / "x.bin"
    unknown.write_bytes(b"\x00\x01")
    assert "wakebook: " in run("catch-up", str(unknown), code=6)
    assert (
        run_json("catch-up", str(tmp_path / "none"), code=6)["error"]["kind"] == "TranscriptError"
    )
    assert "No session 'zzz'" in run("catch-up", "--session", "zzz", code=9)
    assert "--all takes neither" in run("catch-up", "--all", "--session", "x", code=2)


def test_every_error_has_a_message_and_its_exit_code(tmp_path: Path) -> None:
    assert "Run `wakebook setup` first" in run("status", code=3)
    assert run_json("wake", code=3)["error"]["kind"] == "NotInitialised"
    run("init")
    home = Path.home() / ".wakebook"
    (home / "config.toml").write_text("[hots]\n")
    assert "did you mean 'hosts'" in run("status", code=5)
    (home / "config.toml").write_text("")
    (home / "state.json").write_text("{")
    assert "state.json" in run("status", code=1)
    assert "Did you mean 'status'" in run("statsu", code=2)
    (home / "state.json").unlink()
    (home / ".lock").unlink(missing_ok=True)
    (home / ".lock").mkdir()
    assert "Is a directory" in run("remember", "x", code=10)


def test_every_command_explains_itself_and_speaks_json(projects: Path) -> None:
    chat(Claude(projects), WORKDAY)
    overview = run("--help")
    for name in COMMANDS:
        assert name in overview
        text = run(name, "--help")
        assert len(text) > 200, name
    run("init")
    for arguments in (
        ["init"],
        ["catch-up"],
        ["audit"],
        ["wake"],
        ["log"],
        ["search", "postgres"],
        ["remember", "x"],
        ["subjects", "list"],
        ["brief"],
        ["status"],
        ["commit"],
    ):
        run_json(*arguments)


def test_shell_completion() -> None:
    for shell in ("bash", "zsh", "fish"):
        assert "_WAKEBOOK_COMPLETE" in run("completion", shell)
    done = subprocess.run(
        [sys.executable, "-m", "wakebook"],
        capture_output=True,
        text=True,
        env=os.environ
        | {"_WAKEBOOK_COMPLETE": "bash_complete", "COMP_WORDS": "wakebook ca", "COMP_CWORD": "1"},
    )
    assert "catch-up" in done.stdout


def test_a_reader_that_goes_away_is_no_failure() -> None:
    run("init")
    home = Path.home() / ".wakebook"
    lines = [
        json.dumps({"id": f"{n:012}", "timestamp": "2026-11-08T10:00:00Z", "type": "fact"}
                   | {"content": "x" * 900, "session": "s"})
        for n in range(400)
    ]  # fmt: skip
    (home / "log.jsonl").write_text("\n".join(lines) + "\n")
    wakebook = f"'{sys.executable}' -m wakebook"
    for command in ("log -n 400", "log -n 400 --json", "wake", "wake", "show log.jsonl"):
        done = subprocess.run(
            ["bash", "-c", f"{wakebook} {command} | head -c 0; echo ${{PIPESTATUS[0]}}"],
            capture_output=True,
            text=True,
        )
        assert (done.stdout, done.stderr) == ("0\n", ""), command
    full = subprocess.run(f"{wakebook} log > /dev/full", shell=True, capture_output=True, text=True)
    assert full.returncode == 10 and "Traceback" not in full.stderr


def test_markup_in_names_is_text(tmp_path: Path) -> None:
    run("init")
    chat_file = tmp_path / "[bold]x[.md"
    chat_file.write_text("## user\nI prefer tea over coffee [/x] [red].\n")
    run("catch-up", str(chat_file), "--close")
    assert "[bold]x[" in run("audit")
    assert "[bold]x[" in run("show", "session:[bold]x[")
    assert "[bold]y" in run("init", str(tmp_path / "[bold]y"))


def test_usage_errors_speak_json_too() -> None:
    assert run_json("log", "--since", "whenever", code=2)["error"]["kind"] == "UsageError"
    assert "is too long ago" in run("log", "--since", "999999999w", code=2)
    run("init")
    assert "exit code" not in run("log", "-n", "0", code=2)


def test_commit_says_when_git_refuses() -> None:
    run("init")
    home = Path.home() / ".wakebook"
    (home / ".git" / "index.lock").write_text("")
    run("remember", "x")
    assert "index.lock" in run("commit", code=8)


def test_the_demo_is_killed_recovers_and_explains_itself() -> None:
    done = run_json("demo")
    assert 0 <= done["survived"] < done["entries"]
    assert done["unaccounted"] == 0
    assert "## Last Session Handoff" in done["wake"]
    said = run("demo", "--page", "--keep", str(Path.home() / "kept"))
    ended(Path.home() / "kept")
    assert "21 November" in said and "/page/open?key=" in said
    assert "not empty" in run("demo", "--keep", str(Path.home() / "kept"), code=2)
    progress, journal = done["notes"]
    assert "# Tidepool — progress" in progress and "wakebook:begin journal" in journal
    assert done["ticked"].startswith("- [x] ")
    assert done["erased"] and "nothing is left" in said.replace("\n", " ")
    assert done["laptop"] == done["found"]  # the second machine knows the same
    _explained(said, done["context"])


def _explained(said: str, context: dict[str, Any]) -> None:
    """The demo ends with the context of a message, and why it is what it is."""
    last = said.partition("── 10. wakebook context")[2]
    assert "Context for “Let us cut a release" in last and "of 1,500 tokens" in last
    for name in ("identity", "memory", "projects", "handoff", "journal", "topics", "recalled"):
        assert f"  {name}" in last
    assert "● topic release-day" in last and "\nRecalled\n" in last and "\nJust missed\n" in last
    assert "\nMilliseconds: " in last and "ran offline, without a model" in last
    assert 0 < context["tokens"] <= context["budget"] == 1500
    assert "# Release day" in context["text"] and "voucher" in context["text"]
    told = {slot["name"]: slot for slot in context["slots"] if slot["items"]}
    assert {"memory", "handoff", "journal", "topics", "recalled"} <= told.keys()
    assert context["missed"] and context["steps"] and context["notes"] == []


@pytest.fixture
def recent(projects: Path) -> Claude:
    claude = Claude(projects)
    claude.at = datetime(2026, 11, 9, 7, 0, tzinfo=UTC) - timedelta(minutes=60)
    return claude


def _caught_up(stream: IO[str]) -> dict[str, Any]:
    """The next catch-up that a watch tells of; it also tells of the jobs."""
    return next(done for line in stream if "messages" in (done := json.loads(line)))


def test_watch_recovers_at_the_start_and_fires_after_forty_writes(
    memory: Memory, recent: Claude
) -> None:
    recent.user("I prefer uv over pip.")
    child = subprocess.Popen(
        [sys.executable, "-m", "wakebook", "--home", str(memory.home.root), "watch", "--json"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout
    try:
        first = _caught_up(child.stdout)
        assert first["messages"] == 1
        time.sleep(1.0)  # the watcher is set up after the first sweep
        for number in range(39):
            recent.agent(f"step {number}")
        time.sleep(1.0)
        assert memory.opened.state().sessions[f"claude-code/{recent.session}"].messages == 1
        recent.user("I prefer ruff over flake8.")
        second = _caught_up(child.stdout)
        assert second["messages"] == 40
    finally:
        child.send_signal(signal.SIGTERM)
        assert child.wait(20) == 0
        child.stdout.close()


@pytest.mark.parametrize("command", ["wake", "log", "status", "search boats", "search --json x"])
def test_closed_streams_are_no_failure(command: str) -> None:
    run("init")
    program = f"exec {shlex.quote(sys.executable)} -m wakebook {command} >&- 2>&-"
    done = subprocess.run(["sh", "-c", program], env=os.environ | {"COLUMNS": "100"})
    assert done.returncode in (0, 1)
