"""Reading a user's message: each clause is judged by its features, worded, and joined.

What follows a choice or a task without being anything itself is its reason. An entry has to
mean something alone: pronouns are resolved from the words before, or the entry is dropped.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from wakebook.base import words
from wakebook.learn.select import dialogue, facts, loops, wording
from wakebook.learn.select.dialogue import Correction
from wakebook.learn.select.features import Place, features, likeliest
from wakebook.learn.select.ledger import Finding, Turn
from wakebook.learn.select.phrases import pattern, phrases
from wakebook.learn.select.sentences import Clause, Sentence, clauses, sentences, trimmed

_REASONS = 2  # clauses after a choice that may be its reason


def findings(turn: Turn) -> list[Finding]:
    accepted, used = dialogue.accepted(turn)
    reader = _Reader(turn, accepted)
    pending: Correction | None = None
    for sentence, group in parts(turn)[used:]:
        start = len(reader.found)
        reader.read(sentence, group)
        correction = dialogue.cue(sentence.text) or pending
        pending = None
        if correction:
            pending = reader.correct(correction, start)
        reader.found[start:] = [
            dialogue.changed(one, sentence.text, turn) for one in reader.found[start:]
        ]
    return _distinct(reader.found)


class _Reader:
    """Reads sentence after sentence and remembers what was said before."""

    def __init__(self, turn: Turn, accepted: list[Finding]) -> None:
        self.found = accepted
        self._fresh = _REASONS if accepted else 0  # how many more clauses may be a reason
        self._turn = turn
        self._said: list[str] = []
        self._before = ""  # what the clause before was
        self._outcome = False  # whether the sentence gives the outcome of a meeting

    def read(self, sentence: Sentence, group: list[Part]) -> None:
        listed = loops.in_list(sentence)
        if listed or _open(sentence):
            self.found += listed
            self._fresh = 0
            return
        self.found += facts.introduced(sentence.text)
        self._outcome = pattern(phrases.OUTCOME).match(sentence.text) is not None
        if sentence.asked:
            self.found += loops.tasks(trimmed(sentence.text), asked=True)
        for part in group:
            if not self._foreign(part.text):
                self._clause(part)
        if sentence.asked:
            self._fresh = 0
            self._said.append(f"{trimmed(sentence.text)}?")

    def _foreign(self, text: str) -> bool:
        """In a long message, words that may be somebody else's."""
        return self._turn.long and not pattern(r"\b(?:i|i'm|i've|i'll|my|we|our)\b").search(text)

    def _clause(self, part: Part) -> None:
        found, label = self._finished(part.text), "none"
        if not found and not pattern(phrases.BECAUSE).match(part.text):
            found, label = self._judged(part)
        if facts.sealed(part.text) and self._said:
            self._seal()
            return
        if found and self._fresh and _reason(self._resolved(part.text), part, label):
            found, label = [], "none"
        if found:
            self._add(part, found)
        elif self._names_it(part):
            self.found[-1] = _longer(self.found[-1], part.text)
        elif self._fresh and _explains(part.text):
            self.found[-1] = _because(self.found[-1], part.text)
            self._fresh -= 1
        else:
            self._fresh = 0
        self._before = label
        self._said.append(part.text)

    def _names_it(self, part: Part) -> bool:
        """ "We have a box as staging, it's called lagoon"."""
        called = pattern(r"(?:(?:it|he|she)(?:'s| is)|its name is|we call (?:it|him|her)) ").match
        last = self.found[-1].type if self.found else ""
        return not part.place.first and last == "fact" and called(part.text) is not None

    def _seal(self) -> None:
        """ "..., settled": what stood before it was decided."""
        if self.found and self._before != "none" and self.found[-1].type != "decision":
            self.found.pop()
        if self._before != "decision":
            self.found.append(facts.stated(self._said[-1]))
        self._fresh, self._before = _REASONS, "decision"

    def _add(self, part: Part, found: list[Finding]) -> None:
        """Add findings; a clause that goes on about the same thing joins the one before."""
        last, first = self.found[-1] if self.found else None, found[0]
        if last and last.type == first.type == "task" and first.detail.startswith(last.content):
            self.found.pop()
        elif (
            last and not part.place.first and last.type == first.type and _goes_on(part.text, first)
        ):
            self.found[-1] = _longer(last, part.text)
            found = found[1:]
        self.found += found
        self._fresh = _REASONS if self.found[-1].type in ("decision", "task") else 0

    def _finished(self, text: str) -> list[Finding]:
        turn = self._turn
        return loops.finished_that(text, turn.agent_text, turn.ledger) or loops.finished(
            text, turn.ledger
        )

    def _judged(self, part: Part) -> tuple[list[Finding], str]:
        if pattern(phrases.TO_AGENT).match(part.text):
            return [], "none"
        label: str = likeliest(features(part.text, part.place))
        if facts.wish(part.text):
            label = "fact"
        elif self._outcome and label in ("none", "fact"):
            label = "decision"
        elif label == "fact" and facts.general(part.text):
            label = "none"
        elif label == "none":
            known = dialogue.updated(part.text, self._turn)
            label = "decision" if known and known.type == "decision" else "fact" if known else label
        answer = self._answer(part) if label == "none" or wording.vague(part.text) else None
        if answer or label == "none":
            return ([answer], "fact") if answer else ([], label)
        text = self._resolved(part.text)
        found = _WORDED[label](text, part)
        return [one for one in map(self._anchored, found) if one is not None], label

    def _answer(self, part: Part) -> Finding | None:
        if self._said or not part.place.first or not self._turn.agent_asked:
            return None
        answer = facts.answer(part.text, self._turn.agent_asked)
        return answer._replace(turns=self._turn.agent_turns) if answer else None

    def _resolved(self, text: str) -> str:
        before = wording.last_name([one.text[-600:] for one in self._turn.recent[:-1]])
        before = wording.last_name([f"- {self._turn.agent_text[-600:]}"]) or before
        text = wording.person(text, wording.last_name(self._said) or before)
        return wording.resolved(text, "", self._topic())

    def _topic(self) -> str:
        for said in reversed(self._said):
            subject = pattern(phrases.WEAK).match(said)
            if subject and not pattern(phrases.NO_SUBJECT).match(subject["np"]):
                return subject["np"]
        return ""

    def _anchored(self, finding: Finding) -> Finding | None:
        """With its pronouns resolved, or nothing if it means nothing alone."""
        said = self._said or (self._left() if wording.points(finding.content) else [])
        last = said[-1] if said else ""
        content = wording.thing(finding.content, said[-2:])
        points = content != finding.content or wording.points(content)
        finding = finding._replace(content=wording.sentence(content))
        if last and finding.type == "task" and (points or len(words.terms(content)) < 4):
            finding = _because(finding, "; ".join(said[-2:]), first=True)
        if not wording.vague(content):
            return finding
        if not wording.telling(content):
            return None
        if last and not last.endswith("?") and not wording.vague(last):
            return finding._replace(content=_with(finding.content, last))
        return self._answering(finding)

    def _left(self) -> list[str]:
        """What the user said in the message before, if the agent has not spoken since."""
        if self._turn.agent or len(self._turn.recent) < 2:
            return []
        return [one.text for one in sentences(self._turn.recent[-2].text)[-2:]]

    def _answering(self, finding: Finding) -> Finding | None:
        """With the agent's words that it answers."""
        about = self._turn.agent_asked
        if not about and finding.type == "decision":
            terms = words.terms(finding.content)
            said = sentences(self._turn.agent_text[-1500:])
            about = next((one.text for one in said if words.terms(one.text) & terms), "")
        if not about or finding.type == "task" or not words.terms(about):
            return None
        content = _with(finding.content, about)
        return finding._replace(content=content, turns=self._turn.agent_turns)

    def correct(self, correction: Correction, start: int) -> Correction | None:
        """Make the correction in what was found from `start` on, or leave it pending."""
        for place in range(start, len(self.found)):
            if self.found[place].type in ("fact", "decision"):
                fixed = dialogue.corrected(correction, self._turn, self.found[place])
                self.found[place] = fixed or self.found[place]
                return None
        fixed = dialogue.corrected(correction, self._turn, None)
        if fixed:
            self.found.append(fixed)
        return None if fixed or correction.text else correction


def _task(text: str, part: Part) -> list[Finding]:
    return loops.tasks(text, asked=False) or loops.task_as_said(text)


def _decision(text: str, part: Part) -> list[Finding]:
    return [facts.decided(text) or facts.stated(text)]


def _fact(text: str, part: Part) -> list[Finding]:
    return [facts.found(text, part.place.memo) or facts.worded(text)]


_WORDED = {"task": _task, "decision": _decision, "fact": _fact}


def _open(sentence: Sentence) -> bool:
    """A question that is left open, or the set-up of one."""
    set_up = pattern(phrases.CODE).match(sentence.text)
    return bool(set_up) or loops.parked(sentence)


def _longer(finding: Finding, text: str) -> Finding:
    return finding._replace(content=wording.sentence(f"{finding.content}; {text}"))


def _goes_on(text: str, finding: Finding) -> bool:
    if finding.type == "fact":
        return pattern(r"(?:it|its|it's|he|she|he's|she's|they|they're)\b").match(text) is not None
    again = r"\b(?:instead|that too|it too|that's it)\b|^(?:no|not|only|it|they)\b"
    return finding.type == "decision" and pattern(again).search(text) is not None


def _reason(text: str, part: Part, label: str) -> bool:
    """Whether what sounds like a fact, right behind a choice, is why it was made."""
    if label != "fact" or part.place.memo or part.place.link in ("also", "plus"):
        return False
    fact = facts.found(text)
    return fact is None or fact.weak


def _with(content: str, said: str) -> str:
    return wording.sentence(f"{content} ({trimmed(said)[:140]})")


def _explains(text: str) -> bool:
    subject = pattern(
        r"(?:you|please|thanks|ok|can|could|do|what|how|let's|lets|anyway|now|next)\b"
    )
    return text.count(" ") >= 2 and not subject.match(text)


def _because(finding: Finding, text: str, first: bool = False) -> Finding:
    if finding.status == "done":
        return finding
    said = [wording.sentence(text), finding.detail]
    detail = "; ".join(filter(None, said if first else reversed(said)))
    return finding._replace(detail=detail[: wording.LENGTH * 2])


def _distinct(found: list[Finding]) -> list[Finding]:
    seen: dict[tuple[str, str], Finding] = {}
    for one in found:
        if one.content:
            seen.setdefault((one.type, one.content), one)
    return list(seen.values())


# -----------------------------------------------------------------------------
# Parts: the clauses of a user's message that may say something, with where they stand.

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
    correction = dialogue.cue(sentence.text)
    if correction and correction.text:
        return clauses(correction.text)
    if not sentence.asked:
        return sentence.clauses
    return tuple(
        clause for clause in sentence.clauses[:-1] if not pattern(phrases.ASKS).match(clause.text)
    )


def memo(sentence: Sentence) -> bool:
    """Whether the speaker asks to have it kept: "for the record", "btw"."""
    text = sentence.text
    return bool(pattern(phrases.MEMO).match(text) or pattern(phrases.MEMO_END).search(text))
