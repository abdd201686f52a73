"""Whose words a draft has: the user's, the agent's, or those of a text that was only shown.

A pasted mail, a page, a tool's result may say anything about anybody. What only such a text says is
no memory of the user's until the user accepts it. What an agent says right after it has looked
outside (a page, a mail box, another server) may be what it has read there: it counts as shown, too,
unless the user says it or agrees.
"""

import re
from collections.abc import Iterator, Sequence

from wakebook.capture.transcript import Message, Tool
from wakebook.learn.extract import Draft
from wakebook.learn.judge.grounds import Ground, ground, telling
from wakebook.learn.judge.worth import agrees
from wakebook.learn.phrases import cues, lower
from wakebook.learn.select.speech import hosted, own_lines, split

NEAR = 1  # messages before and after the evidence, which a model may be off by
HALF = 0.5  # of the words that were said at all
PASTED, HOST = "pasted text", "a message of the host"
_OUTSIDE = re.compile(r"(?i)web|fetch|brows|mail|slack|notion|jira|\bmcp__(?!\w*wakebook)")
_OUTSIDE_COMMAND = re.compile(r"\b(?:curl|wget|lynx|gh (?:issue|pr|api))\b")


def origin(draft: Draft, messages: Sequence[Message]) -> str:
    """Where a draft comes from that neither the user nor the agent says: "pasted text", the name of
    a tool; nothing if one of them says it."""
    places = [at for at, one in enumerate(messages) if one.turn and one.turn in draft.evidence]
    if draft.type == "handoff" or not places or _wanted(messages, places):
        return ""
    near = {at + off for at in places for off in range(-NEAR, NEAR + 1)}
    own: list[Ground] = []
    shown: dict[str, list[Ground]] = {}
    for at, message in enumerate(messages):
        for whose, text in _parts(message):
            if not whose:
                asks = message.role != "user" or draft.type in ("task", "question")
                own.append(ground(text if asks else _told(text)))
            elif at in near:
                shown.setdefault(whose, []).append(ground(text))
    words = telling(draft.content)
    ours = sum(any(one.has(word) for one in own) for word in words)
    for whose, grounds in shown.items():
        theirs = {word for word in words if any(one.has(word) for one in grounds)}
        alone = sum(not any(one.has(word) for one in own) for word in theirs)
        if alone and alone >= HALF * (alone + ours):
            return whose
    return ""


def _told(text: str) -> str:
    """Without questions, which say nothing: their answer has the same words."""
    every = (one for line in text.split("\n") for one in split(line))
    return " ".join(one for one in every if not one.endswith(("?", "？")))


def _wanted(messages: Sequence[Message], places: Sequence[int]) -> bool:
    """Whether the user asks to have it kept, or agrees right after."""
    after = messages[max(places) + 1 :][:1]
    if any(one.role == "user" and agrees(one.text) for one in after):
        return True
    said = (messages[at].text for at in places if messages[at].role == "user")
    lines = (line.strip().lower() for text in said for line in own_lines(text, long=True))
    return any(lower(cues.NOTED).match(line) for line in lines)


def _parts(message: Message) -> Iterator[tuple[str, str]]:
    """The parts of a message, each with whose it is: nothing for the speaker's own words."""
    if message.role == "user":
        kept = () if hosted(message.text) else own_lines(message.text, long=True)
        own = set(kept)
        rest = (line for line in message.text.split("\n") if line.rstrip() not in own)
        yield "", "\n".join(kept)
        yield PASTED if kept or not hosted(message.text) else HOST, "\n".join(rest)
        return
    outside = next((tool.name for tool in message.tools if _is_outside(tool)), "")
    yield outside, message.text
    for tool in message.tools:
        yield outside, tool.summary
        yield tool.name, tool.result or ""


def _is_outside(tool: Tool) -> bool:
    return bool(_OUTSIDE.search(tool.name) or _OUTSIDE_COMMAND.search(tool.summary))
