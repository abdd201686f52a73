"""What a sentence is, as far as it says so itself, and how likely it is worth remembering.

Worth: plain features and the built-in embedder's vector.

Form decides more than content: "I've just ...", "my sister ...", "by the way ..." tell of a life;
"can you", "that sounds great" do not. The weights are data (weights.json), fitted by
bench/fit_select.py on labelled sentences. Where the words are not English, the vector says little
and only the features count. What is stated and not kept is heard: it may be changed later.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec

from wakebook.base.words import leads, terms
from wakebook.capture.transcript import Message
from wakebook.learn.about import OPENS, everywhere, introduced, lasts, mentions, own
from wakebook.learn.extract import Heard
from wakebook.learn.phrases import cues, lower
from wakebook.learn.select.said import (
    CLAUSES,
    KINDS,
    OF_CHANGE,
    chance,
    clauses_of,
    dates_of,
    read,
    vector,
    weights,
)
from wakebook.learn.select.speech import (
    ANNOUNCED,
    PLAIN,
    Sentence,
    alone,
    fiction,
    requests,
    sentences,
    split,
    unmeant,
)
from wakebook.log.entry import EntryKind, Status, Type

_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
_NAME = re.compile(r"(?<=[\w,;] )[A-Z][\w'’-]+")
_OFTEN = re.compile(r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days\b")  # "fridays im off"
_MARKED = re.compile(r"(?:^|\s)\(?[a-z\d]\) ")  # "a) dark mode b) ..."
_VECTOR = "vector"
_STARTS = 3  # words at the beginning that are features of their own
OF_USER = 0.62  # this likely about the user, a sentence is kept however it scores ...
LASTS = 0.86  # ... or of something that is worked on, and lasting
STATED = 0.5  # ... beside a request: "write to Dr Montt, she runs the desk"
TALK = 0.1  # less likely to last than this, a sentence is talk
_LENGTHS = (4, 7, 11, 16, 22, 30, 40)
WISH = 3  # terms of a wish
ROW, IN_A_ROW = 4, 3  # spaces of a short clause; so many are several things
SEVERAL = 2  # commas between the things of a list
UNSURE = 0.3  # this far below the threshold, a sentence is kept if it changes something known
CHANGING = ("fact", "decision")
_EXPLICIT: tuple[EntryKind, ...] = ("lesson", "preference", "procedure")


def features(sentence: Sentence, others: Sequence[Sentence] = ()) -> dict[str, float]:
    """What can be seen of a sentence, and of those beside it in the message."""
    low = sentence.text.lower().replace("’", "'")
    words = _WORD.findall(low)
    lead = lower(cues.LEAD).match(low)
    core = low[lead.end() :] if lead and lead.end() < len(low) else low
    start = _WORD.findall(core)[:_STARTS]
    found = {f"length:{sum(len(words) > most for most in _LENGTHS)}"}
    found |= {f"1:{' '.join(start[:n])}" for n in range(1, len(start) + 1)}
    found |= {f"w:{word}" for word in words}
    found |= {f"w:{a} {b}" for a, b in pairwise(words)}
    plain, patterns = _signs()
    found |= {name for word in _WORD.findall(core) for name in plain.get(word, ())}
    found |= {name for name, one in patterns.items() if name not in found and one.search(core)}
    found |= {f"lead:{word}" for word in ["", *_WORD.findall(lead.group())[:3]]} if lead else set()
    found |= {name for name, yes in _marks(sentence, low, core).items() if yes}
    for name, beside in (("before", sentence.place - 1), ("after", sentence.place + 1)):
        other = next((one for one in others if one.place == beside), None)
        if other:
            found.add(f"{name}:asked" if other.asked else f"{name}:said")
            if lower(r"\b(?:i|i'm|i've|my|we|our)\b").search(other.text.lower()):
                found.add(f"{name}:mine")
    return dict.fromkeys(found, 1.0)


def _marks(sentence: Sentence, low: str, core: str) -> dict[str, bool]:
    names = [name for name in _NAME.findall(sentence.text) if not name.startswith(("I'", "I’"))]
    return {
        "refers": lower(cues.REFERS).match(low) is not None,
        "noted": lower(cues.NOTED).match(core) is not None,
        "standing": lower(cues.STANDING).match(core) is not None,
        "name": bool(names),
        "names": len(names) > 2,
        "first": sentence.place == 0,
        "second": sentence.place == 1,
        "later": sentence.place > 1,
        "last": sentence.place == sentence.of - 1,
        "alone": sentence.of == 1,
        "long message": sentence.of > 6,
        "!": sentence.text.endswith("!"),
        "asked": sentence.asked,
        "listed": bool(sentence.heading),
    }


@cache
def _signs() -> tuple[dict[str, list[str]], dict[str, re.Pattern[str]]]:
    """Signs by their words, and as patterns what is more than a word."""
    plain: dict[str, list[str]] = {}
    patterns: dict[str, re.Pattern[str]] = {}
    for name, text in cues.SIGNS.items():
        listed = re.fullmatch(r"\\b\(\?:([^()]*)\)\\b", text)
        one_of = listed[1].split("|") if listed else [text]
        rest = [one for one in one_of if not _WORD.fullmatch(one)]
        for word in set(one_of) - set(rest):
            plain.setdefault(word, []).append(name)
        if rest:
            patterns[name] = lower(rf"\b(?:{'|'.join(rest)})\b" if listed else rest[0])
    return plain, patterns


@cache
def _direction() -> Any:
    import numpy as np

    return np.array(weights().vector, np.float32)


@lru_cache(maxsize=4096)
def worthy(said: tuple[Sentence, ...]) -> tuple[float, ...]:
    """How far above the threshold each sentence of a message is: 0 is just enough."""
    known = weights()
    english = _english(" ".join(one.text for one in said))
    found = []
    for one in said:
        seen = features(one, said)
        if english:
            pull = float(_direction() @ vector(one.text))
            found.append(chance(known.features, seen | {_VECTOR: pull}) - known.threshold)
        else:
            found.append(chance(known.plain, seen) - known.plain_threshold)
    return tuple(found)


def _english(text: str) -> bool:
    """Whether the common words of a text are English ones, or there are hardly any."""
    low = _WORD.findall(text.lower())
    ours, others = (sum(word in which for word in low) for which in (cues.ENGLISH, cues.OTHER))
    return ours >= others


def for_later(text: str, project: str) -> bool:
    """Whether a sentence is kept however it scores. `project`: that it was said in."""
    if requests(text.lower()) or lower(cues.ANNOUNCES).match(text.lower()):
        return False
    if own(text) >= OF_USER:
        return True
    here = project and mentions(text, project, OPENS, cues.NAMED_HERE)
    return bool(project and (here or lasts(text) >= LASTS or _dated(text)))


def _dated(text: str) -> bool:
    """Whether it says on which day something is, or that something waits for it."""
    said = read(text)
    if lower(cues.WAITS).search(said.low):
        return True
    passing = {"past", "events", "hypothetical"} & said.cues or said.planned
    short = len(text.split()) <= PLAIN and len(said.terms) >= SEVERAL
    return bool(dates_of(text)) and short and not passing


def idle(text: str, wholly: bool) -> bool:
    """Whether a sentence only asks or talks, and so changes nothing. `wholly`: it would replace
    something."""
    said = read(text)
    if lower(cues.PUT_BACK).search(said.low):
        return False
    if lower(cues.LEAVES).search(said.low) and "corrects" not in said.change:
        return True  # "ward tulip tomorrow, gotta go"
    yes = lower(cues.YES).match(said.low)
    asks = requests(said.low) or bool(yes and requests(said.low[yes.end() :].lstrip(" ,.!")))
    beside = [it for it in clauses_of(text)[1:] if not requests(it.lower())]
    asks = asks and not any(lasts(it) >= STATED or read(it).change for it in beside)
    valued = wholly and any(said.values[kind] for kind in KINDS[:3])
    if lasts(text) < TALK and not (said.change or valued):
        return True
    adds = lower(cues.ADDS).match(said.low, said.lead) is not None
    return adds or (asks and not (wholly and said.change))  # "good, format everything"


def beside_order(sentence: Sentence) -> Sentence:
    """What an order says that has changed: "new labels please, a jar costs 7.20 from now on"; else
    the sentence as it is."""
    order = lower(cues.ORDERS).match(sentence.text.lower()) is not None
    for part in clauses_of(sentence.text)[1:] if order else ():
        said = read(part)
        told = said.change and said.about and any(said.values[kind] for kind in KINDS[:3])
        if told and not (unmeant(part) or requests(said.low)):
            return sentence._replace(text=part.strip(" ,;"))
    return sentence


class Kind(NamedTuple):
    type: Type = "fact"
    kind: EntryKind | None = None
    status: Status | None = None
    wanted: bool = False  # it is kept however it scores: the user asks for it, or decides


def kind_of(sentence: Sentence) -> Kind:
    """A decision has a deciding verb and its object; a task is what the user commits to do or asks
    to be reminded of; a question is one that the user says is open. All else is a fact."""
    return _kind(sentence.text, sentence.heading)


@lru_cache(maxsize=8192)  # a sentence is read again with its answer, and for each handoff
def _kind(said: str, heading: str) -> Kind:
    text = said.lower().replace("’", "'")
    lead = lower(cues.LEAD).match(text)
    core = text[lead.end() :] if lead and lead.end() < len(text) else text
    if lower(cues.TASK_HEADING).match((heading or _heads(core)).lower()):
        return Kind("task", None, "open", wanted=True)
    if lower(cues.OPEN).search(text):
        return Kind("question", wanted=True)
    if lower(cues.DECIDED).search(core) and not lower(cues.UNDECIDED).search(core):
        return Kind("decision", wanted=True)
    task = lower(cues.TASK).search(core)
    if task and not lower(cues.NO_TASK).search(core) and not lower(cues.DONE).search(core):
        return Kind("task", None, "open", wanted=task.start() == 0)
    if introduced(said):
        return Kind("fact", "relationship", wanted=True)
    head, _, after = core.partition(": ")  # "for everything you write: never use ..."
    after = after if len(head) <= ANNOUNCED and lower(cues.EVER).search(head) else ""
    wide = lower(cues.SCOPE).search(core)  # "turns out ..., so light ones everywhere" is a rule
    for kind, cue in zip(_EXPLICIT, (cues.LESSON, cues.STANDING, cues.PROCEDURE), strict=True):
        begins = any(map(lower(cue).match, (core, text, after)))  # "no" may lead in, or begin it
        if begins and not (wide and kind == "lesson"):
            return Kind("fact", kind, wanted=True)
    noted = any(map(lower(cues.NOTED).match, (text, core)))
    noted = noted or any(lower(it).match(core) for it in (cues.WHO, cues.OF_HERE))
    noted = noted or any(lower(it).search(core) for it in (cues.FORMAL, cues.FAMILIAR))
    liked = lower(cues.PREFERENCE).search(core)
    return Kind("fact", "preference" if liked else None, wanted=noted)


def _heads(text: str) -> str:
    """The words before several things: "list for winter: mend the gate, order garlic, ..."."""
    head, _, after = text.partition(": ")
    listed = lower(cues.TO_DO_LIST).search(head) and after.count(", ") >= SEVERAL
    return head if listed else ""


def may_change(text: str, kind: Kind, worth: float) -> bool:
    """Whether a sentence is worth comparing with what is known."""
    if worth >= -UNSURE or kind.wanted:
        return True
    said = read(text)
    return bool(said.change) or said.states


def changeable(text: str, kind: Kind) -> bool:
    """Whether a sentence that is not kept says something that may change."""
    said = read(text)
    if kind.type not in CHANGING or said.planned or not said.about or len(text.split()) > PLAIN:
        return False
    if requests(said.low):
        return False
    return any(said.values.values()) or bool(said.concepts) or leads(text)


def says_enough(text: str, kind: Kind) -> bool:
    if kind.type == "decision" and read(text).values["name"]:
        return True  # "Then it's Postgres."
    if lower(cues.OF_HERE).match(text.lower()):
        return True  # "bun in here"
    brief = (kind.wanted and kind.kind == "preference") or _OFTEN.search(text.lower())
    return (kind.wanted or len(text.split()) > 2) and len(terms(text)) > (not brief)


# --- what is not kept, and may be changed later ----------------------------------------------
def live(messages: Iterable[Message]) -> Iterable[Message]:
    return (one for one in messages if not one.branch and one.role in ("user", "agent"))


def stated(messages: Iterable[Message]) -> Iterable[Heard]:
    """What the user states in these messages that may change later."""
    for message in live(messages):
        if message.role == "user":
            if fiction(message.text):
                return
            for sentence in sentences(message.text):
                text = alone(sentence)
                if text and changeable(text, kind_of(sentence)):
                    yield heard(message, sentence, text)


def untold(stated: Iterable[Heard], told: Iterable[str]) -> Iterable[Heard]:
    """What entries do not tell."""
    known = "\n".join(told)
    for one in stated:
        before = one.content.removesuffix(one.said).strip()
        if one.said not in known:
            follows = bool(before) and before in known
            yield msgspec.structs.replace(one, content=one.said) if follows else one


def heard(message: Message, sentence: Sentence, text: str) -> Heard:
    return Heard(content=text, said=sentence.text, source=message.id, turn=message.turn)


def lists(text: str) -> bool:
    """Whether it announces several things: "errands: the coat, my passport, a present"."""
    listed = CLAUSES.split(text.partition(": ")[2])
    return len(listed) > 2 or len(_MARKED.findall(text)) > 1


def several(text: str, named: bool = False) -> bool:
    """Whether a sentence says several things, of which a change may leave some: values, wishes for
    all that the user does, or three in a row ("no animations, nothing blinking, dark theme").
    `named`: one of them is taken back by name, and so is what refers to it: "that's a Saturday"."""
    clauses = [it for part in split(text) for it in CLAUSES.split(part)]
    clauses = [it for it in clauses if not (named and lower(cues.REFERS).match(it.lower()))]
    row = [it for it in clauses if terms(it) and it.count(" ") < ROW]
    if len(row) >= IN_A_ROW and len(row) == len(clauses):
        return True
    wishes = everywhere(text) and sum(len(terms(it)) >= WISH for it in clauses) > 1
    return wishes or sum(any(read(it).values[kind] for kind in KINDS[:3]) for it in clauses) > 1


def gives_a_value(text: str) -> bool:
    """Whether it says that something, which the one before may name, is otherwise: "8 May now"."""
    said = read(text)
    cued = said.cues & OF_CHANGE - {"ends"}
    return bool(cued and any(said.values[kind] for kind in KINDS[:3]))


def reports(text: str) -> bool:
    """Whether it says of its value, of the user, or else at all, that something is done."""
    said = [read(it) for it in clauses_of(text.lower())]
    parts = [it for it in said if it.person in ("i", "we") or any(it.values.values())]
    valued = any(any(it.values.values()) for it in said)
    return any(lower(cues.DONE).search(it.low) for it in (parts if valued else [read(text)]))
