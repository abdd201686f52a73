"""About: what is true of the user and the people and things around them, the most lasting first.

Every clause is weighed by its form alone (about.json): what someone is, has, prefers, does again
and again or asks for once and for all lasts; what happened once, is being considered or is asked
for right now does not. Work on a project belongs to the project. What was replaced is never told.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from pathlib import Path

from wakebook.base import words
from wakebook.learn.phrases import Phrases, pattern
from wakebook.log.entry import Entry
from wakebook.log.subjects import Registry

ENOUGH = 3  # points
MOST = 25
EACH = 3  # lines out of one conversation
PASSING = -3  # points of a clause that casts doubt on the others
LONG = 30  # words: said in passing
ALIKE, NEAR = 0.5, 0.4  # of all terms; of the shorter one's, in one conversation

forms = Phrases(Path(__file__).with_name("about.json"))


def about(entries: Iterable[Entry], registry: Registry, most: int = MOST) -> list[Entry]:
    """What to tell of the user, out of the entries that hold."""
    weighed = [(points(entry, registry), entry) for entry in entries]
    found = [(point, one) for point, one in weighed if point >= (1 if one.pinned else ENOUGH)]
    found.sort(key=lambda pair: (pair[1].pinned, pair[0], pair[1].timestamp), reverse=True)
    told: list[Entry] = []
    for _, entry in found:
        talk = [one for one in told if entry.transcript and one.transcript == entry.transcript]
        again = next((place for place, one in enumerate(told) if _same(entry, one)), None)
        if again is None and len(talk) < EACH:
            told.append(entry)
        elif again is not None and entry.timestamp > told[again].timestamp:
            told[again] = entry  # the newest of those that say the same
    return told[:most]


def points(entry: Entry, registry: Registry) -> int:
    """How lasting a truth about the user an entry is; 0 if it is none."""
    if entry.type != "fact" or entry.kind in ("lesson", "procedure", "event"):
        return 0
    text, kind = entry.content, entry.kind
    subject = registry.subjects.get(registry.canonical(entry.subject))
    person = subject is not None and subject.type == "person"
    instructs = kind == "preference" and _has(forms.ORDER, text, at_start=True)
    if entry.subject and not person and (kind != "preference" or _has(forms.WORK, text)):
        return 0
    if _has(forms.ASKS, text) and not instructs:
        return 0
    own = _has(forms.FIRST, text) or (_has(forms.OURS, text) and _has(_kin(), text))
    if not own and not person and kind not in ("preference", "relationship"):
        return 0
    clauses = [_form(clause) for clause in pattern(forms.CLAUSE).split(text)]
    first = next((one for one in clauses if one), 0)
    doubted = first if not _has(forms.DOUBTS, text) else min(clauses)
    best = max(clauses) - (doubted <= PASSING)
    known = 2 * (person or kind == "relationship")
    aside = (len(text.split()) > LONG) + _has(forms.GOES_ON, text, at_start=True)
    return best + known + 4 * instructs - aside


def _has(text: str, said: str, at_start: bool = False) -> bool:
    found = pattern(text)
    return (found.match(said) if at_start else found.search(said)) is not None


def _kin() -> str:
    return rf"\b(?:{forms.KIN}|{forms.PETS})\b"


@cache
def _forms() -> list[tuple[int, re.Pattern[str]]]:
    return [(int(name.split()[0]), pattern(text)) for name, text in forms.FORMS.items()]


@lru_cache(8192)  # the same log is weighed again and again
def _form(clause: str) -> int:
    return sum(point for point, form in _forms() if form.search(clause))


def _same(one: Entry, other: Entry) -> bool:
    """Whether two entries say the same, or belong together."""
    left, right = words.terms(one.content), words.terms(other.content)
    least, shared = min(len(left), len(right)), len(left & right)
    talk = one.transcript and one.transcript == other.transcript
    return words.alike(left, right) >= ALIKE or shared >= max(3, (NEAR if talk else 0.75) * least)
