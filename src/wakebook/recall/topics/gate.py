"""Gate: tier 3. A cheap model says whether a topic helps with a message: YES or NO.

The same question about the same topic is asked once; the answers of the last hundreds of
questions are kept in the cache. A model that fails, or takes too long, has no say.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from wakebook.base.errors import ModelError
from wakebook.base.home import Home
from wakebook.capture.clean import redact
from wakebook.models import prompt
from wakebook.models.chat import Models
from wakebook.recall.topics.topic import Topic

if TYPE_CHECKING:
    from wakebook.opened import Opened


MESSAGE = 500  # characters of a message
DESCRIPTION = 200
KEPT = 500  # answers
NAME = "gates.json"


class Answer(NamedTuple):
    yes: bool | None  # None: nobody answered
    said: str  # how it came about, for people


class Gate:
    def __init__(self, home: Home, models: Models, seconds: int) -> None:
        self._seconds = seconds  # for all of them together
        self._home = home
        self._models = models
        self._kept: dict[str, bool] | None = None

    @cached_property
    def _prompt(self) -> str:
        """The prompt with its version: to another question there is another answer."""
        try:
            return prompt.load("gate", self._home, {"message", "playbook"}).label
        except ModelError:
            return ""

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
        from concurrent.futures import ThreadPoolExecutor, wait

        pool = ThreadPoolExecutor(min(len(topics), self._models.concurrency))
        asked = {topic.name: pool.submit(self._one, message, topic) for topic in topics}
        done, _ = wait(asked.values(), timeout=self._seconds)
        pool.shutdown(wait=False, cancel_futures=True)
        slow = Answer(None, f"no answer: it took longer than {self._seconds} s")
        if len(done) < len(asked):
            self._home.trace("failure", where="gate", error=slow.said)
        return {name: one.result() if one in done else slow for name, one in asked.items()}

    def _one(self, message: str, topic: Topic) -> Answer:
        try:
            said = self._models.begin(
                "gate",
                message=_shown(message),
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
            self._prompt,
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
            kept.pop(old, None)
        with suppress(OSError):  # a full disk: it is asked again
            self._home.replace(self._home.cache / NAME, json.dumps(kept))


def _word(yes: bool) -> str:
    return "YES" if yes else "NO"


def _shown(message: str) -> str:
    """What the model gets of a message: its beginning, without secrets."""
    return redact(message[: 20 * MESSAGE])[0][:MESSAGE]


def quick_gate(opened: Opened) -> Gate:
    """Asks the cheap model, and not for long: an agent waits."""
    config = opened.config
    seconds = config.topics.gate_seconds
    settings = config.models.with_(timeout_seconds=seconds, attempts=1)
    return Gate(opened.home, opened.models_with(config.with_(models=settings)), seconds)
