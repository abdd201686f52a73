"""Recalled: what of all that is remembered may matter for a message, packed into a budget.

Most messages are about none of it (`gate`), and then nothing is told. The best line comes first.
Questions, small talk, handoffs and what has been corrected since (`stale`) are no findings.

What a passage is worth falls with every other one from the same conversation or about the same
thing, so that a budget covers many conversations before it covers one of them whole. A long passage
is cut to the sentences that answer, and what is worth little beside the best is left out even if
there is room. docs/decisions.md has what each of these is worth.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from wakebook.base import clock
from wakebook.base.words import terms
from wakebook.learn.phrases import cues, pattern
from wakebook.learn.select.said import bare_clauses
from wakebook.learn.select.speech import fiction, hosted
from wakebook.log.entry import present
from wakebook.log.query import Query
from wakebook.models import tokenizer
from wakebook.recall import days
from wakebook.recall.gate import Gate, forms, is_chat
from wakebook.recall.lately import (
    correction_of,
    in_earnest,
    made_up,
    on_the_way,
    out_of_character,
    put_right,
    refused,
    reply_to,
    typed,
    unsaid,
)
from wakebook.recall.lines import (
    REPORT,
    TITLE,
    Told,
    dated,
    group_of,
    in_part,
    item_of,
    line_of,
    render,
)
from wakebook.recall.perhaps import lists
from wakebook.recall.ratings import IN, OUT, factor
from wakebook.recall.slot import PUBLIC, Item, Packed, label
from wakebook.recall.stale import GONE, Stale, Utterance, spoken, takes_back
from wakebook.recall.texts import ENDS, SHORT, Asked, Once, bare, excerpt, in_confidence, says
from wakebook.store.hits import Passage, Passages

if TYPE_CHECKING:
    from wakebook.opened import Opened
    from wakebook.recall.context import Request

MOST = 120  # candidates
FEWEST, TYPICAL = 20, 30  # candidates, and tokens of one
EXCERPT = 80  # tokens of a passage, at most
AGAIN = 0.97  # what is left of a passage's worth for every one from the same place
FLOOR = 0.3  # of the best one's worth: less is not worth reading
BESIDE_TOLD = 0.5  # the same, if the best one was told before
LEAST = 0.1  # of any worth: a best hit that is a bad one lets nothing in
REFERRED = 5  # references that count, at most
MISSED = 8  # that just missed, for each reason to leave them out half of that
RECENT = 24  # of the best passages, in which later words may correct earlier ones
ELSEWHERE = ("identity", "topic")  # what has a slot of its own
NO_ROOM, TOLD_BEFORE = "no room", "told before"
TERMS = 2  # words of a turn that say something alone
ASKED = 160  # characters of what was asked for, beside an agent's turn
_COUNT = re.compile(r"(?<![\w.])\d+(?![\w.]*\w)")
_FILE = re.compile(r"\b[\w-]+\.\w{1,8}\b")
SAYS_MORE = 300  # characters of a turn that says more than what no longer holds


class Missed(NamedTuple):
    """A passage that is not told, and why."""

    passage: Passage
    worth: float
    why: str


class Around(NamedTuple):
    """What else is in the context, or known without it."""

    once: Once  # lines that were told
    flat: Mapping[str, str] = MappingProxyType({})  # beginning of a path -> words told of it
    current: str = ""  # the transcript of the session that goes on
    told: str = ""  # what the session was told before
    words: str = ""  # the same as words, on one line
    zone: tzinfo | None = None
    rated: Mapping[str, float] = MappingProxyType({})  # what people said of findings
    after: Callable[[Passage], Iterable[Utterance]] = lambda passage: ()  # what the user said next
    before: Callable[[Passage], Sequence[Utterance]] = lambda passage: ()  # and before, in order
    past: bool = False  # whether it is asked how something was
    yet: bool = False  # whether something is done by now

    def over(self, passage: Passage) -> bool:
        """Whether it is a short text that held until a day, which has passed."""
        if self.past or len(passage.content) >= SAYS_MORE:
            return False
        said = datetime.fromtimestamp(passage.row.at, self.zone or UTC)
        return days.over(passage.content, said.date(), clock.now().date())

    def has(self, line: str) -> bool:
        """Whether a line was told, alone or within another one."""
        said = bare(line)
        return self.once.has(line) or (len(said) >= SHORT and said in self.words)


def passages(opened: Opened, request: Request, room: int) -> Passages:
    """What may be told in such a session, at this place: more than there is room for."""
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


def pack(
    found: Passages,
    room: int,
    around: Around,
    boost: float,
    title: str = TITLE,
    best: float = 0.0,
) -> Packed:
    """The densest choice that fits; nothing if nothing is really about the message. `best`: of what
    was found elsewhere, beside which this has to be worth reading."""
    asked = Asked.of(found.question, found.weights)
    told, shut_out = found.found, list[Missed]()
    if found.question is not None:
        gate = Gate(found.question)
        around = around._replace(past=gate.recalls, yet=gate.asks_state)
        let_in = {one.id for one in gate.let_in(told)}
        told = [one for one in told if one.id in let_in or around.rated.get(one.ref, 0.0) >= IN]
        inside = {one.id for one in told}
        shut = (one for one in found.found if one.id not in inside)
        shut_out = [Missed(one, one.score, gate.why(one)) for one in shut]
    if not told:
        return Packed(missed=_missed(shut_out, around))
    wanted = [
        (
            passage,
            passage.score
            * (1 + boost * min(found.references.get(passage.id, 0), REFERRED))
            * (factor(around.rated[passage.ref]) if passage.ref in around.rated else 1.0),
        )
        for passage in told
    ]
    room -= tokenizer.count(f"{title}\n")
    stale = Stale(found.replaced)
    stale.learn(
        spoken(one)
        for one in found.found[:RECENT]
        if one.row.speaker != "agent" and not one.replaced_by
        if (one.row.name or one.row.turn) and one.row.type != "handoff"
    )
    choice = _Choice(asked, around, room, stale, best)
    chosen = choice.made(wanted)
    headings = {line.group for line in chosen} | {title}
    sizes = [*(line.tokens for line in chosen), *(tokenizer.count(f"{one}\n") for one in headings)]
    return Packed(
        text=render(chosen, title) if chosen else "",
        tokens=sum(sizes),
        items=tuple(
            item_of(line, line.passage.why()) for line in sorted(chosen, key=lambda one: -one.worth)
        ),
        missed=_missed([*choice.missed, *shut_out], around, {line.passage.ref for line in chosen}),
    )


def _missed(
    found: Sequence[Missed], around: Around, told: Collection[str] = ()
) -> tuple[Item, ...]:
    """The best of what was left out, and of each reason some."""
    order = sorted(found, key=lambda one: (one.why != NO_ROOM, -one.worth))
    counts: dict[str, int] = {}
    items: dict[str, Item] = {}
    for passage, worth, why in order:
        kind = why.partition(":")[0].partition(",")[0]
        counts[kind] = counts.get(kind, 0) + 1
        new = passage.ref not in told and passage.ref not in items
        if new and counts[kind] <= (MISSED if why == NO_ROOM else MISSED // 2):
            text = line_of(passage, passage.text, around.zone).removeprefix("- ")
            items[passage.ref] = Item(
                label=label(text),
                tokens=tokenizer.count(f"{text}\n"),
                score=round(worth, 4),
                reason=why,
                ref=passage.ref,
            )
    return tuple(sorted(items.values(), key=lambda one: -(one.score or 0.0)))


def _known(passage: Passage, around: Around) -> str | None:
    """Why it need not be told: it belongs to this session, no longer holds, or was told. None if
    it need be; empty if it is none of what could be found, like what has a slot of its own."""
    row = passage.row
    if row.category in ELSEWHERE or row.type == "handoff":
        return ""
    if around.rated and around.rated.get(passage.ref, 0.0) <= OUT:
        return "rated useless for messages like this"
    if row.turn and passage.path == around.current:
        return "said in this session"
    if row.turn and (hosted(passage.content) or fiction(passage.content) or _mocks(passage)):
        return ""  # the host's words, a story, or the opposite of what is meant
    if (row.turn or row.name) and in_confidence(passage.content):
        return "said in confidence"
    if (row.turn or row.name) and around.over(passage):
        return "over since"
    if row.name:
        told = around.has(passage.content) or f"({row.name}" in around.told
        stale = f"{GONE}, see {passage.replaced_by}" if passage.replaced_by else None
        return TOLD_BEFORE if told else stale
    lines = [line for line in passage.text.split("\n") if line.strip()]
    if all(map(around.has, lines)):
        return TOLD_BEFORE
    flat = next((text for path, text in around.flat.items() if passage.path.startswith(path)), "")
    known = bool(flat) and all(bare(line) in flat for line in lines)  # the index cuts long lines
    return TOLD_BEFORE if known else None


def _place(passage: Passage) -> str:
    """What counts as the same place: a conversation, a note, a subject."""
    row = passage.row
    if row.name:
        return f"subject {row.subject}" if row.subject else row.name
    return f"session {row.session} {row.file}" if row.turn else passage.path


class _Choice:
    """The worthiest passages that fit, where worth falls with what is chosen already."""

    def __init__(
        self, asked: Asked, around: Around, room: int, stale: Stale, best: float = 0.0
    ) -> None:
        self._best = best
        self._asked, self._zone, self._room = asked, around.zone, room
        self._stale, self._around = stale, around._replace(before=cache(around.before))
        self._seen = around.once.copy()
        self._facts = [
            terms(line) for line in days.as_said(around.told).split("\n")
        ]  # that were told
        self._times: dict[str, int] = {}
        self._groups: set[str] = set()
        self.missed: list[Missed] = []

    def made(self, wanted: Sequence[tuple[Passage, float]]) -> list[Told]:
        """What is chosen, best first."""
        known = [(_known(one, self._around), one.score) for one, _ in wanted if not one.row.asks]
        best = max((score for why, score in known if why is None), default=0.0)
        told = max((score for why, score in known if why == TOLD_BEFORE), default=0.0)
        told = 0.0 if self._around.yet else told  # that is older news
        floor = max(FLOOR * max(best, self._best), BESIDE_TOLD * told, LEAST)
        reports = [one for one, _ in wanted if self._reported(one)]
        chosen: list[Told] = []
        full = 0
        heap = [(-worth, at, 0) for at, (_, worth) in enumerate(wanted)]
        heapq.heapify(heap)
        while heap and full < MISSED:
            value, at, counted = heapq.heappop(heap)
            passage, worth = wanted[at]
            before = self._times.get(_place(passage), 0)
            if counted != before:  # it has lost since
                heapq.heappush(heap, (-worth * AGAIN**before, at, before))
                continue
            if -value < floor:
                low = heapq.nsmallest(MISSED // 2, heap)
                weak = ((*wanted[one[1]], -one[0]) for one in [(value, at, counted), *low])
                self.missed += [
                    Missed(one, worth, f"worth too little: {left:.2f} of {floor:.2f}")
                    for one, worth, left in weak
                    if _known(one, self._around) is None
                ]
                break
            why = _known(passage, self._around)
            anew = any(self._says_anew(one, passage) for one in reports)
            if why is None and (anew or self._counted_anew(passage)):
                why = "reported anew since, and told"
            line = self._line(passage, worth) if why is None else why
            if isinstance(line, Told) and self._taken(line):
                chosen.append(line)
            elif line:
                full += isinstance(line, Told)
                said = line if isinstance(line, str) else NO_ROOM
                self.missed.append(Missed(passage, worth, said))
        return chosen

    def _says_anew(self, report: Passage, passage: Passage) -> bool:
        """Whether a report is about as near to the message as what an agent said before it, and
        no number that was asked for is in that alone: "those 429s"."""
        older = passage.row.speaker == "agent" and passage.row.at < report.row.at
        asked, told = self._asked.begins, self._around.told.lower()
        more = {*asked.findall(passage.content.lower())} - {*asked.findall(told)} if asked else ()
        named = any(any(map(str.isdigit, one)) for one in more)
        return older and not named and report.score >= BESIDE_TOLD * passage.score

    def _counted_anew(self, passage: Passage) -> bool:
        """Whether an agent said a number of a file of which a report that was told says another:
        "22 are in names.csv" before "names.csv has 13 left"."""
        files, numbers = ({*it.findall(passage.content)} for it in (_FILE, _COUNT))
        if passage.row.speaker != "agent" or not files or not numbers:
            return False
        lines = self._around.told.split("\n")
        told = (one for one in lines if one.startswith(REPORT) and files & {*_FILE.findall(one)})
        counts = [{*_COUNT.findall(one)} for one in told]
        return any(found and found.isdisjoint(numbers) for found in counts)

    def _reported(self, passage: Passage) -> bool:
        """Whether it is an agent's report that was told."""
        if passage.row.type == "handoff":
            return self._around.has(passage.content)
        agent = passage.row.speaker == "agent"
        return agent and _known(passage, self._around) == TOLD_BEFORE

    def _line(self, passage: Passage, worth: float) -> Told | str:
        """A passage as a line, without what was told before; or why it is none."""
        row = passage.row
        text = present(passage.text) if row.name else passage.text
        if row.name:
            changed = self._stale.correction(spoken(passage))
            if (row.type == "task" or lists(text)) and not changed and not passage.done:
                text = self._stale.undone(spoken(passage)._replace(text=text))
            if any(says(one, terms(passage.content)) for one in self._facts):
                return TOLD_BEFORE
            if not text or (changed and not changed.told(text)):
                return GONE
            text = in_part(text, self._stale, spoken(passage))
            if changed and changed.notes:
                text = changed.told(text)
            elif changed and not passage.partly:
                text, passage = changed.rest or text, passage._replace(partly=changed.text)
        elif row.turn:
            passage, text = self._turn(passage, text)
            gone = passage.replaced_by and not passage.done and len(text) < SAYS_MORE
            if text and gone and GONE not in text:  # what holds is an entry of its own
                return f"{GONE}, see {passage.replaced_by}"
            if _says_nothing(text):
                return self._instead(passage, worth)
        elif "\n" in text:
            lines = {bare(line): line for line in text.split("\n") if not self._seen.has(line)}
            text = "\n".join(lines.values())
        text = excerpt(text, passage.language, self._asked, EXCERPT)
        words = text.removeprefix(f"{passage.row.speaker}: ")
        asked = self._asked_for(passage)
        reply = "" if asked or row.speaker != "agent" else self._replied(passage)
        beside = f" (asked: {asked})" if asked else f" (user: {reply})" if reply else ""
        line = line_of(passage, f"{text}{beside}", self._zone)
        if not bare(words) or self._seen.has(words) or self._seen.has(line):
            return TOLD_BEFORE
        size = tokenizer.count(f"{line}\n")
        words = f"{words}\n{asked or reply}" if beside else words
        return Told(passage, worth, line, size, group_of(passage, self._zone), words)

    def _turn(self, passage: Passage, text: str) -> tuple[Passage, str]:
        """What a turn tells that holds; if that was asked for, it is not as good as replaced."""
        speaker = passage.row.speaker
        if unsaid(self._around.after(passage)):
            return passage, ""
        if made_up(passage, self._around.before(passage)):
            text = "" if speaker == "agent" else out_of_character(text)
        whole = typed(text.removeprefix(f"{speaker}: "), speaker == "agent")
        text = self._holding(passage, whole)
        if len(text) < len(whole) and self._asked.worth(text, passage.language):
            passage = passage._replace(replaced_by="")
        return passage, text

    def _asked_for(self, passage: Passage) -> str:
        """What an agent's turn is the outcome of, if that is short and was not told."""
        if passage.row.speaker != "agent":
            return ""
        for said in self._around.before(passage)[-1:]:
            text = said.text.removeprefix("user: ")
            short = len(text) <= ASKED and said.turn == passage.row.place - 1
            idle = _asks(text) or _says_nothing(text) or hosted(text) or _passing(text)
            short = short and not idle and not self._stale.doubted(said)
            if short and not (self._around.has(said.text) or self._seen.has(text)):
                new = " ".join(part for part in ENDS.split(text) if not self._told(part))
                return " ".join(self._stale.current(new, said).split())
        return ""

    def _instead(self, passage: Passage, worth: float) -> Told | str:
        """What the user said to a proposal that was not wanted, or to what was not so."""
        if passage.row.speaker != "agent":
            return ""
        if refused(passage, self._around.after):
            to, reply = "to a proposal", self._replied(passage)
        else:
            to, reply = "putting it right", correction_of(passage, self._around.after)
            reply = "" if _says_nothing(reply) or self._told(reply) else reply
        line = dated(f"- user, {to}: {reply}", passage.row.at, self._zone)
        size, group = tokenizer.count(f"{line}\n"), group_of(passage, self._zone)
        return Told(passage, worth, line, size, group, reply) if reply else ""

    def _replied(self, passage: Passage) -> str:
        """What the user chose of an agent's proposals, if it was not told."""
        reply = " ".join(in_earnest(ENDS.split(reply_to(passage, self._around.after))))
        return "" if _says_nothing(reply) or self._told(reply) else reply

    def _holding(self, passage: Passage, text: str) -> str:
        """Of a turn, what still holds, without questions and what was told as an entry."""
        parts = ENDS.split(text)
        kept = [
            part
            for part, then in zip(parts, [*parts[1:], ""], strict=False)
            if not self._told(part) and not takes_back(then, part)
            if not _asks(part) or pattern(cues.PRESUPPOSES).match(part)
        ]
        kept = [one for one in in_earnest(kept) if not pattern(cues.ONCE).search(one)]
        if passage.row.speaker == "agent":
            wanted = () if refused(passage, self._around.after) else kept
            kept = [part.removeprefix("> ") for part in wanted if not on_the_way(part)]
            kept = [one for one in kept if not put_right(one, passage, self._around.after)]
        if len(kept) < len(parts) and all(pattern(forms.ORDER).match(part) for part in kept):
            return ""  # an order says nothing without what it is about
        if not passage.done:
            self._stale.learn(self._around.after(passage))
            said, stale = spoken(passage), self._stale
            kept = [
                now
                for part in kept
                if (now := stale.current(part, said))
                and (now != part or not stale.doubted(said._replace(text=part), values=False))
            ]
        return text if kept == parts else " ".join(kept)

    def _told(self, part: str) -> bool:
        """Whether a sentence of a turn was told, as it is or as a fact in other words, or has none
        but clauses of one: "for the poster too: the organ has 34 stops"."""
        said, clauses = terms(part), list(map(terms, bare_clauses(part)))
        within = len(frozenset().union(*clauses)) > TERMS
        return self._seen.has(part) or any(
            says(one, said) or (within and all(it <= one for it in clauses)) for one in self._facts
        )

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


def _passing(text: str) -> bool:
    return pattern(f"{cues.SARCASM}|{cues.ONCE}|{cues.HYPOTHETICAL}").search(text) is not None


def _mocks(passage: Passage) -> bool:
    own = passage.row.speaker != "agent" and len(passage.content) < SAYS_MORE
    return own and pattern(cues.SARCASM).search(passage.content) is not None


def _says_nothing(text: str) -> bool:
    """Whether a turn is small talk, or a word or two that mean nothing alone."""
    return is_chat(text) or (len(terms(text)) < TERMS and not any(map(str.isdigit, text)))


def _asks(sentence: str) -> bool:
    """Whether a sentence is a question, which answers none: "whats the status for a teapot"."""
    asked = sentence.rstrip("\"')*_ ").endswith(("?", "？"))
    return asked or pattern(forms.ASKS).match(sentence) is not None
