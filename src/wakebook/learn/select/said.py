"""What can be read of one sentence when it is put beside another: values, frame, owners, cues.

And its vector, and the weights of all that is judged by sentences (weights.json).
"""

import re
from functools import cache, cached_property, lru_cache
from math import exp
from pathlib import Path
from typing import Any

import msgspec

from wakebook.base import words
from wakebook.base.decode import decode
from wakebook.learn.phrases import cues, lower, pattern
from wakebook.models.builtin import Builtin

KINDS = ("number", "day", "name", "degree")
_NAMES = re.compile(r"(?<=[\w,;:] )[A-ZÀ-Þ][\w'’-]+|\b[A-Z]{2,}\w*\b|\b\w+[A-Z]\w*\b")
_CODES = re.compile(r"\b(?:[a-z]+-)+\w*\d\w*\b|\b[a-z]+\d+\b|\b[a-z]+\.js\b")  # "heron-2", "t3"
_ORDINAL = re.compile(r"(\d)(?:st|nd|rd|th)\b")
_GLUED = re.compile(r"(\d)(?=(?:h|hrs?|min|k?g|[kcm]?m|m?l|[kmg]b|k?w|v|px|ms)\b)")  # "11h"
_WORD = re.compile(r"[^\W_]+(?:[.,:'/-][^\W_]+)*")
_CLAUSE = re.compile(
    r"[,;:()–—]|\.\s| - | (?:so|because|and|but|since|und|aber|weil|y|pero|porque|et|mais|car) "
)
_SHORT = 14  # words of a plain statement
_ASIDES = words.listed(
    "eh ok okay right please pls lol yeah btw gell oder vale hein thanks"
)  # clauses that say nothing
_EVERY = re.compile(
    r"\b(?:all|every|each|alle|jede[rsn]?|cada|tod[oa]s|tou(?:s|tes))"
    r"(?: (?:the|our|my|of|die|unsere|las|los|les))* ([^\W\d_]{3,})"
)
_NUMBERED = re.compile(r"\b([^\W\d_]{3,}) #?\d")
_BESIDE = 3  # words on either side of a value that say what it is the value of
_I = words.listed("i i'm i've i'd i'll i’m i’ve")
_LITTLE = words.terms("make sorry sry meant typo wrong correction scratch wait oops ugh")
OF_CHANGE = frozenset(("corrects", "moves", "changes", "ends"))
_FILLERS = words.terms(  # say only that something has a value, or for how long
    "cost rise drop fall listen run charge pay begin beträgt kostet liegt steigt sinkt beginnt"
    " coûte passe commence cuesta sube baja pasa vale empieza jahr monat woche tag año mes semana"
    " día an mois semaine jour im pro per par por theirs ours mine"
)
_UNIT = re.compile(r"\d\s?([^\W\d_]+)")
_VERSION = re.compile(r"([^\W\d_][\w+#]*)[ :@-]v?(\d+(?:\.\d+)*)\b")
MONTH = (  # in four languages, whole or short
    r"(?:jan(?:uar[yo]?|vier)?|feb(?:ruary?|rero)?|f[ée]v(?:rier)?|m(?:ar(?:ch|s|zo)?|ärz)|a[pb]r(?:il)?"
    r"|avr(?:il)?|ma(?:yo?|i)|ju(?:n[ei]?|nio|in)|ju(?:l[iy]?|lio|il(?:let)?)|aug(?:ust)?|agosto|août"
    r"|sep(?:t(?:ember|embre|iembre)?)?|o[ck]t(?:ober|obre|ubre)?|octubre|nov(?:ember|embre|iembre)?"
    r"|de[czs](?:ember)?|déc(?:embre)?|dic(?:iembre)?|ene(?:ro)?)\.?(?!\w)"
)
_DATE = re.compile(
    rf"(\d{{1,2}})(?:\.|st|nd|rd|th|er)? (?:de |of )?{MONTH}|\b{MONTH} (\d{{1,2}})(?!\d|:)"
)
_MOVED = re.compile(  # where one lives, or a group does
    r"\b(?:i|we)(?:'ve| have| are|'re)?(?: \w+)? (?:moved|relocated) to\b"
    r"|\b(?:bin|sind) .{0,40}(?:um)?gezogen\b|\bme (?:he mudado|mudé) a\b|\bj'ai déménagé\b"
)
_JOINED = re.compile(r"(?<=[a-z])(?::(?=\d)|-(?=[a-z]))")
_CHANGED = re.compile(  # beside the cues that entries are replaced by
    r"\b(?:(?:has )?c[ao]me(?= (?:in|today|back)\b|[.,;!]|$)|arrived|turned up|showed up"
    r"|angekommen|llegó|ha llegado|est arrivée?)\b"
    r"|\b(?:shifted|rearranged|relocated|transferred|handed over|reassigned|superseded"
    r"|made me (?:an? |the )?\w+)\b|^(?:we're |we are )?going with "
    r"|^(?:that's |that was |no, )?wrong\b"
    r"|\b(?:misspell\w*|misspelt|out of date|(?:was|were) (?:short|long|late|early|little|much))\b"
    r"|\bal final\b|\bse (?:retrasa|aplaza|adelanta)\b|\bverschiebt sich\b|\best (?:reporté|avancé)"
    r"|\bist (?:jetzt|nun|neu)\b|\best (?:maintenant|passée? à)\b"
)
_IDIOM = re.compile(  # "I've been here for six months now", "Anyway, back to my trip"
    r"^(?:\w+,? )?(?:now(?:,| that\b)|back to\b)|\bfor (?:[\w-]+ ){1,5}now\b"
    r"|\bright now\b|\bso far\b"
    r"|\bcurrent(?:ly)?\b|\bthis time\b|\bexcited .*\bnow\b|\bleft (?:the|a|an|my|our|their)\b"
)
_REMARKS = ("opinion", "polite", "begins request")
_OFFICE = re.compile(r"(?<=[A-ZÄÖÜ][a-zäöüß])frau\b|(?<=[a-zäöüß]{3})frau\b")
_ALSO = re.compile(  # that only goes on; and "too short"
    r"(?i)^(?:(?:oh|and|ah|und|y|et)[, ]+)*(?:also|btw|auch|también|aussi)[, ]+|\btoo (?=\w)"
)
CLAUSES = re.compile(r"(?<=[,;])\s+|\s+(?=(?:and|but|und|aber|y|pero|et|mais)\s)")
_JOINS = re.compile(r"^(?:and|but|und|aber|y|pero|et|mais) ")
DIGIT = re.compile(r"\d")
DATA = Path(__file__).with_name("weights.json")
Values = dict[str, frozenset[str]]


class Said:
    """A sentence; each thing is read when it is first asked for."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.low = text.lower().replace("’", "'")
        self.terms = words.terms(text)

    @cached_property
    def all_of(self) -> frozenset[str]:
        """What it is about all of: "every room"."""
        return words.terms(" ".join(_EVERY.findall(self.low)))

    @cached_property
    def numbered(self) -> frozenset[str]:
        """What it names by a number: "room 2"."""
        return words.terms(" ".join(_NUMBERED.findall(self.low)))

    @cached_property
    def long_since(self) -> bool:
        return lower(cues.LONG_SINCE).search(self.low) is not None

    @cached_property
    def change(self) -> frozenset[str]:
        """The cues of change: all that most sentences are asked for."""
        return frozenset(name for name in OF_CHANGE if _cues()[name].search(self.low))

    @cached_property
    def cues(self) -> frozenset[str]:
        others = _cues().keys() - OF_CHANGE
        return self.change.union(name for name in others if _cues()[name].search(self.low))

    @cached_property
    def planned(self) -> bool:
        """Whether it begins as a plan or a wish: no state that could change."""
        found = lower(cues.PLANS).search(self.low)
        return found is not None and found.start() < 40

    @cached_property
    def states(self) -> bool:
        """Whether it is a short plain statement of a number, day or name: "Pro is 9 a month."."""
        if self.text.count(" ") >= _SHORT or not any(self.values[kind] for kind in KINDS[:3]):
            return False
        plain = lower(cues.STATES).search(self.low) is not None and not self.planned
        return plain and not any(lower(cue).search(self.low) for cue in _unlike())

    @cached_property
    def _bare(self) -> str:
        return _bare(self.low)

    @cached_property
    def bare(self) -> frozenset[str]:
        """The terms, with days as plain numbers and without how long ago something was."""
        return words.terms(self._bare)

    @cached_property
    def values(self) -> Values:
        """Numbers, days, names and degrees."""
        low = self._bare
        capital = [] if lower(cues.GERMAN).search(self.low) else _NAMES.findall(self.text)
        names = {name.lower() for name in capital if name.lower() not in _I}
        names |= set(_CODES.findall(self.low))
        days = frozenset(lower(cues.DAY).findall(low))
        return {
            "number": frozenset(lower(cues.NUMBER).findall(low)),
            "day": days,
            "name": frozenset(names - days),
            "degree": frozenset(lower(cues.DEGREE).findall(low)),
        }

    @cached_property
    def _own(self) -> frozenset[str]:
        return frozenset().union(*(words.terms(" ".join(one)) for one in self.values.values()))

    @cached_property
    def beside(self) -> dict[str, dict[str, frozenset[str]]]:
        """By kind, words and the values that they stand beside."""
        kinds = {value: kind for kind in KINDS for value in self.values[kind]}
        said = _WORD.findall(self._bare)
        near: dict[str, dict[str, frozenset[str]]] = {kind: {} for kind in KINDS}
        for place, word in enumerate(said):
            kind = kinds.get(word) or ("number" if any(map(str.isdigit, word)) else "")
            if kind:
                around = said[max(0, place - _BESIDE) : place + _BESIDE + 1]
                for term in words.terms(" ".join(one for one in around if one not in kinds)):
                    if term not in usual():
                        near[kind][term] = near[kind].get(term, frozenset()) | {word}
        return near

    @cached_property
    def frame(self) -> frozenset[str]:
        """What it is about, without values and words of change."""
        marks = lower(cues.CHANGES).findall(self.low) if "changes" in self.change else ()
        return (
            words.terms(_ORDINAL.sub(r"\1", self.text)) - self._own - words.terms(" ".join(marks))
        )

    @cached_property
    def about(self) -> frozenset[str]:
        return self.frame - _LITTLE

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The words of what it is about, as they are written."""
        wanted = self.about - usual() - units()
        return tuple(
            dict.fromkeys(it for it in _WORD.findall(self.low) if words.terms(it) & wanted)
        )

    @cached_property
    def units(self) -> frozenset[str]:
        """What is counted or numbered: "5 km", "page 140"."""
        found = lower(cues.UNIT).findall(self._bare)
        return words.terms(" ".join(it for both in found for it in both)) - usual()

    @cached_property
    def concepts(self) -> frozenset[str]:
        """What kinds of things it is about, by its words: a price, a home, a meeting."""
        known = _concepts()
        said = map(words.stem, _WORD.findall(self.low))
        return frozenset(it for word in said for it in known.get(word, ()))

    @cached_property
    def clauses(self) -> tuple[str, ...]:
        return tuple(it for it in _CLAUSE.split(self.low) if it.strip())

    @cached_property
    def lost(self) -> frozenset[str]:
        """The terms of clauses that say that something is out: "Oskar broke his arm, ..."."""
        if len(self.clauses) < 2:
            return frozenset()
        return words.terms(" ".join(it for it in self.clauses if lower(cues.LOST).search(it)))

    @cached_property
    def periods(self) -> frozenset[str]:
        """The years and the like that it is about."""
        return frozenset(lower(cues.PERIOD).findall(self.low))

    @cached_property
    def returns(self) -> bool:
        """Whether it is about coming back."""
        return lower(cues.RETURNS).search(self.low) is not None

    @cached_property
    def head(self) -> frozenset[str]:
        """What stands before its verb, if that is a thing."""
        found = lower(cues.HEAD).match(self.low, self.lead)
        return words.terms(found[1]) - usual() if found else frozenset()

    @cached_property
    def lead(self) -> int:
        """Where it begins after "also", "by the way" and the like."""
        lead = lower(cues.LEAD).match(self.low)
        return lead.end() if lead else 0

    @cached_property
    def owners(self) -> frozenset[str]:
        """Whose it is: a relative's, Tom's."""
        kin = lower(cues.SIGNS["kin"]).findall(self.low)
        named = re.findall(r"\b(\w{2,})(?:'s|s') (?=\w)", self.low)
        return frozenset([*kin, *named]) - {"it", "that", "let"}

    @cached_property
    def person(self) -> str:
        """Who does it, by its first word: "i", "we", "it", "they" or "other"."""
        first = lower(cues.PERSON).match(self.low, self.lead)
        return (first.lastgroup if first else None) or "other"

    @cached_property
    def kin(self) -> tuple[str, str] | None:
        """The relative or friend that it begins with, and the name if that follows."""
        found = lower(cues.WHOSE).match(self.low, self.lead)
        if not found:
            return None
        name = re.match(r" ([A-ZÀ-Þ]\w+)", self.text[found.end() :])
        return found["kin"], name[1] if name else ""

    @cached_property
    def before(self) -> dict[str, str]:
        """Each word that says something, with the one right before it: "staging server"."""
        found: dict[str, str] = {}
        last = ""
        for word in _WORD.findall(self.low):
            term = next(iter(words.terms(word)), "")
            term = "" if term in usual() else term
            if term and last and not {term, last} & self._own:
                found[term] = last
            last = term
        return found

    @cached_property
    def back(self) -> tuple[tuple[frozenset[str], bool], ...]:
        """The values that it takes back: "not the 4th", "no longer on Hetzner"; with each, whether
        it says enough alone; else something else must be shared, too."""
        if not self.change and not lower(cues.NOT).search(self.low):
            return ()
        return tuple(
            (old, alone)
            for wanted, alone in ((cues.OLD_ALONE, True), (cues.OLD, False))
            for cue in wanted
            for match in lower(cue).finditer(self.low)
            if (old := words.terms(_bare(match["old"])))
        )


@lru_cache(maxsize=8192)
def read(text: str) -> Said:
    return Said(text)


def clauses_of(sentence: str) -> list[str]:
    """Its clauses, without what joins them and the marks at their ends."""
    return [_JOINS.sub("", it).strip(" .!;,") for it in CLAUSES.split(sentence)]


@lru_cache(maxsize=16384)
def bare_clauses(sentence: str) -> tuple[str, ...]:
    """Its clauses, without what announces them ("quick thing before we start: ...") and without "as
    I said"."""
    again = pattern(cues.SAYS_AGAIN)
    found = (again.sub("", it.rpartition(": ")[2]).strip(" .,:;") for it in clauses_of(sentence))
    return tuple(one for one in found if one and one.lower() not in _ASIDES)


def different(ours: Values, theirs: Values) -> set[str]:
    """The kinds of values of which each has one that the other has not."""
    return {kind for kind in KINDS if ours[kind] - theirs[kind] and theirs[kind] - ours[kind]}


def events(text: str) -> list[str]:
    """What a sentence says has taken place: "the premiere went great"."""
    return lower(cues.IS_OVER).findall(text.lower())


def lasts_until(event: str, text: str) -> bool:
    """Whether it was to hold until that: "until the premiere nobody touches the cue engine"."""
    return re.search(cues.UNTIL.replace("{event}", re.escape(event)), text.lower()) is not None


def all_of(new: Said, old: Said) -> bool:
    """Whether one is about all of a kind, the other about one by its number: "all rooms plus 5"
    after "room 2 it is"."""
    return not new.all_of.isdisjoint(old.numbered)


@cache
def _cues() -> dict[str, re.Pattern[str]]:
    named = {name: getattr(cues, name) for name in cues.OF_CHANGE}
    named |= {f"slot {place}": cue for place, cue in enumerate(cues.SLOTS)}
    return {name.lower(): lower(cue) for name, cue in named.items()}


@cache
def _concepts() -> dict[str, list[str]]:
    """Concepts by their words."""
    found: dict[str, list[str]] = {}
    for name, listed in cues.CONCEPTS.items():
        for word in {words.stem(it) for it in listed.split()}:
            found.setdefault(word, []).append(name)
    return found


@cache
def _unlike() -> list[str]:
    signs = [cues.SIGNS[name] for name in ("begins request", "opinion", "polite")]
    return [*signs, cues.CODING, cues.HYPOTHETICAL, cues.ORDERED, cues.TRANSIENT]


@cache
def usual() -> frozenset[str]:
    return words.terms(" ".join(cues.USUAL | cues.OTHER))


@cache
def units() -> frozenset[str]:
    """What values are counted in: to share only that says little."""
    return words.terms(" ".join(cues.UNITS))


def _bare(low: str) -> str:
    """Days as plain numbers, and without how long ago something was."""
    return lower(cues.AGO).sub(" ", _GLUED.sub(r"\1 ", _ORDINAL.sub(r"\1", low)))


# --- beside many others ------------------------------------------------------------------------
class Sentence(Said):
    """One that is compared with many others: what they ask of it is worked out once."""

    @cached_property
    def moved(self) -> bool:
        return _MOVED.search(self.low) is not None

    @cached_property
    def idle(self) -> bool:
        """A plan, an addition, a guess: nothing that could change what was said."""
        added = "also" in self.cues or self.low.startswith(("plus,", "plus i", "besides,"))
        return self.planned or added or "hypothetical" in self.cues

    @cached_property
    def changes(self) -> bool:
        """Whether a word of it speaks of a change."""
        low = _IDIOM.sub(" ", self.low)
        return bool((self if low == self.low else Said(low)).change or _CHANGED.search(low))

    @cached_property
    def remark(self) -> bool:
        """Whether it says what someone thinks or feels, thanks, or asks for something."""
        return "corrects" not in self.change and any(
            lower(cues.SIGNS[name]).search(self.low) for name in _REMARKS
        )

    @cached_property
    def past(self) -> bool:
        """Whether it tells what happened, or was meant to: nothing that holds until it changes."""
        return self.planned or bool({"events", "past", "hypothetical"} & self.cues)

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
        return {DIGIT.sub("0", one) for one in self.values["number"]}

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
        return self.frame - usual() - days_of(self.text) - _FILLERS


@lru_cache(maxsize=8192)
def heard(text: str) -> Sentence:
    """A sentence with what hyphens and colons join taken apart ("sign-off", "postgres:15"),
    without an "also" that only goes on, and an office the same for men and women ("Obfrau")."""
    return Sentence(_OFFICE.sub("mann", _JOINED.sub(" ", _ALSO.sub("", text))))


def dates_of(text: str) -> set[str]:
    """The days of a month that it names: "24 november"."""
    return heard(text).dates


def days_of(text: str) -> frozenset[str]:
    """Its numbers and days, with their units, as terms."""
    values = read(text).values
    return words.terms(" ".join([*values["number"], *values["day"], *_UNIT.findall(text.lower())]))


# --- weighed ------------------------------------------------------------------------------------
@cache
def embedder() -> Builtin:
    return Builtin()


@lru_cache(maxsize=8192)
def vector(text: str) -> Any:
    return embedder().embed([text])[0]


@lru_cache(maxsize=4096)
def vectors(texts: tuple[str, ...]) -> Any:
    import numpy as np

    return np.array([vector(text) for text in texts])


class Weights(msgspec.Struct, frozen=True):
    """weights.json."""

    features: dict[str, float]
    vector: tuple[float, ...]  # of the built-in embedder's dimensions
    plain: dict[str, float]  # features alone, where the words are not English
    threshold: float
    plain_threshold: float
    changes: dict[str, float] = {}  # whether a sentence replaces an entry
    changes_threshold: float = 0.5


@cache
def weights() -> Weights:
    return decode(DATA.read_bytes(), Weights)


def chance(of: dict[str, float], seen: dict[str, float]) -> float:
    """From 0 to 1, by a logistic regression."""
    total = of.get("", 0.0) + sum(of.get(name, 0.0) * value for name, value in seen.items())
    return 1.0 / (1.0 + exp(-max(-30.0, min(30.0, total))))
