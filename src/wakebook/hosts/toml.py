"""TOML that is edited in place: config.toml, ours and Codex's.

tomlkit keeps every byte of a file, so that comments, order, spacing and line ends stay as their
owner wrote them. An edit puts an item into the list of a table's items, or another in its place.
"""

import tomllib
from collections.abc import Callable
from typing import Any

import tomlkit
from tomlkit.container import Container
from tomlkit.items import Comment, Null, Table, Whitespace

from wakebook.base.errors import WakebookError
from wakebook.base.text import line_end

Name = tuple[str, ...]  # of a table


def put(text: str, name: str, value: Any, remark: str = "") -> tuple[str, str | None]:
    """The text with `section.key` set, and the line that stood there before. `remark`: behind it.
    Raises WakebookError if that cannot be done without harm."""
    section, _, key = name.partition(".")
    line = tomlkit.dumps({key: value}).rstrip("\n") + (f"  # {remark}" if remark else "")
    try:
        changed, old = set_line(text, name, line)
        wanted = tomllib.loads(text)
        wanted.setdefault(section, {})[key] = tomllib.loads(line)[key]
        done = tomllib.loads(changed) == wanted
    except (ValueError, TypeError, AttributeError):  # tomlkit's errors are ValueErrors
        done = False
    if not done:
        said = f"config.toml: {name} cannot be set by itself. Write {line} below [{section}]"
        raise WakebookError(f"{said}, and run this again.")
    return changed, old


def set_line(text: str, name: str, line: str | None) -> tuple[str, str | None]:
    """The text with this line for a setting (None: without it), and the line that it had."""
    section, _, key = name.partition(".")
    end = line_end(text)
    document = tomlkit.parse(text if text.endswith("\n") else text + end)
    if section not in document:
        gap = "" if not text or text.endswith("\n") else end
        return f"{text}{gap}{end}[{section}]{end}{line.rstrip()}{end}" if line else text, None
    table: Any = document[section]
    old = tomlkit.document().add(key, table.item(key)).as_string() if key in table else None
    if line is None and old:
        table.remove(key)
    elif line is None:
        return text, None
    elif old:
        table[key] = tomlkit.parse(line).item(key)
    else:
        table.value.body[:0] = tomlkit.parse(f"{line.rstrip()}{end}").body
    return document.as_string(), old


def without_tables(text: str, mark: str, goes: Callable[[Name], bool]) -> str:
    """The text without these tables, and without the comment that marks them as ours.
    Other comments in them stay: the last one in a table is a remark about what comes next."""
    document = tomlkit.parse(text)
    _blank(document, (), mark, goes)
    left = document.as_string()
    last = left.endswith(("\n\n", "\n\r\n")) and not text.endswith(("\n\n", "\n\r\n"))
    return left.removesuffix("\n").removesuffix("\r") if last else left


def _blank(inside: Container, path: Name, mark: str, goes: Callable[[Name], bool]) -> None:
    for at, (key, item) in enumerate(inside.body):
        if isinstance(item, Comment) and item.trivia.comment == mark:
            inside.body[at] = (None, Null())
        elif isinstance(item, Table) and key is not None:
            name = (*path, *(part.key for part in key))
            if goes(name):
                inside.body[at] = (None, Whitespace(_remarks(item, mark)))
            else:
                _blank(item.value, name, mark, goes)


def _remarks(table: Table, mark: str) -> str:
    """The comments of a table, each with the empty lines that follow it."""
    found = ""
    for _, item in table.value.body:
        if isinstance(item, Table):
            found += _remarks(item, mark)
        elif isinstance(item, Whitespace):
            found += item.as_string() if found else ""
        elif isinstance(item, Comment) and item.trivia.comment != mark:
            found += item.as_string()
    return found
