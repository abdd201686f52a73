"""One line for a tool call, one for its result, one for an attachment.

A transcript shows what an agent did, never the full arguments or output: those stay in
the host's own file, where the record's id finds them.
"""

from __future__ import annotations

from typing import Any

import msgspec

from wakebook.capture.transcript import one_line

TELLING = (
    "command", "cmd", "file_path", "notebook_path", "pattern", "query", "url", "path",
    "prompt", "description", "message", "question", "text", "input", "skill", "subject",
)  # fmt: skip

ROUGH = 1000  # the final cut is made after redaction, lest half a secret survive it
_ANY: msgspec.json.Decoder[Any] = msgspec.json.Decoder()


def arguments(text: str) -> Any:
    """Arguments that a host keeps as JSON inside a string; the string if they are not."""
    try:
        return _ANY.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return text


def summary(given: Any) -> str:
    """The most telling argument of a call, else all of them as compact JSON."""
    if isinstance(given, str):
        return one_line(given, ROUGH)
    if isinstance(given, dict):
        for key in TELLING:
            if line := _words(given.get(key)):
                return one_line(line, ROUGH)
    if not given:
        return ""
    return one_line(msgspec.json.encode(given).decode(), ROUGH)


def _words(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(word, str) for word in value):
        value = " ".join(value)
    return value.strip() if isinstance(value, str) else ""


def result(text: str) -> str:
    """The first line that says something, and how many others there are."""
    text = text.strip()
    line, others = _telling(text), text.count("\n")
    if not others:
        return one_line(line, ROUGH)
    more = f" (+{others} line{'s' if others > 1 else ''})"
    return one_line(line, ROUGH) + more


def _telling(text: str) -> str:
    start = 0
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        line = text[start : min(end, start + ROUGH * 8)]
        if any(character.isalnum() for character in line):
            return line
        start = end + 1
    return text[: ROUGH * 8].partition("\n")[0]


def attachment(kind: str, size: int, record: str) -> str:
    """A reference to something that stays in the host's file."""
    kilobytes = max(1, round(size / 1024))
    return f"{kind} {kilobytes} KB (source line {record})"


def base64_size(encoded: int) -> int:
    """How many bytes so many characters of base64 stand for."""
    return encoded * 3 // 4
