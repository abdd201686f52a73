"""Decisions: a choice that was made, with its reason in the detail."""

from __future__ import annotations

import re

from wakebook.derive.rules import cues, vocabulary, wording
from wakebook.derive.rules.finding import Finding
from wakebook.derive.rules.vocabulary import listed, pattern

_VERB = dict(  # how "we're ...ing" starts as a choice
    pair.split(":")
    for pair in listed(
        """going:go switching:switch moving:move migrating:migrate dropping:drop sticking:stick
        staying:stay taking:take keeping:keep skipping:skip scrapping:scrap ditching:ditch
        killing:kill cutting:cut cancelling:cancel canceling:cancel postponing:postpone
        delaying:delay stopping:stop replacing:replace writing:write retiring:retire
        splitting:split adopting:adopt pushing:push doing:do using:use putting:put holding:hold
        calling:call naming:name went:go settled:settle chose:choose choosing:choose picked:pick
        picking:pick buying:buy opted:opt landed:land committed:commit"""
    )
)


def found(clause: str) -> Finding | None:
    if pattern(vocabulary.HEDGE).search(clause[:120]):
        return None
    for cue in cues.DECISIONS:
        match = pattern(cue).match(clause)
        if match:
            rest = match["rest"]
            if pattern(cues.NO_CHOICE).match(rest) or len(rest) < 3:
                return None
            return _decision(match)
    return None


def sealed(clause: str) -> bool:
    """ "..., agreed that with Greta": what stood before it was decided."""
    return pattern(cues.SEALED).match(clause) is not None


def stated(clause: str) -> Finding:
    """A plain statement that other words made a decision."""
    content, why = wording.reason(clause)
    content = re.sub(r"^(?:i'm|we're|i am|we are|we|i)\s+(?=\w)", "", content, flags=re.I)
    return Finding("decision", wording.sentence(base(content)), wording.sentence(why))


def _decision(match: re.Match[str]) -> Finding:
    rest, why = wording.reason(match["rest"])
    before = match.string[: match.start("rest")].lower()
    rest = re.sub(r" it is$", "", rest)
    if re.search(r"\b(?:not (?:going to|gonna)|won't|will not|no longer|against)\s*$", before):
        rest = f"not {base(rest)}"
    rest = base(rest)
    topic = (match.groupdict().get("topic") or "").strip(" ,:")
    if topic and not pattern(
        r"(?:.*\b)?(?:i|we|you|so|it|that|and|think|guess|then|i'm|we're|im|i am|we are|if|when)$"
        r"|.*\b(?:i|we|i've|we've|i'm|we're)\b"
    ).match(topic):
        topic = re.sub(r"^(?:for|on|about|as for|regarding|with) ", "", topic, flags=re.I)
        rest = f"{topic}: {rest}"
    return Finding("decision", wording.sentence(rest), wording.sentence(why))


def base(text: str) -> str:
    head, space, rest = text.partition(" ")
    if head.lower() == "not":
        return f"not {rest}"
    return _VERB.get(head.lower(), head) + space + rest
