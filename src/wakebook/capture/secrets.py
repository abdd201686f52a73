"""Secrets: found by one table of rules (secrets.json), and replaced before anything is written.

A rule is data: a name, the kind that is shown in the secret's place, a shape, what its value must
be, the least entropy, and examples. Shapes are RE2 expressions, so that no text can make the search
slow. All of them are looked for in a single pass, which most texts leave at once; only the rules
that occur are then looked at one by one. In a shape the first group that took part is the secret,
or the whole of it where there is none, and `{NAME}` stands for one of the parts.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

MEMORY = 1 << 26  # bytes that the search may use for its tables
MARK = "[redacted:"
_PART = re.compile(r"\{([A-Z]+)\}")
# A value that stands for a secret instead of being one.
_STANDS_FOR = re.compile(
    r"[$<{%*!@&(\[#~]|\.{2}|/|\\|-{2,}|(?i:https?:|file:|env[.:_(]|enc\[|vault:|ref\+|op://"
    r"|os\.|process\.|self\.|this\.|args\.|settings\.|config\.|request?\.|secrets\.|data\."
    r"|params\.|options\.|form\.|user\.|props\.|state\.|input\.|body\.|ctx\.|var\.|local\."
    r"|redacted|undefined)"
)
_MASKED = re.compile(r"(.)\1{5}|\*{3}|\.{3}|…|(?i:x{5})")
_ASKS = re.compile(r"(?i)<[a-z]|your[_-]|example|change[_-]?me")
_WORDS = re.compile(  # that say what should stand there
    r"(?i)your|my|the|this|some|new|old|db|app|user|admin|root|test|dummy|fake|sample|demo|foo|bar"
    r"|baz|example|here|change|changeme|me|replace|insert|put|enter|pass|word|wort|passwd|password"
    r"|pwd|pw|secret|token|key|api|auth|access|refresh|client|id|value|string|str|text|hidden"
    r"|number|int|bool|boolean|true|false|null|none|nil|any|object|optional|required|current"
    r"|confirm|confirmation|placeholder|redacted|name|type|default|hash|hashed|min|max|field|input"
    r"|bearer|basic|jwt|session|csrf|code|credentials?|host|port|and|or|is|in|of|to|for|a|public|private"
)
_IDENTIFIER = re.compile(
    r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+|[A-Za-z]+(?:_[A-Za-z]+)+|[A-Za-z][a-z]+(?:[A-Z][a-z]+)+"
)
_CALL = re.compile(r"[A-Za-z_][\w.]*[(\[]")
_NAMED = re.compile(r"(?i)credential|secret|token|password|passwd|key")
_UNLIKE = re.compile(r"[!#%^*+=?~$@]|[a-z][A-Z].*[a-z][A-Z]{2}|[A-Z]{2}[a-z].*[a-z][A-Z]")
_PORT = re.compile(r"\d{1,5}(?:/|$)")


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    kind: str
    shape: str
    examples: tuple[str, ...]
    value: str = ""  # which of _TESTS it must pass
    entropy: float = 0.0  # bits a character


class Secret(NamedTuple):
    start: int  # in bytes
    end: int
    rule: Rule


class Rules(msgspec.Struct, forbid_unknown_fields=True):
    parts: dict[str, str]
    rules: tuple[Rule, ...]


@cache
def table() -> Rules:
    data = Path(__file__).with_suffix(".json").read_bytes()
    return msgspec.json.decode(data, type=Rules)


@cache
def _options() -> Any:
    import re2

    options = re2.Options()
    options.log_errors = False
    options.max_mem = MEMORY
    return options


@cache
def _together() -> Callable[[bytes], list[int] | None]:
    """A search for all rules at once: the numbers of those that occur."""
    import re2

    rules = re2.Set.SearchSet(_options())
    for rule in table().rules:
        rules.Add(_filled(rule.shape))
    rules.Compile()
    match: Callable[[bytes], list[int] | None] = rules.Match
    return match


@cache
def _alone(number: int) -> Any:
    import re2

    return re2.compile(_filled(table().rules[number].shape), _options())


def _filled(shape: str) -> str:
    return _PART.sub(lambda part: _filled(table().parts[part[1]]), shape)


def suspicious(text: str) -> bool:
    """Whether a text may hold a secret."""
    return bool(_together()(text.encode("utf-8", "surrogatepass")))


def redact(text: str) -> tuple[str, int]:
    """The text without secrets, and how many there were."""
    data = text.encode("utf-8", "surrogatepass")
    found = find(data)
    if not found:
        return text, 0
    pieces, last = [], 0
    for one in found:
        pieces += [data[last : one.start], f"{MARK}{one.rule.kind}]".encode()]
        last = one.end
    return b"".join((*pieces, data[last:])).decode("utf-8", "surrogatepass"), len(found)


def find(data: bytes) -> list[Secret]:
    """The secrets of a text in UTF-8, in order, none within another."""
    numbers = _together()(data)
    if not numbers:
        return []
    kept: list[Secret] = []
    spans = (span for number in numbers for span in _of(number, data))
    for span in sorted(spans, key=lambda one: (one.start, -one.end)):
        if not kept or span.start >= kept[-1].end:
            kept.append(span)
        elif span.end > kept[-1].end:
            kept[-1] = kept[-1]._replace(end=span.end)
    return kept


def _of(number: int, data: bytes) -> Iterator[Secret]:
    rule = table().rules[number]
    for found in _alone(number).finditer(data):
        groups = range(1, len(found.groups()) + 1)
        group = next((one for one in groups if found.start(one) >= 0), 0)
        start, end = found.span(group)
        around = (data[start - 1 : start], data[end : end + 1])
        before, after = (sign.decode("latin-1") for sign in around)
        text = data[start:end].decode("utf-8", "replace")
        if _passes(rule, Value(text, before, after, group)):
            yield Secret(start, end, rule)


# --- is a value that has the right place a secret? ------------------------------------------
class Value(NamedTuple):
    text: str
    before: str  # the character before it
    after: str  # the character behind it
    group: int  # of the shape, that it was found by

    @property
    def mixed(self) -> bool:
        """Letters and digits, letters and signs that no word has, or capitals here and there."""
        letters, digits = (any(map(kind, self.text)) for kind in (str.isalpha, str.isdigit))
        return letters and (digits or bool(_UNLIKE.search(self.text)))

    @property
    def code(self) -> bool:
        """A name or a call, as programs have them in a secret's place."""
        if self.after in ("(", "[") or _CALL.match(self.text):
            return True
        named = self.text.isidentifier() and bool(_NAMED.search(self.text))
        return named or bool(_IDENTIFIER.fullmatch(self.text))

    @property
    def lone(self) -> bool:
        """A word by itself that ends its line or its part of one."""
        ends = ("", "\n", "\r", ";", "&", '"', "'", "\\", *(" " if self.before == "=" else ""))
        return (
            self.text.isalpha()
            and self.text.islower()
            and len(self.text) > 7
            and self.after in ends
        )


_TESTS: dict[str, Callable[[Value], bool]] = {
    "": lambda value: True,
    "url": lambda value: not _PORT.match(value.text),
    "any": lambda value: value.after not in ("(", "["),
    "quoted": lambda value: not value.text.isdigit() or len(value.text) > 5,
    "flag": lambda value: value.mixed or value.group < 3 or value.before == "=",
    "header": lambda value: value.mixed,
    "token": lambda value: value.mixed and len(set(value.text)) > 7,
    "quoted-token": lambda value: value.mixed and len(value.text) > 11,
    "word": lambda value: len(value.text) > 4 and not value.text.isdigit() and not value.code,
    "plain": lambda value: (value.mixed or value.lone) and not value.code,
    "plain-mixed": lambda value: value.mixed and not value.code,
    "plain-token": lambda value: value.mixed and len(value.text) > 11 and not value.code,
    "said": lambda value: value.group == 1 or (value.mixed and not value.code),  # 1: it is quoted
    "said-bare": lambda value: value.mixed and not value.code,
}


def _passes(rule: Rule, value: Value) -> bool:
    if MARK in value.text or _MASKED.search(value.text) or entropy(value.text) < rule.entropy:
        return False
    return not (rule.value and _stands_for(value.text)) and _TESTS[rule.value](value)


def _stands_for(value: str) -> bool:
    """Whether a value only says what should stand there."""
    if _STANDS_FOR.match(value) or _ASKS.search(value):
        return True
    rest = re.sub(r"[\W_]", "", _WORDS.sub("", value))
    return not rest or (rest.isdigit() and len(rest) < 4 and len(rest) < len(value) - 3)


def entropy(value: str) -> float:
    """Shannon's, in bits a character."""
    size = len(value)
    return -sum(n / size * math.log2(n / size) for n in Counter(value).values())
