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

from tests import homes
from tests.hosts.hooking import (
    HOST,
    MOST,
    OTHER,
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
from tests.service.serving import Service, serving
from tests.story import NEXT_DAY, WORKDAY, Claude, chat
from wakebook import Memory
from wakebook.base import clock

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
    lines = [f"- {word} number {n} of {word} costs {n * 17} euros" for n in range(1_000)]
    patient.home.memory.write_text("# Core Memory\n\n" + "\n".join(lines) + "\n")
    for number in range(3):
        note = patient.home.root / "knowledge" / "identity" / f"ROLE{number}.md"
        note.write_text("\n".join(f"- rule {n} about {word}" for n in range(750)))
    hooked(patient, seconds=PATIENT, budget=15_000)
    told = send(
        patient, name, fresh(projects), source="startup", prompt=f"What does {word} number 77 cost?"
    )
    assert 0 < len(told.context) <= MOST
    too_long = "MEMORY.md: 1002 lines"  # git refuses it, if the work behind gets that far
    assert [one for one in failures(patient) if too_long not in one] == []


def test_a_topic_that_waits_is_told_even_if_the_first_try_was_too_long(
    patient: Memory, projects: Path
) -> None:
    """A text that is too long is made again, smaller: what waited for it must not be lost."""
    patient.topics.new("deploy", about="How we deploy")
    path = patient.home.root / "topics" / "deploy.md"
    head = path.read_text().split("---\n")[1]
    path.write_text(f"---\n{head}---\nAlways ring the ship's bell before a deploy.\n")
    patient.topics.fire_topic("deploy")
    lines = [f"- mooring number {n} costs {n * 17} euros" for n in range(1_000)]
    note = patient.home.root / "knowledge" / "reference" / "moorings.md"
    note.write_text("# Moorings\n\n" + "\n".join(lines) + "\n")
    patient.home.memory.write_text("# Core Memory\n\n" + "\n".join(lines) + "\n")
    hooked(patient, seconds=PATIENT, budget=8_000, characters=4_000)
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
    (handoff,) = [one for one in patient.log.chains().entries if one.type == "handoff"]
    assert f"Session: {claude.session} (" in told.context
    decided = handoff.content.removeprefix("Good morning! ")  # an entry, and told as such
    assert decided.rstrip(".") in told.context


def test_out_of_order_and_twice_nothing_is_there_twice(patient: Memory, claude: Claude) -> None:
    names = ["SessionEnd", "Stop", "PreCompact", "SessionStart", "SessionEnd", "Stop", "PreCompact"]
    for name in names:
        send(patient, name, claude, source="startup", reason="other", trigger="auto")
    settled(patient.home.root)
    until(lambda: contents(patient))
    settled(patient.home.root)
    patient.catch_up(closing=True)
    assert twice(patient) == []
    alone = homes.made(patient.home.root.with_name("alone"))
    alone.catch_up(closing=True)
    assert sorted(contents(patient)) == sorted(contents(alone))


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
    until(
        lambda: any(one.type == "handoff" for one in Memory(patient.home.root).log.chains().entries)
    )
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
    assert "handoff" not in {entry.type for entry in patient.log.chains().entries}
    (known,) = patient.opened.state().sessions.values()
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


# --- with the service --------------------------------------------------------------------


@pytest.fixture
def service(knowing: Memory) -> Iterator[Service]:
    with serving(knowing.home.root) as found:
        yield found


def test_with_the_service_up_next_to_nothing_is_imported(service: Service, claude: Claude) -> None:
    heavy = {
        "json", "click", "msgspec", "datetime", "socket", "rich", "sqlite3", "asyncio", "typing",
        "re", "subprocess", "threading", "logging", "pathlib", "wakebook.memory",
        "wakebook.base.home", "wakebook.base.errors",
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
    assert "wakebook.service.call" in loaded
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
        return [started.json, asked.out, missing.json]

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
