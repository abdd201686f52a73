"""Finding sessions: in the configured folders, and wherever a person points."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import wakebook
from wakebook.base.config import Hosts
from wakebook.base.errors import TranscriptError
from wakebook.capture.discover import discover, sessions_at
from wakebook.capture.hosts import HOSTS, format_of
from wakebook.capture.state import Session

CLAUDE = {"type": "user", "uuid": "u1", "sessionId": "c1", "message": {"content": "hi"}}
CODEX = {"timestamp": "x", "type": "session_meta", "payload": {"id": "x1", "cwd": "/p"}}
PI = {"type": "session", "version": 3, "id": "p1", "cwd": "/p"}
PLAIN = {"role": "user", "content": "hi"}


def write(path: Path, record: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record) + "\n")
    return path


def store(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE transcript_events (session_id, seq, event_json)")
        database.execute("INSERT INTO transcript_events VALUES ('o1', 0, '{}')")
        database.commit()
    return path


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """One session of every host, each in its place."""
    write(tmp_path / "claude" / "-p" / "c1.jsonl", CLAUDE)
    write(tmp_path / "codex" / "2026" / "rollout-x1.jsonl", CODEX)
    write(tmp_path / "pi" / "--p--" / "t_p1.jsonl", PI)
    store(tmp_path / "openclaw" / "agents" / "main" / "agent" / "openclaw-agent.sqlite")
    write(tmp_path / "openclaw" / "agents" / "main" / "sessions" / "o0.jsonl", PI)
    write(tmp_path / "plain" / "chat.jsonl", PLAIN)
    (tmp_path / "plain" / "talk.md").write_text("## user\nhi\n")
    return tmp_path


REFS = [
    "claude-code/c1", "codex/x1", "pi/p1", "openclaw/o1", "openclaw/o0", "plain/chat", "plain/talk",
]  # fmt: skip


def configured(root: Path) -> Hosts:
    return Hosts(
        claude_code=(str(root / "claude"), str(root / "missing")),
        codex=(str(root / "codex"),),
        pi=(str(root / "pi"),),
        openclaw=(str(root / "openclaw"),),
        plain=(str(root / "plain"),),
    )


def test_every_host_has_its_setting() -> None:
    assert list(HOSTS) == ["claude-code", "codex", "pi", "openclaw", "plain"]
    assert all(hasattr(Hosts(), name.replace("-", "_")) for name in HOSTS)


def test_configured_folders(machine: Path) -> None:
    assert [session.ref for session in discover(configured(machine))] == REFS


def test_home_and_variables_are_resolved(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(machine))
    monkeypatch.setenv("SOMEWHERE", str(machine / "codex"))
    hosts = Hosts(claude_code=("~/claude",), codex=("$SOMEWHERE",), pi=(), openclaw=(), plain=())
    assert [session.ref for session in discover(hosts)] == REFS[:2]


def test_any_file_is_recognised_by_its_beginning(machine: Path) -> None:
    for session in list(discover(configured(machine))):
        (found,) = sessions_at(session.path)
        assert found == session
        assert format_of(found).unit == format_of(session).unit


def test_any_folder_is_searched(machine: Path) -> None:
    assert [session.ref for session in sessions_at(machine / "plain")] == REFS[5:]
    assert [session.ref for session in sessions_at(machine / "pi")] == ["pi/p1"]


@pytest.mark.parametrize(
    ("name", "message"),
    [("gone.jsonl", "no such file"), ("odd.bin", "no session in a known format")],
)
def test_what_cannot_be_recognised_is_explained(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "odd.bin").write_bytes(b"\x00\xff\x00")
    with pytest.raises(TranscriptError, match=message):
        sessions_at(tmp_path / name)


def test_an_empty_folder_is_explained(tmp_path: Path) -> None:
    with pytest.raises(TranscriptError, match="no session in a known format"):
        sessions_at(tmp_path)


def test_an_unknown_host_is_explained(tmp_path: Path) -> None:
    with pytest.raises(TranscriptError, match="unknown host 'eliza'"):
        format_of(Session("eliza", "s", tmp_path / "s"))


def test_units(machine: Path) -> None:
    units = {session.ref: format_of(session).unit for session in discover(configured(machine))}
    assert units.pop("openclaw/o1") == "seq"
    assert set(units.values()) == {"bytes"}


def test_a_folder_above_several_hosts_gives_the_sessions_of_all() -> None:
    samples = Path(wakebook.__file__).parent / "samples"
    apart = [*sessions_at(samples / "claude-code"), *sessions_at(samples / "openclaw")]
    assert {one.ref for one in sessions_at(samples)} == {one.ref for one in apart}
