"""Holding: what of a handoff still holds when the next session begins.

A handoff says where things stood at its end. Meanwhile values may have changed and tasks may be
done; and what was asked for may have changed before its session was over. If other sessions have
left something since, it is no longer what the next one goes on with.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import timedelta
from itertools import chain, takewhile
from typing import TYPE_CHECKING

from wakebook.base import words
from wakebook.learn.phrases import cues, lower, pattern
from wakebook.learn.select.said import usual
from wakebook.learn.select.speech import pieces, requests
from wakebook.recall.lines import REPORT
from wakebook.recall.perhaps import items, lists
from wakebook.recall.stale import Note, Stale, Utterance, repeats, sentences

if TYPE_CHECKING:
    from datetime import datetime

    from wakebook.log.entry import Entry
    from wakebook.recall.turn import Handoff

HEADING = 2  # lines of a handoff before its words
ASKED, LAST, LEFT = "Asked: ", "User last: ", "Left: "
LEAST = 4  # words of a report
PARKED = 60  # days after which nobody goes on with what was put aside ...
WAITING = 14  # ... and with what a session left before a small one
OF_REPORT = 3  # words of a report that a session shares that goes on with it
SLIGHT = 6  # words of the report of a small one
AGAIN = 3  # words of what is known again
ALIKE = 40  # characters by which the user's own words are known again
_LABEL = re.compile(r"((?:[A-Z][a-z]+(?: last)?: )?)(.*)")


def holding(
    left: Handoff,
    stale: Stale,
    said: Sequence[Utterance],
    told: Collection[str],
    kept: Iterable[str] = (),
    after: Collection[str] = (),
) -> str:
    """A handoff without what has changed since. `said`: what the user said here. `told`: what is
    told by itself, and need not be repeated. `kept`: what is an entry, and need not be asked for
    again. `after`: later conversations that left something."""
    lines = left.text.split("\n")[:HEADING]
    lost: frozenset[str] = frozenset()
    then = [one for one in said if left.transcript and one.talk == left.transcript]
    since = [one for one in said if one.at > left.at and one.talk != left.transcript]
    known = {_bare(part) for one in (*told, *kept) for part in (one, *sentences(one))}
    terms = [words.terms(one) for one in told]
    for line in left.text.split("\n")[HEADING:]:
        label, text = _LABEL.match(line).groups()  # type: ignore[union-attr]
        typed = label in (ASKED, LAST, LEFT) or any(text[:ALIKE] in one.text for one in then)
        place = Utterance(text, left.at, agent=not typed)
        if label == ASKED:
            over = any(one.talk in after for one in since)
            text = "" if over or _idle(cues.SARCASM, text) else text
            meant = (one for one in pieces(text) if not _idle(cues.HYPOTHETICAL, one))
            text = " ".join(one for one in meant if not _told(one, known, terms))
            begun = words.terms(text)
            asked = (one for one in then if len(begun & words.terms(one.text)) > len(begun) / 2)
            place = min(asked, key=lambda one: one.turn, default=place)
        else:
            text = " ".join(one for one in sentences(text) if not repeats(one, lost))
        found = (stale.correction(place._replace(text=one)) for one in sentences(text))
        lost = lost.union(*(one.lost for one in found if one))
        if label == LAST:
            meant = (one for one in sentences(text) if not _idle(cues.SARCASM, one))
            text = " ".join(one for one in meant if not _told(one, told, terms))
        now = stale.current(text, place)
        now = " ".join(_of_list(one, since) for one in sentences(now)) if place.agent else now
        now = stale.undone(place._replace(text=now)) if label == LAST and lists(now) else now
        lines += [f"{label}{now}"] if now else []
    report = next((one for one in lines if one.startswith(REPORT)), "")
    if report and not _says_little(report.removeprefix(REPORT), "\n".join(lines)):
        lines = [line for line in lines if not line.startswith(ASKED)]
    return "\n".join(lines)


def _says_little(report: str, lines: str) -> bool:
    """Whether a report says too little of what came of what was asked for: "Reopened; not fixed
    yet." or, in other words than that, what is left of it."""
    low = report.lower()
    asked = words.terms(lines.partition(ASKED)[2].partition("\n")[0]) - usual()
    apart = len(asked & words.terms(report)) * 2 < len(asked)
    undone = lower(cues.UNFINISHED).search(low) is not None
    return lower(cues.SHORT_ANSWER).match(low) is not None or (apart and undone)


def parked(entries: Iterable[Entry], now: datetime) -> list[Entry]:
    """The last handoff of work that was put aside ("park that, print is more urgent") or left for
    tomorrow, or that left something before a session of one small thing, if no later session has
    gone on with it."""
    closed = [one for one in entries if one.type == "handoff"]
    closed.sort(key=lambda one: one.timestamp, reverse=True)
    slight = len(list(takewhile(_is_slight, closed)))  # so many of the last
    for place, one in enumerate(closed):
        lines = _lines(one)
        last, left = lines.get("User last", ""), lines.get("Left", "")
        parks = _idle(cues.PARKS, last)
        aside = parks or _until_tomorrow(last, lines)
        if not place or not (aside or (place <= slight and left)):
            continue
        about = words.terms(lines.get("Asked", one.content)) - usual()
        open_ = words.terms(left or lines.get("Report", "")) - usual()
        shared = 1 if left else OF_REPORT
        branch = f"Branch: {lines.get('Branch')}"
        later = [f"{it.content}\n{it.detail}" for it in closed[:place]]
        on = any(branch in it or len(about & words.terms(it)) * 2 > len(about) for it in later)
        on = on or (not parks and any(len(open_ & words.terms(it)) >= shared for it in later))
        days = PARKED if parks else WAITING
        return [] if on or one.timestamp < now - timedelta(days=days) else [one]
    return []


def _until_tomorrow(last: str, lines: Mapping[str, str]) -> bool:
    """Whether the user's last words leave for another day what is not done: "ok, tomorrow"."""
    undone = lower(cues.UNFINISHED).search(lines.get("Report", "").lower())
    return bool(undone or "Left" in lines) and lower(cues.TOMORROW).match(last.lower()) is not None


def _is_slight(handoff: Entry) -> bool:
    """Whether its session was about one small thing, and is over: "Fixed."."""
    lines = _lines(handoff)
    brief = len(lines.get("Report", handoff.content).split()) <= SLIGHT
    return brief and lines.keys().isdisjoint(("Left", "Branch", "Tests"))


def _lines(handoff: Entry) -> dict[str, str]:
    return dict(line.partition(": ")[::2] for line in handoff.detail.split("\n"))


def _of_list(sentence: str, since: Sequence[Utterance]) -> str:
    """What an agent said was left, with what the user has said of it in later sessions."""
    return reported(sentence, since) if sentence.startswith(LEFT) else sentence


def reported(text: str, since: Sequence[Utterance]) -> str:
    """A list of what is to be done or open, with what the user has said of each thing since."""
    later = list(chain.from_iterable(sentences(one.text) for one in since))
    for part, _ in items(text.removeprefix(LEFT)):
        about = (one for one in later if words.terms(one) & words.terms(part) - usual())
        report = next((one for one in about if not _open(one.lower())), "")
        text = Note(part, report.rstrip(" ."), False).put(text) if report else text
    return text


def _open(low: str) -> bool:
    """Whether it says that something is still to be done, or nothing of that."""
    idle = len(low.split()) < LEAST or requests(low) or low.endswith("?")
    return idle or lower(cues.STILL_OPEN).search(low) is not None


def _bare(text: str) -> str:
    return text.strip(" .!;,")


def _told(text: str, known: Collection[str], terms: Sequence[frozenset[str]]) -> bool:
    """Whether it is told by itself, in these words or with more: "and again: always a branch"."""
    said = words.terms(pattern(cues.REPEATS).sub("", text))
    return _bare(text) in known or (len(said) >= AGAIN and any(said <= one for one in terms))


def _idle(form: str, text: str) -> bool:
    """Whether it was not meant: sarcasm, "maybe we should rewrite it in Haskell"."""
    return pattern(form).search(text) is not None
