"""JSON5 that is edited in place: openclaw.json, as people write it.

OpenClaw reads comments, trailing commas, single quotes and names without quotes. Here a file is
read with the place of every value, so that one setting can be put in or taken out and every other
byte (comments, order, line ends, indentation) stays as it is.
"""

from __future__ import annotations

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


class Node:
    """A value, and the part of the text that it is."""

    def __init__(self, start: int) -> None:
        self.start = self.end = start
        self.value: Any = None
        self.members: dict[str, tuple[int, Node]] = {}  # name -> its place, its value


# --- reading -----------------------------------------------------------------------------


def read(text: str) -> Any:
    return parse(text).value


def parse(text: str) -> Node:
    """Raises NotJson with the line."""
    reader = _Reader(text)
    found = reader.node(reader.space(0), 0)
    if reader.space(found.end) != len(text):
        raise reader.refused(reader.space(found.end), "more after the end")
    return found


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text

    def refused(self, at: int, why: str) -> NotJson:
        return NotJson(f"line {self.text.count(chr(10), 0, at) + 1}: {why}")

    def space(self, at: int) -> int:
        found = _SPACE.match(self.text, at)
        return found.end() if found else at

    def node(self, at: int, depth: int) -> Node:
        node = Node(at)
        head = self.text[at : at + 1]
        if depth > _DEEPEST:
            raise self.refused(at, "too deep")
        if head == "{":
            self._object(node, depth)
        elif head == "[":
            self._array(node, depth)
        else:
            self._scalar(node)
        return node

    def _object(self, node: Node, depth: int) -> None:
        node.value = {}
        at = self.space(node.start + 1)
        while self.text[at : at + 1] != "}":
            name, begin = self._key(at), at
            at = self.space(name[1])
            if self.text[at : at + 1] != ":":
                raise self.refused(at, "a colon is missing")
            member = self.node(self.space(at + 1), depth + 1)
            node.members[name[0]] = (begin, member)
            node.value[name[0]] = member.value
            at = self._next(member.end, "}")
        node.end = at + 1

    def _array(self, node: Node, depth: int) -> None:
        node.value = []
        at = self.space(node.start + 1)
        while self.text[at : at + 1] != "]":
            item = self.node(at, depth + 1)
            node.value.append(item.value)
            at = self._next(item.end, "]")
        node.end = at + 1

    def _next(self, at: int, closing: str) -> int:
        at = self.space(at)
        if self.text[at : at + 1] == ",":
            return self.space(at + 1)
        if self.text[at : at + 1] != closing:
            raise self.refused(at, f"a comma or {closing} is missing")
        return at

    def _key(self, at: int) -> tuple[str, int]:
        found = _STRING.match(self.text, at)
        if found:
            return _unquoted(found[0]), found.end()
        found = _NAME.match(self.text, at)
        if not found:
            raise self.refused(at, "a name is missing")
        return found[0], found.end()

    def _scalar(self, node: Node) -> None:
        if found := _STRING.match(self.text, node.start):
            node.value = _unquoted(found[0])
        elif found := _NUMBER.match(self.text, node.start):
            node.value = _number(found[0])
        elif (found := _NAME.match(self.text, node.start)) and found[0] in _WORDS:
            node.value = _WORDS[found[0]]
        else:
            raise self.refused(node.start, "a value is missing")
        node.end = found.end()


def _unquoted(quoted: str) -> str:
    def meant(found: re.Match[str]) -> str:
        code = found[1]
        if len(code) > 1 and code[0] in "ux":
            return chr(int(code[1:], 16))
        return "" if code in ("\n", "\r\n") else _ESCAPES.get(code, code)

    text = _ESCAPE.sub(meant, quoted[1:-1])
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _number(text: str) -> int | float:
    bare = text.lstrip("+-")
    if bare[:2].lower() == "0x":
        return int(bare, 16) * (-1 if text.startswith("-") else 1)
    if bare.isdigit():
        return int(text)
    return float(text)


def commented(text: str) -> bool:
    """Whether there is a comment, or anything else that plain JSON does not allow."""
    try:
        json.loads(text.removeprefix("\ufeff"))
    except ValueError:
        return True
    return False


# --- changing ----------------------------------------------------------------------------


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
    level = _margin(text, node.start)
    return text[: node.start] + _written(text, root, value, level) + text[node.end :]


def drop(text: str, path: Path) -> str:
    """The text without this member. One that is not there is no mistake."""
    node = parse(text)
    for name in path[:-1]:
        if name not in node.members:
            return text
        node = node.members[name][1]
    if path[-1] not in node.members:
        return text
    names = list(node.members)
    begin, member = node.members[path[-1]]
    where = names.index(path[-1])
    if len(names) == 1:
        return text[: node.start] + "{}" + text[node.end :]
    if where + 1 < len(names):
        comma = text.index(",", _Reader(text).space(member.end))
        return text[:begin] + text[comma + 1 :].lstrip()
    return _shortened(text, node.members[names[where - 1]][1].end, begin, member.end)


def _shortened(text: str, before: int, begin: int, end: int) -> str:
    """Without the last member; whoever ends the last one with a comma still does."""
    reader = _Reader(text)
    comma = reader.space(before)
    after = reader.space(end)
    if text[after : after + 1] == ",":
        return _ended(text[:begin].rstrip(), text[end:after] + text[after + 1 :])
    return _ended(text[:comma] + text[comma + 1 : begin].rstrip(), text[end:])


def _ended(before: str, after: str) -> str:
    """A comment at the end of a line must not take what follows."""
    comment = "//" in before.rpartition("\n")[2] and after[:1] not in ("\n", "\r")
    return f"{before}\n{after}" if comment else before + after


def _inserted(text: str, root: Node, node: Node, name: str, value: Any) -> str:
    key = json.dumps(name, ensure_ascii=False)
    inline = root.members and "\n" not in text[root.start : root.end]
    if inline or (node.members and "\n" not in text[node.start : node.end]):
        return _inline(text, node, f"{key}: {json.dumps(value, ensure_ascii=False)}")
    outer = _margin(text, node.start)
    end = line_end(text)
    if not node.members:
        level = outer + _unit(text, root)
        inside = f"{end}{level}{key}: {_written(text, root, value, level)}{end}{outer}"
        kept = text[node.start + 1 : node.end - 1].rstrip()
        return f"{text[: node.start + 1]}{kept}{inside}{text[node.end - 1 :]}"
    last_begin, last = list(node.members.values())[-1]
    level = _margin(text, last_begin)
    if level == outer and node is not root:
        level = outer + _unit(text, root)
    rest = text[last.end : node.end - 1]
    gap = _SPACE.match(rest)
    comma = "" if gap and rest[gap.end() : gap.end() + 1] == "," else ","
    tail = rest[len(rest.rstrip()) :] or f"{end}{outer}"
    member = f"{end}{level}{key}: {_written(text, root, value, level)}"
    return f"{text[: last.end]}{comma}{rest.rstrip()}{member}{tail}{text[node.end - 1 :]}"


def _inline(text: str, node: Node, member: str) -> str:
    if not node.members:
        return f"{text[: node.start]}{{{member}}}{text[node.end :]}"
    last = list(node.members.values())[-1][1].end
    return f"{text[:last]}, {member}{text[last:]}"


def _written(text: str, root: Node, value: Any, level: str) -> str:
    if "\n" not in text[root.start : root.end] and root.members:
        return json.dumps(value, ensure_ascii=False)
    lines = json.dumps(value, ensure_ascii=False, indent=_unit(text, root)).split("\n")
    return f"{line_end(text)}{level}".join(lines)


def _unit(text: str, root: Node) -> str:
    """What one level is indented by."""
    for begin, _ in root.members.values():
        return _margin(text, begin) or "  "
    return "  "


def _margin(text: str, at: int) -> str:
    """The white space at the beginning of the line."""
    begin = text.rfind("\n", 0, at) + 1
    found = re.compile(r"[ \t]*").match(text, begin)
    return found[0] if found else ""
