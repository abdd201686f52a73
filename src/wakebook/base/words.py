"""Terms for comparing two texts: lower-case stems without the common words."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from pathlib import Path


def listed(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WORD = re.compile(r"[^\W_][\w.+#'’-]*")
_DATA = json.loads(Path(__file__).with_name("words.json").read_bytes())
_STOP = listed(" ".join(_DATA["stop"]))  # words that say nothing about what a text is about
_IRREGULAR: dict[str, str] = _DATA["irregular"]  # forms, and a few words that mean the same


@lru_cache(maxsize=8192)  # the entries that new words are compared with come again and again
def terms(text: str) -> frozenset[str]:
    found = set()
    for match in _WORD.finditer(text.lower().replace("’", "'")):
        word = match.group().rstrip(".'-").removesuffix("'s").removesuffix("n't")
        if word and word not in _STOP:
            found.add(stem(word))
    return frozenset(found)


@lru_cache(maxsize=4096)
def stem(word: str) -> str:
    """A crude stem: enough that "renewed", "renewing" and "renew" are the same."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if any(letter.isdigit() for letter in word) or len(word) < 4:
        return word
    for ending, least in (("ies", 5), ("ing", 6), ("ed", 5), ("es", 5), ("s", 4)):
        if len(word) >= least and word.endswith(ending) and not word.endswith("ss"):
            word = word[: -len(ending)] + ("y" if ending == "ies" else "")
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "sle":
        word = word[:-1]
    return word.rstrip("e") if len(word) > 4 else word


def alike(one: frozenset[str], other: frozenset[str]) -> float:
    """How much of both is shared: 1 is the same terms, 0 is none."""
    return len(one & other) / len(one | other) if one and other else 0.0
