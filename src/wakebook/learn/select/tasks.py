"""Tasks: work that somebody owes, what blocks it, and reports that it is done.

A task is worded as an imperative. A report closes the open task that it clearly names; a
report about nothing that is open is no task.
"""

from __future__ import annotations

import re

from wakebook.base import words
from wakebook.base.words import listed
from wakebook.learn.select import cues, names, wording
from wakebook.learn.select import cues as task_cues
from wakebook.learn.select import sentences as boundaries
from wakebook.learn.select import sentences as vocabulary
from wakebook.learn.select.ledger import Finding, Known, Ledger
from wakebook.learn.select.sentences import Sentence, pattern, trimmed

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
    for cue in task_cues.TASKS:
        match = pattern(cue).match(clause)
        if match and not _idle(match) and (not asked or "remind" in match.group().lower()):
            return [one for one in _split(_imperative(match)) if words.terms(one.content)]
    if not asked and _blocked(clause):
        return [_task(wording.about_user(clause))._replace(weak=True)]
    return []


def worded(clause: str) -> list[Finding]:
    """A task in the speaker's own words."""
    content, why = wording.reason(clause)
    return [_task(wording.about_user(content), why)]


def in_list(sentence: Sentence) -> list[Finding]:
    """What stands under a heading such as "TODO:", or behind "not done: a, b and c"."""
    if sentence.heading and pattern(task_cues.LISTED).match(sentence.heading):
        return [_task(sentence.text)]
    head, colon, rest = sentence.text.partition(": ")
    if (
        not colon
        or sentence.asked
        or " off " in f" {head} "
        or not pattern(task_cues.LISTED).fullmatch(trimmed(head) + ":")
    ):
        return []
    items = [trimmed(item) for item in pattern(task_cues.ITEMS).split(rest)]
    return [_task(item) for item in items[:8] if words.terms(item) and not _asks(item)]


def _asks(text: str) -> bool:
    return pattern(vocabulary.ASKS).match(text) is not None


def finished(clause: str, ledger: Ledger) -> list[Finding]:
    """The open task that a clause reports as done, closed."""
    if pattern(task_cues.NOT_DONE).search(clause):
        return []
    if any(pattern(cue).match(clause) for cue in task_cues.NO_REPORT):
        return []
    if any(pattern(cue).match(clause) for cue in task_cues.FINISHED):
        task = _reported(clause, ledger, least=1)
    elif pattern(task_cues.CAME).search(clause) or pattern(task_cues.BY_NOW).search(clause):
        task = _reported(clause, ledger, least=1 if names.names_in(" " + clause) else 2)
    else:
        return []
    return [_closed(task, clause)] if task else []


def finished_that(clause: str, agent: str, ledger: Ledger) -> list[Finding]:
    """ "That's done": the task that the agent just spoke of, or the last one of all."""
    if not pattern(task_cues.FINISHED_THAT).match(clause) or pattern(task_cues.NOT_DONE).search(
        clause
    ):
        return []
    task = ledger.best(words.terms(agent[-600:]), ("task",), status="open")
    if task is None or len(task.terms & words.terms(agent[-600:])) * 2 < len(task.terms):
        still = [known for known in ledger.latest(("task",), 2) if known.status == "open"]
        task = still[0] if len(still) == 1 else None
    return [_closed(task, "")] if task else []


def _closed(task: Known, said: str) -> Finding:
    detail = wording.sentence(wording.about_user(said)) if said else ""
    return Finding("task", task.content, detail, status="done", replaces=(task.id,))


def _reported(clause: str, ledger: Ledger, least: int) -> Known | None:
    """The open task that a report is about: it shares more with it than with any other."""
    said = words.terms(clause)
    ranked = sorted(
        ((len(said & one.terms), one.order, one) for one in ledger.open_tasks(said)), reverse=True
    )
    if not ranked or ranked[0][0] < least:
        return None
    shared, _, task = ranked[0]
    telling = said & task.terms - _COMMON
    clear = shared >= 2 or shared * 2 >= len(task.terms) or (telling and shared * 3 >= len(said))
    alone = len(ranked) == 1 or ranked[1][0] < shared
    return task if telling and clear and alone else None


_COMMON = words.terms(
    "send write call ask get make order book pay buy check fix move week day new old people time"
)


def _task(text: str, detail: str = "") -> Finding:
    return Finding("task", wording.sentence(text), wording.sentence(detail), status="open")


def _idle(match: re.Match[str]) -> bool:
    rest = match["rest"]
    if pattern(task_cues.NO_TASK).match(rest) or len(rest) < 4:
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
    rest = re.sub(
        r",? (?:so )?(?:nag|remind|ping|poke|put (?:it|that)|note (?:it|that)) .*", "", rest
    )
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
    verb, _, after = rest.partition(" ")
    if not after or pattern(
        r"(?:myself|tomorrow|today|tonight|before|by|on|next|some|soon)\b"
    ).match(after):
        return f"{verb} {topic[:1].lower()}{topic[1:]} {after}".strip()
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
    return any(pattern(cue).match(clause) for cue in task_cues.BLOCKED)
