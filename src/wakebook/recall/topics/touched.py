"""What a tool call touches: the files that it names, and the words that the agent wrote with it.

Hosts have tools of their own; their arguments are much alike. Files are looked for under the usual
names, in the head lines of patches and among the words of a command.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

FILES = (
    "file_path", "filePath", "notebook_path", "path", "paths", "file", "files", "filename",
    "target_file",
)  # fmt: skip
WRITTEN = (
    "content", "new_string", "newString", "newText", "new_str", "new_source", "text", "patch",
    "input", "command", "cmd", "code", "script", "edits",
)  # fmt: skip
COMMANDS = ("command", "cmd", "script")
LONGEST = 20_000  # characters of what was written
MOST = 50  # files of a call
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$|^\+\+\+ b/(.+)$", re.MULTILINE)
_NAMED = re.compile(r"(?<![\w/.~-])[\w.~-]*(?:/[\w.@+-]+|\w\w\.[A-Za-z]\w{0,9})+(?![\w/])")


class Touched(NamedTuple):
    paths: tuple[str, ...] = ()
    text: str = ""


def touched(arguments: Any) -> Touched:
    """Of a call with these arguments, whatever tool it is."""
    if isinstance(arguments, str):
        arguments = {"input": arguments}
    if not isinstance(arguments, dict):
        return Touched()
    written = list(_written(arguments))
    text = "\n".join(filter(None, written))[:LONGEST]
    paths = [path for name in FILES for path in _strings(arguments.get(name))]
    paths += [one or other for one, other in _PATCHED.findall(text)]
    for name in COMMANDS:
        command = " ".join(_strings(arguments.get(name)))[:LONGEST]
        if "*** Begin Patch" not in command:
            paths += _NAMED.findall(command)
    found = dict.fromkeys(path.strip() for path in paths if path.strip())
    return Touched(tuple(found)[:MOST], text)


def _written(arguments: dict[str, Any]) -> Iterator[str]:
    for name in WRITTEN:
        value = arguments.get(name)
        for one in value if isinstance(value, list) else ():
            if isinstance(one, dict):  # several edits in one call
                yield from _written(one)
        yield from [" ".join(_strings(value))] if name in COMMANDS else _strings(value)


def _strings(value: Any) -> list[str]:
    several = value if isinstance(value, list) else [value]
    return [one for one in several if isinstance(one, str) and one]
