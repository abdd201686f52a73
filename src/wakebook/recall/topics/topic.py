"""Topic: a playbook with triggers, as its file says."""

import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from difflib import get_close_matches
from functools import cache
from importlib import resources
from pathlib import PurePosixPath
from typing import Any

import msgspec

from wakebook.base import markdown
from wakebook.base.home import Home
from wakebook.base.text import whole
from wakebook.recall.topics import triggers

TYPES = tuple("pattern keyword glob mention url code language urgency webhook cron".split())
SCOPES = ("input", "output", "both")
ACTIVATIONS = ("auto", "gated", "manual")
PRIORITIES = ("low", "medium", "high", "critical")
MAX_CONTEXT_KB = 4.0
EVENTS = ("webhook", "cron")  # triggers that no message matches
UNFILLED = "## Instructions\n\n1. What the agent should do when this comes up."


class Trigger(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    type: str
    match: tuple[str, ...] = ()
    scope: str = "input"  # input, output, both
    hint: str = ""  # what to tell the agent on its next turn, if its own words matched
    source: str = ""  # of a webhook
    event: str = ""  # of a webhook; empty: any
    schedule: str = ""  # of a cron trigger

    def sees(self, direction: str) -> bool:
        return self.scope in (direction, "both")

    @property
    def observes(self) -> bool:
        """Whether it looks at what the agent does: at its words, or at the files of its tools."""
        return self.sees("output") or self.type == "glob"

    @property
    def label(self) -> str:
        """For people: what kind of trigger, and what it looks for."""
        what = ", ".join(self.match) or self.schedule or ":".join(filter(None, self.place))
        return f"{self.type} {what}".strip()

    @property
    def place(self) -> tuple[str, str]:
        return self.source, self.event


class Topic(msgspec.Struct, frozen=True, kw_only=True):
    name: str  # its path below topics/, without .md
    path: str  # below the home
    title: str = ""
    description: str = ""
    triggers: tuple[Trigger, ...] = ()
    subscriptions: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()  # told there alone; none: everywhere
    activation: str = "gated"
    priority: str = "medium"
    threshold: float | None = None  # its own, instead of the settings'
    max_context_kb: float = MAX_CONTEXT_KB
    body: str = ""

    @property
    def rank(self) -> int:
        """The higher, the more important."""
        return PRIORITIES.index(self.priority)

    @property
    def about(self) -> str:
        """What it is about, in a line: if nothing else says so, the first that is no heading."""
        lines = (line.strip() for line in self.body.splitlines())
        first = next((line for line in lines if line and not line.startswith("#")), "")
        return self.description or first or self.title or self.name

    @property
    def is_filled_in(self) -> bool:
        """Whether it says what the agent should do."""
        return self.body.strip() != UNFILLED

    @property
    def is_sample(self) -> bool:
        """Whether it says what the sample of a new home says: nobody has edited it."""
        sample = _sample()
        return self.body == sample.body and self.triggers == sample.triggers

    @property
    def waits_for_events(self) -> bool:
        """Whether nothing but events brings it: what is said does not, however alike it is."""
        return bool(self.triggers) and all(one.type in EVENTS for one in self.triggers)

    def hint(self, trigger: Trigger) -> str:
        return trigger.hint or self.about


@cache
def _sample() -> Topic:
    name = "topics/release-day.md"
    text = (resources.files("wakebook") / "starter" / name).read_text(encoding="utf-8")
    found = parse(name, text)
    assert isinstance(found, Topic)
    return found


class BadTopic(msgspec.Struct, frozen=True):
    """A file that is no topic, or not yet."""

    path: str
    line: int
    problem: str

    def __str__(self) -> str:
        return f"{whole(self.path)}:{self.line}: {self.problem}"


# Files: topics/*.md -> Topics. A file with a mistake is reported with its line and skipped.
# The folder is looked at for every message, so what was read is kept until a file's size or time
# changes.

FOLDER = "topics"
LARGEST = 256 << 10  # bytes of a topic file
MOST_KB = 1024
KEYS = """type description triggers subscriptions projects activation priority similarity_threshold
    max_context_kb""".split()
TRIGGER_KEYS = "type match scope hint correction_hint source event schedule".split()
_SEEN = ("pattern", "keyword", "glob", "mention", "language")  # these say what they look for

_COMMENTS = re.compile(r"^[ \t]*<!--(?:(?!-->)[\s\S])*-->[ \t]*\n?", re.MULTILINE)
Key = str | int
Listed = tuple[str, int, int, int, int]  # path, size, and what else changes with a file


class Read(msgspec.Struct, frozen=True):
    """The topics of a home, by name, and the files that are none."""

    topics: tuple[Topic, ...]
    bad: tuple[BadTopic, ...]

    @property
    def told(self) -> tuple[Topic, ...]:
        """All but the sample of a new home, as long as nobody has edited it."""
        return tuple(topic for topic in self.topics if not topic.is_sample)

    def get(self, name: str) -> Topic | None:
        return next((topic for topic in self.topics if topic.name == name), None)


class TopicFiles:
    """The topics of one home, kept until their files change."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._kept: tuple[tuple[Listed, ...], dict[Listed, Topic | BadTopic], Read] | None = None

    def read(self) -> Read:
        signature = tuple(sorted(_listed(self._home.root / FOLDER, FOLDER)))
        kept = self._kept
        if kept is not None and kept[0] == signature:
            return kept[2]
        known = kept[1] if kept else {}
        found = {one: known.get(one) or self._file(one) for one in signature}
        read = Read(
            tuple(item for item in found.values() if isinstance(item, Topic)),
            tuple(item for item in found.values() if isinstance(item, BadTopic)),
        )
        self._kept = (signature, found, read)  # at once: there may be several threads
        return read

    def _file(self, one: Listed) -> Topic | BadTopic:
        path, size = one[0], one[1]
        if size < 0:
            return BadTopic(path, 0, "cannot be read. `ls -ld` shows who may.")
        if whole(path) != path:
            return BadTopic(path, 1, "its name is not UTF-8. Rename it.")
        if not stat.S_ISREG(os.lstat(self._home.root / path).st_mode):
            return BadTopic(path, 1, "a link, or no file at all. Put the file itself here.")
        if size > LARGEST:
            return BadTopic(path, 1, f"larger than {LARGEST >> 10} KB. Shorten it.")
        try:
            text = (self._home.root / path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            return BadTopic(path, 1, "not UTF-8. Save it as UTF-8.")
        except OSError as error:
            return BadTopic(path, 1, f"cannot be read: {error.strerror}.")
        return parse(path, text)


def _listed(folder: os.PathLike[str], below: str) -> Iterator[Listed]:
    try:
        found = list(os.scandir(folder))
    except FileNotFoundError:
        return
    except OSError:
        yield below, -1, 0, 0, 0  # to be reported
        return
    for item in found:
        if item.name[0] in "._":
            continue
        path = f"{below}/{item.name}"
        if item.is_dir(follow_symlinks=False):
            yield from _listed(item, path)
        elif item.name.endswith(".md"):
            with suppress(OSError):  # an editor has just replaced it
                known = item.stat(follow_symlinks=False)
                yield path, known.st_size, known.st_mtime_ns, known.st_ctime_ns, known.st_ino


class _Wrong(Exception):
    """What is wrong, and where in the frontmatter."""

    def __init__(self, problem: str, *keys: Key) -> None:
        self.problem, self.keys = problem, keys


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
        raise _Wrong(f"type is {_shown(values.get('type'))}; a topic says `type: topic`.", "type")
    _known(values, KEYS)
    rest = _COMMENTS.sub("", body).lstrip()
    first, _, below = rest.partition("\n")
    title, rest = (first[2:].strip(), below) if first.startswith("# ") else ("", rest)
    subscriptions = _strings(values, "subscriptions")
    for number, name in enumerate(subscriptions):
        there = PurePosixPath(name)
        odd = there.is_absolute() or any(part.startswith(".") for part in there.parts)
        if odd or there.suffix not in (".md", ".txt") or not name.isprintable():
            problem = f"{name!r} is no note below the home, like knowledge/reference/tools.md."
            raise _Wrong(problem, "subscriptions", number)
    if not rest.strip() and not subscriptions:
        raise _Wrong("it has neither instructions nor subscriptions.")
    return Topic(
        name=path.removeprefix(f"{FOLDER}/").removesuffix(".md"),
        path=path,
        title=title,
        description=" ".join(_string(values, "description").split()),
        triggers=tuple(_triggers(values.get("triggers"))),
        subscriptions=subscriptions,
        projects=_strings(values, "projects"),
        activation=_one_of(values, "activation", ACTIVATIONS, "gated"),
        priority=_one_of(values, "priority", PRIORITIES, "medium"),
        threshold=None
        if values.get("similarity_threshold") is None
        else _number(values, "similarity_threshold", 0, 1),
        max_context_kb=_number(values, "max_context_kb", 0.1, MOST_KB, MAX_CONTEXT_KB),
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
    if problem := triggers.bad_schedule(trigger.schedule) if kind == "cron" else "":
        raise _Wrong(problem, "schedule")
    for number, text in enumerate(match):
        if problem := triggers.problem(kind, text):
            raise _Wrong(problem, "match", number)
    return trigger


def _known(values: dict[str, Any], known: list[str]) -> None:
    """Other keys may belong to other programs; one that is nearly ours is a typing mistake."""
    for key in values:
        near = () if key in known else get_close_matches(str(key)[:40], known, 1, 0.75)
        if near:
            raise _Wrong(f"unknown key {key!r}; did you mean {near[0]!r}?", key)


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
        if isinstance(item, bool | float | int):  # on, no, 1.10, 12:30: YAML reads more into it
            raise _Wrong(f"{key}: {item} is not read as text. Put it into quotes.", key, number)
        if not isinstance(item, str) or not item.strip():
            raise _Wrong(f"{key} is text, or a list of texts.", key, number)
    return tuple(item.strip("\r\n") for item in several)


def _one_of(values: dict[str, Any], key: str, known: tuple[str, ...], default: str) -> str:
    value = values.get(key, default)
    if not isinstance(value, str) or value not in known:
        near = get_close_matches(value[:40], known, 1, 0.6) if isinstance(value, str) else ()
        hint = f" Did you mean {near[0]}?" if near else ""
        raise _Wrong(f"{key} is {_shown(value)}; it is one of {', '.join(known)}.{hint}", key)
    return value


def _number(
    values: dict[str, Any], key: str, low: float, high: float, default: float = 0.0
) -> float:
    value = values.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise _Wrong(f"{key} is {_shown(value)}; it is a number from {low:g} to {high:g}.", key)
    return float(value)


def _shown(value: Any) -> str:
    """A value for a message. What is made of others may be larger than memory."""
    if isinstance(value, list | dict):
        return f"a {type(value).__name__}"
    return repr(value if not isinstance(value, str) else value[:80])


def _line(text: str, keys: tuple[Key, ...]) -> int:
    """The line of a value in the frontmatter, or of the nearest thing above it, from 1."""
    import yaml

    source = text.split("\n---", 1)[0].lstrip("\ufeff").removeprefix("---")
    node = yaml.compose(source, Loader=markdown.loader())
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
