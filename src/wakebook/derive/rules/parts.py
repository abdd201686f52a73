"""Parts: the clauses of a user's message that may say something, with where they stand."""

from __future__ import annotations

import re
from typing import NamedTuple

from wakebook.derive.rules import corrections, cues, vocabulary
from wakebook.derive.rules.features import Place
from wakebook.derive.rules.sentences import Clause, Sentence, clauses
from wakebook.derive.rules.turn import Turn
from wakebook.derive.rules.vocabulary import pattern

_WORD = re.compile(r"[a-z']+")


class Part(NamedTuple):
    text: str
    place: Place


def parts(turn: Turn) -> list[tuple[Sentence, list[Part]]]:
    """The sentences of a message with their clauses."""
    return [(sentence, _parts(sentence)) for sentence in turn.sentences]


def _parts(sentence: Sentence) -> list[Part]:
    found = []
    for count, clause in enumerate(stated(sentence)):
        start = sentence.text.find(clause.text) if count == 0 else 0
        place = Place(
            link=clause.link if clause.link.isalpha() else "",
            first=count == 0,
            memo=memo(sentence),
            lead=" ".join(_WORD.findall(sentence.text[: max(start, 0)].lower())[-4:]),
        )
        found.append(Part(clause.text, place))
    return found


def stated(sentence: Sentence) -> tuple[Clause, ...]:
    """The clauses of a sentence that are not the question in it."""
    correction = corrections.cue(sentence.text)
    if correction and correction.text:
        return clauses(correction.text)
    if not sentence.asked:
        return sentence.clauses
    return tuple(
        clause
        for clause in sentence.clauses[:-1]
        if not pattern(vocabulary.ASKS).match(clause.text)
    )


def memo(sentence: Sentence) -> bool:
    """Whether the speaker asks to have it kept: "for the record", "btw"."""
    text = sentence.text
    return bool(pattern(cues.MEMO).match(text) or pattern(cues.MEMO_END).search(text))
