"""Ledger: what is known while a window is read, entries and drafts alike.

It starts as the log's current entries and takes in every draft as if it were logged at
once. So a later message sees the same ledger however the window was cut into deltas.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from math import log
from typing import NamedTuple

from wakebook.base import words
from wakebook.learn.extract import Draft, Scene
from wakebook.learn.phrases import cues, pattern
from wakebook.log.entry import Entry, Status, Type, slugify

_POINT = re.compile(r"\d+|\b(?:not?|never|without|cannot)\b|n't\b")
SAME = 0.8  # this alike, two entries of a type say the same
_COMMON = 50  # entries that have a term which says little
_USUAL = 20  # entries that a term's rarity is reckoned with beyond those there are


class Known(NamedTuple):
    id: str
    type: Type
    content: str
    subject: str
    status: Status | None
    terms: frozenset[str]
    order: int  # older is less
    fixed: bool = False  # a person wrote or pinned it


class Ledger:
    def __init__(self, current: Iterable[Entry]) -> None:
        self._entries = current
        self._known: dict[str, Known] | None = None
        self._by_term: dict[str, dict[str, None]] = {}
        self._count = 0

    def holds(self, draft: Draft) -> bool:
        """Whether something of its type says nearly the same already."""
        terms = words.terms(draft.content)
        few = sorted(terms, key=self.rarity)[-1 - int(len(terms) * (1 - SAME)) :]
        for known in self.near(frozenset(few)):  # what is nearly the same has one of these
            if known.type != draft.type or known.status != draft.status:
                continue
            if known.content == draft.content:
                return True
            same = words.alike(terms, known.terms) >= SAME and known.id not in draft.replaces
            if same and _points(draft.content) == _points(known.content):
                return True  # another number or a "not" would say something else
        return False

    def add(self, draft: Draft) -> None:
        for old in draft.replaces:
            self._remove(old)
        self._put(draft)

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
        everything = self._all()
        near: dict[str, None] = {}
        for term in terms:
            near.update(self._by_term.get(term, {}))
        return sorted(map(everything.__getitem__, near), key=lambda known: known.order)

    def nearest(self, terms: frozenset[str], count: int) -> list[Known]:
        """The facts and decisions that share most with these terms, weighted by rarity."""
        everything = self._all()
        shared: dict[str, float] = {}
        for term in sorted(terms, key=self.rarity, reverse=True):
            holders = self._by_term.get(term, {})
            if shared and len(holders) > _COMMON:
                break
            for identity in holders:
                shared[identity] = shared.get(identity, 0.0) + self.rarity(term)
        found = (
            (score, everything[identity].order, identity) for identity, score in shared.items()
        )
        known = (everything[one[2]] for one in sorted(found, reverse=True)[: count * 2])
        return [one for one in known if one.type in ("fact", "decision")][:count]

    def rarity(self, term: str) -> float:
        """How much it says that two entries share a term."""
        return log((self._count + _USUAL) / (1 + len(self._by_term.get(term, ()))))

    def best(
        self, terms: frozenset[str], types: Sequence[Type], *, status: Status | None = None
    ) -> Known | None:
        """The one entry that these terms point to, or None if that is not clear.

        Two shared terms are needed, or one that is half of the shorter side. The newer wins
        a tie: it is of this session, if anything is.
        """
        found: Known | None = None
        top = 0.0
        for known in self.near(terms):
            if known.type not in types or (status and known.status != status):
                continue
            shared = len(terms & known.terms)
            least = min(len(terms), len(known.terms))
            score = shared + shared / len(known.terms)
            if (shared >= 2 or shared * 2 >= least) and score >= top:
                found, top = known, score
        return found

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
        fixed = isinstance(item, Entry) and (item.pinned or item.session == "manual")
        known = Known(
            item.id, item.type, item.content, item.subject, item.status, terms, self._count, fixed
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


# --- which subject an entry is about: a known name in its words, or the session's project ----
_NEW = re.compile(
    r"\b(?:project|app|product|repo|codename|codenamed) (?:is |that is )?(?:called|named|codenamed)"
    r" (?-i:(?P<one>[A-Z][\w-]{2,30}))|\bthe (?-i:(?P<two>[A-Z][\w-]{2,30})) project\b",
    re.IGNORECASE,
)
_OWN = re.compile(r"\b(?:i|i'm|i've|i'd|i'll|my|me|ich|mein\w*|yo|mi|je|mon|ma)\b")
_WORK = re.compile(
    r"\b(?:we|we're|we've|our|us|repo|project|branch|deploy\w*|tests?|wir|unser\w*)\b"
)


def subject(type_: str, content: str, scene: Scene) -> str:
    """The slug of what an entry is about, or nothing.

    The session's project is the subject of what is said there, but not of what is about the user:
    a dentist appointment is not about the project.
    """
    known = named(content, scene.subjects)
    if known:
        return known
    new = _NEW.search(content[:400])
    if new:
        return slugify(new.group("one") or new.group("two"))
    low = content.lower()
    ours = type_ == "handoff" or _WORK.search(low)
    personal = (type_ == "fact" and _OWN.search(low)) or pattern(cues.PERSONAL).search(low)
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
