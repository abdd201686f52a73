"""Reading a user's message: each clause is asked what it is, then the parts are joined.

The order of the questions matters: a report that something is done sounds like a fact, and
a task like a decision. What stands around a choice without being anything itself is its
reason.
"""

from __future__ import annotations

from collections.abc import Callable

from wakebook.derive.rules import (
    boundaries,
    corrections,
    cues,
    decisions,
    facts,
    names,
    proposals,
    tasks,
    vocabulary,
    wording,
)
from wakebook.derive.rules.corrections import Correction
from wakebook.derive.rules.finding import Finding
from wakebook.derive.rules.sentences import Clause, Sentence, clauses
from wakebook.derive.rules.turn import Turn
from wakebook.derive.rules.vocabulary import pattern


def findings(turn: Turn) -> list[Finding]:
    found = proposals.accepted(turn)
    pending: Correction | None = None
    reader = _Reader(turn)
    fresh = bool(found)  # whether the sentence before made a decision
    for sentence in turn.sentences[1:] if found else turn.sentences:
        correction = corrections.cue(sentence.text)
        parts = clauses(correction.text) if correction else sentence.clauses
        here = reader.read(sentence, parts)
        correction = correction or pending
        if correction:
            here, pending = _correct(correction, here, turn)
        here = [corrections.changed(one, sentence.text, turn) for one in here]
        here = [corrections.answered(one, sentence.text, turn) for one in here]
        fresh = _join(found, here, sentence, fresh)
    return _distinct(found)


class _Reader:
    """Reads sentence after sentence and remembers who and what was named last."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._name = ""
        self._thing = ""

    def read(self, sentence: Sentence, parts: tuple[Clause, ...]) -> list[Finding]:
        found: list[Finding] = []
        before = ""
        for place, part in enumerate(parts):
            text = names.resolved(part.text, self._name, self._thing)
            if decisions.sealed(text) and before:
                _seal(found, before)
                continue
            here = self._clause(text, part, sentence, first=place == 0)
            if text != part.text:
                here = [one._replace(weak=one.weak or not facts.role(text)) for one in here]
            _add(found, here, text, before, sentence)
            before = text
            self._remember(text)
        return found

    def _remember(self, text: str) -> None:
        self._name = (names.names(" " + text) or [self._name])[-1]
        subject = pattern(cues.WEAK).match(text)
        if subject and not pattern(cues.NO_SUBJECT).match(subject["np"]):
            self._thing = subject["np"]

    def _clause(self, text: str, part: Clause, sentence: Sentence, first: bool) -> list[Finding]:
        if sentence.asked:
            return tasks.found(text, asked=True)
        if sentence.heading and first:
            listed = tasks.under(text, sentence.heading)
            if listed:
                return listed
        if self._turn.long and pattern(r"(?!.*\bi\b).*\b(?:we|our|us)\b").match(text):
            return []
        if pattern(vocabulary.CODE).match(sentence.text):
            return []
        found = self._work(text) or _labelled(text, self._work)
        if found:
            return found
        outcome = pattern(cues.OUTCOME).match(sentence.text)
        if outcome or (part.link == "so" and pattern(boundaries.SO_CHOICE).match(text)):
            return [decisions.stated(text)]
        memo = _memo(sentence)
        fact = facts.found(text, memo, self._turn.long)
        if fact is None and first and self._turn.sentences[0] is sentence:
            fact = facts.answer(sentence.text, self._turn.agent_asked)
        return [fact] if fact else []

    def _work(self, text: str) -> list[Finding]:
        """What a clause says is done, decided or to do."""
        turn = self._turn
        found = tasks.finished_that(text, turn.agent_text, turn.ledger)
        found = found or tasks.finished(text, turn.ledger)
        if found:
            return found
        decision = decisions.found(text)
        found = [decision] if decision else tasks.found(text, asked=False)
        asked = turn.agent_asked
        if found and asked and pattern(r"(?:that|this) one\b").match(text):
            found = [_answering(one, asked, turn) for one in found]
        return found


def _answering(task: Finding, asked: str, turn: Turn) -> Finding:
    """ "And the ethics form?" - "that one I'll do Thursday"."""
    about = facts.asked_for(asked)
    content = wording.sentence(f"{about}: {task.content[:1].lower()}{task.content[1:]}")
    if about:
        return task._replace(content=content, turns=turn.agent_turns)
    return task._replace(detail=wording.sentence(asked), turns=turn.agent_turns)


def _memo(sentence: Sentence) -> bool:
    """Whether the speaker asks to have it kept: "for the record", "btw"."""
    text = sentence.text
    return bool(pattern(cues.MEMO).match(text) or pattern(cues.MEMO_END).search(text))


def _labelled(text: str, read: Callable[[str], list[Finding]]) -> list[Finding]:
    """ "pricing: we settled on 19" is a decision about pricing."""
    match = pattern(cues.LABEL).match(text)
    found = read(match["value"]) if match else []
    if match and found and found[0].status != "done":
        first = found[0]
        content = wording.sentence(f"{match['label']}: {first.content}")
        return [first._replace(content=content), *found[1:]]
    return found


def _seal(found: list[Finding], before: str) -> None:
    if not found:
        found.append(decisions.stated(before))
    elif found[-1].type != "decision":
        found[-1] = decisions.stated(before)


def _add(
    found: list[Finding], here: list[Finding], text: str, before: str, sentence: Sentence
) -> None:
    """Join a clause's findings with those before it in the sentence."""
    last = found[-1] if found else None
    if here and not found and here[0].type == "decision" and _reasons(here[0], before):
        here = [here[0]._replace(detail=wording.sentence(before)), *here[1:]]
    if not here:
        if last and not sentence.asked:
            _explain(found, text)
    elif here[0].type == "task" and here[0].status == "open" and _points_back(here[0], before):
        if last and last.weak:
            found.pop()
        found += [_about(here[0], before), *here[1:]]
    elif last and last.type in ("decision", "task") and (here[0].weak or _waits(last, here[0])):
        _explain(found, here[0].content)
    elif last and last.type == here[0].type == "decision" and "instead" in here[0].content:
        found[-1] = last._replace(content=wording.sentence(f"{last.content}; {here[0].content}"))
    else:
        found += here


def _waits(last: Finding, here: Finding) -> bool:
    """ "the import is blocked, legal has not cleared it": what it waits for."""
    return last.weak and here.type == "fact" and not here.content.startswith("User")


def _reasons(decision: Finding, before: str) -> bool:
    """ "the knee is still off, so I'm dropping it": what stood before is why."""
    return not decision.detail and before.count(" ") >= 2


def _points_back(task: Finding, before: str) -> bool:
    return before.count(" ") >= 1 and pattern(cues.POINTS).search(task.content) is not None


def _about(task: Finding, before: str) -> Finding:
    """ "the invoice, I need to send that" -> "Send the invoice"."""
    verb = pattern(cues.WEAK).match(before)
    thing = pattern(cues.THING).match(before) and before.count(" ") < 8
    if thing and (not verb or verb["verb"] == "'s"):
        content = pattern(cues.POINTS).sub(lambda _: before, task.content, count=1)
        return task._replace(content=wording.sentence(content))
    detail = "; ".join(filter(None, (wording.sentence(before), task.detail)))
    return task._replace(detail=detail)


def _explain(found: list[Finding], text: str) -> None:
    last = found[-1]
    if last.type in ("decision", "task") and last.status != "done":
        detail = "; ".join(filter(None, (last.detail, wording.sentence(text))))
        found[-1] = last._replace(detail=detail[: wording.LENGTH * 2])


def _join(found: list[Finding], here: list[Finding], sentence: Sentence, fresh: bool) -> bool:
    """Add a sentence's findings; right after a decision it may be the reason for it.

    Returns whether it made a decision itself.
    """
    reason = pattern(cues.NEXT_REASON).match(sentence.text)
    weak = not _memo(sentence) and (
        all(one.weak and one.type == "fact" for one in here)
        if here
        else pattern(cues.REASONING).match(sentence.text) is not None
    )
    aside = pattern(cues.ASIDE).match(sentence.text)
    if fresh and not sentence.asked and not aside and (reason or weak):
        _explain(found, sentence.text)
        return False
    found += here
    return bool(found) and found[-1].type == "decision" and bool(here)


def _correct(
    correction: Correction, here: list[Finding], turn: Turn
) -> tuple[list[Finding], Correction | None]:
    """The sentence's findings with the correction made, or the correction still to make."""
    for place, one in enumerate(here):
        if one.type in ("fact", "decision"):
            fixed = corrections.corrected(correction, turn, one)
            return [*here[:place], fixed or one, *here[place + 1 :]], None
    fixed = corrections.corrected(correction, turn, None)
    return ([*here, fixed], None) if fixed else (here, correction if not correction.text else None)


def _distinct(found: list[Finding]) -> list[Finding]:
    seen: dict[tuple[str, str], Finding] = {}
    for one in found:
        if one.content:
            seen.setdefault((one.type, one.content), one)
    return list(seen.values())
