"""Proposals: what the agent suggests becomes a decision when the user accepts it.

An offer to act now ("Shall I run the tests?") is no proposal, and a list of causes or steps
is no list of options.
"""

from __future__ import annotations

import re

from wakebook.base import words
from wakebook.learn.select import dialogue, wording
from wakebook.learn.select import facts as decisions
from wakebook.learn.select import names as pronouns
from wakebook.learn.select import sentences as vocabulary
from wakebook.learn.select.ledger import Finding, Turn
from wakebook.learn.select.sentences import Item, Sentence, items, pattern, sentences, trimmed

_ORDER = {"first": 1, "second": 2, "third": 3, "fourth": 4, "former": 1, "latter": -1, "last": -1}
_NUMBER = {"one": "1", "two": "2", "three": "3", "four": "4"}
_SHORT = 9  # words of a clause that only accepts


def accepted(turn: Turn) -> tuple[list[Finding], int]:
    """The decisions that the start of a message makes by accepting or picking, and how many
    sentences say so."""
    said = turn.sentences[:2]
    if not turn.agent or not said or said[0].asked:
        return [], 0
    text = turn.agent_text[-3000:]
    for used, sentence in enumerate(said, 1):
        if sentence.asked or pattern(vocabulary.HEDGE).search(sentence.text):
            break
        found = _accepts(sentence, turn, text)
        if found:
            return [_with_words(one, sentence, turn) for one in found], used
        if used == 1 and not pattern(dialogue.YES_ONLY).fullmatch(sentence.text):
            break
    return [], 0


def _accepts(sentence: Sentence, turn: Turn, text: str) -> list[Finding]:
    clause = sentence.text.partition(",")[0] if _pickable(sentence.text) else ""
    core = _core(clause or (sentence.clauses[0].text if sentence.clauses else sentence.text))
    if core.count(" ") >= _SHORT or pattern(dialogue.NOW_ONLY).search(sentence.text):
        return []
    if pattern(dialogue.REFUSES).search(core):
        return []
    options = items(text) if _choices(text) else []
    picked = _picked(core, options) or _taken(core, sentence.text, turn, options)
    if not picked and _assents(sentence.text, core, turn):
        picked = _proposed(text, options)
    return [
        Finding("decision", content, detail, turns=turn.agent_turns)
        for content, detail in picked
        if not pronouns.vague(content) or options
    ]


def _pickable(said: str) -> bool:
    """Whether a sentence starts with a short pick and goes on: "B, my back says"."""
    return said.partition(",")[0].count(" ") < 4 and not pattern(dialogue.YES_ONLY).fullmatch(
        said.partition(",")[0]
    )


def _core(clause: str) -> str:
    """What is left without "yes", "let's go with", "please" and the like."""
    core = pattern(dialogue.YES).sub("", clause, count=1)
    core = pattern(dialogue.TAKING).sub("", core, count=1)
    return pattern(dialogue.TAKEN_END).sub("", core).strip(" ,.!")


def _with_words(finding: Finding, sentence: Sentence, turn: Turn) -> Finding:
    """With what the user said besides yes, and with the question that was asked."""
    extra = pattern(rf"{dialogue.YES}(?:{dialogue.COMMIT}[\s,.!]*)?").sub(
        "", sentence.text, count=1
    )
    extra = wording.sentence(extra) if extra.count(" ") >= 2 else ""
    asked = wording.sentence(turn.user_asked) if len(words.terms(finding.content)) < 4 else ""
    said = [one for one in (finding.detail, extra, asked) if one and one != finding.content]
    detail = "; ".join(dict.fromkeys(said))
    return finding._replace(detail=detail[: wording.LENGTH * 2])


def _choices(text: str) -> bool:
    """Whether the list in a text is one of options."""
    return pattern(dialogue.OPTIONS).search(text) is not None


def _picked(core: str, options: list[Item]) -> list[tuple[str, str]]:
    """ "1 and 3", "option 2", "the second one", "B"."""
    match = pattern(dialogue.PICK).fullmatch(core) if options else None
    if not match:
        return []
    return [(wording.sentence(one.text), "") for one in _chosen(match["pick"], options)]


def _chosen(pick: str, options: list[Item]) -> list[Item]:
    word = pick.lower().split()[-1]
    word = _NUMBER.get(word, word)
    if word in _ORDER:
        place = _ORDER[word]
        return [options[place - 1 if place > 0 else place]] if place <= len(options) else []
    if len(word) == 1 and word.isalpha():
        place = ord(word) - ord("a")
        return [options[place]] if place < len(options) else []
    numbers = {int(number) for number in re.findall(r"\d", f"{pick} {word}")}
    return [one for one in options if one.number in numbers]


def _assents(said: str, core: str, turn: Turn) -> bool:
    asked = turn.agent_asked
    if asked and not pattern(dialogue.ASKS_ASSENT).search(asked):
        return False
    if pattern(dialogue.COMMIT).match(core) or pattern(dialogue.YES + dialogue.COMMIT).match(said):
        return True
    plain = not core and pattern(dialogue.GLAD).match(said) is not None
    clear = asked or pattern(dialogue.PROPOSALS[0]).search(turn.agent_text[-1500:])
    return plain and bool(clear)


def _proposed(text: str, options: list[Item]) -> list[tuple[str, str]]:
    """What the agent proposes first and clearest, with what it says next as detail."""
    said = [one for one in sentences(text) if not pattern(dialogue.OFFER).match(one.text)]
    for cue in (*dialogue.PROPOSALS, dialogue.ADVISES):
        for place, one in enumerate(said):
            match = pattern(cue).search(one.text)
            content = _worded(match, options) if match else ""
            if content:
                content, why = wording.reason(content)
                after = said[place + 1].text if place + 1 < len(said) else ""
                after = after if not pattern(r"(?:shall|should|want|do you)\b").match(after) else ""
                detail = "; ".join(filter(None, map(wording.sentence, (why, after))))
                return [(wording.sentence(content), detail)]
    return []


def _worded(match: re.Match[str], options: list[Item]) -> str:
    rest = match["rest"]
    pick = pattern(
        r".{0,40}?\b(?P<pick>(?:option|number|#) ?\w|first|second|third|former|latter|last)\b"
    ).match(match.group()[:60])
    chosen = _chosen(pick["pick"], options) if pick and options else []
    if chosen:
        return wording.sentence(f"{chosen[0].text}")
    rest = decisions.base(pattern(dialogue.PROPOSED).sub("", rest, count=1))
    return "" if pronouns.vague(rest) or rest.endswith(("these", "into", "following")) else rest


def _taken(core: str, said: str, turn: Turn, options: list[Item]) -> list[tuple[str, str]]:
    """ "advisory locks then": words of the agent's, chosen."""
    terms = words.terms(core)
    if not terms or core.count(" ") > 4 or not terms <= words.terms(turn.agent_text):
        return []
    asked = turn.agent_asked
    either = pattern(r"\bor\b|\b(?:which|prefer|rather)\b").search(asked)
    sealed = pattern(dialogue.TAKEN_END).search(said) or pattern(dialogue.TAKING).match(said)
    free = not asked or pattern(dialogue.ASKS_ASSENT).search(asked)
    if not (either or options or (sealed and free)):
        return []
    line = next((one.text for one in options if terms <= words.terms(one.text)), "")
    if options and not line and not sealed:
        return []
    return [(wording.sentence(trimmed(core)), wording.sentence(line or asked))]
