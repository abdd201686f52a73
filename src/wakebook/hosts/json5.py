"""JSON5 that is edited in place: openclaw.json, as people write it.

It may have comments, trailing commas, single quotes and names without quotes. It is read with the
place of every value, so that a setting can be put in or taken out and every other byte stays.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

from wakebook.base.errors import WakebookError
from wakebook.base.text import line_end

_SPACE = re.compile(r"(?:[\s\ufeff]|//[^\n\r]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r""""(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'""", re.DOTALL)
_NAME = re.compile(r"[^\W\d][\w$]*|\$[\w$]*")
_NUMBER = re.compile(
    r"[+-]?(?:0[xX][0-9a-fA-F]+|Infinity|NaN|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
)
_WORDS = {"true": True, "false": False, "null": None}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|\r\n|.)", re.DOTALL)
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": "\0"}
_DEEPEST = 200

Path = Sequence[str]


class NotJson(WakebookError):
    """Where a text stops being JSON5."""


class Json5Node:
    """A value, and the part of the text that it is."""

    def __init__(self, start: int) -> None:
        self.start = self.end = start
        self.value: Any = None
        self.members: dict[str, tuple[int, Json5Node]] = {}  # name -> its place, its value


def read(text: str) -> Any:
    return parse(text).value


def parse(text: str) -> Json5Node:
    """Raises NotJson with the line."""
    found = _node(text, _space(text, 0), 0)
    end = _space(text, found.end)
    if end != len(text):
        raise _refused(text, end, "more after the end")
    return found


def _refused(text: str, at: int, why: str) -> NotJson:
    return NotJson(f"line {text.count(chr(10), 0, at) + 1}: {why}")


def _space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _node(text: str, at: int, depth: int) -> Json5Node:
    node = Json5Node(at)
    if depth > _DEEPEST:
        raise _refused(text, at, "too deep")
    if text[at : at + 1] in ("{", "["):
        _fill(text, node, depth)
        return node
    if found := _STRING.match(text, at):
        node.value = _unquoted(found[0])
    elif found := _NUMBER.match(text, at):
        try:
            node.value = int(found[0], 16 if "x" in found[0].lower() else 10)
        except ValueError:
            node.value = float(found[0])
    elif (found := _NAME.match(text, at)) and found[0] in _WORDS:
        node.value = _WORDS[found[0]]
    else:
        raise _refused(text, at, "a value is missing")
    node.end = found.end()
    return node


def _fill(text: str, node: Json5Node, depth: int) -> None:
    """The members of an object, or the items of a list."""
    closing, node.value = ("}", {}) if text[node.start] == "{" else ("]", [])
    at = _space(text, node.start + 1)
    while not text.startswith(closing, at):
        begin, name = at, ""
        if closing == "}":
            key = _STRING.match(text, at) or _NAME.match(text, at)
            if not key:
                raise _refused(text, at, "a name is missing")
            name = _unquoted(key[0]) if key[0][0] in "\"'" else key[0]
            at = _space(text, key.end())
            if not text.startswith(":", at):
                raise _refused(text, at, "a colon is missing")
            at = _space(text, at + 1)
        item = _node(text, at, depth + 1)
        if closing == "}":
            node.members[name] = (begin, item)
            node.value[name] = item.value
        else:
            node.value.append(item.value)
        at = _space(text, item.end)
        if text.startswith(",", at):
            at = _space(text, at + 1)
        elif not text.startswith(closing, at):
            raise _refused(text, at, f"a comma or {closing} is missing")
    node.end = at + 1


def _unquoted(quoted: str) -> str:
    def meant(found: re.Match[str]) -> str:
        code = found[1]
        if len(code) > 1 and code[0] in "ux":
            return chr(int(code[1:], 16))
        return "" if code in ("\n", "\r\n") else _ESCAPES.get(code, code)

    text = _ESCAPE.sub(meant, quoted[1:-1])
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def commented(text: str) -> bool:
    """Whether there is a comment, or anything else that plain JSON does not allow."""
    try:
        json.loads(text.removeprefix("\ufeff"))
    except ValueError:
        return True
    return False


def get(value: Any, path: Path, default: Any = None) -> Any:
    for name in path:
        if not isinstance(value, dict) or name not in value:
            return default
        value = value[name]
    return value


def put(text: str, path: Path, value: Any) -> str:
    """The text with this value there, and all other bytes as they were."""
    root = node = parse(text)
    for number, name in enumerate(path):
        if not isinstance(node.value, dict):
            raise NotJson(f"{'.'.join(path[:number]) or 'the whole'} is no object")
        if name not in node.members:
            for missing in reversed(path[number + 1 :]):
                value = {missing: value}
            return _inserted(text, root, node, name, value)
        node = node.members[name][1]
    if node.value == value and type(node.value) is type(value):
        return text
    written = _written(text, root, value, _margin(text, node.start))
    return text[: node.start] + written + text[node.end :]


def drop(text: str, path: Path) -> str:
    """The text without this member. One that is not there is no mistake."""
    node = parse(text)
    for name in path[:-1]:
        if name not in node.members:
            return text
        node = node.members[name][1]
    if path[-1] not in node.members:
        return text
    names, (begin, member) = list(node.members), node.members[path[-1]]
    where = names.index(path[-1])
    if len(names) == 1:
        return text[: node.start] + "{}" + text[node.end :]
    if where + 1 < len(names):
        comma = text.index(",", _space(text, member.end))
        return text[:begin] + text[comma + 1 :].lstrip()
    # the last one: if it ended with a comma, so does the one before it
    end, before = member.end, node.members[names[where - 1]][1].end
    comma, after = _space(text, before), _space(text, end)
    if text.startswith(",", after):
        return _ended(text[:begin].rstrip(), text[end:after] + text[after + 1 :])
    return _ended(text[:comma] + text[comma + 1 : begin].rstrip(), text[end:])


def _ended(before: str, after: str) -> str:
    """A comment at the end of a line must not take what follows."""
    comment = "//" in before.rpartition("\n")[2] and after[:1] not in ("\n", "\r")
    return f"{before}\n{after}" if comment else before + after


def _inserted(text: str, root: Json5Node, node: Json5Node, name: str, value: Any) -> str:
    key = json.dumps(name, ensure_ascii=False)
    members = list(node.members.values())
    inline = root.members and "\n" not in text[root.start : root.end]
    if inline or (members and "\n" not in text[node.start : node.end]):
        member = f"{key}: {json.dumps(value, ensure_ascii=False)}"
        if not members:
            return f"{text[: node.start]}{{{member}}}{text[node.end :]}"
        last = members[-1][1].end
        return f"{text[:last]}, {member}{text[last:]}"
    outer, end = _margin(text, node.start), line_end(text)
    level = _margin(text, members[-1][0]) if members else outer
    if not members or (level == outer and node is not root):
        level = outer + _unit(text, root)
    member = f"{end}{level}{key}: {_written(text, root, value, level)}"
    if not members:
        kept = text[node.start + 1 : node.end - 1].rstrip()
        return f"{text[: node.start + 1]}{kept}{member}{end}{outer}{text[node.end - 1 :]}"
    last = members[-1][1].end
    rest = text[last : node.end - 1]
    comma = "" if text.startswith(",", _space(text, last)) else ","
    tail = rest[len(rest.rstrip()) :] or f"{end}{outer}"
    return f"{text[:last]}{comma}{rest.rstrip()}{member}{tail}{text[node.end - 1 :]}"


def _written(text: str, root: Json5Node, value: Any, level: str) -> str:
    if "\n" not in text[root.start : root.end] and root.members:
        return json.dumps(value, ensure_ascii=False)
    lines = json.dumps(value, ensure_ascii=False, indent=_unit(text, root)).split("\n")
    return f"{line_end(text)}{level}".join(lines)


def _unit(text: str, root: Json5Node) -> str:
    """What one level is indented by."""
    first = next(iter(root.members.values()), None)
    return (_margin(text, first[0]) if first else "") or "  "


def _margin(text: str, at: int) -> str:
    """The white space at the beginning of the line."""
    line = text[text.rfind("\n", 0, at) + 1 :]
    return line[: len(line) - len(line.lstrip(" \t"))]
