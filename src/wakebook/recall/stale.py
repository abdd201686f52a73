"""Stale: sentences that say what has changed since.

An entry that was replaced is never told. Its words stand in the conversation as well, and the agent
repeated them: "Got it: reports go to Jonas." Such a sentence is known by the value that was lost
(what the old words have and the new ones do not) beside words of the old frame.

Not every change was booked. So what the user said later counts, too, if it gives another value for
the same thing: "We're on Postgres 16 now" after "We use Postgres 15". A sentence of which nothing
else is left is not told; any other is told with what holds instead, and one that may have changed
with what was said since (`perhaps`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple

from wakebook.base import words
from wakebook.base.text import one_line, whole
from wakebook.learn.phrases import cues, lower
from wakebook.learn.select.pair import likely
from wakebook.learn.select.said import (
    CLAUSES,
    DIGIT,
    MONTH,
    Said,
    Sentence,
    clauses_of,
    days_of,
    different,
    heard,
    read,
    usual,
)
from wakebook.learn.select.speech import own_lines
from wakebook.recall import days
from wakebook.recall.perhaps import (
    FRAME,
    NO,
    beside,
    changed,
    denies,
    done,
    gives_another,
    items,
    leaves,
    lists,
    may_have_changed,
    only_a_value,
    speaks,
    spelled,
    unsaid,
    values_of,
)
from wakebook.store.hits import Passage, Replaced

SHARE = 0.5  # ... and this share of the shorter of the two
EXACT = 3  # characters of a number that hardly stands for something else: "1.12"
LONGEST = 120  # characters of a correction that are told beside what it corrects
SOON = 4  # turns after which "no, 45" is no longer about a sentence
GONE = "no longer holds"
LONG = 110  # characters of a sentence in which it is said where it no longer holds
LIVE = words.stem("live")
SAYS_LITTLE = 25  # characters of a sentence that is shown with the next one: "We've moved!"
RECENT = 200  # sentences of a change that may be about anything
HARDLY = 0.2  # less than that, values of one kind are of two things
ELSE = 4  # times as many words as it shares has a clause that is about something else
ASKED = 2  # of the later sentences, the newest first, that the judge is asked of
ECHOED, SAME = 3, 0.7  # words of a sentence, and share of them, with which an agent repeats it
REST = 1  # words of an old sentence beyond a change, with which it still says nothing else
_VALUE = re.compile(r"\d|^[A-ZÀ-Þ]")
_SENTENCES = re.compile(
    rf"(?i)(?:(?<=[.!?;])|(?<=[:;][)(dp]))(?!(?<=\d\.)\s+{MONTH})\s+|\n+"
)  # "am 12. Dezember"
_MARK = re.compile(r" \(((?:perhaps )?no longer)(?:: ((?:[^()]|\([^()]*\))*)|, see above)\)")
_MARKS = " .!;,"
_PLAN = re.compile(r"(?i)\bi['’](?:ll|m thinking)\b")
_THEY = re.compile(r"(?:they|he|she|it|sie|er|ellos|ella|ils?|elles?)\b")
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
    shown: str = ""  # with what follows, if it says little alone
    before: str = ""  # the sentence that a word of it stands for: "They've sold it"


class Note(NamedTuple):
    clause: str  # of an old sentence
    text: str  # what was said of it since
    sure: bool  # that it has changed

    def put(self, text: str) -> str:
        """A sentence with the note behind its clause."""
        bare = self.clause.rstrip(" ,;.")
        words = "no longer" if self.sure else "perhaps no longer"
        return text.replace(bare, f"{bare} ({words}: {self.text})", 1)


class Correction(NamedTuple):
    text: str  # what holds instead
    wholly: bool = True  # of the old sentence, nothing else holds
    rest: str = ""  # its clauses that the correction says nothing about
    lost: frozenset[str] = frozenset()  # the numbers and days that it does not have
    notes: tuple[Note, ...] = ()  # of clauses, where one word for all of it would not do

    def told(self, old: str) -> str:
        """What may be told of the old sentence."""
        if self.notes and not (self.wholly and len(self.notes) == 1):
            for note in self.notes:
                old = note.put(old)
            return old
        if self.rest:
            return f"{self.rest} (the rest {GONE}: {self.text})"
        return "" if self.wholly else f"{old} (part of it {GONE}: {self.text})"


def unmarked(text: str) -> str:
    """A text without the notes in it."""
    return _MARK.sub("", text)


def once(text: str, told: Callable[[str], bool]) -> str:
    """A text whose notes do not say again what was told."""

    def shorter(mark: re.Match[str]) -> str:
        new = mark[2] and days.as_said(mark[2])
        return f" ({mark[1]}, see above)" if new and told(new) else mark[0]

    return _MARK.sub(shorter, text)


class _Booked(NamedTuple):
    old: frozenset[str]
    gained: frozenset[str]  # what only the new words have
    whole: str  # what holds instead
    at: int  # since when


class Stale:
    def __init__(self, pairs: Sequence[Replaced]) -> None:
        self._booked = _by_lost(tuple(it for it in pairs if it.surely))  # for message after message
        self._doubts: dict[str, list[Replaced]] = {}  # by the sentence that may have changed
        for pair in pairs:
            for part in () if pair.surely else (pair.old, *sentences(pair.old)):
                self._doubts.setdefault(part.strip(_MARKS), []).append(pair)
        self._said: list[tuple[Utterance, Sentence]] = []
        self._later: dict[str, list[int]] = {}  # where in it, by term
        self._bare: dict[str, list[int]] = {}  # by conversation: "no wait, 45"
        self._cued: list[int] = []  # that speak of a change
        self._topic: frozenset[str] = frozenset()

    def learn(self, said: Iterable[Utterance], topic: frozenset[str] = frozenset()) -> None:
        """Take in what the user has said, sentence by sentence. `topic`: terms of what all of it is
        about."""
        self._topic |= topic
        for one in said:
            parts = sentences(_typed(one))
            for before, text, then in zip(["", *parts], parts, [*parts[1:], ""], strict=False):
                if "?" in text[-2:]:
                    continue
                number, new = len(self._said), heard(text)
                goes_on = then and (len(text) < SAYS_LITTLE or leaves(text))
                shown = f"{text} {then}" if goes_on else text
                carried = before if _THEY.match(new.low) else ""
                self._said.append((one._replace(text=text, shown=shown, before=carried), new))
                terms = new.terms | words.terms(carried) | ({LIVE} if new.moved else set())
                for term in terms - usual():
                    self._later.setdefault(term, []).append(number)
                if unsaid(text):
                    self._cued.append(number)
                if one.talk and ("corrects" in new.cues or NO.match(new.low) or only_a_value(text)):
                    self._bare.setdefault(one.talk, []).append(number)

    def correction(self, sentence: Utterance) -> Correction | None:
        """What holds instead of something that was said; None if it may hold."""
        booked = self._replaced(words.terms(sentence.text), sentence.at, sentence.agent)
        if booked:
            rest = _rest(sentence.text, booked.whole)
            rest = "" if DIGIT.search(rest) else rest  # of which the booked words say nothing
            return Correction(
                _shown(booked.whole, booked.at), settles(booked.whole, sentence.text), rest
            )
        if sentence.agent and (echoed := self._echoed(sentence)):
            return Correction(_shown(echoed.new, echoed.at))
        old = heard(sentence.text)
        found = self._corrected(old, sentence)
        wholly = found is not None and _covers(heard(found.text), old)
        clauses = CLAUSES.split(sentence.text) if found is None else ()
        for clause in clauses if len(clauses) > 1 else ():
            found = found or self._corrected(heard(clause), sentence)
        notes = () if wholly else self._notes(sentence, found)
        if found is None:
            return Correction(notes[0].text, False, notes=notes) if notes else None
        rest = _rest(sentence.text, found.text)
        lost = _dated(old) - _dated(heard(found.text)) - _dated(heard(rest))
        text = _shown(found.text, found.at)
        if notes or (not wholly and not rest and len(sentence.text) > LONG):
            notes = (Note(_about(found.text, sentence.text), text, True), *notes)
        return Correction(text, wholly, rest, lost, notes)

    def _echoed(self, sentence: Utterance) -> Replaced | None:
        """What may have changed words of the user's that an agent repeats: "Noted: oak"."""
        said = words.terms(sentence.text)
        for clause, pairs in self._doubts.items():
            terms = words.terms(clause)
            if len(said & terms) >= max(ECHOED, SAME * len(terms)):
                since = (
                    it for it in pairs if it.at > sentence.at and not said <= words.terms(it.new)
                )
                if found := next(since, None):
                    return found
        return None

    def _notes(self, sentence: Utterance, but: Utterance | None) -> tuple[Note, ...]:
        """What was said since that may change a clause of a sentence, the last of each. `but`: what
        surely has changed it."""
        if sentence.agent:
            return ()
        sure = _about(but.text, sentence.text).strip(_MARKS) if but else ""
        doubts = [
            (it.at, part, it.new)
            for part in (_parts(sentence.text) if self._doubts else ())
            for it in self._doubts.get(part, ())
            if it.at >= sentence.at
        ]
        near = (self._later.get(term, ()) for term in heard(sentence.text).terms)
        found: dict[str, Utterance] = {}
        for number in set(self._cued[-RECENT:]).union(*near):
            one, _ = self._said[number]
            both = not (one.talk or sentence.talk)  # are entries: judged when the later was learned
            if both or not _after(one, sentence):
                continue
            topic = self._topic | words.terms(one.before) if one.before else self._topic
            change = changed(one.text, sentence.text, topic)
            if not change or beside(one.text, sentence.text):
                continue
            if not change.named and _hardly(f"{one.before} {one.text}".strip(), sentence.text):
                continue
            clause = change.clause.strip(_MARKS)
            last = found.get(clause)
            if clause == sure or (last and _when(last) > _when(one)):
                continue
            found[clause] = one._replace(text=one.shown)
        for at, part, new in sorted(doubts):
            clause = part if len(part) + 2 < len(sentence.text) else _about(new, sentence.text)
            if (bare := clause.strip(_MARKS)) != sure:
                found[bare] = Utterance(new, at)
        return tuple(Note(clause, _shown(it.text, it.at), False) for clause, it in found.items())

    def _corrected(self, old: Sentence, sentence: Utterance) -> Utterance | None:
        """The last that the user said which outdates a sentence, or a clause of it."""
        bare = self._bare.get(sentence.talk, ())
        near = {number for number in bare if _soon(self._said[number][0], sentence)}
        numbers = near.union(*(self._later.get(term, ()) for term in old.terms))
        later = (number for number in numbers if _after(self._said[number][0], sentence))
        doubts = 0
        for number in sorted(later, key=lambda it: _when(self._said[it][0]), reverse=True):
            one, new = self._said[number]
            how = "near" if number in near else "agent" if sentence.agent else ""
            answers = one.talk == sentence.talk and _soon(one, sentence, 1)
            if sentence.agent and answers and denies(new, old):
                return one
            if not gives_another(new, old, how) or beside(one.text, sentence.text):
                continue
            if how != "near" and not speaks(new, old):
                continue
            doubts += not (sure := how or new.back)  # to ask of all would take a start too long
            if sure or (doubts <= ASKED and may_have_changed(new, old)):
                return one
        return None

    def doubted(self, sentence: Utterance, values: bool = True, least: int = 1) -> bool:
        """Whether the user said something later that may be about the same thing, and otherwise:
        enough not to tell words that were not thought worth keeping. `values`: another value will
        do, no word need speak of a change. `least`: words that both have."""
        old = heard(sentence.text)
        for number in {number for term in old.terms for number in self._later.get(term, ())}:
            one, new = self._said[number]
            shared = (new.terms & old.terms) - usual()
            if len(shared) < least or "also" in new.cues or not _after(one, sentence):
                continue
            valued = values and len(shared) >= FRAME
            other = valued and different(new.values, old.values) - {"degree"}
            may = (new.changes or other) and speaks(new, old)
            if may and not beside(one.text, sentence.text):
                return True
        return False

    def undone(self, task: Utterance, listed: bool = True) -> str:
        """A task without what the user has reported as done, as far as that is all of it; else
        with the reports. `listed`: all of it is to be done, not only what it says is."""
        text, left = task.text, False
        listed = listed or lists(text)
        for part, stems in items(text):
            wanted = listed or lower(cues.TASK).search(part.lower()) is not None
            report = self._reported(task, stems) if wanted else ""
            left = left or not report
            if report:
                bare = part.rstrip(" ,;.")
                text = text.replace(bare, f"{bare} (done, it seems: {report.rstrip(' ,;.!')})", 1)
        return text if left else ""

    def _reported(self, task: Utterance, stems: Sequence[str]) -> str:
        for number in sorted({it for stem in stems for it in self._later.get(stem, ())}):
            one, _ = self._said[number]
            if _after(one, task) and (report := done(one.text, stems)):
                return report
        return ""

    def _replaced(self, said: frozenset[str], at: int, agent: bool) -> _Booked | None:
        for term in said:
            exact = agent and len(term) >= EXACT and DIGIT.search(term)  # an agent repeats it
            for one in self._booked.get(term, ()):
                if at > one.at or not one.gained.isdisjoint(said):
                    continue
                share = 0 if exact else SHARE * min(len(said), len(one.old))
                if len(said & one.old) >= max(FRAME, share):
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


def _hardly(later: str, old: str) -> bool:
    """Whether a plan, or values of one kind that are of two things, only look like a change."""
    return _PLAN.search(later) is not None or likely(later, old) < HARDLY


def takes_back(new: str, old: str) -> bool:
    """Whether a sentence corrects the one right before it: "doors open at 7. no, 6:30, sorry"."""
    said, before = heard(new), heard(old)
    if NO.match(said.low):
        return bool(before.values["number"])
    return "corrects" in said.cues and gives_another(said, before, "near")


def _rest(old: str, new: str) -> str:
    """The clauses of an old sentence that are about something else than a new one; nothing if the
    others say more than what has changed."""
    clauses, said = CLAUSES.split(old), heard(new).terms - usual()
    about = {one: len(heard(one).terms & said) for one in clauses}
    most = max(about.values())
    gone = [
        one
        for one in clauses
        if about[one] and (about[one] == most or not (_of_its_own(one, said) or _else(one, said)))
    ]
    more = frozenset().union(*(heard(one).terms - days_of(one) for one in gone)) - said - usual()
    if not gone or len(gone) == len(clauses) or len(more) > REST:
        return ""
    lost = frozenset().union(*map(_exact, gone)) - said
    kept = [one not in gone and not _exact(one) & lost for one in clauses]
    told = " ".join(one for one, yes in zip(clauses, kept, strict=True) if yes)
    if len(words.terms(told) - usual()) < FRAME:
        return ""
    return f"{'' if kept[0] else '… '}{told.rstrip(' ,;')}{'' if kept[-1] else ' …'}"


def _about(new: str, old: str) -> str:
    """The clause of an old sentence that a new one is most about."""
    later, values = heard(new), values_of(new)

    def near(clause: str) -> int:
        one = heard(clause)
        kinds = len(values_of(clause).keys() & values) + len(one.slots & later.slots)
        return len(one.terms & later.terms - usual()) + 2 * kinds

    return max(CLAUSES.split(old), key=near)


def _of_its_own(clause: str, said: frozenset[str]) -> bool:
    """Whether it gives a value of something else: "plain glass 38" beside "museum glass is 112"."""
    found = heard(clause)
    return bool(found.values["number"] and found.frame - said - usual())


def _else(clause: str, said: frozenset[str]) -> bool:
    """Whether it names someone, and has hardly a word of what was said of something else."""
    terms = heard(clause).terms - usual()
    return bool(_exact(clause)) and len(terms & said) * ELSE <= len(terms)


def _dated(said: Said) -> frozenset[str]:
    return said.values["number"] | said.values["day"]


def repeats(text: str, lost: AbstractSet[str]) -> bool:
    """Whether a sentence has a number or day that was corrected since."""
    return bool(_dated(read(text)) & lost)


def _exact(text: str) -> frozenset[str]:
    """Its numbers and names, as terms."""
    return frozenset(words.stem(one.lower()) for one in spelled(text) if _VALUE.search(one))


def _covers(new: Sentence, old: Sentence) -> bool:
    """Whether nothing is left of an old sentence beside what a new one says of the same thing."""
    return bool(new.about) and len(old.left - new.terms) <= REST and len(_lost(new, old)) <= 1


def _lost(new: Said, old: Said) -> frozenset[str]:
    return _dated(old) - _dated(new)


def settles(new: str, old: str) -> bool:
    """Whether a sentence that is booked as replaced is replaced with all that it says: one with
    two values, of which the new words give one, is not."""
    ours, theirs = Sentence(new), Sentence(old)
    return len(_lost(ours, theirs)) <= 1 or not theirs.left - ours.terms


def spoken(passage: Passage) -> Utterance:
    row = passage.row
    talk = passage.path if row.turn else ""
    return Utterance(passage.content, row.at, talk, row.place, row.speaker == "agent")


def _typed(one: Utterance) -> str:
    """What was said, without what was pasted: a mail, a log."""
    return "\n".join(own_lines(one.text)) if one.talk and "\n" in one.text else one.text


def sentences(text: str) -> list[str]:
    return [one for one in _SENTENCES.split(text) if one.strip()]


def _after(one: Utterance, other: Utterance) -> bool:
    if one.talk and one.talk == other.talk:
        return one.turn > other.turn
    return one.at > other.at


def _when(one: Utterance) -> tuple[int, int, str]:
    return one.at, one.turn, one.text


def _soon(one: Utterance, other: Utterance, turns: int = SOON) -> bool:
    return 0 < one.turn - other.turn <= turns


def _parts(text: str) -> set[str]:
    """A text, its sentences and their clauses, without the marks at their ends."""
    found = (text, *sentences(text))
    return {it for one in found for it in (one.strip(_MARKS), *clauses_of(one))}


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
        booked = _Booked(old, new - old, pair.new, pair.at)
        for term in lost:
            found.setdefault(term, []).append(booked)
    return found


def _terms(text: str) -> frozenset[str]:
    """What a sentence says, without what it says is not so."""
    return words.terms(_NOT.sub(" ", text))
