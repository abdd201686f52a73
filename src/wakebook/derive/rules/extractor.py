"""RuleExtractor: a fold over the messages of a window.

Each message is read with what was said before it and with the ledger of what is known,
which includes the drafts of the messages before. Nothing looks ahead, so it does not
matter where a window was cut.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from wakebook.capture.transcript import Message
from wakebook.derive.extract import RULES, Draft, Extraction, Scene, after
from wakebook.derive.rules import questions, reading, subjects, task_cues, tasks, words
from wakebook.derive.rules.finding import Finding
from wakebook.derive.rules.handoff import handoff
from wakebook.derive.rules.ledger import Ledger
from wakebook.derive.rules.sentences import sentences
from wakebook.derive.rules.turn import Turn
from wakebook.derive.rules.vocabulary import pattern
from wakebook.log.entry import Entry, derived_id

_BARE = r"(?:the|a|an|this|that|it|these|those|here|there)\b"
_EPOCH = datetime.fromtimestamp(0, UTC)  # rules do not look at the time of an entry
_RECENT = 3  # user messages that "scratch that" may mean


class RuleExtractor:
    name = RULES

    def read(self, fresh: Sequence[Message], scene: Scene) -> Extraction:
        drafts = self.extract(fresh, scene)
        if scene.ends:
            said = [*scene.earlier, *fresh]
            new = [draft.entry(RULES, _EPOCH) for draft in drafts]
            whole = Scene(
                current=after(scene.current, new), subjects=scene.subjects, subject=scene.subject
            )
            drafts += self.close(said, whole)
        return Extraction(drafts=drafts, taken=len(fresh))

    def extract(self, messages: Sequence[Message], scene: Scene) -> list[Draft]:
        """Drafts from the new messages: tasks, facts and decisions."""
        ledger = Ledger(scene.current)
        agent: tuple[Message, ...] = ()
        recent: tuple[Message, ...] = ()
        for message in _live(scene.earlier):
            agent, recent = _after(message, agent, recent)
        drafts: list[Draft] = []
        for message in _live(messages):
            before, (agent, recent) = agent, _after(message, agent, recent)
            if message.role == "agent":
                found = _agent_reports(message, ledger)
            else:
                turn = Turn(message, before, recent, ledger)
                found = reading.findings(turn)
            drafts += _kept(found, message, scene, ledger)
        return drafts

    def close(self, messages: Sequence[Message], scene: Scene) -> list[Draft]:
        """Drafts from a whole finished window: the questions left open, and the handoff.

        `scene.current` already holds what `extract` found in this window.
        """
        window = list(_live(messages))
        ledger = Ledger(scene.current)
        drafts: list[Draft] = []
        for question in questions.left_open(window, scene.current):
            finding = Finding("question", question.content, turns=question.turns)
            drafts += _kept([finding], question.message, scene, ledger)
        ours = _open_tasks(window, scene.current)
        summary = handoff(window, ours, [draft.content for draft in drafts])
        if summary:
            drafts.append(_draft(summary, window[-1], scene))
        return drafts


def _live(messages: Iterable[Message]) -> Iterable[Message]:
    return (one for one in messages if not one.branch and one.role in ("user", "agent"))


def _after(
    message: Message, agent: tuple[Message, ...], recent: tuple[Message, ...]
) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
    if message.role == "agent":
        return ((*agent, message)[-3:] if message.text.strip() else agent), recent
    return (), (*recent, message)[-_RECENT:]


def _agent_reports(message: Message, ledger: Ledger) -> list[Finding]:
    """The agent finished something that is an open task."""
    found: list[Finding] = []
    if not pattern(task_cues.REPORT).search(message.text[:1500]):
        return found
    for sentence in sentences(message.text[:1500])[:6]:
        text = sentence.text
        if not sentence.asked and text.lower().startswith(("i've ", "i have ", "done")):
            found += tasks.finished(text, ledger)
    return found[:3]


def _kept(found: Iterable[Finding], message: Message, scene: Scene, ledger: Ledger) -> list[Draft]:
    drafts: list[Draft] = []
    for finding in found:
        draft = _draft(finding, message, scene)
        if not _says_something(draft) or ledger.holds(draft):
            continue
        ledger.add(draft)
        drafts.append(draft)
    return drafts


def _says_something(draft: Draft) -> bool:
    """Whether it means something out of context: "The button" as a decision does not."""
    bare = draft.type == "decision" and pattern(_BARE).match(draft.content)
    return len(draft.content) >= 3 and not (bare and len(words.terms(draft.content)) < 2)


def _draft(finding: Finding, message: Message, scene: Scene) -> Draft:
    turns = sorted({*finding.turns, message.turn} - {0})
    return Draft(
        type=finding.type,
        content=finding.content,
        source=message.id,
        evidence=tuple(turns),
        detail=finding.detail,
        subject=subjects.subject(finding, scene),
        status=finding.status,
        kind=finding.kind,
        replaces=finding.replaces,
    )


def _open_tasks(window: Sequence[Message], current: Sequence[Entry]) -> list[str]:
    by_turn = {message.turn: message.id for message in window}
    return [
        entry.content
        for entry in current
        if entry.type == "task"
        and entry.status == "open"
        and any(
            derived_id(by_turn[turn], entry.type, entry.content) == entry.id
            for turn in entry.evidence
            if turn in by_turn
        )
    ]
