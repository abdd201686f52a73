"""Expressions: what triggers look for, as regular expressions that cannot hang.

RE2 takes time in proportion to the text and to the size of the expression, which is limited: a
file of the user's cannot stop the process. It knows no look-around and no back-references; a file
with one is reported.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from wakebook.recall.topics import speech

MEMORY = 64 << 20  # bytes that a set of expressions may take, at most
LARGEST = 60_000  # instructions of one expression
TOGETHER = 20_000  # of those that are looked for in one pass, unless one alone has more
SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_SPECIAL = re.compile(r"\*\*/|\*\*|\*|\?|\[[^\]/]+\]|\{[^{}]+\}|[^*?\[{]+|[\[{]")


@cache
def _options(any_case: bool) -> Any:
    import re2

    options = re2.Options()
    options.case_sensitive = not any_case
    options.log_errors = False
    options.max_mem = MEMORY
    return options


def compiled(expression: str, any_case: bool = True) -> Any:
    import re2

    return re2.compile(expression, _options(any_case))


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


def problem(kind: str, text: str) -> str:
    """What is wrong with what a trigger looks for; nothing if it can be used."""
    import re2

    if kind == "language" and not speech.is_language(text):
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
    """A glob over a path: without a slash over the file's name, else from any folder on.

    `*` and `?` stay within a folder, `**` does not; `[ab]` and `{ts,tsx}` are what they are
    elsewhere; `src/` is all below it.
    """
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


class Set:
    """Many expressions, looked for in as few passes as their size allows."""

    def __init__(self, expressions: Sequence[str]) -> None:
        self._sets: list[tuple[list[int], Any]] = []
        numbers: list[int] = []
        total = 0
        for number, one in enumerate(expressions):
            size = compiled(one).programsize
            if numbers and total + size > TOGETHER:
                self._sets.append((numbers, _set(expressions, numbers)))
                numbers, total = [], 0
            numbers.append(number)
            total += size
        if numbers:
            self._sets.append((numbers, _set(expressions, numbers)))

    def match(self, text: str) -> list[int]:
        """The numbers of those that occur in the text."""
        return sorted(
            numbers[at] for numbers, found in self._sets for at in found.Match(text) or ()
        )


def _set(expressions: Sequence[str], numbers: Sequence[int]) -> Any:
    import re2

    found = re2.Set.SearchSet(_options(True))
    for number in numbers:
        found.Add(expressions[number])
    found.Compile()
    return found
