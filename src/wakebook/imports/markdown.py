"""Notes in Markdown: a file, all files below a folder, or the memory of an OpenClaw workspace.

Every item of a note becomes a message: a bullet with all that is indented below it, a paragraph,
or a row of a table, with the headings that it stands under; a code fence belongs to what stands
before it. Frontmatter, comments, rules across the page and text that a program keeps between two
markers are no items. When it was written is what the item, its heading, the
file's name or the frontmatter says, or else when the file was last changed.

Of a workspace, MEMORY.md, USER.md and the memory folder are taken. Its other files (SOUL.md,
AGENTS.md ...) say how the agent should be, and are no memories. The dream diary and what a hook
wrote down of whole sessions are left out, too: `catch-up` reads the sessions themselves.
"""

import hashlib
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from wakebook.base import clock, markdown
from wakebook.base.errors import TranscriptError
from wakebook.capture.hosts import jsonl
from wakebook.capture.state import MEMORIES
from wakebook.imports.export import Bad, Export, Memo, Part, Passed, Post, Thread, required

NAME, OPENCLAW = "markdown", "openclaw-memory"
SUFFIXES = (".md", ".markdown")
LARGEST = 20 << 20  # bytes of a note
FOLDERS = {"project": "Project", "projects": "Project", "person": "Person", "people": "Person"}
DATES = ("date", "created", "created_at", "updated", "updated_at", "modified")
_DAY = re.compile(r"(?<!\d)\d{4}-\d\d-\d\d(?!\d)")
_LEADING = re.compile(r"[-*+•\s\[(*]*(\d{4}-\d\d-\d\d)(?!\d)")

TOP = ("MEMORY.md", "memory.md", "USER.md")
IDENTITY = ("SOUL.md", "AGENTS.md", "TOOLS.md", "IDENTITY.md", "HEARTBEAT.md", "BOOTSTRAP.md")
_SESSION = re.compile(r"# Session: .*\n+- \*\*Session Key\*\*:")
_SCORE = re.compile(r"[ \t]*\[score=[^\]\n]*\]$", re.MULTILINE)

_HEADING = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)")
_CLOSING = re.compile(r"(?:^|[ \t]+)#+$")  # marks that may stand behind a heading, too
_BULLET = re.compile(r"([ \t]*)(?:[-*+•]|\d{1,4}[.)])[ \t]+(\S.*)")
_RULE = re.compile(r"[ \t]*([-*_])(?:[ \t]*\1){2,}[ \t]*")
_UNDERLINE = re.compile(r" {0,3}(=+|-{2,})[ \t]*")
_SEPARATOR = re.compile(r"\|?:?-+:?(?:\|:?-+:?)*\|?")
_MARKER = re.compile(r"<!-- ?(\S{1,80}):(start|end) ?-->")
_REFERENCE = re.compile(r" {0,3}\[[^\]]{1,200}\]:\s*\S+.*")
_PICTURE = re.compile(r"!\[[^\]]{0,300}\]\([^)]{0,2000}\)|!\[\[[^\]]{0,300}\]\]")
_LABEL = re.compile(r"[*_]*[^:*_\n\[]{1,60}[*_]*:[*_]*|\[[ xX~-]\]")
_HINT = re.compile(r"_[^_]+_|\([^()]*\)|_\([^()]*\)_")


def read(path: Path) -> Export:
    required(path)
    found = files(path)
    return Export(len(found), (note(one, path) for one in found))


def files(path: Path) -> list[Path]:
    """The notes at a path: not those in hidden folders."""
    if path.is_file():
        return [path] if path.suffix.lower() in (*SUFFIXES, ".txt", "") else []
    found = jsonl.files(path, *SUFFIXES, *(s.upper() for s in SUFFIXES))
    hidden = re.compile(r"(?:^|/)(?:\.|(?:node_modules|__pycache__)(?:/|$))")
    return [one for one, _ in found if not hidden.search(one.relative_to(path).as_posix())]


def note(path: Path, root: Path, source: str = NAME) -> Part:
    """One note, as a conversation of its items."""
    name = str(path.relative_to(root)) if path != root and root.is_dir() else path.name
    try:
        text = _text(path)
        changed = datetime.fromtimestamp(int(path.stat().st_mtime), UTC)
    except OSError as error:
        return Bad(name, f"cannot be read ({error.strerror or error}): check its permissions")
    except ValueError as error:
        return Bad(name, str(error))
    front, body = markdown.split(text)
    if "session_id" in front and "format" in front:
        return Passed(name, "a transcript, and no note")
    found, skipped = items(body)
    subject = _subject(front, path, root)
    # 2026-02-16.md, 2026-02-16-planning.md; in a journal also 2026/02/16.md
    named = day_of(path.name) or day_of("-".join(path.with_suffix("").parts[-3:]))
    day = named or _front_day(front) or changed
    place = hashlib.sha256(os.fsencode(os.path.realpath(path))).hexdigest()[:10]
    return Thread(
        id=f"{path.stem[:60]}-{place}",  # the same for ever
        name=name,
        channel=f"{MEMORIES}{source}",
        pieces=tuple(_piece(one, subject, day) for one in found),
        skipped=skipped,
    )


def _text(path: Path) -> str:
    """Raises OSError, or ValueError with what is wrong."""
    size = path.stat().st_size
    if size > LARGEST:
        raise ValueError(f"{size:,} bytes are too much for a note: split it")
    data = path.read_bytes()
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    if b"\x00" in data[:4096]:
        raise ValueError("not text: is it a Markdown file?")
    return data.decode("utf-8-sig", "replace")


def _piece(item: Memo, subject: str, day: datetime) -> Post:
    leading = _LEADING.match(item.text)
    days = [day_of(leading[1])] if leading else []
    days += [day_of(heading) for heading in reversed(item.headings)]
    told = Memo((subject, *item.headings), item.text).told() if subject else item.told()
    return Post(role="user", text=told, at=next((one for one in days if one), day))


def day_of(text: str) -> datetime | None:
    """The day that a text names: noon, which is the same day almost everywhere."""
    found = _DAY.search(text)
    try:
        return datetime.fromisoformat(f"{found[0]}T12:00:00Z") if found else None
    except ValueError:  # the 31st of June
        return None


def _front_day(front: Mapping[str, Any]) -> datetime | None:
    for key in DATES:
        value = front.get(key)
        day = day_of(value) if isinstance(value, str) and len(value.strip()) <= 10 else None
        if moment := day or clock.parse(value):
            return moment
    return None


def _subject(front: Mapping[str, Any], path: Path, root: Path) -> str:
    """What a whole note is about, if its frontmatter or its folder says so, as a heading."""
    for key in ("project", "person"):
        if isinstance(front.get(key), str) and front[key].strip():
            return f"{key.capitalize()}: {' '.join(front[key].split())}"
    parts = path.relative_to(root).with_suffix("").parts if path != root else ()
    for folder, name in pairwise(parts):
        if folder.lower() in FOLDERS and not name.startswith("_"):
            words = name.replace("-", " ").replace("_", " ").split()
            return f"{FOLDERS[folder.lower()]}: {' '.join(words)}"
    return ""


def read_workspace(path: Path) -> Export:
    required(path)
    if path.is_file():
        raise TranscriptError(
            f"{path}: a file. Name the workspace, or its memory folder; for a single note there "
            f"is `wakebook import markdown {path}`."
        )
    # by their very names: on some disks memory.md is MEMORY.md as well
    found = [path / name for name in (*TOP, *IDENTITY) if name in _names(path)]
    below = path / "memory" if (path / "memory").is_dir() else path
    if below != path or not found:  # the other notes of a workspace are no memories
        found += [one for one in files(below) if one not in found]
    return Export(len(found), (_remembered(one, path) for one in found))


def is_workspace(path: Path) -> bool:
    """Whether a folder looks like OpenClaw's workspace, or the memory folder of one."""
    folders = (path, path / "memory") if path.is_dir() else ()
    days = (day_of(name) for one in folders if one.name == "memory" for name in _names(one))
    return (path / "MEMORY.md").is_file() or any(days)


def _names(path: Path) -> list[str]:
    return [one.name for one in path.glob("*.md")] if path.is_dir() else []


def _remembered(path: Path, root: Path) -> Part:
    """A file of a workspace, without the figures behind what OpenClaw has promoted."""
    if reason := _why_passed(path):
        return Passed(str(path.relative_to(root)), reason)
    part = note(path, root, OPENCLAW)
    if not isinstance(part, Thread):
        return part
    replace = msgspec.structs.replace
    pieces = (replace(piece, text=_SCORE.sub("", piece.text)) for piece in part.pieces)
    return replace(part, pieces=tuple(pieces))


def _why_passed(path: Path) -> str:
    if path.name in IDENTITY:
        return "says how the agent should be: copy it to knowledge/identity if you want it"
    if path.name.lower() == "dreams.md":
        return "a dream diary"
    try:
        with path.open(encoding="utf-8", errors="replace") as stream:
            head = stream.read(2000)
    except OSError:
        return ""  # reading it says why
    session = "a session's words: `wakebook catch-up` reads the session"
    return session if _SESSION.match(head) else ""


# --- the items of a note -----------------------------------------------------------------
def items(text: str) -> tuple[list[Memo], Counter[str]]:
    """The items of a note's text, and why others were left out."""
    return _Note(text.replace("\r\n", "\n").split("\n")).read()


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
        self._found: list[Memo] = []
        self._fresh = False  # the last item stands under these headings
        self._skipped = Counter(["generated"] if generated else ())

    def read(self) -> tuple[list[Memo], Counter[str]]:
        number = 0
        while number < len(self._lines):
            number = self._take(number)
        self._close()
        return self._found, self._skipped

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
            self._under(len(heading[1]), _CLOSING.sub("", line[heading.end() :].strip()))
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
            self._found.append(Memo(last.headings, "\n".join([last.text, "", *code])))
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
            least = len(lines[0]) - len(lines[0].lstrip())
            outer = (one[least:] if not one[:least].strip() else one.lstrip() for one in lines)
            self._add("\n".join(outer))
        if not keep_lead:
            self._lead = ""

    def _add(self, text: str) -> None:
        text = _PICTURE.sub("[image]", text).strip("\n")
        quoted = "\n".join(re.sub(r"^(?: {0,3}> ?)+", "", line) for line in text.split("\n"))
        bare = re.sub(r"^(?:[-*+•]|\d{1,4}[.)])\s+", "", quoted.strip())
        empty = not re.search(r"\w", bare) or bare == "[image]" or _LABEL.fullmatch(bare)
        if empty or _HINT.fullmatch(bare):  # a hint: what a template says should stand here
            self._skipped["empty" if empty else "hint"] += 1
            return
        above = tuple(title for _, title in self._headings) + ((self._lead,) if self._lead else ())
        self._found.append(Memo(above, quoted))
        self._fresh = True


def _plain(title: str) -> str:
    """A heading's words, without marks and links."""
    title = re.sub(r"\[([^\]]{0,200})\]\([^)]{0,2000}\)", r"\1", title[:500])
    return " ".join(re.sub(r"[*`]", "", title).split()).strip("_ ")


def _cells(row: str) -> list[str]:
    return [" ".join(cell.split()) for cell in row.strip().strip("|").split("|")]


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
