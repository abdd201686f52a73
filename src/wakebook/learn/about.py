"""About: what is true of the user and the people and things around them.

Every clause is weighed by its form alone (about.json): what someone is, has, prefers, does again
and again or asks for once and for all lasts; what happened once, is being considered or is asked
for right now does not. A line must be understood alone, so words for something that was named
before and chat count against it. First the person, then people, standing instructions, all else.
Work on a project belongs to the project. What was replaced is never told.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache, lru_cache
from itertools import pairwise
from operator import mul
from pathlib import Path
from typing import Any

import msgspec

from wakebook.base import words
from wakebook.base.cache import FOLDER
from wakebook.base.decode import decode
from wakebook.base.home import Home
from wakebook.learn.phrases import Phrases, cues, lower, pattern
from wakebook.log.entry import PARTLY, WAS, Entry
from wakebook.log.subjects import Registry

KEPT = f"{FOLDER}/about.json"
AMONG = "Among: "  # begins the detail of a rule, before the words that announced it
ENOUGH = 3  # points
LEAST = 2.1  # of a line that can be read alone
WISH, OPENLY = 2, 1.5  # points that a wish loses at most by not being so; one for everywhere
MOST = 25
FIRST = 12  # that a start is told
EACH = 3  # lines out of one conversation
PASSING = -3  # points of a clause that casts doubt on the others
WHO = 4  # points of what somebody is, does for a living, and where they live
LONG = 30  # words: said in passing
NAME = 5  # letters of a project's name, or of a part of it, that are no word by chance
BRIEF = 8  # words that need no name to say something: "I play the harp."
ALIKE, NEAR = 0.5, 0.4  # of all terms; of the shorter one's, in one conversation

DATA = Path(__file__).with_name("about.json")
forms = Phrases(DATA)
OWN = 0.48  # likely enough to be told in every project
OF_MANNERS = 0.34  # the same of a wish how to talk or write: "always use metric units"
BEYOND = 0.15  # so much surer than that it lasts at all, it may be to be told everywhere
CERTAIN = 0.9  # so likely, it may begin with what happened
SURELY = 0.8  # so likely, it counts more than a doubt
SAYS_WHAT = 0.65  # so likely at least, if it says what the user is: "I'm left-handed"
LIKED = 0.5  # likely enough to last, if it says what somebody likes
_TYPED = {"im": "i'm", "ive": "i've", "dont": "don't", "cant": "can't", "doesnt": "doesn't"}
_SHORT = re.compile(rf"\b(?:{'|'.join(_TYPED)})\b(?! (?:winter|sommer|büro|garten|haus))", re.I)
_POINTS = re.compile(
    r"(?i)\b(?:th(?:is|at|ese|ose)|it|them|here|dies\w*|das|hier|[cç]a|ici|es[oa]s?|aquí)\b"
)
_NOT_ONLY = re.compile(r"(?i)\bnot (?:only|just)(?: (?:for|in|here|about|this|the|one))* ?\w*")
_PARTS = re.compile(r"[-_. ]+")
_MY = r"\b(?:my|our|meine?|unsere?|mis?|mon|ma|mes)"
_OF = "for|at|in|with|from|of|bei|für|von|pour|chez|de|para|en|con"
_WHERE = rf"(?:^|[.;,] |\b(?:{_OF}) )"
OPENS = "^(?:the )?"
_SAYS = r"(?:['’]s| (?:is|are|uses?|has|runs|needs|must|stays|ist|nutzt|es|usa|est))\b"
_FILED = re.compile(
    r"(?<![\w@./-])[\w-]{2,}\.(?!js\b|net\b|io\b|com\b|org\b|de\b)[a-z]{2,6}\b(?![.\w@])"
)
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_SIGNS = (
    "GENERAL",
    "MANNERS",
    "LOCAL",
    "WORK",
    "ORDER",
    "ASKS",
    "FIRST",
    "TASTES",
    "OURS",
    "CHAT",
    "GOES_ON",
)
_CAPITAL = re.compile(r"(?<!\\)[A-ZÀ-Þ]")  # that a pattern may ask for
_STARTS = 3  # words at the beginning that are features of their own


def about(
    entries: Iterable[Entry],
    registry: Registry,
    weights: Weights | None = None,
    may: Callable[[Entry], bool] = lambda entry: True,
) -> list[Entry]:
    """What to tell of the user, out of the entries that hold. `may`: whether one may be told."""
    known = ((points(entry, registry, weights), entry) for entry in entries)
    weighed = [(point, one) for point, one in known if point > 0 and may(one)]
    lasting = ((point, one) for point, one in weighed if point >= ENOUGH and not one.pinned)
    found: list[tuple[float, Entry]] = [
        (point, one) for point, one in weighed if one.pinned and point > 0
    ]
    found += [(value, one) for point, one in lasting if (value := point - _apart(one)) >= LEAST]
    found.sort(key=lambda pair: (pair[1].pinned, pair[0], pair[1].timestamp), reverse=True)
    told: list[Entry] = []
    for _, entry in found:
        talk = [one for one in told if entry.transcript and one.transcript == entry.transcript]
        again = next((place for place, one in enumerate(told) if _same(entry, one)), None)
        if again is None and (len(talk) < EACH or _announced(entry)):
            told.append(entry)
        elif again is not None and _again(told[again]) and not _again(entry):
            told[again] = entry  # it says more than "as always, no tables"
        elif again is not None and _alike(entry, told[again]):  # the newest of those
            told[again] = max(told[again], entry, key=lambda one: one.timestamp)
    parts = told[:FIRST], told[FIRST:MOST]
    return [one for part in parts for one in sorted(part, key=_rank)]


def _apart(entry: Entry) -> float:
    """How far it cannot be read alone; a wish may well speak to the one who listens."""
    if _of_oneself(entry):
        return 0.0
    sure = own(_announced(entry) + entry.content) >= OWN
    far = unclear(entry.content) + (vague(entry.content) and not sure)
    wide = _has(cues.SCOPE, _announced(entry)) or _has(forms.MANNERS, entry.content)
    wide = wide or _has(forms.GENERAL, entry.content)
    return min(far, OPENLY if wide else WISH) if entry.kind == "preference" else far


def vague(text: str) -> bool:
    """Whether it goes on and names nothing: no number, no name, no day."""
    return len(text.split()) > BRIEF and not _has(forms.CONCRETE, text)


def lost(text: str) -> int:
    """How many words of a text stand for something that it does not name: "grab them"."""
    found = ((kind, pattern(cue).search(text)) for kind, cue in forms.LOST.items())
    unnamed = sum(
        not pattern(forms.NAMED[kind]).search(text[: word.start()]) for kind, word in found if word
    )
    return unnamed + _has(forms.UNSAID, text)


def unclear(text: str) -> float:
    """How far a line cannot be read alone: words for something that was named before, words to the
    one who listens. Up to 1 a line does well."""
    parts = pattern(forms.CLAUSE).split(text)
    size = sum(len(part.split()) for part in parts)
    chat = sum(len(part.split()) for part in parts if _has(forms.CHAT, part)) / max(size, 1)
    first = _has(forms.CHAT, parts[0]) or _has(forms.FORMS["-3 single past events"], parts[0])
    first = first and own(text) < CERTAIN  # "I handed in my notice, I'm at the hospice now"
    return 20 * lost(text) + 2 * chat + 3 * first + 0.75 * _has(forms.LEADS, text)


class Weights:
    """What the sentences of a home weigh, kept from one time to the next (in the cache)."""

    def __init__(
        self,
        home: Home,
        name: str = KEPT,
        data: Path = DATA,
        weigh: Callable[[str], Any] | None = None,
        most: int = 0,
    ) -> None:
        """`weigh`: what a text weighs, by the data of that file; how lasting a truth it is.
        `most`: so many are kept, too, that were weighed before and not this time."""
        self._home, self._path, self._weigh = home, home.root / name, weigh or _best
        self._most = most
        self._was: dict[str, Any] = {}
        self._is: dict[str, Any] = {}
        self._key = hashlib.blake2b(data.read_bytes(), digest_size=8).hexdigest()
        with suppress(OSError, msgspec.MsgspecError):
            kept = decode(self._path.read_bytes(), dict[str, dict[str, Any]])
            self._was = kept.get(self._key, {})

    def best(self, text: str) -> Any:
        digest = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()
        known = self._was.get(digest)
        self._is[digest] = self._weigh(text) if known is None else known
        return self._is[digest]

    def keep(self) -> None:
        before = dict(list(self._was.items())[-self._most :]) if self._most else {}
        if before | self._is == self._was:
            return
        with suppress(OSError):  # a read-only home still answers, only slower
            self._home.replace(self._path, msgspec.json.encode({self._key: before | self._is}))


def points(entry: Entry, registry: Registry, weights: Weights | None = None) -> int:
    """How lasting a truth about the user an entry is, or was what it replaces; 0 if it is none."""
    was = _was(entry)
    return max(_points(entry, registry, weights), _points(was, registry, weights) if was else 0)


def _was(entry: Entry) -> Entry | None:
    """What an entry replaces, as if that had been said where it stands."""
    first = entry.detail.partition("\n")[0]
    if entry.type != "fact" or not first.startswith((WAS, PARTLY)):
        return None
    return entry.with_(content=first.partition(": ")[2], detail="", subject="")


def _points(entry: Entry, registry: Registry, weights: Weights | None) -> int:
    if entry.type != "fact" or entry.kind in ("lesson", "procedure", "event"):
        return 0
    if not is_own(entry, registry) or _has(forms.HEARSAY, entry.content, at_start=True):
        return 0
    if _of_oneself(entry) or _has(cues.SCOPE, _announced(entry)):
        return WHO
    best = weights.best(entry.content) if weights else _best(entry.content)
    sure = own(_announced(entry) + entry.content)
    elsewhere = entry.subject and entry.kind is None and best < WHO  # it is about that, first
    least = SURELY if elsewhere or _of_nobody(entry) else OWN
    likely = max(best, ENOUGH) + (sure >= SURELY) if sure >= least else 0
    return max(likely, _by_form(entry, registry, best))


def _of_nobody(entry: Entry) -> bool:
    """Whether it goes on, and speaks neither of the user nor of somebody near them."""
    near = (forms.FIRST, forms.OURS, _kin())
    brief = len(entry.content.split()) <= BRIEF
    return entry.kind is None and not brief and not any(_has(it, entry.content) for it in near)


def _by_form(entry: Entry, registry: Registry, best: int) -> int:
    """The points of an entry by what it looks like. `best`: those of its best clause."""
    text, kind = entry.content, entry.kind
    subject = registry.subjects.get(registry.canonical(entry.subject))
    person = subject is not None and subject.type == "person"
    if entry.subject and not person and kind != "preference":
        return 0
    if best <= 0 and not person and kind is None:
        return 0
    instructs = kind == "preference" and (
        _has(forms.ORDER, text, at_start=True) or _has(forms.MANNERS, text)
    )
    wide = _announced(entry) + text
    general = kind == "preference" and (_has(forms.GENERAL, wide) or _has(forms.MANNERS, text))
    work = entry.subject and not person and (kind != "preference" or _has(forms.WORK, text))
    if work and not general:
        return 0
    if _has(forms.ASKS, text) and not instructs:
        return 0
    mine = _has(forms.FIRST, text) or (_has(forms.OURS, text) and _has(_kin(), text))
    if not mine and not person and kind not in ("preference", "relationship"):
        return 0
    known = 2 * (person or kind == "relationship")
    goes_on = _has(forms.GOES_ON, text, at_start=True) and not instructs
    aside = (len(text.split()) > LONG) + goes_on
    return best + known + 4 * (instructs or general) - aside


def is_own(entry: Entry, registry: Registry) -> bool:
    """Whether an entry is about the user, and so holds in every project, not only where it was
    said. So does what has changed such a one."""
    was = _was(entry)
    if was and is_own(was, registry):
        return True
    text, kind = _NOT_ONLY.sub("", _announced(entry) + entry.content), entry.kind
    if entry.type != "fact" or kind in ("lesson", "procedure"):
        return False
    if _has(forms.LOCAL, text):  # "wherever we work" may stand among the rules of a repository
        return not _has(forms.LOCAL, entry.content) and _has(forms.GENERAL, entry.content)
    if entry.project and mentions(entry.content, entry.project, OPENS, _SAYS):
        return False  # "atlas is metric only, no miles anywhere"
    if entry.project and _FILED.search(entry.content) and not _has(forms.GENERAL, text):
        return False  # "keep the grammar in one file, grammar.lark"
    if not entry.project or _has(forms.GENERAL, text) or _has(cues.SCOPE, _announced(entry)):
        return True
    family = _has(rf"(?:{_MY}) (?:[\w-]+ )?(?:{forms.KIN}|{forms.PETS})\b", entry.content)
    rest = pattern(rf"\b(?:of|de|von|for|für|para|pour) (?:{_MY}) \w+").sub("", entry.content)
    aside = rest != entry.content and not _has(forms.FIRST, rest)  # "an app for my niece"
    if aside or (mentions(entry.content, entry.project) and not family):
        return False
    mine = (forms.FIRST, forms.TO_ME)  # "I prefer uv", "keep your answers short"
    prefers = kind == "preference" and any(_has(form, text) for form in mine)
    least = OF_MANNERS if kind == "preference" and _has(forms.MANNERS, text) else OWN
    return prefers or own(text) >= least


def mentions(text: str, project: str, before: str = _WHERE, after: str = r"\b") -> bool:
    """Whether a sentence says that it is about the project: "for nordwind i bill 92 an hour"."""
    name = project.rpartition("/")[2].removesuffix(".git").lower()
    parts = {part for part in (name, *_PARTS.split(name)) if len(part) >= NAME}
    where = rf"{before}(?:{'|'.join(map(re.escape, sorted(parts)))}){after}"
    return bool(parts) and _has(where, text)


@lru_cache(maxsize=16384)
def everywhere(text: str) -> bool:
    """Whether a sentence by itself is about the user, or a wish for all that they do."""
    text = _NOT_ONLY.sub("", text)
    if _has(forms.LOCAL, text):
        return False
    head, _, rest = text.lower().partition(":")
    general = (rest and _has(cues.SCOPE, head)) or _has(forms.GENERAL, text)
    general = general or _has(forms.TO_ME, text)
    return general or own(text) >= OWN


class _Fitted(msgspec.Struct, frozen=True):
    features: dict[str, float]
    vector: tuple[float, ...]


@cache
def _fitted() -> dict[str, _Fitted]:
    return decode(DATA.with_name("own.json").read_bytes(), dict[str, _Fitted])


def own(text: str) -> float:
    """From 0 to 1, how likely a sentence is about the user, or a wish for all that they do: what
    lasts and holds wherever they are."""
    likely = min(_likely("own", text), lasts(text) + BEYOND)  # no likelier than that it lasts
    return max(likely, SAYS_WHAT * _says_what(text), SURELY * _likes(text))


@lru_cache(maxsize=65536)
def _likes(text: str) -> bool:
    """Whether it says what the user likes, or cannot bear, and not of something here."""
    likes = pattern(forms.TASTES).match(text) and not _POINTS.search(text)
    return bool(likes) and lasts(text) >= LIKED


@lru_cache(maxsize=65536)
def _says_what(text: str) -> bool:
    """Whether a clause begins by saying what the user is, and nobody else says it."""
    text = _SHORT.sub(lambda found: _TYPED[found[0].lower()], text)
    if _has(forms.IDLE, text, at_start=True) or '"' in text:
        return False
    parts = (pattern(forms.JOINS).sub("", one.strip()) for one in pattern(forms.CLAUSE).split(text))
    return any(_has(forms.FORMS["+4 what they are"], one, at_start=True) for one in parts)


def lasts(text: str) -> float:
    """From 0 to 1, how likely a sentence tells something for later, and is no request or talk."""
    return _likely("lasts", text)


@lru_cache(maxsize=65536)
def _likely(what: str, text: str) -> float:
    """By weights that bench/fit_own.py fits on labelled sentences."""
    from wakebook.learn.select.said import chance, vector

    text = _SHORT.sub(lambda found: _TYPED[found[0].lower()], text)
    if _has(forms.IDLE, text, at_start=True):
        return 0.0
    known = _fitted()[what]
    near = sum(map(mul, known.vector, vector(text).tolist()))
    return chance(known.features, own_features(text) | {"vector": near})


@lru_cache(maxsize=4096)
def own_features(text: str) -> dict[str, float]:
    """Its words, those that it begins with, pairs of them, and what its form says."""
    low = _WORD.findall(pattern(forms.JOINS).sub("", text.lower().replace("’", "'")))
    found = {f"w:{word}" for word in low} | {f"w:{a} {b}" for a, b in pairwise(low)}
    found |= {f"1:{' '.join(low[:n])}" for n in range(1, min(_STARTS, len(low)) + 1)}
    found |= {name for name, form in forms.FORMS.items() if _has(form, text)}
    found |= {name for name in _SIGNS if _has(getattr(forms, name), text)}
    found |= {"kin"} if _has(_kin(), text) else set()
    return dict.fromkeys(found, 1.0)


def _announced(entry: Entry) -> str:
    """What announced a rule, which says where it holds."""
    told, among, over = entry.detail.partition(AMONG)
    return f"{over} " if among and not told else ""


def _of_oneself(entry: Entry) -> bool:
    """Whether the user said that it was about them: "few things about me: ..."."""
    return _has(forms.ONESELF, _announced(entry))


def introduced(text: str) -> str:
    """The name of somebody of whom a sentence says who they are: "My wife is Ana."."""
    found = pattern(forms.INTRODUCED).match(text[:200])
    name = next(filter(None, found.groups()), "") if found else ""
    return name if words.leads(re.sub(r"ly\b", "l", name)) else ""  # Emily is no adverb here


@lru_cache(maxsize=1 << 15)  # every start and every briefing asks the same of each entry
def _has(text: str, said: str, at_start: bool = False) -> bool:
    found = pattern(text)
    if not _cased(text):  # twice as fast
        found, said = lower(text), said.lower()
    return (found.match(said) if at_start else found.search(said)) is not None


@cache
def _cased(pattern_: str) -> bool:
    return _CAPITAL.search(pattern_) is not None


def _kin() -> str:
    return rf"\b(?:{forms.KIN}|{forms.PETS})\b"


@cache
def _forms() -> list[tuple[int, re.Pattern[str]]]:
    return [(int(name.split()[0]), pattern(text)) for name, text in forms.FORMS.items()]


def _best(text: str) -> int:
    """The points of the clause that lasts longest, less one if the sentence casts doubt on it."""
    here = [(point, form) for point, form in _forms() if point < 0 or form.search(text)]
    if not here or here[0][0] < 0:
        return 0
    parts = pattern(forms.CLAUSE).split(text)
    clauses = [sum(point for point, form in here if form.search(part)) for part in parts]
    first = next((one for one in clauses if one), 0)
    doubted = min(clauses) if _has(forms.DOUBTS, text) else first
    return max(clauses) - (doubted <= PASSING)


def _rank(entry: Entry) -> int:
    """Where it stands: the person, people around them, standing instructions, all else."""
    text = entry.content
    life = any(form.search(text) for point, form in _forms() if point == WHO)
    ranks = (
        entry.pinned,
        life and not pattern(forms.CHAT).match(text),
        entry.kind == "relationship" or _has(_kin(), text),
        entry.kind == "preference" and _has(forms.ORDER, text, at_start=True),
    )
    return next((place for place, yes in enumerate(ranks) if yes), len(ranks))


def _same(one: Entry, other: Entry) -> bool:
    """Whether two entries say the same, or belong together."""
    left, right = (_once(it.content) for it in (one, other))
    least, shared = min(len(left), len(right)), len(left & right)
    if _again(one) or _again(other):
        return shared >= max(2, NEAR * least)
    talk = one.transcript and one.transcript == other.transcript
    return _alike(one, other) or shared >= max(3, (NEAR if talk else 0.75) * least)


@lru_cache(maxsize=8192)
def _once(text: str) -> frozenset[str]:
    return words.terms(pattern(cues.AS_ALWAYS).sub("", text))


def _again(entry: Entry) -> bool:
    """Whether it says itself that it was said before: "and as always no tables please"."""
    again = pattern(cues.REPEATS).match(entry.content) is not None
    return again or any(_has(one, entry.content) for one in (cues.AS_ALWAYS, cues.REPROACH))


def _alike(one: Entry, other: Entry) -> bool:
    return words.alike(words.terms(one.content), words.terms(other.content)) >= ALIKE
