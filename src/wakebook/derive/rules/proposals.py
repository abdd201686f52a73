"""Proposals: what the agent suggests becomes a decision when the user accepts it."""

from __future__ import annotations

import re

from wakebook.derive.rules import decisions, dialogue, vocabulary, wording, words
from wakebook.derive.rules.finding import Finding
from wakebook.derive.rules.sentences import Item, items, sentences
from wakebook.derive.rules.turn import Turn
from wakebook.derive.rules.vocabulary import pattern

_ORDER = {"first": 1, "second": 2, "third": 3, "fourth": 4, "former": 1, "latter": -1, "last": -1}
_SHORT = 9  # words of a sentence that only accepts


def accepted(turn: Turn) -> list[Finding]:
    """The decisions that the start of a message makes by accepting or picking."""
    if not turn.agent or not turn.sentences:
        return []
    first = turn.sentences[0]
    if first.asked or pattern(vocabulary.HEDGE).search(first.text):
        return []
    clause = first.clauses[0].text if first.clauses else first.text
    if clause.count(" ") >= _SHORT:
        return []
    text = turn.agent_text
    options = items(text)
    picked = _picked(first.text, options)
    if not picked and _assents(first.text, turn):
        picked = _proposed(text, options)
    if not picked:
        picked = _taken(clause, text, options)
    return [Finding("decision", a, b, turns=turn.agent_turns) for a, b in picked]


def _picked(said: str, options: list[Item]) -> list[tuple[str, str]]:
    """ "1 and 3 yes", "option 2", "the second one"."""
    if not options:
        return []
    for clause in (said, said.partition(",")[0], said.partition(" - ")[0]):
        match = pattern(dialogue.CHOICE).fullmatch(clause.strip()) or pattern(
            dialogue.YES + dialogue.PICK
        ).match(clause)
        if match:
            return [(wording.sentence(one.text), "") for one in _chosen(match["pick"], options)]
    return []


def _chosen(pick: str, options: list[Item]) -> list[Item]:
    word = pick.lower().split()[-1]
    if word in _ORDER:
        place = _ORDER[word]
        return [options[place - 1 if place > 0 else place]] if place <= len(options) else []
    if len(word) == 1 and word.isalpha():
        place = ord(word) - ord("a")
        return [options[place]] if place < len(options) else []
    numbers = {int(number) for number in re.findall(r"\d", pick)}
    return [one for one in options if one.number in numbers]


def _assents(said: str, turn: Turn) -> bool:
    if said.count(" ") + 1 > _SHORT or pattern(r"\b(?:but|not|no|don't|nah)\b").search(said):
        return False
    if pattern(dialogue.YES + dialogue.COMMIT).match(said):
        return True
    plain = pattern(r"(?:yes|yep|yeah|yup|sure|agreed)\b").match(said)
    return plain is not None and said.count(" ") < 3 and _asks_for_it(turn.agent_asked)


def _asks_for_it(asked: str) -> bool:
    return pattern(r"(?:shall|should) we\b|how about|what about").match(asked) is not None


def _proposed(text: str, options: list[Item]) -> list[tuple[str, str]]:
    """What the agent proposes last and clearest, with the rest of it as detail."""
    found: list[str] = []
    for cue in dialogue.PROPOSALS:
        for said in sentences(text[-3000:]):
            match = pattern(cue).match(said.text)
            if match:
                found.append(_worded(match["rest"], options))
    if not found:
        return []
    content, why = wording.reason(found[0])
    return [
        (wording.sentence(content), "; ".join(filter(None, [wording.sentence(why), *found[1:3]])))
    ]


def _worded(rest: str, options: list[Item]) -> str:
    match = pattern(
        r".{0,40}?\b(?P<pick>(?:option|number|#) ?\w|first|second|third|former|latter|last)\b"
    ).match(rest[:60])
    chosen = _chosen(match["pick"], options) if match and options else []
    if chosen:
        return wording.sentence(chosen[0].text)
    return wording.sentence(decisions.base(pattern(dialogue.PROPOSED).sub("", rest, count=1)))


def _taken(clause: str, text: str, options: list[Item]) -> list[tuple[str, str]]:
    """ "advisory locks then": words of the agent's, chosen."""
    match = pattern(dialogue.TAKEN).match(clause)
    if not match:
        return []
    terms = words.terms(match["rest"])
    if not terms or not terms <= words.terms(text):
        return []
    line = next((one.text for one in options if terms <= words.terms(one.text)), "")
    return [(wording.sentence(match["rest"]), wording.sentence(line))]
