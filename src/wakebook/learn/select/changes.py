"""What a new sentence changes: a value that it replaces, or a task that it reports as done.

A replacement needs strong evidence: the old value named and taken back, or the same frame with
another value of the same kind. In doubt both stand, the newer first.
"""

import re
from collections.abc import Set as AbstractSet
from functools import lru_cache
from math import log
from typing import NamedTuple

from wakebook.base import words
from wakebook.learn.phrases import cues, lower
from wakebook.learn.select.ledger import Known, Ledger
from wakebook.learn.select.said import (
    KINDS,
    OF_CHANGE,
    Said,
    different,
    read,
    units,
    usual,
)
from wakebook.learn.select.speech import split
from wakebook.learn.select.worth import chance, embedder, vector, vectors, weights

NEAREST = 12  # entries that a sentence is compared with
RECENT = 16  # statements back that a change may mean without a word in common
FACTS = 200  # back, of which a person has one at a time: a home, a job
FAVOURITE = 0.35  # likely enough where only one can be the favourite
SAME_WORD = 0.8  # this near, two words are one
KIN = 0.55  # this near, two words mean much the same
_OF_OLD = words.listed("corrects moves ends events past plans")  # cues that say something of a pair
_OF_NEW = _OF_OLD | {"also", "stays"}
_FLOAT = re.compile(r"\d+(?:\.\d+)?")


class Change(NamedTuple):
    target: Known
    elliptic: bool  # the sentence cannot be understood without what it corrects


class Place(NamedTuple):
    """Where a sentence is said."""

    here: AbstractSet[str] = frozenset()  # ids of what this window has said
    project: str = ""
    agent: str = ""  # what the agent has just said, which a bare "no, 45" corrects
    message: str = ""  # that the sentence stands in: it may name the thing
    worth: float = 0.0  # of the sentence itself; 0 is enough to be kept


def replaced(text: str, ledger: Ledger, place: Place) -> Change | None:
    """What a sentence replaces, if that is clear."""
    known, least = weights().changes, weights().changes_threshold
    found = [(chance(known, seen), one.order, one) for one, seen in compared(text, ledger, place)]
    likely, _, target = max(found) if found else (0.0, 0, None)
    if target and _favourite(read(text), read(target.content)):
        least = FAVOURITE
    if target and likely >= ((1 + least) / 2 if target.fixed else least):
        return Change(target, elliptic(text, target))
    repeated = _repeated(text, ledger, place.agent[-800:]) if bare(text) else None
    return Change(repeated, elliptic=True) if repeated else None


def _favourite(new: Said, old: Said) -> bool:
    """Whether both say what someone's favourite is, of the same kind of thing."""
    things = new.about & old.frame - usual() - words.terms("favourite favorite")
    return "favourite" in new.cues & old.cues and bool(things)


def compared(text: str, ledger: Ledger, place: Place) -> list[tuple[Known, dict[str, float]]]:
    """The entries that a sentence may be about, and what speaks for a change of each."""
    new = read(text)
    near = [one for one in _candidates(new, ledger, place) if _may(new, one, place)]
    seen = [(one, features(new, one, ledger, place)) for one in near]
    likeness = [found.pop("alike") + found["near"] / 2 for _, found in seen]
    for (_, found), alike in zip(seen, likeness, strict=True):
        found["nearest"] = float(alike == max(likeness))
    return seen


def bare(text: str) -> bool:
    """Whether a correction says nothing but the new value: "no, 45", "sorry, I meant Friday"."""
    new = read(text)
    return "corrects" in new.change and not new.about


def _repeated(text: str, ledger: Ledger, agent: str) -> Known | None:
    """What the agent has just repeated with the value that a bare "no, 45" corrects."""
    terms = words.terms(agent)
    said, ours = read(agent).values, read(text).values
    found = []
    for known in ledger.near(terms):
        shared, theirs = len(terms & known.terms), read(known.content).values
        corrected = any(theirs[kind] & said[kind] for kind in different(ours, theirs))
        enough = shared > 1 and shared * 2 >= len(known.terms - theirs["number"])
        if known.type in ("fact", "decision") and enough and corrected:
            found.append((shared, known.order, known))
    return max(found)[2] if found else None


def _candidates(new: Said, ledger: Ledger, place: Place) -> list[Known]:
    """The facts and decisions nearest to a sentence; for one that says that it changes something,
    also those nearest to its message, and the latest here."""
    terms = new.terms - usual()
    near = ledger.nearest(terms, NEAREST)
    slots = frozenset(it for it in new.cues if it.startswith("slot"))
    if slots:
        near += [one for one in ledger.latest(FACTS, place.here) if read(one.content).cues & slots]
    if new.cues & OF_CHANGE or new.back or new.lost:
        if place.message != new.text:
            near += ledger.nearest(terms | read(place.message).terms - usual(), NEAREST)
        latest = ledger.latest(RECENT, place.here)
        near += [one for one in latest if one.project == place.project or one.id in place.here]
    return list({one.id: one for one in near}.values())


def _may(new: Said, known: Known, place: Place) -> bool:
    """Whether it can change an entry at all: plans, repetitions and other things cannot."""
    old = read(known.content)
    kinds = different(new.values, old.values) - {"degree"}
    cued = bool(new.cues & OF_CHANGE)
    slot = any(cue.startswith("slot") or cue == "favourite" for cue in new.cues & old.cues)
    if place.project and known.project and place.project != known.project and not slot:
        return False
    if {"former", "hypothetical"} & new.cues or "former" in old.cues:
        return False
    close = kinds and len(new.about & old.frame - usual()) > 1
    if new.planned and not close:
        return False
    if old.planned and not new.cues & {"corrects", "ends"} and not close:
        return False
    if (known.fixed and "corrects" not in new.cues) or (new.terms <= old.terms and not cued):
        return False
    if "stays" in new.cues and not kinds and not new.back:
        return False
    taken = any(one <= old.bare for one, _ in new.back)
    lost = _lost(new, old)
    if not taken and any(map(str.isdigit, frozenset().union(*(one for one, _ in new.back)))):
        return False  # a number of something else is taken back
    if not (taken or lost) and (_told(old, new) or ("ends" not in new.cues and _told(new, old))):
        return False  # one has all the values of the other
    shared = any(new.values[kind] & old.values[kind] for kind in KINDS[:3])
    if shared and not (kinds or taken or lost or slot or new.cues & OF_CHANGE - {"changes"}):
        return False  # it adds something
    told = cued or new.back or slot or lost
    if not told and not (
        kinds and (new.terms & old.terms - usual() or new.concepts & old.concepts)
    ):
        return False
    if not new.about:  # "no, 45"
        numbers = new.values["number"], old.values["number"]
        dated = any(new.values[kind] & old.values[kind] for kind in ("day", "name"))
        alike = dated or kinds - {"number"} or _close(*numbers) or _same_shape(*numbers)
        return known.id in place.here and (taken if new.back else bool(kinds and alike))
    return (bool(told) or not _modified(new, old)) and not _apart(new, old)


def _lost(new: Said, old: Said) -> frozenset[str]:
    """What the new sentence says is out, of what the old one says without saying so itself."""
    gone = new.lost & old.terms - usual()
    return frozenset() if gone and lower(cues.LOST).search(old.low) else gone


def _modified(new: Said, old: Said) -> bool:
    """Whether both have a word with another one before it: "rye loaf" and "spelt loaf"."""
    both = new.before.keys() & old.before.keys()
    return any(new.before[it] not in old.terms and old.before[it] not in new.terms for it in both)


def _told(one: Said, other: Said) -> bool:
    """Whether a sentence has values, and the other has all of them."""
    ours = [one.values[kind] for kind in KINDS]
    return any(ours) and all(it <= other.values[kind] for it, kind in zip(ours, KINDS, strict=True))


def _apart(new: Said, old: Said) -> bool:
    """Whether two sentences are about different people, years or kinds of a thing."""
    years = [frozenset(lower(cues.PERIOD).findall(one.low)) for one in (new, old)]
    if all(years) and years[0] != years[1]:
        return True
    named = words.leads(new.text) and not new.back  # "Marek took plot 17", "Lena's manager is Ben"
    mine = old.low.startswith("i ") or (
        old.person == "i" and new.low.partition(" ")[0].endswith("'s")
    )
    returns = [lower(cues.RETURNS).search(one.low) is not None for one in (new, old)]
    if returns[0] != returns[1] or (named and mine):
        return True
    ours, theirs = new.kin, old.kin
    if ours and theirs:
        return ours[0] != theirs[0] or (all((ours[1], theirs[1])) and ours[1] != theirs[1])
    cued = bool(new.cues & OF_CHANGE)
    if ours or theirs:
        same = bool(ours and words.terms(" ".join(ours)) & old.terms)
        return (old if ours else new).person in ("i", "we") or bool(ours and not (cued or same))
    another = lower(cues.ANOTHER).match(new.low, new.lead)
    if another and not cued and not words.terms(another.group()) <= old.terms:
        return True
    numbered = lower(cues.NUMBERED).match(new.low, new.lead)
    if numbered and not cued and numbered["number"] not in old.low and numbered["thing"] in old.low:
        return True
    if new.head & old.head and new.head - old.terms:
        return bool(old.head - new.terms) or not cued
    return False


def features(new: Said, known: Known, ledger: Ledger, place: Place) -> dict[str, float]:
    """What speaks for and against a sentence giving an entry's thing another value."""
    old = _part(new, known.content)
    shared = new.about & old.frame - usual() - units()
    other = different(new.values, old.values)
    backed = [(it, alone) for it, alone in new.back if it <= old.bare]
    named = any(
        alone or shared - it or (len(it) > 1 and any(map(str.isdigit, it)))  # "26 November"
        for it, alone in backed
    )
    hits, rare, sibling = _hits(new.words, old.words, ledger)
    concepts = new.concepts & old.concepts
    context = words.terms(f"{place.message} {place.agent[-400:]}") - new.terms
    here = known.id in place.here
    last = here and ledger.count - known.order <= 2
    corrects = "corrects" in new.cues
    slot = any(cue.startswith("slot") for cue in new.cues & old.cues)
    slot = slot or (bool(shared) and "favourite" in new.cues & old.cues)
    heads = [bool(one.head) and one.head <= two.terms for one, two in ((new, old), (old, new))]
    numbers = new.values["number"], old.values["number"]
    more = (new.before.keys() & old.terms) - old.before.keys()
    ranks = sorted(map(_rank, shared), reverse=True)
    # fmt: off
    flags = {
        "named": named, "back, not named": new.back and not named, "back": backed,
        "corrects last": last and corrects, "bare here": here and corrects and not new.about,
        "cued": new.cues & OF_CHANGE, "slot": slot,
        "slot, other": slot and other & {"name", "number"}, "head in": any(heads),
        "same number": any(new.values[kind] & old.values[kind] for kind in ("number", "day")),
        "same name": new.values["name"] & old.values["name"], "nothing new": new.terms <= old.terms,
        "unit, hit": new.units & old.units and hits and "number" in other,
        "shape": _same_shape(*numbers), "close": _close(*numbers),
        "project same": place.project and place.project == known.project,
        "shared 1": len(shared) == 1, "lost": _lost(new, old), "concept": concepts,
        "no concept, hit": not concepts and not hits,
        "concepts apart": new.concepts and old.concepts and not concepts, "old states": old.states,
        "owner same": new.owners & old.owners, "owner apart": new.owners != old.owners,
        "modified": any(new.before[it] not in old.terms for it in more), "old planned": old.planned,
        "long": max(len(new.terms), len(old.terms)) > 12, "weaker": place.worth < -0.3,
        "new short": len(new.terms) < 5, "old short": len(old.terms) < 5,
    }
    # fmt: on
    seen = {name for name, yes in flags.items() if yes}
    seen |= {f"new {name}" for name in new.cues & _OF_NEW}
    seen |= {f"old {name}" for name in old.cues & _OF_OLD}
    return dict.fromkeys(seen, 1.0) | {
        "near": float(vector(new.text) @ vector(old.text)),
        "alike": _overlap(new.terms, old.terms, ledger),
        "rare": rare,
        "sibling": sibling,
        "around": _overlap(context, old.terms, ledger),
        "inner": _nearest_clause(new, old),
        "rest old": min(len(old.frame - new.terms - usual()), 6) / 6,
        "known words": sum(ranks[:2]) / 2,
        "known word, other": ranks[0] if ranks and (other or named) else 0.0,
        **_valued(new, old, ledger),
    }


_CLAUSES = re.compile(
    r"[;()–—]|[,:.](?=\s)| - | (?:so|because|and|but|since|which|though|although) "
)
_KINDS = {
    "money": re.compile(r"[$€£¥]|\b(?:dollars?|euros?|eur|usd|bucks|pounds|grand)\b"),
    "clock": re.compile(r"\d ?[ap]\.?m\b|\b\d{1,2}:\d\d|o'clock|\bnoon\b"),
    "share": re.compile(r"%|\bpercent\b"),
}


class _Valued(NamedTuple):
    """A clause with a value."""

    values: frozenset[str]
    kinds: frozenset[str]
    rest: str  # without the values
    terms: frozenset[str]


@lru_cache(maxsize=8192)
def _clauses(text: str) -> tuple[_Valued, ...]:
    whole, found = read(text).values, []
    for clause in _CLAUSES.split(text):
        one, terms = read(clause), words.terms(clause)
        ours = {kind: one.values[kind] | (whole[kind] & terms) for kind in KINDS[:3]}
        kinds = {kind for kind, values in ours.items() if values}
        special = {kind for kind, sign in _KINDS.items() if sign.search(one.low)}
        rest, values = one.low, frozenset().union(*ours.values())
        for value in sorted(values, key=len, reverse=True):
            rest = rest.replace(value, " ")
        if values:
            kinds = (kinds - {"number"} if special else kinds) | special
            terms = words.terms(rest) - usual()
            found.append(_Valued(values, frozenset(kinds), rest, terms))
    return tuple(found)


def _valued(new: Said, old: Said, ledger: Ledger) -> dict[str, float]:
    """How near two clauses are whose values differ, without these: "my best is" 27:12 and 25:50."""
    found = [
        (near + _overlap(one.terms, two.terms, ledger), near, kinds)
        for one in _clauses(new.text)
        for two in _clauses(old.text)
        if (kinds := one.kinds & two.kinds)
        and not (one.values <= two.values or two.values <= one.values)
        for near in [float(vector(one.rest) @ vector(two.rest))]
    ]
    if not found:
        return {}
    _, near, kinds = max(found, key=lambda it: it[0])
    counted = {"valued number": near} if "number" in kinds else {}
    return counted | ({"valued day": 1.0} if "day" in kinds else {})


@lru_cache(maxsize=8192)
def _rank(term: str) -> float:
    """How rare a word is in English, from 0 to 1."""
    place = embedder().rank(term)
    return 1.0 if place is None else min(1.0, log(1 + place / 500) / log(60))


def _nearest_clause(new: Said, old: Said) -> float:
    """How near the nearest two clauses are: a change is often told by the way."""
    ours, theirs = ([it for it in one.clauses if len(words.terms(it)) > 1] for one in (new, old))
    near = vectors((*ours, new.text)) @ vectors((*theirs, old.text)).T
    return float(near.max())


def _part(new: Said, content: str) -> Said:
    """The sentence of an entry that shares most with a new one."""
    parts = [read(part) for part in split(content)]
    if len(parts) < 2:
        return read(content)
    shared = [len(one.terms & new.terms - usual()) for one in parts]
    return max(zip(shared, range(len(parts)), parts, strict=True))[2]


def _hits(one: tuple[str, ...], other: tuple[str, ...], ledger: Ledger) -> tuple[int, float, float]:
    """How many words the other has, or kin of them; how rare the rarest of these is.

    And how near two of the words come that are not the same: "vegetarian" and "vegan".
    """
    if not one or not other:
        return 0, 0.0, 0.0
    both = vectors(one) @ vectors(other).T
    best = both.max(axis=1)
    apart = both[both < SAME_WORD]
    sibling = float(apart.max()) if apart.size else 0.0
    stems = {words.stem(it)[:6] for it in other}
    kin = [words.stem(it) for it, near in zip(one, best, strict=True) if near > KIN]
    kin += [it for it in map(words.stem, one) if it[:6] in stems]
    rarest = max(map(ledger.rarity, kin), default=0.0)
    return len(set(kin)), rarest / ledger.rarity(""), sibling


def _close(ours: frozenset[str], theirs: frozenset[str]) -> bool:
    """Whether both have a number of their own of the same size: 24 and 28."""
    plain = [[re.sub(r"[,:]", "", it) for it in side] for side in (ours - theirs, theirs - ours)]
    mine, others = ([float(it) for it in side if _FLOAT.fullmatch(it)] for side in plain)
    return any(a and b and 0.4 <= a / b <= 2.5 for a in mine for b in others)


def _same_shape(ours: frozenset[str], theirs: frozenset[str]) -> bool:
    """Whether both have a number of their own that looks alike: "6:40" and "7:40"."""
    mine, others = (
        {re.sub(r"\d", "0", one) for one in side} for side in (ours - theirs, theirs - ours)
    )
    return any(len(shape) > 2 for shape in mine & others)


def _overlap(one: frozenset[str], other: frozenset[str], ledger: Ledger) -> float:
    """The share of their rare terms that two sentences share, of the longer."""
    shared = sum(ledger.rarity(term) for term in one & other)
    return shared and shared / max(sum(map(ledger.rarity, side)) for side in (one, other))


def elliptic(text: str, known: Known) -> bool:
    """Whether a correction says too little alone: "no, 42", "it's Pawel now"."""
    new, old = read(text), read(known.content)
    if lower(cues.MEANT).match(new.low) and len(new.about) < 2:
        return True
    apart = not (new.about & old.frame or new.values["name"] & old.values["name"])
    return apart and (len(new.terms) < 4 or lower(cues.REFERS).match(new.low) is not None)


def answered(text: str, decided: bool, ledger: Ledger, place: Place) -> Known | None:
    """The open question that a statement clearly answers: it names most of what was asked."""
    new = read(text)
    if new.planned or lower(cues.OPEN).search(new.low):
        return None
    found = []
    for known in ledger.questions():
        if place.project and known.project and place.project != known.project:
            continue
        asked = _asked(known.content)
        shared = len(asked & new.terms)
        enough = (
            shared * 3 >= len(asked) if decided else shared > 1 and shared * 5 >= len(asked) * 3
        )
        if shared and enough:
            found.append((shared, known.order, known))
    found.sort(reverse=True)
    clear = len(found) == 1 or (len(found) > 1 and found[0][0] > found[1][0])
    return found[0][2] if clear else None


def _asked(question: str) -> frozenset[str]:
    """What has to be named in an answer: not the day, and not what is said beside the question."""
    first = read(question.partition(";")[0])
    days = words.terms(" ".join((*first.values["day"], *first.values["number"])))
    return first.terms - days - usual() - words.terms(" ".join(cues.ASKING))


# --- tasks reported as done -------------------------------------------------------------------
_COMMON = words.terms(
    "send write call ask get make order book pay buy check fix move week day new old people time"
    " remind todo forget promise owe list good last night morning"
)
_PAST = re.compile(r"\b\w{3,}ed\b")


def finished(text: str, ledger: Ledger, subject: str, here: AbstractSet[str]) -> Known | None:
    """The open task that a sentence clearly reports as done, or as no longer wanted.

    It has to be of this session or of the same project; elsewhere nearly all of it is named.
    """
    low = text.lower()
    done, dropped = (lower(cue).findall(low) for cue in (cues.DONE, cues.DROPPED))
    past = words.terms(" ".join(_PAST.findall(text)))
    if not (done or past or dropped) or (
        (done or not dropped) and lower(cues.NOT_DONE).search(low)
    ):
        return None
    said = words.terms(text)
    ranked = []
    for known in ledger.near(said if done or dropped else past):
        shared = len(said & known.terms)
        ours = known.id in here or (subject and known.subject == subject)
        if known.status == "open" and (ours or shared >= max(3, 0.6 * len(known.terms))):
            ranked.append((shared, known.order, known))
    ranked.sort(reverse=True)
    if not ranked:
        return None
    shared, _, task = ranked[0]
    named = task.terms - _COMMON - words.terms(" ".join(read(task.content).values["day"]))
    telling = said & named
    foreign = said - task.terms - _COMMON - words.terms(" ".join(done))
    clear = len(telling) * 2 > len(named) or (len(telling) * 2 == len(named) and not foreign)
    alone = len(ranked) == 1 or ranked[1][0] < shared
    return task if telling and clear and alone else None
