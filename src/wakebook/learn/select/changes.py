"""What a new sentence changes: a value that it replaces, or a task that it reports as done.

A replacement needs strong evidence: the old value named and taken back, or the same frame with
another value of the same kind. In doubt both stand, the newer first.
"""

import re
from functools import cache, lru_cache
from typing import Any, NamedTuple

from wakebook.base import words
from wakebook.learn.phrases import cues, pattern
from wakebook.learn.select.ledger import Known, Ledger
from wakebook.learn.select.worth import embedder

KINDS = ("number", "day", "name", "degree")
NEAREST = 12  # entries that a sentence is compared with
RECENT = 4  # statements back that "scratch that" may mean
_NAMES = re.compile(r"(?<=[\w,;:] )[A-ZÀ-Þ][\w'’-]+|\b[A-Z]{2,}\w*\b|\b\w+[A-Z]\w*\b")
_ORDINAL = re.compile(r"(\d)(?:st|nd|rd|th)\b")


class Change(NamedTuple):
    target: Known
    elliptic: bool  # the sentence cannot be understood without what it corrects


def replaced(text: str, ledger: Ledger, here: frozenset[str], agent: str) -> Change | None:
    """What a sentence replaces, if that is clear.

    `here`: ids of what this window has said. `agent`: what the agent has just said, which a bare
    "no, 45" corrects.
    """
    found = [
        (evidence, known.order, known)
        for known in candidates(text, ledger, here)
        if (evidence := strength(text, known, ledger, known.id in here)) > known.fixed
    ]
    if found:
        target = max(found)[2]
        return Change(target, _elliptic(text, target))
    repeated = _repeated(text, ledger, agent[-800:]) if bare(text) else None
    return Change(repeated, elliptic=True) if repeated else None


def bare(text: str) -> bool:
    """Whether a correction says nothing but the new value: "no, 45", "sorry, I meant Friday"."""
    return _says(cues.CORRECTS, text) and not _about(text)


def _repeated(text: str, ledger: Ledger, agent: str) -> Known | None:
    """What the agent has just repeated with the value that a bare "no, 45" corrects."""
    terms = words.terms(agent)
    said = values(agent)
    found = [
        (len(terms & known.terms), known.order, known)
        for known in ledger.near(terms)
        if known.type in ("fact", "decision")
        and len(terms & known.terms) > 1
        and any(
            values(known.content)[kind] & said[kind] for kind in _different(text, known.content)
        )
    ]
    return max(found)[2] if found else None


def candidates(text: str, ledger: Ledger, here: frozenset[str]) -> list[Known]:
    """The facts and decisions that a sentence may be about: the nearest, and the latest here."""
    near = ledger.nearest(words.terms(text) - _usual(), NEAREST)
    found = {known.id: known for known in near}
    if _says(cues.CORRECTS, text):
        latest = (one for one in ledger.latest(("fact", "decision"), RECENT) if one.id in here)
        found |= {one.id: one for one in latest}
    return list(found.values())


def strength(text: str, known: Known, ledger: Ledger, here: bool) -> float:
    """How much says that a sentence replaces an entry: 0 is nothing, 1 is enough.

    - the old value is named and taken back ("not on Hetzner any more");
    - it corrects what was just said here, with another value of the same kind;
    - it corrects or moves something in the same frame, with another value;
    - it says how things are by now: the same thing, counted anew;
    - nearly the same sentence, with another number for the same thing;
    - another name or number for what a person has one of: where I live, "our port is".
    """
    corrects, moves, changes = (
        _says(cue, text) for cue in (cues.CORRECTS, cues.MOVES, cues.CHANGES)
    )
    counted = _recounted(text, known.content)
    common = (_about(text) & _frame(known.content)) - _usual()
    shared = len(common)
    theirs = _bare_terms(known.content)
    back = _taken_back(text)
    slot = _same_slot(text, known.content)
    cued = corrects or moves or changes or counted or back or slot
    lone = any(_exact(old) or (alone and _only(old, known, ledger)) for old, alone in back)
    if (
        not cued
        or not (shared or here or lone or slot)
        or _planned(text)
        or _planned(known.content)
    ):
        return 0.0
    just = here and bare(text)  # "it's the 10th, not the 3rd"
    named = any(
        old <= theirs and (alone or just or common - old or _exact(old)) for old, alone in back
    )
    if not named and (back or _apart(text, known.content)):
        return 0.0
    other = _different(text, known.content)
    event = _says(cues.EVENTS, text) or _says(cues.EVENTS, known.content)
    moved = _says(cues.MOVES, known.content)  # two things that were moved, each for itself
    near = _cosine(text, known.content)
    alike = _overlap(words.terms(text), known.terms, ledger)
    close = shared > 1 or near > 0.45
    found = (
        named and near > 0.2 and (shared > 0 or here or lone),
        here and corrects and (other or named) and (shared > 0 or just),
        corrects and other and shared > 0 and near > 0.4,
        moves and other and shared > 0 and (close or alike > 0.2) and not (event or moved),
        changes and counted and shared > 0 and close and alike > 0.2,
        changes and "day" in other and shared > 1 and near > 0.5,
        counted and not event and shared > 2 and near > 0.7 and alike > 0.42,
        slot and bool(other & {"name", "number"}) and near > 0.35 and not event,
    )
    return sum(map(bool, found)) + (near + alike) / 4 if any(found) else 0.0


@lru_cache(maxsize=8192)
def _same_slot(one: str, other: str) -> bool:
    """Whether both give the value of one thing: where I live, my favourite sauce, "our port is"."""
    if any(_says(cue, one) and _says(cue, other) for cue in cues.SLOTS):
        return True
    shared = (_frame(one) & _frame(other)) - _usual()
    if shared and _says(cues.FAVOURITE, one) and _says(cues.FAVOURITE, other):
        return True
    return bool(_head(one)) and _head(one) == _head(other)


def _only(old: frozenset[str], known: Known, ledger: Ledger) -> bool:
    """Whether this is the one entry that holds a name which is taken back."""
    names = words.terms(" ".join(values(known.content)["name"]))
    return old <= names and sum(old <= one.terms for one in ledger.near(old)) == 1


def _apart(one: str, other: str) -> bool:
    """Whether two sentences name different things: "the rent", "my sister's wedding", "last year".

    A relative has to be named by both; of other things, neither may be named by one alone.
    """
    ours, theirs = _head(one) - words.terms(other), _head(other) - words.terms(one)
    years = [set(pattern(cues.PERIOD).findall(text.lower())) for text in (one, other)]
    kin = any(pattern(cues.SIGNS["kin"]).search(" ".join(side)) for side in (ours, theirs))
    return kin or bool(ours and theirs) or (all(years) and years[0] != years[1])


@lru_cache(maxsize=8192)
def _head(text: str) -> frozenset[str]:
    """What a sentence that begins with "my", "our" or "the" is about: the words before its verb."""
    lead = pattern(cues.LEAD).match(text)
    found = pattern(cues.HEAD).match(text, lead.end() if lead else 0)
    return words.terms(found[1]) - _usual() if found else frozenset()


@lru_cache(maxsize=8192)
def _planned(text: str) -> bool:
    """Whether it begins as a plan or a wish: no state that could change."""
    found = pattern(cues.PLANS).search(text)
    return found is not None and found.start() < 40


def _different(one: str, other: str) -> set[str]:
    """The kinds of values of which each has one that the other has not."""
    ours, theirs = values(one), values(other)
    return {kind for kind in KINDS if ours[kind] - theirs[kind] and theirs[kind] - ours[kind]}


@lru_cache(maxsize=16384)
def _says(cue: str, text: str) -> bool:
    return pattern(cue).search(text) is not None


@cache
def _usual() -> frozenset[str]:
    return words.terms(" ".join(cues.USUAL | cues.OTHER))


@lru_cache(maxsize=8192)
def _recounted(one: str, other: str) -> bool:
    """Whether both count the same thing, with different numbers: "page 140", "page 310"."""
    ours, theirs = _units(one), _units(other)
    return any(not ours[unit] & theirs[unit] for unit in ours.keys() & theirs.keys() - _usual())


@lru_cache(maxsize=8192)
def _units(text: str) -> dict[str, frozenset[str]]:
    """What numbers stand beside, and which."""
    found: dict[str, frozenset[str]] = {}
    for before, number, after in pattern(cues.UNIT).findall(_bare(text)):
        for unit in words.terms(f"{before} {after}"):
            found[unit] = found.get(unit, frozenset()) | {number}
    return found


def _overlap(one: frozenset[str], other: frozenset[str], ledger: Ledger) -> float:
    """The share of their rare terms that two sentences have in common, of the longer side."""
    shared = sum(ledger.rarity(term) for term in one & other)
    most = max(sum(ledger.rarity(term) for term in side) for side in (one, other))
    return shared / most if most else 0.0


def _cosine(one: str, other: str) -> float:
    return float(_vector(one) @ _vector(other))


@lru_cache(maxsize=8192)
def _vector(text: str) -> Any:
    return embedder().embed([text])[0]


@lru_cache(maxsize=8192)
def values(text: str) -> dict[str, frozenset[str]]:
    """What in a sentence is a value: numbers, days, names and degrees."""
    low = _bare(text)
    capital = [] if _says(cues.GERMAN, text) else _NAMES.findall(text)
    names = {name.lower() for name in capital if name.lower() not in _I}
    days = frozenset(pattern(cues.DAY).findall(low))
    return {
        "number": frozenset(pattern(cues.NUMBER).findall(low)),
        "day": days,
        "name": frozenset(names - days),
        "degree": frozenset(pattern(cues.DEGREE).findall(low)),
    }


_I = words.listed("i i'm i've i'd i'll i’m i’ve")


@lru_cache(maxsize=8192)
def _frame(text: str) -> frozenset[str]:
    """What a sentence is about, without its values and without words of change."""
    own = frozenset(term for kind in values(text).values() for term in words.terms(" ".join(kind)))
    marks = words.terms(" ".join(pattern(cues.CHANGES).findall(text.lower())))
    return words.terms(_ORDINAL.sub(r"\1", text)) - own - marks


def _exact(old: frozenset[str]) -> bool:
    """Whether a value says by itself what it is the value of: "26 November", not "green"."""
    return len(old) > 1 and any(map(str.isdigit, old))


@lru_cache(maxsize=1024)
def _taken_back(text: str) -> tuple[tuple[frozenset[str], bool], ...]:
    """The values that a sentence takes back: "not the 4th", "no longer on Hetzner".

    Beside each, whether it says enough alone; else something else must be shared, too.
    """
    return tuple(
        (old, alone)
        for wanted, alone in ((cues.OLD_ALONE, True), (cues.OLD, False))
        for cue in wanted
        for match in pattern(cue).finditer(text)
        if (old := _bare_terms(match["old"]))
    )


@lru_cache(maxsize=8192)
def _bare_terms(text: str) -> frozenset[str]:
    return words.terms(_bare(text))


def _bare(text: str) -> str:
    """Days as plain numbers, and without how long ago something was."""
    return pattern(cues.AGO).sub(" ", _ORDINAL.sub(r"\1", text.lower().replace("’", "'")))


def _elliptic(text: str, known: Known) -> bool:
    """Whether a correction says too little alone: "no, 42", "it's Pawel now"."""
    about = _about(text)
    meant = pattern(cues.MEANT).match(text) is not None
    return not about & _frame(known.content) or (meant and len(about) < 2)


def _about(text: str) -> frozenset[str]:
    return _frame(text) - words.terms("sorry sry meant typo wrong correction scratch wait oops ugh")


# --- tasks reported as done -------------------------------------------------------------------
_COMMON = words.terms(
    "send write call ask get make order book pay buy check fix move week day new old people time"
    " remind todo forget promise owe list good last night morning"
)


_PAST = re.compile(r"\b\w{3,}ed\b")


def finished(text: str, ledger: Ledger, subject: str, here: frozenset[str]) -> Known | None:
    """The open task that a sentence clearly reports as done, or as no longer wanted.

    It has to be of this session or of the same project; elsewhere nearly all of it is named.
    """
    done, dropped = (pattern(cue).findall(text) for cue in (cues.DONE, cues.DROPPED))
    past = words.terms(" ".join(_PAST.findall(text)))
    if not (done or past or dropped) or ((done or not dropped) and _says(cues.NOT_DONE, text)):
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
    named = task.terms - _COMMON - words.terms(" ".join(values(task.content)["day"]))
    telling = said & named
    foreign = said - task.terms - _COMMON - words.terms(" ".join(done))
    clear = len(telling) * 2 > len(named) or (len(telling) * 2 == len(named) and not foreign)
    alone = len(ranked) == 1 or ranked[1][0] < shared
    return task if telling and clear and alone else None
