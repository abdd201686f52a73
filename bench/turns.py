"""Measure a turn: the context of a message, the hook of a prompt, and starts on a busy machine.

    python bench/turns.py [--sizes 1000,10000,100000] [--messages 300] [--load 16] [--json]

Contexts are made warm, in a process that stays.

Homes with so many entries, 500 notes, 50 topics, identity files, MEMORY.md, a handoff, a journal of
today and yesterday, and a session of 200 turns that goes on; no model. Entries and questions are
those of bench/search.py: words drawn by Zipf; every third message is about a topic. The homes take
turns, some messages each, so that a noisy moment meets all of them.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))
sys.path.insert(1, str(Path(__file__).parents[1]))

from bench.retrieval import Home, Session, Turn
from bench.search import NOW, cut, entries, questions, subjects, told, vocabulary

from wakebook import Memory
from wakebook.hosts import lock
from wakebook.hosts.events import FIXED
from wakebook.log import subjects as registry

DEFINITIONS = """\
prompt: milliseconds of one Memory.context(message) as a hook asks for it: [hooks] budget, without
the slots of the start and the session's own words. whole: 8,192 tokens, all slots. No model.
tokens, steps: of the whole one; the median of each. topics: the share of messages with an active
one. new entry: the first context after somebody appended an entry.
growth: p50 of the largest home / p50 of the smallest, in the same run.
hook: the process of a prompt's hook with the service up, at 10,000 entries; cpu as its minimum
against that of `python -c pass`, wall as its median.
starts: told within the default time box while so many busy loops run."""
NOTES = 500
TOPICS = 50
TURN = 10  # messages before the next home
TURNS, SESSION = 200, "going-on"
AIMS = {"prompt": 12.0, "p95": 50.0, "growth": 3.0, "cpu": 1.3, "wall": 60.0}
HOOKED, STARTS = 10_000, 20  # entries; starts


@dataclass
class Measured:
    size: int
    milliseconds: list[float] = field(default_factory=list)
    prompts: list[float] = field(default_factory=list)
    after_entry: list[float] = field(default_factory=list)
    steps: dict[str, list[float]] = field(default_factory=dict)
    tokens: list[int] = field(default_factory=list)
    active: int = 0

    def as_dict(self) -> dict[str, Any]:
        p50, p95 = cut(self.milliseconds)
        prompt, late = cut(self.prompts)
        return {
            "entries": self.size,
            "prompt p50": prompt,
            "prompt p95": late,
            "p50": p50,
            "p95": p95,
            "new entry p50": round(median(self.after_entry), 3) if self.after_entry else None,
            "tokens": round(median(self.tokens)),
            "topics": round(100 * self.active / len(self.milliseconds)),
            "steps": {name: round(median(spent), 2) for name, spent in self.steps.items()},
        }


def words(chance: random.Random, count: int) -> str:
    return " ".join(chance.choice(vocabulary()[:6000]) for _ in range(count))


def paragraphs(chance: random.Random, sections: int) -> Iterator[str]:
    for _ in range(sections):
        yield f"## {words(chance, 3)}\n\n" + "\n".join(f"- {words(chance, 14)}." for _ in range(4))


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def home(root: Path, size: int) -> Memory:
    chance = random.Random(7)
    made = Home(root, "builtin")
    memory = made.memory
    turns = [Turn(str(at), words(chance, 30), ("user", "agent")[at % 2]) for at in range(TURNS)]
    made.write([Session(SESSION, datetime.fromisoformat(NOW) - timedelta(hours=1), tuple(turns))])
    registry.save(memory.home, memory.log.registry().ensure(subjects()))
    with (root / "log.jsonl").open("a", encoding="utf-8") as stream:
        for lines in entries(0, size):
            stream.writelines(lines)
    folders = ("projects", "people", "procedures", "reference")
    for number in range(NOTES):
        folder = f"{chance.choice(folders)}/note-{number}"
        where = f"{folder}/context.md" if folder.startswith("projects") else f"{folder}.md"
        text = f"# {words(chance, 3)}\n\n" + "\n\n".join(paragraphs(chance, 3))
        write(root / "knowledge" / where, f"{text}\nSee [[note-{chance.randrange(NOTES)}]].\n")
    for name in ("SOUL", "USER", "AGENTS", "TOOLS"):
        text = "\n\n".join(paragraphs(chance, 3))
        write(root / f"knowledge/identity/{name}.md", f"# {name}\n\n{text}\n")
    write(root / "knowledge/memory/MEMORY.md", "# Core\n\n" + "\n\n".join(paragraphs(chance, 8)))
    write(root / "knowledge/projects/_active.md", "# Active\n\n" + "\n".join(paragraphs(chance, 1)))
    today = datetime.fromisoformat(NOW).astimezone(UTC).date()
    for day in (today, today - timedelta(days=1)):
        text = "\n\n".join(paragraphs(chance, 4))
        write(root / f"knowledge/journal/{day}.md", f"# {day}\n\n{text}\n")
    for number in range(TOPICS):
        write(root / f"topics/topic-{number}.md", topic(chance, number))
    told(f"indexing {size:,} entries")
    memory.index.sync()
    return memory


def topic(chance: random.Random, number: int) -> str:
    keys = ", ".join(words(chance, 1) for _ in range(5))
    pattern = "|".join(words(chance, 1) for _ in range(4))
    return (
        f"---\ntype: topic\ndescription: {words(chance, 12)}\ntriggers:\n"
        f"  - type: keyword\n    match: [{keys}]\n"
        f'  - type: pattern\n    match: "\\\\b({pattern})\\\\b"\n'
        f"  - type: glob\n    match: '*.x{number}'\n"
        f"subscriptions: [knowledge/reference/note-{number}.md]\n"
        f"activation: {chance.choice(('auto', 'gated'))}\n"
        f"priority: {chance.choice(('low', 'medium', 'high'))}\n---\n"
        f"# {words(chance, 2)}\n\n{words(chance, 120)}\n"
    )


def measure(homes: dict[int, Memory], count: int) -> list[Measured]:
    found = {size: Measured(size) for size in homes}
    asked = {
        size: [one.text for one in questions(memory.home.index, size) if not one.types]
        for size, memory in homes.items()
    }
    for size, memory in homes.items():
        topics = memory.topics.read().topics
        for at in range(0, len(asked[size]), 3):
            topic = topics[at % len(topics)]
            asked[size][at] += f" {topic.triggers[0].match[0]} {topic.description}"
        for text in asked[size][-20:]:
            memory.context(text, session=SESSION)
    for start in range(0, count, TURN):
        for size, memory in homes.items():
            told(f"{start} of {count} messages")
            for text in asked[size][start : start + TURN]:
                begin = perf_counter()
                done = memory.context(text, session=SESSION)
                found[size].milliseconds.append((perf_counter() - begin) * 1000)
                found[size].tokens.append(done.tokens)
                found[size].active += any(one.activated for one in done.decisions)
                for name, spent in done.steps.items():
                    found[size].steps.setdefault(name, []).append(spent)
                begin = perf_counter()
                prompt(memory, text)
                found[size].prompts.append((perf_counter() - begin) * 1000)
    for size, memory in homes.items():
        for number, text in enumerate(asked[size][:10]):
            memory.remember(f"A new thing number {number} about {text}")
            begin = perf_counter()
            memory.context(text, session=SESSION)
            found[size].after_entry.append((perf_counter() - begin) * 1000)
    return list(found.values())


def prompt(memory: Memory, text: str) -> str:
    """As a hook of Claude Code asks."""
    settings = memory.config.hooks
    limits: dict[str, Any] = {"budget": settings.budget, "characters": settings.characters}
    return memory.context(text, session="new", have=("history",), skip=FIXED, **limits).text


def hooked(root: Path, load: int) -> dict[str, Any]:
    """The hook of a prompt, and starts under load, as processes that a host starts."""
    from bench import hooks

    transcript = hooks.transcript(root.parent)
    bare = hooks.timed("pass", [[sys.executable, "-c", "pass"]] * 40, [b""] * 40)
    told: dict[str, int] = {}
    with hooks.service(root):
        hooks.times(root, transcript, "UserPromptSubmit", 5)
        one = hooks.times(root, transcript, "UserPromptSubmit", 40, " up")
        with busy(load):
            told["service"] = starts(root, "up")
    with busy(load):
        told["alone"] = starts(root, "alone")
    lock.wait(str(root / ".cache"), 60.0)  # until what follows the starts is done
    return {
        "cpu": one["cpu"],
        "pass": bare["cpu"],
        "x pass": round(one["cpu"] / bare["cpu"], 2),
        "wall": one["wall"],
        "load": load,
        "told": told,
    }


def starts(root: Path, name: str) -> int:
    from bench import hooks

    told_ = 0
    for number in range(STARTS):
        told(f"start {number} of {STARTS}")
        given = {
            "session_id": f"{name}-{number}",
            "cwd": "/home/mira/tidepool",
            "source": "startup",
        }
        line = hooks.hook(root, "SessionStart")
        done = subprocess.run(line, input=json.dumps(given).encode(), capture_output=True)
        told_ += b"additionalContext" in done.stdout
    return told_


@contextmanager
def busy(loops: int) -> Iterator[None]:
    """So many processes that do nothing but run."""
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(loops)]
    try:
        yield
    finally:
        for one in running:
            one.kill()
            one.wait()


def main(argv: Sequence[str] | None = None) -> None:
    gc.set_threshold(10_000)  # as the service's process has it
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--messages", type=int, default=300)
    parser.add_argument("--load", type=int, default=16)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args(argv)
    os.environ |= {"WAKEBOOK_NOW": NOW, "WAKEBOOK_OFFLINE": "1"}
    sizes = [int(size) for size in asked.sizes.split(",")]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        homes = {size: home(Path(folder) / str(size), size) for size in sizes}
        rows = [one.as_dict() for one in measure(homes, asked.messages)]
        os.environ["HOME"] = folder
        hook = hooked(Path(folder) / str(HOOKED), asked.load) if HOOKED in sizes else {}
    told("")
    growth = round(rows[-1]["p50"] / rows[0]["p50"], 2)
    if asked.json:
        print(json.dumps({"rows": rows, "growth": growth, "hook": hook}, indent=2))
        return
    print(f"{DEFINITIONS}\n")
    print(
        "| entries | prompt p50 | p95 | whole p50 | p95 | new entry | tokens | topics, % | steps |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for row in rows:
        steps = ", ".join(f"{name} {spent:g}" for name, spent in row["steps"].items())
        names = ("prompt p50", "prompt p95", "p50", "p95", "new entry p50")
        cells = (f"{row['entries']:,}", *(row[name] for name in names))
        more = f"{row['tokens']:,} | {row['topics']}"
        print(f"| {' | '.join(map(str, cells))} | {more} | {steps} |")
    print(
        f"\ngrowth {growth} (aim: under {AIMS['growth']:g}); aims at 10,000 entries: a prompt's p50"
    )
    print(f"under {AIMS['prompt']:g} ms, p95 of the whole under {AIMS['p95']:g} ms")
    if hook:
        print(
            f"\nhook of a prompt, service up: cpu {hook['cpu']} ms, {hook['x pass']} x pass (aim:"
        )
        print(f"at most {AIMS['cpu']:g}); wall {hook['wall']} ms (aim: under {AIMS['wall']:g})")
        told_ = hook["told"]
        print(f"starts told with {hook['load']} busy loops, of {STARTS}: with the service", end=" ")
        print(f"{told_['service']}, without {told_['alone']} (aim: all)")


if __name__ == "__main__":
    main()
