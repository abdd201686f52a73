"""Joined: the hooks of a host whose memory is on a server for teams.

The server answers what a host waits for. What follows is an upload of the session's file, as far
as the server lacks it; a worker reads it there. Without a network nothing is lost: a session that
has not been sent is noted in unsent/, and goes with the next event that reaches the server. A start
that gets no answer is told what the last one was.

OpenClaw keeps its sessions in a database, which is read here. A session that has been sent is open
(.cache/open/) until OpenClaw has gone on with another one; then the server is told that it ended.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic, time_ns
from typing import Any
from urllib.parse import quote

from wakebook.base import config as configs
from wakebook.base.errors import WakebookError
from wakebook.base.home import Home
from wakebook.hosts import told
from wakebook.hosts.backlog import payload_of
from wakebook.hosts.events import Payload, act_of
from wakebook.service.remote import UNSENT, Line, Remote, joined

LEAST = 0.05  # seconds for an answer
SECONDS = 20.0  # for what no host waits for
ANSWERED = ("wake", "context", "steer")
FILES = (".jsonl", ".md")  # sessions that a server takes
SENT = ("keep", "close", "reset", "flush", "sweep")
CLAW, ENDED, OPEN = "openclaw", "session_end", "open"


def act(
    root: str,
    host: str,
    event: str,
    data: bytes,
    until: float,
    tell: Callable[[bytes | None], None],
) -> None:
    """Answer an event, and send what there is to send. `tell` hears the answer, or None if there
    is none in time. Raises WakebookError, after everything that could be done."""
    line, payload, what = joined(root), payload_of(data), act_of(host, event)
    assert line is not None
    failed: WakebookError | None = None
    try:
        body = _asked(line, host, event, payload, until) if what in ANSWERED else b""
    except WakebookError as error:
        failed = error
        tell(None)
    else:
        if what == "wake" and body:
            told.keep_start(f"{root}/.cache", host, _text(payload, "cwd"), body)
        tell(body)
    home, path = Home(root), _text(payload, "transcript_path", "path")
    if what in SENT and (path.endswith(FILES) or host == CLAW):
        home.folder(home.root / UNSENT)
        note = {"host": host, "event": event if what == "close" else "", "path": path}
        note["session"] = _text(payload, "session_id", "session")
        home.replace(home.root / UNSENT / f"{time_ns()}.json", json.dumps(note) + "\n")
    if failed:
        raise failed
    if what != "steer":
        send(home, line)


def _asked(line: Line, host: str, event: str, payload: Payload, until: float) -> bytes:
    quick = line.within(max(until - monotonic(), LEAST))
    given = json.dumps(payload).encode("utf-8", "replace")
    where = f"/v1/hooks/{host}/{event}"
    status, body, _ = quick.ask("POST", where, given, {"Content-Type": "application/json"})
    if status not in (200, 204):
        raise line.wrong(status, body)
    return b"" if body.strip() in (b"", b"{}", b"null") else body


def send(home: Home, line: Line) -> int:
    """Send every session that was noted: how many. Raises WakebookError at the first that cannot
    be sent; it stays noted, with all behind it."""
    memory, done = Remote("", line=line.within(SECONDS)), set()
    for file in sorted((home.root / UNSENT).glob("*.json")):
        with suppress(OSError, ValueError, KeyError):  # another process was faster
            note = json.loads(file.read_bytes())
            path = Path(note["path"] or note["session"])
            if note["host"] == CLAW and path not in done:
                _send_stored(home, memory, note["session"])
            elif path not in done and path.is_file():
                memory.upload(note["host"], path)
            done.add(path)
            if note["event"]:
                _end(memory, note["host"], note["event"], note["session"])
            file.unlink()
    return len(done)


def _end(memory: Remote, host: str, event: str, session: str) -> None:
    """Say that a session has ended."""
    body = json.dumps({"session_id": session, "ended": True}).encode()
    status, said, _ = memory.line.post(f"/v1/hooks/{host}/{event}", body)
    if status not in (200, 204):
        raise memory.line.wrong(status, said)


def _send_stored(home: Home, memory: Remote, named: str) -> None:
    """Send a session of OpenClaw, and those that were sent before and have ended since."""
    from wakebook.capture.hosts import host
    from wakebook.capture.state import UNREAD, why_skipped

    config, folder = configs.load(home.config), home.cache / OPEN
    home.folder(folder)
    places = (configs.expand(one) for one in config.hosts.openclaw)
    for session in (one for place in places for one in host(CLAW).discover(place)):
        mark = folder / quote(session.id, safe="")
        if session.id.endswith(UNREAD):
            memory.send(session)  # which says why
        if why_skipped(session, config.capture) or not (session.id == named or mark.exists()):
            continue
        mark.touch()
        memory.send(session)
        if session.ended:
            _end(memory, CLAW, ENDED, session.id)
            mark.unlink()


def _text(payload: dict[str, Any], *names: str) -> str:
    found = (payload.get(name) for name in names)
    return next((one for one in found if isinstance(one, str) and one), "")
