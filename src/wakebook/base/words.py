"""Terms for comparing two texts: lower-case stems without the common words."""

import json
import re
from collections.abc import Callable
from functools import cache, lru_cache
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
    for ending, least in (("ies", 5), ("ings", 8), ("ing", 6), ("ed", 5), ("es", 5), ("s", 4)):
        if len(word) >= least and word.endswith(ending) and not word.endswith("ss"):
            word = word[: -len(ending)] + ("y" if ending == "ies" else "")
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "sle":
        word = word[:-1]
    return word.rstrip("e") if len(word) > 4 else word


def alike(one: frozenset[str], other: frozenset[str]) -> float:
    """How much of both is shared: 1 is the same terms, 0 is none."""
    return len(one & other) / len(one | other) if one and other else 0.0


class Rarity:
    """How much it says that two sentences share a term; looked up once for a sentence and all that
    it is compared with."""

    def __init__(self, of: Callable[[str], float]) -> None:
        self.of = cache(of)
        self.sum = cache(self._sum)

    def _sum(self, terms: frozenset[str]) -> float:
        return sum(map(self.of, terms))


# --- proper names ------------------------------------------------------------------------------
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
