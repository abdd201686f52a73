"""What was told counts as told when it has arrived; and a start is told something, come what may.

All with the time box that everyone has: on a busy machine any answer may be late, and comes later.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.hosts.hooking import HOST, command, event, failures, fresh, send, settled, until
from tests.service.serving import Service, serving
from tests.story import Claude
from wakebook import Memory
from wakebook.hosts.backlog import Now
from wakebook.hosts.events import answer, unsaid
from wakebook.hosts.told import Told, arrived, keep_start, kept_start

BOX = 2.0
DATABASE = "Which database for the bookings?"
LAUNCH = "When is the launch of the kiosk?"


@pytest.fixture
def knowing(memory: Memory) -> Memory:
    """What only a message calls for, and what every start is told."""
    folder = memory.home.root / "knowledge" / "reference"
    (folder / "bookings.md").write_text("# Bookings\n\nThe database for bookings is Postgres 16.\n")
    (folder / "kiosk.md").write_text("# Kiosk\n\nThe launch of the kiosk is on 24 December.\n")
    memory.index.sync()
    memory.home.memory.write_text("# Core Memory\n\n- The alarm code is 4711\n")
    return memory


@pytest.fixture
def service(knowing: Memory) -> Iterator[Service]:
    with serving(knowing.home.root) as found:
        yield found


@contextmanager
def stopped(service: Service) -> Iterator[None]:
    service.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        service.process.send_signal(signal.SIGCONT)


def waits(memory: Memory, word: str) -> bool:
    """Whether a text with this word was made and has not arrived."""
    paths = (memory.home.cache / "told").glob("*.wait")
    return any(word in path.read_text() for path in paths)


def prompted(memory: Memory, new: Claude, prompt: str, *words: str) -> str:
    """What a session is told until it has been told these words."""
    told = ""

    def all_said() -> bool:
        nonlocal told
        told += send(memory, "UserPromptSubmit", new, prompt=prompt).context
        return all(word in told for word in words)

    until(all_said)
    return told


def flowing(fifo: Path) -> None:
    """Whoever waits for this file gets an empty one."""
    with suppress(OSError):  # nobody does
        os.close(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))


def begun(memory: Memory, projects: Path) -> Claude:
    """A session that has been told how things stand."""
    new = fresh(projects)
    until(lambda: "4711" in send(memory, "SessionStart", new, source="startup").context)
    return new


def test_a_prompt_that_came_too_late_is_told_with_the_next_and_once(
    service: Service, knowing: Memory, projects: Path
) -> None:
    new = begun(knowing, projects)
    with stopped(service):
        assert send(knowing, "UserPromptSubmit", new, prompt=DATABASE).out == b""
    until(lambda: waits(knowing, "Postgres 16"))
    assert any("did not answer within 2 s" in one for one in failures(knowing))
    told = prompted(knowing, new, LAUNCH, "24 December", "Postgres 16")
    assert told.index("24 December") < told.index("Postgres 16")  # the newest first
    for prompt in (DATABASE, LAUNCH, DATABASE):
        told += send(knowing, "UserPromptSubmit", new, prompt=prompt).context
    assert (told.count("Postgres 16"), told.count("24 December")) == (1, 1)


def test_an_answer_that_took_too_long_is_told_with_the_next_and_once(
    service: Service, knowing: Memory, projects: Path
) -> None:
    """The service answers again just before the time box ends: it says itself that it is late."""
    new = begun(knowing, projects)
    service.process.send_signal(signal.SIGSTOP)
    threading.Timer(BOX - 0.1, service.process.send_signal, [signal.SIGCONT]).start()
    assert send(knowing, "UserPromptSubmit", new, prompt=DATABASE).out == b""
    until(lambda: waits(knowing, "Postgres 16"))
    told = prompted(knowing, new, LAUNCH, "Postgres 16")
    told += send(knowing, "UserPromptSubmit", new, prompt=DATABASE).context
    assert told.count("Postgres 16") == 1
    assert "alarm code" not in told  # the start has arrived, and is not told again


@pytest.mark.parametrize("source", ["startup", "compact"])
def test_a_start_without_an_answer_is_told_what_the_last_one_was(
    service: Service, knowing: Memory, projects: Path, source: str
) -> None:
    begun(knowing, projects)
    new = Claude(projects, "5e551011-0000-4000-8000-000000000077")
    with stopped(service):
        told = send(knowing, "SessionStart", new, source=source)
        assert told.json["hookSpecificOutput"]["hookEventName"] == "SessionStart"
        assert "4711" in told.context
        assert "This is how things stood at 2026-" in told.context
        knowing.home.memory.write_text("# Core Memory\n\n- The alarm code is 4711\n- Tea at four\n")
    until(lambda: waits(knowing, "Tea at four"))
    # the start that came too late, as far as it is news
    said = prompted(knowing, new, DATABASE, "Tea at four", "Postgres 16")
    said += send(knowing, "UserPromptSubmit", new, prompt=LAUNCH).context
    assert (said.count("Tea at four"), said.count("4711")) == (1, 0)
    recorded = [knowing.told.turn(one.id) for one in knowing.told.turns(new.session)]
    assert next(one.text for one in recorded if one.event == "start") == told.context


def test_a_session_that_goes_on_is_not_told_the_last_start(
    service: Service, knowing: Memory, projects: Path
) -> None:
    new = begun(knowing, projects)
    with stopped(service):
        assert send(knowing, "SessionStart", new, source="resume").out == b""


def test_without_a_service_a_slow_disk_delays_nothing(knowing: Memory, projects: Path) -> None:
    begun(knowing, projects)
    settled(knowing.home.root)
    before = len(failures(knowing))
    knowing.home.memory.unlink()
    os.mkfifo(knowing.home.memory)  # whoever reads it waits
    new = Claude(projects, "5e551011-0000-4000-8000-000000000078")
    assert "4711" in send(knowing, "SessionStart", new, source="startup").context
    assert any("no answer within 2 s" in one for one in failures(knowing)[before:])
    knowing.home.memory.rename(knowing.home.memory.with_name("fifo"))
    knowing.home.memory.write_text("# Core Memory\n\n- The alarm code is 4711\n")
    flowing(knowing.home.memory.with_name("fifo"))
    said = prompted(knowing, new, LAUNCH, "24 December")
    assert "4711" not in said


def test_a_new_folder_is_told_what_is_told_everywhere(
    service: Service, knowing: Memory, projects: Path
) -> None:
    new = begun(knowing, projects)
    until(lambda: kept_start(str(knowing.home.root), HOST, "/new"))
    other = {"cwd": "/home/mira/elsewhere", "source": "startup"}
    payload = event("SessionStart", Claude(projects, "another")) | other
    with stopped(service):
        done = subprocess.run(
            command(knowing.home.root, HOST, "SessionStart"),
            input=json.dumps(payload).encode(),
            capture_output=True,
        )
    assert b"4711" in done.stdout
    assert new.session.encode() not in done.stdout


def test_nothing_is_told_from_before_the_settings_changed_or_something_was_forgotten(
    knowing: Memory, projects: Path
) -> None:
    begun(knowing, projects)
    root, folder = str(knowing.home.root), "/home/mira/tidepool"
    assert b"4711" in kept_start(root, HOST, folder)
    settled(knowing.home.root)
    later = time.time() + 5
    os.utime(knowing.home.config, (later, later))
    assert kept_start(root, HOST, folder) == b""
    os.utime(knowing.home.config, (1, 1))
    assert kept_start(root, HOST, folder)
    knowing.forget([knowing.remember("The gate code is 4711.").id])
    assert kept_start(root, HOST, folder) == b""


def test_what_a_client_of_the_service_gets_counts_as_told(
    service: Service, knowing: Memory, projects: Path
) -> None:
    """One that cannot say whether it has got it."""
    payload = {"session_id": "api", "prompt": DATABASE, "cwd": "/home/mira/tidepool"}
    path = f"/v1/hooks/{HOST}/UserPromptSubmit"
    first = until(lambda: next((one for one in [service.ask(path, payload)] if one.body), None))
    assert first is not None
    assert b"Postgres 16" in first.body
    assert "told" not in {name.lower() for name in first.headers}
    assert b"Postgres 16" not in service.ask(path, payload).body


# --- the files ---------------------------------------------------------------------------------


def test_an_answer_counts_when_it_has_arrived(tmp_path: Path) -> None:
    cache, now = str(tmp_path), time.time_ns()
    first = Told(cache, HOST, "s", now)
    first.note("one\n")
    assert (first.before(), list(first.late().values())) == ("", ["one\n"])
    arrived(cache, first.waiting)
    assert first.waiting == ""
    second = Told(cache, HOST, "s", now + 1)
    assert (second.before(), second.late()) == ("one\n", {})
    second.note("two\n")
    third = Told(cache, HOST, "s", now + 2)
    (late,) = third.late()
    third.note("three\ntwo\n", instead=(late,))
    assert list(third.late().values()) == ["three\ntwo\n"]
    arrived(cache, third.waiting)
    assert third.before() == "one\nthree\ntwo\n"
    assert Told(cache, HOST, "other").before() == ""


def test_a_start_that_was_slow_takes_nothing_away_that_was_told_since(tmp_path: Path) -> None:
    cache, asked = str(tmp_path), time.time_ns()
    time.sleep(0.02)
    Told(cache, HOST, "s").note("told meanwhile\n")
    Told(cache, HOST, "s", asked).begin()
    assert Told(cache, HOST, "s").before() == "told meanwhile\n"
    time.sleep(0.02)
    Told(cache, HOST, "s", time.time_ns()).begin()
    assert Told(cache, HOST, "s").before() == ""


def test_a_session_without_a_name_and_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    nameless = Told(str(tmp_path), HOST, "", 7)
    nameless.note("x")
    nameless.begin()
    assert (nameless.before(), nameless.late(), nameless.waiting) == ("", {}, "")
    (tmp_path / "file").write_text("no folder")
    blocked = Told(str(tmp_path / "file"), HOST, "s", 7)
    blocked.note("x")
    blocked.begin()
    keep_start(str(tmp_path / "file"), HOST, "", b"x")
    assert (blocked.before(), blocked.late(), blocked.waiting) == ("", {}, "")


def test_only_what_is_new_of_a_late_text_is_told() -> None:
    def fenced(*lines: str) -> str:
        return "<wakebook-memory>\nA note.\n\n" + "\n".join(lines) + "\n</wakebook-memory>\n"

    early = fenced("## Core", "- one", "- two")
    assert unsaid(early, "") == early
    assert unsaid(early, early) == ""
    late = fenced("## Core", "- one", "- two", "- three") + fenced("- two")
    assert unsaid(late, early) == fenced("## Core (newer)", "- three")


# --- whose start text it is --------------------------------------------------------------------


def _git(*words: str | Path) -> None:
    named = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    subprocess.run(["git", *named, *map(str, words)], check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "heron"
    _git("init", folder)
    _git("-C", folder, "commit", "--allow-empty", "-m", "one")
    (folder / "docs" / "deep").mkdir(parents=True)
    return folder


def test_a_project_has_one_start_text(memory: Memory, repository: Path, tmp_path: Path) -> None:
    root = str(memory.home.root)
    keep_start(str(memory.home.cache), HOST, str(repository), b"heron")
    _git("-C", repository, "worktree", "add", tmp_path / "beside")
    linked = tmp_path / "linked"
    linked.symlink_to(repository)
    for folder in (repository, repository / "docs" / "deep", tmp_path / "beside", linked):
        assert kept_start(root, HOST, str(folder)) == b"heron"
    assert kept_start(root, HOST, f"{repository}/") == b"heron"
    keep_start(str(memory.home.cache), HOST, str(tmp_path / "beside"), b"newer")
    assert kept_start(root, HOST, str(repository)) == b"newer"


def test_no_other_project_gets_it(memory: Memory, repository: Path, tmp_path: Path) -> None:
    root, plain = str(memory.home.root), tmp_path / "plain"
    keep_start(str(memory.home.cache), HOST, str(repository), b"heron")
    keep_start(str(memory.home.cache), HOST, str(plain), b"plain")
    module = repository / "module"
    _git("init", tmp_path / "source")
    _git("-C", tmp_path / "source", "commit", "--allow-empty", "-m", "one")
    allowed = ("-c", "protocol.file.allow=always")
    _git("-C", repository, *allowed, "submodule", "add", tmp_path / "source", module)
    _git("clone", repository, tmp_path / "clone")
    others = (tmp_path, plain / "below", tmp_path / "clone", module, tmp_path / "source", "", "//")
    for folder in others:
        assert kept_start(root, HOST, str(folder)) == b""
    assert kept_start(root, "codex", str(repository)) == b""


def test_another_repository_in_its_place_gets_nothing(memory: Memory, repository: Path) -> None:
    root, cache = str(memory.home.root), str(memory.home.cache)
    keep_start(cache, HOST, str(repository), b"heron")
    _git("-C", repository, "remote", "add", "origin", "https://example.org/ada/heron.git")
    assert kept_start(root, HOST, str(repository)) == b""  # that of the remote is the project now
    keep_start(cache, HOST, str(repository), b"of the remote")
    _git("-C", repository, "config", "branch.main.remote", "origin")
    assert kept_start(root, HOST, str(repository)) == b"of the remote"
    shutil.rmtree(repository / ".git")
    _git("init", repository)
    _git("-C", repository, "remote", "add", "origin", "https://example.org/ada/heron.git")
    assert kept_start(root, HOST, str(repository)) == b""


def test_a_project_that_is_off_gets_nothing(memory: Memory, repository: Path) -> None:
    memory.home.config.write_text(f'[projects]\n"{repository}" = "off"\n')
    memory = Memory(memory.home.root)
    keep_start(str(memory.home.cache), HOST, "/", b"everywhere")
    payload = {"session_id": "s", "source": "startup", "cwd": str(repository)}
    assert answer(memory, HOST, "SessionStart", payload, Now(memory)) == {}
    assert kept_start(str(memory.home.root), HOST, str(repository)) == b""
    assert kept_start(str(memory.home.root), HOST, "/another") == b"everywhere"
