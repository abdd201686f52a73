"""Stale: sentences that say what has changed since.

An entry that was replaced is never told. Its words stand in the conversation as well, and the agent
repeated them: "Got it: reports go to Jonas." Such a sentence is known by the value that was lost
(what the old words have and the new ones do not) beside words of the old frame.

Not every change was booked. So what the user said later counts, too, if it gives another value for
the same thing (`outdates`): "We're on Postgres 16 now" after "We use Postgres 15". A sentence of
which nothing else is left is not told; any other is told with what holds instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from typing import NamedTuple

from wakebook.base import words
from wakebook.base.text import whole
from wakebook.capture.transcript import one_line
from wakebook.learn.phrases import cues, lower
from wakebook.learn.select.said import OF_CHANGE, Said, different, read, usual
from wakebook.recall import days
from wakebook.store.hits import Passage, Replaced

FRAME = 2  # words of the old sentence that a stale one has, the lost value among them ...
SHARE = 0.5  # ... and this share of the shorter of the two
ALIKE = 0.4  # the same share, where only the form of the new one speaks for a change
LONGEST = 120  # characters of a correction that are told beside what it corrects
SOON = 4  # turns after which "no, 45" is no longer about a sentence
GONE = "no longer holds"
LIVE = words.stem("live")
SUBJECT = 3  # words at the beginning, with what a sentence is about
REST = 1  # words of an old sentence beyond a change, with which it still says nothing else
_FILLERS = words.terms(  # say only that something has a value, or for how long
    "cost rise drop fall listen run charge pay begin beträgt kostet liegt steigt sinkt beginnt"
    " coûte passe commence cuesta sube baja pasa vale empieza jahr monat woche tag año mes semana"
    " día an mois semaine jour im pro per par por"
)
_VALUE = re.compile(r"\d|^[A-ZÀ-Þ]")
_UNIT = re.compile(r"\d\s?([^\W\d_]+)")
_NO = re.compile(
    r"(?:\w+[,!]? )?(?:no+|nope|nah|nein|non)[, ]+(?:the |der |die |das |el |la |le )?\S*\d"
)
_VERSION = re.compile(r"([^\W\d_][\w+#]*)[ :@-]v?(\d+(?:\.\d+)*)\b")
_MONTH = (
    r"(?:jan|feb|m[aä]r|apr|ma[iy]|ju[nl]|aug|sep|o[ck]t|nov|de[czs]|ene|abr|ago|fév|avr|juin|juil"
    r"|août|déc)"
)
_DATE = re.compile(
    rf"(\d{{1,2}})(?:\.|st|nd|rd|th|er)? (?:de |of )?{_MONTH}|{_MONTH}[a-zéû]* (\d{{1,2}})\b"
)
_MOVED = re.compile(  # where one lives, or a group does
    r"\b(?:i|we)(?:'ve| have| are|'re)?(?: \w+)? (?:moved|relocated) to\b"
    r"|\b(?:bin|sind) .{0,40}(?:um)?gezogen\b|\bme (?:he mudado|mudé) a\b|\bj'ai déménagé\b"
)
_JOINED = re.compile(r"(?<=[a-z])(?::(?=\d)|-(?=[a-z]))")
_CHANGED = re.compile(  # beside the cues that entries are replaced by
    r"\b(?:shifted|rearranged|relocated|transferred|handed over|reassigned|superseded"
    r"|made me (?:an? |the )?\w+)\b|^(?:we're |we are )?going with "
    r"|^(?:that's |that was |no, )?wrong\b"
    r"|\bist (?:jetzt|nun|neu)\b|\best (?:maintenant|passée? à)\b"
)
_OFFICE = re.compile(r"(?<=[A-ZÄÖÜ][a-zäöüß])frau\b|(?<=[a-zäöüß]{3})frau\b")
_ALSO = re.compile(r"(?i)^(?:(?:oh|and|ah|und|y|et)[, ]+)*(?:also|btw|auch|también|aussi)[, ]+")
_CLAUSES = re.compile(r"(?<=[,;])\s+|\s+(?=(?:and|but|und|aber|y|pero|et|mais)\s)")
_DIGIT = re.compile(r"\d")
_NUMBERED = re.compile(r"\b([^\W\d_]{3,}) #?(\d+)\b(?![.,:]\d)")
_VERB = re.compile(r".*[^su]s$")  # "costs 4", "opens 7", not "gauge 42"
_SENTENCES = re.compile(r"(?<=[.!?;])\s+|\n+")
_NOT = re.compile(
    r"(?i)\b(?:not|instead of|rather than|nicht|no|pas) (?:(?:the|on|in|at|am|el|le) )?\S+"
)


class Utterance(NamedTuple):
    """Something that was said, and where."""

    text: str
    at: int = 0
    talk: str = ""  # the conversation; nothing if that is not known
    turn: int = 0  # in it
    agent: bool = False  # said by the agent


class Correction(NamedTuple):
    text: str  # what holds instead
    wholly: bool = True  # of the old sentence, nothing else holds
    rest: str = ""  # its clauses that the correction says nothing about
    lost: frozenset[str] = frozenset()  # the numbers and days that it does not have

    def told(self, old: str) -> str:
        """What may be told of the old sentence."""
        if self.rest:
            return f"{self.rest} (the rest {GONE}: {self.text})"
        return "" if self.wholly else f"{old} (part of it {GONE}: {self.text})"


class _Booked(NamedTuple):
    lost: frozenset[str]
    old: frozenset[str]
    new: frozenset[str]
    whole: str  # what holds instead
    text: str  # the same, as it is shown
    at: int  # since when


class Stale:
    def __init__(self, pairs: Sequence[Replaced]) -> None:
        self._booked = _by_lost(tuple(pairs))  # the same for one message after the other
        self._said: list[tuple[Utterance, _Sentence]] = []
        self._later: dict[str, list[int]] = {}  # where in it, by term
        self._bare: dict[str, list[int]] = {}  # by conversation: "no wait, 45"

    def learn(self, said: Iterable[Utterance]) -> None:
        """Take in what the user has said, sentence by sentence."""
        for one in said:
            for text in sentences(one.text):
                if "?" in text[-2:]:
                    continue
                number, new = len(self._said), _read(text)
                self._said.append((one._replace(text=text), new))
                for term in new.terms - usual() | ({LIVE} if new.moved else set()):
                    self._later.setdefault(term, []).append(number)
                if one.talk and ("corrects" in new.cues or _NO.match(new.low)):
                    self._bare.setdefault(one.talk, []).append(number)

    def correction(self, sentence: Utterance) -> Correction | None:
        """What holds instead of something that was said; None if it may hold."""
        booked = self._replaced(words.terms(sentence.text), sentence.at)
        if booked:
            rest = _rest(sentence.text, booked.whole)
            rest = "" if _DIGIT.search(rest) else rest  # of which the booked words say nothing
            return Correction(booked.text, settles(booked.whole, sentence.text), rest)
        old = _read(sentence.text)
        found = self._corrected(old, sentence)
        wholly = found is not None and _covers(_read(found.text), old)
        clauses = _CLAUSES.split(sentence.text) if found is None else ()
        for clause in clauses if len(clauses) > 1 else ():
            found = found or self._corrected(_read(clause), sentence)
        if found is None:
            return None
        rest = _rest(sentence.text, found.text)
        lost = _dated(old) - _dated(_read(found.text)) - _dated(_read(rest))
        return Correction(_shown(found.text, found.at), wholly, rest, lost)

    def _corrected(self, old: _Sentence, sentence: Utterance) -> Utterance | None:
        """The last that the user said which outdates a sentence, or a clause of it."""
        bare = self._bare.get(sentence.talk, ())
        near = {number for number in bare if _soon(self._said[number][0], sentence)}
        found: Utterance | None = None
        for number in near.union(*(self._later.get(term, ()) for term in old.terms)):
            one, new = self._said[number]
            if not _after(one, sentence) or (found and _when(one) < _when(found)):
                continue
            how = "near" if number in near else "agent" if sentence.agent else ""
            if outdates(new, old, how) and not _beside(one.text, sentence.text):
                found = one
        return found

    def doubted(self, sentence: Utterance, values: bool = True, least: int = 1) -> bool:
        """Whether the user said something later that may be about the same thing, and otherwise:
        enough not to tell words that were not thought worth keeping. `values`: another value will
        do, no word need speak of a change. `least`: words that both have."""
        old = _read(sentence.text)
        for number in {number for term in old.terms for number in self._later.get(term, ())}:
            one, new = self._said[number]
            shared = (new.terms & old.terms) - usual()
            if len(shared) < least or "also" in new.cues or not _after(one, sentence):
                continue
            valued = values and len(shared) >= FRAME
            other = valued and different(new.values, old.values) - {"degree"}
            if (new.changes or other) and not _beside(one.text, sentence.text):
                return True
        return False

    def _replaced(self, said: frozenset[str], at: int) -> _Booked | None:
        for term in said:
            for one in self._booked.get(term, ()):
                shared = len(said & one.old)
                gained = (one.new - one.old) & said
                least = max(FRAME, SHARE * min(len(said), len(one.old)))
                if at <= one.at and shared >= least and not gained:
                    return one
        return None

    def current(self, text: str, said: Utterance) -> str:
        """A text without its sentences that no longer hold, and with what holds instead of those
        that hold in part; of an agent's turn, which only repeats, without these too. `said`: where
        and when."""
        kept = []
        parts = sentences(text)
        for part, then in zip(parts, [*parts[1:], ""], strict=False):
            if takes_back(then, part):
                continue
            found = self.correction(said._replace(text=part))
            if found is None:
                kept.append(part)
            elif not (said.agent and said.talk) and (told := found.told(part)):
                kept.append(told)
        return " ".join(kept)


class _Sentence(Said):
    """One that is compared with many others: what they ask of it is worked out once."""

    @cached_property
    def moved(self) -> bool:
        return _MOVED.search(self.low) is not None

    @cached_property
    def idle(self) -> bool:
        """A plan, an addition, a guess: nothing that could change what was said."""
        return self.planned or bool({"also", "hypothetical"} & self.cues)

    @cached_property
    def changes(self) -> bool:
        """Whether a word of it speaks of a change."""
        return bool(self.cues & OF_CHANGE or _CHANGED.search(self.low))

    @cached_property
    def decides(self) -> bool:
        """Whether it says what was chosen."""
        return lower(cues.DECIDED).search(self.low) is not None

    @cached_property
    def slots(self) -> frozenset[str]:
        return frozenset(cue for cue in self.cues if cue.startswith("slot"))

    @cached_property
    def counts(self) -> dict[tuple[str, str], frozenset[str]]:
        """Its values by their kind and a word that they stand beside."""
        return {
            (kind, word): values
            for kind, found in self.beside.items()
            for word, values in found.items()
        }

    @cached_property
    def shapes(self) -> set[str]:
        """How its numbers look: "6:30" and "7:15" alike."""
        return {_DIGIT.sub("0", one) for one in self.values["number"]}

    @cached_property
    def dates(self) -> set[str]:
        """Days of a month: "12 february" and "february 12" alike."""
        return {one or other for one, other in _DATE.findall(self.low)}

    @cached_property
    def versions(self) -> dict[str, str]:
        return dict(_VERSION.findall(self.low))

    @cached_property
    def left(self) -> frozenset[str]:
        """What it is about; a unit goes with its number."""
        return self.frame - usual() - _days(self.text) - _FILLERS


@lru_cache(maxsize=8192)
def _read(text: str) -> _Sentence:
    """A sentence with what hyphens and colons join taken apart ("sign-off", "postgres:15"),
    without an "also" that only goes on, and an office the same for men and women ("Obfrau")."""
    return _Sentence(_OFFICE.sub("mann", _JOINED.sub(" ", _ALSO.sub("", text))))


def takes_back(new: str, old: str) -> bool:
    """Whether a sentence corrects the one right before it: "doors open at 7. no, 6:30, sorry"."""
    said, before = _read(new), _read(old)
    if _NO.match(said.low):
        return bool(before.values["number"])
    return "corrects" in said.cues and outdates(said, before, "near")


def _beside(new: str, old: str) -> bool:
    """Whether a sentence says the same of another thing: "gauge 7 stands in hall 2" after "gauge 6
    stands in hall 1". What it begins with, or two things, have another number, and no word speaks
    of a change."""
    one, two = dict(_NUMBERED.findall(new.lower())), dict(_NUMBERED.findall(old.lower()))
    differ = [name for name in one.keys() & two.keys() if one[name] != two[name]]
    first = _begins(new) & _begins(old) & set(differ)
    return bool(first or len(differ) > 1) and not _read(new).changes


def _begins(text: str) -> set[str]:
    """Its first words, of which one names what it is about."""
    return {word for word in map(str.lower, _words(text)[:SUBJECT]) if not _VERB.match(word)}


def _rest(old: str, new: str) -> str:
    """The clauses of an old sentence that are about something else than a new one; nothing if the
    others say more than what has changed."""
    clauses, said = _CLAUSES.split(old), _read(new).terms - usual()
    about = {one: len(_read(one).terms & said) for one in clauses}
    most = max(about.values())
    gone = [
        one for one in clauses if about[one] and (about[one] == most or not _of_its_own(one, said))
    ]
    more = frozenset().union(*(_read(one).terms - _days(one) for one in gone)) - said - usual()
    if not gone or len(gone) == len(clauses) or len(more) > REST:
        return ""
    lost = frozenset().union(*map(_exact, gone)) - said
    kept = [one not in gone and not _exact(one) & lost for one in clauses]
    told = " ".join(one for one, yes in zip(clauses, kept, strict=True) if yes)
    if len(words.terms(told) - usual()) < FRAME:
        return ""
    return f"{'' if kept[0] else '… '}{told.rstrip(' ,;')}{'' if kept[-1] else ' …'}"


def _of_its_own(clause: str, said: frozenset[str]) -> bool:
    """Whether it gives a value of something else: "plain glass 38" beside "museum glass is 112"."""
    found = _read(clause)
    return bool(found.values["number"] and found.frame - said - usual())


def _dated(said: Said) -> frozenset[str]:
    return said.values["number"] | said.values["day"]


def repeats(text: str, lost: AbstractSet[str]) -> bool:
    """Whether a sentence has a number or day that was corrected since."""
    return bool(_dated(read(text)) & lost)


def _days(text: str) -> frozenset[str]:
    """Its numbers and days, with their units, as terms."""
    values = read(text).values
    return words.terms(" ".join([*values["number"], *values["day"], *_UNIT.findall(text.lower())]))


def _exact(text: str) -> frozenset[str]:
    """Its numbers and names, as terms."""
    return frozenset(words.stem(one.lower()) for one in _words(text) if _VALUE.search(one))


def _covers(new: _Sentence, old: _Sentence) -> bool:
    """Whether nothing is left of an old sentence beside what a new one says of the same thing."""
    return bool(new.about) and len(old.left - new.terms) <= REST and len(_lost(new, old)) <= 1


def _lost(new: Said, old: Said) -> frozenset[str]:
    return _dated(old) - _dated(new)


def settles(new: str, old: str) -> bool:
    """Whether a sentence that is booked as replaced is replaced with all that it says: one with
    two values, of which the new words give one, is not."""
    ours, theirs = _Sentence(new), _Sentence(old)
    return len(_lost(ours, theirs)) <= 1 or not theirs.left - ours.terms


def outdates(new: _Sentence, old: _Sentence, how: str = "") -> bool:
    """Whether a later sentence gives another value for what an earlier one is about. `how`: "near"
    if it takes something back, soon after in the same conversation; "agent" if the earlier one was
    the agent's, in which only a value can be out of date."""
    if new.idle or new.terms <= old.terms:
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
    if how == "near" and _NO.match(new.low) and new.values["number"] & old.values["number"]:
        return True  # "no, 8554 is the other one"
    if how == "near" and not new.back and (again or "day" in other or new.shapes & old.shapes):
        return True
    if new.back or not shared:
        return False
    if slot and other:
        return True
    left = [len(new.left - old.terms), len(old.left - new.terms)]
    if not cued:
        moved = len(shared) > FRAME and "day" in other and "name" not in other
        return (moved and bool(old.dates)) or (again and _same_frame(new, old, shared, left))
    least = max(FRAME, ALIKE * min(len(new.frame), len(old.frame)))
    loose = how != "agent" and all(left)
    if again or "day" in other or (other and not left[0]):
        return True
    return len(shared) >= least and bool(other or loose)


def _recounted(new: _Sentence, old: _Sentence) -> bool:
    """Whether a word has other values beside it in each: "page 140" and "page 310"."""
    return any(not new.counts[it] & old.counts[it] for it in new.counts.keys() & old.counts.keys())


def _same_frame(
    new: _Sentence, old: _Sentence, shared: frozenset[str], left: Sequence[int]
) -> bool:
    """Whether two sentences differ in hardly more than a value. `left`: what each has alone."""
    same = bool(new.shapes & old.shapes) and not left[1]
    return same or (len(shared) >= FRAME and not min(left))


def _versions(new: _Sentence, old: _Sentence) -> bool:
    """Whether both name something with its number, and the numbers differ: "Postgres 16"."""
    ours, theirs = new.versions, old.versions
    named = new.values["name"] | old.values["name"]
    return any(ours[it] != theirs[it] for it in ours.keys() & theirs.keys() & named)


def spoken(passage: Passage) -> Utterance:
    row = passage.row
    talk = passage.path if row.turn else ""
    return Utterance(passage.content, row.at, talk, row.place, row.speaker == "agent")


def sentences(text: str) -> list[str]:
    return [one for one in _SENTENCES.split(text) if one.strip()]


def _after(one: Utterance, other: Utterance) -> bool:
    if one.talk and one.talk == other.talk:
        return one.turn > other.turn
    return one.at > other.at


def _when(one: Utterance) -> tuple[int, int, str]:
    return one.at, one.turn, one.text


def _soon(one: Utterance, other: Utterance) -> bool:
    return 0 < one.turn - other.turn <= SOON


def _shown(text: str, at: int) -> str:
    day = datetime.fromtimestamp(at, UTC).date()
    return days.resolved(one_line(whole(text), LONGEST), day)


@lru_cache(4)
def _by_lost(pairs: tuple[Replaced, ...]) -> dict[str, list[_Booked]]:
    """Corrections by what was lost in each."""
    found: dict[str, list[_Booked]] = {}
    for pair in pairs:
        old, new = words.terms(pair.old), _terms(pair.new)
        lost = frozenset((_exact(pair.old) & old) - new) or old - new
        for term in lost:
            found.setdefault(term, []).append(
                _Booked(lost, old, new, pair.new, _shown(pair.new, pair.at), pair.at)
            )
    return found


def _terms(text: str) -> frozenset[str]:
    """What a sentence says, without what it says is not so."""
    return words.terms(_NOT.sub(" ", text))


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_][\w.:'’-]*", text)
