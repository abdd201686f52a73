"""How an entry is worded: a clean sentence, in the speaker's words, short enough."""

from __future__ import annotations

import re

from wakebook.base.words import listed
from wakebook.learn.select import cues
from wakebook.learn.select.sentences import pattern

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
    match = pattern(cues.REASON).search(text)
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
