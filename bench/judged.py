"""Judge what was learned from labelled conversations, entry by entry.

For bench/extraction.py, which says what the figures mean.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from difflib import SequenceMatcher
from pathlib import Path
from typing import NamedTuple

from bench.labelled import Item, Session, content, has, words

from wakebook import Memory
from wakebook.capture import archive
from wakebook.learn.catch_up import Sweep
from wakebook.log.entry import RETRACTED, Entry

LONGEST = 40  # words of an entry; more is a copy, not a memory
VERBATIM = 0.8  # of an entry's words in one run
PIECE = 3  # words in a row that show where something was said
ALIKE = 40  # letters by which a turn is known again
GOOD = ("labelled", "fine")
CLOSING = "closing"
Turns = Sequence[tuple[str, str]]  # role, text


# --- having it read ------------------------------------------------------------------------


class Told(NamedTuple):
    """A conversation that is given to a home to read."""

    id: str
    date: str
    turns: Turns


def read(memory: Memory, folder: Path, given: Iterable[Told]) -> Sweep:
    """Write the conversations as plain sessions, oldest first, and catch up on all."""
    folder.mkdir(exist_ok=True)
    for session in sorted(given, key=lambda one: one.date):
        began = datetime.strptime(session.date[:10] + session.date[-5:], "%Y/%m/%d%H:%M")
        lines = [json.dumps({"session": session.id})]
        for number, (role, text) in enumerate(session.turns):
            at = f"{began + timedelta(minutes=number):%Y-%m-%dT%H:%M:%SZ}"
            role = "user" if role == "user" else "assistant"
            lines.append(json.dumps({"role": role, "content": text, "timestamp": at}))
        (folder / f"{session.id}.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    return memory.catch_up([folder], closing=True)


class Places:
    """Where an entry's evidence, turns of an archived transcript, is in the conversation."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._known: dict[str, dict[int, range]] = {}

    def of(self, entry: Entry, turns: Turns) -> frozenset[int]:
        path = entry.transcript
        if not path:
            return frozenset()
        if path not in self._known:
            archived = archive.read(self._memory.home, path).turns
            self._known[path] = dict(_placed(archived, turns))
        known = self._known[path]
        return frozenset(place for turn in entry.evidence for place in known.get(turn, ()))


def _placed(archived: Iterable[archive.Turn], turns: Turns) -> Iterator[tuple[int, range]]:
    """A turn of an archive begins like the one it is, or else it is the next of its speaker."""
    at = 0
    for one in archived:
        role = "user" if one.role == "user" else "agent"
        next_ = [place for place in range(at, len(turns)) if turns[place][0] == role]
        same = (place for place in next_ if _head(turns[place][1]) == _head(one.text))
        first = next(same, next_[0] if next_ else None)
        if first is not None:
            at = first + 1
            while role == "agent" and at < len(turns) and turns[at][0] == role:
                at += 1  # an archive joins what an agent says in a row
            yield one.number, range(first, at)


def _head(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower()))[:ALIKE]


# --- judging -------------------------------------------------------------------------------


class Judged(NamedTuple):
    entry: Entry
    session: Session
    turns: frozenset[int]  # that it points to
    verdict: str
    items: frozenset[int]  # labels that it tells: of its turns, with their words
    words_of: frozenset[int]  # labels whose words it has, wherever they were said
    is_verbatim: bool
    is_wrong: bool

    @property
    def is_good(self) -> bool:
        return self.verdict in GOOD


class Result(NamedTuple):
    sessions: list[Session]
    judged: list[Judged]  # all entries but handoffs
    gone: frozenset[str]  # entries that were replaced

    def of(self, wanted: Iterable[Session]) -> Result:
        ids = {session.id for session in wanted}
        return Result(
            [one for one in self.sessions if one.id in ids],
            [one for one in self.judged if one.session.id in ids],
            self.gone,
        )

    @property
    def counted(self) -> list[Judged]:
        """The entries of conversations that have something to keep."""
        return [
            one for one in self.judged if one.verdict != CLOSING and not one.session.has_nothing
        ]

    @property
    def needless(self) -> list[Judged]:
        """The entries of conversations that have nothing to keep."""
        return [one for one in self.judged if one.verdict != CLOSING and one.session.has_nothing]

    def labels(self) -> Iterator[tuple[Session, Item, bool]]:
        """Every label, and whether an entry tells it."""
        told = {(one.session.id, number) for one in self.counted for number in one.items}
        for session in self.sessions:
            for number, item in enumerate(session.items):
                yield session, item, (session.id, number) in told


def judge(memory: Memory, sessions: Sequence[Session]) -> Result:
    """All that was learned from these conversations, once they have been read."""
    by_id = {session.id: session for session in sessions}
    log = {entry.id: entry for entry in memory.log.chains().entries}
    places = Places(memory)
    judged = [
        _judged(entry, by_id[entry.session], places, log)
        for entry in log.values()
        if is_kept(entry) and entry.session in by_id
    ]
    return Result(list(sessions), judged, replaced(log.values()))


def is_kept(entry: Entry) -> bool:
    return entry.type != "handoff" and not entry.extra.get(RETRACTED)


def replaced(entries: Iterable[Entry]) -> frozenset[str]:
    return frozenset(old for entry in entries for old in entry.replaces)


def _judged(entry: Entry, session: Session, places: Places, log: Mapping[str, Entry]) -> Judged:
    at = places.of(entry, session.turns)
    short = not is_copy(entry)
    having = {n for n, one in enumerate(session.items) if short and has(entry.content, one.must)}
    here = {n for n, one in enumerate(session.items) if one.turns & at}
    closing = _closes(entry, log)
    told = frozenset() if closing else frozenset(here & having)
    said = [session.turns[place][1] for place in sorted(at)]
    before = [log[old].content for old in entry.replaces if old in log]
    return Judged(
        entry,
        session,
        at,
        CLOSING if closing else _verdict(entry, session, at, bool(told), bool(here)),
        told,
        frozenset(having),
        _longest_run(entry.content, "\n".join(said)) >= VERBATIM,
        not _is_said(entry.content, [*said, *before]),
    )


def _verdict(entry: Entry, session: Session, at: frozenset[int], told: bool, labelled: bool) -> str:
    if is_copy(entry):
        return "too long, or a request"
    if told:
        return "labelled"
    if at & session.fine:
        enough = len(content(entry.content)) >= (3 if entry.type == "question" else 2)
        return "fine" if enough else "says nothing"
    if labelled:
        return "words missing"
    if not any(session.turns[place][0] == "user" for place in at):
        return "agent's turn" if at else "no evidence"
    return "not worth keeping"


def is_copy(entry: Entry) -> bool:
    asks = entry.type != "question" and "?" in entry.content
    return asks or len(words(entry.content)) > LONGEST


def _closes(entry: Entry, log: Mapping[str, Entry]) -> bool:
    """It only says that a task is done, in the task's own words."""
    olds = [log[old].content for old in entry.replaces[:1] if old in log]
    return entry.status == "done" and entry.content in olds


def _longest_run(text: str, source: str) -> float:
    """The share of a text's words that stand in a row in the source."""
    mine, theirs = words(text), words(source)
    match = SequenceMatcher(None, mine, theirs, autojunk=False).find_longest_match()
    return match.size / len(mine) if mine else 0.0


def _is_said(text: str, sources: Sequence[str]) -> bool:
    """Whether a text is made of pieces of what was said, of which the last may be short."""
    mine, at = words(text), 0
    heard = [f" {' '.join(words(source))} " for source in sources]
    while at < len(mine):
        end = at
        while end < len(mine) and any(f" {' '.join(mine[at : end + 1])} " in one for one in heard):
            end += 1
        if end < min(at + PIECE, len(mine)):
            return False
        at = end
    return True


# --- what replaces what --------------------------------------------------------------------


class Pair(NamedTuple):
    """A later conversation gives something another value: what became of both."""

    item: Item
    session: Session
    new: str  # current, replaced or missing
    old: str

    @property
    def is_right(self) -> bool:
        return self.new == "current" and self.old == "replaced"


def pairs(result: Result) -> list[Pair]:
    by_id = {session.id: session for session in result.sessions}
    found = []
    for session in result.sessions:
        for number, item in enumerate(session.items):
            earlier = by_id.get(item.replaces[0]) if item.replaces else None
            if earlier is None or item.replaces is None:
                continue
            before = [n for n, one in enumerate(earlier.items) if one.turn == item.replaces[1]]
            said = content(item.text)
            which = max(before, key=lambda n: len(said & content(earlier.items[n].text)))
            old = [one for one in _of(result, earlier, which) if one.verdict != CLOSING]
            ids = {one.entry.id for one in old}
            new = [
                one
                for one in _of(result, session, number)
                if one.verdict != CLOSING or one.entry.replaces[0] in ids
            ]
            found.append(Pair(item, session, _state(new, result), _state(old, result)))
    return found


def _of(result: Result, session: Session, item: int) -> list[Judged]:
    """The entries of a conversation that have a label's words, or only close something."""
    return [
        one
        for one in result.judged
        if one.session is session and (item in one.words_of or one.verdict == CLOSING)
    ]


def _state(found: Sequence[Judged], result: Result) -> str:
    if not found:
        return "missing"
    stands = any(one.entry.id not in result.gone for one in found)
    return "current" if stands else "replaced"


class Replacement(NamedTuple):
    new: Judged
    old: Judged
    is_right: bool


def replacements(result: Result) -> list[Replacement]:
    """Every replacement that was made, and whether the two belong together."""
    known = {one.entry.id: one for one in result.judged}
    return [
        Replacement(one, known[old], _together(one, known[old]))
        for one in result.judged
        for old in one.entry.replaces
        if old in known
    ]


def _together(new: Judged, old: Judged) -> bool:
    if _slots(new) & _slots(old):
        return True
    one, other = new.session, old.session
    if one is not other and not (one.pair and one.pair == other.pair):
        return False
    shared = content(new.entry.content) & content(old.entry.content)
    return len(shared) >= 2 or (one is other and bool(new.words_of & old.words_of))


def _slots(one: Judged) -> set[str]:
    return {one.session.items[number].slot for number in one.words_of} - {""}
