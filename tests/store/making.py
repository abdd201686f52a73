"""Small homes for the index's tests: entries, notes and transcripts, put where they belong."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from tests.journeys.command import call
from wakebook import Memory
from wakebook.capture import archive
from wakebook.log import log
from wakebook.log.entry import Entry, decode
from wakebook.log.query import Query
from wakebook.store.database import LocalStore
from wakebook.store.hits import Found

WORDS_ALONE = '[embedding]\nprovider = "none"\n'
NOW = datetime(2026, 11, 9, 8, 0, tzinfo=UTC)


def fresh(folder: Path, settings: str = "") -> Memory:
    """A home without git and without the starter's notes."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(f"[git]\nenabled = false\n{settings}")
    return Memory(folder)


def name(number: int) -> str:
    return f"entry{number:07}"


def entry(number: int, content: str, **fields: Any) -> Entry:
    """An entry whose age in days and type can be said; a task is open."""
    days = fields.pop("days", 1.0)
    usual: dict[str, Any] = {"type": "fact", "session": "manual"}
    fields = usual | {"timestamp": NOW - timedelta(days=days)} | fields
    if fields["type"] == "task":
        fields.setdefault("status", "open")
    return Entry(id=name(number), content=content, **fields)


def append(memory: Memory, *entries: Entry) -> None:
    log.append(memory.home, entries)


def rewrite(memory: Memory, keep: Callable[[Entry], bool]) -> None:
    """Lines of the log taken out, as `forget` or somebody with an editor does."""
    lines = memory.home.log.read_bytes().splitlines(keepends=True)
    log.rewrite(memory.home, [line for line in lines if keep(decode(line))])


def note(memory: Memory, path: str, text: str | bytes, modified: int = 0) -> Path:
    there = memory.home.root / path
    there.parent.mkdir(parents=True, exist_ok=True)
    there.write_bytes(text.encode() if isinstance(text, str) else text)
    if modified:
        os.utime(there, (modified, modified))
    return there


def transcript(
    memory: Memory,
    session: str,
    turns: Sequence[tuple[str, str]],
    *,
    host: str = "claude-code",
    start: datetime = NOW - timedelta(days=2),
    topic: str = "",
) -> str:
    """An archived conversation, a turn a minute. Its path."""
    lines = [f"\n<!-- date: {start:%Y-%m-%d} -->\n"]
    for number, (role, text) in enumerate(turns):
        at = start + timedelta(minutes=number)
        lines.append(f"\n## {at:%H:%M} — {role}\n{text}\n")
    front = {"format": 1, "session_id": session, "host": host, "topic": topic}
    path = f"raw/conversations/{start:%Y/%m/%d}/{start:%H%M}-{session}-talk.md"
    note(memory, path, archive.compose(front, topic or "Talk", "".join(lines)))
    return path


def find(memory: Memory, text: str, **filters: Any) -> Found:
    """Whatever fits at all, from an index that was looked at just now."""
    limit = filters.pop("limit", 20)
    sessions = filters.pop("sessions", False)
    query = Query(text=text, **filters)
    return again(memory).search(query, min_score=0, limit=limit, sessions=sessions, explain=True)


def again(memory: Memory) -> Memory:
    """The same home, opened anew: no process remembers what it saw."""
    return Memory(memory.home.root)


def lose_derived(memory: Memory) -> None:
    """Everything is gone that can be made again from the log and the files."""
    for path in memory.home.root.glob("index.db*"):
        path.unlink()
    shutil.rmtree(memory.home.cache, ignore_errors=True)


def refs(found: Found) -> list[str]:
    return [hit.ref for hit in found.hits]


def paths(found: Found) -> list[str]:
    return [hit.ref.partition("#")[0] for hit in found.hits]


def store(memory: Memory) -> LocalStore:
    return LocalStore(memory.home.index)


def rows(memory: Memory, sql: str, *values: object) -> list[Any]:
    opened = store(memory)
    try:
        return opened.db.execute(sql, values).fetchall()
    finally:
        opened.close()


def ids(memory: Memory) -> dict[str, int]:
    """text -> chunk id"""
    return {text: number for number, text in rows(memory, "SELECT id, text FROM body")}


def everything(memory: Memory) -> dict[str, list[Any]]:
    """What an index holds, but for the ids and the times of files."""
    chunk = (
        "SELECT c.name, coalesce(f.path, ''), c.place, c.line, c.last_line, c.at, c.category, "
        "c.type, c.subject, c.status, c.kind, c.speaker, c.pinned, c.archived, c.replaced_by, "
        "s.name, s.host, b.title, b.text, b.detail FROM chunk c JOIN body b ON b.id = c.id "
        "LEFT JOIN file f ON f.id = c.file LEFT JOIN session s ON s.id = c.session ORDER BY "
        "1, 2, 3"
    )
    return {
        "chunks": rows(memory, chunk),
        "files": rows(memory, "SELECT path, digest, problem FROM file ORDER BY path"),
        "terms": rows(memory, "SELECT word, chunks FROM term ORDER BY word"),
        "replaces": rows(memory, "SELECT old, new FROM replaces ORDER BY 1, 2"),
        "said": rows(memory, "SELECT file, place, entry FROM said ORDER BY 1, 2, 3"),
        "pending": rows(memory, "SELECT count(*) FROM pending"),
        "size": rows(memory, "SELECT key, value FROM meta WHERE key IN ('chunks', 'words')"),
        "vectors": rows(memory, "SELECT count(*) > 0 FROM vectors"),
    }


def plain(found: Found) -> list[Any]:
    """Hits without what depends on the order in which chunks came in."""
    return [msgspec.to_builtins(hit) for hit in found.hits]


def python(code: str, *arguments: str, **environ: str) -> str:
    """Run Python in a process of its own, which has not imported anything yet."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        env=os.environ | environ,
        cwd=Path(__file__).parents[2],  # where `tests` can be imported from
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def wakebook(memory: Memory, *arguments: str, code: int = 0, path: str = "") -> str:
    """The command. Standard output and error in one."""
    environ = {"PATH": path} if path else {}
    done = call("--home", str(memory.home.root), *arguments, **environ)
    assert b"Traceback" not in done.err, done.err
    assert done.code == code, done.out + done.err
    return (done.out + done.err).decode()


def sentences(count: int) -> list[str]:
    """Sentences that differ as real ones do: some alike, most not."""
    import random

    chance = random.Random(11)
    who = "Mira Jonas Priya the-team Ankerpolice the-client my-sister our-landlord".split()
    did = (
        "moved postponed cancelled fixed ordered rewrote measured forgot painted sold booked "
        "deployed deleted translated reviewed benchmarked photographed watered tuned sketched"
    ).split()
    what = (
        "the launch|the insurance form|a ferry to Lagos|the retry queue|the guitar lesson|three "
        "tomato plants|the login page|the Postgres schema|a birthday cake|the tax return|the "
        "backup script|an old bicycle|the dentist appointment|the search index|a winter coat|the "
        "holiday photos|the bread recipe|the voucher burst|the kitchen shelf|the choir concert"
    ).split("|")
    why = (
        "because it was late|before the weekend|after the meeting|although nobody asked|for the "
        "customer|to save money|in the rain|with a new library|on the train|for the third time"
    ).split("|")
    more = "quietly again carefully twice finally early wrongly together alone happily".split()
    found: dict[str, None] = {}
    while len(found) < count:
        number = chance.randint(1, 400)
        pick = chance.choice
        sentence = f"{pick(who)} {pick(more)} {pick(did)} {pick(what)} {pick(why)} in room {number}"
        found[sentence.replace("-", " ")] = None
    return list(found)
