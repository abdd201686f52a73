"""How an entry is worded: a clean sentence that means something alone.

The speaker's words are kept, in the third person. Names are capitalised words that are not common
words; persons who are pointed at ("her") are the last name that was said, things ("it", "them") a
noun phrase of the words just before. What cannot be resolved is shown with the sentence that it
points back to, or is dropped. A statement is specific if it holds a name, number, date or place.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from wakebook.base import words
from wakebook.base.words import listed
from wakebook.learn.select.phrases import pattern, phrases

LENGTH = 280
_ADVERB = listed(
    """always usually normally often only mostly currently still also just now generally never
    really already actually recently finally both typically mainly ever no longer"""
)
_SAME = listed(  # verbs that have no ending in the third person
    """can could will would must may might cannot can't won't was had did wouldn't found saw knew
    thought felt made came went told said ran wrote kept spent ate drove flew won took left quit got
    bought sold met lost broke grew became been used put set let"""
)
_FORMS = {
    "am": "is",
    "have": "has",
    "do": "does",
    "don't": "doesn't",
    "go": "goes",
    "haven't": "hasn't",
    "were": "was",
    "study": "studies",
    "fly": "flies",
    "rather": "would rather",
}
_START = (
    (r"(?:i'm|im|i am)\b", "User is"),
    (r"i've\b", "User has"),
    (r"i'd rather\b", "User would rather"),
    (r"i'd\b", "User would"),
    (r"i'll\b", "User will"),
    (r"my\b", "User's"),
)
_INSIDE = (
    (r"\bi'm\b|\bi am\b", "they are"),
    (r"\bi've\b", "they have"),
    (r"\bi'll\b", "they will"),
    (r"\bi'd\b", "they would"),
    (r"\bi\b", "they"),
    (r"\bmyself\b", "themselves"),
    (r"\bmy\b", "their"),
    (r"\bmine\b", "theirs"),
    (r"\bme\b", "them"),
)


def sentence(text: str) -> str:
    """First letter upper case, no marks at the end, cut at a clause if it is long."""
    text = re.sub(r",? (?:btw|by the way|lol|haha)\b", "", " ".join(text.split()), flags=re.I)
    text = text.strip(" ,;:-–—")
    if len(text) > LENGTH:
        cut = max(text.rfind(mark, 80, LENGTH) for mark in (", ", "; ", ": ", " - ", " and "))
        text = text[: cut if cut > 0 else LENGTH - 1].rstrip(" ,;:-–—") + ("" if cut > 0 else "…")
    text = re.sub(r"(?:,? (?:though|tho|lol|haha|btw))+$", "", text.rstrip(".!… ")) or text
    while text and not (text[-1].isalnum() or text[-1] in "%)\"'”’+#/€$£…?°"):
        text = text[:-1].rstrip()
    text = re.sub(r"(\[redacted:[\w-]+)$", r"\1]", text)  # which lost its bracket as a mark
    return text[:1].upper() + text[1:]


_OTHERS = (
    (r"\bi'm\b|\bi am\b", "the user is"),
    (r"\bi've\b", "the user has"),
    (r"\bi'll\b", "the user will"),
    (r"\bi'd\b", "the user would"),
    (r"\bi\b", "the user"),
    (r"\bmyself\b", "themselves"),
    (r"\bmy\b", "the user's"),
    (r"\bmine\b", "the user's"),
    (r"\bme\b", "the user"),
)


def about_user(text: str) -> str:
    """First person singular turned to the third: "I prefer uv" -> "User prefers uv"."""
    for first, subject in _START:
        match = pattern(first).match(text)
        if match:
            return sentence(subject + inside(text[match.end() :]))
    match = pattern(r"i\s+").match(text)
    if not match:
        return sentence(about_others(text))
    head: list[str] = []
    rest = text[match.end() :].split(" ")
    while len(rest) > 1 and rest[0].lower() in _ADVERB:
        head.append(rest.pop(0))
    return sentence(" ".join(["User", *head, _third(rest[0]), inside(" ".join(rest[1:]))]))


def inside(text: str) -> str:
    """First person turned to the third, where the user is the subject."""
    return _turned(text, _INSIDE)


def about_others(text: str) -> str:
    """First person turned to the third, where somebody else is the subject."""
    return _turned(text, _OTHERS)


def _turned(text: str, table: tuple[tuple[str, str], ...]) -> str:
    if not pattern(r"\b(?:i|i'm|my|me|mine|myself)\b").search(text):
        return text
    if table is _OTHERS:
        text = pattern(r"\bi ([a-z]+)\b(?! to be)").sub(_conjugated, text)
    for first, subject in table:
        text = pattern(first).sub(subject, text)
    return text


def _conjugated(match: re.Match[str]) -> str:
    return f"the user {match[1] if match[1] in _ADVERB else _third(match[1])}"


def reason(text: str) -> tuple[str, str]:
    """A choice and why: "X because Y" -> (X, Y)."""
    match = pattern(phrases.REASON).search(text)
    if not match or match.start() < 3:
        return text, ""
    return text[: match.start()], text[match.end() :]


def _third(verb: str) -> str:
    low = verb.lower()
    if low in _FORMS:
        return _FORMS[low]
    if low in _SAME or low.endswith("ed") or not re.fullmatch(r"[a-z]+", low):
        return verb
    if low.endswith(("s", "sh", "ch", "x", "z")):
        return low + "es"
    return low + "s"


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
    return bool(names_in(text)) or pattern(phrases.SPECIFIC).search(text) is not None


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
    spot = pattern(rf"\bhim\b|{phrases.HER}").search(text)
    if not spot or last_name([text[: spot.start()]]):
        return text  # somebody who is named in the same clause
    return text[: spot.start()] + name + text[spot.end() :]


def thing(text: str, before: Sequence[str]) -> str:
    """With the first "it" or "them" that is an object replaced by what stood before."""
    spot = pattern(phrases.OBJECT).search(text)
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
    return pattern(rf"{phrases.OBJECT}|\b(?:one|ones|there|him|her|it)\b").search(text) is not None


def telling(text: str) -> bool:
    """Whether there is any word in a text that says something."""
    return any(term.isalpha() for term in words.terms(text) - _THIN)


def vague(text: str) -> bool:
    """Whether a text means nothing without the words around it."""
    back = pattern(rf"^(?:it|that|this|they|he|she|these|those|there)\b|{phrases.OBJECT}").search(
        text
    )
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
    return pattern(phrases.VERB).fullmatch(word) is not None


def _many(phrase: Sequence[str]) -> bool:
    head = phrase[0].lower()
    cut = [n for n, word in enumerate(phrase) if word.lower() in ("of", "for", "about", "without")]
    noun = phrase[cut[0] - 1 if cut else -1].lower()
    plural = noun.endswith("s") and not noun.endswith(("ss", "us", "is", "'s"))
    return head in _MANY or (head.isdigit() and head != "1") or plural


def last_name(texts: Sequence[str]) -> str:
    """The person who was named last; a capital at the start of a sentence needs a verb."""
    for text in reversed(texts):
        found = [one for one in pattern(phrases.NAMED, 0).findall(text) if names_in(" " + one)]
        if found:
            return str(found[-1])
    return ""
