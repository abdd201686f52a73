"""A pair: whether a sentence gives another value to what an older one says.

Some pairs cannot: plans, repetitions, other people and things. For all others there is evidence,
and the weights of weights.json say how likely it is (`likely`). They are fitted by
bench/fit_select.py.
"""

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from difflib import SequenceMatcher
from functools import lru_cache
from math import log
from typing import NamedTuple

from wakebook.base import words
from wakebook.learn.about import OWN, own
from wakebook.learn.phrases import cues, lower
from wakebook.learn.select.said import (
    DIGIT,
    KINDS,
    MONTH,
    OF_CHANGE,
    Said,
    all_of,
    chance,
    different,
    embedder,
    read,
    units,
    usual,
    vector,
    vectors,
    weights,
)
from wakebook.learn.select.speech import split
from wakebook.models.builtin import judge

SAME_WORD = 0.8  # this near, two words are one
OUT_OF_THE_QUESTION = 0.02  # as the judge reads the nearest among others
SURE = 1e-3  # as sure as the judge may be
MOST = log((1 + SURE) / SURE) / 4  # what it counts then
NOT_OWN = 0.3  # less likely than this, a sentence is not about the user
KIN = 0.55  # this near, two words mean much the same
_OF_OLD = words.listed(
    "corrects moves ends events past plans former"
)  # cues that say something of a pair
_OF_NEW = _OF_OLD | words.listed("also stays former hypothetical")
READ = 8192  # sentences whose reading is kept
BRIEF = 3  # words of what was meant
SPELT = 0.5  # this much alike, two words may be one that was misspelt
_TOKEN = re.compile(r"[\w€$£](?:[\w.:'’/%-]*[\w%])?")
_DIGITS, _MONTH = re.compile(r"\d+"), re.compile(MONTH)
_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th)$")
_WRITTEN = re.compile(r"[A-ZÀ-Þ]\w|\w[-\d]")  # a name, or a code
_NAMED = re.compile(r"(?:[Tt]he|[Ee]l|[Ll][ae]) ([A-ZÀ-Þ][\w'’-]+) [a-zß-ÿ]")
_OURS = re.compile(r"\b(?:we|our|us|i|my|nuestr\w+|nosotros|mi|notre|nous|nos|mon|ma)\b")
_FLOAT = re.compile(r"\d+(?:\.\d+)?")


class Older(NamedTuple):
    """An older sentence, and where it stands."""

    content: str
    here: bool = False  # in the same window
    last: bool = False  # there, and one of the last two
    fixed: bool = False  # a person wrote or pinned it
    same: bool = False  # in the same project
    apart: bool = False  # in another one


class Around(NamedTuple):
    """What stands beside the new one."""

    agent: str = ""  # what the agent has just said, which a bare "no, 45" corrects
    message: str = ""  # that the sentence stands in: it may name the thing
    worth: float = 0.0  # of the sentence itself; 0 is enough to be kept
    reply: str = ""  # what the agent answered, as far as that is known


@lru_cache(maxsize=65536)
def likely(text: str, older: str) -> float:
    """From 0 to 1, how likely a sentence changes what an older one says."""
    new, old = read(text), Older(older)
    if not _may(new, old):
        return 0.0
    seen = features(new, old, Around(), words.Rarity(lambda _: 1.0))
    sounds(text, [(older, seen)])
    return chance(weights().changes, seen | {"nearest": 1.0})


def sounds(text: str, older: Sequence[tuple[str, dict[str, float]]], reply: str = "") -> None:
    """Put what the judge says beside what else is seen of some sentences that it reads together.
    Among strangers it is timid, by itself too sure: the nearest has the mean of both."""
    judged = judge.likely([one for one, _ in older], text, reply)
    for (_, seen), may in zip(older, judged, strict=True):
        seen["judge"] = _logit(may)
        seen["judged best"] = float(may == max(judged))
    if len(older) > 1 and judged[0] > OUT_OF_THE_QUESTION:
        (nearest, seen), *_ = older
        seen["judge"] = (seen["judge"] + _logit(judge.likely([nearest], text)[0])) / 2


def _logit(may: float) -> float:
    return log((may + SURE) / (1 - may + SURE)) / 4


def alike(new: Said, older: str, around: Around, rarity: words.Rarity) -> float:
    """How near an older sentence is, by its words, its meaning and those around."""
    old = _part(new, older)
    terms = old.terms - usual()
    near = float(vector(new.text) @ vector(old.text)) + _overlap(new.terms - usual(), terms, rarity)
    return near + _overlap(_context(new.terms, around) - usual(), terms, rarity) / 2


@lru_cache(maxsize=64)
def _context(terms: frozenset[str], around: Around) -> frozenset[str]:
    return words.terms(f"{around.message} {around.agent[-400:]}") - terms


def evidence(
    new: Said, older: Older, around: Around, rarity: words.Rarity
) -> dict[str, float] | None:
    """What speaks for and against a change; None if there can be none."""
    return features(new, older, around, rarity) if _may(new, older) else None


def _may(new: Said, older: Older) -> bool:
    """Whether it can at all: plans, repetitions, other things, what is said elsewhere cannot."""
    old = read(older.content)
    cued = bool(new.cues & OF_CHANGE)
    slot = any(cue.startswith("slot") or cue == "favourite" for cue in new.cues & old.cues)
    if (older.apart and not slot) or (older.fixed and "corrects" not in new.cues):
        return False
    if new.terms <= old.terms and not cued:
        return False
    if "former" in new.cues or _passing(new) or _apart(new, old):
        return False
    corrects, days = "corrects" in new.cues, new.values["day"] & old.values["day"]
    both = bool(new.about & old.frame - usual()) or not all(map(_MONTH.match, days))
    happened = new.cues >= {"past", "events"} and ("events" in old.cues or not both)
    if (happened or new.long_since) and not corrects:
        return False
    if stands(old) and not (cued or new.back or stands(new) or own(new.text) >= OWN):
        return False  # "I'll commit after coffee" lifts no rule
    kinds = different(new.values, old.values) - {"degree"}
    if new.planned and not (kinds and len(new.about & old.frame - usual()) > 1):
        return False
    if new.about:
        told = cued or new.back or slot or _lost(new, old)
        return bool(told) or not _modified(new, old)
    numbers = new.values["number"], old.values["number"]
    dated = any(new.values[kind] & old.values[kind] for kind in ("day", "name"))
    alike = dated or kinds - {"number"} or _close(*numbers) or _same_shape(*numbers)
    taken = any(one <= old.bare for one, _ in new.back)  # "no, 45"
    return older.here and (taken if new.back else bool(kinds and alike))


@lru_cache(maxsize=READ)
def stands(said: Said) -> bool:
    """Whether it is a standing wish to the agent."""
    return lower(cues.STANDING).match(said.low, said.lead) is not None


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
    if new.periods and old.periods and new.periods != old.periods:
        return True
    named = words.leads(new.text) and not new.back  # "Marek took plot 17", "Lena's manager is Ben"
    mine = old.low.startswith("i ") or (
        old.person == "i" and new.low.partition(" ")[0].endswith("'s")
    )
    if new.returns != old.returns or (named and mine) or all_of(new, old):
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
    if _other_number(new, old, cued):
        return True
    if _begins_otherwise(new, old, cued) or (not cued and _of_others(new, old)):
        return True
    if new.head & old.head and new.head - old.terms:
        return bool(old.head - new.terms) or not cued
    return False


@lru_cache(maxsize=READ)
def _passing(new: Said) -> bool:
    """Whether it changes nothing that lasts: an exception, what nearly happened, what somebody else
    has, a tale of an earlier time ("last winter we sold them for 11")."""
    if lower(cues.NO_CHANGE).search(new.low) or lower(cues.REPROACH).search(new.low):
        return True
    bygone = lower(cues.BYGONE).match(new.low, new.lead)
    return bool(bygone) and new.change <= ({"ends"} if new.values["number"] else set())


def _other_number(new: Said, old: Said, cued: bool) -> bool:
    """Whether they are about two of several: "table 7", "9C", "day two"."""
    one, two = (lower(cues.ONE_OF).match(it.low, it.lead) for it in (new, old))
    if one and two and one["thing"] == two["thing"]:
        ours, theirs = (it["number"] or it["code"] for it in (one, two))
        return ours != theirs and theirs not in new.low
    if cued:
        return False
    numbered = lower(cues.NUMBERED).match(new.low, new.lead)
    if numbered and numbered["number"] not in old.low and numbered["thing"] in old.low:
        return True
    which = [_which(it) for it in (new, old)]
    apart = any(which[0][it] != which[1][it] for it in which[0].keys() & which[1].keys())
    ours, theirs = (it.values["number"] for it in (new, old))
    return apart and ours - {*which[0].values()} != theirs - {*which[1].values()}


@lru_cache(maxsize=READ)
def _which(said: Said) -> dict[str, str]:
    return dict(lower(cues.WHICH).findall(said.low))


def _of_others(new: Said, old: Said) -> bool:
    """Whether it is about something with a name, not about what the user calls "our"."""
    named = _NAMED.match(new.text, new.lead) if not lower(cues.GERMAN).search(new.low) else None
    if not named or named[1].lower() in old.low or _OURS.search(new.low):
        return False
    return _OURS.search(old.low) is not None


def _begins_otherwise(new: Said, old: Said, cued: bool) -> bool:
    """Whether it begins with another thing or case: "the oven has 4", "in easy mode it is 5"."""
    for cue in (cues.THEIRS,) if cued else (cues.THEIRS, cues.OTHERWISE):
        found = lower(cue).match(new.low, new.lead)
        first = words.terms(found[found.lastgroup]) if found and found.lastgroup else None
        if first and first.isdisjoint(old.terms):
            return True
    one, two = (lower(cues.DOES).match(it.low, it.lead) for it in (new, old))
    if cued or not one or not two or words.stem(one["does"]) != words.stem(two["does"]):
        return False
    things = [words.terms(it["thing"] or it["whose"]) for it in (one, two)]
    return things[0].isdisjoint(old.terms) and things[1].isdisjoint(new.terms)


def features(new: Said, older: Older, around: Around, rarity: words.Rarity) -> dict[str, float]:
    old = _part(new, older.content)
    shared = new.about & old.frame - usual() - units()
    other = different(new.values, old.values)
    backed = [(it, alone) for it, alone in new.back if it <= old.bare]
    named = any(
        alone or shared - it or (len(it) > 1 and any(map(str.isdigit, it)))  # "26 November"
        for it, alone in backed
    )
    hits, rare, sibling = _hits(new.words, old.words, rarity)
    concepts = new.concepts & old.concepts
    corrects = "corrects" in new.cues
    slot = any(cue.startswith("slot") for cue in new.cues & old.cues)
    slot = slot or (bool(shared) and "favourite" in new.cues & old.cues)
    heads = [bool(one.head) and one.head <= two.terms for one, two in ((new, old), (old, new))]
    numbers = new.values["number"], old.values["number"]
    more = (new.before.keys() & old.terms) - old.before.keys()
    ranks = sorted(map(_rank, shared), reverse=True)
    least, most = sorted((own(new.text), own(old.text)))
    # fmt: off
    flags = {
        "named": named, "back, not named": new.back and not named, "back": backed,
        "corrects last": older.last and corrects,
        "bare here": older.here and corrects and not new.about,
        "cued": new.cues & OF_CHANGE, "slot": slot,
        "slot, other": slot and other & {"name", "number"}, "head in": any(heads),
        "same number": any(new.values[kind] & old.values[kind] for kind in ("number", "day")),
        "same name": new.values["name"] & old.values["name"], "nothing new": new.terms <= old.terms,
        "unit, hit": new.units & old.units and hits and "number" in other,
        "shape": _same_shape(*numbers), "close": _close(*numbers),
        "project same": older.same,
        "shared 1": len(shared) == 1, "lost": _lost(new, old), "concept": concepts,
        "no concept, hit": not concepts and not hits,
        "concepts apart": new.concepts and old.concepts and not concepts, "old states": old.states,
        "owner same": new.owners & old.owners, "owner apart": new.owners != old.owners,
        "modified": any(new.before[it] not in old.terms for it in more), "old planned": old.planned,
        "long": max(len(new.terms), len(old.terms)) > 12, "weaker": around.worth < -0.3,
        "new short": len(new.terms) < 5, "old short": len(old.terms) < 5,
        "apart": _apart(new, old), "kinds apart": _modified(new, old), "new planned": new.planned,
        "told": _told(new, old), "told before": _told(old, new), "other": other - {"degree"},
        "other back": new.back and not backed, "of user": least >= OWN,
        "one of user": most >= OWN and least < NOT_OWN,
    }
    # fmt: on
    seen = {name for name, yes in flags.items() if yes}
    seen |= {f"new {name}" for name in new.cues & _OF_NEW}
    seen |= {f"old {name}" for name in old.cues & _OF_OLD}
    return dict.fromkeys(seen, 1.0) | {
        "near": float(vector(new.text) @ vector(old.text)),
        "rare": rare,
        "sibling": sibling,
        "around": _overlap(_context(new.terms, around), old.terms, rarity),
        "inner": _nearest_clause(new, old),
        "rest old": min(len(old.frame - new.terms - usual()), 6) / 6,
        "known words": sum(ranks[:2]) / 2,
        "known word, other": ranks[0] if ranks and (other or named) else 0.0,
        **_valued(new, old, rarity),
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


@lru_cache(maxsize=READ)
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


def _valued(new: Said, old: Said, rarity: words.Rarity) -> dict[str, float]:
    """How near two clauses are whose values differ, without these: "my best is" 27:12 and 25:50."""
    found = [
        (near + _overlap(one.terms, two.terms, rarity), near, kinds)
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


@lru_cache(maxsize=READ)
def _rank(term: str) -> float:
    """How rare a word is in English, from 0 to 1."""
    place = embedder().rank(term)
    return 1.0 if place is None else min(1.0, log(1 + place / 500) / log(60))


def _nearest_clause(new: Said, old: Said) -> float:
    """How near the nearest two clauses are: a change is often told by the way."""
    ours, theirs = ([it for it in one.clauses if len(words.terms(it)) > 1] for one in (new, old))
    near = vectors((*ours, new.text)) @ vectors((*theirs, old.text)).T
    return float(near.max())


@lru_cache(maxsize=READ)
def _parts(content: str) -> tuple[Said, ...]:
    return tuple(map(read, split(content)))


def _part(new: Said, content: str) -> Said:
    """The sentence of an entry that shares most with a new one."""
    parts = _parts(content)
    if len(parts) < 2:
        return read(content)
    shared = [len(one.terms & new.terms - usual()) for one in parts]
    return max(zip(shared, range(len(parts)), parts, strict=True))[2]


def _hits(
    one: tuple[str, ...], other: tuple[str, ...], rarity: words.Rarity
) -> tuple[int, float, float]:
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
    rarest = max(map(rarity.of, kin), default=0.0)
    return len(set(kin)), rarest / rarity.of(""), sibling


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


def _overlap(one: frozenset[str], other: frozenset[str], rarity: words.Rarity) -> float:
    """The share of their rare terms that two sentences share, of the longer."""
    shared = sum(map(rarity.of, one & other))
    return shared and shared / max(rarity.sum(one), rarity.sum(other))


# --- slips ------------------------------------------------------------------------------------
def slip(text: str) -> str:
    """What was meant, if a sentence says nothing else: "sorry, Thursday", "*eu-north"."""
    bare = text.strip(" .!)")
    found = lower(cues.SLIP).fullmatch(bare.lower())
    if not found:
        return ""
    start, end = next(it for it in map(found.span, ("star", "first", "last")) if it[0] >= 0)
    said, values = bare[start:end].strip(), read(text).values
    if " " not in said and _WRITTEN.search(said):
        return said
    rest = read(said).about - usual() - units() - _own(read(text))
    short = len(rest) < 2 and said.count(" ") < BRIEF
    return said if short and any(values[kind] for kind in KINDS[:3]) else ""


def put_right(said: str, new: Said, older: str) -> tuple[int, str]:
    """How well what was meant fits into a sentence: 2 if a word there is like it, 1 if there is a
    value of that kind, 0 if not; and the sentence with it, if it is clear in the place of what."""
    tokens = _TOKEN.findall(older)
    if " " in said and read(said).about - usual() - _own(new) - words.terms(older):
        return 0, ""  # it says something else, too
    for kind in (*KINDS[:3], ""):
        ours = [it for it in _TOKEN.findall(said) if not kind or _is_one(it, new.values[kind])]
        if len(ours) != 1:
            continue
        values = read(older).values[kind] if kind else frozenset()
        their = [it for it in tokens if it != ours[0] and (not kind or _is_one(it, values))]
        like = [it for it in their if _written_alike(it.lower(), ours[0].lower())]
        like = [it for it in like if len(it) == len(ours[0])] or like
        chosen = like or ([] if kind in ("number", "") else their)
        clear = len(chosen) == 1 and older.count(chosen[0]) == 1
        if chosen:
            return 1 + bool(like), older.replace(chosen[0], ours[0]) if clear else ""
    return 0, ""


def _own(said: Said) -> frozenset[str]:
    """The terms of its values."""
    return words.terms(" ".join(it for kind in KINDS[:3] for it in said.values[kind]))


def _is_one(token: str, values: AbstractSet[str]) -> bool:
    return bool(values & {token.lower(), _ORDINAL.sub("", token.lower())})


def _written_alike(word: str, other: str) -> bool:
    """Whether two words are spelt alike, or two numbers written alike."""
    if DIGIT.search(word) or DIGIT.search(other):
        return _DIGITS.sub("0", word) == _DIGITS.sub("0", other)
    return word[:1] == other[:1] and SequenceMatcher(None, word, other).ratio() >= SPELT
