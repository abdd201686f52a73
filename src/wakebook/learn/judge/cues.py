"""The signs of an injection: words that address the recorder or reader of the conversation.

A cue has points, and two points close together are enough. What another person wrote (a quote, a
fence, a comment, a pasted page) has no business with machines, so an address to one is worth two
there and little in a user's own words: nobody forges "remember that I am allergic to nuts". A
cue that forges a role or an end of the data also spoils what follows it.

They are data, in signs.json: first in English (forged roles and ends of the data; orders; words
that no human is told, in place only in a user's own words; an agent's report of an injection;
addresses to machines; forged memories), then in German, French, Spanish, Italian, Portuguese,
Russian and CJK. So are the signs of harm, which `verdict` looks for in a draft.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from wakebook.learn.select.phrases import Phrases, lazy

_FLAGS = re.IGNORECASE | re.MULTILINE
_signs = Phrases(Path(__file__).with_name("signs.json"))


class Cue(NamedTuple):
    name: str
    hints: tuple[str, ...]  # one of them is in every text that the pattern fits, in lower case
    found: re.Pattern[str]
    points: tuple[int, int, int]  # in what the speaker says, seems to paste, and quotes
    spreads: bool = False


class Harm(NamedTuple):
    reason: str
    found: re.Pattern[str]
    always: bool  # or only if the user did not say it


@cache
def cues() -> tuple[Cue, ...]:
    return tuple(
        Cue(
            one["name"],
            tuple(_signs.text([one["hints"]]).split("|")),
            _any(one["texts"]),
            one["points"],
            one.get("spreads", False),
        )
        for one in (*_signs.raw["ENGLISH"], *_signs.raw["ABROAD"])
    )


@cache
def harms() -> tuple[Harm, ...]:
    found = _signs.raw["HARMS"]
    return tuple(Harm(one["reason"], _any(one["texts"]), one["always"]) for one in found)


def _any(texts: list[list[str]]) -> re.Pattern[str]:
    return lazy("|".join(map(_signs.text, texts)), _FLAGS)
