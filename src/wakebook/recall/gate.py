"""The gate: whether anything that was found is really about the message.

Most messages are about nothing that is remembered: greetings, thanks, "go on", sums, what anybody
can look up, plain requests for code. They share words with the memory all the same, so what counts
is how rare the shared words are in the language at large (a small memory cannot tell), how much of
the message they are, how near the two lie in meaning, and the form of the message: one that speaks
of "our" or "my" needs little, one that asks how to do something needs a thing that the memory
knows by name. bench/told.py measures it; docs/decisions.md has the figures.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import log2
from pathlib import Path
from typing import NamedTuple

from wakebook.learn.phrases import Phrases, pattern
from wakebook.learn.select.speech import hosted
from wakebook.models.builtin import Builtin
from wakebook.store import words
from wakebook.store.hits import Passage
from wakebook.store.question import Question

forms = Phrases(Path(__file__).with_name("gate.json"))

OWN, PLAIN, ORDER = 0.15, 0.3, 0.45  # the evidence that a message of this form needs
COMMONEST, RAREST = 900, 29_500  # ranks of words in the built-in vocabulary
LEAST = 0.1  # what the commonest word weighs; one that is not in the vocabulary: 1
RARE = 0.75  # from here on a word is a name or a term, not an ordinary word
COVERED, NEAR = 0.75, 0.6  # how much the share of the words tells, and the nearness in meaning
FAR = 0.35  # cosine similarity that means nothing
LIKELY = 0.4  # of that evidence: what else may be told, once something has all of it
BESIDE = 0.5  # of the best one's score, without any
FLOOR = 0.45  # of the evidence, if the words that are shared say next to nothing
_DIGIT = re.compile(r"\d")
_CODE = re.compile(r"\d{3,4}s")  # "those 429s"
_NUMBER = re.compile(r"[\d.,:/%-]+\w?")
_SMALL_TALK = frozenset(
    """a again ahead all alright and brb brill bye carry cheers continue cool day do done evening
    fine go good goodbye got great haha hello hey hi hm hmm how is it it's its just k kk later
    lol lot love lovely merci moment morning much nice night no nope np nvm of ok okay on one
    perfect please proceed right sec see so sounds sup sure ta test testing thank thanks that
    that's the then there thx ty very wonderful yeah yep yes yo you your yup
    abend alles danke dir euch feierabend gut guten hallo ja klar moin morgen na nein prima schön
    schönen super tag tschüss weiter
    bien bonjour coucou d'accord merci oui non salut soir
    adiós bueno buenos buenas eso es gracias hola muchas noches días sí tardes todo vale""".split()
)
_ENDINGS = ("'s", "s", "es", "ed", "d", "ing")


class Word(NamedTuple):
    place: int  # in the question: the bit of `Passage.holds`
    text: str
    weight: float


class Gate:
    """What a message needs, and what a passage has."""

    def __init__(self, question: Question) -> None:
        self._message, self._low = question.text, question.text.casefold()
        self.words = [
            Word(place, word.word, weight(word.word))
            for place, word in enumerate(question.words)
            if not word.common and word.word.removesuffix("'s") not in forms.CHAT
            if not _NUMBER.fullmatch(word.word) or _CODE.fullmatch(word.word)
        ]
        self._total = sum(word.weight for word in self.words)
        self._knows = bool(question.speaker or question.subjects)  # it names someone or something
        self.recalls = self._has(forms.RECALLS)  # it asks how something was
        self.asks_state = self._has(forms.YET)  # it asks whether something is done
        self._dated = bool(question.dates) and self.recalls
        self.need = self._need()
        self.sure: dict[int, float] = {}  # of what was found, by id

    def _need(self) -> float | None:
        """The evidence that it takes; None for a message that is about nothing remembered."""
        mine = self._has(forms.MINE) and not self._has(forms.HOW)
        ours = self._knows or mine or self._has(forms.OURS)
        general = self._has(forms.ARITHMETIC) or self._has(forms.KNOWLEDGE)
        if hosted(self._message) or self._has(forms.PARTING) or (general and not ours):
            return None
        if self._dated:
            return 0.0
        if not self.words:
            return None
        if ours:
            return OWN
        return ORDER if self._has(forms.ORDER) or self._has(forms.HOW) else PLAIN

    def _has(self, form: str) -> bool:
        return pattern(form).search(self._low) is not None

    def let_in(self, found: Sequence[Passage]) -> list[Passage]:
        """What may be told of what was found: nothing, unless something of it is surely about the
        message; then what is likely to be, what ranks near the best, and the answers."""
        need = self.need
        sure = {one.id: self.evidence(one) for one in found} if need is not None else {}
        self.sure = sure
        if need is None or max(sure.values(), default=0.0) < need:
            return []
        near = BESIDE * max(one.score for one in found)
        answers = {
            (one.path, one.row.place + after): bool(one.row.asks)
            for one in found
            if sure[one.id] >= need and one.row.turn
            for after in range(1, 2 + one.row.asks)
        }
        return [
            one
            for one in found
            if not self._is_over(one)
            if sure[one.id] >= LIKELY * need
            or one.score >= near
            or (one.row.turn and _answers(one, answers))
        ]

    def _is_over(self, passage: Passage) -> bool:
        """Whether it is done, and the message asks what is left."""
        return passage.row.status == "done" and self._has(forms.LEFT)

    def why(self, passage: Passage) -> str:
        """Why a passage was not let in, with how sure it was and had to be."""
        if self.need is None:
            return "nothing is told to such a message"
        if self._is_over(passage):
            return "done, and not left"
        return f"not surely about it: {self.sure[passage.id]:.2f} of {self.need:.2f}"

    def evidence(self, passage: Passage) -> float:
        """From 0 to 1: how sure it is that a passage is about the message."""
        shared = [word for word in self.words if passage.holds >> word.place & 1]
        said = sum(word.weight for word in shared)
        covers = said / self._total if self._total else 0.0
        near = max(0.0, (passage.cosine - FAR) / (1 - FAR))
        worth = (1 - (1 - COVERED * covers) * (1 - NEAR * near)) * min(1.0, FLOOR + said)
        return worth if self.need != ORDER or self._named(shared) else worth / 2

    def _named(self, shared: Sequence[Word]) -> bool:
        """Whether a shared word is a name, or a rare one that stands for a certain thing."""
        rare = [word.text for word in shared if word.weight >= RARE]
        names = {
            text.strip("\"'([{").casefold()
            for text in self._message.split()[1:]
            if text[:1].isupper()
        }
        return any(
            any(name.startswith(text) for name in names)
            or re.search(
                rf"\b(?:the|this|that|der|die|das|el|la|le) (?:[\w-]+ )?{re.escape(text)}",
                self._low,
            )
            for text in rare
        )


def _answers(passage: Passage, answers: Mapping[tuple[str, int], bool]) -> bool:
    """Whether it follows a question, or with a number something else that is about the message."""
    asked = answers.get((passage.path, passage.row.place))
    return asked is not None and (asked or _DIGIT.search(passage.text) is not None)


def is_chat(text: str) -> bool:
    """Whether a text says nothing: "You're welcome!", "thanks a lot, great work"."""
    said = words.in_order(text)
    stop = words.STOP_WORDS["english"]
    return all(word in forms.CHAT or word in stop for word in said)


def is_small_talk(text: str) -> bool:
    """Whether a message says nothing that anything could be found for: "thanks!", "ok, go on"."""
    said = words.in_order(text)
    return 0 < len(said) <= 6 and all(word in _SMALL_TALK for word in said)


@lru_cache(4096)
def weight(word: str) -> float:
    """How rare a word is in the language at large, from 0.1 to 1."""
    if word in forms.COMMON:  # of languages that the vocabulary does not know
        return LEAST
    rank = _words().rank(word)
    for ending in _ENDINGS:
        if rank is None and word.endswith(ending):
            rank = _words().rank(word.removesuffix(ending))
    if rank is None:
        return 1.0
    span = log2(RAREST - COMMONEST) - 7  # the first 128 weigh the same
    return min(1.0, max(LEAST, (log2(max(rank - COMMONEST, 1)) - 7) / span))


@lru_cache(1)
def _words() -> Builtin:
    return Builtin()
