"""Activation: which topics a message activates, through the three tiers, and why.

    a trigger matches + how alike        ->  activate, ask the gate, or drop

A path, an address, a name, code or a language is what it is: a trigger that looks for one of them
speaks for itself. Patterns, keywords and urgency are words, which may be meant otherwise: there the
message must be like the topic, too. Priority decides how much is asked: a critical topic needs its
trigger only, a high one passes the gate when it is alike enough, a medium or low one must be alike
and pass the gate. What no trigger matches can still activate by being very much alike, unless the
topic waits for events only. A sample that nobody has edited is never activated. Where no
model can be asked, the same stricter likeness stands in for it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cached_property, partial
from math import log, sqrt
from operator import mul
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from wakebook.base import clock
from wakebook.base.config import Topics as Settings
from wakebook.base.decode import loads
from wakebook.base.errors import ModelError
from wakebook.base.home import Home
from wakebook.base.text import whole
from wakebook.models.builtin import Builtin
from wakebook.recall.topics.topic import Read, Topic, Trigger
from wakebook.recall.topics.triggers import LONGEST, Matched, Remark, Spoken, Triggers
from wakebook.store import words
from wakebook.store.words import STOP_WORDS, WEAK_WORDS

if TYPE_CHECKING:
    from wakebook.models.chat import Models
    from wakebook.opened import Opened

# of gated topics whose trigger matches: so alike that no gate is needed, and alike enough to ask
BYPASS = {"high": 0.3}
ASK = {"high": 0.0, "medium": 0.2, "low": 0.3}
WORDS = ("pattern", "keyword", "urgency")  # triggers whose words may be meant otherwise
SURE = 0.5  # as alike as a topic counts whose trigger speaks for itself
NOTED = 0.15  # a topic that is less alike, and has no trigger, was never in question
MESSAGE = 500  # characters of a message that the gate is shown
DESCRIPTION = 200
KEPT = 500  # answers of the gate
GATES = "gates.json"  # in the cache


class Verdict(NamedTuple):
    """What the first two tiers make of a topic."""

    outcome: str  # activate, ask, drop
    reason: str
    threshold: float  # that its likeness was held against


class Decision(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was decided about one topic, with everything that it was decided by."""

    id: str = ""
    at: str = ""
    topic: str
    activated: bool
    reason: str
    direction: str = "input"
    session: str = ""
    message: str = ""  # its first words
    matched: tuple[str, ...] = ()  # the triggers
    similarity: float = 0.0
    threshold: float = 0.0
    gate: str = ""
    priority: str = ""
    activation: str = ""


class Activation(NamedTuple):
    topic: Topic
    decision: Decision
    triggers: tuple[Trigger, ...] = ()


def verdict(
    topic: Topic, matched: bool, score: float, settings: Settings, direction: str = "input"
) -> Verdict:
    """The table of docs/topics.md. Pure."""
    strict = max(settings.strict_threshold, topic.threshold or 0.0)
    own, alike = topic.threshold, "its trigger matches, and it is alike"
    if topic.activation == "manual":
        return Verdict("drop", "activated by hand only", 0.0)
    if direction == "output":  # it watches for a mistake, which need not be like its correction
        outcome = "activate" if matched else "drop"
        return Verdict(outcome, "the agent's own words match", 0.0)
    if not matched and topic.waits_for_events:
        return Verdict("drop", "it waits for events", 0.0)
    if not matched:
        if score < strict:
            return Verdict("drop", "no trigger, and not very much alike", strict)
        outcome = "activate" if topic.activation == "auto" else "ask"
        return Verdict(outcome, "no trigger, but very much alike", strict)
    if topic.priority == "critical":
        return Verdict("activate", "its trigger matches, and it is critical", 0.0)
    if topic.activation == "auto":
        least = settings.similarity_threshold if own is None else own
    else:
        least = ASK[topic.priority] if own is None else own
    if score < least:
        return Verdict("drop", "its trigger matches, but it is not alike", least)
    if topic.activation == "auto":
        return Verdict("activate", alike, least)
    bypass = BYPASS.get(topic.priority, 2.0)
    if score >= bypass:
        return Verdict("activate", f"{alike} enough", max(bypass, least))
    return Verdict("ask", "its trigger matches; the gate decides", least)


class Activator:
    """The topics of a home, ready to be matched. Made anew when they change."""

    def __init__(self, read: Read) -> None:
        self.read = read
        self._topics = read.told
        self._triggers = {
            direction: Triggers(self._topics, direction) for direction in ("input", "output")
        }

    @cached_property
    def _similarity(self) -> Similarity:
        return Similarity(self._topics)

    def matched(self, said: Remark) -> list[Matched]:
        """Tier 1."""
        return self._triggers[said.direction].match(Spoken(said))

    def likeness(self, said: Remark) -> dict[str, float]:
        """Tier 2. What corrects the agent need not be like what it says."""
        if said.direction == "output" or not said.text.strip():
            return {}
        return self._similarity.scores(whole(said.text[:LONGEST]))

    def candidates(self, said: Remark) -> tuple[list[Matched], dict[str, float]]:
        """Tiers 1 and 2."""
        matched = self.matched(said)
        scores = self.likeness(said)
        for one in matched:
            if one.trigger.type not in WORDS:
                scores[one.topic] = max(scores.get(one.topic, 0.0), SURE)
        return matched, scores

    def activate(
        self, said: Remark, settings: Settings, gate: Gate | None, now: datetime, session: str = ""
    ) -> list[Activation]:
        """Every topic that was in question, with what was decided; the activated ones first."""
        matched, scores = self.candidates(said)
        triggers: dict[str, list[Trigger]] = {}
        for one in matched:
            triggers.setdefault(one.topic, []).append(one.trigger)
        named = {
            topic.name: topic
            for topic in self._topics
            if topic.name in triggers
            or (said.direction == "input" and scores.get(topic.name, 0.0) >= NOTED)
        }
        verdicts = {
            name: verdict(topic, name in triggers, scores.get(name, 0.0), settings, said.direction)
            for name, topic in named.items()
        }
        asked = [topic for name, topic in named.items() if verdicts[name].outcome == "ask"]
        if asked and gate is not None and gate.there:
            message = said.text if said.text.strip() else f"Files: {', '.join(said.paths)}"
            answers = gate.ask(message, asked)
        else:
            answers = {topic.name: Answer(None, "no model") for topic in asked}
        found = []
        for name, topic in named.items():
            score = scores.get(name, 0.0)
            activated, reason, gated = settle(verdicts[name], answers.get(name), score, settings)
            unanswered = name in answers and answers[name].yes is None
            decision = Decision(
                at=clock.iso(now),
                topic=name,
                activated=activated,
                reason=reason,
                direction=said.direction,
                session=session,
                matched=tuple(trigger.label for trigger in triggers.get(name, ())),
                similarity=score,
                threshold=settings.strict_threshold if unanswered else verdicts[name].threshold,
                gate=gated,
                priority=topic.priority,
                activation=topic.activation,
            )
            found.append(Activation(topic, decision, tuple(triggers.get(name, ()))))
        # the activated ones, then the more important, the more alike, and by name
        return sorted(
            found,
            key=lambda one: (
                not one.decision.activated,
                -one.topic.rank,
                -one.decision.similarity,
                one.topic.name,
            ),
        )


def settle(
    found: Verdict, answer: Answer | None, score: float, settings: Settings
) -> tuple[bool, str, str]:
    """Whether it activates, why, and what the gate said."""
    if answer is None:
        return found.outcome == "activate", found.reason, ""
    if answer.yes is not None:
        return answer.yes, f"the gate says {answer.said}", answer.said
    strict = settings.strict_threshold
    enough = score >= strict
    reason = f"{'alike' if enough else 'not alike'} enough to do without the gate ({strict:g})"
    return enough, f"{reason}; {answer.said}", answer.said


# --- tier 2: how much a message is like what a topic says; no model is asked ----------------
# Two measures, each from 0 to 1, of which either can speak for a topic. By words: the cosine of
# TF-IDF vectors of stems, of the part of the topic that fits best (what it is about, and each of
# its sections), so that a long playbook is no less like a message than a short one. By meaning:
# how near the built-in table of word vectors puts the message to what the topic is about.
MOST_WORDS = 400  # of a message
NEAR = 0.2  # a cosine of meanings that means nothing
PRIOR = 20  # topics that are imagined beside the real ones: with two, no word is rare
_HEADING = re.compile(r"^#{1,6} ", re.MULTILINE)
_LITERAL = re.compile(r"[^\W\d_]{3,}")


class Similarity:
    def __init__(self, topics: Sequence[Topic]) -> None:
        texts = ([_about(one), *filter(str.strip, _HEADING.split(one.body))] for one in topics)
        parts = [[_counted(part) for part in several] for several in texts]
        seen = Counter(term for one in parts for term in {t for part in one for t in part})
        total = PRIOR + len(topics)
        self._rarity = {term: log(1 + total / (1 + count)) for term, count in seen.items()}
        self._unseen = log(1 + total)
        self._of: list[str] = []  # whose part
        self._postings: dict[str, list[tuple[int, float]]] = {}
        self._embedder = Builtin()
        meant = self._embedder.embed([_about(topic) for topic in topics]) if topics else ()
        self._meanings = {
            topic.name: list(map(float, row)) for topic, row in zip(topics, meant, strict=True)
        }
        for topic, several in zip(topics, parts, strict=True):
            for part in several:
                number = len(self._of)
                self._of.append(topic.name)
                for term, weight in _unit(self._weighted(part)).items():
                    self._postings.setdefault(term, []).append((number, weight))

    def scores(self, text: str) -> dict[str, float]:
        """How alike, 0 to 1, of every topic that is alike at all."""
        if not self._meanings:
            return {}
        by_words, found = self._by_words(text), {}
        short = " ".join(text.split()[:MOST_WORDS])
        asked = list(map(float, self._embedder.embed([short], query=True)[0]))
        for name, meaning in self._meanings.items():
            near = max(0.0, (sum(map(mul, asked, meaning)) - NEAR) / (1 - NEAR))
            found[name] = 1 - (1 - by_words.get(name, 0.0)) * (1 - near)
        return {name: round(score, 4) for name, score in found.items() if score > 0}

    def _by_words(self, text: str) -> dict[str, float]:
        asked = _unit(self._weighted(_counted(text, MOST_WORDS)))
        sums: dict[int, float] = {}
        for term, weight in asked.items():
            for number, other in self._postings.get(term, ()):
                sums[number] = sums.get(number, 0.0) + weight * other
        best: dict[str, float] = {}
        for number, score in sums.items():
            name = self._of[number]
            best[name] = max(best.get(name, 0.0), score)
        return {name: min(1.0, score) for name, score in best.items()}

    def _weighted(self, counts: Mapping[str, float]) -> dict[str, float]:
        known, unseen = self._rarity, self._unseen
        return {
            term: (1 + log(count)) * known.get(term, unseen) * WEAK_WORDS.get(term, 1.0)
            for term, count in counts.items()
        }


def _unit(weights: Mapping[str, float]) -> dict[str, float]:
    length = sqrt(sum(weight * weight for weight in weights.values())) or 1.0
    return {term: weight / length for term, weight in weights.items()}


def _about(topic: Topic) -> str:
    """Its name, title and description, and what it looks for."""
    looked_for = " ".join(
        " ".join(trigger.match if trigger.type == "keyword" else _LITERAL.findall(text))
        for trigger in topic.triggers
        if trigger.type in ("pattern", "keyword") and trigger.sees("input")
        for text in (" ".join(trigger.match),)
    )
    name = topic.name.replace("/", " ").replace("-", " ")
    return f"{topic.title} {name} {topic.description} {looked_for}"


def _counted(text: str, most: int | None = None) -> dict[str, float]:
    tokens = words.tokens(text)[:most]
    language = words.language(tokens)
    common = STOP_WORDS.get(language, frozenset())
    kept: Iterable[str] = (token for token in tokens if token not in common)
    return dict(Counter(words.plain(term) for term in words.terms(kept, language) if term))


# --- tier 3: a cheap model says whether a topic helps with a message -------------------------
# The same question about the same topic is asked once; the last answers are kept in the cache. A
# model that fails, or takes too long, has no say.
class Answer(NamedTuple):
    yes: bool | None  # None: no answer
    said: str  # how it came about, for people


class Gate:
    def __init__(self, home: Home, models: Callable[[], Models], seconds: int) -> None:
        self._seconds = seconds  # for all of them together
        self._home, self._make = home, models
        self._kept: dict[str, bool] | None = None

    @cached_property
    def _models(self) -> Models:
        """Made when a topic is in doubt: most messages call for none."""
        return self._make()

    @cached_property
    def _prompt(self) -> str:
        """The prompt with its version: to another question there is another answer."""
        try:
            from wakebook.models import prompt

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
            name: Answer(kept[key], f"{'YES' if kept[key] else 'NO'} (asked before)")
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
        from wakebook.capture.secrets import redact

        shown = redact(message[: 20 * MESSAGE])[0][:MESSAGE]  # its beginning, without secrets
        playbook = f"{topic.name}: {topic.about[:DESCRIPTION]}"
        try:
            said = self._models.begin("gate", message=shown, playbook=playbook)
        except ModelError as error:
            return Answer(None, f"no answer: {error}")
        word = "".join(char if char.isalpha() else " " for char in said).upper().split()[:1]
        if word not in (["YES"], ["NO"]):
            problem = f"neither YES nor NO: {said[:40]!r}"
            self._home.trace("failure", where="gate", error=f"{topic.name}: {problem}")
            return Answer(None, problem)
        return Answer(word == ["YES"], word[0])

    def _key(self, message: str, topic: Topic) -> str:
        asked = (message[:MESSAGE], topic.name, topic.about[:DESCRIPTION])
        parts = (self._models.name("cheap"), self._prompt, *asked)
        return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:24]

    def _answers(self) -> dict[str, bool]:
        if self._kept is None:
            self._kept = {}
            with suppress(OSError, ValueError):
                read = loads((self._home.cache / GATES).read_bytes())
                if isinstance(read, dict):
                    self._kept = {key: value is True for key, value in read.items()}
        return self._kept

    def _keep(self, news: dict[str, bool]) -> None:
        kept = self._answers()
        kept.update(news)
        for old in list(kept)[: max(0, len(kept) - KEPT)]:
            kept.pop(old, None)
        with suppress(OSError):  # a full disk: it is asked again
            self._home.replace(self._home.cache / GATES, json.dumps(kept))


def quick_gate(opened: Opened) -> Gate:
    """Asks the cheap model, and not for long: an agent waits."""
    config, seconds = opened.config, opened.config.topics.gate_seconds
    settings = config.models.with_(timeout_seconds=seconds, attempts=1)
    models = partial(opened.models_with, config.with_(models=settings))
    return Gate(opened.home, models, seconds)
