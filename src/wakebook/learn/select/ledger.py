"""Ledger: what is known while a window is read, entries and drafts alike.

It starts as the log's current entries and takes in every draft as if it were logged at
once. So a later message sees the same ledger however the window was cut into deltas.
"""

import re
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from itertools import islice
from math import log
from typing import Any, NamedTuple

from wakebook.base import words
from wakebook.learn.about import everywhere
from wakebook.learn.extract import Draft, Heard
from wakebook.learn.select.said import bare_clauses, read, vector
from wakebook.log.entry import PARTLY, WAS, Entry, Status, Type

_POINT = re.compile(r"\d+|\b(?:not?|never|without|cannot)\b|n't\b")
SAME = 0.8  # this alike, two entries of a type say the same
NEWEST = 600  # that are looked at for their meaning
FAR = 0.2  # less alike than this, two sentences are about different things
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
    project: str = ""  # that it was said in, if that is known
    heard: Heard | None = None  # it was not kept
    said_in: tuple[object, ...] = ()  # the message
    was: str = ""  # what it has replaced
    partly: bool = False  # it was replaced in part; the rest may change, too


class Ledger:
    def __init__(self, current: Iterable[Entry], project: str = "") -> None:
        """`project`: that drafts are said in."""
        self._entries = current
        self.project = project
        self._known: dict[str, Known] | None = None
        self._by_term: dict[str, dict[str, None]] = {}
        self.count = 0  # of all that was ever put in
        self._questions: dict[str, Known] = {}
        self._unread: list[Known] = []  # facts and decisions here whose meaning nobody asked for
        self._read: list[Known] = []  # the newest of the others
        self._rows: Any = None  # a vector for each of these

    def holds(self, draft: Draft) -> bool:
        """Whether something of its type says nearly the same already, here or by "I"."""
        terms = words.terms(draft.content)
        few = sorted(terms, key=self.rarity)[-1 - int(len(terms) * (1 - SAME)) :]
        few += sorted(words.terms(" ".join(bare_clauses(draft.content))), key=self.rarity)[-1:]
        for known in self.near(frozenset(few)):  # what is nearly the same has one of these
            if (
                known.heard
                or known.partly
                or known.type != draft.type
                or known.status != draft.status
            ):
                continue
            if known.id not in draft.replaces and _within(draft.content, terms, known):
                here = not self.project or known.project in ("", self.project)
                if here or read(draft.content).person == "i":
                    return True
        return False

    def add(self, draft: Draft) -> None:
        for old in draft.replaces:
            self.forget(old)
        self._put(draft)

    def hear(self, heard: Heard) -> None:
        """Something that is not kept, but may be changed later."""
        terms = words.terms(heard.content)
        if heard.id not in self._all() and terms:
            project = heard.project if heard.transcript else self.project
            about: tuple[Type, str, str, None] = ("fact", heard.content, "", None)
            self._index(Known(heard.id, *about, terms, self.count, False, project, heard))

    def latest(self, count: int, here: AbstractSet[str], every: bool = False) -> list[Known]:
        """The newest facts and decisions, and what was said here, or anywhere (`every`), without
        being kept."""
        found = (
            known
            for known in reversed(self._all().values())
            if known.type in ("fact", "decision") and (not known.heard or every or known.id in here)
        )
        return list(islice(found, count))

    def questions(self) -> list[Known]:
        """Those that are open."""
        self._all()
        return list(self._questions.values())

    def tasks(self) -> list[Known]:
        """In the order in which they were given, or done."""
        return [one for one in self._all().values() if one.type == "task"]

    def open_tasks(self) -> list[Known]:
        return [one for one in self.tasks() if one.status == "open"]

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

    def meant(self, text: str, count: int) -> list[Known]:
        """The facts and decisions nearest to a text by their meaning, of the newest here."""
        import numpy as np

        everything, new = self._all(), self._unread[-NEWEST:]
        if new:
            rows = [np.array([vector(one.content) for one in new])]
            rows = rows if self._rows is None else [self._rows, *rows]
            self._rows = np.concatenate(rows)[-NEWEST:]
            self._read, self._unread = [*self._read, *new][-NEWEST:], []
        if not self._read:
            return []
        near = self._rows @ vector(text)
        order = (len(near) - 1 - place for place in np.argsort(-near[::-1], kind="stable"))
        found = (self._read[place] for place in order if near[place] >= FAR)
        return list(islice((one for one in found if one.id in everything), count))

    def rarity(self, term: str) -> float:
        """How much it says that two entries share a term."""
        return log((self.count + _USUAL) / (1 + len(self._by_term.get(term, ()))))

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
        fixed, project = False, self.project
        if isinstance(item, Entry):
            fixed = item.pinned or item.session == "manual"
            project = item.project
        about = (item.id, item.type, item.content, item.subject, item.status)
        message, was = _message(item), _was(item.detail)
        if item.detail.startswith(PARTLY) and item.replaces:
            rest: tuple[Type, str, str, None, frozenset[str], int, bool, str]
            rest = ("fact", was, item.subject, None, words.terms(was), self.count, False, project)
            self._index(Known(item.replaces[0], *rest, partly=True))
        known = Known(*about, terms, self.count, fixed, project, said_in=message, was=was)
        if item.type == "question":
            self._questions[known.id] = known
        self._index(known)

    def _index(self, known: Known) -> None:
        self.count += 1
        self._all()[known.id] = known
        here = known.project in ("", self.project) or everywhere(known.content)
        if known.type in ("fact", "decision") and here:
            self._unread.append(known)
        for term in known.terms:
            self._by_term.setdefault(term, {})[known.id] = None

    def forget(self, identity: str) -> None:
        known = self._all().pop(identity, None)
        self._questions.pop(identity, None)
        for term in known.terms if known else ():
            self._by_term[term].pop(identity, None)


def _was(detail: str) -> str:
    first = detail.partition("\n")[0]
    return first.partition(": ")[2] if first.startswith((WAS, PARTLY)) else ""


def _message(item: Entry | Draft) -> tuple[object, ...]:
    """What is the same for all that a message has said."""
    return (item.transcript, item.evidence) if isinstance(item, Entry) else (item.source,)


def _within(text: str, terms: frozenset[str], known: Known) -> bool:
    """Whether a sentence is nearly the same as what is known, or has none but clauses of it, all or
    some of their words. Another number or a "not" would say something else."""
    if words.alike(terms, known.terms) >= SAME and _points(text) == _points(known.content):
        return True
    ours, theirs = (bare_clauses(one.lower()) for one in (text, known.content))
    return (
        len(terms) > 1 and bool(ours) and all(any(_shortened(a, b) for b in theirs) for a in ours)
    )


def _shortened(text: str, whole: str) -> bool:
    rest = iter(whole.split())
    return _points(text) == _points(whole) and all(word in rest for word in text.split())


def _points(text: str) -> list[str]:
    return sorted(_POINT.findall(text.lower()))
