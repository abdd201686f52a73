"""The seam of extraction: messages in, drafts of entries out.

An extractor reads the new messages of one window, with the earlier ones as context, and
returns drafts. It never sets an entry's id, timestamp or session: those come from the message
that a draft came from. It may take fewer messages than it was given, and is asked again about
the rest. The rules do not depend on how a conversation was cut into deltas: reading it in two
steps gives what reading it at once gives.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, Protocol, TypeVar

import msgspec

from wakebook.base import words
from wakebook.base.text import one_line
from wakebook.capture.transcript import Message
from wakebook.learn.about import introduced
from wakebook.learn.phrases import cues, lower
from wakebook.log.entry import HEARD, ORIGIN, Entry, EntryKind, Status, Type, derived_id, slugify

RULES = "rules"
PARTLY = ", after rules"  # `by` of a handoff: rules have read a part of its window
_NEW = re.compile(
    r"\b(?:project|app|product|repo|codename|codenamed) (?:is |that is )?(?:called|named|codenamed)"
    r" (?-i:(?P<one>[A-Z][\w-]{2,30}))|\bthe (?-i:(?P<two>[A-Z][\w-]{2,30})) project\b",
    re.IGNORECASE,
)
_OWN = re.compile(r"\b(?:i|i'm|i've|i'd|i'll|my|me|ich|mein\w*|yo|mi|je|mon|ma)\b")
_WORK = re.compile(
    r"\b(?:we|we're|we've|our|us|repo|project|branch|deploy\w*|tests?|wir|unser\w*)\b"
)


class Heard(msgspec.Struct, frozen=True, kw_only=True):
    """A sentence of the user's that was not kept. It is, when a later one changes it."""

    content: str
    said: str  # the sentence itself; the content may begin with the one before
    source: str  # the id of its message
    turn: int
    session: str = ""  # this one and the next four: of another window's
    transcript: str = ""
    project: str = ""
    at: datetime | None = None

    @property
    def id(self) -> str:
        return derived_id(self.source, "fact", self.content)


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """What an extractor proposes. `source` is the id of the message that says it."""

    type: Type
    content: str
    source: str
    evidence: tuple[int, ...]
    detail: str = ""
    subject: str = ""
    subject_type: str = ""  # what a new subject is: a person, a project ...
    status: Status | None = None
    kind: EntryKind | None = None
    replaces: tuple[str, ...] = ()
    by: str = RULES
    origin: str = ""  # where it comes from, if neither the user nor the agent says it themselves
    heard: Heard | None = None  # where it was said, if that was in another window

    @property
    def id(self) -> str:
        return derived_id(self.source, self.type, self.content)

    def with_(self, **changes: Any) -> Draft:
        return msgspec.structs.replace(self, **changes)

    def entry(self, session: str, timestamp: datetime) -> Entry:
        """The draft as an entry of the log, as far as it says itself."""
        said = msgspec.structs.asdict(self)
        del said["source"], said["subject_type"], said["origin"], said["heard"]
        said["extra"] = {ORIGIN: self.origin} if self.origin else {}
        if self.heard:
            said["extra"] |= {HEARD: True}
        said["replaces"] = tuple(old for old in self.replaces if old != self.id)
        return Entry(id=self.id, timestamp=timestamp, session=session, **said)


class Scene(msgspec.Struct, frozen=True, kw_only=True):
    """What an extractor may know besides the messages themselves."""

    earlier: Sequence[Message] = ()  # the window so far, before the new messages
    current: Sequence[Entry] = ()  # the log's current (unreplaced) entries, oldest first
    subjects: Mapping[str, str] = {}  # every name and alias, lower-case -> slug
    people: frozenset[str] = frozenset()  # the slugs that are people's
    subject: str = ""  # the session's own project, if it has one
    project: str = ""  # that the conversation is about: a key of projects.json
    ends: bool = False  # the window ends with these messages: a handoff is due
    gone: frozenset[str] = frozenset()  # what entries of this window said that were replaced
    heard: Callable[[], Sequence[Heard]] = tuple  # what was said in other windows and not kept


class Extraction(msgspec.Struct, frozen=True, kw_only=True):
    drafts: list[Draft]
    taken: int  # of the new messages, from the first one on
    title: str = ""  # of the conversation, if the extractor has found one


class Extractor(Protocol):
    @property
    def name(self) -> str: ...

    def read(self, fresh: Sequence[Message], scene: Scene) -> Extraction:
        """Drafts from the new messages: tasks, facts, decisions, questions.

        When the window ends and all messages were taken, the last draft is the handoff, if
        anything was done in the window.
        """
        ...


def subject_types(drafts: Iterable[Draft]) -> dict[str, str]:
    """What new subjects are, by slug, as far as their drafts say."""
    return {one.subject: one.subject_type for one in drafts if one.subject_type}


def after(current: Iterable[Entry], new: Sequence[Entry]) -> list[Entry]:
    """The current entries once some new ones are in the log."""
    replaced = {old for entry in new for old in entry.replaces}
    known = {entry.id: entry for entry in (*current, *new)}
    return [entry for entry in known.values() if entry.id not in replaced]


def entry_line(ref: str, entry: Entry) -> str:
    """k3 [task, open, 2026-03-02, auth-migration] Write the backfill script"""
    kind = f"{entry.type}, {entry.status}" if entry.status else entry.type
    about = f", {entry.subject}" if entry.subject else ""
    content = one_line(entry.content, 400)
    detail = f" — {one_line(entry.detail, 200)}" if entry.detail else ""
    return f"{ref} [{kind}, {entry.timestamp:%Y-%m-%d}{about}] {content}{detail}"


# --- whether two readings of a conversation say the same -------------------------------------
# Another extractor finds other words for what was said, but at the same place: the turns
# that two things point at tell more than how they are worded.
MUCH = 0.6
ENOUGH = 0.3  # of the terms: to be the successor, if it was said at the same place

Reading = TypeVar("Reading", Draft, Entry)


def likeness(one: Draft | Entry, other: Entry) -> float:
    """How much two readings of the same conversation say the same. 0: not at all."""
    if "handoff" in (one.type, other.type) or not _near(one.evidence, other.evidence):
        return 0.0
    terms = words.terms(f"{one.content} {one.detail}")
    alike = words.alike(terms, words.terms(f"{other.content} {other.detail}"))
    return alike + 0.1 * (one.type == other.type)


def matches(new: Sequence[Reading], old: Sequence[Entry]) -> dict[str, Entry]:
    """New id -> the old entry that says the same, each at most once, the most alike first."""
    pairs = [
        (alike, -number, one, entry)
        for one in new
        for number, entry in enumerate(old)
        if (alike := likeness(one, entry)) >= ENOUGH
    ]
    pairs.sort(key=lambda pair: pair[:2], reverse=True)
    found: dict[str, Entry] = {}
    taken: set[str] = set()
    for _, _, one, entry in pairs:
        if one.id not in found and entry.id not in taken:
            found[one.id] = entry
            taken.add(entry.id)
    return found


def _near(one: Sequence[int], other: Sequence[int]) -> bool:
    return any(abs(a - b) <= 1 for a in one for b in other)


def subject(type_: str, content: str, scene: Scene) -> str:
    """The slug of what an entry is about, or nothing.

    The session's project is the subject of what is said there, but not of what is about the user:
    a dentist appointment is not about the project. A person is the subject of facts alone: a
    decision that was made with someone is not about them.
    """
    things = {name: slug for name, slug in scene.subjects.items() if slug not in scene.people}
    if known := named(content, things):
        return known
    low = content.lower()
    if type_ == "fact" and not (scene.subject and _WORK.search(low)):
        person = slugify(introduced(content)) or named(content, scene.subjects)
        if person:
            return person
    new = _NEW.search(content[:400])
    if new:
        return slugify(new.group("one") or new.group("two"))
    ours = type_ == "handoff" or _WORK.search(low)
    personal = (type_ == "fact" and _OWN.search(low)) or lower(cues.PERSONAL).search(low)
    return "" if personal and not ours else scene.subject


def named(text: str, subjects: Mapping[str, str]) -> str:
    """The slug of the longest known name that stands in the text as whole words."""
    if not subjects:
        return ""
    found = max(_pattern(tuple(subjects)).findall(text.lower()), key=len, default="")
    return subjects.get(found, "")


@lru_cache(maxsize=8)
def _pattern(known: tuple[str, ...]) -> re.Pattern[str]:
    longest = sorted((name for name in known if name), key=len, reverse=True)
    return re.compile(r"(?<!\w)(?:" + "|".join(map(re.escape, longest)) + r")(?!\w)")
