"""Topic files, topics and small homes, for tests about topics."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from wakebook import Memory
from wakebook.base.config import Config
from wakebook.recall.topics.activation import Activator
from wakebook.recall.topics.topic import BadTopic, Read, Topic, Trigger, parse
from wakebook.recall.topics.triggers import Remark, Spoken, Triggers

BODY = "# Release\n\nTag the version, then publish the changelog.\n"
NAME = "topics/x.md"


def text(front: str = "", body: str = BODY) -> str:
    """A topic file. The first line of `front` is line 3 of it."""
    return f"---\ntype: topic\n{front}---\n{body}"


def good(front: str = "", body: str = BODY) -> Topic:
    found = parse(NAME, text(front, body))
    assert isinstance(found, Topic), found
    return found


def bad(front: str = "", body: str = BODY) -> BadTopic:
    return bad_file(text(front, body))


def bad_file(whole: str) -> BadTopic:
    found = parse(NAME, whole)
    assert isinstance(found, BadTopic), found
    return found


def trigger(kind: str, *match: str, **more: Any) -> Trigger:
    return Trigger(type=kind, match=match, **more)


def topic(name: str = "release", *triggers: Trigger, **more: Any) -> Topic:
    return Topic(
        **{
            "name": name,
            "path": f"topics/{name}.md",
            "triggers": triggers,
            "description": "How a new version is released",
            "body": "Tag the version, then publish the changelog.",
            **more,
        }
    )


def matches(
    one: Trigger, said: str = "", paths: Sequence[str] = (), direction: str = "input"
) -> bool:
    """Whether a trigger matches what was said."""
    triggers = Triggers([topic("t", one)], direction)
    return bool(triggers.match(Spoken(Remark(said, direction, tuple(paths)))))


def activator(*topics: Topic) -> Activator:
    return Activator(Read(topics, ()))


def equip(folder: Path, topics: dict[str, str], config: Config | None = None) -> Memory:
    """A home without git that has these topic files only."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text("[git]\nenabled = false\n", encoding="utf-8")
    (folder / "topics").mkdir(exist_ok=True)
    for name, whole in topics.items():
        write(folder, name, whole)
    return Memory(folder, config=config)


def write(folder: Path, name: str, whole: str) -> Path:
    path = folder / "topics" / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(whole, encoding="utf-8", newline="")
    return path


def names(memory: Memory) -> list[str]:
    return [one.name for one in memory.topics.read().topics]


def problems(memory: Memory) -> dict[str, tuple[int, str]]:
    """What is wrong, by file: line and words."""
    return {one.path: (one.line, one.problem) for one in memory.topics.read().bad}
