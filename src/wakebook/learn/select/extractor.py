"""RuleExtractor: a fold over the messages of a window.

Each message is read with what was said before it and with the ledger of what is known,
which includes the drafts of the messages before. Nothing looks ahead, so it does not
matter where a window was cut.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import msgspec

from wakebook.base import words
from wakebook.base.home import Home
from wakebook.capture.transcript import Message, one_line
from wakebook.learn.extract import RULES, Draft, Extraction, Scene, after
from wakebook.learn.judge.verdict import suspicious
from wakebook.learn.select import loops, wording
from wakebook.learn.select.ledger import Finding, Ledger, Turn, subject
from wakebook.learn.select.phrases import pattern, phrases
from wakebook.learn.select.reading import findings
from wakebook.learn.select.sentences import sentences, trimmed
from wakebook.log.entry import Entry, derived_id

_BARE = r"(?:the|a|an|this|that|it|these|those|here|there)\b"
_EPOCH = datetime.fromtimestamp(0, UTC)  # rules do not look at the time of an entry
_RECENT = 3  # user messages that "scratch that" may mean


class RuleExtractor:
    name = RULES

    def __init__(self, home: Home | None = None) -> None:
        """`home`: where a refusal is traced. Without one, drafts are not judged."""
        self._home = home

    def read(self, fresh: Sequence[Message], scene: Scene) -> Extraction:
        drafts = self.extract(fresh, scene)
        if scene.ends:
            said = [*scene.earlier, *fresh]
            new = [draft.entry(RULES, _EPOCH) for draft in drafts]
            whole = Scene(
                current=after(scene.current, new), subjects=scene.subjects, subject=scene.subject
            )
            drafts += self.close(said, whole)
        if self._home:
            users = {one.id for one in (*scene.earlier, *fresh) if one.role == "user"}
            drafts = _judged(self._home, drafts, users)
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
                found = findings(turn)
            drafts += _kept(found, message, scene, ledger)
        return drafts

    def close(self, messages: Sequence[Message], scene: Scene) -> list[Draft]:
        """Drafts from a whole finished window: the questions left open, and the handoff.

        `scene.current` already holds what `extract` found in this window.
        """
        window = list(_live(messages))
        ledger = Ledger(scene.current)
        drafts: list[Draft] = []
        for question in loops.left_open(window, scene.current):
            finding = Finding("question", question.content, turns=question.turns)
            drafts += _kept([finding], question.message, scene, ledger)
        ours = _open_tasks(window, scene.current)
        summary = last_words(window, ours, [draft.content for draft in drafts])
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
    if not pattern(phrases.REPORT).search(message.text[:1500]):
        return found
    for sentence in sentences(message.text[:1500])[:6]:
        text = sentence.text
        if not sentence.asked and text.lower().startswith(("i've ", "i have ", "done")):
            found += loops.finished(text, ledger)
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
        subject=subject(finding, scene),
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


# --- the handoff: what a window was about and where it stands ------------------------------
# The headline is the sentence of the user that holds most of what the window kept coming back
# to. The state is in the user's own closing words, if there are any ("not done: ...").

_TOPIC = 110
_LINE = 300
_SUBSTANTIAL = 40  # characters of a message that says something


def last_words(
    messages: Sequence[Message], tasks: Sequence[str], asked: Sequence[str]
) -> Finding | None:
    """None if no human said anything. `tasks` and `asked` are what the window left open."""
    users = [message for message in messages if message.role == "user" and message.text.strip()]
    if not users:
        return None
    topics = _topics(messages, tasks)
    state = _closing(users)
    unresolved = [*tasks[-4:], *asked[-3:]]
    lines = [
        _line("Worked on", "; ".join(topics)),
        _line("State", state),
        _line("Unresolved", "; ".join(unresolved)),
        _line("User last", "" if state and _last(users).startswith(state[:80]) else _last(users)),
        _line("Agent last", _last([one for one in messages if one.role == "agent"])),
    ]
    headline = topics[0] if topics else cut(" ".join(users[0].text.split()), _TOPIC)
    if unresolved and words.alike(words.terms(unresolved[-1]), words.terms(headline)) < 0.5:
        more = f" (+{len(unresolved) - 1})" if len(unresolved) > 1 else ""
        headline = f"{headline} — open: {cut(unresolved[-1], _TOPIC)}{more}"
    return Finding(
        "handoff", wording.sentence(headline) or "Conversation", "\n".join(filter(None, lines))
    )


def cut(text: str, limit: int) -> str:
    """At most `limit` characters, cut at a word."""
    if len(text) <= limit:
        return text
    return (text[: limit - 1].rpartition(" ")[0] or text[: limit - 1]).rstrip(" ,;:-–—") + "…"


def _topics(messages: Sequence[Message], tasks: Sequence[str]) -> list[str]:
    """The user's sentences that say most about the window; what it began with comes first."""
    counts: Counter[str] = Counter()
    for message in messages:
        counts.update(words.terms(message.text[:3000]))
    rated: list[tuple[float, int, str]] = []
    owed = [words.terms(task) for task in tasks]
    for place, text in enumerate(_candidates(messages)):
        terms = words.terms(text)
        if any(words.alike(terms, one) >= 0.5 for one in owed):
            continue
        worth = sum(min(counts[term], 6) - 1 for term in terms) / (len(terms) + 4)
        worth -= 1.0 if pattern(phrases.PASSING).search(text) else 0.0
        rated.append((worth + 1.5 / (place + 1), place, text))
    found: list[tuple[int, str]] = []
    seen: frozenset[str] = frozenset()
    for _, place, text in sorted(rated, key=lambda one: (-one[0], one[1])):
        terms = words.terms(text)
        if len(found) < 4 and len(terms & seen) * 3 < len(terms) * 2:
            found.append((place, cut(text, _TOPIC)))
            seen |= terms
    return [text for _, text in found[:1]] + [text for _, text in sorted(found[1:])]


def _candidates(messages: Sequence[Message]) -> list[str]:
    found = []
    for message in messages:
        if message.role != "user":
            continue
        for sentence in sentences(message.text)[:8]:
            text = trimmed(sentence.text)
            if len(words.terms(text)) >= 2 and not pattern(phrases.CHATTER).match(text):
                found.append(wording.sentence(text) + ("?" if sentence.asked else ""))
    return found[:60]


def _closing(users: Sequence[Message]) -> str:
    """Where the user says that things stand: "for tomorrow, the state: ..."."""
    for message in users[:-4:-1]:
        said = [one.text for one in sentences(message.text)]
        here = [text for text in said if pattern(phrases.STANDS).search(text)]
        if here:
            return ". ".join(here)
    return ""


def _last(messages: Sequence[Message]) -> str:
    """The last message that says something, or else the last one."""
    said = [" ".join(one.text[: _LINE * 4].split()) for one in messages if one.text.strip()]
    telling = [
        text
        for text in said
        if len(text) > _SUBSTANTIAL and not pattern(phrases.MARKUP).match(text)
    ]
    return (telling or said or [""])[-1]


def _line(name: str, text: str) -> str:
    text = cut(" ".join(text.split()), _LINE)
    return f"{name}: {text}" if text else ""


# --- judged -------------------------------------------------------------------------------
# Rules obey no one, but they quote. What they quote must not give orders to the reader of the
# memory later, so a draft that does is refused, and a handoff loses such lines.

UNTOLD = "Where this session stopped was not written down: see its transcript"


def _judged(home: Home, drafts: Iterable[Draft], users: set[str]) -> list[Draft]:
    """The drafts that may be kept. `users`: the messages that a user has said."""
    kept: list[Draft] = []
    for draft in drafts:
        if draft.type == "handoff":
            kept.append(_quotable(draft))
        elif why := suspicious(f"{draft.content}\n{draft.detail}", draft.source in users):
            reason = f"{why}: {one_line(draft.content, 100)!r}"
            home.trace("refused", where="rules", kind="poisoned", reason=reason)
        else:
            kept.append(draft)
    return kept


def handoff_of(said: Sequence[Message], scene: Scene) -> Draft | None:
    """The handoff of a window as it is now. `scene.current` holds what was found in it."""
    drafts = RuleExtractor().close(said, msgspec.structs.replace(scene, earlier=()))
    found = next((draft for draft in drafts if draft.type == "handoff"), None)
    return _quotable(found) if found else None


def _quotable(draft: Draft) -> Draft:
    """Without lines that give orders. What a user said last may: it is quoted whole."""
    lines = [
        line
        for line in draft.detail.split("\n")
        if not suspicious(line.partition(": ")[2] or line, line.startswith("User last: "))
    ]
    content = UNTOLD if suspicious(draft.content, True) else draft.content
    return msgspec.structs.replace(draft, content=content, detail="\n".join(lines))
