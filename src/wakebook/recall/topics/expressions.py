"""Expressions: what triggers look for, as regular expressions that cannot hang.

RE2 takes time in proportion to the text, whatever the expression: a file of the user's cannot
stop the process. It knows no look-around and no back-references; a file with one is reported.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from wakebook.recall.topics.topic import Trigger

MEMORY = 64 << 20  # bytes that a set of expressions may take, at most
_WORD = r"[\pL\pN_]"
_SPECIAL = re.compile(r"\*\*/|\*\*|\*|\?|[^*?]+")


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


def problem(trigger: Trigger) -> str:
    """What is wrong with a trigger's expressions; nothing if they can be used."""
    if trigger.type == "cron":
        from cronsim import CronSim, CronSimError

        from wakebook import clock

        try:
            CronSim(trigger.schedule, clock.now())
        except CronSimError as error:
            return f"{trigger.schedule!r} is no cron expression: {error}."
        return ""
    import re2

    for text in trigger.match:
        try:
            compiled(expression(trigger.type, text))
        except re2.error as error:
            reason = error.args[0].decode() if isinstance(error.args[0], bytes) else str(error)
            return (
                f"{text!r} is no regular expression that can be used: {reason}. "
                "(RE2: no look-around, no back-references.)"
            )
    return ""


def expression(kind: str, text: str) -> str:
    """A trigger's text as a regular expression, case apart."""
    if kind == "pattern":
        return text
    if kind == "mention":
        same_case = any(char.isupper() for char in text) and not text.startswith("@")
        flag = "(?-i)" if same_case else ""
        return rf"(?:^|[^\pL\pN_@]){flag}(?:{re.escape(text)})(?:[^\pL\pN_]|$)"
    if kind == "glob":
        return glob(text)
    if kind == "url":
        return _address(text)
    return re.escape(text)


def glob(text: str) -> str:
    """A glob over a path: without a slash over the file's name, else from any folder on.

    `*` and `?` stay within a folder, `**` does not.
    """
    rooted = text.startswith("/")
    begin = "^" if rooted else "(?:^|/)"
    return f"{begin}{_parts(text, '[^/]*')}$"


def _address(text: str) -> str:
    """A glob over an address without its scheme, and whatever follows it."""
    bare = re.sub(r"^[a-z]+://", "", text).rstrip("/")
    return rf"^(?:[^/]*\.)?{_parts(bare, '.*')}(?:[/?#].*)?$"


def _parts(text: str, star: str) -> str:
    known = {"**/": "(?:.*/)?", "**": ".*", "*": star, "?": "[^/]"}
    return "".join(known.get(part) or re.escape(part) for part in _SPECIAL.findall(text))


class Set:
    """Many expressions, looked for in one pass."""

    def __init__(self, expressions: Sequence[str]) -> None:
        import re2

        self._set: Any = None
        self._single: list[tuple[int, Any]] = []
        if not expressions:
            return
        found = re2.Set.SearchSet(_options(True))
        for one in expressions:
            found.Add(one)
        try:
            found.Compile()
            self._set = found
        except re2.error:  # together they are too large: one by one
            self._single = [(at, compiled(one)) for at, one in enumerate(expressions)]

    def match(self, text: str) -> list[int]:
        """The numbers of those that occur in the text."""
        if self._set is not None:
            return sorted(self._set.Match(text) or ())
        return [at for at, one in self._single if one.search(text)]
