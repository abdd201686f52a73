"""What makes a statement specific: names, numbers, dates and places.

Names are capitalised words that are not common words; "he" and "she" stand for the last
one that was named in the same message.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from wakebook.base import words
from wakebook.base.words import listed
from wakebook.learn.select import sentences as vocabulary
from wakebook.learn.select.sentences import VERB, pattern

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


def names_in(text: str) -> list[str]:
    return [name for name in _NAME.findall(text) if _proper(name)]


def _proper(word: str) -> bool:
    return word not in _COMMON and not word.endswith(("ly", "thing", "body"))


def leads(text: str) -> bool:
    """Whether the text starts with a name."""
    match = _NAME.match(text)
    return match is not None and _proper(match.group())


def specific(text: str) -> bool:
    """Whether the text, read as the end of a sentence, holds a name, number, date or place."""
    return bool(names_in(text)) or pattern(_SPECIFIC).search(text) is not None


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


# -----------------------------------------------------------------------------
# Pronouns: what "her", "it" and "them" stand for, so that an entry means something alone.
#
# Persons are the last name that was said; things are a noun phrase of the words just before.
# What cannot be resolved is shown with the sentence that it points back to, or is dropped.

_DETERMINER = listed(
    """the my our a an his her their some all both two three four five six seven eight nine ten
    eleven twelve"""
)
_MANY = listed("two three four five six seven eight nine ten eleven twelve all both some")
_END = listed(
    """to that which who and or but in on at by with is are was were has have had will can must
    should would could so because since if as than then not i we you he she it they them this up
    off out over back from until before after again already still now yesterday today tomorrow
    first last too also just only myself there here"""
)
_HER = (
    r"\bher\b(?=$|[.,;:!?)]| (?:the|a|an|my|our|to|for|about|on|in|at|by|before|and|if|that"
    r"|back|\w+day)\b)"
)
_OBJECT = (
    r"(?<![\w'])(?:it|them|those|that one|this one)(?=$|[.,;:!?)]| (?:to|for|up|off|on|in"
    r"|at|by|before|after|from|with|into|over|out|down|back|until|and|again|tomorrow|today|next"
    r"|some|myself|properly|reviewed|done|\w+day)\b)"
)


_MODAL = f"(?:{VERB}|could|would|should|might|may|does|did|and)"
_NAMED = re.compile(
    rf"(?:(?<=[a-z,;:] )|(?<=[Dd]r )|(?<=M[rs] ))[A-Z][a-zà-öø-ÿ]{{2,}}(?![\w'])"
    rf"|(?<![\w'])[A-Z][a-zà-öø-ÿ]{{2,}}(?=(?:'s)?,? {_MODAL}\b|'s \w)"
)


def person(text: str, name: str) -> str:
    """With "he", "him" and the like replaced by the last name."""
    if not name or name in text:
        return text
    text = pattern(r"^(?:he|she)(?='ll\b|'d\b)").sub(name, text)
    text = pattern(
        r"^(?:(?:he|she)(?:'s| is)|shes|hes)\b(?= (?:\w+ing|the|a|an|my|our|on|in|at"
        r"|off|back|away|out|called|allergic)\b)"
    ).sub(f"{name} is", text)
    text = (
        pattern(r"^(?:he|she)'s\b").sub(f"{name} has", text)
        if pattern(r"^(?:he|she)'s (?:got|been|\w+ed)\b").match(text)
        else pattern(r"^(?:he|she)'s\b").sub(f"{name} is", text)
    )
    text = pattern(r"^(?:he|she)\b").sub(name, text)
    text = pattern(r"^(?:his|her)\b(?= \w)").sub(_owner(name), text)
    spot = pattern(rf"\bhim\b|{_HER}").search(text)
    if not spot or last_name([text[: spot.start()]]):
        return text  # somebody who is named in the same clause
    return text[: spot.start()] + name + text[spot.end() :]


def thing(text: str, before: Sequence[str]) -> str:
    """With the first "it" or "them" that is an object replaced by what stood before."""
    spot = pattern(_OBJECT).search(text)
    if not spot and before and _named(before[-1]):
        that = r"(?<=\w )(?:that|this)(?=$| (?:before|by|on|to|for|next|tomorrow)\b)"
        spot = pattern(that).search(text)
        if spot:
            return text[: spot.start()] + _lowered(before[-1]) + text[spot.end() :]
    if not spot or spot.start() == 0:
        return text
    start = text[: spot.start()].rstrip()
    if pattern(r"\b(?:that|which|who|where|if|when|because)\b").search(start):
        return text
    if pattern(r".*\b(?:for|about|of|with|on|in|at|by|from|keep|make)$").match(start):
        return text
    many = spot.group().lower() in ("them", "those")
    for said in reversed(before):
        phrase = _phrase(said, many)
        if phrase and phrase.lower() not in text.lower():
            return text[: spot.start()] + _lowered(phrase) + text[spot.end() :]
    return text


def _named(text: str) -> bool:
    """Whether a text is only the name of a thing: "the payroll journal"."""
    tokens = text.split()
    return tokens[0].lower() in _DETERMINER and not any(_verb(word.lower()) for word in tokens)


def _lowered(phrase: str) -> str:
    first = phrase.partition(" ")[0]
    return phrase[:1].lower() + phrase[1:] if first.lower() in _DETERMINER else phrase


def points(text: str) -> bool:
    """Whether a text points back to something."""
    return pattern(rf"{_OBJECT}|\b(?:one|ones|there|him|her|it)\b").search(text) is not None


def telling(text: str) -> bool:
    """Whether there is any word in a text that says something."""
    return any(term.isalpha() for term in words.terms(text) - _THIN)


def vague(text: str) -> bool:
    """Whether a text means nothing without the words around it."""
    back = pattern(rf"^(?:it|that|this|they|he|she|these|those|there)\b|{_OBJECT}").search(text)
    terms = words.terms(text) - _THIN
    if back:
        return len(terms) < 3
    valued = len(words.terms(text)) > 1 and pattern(r"\d").search(text)
    return not valued and not any(term.isalpha() or len(term) > 4 for term in terms)


_THIN = words.terms(
    """something anything everything nothing stuff call take back make put start stop here look try
    know come want like good new way well time bit lot first next last now sort right able end
    monday tuesday wednesday thursday friday saturday sunday week month year weekend morning evening
    noon latest early late soon"""
)


def _owner(name: str) -> str:
    return f"{name}'s"


def _phrase(text: str, many: bool) -> str:
    """The first noun phrase with the number that is asked for."""
    tokens = re.findall(r"[\w'’&/.+-]+|[,;:()]", text)[:40]
    for place, token in enumerate(tokens):
        if token.lower() in _DETERMINER or token.endswith("'s") or token.isdigit():
            phrase = _tail(tokens, place)
            if len(phrase) > 1 and _many(phrase) == many and phrase[-1] != "list":
                return " ".join(phrase)
    return ""


def _tail(tokens: Sequence[str], start: int) -> list[str]:
    found = [tokens[start]]
    for place in range(start + 1, min(start + 8, len(tokens))):
        token = tokens[place]
        low = token.lower()
        joins = low in ("of", "for", "about", "without") and len(found) > 1
        if not joins and (low in _END or not token[0].isalnum() or _verb(low)):
            break
        ends = token.endswith("'s") and place + 1 < len(tokens) and _after_is(tokens[place + 1])
        found.append(token.removesuffix("'s") if ends else token)
        if ends:
            break
    while found and found[-1].lower() in ("of", "for", "about", "without", *_DETERMINER):
        found.pop()
    return found


def _after_is(token: str) -> bool:
    """Whether "'s" before this word means "is"."""
    return token.lower() in ("a", "an", "the", "not", "so", "too", "still", "done", "on", "in")


def _verb(word: str) -> bool:
    return pattern(VERB).fullmatch(word) is not None


def _many(phrase: Sequence[str]) -> bool:
    head = phrase[0].lower()
    cut = [n for n, word in enumerate(phrase) if word.lower() in ("of", "for", "about", "without")]
    noun = phrase[cut[0] - 1 if cut else -1].lower()
    plural = noun.endswith("s") and not noun.endswith(("ss", "us", "is", "'s"))
    return head in _MANY or (head.isdigit() and head != "1") or plural


def last_name(texts: Sequence[str]) -> str:
    """The person who was named last; a capital at the start of a sentence needs a verb."""
    for text in reversed(texts):
        found = [one for one in _NAMED.findall(text) if names_in(" " + one)]
        if found:
            return str(found[-1])
    return ""
