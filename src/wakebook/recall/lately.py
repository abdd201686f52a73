"""Lately: what the user has said in a project and Wakebook did not keep as an entry.

An entry needs a sentence that is surely worth keeping. Where the same project goes on, less will
do: a session is told what is likely to matter there, in the user's words, the newest first. Also
what was said around a turn of a transcript, and what of its words was meant.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import TYPE_CHECKING

from wakebook.base.cache import FOLDER
from wakebook.base.errors import TranscriptError
from wakebook.base.words import terms
from wakebook.learn.about import Weights, lasts
from wakebook.learn.about import forms as personal
from wakebook.learn.phrases import cues, lower, pattern
from wakebook.learn.select.pair import likely
from wakebook.learn.select.said import DATA, OF_CHANGE, different, events, lasts_until, read, usual
from wakebook.learn.select.speech import (
    Sentence,
    fiction,
    for_now,
    mocks,
    own_lines,
    quoted,
    real,
    requests,
    sentences,
    unmeant,
    unquoted,
    without_tasks,
)
from wakebook.log.query import Query, Scope
from wakebook.recall.gate import forms
from wakebook.recall.stale import SOON, Utterance, spoken, takes_back
from wakebook.recall.texts import ENDS, in_confidence

if TYPE_CHECKING:
    from wakebook.base.home import Home
    from wakebook.log.chains import Chains
    from wakebook.opened import Opened
    from wakebook.recall.scope import Inside
    from wakebook.recall.turn import Handoff
    from wakebook.store.hits import Passage

KEPT = f"{FOLDER}/worth.json"
BEFORE = 2_000  # messages whose worth is kept
MOST = 40  # messages that are looked at
_REPROACH = re.compile(  # "i said make check, you ran pytest again"
    r"(?i)(?:(?:and|but|no|hey)\W+)?(?:i|we)(?:['’]ve| have)? (?:already |just )?"
    r"(?:said|told you|asked you)\b"
)
_EARNEST = re.compile(
    r"(?i)\W*(?:no+|nope|nah|nein|non|seriously|kidding|joking|jk|ok(?:ay)?|im ernst|en serio)\b"
)
_COUNT = re.compile(r"(?<![\d.:/-])(\d+(?:[.,]\d+)?) ?([a-zà-ÿ]+|%|€)")
LIKELY = -0.26  # how far below the threshold of an entry a sentence may be ...
CHANGING = -0.58  # ... that gives something another value, or says what one is
NEAR = 40  # of the nearest to a sentence, in a large memory
BRIEF = 160  # characters of what an agent says on the way
EARLIER = 200  # turns before a passage
WISHES, AFTER = 12, 30  # the newest wishes, and messages after them, that are looked at
ASIDE = 0.05  # less likely to be for later, it is talk: "the kettle died, what a week lol"
LASTS = 0.5  # likely enough that a request says something for later: "mute them from 22 to 6"
LEAST = 3  # words, of which a fragment has no more: "5 minutes tops"
SAYS = 2  # of them that say something
REPLY = 160  # characters of a reply that is told beside the turn
_WRONG = ("wrong", "not ", "falsch", "faux", "mal,")
_NOPE = re.compile(  # "nope. our q3 is april to june"
    r"(?:no+|nope|nah|nein|nee|non)[.!]+ +(?:[^?\s]+ ){3}[^?]+$"
)
ALONE = 2  # sentences of an agent's turn that a "no, that's ..." takes back as a whole
PUT_RIGHT = 0.3  # likely enough that a reply takes back what an agent said
_HIDDEN = re.compile("[\u200b\u200c\u2060\ufeff\u202a-\u202e\u2066-\u2069]")  # nobody types them
_CONCRETE = re.compile(r"\S@\w+\.\w|\b\w+\.\w{2,}/|(?<!\w)\d")  # an address, a number
_OF_ONESELF = re.compile(r"\bthe user\b", re.IGNORECASE)  # nobody speaks of himself like that


def worths(home: Home) -> Weights:
    """What sentences are worth, kept from one start to the next: it takes the embedder to know."""
    return Weights(home, KEPT, DATA, _worth, BEFORE)


def _worth(text: str) -> list[float]:
    from wakebook.learn.select.worth import worthy

    own = sentences(text)
    return [round(one, 3) for one in worthy(own)] if own else []


def lately(
    said: Sequence[Utterance], worth: Callable[[str], Sequence[float]] = _worth
) -> Iterator[tuple[Utterance, str]]:
    """The sentences that state something, of the newest messages first, each with the one before it
    if it cannot be understood alone."""
    stories = {one.talk for one in said if fiction(one.text)}
    newest = sorted(said, key=lambda one: (one.at, one.turn), reverse=True)
    private = {
        (old.talk, old.turn)
        for new, old in pairwise(newest)
        if new.talk == old.talk and _takes_back(new.text.lower())
    }
    past = [(one.at, event) for one in newest[:MOST] for event in events(one.text)]
    for one in newest[:MOST]:
        if (
            (one.talk, one.turn) in private
            or one.talk in stories
            or in_confidence(one.text)
            or _HIDDEN.search(one.text)
        ):
            continue
        own, all_points = sentences(one.text), worth(one.text)
        if len(own) != len(all_points):  # kept by another version
            all_points = _worth(one.text)
        for sentence, points in zip(own, all_points, strict=True):
            after = next((it.text for it in own if it.place == sentence.place + 1), "")
            over = any(at > one.at and lasts_until(it, sentence.text) for at, it in past)
            if over or takes_back(after, sentence.text):
                continue
            changes = read(sentence.text).cues & OF_CHANGE - {"ends"}
            plain = (
                changes or pattern(forms.VALUE).search(sentence.text) or _concrete(sentence.text)
            )
            refers = lower(cues.REFERS).match(sentence.text.lower())
            clear = (sentence.before or not refers) and lasts(sentence.text) >= ASIDE
            clear = clear and not (refers and unmeant(sentence.before)) and not for_now(sentence)
            if points >= (CHANGING if plain else LIKELY) and _states(sentence) and clear:
                yield one._replace(text=sentence.text), sentence.before if refers else ""


def _concrete(text: str) -> bool:
    """Whether it has an address or a number, and is no remark: "nice, good for the 28th"."""
    return bool(_CONCRETE.search(text) and not lower(cues.TRANSIENT).search(text.lower()))


def _states(sentence: Sentence) -> bool:
    """Whether it is no question, no order and no remark on the way."""
    text = sentence.text
    if (
        _OF_ONESELF.search(text)
        or sentence.asked
        or _REPROACH.match(text)
        or text.endswith(":")
        or (len(text.split()) <= LEAST and not pattern(forms.VALUE).search(text))
        or len(terms(text) - usual()) < SAYS
        or unmeant(text)
        or mocks(sentence)
    ):
        return False
    if requests(text.lower()) and lasts(text) < LASTS:
        return False
    return not any(pattern(form).search(text) for form in (forms.ORDER, forms.HOW, forms.BUG))


# --- what was said, and where -------------------------------------------------------------------
def said_here(opened: Opened, here: Scope, left: Sequence[Handoff]) -> list[Utterance]:
    """What the user said in a project lately, and in the conversations of the handoffs."""
    from wakebook.capture import archive  # which a prompt does not need

    if here.unread is None or here.here in here.unread:
        return []  # the user has not approved of it yet
    found = opened.index.said(project=here.here) if here.here is not None else []
    talks = {one.transcript for one in left if one.transcript}
    said = [Utterance(*one) for one in found if one[2] not in talks]
    for talk in talks:
        with suppress(TranscriptError):
            said += [
                Utterance(one.text, int(one.at.timestamp()), talk, one.number)
                for one in archive.read(opened.home, talk).turns
                if one.role == "user" and not one.branch
            ]
    return said


def said_elsewhere(opened: Opened, here: Scope, chains: Chains, inside: Inside) -> list[Utterance]:
    """What the user said after wishes that are told here, where they said them."""
    wishes = [one for one in chains.current() if one.kind == "preference" and one.project]
    told = [one for one in wishes if one.project != here.here and inside.tells(one)]
    since = {one.project: int(one.timestamp.timestamp()) for one in reversed(told[-WISHES:])}
    return [
        Utterance(*one)
        for project, at in since.items()
        for one in opened.index.said(project=project, most=AFTER)
        if one[1] > at
    ]


def said_of(opened: Opened, here: Scope, sentence: Utterance) -> list[Utterance]:
    """What was said after a sentence, and may be of the same thing: of the nearest of all."""
    found = opened.index.passages(Query(text=sentence.text, scope=here), opened.now(), NEAR).found
    return [
        spoken(one)
        for one in found
        if one.row.at > sentence.at and one.row.name and not one.replaced_by
    ]


def said_after(opened: Opened, passage: Passage) -> list[Utterance]:
    """What the user said next, which may take back what stands in a passage."""
    said = opened.index.said(path=passage.path, since=passage.row.place, most=SOON)
    return [Utterance(*one) for one in said]


def said_before(opened: Opened, passage: Passage) -> list[Utterance]:
    """What the user said before a passage: what it is the outcome of, and whether it is a story."""
    place = passage.row.place
    said = opened.index.said(path=passage.path, since=place - EARLIER, most=EARLIER)
    return [Utterance(*one) for one in said if one[3] < place]


def made_up(passage: Passage, before: Sequence[Utterance]) -> bool:
    """Whether a turn is of a story or a role play, or answers what is only supposed."""
    tale = False
    for one in before:
        tale = (tale and not real(one.text)) or fiction(one.text)
    if passage.row.speaker != "agent":
        return tale and not pattern(f"{cues.REALITY}|{cues.FICTIONAL}").search(passage.content)
    supposed = [one for one in before if one.turn == passage.row.place - 1]
    return tale or any(pattern(cues.HYPOTHETICAL).search(one.text) for one in supposed)


def out_of_character(text: str) -> str:
    """What the user says about a story, not in it: "present tense for the flashbacks"."""
    mine = pattern(f"{personal.FIRST}|{personal.OURS}")
    return " ".join(one for one in ENDS.split(text) if not mine.search(one))


def typed(text: str, agent: bool) -> str:
    """A turn without lines that a machine wrote; of the user's, without quotes and pastes, and
    without what is to be done, which is told as far as it is open."""
    if agent:
        lines = text.split("\n")
        return "\n".join(one for one in lines if not pattern(cues.MACHINE, 0).match(one[:200]))
    ours = map(unquoted, without_tasks(own_lines(text, long=True)))
    return "\n".join(one for one in ours if one and not quoted(one))


def on_the_way(sentence: str) -> bool:
    """Whether an agent says only what it is about to do: "Let me check.", "Now the route:"."""
    narrates = pattern(cues.PROGRESS).match(sentence) or sentence.endswith(":")
    return len(sentence) < BRIEF and bool(narrates)


# --- what the user said to an agent's turn, which decides what that turn is worth --------------
def refused(passage: Passage, after: Callable[[Passage], Iterable[Utterance]]) -> bool:
    """Whether an agent's passage proposes something that the user then did not want: said so, or
    said something else than yes."""
    if not _has(cues.OFFERS, passage):
        return False
    reply = _reply(passage, after).lower()
    if not reply or lower(cues.REFUSES).match(reply) or _has(cues.CHOICES, passage):
        return lower(cues.REFUSES).match(reply) is not None
    yes = lower(cues.YES).match(reply)
    rest = reply[yes.end() :] if yes else reply
    return not (yes and yes.end()) and not any(map(lower(cues.COMMIT).match, (rest, reply)))


def reply_to(passage: Passage, after: Callable[[Passage], Iterable[Utterance]]) -> str:
    """What a user chose of what an agent's turn offers, if that is short."""
    offers = _has(cues.CHOICES, passage) or _has(cues.OFFERS, passage)
    reply = _reply(passage, after) if offers else ""
    return " ".join(reply.split()) if len(reply) <= REPLY else ""


def in_earnest(parts: Iterable[str]) -> list[str]:
    """Sentences without mockery, which goes on until somebody says no: "oh sure, in Rust, exactly
    what I need on a Friday. no, just detect the encoding"."""
    found: list[str] = []
    mocks = False
    for part in parts:
        mocks = bool(pattern(cues.SARCASM).search(part)) or (mocks and not _EARNEST.match(part))
        found += [] if mocks else [part]
    return found


def unsaid(after: Iterable[Utterance]) -> bool:
    """Whether the user then said not to keep it: "that's confidential, don't keep the number"."""
    said = next(iter(after), None)
    return said is not None and _takes_back(said.text.lower())


def _takes_back(low: str) -> bool:
    """Whether what was said before is not to be kept, was a joke, or is taken back."""
    back = lower(cues.JOKED).match(low) or lower(cues.SCRATCHED).match(low)
    return bool(back or lower(cues.PRIVATELY).search(low))


def put_right(part: str, passage: Passage, after: Callable[[Passage], Iterable[Utterance]]) -> bool:
    """Whether the user's reply takes back a sentence of an agent's turn: "I took 433 MHz." / "wrong
    band, its 403". Of what an agent offers, see `refused` and `reply_to`."""
    said = [it.text for it in sentences(_reply(passage, after)) if not it.asked]
    if any(_counts_otherwise(part, one) for one in said):
        return True
    if _has(cues.CHOICES, passage) or _has(cues.OFFERS, passage):
        return False
    old = read(part).values
    alone = len(sentences(passage.content)) <= ALONE
    reply = _reply(passage, after).lower()
    if alone and (lower(cues.CONTRADICTS).match(reply) or _NOPE.match(reply)):
        return True
    wrong = False
    for one in said:  # "no, that's the sandbox. ours has 400 a minute"
        low = one.lower()
        wrong = wrong or bool(lower(cues.REFUSES).match(low) or low.startswith(_WRONG))
        if wrong and different(read(one).values, old) - {"degree"}:
            return True
        if likely(one, part) >= PUT_RIGHT:
            return True
    return False


def _counts_otherwise(part: str, said: str) -> bool:
    """Whether the user counts the same otherwise: "a 14 day deadline" / "they get 21 days"."""
    old, new = _counted(part), _counted(said)
    apart = any(old[unit].isdisjoint(new[unit]) for unit in old.keys() & new.keys())
    return apart and bool(terms(part) & terms(said) - usual())


def _counted(text: str) -> dict[str, set[str]]:
    """Units and what stands before them."""
    found: dict[str, set[str]] = {}
    for number, unit in _COUNT.findall(text.lower()):
        found.setdefault(unit.rstrip("s"), set()).add(number)
    return found


def correction_of(passage: Passage, after: Callable[[Passage], Iterable[Utterance]]) -> str:
    """What the user answered to an agent's turn of which nothing is left, if that is short."""
    reply = " ".join(_reply(passage, after).split())
    parts = [it.text for it in sentences(passage.content)]
    agrees = lower(cues.YES).match(reply.lower())  # "good. the editor crashes, btw"
    wrong = not (agrees and agrees.end()) and any(put_right(one, passage, after) for one in parts)
    return reply if wrong and len(reply) <= REPLY else ""


def _has(cue: str, passage: Passage) -> bool:
    return lower(cue).search(passage.content.lower()) is not None


def _reply(passage: Passage, after: Callable[[Passage], Iterable[Utterance]]) -> str:
    found = (one.text for one in after(passage) if one.turn == passage.row.place + 1)
    return next(found, "").removeprefix("user: ")
