"""The handoff of a window: what it was about and where it stands, in a headline and a few lines.

The headline is the sentence of the user that holds most of what the window kept coming back
to. The state is in the user's own closing words, if there are any ("not done: ...").
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from wakebook.capture.transcript import Message
from wakebook.derive.rules import dialogue, vocabulary, wording, words
from wakebook.derive.rules.finding import Finding
from wakebook.derive.rules.sentences import sentences, trimmed
from wakebook.derive.rules.vocabulary import pattern

_TOPIC = 110
_LINE = 300
_SUBSTANTIAL = 40  # characters of a message that says something


def handoff(
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
        worth -= 1.0 if pattern(dialogue.PASSING).search(text) else 0.0
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
            if len(words.terms(text)) >= 2 and not pattern(dialogue.CHATTER).match(text):
                found.append(wording.sentence(text) + ("?" if sentence.asked else ""))
    return found[:60]


def _closing(users: Sequence[Message]) -> str:
    """Where the user says that things stand: "for tomorrow, the state: ..."."""
    for message in users[:-4:-1]:
        said = [one.text for one in sentences(message.text)]
        here = [text for text in said if pattern(dialogue.STANDS).search(text)]
        if here:
            return ". ".join(here)
    return ""


def _last(messages: Sequence[Message]) -> str:
    """The last message that says something, or else the last one."""
    said = [" ".join(one.text[: _LINE * 4].split()) for one in messages if one.text.strip()]
    telling = [
        text
        for text in said
        if len(text) > _SUBSTANTIAL and not pattern(vocabulary.MARKUP).match(text)
    ]
    return (telling or said or [""])[-1]


def _line(name: str, text: str) -> str:
    text = cut(" ".join(text.split()), _LINE)
    return f"{name}: {text}" if text else ""
