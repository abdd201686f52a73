"""Days: a date that a model names has to be one that somebody named, or could mean.

A model is told to write "on 13 March" for "next Friday", so a date may be new. But then somebody
must have spoken of time at all, or it is the day of the message itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import timedelta

from wakebook.capture.transcript import Message
from wakebook.derive.sift.grounds import MONTH

_DAY = re.compile(
    rf"\b\d{{4}}-\d\d-(\d\d)\b|\b(\d{{1,2}})(?:st|nd|rd|th|\.)?\s(?:of\s)?(?:{MONTH})\b"
    rf"|\b(?:{MONTH})\b\.?\s(\d{{1,2}})(?!\d|:)",
    re.IGNORECASE,
)
_RELATIVE = re.compile(
    r"\b(?:to(?:day|night|morrow)|yesterday|now|next|last|this|coming|following|previous|ago|later"
    r"|soon|week(?:s|end|ends|day|days)?|fortnight|days?|months?|years?|quarter|spring|summer|autumn"
    r"|fall|winter|christmas|easter|birthday|holidays?|mon|tue|tues|wed|thu|thurs|fri|sat|sun"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|mid|end|beginning|start|half"
    r"|\w*(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth"
    r"|teenth|twentieth|thirtieth))\b",
    re.IGNORECASE,
)


def days(text: str) -> list[int]:
    """The days of the month that a text names in full dates."""
    return [int(next(filter(None, found))) for found in _DAY.findall(text)]


def spoken_of(texts: Iterable[str]) -> bool:
    """Whether a day can be meant that was not named: "next Friday"."""
    return any(_RELATIVE.search(text) for text in texts)


def spoken_on(day: int, messages: Iterable[Message]) -> bool:
    """Whether it is the day on which one of the messages was said, or the one beside it."""
    said = [message.at for message in messages if message.at]
    return any(day == (at + timedelta(days=off)).day for at in said for off in (-1, 0, 1))
