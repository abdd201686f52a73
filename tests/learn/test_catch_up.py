"""catch_up: exactly once, in whatever portions a conversation arrives."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import homes
from tests.story import NEXT_DAY, WORKDAY, Claude, chat
from wakebook import Memory, Query
from wakebook.base import markdown
from wakebook.capture import state as states
from wakebook.capture.transcript import Message
from wakebook.learn.extract import Draft, Extraction, Scene


class Verbatim:
    """An extractor that keeps every word of the user: what comes out is what came in."""

    name = "verbatim"

    def read(self, fresh: Sequence[Message], scene: Scene) -> Extraction:
        drafts = [
            Draft(type="fact", content=one.text, source=one.id, evidence=(one.turn,))
            for one in fresh
            if one.role == "user" and not one.branch
        ]
        if scene.ends:
            said = [*scene.earlier, *fresh]
            text, last = f"{len(said)} turns", said[-1]
            handoff = Draft(type="handoff", content=text, source=last.id, evidence=(last.turn,))
            drafts.append(handoff)
        return Extraction(drafts=drafts, taken=len(fresh))


def verbatim(memory: Memory) -> Memory:
    return Memory(memory.home.root, extractor=Verbatim())


def contents(memory: Memory, *types: str) -> list[str]:
    return [entry.content for entry in memory.log.entries(Query(types=types, all=True))]


def transcripts(memory: Memory) -> dict[str, str]:
    root = memory.home.conversations
    return {
        str(path.relative_to(root)): path.read_text() for path in sorted(root.glob("*/*/*/*.md"))
    }


def test_a_session_becomes_a_transcript_and_entries(memory: Memory, projects: Path) -> None:
    claude = chat(Claude(projects), WORKDAY)
    claude.call("Bash", "call_1", command="make test").result("call_1", "all passed\n3 more lines")
    done = memory.catch_up()
    assert done.messages == 7
    [(name, text)] = transcripts(memory).items()
    assert name == f"2026/11/08/1001-{claude.session}-good-morning-lets-go-postgres-bookings.md"
    front, body = markdown.split(text)
    source = claude.path.read_bytes()
    assert front["session_id"] == claude.session
    assert front["closed"] is True
    assert front["source"] == {
        "path": claude.path.name,
        "unit": "bytes",
        "from": 0,
        "to": len(source),
        "sha256": sha256(source).hexdigest(),
        "head": sha256(source.splitlines()[0]).hexdigest()[:16],
    }
    assert "> [tool:Bash] make test → all passed" in body
    assert (memory.home.conversations / name).stat().st_mode & 0o777 == 0o400
    entries = memory.log.entries(Query())
    assert {entry.session for entry in entries} == {claude.session}
    assert any(entry.type == "decision" and "Postgres" in entry.content for entry in entries)
    assert [entry.type for entry in entries].count("handoff") == 1
    log, *notes = front["knowledge_changes"]
    summary = f"{len(entries)} entries"
    assert log == {"path": "log.jsonl", "action": "appended", "summary": summary}
    overviews = ("knowledge/identity/", "knowledge/memory/", "projects/_active", "people/_index")
    written = [
        memory.home.relative(path)
        for path in sorted((memory.home.root / "knowledge").rglob("*.md"))
    ]
    named = [name for name in written if not any(one in name for one in overviews)]
    assert [one["path"] for one in notes] == named
    assert {one["action"] for one in notes} == {"updated"}
    assert "1 decision" in notes[0]["summary"]  # of the journal


def test_twice_is_once(memory: Memory, projects: Path) -> None:
    chat(Claude(projects), WORKDAY)
    memory.catch_up()
    log, files = memory.home.log.read_bytes(), transcripts(memory)
    assert memory.catch_up().messages == 0
    assert memory.catch_up(closing=True).messages == 0
    assert memory.home.log.read_bytes() == log
    assert transcripts(memory) == files


turns = st.lists(
    st.tuples(
        st.sampled_from(["user", "agent"]),
        st.sampled_from([text for _, text in WORKDAY + NEXT_DAY]),
    ),
    min_size=1,
    max_size=8,
)


@settings(
    max_examples=settings().max_examples // 4,  # each makes homes
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(turns=turns, cuts=st.sets(st.integers(0, 8)), closing=st.booleans())
def test_portions_make_no_difference(
    turns: list[tuple[str, str]], cuts: set[int], closing: bool
) -> None:
    """Catching up after any message gives the log and transcript of catching up once."""

    def told(stops: set[int]) -> tuple[bytes, list[str]]:
        with tempfile.TemporaryDirectory() as folder:
            memory = homes.made(Path(folder) / "home")
            memory.home.config.write_text("[git]\nenabled = false\n")
            claude = Claude(Path(folder))
            claude.at = datetime(2026, 11, 9, 7, 0, tzinfo=UTC)  # recent: nothing closes by itself
            for number, (role, text) in enumerate(turns):
                claude.user(text) if role == "user" else claude.agent(text)
                if number in stops:
                    memory.catch_up([claude.path])
            memory.catch_up([claude.path], closing=closing)
            bodies = [text.split("\n# ", 1)[1] for text in transcripts(memory).values()]
            return memory.home.log.read_bytes(), bodies

    assert told(cuts) == told(set())


def test_a_tool_call_waits_for_its_answer(memory: Memory, projects: Path) -> None:
    claude = Claude(projects)
    claude.at = datetime(2026, 11, 9, 7, 30, tzinfo=UTC)
    claude.user("Run the tests").call("Bash", "call_1", command="make test")
    assert memory.catch_up().messages == 1
    assert [account.status for account in memory.audit()] == ["held"]
    claude.result("call_1", "all passed").agent("They pass.")
    assert memory.catch_up().messages == 2
    [text] = transcripts(memory).values()
    assert text.count("make test") == 1
    assert "> [tool:Bash] make test → all passed" in text
    assert [account.status for account in memory.audit()] == ["open"]


def test_a_crashed_session_is_closed_without_the_answer(memory: Memory, projects: Path) -> None:
    claude = Claude(projects).user("Run the tests")
    claude.call("Bash", "call_1", command="make test").torn()
    assert memory.catch_up().messages == 2
    [text] = transcripts(memory).values()
    assert "> [tool:Bash] make test\n" in text
    [account] = memory.audit()
    assert account.status == "torn"


def test_an_open_session_has_no_handoff_until_it_closes(memory: Memory, projects: Path) -> None:
    claude = Claude(projects)
    claude.at = datetime(2026, 11, 9, 7, 30, tzinfo=UTC)
    chat(claude, WORKDAY)
    memory.catch_up()
    assert contents(memory, "handoff") == []
    assert "## Session Still Open" in memory.wake()
    done = memory.catch_up(session=claude.session, closing=True)
    assert len(done.closed) == 1
    assert len(contents(memory, "handoff")) == 1
    assert "## Session Still Open" not in memory.wake()
    assert "## Last Session Handoff" in memory.wake()


def test_a_long_pause_begins_a_new_window(memory: Memory, projects: Path) -> None:
    claude = chat(Claude(projects), WORKDAY[:2]).pause(hours=7)
    chat(claude, NEXT_DAY[:2])
    done = verbatim(memory).catch_up()
    assert len(done.closed) == 2
    assert contents(memory, "handoff") == ["2 turns", "2 turns"]
    fronts = [markdown.split(text)[0] for text in transcripts(memory).values()]
    assert [front["window"] for front in fronts] == [1, 2]
    assert fronts[0]["source"]["to"] == fronts[1]["source"]["from"]


def test_a_closed_session_that_grows_gets_a_window_of_its_own(
    memory: Memory, projects: Path
) -> None:
    claude = chat(Claude(projects), WORKDAY)
    memory.catch_up()
    first = transcripts(memory)
    chat(claude, NEXT_DAY)
    memory.catch_up()
    after = transcripts(memory)
    assert len(after) == 2
    assert after.items() > first.items()
    assert len(contents(memory, "handoff")) == 2


def test_a_window_that_grows_too_large_is_cut_before_a_human_speaks(
    memory: Memory, projects: Path
) -> None:
    memory.home.config.write_text("[capture]\nwindow_kilobytes = 1\n")
    claude = Claude(projects)
    for number in range(10):
        claude.user(f"question {number} " + "x" * 300).agent("answer " + "y" * 300)
    verbatim(memory).catch_up()
    files = transcripts(memory)
    assert len(files) > 2
    for text in files.values():
        assert text.split("## ", 1)[1].splitlines()[0].endswith("user")
    kept = contents(memory, "fact")
    assert [text.split()[1] for text in kept] == [str(number) for number in range(10)]


def test_text_that_wakebook_injected_never_comes_back(memory: Memory, projects: Path) -> None:
    chat(Claude(projects), WORKDAY)
    memory.catch_up()
    woken = memory.wake()
    other = Claude(projects, "5e551011-0000-4000-8000-000000000002").pause(hours=1)
    other.user(f"{woken}\nWhere were we?").agent("On the bookings.")
    other.call("Bash", "c1", command="wakebook wake").result("c1", woken)
    before = len(memory.log.entries(Query(all=True)))
    memory.catch_up()
    text = transcripts(memory)[max(transcripts(memory))]
    assert "Where were we?" in text
    assert "Postgres" not in text and "wakebook-memory" not in text
    assert markdown.split(text)[0]["echo_removed"] > len(woken)
    new = memory.log.entries(Query(all=True))[before:]
    assert [entry.type for entry in new if entry.type != "question"] == ["handoff"]


def test_secrets_are_gone_before_anything_is_written(memory: Memory, projects: Path) -> None:
    key = "sk-proj-" + "abcdefghij0123456789" * 2
    claude = Claude(projects).user(f"My key is {key}, remind me to rotate it.")
    claude.call("Bash", "c1", command=f"export KEY={key}").result("c1", f"KEY={key}")
    done = memory.catch_up()
    assert sum(report.redacted for report in done.reports) == 3
    for path in memory.home.root.rglob("*"):
        if path.is_file():
            assert key.encode() not in path.read_bytes(), path
    [text] = transcripts(memory).values()
    assert markdown.split(text)[0]["redacted"] == 3


def test_times_come_from_the_conversation_and_never_from_the_future(
    memory: Memory, projects: Path
) -> None:
    claude = Claude(projects).user("I prefer uv over pip.")
    claude.at = datetime(2031, 1, 1, tzinfo=UTC)  # a clock that was wrong, and then went back
    claude.user("I prefer ruff over flake8.")
    claude.at = datetime(2026, 11, 8, 9, 0, tzinfo=UTC)
    claude.user("I prefer mypy over pyright.")
    verbatim(memory).catch_up(closing=True)
    stamps = [entry.timestamp.isoformat() for entry in memory.log.entries(Query(types=("fact",)))]
    assert stamps == [
        "2026-11-08T10:01:00+00:00",
        "2026-11-09T08:00:00+00:00",
        "2026-11-08T09:01:00+00:00",
    ]


# --- sources that misbehave -----------------------------------------------------------------


def test_bytes_that_are_no_json_are_counted_and_the_rest_is_read(
    memory: Memory, projects: Path
) -> None:
    claude = Claude(projects).user("one")
    with claude.path.open("ab") as stream:
        stream.write(b'\xff\xfe\x00 not utf-8\n{"type":"user","mess\n{"type":"brand-new"}\n\n')
    claude.user("two")
    verbatim(memory).catch_up()
    assert contents(memory, "fact") == ["one", "two"]
    [account] = memory.audit()
    assert account.status == "ok"
    assert sum(account.unread.values()) == 3


def test_a_session_that_vanishes_is_retried_once_then_given_up_and_the_others_go_on(
    memory: Memory, projects: Path
) -> None:
    bad = Claude(projects, "5e551011-0000-4000-8000-00000000000b").user("lost words")
    chat(Claude(projects), WORKDAY)
    sessions = memory.opened.sessions()
    bad.path.unlink()
    bad.path.symlink_to("/nowhere/at/all")
    first = memory._caught_up(sessions)  # what discovery saw a moment ago
    assert list(first.failed) == [f"claude-code/{bad.session}"]
    assert first.messages == 6
    assert memory.status().accounts[0].status == "lost"
    second = memory._caught_up(sessions)
    assert second.failed and not second.given_up
    third = memory._caught_up(sessions)
    assert not third.failed and third.given_up == (f"claude-code/{bad.session}",)
    bad.path.unlink()
    bad.user("back again")
    assert memory.catch_up().given_up
    healed = memory.catch_up(retry_failed=True)
    assert not healed.failed and not healed.given_up
    assert memory.catch_up().given_up == ()


def test_a_replaced_file_is_found_again_by_its_last_message(memory: Memory, projects: Path) -> None:
    claude = chat(Claude(projects), [("user", "one"), ("agent", "ok"), ("user", "two")])
    memory = verbatim(memory)
    memory.catch_up()
    lines = claude.path.read_text().splitlines(keepends=True)
    claude.path.write_text('{"type":"summary","summary":"rewritten"}\n' + "".join(lines[1:]))
    claude.user("three")
    memory.catch_up()
    assert contents(memory, "fact") == ["one", "two", "three"]


def test_an_open_transcript_that_somebody_removed_is_written_again(
    memory: Memory, projects: Path
) -> None:
    claude = Claude(projects)
    claude.at = datetime(2026, 11, 9, 7, 0, tzinfo=UTC)
    memory = verbatim(memory)
    claude.user("one").agent("ok")
    memory.catch_up()
    for path in memory.home.conversations.glob("*/*/*/*.md"):
        path.unlink()
    claude.user("two")
    memory.catch_up()
    assert contents(memory, "fact") == ["one", "two"]
    [text] = transcripts(memory).values()
    assert "one" in text and "two" in text


def test_cursors_come_back_from_the_transcripts_when_the_state_is_lost(
    memory: Memory, projects: Path
) -> None:
    claude = chat(Claude(projects), WORKDAY)
    memory.catch_up()
    log = memory.home.log.read_bytes()
    memory.home.state.unlink()
    assert memory.catch_up().messages == 0
    assert memory.home.log.read_bytes() == log
    claude.user("I prefer tabs over spaces.")
    memory.catch_up()
    assert len(transcripts(memory)) == 2


def test_a_fork_repeats_nothing(memory: Memory, projects: Path) -> None:
    claude = chat(Claude(projects), WORKDAY)
    memory = verbatim(memory)
    memory.catch_up()
    fork = Claude(projects, "5e551011-0000-4000-8000-00000000000f")
    copied = claude.path.read_text().replace(claude.session, fork.session)
    fork.path.write_text(copied)
    fork.count, fork.last = 90, claude.last
    fork.at = claude.at
    fork.user("in the fork")
    memory.catch_up()
    assert contents(memory, "fact") == [
        *(text for role, text in WORKDAY if role == "user"),
        "in the fork",
    ]


def test_a_rotated_file_takes_its_cursor_along(memory: Memory) -> None:
    folder = Path.home() / ".openclaw" / "agents" / "main" / "sessions"
    folder.mkdir(parents=True)
    path = folder / "abc.jsonl"

    def line(number: int, text: str) -> str:
        return (
            json.dumps(
                {
                    "type": "message",
                    "id": f"{number:08x}",
                    "parentId": f"{number - 1:08x}",
                    "timestamp": f"2026-11-08T10:{number:02}:00.000Z",
                    "message": {"role": "user", "content": [{"type": "text", "text": text}]},
                }
            )
            + "\n"
        )

    def header(at: str) -> str:
        return json.dumps({"type": "session", "version": 3, "id": "abc", "timestamp": at}) + "\n"

    memory = verbatim(memory)
    path.write_text(header("2026-11-08T10:00:00Z") + line(1, "one"))
    memory.catch_up()
    with path.open("a") as stream:
        stream.write(line(2, "two"))
    path.rename(folder / "abc.jsonl.reset.2026-11-08T10-05-00.000Z")
    path.write_text(header("2026-11-08T10:06:00Z") + line(7, "three"))
    memory.catch_up()
    memory.catch_up()
    assert contents(memory, "fact") == ["one", "two", "three"]
    assert [account.status for account in memory.audit()] == ["ok", "ok"]


def test_a_never_ending_session_is_archived_window_by_window(memory: Memory) -> None:
    """/new keeps the session id: the reset event begins a window."""
    folder = Path.home() / ".openclaw" / "agents" / "main" / "sessions"
    folder.mkdir(parents=True)
    events = [{"type": "session", "version": 3, "id": "abc", "timestamp": "2026-11-08T10:00:00Z"}]
    for number, text in enumerate(["one", "", "two", "", "three"], start=1):
        event: dict[str, object] = {
            "id": f"{number:08x}",
            "parentId": f"{number - 1:08x}" if number > 1 else None,
            "timestamp": f"2026-11-08T10:{number:02}:00.000Z",
        }
        if text:
            message = {"role": "user", "content": text}
            events.append(event | {"type": "message", "message": message})
        else:
            events.append(event | {"type": "reset", "reason": "new"})
    lines = "".join(json.dumps(event) + "\n" for event in events)
    (folder / "abc.jsonl").write_text(lines)
    verbatim(memory).catch_up()
    assert contents(memory, "fact") == ["one", "two", "three"]
    assert contents(memory, "handoff") == ["1 turns"] * 3
    assert len(transcripts(memory)) == 3


def test_state_is_pruned_only_where_nothing_can_be_lost(
    memory: Memory, projects: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = chat(Claude(projects, "5e551011-0000-4000-8000-00000000000a"), WORKDAY[:2])
    gone = chat(Claude(projects, "5e551011-0000-4000-8000-00000000000b"), WORKDAY[2:4])
    memory.catch_up()
    behind = chat(Claude(projects, "5e551011-0000-4000-8000-00000000000c"), WORKDAY[4:])
    memory.catch_up()
    state = states.load(memory.home)
    ref = f"claude-code/{behind.session}"
    import msgspec

    grown = msgspec.structs.replace(state.sessions[ref], size=10**6)
    states.save(memory.home, state.with_session(ref, grown))
    gone.path.unlink()
    behind.path.unlink()
    monkeypatch.setenv("WAKEBOOK_NOW", "2027-01-09T08:00:00Z")
    assert memory.catch_up().pruned == (f"claude-code/{gone.session}",)
    assert set(states.load(memory.home).sessions) == {f"claude-code/{kept.session}", ref}
    statuses = {account.ref: account.status for account in memory.audit()}
    assert statuses[ref] == "lost"
    log = memory.home.log.read_bytes()
    chat(Claude(projects, gone.session), WORKDAY[2:4])  # restored from a backup
    memory.catch_up()
    assert memory.home.log.read_bytes() == log


def test_a_correction_replaces_what_an_earlier_session_said(memory: Memory, projects: Path) -> None:
    chat(Claude(projects), WORKDAY)
    later = Claude(projects, "5e551011-0000-4000-8000-000000000002").pause(hours=12)
    chat(later, NEXT_DAY)
    memory.catch_up()
    launch = memory.log.entries(Query(text="launch", types=("fact",)))
    assert [entry.content for entry in launch] == ["No, actually the launch is on 21 November."]
    assert len(memory.get(launch[0].id).history) == 2
    done = memory.log.entries(Query(text="insurance", types=("task",)))
    assert [entry.status for entry in done] == ["done"]
    assert any("retries" in text for text in contents(memory, "question"))


def test_a_200_megabyte_line_is_passed_over_without_being_loaded(
    memory: Memory, projects: Path
) -> None:
    memory.home.config.write_text("[capture]\nmax_record_megabytes = 1\n")
    claude = Claude(projects).user("one")
    with claude.path.open("ab") as stream:
        stream.write(b'{"type":"user","message":{"content":"')
        for _ in range(5):
            stream.write(b"x" * (1 << 20))
        stream.write(b'"}}\n')
    claude.user("two")
    verbatim(memory).catch_up()
    assert contents(memory, "fact") == ["one", "two"]
    assert memory.audit()[0].unread == {"oversized": 1}


def test_every_entry_points_at_the_words_it_came_from(memory: Memory) -> None:
    samples = Path(__file__).parents[2] / "src" / "wakebook" / "samples"
    folder = Path.home() / "samples"
    shutil.copytree(samples, folder)
    memory.catch_up([folder / "claude-code", folder / "openclaw"])
    entries = memory.log.entries(Query(all=True))
    assert len(entries) > 40
    for entry in entries:
        shown = memory.get(entry.id)
        assert shown.lines and shown.file == entry.transcript, entry
        assert entry.timestamp <= datetime.fromisoformat("2026-11-09T08:00:00+00:00")
