"""What can be seen of a clause: a set of named features, each of them yes or no.

Word classes and frames (who, verb, modality, time, values, comparison, feeling) and where
the clause stands. `weights` says how much each counts for a task, a fact and a decision.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from itertools import pairwise
from math import exp
from pathlib import Path
from typing import Any, Literal, NamedTuple

from wakebook.base.words import listed
from wakebook.learn.select import facts, loops, wording
from wakebook.learn.select.phrases import Phrases, pattern, phrases

_TOKEN = re.compile(r"[^\W_]+(?:['.-][^\W_]+)*")
_READ = 24  # words of a clause that are looked at one by one


class Place(NamedTuple):
    """Where a clause stands."""

    link: str = ""  # what joins it to the clause before
    first: bool = True  # of its sentence
    memo: bool = False  # "btw", "for the record"
    lead: str = ""  # the words before it that are not part of it: "so", "ok then"


def features(text: str, place: Place) -> frozenset[str]:
    low = text.lower().replace("’", "'")
    words = _TOKEN.findall(low)[:_READ]
    who, modes = _subject(text, low, words), _modes(low, words)
    found = {
        f"who:{who}",
        _length(len(words)),
        *modes,
        *_frames(low),
        *_values(text),
        *_place(place),
    }
    found |= {f"verb:{name}" for name, stems in _verbs().items() if _has(words, stems)}
    found |= {f"cue:{name}" for name in _cues(text, place)}
    found |= {f"w:{word}" for word in words if not any(map(str.isdigit, word))}
    found |= {f"1:{word}" for word in words[:1]}
    found |= {f"w:{a} {b}" for a, b in pairwise(words)}
    return frozenset(found)


def _cues(text: str, place: Place) -> set[str]:
    found = set()
    if loops.tasks(text, asked=False):
        found.add("task")
    if facts.decided(text):
        found.add("decision")
    fact = facts.found(text, place.memo)
    if fact:
        found.add("fact")
        if fact.weak:
            found.add("weak fact")
        if fact.kind:
            found.add(f"fact {fact.kind}")
    return found


def _has(words: list[str], stems: frozenset[str]) -> bool:
    return any(word in stems for word in words[:9])


def _subject(text: str, low: str, words: list[str]) -> str:
    for name, frame in phrases.SUBJECTS.items():
        if pattern(frame).match(low):
            return str(name)
    if wording.leads(text):
        return "name"
    if words and words[0] in phrases.IMPERATIVES:
        return "do"
    return "thing" if pattern(rf"(?:[\w'&/.+-]+ ){{1,6}}?{phrases.VERB}\b").match(low) else "piece"


def _modes(low: str, words: list[str]) -> set[str]:
    found = {name for name, frame in phrases.MODES.items() if pattern(frame).search(low)}
    if any(_past(word) for word in words[:9]):
        found.add("past")
    return found or {"plain"}


def _frames(low: str) -> set[str]:
    return {name for name, frame in phrases.FRAMES.items() if pattern(frame).search(low)}


def _values(text: str) -> set[str]:
    found = {name for name, frame in phrases.VALUES.items() if pattern(frame).search(text)}
    if wording.names_in(" " + text):
        found.add("has:name")
    if not found:
        found.add("has:nothing")
    return found


def _place(place: Place) -> set[str]:
    found = {f"link:{place.link}"} if place.link else set()
    found |= {f"lead:{word}" for word in place.lead.split()}
    flags = {"at:later clause": not place.first, "memo": place.memo}
    return found | {name for name, here in flags.items() if here}


def _length(count: int) -> str:
    return next(f"words<{limit}" for limit in (3, 5, 8, 13, 20, 99) if count < limit)


# --- what a clause is: a task, a fact, a decision, or nothing to keep --------------------

Label = Literal["task", "fact", "decision", "none"]
LABELS: tuple[Label, ...] = ("task", "fact", "decision", "none")
OWED = listed("cue:task duty will need task:list task:owe task:wait task:other")
NEEDED: dict[Label, frozenset[str]] = {  # a clause without any of these is none of its kind
    "task": OWED | {"time:deadline", "time:later"},
    "decision": listed(
        """cue:decision choice:over choice:final choice:stays choice:limit choice:drop choice:it-is
        wont verb:choose verb:change verb:keep verb:drop verb:make time:rule time:start lead:so
        lead:then lead:ok who:lets who:no who:we who:all who:name will colon negative progress"""
    ),
}


def shares(found: Iterable[str]) -> dict[Label, float]:
    """How likely each label is; together they are 1."""
    table = _weights()["weights"]
    totals = [0.0] * len(LABELS)
    for name in sorted(found):
        for place, weight in enumerate(table.get(name, ())):
            totals[place] += weight
    top = max(totals)
    powers = [exp(total - top) for total in totals]
    whole = sum(powers)
    return {label: power / whole for label, power in zip(LABELS, powers, strict=True)}


def likeliest(found: frozenset[str]) -> Label:
    """The likeliest, if it is likely enough to be kept and has what its kind cannot do without.

    A clause in a frame of its kind needs less than one that only looks like it.
    """
    likely = shares({*found, "bias"})
    least = {one: _least(one, found) for one in LABELS[:3]}
    best = max(LABELS[:3], key=lambda one: likely[one] / least[one])
    if likely[best] < least[best] or not found & NEEDED.get(best, found):
        return "none"
    told = best == "task" and "past" in found and not found & OWED  # what happened is not owed
    return "none" if told else best


def _least(one: Label, found: frozenset[str]) -> float:
    framed = f"cue:{one}" in found and not (one == "fact" and "cue:weak fact" in found)
    least: float = _weights()["least"][one]
    return least * (_weights()["framed"] if framed else 1)


@cache
def _weights() -> dict[str, Any]:
    """How much each feature counts for each label: weights.json, by bench/fit_rules.py."""
    return Phrases(Path(__file__).with_name("weights.json")).raw


@cache
def _verbs() -> dict[str, frozenset[str]]:
    return {name: _forms(verbs) for name, verbs in phrases.VERBS.items()}


def _forms(verbs: str) -> frozenset[str]:
    """All simple forms of these verbs."""
    found: set[str] = set()
    for verb in verbs.split():
        base, _, past = verb.partition("/")
        stem = base[:-1] if base.endswith("e") else base
        found |= {base, base + "s", base + "es", stem + "ing", stem + "ed", *past.split("/")}
        if base[-1] not in "aeiouwxy" and base[-2] in "aeiou":
            found |= {base + base[-1] + "ing", base + base[-1] + "ed"}
        if base.endswith("y"):
            found |= {base[:-1] + "ies", base[:-1] + "ied"}
    return frozenset(found - {""})


def _past(word: str) -> bool:
    return word in phrases.IRREGULAR or (len(word) > 4 and word.endswith("ed"))
