"""Items: what a note says, one thing at a time.

An item is a bullet with all that is indented below it, a paragraph, or a row of a table; a code
fence belongs to what stands before it. Each has the headings that it stands under. Frontmatter,
comments, rules across the page and text that a program keeps between two markers are no items.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import msgspec

from wakebook.base import markdown

BETWEEN = " › "  # headings, in the line above an item
_HEADING = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)")
_BULLET = re.compile(r"([ \t]*)(?:[-*+•]|\d{1,4}[.)])[ \t]+(\S.*)")
_RULE = re.compile(r"[ \t]*([-*_])(?:[ \t]*\1){2,}[ \t]*")
_UNDERLINE = re.compile(r" {0,3}(=+|-{2,})[ \t]*")
_SEPARATOR = re.compile(r"\|?:?-+:?(?:\|:?-+:?)*\|?")
_MARKER = re.compile(r"<!-- ?(\S{1,80}):(start|end) ?-->")
_REFERENCE = re.compile(r" {0,3}\[[^\]]{1,200}\]:\s*\S+.*")
_PICTURE = re.compile(r"!\[[^\]]{0,300}\]\([^)]{0,2000}\)|!\[\[[^\]]{0,300}\]\]")
_LABEL = re.compile(r"[*_]*[^:*_\n\[]{1,60}[*_]*:[*_]*|\[[ xX~-]\]")
_HINT = re.compile(r"_[^_]+_|\([^()]*\)|_\([^()]*\)_")


class Item(msgspec.Struct, frozen=True):
    headings: tuple[str, ...]
    text: str  # Markdown, as it stands in the note

    def told(self) -> str:
        """The item as a message: its headings in a line above it."""
        above = f"# {BETWEEN.join(self.headings)}\n\n" if self.headings else ""
        return above + self.text


def parse(message: str) -> Item:
    """The inverse of `told`."""
    first, _, rest = message.partition("\n")
    if not first.startswith("# "):
        return Item((), message.strip("\n"))
    return Item(tuple(first[2:].split(BETWEEN)), rest.strip("\n"))


def items(text: str) -> tuple[list[Item], Counter[str]]:
    """The items of a note's text, and why others were left out."""
    note = _Note(text.replace("\r\n", "\n").split("\n"))
    return note.read(), note.skipped


class _Note:
    def __init__(self, lines: Sequence[str]) -> None:
        generated = markdown.generated(lines) | _between_markers(lines)
        self._code = markdown.code_lines(lines)
        self._lines = _uncommented(lines, self._code, generated)
        self._headings: list[tuple[int, str]] = []
        self._lead = ""  # a line that says what the list below it is
        self._open: list[str] = []  # of the item that is being read
        self._bullet = -1  # its indentation, if it is a bullet
        self._apart = False  # a blank line stands before this one
        self._found: list[Item] = []
        self._fresh = False  # the last item stands under these headings
        self.skipped: Counter[str] = Counter()
        if generated:
            self.skipped["generated"] += 1

    def read(self) -> list[Item]:
        number = 0
        while number < len(self._lines):
            number = self._take(number)
        self._close()
        return self._found

    def _take(self, number: int) -> int:
        """Read one line, or what belongs together. Returns the next one."""
        line = self._lines[number]
        if number in self._code:
            return self._fence(number)
        if not line.strip():
            if self._bullet < 0 and not self._leads_on(number):
                self._close()
        elif self._begins(number, line):
            pass
        elif rows := self._table(number):
            return number + rows
        elif self._continues(line):
            self._open += [""] * self._apart + [line]
        else:
            self._close()
            self._open = [line]
        self._apart = not line.strip()
        return number + 1

    def _leads_on(self, number: int) -> bool:
        """Whether what follows the blank lines belongs to the paragraph: code, or its list."""
        while number < len(self._lines) and not self._lines[number].strip():
            number += 1
        if number == len(self._lines) or not self._open:
            return False
        lists = self._open[-1].rstrip().endswith(":") and _BULLET.fullmatch(self._lines[number])
        return number in self._code or bool(lists)

    def _begins(self, number: int, line: str) -> bool:
        """A heading, a rule, or a bullet that is none of another bullet's."""
        heading = _HEADING.match(line)
        below = _UNDERLINE.fullmatch(line)
        if heading:
            self._close()
            self._under(len(heading[1]), _unclosed(line[heading.end() :].strip()))
        elif below and len(self._open) == 1 and self._bullet < 0 and not self._apart:
            title, self._open = self._open[0], []
            self._under(1 if below[1][0] == "=" else 2, title)
        elif _RULE.fullmatch(line) or _REFERENCE.fullmatch(line):
            self._close()
        elif bullet := _BULLET.fullmatch(line):
            indent = len(bullet[1].expandtabs(4))
            if 0 <= self._bullet < indent:
                return False
            self._list()
            self._open, self._bullet = [line], indent
        else:
            return False
        return True

    def _list(self) -> None:
        """A list begins, or goes on: a line above it that ends in a colon is its heading."""
        if self._open and self._bullet < 0 and self._open[-1].rstrip().endswith(":"):
            lead = " ".join(line.strip() for line in self._open)
            self._open, self._lead = [], _plain(lead).rstrip(":")
        else:
            paragraph = bool(self._open) and self._bullet < 0
            self._close(keep_lead=not paragraph)

    def _continues(self, line: str) -> bool:
        if not self._open:
            return False
        if self._bullet < 0:
            return not self._apart
        indent = len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())
        return indent > self._bullet or not (self._apart or line.rstrip().endswith(":"))

    def _under(self, level: int, title: str) -> None:
        above = [one for one in self._headings if one[0] < level]
        words = _plain(title)
        self._headings = [*above, (level, words)] if words else above
        self._lead, self._fresh = "", False

    def _fence(self, number: int) -> int:
        end = number
        while end < len(self._lines) and end in self._code:
            end += 1
        code = self._lines[number:end]
        if self._open:
            self._open += [""] * self._apart + code
        elif self._found and self._fresh:
            last = self._found.pop()
            self._found.append(Item(last.headings, "\n".join([last.text, "", *code])))
        else:
            self._add("\n".join(code))
        self._apart = False
        return end

    def _table(self, number: int) -> int:
        """The rows of a table that begins here; how many lines it has."""
        below = self._lines[number + 1] if number + 1 < len(self._lines) else ""
        separator = "|" in below and _SEPARATOR.fullmatch("".join(below.split()))
        if "|" not in self._lines[number] or not separator:
            return 0
        self._close()
        names = _cells(self._lines[number])
        end = number + 2
        while end < len(self._lines) and "|" in self._lines[end] and end not in self._code:
            row = zip(names, _cells(self._lines[end]), strict=False)
            self._add("; ".join(f"{name}: {cell}" if name else cell for name, cell in row if cell))
            end += 1
        return end - number

    def _close(self, keep_lead: bool = False) -> None:
        """The item that was being read is complete."""
        lines, self._open, self._bullet = self._open, [], -1
        if lines:
            self._add("\n".join(_dedented(lines)))
        if not keep_lead:
            self._lead = ""

    def _add(self, text: str) -> None:
        text = _PICTURE.sub("[image]", text).strip("\n")
        quoted = "\n".join(re.sub(r"^(?: {0,3}> ?)+", "", line) for line in text.split("\n"))
        bare = re.sub(r"^(?:[-*+•]|\d{1,4}[.)])\s+", "", quoted.strip())
        if not re.search(r"\w", bare) or bare == "[image]" or _LABEL.fullmatch(bare):
            self.skipped["empty"] += 1
            return
        if _HINT.fullmatch(bare):  # what a template says should stand here
            self.skipped["hint"] += 1
            return
        above = tuple(title for _, title in self._headings) + ((self._lead,) if self._lead else ())
        self._found.append(Item(above, quoted))
        self._fresh = True


def _plain(title: str) -> str:
    """A heading's words, without marks and links."""
    title = re.sub(r"\[([^\]]{0,200})\]\([^)]{0,2000}\)", r"\1", title[:500])
    return " ".join(re.sub(r"[*`]", "", title).split()).strip("_ ")


def _unclosed(title: str) -> str:
    """Without the marks that may stand behind a heading, too."""
    bare = title.rstrip("#")
    return bare.rstrip() if not bare or bare[-1] in " \t" else title


def _cells(row: str) -> list[str]:
    return [" ".join(cell.split()) for cell in row.strip().strip("|").split("|")]


def _dedented(lines: Sequence[str]) -> list[str]:
    least = len(lines[0]) - len(lines[0].lstrip())
    return [line[least:] if not line[:least].strip() else line.lstrip() for line in lines]


def _uncommented(lines: Sequence[str], code: set[int], generated: set[int]) -> list[str]:
    """Without comments, which may go over lines, and without generated text."""
    kept: list[str] = []
    inside = False
    for number, line in enumerate(lines):
        if number in code or number in generated:
            kept.append("" if number in generated else line)
            continue
        outside, rest = "", line
        while rest:
            before, mark, rest = rest.partition("-->" if inside else "<!--")
            outside += "" if inside else before
            inside ^= bool(mark)
        kept.append(outside)
    return kept


def _between_markers(lines: Sequence[str]) -> set[int]:
    """The lines of blocks that another program writes: <!-- NAME:start --> to <!-- NAME:end -->."""
    found: set[int] = set()
    begun: dict[str, int] = {}
    for number, line in enumerate(lines):
        marker = _MARKER.fullmatch(line.strip())
        if marker and marker[2] == "start":
            begun.setdefault(marker[1], number)
        elif marker and marker[1] in begun:
            found.update(range(begun.pop(marker[1]), number + 1))
    return found
