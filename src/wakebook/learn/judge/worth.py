"""Drafts that are not worth keeping: general knowledge, inventories, and minutes of the talk."""

import re
from collections.abc import Collection, Sequence

from wakebook.base.words import names_in as names
from wakebook.capture.transcript import Message
from wakebook.learn.extract import Draft
from wakebook.learn.judge.grounds import Ground, ground, numbers, telling
from wakebook.learn.phrases import pattern, signs

_WEB = pattern(r"web|browse|fetch|http")
_SPLIT = re.compile(r"(?<=[.!?])\s+|\n")


def meta(draft: Draft, messages: Sequence[Message]) -> str:
    """Why a draft is about the talk and not about its matter, or ""."""
    content = draft.content.strip()
    if draft.type == "handoff":
        return "" if content else "it is empty"
    words = content.lower().replace(".", " ").split()
    if len(words) < 3 and all(word.strip("!?,:;") in signs.EMPTY for word in words):
        return "it says nothing"
    if draft.type != "question" and signs.META.search(content):
        return "it tells of the talk, not of its matter"
    match = signs.AGENT_DID.search(content)
    if match and not re.search(r"\b(?:user|and) (?:accept|agree|approv|chose|will)", content):
        topic = re.compile(rf"\b{match.group(1)}\b", re.IGNORECASE)
        if not any(topic.search(message.text) for message in messages if message.role == "user"):
            return "it tells what the agent did in the talk"
    return ""


def generic(
    draft: Draft,
    evidence: Sequence[Message],
    messages: Sequence[Message],
    anchors: Collection[str],
) -> str:
    """Why a draft could be written without knowing this person, or ""."""
    spoken = [message for message in evidence if message.role == "user"]
    if draft.type in ("handoff", "decision") or (draft.type != "fact" and spoken):
        return ""
    if _inventory(draft.content):
        return "it lists versions or dependencies"
    asked = _asked(draft, evidence, messages)
    if not asked and not signs.GENERAL.search(draft.content.strip()):
        return ""
    stated = _said_half(draft, messages) if asked else any(_states(one.text) for one in spoken)
    if stated or _anchored(draft, messages, anchors, named=not asked):
        return ""
    return "it is general knowledge of the agent's"


def agrees(text: str) -> bool:
    """Whether a user's message begins with a yes."""
    first = next((part for part in _SPLIT.split(text) if part.strip()), "")
    return signs.AGREES.search(first) is not None and not first.rstrip().endswith("?")


def _asked(draft: Draft, evidence: Sequence[Message], messages: Sequence[Message]) -> bool:
    """Whether a draft answers a question that anyone could have asked: of no thing of the user's,
    and answered without a look at one."""
    if any(not _WEB.search(tool.name) for message in evidence for tool in message.tools):
        return False
    last = max((one.turn for one in evidence), default=0)
    said = {role: [one for one in messages if one.role == role] for role in ("user", "agent")}
    words = telling(draft.content)
    new = [word for word in words if not any(ground(one.text).has(word) for one in said["user"])]
    if not any(ground(one.text).has(word) for one in said["agent"] for word in new):
        return False  # nothing of it is the agent's
    return any(
        signs.ASKS.search(part) and not signs.OURS.search(part) and words & telling(part)
        for message in [one for one in said["user"] if 0 < one.turn <= last][-2:]
        for part in _SPLIT.split(message.text)
    )


def _said_half(draft: Draft, messages: Sequence[Message]) -> bool:
    """Whether the user's own statements have half of what a draft says."""
    words = telling(draft.content)
    stated = _statements(messages)
    return 2 * sum(any(one.has(word) for one in stated) for word in words) >= len(words)


def _inventory(content: str) -> bool:
    pairs = signs.PAIR.findall(content)
    sure = [name for name, its in pairs if its.count(".") > 1 or name.lower() in signs.TOOLS]
    if len(pairs) >= 3 and sure and (len(sure) >= 3 or signs.LISTING.search(content) is not None):
        return True
    items = [item.split() for item in re.split(r",|\band\b|[:;]", content.lower())]
    tools = sum(
        len(item) <= 2 and any(word.strip("`.") in signs.TOOLS for word in item) for item in items
    )
    return tools >= 3 and signs.LISTING.search(content) is not None


def _states(text: str) -> bool:
    """Whether a user's message says anything besides questions."""
    sentences = [part for part in _SPLIT.split(text) if part.strip()]
    return any(
        signs.AGREES.search(part) or (not signs.ASKS.search(part) and len(telling(part)) > 1)
        for part in sentences
    )


def _anchored(
    draft: Draft, messages: Sequence[Message], anchors: Collection[str], named: bool
) -> bool:
    """Whether a draft speaks of the user, of a known subject, or (`named`) of what the user
    brought up."""
    text = f"{draft.content} {draft.detail}"
    low = text.lower()
    if signs.ANCHOR.search(text) or any(anchor and anchor.lower() in low for anchor in anchors):
        return True
    if not named:
        return False
    own = {name.lower() for name in names(draft.content)} - signs.TOOLS
    values = {value for value in numbers(draft.content) if value >= 10}
    return any(
        values & one.numbers or any(one.has(name) for name in own) for one in _statements(messages)
    )


def _statements(messages: Sequence[Message]) -> list[Ground]:
    """What the user said without asking."""
    return [
        ground(part)
        for message in messages
        if message.role == "user"
        for part in _SPLIT.split(message.text)
        if part.strip() and not signs.ASKS.search(part)
    ]
