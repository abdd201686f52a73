"""`wakebook hook HOST EVENT`: what it answers, and that it never harms its host."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.hooking import (
    SECONDS,
    command,
    contents,
    failures,
    fired,
    held,
    hooked,
    settled,
    twice,
    until,
)
from tests.adapters.serving import Service, serving
from tests.journeys.command import run
from tests.story import NEXT_DAY, WORKDAY, Claude, chat
from wakebook import Memory, clock

HOST = "claude-code"
OTHER = "5e551011-0000-4000-8000-000000000002"
MOST = 9_900
PATIENT = 60  # seconds: a slow machine is not what most of these are about


@pytest.fixture
def patient(memory: Memory) -> Memory:
    return hooked(memory, seconds=PATIENT)


@pytest.fixture
def claude(projects: Path) -> Claude:
    """A conversation that has just ended its last turn."""
    return chat(Claude(projects), WORKDAY)


@pytest.fixture
def knowing(patient: Memory, claude: Claude) -> Memory:
    """It has read the conversation, which is over."""
    patient.catch_up(closing=True)
    return patient


def event(name: str, claude: Claude, **fields: Any) -> dict[str, Any]:
    return {
        "session_id": claude.session,
        "transcript_path": str(claude.path),
        "cwd": "/home/mira/tidepool",
        "hook_event_name": name,
        **fields,
    }


def fresh(projects: Path) -> Claude:
    """A session that has no file yet, as it is when it starts."""
    return Claude(projects, OTHER)


def send(memory: Memory, name: str, claude: Claude, **fields: Any) -> Any:
    return fired(memory.home.root, HOST, name, event(name, claude, **fields))


# --- what is told ------------------------------------------------------------------------


@pytest.mark.parametrize("source", ["startup", "clear", "compact"])
@pytest.mark.parametrize("host", ["claude-code", "codex"])
def test_a_new_session_is_told_what_is_known(
    knowing: Memory, projects: Path, source: str, host: str
) -> None:
    payload = event("SessionStart", fresh(projects), source=source, permission_mode="default")
    told = fired(knowing.home.root, host, "SessionStart", payload)
    assert told.json["hookSpecificOutput"]["hookEventName"] == "SessionStart"
    assert "Postgres" in told.context
    assert "14 November" in told.context
    assert told.err == b""


@pytest.mark.parametrize("source", ["resume", "fork"])
def test_a_session_that_goes_on_is_told_nothing(
    knowing: Memory, projects: Path, source: str
) -> None:
    assert send(knowing, "SessionStart", fresh(projects), source=source).out == b""


def test_a_session_start_reads_what_was_missed(patient: Memory, claude: Claude) -> None:
    """Nobody has told of that session's end: the next start sweeps it up."""
    send(patient, "SessionStart", Claude(claude.path.parent, OTHER), source="startup")
    until(lambda: any("Postgres" in one for one in contents(patient)))


def test_a_prompt_calls_for_what_fits_it(knowing: Memory, projects: Path) -> None:
    new = fresh(projects)
    told = send(knowing, "UserPromptSubmit", new, prompt="Which database for the bookings?")
    assert told.json["hookSpecificOutput"]["hookEventName"] == "UserPromptSubmit"
    assert "Postgres" in told.context
    assert "no instructions" in told.context


@pytest.mark.parametrize(
    "fields",
    [
        {"prompt": "<task-notification>\n<task-id>a1</task-id> Postgres\n</task-notification>"},
        {"prompt": "\n <task-notification>Postgres is done"},
        {"prompt": "<subagent_notification>Postgres</subagent_notification>"},
        {"prompt": "Which database for the bookings?", "agent_id": "a1b2", "agent_type": "x"},
    ],
)
def test_what_nobody_typed_gets_nothing(
    knowing: Memory, projects: Path, fields: dict[str, Any]
) -> None:
    assert send(knowing, "UserPromptSubmit", fresh(projects), **fields).out == b""
    assert failures(knowing) == []


@pytest.mark.parametrize(
    "word",
    ["mooring", "Überwältigungsversicherungsgesellschaft", "字体", "a-b_c/d.e", "aaaaaaaaaa" * 9],
)
@pytest.mark.parametrize("name", ["SessionStart", "UserPromptSubmit"])
def test_a_huge_memory_stays_below_what_hosts_let_through(
    patient: Memory, projects: Path, word: str, name: str
) -> None:
    lines = [f"- {word} number {n} of {word} costs {n * 17} euros" for n in range(4_000)]
    patient.home.memory.write_text("# Core Memory\n\n" + "\n".join(lines) + "\n")
    for number in range(3):
        note = patient.home.root / "knowledge" / "identity" / f"ROLE{number}.md"
        note.write_text("\n".join(f"- rule {n} about {word}" for n in range(3_000)))
    hooked(patient, seconds=PATIENT, budget=60_000)
    told = send(
        patient, name, fresh(projects), source="startup", prompt=f"What does {word} number 77 cost?"
    )
    assert 0 < len(told.context) <= MOST
    assert failures(patient) == []


def test_a_topic_that_waits_is_told_even_if_the_first_try_was_too_long(
    patient: Memory, projects: Path
) -> None:
    """A text that is too long is made again, smaller: what waited for it must not be lost."""
    patient.new_topic("deploy", about="How we deploy")
    path = patient.home.root / "topics" / "deploy.md"
    head = path.read_text().split("---\n")[1]
    path.write_text(f"---\n{head}---\nAlways ring the ship's bell before a deploy.\n")
    patient.fire_topic("deploy")
    lines = [f"- mooring number {n} costs {n * 17} euros" for n in range(4_000)]
    note = patient.home.root / "knowledge" / "reference" / "moorings.md"
    note.write_text("# Moorings\n\n" + "\n".join(lines) + "\n")
    patient.home.memory.write_text("# Core Memory\n\n" + "\n".join(lines) + "\n")
    hooked(patient, seconds=PATIENT, budget=30_000, characters=4_000)
    told = send(patient, "UserPromptSubmit", fresh(projects), prompt="what does mooring 77 cost?")
    assert len(told.context) <= 4_000
    assert "ship's bell" in told.context


def test_nothing_is_told_twice_in_one_session(knowing: Memory, projects: Path) -> None:
    new, asked = fresh(projects), "Which database for the bookings?"
    started = send(knowing, "SessionStart", new, source="startup").context
    first = send(knowing, "UserPromptSubmit", new, prompt=asked).context
    second = send(knowing, "UserPromptSubmit", new, prompt=asked).context
    assert "Postgres" in started + first
    assert second == ""
    send(knowing, "SessionStart", new, source="compact")
    again = send(knowing, "UserPromptSubmit", new, prompt=asked).context
    assert again == first  # what the compaction has taken is told again


# --- what is kept ------------------------------------------------------------------------


def test_a_compaction_is_flushed_before_it_happens(patient: Memory, claude: Claude) -> None:
    told = send(patient, "PreCompact", claude, trigger="manual", custom_instructions="")
    assert told.out == b""
    assert any("Postgres" in one for one in contents(patient))  # at once: the host has waited
    assert failures(patient) == []


@pytest.mark.parametrize("name", ["missing.jsonl", "broken.jsonl"])
def test_a_flush_that_failed_says_so_to_the_user(
    patient: Memory, projects: Path, name: str
) -> None:
    new = fresh(projects)
    new.path = projects / name
    if name == "broken.jsonl":
        new.path.write_bytes(b"\x00\x01 no transcript at all")
    told = send(patient, "PreCompact", new, trigger="auto")
    assert list(told.json) == ["systemMessage"]
    assert told.json["systemMessage"].startswith("Wakebook has not saved this session yet: ")
    assert any("flush" in one for one in failures(patient))


def test_a_turn_is_kept_by_a_child_that_outlives_the_hook(patient: Memory, claude: Claude) -> None:
    """The child waits for the home; the hook is long gone, and its process group killed."""
    payload = event("Stop", claude, stop_hook_active=False, last_assistant_message="Fine.")
    with held(patient.home.root):
        hook = subprocess.Popen(
            command(patient.home.root, HOST, "Stop"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            process_group=0,
        )
        out, _ = hook.communicate(json.dumps(payload).encode(), timeout=SECONDS)
        assert (hook.returncode, out) == (0, b"")
        with suppress(ProcessLookupError):
            os.killpg(hook.pid, signal.SIGKILL)
        assert contents(patient) == []
    until(lambda: any("Postgres" in one for one in contents(patient)))
    settled(patient.home.root)
    assert failures(patient) == []


def test_the_very_next_session_knows_how_the_last_one_ended(
    patient: Memory, claude: Claude
) -> None:
    send(patient, "Stop", claude, stop_hook_active=False)
    send(patient, "SessionEnd", claude, reason="prompt_input_exit")
    told = send(patient, "SessionStart", fresh(claude.path.parent), source="startup")
    settled(patient.home.root)
    (handoff,) = [one for one in patient.chains().entries if one.type == "handoff"]
    assert handoff.content in told.context


def test_out_of_order_and_twice_nothing_is_there_twice(patient: Memory, claude: Claude) -> None:
    names = ["SessionEnd", "Stop", "PreCompact", "SessionStart", "SessionEnd", "Stop", "PreCompact"]
    for name in names:
        send(patient, name, claude, source="startup", reason="other", trigger="auto")
    settled(patient.home.root)
    until(lambda: contents(patient))
    settled(patient.home.root)
    patient.catch_up(closing=True)
    assert twice(patient) == []
    alone = Memory(patient.home.root.with_name("alone"))
    alone.init()
    alone.catch_up(closing=True)
    assert sorted(found) == sorted(contents(alone))


def test_many_at_once_nothing_is_there_twice(patient: Memory, claude: Claude) -> None:
    names = ["Stop", "SessionEnd", "Stop", "SessionEnd", "Stop"]
    hooks = [
        subprocess.Popen(
            command(patient.home.root, HOST, name), stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for name in names
    ]
    for name, hook in zip(names, hooks, strict=True):
        out, _ = hook.communicate(json.dumps(event(name, claude)).encode(), timeout=SECONDS)
        assert (hook.returncode, out) == (0, b"")
    settled(patient.home.root)
    until(lambda: any(one.type == "handoff" for one in Memory(patient.home.root).chains().entries))
    settled(patient.home.root)
    assert twice(patient) == []
    assert failures(patient) == []


def test_an_end_without_a_name_closes_nobody_else(patient: Memory, claude: Claude) -> None:
    """The conversation of another session is open, and stays so."""
    claude.path.unlink()
    claude.at = clock.now() - timedelta(hours=1)
    chat(claude, WORKDAY)
    for payload in (b"", b"{}", b'{"session_id": "", "reason": "other"}', b'{"session_id": 7}'):
        fired(patient.home.root, HOST, "SessionEnd", payload)
        settled(patient.home.root)
    patient.catch_up()
    assert "handoff" not in {entry.type for entry in patient.chains().entries}
    (known,) = patient.state().sessions.values()
    assert known.window is not None


def test_a_session_in_which_nothing_was_said_is_no_failure(patient: Memory, projects: Path) -> None:
    """Opened and left: there never is a file."""
    new = fresh(projects)
    send(patient, "SessionStart", new, source="startup")
    send(patient, "Stop", new)
    send(patient, "SessionEnd", new, reason="prompt_input_exit")
    settled(patient.home.root)
    send(patient, "SessionStart", Claude(projects), source="startup")
    assert failures(patient) == []


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
    service = serving(root) if served else None
    if service:
        service.__enter__()
    try:
        for name, data in BROKEN.items():
            told = fired(root, HOST, "UserPromptSubmit", data)
            assert told.out == b"", name
            (last,) = until(lambda: patient.home.traces("failure", 1))
            assert last["where"] == f"hook {HOST} UserPromptSubmit", (name, last)
            patient.home.trace_file.unlink()
    finally:
        if service:
            service.__exit__(None, None, None)


def test_a_failure_is_in_the_status(patient: Memory) -> None:
    fired(patient.home.root, HOST, "UserPromptSubmit", BROKEN["half"])
    said = run("status", "--home", str(patient.home.root), code=1)
    assert f"hook {HOST} UserPromptSubmit" in said.replace("\n", " ")
    assert "not JSON" in said


@pytest.mark.parametrize(
    ("host", "name"),
    [("claude-code", "NoSuchEvent"), ("emacs", "SessionStart"), ("../..", "\n\r"), ("", "")],
)
@pytest.mark.parametrize("served", [False, True], ids=["alone", "served"])
def test_an_unknown_event_is_traced_and_nothing_else(
    patient: Memory, host: str, name: str, served: bool
) -> None:
    service = serving(patient.home.root) if served else None
    if service:
        service.__enter__()
    try:
        assert fired(patient.home.root, host, name, b"{}").out == b""
        assert until(lambda: failures(patient))[0].startswith(f"hook {host} {name}")
    finally:
        if service:
            service.__exit__(None, None, None)


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


@pytest.mark.parametrize(
    "prompt",
    ["", " ", "\x00", "a\x00b", "\ud800", "caf\udce9", "x" * 500_000, "\u202e\ufeff", '"' * 999],
    ids=lambda prompt: ascii(prompt)[:20],
)
@pytest.mark.parametrize("served", [False, True], ids=["alone", "served"])
def test_a_strange_prompt_is_a_prompt(
    knowing: Memory, projects: Path, prompt: str, served: bool
) -> None:
    if served and prompt in ("", " ", "\ufeff"):
        pytest.skip("as without")
    service = serving(knowing.home.root) if served else None
    if service:
        service.__enter__()
    try:
        told = send(knowing, "UserPromptSubmit", fresh(projects), prompt=prompt)
    finally:
        if service:
            service.__exit__(None, None, None)
    assert len(told.context) <= MOST
    assert failures(knowing) == []


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
    assert told.out == b""


# --- with the service --------------------------------------------------------------------


@pytest.fixture
def service(knowing: Memory) -> Iterator[Service]:
    with serving(knowing.home.root) as found:
        yield found


def test_with_the_service_up_next_to_nothing_is_imported(service: Service, claude: Claude) -> None:
    heavy = {
        "json", "click", "msgspec", "datetime", "socket", "rich", "sqlite3", "asyncio", "typing",
        "re", "subprocess", "threading", "logging", "pathlib", "wakebook.memory", "wakebook.home",
        "wakebook.errors",
    }  # fmt: skip
    payload = event("UserPromptSubmit", claude, prompt="Which database for the bookings?")
    line = command(service.home, HOST, "UserPromptSubmit")
    done = subprocess.run(
        [line[0], "-X", "importtime", *line[1:]],
        input=json.dumps(payload).encode(),
        capture_output=True,
        check=True,
    )
    loaded = _modules(done.stderr.decode())
    assert "wakebook.adapters.call" in loaded
    assert "Postgres" in done.stdout.decode()
    bare = _modules(subprocess.run(
        [sys.executable, "-X", "importtime", "-c", "pass"], capture_output=True, check=True
    ).stderr.decode())  # fmt: skip
    assert sorted(loaded & heavy - bare) == []


def _modules(said: str) -> set[str]:
    return {line.rpartition("|")[2].strip() for line in said.splitlines() if "import time" in line}


def test_the_answers_are_the_same_with_the_service_and_without(
    knowing: Memory, projects: Path
) -> None:
    def all_of() -> list[Any]:
        new = fresh(projects)
        started = send(knowing, "SessionStart", new, source="startup")
        asked = send(knowing, "UserPromptSubmit", new, prompt="Which database for the bookings?")
        notified = send(knowing, "UserPromptSubmit", new, prompt="<task-notification>x")
        missing = send(knowing, "PreCompact", new, trigger="auto")
        assert notified.out == b""
        return [started.json, asked.json, missing.json]

    alone = all_of()
    with serving(knowing.home.root):
        served = all_of()
    assert served == alone
    assert "Postgres" in str(alone[0])
    assert "systemMessage" in alone[2]


def test_the_service_keeps_and_closes(service: Service, knowing: Memory, claude: Claude) -> None:
    chat(claude, NEXT_DAY)
    assert send(knowing, "Stop", claude).out == b""
    assert send(knowing, "SessionEnd", claude, reason="other").out == b""
    told = send(knowing, "SessionStart", fresh(claude.path.parent), source="startup")
    assert "21 November" in told.context
    assert twice(knowing) == []


def test_a_service_that_was_killed_is_not_missed(
    service: Service, knowing: Memory, claude: Claude
) -> None:
    service.stop(signal.SIGKILL)
    assert (knowing.home.root / ".cache" / "service.json").exists()
    chat(claude, NEXT_DAY)
    send(knowing, "SessionEnd", claude, reason="other")
    told = send(knowing, "SessionStart", fresh(claude.path.parent), source="startup")
    assert "21 November" in told.context
    assert failures(knowing) == []


def test_a_service_that_hangs_holds_up_nobody(memory: Memory, claude: Claude) -> None:
    with serving(memory.home.root) as service:
        service.process.send_signal(signal.SIGSTOP)
        try:
            told = send(
                memory, "UserPromptSubmit", claude, prompt="Which database for the bookings?"
            )
        finally:
            service.process.send_signal(signal.SIGCONT)
        assert told.out == b""
        assert any("did not answer within 2 s" in one for one in failures(memory))


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b'{"socket": ""}',
        b'{"socket": "/nowhere/at/all"}',
        b'{"socket": "',
        b"\xff" * 9_000,
    ],
)
def test_a_broken_address_of_the_service_is_no_service(
    knowing: Memory, projects: Path, text: bytes
) -> None:
    (knowing.home.root / ".cache" / "service.json").write_bytes(text)
    told = send(
        knowing, "UserPromptSubmit", fresh(projects), prompt="Which database for the bookings?"
    )
    assert "Postgres" in told.context
