"""Heard: what the user has stated that is not kept as an entry, and may be changed later."""

from collections.abc import Iterable

import msgspec

from wakebook.capture.transcript import Message
from wakebook.learn.extract import Heard
from wakebook.learn.select.speech import Sentence, alone, fiction, sentences
from wakebook.learn.select.worth import changeable, kind_of


def live(messages: Iterable[Message]) -> Iterable[Message]:
    return (one for one in messages if not one.branch and one.role in ("user", "agent"))


def stated(messages: Iterable[Message]) -> Iterable[Heard]:
    """What the user states in these messages that may change later."""
    for message in live(messages):
        if message.role == "user":
            if fiction(message.text):
                return
            for sentence in sentences(message.text):
                text = alone(sentence)
                if text and changeable(text, kind_of(sentence)):
                    yield heard(message, sentence, text)


def untold(stated: Iterable[Heard], told: Iterable[str]) -> Iterable[Heard]:
    """What entries do not tell."""
    known = "\n".join(told)
    for one in stated:
        before = one.content.removesuffix(one.said).strip()
        if one.said not in known:
            follows = bool(before) and before in known
            yield msgspec.structs.replace(one, content=one.said) if follows else one


def heard(message: Message, sentence: Sentence, text: str) -> Heard:
    return Heard(content=text, said=sentence.text, source=message.id, turn=message.turn)
