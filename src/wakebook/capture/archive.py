"""The archive: a window of a conversation as Markdown, written once and kept for ever.

    ---
    session_id: …            what, when, from where, with a SHA-256 of the source range
    ---
    # Title

    ## 18:45 — user
    Read all open issues and give me a summary.

    ## 18:45 — agent
    > [tool:exec] gh issue list → 12 results

    Here are all 12 open issues: …

A *turn* is a heading with all that follows it: one message of a human, or everything an
agent said and did in a row. Turns are numbered from 1; evidence points at these numbers.
Rendering is a fold: the same messages give the same text, in whatever portions they come.
A line of the text that looks like one of ours gets a backslash in front.
"""

import hashlib
import os
import re
import unicodedata
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from wakebook.base import markdown
from wakebook.base.errors import TranscriptError
from wakebook.base.home import WITHHELD, Home
from wakebook.base.text import one_line
from wakebook.capture.transcript import Message, Tool

FORMAT = 1
REPORT = 60  # characters at the end of an agent's turn that are its report
_HEADING = re.compile(r"## (\d\d):(\d\d) — (user|agent|system)((?: \[[a-z]+\])*)")
_OURS = re.compile(r"^\\*(?:## \d\d:\d\d — |> \[|<!-- date: )", re.MULTILINE)
_TOOL = re.compile(r"> \[tool:(?P<name>[^\]]*)\] ?(?P<summary>.*?)(?: → (?P<result>.*))?$")
_DATE = re.compile(r"<!-- date: (\d{4}-\d\d-\d\d) -->")
_FILLERS = frozenset(
    "a an and are at be can for i in is it me my of on or please so that the this to we with "
    "you".split()
)


class Tail(msgspec.Struct, frozen=True):
    """Where rendering stands: enough to go on as if it had never stopped."""

    turns: int = 0
    role: str = ""
    branch: bool = False
    block: str = ""  # what came last: heading, text or quote
    day: str = ""


class Turn(msgspec.Struct, frozen=True):
    number: int
    role: str
    at: datetime
    text: str  # what was said, without the quoted lines
    quotes: tuple[str, ...] = ()  # tool calls and attachments, one line each
    report: str = ""  # what was said last, after the tool calls
    branch: bool = False
    line: int = 0  # of its heading in the file, from 1
    last_line: int = 0


def render(messages: Iterable[Message], tail: Tail) -> tuple[str, Tail]:
    """The Markdown of some messages that follow what `tail` describes. Each has a time."""
    parts: list[str] = []
    for message in messages:
        tail = _heading(message, tail, parts)
        if message.text:
            escaped = _OURS.sub(r"\\\g<0>", message.text)
            parts.append(("" if tail.block == "heading" else "\n") + escaped + "\n")
            tail = msgspec.structs.replace(tail, block="text")
        for quote in _quotes(message):
            parts.append(("\n" if tail.block == "text" else "") + quote + "\n")
            tail = msgspec.structs.replace(tail, block="quote")
    return "".join(parts), tail


def _heading(message: Message, tail: Tail, parts: list[str]) -> Tail:
    assert message.at is not None
    if tail.role == message.role == "agent" and tail.branch == message.branch:
        return tail
    at = message.at.astimezone(UTC)
    day = at.date().isoformat()
    if day != tail.day:
        parts.append(f"\n<!-- date: {day} -->\n")
    label = message.role + (" [branch]" if message.branch else "")
    parts.append(f"\n## {at:%H:%M} — {label}\n")
    return Tail(tail.turns + 1, message.role, message.branch, "heading", day)


def _quotes(message: Message) -> list[str]:
    lines: list[str] = []
    for tool in message.tools:
        error = "error: " if tool.error else ""
        outcome = "" if tool.result is None else f" → {error}{tool.result}"
        lines.append(f"> [tool:{one_line(tool.name, 60)}] {tool.summary}{outcome}")
    lines += [f"> [attachment:{one_line(name, 200)}]" for name in message.attachments]
    return [" ".join(line.split()) for line in lines]


def parse(body: str, first_line: int = 1) -> list[Turn]:
    """The turns of an archive's body. The inverse of `render`, turn by turn."""
    turns: list[Turn] = []
    day = datetime.min.replace(tzinfo=UTC)
    lines = body.split("\n")
    marks = [n for n, line in enumerate(lines) if _HEADING.fullmatch(line) or _DATE.fullmatch(line)]
    for start, stop in pairwise((*marks, len(lines))):
        if date := _DATE.fullmatch(lines[start]):
            day = datetime.fromisoformat(date[1]).replace(tzinfo=UTC)
        else:
            turns.append(_turn(lines[start:stop], day, len(turns) + 1, first_line + start))
    return turns


def _turn(lines: list[str], day: datetime, number: int, first_line: int) -> Turn:
    heading = _HEADING.fullmatch(lines[0])
    assert heading is not None
    while len(lines) > 1 and not lines[-1]:
        lines.pop()
    quotes = tuple(line for line in lines[1:] if line.startswith("> ["))
    said = [line for line in lines[1:] if not line.startswith("> [")]
    return Turn(
        number=number,
        role=heading[3],
        at=day + timedelta(hours=int(heading[1]), minutes=int(heading[2])),
        text=_unescape(said),
        quotes=quotes,
        report=_unescape(_after_quotes(lines[1:])) if quotes else "",
        branch="[branch]" in heading[4],
        line=first_line,
        last_line=first_line + len(lines) - 1,
    )


def _unescape(lines: list[str]) -> str:
    text = "\n".join(line.removeprefix("\\") if _OURS.match(line) else line for line in lines)
    return re.sub(r"\n{3,}", "\n\n", text).strip("\n")


def _after_quotes(lines: list[str]) -> list[str]:
    """The last lines that are no quotes: what stands after the last tool call, or more."""
    found: list[str] = []
    for line in reversed(lines):
        if not line.startswith("> ["):
            found.insert(0, line)
        elif sum(map(len, found)) > REPORT:
            break
    return found


def tools(turn: Turn) -> tuple[Tool, ...]:
    """The tool calls of an archived turn."""
    found = []
    for quote in turn.quotes:
        match = _TOOL.match(quote)
        if match:
            result = match["result"]
            error = bool(result) and result.startswith("error: ")
            found.append(Tool(match["name"], match["summary"], result, error))
    return tuple(found)


class Transcript(msgspec.Struct, frozen=True):
    path: str  # relative to the home
    front: dict[str, Any]
    turns: list[Turn]


def read(home: Home, path: str) -> Transcript:
    try:
        text = (home.root / path).read_text(encoding="utf-8")
    except OSError as error:
        raise TranscriptError(f"{path}: {error.strerror}.") from error
    front, body = markdown.split(text)
    if not front:
        raise TranscriptError(f"{path}: has no frontmatter; it is not an archived transcript.")
    above = text[: len(text) - len(body)].count("\n")
    turns = parse(body, above + 1)
    if not marked(home):
        return Transcript(path, front, turns)
    from wakebook.capture import withheld

    front = withheld.front(home, path, front, turns)
    return Transcript(path, front, withheld.apart(home, path, turns))


def marked(home: Home) -> bool:
    """Whether something of a conversation is told no more (see `withheld`)."""
    return os.path.exists(home.root / WITHHELD)  # noqa: PTH110 - it is asked for every transcript


def apart(home: Home, path: str, turns: list[Turn]) -> list[Turn]:
    """Turns without what is told no more."""
    if not marked(home):
        return turns
    from wakebook.capture import withheld

    return withheld.apart(home, path, turns)


def shown(home: Home, path: str, text: str) -> str:
    """A transcript's text as people and agents may read it."""
    if not marked(home):
        return text
    from wakebook.capture import withheld

    return withheld.shown(home, path, text, parse(markdown.split(text)[1]))


def split_body(text: str) -> str:
    """The body of an archive's text: what `render` made, below the title."""
    _, body = markdown.split(text)
    title, newline, rest = body.lstrip("\n").partition("\n")
    return rest if newline and title.startswith("# ") else body


def compose(front: dict[str, Any], title: str, body: str) -> str:
    return markdown.join(front, f"\n# {title}\n{body}")


def write(home: Home, path: str, text: str, mode: int = 0o600) -> None:
    """The only writer of transcripts. One that is closed never changes; writing the same text once
    more, as after a crash, is none. Raises TranscriptError."""
    file = home.root / path
    if _front(file).get("closed") is True and file.read_bytes() != text.encode():
        raise TranscriptError(
            f"{path}: this conversation is closed, and something else was to be written in its "
            "place. Nothing was changed; `wakebook doctor` says more."
        )
    home.replace(file, text, mode)


def path_for(home: Home, session: str, window: int, started_at: datetime, slug: str) -> str:
    """Where a window goes. The same window gets the same path again after a crash, unless it is
    closed: that file stays as it is."""
    safe = file_part(session)
    folder = home.conversations / f"{started_at:%Y/%m/%d}"
    stem = f"{started_at:%H%M}-{safe}-{slug}"
    for number in range(1, 1000):
        path = folder / (f"{stem}.md" if number == 1 else f"{stem}-{number}.md")
        if marked(home):
            from wakebook.capture import withheld

            path = home.root / withheld.renamed(home, home.relative(path))
        front = _front(path)
        again = front.get("session_id") == session and front.get("window") == window
        if not path.exists() or (again and front.get("closed") is not True):
            return home.relative(path)
    raise TranscriptError(f"{folder}: a thousand transcripts are called {stem}.")


def has_day(home: Home, session: str, day: datetime) -> bool:
    """Whether a transcript of this session lies in the folder of a day."""
    folder = home.conversations / f"{day:%Y/%m/%d}"
    return any(folder.glob(f"????-{file_part(session)}-*.md"))


def paths_of(home: Home, session: str) -> list[str]:
    found = home.conversations.glob(f"*/*/*/????-{file_part(session)}-*.md")
    ours = (path for path in found if _front(path).get("session_id") == session)
    return sorted(home.relative(path) for path in ours)


def file_part(session: str) -> str:
    """A session id as a part of a file name: as it is if it can be, else with a digest."""
    safe = re.sub(r"[^A-Za-z0-9._-]+", "-", session)[:80].strip("-.")
    if safe == session:
        return safe
    return f"{safe or 'session'}-{hashlib.sha256(session.encode()).hexdigest()[:8]}"


def _front(path: Path) -> dict[str, Any]:
    """What a transcript says of itself; nothing if there is none."""
    try:
        front, _ = markdown.split(path.read_text(encoding="utf-8", errors="replace"))
    except FileNotFoundError:
        return {}
    return front


def slug_and_title(text: str) -> tuple[str, str]:
    """A name for a conversation, from its first words."""
    line = next((line for line in text.split("\n") if line.strip()), "")
    title = one_line(line.lstrip("#> "), 70) or "Untitled"
    plain = unicodedata.normalize("NFKD", line.replace("'", "").replace("’", ""))
    plain = plain.encode("ascii", "ignore").decode().lower()
    words = [word for word in re.findall(r"[a-z0-9]+", plain) if word not in _FILLERS]
    return "-".join(words[:6])[:50].strip("-") or "untitled", title
