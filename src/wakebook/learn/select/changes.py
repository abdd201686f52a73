"""What a new sentence changes: a value that it replaces, or a task that it reports as done.

A replacement needs strong evidence: the old value named and taken back, or the same frame with
another value of the same kind. In doubt both stand, the newer first.
"""

import re
from collections.abc import Set as AbstractSet
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
    recounted,
    usual,
)
from wakebook.learn.select.worth import chance, vector, weights

NEAREST = 12  # entries that a sentence is compared with
RECENT = 4  # statements back that "scratch that" may mean


class Change(NamedTuple):
    target: Known
    elliptic: bool  # the sentence cannot be understood without what it corrects


class Place(NamedTuple):
    """Where a sentence is said."""

    here: AbstractSet[str] = frozenset()  # ids of what this window has said
    project: str = ""
    agent: str = ""  # what the agent has just said, which a bare "no, 45" corrects


def replaced(text: str, ledger: Ledger, place: Place) -> Change | None:
    """What a sentence replaces, if that is clear."""
    found = ranked(text, ledger, place)
    if found:
        likely, target = found[0]
        least = weights().changes_threshold
        if likely >= (1 + least) / 2 if target.fixed else likely >= least:
            return Change(target, _elliptic(text, target))
    repeated = _repeated(text, ledger, place.agent[-800:]) if bare(text) else None
    return Change(repeated, elliptic=True) if repeated else None


def ranked(text: str, ledger: Ledger, place: Place) -> list[tuple[float, Known]]:
    """What a sentence may replace, the likeliest first."""
    known = weights().changes
    found = [(chance(known, seen), one.order, one) for one, seen in compared(text, ledger, place)]
    return [(likely, one) for likely, _, one in sorted(found, reverse=True)]


def compared(text: str, ledger: Ledger, place: Place) -> list[tuple[Known, dict[str, float]]]:
    """The entries that a sentence may be about, and what speaks for a change of each."""
    near = candidates(text, ledger, place)
    new = read(text)
    seen = [(one, features(text, one, ledger, place)) for one in near if _may(new, one, place)]
    best = max((found["alike"] + found["near"] / 2 for _, found in seen), default=0.0)
    for _, found in seen:
        found["nearest"] = float(found["alike"] + found["near"] / 2 == best)
    return seen


def bare(text: str) -> bool:
    """Whether a correction says nothing but the new value: "no, 45", "sorry, I meant Friday"."""
    new = read(text)
    return "corrects" in new.cues and not new.about


def _repeated(text: str, ledger: Ledger, agent: str) -> Known | None:
    """What the agent has just repeated with the value that a bare "no, 45" corrects."""
    terms = words.terms(agent)
    said, ours = read(agent).values, read(text).values
    found = []
    for known in ledger.near(terms):
        shared, theirs = len(terms & known.terms), read(known.content).values
        corrected = any(theirs[kind] & said[kind] for kind in different(ours, theirs))
        if known.type in ("fact", "decision") and shared > 1 and corrected:
            found.append((shared, known.order, known))
    return max(found)[2] if found else None


def candidates(text: str, ledger: Ledger, place: Place) -> list[Known]:
    """The facts and decisions that a sentence may be about: the nearest, and the latest here."""
    new = read(text)
    found = {known.id: known for known in ledger.nearest(new.terms - usual(), NEAREST)}
    if "corrects" in new.cues:
        latest = ledger.latest(("fact", "decision"), RECENT)
        found |= {one.id: one for one in latest if one.id in place.here}
    return list(found.values())


def _may(new: Said, known: Known, place: Place) -> bool:
    """Whether a sentence can change an entry at all.

    Plans, repetitions and what is said of another thing or person cannot; else an old value is
    taken back, the same thing is told again, or there is another value of the same kind.
    """
    old, here = read(known.content), known.id in place.here
    if (here or new.terms <= old.terms) and not new.cues & OF_CHANGE - {"changes"}:
        return False
    other = bool(different(new.values, old.values))
    slot = any(cue.startswith("slot") or cue == "favourite" for cue in new.cues & old.cues)
    if place.project and known.project and place.project != known.project and not slot:
        return False  # another project's
    if new.planned or old.planned or "former" in new.cues | old.cues:
        return False
    if not new.about:  # "no, 45"
        return here and (any(one <= old.bare for one, _ in new.back) if new.back else other)
    if any(one <= old.bare for one, _ in new.back):
        return True
    if known.fixed and "corrects" not in new.cues:
        return False
    back = frozenset().union(*(one for one, _ in new.back))  # of something else
    if _apart(new, old) or any(map(str.isdigit, back)) or not new.terms & old.terms - usual():
        return False
    if slot or (new.head and new.head == old.head):
        return True
    if not new.cues & OF_CHANGE:
        other_thing = new.frame - old.terms - usual() and old.frame - new.terms - usual()
        return not other_thing and any(recounted(new, old, kind) for kind in KINDS)
    return other or "ends" in new.cues


def _apart(new: Said, old: Said) -> bool:
    """Whether two sentences are about different people, years or kinds of a thing."""
    years = [frozenset(lower(cues.PERIOD).findall(one.low)) for one in (new, old)]
    if all(years) and years[0] != years[1]:
        return True
    ours, theirs = new.kin, old.kin
    if ours and theirs:
        return ours[0] != theirs[0] or (all((ours[1], theirs[1])) and ours[1] != theirs[1])
    if ours or theirs:
        return (old if ours else new).person in ("i", "we")
    return bool(new.head & old.head and new.head - old.terms and old.head - new.terms)


def features(text: str, known: Known, ledger: Ledger, place: Place) -> dict[str, float]:
    """What speaks for and against a sentence giving an entry's thing another value."""
    new, old = read(text), read(known.content)
    common = (new.about & old.frame) - usual()
    other = different(new.values, old.values)
    counted = {kind: recounted(new, old, kind) for kind in KINDS}
    exact = [len(one) > 1 and any(map(str.isdigit, one)) for one, _ in new.back]  # "26 November"
    backed = zip(new.back, exact, strict=True)
    named = any(it <= old.bare and (yes or sure or common - it) for (it, yes), sure in backed)
    near = float(vector(text) @ vector(known.content))
    alike, cover = _overlap(new.terms, old.terms, ledger)
    frame, _ = _overlap(new.about, old.frame, ledger)
    here = known.id in place.here
    ours, theirs = new.head - old.terms, old.head - new.terms
    cued = bool(new.cues & OF_CHANGE)
    slot = any(cue.startswith("slot") for cue in new.cues & old.cues)
    slot = slot or (bool(common) and "favourite" in new.cues & old.cues)
    value = bool(other or named)
    same = {kind for kind in KINDS if new.values[kind] & old.values[kind]}
    left = [len(one.frame - two.terms - usual()) for one, two in ((new, old), (old, new))]
    both = new.before.keys() & old.before.keys()  # "staging server" and "build server"
    apart = any(new.before[it] not in old.terms and old.before[it] not in new.terms for it in both)
    more = (new.before.keys() & old.terms) - old.before.keys()
    heads = [bool(one.head) and one.head <= two.terms for one, two in ((new, old), (old, new))]
    projects = bool(place.project and known.project)
    # fmt: off
    flags = {
        "named": named, "back, not named": new.back and not named, "here": here,
        "bare here": here and "corrects" in new.cues and not new.about,
        "other": other, "other 2": len(other - {"degree"}) > 1, "alike only": not (value or slot),
        "slot": slot, "slot, other": slot and other & {"name", "number"},
        "head same": new.head and new.head == old.head, "head in": any(heads),
        "heads apart": ours and theirs, "head apart": bool(ours) != bool(theirs),
        "owner same": new.owners & old.owners, "owner apart": new.owners != old.owners,
        "owners differ": new.owners - old.owners and old.owners - new.owners,
        "same number": same & {"number", "day"}, "same name": "name" in same,
        "handed on": "name" in same and new.values["name"] - old.values["name"],
        "repeats": same and not value, "nothing new": new.terms <= old.terms,
        "shape": _same_shape(new.values["number"], old.values["number"]),
        "person same": new.person == old.person,
        "person apart": new.person != old.person and "i" in (new.person, old.person),
        "apart": apart, "modified": any(new.before[it] not in old.terms for it in more),
        "past only": "past" in new.cues and not cued, "counted 2": max(counted.values()) > 1,
        "project same": projects and place.project == known.project,
        "project other": projects and place.project != known.project,
        "shared 0": not common, "shared 2": len(common) > 1, "shared 3": len(common) > 2,
        "long": max(len(new.terms), len(old.terms)) > 12,
    }
    # fmt: on
    seen = {name for name, yes in flags.items() if yes}
    for side, one in (("new", new), ("old", old)):
        seen |= {f"{side} {name}" for name in one.cues if not name.startswith("slot")}
    seen |= {f"other {kind}" for kind in other} | {f"counted {it}" for it in KINDS if counted[it]}
    found = dict.fromkeys(seen, 1.0) | {
        "near": near,
        "alike": alike,
        "cover": cover,
        "frame": frame,
        "near, other": near * value,
        "alike, other": alike * value,
        "near, counted": near * any(counted.values()),
        "rest": min(*left, 3) / 3,
        "rest new": min(left[0], 6) / 6,
        "rest old": min(left[1], 6) / 6,
    }
    if cued:
        found |= {f"cued: {name}": value for name, value in found.items()} | {"cued": 1.0}
    return found


def _same_shape(ours: frozenset[str], theirs: frozenset[str]) -> bool:
    """Whether both have a number of their own that looks alike: "6:40" and "7:40"."""
    mine, others = (
        {re.sub(r"\d", "0", one) for one in side} for side in (ours - theirs, theirs - ours)
    )
    return any(len(shape) > 2 for shape in mine & others)


def _overlap(one: frozenset[str], other: frozenset[str], ledger: Ledger) -> tuple[float, float]:
    """The share of their rare terms that two sentences share: of the longer, of the shorter."""
    shared = sum(ledger.rarity(term) for term in one & other)
    if not shared:
        return 0.0, 0.0
    both = [sum(ledger.rarity(term) for term in side) for side in (one, other)]
    return shared / max(both), shared / min(both)


def _elliptic(text: str, known: Known) -> bool:
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
