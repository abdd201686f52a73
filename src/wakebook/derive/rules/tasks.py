"""Tasks: work that somebody owes, what blocks it, and reports that it is done.

A task is worded as an imperative. A report closes the open task that it clearly names; a
report about nothing that is open is no task.
"""

from __future__ import annotations

import re

from wakebook.derive.rules import boundaries, cues, vocabulary, wording, words
from wakebook.derive.rules.finding import Finding
from wakebook.derive.rules.ledger import Known, Ledger
from wakebook.derive.rules.vocabulary import listed, pattern

_PRONOUN = r"\b(?:that one|this one|that|it|this|those|them)\b"
_AND = re.compile(r",? (?:and|then)(?: then| also)* (?=(\w+)\b)")
_VERBS = listed(
    """add arrange ask backfill book buy call cancel chase check clean collect confirm contact
    delete deploy do document draft email file fill find finish fix get give hire install invoice
    look make measure migrate move order organise organize pack paint pay pick plan
    plant post prepare print publish push read reconcile redo register remove renew replace reply
    report rerun return review rewrite rotate run schedule send set ship sign sort submit talk tell
    test train transfer translate update upload water write"""
)


def found(clause: str, asked: bool) -> list[Finding]:
    """The open tasks that a clause states."""
    for cue in cues.TASKS:
        match = pattern(cue).match(clause)
        if match and not _idle(match) and (not asked or "remind" in match.group().lower()):
            return [one for one in _split(_imperative(match)) if words.terms(one.content)]
    if not asked and _blocked(clause):
        return [_task(wording.about_user(clause))._replace(weak=True)]
    return []


def under(line: str, heading: str) -> list[Finding]:
    """A bullet under a heading such as "TODO:"."""
    if pattern(
        r"(?:.{0,30}\b)?(?:to-?dos?|next steps?|action items?|tasks|follow[- ]?ups?|still to do)\b"
    ).match(heading):
        return [_task(line)]
    return []


def finished(clause: str, ledger: Ledger) -> list[Finding]:
    """The open task that a clause reports as done, closed."""
    if pattern(cues.NOT_DONE).search(clause):
        return []
    for cue in cues.FINISHED:
        if pattern(cue).match(clause):
            task = ledger.best(words.terms(clause), ("task",), status="open")
            return [_closed(task)] if task and _clear(clause, task) else []
    return []


def finished_that(clause: str, agent: str, ledger: Ledger) -> list[Finding]:
    """ "That's done": the task that the agent just spoke of, or the last one of all."""
    if not pattern(cues.FINISHED_THAT).match(clause) or pattern(cues.NOT_DONE).search(clause):
        return []
    task = ledger.best(words.terms(agent[-600:]), ("task",), status="open")
    if task is None or len(task.terms & words.terms(agent[-600:])) * 2 < len(task.terms):
        still = [known for known in ledger.latest(("task",), 2) if known.status == "open"]
        task = still[0] if len(still) == 1 else None
    return [_closed(task)] if task else []


def _closed(task: Known) -> Finding:
    return Finding("task", task.content, status="done", replaces=(task.id,))


def _clear(clause: str, task: Known) -> bool:
    shared = len(words.terms(clause) & task.terms)
    return shared >= 2 or shared == len(task.terms)


def _task(text: str, detail: str = "") -> Finding:
    return Finding("task", wording.sentence(text), wording.sentence(detail), status="open")


def _idle(match: re.Match[str]) -> bool:
    rest = match["rest"]
    if pattern(cues.NO_TASK).match(rest) or len(rest) < 4:
        return True
    before = match.string[: match.start("rest")]
    return (
        pattern(rf"{vocabulary.HEDGE}|\byou\b|\b(?:don't|didn't) (?:need|have)").search(before)
        is not None
        and "remind" not in before
    )


def _imperative(match: re.Match[str]) -> tuple[str, str]:
    """What to do, and why."""
    parts = match.groupdict()
    cue = match.string[: match.start("rest")].lower()
    rest, why = wording.reason(parts["rest"])
    rest = re.sub(r"^(?:make sure|be sure|remember|try)(?: that i| to) ", "", rest, flags=re.I)
    rest = re.sub(r",? so (?:nag|remind|ping|poke) me.*", "", rest)
    if "owe" in cue:
        rest = f"owe {rest}"
    elif re.search(r"promised|told|said|agreed", cue):
        rest = _promise(rest)
    elif cue.lstrip().startswith(("nag", "poke", "ping")):
        rest = f"follow up on {rest}"
    topic = (parts.get("topic") or "").strip(" ,")
    if topic and not pattern(boundaries.LEAD).fullmatch(topic + " "):
        rest = _about(rest, topic)
    when = (parts.get("when") or "").strip()
    return (f"{rest} {when}" if when else rest), why


def _about(rest: str, topic: str) -> str:
    """ "the invoice, I need to send that" -> "send the invoice"."""
    if pattern(cues.NO_SUBJECT).match(topic) or pattern(r"\b(?:i|we|you)\b").search(topic):
        return rest
    spot = pattern(_PRONOUN).search(rest)
    if spot:
        return rest[: spot.start()] + topic + rest[spot.end() :]
    return f"{rest} ({topic})"


def _promise(rest: str) -> str:
    match = re.match(r"(?:(\w+) )?(?:i'd|i would|to|that i'd|we'd) (.+)", rest, re.I)
    if not match:
        return f"promised {rest}"
    who, what = match.group(1) or "", match.group(2)
    return re.sub(r"\b(?:her|him|them)\b", who, what, count=1) if who else what


def _split(task: tuple[str, str]) -> list[Finding]:
    """ "book the physio and also get insoles" is two tasks."""
    text, why = task
    found: list[Finding] = []
    start = 0
    for mark in _AND.finditer(text):
        if mark.group(1).lower() in _VERBS and mark.start() > start + 3:
            found.append(_task(text[start : mark.start()], why))
            start = mark.end()
    return [*found, _task(text[start:], why)]


def _blocked(clause: str) -> bool:
    if pattern(vocabulary.HEDGE).search(clause) or pattern(
        r"(?:\w+ ){0,3}(?:you|it|this|that|there)\b"
    ).match(clause):
        return False
    return any(pattern(cue).match(clause) for cue in cues.BLOCKED)
