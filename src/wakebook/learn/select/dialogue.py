"""What a user says back: accepting what the agent proposes, and correcting what is known.

A proposal becomes a decision when the user accepts it. An offer to act now ("Shall I run the
tests?") is no proposal, and a list of causes or steps is no list of options.

A correction replaces what it corrects only when it is clear which entry is meant: by shared terms,
or because the agent has just repeated it, or because the user has just said it. A bare value ("no,
Wednesday") is put in the place of the like value in the old words.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from wakebook.base import words
from wakebook.learn.select import facts as decisions
from wakebook.learn.select import wording
from wakebook.learn.select.ledger import Finding, Known, Turn
from wakebook.learn.select.phrases import pattern, phrases
from wakebook.learn.select.sentences import EDGES, Item, Sentence, items, sentences, trimmed
from wakebook.log.entry import Type

_ORDER = {"first": 1, "second": 2, "third": 3, "fourth": 4, "former": 1, "latter": -1, "last": -1}
_NUMBER = {"one": "1", "two": "2", "three": "3", "four": "4"}
_SHORT = 9  # words of a clause that only accepts


def accepted(turn: Turn) -> tuple[list[Finding], int]:
    """The decisions that the start of a message makes by accepting or picking, and how many
    sentences say so."""
    said = turn.sentences[:2]
    if not turn.agent or not said or said[0].asked:
        return [], 0
    text = turn.agent_text[-3000:]
    for used, sentence in enumerate(said, 1):
        if sentence.asked or pattern(phrases.HEDGE).search(sentence.text):
            break
        found = _accepts(sentence, turn, text)
        if found:
            return [_with_words(one, sentence, turn) for one in found], used
        if used == 1 and not pattern(phrases.YES_ONLY).fullmatch(sentence.text):
            break
    return [], 0


def _accepts(sentence: Sentence, turn: Turn, text: str) -> list[Finding]:
    clause = sentence.text.partition(",")[0] if _pickable(sentence.text) else ""
    core = _bare(clause or (sentence.clauses[0].text if sentence.clauses else sentence.text))
    if core.count(" ") >= _SHORT or pattern(phrases.NOW_ONLY).search(sentence.text):
        return []
    if pattern(phrases.REFUSES).search(core):
        return []
    options = items(text) if _choices(text) else []
    picked = _picked(core, options) or _taken(core, sentence.text, turn, options)
    if not picked and _assents(sentence.text, core, turn):
        picked = _proposed(text, options)
    return [
        Finding("decision", content, detail, turns=turn.agent_turns)
        for content, detail in picked
        if not wording.vague(content) or options
    ]


def _pickable(said: str) -> bool:
    """Whether a sentence starts with a short pick and goes on: "B, my back says"."""
    return said.partition(",")[0].count(" ") < 4 and not pattern(phrases.YES_ONLY).fullmatch(
        said.partition(",")[0]
    )


def _bare(clause: str) -> str:
    """What is left without "yes", "let's go with", "please" and the like."""
    core = pattern(phrases.YES).sub("", clause, count=1)
    core = pattern(phrases.TAKING).sub("", core, count=1)
    return pattern(phrases.TAKEN_END).sub("", core).strip(" ,.!")


def _with_words(finding: Finding, sentence: Sentence, turn: Turn) -> Finding:
    """With what the user said besides yes, and with the question that was asked."""
    extra = pattern(rf"{phrases.YES}(?:{phrases.COMMIT}[\s,.!]*)?").sub("", sentence.text, count=1)
    extra = wording.sentence(extra) if extra.count(" ") >= 2 else ""
    asked = wording.sentence(turn.user_asked) if len(words.terms(finding.content)) < 4 else ""
    said = [one for one in (finding.detail, extra, asked) if one and one != finding.content]
    detail = "; ".join(dict.fromkeys(said))
    return finding._replace(detail=detail[: wording.LENGTH * 2])


def _choices(text: str) -> bool:
    """Whether the list in a text is one of options."""
    return pattern(phrases.OPTIONS).search(text) is not None


def _picked(core: str, options: list[Item]) -> list[tuple[str, str]]:
    """ "1 and 3", "option 2", "the second one", "B"."""
    match = pattern(phrases.PICK).fullmatch(core) if options else None
    if not match:
        return []
    return [(wording.sentence(one.text), "") for one in _chosen(match["pick"], options)]


def _chosen(pick: str, options: list[Item]) -> list[Item]:
    word = pick.lower().split()[-1]
    word = _NUMBER.get(word, word)
    if word in _ORDER:
        place = _ORDER[word]
        return [options[place - 1 if place > 0 else place]] if place <= len(options) else []
    if len(word) == 1 and word.isalpha():
        place = ord(word) - ord("a")
        return [options[place]] if place < len(options) else []
    numbers = {int(number) for number in re.findall(r"\d", f"{pick} {word}")}
    return [one for one in options if one.number in numbers]


def _assents(said: str, core: str, turn: Turn) -> bool:
    asked = turn.agent_asked
    if asked and not pattern(phrases.ASKS_ASSENT).search(asked):
        return False
    if pattern(phrases.COMMIT).match(core) or pattern(phrases.YES + phrases.COMMIT).match(said):
        return True
    plain = not core and pattern(phrases.GLAD).match(said) is not None
    clear = asked or pattern(phrases.PROPOSALS[0]).search(turn.agent_text[-1500:])
    return plain and bool(clear)


def _proposed(text: str, options: list[Item]) -> list[tuple[str, str]]:
    """What the agent proposes first and clearest, with what it says next as detail."""
    said = [one for one in sentences(text) if not pattern(phrases.OFFER).match(one.text)]
    for cue in (*phrases.PROPOSALS, phrases.ADVISES):
        for place, one in enumerate(said):
            match = pattern(cue).search(one.text)
            content = _worded(match, options) if match else ""
            if content:
                content, why = wording.reason(content)
                after = said[place + 1].text if place + 1 < len(said) else ""
                after = after if not pattern(r"(?:shall|should|want|do you)\b").match(after) else ""
                detail = "; ".join(filter(None, map(wording.sentence, (why, after))))
                return [(wording.sentence(content), detail)]
    return []


def _worded(match: re.Match[str], options: list[Item]) -> str:
    rest = match["rest"]
    pick = pattern(
        r".{0,40}?\b(?P<pick>(?:option|number|#) ?\w|first|second|third|former|latter|last)\b"
    ).match(match.group()[:60])
    chosen = _chosen(pick["pick"], options) if pick and options else []
    if chosen:
        return wording.sentence(f"{chosen[0].text}")
    rest = decisions.base(pattern(phrases.PROPOSED).sub("", rest, count=1))
    return "" if wording.vague(rest) or rest.endswith(("these", "into", "following")) else rest


def _taken(core: str, said: str, turn: Turn, options: list[Item]) -> list[tuple[str, str]]:
    """ "advisory locks then": words of the agent's, chosen."""
    terms = words.terms(core)
    if not terms or core.count(" ") > 4 or not terms <= words.terms(turn.agent_text):
        return []
    asked = turn.agent_asked
    either = pattern(r"\bor\b|\b(?:which|prefer|rather)\b").search(asked)
    sealed = pattern(phrases.TAKEN_END).search(said) or pattern(phrases.TAKING).match(said)
    free = not asked or pattern(phrases.ASKS_ASSENT).search(asked)
    if not (either or options or (sealed and free)):
        return []
    line = next((one.text for one in options if terms <= words.terms(one.text)), "")
    if options and not line and not sealed:
        return []
    return [(wording.sentence(trimmed(core)), wording.sentence(line or asked))]


# --- corrections -------------------------------------------------------------------------

_BOTH: tuple[Type, ...] = ("fact", "decision")
_CUE_WORDS = (
    "oops sorry hm hmm wait nope ah oh whoops bad mistake correction scratch scrap strike forget "
    "meant mean misspoke wrong right correct incorrect outdated date true old stale change plan you"
)
_GENERIC = words.terms("use have work run like prefer love speak play host want take make")
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
    turned = pattern(phrases.NOT_THIS).match(sentence)
    if turned:
        return Correction(turned["new"], turned["old"], "")
    late = pattern(r"(?P<new>[\w' .:-]{1,40}),? actually$").match(sentence)
    if late and sentence.count(" ") <= 4:
        return Correction(late["new"], "", "")
    denied = pattern(phrases.IS_NOT).fullmatch(sentence)
    if denied:
        return Correction("", denied["old"], "")
    match = pattern(phrases.WRONG).match(sentence)
    if not match or not pattern(phrases.WRONG_STRONG).search(sentence[: match.end() + 8]):
        return None
    text, _, old = sentence[match.end() :].partition(", not ")
    return Correction(text.strip(EDGES), old.strip(EDGES), match.group())


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
    found = {kind for kind in phrases.KINDS if pattern(kind).search(text)}
    return found | ({"name"} if wording.names_in(text) else set())


def updated(said: str, turn: Turn) -> Known | None:
    """What is known and gets a new value: "the demo moved to Friday"."""
    if not pattern(phrases.NOW).search(said) or not _valued(said):
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
    if pattern(phrases.NOW).search(said):
        clear = pattern(phrases.UNDONE).search(said)
        target = _matter(finding.content, turn, strict=clear is None)
        if target and target.content != finding.content:
            return _replacing(finding, target)
    for key in (_core, _slot):
        about = key(finding.content)
        if about and (key is _slot or pattern(phrases.NOW).search(said)):
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
            pattern(kind).search(text) and pattern(kind).search(known.content)
            for kind in phrases.KINDS
        ):
            return known
    return None


def _put_in(correction: Correction, target: Known, agent: str) -> str:
    """The old words with the new value, or nothing if it is not clear where it goes."""
    new = re.sub(r"^(?:it's|its|it is|they're|is|i meant|to) ", "", correction.text, flags=re.I)
    for kind in phrases.KINDS:
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
    fresh_names, old_names = wording.names_in(" " + new), wording.names_in(" " + target.content)
    if len(fresh_names) == 1 and len(old_names) == 1 and new.count(" ") <= 4:
        return target.content.replace(old_names[0], fresh_names[0])
    return ""


def _replacing(finding: Finding, target: Known) -> Finding:
    detail = "; ".join(filter(None, (finding.detail, f"Was: {target.content}")))
    return finding._replace(replaces=(target.id,), detail=detail)


def _core(content: str) -> frozenset[str]:
    """What a statement is about, without its values: "The demo is on Friday" -> {demo}."""
    text = content
    for kind in phrases.KINDS:
        text = pattern(kind).sub(" ", text)
    for name in wording.names_in(" " + text):
        text = text.replace(name, " ")
    core = words.terms(re.sub(phrases.CHANGE, " ", text, flags=re.I))
    return frozenset() if core <= _GENERIC else core


def _slot(content: str) -> frozenset[str]:
    """What a statement says the value of: "User's manager is Ida" -> {manager}."""
    match = pattern(
        r"(?:the user's|user's|the|our|my) ((?:[\w-]+ ){1,4}?)"
        r"(?:is|are|is called|is named|lives on|runs on) "
    ).match(content)
    return words.terms(match.group(1)) if match else frozenset()
