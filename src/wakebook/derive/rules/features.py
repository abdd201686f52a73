"""What can be seen of a clause: a set of named features, each of them yes or no.

Word classes and frames (who, verb, modality, time, values, comparison, feeling) and where
the clause stands. `weights` says how much each counts for a task, a fact and a decision.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

from wakebook.derive.rules import decisions, facts, lexicon, names, tasks, vocabulary
from wakebook.derive.rules.vocabulary import pattern

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
    found |= {f"verb:{name}" for name, stems in lexicon.VERBS.items() if _has(words, stems)}
    found |= {f"cue:{name}" for name in _cues(text, place)}
    found |= {f"w:{word}" for word in words if not any(map(str.isdigit, word))}
    found |= {f"1:{word}" for word in words[:1]}
    found |= {f"w:{a} {b}" for a, b in pairwise(words)}
    return frozenset(found)


def _cues(text: str, place: Place) -> set[str]:
    found = set()
    if tasks.found(text, asked=False):
        found.add("task")
    if decisions.found(text):
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
    for name, frame in lexicon.SUBJECTS:
        if pattern(frame).match(low):
            return name
    if names.leads(text):
        return "name"
    if words and words[0] in lexicon.IMPERATIVES:
        return "do"
    return (
        "thing" if pattern(rf"(?:[\w'&/.+-]+ ){{1,6}}?{vocabulary.VERB}\b").match(low) else "piece"
    )


def _modes(low: str, words: list[str]) -> set[str]:
    found = {name for name, frame in lexicon.MODES if pattern(frame).search(low)}
    if any(lexicon.past(word) for word in words[:9]):
        found.add("past")
    return found or {"plain"}


def _frames(low: str) -> set[str]:
    return {name for name, frame in lexicon.FRAMES if pattern(frame).search(low)}


def _values(text: str) -> set[str]:
    found = {name for name, frame in lexicon.VALUES if pattern(frame).search(text)}
    if names.names(" " + text):
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
