"""Open loops: work that somebody owes, what blocks it, reports that it is done; and questions.

A task is worded as an imperative. A report closes the open task that it clearly names; a report
about nothing that is open is no task. A question is left open when its speaker parks it ("not sure
yet whether ..."), when the agent could not answer it, or when it had no answer before the window
ended. What was decided later in the window is no longer open.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from wakebook.base import words
from wakebook.base.words import listed
from wakebook.capture.transcript import Message
from wakebook.learn.select import wording
from wakebook.learn.select.ledger import LONG, READ, Finding, Known, Ledger
from wakebook.learn.select.phrases import pattern, phrases
from wakebook.learn.select.sentences import Sentence, sentences, trimmed
from wakebook.log.entry import Entry, derived_id

_PRONOUN = r"\b(?:that one|this one|that|it|this|those|them)\b"
_AND = re.compile(r",? (?:and|then)(?: then| also)* (?=(\w+)\b)")
_VERBS = listed(
    """add arrange ask backfill book buy call cancel chase check clean collect confirm contact
    delete deploy do document draft email file fill find finish fix get give hire install invoice
    look make measure migrate move order organise organize pack paint pay pick plan
    plant post prepare print publish push read reconcile redo register remove renew replace reply
    report rerun return review rewrite rotate run schedule send set ship sign sort submit talk tell
    test train transfer translate update upload water write"""
)


def tasks(clause: str, asked: bool) -> list[Finding]:
    """The open tasks that a clause states."""
    for cue in phrases.TASKS:
        match = pattern(cue).match(clause)
        if match and not _idle(match) and (not asked or "remind" in match.group().lower()):
            return [one for one in _split(_imperative(match)) if words.terms(one.content)]
    if not asked and _blocked(clause):
        return [_task(wording.about_user(clause))._replace(weak=True)]
    return []


def task_as_said(clause: str) -> list[Finding]:
    """A task in the speaker's own words."""
    content, why = wording.reason(clause)
    return [_task(wording.about_user(content), why)]


def in_list(sentence: Sentence) -> list[Finding]:
    """What stands under a heading such as "TODO:", or behind "not done: a, b and c"."""
    if sentence.heading and pattern(phrases.LISTED).match(sentence.heading):
        return [_task(sentence.text)]
    head, colon, rest = sentence.text.partition(": ")
    if (
        not colon
        or sentence.asked
        or " off " in f" {head} "
        or not pattern(phrases.LISTED).fullmatch(trimmed(head) + ":")
    ):
        return []
    items = [trimmed(item) for item in pattern(phrases.ITEMS).split(rest)]
    return [_task(item) for item in items[:8] if words.terms(item) and not _asks(item)]


def _asks(text: str) -> bool:
    return pattern(phrases.ASKS).match(text) is not None


def finished(clause: str, ledger: Ledger) -> list[Finding]:
    """The open task that a clause reports as done, closed."""
    if pattern(phrases.NOT_DONE).search(clause):
        return []
    if any(pattern(cue).match(clause) for cue in phrases.NO_REPORT):
        return []
    if any(pattern(cue).match(clause) for cue in phrases.FINISHED):
        task = _reported(clause, ledger, least=1)
    elif pattern(phrases.CAME).search(clause) or pattern(phrases.BY_NOW).search(clause):
        task = _reported(clause, ledger, least=1 if wording.names_in(" " + clause) else 2)
    else:
        return []
    return [_closed(task, clause)] if task else []


def finished_that(clause: str, agent: str, ledger: Ledger) -> list[Finding]:
    """ "That's done": the task that the agent just spoke of, or the last one of all."""
    if not pattern(phrases.FINISHED_THAT).match(clause) or pattern(phrases.NOT_DONE).search(clause):
        return []
    task = ledger.best(words.terms(agent[-600:]), ("task",), status="open")
    if task is None or len(task.terms & words.terms(agent[-600:])) * 2 < len(task.terms):
        still = [known for known in ledger.latest(("task",), 2) if known.status == "open"]
        task = still[0] if len(still) == 1 else None
    return [_closed(task, "")] if task else []


def _closed(task: Known, said: str) -> Finding:
    detail = wording.sentence(wording.about_user(said)) if said else ""
    return Finding("task", task.content, detail, status="done", replaces=(task.id,))


def _reported(clause: str, ledger: Ledger, least: int) -> Known | None:
    """The open task that a report is about: it shares more with it than with any other."""
    said = words.terms(clause)
    ranked = sorted(
        ((len(said & one.terms), one.order, one) for one in ledger.open_tasks(said)), reverse=True
    )
    if not ranked or ranked[0][0] < least:
        return None
    shared, _, task = ranked[0]
    telling = said & task.terms - _COMMON
    clear = shared >= 2 or shared * 2 >= len(task.terms) or (telling and shared * 3 >= len(said))
    alone = len(ranked) == 1 or ranked[1][0] < shared
    return task if telling and clear and alone else None


_COMMON = words.terms(
    "send write call ask get make order book pay buy check fix move week day new old people time"
)


def _task(text: str, detail: str = "") -> Finding:
    return Finding("task", wording.sentence(text), wording.sentence(detail), status="open")


def _idle(match: re.Match[str]) -> bool:
    rest = match["rest"]
    if pattern(phrases.NO_TASK).match(rest) or len(rest) < 4:
        return True
    before = match.string[: match.start("rest")]
    return (
        pattern(rf"{phrases.HEDGE}|\byou\b|\b(?:don't|didn't) (?:need|have)").search(before)
        is not None
        and "remind" not in before
    )


def _imperative(match: re.Match[str]) -> tuple[str, str]:
    """What to do, and why."""
    parts = match.groupdict()
    cue = match.string[: match.start("rest")].lower()
    rest, why = wording.reason(parts["rest"])
    rest = re.sub(r"^(?:make sure|be sure|remember|try)(?: that i| to) ", "", rest, flags=re.I)
    rest = re.sub(
        r",? (?:so )?(?:nag|remind|ping|poke|put (?:it|that)|note (?:it|that)) .*", "", rest
    )
    if "owe" in cue:
        rest = f"owe {rest}"
    elif re.search(r"promised|told|said|agreed", cue):
        rest = _promise(rest)
    elif cue.lstrip().startswith(("nag", "poke", "ping")):
        rest = f"follow up on {rest}"
    topic = (parts.get("topic") or "").strip(" ,")
    if topic and not pattern(phrases.LEAD).fullmatch(topic + " "):
        rest = _about(rest, topic)
    when = (parts.get("when") or "").strip()
    return (f"{rest} {when}" if when else rest), why


def _about(rest: str, topic: str) -> str:
    """ "the invoice, I need to send that" -> "send the invoice"."""
    if pattern(phrases.NO_SUBJECT).match(topic) or pattern(r"\b(?:i|we|you)\b").search(topic):
        return rest
    spot = pattern(_PRONOUN).search(rest)
    if spot:
        return rest[: spot.start()] + topic + rest[spot.end() :]
    verb, _, after = rest.partition(" ")
    if not after or pattern(
        r"(?:myself|tomorrow|today|tonight|before|by|on|next|some|soon)\b"
    ).match(after):
        return f"{verb} {topic[:1].lower()}{topic[1:]} {after}".strip()
    return f"{rest} ({topic})"


def _promise(rest: str) -> str:
    match = re.match(r"(?:(\w+) )?(?:i'd|i would|to|that i'd|we'd) (.+)", rest, re.I)
    if not match:
        return f"promised {rest}"
    who, what = match.group(1) or "", match.group(2)
    return re.sub(r"\b(?:her|him|them)\b", who, what, count=1) if who else what


def _split(task: tuple[str, str]) -> list[Finding]:
    """ "book the physio and also get insoles" is two tasks."""
    text, why = task
    found: list[Finding] = []
    start = 0
    for mark in _AND.finditer(text):
        if mark.group(1).lower() in _VERBS and mark.start() > start + 3:
            found.append(_task(text[start : mark.start()], why))
            start = mark.end()
    return [*found, _task(text[start:], why)]


def _blocked(clause: str) -> bool:
    if pattern(phrases.HEDGE).search(clause) or pattern(
        r"(?:\w+ ){0,3}(?:you|it|this|that|there)\b"
    ).match(clause):
        return False
    return any(pattern(cue).match(clause) for cue in phrases.BLOCKED)


# --- questions ---------------------------------------------------------------------------


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
    if not pattern(phrases.SHELVE).search(sentence.text):
        return
    if any(message.turn - one.turns[-1] <= 3 for one in asked):
        return
    about = trimmed(pattern(phrases.SHELVE).split(sentence.text)[0]) or before
    if len(words.terms(about)) >= 1 and about:
        question = _question(about, is_open=True)
        asked.append(question._replace(message=message, turns=(message.turn,)))


def _no_answer(text: str) -> bool:
    """The agent cannot say, or only asks back."""
    if pattern(phrases.UNKNOWN).search(text[:1500]):
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
    wonder = pattern(phrases.WONDER).search(sentence.text)
    if wonder:
        _ask(wonder["rest"] or wonder["doubt"], message, asked)
    elif sentence.asked:
        _ask(sentence.text, message, asked)
    if pattern(phrases.PARK).search(sentence.text):
        _reopen(asked, words.terms(sentence.text), message)


def parked(sentence: Sentence) -> bool:
    return _parked(sentence) is not None


def _parked(sentence: Sentence) -> Question | None:
    return _framed(sentence) or _doubted(sentence)


def _doubted(sentence: Sentence) -> Question | None:
    """A doubt and, on either side of it, what it is about."""
    doubt = pattern(phrases.DOUBT).search(sentence.text)
    if not doubt or _to_agent(sentence) or pattern(phrases.NO_DOUBT).search(sentence.text):
        return None
    sides = [sentence.text[doubt.end() :], sentence.text[: doubt.start()]]
    if pattern(phrases.ASKED).match(trimmed(sides[1])):
        sides.reverse()
    for rest in sides:
        match = pattern(phrases.ASKED).search(rest)
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
    return lasting.search(text) is not None or bool(wording.names_in(text))


def _to_agent(sentence: Sentence) -> bool:
    return sentence.asked and pattern(phrases.SPEAKS_TO_AGENT).search(sentence.text) is not None


def _framed(sentence: Sentence) -> Question | None:
    if not pattern(phrases.OPEN_HINT).search(sentence.text) or _to_agent(sentence):
        return None
    texts = [sentence.text, trimmed(sentence.text), *(one.text for one in sentence.clauses)]
    for text in texts:
        for cue in phrases.OPEN:
            match = pattern(cue).match(text)
            if match and words.terms(match["rest"]) and _says_what(match["rest"]):
                return _question(match["rest"], is_open=True)
    return None


def _says_what(rest: str) -> bool:
    return pattern(r"(?:if|whether|about) (?:it|that|this|they)(?:'s|'re)?\b").match(rest) is None


def _ask(text: str, message: Message, asked: list[Question]) -> None:
    question = _question(trimmed(text), is_open=False)
    if len(question.terms) >= 2 and not pattern(phrases.SPEAKS_TO_AGENT).search(text):
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
    if said and said[-1].asked and pattern(phrases.TO_USER).match(trimmed(said[-1].text)):
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
