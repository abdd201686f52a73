"""What makes a statement specific: names, numbers, dates and places.

Names are capitalised words that are not common words; "he" and "she" stand for the last
one that was named in the same message.
"""

from __future__ import annotations

import re

from wakebook.derive.rules import vocabulary
from wakebook.derive.rules.vocabulary import listed, pattern

_NAME = re.compile(r"(?<![\w'])[A-Z][a-zà-öø-ÿ]+(?:-[A-Z][a-zà-öø-ÿ]+)?(?!\w)")
_COMMON = listed(
    """The This That These Those There Then They And But Also Not Now Yes Yeah Okay Well Just What
    When Where Which Who Why How Can Could Would Will Should Shall May Might Must Does Did Has Have
    Had Are Was Were Our Your His Her Its Their For From With Without After Before Because Since
    While Until About Over Under Into Please Thanks Thank Hello Good Great Nice Cool Perfect Right
    Sure Fine Actually Maybe Perhaps Let Lets One Two Three All Any Some Each Every Only Still Here
    Hmm Sorry Wait Next Last First Second It In On At By To Of Or As An If So No My We He She You Me
    Do Is Be Go Ok Oh Ah Hi Hey Everything Nothing Something Anything Monday Tuesday Wednesday
    Thursday Friday Saturday Sunday January February March April June July August September October
    November December Indeed Otherwise However Instead Today Tomorrow Yesterday Once Both Neither
    Always Never Todo Note Update Remember Use Add Make Run Fix Write Users User"""
)
_SPECIFIC = (
    rf"\d|\b(?:{vocabulary.WEEKDAY}|{vocabulary.MONTH}|tomorrow|tonight"
    r"|next (?:week|month|year)|this (?:week|month|year)"
    r"|every (?:day|week|month|year|morning)|weekly|monthly|daily|noon|midnight|spring|summer"
    r"|autumn|winter|christmas|easter|two|three|four|five|six|seven|eight|nine|ten|dozen|hundred"
    r"|thousand|million|half)\b|(?<!\S)[~/][\w.-]+/?|\b[\w-]+\.[a-z]{2,4}\b"
)


def names(text: str) -> list[str]:
    return [name for name in _NAME.findall(text) if _proper(name)]


def _proper(word: str) -> bool:
    return word not in _COMMON and not word.endswith(("ly", "thing", "body"))


def leads(text: str) -> bool:
    """Whether the text starts with a name."""
    match = _NAME.match(text)
    return match is not None and _proper(match.group())


def specific(text: str) -> bool:
    """Whether the text, read as the end of a sentence, holds a name, number, date or place."""
    return bool(names(text)) or pattern(_SPECIFIC).search(text) is not None


def resolved(text: str, name: str, thing: str) -> str:
    """With a leading "he", "she" or "it" replaced by what it stands for."""
    match = pattern(r"(?:s?he)('s|s|'ll|'d)?\s+").match(text)
    if match and name:
        return _joined(name, match.group(1) or "", text[match.end() :])
    match = pattern(r"it('s|s|'ll)?\s+").match(text)
    if match and thing and not leads(thing) and specific(text[match.end() :]):
        return _joined(thing, match.group(1) or "", text[match.end() :])
    return text


def _joined(subject: str, short: str, rest: str) -> str:
    verb = {"'s": " is", "s": " is", "'ll": " will", "'d": " would"}.get(short.lower(), "")
    return f"{subject}{verb} {rest}"
