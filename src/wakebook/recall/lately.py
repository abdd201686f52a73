"""Lately: what the user has said in a project and Wakebook did not keep as an entry.

An entry needs a sentence that is surely worth keeping. Where the same project goes on, less will
do: a session is told what is likely to matter there, in the user's words, the newest first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from wakebook.learn.phrases import cues, lower, pattern
from wakebook.learn.select.extractor import unmeant
from wakebook.learn.select.said import OF_CHANGE, read
from wakebook.learn.select.speech import Sentence, fiction, sentences
from wakebook.learn.select.worth import worthy
from wakebook.recall.gate import forms
from wakebook.recall.stale import Utterance
from wakebook.recall.texts import in_confidence

MOST = 40  # messages that are looked at
LIKELY = -0.28  # how far below the threshold of an entry a sentence may be ...
CHANGING = -0.6  # ... that gives something another value
LEAST = 3  # words
_HIDDEN = re.compile("[\u200b\u200c\u2060\ufeff\u202a-\u202e\u2066-\u2069]")  # nobody types them
_OF_ONESELF = re.compile(r"\bthe user\b", re.IGNORECASE)  # nobody speaks of himself like that


def lately(said: Sequence[Utterance]) -> Iterator[tuple[Utterance, str]]:
    """The sentences that state something, of the newest messages first, each with the one before it
    if it cannot be understood alone."""
    stories = {one.talk for one in said if fiction(one.text)}
    newest = sorted(said, key=lambda one: (one.at, one.turn), reverse=True)
    for one in newest[:MOST]:
        if one.talk in stories or in_confidence(one.text) or _HIDDEN.search(one.text):
            continue
        own = sentences(one.text)
        for sentence, worth in zip(own, worthy(own) if own else (), strict=True):
            changes = read(sentence.text).cues & OF_CHANGE - {"ends"}
            if worth >= (CHANGING if changes else LIKELY) and _states(sentence):
                refers = lower(cues.REFERS).match(sentence.text.lower())
                yield one._replace(text=sentence.text), sentence.before if refers else ""


def _states(sentence: Sentence) -> bool:
    """Whether it is no question, no order and no remark on the way."""
    text = sentence.text
    if (
        _OF_ONESELF.search(text)
        or sentence.asked
        or text.endswith(":")
        or len(text.split()) < LEAST
        or unmeant(text)
    ):
        return False
    return not any(pattern(form).search(text) for form in (forms.ORDER, forms.HOW))
