"""Files: topics/*.md -> Topics. A file with a mistake is reported with its line and skipped.

The folder is looked at for every message, so what was read is kept until a file's size or time
changes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import PurePosixPath
from typing import Any

import msgspec

from wakebook import markdown
from wakebook.home import Home
from wakebook.recall.topics import expressions
from wakebook.recall.topics.topic import (
    ACTIVATIONS,
    MAX_CONTEXT_KB,
    PRIORITIES,
    SCOPES,
    TYPES,
    BadTopic,
    Topic,
    Trigger,
)

FOLDER = "topics"
LARGEST = 256 << 10  # bytes of a topic file
MOST_KB = 1024
KEYS = (
    "type description triggers subscriptions activation priority similarity_threshold "
    "max_context_kb"
).split()
TRIGGER_KEYS = "type match scope hint correction_hint source event schedule".split()
_SEEN = ("pattern", "keyword", "glob", "mention")  # these say what they look for

Key = str | int


class Read(msgspec.Struct, frozen=True):
    """The topics of a home, by name, and the files that are none."""

    topics: tuple[Topic, ...]
    bad: tuple[BadTopic, ...]
    stamp: int = 0  # another number after every change

    def get(self, name: str) -> Topic | None:
        return next((topic for topic in self.topics if topic.name == name), None)


class TopicFiles:
    """The topics of one home, kept until their files change."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._signature: tuple[tuple[str, int, int], ...] | None = None
        self._kept: dict[str, tuple[tuple[str, int, int], Topic | BadTopic]] = {}
        self._read = Read((), ())

    def read(self) -> Read:
        signature = tuple(sorted(_listed(self._home.root / FOLDER, FOLDER)))
        if signature != self._signature:
            found = [self._file(one) for one in signature]
            self._read = Read(
                tuple(item for item in found if isinstance(item, Topic)),
                tuple(item for item in found if isinstance(item, BadTopic)),
                self._read.stamp + 1,
            )
            self._signature = signature
            self._kept = {one[0]: (one, item) for one, item in zip(signature, found, strict=True)}
        return self._read

    def _file(self, one: tuple[str, int, int]) -> Topic | BadTopic:
        path, _, size = one
        before = self._kept.get(path)
        if before and before[0] == one:
            return before[1]
        if size > LARGEST:
            return BadTopic(path, 1, f"larger than {LARGEST >> 10} KB. Shorten it.")
        try:
            text = (self._home.root / path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            return BadTopic(path, 1, "not UTF-8. Save it as UTF-8.")
        except OSError as error:
            return BadTopic(path, 1, f"cannot be read: {error.strerror}.")
        return parse(path, text)


def _listed(folder: os.PathLike[str], below: str) -> Iterator[tuple[str, int, int]]:
    try:
        found = list(os.scandir(folder))
    except OSError:
        return
    for item in found:
        if item.name[0] in "._":
            continue
        path = f"{below}/{item.name}"
        if item.is_dir(follow_symlinks=False):
            yield from _listed(item, path)
        elif item.name.endswith(".md") and item.is_file(follow_symlinks=False):
            stat = item.stat()
            yield path, stat.st_mtime_ns, stat.st_size


class _Wrong(Exception):
    """What is wrong, and where in the frontmatter."""

    def __init__(self, problem: str, *keys: Key) -> None:
        super().__init__(problem)
        self.problem = problem
        self.keys = keys


def parse(path: str, text: str) -> Topic | BadTopic:
    """A topic, or what is wrong with its file."""
    front = markdown.read_front(text)
    if front.problem:
        return BadTopic(path, front.line, f"{front.problem}.")
    if front.values is None:
        return BadTopic(path, 1, "no frontmatter. A topic begins with --- and `type: topic`.")
    try:
        return _topic(path, front.values, text[front.body :])
    except _Wrong as wrong:
        return BadTopic(path, _line(text, wrong.keys), wrong.problem)


def _topic(path: str, values: dict[str, Any], body: str) -> Topic:
    if values.get("type") != "topic":
        raise _Wrong(f"type is {values.get('type')!r}; a topic says `type: topic`.", "type")
    _known(values, KEYS)
    title, rest = _titled(body)
    subscriptions = _strings(values, "subscriptions")
    for number, name in enumerate(subscriptions):
        if not _inside(name):
            problem = f"{name!r} is no note below the home, like knowledge/reference/tools.md."
            raise _Wrong(problem, "subscriptions", number)
    if not rest.strip() and not subscriptions:
        raise _Wrong("it has neither instructions nor subscriptions.")
    threshold = values.get("similarity_threshold")
    return Topic(
        name=path.removeprefix(f"{FOLDER}/").removesuffix(".md"),
        path=path,
        title=title,
        description=" ".join(_string(values, "description").split()),
        triggers=tuple(_triggers(values.get("triggers"))),
        subscriptions=subscriptions,
        activation=_one_of(values, "activation", ACTIVATIONS, "gated"),
        priority=_one_of(values, "priority", PRIORITIES, "medium"),
        threshold=None if threshold is None else _number(values, "similarity_threshold", 0, 1),
        max_context_kb=_number(values, "max_context_kb", 0.1, MOST_KB)
        if "max_context_kb" in values
        else MAX_CONTEXT_KB,
        body=rest.strip(),
    )


def _triggers(values: Any) -> Iterator[Trigger]:
    if values is None:
        return
    if not isinstance(values, list):
        raise _Wrong("triggers is a list: a line `- type: ...` for each.", "triggers")
    for number, value in enumerate(values):
        try:
            yield _trigger(value)
        except _Wrong as wrong:
            raise _Wrong(wrong.problem, "triggers", number, *wrong.keys) from None


def _trigger(value: Any) -> Trigger:
    if not isinstance(value, dict):
        raise _Wrong("a trigger is a mapping: `- type: pattern`, with `match: ...` below it.")
    kind = _one_of(value, "type", TYPES, "")
    _known(value, TRIGGER_KEYS)
    match = _strings(value, "match")
    if kind in _SEEN and not match:
        raise _Wrong(f"a {kind} trigger needs `match`.", "type")
    trigger = Trigger(
        type=kind,
        match=match,
        scope=_one_of(value, "scope", SCOPES, "input"),
        hint=_string(value, "hint") or _string(value, "correction_hint"),
        source=_string(value, "source"),
        event=_string(value, "event"),
        schedule=_string(value, "schedule"),
    )
    if kind == "webhook" and not trigger.source:
        raise _Wrong("a webhook trigger needs `source`.", "type")
    if kind == "cron" and not trigger.schedule:
        raise _Wrong('a cron trigger needs `schedule`, like "0 8 * * *".', "type")
    problem = expressions.problem(trigger)
    if problem:
        raise _Wrong(problem, "schedule" if kind == "cron" else "match")
    return trigger


def _known(values: dict[str, Any], known: list[str]) -> None:
    """Other keys are somebody else's; one that is nearly ours is a typing mistake."""
    for key in values:
        if key in known:
            continue
        near = get_close_matches(str(key), known, 1, 0.75)
        if near:
            raise _Wrong(f"unknown key {key!r}; did you mean {near[0]!r}?", key)


def _titled(body: str) -> tuple[str, str]:
    """The first heading, and the text without it."""
    lead = body.lstrip()
    first, _, rest = lead.partition("\n")
    return (first[2:].strip(), rest) if first.startswith("# ") else ("", lead)


def _inside(name: str) -> bool:
    path = PurePosixPath(name)
    hidden = any(part.startswith(".") for part in path.parts)
    return path.suffix in (".md", ".txt") and not path.is_absolute() and not hidden


def _string(values: dict[str, Any], key: str) -> str:
    value = values.get(key, "")
    if value is None or isinstance(value, dict | list):
        raise _Wrong(f"{key} is text.", key)
    return str(value).strip()


def _strings(values: dict[str, Any], key: str) -> tuple[str, ...]:
    value = values.get(key)
    if value is None:
        return ()
    several = value if isinstance(value, list) else [value]
    for number, item in enumerate(several):
        if not isinstance(item, str | int | float) or not str(item).strip():
            raise _Wrong(f"{key} is text, or a list of texts.", key, number)
    return tuple(str(item) for item in several)


def _one_of(values: dict[str, Any], key: str, known: tuple[str, ...], default: str) -> str:
    value = values.get(key, default)
    if value not in known:
        near = get_close_matches(str(value), known, 1, 0.6)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise _Wrong(f"{key} is {value!r}; it is one of {', '.join(known)}.{hint}", key)
    return str(value)


def _number(values: dict[str, Any], key: str, low: float, high: float) -> float:
    value = values[key]
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise _Wrong(f"{key} is {value!r}; it is a number from {low:g} to {high:g}.", key)
    return float(value)


def _line(text: str, keys: tuple[Key, ...]) -> int:
    """The line of a value in the frontmatter, or of the nearest thing above it, from 1."""
    import yaml

    node = yaml.compose(text.split("\n---", 1)[0].lstrip("\ufeff").removeprefix("---"))
    line = 1
    for key in keys:
        if isinstance(node, yaml.MappingNode):
            pair = next(((k, v) for k, v in node.value if k.value == str(key)), None)
        elif isinstance(node, yaml.SequenceNode) and isinstance(key, int) and key < len(node.value):
            pair = (node.value[key], node.value[key])
        else:
            pair = None
        if pair is None:
            break
        line, node = pair[0].start_mark.line + 1, pair[1]
    return line
