"""Speech: the language of a text, the programming languages in it, and whether it is urgent."""

import re
from functools import cache, lru_cache
from pathlib import Path

from wakebook.store import words
from wakebook.store.words import STOP_WORDS

_SCRIPTS = (
    ("japanese", re.compile("[\u3041-\u30ff]")),
    ("korean", re.compile("[\uac00-\ud7af]")),
    ("thai", re.compile("[\u0e01-\u0e4f]")),
    ("chinese", re.compile("[\u4e00-\u9fff]")),
)
_FENCE = re.compile(
    r"^[ \t]*+(?:(`{3,}+)[ \t]*+([\w+#.-]*+)[^\n`]*+|(~{3,}+)[ \t]*+([\w+#.-]*+)[^\n]*+)\n"
    r"(.*?)(?:^[ \t]*+(?:\1|\3)[`~]*+[ \t]*+$|\Z)",
    re.M | re.S,
)
_NAME = re.compile(r"^@|://|[a-zA-Z0-9]\.[a-zA-Z0-9]")  # an address, a file, a handle
_INLINE = re.compile(r"`[^`\n]+`")
_SHOUTING = re.compile(r"!{2,}|(?:!\s*+){3,}")
_WORDS = (
    r"urgent(?:ly)?|asap|emergency|immediately|right now|right away|at once|drop everything|"
    r"as soon as possible|critical|sev-?[01]|p0|mayday|dringend|sofort|notfall|eilt|umgehend|"
    r"urgente?|urgence|imm[ée]diatement|emergencia|inmediatamente|de inmediato|urgência|urgenza|"
    r"subito"
)
_URGENT = re.compile(rf"\b(?:{_WORDS})\b|至急|緊急|紧急", re.IGNORECASE)
_NOT_URGENT = re.compile(
    rf"\b(?:not?|nothing|never|isn['’]t|aren['’]t|nicht|kein\w*|pas|non|sin|sem)\s+"
    rf"(?:[\w'’]+\s+){{0,3}}?(?:d['’])?(?:{_WORDS})\b",
    re.IGNORECASE,
)
_CAPITALS = re.compile(r"\b[A-Z]{2,}\b")
_WORD = re.compile(r"\b[^\W\d_]+\b")
SHOUTED = 0.6  # of the words, in capitals


@cache
def _tables() -> dict[str, dict[str, str]]:
    """Names of languages, and what gives them away."""
    import tomllib

    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def language_name(code: str) -> str:
    """Like "german", of "de", "de-AT" or "German"."""
    plain = code.strip().lower()
    return _tables()["languages"].get(plain.replace("_", "-").partition("-")[0], plain)


def is_language(name: str) -> bool:
    return language_name(name) in {*_tables()["languages"].values(), *STOP_WORDS}


@lru_cache(4)  # several triggers look at one message
def language(text: str) -> str:
    """The natural language of a text, code left out; nothing if it has no words."""
    plain = _INLINE.sub(" ", _FENCE.sub(" ", text))
    prose = " ".join(word for word in plain.split() if not _NAME.search(word))
    letters = sum(char.isalpha() for char in prose)
    if not letters:
        return ""
    for name, script in _SCRIPTS:
        if len(script.findall(prose)) * 4 > letters:
            return name
    return words.language(words.tokens(prose))


def code_name(name: str) -> str:
    plain = name.strip().lower()
    return _tables()["code"].get(plain, plain)


@lru_cache(4)
def code(text: str) -> frozenset[str]:
    """The programming languages in a text; "?" for code of which nothing tells."""
    found: set[str] = set()
    for _, name, _, other, body in _FENCE.findall(text):
        named = name or other
        found |= {code_name(named)} if named else guessed(body, 1) or {"?"}
    return frozenset(found | guessed(_FENCE.sub("\n", text), 2))


def guessed(text: str, least: int) -> set[str]:
    """By its lines: a language of which so many lines (or one that is enough) are there."""
    marks = _tables()["marks"]
    counts = {name: len(re.findall(mark, text, re.MULTILINE)) for name, mark in marks.items()}
    return {name for name, count in counts.items() if count >= least}


@lru_cache(4)
def urgent(text: str) -> bool:
    """Capitals, exclamation marks, and words like "urgent"."""
    prose = _FENCE.sub(" ", text)
    calm = _NOT_URGENT.sub(" ", prose)
    if _SHOUTING.search(prose) or _URGENT.search(calm):
        return True
    return len(_CAPITALS.findall(calm)) > max(2, SHOUTED * len(_WORD.findall(calm)))
