"""Questions that a window leaves open.

A question counts when its speaker parks it ("not sure yet whether ..."), when the agent
could not answer it, or when nobody did before the window ended. What was decided later in
the window is no longer open.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from wakebook.base import words
from wakebook.capture.transcript import Message
from wakebook.learn.select import dialogue, names, wording
from wakebook.learn.select.ledger import LONG, READ
from wakebook.learn.select.sentences import Sentence, pattern, sentences, trimmed
from wakebook.log.entry import Entry, derived_id


class Question(NamedTuple):
    content: str
    message: Message  # where it was asked
    turns: tuple[int, ...]
    open: bool
    personal: bool
    terms: frozenset[str]


def left_open(messages: Sequence[Message], current: Sequence[Entry]) -> list[Question]:
    asked: list[Question] = []
    for message in messages:
        if message.role == "user":
            before = ""
            for sentence in _own(message):
                _read(sentence, message, asked)
                _shelved(before, sentence, message, asked)
                before = trimmed(sentence.text)
        elif _no_answer(message.text):
            _reopen(asked, words.terms(message.text[:1500]), message)
    _unanswered(messages, asked)
    settled = _settled(messages, current)
    return [one for one in asked if one.open and not _answered(one, settled)]


def _shelved(before: str, sentence: Sentence, message: Message, asked: list[Question]) -> None:
    """ "Tam asked me to be godparent. need to sleep on that one"."""
    if not pattern(dialogue.SHELVE).search(sentence.text):
        return
    if any(message.turn - one.turns[-1] <= 3 for one in asked):
        return
    about = trimmed(pattern(dialogue.SHELVE).split(sentence.text)[0]) or before
    if len(words.terms(about)) >= 1 and about:
        question = _question(about, is_open=True)
        asked.append(question._replace(message=message, turns=(message.turn,)))


def _no_answer(text: str) -> bool:
    """The agent cannot say, or only asks back."""
    if pattern(dialogue.UNKNOWN).search(text[:1500]):
        return True
    said = sentences(text[:1500])
    return bool(said) and pattern(r"(?:it |that )?depends\b").match(said[0].text) is not None


def _own(message: Message) -> tuple[Sentence, ...]:
    said = sentences(message.text)
    return said if len(said) <= LONG * 2 else said[:READ] + said[-READ:]


def _read(sentence: Sentence, message: Message, asked: list[Question]) -> None:
    parked = _parked(sentence)
    if parked:
        again = _same(asked, parked.terms)
        if again is None:
            asked.append(parked._replace(message=message, turns=(message.turn,)))
        else:
            _mark(asked, again, message)
        return
    wonder = pattern(dialogue.WONDER).search(sentence.text)
    if wonder:
        _ask(wonder["rest"] or wonder["doubt"], message, asked)
    elif sentence.asked:
        _ask(sentence.text, message, asked)
    if pattern(dialogue.PARK).search(sentence.text):
        _reopen(asked, words.terms(sentence.text), message)


def parked(sentence: Sentence) -> bool:
    return _parked(sentence) is not None


def _parked(sentence: Sentence) -> Question | None:
    return _framed(sentence) or _doubted(sentence)


def _doubted(sentence: Sentence) -> Question | None:
    """A doubt and, on either side of it, what it is about."""
    doubt = pattern(dialogue.DOUBT).search(sentence.text)
    if not doubt or _to_agent(sentence) or pattern(dialogue.NO_DOUBT).search(sentence.text):
        return None
    sides = [sentence.text[doubt.end() :], sentence.text[: doubt.start()]]
    if pattern(dialogue.ASKED).match(trimmed(sides[1])):
        sides.reverse()
    for rest in sides:
        match = pattern(dialogue.ASKED).search(rest)
        about = trimmed(match["rest"]) if match else ""
        if not about and pattern(r"(?:.* )?not (?:\w+ )?(?:convinced|sure)$").match(doubt.group()):
            about = f"whether {trimmed(rest)}"
        if len(words.terms(about)) >= 2 and _says_what(about) and _personal(sentence.text):
            return _question(about, is_open=True)
    return None


def _personal(text: str) -> bool:
    lasting = pattern(
        r"\b(?:still|yet|open|undecided|unclear|convinced|i|we|my|our|us|me"
        r"|nobody)\b"
    )
    return lasting.search(text) is not None or bool(names.names_in(text))


def _to_agent(sentence: Sentence) -> bool:
    return sentence.asked and pattern(dialogue.TO_AGENT).search(sentence.text) is not None


def _framed(sentence: Sentence) -> Question | None:
    if not pattern(dialogue.OPEN_HINT).search(sentence.text) or _to_agent(sentence):
        return None
    texts = [sentence.text, trimmed(sentence.text), *(one.text for one in sentence.clauses)]
    for text in texts:
        for cue in dialogue.OPEN:
            match = pattern(cue).match(text)
            if match and words.terms(match["rest"]) and _says_what(match["rest"]):
                return _question(match["rest"], is_open=True)
    return None


def _says_what(rest: str) -> bool:
    return pattern(r"(?:if|whether|about) (?:it|that|this|they)(?:'s|'re)?\b").match(rest) is None


def _ask(text: str, message: Message, asked: list[Question]) -> None:
    question = _question(trimmed(text), is_open=False)
    if len(question.terms) >= 2 and not pattern(dialogue.TO_AGENT).search(text):
        asked.append(question._replace(message=message, turns=(message.turn,)))


def _question(text: str, is_open: bool) -> Question:
    personal = pattern(
        r"(?:.*\b)?(?:i|we|my|our|us|me)\b|(?:is|are|does|do|can|will|should|has|have) (?:the"
        r"|this)\b"
    ).match(text)
    text = pattern(r"(?:if|about if)\b").sub("whether", text, count=1) if is_open else text
    content = wording.sentence(text).rstrip("?") + "?"
    nowhere = Message("user", "", "")
    return Question(content, nowhere, (), is_open, personal is not None, words.terms(text))


def _same(asked: list[Question], terms: frozenset[str]) -> int | None:
    """The question asked before that these terms speak of."""
    for place in range(len(asked) - 1, -1, -1):
        shared = len(asked[place].terms & terms)
        if shared >= 2 or (shared and shared * 2 >= len(terms)):
            return place
    return None


def _reopen(asked: list[Question], terms: frozenset[str], message: Message) -> None:
    """Mark the question that is spoken of, or else the last personal one, as open."""
    ours = [place for place, one in enumerate(asked) if one.personal]
    if not ours:
        return
    spoken = max(ours, key=lambda place: (len(asked[place].terms & terms), place))
    if asked[spoken].terms & terms:
        _mark(asked, spoken, message)
    elif message.turn - asked[ours[-1]].turns[-1] <= 3 and not _open_beside(asked, ours[-1]):
        _mark(asked, ours[-1], message)


def _open_beside(asked: list[Question], place: int) -> bool:
    """Whether the same message left another question open: one theme, one question."""
    message = asked[place].message.id
    return any(one.open and one.message.id == message for one in asked)


def _mark(asked: list[Question], place: int, message: Message) -> None:
    one = asked[place]
    asked[place] = one._replace(open=True, turns=tuple(dict.fromkeys((*one.turns, message.turn))))


def _unanswered(messages: Sequence[Message], asked: list[Question]) -> None:
    """The last word of the window was a question, and nobody answered."""
    if not messages:
        return
    last = messages[-1]
    if last.role == "user":
        for place, one in enumerate(asked):
            if one.message.id == last.id and one.personal and not one.open:
                _mark(asked, place, last)
        return
    if any(one.open and last.turn - one.turns[-1] <= 1 for one in asked):
        return  # asked back: the user's own question is the open one
    said = sentences(last.text[-800:])
    if said and said[-1].asked and pattern(dialogue.TO_USER).match(trimmed(said[-1].text)):
        question = _question(trimmed(said[-1].text), is_open=True)
        if len(question.terms) >= 2:
            asked.append(question._replace(message=last, turns=(last.turn,)))


def _settled(messages: Sequence[Message], current: Sequence[Entry]) -> list[Entry]:
    """The facts and decisions that came out of this window."""
    by_turn = {message.turn: message for message in messages}
    found = []
    for entry in current:
        if entry.type in ("fact", "decision") and any(
            turn in by_turn and derived_id(by_turn[turn].id, entry.type, entry.content) == entry.id
            for turn in entry.evidence
        ):
            found.append(entry)
    return found


def _answered(question: Question, settled: list[Entry]) -> bool:
    for entry in settled:
        if max(entry.evidence) > question.turns[-1]:
            shared = len(question.terms & words.terms(f"{entry.content} {entry.detail}"))
            if shared >= 2 and shared * 4 >= len(question.terms):
                return True
    return False
