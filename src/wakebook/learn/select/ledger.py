"""Ledger: what is known while a window is read, entries and drafts alike.

It starts as the log's current entries and takes in every draft as if it were logged at
once. So a later message sees the same ledger however the window was cut into deltas.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

from wakebook.base import words
from wakebook.capture.transcript import Message
from wakebook.learn.extract import Draft, Scene
from wakebook.learn.select.sentences import Sentence, sentences
from wakebook.log.entry import Entry, EntryKind, Status, Type, derived_id, slugify

_POINT = re.compile(r"\d+|\b(?:not?|never|without|cannot)\b|n't\b")
SAME = 0.8  # this alike, two entries of a type say the same


class Known(NamedTuple):
    id: str
    type: Type
    content: str
    subject: str
    status: Status | None
    terms: frozenset[str]
    order: int  # older is less


class Ledger:
    def __init__(self, current: Iterable[Entry]) -> None:
        self._entries = current
        self._known: dict[str, Known] | None = None
        self._by_term: dict[str, dict[str, None]] = {}
        self._count = 0

    def holds(self, draft: Draft) -> bool:
        """Whether something of its type says nearly the same already."""
        terms = words.terms(draft.content)
        for known in self._near(terms):
            if known.type != draft.type or known.status != draft.status:
                continue
            if known.content == draft.content:
                return True
            if draft.status == "open" and terms <= known.terms:
                return True  # "the load test" is the load test of the voucher burst
            same = words.alike(terms, known.terms) >= SAME and known.id not in draft.replaces
            if same and _points(draft.content) == _points(known.content):
                return True  # another number or a "not" would say something else
        return False

    def add(self, draft: Draft) -> None:
        for old in draft.replaces:
            self._remove(old)
        self._put(draft)

    def get(self, identity: str) -> Known | None:
        return self._all().get(identity)

    def latest(self, types: Sequence[Type], count: int) -> list[Known]:
        """The newest of these types, newest first."""
        found: list[Known] = []
        for known in reversed(self._all().values()):
            if known.type in types:
                found.append(known)
                if len(found) == count:
                    break
        return found

    def near(self, terms: frozenset[str]) -> list[Known]:
        """Everything that shares a term, oldest first."""
        return list(self._near(terms))

    def open_tasks(self, terms: frozenset[str]) -> list[Known]:
        """The open tasks that share a term."""
        return [one for one in self._near(terms) if one.type == "task" and one.status == "open"]

    def best(
        self, terms: frozenset[str], types: Sequence[Type], *, status: Status | None = None
    ) -> Known | None:
        """The one entry that these terms point to, or None if that is not clear.

        Two shared terms are needed, or one that is half of the shorter side. The newer wins
        a tie: it is of this session, if anything is.
        """
        found: Known | None = None
        top = 0.0
        for known in self._near(terms):
            if known.type not in types or (status and known.status != status):
                continue
            shared = len(terms & known.terms)
            least = min(len(terms), len(known.terms))
            score = shared + shared / len(known.terms)
            if (shared >= 2 or shared * 2 >= least) and score >= top:
                found, top = known, score
        return found

    def _near(self, terms: frozenset[str]) -> Iterator[Known]:
        everything = self._all()
        near: dict[str, None] = {}
        for term in terms:
            near.update(self._by_term.get(term, {}))
        return iter(sorted(map(everything.__getitem__, near), key=lambda known: known.order))

    def _all(self) -> dict[str, Known]:
        if self._known is None:
            self._known = {}
            for entry in self._entries:
                self._put(entry)
        return self._known

    def _put(self, item: Entry | Draft) -> None:
        if item.type == "handoff":
            return
        terms = words.terms(item.content)
        known = Known(
            item.id, item.type, item.content, item.subject, item.status, terms, self._count
        )
        self._count += 1
        self._all()[item.id] = known
        for term in terms:
            self._by_term.setdefault(term, {})[item.id] = None

    def _remove(self, identity: str) -> None:
        known = self._all().pop(identity, None)
        for term in known.terms if known else ():
            self._by_term[term].pop(identity, None)


def _points(text: str) -> list[str]:
    return sorted(_POINT.findall(text.lower()))


# -----------------------------------------------------------------------------
# Turn: one user message with what stands around it.

LONG = 9  # sentences: from here on a message may well hold somebody else's words
READ = 4  # sentences at each end of a very long message that are still the user's own


class Turn:
    """`agent` is what the agent said since the user spoke last, `recent` the user's last
    messages, this one included."""

    def __init__(
        self,
        message: Message,
        agent: tuple[Message, ...],
        recent: tuple[Message, ...],
        ledger: Ledger,
    ) -> None:
        self.message = message
        self.agent = agent
        self.recent = recent
        self.ledger = ledger
        said = sentences(message.text)
        self.long = len(said) >= LONG
        self.sentences: tuple[Sentence, ...] = said
        if len(said) > LONG * 2:
            self.sentences = said[:READ] + said[-READ:]

    @cached_property
    def agent_text(self) -> str:
        return "\n".join(message.text for message in self.agent)

    @cached_property
    def agent_turns(self) -> tuple[int, ...]:
        return tuple(message.turn for message in self.agent[-1:])

    @cached_property
    def agent_asked(self) -> str:
        """The question that the agent's last message ends with, if it does."""
        text = self.agent[-1].text[-800:].rstrip() if self.agent else ""
        said = sentences(text) if text.endswith("?") else ()
        return said[-1].text if said and said[-1].asked else ""

    @cached_property
    def user_asked(self) -> str:
        """The last question in the user's message before this one."""
        before = sentences(self.recent[-2].text[-1500:]) if len(self.recent) > 1 else ()
        return next((one.text for one in reversed(before) if one.asked), "")

    def says(self, known: Known) -> bool:
        """Whether the user said this lately, in this window."""
        return any(
            derived_id(message.id, known.type, known.content) == known.id for message in self.recent
        )


# -----------------------------------------------------------------------------
# Finding: what a rule saw in a message, before it becomes a draft.


class Finding(NamedTuple):
    type: Type
    content: str
    detail: str = ""
    kind: EntryKind | None = None
    status: Status | None = None
    replaces: tuple[str, ...] = ()
    turns: tuple[int, ...] = ()  # other turns that say it, besides the message itself
    weak: bool = False  # nobody's in particular: a reason, if it follows a choice


# -----------------------------------------------------------------------------
# Which subject an entry is about: a known name in its words, or the session's project.

_NEW = re.compile(
    r"\b(?:project|app|product|repo|codename|codenamed) (?:is |that is )?(?:called|named|codenamed)"
    r" (?-i:(?P<one>[A-Z][\w-]{2,30}))|\bthe (?-i:(?P<two>[A-Z][\w-]{2,30})) project\b",
    re.IGNORECASE,
)


def subject(finding: Finding, scene: Scene) -> str:
    """The slug for a finding, or nothing."""
    for text in (finding.content, finding.detail):
        known = named(text, scene.subjects)
        if known:
            return known
    new = _NEW.search(finding.content[:400])
    if new:
        return slugify(new.group("one") or new.group("two"))
    if finding.type == "fact" and not _about_work(finding.content):
        return ""
    return scene.subject


def named(text: str, subjects: Mapping[str, str]) -> str:
    """The slug of the longest known name that stands in the text as whole words."""
    if not subjects:
        return ""
    found = max(_pattern(tuple(subjects)).findall(text.lower()), key=len, default="")
    return subjects.get(found, "")


def _about_work(content: str) -> bool:
    return content.startswith(("We ", "We're ", "Our ", "The "))


@lru_cache(maxsize=8)
def _pattern(known: tuple[str, ...]) -> re.Pattern[str]:
    longest = sorted((name for name in known if name), key=len, reverse=True)
    return re.compile(r"(?<!\w)(?:" + "|".join(map(re.escape, longest)) + r")(?!\w)")
