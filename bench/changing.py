"""Pairs of sentences for bench/fit_select.py: does the later one replace the earlier one?

They come from the labelled conversations, read in the order of their dates as one memory reads
them; from bench/labels/changes.jsonl (conversations in which values change, and others only seem
to); and from bench/labels/pairs.jsonl (two sentences a line). Each sentence that would be kept is
put beside what is known by then, with what `learn/select/changes.py` sees of the two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from bench import labelled
from wakebook.learn.extract import Draft
from wakebook.learn.phrases import cues, pattern
from wakebook.learn.select import worth
from wakebook.learn.select.changes import Place, compared
from wakebook.learn.select.extractor import fits, kind_of, unmeant
from wakebook.learn.select.ledger import Ledger
from wakebook.learn.select.speech import Sentence, fiction, sentences

Told = tuple[str, str]  # a session, and a sentence of it
Judge = Callable[[Told], int | None]  # whether an older sentence is replaced; None: either way


class Case(NamedTuple):
    group: str  # fitted on or measured on as a whole
    said: int  # which new sentence
    features: dict[str, float]
    right: int | None
    weight: float
    texts: tuple[str, str]


class Home:
    """What is known while conversations are read, as their labels say it should be."""

    def __init__(self, weight: float) -> None:
        self.cases: list[Case] = []
        self._weight = weight
        self._ledger = Ledger([])
        self._told: dict[str, Told] = {}
        self._here: dict[str, set[str]] = {}
        self._count = 0

    def say(
        self,
        group: str,
        session: str,
        one: Sentence,
        project: str,
        kept: bool,
        judge: Judge,
        changes: bool,
    ) -> None:
        text, kind = one.text, kind_of(one)
        kept = kept or kind.wanted
        here = self._here.setdefault(session, set())
        self._ledger.project = project
        if kind.type in ("fact", "decision") and (kept or pattern(cues.CORRECTS).search(text)):
            self._count += 1
            for known, seen in compared(text, self._ledger, Place(frozenset(here), project)):
                told = self._told[known.id]
                texts = (known.content, text)
                right = judge(told)
                self.cases.append(Case(group, self._count, seen, right, self._weight, texts))
        if pattern(cues.REFERS).match(text) and one.before and not one.before.endswith("?"):
            text = f"{one.before} {text}"
        if kept and fits(text):
            gone = tuple(old for old, told in self._told.items() if changes and judge(told))
            source = f"{session}-{self._count}-{text}"
            draft = Draft(
                type=kind.type,
                content=text,
                source=source,
                evidence=(),
                replaces=gone,
                status=kind.status,
            )
            if not self._ledger.holds(draft):
                self._ledger.add(draft)
                self._told[draft.id] = (session, one.text)
                here.add(draft.id)


def _own(text: str) -> Iterator[tuple[Sentence, bool]]:
    said = sentences(text)
    for one, value in zip(said, worth.worthy(said), strict=True):
        if not (one.asked or one.text.endswith(":") or unmeant(one.text)):
            yield one, value >= 0


# --- the labelled conversations --------------------------------------------------------------


def of_labels(given: Sequence[labelled.Session], weight: float) -> list[Case]:
    by_id = {one.id: one for one in given}
    olds = {item.replaces for one in given for item in one.items if item.replaces}
    home = Home(weight)
    for session in sorted(given, key=lambda one: one.date):
        group = f"pair {session.pair}" if session.pair else session.id
        invented = False
        for turn, (role, text) in enumerate(session.turns):
            invented = invented or (role == "user" and fiction(text))
            if role != "user" or invented:
                continue
            for one, kept in _own(text):
                has = [it for it in session.items if labelled.has(one.text, it.must)]
                new = [it for it in has if it.replaces and turn in it.turns]
                old = (session.id, turn) in olds and any(it.turn == turn for it in has)
                judge = partial(_judged, by_id, session, has, new)
                home.say(group, session.id, one, "", kept or old or bool(new), judge, bool(new))
    return home.cases


def _judged(
    by_id: Mapping[str, labelled.Session],
    session: labelled.Session,
    has: Sequence[labelled.Item],
    new: Sequence[labelled.Item],
    told: Told,
) -> int | None:
    earlier = by_id[told[0]]
    had = [it for it in earlier.items if labelled.has(told[1], it.must)]
    if any((earlier.id, it.turn) == one.replaces for it in had for one in new):
        return 1
    related = bool(session.pair) and earlier.pair == session.pair and earlier is not session
    return None if related or {it.slot for it in has} & {it.slot for it in had} - {""} else 0


# --- conversations and pairs in which values change -------------------------------------------


def of_changes(weight: float, *, together: bool) -> list[Case]:
    """`together`: as one memory, of which every other project is unknown; else each for itself."""
    homes: dict[str, Home] = {}
    rows = [
        (one["time"], number, place, talk)
        for number, talk in enumerate(labelled.lines("changes"))
        for place, one in enumerate(talk["sessions"])
    ]
    for _, number, place, talk in sorted(rows, key=lambda row: row[:3]):
        home = homes.setdefault("" if together else str(number), Home(weight))
        session = talk["sessions"][place]
        project = session["cwd"] if number % 2 else ""
        for message in session["messages"]:
            for one, kept in _own(message["text"]) if message["role"] == "user" else ():
                news = [it for it in talk["changes"] if _is(it["new"], place, one.text)]
                olds = [it for it in talk["changes"] if _is(it["old"], place, one.text)]
                stays = any(_plain(text) in _plain(one.text) for text in talk["keep"])
                kept = kept or bool(news or olds) or stays
                judge = partial(_changed, number, news)
                home.say(
                    f"change {number}", f"{number}-{place}", one, project, kept, judge, bool(news)
                )
    return [case for home in homes.values() for case in home.cases]


def _is(wanted: dict[str, Any], place: int, text: str) -> bool:
    return wanted["session"] == place and _plain(wanted["sentence"]) in _plain(text)


def _changed(number: int, news: Sequence[dict[str, Any]], told: Told) -> int:
    first, _, place = told[0].partition("-")
    ours = first == str(number)
    return int(ours and any(_is(one["old"], int(place), told[1]) for one in news))


def _plain(text: str) -> str:
    return " ".join(text.split()).lower().rstrip(".!")


def of_pairs(weight: float) -> list[Case]:
    found = []
    for number, pair in enumerate(labelled.lines("pairs")):
        home = Home(weight)
        home.say(f"two {number}", "before", Sentence(pair["old"]), "", True, lambda _: 0, False)
        home.say(
            f"two {number}", "now", Sentence(pair["new"]), "", True, partial(_paired, pair), True
        )
        found += home.cases
    return found


def _paired(pair: dict[str, Any], told: Told) -> int:
    return int(pair["replaces"] and told[0] == "before")


def messages() -> Iterator[tuple[tuple[Sentence, ...], set[str]]]:
    """The users' messages in which values change, and the sentences that are worth keeping."""
    for talk in labelled.lines("changes"):
        sides = [one[side]["sentence"] for one in talk["changes"] for side in ("old", "new")]
        wanted = [_plain(text) for text in (*sides, *talk["keep"])]
        for message in (it for one in talk["sessions"] for it in one["messages"]):
            said = sentences(message["text"]) if message["role"] == "user" else ()
            texts = {one.text for one in said}
            yield said, {text for text in texts if any(it in _plain(text) for it in wanted)}
