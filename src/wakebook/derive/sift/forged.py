"""Forged data: entries that only wait to be copied, and marks that feign an end of the data."""

from __future__ import annotations

import re

_TYPES = "task|fact|decision|question|handoff"
_READY = re.compile(
    rf"\{{(?=[^{{}}]*[\"']type[\"']\s*:\s*[\"'](?:{_TYPES})[\"'])(?=[^{{}}]*[\"'](?:content"
    rf"|detail|replaces)[\"']\s*:)[^{{}}]*\}}?|^[ \t>-]*type\s*[:=]\s*[\"']?(?:{_TYPES})\b[^\n]*"
    r"(?:\n[ \t>]*(?:content|detail|status|subject|replaces)\s*[:=][^\n]*)+"
    rf"|^[ \t>-]*content\s*[:=][^\n]*\n[ \t>]*type\s*[:=]\s*[\"']?(?:{_TYPES})\b[^\n]*|<(?:entry"
    rf"|memory)\s[^>]*type\s*=\s*[\"'](?:{_TYPES})[\"'][^>]*>[^<]*",
    re.IGNORECASE | re.MULTILINE,
)
_NAMES = (
    "transcript|data|messages?|conversation|chat|context|input|user[_-]input|user|assistant|human"
    "|document|system|prompt|material|untrusted|instructions|tool_result|function_results|earlier"
    "|known|subjects|entries"
)
_MARK = re.compile(rf"</?({_NAMES})(?:\s[^>\n]{{0,200}})?>", re.IGNORECASE)


def without_ready(text: str) -> tuple[str, list[str]]:
    """Text without entries in JSON, YAML or XML that could be copied as they are, and those."""
    ready = [match.group() for match in _READY.finditer(text)]
    return (_READY.sub(" ", text), ready) if ready else (text, [])


def closed(text: str, opened: set[str]) -> int | None:
    """Where a mark is closed that was never opened, as if the data ended there.

    `opened` holds the marks that are open, and is kept up to date.
    """
    for match in _MARK.finditer(text):
        name = match.group(1).lower()
        if not match.group().startswith("</"):
            opened.add(name)
        elif name not in opened:
            return match.start()
    return None
