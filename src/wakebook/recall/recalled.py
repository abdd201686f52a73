"""Recalled: what of all that is remembered may matter for a message, packed into a budget.

Most messages are about none of it (`gate`), and then nothing is told. The best line comes first.
Questions, small talk, handoffs and sentences that have been corrected since (`stale`) are no
findings.

What a passage is worth falls with every other one from the same conversation or about the same
thing, so that a budget covers many conversations before it covers one of them whole. A long passage
is cut to the sentences that answer, and what is worth little beside the best is left out even if
there is room. docs/decisions.md has what each of these is worth.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from math import fsum
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from wakebook.base import clock
from wakebook.base.words import terms
from wakebook.learn.select.speech import fiction, hosted
from wakebook.log.entry import present
from wakebook.log.query import Query
from wakebook.models import tokenizer
from wakebook.recall import days
from wakebook.recall.gate import Gate, is_chat
from wakebook.recall.slot import PUBLIC, Item, Packed, label
from wakebook.recall.stale import GONE, SOON, Stale, Utterance, spoken
from wakebook.recall.texts import Once, bare, in_confidence, says
from wakebook.store import words
from wakebook.store.hits import Passage, Passages
from wakebook.store.question import Question

if TYPE_CHECKING:
    from wakebook.opened import Opened
    from wakebook.recall.context import Request

TITLE = "# Found"
MOST = 120  # candidates
FEWEST, TYPICAL = 20, 30  # candidates, and tokens of one
EXCERPT = 80  # tokens of a passage, at most
AGAIN = 0.97  # what is left of a passage's worth for every one from the same place
FLOOR = 0.3  # of the best one's worth: less is not worth reading
LEAST = 0.1  # of any worth: a best hit that is a bad one lets nothing in
REFERRED = 5  # references that count, at most
MISSED = 8  # that are told
RECENT = 24  # of the best passages, in which later words may correct earlier ones
ELSEWHERE = ("identity", "topic")  # what has a slot of its own
HANDLE = 8  # characters of a session's id, if that is longer than ...
LONG = 12
SAYS_MORE = 300  # characters of a turn that says more than what no longer holds


class Told(NamedTuple):
    """A passage as it would stand in the context."""

    passage: Passage
    worth: float
    text: str
    tokens: int
    group: str  # its heading
    words: str  # of the passage that it tells, for comparing


class Around(NamedTuple):
    """What else is in the context, or known without it."""

    once: Once  # lines that were told
    flat: Mapping[str, str] = MappingProxyType({})  # beginning of a path -> words told of it
    current: str = ""  # the transcript of the session that goes on
    told: str = ""  # what the session was told before
    words: str = ""  # the same as words, on one line
    zone: tzinfo | None = None
    after: Callable[[Passage], Iterable[Utterance]] = lambda passage: ()  # what the user said next

    def has(self, line: str) -> bool:
        """Whether a line was told, alone or within another one."""
        said = bare(line)
        return self.once.has(line) or (len(said) >= SHORT and said in self.words)


def passages(opened: Opened, request: Request, room: int) -> Passages:
    """What is remembered, and may be told in a session of this kind, at this place: more than there
    is room for, because some of it may have been told."""
    public = PUBLIC if request.kind == "group" else ()
    query = Query(text=request.message, categories=public, files=True, scope=request.scope)
    found = opened.index.passages(query, clock.now(), min(MOST, FEWEST + room // TYPICAL))
    if request.kind == "main":
        return found
    # MEMORY.md may live elsewhere, mounted homes have notes of every kind, and a handoff is
    # from one main session to the next
    home, memory = opened.home, opened.memory_file()
    own = home.relative(memory) if memory.is_relative_to(home.root) else "/"
    private = ("/", "knowledge/memory/", own)
    told = (one for one in found.found if not one.path.startswith(private))
    return found._replace(found=[one for one in told if one.row.type != "handoff"])


def after(opened: Opened, passage: Passage) -> list[Utterance]:
    """What the user said next, which may take back what stands in a passage."""
    said = opened.index.said(path=passage.path, since=passage.row.place, most=SOON)
    return [Utterance(*one) for one in said]


def pack(found: Passages, room: int, around: Around, boost: float) -> Packed:
    """The densest choice that fits; nothing if nothing is really about the message."""
    asked = Asked.of(found.question, found.weights)
    told = found.found
    if found.question is not None:
        told = Gate(found.question).let_in(told)
    if not told:
        return Packed()
    wanted = [
        (passage, passage.score * (1 + boost * min(found.references.get(passage.id, 0), REFERRED)))
        for passage in told
    ]
    room -= tokenizer.count(f"{TITLE}\n")
    stale = Stale(found.replaced)
    stale.learn(
        spoken(one)
        for one in found.found[:RECENT]
        if one.row.speaker != "agent" and not one.replaced_by and (one.row.name or one.row.turn)
    )
    chosen, missed = _Choice(asked, around, room, stale).made(wanted)
    headings = {line.group for line in chosen} | {TITLE}
    sizes = [*(line.tokens for line in chosen), *(tokenizer.count(f"{one}\n") for one in headings)]
    return Packed(
        text=render(chosen) if chosen else "",
        tokens=sum(sizes),
        items=tuple(
            _item(line, line.passage.why()) for line in sorted(chosen, key=lambda one: -one.worth)
        ),
        missed=tuple(_item(line, "no room") for line in missed),
    )


def _known(passage: Passage, around: Around) -> bool:
    """Whether it has a slot of its own, belongs to this session, no longer holds, or was told."""
    row = passage.row
    if (
        row.category in ELSEWHERE
        or row.type == "handoff"
        or (row.turn and passage.path == around.current)
    ):
        return True
    if row.turn and (hosted(passage.content) or fiction(passage.content)):
        return True  # the host's words, or a story
    if (row.turn or row.name) and in_confidence(passage.content):
        return True
    if row.name:
        told = around.has(passage.content) or f"({row.name}" in around.told
        return told or bool(passage.replaced_by)
    lines = [line for line in passage.text.split("\n") if line.strip()]
    if all(map(around.has, lines)):
        return True
    flat = next((text for path, text in around.flat.items() if passage.path.startswith(path)), "")
    return bool(flat) and all(bare(line) in flat for line in lines)  # the index cuts long lines


def _line(passage: Passage, text: str, zone: tzinfo | None) -> str:
    row = passage.row
    if row.name:
        kind = f"{row.type}, {row.status}" if row.status else row.type
        partly = f"; part of it {GONE}: {passage.partly}" if passage.partly else ""
        return f"- [{kind} {_day(row.at, zone)}] {_on(text, row.at, zone)} ({row.name}{partly})"
    if row.turn:
        word = "since done" if passage.done else GONE
        marked = not passage.replaced_by or GONE in text
        holds = "" if marked else f" ({word}: {passage.replaced_by})"
        named = not row.speaker or text.startswith(f"{row.speaker}:")
        line = f"{'' if named else f'{row.speaker}: '}{text}{holds}"
        return f"- {_on(line, row.at, zone)}"
    title = f"{passage.title}: " if passage.title else ""
    return f"- {title}{text}"


def _group(passage: Passage, zone: tzinfo | None) -> str:
    """The heading that a passage stands below."""
    row, session = passage.row, passage.session
    if row.name:
        return "## Remembered"
    if not row.turn:
        return f"## {passage.path}"
    handle = session if len(session) <= LONG else session[:HANDLE]  # enough for `show`
    return f"## {_day(row.at, zone)} session:{handle}"


def _place(passage: Passage) -> str:
    """What counts as the same place: a conversation, a note, a subject."""
    row = passage.row
    if row.name:
        return f"subject {row.subject}" if row.subject else row.name
    return f"session {row.session} {row.file}" if row.turn else passage.path


class _Choice:
    """The worthiest passages that fit, where worth falls with what is chosen already."""

    def __init__(self, asked: Asked, around: Around, room: int, stale: Stale) -> None:
        self._asked, self._zone, self._room = asked, around.zone, room
        self._stale, self._around = stale, around
        self._seen = around.once.copy()
        self._facts = [
            terms(line) for line in days.as_said(around.told).split("\n")
        ]  # that were told
        self._times: dict[str, int] = {}
        self._groups: set[str] = set()

    def made(self, wanted: Sequence[tuple[Passage, float]]) -> tuple[list[Told], list[Told]]:
        """What is chosen, and what fits no more, best first."""
        answers = (passage for passage, _ in wanted if not passage.row.asks)
        order = sorted(answers, key=lambda one: -one.score)
        best = next((one.score for one in order if not _known(one, self._around)), 0.0)
        floor = max(FLOOR * best, LEAST)
        chosen: list[Told] = []
        missed: list[Told] = []
        heap = [(-worth, at, 0) for at, (_, worth) in enumerate(wanted)]
        heapq.heapify(heap)
        while heap and len(missed) < MISSED:
            value, at, counted = heapq.heappop(heap)
            passage, worth = wanted[at]
            before = self._times.get(_place(passage), 0)
            if counted != before:  # it has lost since
                heapq.heappush(heap, (-worth * AGAIN**before, at, before))
                continue
            if -value < floor:
                break
            if _known(passage, self._around):
                continue
            line = self._line(passage, worth)
            if line is not None:
                (chosen if self._taken(line) else missed).append(line)
        return chosen, missed

    def _line(self, passage: Passage, worth: float) -> Told | None:
        """A passage as a line, without what was told before; None if nothing is left."""
        row = passage.row
        text = present(passage.text) if row.name else passage.text
        if row.name:
            said = terms(passage.content)
            changed = self._stale.correction(spoken(passage))
            if any(says(one, said) for one in self._facts) or (changed and changed.wholly):
                return None
            if changed and not passage.partly:
                passage = passage._replace(partly=changed.text)
        elif row.turn:
            text = self._holding(passage, text.removeprefix(f"{row.speaker}: "))
            gone = passage.replaced_by and not passage.done and len(text) < SAYS_MORE
            if is_chat(text) or (gone and GONE not in text):  # what holds is an entry of its own
                return None
        elif "\n" in text:
            lines = {bare(line): line for line in text.split("\n") if not self._seen.has(line)}
            text = "\n".join(lines.values())
        text = excerpt(text, passage.language, self._asked, EXCERPT)
        words = text.removeprefix(f"{passage.row.speaker}: ")
        if not bare(words) or self._seen.has(words):
            return None
        line = _line(passage, text, self._zone)
        if self._seen.has(line):  # in an earlier turn
            return None
        size = tokenizer.count(f"{line}\n")
        return Told(passage, worth, line, size, _group(passage, self._zone), words)

    def _holding(self, passage: Passage, text: str) -> str:
        """Of a turn, what still holds, without questions and what was told as an entry."""
        parts = _END.split(text)
        kept = [part for part in parts if not self._seen.has(part) and not _asks(part)]
        if not passage.done:
            self._stale.learn(self._around.after(passage))
            said = spoken(passage)
            kept = [one for one in (self._stale.current(part, said) for part in kept) if one]
        return text if kept == parts else " ".join(kept)

    def _taken(self, line: Told) -> bool:
        size = line.tokens
        if line.group not in self._groups:
            size += tokenizer.count(f"{line.group}\n")
        if size > self._room:
            return False
        self._room -= size
        self._groups.add(line.group)
        place = _place(line.passage)
        self._times[place] = self._times.get(place, 0) + 1
        words = bare(line.words)
        told = (one for one in line.passage.text.split("\n") if bare(one) in words)
        self._seen.add("\n".join([line.words, line.passage.content, *told]))
        if line.passage.row.name:
            self._facts.append(terms(line.passage.content))
        return True


def _asks(sentence: str) -> bool:
    """Whether a sentence is a question, which answers none."""
    return sentence.rstrip("\"')*_ ").endswith(("?", "？"))


def render(chosen: Iterable[Told]) -> str:
    """The best line first: groups by their best line, and so the lines of each."""
    groups: dict[str, list[Told]] = {}
    for line in sorted(chosen, key=_order):
        groups.setdefault(line.group, []).append(line)
    parts = [TITLE]
    for heading, lines in groups.items():
        parts += [heading, *dict.fromkeys(line.text for line in lines)]
    return "\n".join(parts)


def _order(line: Told) -> tuple[float, int, int, str, str, int]:
    """By worth; of equals, what is remembered first, then notes, then conversations."""
    row = line.passage.row
    kind = 0 if row.name else 2 if row.turn else 1
    worth = -round(line.worth, 4)
    return worth, kind, row.at if kind != 1 else 0, line.passage.path, row.name, row.place


def _item(line: Told, reason: str) -> Item:
    return Item(
        label=label(line.text.removeprefix("- ")),
        tokens=line.tokens,
        score=round(line.worth, 4),
        reason=reason,
        ref=line.passage.ref,
    )


def _day(at: int, zone: tzinfo | None) -> str:
    return f"{datetime.fromtimestamp(at, UTC).astimezone(zone or UTC):%Y-%m-%d}" if at else ""


def _on(text: str, at: int, zone: tzinfo | None) -> str:
    """With the days that "tomorrow" and "next Friday" meant then."""
    said = datetime.fromtimestamp(at, UTC).astimezone(zone or UTC)
    return days.resolved(text, said.date()) if at else text


# --- excerpts: the sentences of a long text that answer a question, in their order -----------
GAP = " … "
GOES_ON = 12  # tokens: with fewer left, the next sentence is not begun
LONG_TEXT = 10  # characters for a token: a text with more is too long for sure
SHORT = 20  # characters: a shorter sentence is read with the one before
FIRST = 0.15  # of the best: the first sentence says what the rest is about
BESIDE = 0.3  # of its better neighbour's worth
_END = re.compile(r"(?<=[.!?])\s+|(?<=[.!?][\"')\]])\s+|(?<=[。！？])|\n+")


class Asked(NamedTuple):
    """What a question looks for: stem -> what it tells; and all stems as one expression."""

    terms: Mapping[str, float]
    begins: re.Pattern[str] | None = None  # for plain text: a stem is how its word begins

    @classmethod
    def of(cls, question: Question | None, weights: Sequence[float]) -> Asked:
        terms: dict[str, float] = {}
        if question is not None:
            for word, weight in zip(question.words, weights, strict=False):
                for term in word.terms:
                    terms[term] = max(terms.get(term, 0.0), weight)
        plain = sorted((term for term in terms if term.isascii() and term.isalnum()), reverse=True)
        forms = "|".join(re.sub("i$", "[iy]", term) for term in plain)  # company, companies
        found = re.compile(rf"(?<![a-z0-9])(?:{forms})") if plain else None
        return cls(terms, found)

    def worth(self, text: str, language: str) -> float:
        """What a sentence tells of what was asked."""
        if text.isascii() and self.begins is not None:
            found = self.begins.findall(text.lower())
            there = {*found, *(f"{word[:-1]}i" for word in found if word[-1] == "y")}
        else:
            there = set(words.terms(words.tokens(text), language))
        return fsum(self.terms[term] for term in there if term in self.terms)


def sentences(text: str) -> list[str]:
    found: list[str] = []
    for part in _END.split(text):
        bare = " ".join(part.split())
        if not bare:
            continue
        if found and len(bare) < SHORT:
            found[-1] = f"{found[-1]} {bare}"
        else:
            found.append(bare)
    return found


def excerpt(text: str, language: str, asked: Asked, limit: int) -> str:
    """At most `limit` tokens of the text on one line: all of it, or its best sentences."""
    flat = " ".join(text.split())
    if flat.isascii() and len(flat) <= limit:
        return flat
    if len(flat) <= LONG_TEXT * limit and tokenizer.count(flat) <= limit:
        return flat
    parts = sentences(text)
    worth = _worth(parts, language, asked)
    order = sorted(range(len(parts)), key=lambda at: (-worth[at], at))
    kept: set[int] = set()
    room = limit
    for at in order:
        size = tokenizer.count(parts[at]) + 2
        if size > room and not kept:
            return tokenizer.cut(parts[at], limit - 1) + "…"
        if size <= room:
            kept.add(at)
            room -= size
        elif room < limit // 4:
            break
    return _joined(parts, kept, room)


def _worth(parts: Sequence[str], language: str, asked: Asked) -> list[float]:
    """What each sentence tells of what was asked; its neighbours' share."""
    own = [asked.worth(part, language) for part in parts]
    around = zip([0.0, *own], own, [*own[1:], 0.0], strict=False)
    worth = [value + BESIDE * max(before, after) for before, value, after in around]
    worth[:1] = [value + FIRST * (max(own) or 1.0) for value in worth[:1]]
    return worth


def _joined(parts: Sequence[str], kept: set[int], room: int) -> str:
    """What is kept, in order, and in what room is left how the last of it goes on."""
    text = ""
    for at in sorted(kept):
        gap = "" if not text and at == 0 else (" " if at - 1 in kept else GAP)
        text += (gap.lstrip() if not text else gap) + parts[at]
    last = max(kept, default=-1)
    if last == len(parts) - 1:
        return text
    more = tokenizer.cut(parts[last + 1], room - 2).rstrip() if room > GOES_ON else ""
    return f"{text} {more} …" if more else f"{text} …"
