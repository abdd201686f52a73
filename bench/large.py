"""A home with 100,000 entries and 5,000 conversations, made once and kept.

    python bench/large.py DIR [--entries 100000] [--conversations 5000]

The transcripts, the log, state.json, the notes, the index and git's history are what a home has
after two years of much work; the sentences are those of tests/year.py. The newest sessions also
lie where Claude Code keeps them (DIR/sessions), so that they can be accounted for; the others are
gone, as that host deletes them after a month. One conversation has 10 MB. No job is due: what is
measured is what is asked for.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

from tests import year

from wakebook import Memory
from wakebook.base.home import Home
from wakebook.capture import archive, state
from wakebook.capture.transcript import Message
from wakebook.log import log
from wakebook.log.entry import Entry, Type, derived_id

FIRST = datetime(2024, 11, 16, 6, 0, tzinfo=UTC)
LAST = datetime(2026, 11, 16, 6, 0, tzinfo=UTC)
NOW = "2026-11-16T08:00:00Z"
COMMITS = 10
THERE = 200  # sessions that their host still has
LONG = 10 << 20  # bytes of the longest conversation
CONFIG = """\
[hosts]
claude_code = ["{}"]
openclaw = []
codex = []
pi = []
[schedule]
"""
JOBS = "observe commit briefing daily weekly monthly topics prune tags sync".split()
KINDS: tuple[Type, ...] = ("fact", "fact", "decision", "fact", "task", "fact", "question", "fact")
TEMPLATES: dict[Type, tuple[str, ...]] = {
    "fact": year.STANDING + year.EVENTS + year.PREFERENCES,
    "decision": ("We decided to buy the {thing} from {firm} for {value} euros.",),
    "task": tuple(f"I still have to {todo}." for todo, _ in year.ACTIONS),
    "question": ("Whether the {thing} needs a permit from {city} is still open.",),
}


def made(folder: Path, entries: int = 100_000, conversations: int = 5_000) -> Path:
    """The home in this folder; made if it is not there."""
    root, done = folder / "home", folder / "made"
    os.environ |= {"WAKEBOOK_NOW": NOW, "WAKEBOOK_OFFLINE": "1"}
    config = CONFIG.format(folder / "sessions") + "".join(f'{job} = ""\n' for job in JOBS)
    if done.exists() and done.read_text() == f"{entries} {conversations}":
        (root / "config.toml").write_text(config)
        with closing(Memory(root)) as there:
            there.index.sync()  # of another version, or never finished
            there.notes.update()
        return root
    sources = folder / "sessions" / "-home-mira-tidepool"
    sources.mkdir(parents=True)
    root.mkdir()
    (root / "config.toml").write_text(config)
    memory = Memory(root)
    memory.init()
    maker = Maker(memory.home, sources, entries, conversations)
    for part in range(COMMITS):
        numbers = range(conversations * part // COMMITS, conversations * (part + 1) // COMMITS)
        at = maker.write(numbers)
        os.environ["WAKEBOOK_NOW"] = f"{at:%Y-%m-%dT%H:%M:%SZ}"
        memory.history.commit(f"part {part + 1}")
        print(f"{numbers.stop:,} conversations", file=sys.stderr)
    os.environ["WAKEBOOK_NOW"] = NOW
    memory.notes.update(full=True)
    memory.notes.brief(ask=False)
    memory.index.sync()
    memory.history.commit("notes")
    memory.close()
    done.write_text(f"{entries} {conversations}")
    return root


class Maker:
    def __init__(self, home: Home, sources: Path, entries: int, conversations: int) -> None:
        self._home, self._sources = home, sources
        self._each, self._count = entries // conversations, conversations
        self._chance = Random(21)
        self._sessions: dict[str, state.Progress] = {}
        self._names = [name for name, *_ in year.PROJECTS]
        self._last: list[str] = []  # entries that a later one may replace

    def write(self, numbers: range) -> datetime:
        """Some conversations, with what was learned in each. When the last one began."""
        learned: list[Entry] = []
        at = FIRST
        for number in numbers:
            at = FIRST + (LAST - FIRST) * number / self._count
            learned += self._conversation(number, at)
        log.append(self._home, learned)
        state.save(self._home, state.State(sessions=self._sessions))
        return at

    def _conversation(self, number: int, at: datetime) -> list[Entry]:
        chance, session = self._chance, f"5e55{number:04}-0000-4000-8000-{number:012}"
        subject = self._names[number % len(self._names)]
        said = [self._sentence() for _ in range(self._each)]
        messages = list(_messages(session, at, [text for _, text in said]))
        if number == self._count // 2:
            more = said[0][1] * (LONG // len(said[0][1]) // 200)
            late = at + timedelta(minutes=3)
            messages += [Message("user", more, f"{number}-{n}", late) for n in range(200)]
        body, tail = archive.render(messages, archive.Tail())
        slug, title = archive.slug_and_title(messages[0].text)
        path = archive.path_for(self._home, session, 1, at, slug)
        project = f"/home/mira/{subject}"
        front = {
            "format": 1, "session_id": session, "host": "claude-code", "window": 1,
            "started": f"{at:%Y-%m-%dT%H:%M:%SZ}",
            "ended": f"{messages[-1].at:%Y-%m-%dT%H:%M:%SZ}", "closed": True,
            "model": "claude-opus-5-5", "channel": "claude-code", "topic": title,
            "tags": [subject], "turns": tail.turns, "cwd": project, "project": project,
        }  # fmt: skip
        archive.write(self._home, path, archive.compose(front, title, body))
        found: list[Entry] = []
        for place, (kind, text) in enumerate(said):
            replaces: tuple[str, ...] = ()
            if self._last and chance.random() < 0.03:
                replaces = (self._last.pop(),)
            turn = 2 * (place // 2) + 1
            entry = Entry(
                id=derived_id(f"{session}-{place}", kind, text),
                timestamp=messages[turn - 1].at or at, type=kind, content=text, session=session,
                subject=subject if chance.random() < 0.5 else "", project=project,
                replaces=replaces, status="open" if kind == "task" else None,
                evidence=(turn,), transcript=path, by="rules",
            )  # fmt: skip
            found.append(entry)
        self._last = [found[0].id, *self._last[:200]]
        self._progress(number, session, project, messages)
        return found

    def _sentence(self) -> tuple[Type, str]:
        chance = self._chance
        kind = chance.choice(KINDS)
        _, _, _, things = chance.choice(year.PROJECTS)
        thing = f"{chance.choice(year.WHICH)} {chance.choice(things.split())}"
        return kind, chance.choice(TEMPLATES[kind]).format(
            thing=thing, firm=chance.choice(year.FIRMS), person=chance.choice(year.PEOPLE),
            city=chance.choice(year.CITIES), number=chance.randint(2, 40),
            value=chance.randint(20, 9000),
        )  # fmt: skip

    def _progress(self, number: int, session: str, cwd: str, messages: list[Message]) -> None:
        path, size = self._sources / f"{session}.jsonl", 4000
        if number >= self._count - THERE:
            records = [json.dumps({"type": "summary", "text": one.text}) for one in messages]
            path.write_text("\n".join(records) + "\n")
            size = path.stat().st_size
        self._sessions[f"claude-code/{session}"] = state.Progress(
            host="claude-code", id=session, path=str(path), cwd=cwd, position=size, size=size,
            recent=tuple(one.id for one in messages[-24:]), windows=1, messages=len(messages),
            entries=self._each, last_at=messages[-1].at, touched_at=messages[-1].at,
        )  # fmt: skip


def _messages(session: str, at: datetime, said: list[str]) -> Iterator[Message]:
    """Two sentences of the user's in a turn, and an answer."""
    for place in range(0, len(said), 2):
        now = at + timedelta(minutes=place)
        yield Message("user", " ".join(said[place : place + 2]), f"{session[-6:]}-{place}", now)
        answer = year.ANSWERS[place % len(year.ANSWERS)]
        yield Message("agent", answer, f"{session[-6:]}-{place}a", now + timedelta(minutes=1))


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("folder", type=Path)
    options.add_argument("--entries", type=int, default=100_000)
    options.add_argument("--conversations", type=int, default=5_000)
    given = options.parse_args()
    print(made(given.folder.absolute(), given.entries, given.conversations))
