"""Contradictions: same subject, same matter, opposed values, found without a model.

An older statement and a newer one are about the same matter when they share enough telling words,
and they oppose each other when their numbers differ, when one negates what the other affirms, or
when they name opposites. The newer one is assumed right; the flag asks you to replace the older
one or to dismiss the pair, so few and good ones count: recall is not the aim.

Dismissed pairs are kept in condensed.json, where a rebuild follows them.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache

from wakebook.base.errors import NotFound
from wakebook.base.home import Home
from wakebook.log.entry import Entry
from wakebook.notes import condensed
from wakebook.notes.condensed import Condensed, CondensedLine
from wakebook.notes.page import MEMORY

KEY = f"{MEMORY}#contradictions"
CONFLICT = " may conflict with "
SHARE = 0.34  # of the shorter statement's telling words
REACH = 400  # older statements of a subject that a new one is compared with
_TOKEN = re.compile(r"[^\W_]+(?:[.,:]\d+)*")
_STOP = frozenset(
    "a an and any are as at be been but by can could did do does for from had has have he her his "
    "i if in into is it its just me my no not now of on or our out she so some than that the their "
    "them then there they this to up us use used uses using user was we were what when which who "
    "will with would you your max min most least only per each all day days".split()
)
_NEGATION = frozenset("no not never without don doesn isn aren won cannot stop stopped".split())
_NUMBERS = "zero one two three four five six seven eight nine ten eleven twelve".split()
_OPPOSITES = [
    frozenset(pair.split("/"))
    for pair in """synchronous/queue synchronous/asynchronous sync/async enable/disable
    enabled/disabled public/private manual/automatic monthly/weekly weekly/daily morning/evening
    mornings/evenings always/never accept/reject allow/forbid light/dark tabs/spaces""".split()
]


def dismissed(blocks: Mapping[str, Condensed]) -> set[frozenset[str]]:
    """The pairs of ids that a person has dismissed."""
    block = blocks.get(KEY)
    return {frozenset(line.ids) for line in block.lines} if block else set()


def dismiss(home: Home, pairs: Iterable[tuple[str, str]], now: datetime) -> None:
    """Never show these pairs again. Under the writer lock."""
    blocks = condensed.load(home)
    known = dismissed(blocks)
    new = [CondensedLine(pair) for pair in pairs if frozenset(pair) not in known]
    if new:
        lines = (*(blocks[KEY].lines if KEY in blocks else ()), *new)
        block = Condensed(at=now.astimezone(UTC), by="you", lines=lines)
        condensed.save(home, {**blocks, KEY: block})


def ask_again(home: Home, pairs: Iterable[tuple[str, str]], now: datetime) -> None:
    """The pairs are contradictions again. Under the writer lock."""
    blocks, back = condensed.load(home), {frozenset(pair) for pair in pairs}
    if KEY in blocks:
        left = tuple(line for line in blocks[KEY].lines if frozenset(line.ids) not in back)
        block = Condensed(at=now.astimezone(UTC), by="you", lines=left)
        condensed.save(home, {**blocks, KEY: block})


def picked(
    found: Sequence[tuple[Entry, Entry]], numbers: Sequence[str]
) -> list[tuple[Entry, Entry]]:
    """Contradictions by number; without numbers, all."""
    for one in numbers:
        if not (one.isdigit() and 1 <= int(one) <= len(found)):
            raise NotFound(
                f"No contradiction {one!r}. `wakebook review` lists them with their numbers."
            )
    return [found[int(one) - 1] for one in dict.fromkeys(numbers)] if numbers else list(found)


def is_correction(old: Entry, new: Entry) -> bool:
    """Whether one of them says itself that it corrects the other."""
    said = f"{new.content} {new.detail}", f"{old.content} {old.detail}"
    return old.content in said[0] or new.content in said[1] or old.id in new.replaces


def contradictions(current: Sequence[Entry], since: datetime) -> list[tuple[Entry, Entry]]:
    """(older, newer) pairs, the newest first. `newer` is not older than `since`."""
    by_subject: dict[str, list[Entry]] = {}
    for entry in current:
        if entry.subject and entry.type in ("decision", "fact"):
            by_subject.setdefault(entry.subject, []).append(entry)
    found: list[tuple[float, Entry, Entry]] = []
    for entries in by_subject.values():
        entries = sorted(entries, key=lambda entry: entry.timestamp)[-REACH:]
        for index, new in enumerate(entries):
            for old in entries[:index] if new.timestamp >= since else ():
                strength = _opposed(_terms(old.content), _terms(new.content))
                if strength and not is_correction(old, new):
                    found.append((strength, old, new))
    found.sort(key=lambda pair: (pair[0], pair[2].timestamp), reverse=True)
    return [(old, new) for _, old, new in found]


class _Terms:
    """A statement as a set of telling words, its numbers, and whether it negates."""

    def __init__(self, text: str) -> None:
        tokens = [token.lower() for token in _TOKEN.findall(text.replace("n't", " not"))]
        tokens = [str(_NUMBERS.index(one)) if one in _NUMBERS else one for one in tokens]
        self.numbers = {token for token in tokens if token[0].isdigit()}
        self.negated = any(token in _NEGATION for token in tokens)
        said = (one for one in tokens if not one[0].isdigit() and len(one) > 2)
        self.words = {_stem(token) for token in said if token not in _STOP}
        raw = set(tokens)
        self.sides = {pair: pair & raw for pair in _OPPOSITES if len(pair & raw) == 1}


# a briefing, a wake and the next briefing compare the same statements
_terms = lru_cache(maxsize=8192)(_Terms)


def _stem(word: str) -> str:
    for ending in ("ies", "ing", "ed", "es", "s", "y"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def _opposed(old: _Terms, new: _Terms) -> float:
    """How strongly two statements oppose each other; 0 if they do not."""
    shared = old.words & new.words
    smaller = min(len(old.words), len(new.words))
    if not shared or not smaller or (old.words == new.words and old.numbers == new.numbers):
        return 0.0 if old.negated == new.negated or not shared else 1.0
    share = len(shared) / smaller
    counted = old.numbers and new.numbers and not old.numbers & new.numbers
    opposites = any(new.sides.get(pair, side) != side for pair, side in old.sides.items())
    corrects = bool(old.numbers) and old.numbers < new.numbers  # "on the 11th, not the 4th"
    negation = old.negated != new.negated and share >= 0.6 and len(shared) >= 2 and not corrects
    opposed = (counted and share >= SHARE) or opposites or negation
    return share + 0.5 * opposites if opposed else 0.0
