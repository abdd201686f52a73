"""Triggers: tier 1. Which topics have a trigger that matches what was said.

Nothing here costs more than a look at the text: all expressions are searched in one pass, words
are looked up, and what no topic asks for (languages, code) is not computed.

Expressions cannot hang: RE2 takes time in proportion to the text and to the size of the
expression, which is limited, so that a file of the user's cannot stop the process. It knows no
look-around and no back-references; a file with one is reported.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from wakebook.base.text import whole
from wakebook.store import words

if TYPE_CHECKING:
    from wakebook.recall.topics.topic import Topic, Trigger

LONGEST = 20_000  # characters that are looked at
_AROUND = ".,;:!?)]}*_|”“’»。、）」』】"  # what may follow an address and is no part of it
_SIGNS = re.compile(r"[^\w\s'’./-]")
_URL = re.compile(
    r"(?:(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{1,20}://|\bwww\.)[^\s<>\"'`|（）「」『』【】。、，]+",
    re.IGNORECASE,
)
MEMORY = 64 << 20  # bytes that a set of expressions may take, at most
LARGEST = 60_000  # instructions of one expression
TOGETHER = 20_000  # of those that are looked for in one pass, unless one alone has more
SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_SPECIAL = re.compile(r"\*\*/|\*\*|\*|\?|\[[^\]/]+\]|\{[^{}]+\}|[^*?\[{]+|[\[{]")


class Remark(NamedTuple):
    text: str
    direction: str = "input"  # input: what the agent is told; output: what it says
    paths: tuple[str, ...] = ()  # of files in its tool calls


class Matched(NamedTuple):
    topic: str
    trigger: Trigger


class Spoken:
    """What was said, taken apart as far as triggers ask for it."""

    def __init__(self, said: Remark) -> None:
        self.text = whole(said.text[:LONGEST])
        self.paths = [whole(path).replace("\\", "/") for path in said.paths]

    @cached_property
    def tokens(self) -> list[str]:
        return words.in_order(self.text)

    @cached_property
    def forms(self) -> list[frozenset[str]]:
        """Of each word: as it stands, and its stems."""
        return [forms(word, self.language) for word in self.tokens]

    @cached_property
    def places(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for at, several in enumerate(self.forms):
            for form in several:
                found.setdefault(form, []).append(at)
        return found

    @cached_property
    def language(self) -> str:
        return words.language(self.tokens)

    @cached_property
    def addresses(self) -> list[str]:
        return [SCHEME.sub("", url).rstrip(_AROUND) for url in _URL.findall(self.text)]


def forms(word: str, *languages: str) -> frozenset[str]:
    found = {word}
    for name in {"english", *languages}:
        found |= {words.plain(term) for term in words.terms((word,), name)}
    return frozenset(found)


class Phrase(NamedTuple):
    topic: int
    trigger: Trigger
    words: tuple[frozenset[str], ...]


class Triggers:
    """The triggers of all topics, for one direction."""

    def __init__(self, topics: Sequence[Topic], direction: str) -> None:
        self._names = [topic.name for topic in topics]
        seen = [
            (number, trigger)
            for number, topic in enumerate(topics)
            for trigger in topic.triggers
            if trigger.sees(direction)
        ]
        self._text = _searched(seen, "pattern", "mention")
        self._paths = _searched(seen, "glob")
        self._addresses = _searched(seen, "url")
        self._keywords = [
            (text, number, trigger)
            for number, trigger in seen
            if trigger.type == "keyword"
            for text in trigger.match
        ]
        self._by_language: dict[str, dict[str, list[Phrase]]] = {}
        self._other = [
            (number, trigger)
            for number, trigger in seen
            if trigger.type in ("code", "language", "urgency")
            or (trigger.type == "url" and not trigger.match)
        ]

    def match(self, spoken: Spoken) -> list[Matched]:
        """Every trigger that matches, in the order of the topics."""
        found = [*_found(self._text, [spoken.text]), *_found(self._paths, spoken.paths)]
        if self._addresses[1]:
            found += _found(self._addresses, spoken.addresses)
        found += self._spoken(spoken)
        found += [(at, trigger) for at, trigger in self._other if _holds(trigger, spoken)]
        once = dict.fromkeys(sorted(found, key=lambda one: one[0]))
        return [Matched(self._names[number], trigger) for number, trigger in once]

    def _spoken(self, spoken: Spoken) -> list[tuple[int, Trigger]]:
        if spoken.language not in self._by_language:
            self._by_language[spoken.language] = self._phrases(spoken.language)
        found: list[tuple[int, Trigger]] = []
        for first, several in self._by_language[spoken.language].items():
            if first in spoken.places:
                found += [
                    (phrase.topic, phrase.trigger)
                    for phrase in several
                    if any(_follows(phrase, at, spoken) for at in spoken.places[first])
                ]
        folded = spoken.text.casefold()
        found += [
            (number, trigger)
            for text, number, trigger in self._keywords  # in scripts without spaces
            if text.casefold().strip() in folded
            and any(map(words.is_unspaced, words.in_order(text)))
        ]
        return found

    def _phrases(self, language: str) -> dict[str, list[Phrase]]:
        """Keywords as they would stand in a text of this language, by the forms of the first
        word."""
        phrases: dict[str, list[Phrase]] = {}
        for text, number, trigger in self._keywords:
            tokens = words.in_order(text)
            if _is_sign(text) or any(map(words.is_unspaced, tokens)):
                continue
            phrase = Phrase(number, trigger, tuple(forms(word, language) for word in tokens))
            for form in phrase.words[0]:
                phrases.setdefault(form, []).append(phrase)
        return phrases


def _follows(phrase: Phrase, at: int, spoken: Spoken) -> bool:
    there = spoken.forms[at : at + len(phrase.words)]
    return len(there) == len(phrase.words) and all(
        not wanted.isdisjoint(found) for wanted, found in zip(phrase.words, there, strict=True)
    )


def _is_sign(text: str) -> bool:
    """Whether a keyword would be another one without its signs, like C++, or nothing at all."""
    return not words.in_order(text) or (_SIGNS.search(text) is not None and text.isascii())


Searched = tuple["Expressions", list[tuple[int, "Trigger"]]]


def _searched(seen: Sequence[tuple[int, Trigger]], *kinds: str) -> Searched:
    texts = [(number, trigger, text) for number, trigger in seen for text in trigger.match]
    owners = [(*one, one[1].type) for one in texts if one[1].type in kinds]
    if "pattern" in kinds:
        signs = (one for one in texts if one[1].type == "keyword" and _is_sign(one[2]))
        owners += [(*one, "sign") for one in signs]
    found = Expressions([expression(kind, text) for _, _, text, kind in owners])
    return found, [(number, trigger) for number, trigger, _, _ in owners]


def _found(searched: Searched, texts: Sequence[str]) -> list[tuple[int, Trigger]]:
    expressions, owners = searched
    return [owners[at] for text in texts for at in expressions.match(text)] if owners else []


def _holds(trigger: Trigger, spoken: Spoken) -> bool:
    from wakebook.recall.topics import speech  # which few topics need

    if trigger.type == "urgency":
        return speech.urgent(spoken.text)
    if trigger.type == "url":
        return bool(spoken.addresses)
    if trigger.type == "language":
        return speech.language(spoken.text) in map(speech.language_name, trigger.match)
    wanted, code = {speech.code_name(name) for name in trigger.match}, speech.code(spoken.text)
    return bool(code & wanted if wanted else code)


# --- expressions ---------------------------------------------------------------------------
@cache
def _options() -> Any:
    import re2

    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    options.max_mem = MEMORY
    return options


def compiled(expression: str) -> Any:
    import re2

    return re2.compile(expression, _options())


def bad_schedule(schedule: str) -> str:
    """What is wrong with a cron expression; nothing if it can be used."""
    from cronsim import CronSim, CronSimError

    from wakebook.base import clock

    try:
        if len(schedule.split()) != 5:
            raise CronSimError("it needs five fields: minute, hour, day, month, weekday")
        next(CronSim(schedule, clock.now()))
    except (CronSimError, StopIteration) as error:
        return f"{schedule!r} is no cron expression: {error}."
    return ""


def _is_language(text: str) -> bool:
    from wakebook.recall.topics import speech

    return speech.is_language(text)


def problem(kind: str, text: str) -> str:
    """What is wrong with what a trigger looks for; nothing if it can be used."""
    import re2

    if kind == "language" and not _is_language(text):
        return f"{text!r} is no language that is known. Write it like de, or German."
    try:
        size = compiled(expression(kind, text)).programsize
    except re2.error as error:
        reason = error.args[0].decode() if isinstance(error.args[0], bytes) else str(error)
        return (
            f"{text!r} is no regular expression that can be used: {reason}. "
            "(RE2: no look-around, no back-references.)"
        )
    return f"{text[:80]!r} is too large an expression. Make it shorter." if size > LARGEST else ""


def expression(kind: str, text: str) -> str:
    """A trigger's text as a regular expression, case apart."""
    if kind == "pattern":
        return text
    bare = text.strip()
    if kind == "mention":
        same_case = any(char.isupper() for char in bare) and not bare.startswith("@")
        flag = "(?-i)" if same_case else ""
        before = r"(?:^|[^\pL\pN_@])" if bare.startswith("@") else r"(?:^|[^\pL\pN_@])@?"
        return rf"{before}{flag}(?:{re.escape(bare)})(?:[^\pL\pN_]|$)"
    if kind == "glob":
        return glob(bare)
    if kind == "url":
        return _address(bare)
    if kind == "sign":  # a keyword that is not only made of letters, like C++
        before = r"(?:^|[^\pL\pN_])" if bare[0].isalnum() else ""
        after = r"(?:[^\pL\pN_+#]|$)" if before or bare[-1].isalnum() else ""
        return f"{before}{re.escape(bare)}{after}"
    return re.escape(bare)


def glob(text: str) -> str:
    """A glob over a path: without a slash over the file's name, else from any folder on. `*` and
    `?` stay within a folder, `**` does not; `[ab]` and `{ts,tsx}` are what they are elsewhere;
    `src/` is all below it."""
    text = text.replace("\\", "/").removeprefix("./")
    if text.endswith("/"):
        text += "**"
    begin = "^" if text.startswith("/") else "(?:^|/)"
    return f"{begin}{_parts(text, '[^/]*')}$"


def _address(text: str) -> str:
    """A glob over an address without its scheme, and whatever follows it."""
    bare = SCHEME.sub("", text).rstrip("/")
    host, slash, path = bare.partition("/")
    port = "" if ":" in host else r"(?::\d+)?"
    inside = f"{_parts(host, '[^/?#]*')}{port}"
    rest = f"/{_parts(path, '.*')}" if slash else ""
    return rf"^(?:[^/?#@]*@)?(?:[^/?#]*\.)?{inside}{rest}(?:[/?#].*)?$"


def _parts(text: str, star: str) -> str:
    known = {"**/": "(?:.*/)?", "**": ".*", "*": star, "?": "[^/]"}
    return "".join(known.get(part) or _literal(part, star) for part in _SPECIAL.findall(text))


def _literal(part: str, star: str) -> str:
    if part[0] == "[" and len(part) > 2:
        inside = part[1:-1].replace("\\", "\\\\")
        return f"[^{inside[1:]}]" if inside.startswith("!") else f"[{inside}]"
    if part[0] == "{" and len(part) > 2:
        choices = "|".join(_parts(one, star) for one in part[1:-1].split(","))
        return f"(?:{choices})"
    return re.escape(part)


class Expressions:
    """Many expressions, looked for in as few passes as their size allows."""

    def __init__(self, expressions: Sequence[str]) -> None:
        self._sets: list[tuple[int, Any]] = []  # the number of its first one, and a set
        total = 0
        for number, one in enumerate(expressions):
            size = compiled(one).programsize
            total += size
            if not number or total > TOGETHER:
                import re2  # only where there is anything to look for

                self._sets.append((number, re2.Set.SearchSet(_options())))
                total = size
            self._sets[-1][1].Add(one)
        for _, several in self._sets:
            several.Compile()

    def match(self, text: str) -> list[int]:
        """The numbers of those that occur in the text."""
        return sorted(first + at for first, found in self._sets for at in found.Match(text) or ())
