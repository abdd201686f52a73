"""The handoff of a window: where things stand, in a headline and a few lines."""

from __future__ import annotations

from collections.abc import Sequence

from wakebook.capture.transcript import Message, one_line
from wakebook.derive.rules import wording, words
from wakebook.derive.rules.finding import Finding
from wakebook.derive.rules.sentences import sentences, trimmed
from wakebook.derive.rules.vocabulary import pattern

_TOPIC = 110
_LINE = 200


def handoff(
    messages: Sequence[Message], tasks: Sequence[str], asked: Sequence[str]
) -> Finding | None:
    """None if no human said anything. `tasks` and `asked` are what the window left open."""
    users = [message for message in messages if message.role == "user" and message.text.strip()]
    if not users:
        return None
    topics = _topics(users)
    topic = topics[0] if topics else _first_words(users[0].text)
    unresolved = [*tasks[-4:], *asked[-3:]]
    lines = [
        _line("Worked on", "; ".join(topics[:4])),
        _line("Unresolved", "; ".join(unresolved)),
        _line("User last", users[-1].text),
        _line("Agent last", _agent_last(messages)),
    ]
    headline = wording.sentence(f"{topic} — {_state(tasks, asked, messages)}")
    return Finding("handoff", headline, "\n".join(filter(None, lines)))


def _topics(users: Sequence[Message]) -> list[str]:
    """What the user came for, in the order it came up: one line for each new theme."""
    found: list[str] = []
    seen: frozenset[str] = frozenset()
    for message in users:
        for sentence in sentences(message.text):
            text = trimmed(sentence.text)
            terms = words.terms(text)
            if len(terms) < 2 or pattern(r"(?:yes|no|thanks|thank|ok|sounds|looks)\b").match(text):
                continue
            if len(terms & seen) * 2 < len(terms):
                found.append(wording.sentence(one_line(text, _TOPIC)))
                seen |= terms
            break
    return found


def _first_words(text: str) -> str:
    said = sentences(text)
    return one_line(said[0].text if said else text, _TOPIC)


def _state(tasks: Sequence[str], asked: Sequence[str], messages: Sequence[Message]) -> str:
    if tasks:
        more = f" (+{len(tasks) - 1})" if len(tasks) > 1 else ""
        return f"next: {one_line(tasks[-1], _TOPIC)}{more}"
    if asked:
        return f"open: {one_line(asked[-1], _TOPIC)}"
    if messages[-1].role == "user" and messages[-1].text.rstrip().endswith("?"):
        return "the last question is unanswered"
    return "nothing left open"


def _agent_last(messages: Sequence[Message]) -> str:
    return next(
        (one.text for one in reversed(messages) if one.role == "agent" and one.text.strip()), ""
    )


def _line(name: str, text: str) -> str:
    text = one_line(text, _LINE if name != "Unresolved" else _LINE * 2)
    return f"{name}: {text}" if text else ""
