"""A setting of config.toml, put in and taken out as text: everything else stays as it is."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

from wakebook.base.errors import WakebookError

LONGEST = 200  # lines of one value


def put(text: str, name: str, value: Any) -> tuple[str, str | None]:
    """The text with `section.key` set, and the lines that stood there before.

    Raises WakebookError if that cannot be done without harm.
    """
    key = name.partition(".")[2]
    changed, old = lines(text, name, f"{key} = {_toml(value)}")
    try:
        section, _, key = name.partition(".")
        done = tomllib.loads(changed)[section][key] == _plain(value)
    except (tomllib.TOMLDecodeError, KeyError):
        done = False
    if not done:
        raise WakebookError(
            f"config.toml: {name} cannot be set by itself. Write {key} = {_toml(value)} below "
            f"[{section}], and run this again."
        )
    return changed, old


def lines(text: str, name: str, wanted: str | None) -> tuple[str, str | None]:
    """The text with these lines for a setting (None: without it), and those that it had."""
    section, _, key = name.partition(".")
    end = "\r\n" if "\r\n" in text else "\n"
    rows = text.splitlines(keepends=True)
    begin = _section(rows, section)
    if begin is None:
        if wanted is None:
            return text, None
        gap = "" if not text or text.endswith(("\n", "\r")) else end
        return f"{text}{gap}{end}[{section}]{end}{wanted}{end}", None
    last = next((n for n in range(begin, len(rows)) if re.match(r"\s*\[", rows[n])), len(rows))
    for number in range(begin, last):
        if re.match(rf"\s*{re.escape(key)}\s*=", rows[number]):
            after = _value_ends(rows, number)
            old = "".join(rows[number:after])
            rows[number:after] = [] if wanted is None else [f"{wanted.rstrip()}{end}"]
            return "".join(rows), old
    if wanted is not None:
        rows.insert(begin, f"{wanted.rstrip()}{end}")
    return "".join(rows), None


def _section(rows: list[str], name: str) -> int | None:
    """The line below a section's heading."""
    heading = re.compile(rf"\s*\[\s*{re.escape(name)}\s*\]\s*(#.*)?$")
    return next((n + 1 for n, row in enumerate(rows) if heading.match(row.rstrip("\r\n"))), None)


def _value_ends(rows: list[str], begin: int) -> int:
    """The line after a value, which may go over several."""
    for end in range(begin + 1, min(begin + LONGEST, len(rows)) + 1):
        try:
            tomllib.loads("".join(rows[begin:end]))
        except tomllib.TOMLDecodeError:
            continue
        return end
    return begin + 1


def _toml(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False)


def _plain(value: Any) -> Any:
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value
