"""Corrections: the user says that something known is wrong or has changed.

The new entry replaces the old one only when it is clear which one is meant: by shared
terms, or because the agent has just repeated it, or because the user has just said it. A
bare value ("no, Wednesday") is put in the place of the like value in the old words.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from wakebook.base import words
from wakebook.learn.select import dialogue, names, wording
from wakebook.learn.select import sentences as boundaries
from wakebook.learn.select import sentences as vocabulary
from wakebook.learn.select.ledger import Finding, Known, Turn
from wakebook.learn.select.sentences import pattern
from wakebook.log.entry import Type

_BOTH: tuple[Type, ...] = ("fact", "decision")
_DAY = r"\d{1,2}(?:st|nd|rd|th)"
_DATE = (
    rf"{_DAY}(?: of)? (?:{vocabulary.MONTH})\b|\d{{1,2}} (?:{vocabulary.MONTH})\b"
    rf"|(?:{vocabulary.MONTH}) \d{{1,2}}(?:st|nd|rd|th)?\b|{_DAY}\b"
)
_CUE_WORDS = (
    "oops sorry hm hmm wait nope ah oh whoops bad mistake correction scratch scrap strike forget "
    "meant mean misspoke wrong right correct incorrect outdated date true old stale change plan you"
)
_CHANGE = (
    r"\b(?:now|new|no longer|moved|got|been|was|changed|switched|pushed|back|next|instead"
    r"|these days|any ?more|postponed|rescheduled|to|from)\b"
)
_GENERIC = words.terms("use have work run like prefer love speak play host want take make")
_KINDS = (
    rf"\b(?:{vocabulary.WEEKDAY})\b",
    _DATE,
    r"\b\d{1,2}:\d\d\b",
    rf"\b(?:{vocabulary.MONTH})\b",
    r"(?<![\w.])\d[\d.,]*(?:%|k|m)?(?![\w])",
)


_VALUES = words.terms(
    """monday tuesday wednesday thursday friday saturday sunday january february march april may
    june july august september october november december now new old no longer anymore instead moved
    move change switch not day week month year"""
) | frozenset(str(number) for number in range(3000))


class Correction(NamedTuple):
    text: str  # what is right, "" if that comes in the next sentence
    old: str  # what is wrong, if it was said
    about: str  # the cue itself: "dentist is wrong"


def cue(sentence: str) -> Correction | None:
    """Whether a sentence starts as a correction."""
    turned = pattern(dialogue.NOT_THIS).match(sentence)
    if turned:
        return Correction(turned["new"], turned["old"], "")
    late = pattern(r"(?P<new>[\w' .:-]{1,40}),? actually$").match(sentence)
    if late and sentence.count(" ") <= 4:
        return Correction(late["new"], "", "")
    denied = pattern(dialogue.IS_NOT).fullmatch(sentence)
    if denied:
        return Correction("", denied["old"], "")
    match = pattern(dialogue.WRONG).match(sentence)
    if not match or not pattern(dialogue.WRONG_STRONG).search(sentence[: match.end() + 8]):
        return None
    text, _, old = sentence[match.end() :].partition(", not ")
    return Correction(text.strip(boundaries.EDGES), old.strip(boundaries.EDGES), match.group())


def corrected(correction: Correction, turn: Turn, finding: Finding | None) -> Finding | None:
    """The finding that replaces what was wrong, or None if nothing is clear."""
    said = f"{correction.about} {correction.text} {correction.old}"
    named = words.terms(correction.about) - words.terms(_CUE_WORDS)
    if finding is not None:
        about = f"{finding.content} {correction.about} {correction.old}"
        target = _matter(about, turn, strict=False) or _scrapped(said, turn)
        target = target or _like(finding.content, turn, own=True)
        return _replacing(finding, target) if target else finding
    target = turn.ledger.best(named, _BOTH) or _matter(said, turn, strict=False)
    target = target or _scrapped(said, turn) or _like(correction.text, turn)
    if target is None or not correction.text:
        return None
    content = _put_in(correction, target, turn.agent_text)
    if not content and correction.text.count(" ") >= 2:
        content = wording.sentence(wording.about_others(correction.text))
    if not content or content == target.content:
        return None
    return _replacing(Finding(target.type, content), target)


def _matter(text: str, turn: Turn, strict: bool) -> Known | None:
    """What is known about the same matter as a text: shared words, and the like value."""
    terms = words.terms(text) - _VALUES
    heard = words.terms(turn.message.text[:2000] + " " + turn.agent_text[-1000:])
    found: list[tuple[float, int, Known]] = []
    for known in turn.ledger.near(words.terms(text) | heard):
        own = known.terms - _VALUES
        shared = len(terms & own)
        if known.type not in _BOTH or not shared or not _kinds_fit(text, known.content):
            continue
        spoken = bool((known.terms - own) & heard) or turn.says(known)
        score = shared + shared / len(own) + spoken
        if score >= (2.9 if strict else 2) or shared * 2 > len(own):
            found.append((score, known.order, known))
    return max(found)[2] if found else None


def _kinds_fit(one: str, other: str) -> bool:
    """Whether two texts hold a value of the same kind, or none."""
    kinds = [_valued(text) for text in (one, other)]
    return bool(kinds[0] & kinds[1]) or not (kinds[0] and kinds[1])


def _valued(text: str) -> set[str]:
    found = {kind for kind in _KINDS if pattern(kind).search(text)}
    return found | ({"name"} if names.names_in(text) else set())


def updated(said: str, turn: Turn) -> Known | None:
    """What is known and gets a new value: "the demo moved to Friday"."""
    if not pattern(dialogue.NOW).search(said) or not _valued(said):
        return None
    return next(
        (
            known
            for known in turn.ledger.near(words.terms(said))
            if known.type in _BOTH and _core(said) and _core(known.content) == _core(said)
        ),
        None,
    )


def changed(finding: Finding, said: str, turn: Turn) -> Finding:
    """What a statement replaces without saying so: an older value, or an open question."""
    if finding.replaces or finding.type not in _BOTH:
        return finding
    if pattern(dialogue.NOW).search(said):
        clear = pattern(dialogue.UNDONE).search(said)
        target = _matter(finding.content, turn, strict=clear is None)
        if target and target.content != finding.content:
            return _replacing(finding, target)
    for key in (_core, _slot):
        about = key(finding.content)
        if about and (key is _slot or pattern(dialogue.NOW).search(said)):
            for known in turn.ledger.latest(("fact",), 200):
                if key(known.content) == about and known.content != finding.content:
                    return _replacing(finding, known)
    return answered(finding, said, turn)


def answered(finding: Finding, said: str, turn: Turn) -> Finding:
    """A fact or decision that settles an open question replaces it."""
    if finding.replaces or finding.type not in _BOTH:
        return finding
    terms = words.terms(f"{said} {finding.content} {finding.detail}")
    question = turn.ledger.best(terms, ("question",))
    if question is None:
        return finding
    shared = len(question.terms & terms)
    if shared >= 2 and shared * 5 >= len(question.terms) * 2:
        return finding._replace(replaces=(question.id,))
    return finding


def _scrapped(said: str, turn: Turn) -> Known | None:
    """ "Scratch that": what the user said last."""
    if not pattern(r"\b(?:scra(?:p|tch)|strike|forget) that|change of plan").search(said):
        return None
    latest = turn.ledger.latest(_BOTH, 1)
    return latest[0] if latest and turn.says(latest[0]) else None


def _like(text: str, turn: Turn, own: bool = False) -> Known | None:
    """What was just said, by the user or again by the agent, with a value like this one."""
    agent = words.terms(turn.agent_text[-1500:])
    for known in turn.ledger.latest(_BOTH, 60):
        repeated = len(known.terms & agent) >= 2 and not own
        if (repeated or turn.says(known)) and any(
            pattern(kind).search(text) and pattern(kind).search(known.content) for kind in _KINDS
        ):
            return known
    return None


def _put_in(correction: Correction, target: Known, agent: str) -> str:
    """The old words with the new value, or nothing if it is not clear where it goes."""
    new = re.sub(r"^(?:it's|its|it is|they're|is|i meant|to) ", "", correction.text, flags=re.I)
    for kind in _KINDS:
        fresh = pattern(kind).search(new)
        spots = list(pattern(kind).finditer(target.content))
        if correction.old or len(spots) > 1:
            hint = correction.old or agent
            spots = [spot for spot in spots if spot.group().lower() in hint.lower()]
        if fresh and len(spots) == 1:
            old, text = spots[0], target.content
            return wording.sentence(text[: old.start()] + fresh.group() + text[old.end() :])
    where = target.content.lower().find(correction.old.lower()) if correction.old else -1
    if where >= 0 and new.count(" ") <= 4:
        end = where + len(correction.old)
        return wording.sentence(target.content[:where] + new + target.content[end:])
    fresh_names, old_names = names.names_in(" " + new), names.names_in(" " + target.content)
    if len(fresh_names) == 1 and len(old_names) == 1 and new.count(" ") <= 4:
        return target.content.replace(old_names[0], fresh_names[0])
    return ""


def _replacing(finding: Finding, target: Known) -> Finding:
    detail = "; ".join(filter(None, (finding.detail, f"Was: {target.content}")))
    return finding._replace(replaces=(target.id,), detail=detail)


def _core(content: str) -> frozenset[str]:
    """What a statement is about, without its values: "The demo is on Friday" -> {demo}."""
    text = content
    for kind in _KINDS:
        text = pattern(kind).sub(" ", text)
    for name in names.names_in(" " + text):
        text = text.replace(name, " ")
    core = words.terms(re.sub(_CHANGE, " ", text, flags=re.I))
    return frozenset() if core <= _GENERIC else core


def _slot(content: str) -> frozenset[str]:
    """What a statement says the value of: "User's manager is Ida" -> {manager}."""
    match = pattern(
        r"(?:the user's|user's|the|our|my) ((?:[\w-]+ ){1,4}?)"
        r"(?:is|are|is called|is named|lives on|runs on) "
    ).match(content)
    return words.terms(match.group(1)) if match else frozenset()
