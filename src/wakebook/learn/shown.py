"""What a model is shown of a conversation, and of what is known.

A message is indented below its heading, so that nothing in it can look like another one. If it is
too long for a question by itself, it loses its middle and says so.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from wakebook.base import text, words
from wakebook.base.text import one_line
from wakebook.capture.transcript import Message, Tool
from wakebook.learn.extract import Scene, entry_line
from wakebook.log.entry import Entry

CONTEXT_TOKENS = 1200  # of what was said before
CONTEXT_MESSAGES = 8
KNOWN_TOKENS = 3000
KNOWN = 80  # entries
SUBJECTS = 200
HEADING = 12  # tokens
TOOL_TOKENS = 2000  # of the tool calls of a message
AGENT = 0.3  # what an agent's words count for, against a user's


def size(messages: Sequence[Message]) -> int:
    """Tokens, about."""
    return sum(
        HEADING
        + text.tokens(message.text)
        + sum(map(text.tokens, shown_tools(message.tools, TOOL_TOKENS)))
        for message in messages
    )


def fitting(messages: Sequence[Message], limit: int) -> int:
    """How many of the messages, from the first on, fit into one question. At least one."""
    total = 0
    for count, message in enumerate(messages):
        total += size([message])
        if count and total > limit:
            return count
    return len(messages)


def context(earlier: Sequence[Message]) -> list[Message]:
    """The last messages before the new ones."""
    found: list[Message] = []
    total = 0
    for message in reversed(earlier[-CONTEXT_MESSAGES:]):
        total += min(size([message]), CONTEXT_TOKENS // 3)
        if total > CONTEXT_TOKENS:
            break
        found.insert(0, message)
    return found


def shown_messages(shown: Sequence[Message], limit: int) -> str:
    blocks = []
    for message in shown:
        if message.branch:
            continue
        when = f", {message.at:%Y-%m-%d %H:%M}" if message.at else ""
        lines = shortened(message.text, limit).splitlines()
        lines += shown_tools(message.tools, min(limit // 3, TOOL_TOKENS))
        said = "\n    ".join(lines)
        blocks.append(f"[{message.turn}] {message.role}{when}\n    {said}")
    return "\n".join(blocks) or "(none)"


def shown_tools(tools: Sequence[Tool], limit: int) -> list[str]:
    """A line for each call, the last ones if there are too many."""
    lines: list[str] = []
    for tool in reversed(tools):
        outcome = f" → {tool.result}" if tool.result else ""
        line = one_line(f"> {tool.name}: {tool.summary}{outcome}", 320)
        limit -= text.tokens(line)
        if limit < 0:
            lines.append(f"> [... {len(tools) - len(lines):,} tool calls before left out ...]")
            break
        lines.append(line)
    return lines[::-1]


def shortened(said: str, limit: int) -> str:
    """A text of about `limit` tokens, at most: its beginning and its end."""
    if text.tokens(said) <= limit:
        return said
    start = text.cut(said, limit * 2 // 3)
    end = said[-len(start) // 2 :]
    return f"{start}\n[... {len(said) - len(start) - len(end):,} characters left out ...]\n{end}"


def shown_subjects(shown: Sequence[Message], scene: Scene) -> str:
    """The slugs, each with its other names: if there are too many, those that the messages name,
    and the latest. In an order that stays, so that a provider finds the text in its cache."""
    names: dict[str, list[str]] = {}
    for name, slug in scene.subjects.items():
        names.setdefault(slug, []).append(name)
    said = " ".join(message.text for message in shown).lower()
    lately = {entry.subject: number for number, entry in enumerate(scene.current)}
    ranked = sorted(
        names,
        key=lambda slug: (
            slug == scene.subject or any(name in said for name in names[slug]),
            lately.get(slug, -1),
        ),
        reverse=True,
    )
    lines = []
    for slug in sorted(ranked[:SUBJECTS]):
        others = [name for name in names[slug] if name not in (slug, slug.replace("-", " "))]
        lines.append(slug + (f": {', '.join(others)}" if others else ""))
    return "\n".join(lines) or "(none yet)"


def related(shown: Sequence[Message], earlier: Sequence[Message], scene: Scene) -> dict[str, Entry]:
    """The known entries that the messages may be about, by reference, oldest first.

    What counts: rare words in common with one of the messages, an agent's less than a
    user's; a subject that is named; being open; being recent.
    """
    current = [entry for entry in scene.current if entry.type != "handoff"]
    said = [(1.0 if one.role == "user" else AGENT, words.terms(one.text)) for one in shown]
    said += [(AGENT, words.terms(one.text)) for one in earlier]
    lower = " ".join(message.text for message in (*earlier, *shown)).lower()
    named = {slug for name, slug in scene.subjects.items() if name in lower} | {scene.subject}
    terms = [words.terms(f"{entry.content} {entry.detail}") for entry in current]
    counts = Counter(term for found in terms for term in found)
    total = len(current)
    rarity = {term: math.log(1 + total / count) for term, count in counts.items()}

    def score(position: int) -> float:
        entry, own = current[position], terms[position]
        fits = (weight * sum(rarity[term] for term in own & spoken) for weight, spoken in said)
        fit = max(fits, default=0.0) / math.sqrt(len(own) or 1)
        about = 1.0 if entry.subject and entry.subject in named else 0.0
        still_open = entry.type == "question" or entry.status == "open"
        recent = 0.4 * (1.0 - min(1.0, (total - 1 - position) / 200))
        return fit + about + (0.75 if still_open else 0.0) + recent

    ranked = sorted(range(total), key=score)
    chosen: list[int] = []
    room = KNOWN_TOKENS
    for position in reversed(ranked[-KNOWN:]):
        room -= text.tokens(entry_line("k00", current[position]))
        if room < 0:
            break
        chosen.append(position)
    return {f"k{n}": current[position] for n, position in enumerate(sorted(chosen), 1)}


def shown_before(ids: Sequence[str], scene: Scene) -> tuple[dict[str, Entry], set[str]]:
    """The entries that a question of a batch referred to, as they hold now; and the references of
    those that do not hold any more."""
    current = {entry.id: entry for entry in scene.current}
    current |= {old: entry for entry in scene.current for old in entry.replaces}
    refs = {f"k{number}": current.get(name) for number, name in enumerate(ids, 1)}
    known = {ref: entry for ref, entry in refs.items() if entry}
    return known, refs.keys() - known.keys()


def shown_entries(entries: Mapping[str, Entry]) -> str:
    return "\n".join(entry_line(ref, entry) for ref, entry in entries.items()) or "(none)"
