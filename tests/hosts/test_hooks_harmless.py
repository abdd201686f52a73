"""`wakebook hook HOST EVENT` never harms its host: bad input, bad streams, a bad home."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from tests.hosts.hooking import (
    HOST,
    MOST,
    PATIENT,
    SECONDS,
    command,
    contents,
    event,
    failures,
    fired,
    fresh,
    held,
    hooked,
    send,
    settled,
    twice,
    until,
)
from tests.journeys.command import run
from tests.service.serving import serving
from tests.story import NEXT_DAY, Claude, chat
from wakebook import Memory

# --- bad input ---------------------------------------------------------------------------

BROKEN: dict[str, bytes] = {
    "half": b'{"session_id": "a", "prompt": "wh',
    "words": b"hello there",
    "list": b'[{"session_id": "a"}]',
    "string": b'"SessionStart"',
    "number": b"7",
    "null": b"null",
    "nul": b"\x00\x00\x00\x00",
    "no UTF-8": b'{"prompt": "\xff\xfe\xfa"}',
    "deep": b"[" * 200_000,
    "large number": b'{"a": ' + b"9" * 10_000 + b"}",
    "oversized": b'{"prompt": "' + b"x" * (9 << 20) + b'"}',
}


@pytest.mark.parametrize("served", [False, True], ids=["alone", "served"])
def test_what_cannot_be_read_is_answered_with_nothing(patient: Memory, served: bool) -> None:
    root = patient.home.root
    with serving(root) if served else nullcontext():
        for name, data in BROKEN.items():
            told = fired(root, HOST, "UserPromptSubmit", data)
            assert told.out == b"", name
            (last,) = until(lambda: patient.home.traces("failure", 1))
            assert last["where"] == f"hook {HOST} UserPromptSubmit", (name, last)
            patient.home.trace_file.unlink()


def test_a_failure_is_in_the_status(patient: Memory) -> None:
    fired(patient.home.root, HOST, "UserPromptSubmit", BROKEN["half"])
    said = run("status", "--home", str(patient.home.root), code=1)
    assert f"hook {HOST} UserPromptSubmit" in said.replace("\n", " ")
    assert "not JSON" in said


UNKNOWN = [("claude-code", "NoSuchEvent"), ("emacs", "SessionStart"), ("../..", "\n\r"), ("", "")]


@pytest.mark.parametrize("served", [False, True], ids=["alone", "served"])
def test_an_unknown_event_is_traced_and_nothing_else(patient: Memory, served: bool) -> None:
    with serving(patient.home.root) if served else nullcontext():
        for host, name in UNKNOWN:
            assert fired(patient.home.root, host, name, b"{}").out == b""
            assert until(lambda: failures(patient))[0].startswith(f"hook {host} {name}")
            patient.home.trace_file.unlink()


@pytest.mark.parametrize(
    "line",
    [
        ["hook", "claude-code"],
        ["hook"],
        ["hook", "claude-code", "NoSuchEvent", "--home=HOME"],
        ["hook", "claude-code", "UserPromptSubmit", "more", "--home", "HOME"],
    ],
)
def test_a_wrong_command_line_never_blocks_a_prompt(memory: Memory, line: list[str]) -> None:
    """Exit code 2 of a hook keeps Claude Code and Codex from answering at all."""
    words = [word.replace("HOME", str(memory.home.root)) for word in line]
    done = subprocess.run(
        [sys.executable, "-m", "wakebook", *words], input=b"{}", capture_output=True
    )
    assert done.returncode != 2
    assert done.stdout == b""


STRANGE = ["\x00", "a\x00b", "\ud800", "caf\udce9", "x" * 500_000, "\u202e\ufeff", '"' * 999]


@pytest.mark.parametrize("served", [False, True], ids=["alone", "served"])
def test_a_strange_prompt_is_a_prompt(knowing: Memory, projects: Path, served: bool) -> None:
    with serving(knowing.home.root) if served else nullcontext():
        for number, prompt in enumerate(["", " ", *STRANGE]):
            new = Claude(projects, f"5e551011-0000-4000-8000-{number:012}")
            told = send(knowing, "UserPromptSubmit", new, prompt=prompt)
            assert len(told.context) <= MOST, ascii(prompt)[:20]
            assert failures(knowing) == [], ascii(prompt)[:20]


@pytest.mark.parametrize(
    "fields",
    [
        {"session_id": None, "prompt": None, "transcript_path": None},
        {"session_id": ["a"], "prompt": {"text": "hi"}, "transcript_path": 7},
        {"session_id": "../../../etc/passwd", "prompt": "hi", "transcript_path": "/etc/passwd"},
        {"session_id": "a\x00b", "prompt": "hi", "transcript_path": "a\x00b"},
        {"session_id": "x" * 5_000, "prompt": "hi", "transcript_path": "y" * 5_000},
    ],
    ids=["null", "types", "places", "nul", "long"],
)
@pytest.mark.parametrize(
    "name", ["SessionStart", "UserPromptSubmit", "PreCompact", "Stop", "SessionEnd"]
)
def test_fields_of_any_kind_do_no_harm(patient: Memory, fields: dict[str, Any], name: str) -> None:
    before = set(patient.home.root.parent.iterdir())
    told = fired(patient.home.root, HOST, name, {"hook_event_name": name, "source": 3, **fields})
    settled(patient.home.root)
    if told.out and name != "PreCompact":
        assert told.context
    assert contents(patient) == []
    assert set(patient.home.root.parent.iterdir()) == before


# --- a host that behaves badly -----------------------------------------------------------


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&-", ">&- 2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("name", ["UserPromptSubmit", "Stop"])
def test_closed_streams_do_no_harm(patient: Memory, claude: Claude, closed: str, name: str) -> None:
    line = ["sh", "-c", f'exec "$@" {closed}', "sh", *command(patient.home.root, HOST, name)]
    payload = event(name, claude, prompt="Which database for the bookings?")
    done = subprocess.run(
        line, input=json.dumps(payload).encode(), capture_output=True, timeout=SECONDS
    )
    assert done.returncode == 0
    assert not done.stdout or isinstance(json.loads(done.stdout), dict)
    settled(patient.home.root)
    if name == "Stop" and "<&-" not in closed:
        until(lambda: any("Postgres" in one for one in contents(patient)))


def test_a_host_that_keeps_our_input_open_does_not_hang_us(memory: Memory, claude: Claude) -> None:
    memory.catch_up(closing=True)
    hook = subprocess.Popen(
        command(memory.home.root, HOST, "UserPromptSubmit"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert hook.stdin and hook.stdout and hook.stderr
    hook.stdin.write(json.dumps(event("UserPromptSubmit", claude, prompt="Which?")).encode())
    hook.stdin.flush()
    try:
        assert hook.wait(SECONDS / 4) == 0
        out = hook.stdout.read()
        assert not out or isinstance(json.loads(out), dict)
    finally:
        hook.kill()
        hook.wait()
        for stream in (hook.stdin, hook.stdout, hook.stderr):
            stream.close()


def test_a_host_that_does_not_read_does_not_hang_us(knowing: Memory, projects: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    payload = event("SessionStart", fresh(projects), source="startup")
    try:
        done = subprocess.run(
            command(knowing.home.root, HOST, "SessionStart"),
            input=json.dumps(payload).encode(),
            stdout=writing,
            stderr=subprocess.PIPE,
            timeout=SECONDS,
        )
    finally:
        os.close(writing)
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr


# --- a home that behaves badly -----------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["SessionStart", "UserPromptSubmit", "PreCompact", "Stop", "SessionEnd"]
)
def test_without_a_home_nothing_is_made(tmp_path: Path, claude: Claude, name: str) -> None:
    home = tmp_path / "nowhere" / "home"
    told = fired(home, HOST, name, event(name, claude, source="startup", prompt="hello"))
    assert told.out == b""
    assert b"wakebook init" in told.err
    assert not home.parent.exists()


def test_a_home_with_broken_settings_answers_nothing(memory: Memory, claude: Claude) -> None:
    memory.home.config.write_text("[hooks\nseconds = ")
    for name in ("SessionStart", "UserPromptSubmit", "PreCompact", "Stop", "SessionEnd"):
        assert send(memory, name, claude, source="startup", prompt="hello").out == b""
        settled(memory.home.root)
    assert len(until(lambda: failures(memory))) >= 3


def test_a_home_that_cannot_be_written_still_answers(knowing: Memory, projects: Path) -> None:
    """Root ignores permissions, so it is mounted read-only for the child alone."""
    root = knowing.home.root
    payload = event("SessionStart", fresh(projects), source="startup")
    if os.geteuid() == 0:
        mount = f"mount --bind {root} {root} && mount -o remount,bind,ro {root}"
        line = ["unshare", "-m", "sh", "-c", f'{mount} && exec "$@"', "sh"]
    else:
        line = []
        root.chmod(0o500)
        (root / ".cache").chmod(0o500)
    try:
        if line and subprocess.run([*line, "true"], capture_output=True).returncode:
            pytest.skip("mounting is not allowed here")
        for name in ("SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd"):
            done = subprocess.run(
                [*line, *command(root, HOST, name)],
                input=json.dumps(payload | {"prompt": "Which database for the bookings?"}).encode(),
                capture_output=True,
                timeout=SECONDS,
            )
            assert done.returncode == 0
            assert b"Traceback" not in done.stderr
            if name == "SessionStart":
                assert b"Postgres" in done.stdout
            assert not done.stdout or isinstance(json.loads(done.stdout), dict)
    finally:
        root.chmod(0o700)
        (root / ".cache").chmod(0o700)


def test_a_locked_home_holds_up_nobody(memory: Memory, claude: Claude) -> None:
    root = memory.home.root
    memory.catch_up(closing=True)
    chat(claude, NEXT_DAY)
    hooked(memory, seconds=PATIENT)
    with held(root):
        told = send(
            memory,
            "UserPromptSubmit",
            fresh(claude.path.parent),
            prompt="Which database for the bookings?",
        )
        assert "Postgres" in told.context
        hooked(memory, seconds=2)
        assert send(memory, "PreCompact", claude, trigger="auto").out == b""
        assert any("no answer within 2 s" in one for one in failures(memory))
        for name in ("Stop", "SessionEnd"):
            assert send(memory, name, claude).out == b""
        assert not any("21 November" in one for one in contents(memory))
    until(lambda: any("21 November" in one for one in contents(memory)))  # the work went on
    settled(root)
    assert twice(memory) == []


@pytest.mark.parametrize("first", [False, True], ids=["last", "first"])
@pytest.mark.parametrize("comment", ["", "  # the user is in a hurry"])
def test_the_time_box_is_kept(memory: Memory, claude: Claude, first: bool, comment: str) -> None:
    section = f"[hooks]{comment}\nseconds = 0.001{comment}\n"
    rest = "[search]\nmax_results = 6\n"
    memory.home.config.write_text(section + rest if first else f"{rest}\n{section}")
    told = send(memory, "PreCompact", claude, trigger="auto")
    assert told.out == b""
    assert any("no answer within 0.001 s" in one for one in failures(memory))
    until(lambda: any("Postgres" in one for one in contents(memory)))


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf", "true", '"two"', "1e999", "[1]"])
def test_a_time_box_of_any_kind_does_no_harm(memory: Memory, claude: Claude, seconds: str) -> None:
    memory.home.config.write_text(f"# of a test\n[hooks]\nseconds = {seconds}\n")
    told = send(memory, "UserPromptSubmit", claude, prompt="Which database for the bookings?")
    assert told.out == b"" or told.context


def test_a_clock_that_is_wrong_does_no_harm(memory: Memory, claude: Claude) -> None:
    env = os.environ | {"WAKEBOOK_NOW": "yesterday"}
    told = fired(memory.home.root, HOST, "UserPromptSubmit", event("x", claude, prompt="?"), env)
    assert "left a handoff" in told.context  # as by any clock
