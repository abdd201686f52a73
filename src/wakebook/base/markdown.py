"""Markdown that people and Wakebook write together: frontmatter and managed blocks.

A managed block stands between two markers and belongs to Wakebook; every byte outside it
belongs to its author and comes back unchanged.
"""

import bisect
import functools
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any

import msgspec

from wakebook.base.errors import WakebookError
from wakebook.base.text import line_end

BEGIN = "<!-- BEGIN GENERATED BRIEFING -->"
END = "<!-- END GENERATED BRIEFING -->"
DEEPEST = 50  # levels of frontmatter
SHORT = 4_000  # characters of frontmatter that is kept
BRIEFING = "briefing"  # the block with these markers; all others carry their name

_OPENS = re.compile(r"\ufeff?---\r?\n")
_CLOSES = re.compile(r"\n---\r?(?:\n|\Z)")
_FENCE = re.compile(r"(`{3,}|~{3,})(.*)")
_BEGINS = re.compile(r"<!-- (?:BEGIN GENERATED BRIEFING|wakebook:begin \S+) -->")
_ENDS = re.compile(r"<!-- (?:END GENERATED BRIEFING|wakebook:end \S+) -->")
_NAME = re.compile(r"<!-- wakebook:(?:begin|end) (\S+) -->")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d(?:\.\d+)?Z)?")
_PLAIN = re.compile(r"[A-Za-zÀ-ɏ](?:[\w ./-]*[\w./-])?")  # needs no quotes in YAML
_WORDS = frozenset("true false yes no on off null y n".split())
_SUM = re.compile(r"<!-- wakebook:sum ([0-9a-f]+) -->")


class BrokenBlock(WakebookError):
    """Markers that do not pair up. Nothing was changed."""


class Front(msgspec.Struct, frozen=True):
    """A text's frontmatter, or what is wrong with it. All that reads frontmatter reads it so."""

    values: dict[str, Any] | None = None  # None: there is none, or it cannot be read
    end: int = 0  # where its last line ends, without its line end
    body: int = 0  # where the text behind it begins
    problem: str = ""
    line: int = 0  # of the problem


def read_front(text: str) -> Front:
    """Frontmatter between two lines `---`, the first of which begins the text. A line across the
    page, with words below it, is no frontmatter."""
    begin = _OPENS.match(text)
    if begin is None:
        return Front()
    end = _CLOSES.search(text, begin.end() - 1)
    if end is None:
        if ":" not in text[begin.end() :].partition("\n")[0]:
            return Front()
        return Front(problem="the frontmatter has no end (a line ---)", line=1)
    import yaml

    source = text[begin.end() : end.start() + 1]
    try:
        if (deep := _too_deep(source)) is not None:
            return Front(problem="the frontmatter is nested too deeply", line=deep + 2)
        values = deepcopy(_kept(source)) if len(source) < SHORT else _loaded(source)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 2 if error.problem_mark else 1
        return Front(problem=f"the frontmatter is not YAML ({error.problem})", line=line)
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # of what it takes for a number
        reason = " ".join(str(error).split())
        return Front(problem=f"the frontmatter is not YAML ({reason})", line=2)
    if isinstance(values, dict):
        return Front(values, end.start(), end.end())
    plain = values is None or isinstance(values, str)  # words between two lines across the page
    return Front() if plain else Front(problem="the frontmatter has no keys", line=2)


def _loaded(source: str) -> Any:
    import yaml

    return yaml.load(source, Loader=loader())  # noqa: S506 - a safe one


_kept = functools.lru_cache(maxsize=1024)(_loaded)  # the same notes are read again and again


def _too_deep(source: str) -> int | None:
    """The line from which on YAML is nested so deeply that reading it would end the process."""
    if sum(map(source.count, "[{-?:")) < DEEPEST:  # a quick look is enough for most
        return None
    import yaml

    depth = 0
    for event in yaml.parse(source, Loader=loader()):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            return event.start_mark.line if event.start_mark else 0
    return None


def split(text: str) -> tuple[dict[str, Any], str]:
    """Frontmatter and body. Text without (valid) frontmatter is all body."""
    found = read_front(text)
    return (found.values, text[found.body :]) if found.values is not None else ({}, text)


def front_problem(text: str) -> str:
    """What is wrong with a text's frontmatter, with its line; nothing if it has none."""
    found = read_front(text)
    return f"line {found.line}: {found.problem}" if found.problem else ""


def join(front: dict[str, Any], body: str) -> str:
    import yaml

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    dumped = yaml.dump(front, Dumper=dumper, sort_keys=False, allow_unicode=True, width=10_000)
    return f"---\n{dumped}---\n{body}"


@functools.cache
def loader() -> Any:
    """PyYAML's safe loader in C where it was built, with dates left as text."""
    import yaml

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        pass

    Loader.yaml_implicit_resolvers = {
        first: [pair for pair in pairs if pair[0] != "tag:yaml.org,2002:timestamp"]
        for first, pairs in Loader.yaml_implicit_resolvers.items()
    }
    return Loader


class Block(msgspec.Struct, frozen=True):
    name: str
    lines: tuple[str, ...]  # without markers and sum
    first: int  # number of its first line in the file, from 1
    sum: str  # of the lines that Wakebook wrote; empty if there is none

    @property
    def edited(self) -> bool:
        """Whether the user or the agent has changed what Wakebook wrote. A briefing without a sum
        was written by an agent or an earlier version."""
        if not self.sum:
            return bool(self.lines) and self.name != BRIEFING
        return self.sum != sum_of(self.lines)


def sum_of(lines: Sequence[str]) -> str:
    """What tells a block that was edited by hand. Spaces at the end of a line do not count."""
    text = "\n".join(line.rstrip() for line in lines).strip("\n")
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=6).hexdigest()


def markers(name: str) -> tuple[str, str]:
    if name == BRIEFING:
        return BEGIN, END
    return f"<!-- wakebook:begin {name} -->", f"<!-- wakebook:end {name} -->"


def put(text: str, name: str, lines: Sequence[str]) -> str:
    """The text with these lines in its block of that name, and every other byte as it was.

    Without markers the block is added at the end. Doubled or misplaced markers are refused:
    a guess could swallow the user's words. Markers in a code fence are an example, and ignored.
    """
    begin, end = markers(name)
    place = _span(text, name)
    new = line_end(text if place is None else text[: place[0]] + text[place[1] :])
    inside = "".join(f"{line}{new}" for line in lines)
    inside += f"<!-- wakebook:sum {sum_of(lines)} -->{new}" if lines else ""
    if place is None:
        gap = "" if not text else new if text.endswith("\n") else new * 2
        return f"{text}{gap}{begin}{new}{inside}{end}{new}"
    return f"{text[: place[0]]}{begin}{new}{inside}{text[place[1] :]}"


def block(text: str, name: str) -> Block | None:
    """What stands between the markers now, or None without markers. Raises BrokenBlock."""
    place = _span(text, name)
    if place is None:
        return None
    lines = [line.rstrip("\r") for line in text[place[0] : place[1]].split("\n")[1:-1]]
    total = _SUM.fullmatch(lines[-1].strip()) if lines else None
    if total:
        lines.pop()
    while lines and not lines[-1].strip():
        lines.pop()
    first = text.count("\n", 0, place[0]) + 2
    return Block(name, tuple(lines), first, total[1] if total else "")


def names(text: str) -> list[str]:
    """The names of the blocks that begin or end in a text."""
    found = [BRIEFING] if _places(text, BEGIN) or _places(text, END) else []
    marks = [at for what in ("begin", "end") for at in _places(text, f"<!-- wakebook:{what} ")]
    found += [match[1] for at in marks if (match := _NAME.match(text, at))]
    return list(dict.fromkeys(found))


def _span(text: str, name: str) -> tuple[int, int] | None:
    """Where a block's begin marker and its end marker begin."""
    begin, end = markers(name)
    begins, ends = _places(text, begin), _places(text, end)
    if not begins and not ends:
        return None
    if len(begins) == len(ends) == 1 and begins[0] < ends[0]:
        for at in (begins[0] + len(begin), ends[0] + len(end)):
            if rest := text[at:].partition("\n")[0].strip():  # it would be lost
                line = text.count("\n", 0, at) + 1
                raise BrokenBlock(
                    f"line {line}: {rest[:40]!r} stands behind a marker of the block {name!r}. "
                    "Move it to a line of its own"
                )
        return begins[0], ends[0]
    lines = sorted(text.count("\n", 0, at) + 1 for at in (*begins, *ends))
    where = ", ".join(map(str, lines))
    raise BrokenBlock(
        f"the markers of the block {name!r} do not pair up (line {where}: {len(begins)} x {begin}, "
        f"{len(ends)} x {end}). Leave one of each, in this order; what stands between them is "
        "generated"
    )


def remove(text: str, name: str) -> str:
    place = _span(text, name)
    if place is None:
        return text
    return text[: place[0]] + text[place[1] :].partition("\n")[2]


def set_front(text: str, values: Mapping[str, Any]) -> str:
    """The text with these values in its frontmatter, where their keys stand there already.

    Only those lines change. Text without frontmatter, or with frontmatter that is broken,
    comes back as it is.
    """
    found = read_front(text)
    if found.values is None:
        return text
    front = text[: found.end]
    for key, value in values.items():
        front = re.sub(
            rf"(?m)^{re.escape(key)}:(?=[ \t]|\r?$)[^\r\n]*(?=\r?$)(?!\r?\n[ \t-])",
            lambda _, key=key, value=value: f"{key}: {_scalar(value)}",  # type: ignore[misc]
            front,
            count=1,
        )
    return front + text[found.end :]


def front(values: Mapping[str, Any]) -> str:
    """Frontmatter of plain values and lists of them, a line each."""
    lines = [f"{key}: {_scalar(value)}" for key, value in values.items()]
    return "\n".join(["---", *lines, "---", ""])


def add_front(text: str, key: str, value: Any) -> str:
    """The text with a key more at the end of its frontmatter, if it has one without that key."""
    found = read_front(text)
    if not found.values or key in found.values:
        return text
    end = "\r\n" if text.startswith("---\r\n") else "\n"
    return f"{text[: found.end]}{end}{key}: {_scalar(value)}{text[found.end :]}"


def _scalar(value: Any) -> str:
    """A value on one line of YAML."""
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_scalar, value)) + "]"
    if not isinstance(value, str):
        return json.dumps(value)
    if _MOMENT.fullmatch(value) or (_PLAIN.fullmatch(value) and value.lower() not in _WORDS):
        return value
    quoted = json.dumps(value, ensure_ascii=False)
    return re.sub(r"[\x7f-\xa0\u2028\u2029\ufeff]", lambda found: f"\\u{ord(found[0]):04x}", quoted)


def _places(text: str, marker: str) -> list[int]:
    """Where a marker begins a line, outside of code fences and indented code."""
    if marker not in text:
        return []
    if "```" not in text and "~~~" not in text:
        return [at for at in _found(text, marker) if _begins_line(text, at)]
    return [at for at in _outside_fences(text) if text.startswith(marker, at)]


def _found(text: str, marker: str) -> Iterator[int]:
    at = text.find(marker)
    while at >= 0:
        yield at
        at = text.find(marker, at + 1)


def _begins_line(text: str, at: int) -> bool:
    before = text[text.rfind("\n", 0, at) + 1 : at]
    return len(before) < 4 and not before.strip(" ")


def _outside_fences(text: str) -> list[int]:
    """Where a line's text begins, of those that are no code. A fence that never ends is none."""
    lines = text.split("\n")
    code = code_lines(lines)
    found: list[int] = []
    position = 0
    for number, line in enumerate(lines):
        indent = len(line) - len(line.lstrip(" "))
        if number not in code and indent < 4:
            found.append(position + indent)
        position += len(line) + 1
    return found


def _fence_ends(lines: Sequence[str]) -> dict[int, int]:
    """Where the fence ends that a line would begin, if it ends. Looks at each line once. From the
    last line on: of those that could end a fence, the nearest of each length is kept."""
    ends: dict[int, int] = {}
    closing: dict[str, list[tuple[int, int]]] = {"`": [], "~": []}  # length and line, nearest last
    for number in range(len(lines) - 1, -1, -1):
        bare = lines[number].lstrip(" ")
        fence = _FENCE.match(bare) if len(lines[number]) - len(bare) < 4 else None
        if fence is None:
            continue
        length, after = len(fence[1]), closing[fence[1][0]]
        first = bisect.bisect_left(after, -length, key=lambda one: -one[0])
        at = bisect.bisect_right(after, -length, key=lambda one: -one[0]) - 1
        if at >= 0:
            ends[number] = after[at][1]
        if not fence[2].strip():  # what ends no earlier is of no use any more
            del after[first:]
            after.append((length, number))
    return ends


def code_lines(lines: Sequence[str]) -> set[int]:
    """The indexes of the lines in code fences, the fences included."""
    ends = _fence_ends(lines)
    found: set[int] = set()
    last = -1
    for number in sorted(ends):
        if number > last:
            last = ends[number]
            found.update(range(number, last + 1))
    return found


def marker_lines(lines: Sequence[str]) -> set[int]:
    """The indexes of the lines that only mark where a managed block begins and ends."""
    marks = (_BEGINS, _ENDS, _SUM)
    bare = [line.strip() for line in lines]
    return {at for at, line in enumerate(bare) if any(mark.fullmatch(line) for mark in marks)}


def generated(lines: Sequence[str]) -> set[int]:
    """The indexes of the lines in managed blocks, markers included."""
    found: set[int] = set()
    inside = False
    for index, line in enumerate(lines):
        if not inside and _BEGINS.fullmatch(line.strip()):
            inside = any(_ENDS.fullmatch(other.strip()) for other in lines[index:])
        if inside:
            found.add(index)
            inside = not _ENDS.fullmatch(line.strip())
    return found
