"""Words: from text to the terms that are indexed and looked up.

A term is a word in lower case, cut to its stem in the language of the text, without
accents, and with the language if that is not English. Scripts that are written without
spaces (Chinese, Japanese, Thai, ...) and Hangul give pairs of characters, and every character
for itself. `camelCase` and `snake_case` give their parts and the whole. Nothing in a question
is syntax: whatever stands in it is cut into terms, too.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

VERSION = "2"  # part of the index's fingerprint
SEPARATOR = "\x1f"  # between a stem and its language
LONGEST = 64  # characters of a term; the rest of a longer word is dropped
KEPT_STEMS = 100_000

# Indic letters with their signs, which \w would cut at every sign; and combining marks
_MARKS = "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0963\u0966-\u0dff"
_UNSPACED = (
    "\u0e00-\u0e4f\u0e5a-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # kana, Han
    "\uac00-\ud7af\U00020000-\U0003134f"  # Hangul, rare Han
)
_PLAIN = re.compile(r"[a-z0-9]+(?:'[a-z0-9]+)*")
# apply_voucher, worker.py, 2026-11-01; possessive, or a long word would take for ever
_NAMES = re.compile(r"(?<![a-z0-9])[a-z0-9]++(?:[_./-][a-z0-9]++)++")
_IS_CAMEL = re.compile(r"[a-z][A-Z]")
_SCRIPTS = (  # beginning and end of a script's letters, and the language of most texts in it
    ("\u0370", "\u03ff", "greek"),
    ("\u0400", "\u04ff", "russian"),
    ("\u0531", "\u0587", "armenian"),
    ("\u0600", "\u06ff", "arabic"),
    ("\u0900", "\u097f", "hindi"),
    ("\u0b80", "\u0bff", "tamil"),
)


# Compiled when they are first needed: a question in plain English needs none of them, and
# compiling them takes longer than answering it.
compiled = cache(re.compile)
_SPACED = rf"(?:(?![{_UNSPACED}])(?:[^\W_]|[{_MARKS}]))+"
_ANY = rf"[{_UNSPACED}]+|{_SPACED}(?:'{_SPACED})*"
_CAMEL, _CAMEL_PART = r"\b[A-Za-z]*[a-z][A-Z][A-Za-z0-9]*\b", r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+"
_ELISION = r"(?:[cdjlmnst]|qu|jusqu|lorsqu|un|all|dall|dell|nell|sull)'(?=.{2})"
_stems: dict[str, dict[str, str]] = {}
_stemmers: dict[str, Callable[[str], str]] = {}


class AskedWord(NamedTuple):
    """One word of a question: the terms that it may stand under, and whether it matters."""

    word: str
    terms: tuple[str, ...]
    common: bool = False  # a stop word
    weight: float = 1.0


def tokens(text: str) -> list[str]:
    """The words of a text, then the parts of camelCase and the whole of dotted names."""
    parts = _camel_parts(text) + _NAMES.findall(text.lower())
    found = in_order(text)
    return found + parts if parts else found


def in_order(text: str) -> list[str]:
    """The words of a text in lower case, and runs of characters written without spaces."""
    if text.isascii():
        found: list[str] = _PLAIN.findall(text.lower())
    else:
        folded = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
        found = compiled(_ANY).findall(folded)
    return found


def has_camel(text: str) -> bool:
    return _IS_CAMEL.search(text) is not None


def _camel_parts(text: str) -> list[str]:
    if not has_camel(text):
        return []
    names, parts = compiled(_CAMEL).findall(text), compiled(_CAMEL_PART)
    return [part.lower() for name in names for part in parts.findall(name) if len(part) > 1]


def is_unspaced(word: str) -> bool:
    """Whether a token is a run of characters that are written without spaces."""
    return not word.isascii() and compiled(f"[{_UNSPACED}]").match(word) is not None


def language(words: Iterable[str]) -> str:
    """The language of a text, by its script or its stop words. English if nothing tells."""
    votes: dict[str, int] = {}
    for word in words:
        for name in LANGUAGES.get(word, ()):
            votes[name] = votes.get(name, 0) + 1
        if not word.isascii():
            for first, last, name in _SCRIPTS:
                if first <= word[0] <= last:
                    votes[name] = votes.get(name, 0) + 1
    if not votes:
        return "english"
    best = max(votes, key=votes.__getitem__)
    return "english" if votes.get("english", 0) == votes[best] else best


def terms(words: Iterable[str], name: str) -> list[str]:
    """What the words of a text in this language are indexed under, in order."""
    kept = _stems.setdefault(name, {})
    found: list[str] = []
    for word in words:
        stem = kept.get(word)
        if stem is not None:
            found.append(stem)
        elif is_unspaced(word):
            found += word
            found += [word[at : at + 2] for at in range(len(word) - 1)]
        else:
            found.append(_stem(word, name, kept))
    return found


def _stem(word: str, name: str, kept: dict[str, str]) -> str:
    stemmer = _stemmers.get(name)
    if stemmer is None:
        from Stemmer import Stemmer

        stemmer = _stemmers[name] = Stemmer(name, 0).stemWord
    if len(kept) >= KEPT_STEMS:
        kept.clear()
    stem = stemmer(compiled(_ELISION).sub("", word, count=1) if "'" in word else word)
    if not stem.isascii():
        plain = unicodedata.normalize("NFKD", stem)
        stem = "".join(char for char in plain if not "\u0300" <= char <= "\u036f")
    stem = stem[:LONGEST]
    if name != "english":  # or a German stem would be found in English texts
        stem += f"{SEPARATOR}{name}"
    kept[word] = stem
    return stem


def plain(term: str) -> str:
    """A term as it may stand in a text, without its language."""
    return term.partition(SEPARATOR)[0]


def asked(text: str, languages: Iterable[str]) -> list[AskedWord]:
    """The words of a question, each once, with their terms in the languages of the index."""
    words = list(dict.fromkeys(tokens(text)))
    own = language(words)
    names = tuple(dict.fromkeys((own, "english", *languages)))
    return [one for word in words for one in _asked(word, own, names)]


@lru_cache(maxsize=10_000)
def _asked(word: str, own: str, names: tuple[str, ...]) -> tuple[AskedWord, ...]:
    if is_unspaced(word):
        pairs = [word[at : at + 2] for at in range(len(word) - 1)] or [word]
        return tuple(AskedWord(pair, (pair,)) for pair in dict.fromkeys(pairs))
    variants = dict.fromkeys(term for name in names for term in terms((word,), name) if term)
    (english,) = terms((word,), "english")
    variants |= dict.fromkeys(_short().get(english, ()))
    common = word in STOP_WORDS.get(own, ())
    return (AskedWord(word, tuple(variants), common, WEAK_WORDS.get(word, 1.0)),)


@cache
def _short() -> dict[str, list[str]]:
    """English terms that people cut short -> the whole ones, and the other way round."""
    found: dict[str, list[str]] = {}
    for pair in _DATA["short"].split():
        one, other = terms(pair.split("="), "english")
        found.setdefault(one, []).append(other)
        found.setdefault(other, []).append(one)
    return found


# Words that say little, by language: to tell languages apart, and to ask without them. Those that
# say when or how something is asked, rather than what, count less.
_DATA = json.loads(Path(__file__).with_name("words.json").read_text(encoding="utf-8"))
STOP_WORDS: dict[str, frozenset[str]] = {
    name: frozenset(words.split()) for name, words in _DATA["stop"].items()
}
WEAK_WORDS: dict[str, float] = {
    word: float(weight) for weight, words in _DATA["weak"].items() for word in words.split()
}
LANGUAGES: dict[str, tuple[str, ...]] = {}  # a stop word -> the languages that have it
for _language, _words in STOP_WORDS.items():
    for _word in _words:
        LANGUAGES[_word] = (*LANGUAGES.get(_word, ()), _language)
