"""Perhaps: later words that may give something another value, and reports that a task is done.

`stale` leaves out what surely no longer holds. Where the evidence is weaker, the old words are told
with the later ones beside them, so that whoever reads them is warned and can judge. A later clause
may change an earlier one if both have a value of one kind (a day, a date, a time of day, a number
of the same thing) and not the same one, and if they are about the same thing: they share a word
and the later one says hardly more, or it speaks of a change. The same goes for "the concert is in
A" and "the concert is in B", and for where one was before one moved.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

from wakebook.base import words
from wakebook.learn.phrases import cues, lower
from wakebook.learn.select.said import (
    CLAUSES,
    MONTH,
    Sentence,
    all_of,
    different,
    heard,
    units,
    usual,
)
from wakebook.models.builtin import judge

FRAME = 2  # words of the old sentence that a stale one has, the lost value among them ...
ALIKE = 0.4  # the same share, where only the form of the new one speaks for a change
DONE = 0.5  # of the words of a task, in a report that it is done
PAIRS = 1 << 15  # of sentences: one start compares mostly what the last one did
AT_ALL = 0.1  # if the judge finds it less likely than this, nothing has changed
SUBJECT = 3  # words at the beginning, with what a sentence is about
SHORT = 5  # words of a correction that says nothing but a value
DAYS = ("date", "day", "clock")
PLAIN = frozenset(("money", "%"))  # what anything may have a number of
_NUMBERED = re.compile(r"\b([^\W\d_]{3,}) #?(\d+)\b(?![.,:]\d)")
_VERB = re.compile(r".*[^su]s$")  # "costs 4", "opens 7", not "gauge 42"
_CLOCK = re.compile(r"\b\d{1,2}:\d\d\b|\b\d{1,2}(?:[.:]\d\d)? ?(?:am|pm|uhr|h|o'clock)\b")
_COUNT = re.compile(r"(?<![\w.,:-])(\d+(?:[.,]\d+)?) ?(%|€|£|\$|[^\W\d_]+)")
_MONEY = re.compile(r"[€$£] ?(\d+(?:[.,]\d+)?)")
_PRICED = words.terms("euro euros eur dollar dollars usd pound pounds gbp franc francs chf")
_LINKS = words.listed(
    "to at in on of for the a an and or is are was with by per am um im en de le und y et i we"
)
_MONTHS = re.compile(rf"{MONTH}")
_FRAME = re.compile(  # what a clause is about, and the place or person that it leads to
    r"(?:(?:since|so|but|and|the|our|my|oh|because|der|die|das|unser\w*|el|la|le|notre) )*"
    r"(?P<head>(?:[\w'-]+ ){0,3}?[\w'-]+) (?:is|are|runs?|goes|go|lives?|sits?|stands?|stays?"
    r"|comes?|ist|sind|läuft|liegt|geht|es|está|va|son|est|sont)"
    r"(?: now| jetzt| all| ahora| maintenant)? "
    r"(?P<link>in|at|on|to|with|from|by|im|am|an|bei|auf|en|à|au|chez|sur|dans) (?P<rest>.+)"
)
_ALL = re.compile(r"everything|all(?: of)? (?:it|that|this)|it all|alles|todo|tout")
_SETS = re.compile(  # "cut the talk to 15 minutes"
    r"\b(?:cut|shorten\w*|extend\w*|stretch\w*|reduc\w*|increas\w*|rais\w*|lower\w*|bring|trim\w*"
    r"|set|limit\w*|kürz\w*|verlänger\w*|erhöh\w*|senk\w*)\b.{0,40}?\b(?:to|down|up|auf)\b.{0,12}\d"
)
_LEFT = re.compile(
    r"\b(?:we|i)(?:'ve| have)?(?: \w+)? moved\b(?! (?:on|it|the|them|this|that|my|our|all)\b)"
)
_PLACED = re.compile(
    r"\b(?:our|my|we|we're|i|i'm|unser\w*|wir)\b.{0,40}\b(?:at|in|on|im|am) (?:the )?(?:\d|[A-Z])",
)
_RESULT = re.compile(  # "the band is booked", "I've paid the rent"
    r"\b(?:is|are|was|were|been|got|have|has|had|\w+'s|\w+'ve|i|we|he|she|they|ist|sind|wurden?|habe?n?"
    r"|hat|está|est|ai|he) (?:all |now |already |finally |just |both |schon |ya |déjà )*"
    r"(?:\w{2,}(?:ed|en|nt|pt|ght)|done|made|paid|put|ge\w+t|be\w+t|\w+[ai]do|\w+é)\b|^\w+ed\b"
)
_OUT = re.compile(
    r"\b(?:went|gone|is|are) (?:out|off|through|in|live|up)\b|\b(?:ist|sind) (?:raus|durch)\b"
)
_LIST = re.compile(  # "things for the club site: ..."
    r"[^:]{0,60}\b(?:things|list|to[- ]?dos?|tasks?|open (?:points|questions|issues)"
    r"|next (?:up|steps?)|up next|on my plate|(?:still|left|have) to do|gotta do"
    r"|missing|falta|pendientes?|fehlt|zu tun|zettel|offen\w*"
    r"|à faire|reste)\b[^:]{0,40}: ",
    re.IGNORECASE,
)
_TO_DO = re.compile(
    r"^(?:[-*] |\[ \] )?(?:(?:so |and |please )*(?:to-?do|next|open|left|remind me|don't forget)\b"
    r"[: ]*)?(?:to )?",
    re.IGNORECASE,
)
_MEANT = (
    r"(?:sorry|sry|oh|ah+|hm+|wait|actually|no+|nope|argh|oops|i mean|i meant|make (?:it|that)"
    r"|rather|of course|nein|ach|quatsch|meine ich|perdón|quiero decir|pardon|non|je veux dire)"
)
_BARE = re.compile(rf"(?:{_MEANT}[,.! ]+)+(?P<first>.+)|(?P<last>.+?)[,. ]+{_MEANT}[.!]*")
NO = re.compile(
    r"(?:\w+[,!]? )?(?:no+|nope|nah|nein|non)[, ]+(?:the |der |die |das |el |la |le )?\S*\d"
)
_RATHER = re.compile(  # "and about the worktop, at that price we'd rather go with laminate"
    r"(?:(?:and|so|now|but|ok|und|y|et)[, ]+)*(?:about|as for|regarding|concerning|zu[rm]?|bei[m]?|"
    r"sobre|en cuanto a|pour|quant à) (?:the |our |my |de[rmn] |die |das |el |la |le |les )?"
    r"(?P<about>[\w'-]+(?: [\w'-]+){0,2})[,:] .*\b(?:rather|better|instead|go with|take|"
    r"make (?:it|that)|lieber|doch|statt|mejor|en vez|plutôt)\b"
)
_DENIES = re.compile(r"(?:no|nope|nah|nein|nee|non)[,.!] ")
_VALUES = re.compile(r"\S*\d\S*|[^\W\d_]+day\b")
_SINCE = re.compile(r"^(?:ever )?since (?:we|i)\b|^seit (?:wir|ich)\b|^desde que\b|^depuis que\b")
_WHERE = re.compile(
    r"\b(?:in|at|im|am|bei|beim|auf|en|à|au|chez|dans)(?: (?:the|our|der|den|dem|die|el|la|le|l'))?"
    r" ((?:[^\W\d_][\w'-]* ?){1,3})"
)
_ADDRESS = re.compile(
    r"\b\d{1,4}[a-z]? (?:[A-Z][\w'’]+ ?)+|\b[A-Z]\w+(?:straße|weg|platz|gasse) \d+"
)
_HELD = re.compile(r"\b(?:since|until|till|seit|bis|desde|hasta|depuis) \w+")
_ASKED = words.terms("answer reply write use keep give put code file always never explain project")
_US = re.compile(r"\b(?:we|we're|i|i'm|wir|ich|nous|je)\b")


class Change(NamedTuple):
    clause: str  # of the old words
    by: str  # the later ones
    named: bool = False  # they begin with what they are about


class _Clause:
    """A part of a sentence, as it is put beside many others."""

    def __init__(self, text: str) -> None:
        self.text, self.said, self.values = text, heard(text), values_of(text)

    @cached_property
    def idle(self) -> bool:
        """It adds something, or tells what was."""
        return "also" in self.said.cues or ("past" in self.said.cues and not self.said.changes)

    @cached_property
    def cued(self) -> bool:
        return unsaid(self.text)

    @cached_property
    def sets(self) -> bool:
        return _SETS.search(self.said.low) is not None

    @cached_property
    def of_us(self) -> bool:
        return self.cued and _US.search(self.said.low) is not None

    @cached_property
    def standing(self) -> bool:
        return lower(cues.STANDING).match(self.said.low) is not None

    @cached_property
    def frame(self) -> _Frame | None:
        found = _FRAME.match(self.said.low)
        return found and _Frame(
            words.terms(found["head"]) - usual(),
            found["link"],
            words.terms(found["rest"]) - usual(),
            _ALL.fullmatch(found["head"]) is not None,
        )

    @cached_property
    def where(self) -> frozenset[str]:
        return words.terms(" ".join(_WHERE.findall(self.said.low))) - usual() - units()

    @cached_property
    def leads(self) -> str:
        """Whom it begins with."""
        return self.said.text.split()[0] if words.leads(self.said.text) else ""


class _Frame(NamedTuple):
    head: frozenset[str]
    link: str
    rest: frozenset[str]
    all: bool  # it is about everything


@lru_cache(maxsize=PAIRS)
def changed(new: str, old: str, topic: frozenset[str] = frozenset()) -> Change | None:
    """What of an old sentence a later one may change. `topic`: terms that the later one is about,
    too, because of where it was said, or after what."""
    later, earlier = _outline(new), _outline(old)
    if later.unmeant:
        return None
    if later.left and _PLACED.search(old):
        return Change(old, new)
    if later.about and later.about <= heard(old).terms:
        parts = (it.text for it in earlier.clauses if later.about <= it.said.terms)
        return Change(next(parts, old), new, True)
    if not (later.cued or later.kinds & earlier.kinds or later.begins & earlier.begins):
        return None
    before = heard(old)
    for clause in later.clauses:
        for part in () if clause.idle else earlier.clauses:
            if not _apart(clause, part) and _may(clause, part, before, topic):
                return Change(part.text, clause.text)
    return None


class _Outline(NamedTuple):
    """A sentence by what decides at once that it leaves another as it is."""

    clauses: tuple[_Clause, ...]
    unmeant: bool  # a plan, a question, what might be
    left: bool  # one has moved
    about: frozenset[str]  # what it would rather have otherwise
    cued: bool
    kinds: frozenset[str]  # of its values
    begins: frozenset[frozenset[str] | None]  # what its clauses are about, None for a wish


@lru_cache(maxsize=8192)
def _outline(text: str) -> _Outline:
    said, clauses = heard(text), tuple(map(_Clause, _parts(text)))
    rather = _RATHER.match(said.low)
    return _Outline(
        clauses,
        said.planned or "hypothetical" in said.cues or text.rstrip().endswith("?"),
        _has_left(text),
        words.terms(rather["about"] if rather else "") - usual(),
        any(one.cued for one in clauses),
        frozenset().union(*(one.values for one in clauses)),
        frozenset(one.frame.head for one in clauses if one.frame)
        | {None for one in clauses if one.standing},
    )


def _parts(text: str) -> list[str]:
    return [one for one in CLAUSES.split(text) if one.strip()]


@lru_cache(maxsize=1)
def _little() -> frozenset[str]:
    """Words that say little about what a sentence is about."""
    return usual() | units() | PLAIN


def _may(new: _Clause, old: _Clause, whole: Sentence, topic: frozenset[str]) -> bool:
    """`whole`: the sentence that the old clause is of."""
    ours, little = new.said, _little()
    kinds = [
        kind for kind in new.values.keys() & old.values.keys()
        if not new.values[kind] & old.values[kind]
    ]  # fmt: skip
    if kinds and new.sets:
        return True
    if kinds:
        about = ours.frame | words.terms(" ".join(ours.values["name"]))
        shared = ((about | topic) & whole.terms) - little | (about & topic)
        left = ours.left - whole.terms - topic - little
        same = _Same(new.cued, shared, left, new.of_us and not _another(ours, whole))
        if any(_of_one_thing(kind, same, little) for kind in kinds):
            return True
    if _wishes_otherwise(new, old) or _leads_elsewhere(new, old):
        return True
    return new.cued and bool(ours.frame & old.said.frame - little) and _elsewhere(new, old)


class _Same(NamedTuple):
    """What speaks for two clauses being about the same thing."""

    cued: bool  # the later one speaks of a change
    shared: frozenset[str]
    left: frozenset[str]  # what the later one has beside that
    ours: bool  # it speaks of a change, and of "us" alone


def _of_one_thing(kind: str, same: _Same, little: frozenset[str]) -> bool:
    if kind == "address":
        return bool(same.shared or same.cued)
    if kind in DAYS:
        return same.ours or bool(same.shared and (same.cued or len(same.left) <= 1))
    if kind in little:
        return bool(same.shared and (same.cued or not same.left))
    return bool(same.cued or same.shared - {kind} or not same.left)


def _wishes_otherwise(new: _Clause, old: _Clause) -> bool:
    """Whether both are standing wishes for one thing."""
    if not new.standing or not old.standing:
        return False
    return bool(new.said.terms & old.said.terms - usual() - _ASKED)


def _elsewhere(new: _Clause, old: _Clause) -> bool:
    """Whether both say where, and not the same: "since we rehearse in the hall"."""
    ours, theirs = new.where, old.where
    return bool(ours - old.said.terms and theirs - new.said.terms and not ours & theirs)


def _another(new: Sentence, old: Sentence) -> bool:
    """Whether one speaks of the user, the other of a group."""
    return {new.person, old.person} == {"i", "we"}


@lru_cache(maxsize=8192)
def unsaid(text: str) -> bool:
    """Whether a sentence may change what it has no word in common with."""
    said = heard(text)
    return said.changes or any(form.search(said.low) for form in (_SETS, _SINCE))


def leaves(text: str) -> bool:
    """Whether it says that one has moved, and not where to."""
    return _has_left(text) and " to " not in text


def _has_left(text: str) -> bool:
    return _LEFT.search(heard(text).low) is not None


def _apart(new: _Clause, old: _Clause) -> bool:
    """Whether they are about different people."""
    one, two = new.said, old.said
    if one.changes:
        return False
    owners = one.owners and two.owners and not one.owners & two.owners
    return bool(owners or (new.leads and old.leads and new.leads != old.leads))


def _leads_elsewhere(new: _Clause, old: _Clause) -> bool:
    """ "backups go to the shed" after "backups go to the cellar"."""
    one, two = new.frame, old.frame
    if not one or not two:
        return False
    same = one.head and one.head == two.head and (new.cued or one.link == two.link)
    if not same and not (new.cued and one.all):
        return False
    return bool(one.rest - two.rest and two.rest - one.rest)


@lru_cache(maxsize=8192)
def values_of(text: str) -> Mapping[str, frozenset[str]]:
    """Its values by kind: "date", "day", "clock", or what is counted."""
    said = heard(text)
    found: dict[str, set[str]] = {}
    if said.dates:
        found["date"] = set(said.dates)
    for address in _ADDRESS.findall(text):
        if not _MONTHS.match(address.split()[-1].lower()):
            found.setdefault("address", set()).add(address.strip().lower())
    for day in heard(_HELD.sub(" ", said.low)).values["day"]:
        if not _MONTHS.match(day):
            found.setdefault("day", set()).add(words.stem(day))
    for clock in _CLOCK.findall(said.low):
        found.setdefault("clock", set()).add(clock.replace(" ", ""))
    for money in _MONEY.findall(said.low):
        found.setdefault("money", set()).add(money)
    for number, unit in _COUNT.findall(_CLOCK.sub(" ", said.low)):
        if unit not in _LINKS and not _MONTHS.match(unit):
            kind = words.stem(unit)
            priced = kind in _PRICED or (not unit.isalpha() and unit != "%")
            found.setdefault("money" if priced else kind, set()).add(number)
    return {kind: frozenset(some) for kind, some in found.items()}


@lru_cache(maxsize=8192)
def only_a_value(text: str) -> bool:
    """Whether it says only what was meant: "sorry, 9:15", "thursday i mean"."""
    low = heard(text).low.strip()
    first = _parts(low)
    for said in (low, first[0] if first else ""):
        found = _BARE.fullmatch(said.rstrip(" ,"))
        bare = (found["first"] or found["last"]) if found else ""
        if bare and len(bare.split()) <= SHORT and _VALUES.search(bare):
            rest = words.terms(_VALUES.sub(" ", bare)) - usual() - units()
            if not rest:
                return True
    return False


def speaks(new: Sentence, old: Sentence) -> bool:
    """Whether a sentence says how something is, or is to be, and an earlier one how it was."""
    says = not new.remark or _SETS.search(new.low)
    return bool(says and (not old.past or new.back))


def may_have_changed(new: Sentence, old: Sentence) -> bool:
    """Whether the judge does not rule out that one changes the other, which takes it some
    milliseconds."""
    return judge.likely([old.text], new.text)[0] >= AT_ALL


@lru_cache(maxsize=PAIRS)
def gives_another(new: Sentence, old: Sentence, how: str = "") -> bool:
    """Whether a later sentence gives another value for what an earlier one is about, by its form.
    `how`: "near" if it takes something back, soon after in the same conversation; "agent" if the
    earlier one was the agent's, in which only a value can be out of date."""
    if new.idle or new.terms <= old.terms or all_of(new, old):
        return False
    cued = new.changes or (new.decides and old.decides)
    if (cued and _versions(new, old)) or (new.moved and "slot 0" in old.cues):
        return True
    shared = (new.frame & old.terms) - usual()
    if cued:  # then what is named the same counts, too
        shared |= words.terms(" ".join(new.values["name"] & old.values["name"]))
    if any(it <= old.bare and (alone or how == "near" or shared - it) for it, alone in new.back):
        return True
    slot, again = new.slots & old.slots, _recounted(new, old)
    if how != "near" and (new.back or not shared or not (cued or again or slot or old.dates)):
        return False
    other = different(new.values, old.values) - {"degree"}
    other |= {"day"} if new.dates - old.dates and old.dates - new.dates else set()
    if how == "near" and NO.match(new.low) and new.values["number"] & old.values["number"]:
        return True  # "no, 8554 is the other one"
    if how == "near" and not new.back and (again or "day" in other or new.shapes & old.shapes):
        return True
    if new.back or not shared:
        return False
    if slot and other:
        return True
    left = [len(new.left - old.terms), len(old.left - new.terms)]
    if cued:
        least = max(FRAME, ALIKE * min(len(new.frame), len(old.frame)))
        return again or "day" in other or bool(other and (not left[0] or len(shared) >= least))
    moved = len(shared) > FRAME and "day" in other and "name" not in other
    return (moved and bool(old.dates)) or (again and _same_frame(new, old, shared, left))


def denies(new: Sentence, old: Sentence) -> bool:
    """Whether an answer gives another number: "no, 20 kg at most"."""
    return _DENIES.match(new.low) is not None and _recounted(new, old)


def _recounted(new: Sentence, old: Sentence) -> bool:
    """Whether a word has other values beside it in each: "page 140" and "page 310"."""
    return any(not new.counts[it] & old.counts[it] for it in new.counts.keys() & old.counts.keys())


def _same_frame(new: Sentence, old: Sentence, shared: frozenset[str], left: Sequence[int]) -> bool:
    """Whether two sentences differ in hardly more than a value. `left`: what each has alone."""
    same = bool(new.shapes & old.shapes) and not left[1]
    return same or (len(shared) >= FRAME and not min(left))


def _versions(new: Sentence, old: Sentence) -> bool:
    """Whether both name something with its number, and the numbers differ: "Postgres 16"."""
    ours, theirs = new.versions, old.versions
    named = new.values["name"] | old.values["name"]
    return any(ours[it] != theirs[it] for it in ours.keys() & theirs.keys() & named)


def beside(new: str, old: str) -> bool:
    """Whether a sentence says the same of another thing: "gauge 7 stands in hall 2" after "gauge 6
    stands in hall 1". What it begins with, or two things, have another number, and no word speaks
    of a change."""
    one, two = _numbered(new), _numbered(old)
    differ = {name for name in one.keys() & two.keys() if one[name] != two[name]}
    if not differ or heard(new).changes:
        return False
    return len(differ) > 1 or bool(_begins(new) & _begins(old) & differ)


@lru_cache(maxsize=8192)
def _numbered(text: str) -> dict[str, str]:
    return dict(_NUMBERED.findall(text.lower()))


def _begins(text: str) -> set[str]:
    """Its first words, of which one names what it is about."""
    return {word for word in map(str.lower, spelled(text)[:SUBJECT]) if not _VERB.match(word)}


def spelled(text: str) -> list[str]:
    return re.findall(r"[^\W_][\w.:'’-]*", text)


# --- tasks -------------------------------------------------------------------------------------
def lists(text: str) -> bool:
    """Whether a sentence lists what is to be done, or open."""
    return _LIST.match(text) is not None


@lru_cache(maxsize=4096)
def items(task: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The things that a task lists, each with its words, the verb first."""
    return tuple((part, _stems(part)) for part in _parts(_LIST.sub("", task, count=1)))


def _stems(part: str) -> tuple[str, ...]:
    bare = _TO_DO.sub("", part).replace("-", " ").split()
    stems = (next(iter(words.terms(word)), "") for word in bare)
    return tuple(dict.fromkeys(one for one in stems if one))


def done(report: str, task: Sequence[str]) -> str:
    """The clause of a report that says that a task is done; nothing if none does. Either it has the
    verb of the task ("the band is booked"), or it says so in plain words ("they went out")."""
    for clause in _parts(report):
        low, said = heard(clause).low, words.terms(clause.replace("-", " "))
        if heard(clause).planned:
            continue
        shared = said & set(task)
        plain = _OUT.search(low) or any(lower(it).search(low) for it in (cues.DONE, cues.DROPPED))
        if len(shared - usual()) < min(2, len(task)) or len(shared) < DONE * len(task):
            continue
        if plain or (_RESULT.search(low) and task[0] in shared):
            return "" if lower(cues.NOT_DONE).search(low) else clause
    return ""
