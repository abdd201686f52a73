"""Gate: tier 3. A cheap model says whether a topic helps with a message: YES or NO.

The same question about the same topic is asked once; the answers of the last hundreds of
questions are kept in the cache. A model that fails, or takes too long, has no say.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from wakebook.errors import ModelError
from wakebook.home import Home
from wakebook.models.chat import Models
from wakebook.recall.topics.topic import Topic

MESSAGE = 500  # characters of a message
DESCRIPTION = 200
KEPT = 500  # answers
NAME = "gates.json"


class Answer(NamedTuple):
    yes: bool | None  # None: nobody answered
    said: str  # how it came about, for people


class Gate:
    def __init__(self, home: Home, models: Models) -> None:
        self._home = home
        self._models = models
        self._kept: dict[str, bool] | None = None

    @property
    def there(self) -> bool:
        """Whether there is a model to ask."""
        return self._models.has("gate")

    def ask(self, message: str, topics: Sequence[Topic]) -> dict[str, Answer]:
        """What the model says about each topic. Those that it has to think about, at once."""
        kept = self._answers()
        keys = {topic.name: self._key(message, topic) for topic in topics}
        found = {
            name: Answer(kept[key], f"{_word(kept[key])} (asked before)")
            for name, key in keys.items()
            if key in kept
        }
        waiting = [topic for topic in topics if topic.name not in found]
        if not waiting:
            return found
        asked = self._all(message, waiting)
        news = {keys[name]: one.yes for name, one in asked.items() if one.yes is not None}
        if news:
            self._keep(news)
        return found | asked

    def _all(self, message: str, topics: Sequence[Topic]) -> dict[str, Answer]:
        if len(topics) == 1:
            return {topics[0].name: self._one(message, topics[0])}
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(len(topics)) as pool:
            answers = list(pool.map(lambda topic: self._one(message, topic), topics))
        return {topic.name: answer for topic, answer in zip(topics, answers, strict=True)}

    def _one(self, message: str, topic: Topic) -> Answer:
        try:
            said = self._models.ask(
                "gate",
                message=message[:MESSAGE],
                playbook=f"{topic.name}: {topic.about[:DESCRIPTION]}",
            )
        except ModelError as error:
            return Answer(None, f"no answer: {error}")
        word = "".join(char if char.isalpha() else " " for char in said).upper().split()[:1]
        if word not in (["YES"], ["NO"]):
            problem = f"neither YES nor NO: {said[:40]!r}"
            self._home.trace("failure", where="gate", error=f"{topic.name}: {problem}")
            return Answer(None, problem)
        return Answer(word == ["YES"], word[0])

    # --- answers that are kept -----------------------------------------------------------

    def _key(self, message: str, topic: Topic) -> str:
        parts = (
            self._models.name("cheap"),
            message[:MESSAGE],
            topic.name,
            topic.about[:DESCRIPTION],
        )
        return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:24]

    def _answers(self) -> dict[str, bool]:
        if self._kept is None:
            self._kept = {}
            with suppress(OSError, ValueError):
                read = json.loads((self._home.cache / NAME).read_bytes())
                if isinstance(read, dict):
                    self._kept = {key: value is True for key, value in read.items()}
        return self._kept

    def _keep(self, news: dict[str, bool]) -> None:
        kept = self._answers()
        kept.update(news)
        for old in list(kept)[: max(0, len(kept) - KEPT)]:
            del kept[old]
        with suppress(OSError):  # a full disk: it is asked again
            self._home.replace(self._home.cache / NAME, json.dumps(kept))


def _word(yes: bool) -> str:
    return "YES" if yes else "NO"
