"""Markdown that people and Wakebook write together: frontmatter and managed blocks.

A managed block stands between two markers and belongs to Wakebook; every byte outside it
belongs to whoever wrote it and comes back unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from wakebook.errors import WakebookError

BEGIN = "<!-- BEGIN GENERATED BRIEFING -->"
END = "<!-- END GENERATED BRIEFING -->"


_FENCE = re.compile(r"(`{3,}|~{3,})(.*)")
_BEGINS = re.compile(r"<!-- (?:BEGIN GENERATED BRIEFING|wakebook:begin \S+) -->")
_ENDS = re.compile(r"<!-- (?:END GENERATED BRIEFING|wakebook:end \S+) -->")


class BrokenBlock(WakebookError):
    """Markers that do not pair up. Nothing was changed."""


def split(text: str) -> tuple[dict[str, Any], str]:
    """Frontmatter and body. Text without (valid) frontmatter is all body."""
    if not text.startswith("---\n"):
        return {}, text
    end = text.find("\n---\n", 3)
    if end < 0:
        return {}, text
    import yaml

    try:
        front = yaml.load(text[4 : end + 1], Loader=_loader())  # noqa: S506 - a safe loader
    except (yaml.YAMLError, ValueError, RecursionError):  # of what it takes for a number, say
        return {}, text
    return (front, text[end + 5 :]) if isinstance(front, dict) else ({}, text)


def join(front: dict[str, Any], body: str) -> str:
    import yaml

    dumped = yaml.dump(
        front,
        Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper),
        sort_keys=False,
        allow_unicode=True,
        width=10_000,
        default_flow_style=False,
    )
    return f"---\n{dumped}---\n{body}"


def _loader() -> Any:
    """PyYAML's safe loader in C where it was built, with dates left as text."""
    import yaml

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        pass

    Loader.yaml_implicit_resolvers = {
        first: [pair for pair in pairs if pair[0] != "tag:yaml.org,2002:timestamp"]
        for first, pairs in Loader.yaml_implicit_resolvers.items()
    }
    return Loader


def replace_block(text: str, block: str) -> str:
    """The text with the generated block put between its markers.

    Without markers the block is added at the end. Markers that are doubled or out of order
    are refused: guessing could swallow somebody's words. Markers inside a code fence are an
    example of somebody's, and not looked at.
    """
    begins, ends = _places(text, BEGIN), _places(text, END)
    if not begins and not ends:
        gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
        return f"{text}{gap}{BEGIN}\n{block}{END}\n"
    if len(begins) != 1 or len(ends) != 1 or ends[0] < begins[0]:
        raise BrokenBlock(
            f"The briefing markers do not pair up ({len(begins)} x {BEGIN}, {len(ends)} x {END}). "
            "Leave one of each, in this order, and run `wakebook brief` again."
        )
    return f"{text[: begins[0]]}{BEGIN}\n{block}{text[ends[0] :]}"


def block(text: str) -> str | None:
    """What stands between the markers now, or None without markers."""
    begins, ends = _places(text, BEGIN), _places(text, END)
    if not begins or not ends or ends[0] < begins[0]:
        return None
    return text[begins[0] + len(BEGIN) : ends[0]].lstrip("\n")


def _places(text: str, marker: str) -> list[int]:
    """Where a marker begins a line, outside of code fences and indented code."""
    found: list[int] = []
    position, fence = 0, ""
    for line in text.splitlines(keepends=True):
        bare = line.lstrip(" ")
        indent = len(line) - len(bare)
        opened = _FENCE.match(bare) if indent < 4 else None
        if fence:
            closes = opened and opened[1].startswith(fence) and not opened[2].strip()
            fence = "" if closes else fence
        elif opened:
            fence = opened[1]
        elif indent < 4 and bare.startswith(marker):
            found.append(position + indent)
        position += len(line)
    return found


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
