"""Answers: how much the entries of two logs know, and whether the transcripts bear them out.

Transcripts answer on both sides of a comparison, whatever became of the entries. So a search over
the entries alone is asked, in an index of its own for each side, with the embedder that ships in
the package. Handoffs do not count: they quote.

What to ask for is drawn from the entries of both sides, but only from those that hold up against
their transcripts: to lose what nobody said is no loss. Labelled questions can be asked besides.
They stand in a file, one JSON object a line: {"question": "...", "expect": "..."}, or "answers":
[...].
"""

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from wakebook.base import words
from wakebook.base.config import Config
from wakebook.base.decode import decode
from wakebook.base.errors import TranscriptError, WakebookError
from wakebook.base.home import Home
from wakebook.capture import archive
from wakebook.capture.transcript import Message
from wakebook.learn.extract import Draft
from wakebook.learn.judge.grounds import numbers
from wakebook.learn.judge.verdict import why_refused
from wakebook.learn.reread import source_of
from wakebook.log import log, subjects
from wakebook.log.chains import Chains
from wakebook.log.entry import Entry, encode
from wakebook.log.query import Query

TOP = 6
DRAWN = 300  # entries of a side, at most
MOST = 0.6  # of a thing's words: an entry that has them says it
LESS = 0.1  # of what was answered: a rebuild that loses more is worse
_FIRST = f"the first {TOP} hits of a search over the entries alone"


class Shares(msgspec.Struct, frozen=True, kw_only=True):
    before: float
    after: float
    definition: str


class Quality(Shares, frozen=True, kw_only=True):
    questions: int
    gained: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()

    @property
    def worse(self) -> bool:
        return self.after < self.before - LESS


class Answers(msgspec.Struct, frozen=True, kw_only=True):
    drawn: Quality | None = None  # None: there is nothing to draw
    sound: Shares | None = None
    labelled: Quality | None = None  # None: no questions were given


class Probe(msgspec.Struct, frozen=True):
    question: str
    answers: tuple[str, ...]


def measure(
    home: Home, config: Config, main: Chains, new: Chains, asked: Sequence[Probe], now: datetime
) -> Answers:
    sound = _sound(home, now)
    kept = [
        {entry.id: sound(entry, side) for entry in _sample(side)} for side in (main, new)
    ]  # what the transcripts bear out, do not, or say nothing about
    judged = [[one for one in side.values() if one is not None] for side in kept]
    ids = {name for side in kept for name, right in side.items() if right is not False}
    things = [main.by_id.get(name) or new.by_id[name] for name in sorted(ids)]
    with home.scratch("compare-") as scratch:
        was = _Side(main, scratch.root / "now", config, now)
        is_ = _Side(new, scratch.root / "rebuilt", config, now)
        drawn = _quality(
            [one.content for one in things],
            [[side.says(one) for one in things] for side in (was, is_)],
            f"of what sound entries of either side say: one of {_FIRST} has most of its words, "
            "and all of its numbers",
        )
        labelled = _quality(
            [one.question for one in asked],
            [[side.answers(one) for one in asked] for side in (was, is_)],
            f"an expected text occurs in {_FIRST}",
        )
        was.index.close()
        is_.index.close()
    before, after = (sum(side) / len(side) if side else 1.0 for side in judged)
    definition = (
        "of the entries: the messages that they name say them, they are no general knowledge, and "
        "a decision is the user's"
    )
    shares = Shares(before=before, after=after, definition=definition) if any(judged) else None
    return Answers(drawn=drawn, sound=shares, labelled=labelled)


def _sample(side: Chains) -> list[Entry]:
    """Ids are digests: their order has nothing to do with what is said."""
    found = [one for one in side.current() if one.type != "handoff"]
    return sorted(found, key=lambda one: one.id)[:DRAWN]


class _Side:
    """The entries of a log that hold, with an index of their own."""

    def __init__(self, chains: Chains, folder: Path, config: Config, now: datetime) -> None:
        from wakebook.store.index import Index

        self._entries = {one.id: one for one in chains.current() if one.type != "handoff"}
        home = Home(folder)
        folder.mkdir()
        log.rewrite(home, [encode(one.with_(replaces=())) for one in self._entries.values()])
        self.index = Index(home, config.with_(embedding=config.embedding.with_(provider="builtin")))
        self._now = now

    def says(self, thing: Entry) -> bool:
        mine = self._entries.get(thing.id)
        if mine and mine.content == thing.content:
            return True
        wanted, values = words.terms(thing.content), numbers(thing.content)
        return any(
            len(wanted & words.terms(text)) >= MOST * len(wanted) and values <= numbers(text)
            for text in self._found(thing.content)
        )

    def answers(self, asked: Probe) -> bool:
        found = self._found(asked.question)
        return any(_occurs(answer, text) for answer in asked.answers for text in found)

    def _found(self, text: str) -> list[str]:
        from wakebook.store.hits import Options

        options = Options(limit=TOP, min_score=0.0)
        hits = self.index.search(Query(text=text), self._now, options).hits
        found = (self._entries[hit.ref] for hit in hits if hit.ref in self._entries)
        return [f"{one.content}\n{one.detail}" for one in found]


def _sound(home: Home, now: datetime) -> Callable[[Entry, Chains], bool | None]:
    """Whether a transcript bears an entry out. None: there is none to tell."""
    names = tuple(subjects.load(home).names())

    @cache
    def said(path: str) -> list[Message]:
        try:
            return source_of(archive.read(home, path), now).messages() if path else []
        except TranscriptError:
            return []

    def sound(entry: Entry, side: Chains) -> bool | None:
        messages = said(entry.transcript)
        if not messages or not entry.evidence:
            return None
        old = [one for one in side.history(entry.id) if one.id != entry.id]
        lent = [Message("system", f"{one.content}\n{one.detail}", one.id) for one in old]
        draft = Draft(
            type=entry.type,
            content=entry.content,
            detail=entry.detail,
            source="",
            evidence=entry.evidence,
        )
        return why_refused(draft, [*lent, *messages], names) is None

    return sound


def _quality(asked: Sequence[str], sides: Sequence[Sequence[bool]], text: str) -> Quality | None:
    if not asked:
        return None
    before, after = sides
    each = list(zip(asked, before, after, strict=True))
    return Quality(
        questions=len(asked),
        before=sum(before) / len(asked),
        after=sum(after) / len(asked),
        definition=text,
        gained=tuple(one for one, was, is_ in each if is_ and not was),
        lost=tuple(one for one, was, is_ in each if was and not is_),
    )


# --- labelled questions ------------------------------------------------------------------
def load_questions(path: Path) -> list[Probe]:
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise WakebookError(f"{path}: {error.strerror}.") from error
    numbered = [(number, line) for number, line in enumerate(lines, start=1) if line.strip()]
    if not numbered:
        raise WakebookError(
            f'{path}: no questions in it. Write one a line: {{"question": "...", "expect": "..."}}'
        )
    return [_question(line, f"{path}, line {number}") for number, line in numbered]


def _question(line: bytes, where: str) -> Probe:
    try:
        raw: Any = decode(line, Any)
    except msgspec.DecodeError as error:
        raise WakebookError(f"{where}: not JSON: {error}.") from error
    question = raw.get("question") if isinstance(raw, dict) else None
    if not isinstance(question, str) or not question.strip():
        raise WakebookError(f'{where}: "question" must be a text.')
    given = raw.get("answers", raw.get("expect"))
    answers = given if isinstance(given, list) else [given]
    if not answers or not all(isinstance(one, str) and one.strip() for one in answers):
        raise WakebookError(f'{where}: "expect" must be a text, or "answers" a list of texts.')
    return Probe(question, tuple(answers))


def _occurs(answer: str, text: str) -> bool:
    wanted, said = _plain(answer), _plain(text)
    return f" {wanted} " in f" {said} " or set(wanted.split()) <= set(said.split())


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))
