"""What a host's events mean: told, kept, closed, or nothing at all."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests import homes
from tests.capture.test_openclaw import HEADER, SCHEMA, message, window
from tests.hosts.hooking import contents, twice
from tests.story import NEXT_DAY, WORKDAY, Claude, chat
from wakebook import Memory, WakebookError
from wakebook.base import clock
from wakebook.hosts import HOSTS
from wakebook.hosts import hook as process
from wakebook.hosts.events import Errand, about, act_of, answer, do

ASKED = "Which database for the bookings?"


class Noted:
    """Behind: it only notes what it was given."""

    def __init__(self) -> None:
        self.works: list[Errand] = []
        self.waited = 0

    def put(self, work: Errand) -> None:
        self.works.append(work)

    def wait(self, seconds: float) -> None:
        self.waited += 1


@pytest.fixture
def tmp_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return homes.emptied(tmp_path_factory.getbasetemp() / "events")


@pytest.fixture
def claude(projects: Path) -> Claude:
    return chat(Claude(projects), WORKDAY)


@pytest.fixture
def knowing(tmp_path: Path, memory: Memory, claude: Claude) -> Memory:
    return homes.again(tmp_path, memory, lambda: tell(memory))


def tell(memory: Memory) -> None:
    memory.catch_up(closing=True)
    memory.home.memory.write_text("# Core Memory\n\n- The alarm code is 4711\n")


def ask(
    memory: Memory, host: str, event: str, **payload: Any
) -> tuple[dict[str, Any], list[Errand]]:
    behind = Noted()
    return answer(memory, host, event, payload, behind), behind.works


def spoken(found: dict[str, Any]) -> str:
    """The text, in the shape of any host."""
    (value,) = found.values() if found else ("",)
    return str(value["additionalContext"] if isinstance(value, dict) else value)


# --- every event of every host -----------------------------------------------------------

ALL = [(host, event, act) for host in HOSTS for event, act in about(host).events.items()]


@pytest.mark.parametrize(("host", "event", "act"), ALL, ids=lambda value: str(value) or "-")
def test_every_event_does_what_it_is_for(
    knowing: Memory, claude: Claude, host: str, event: str, act: str
) -> None:
    assert act_of(host, event) == act
    payload = {
        "session_id": claude.session,
        "session": claude.session,
        "transcript_path": str(claude.path),
        "prompt": ASKED,
        "source": "startup",
        "first": True,
    }
    found, works = ask(knowing, host, event, **payload)
    if act in ("wake", "context"):
        assert "Postgres" in spoken(found)
    else:
        assert found == {}
    expected = {"wake": ["sweep"]} | {one: [one] for one in ("keep", "close", "reset", "sweep")}
    assert [work.act for work in works] == expected.get(act, [])
    assert all(work.host == host for work in works)
    if act in ("keep", "close", "reset"):
        assert (works[0].session, works[0].path) == (claude.session, str(claude.path))


@pytest.mark.parametrize(
    ("host", "event"),
    [
        ("emacs", "SessionStart"),
        ("claude-code", "agent_end"),
        ("openclaw", "SessionStart"),
        ("pi", "gateway_start"),
        ("", ""),
        ("claude-code", "__class__"),
    ],
)
def test_an_event_that_nobody_knows_is_refused_by_name(
    memory: Memory, host: str, event: str
) -> None:
    with pytest.raises(WakebookError) as caught:
        ask(memory, host, event)
    assert repr(event if host in HOSTS else host) in str(caught.value)
    assert "There are: " in str(caught.value)


def test_the_shape_of_an_answer_is_the_hosts_own(knowing: Memory) -> None:
    shapes = {
        ("claude-code", "UserPromptSubmit"): "hookSpecificOutput",
        ("codex", "UserPromptSubmit"): "hookSpecificOutput",
        ("openclaw", "before_prompt_build"): "prependContext",
        ("pi", "before_agent_start"): "message",
    }
    for (host, event), shape in shapes.items():
        found, _ = ask(knowing, host, event, session=host, session_id=host, prompt=ASKED)
        assert list(found) == [shape]
        assert "Postgres" in spoken(found)


# --- OpenClaw ----------------------------------------------------------------------------


@pytest.mark.parametrize("event", ["session_end", "before_reset"])
@pytest.mark.parametrize(
    ("reason", "act"),
    [
        ("new", "reset"),
        ("reset", "reset"),
        ("idle", "reset"),
        ("daily", "reset"),
        ("deleted", "close"),
        ("compaction", "keep"),
        ("restart", "keep"),
        ("shutdown", "keep"),
        ("unknown", "keep"),
    ],
)
def test_a_reason_decides_between_keeping_and_closing(
    memory: Memory, event: str, reason: str, act: str
) -> None:
    _, (work,) = ask(memory, "openclaw", event, session="s1", key="agent:main:main", reason=reason)
    assert work == Errand(act, "openclaw", "s1")


class Store:
    """The gateway's database: events are added one by one."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self.database = database
        self.seq = 0
        self.last: str | None = None
        self.add(HEADER)
        window(database, "s1", "agent:main:main", chat_type="direct", model="m-1")

    def add(self, event: dict[str, Any]) -> Store:
        row = ("s1", self.seq, json.dumps(event), 0, None)
        self.database.execute("INSERT INTO transcript_events VALUES (?, ?, ?, ?, ?)", row)
        self.database.commit()
        self.seq += 1
        return self

    def say(self, role: str, text: str) -> Store:
        name = f"m{self.seq}"
        content: Any = text if role == "user" else [{"type": "text", "text": text}]
        event = message(name, self.last, role, content)
        event["timestamp"] = f"2026-11-09T07:{self.seq:02}:00.000Z"
        self.last = name
        return self.add(event)

    def turn(self, text: str, reply: str = "Understood.") -> Store:
        return self.say("user", text).say("assistant", reply)

    def reset(self, reason: str) -> Store:
        name = f"r{self.seq}"
        at = f"2026-11-09T07:{self.seq:02}:00.000Z"
        event = {"type": "reset", "id": name, "parentId": self.last, "timestamp": at}
        self.last = name
        return self.add(event | {"reason": reason})


@contextmanager
def gateway() -> Iterator[Store]:
    """A gateway's store, in the home folder of whoever asks."""
    folder = Path.home() / ".openclaw" / "agents" / "main" / "agent"
    folder.mkdir(parents=True)
    with closing(sqlite3.connect(folder / "openclaw-agent.sqlite")) as database:
        database.execute("PRAGMA journal_mode=WAL")
        database.executescript(SCHEMA)
        yield Store(database)


@pytest.fixture
def store() -> Iterator[Store]:
    with gateway() as found:
        yield found


def handoffs(memory: Memory) -> int:
    return sum(one.type == "handoff" for one in Memory(memory.home.root).log.chains().entries)


END = Errand("reset", "openclaw", "s1")


def test_an_idle_end_closes_the_window(memory: Memory, store: Store) -> None:
    store.turn("Let's go with Postgres for the bookings because SQLite locks up.").reset("idle")
    do(memory, END)
    assert handoffs(memory) == 1
    do(memory, END)
    do(memory, Errand("keep", "openclaw", "s1"))
    assert handoffs(memory) == 1


def test_a_new_window_that_has_begun_already_stays_open(memory: Memory, store: Store) -> None:
    """The reset stands in the store, and so does the first turn of the next window."""
    store.turn("Let's go with Postgres for the bookings because SQLite locks up.")
    do(memory, Errand("keep", "openclaw", "s1"))
    store.reset("new").turn("I prefer uv over pip for the kiosk.")
    do(memory, END)
    assert handoffs(memory) == 1
    (known,) = memory.opened.state().sessions.values()
    assert known.window is not None
    store.turn("The launch of the kiosk is on 14 November.")
    do(memory, Errand("keep", "openclaw", "s1"))
    assert handoffs(memory) == 1
    assert any("14 November" in one for one in contents(memory))


def test_both_events_of_one_reset_close_only_once(memory: Memory, store: Store) -> None:
    """On a typed /new: session_end, session_start, before_reset, in this order."""
    store.turn("Let's go with Postgres for the bookings because SQLite locks up.")
    do(memory, Errand("keep", "openclaw", "s1"))
    store.reset("new")
    do(memory, END)
    store.turn("I prefer uv over pip for the kiosk.")
    do(memory, Errand("keep", "openclaw", "s1"))
    do(memory, END)  # the second event of the same reset, late
    assert handoffs(memory) == 1, "the window that goes on was closed"


@pytest.mark.parametrize("reason", ["compaction", "restart", "shutdown"])
def test_a_window_that_goes_on_is_kept_open(memory: Memory, store: Store, reason: str) -> None:
    store.turn("Let's go with Postgres for the bookings because SQLite locks up.")
    _, (work,) = ask(memory, "openclaw", "session_end", session="s1", reason=reason)
    do(memory, work)
    assert handoffs(memory) == 0
    assert any("Postgres" in one for one in contents(memory))


def test_what_the_host_loads_itself_is_not_told_again(knowing: Memory) -> None:
    found, _ = ask(
        knowing, "openclaw", "before_prompt_build",
        session="s9", key="agent:main:main", prompt="What is the alarm code for the bookings?",
    )  # fmt: skip
    assert "4711" not in spoken(found)


@pytest.mark.parametrize(
    "key",
    [
        "agent:main:telegram:group:77",
        "agent:main:discord:channel:9",
        "agent:main:slack:group:x:thread:1",
    ],
)
def test_a_group_gets_nothing_private(knowing: Memory, key: str) -> None:
    for prompt in ("What is the alarm code?", ASKED, "What did we do in the last session?"):
        found, _ = ask(
            knowing, "openclaw", "before_prompt_build", session="g1", key=key, prompt=prompt
        )
        text = spoken(found)
        for secret in ("4711", "Ankerpolice", "14 November"):
            assert secret not in text


@pytest.mark.parametrize(
    "key", ["agent:main:subagent:0b1c", "agent:main:main:subagent:1", "subagent:77"]
)
def test_a_subagent_gets_nothing_of_its_users(knowing: Memory, key: str) -> None:
    found, _ = ask(
        knowing, "openclaw", "before_prompt_build",
        session="x1", key=key, prompt="What is the alarm code? And the launch date?",
    )  # fmt: skip
    assert "4711" not in spoken(found)
    assert "Handoff" not in spoken(found)


# --- told once ---------------------------------------------------------------------------


def start(memory: Memory, source: str = "startup", session: str = "n1") -> str:
    found, _ = ask(memory, "claude-code", "SessionStart", session_id=session, source=source)
    return spoken(found)


def prompt(memory: Memory, text: str, session: str = "n1", host: str = "claude-code") -> str:
    found, _ = ask(memory, host, "UserPromptSubmit", session_id=session, prompt=text)
    return spoken(found)


def told_lines(text: str) -> set[str]:
    """Lines that say something: not the fences and headings."""
    return {line for line in text.split("\n") if line.startswith("- ") and len(line) > 20}


def test_no_turn_says_again_what_the_session_sees(knowing: Memory, claude: Claude) -> None:
    texts = [start(knowing)]
    for asked in (ASKED, "When is the launch?", ASKED, "pip or uv?", "When is the launch?"):
        texts.append(prompt(knowing, asked))
    everything = "\n".join(texts)
    assert "Postgres" in everything
    seen: set[str] = set()
    for text in texts:
        lines = told_lines(text)
        assert not lines & seen
        seen |= lines
    assert texts[3] == ""


def test_another_session_or_host_is_told_all_of_it(knowing: Memory) -> None:
    first = prompt(knowing, ASKED)
    assert "Postgres" in first
    assert prompt(knowing, ASKED) == ""
    assert prompt(knowing, ASKED, session="n2") == first
    assert prompt(knowing, ASKED, host="codex") == first


@pytest.mark.parametrize("source", ["compact", "clear", "startup"])
def test_after_a_compaction_it_is_told_again(knowing: Memory, source: str) -> None:
    begun, first = start(knowing), prompt(knowing, ASKED)
    assert prompt(knowing, ASKED) == ""
    assert start(knowing, source) == begun
    assert prompt(knowing, ASKED) == first


@pytest.mark.parametrize("source", ["resume", "fork"])
def test_a_session_that_is_taken_up_still_sees_it(knowing: Memory, source: str) -> None:
    start(knowing)
    prompt(knowing, ASKED)
    assert start(knowing, source) == ""
    assert prompt(knowing, ASKED) == ""


def test_what_is_new_since_is_told(knowing: Memory) -> None:
    start(knowing)
    prompt(knowing, ASKED)
    knowing.remember("The database for the bookings is at version 18.")
    assert "version 18" in prompt(knowing, ASKED)
    assert "version 18" not in prompt(knowing, ASKED)


def test_without_a_session_id_everything_is_told_every_time(knowing: Memory) -> None:
    assert prompt(knowing, ASKED, session="") == prompt(knowing, ASKED, session="") != ""


def test_pi_is_told_the_fixed_part_first(knowing: Memory) -> None:
    def turn(first: bool) -> str:
        found, _ = ask(knowing, "pi", "before_agent_start", session="p1", prompt=ASKED, first=first)
        return spoken(found)

    assert "4711" in turn(True)
    assert turn(False) == ""
    assert "4711" in turn(True)  # another process has taken it up


def test_a_told_file_that_cannot_be_read_only_repeats(knowing: Memory) -> None:
    assert "Postgres" in prompt(knowing, ASKED)
    (path,) = (knowing.home.cache / "told").iterdir()
    path.write_bytes(b"\xff\xfe\x00")
    assert "Postgres" in prompt(knowing, ASKED)
    path.unlink()
    path.mkdir()
    assert "Postgres" in prompt(knowing, ASKED)


# --- the façade's new ways ---------------------------------------------------------------


def test_a_context_leaves_out_what_was_told_and_what_is_not_wanted(knowing: Memory) -> None:
    whole = knowing.context(ASKED).text
    assert "4711" in whole and "Postgres" in whole
    assert "4711" not in knowing.context(ASKED, skip=("memory",)).text
    fixed = ("identity", "memory", "projects", "handoff", "journal")
    rest = knowing.context(ASKED, told=whole, skip=fixed)
    assert told_lines(rest.text) & told_lines(whole) == set()
    with pytest.raises(WakebookError):
        knowing.context(ASKED, have=("no-such-slot",))
    with pytest.raises(WakebookError):
        knowing.context(ASKED, skip=("no-such-slot",))


def test_a_flush_finds_a_session_where_it_is_said_to_be(memory: Memory, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    claude = chat(Claude(elsewhere), WORKDAY)
    assert not memory.flush(claude.session).ok
    done = memory.flush(claude.session, paths=[claude.path])
    assert done.ok, done.why
    assert any("Postgres" in one for one in contents(memory))
    assert not memory.flush("another-session", paths=[claude.path]).ok
    assert not memory.flush("", paths=[claude.path]).ok


def test_sparing_archives_at_once(memory: Memory, projects: Path) -> None:
    claude = Claude(projects)
    claude.at = clock.now() - timedelta(hours=1)
    chat(claude, WORKDAY)
    done = memory.catch_up(sparing=True)
    assert done.messages == len(WORKDAY)
    chat(claude, NEXT_DAY)
    memory.catch_up(sparing=True)
    (transcript,) = memory.home.conversations.rglob("*.md")
    assert "21 November" in transcript.read_text()
    memory.catch_up(closing=True)
    assert twice(memory) == []


def test_a_host_waits_for_what_is_answered() -> None:
    """The process of a hook has a list of its own: it cannot afford the table."""
    answered = ("wake", "context", "steer", "flush")
    assert {event for _, event, act in ALL if act in answered} == process.WAITED_FOR
