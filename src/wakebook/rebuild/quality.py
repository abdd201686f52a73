"""Quality: how many labelled questions a search answers.

A question counts as answered if one of its expected texts occurs in the first six hits: word
for word, whatever its case, or with all of its words in one hit. The questions stand in a
file, one JSON object a line: {"question": "...", "expect": "..."}, or "answers": [...].
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from wakebook.base.config import Config
from wakebook.base.errors import WakebookError
from wakebook.base.home import Home
from wakebook.log.query import Query

TOP = 6
DEFINITION = f"an expected text occurs in the first {TOP} search hits"


class Asked(msgspec.Struct, frozen=True):
    question: str
    answers: tuple[str, ...]


class Quality(msgspec.Struct, frozen=True, kw_only=True):
    questions: int
    before: float  # shares
    after: float
    gained: tuple[str, ...] = ()  # questions
    lost: tuple[str, ...] = ()
    definition: str = DEFINITION


def load(path: Path) -> list[Asked]:
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise WakebookError(f"{path}: {error.strerror}.") from error
    found = [
        _asked(line, f"{path}, line {number}")
        for number, line in enumerate(lines, start=1)
        if line.strip()
    ]
    if not found:
        raise WakebookError(
            f'{path}: no questions in it. Write one a line: {{"question": "...", "expect": "..."}}'
        )
    return found


def _asked(line: bytes, where: str) -> Asked:
    try:
        raw: Any = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise WakebookError(f"{where}: not JSON: {error}.") from error
    question = raw.get("question") if isinstance(raw, dict) else None
    if not isinstance(question, str) or not question.strip():
        raise WakebookError(f'{where}: "question" must be a text.')
    given = raw.get("answers", raw.get("expect"))
    answers = given if isinstance(given, list) else [given]
    if not answers or not all(isinstance(one, str) and one.strip() for one in answers):
        raise WakebookError(f'{where}: "expect" must be a text, or "answers" a list of texts.')
    return Asked(question, tuple(answers))


def answered(home: Home, config: Config, asked: Sequence[Asked], now: datetime) -> list[bool]:
    """Which questions a home's own search answers."""
    from wakebook.store.index import Index
    from wakebook.store.search import Options

    index = Index(home, config)
    options = Options(limit=TOP, min_score=0.0)
    found: list[bool] = []
    for one in asked:
        hits = index.search(Query(text=one.question), now, options).hits
        texts = [f"{hit.title}\n{hit.snippet}" for hit in hits[:TOP]]
        found.append(any(_occurs(answer, text) for answer in one.answers for text in texts))
    index.store.close()
    return found


def quality(asked: Sequence[Asked], before: Sequence[bool], after: Sequence[bool]) -> Quality:
    pairs = list(zip(asked, before, after, strict=True))
    return Quality(
        questions=len(asked),
        before=sum(before) / len(asked),
        after=sum(after) / len(asked),
        gained=tuple(one.question for one, was, is_ in pairs if is_ and not was),
        lost=tuple(one.question for one, was, is_ in pairs if was and not is_),
    )


def _occurs(answer: str, text: str) -> bool:
    wanted, said = _plain(answer), _plain(text)
    return f" {wanted} " in f" {said} " or set(wanted.split()) <= set(said.split())


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))
