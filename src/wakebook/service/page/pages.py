"""Notes: the pages that Wakebook and you write together. Each line knows why it is there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from msgspec import Raw

from wakebook.base import clock, markdown
from wakebook.base.decode import decode
from wakebook.base.errors import NotFound, WakebookError
from wakebook.memory import Memory
from wakebook.notes.book import key
from wakebook.notes.page import NoteLine, file_sum, targets
from wakebook.notes.review import edited_in
from wakebook.service.page import parts
from wakebook.service.page.behind import kept
from wakebook.service.page.data import asked, entries
from wakebook.service.page.html import Child, Html, h, join
from wakebook.service.page.needs import NoteFile, edited, files
from wakebook.service.page.parts import card, none, rows, section
from wakebook.service.page.request import Request, Sheet, to
from wakebook.service.page.written import body, written
from wakebook.store import AMONG, Many

FOLDERS = ("memory", "identity", "projects", "people", "procedures", "reference", "journal")
LISTED = 60  # notes of a folder at a time
PART = 100  # lines of a note on one page ...
SHOWN, LARGEST = 40_000, 120_000  # ... characters of them; of a note that can be edited
OUTLINE_SECONDS = 600.0  # that what is known of a long note is kept


def pages(request: Request, memory: Memory) -> Sheet:
    now, mine = memory.opened.now(), dict(edited(memory))
    folders: dict[str, list[NoteFile]] = {}
    for file in files(memory):
        folders.setdefault(_folder(file.name), []).append(file)
    order = [*FOLDERS, *sorted(folders.keys() - {*FOLDERS})]
    only = request.get("folder")
    chosen = [name for name in order if name in folders and only in ("", name)]
    first = request.number("from") or 1
    made = [_shelf(name, folders[name], mine, now, first if only else 1) for name in chosen]
    rest = len(folders.get(only, ()))
    last = min(first + LISTED - 1, rest)
    number = sum(map(len, folders.values()))
    return Sheet(
        "Notes",
        (
            h.div(made or none("There are no notes yet."), id="notes", data_live="notes",
                  class_="shelves"),
            parts.parted(request, first, last, rest, LISTED, "folder") if only else None,
        ),
        f"{parts.many(number, 'page')} that Wakebook and you write together.",
        source="knowledge/ and archive/",
        command="wakebook notes",
    )  # fmt: skip


def _folder(name: str) -> str:
    inner = name.split("/")
    if len(inner) < 3:
        return "memory"
    return inner[1] if inner[0] == "knowledge" else inner[0]


def _shelf(
    name: str, found: list[NoteFile], mine: dict[str, int], now: datetime, first: int
) -> Html:
    found = sorted(found, reverse=name == "journal")
    more = len(found) > LISTED
    rest = h.a(f"all {len(found):,}", href=to("/notes", {"folder": name})) if more else ""
    lines = (_line(file, mine, now) for file in found[first - 1 : first - 1 + LISTED])
    return section(name.capitalize(), h.ul(lines, class_="card shelf"), aside=rest)


def _line(file: NoteFile, mine: dict[str, int], now: datetime) -> Html:
    name = file.name
    at = datetime.fromtimestamp(file.changed / 1e9, UTC)
    when = f"written {parts.moment(at, now)}" if at <= now else ""  # the clock may be in the past
    href = to(f"/notes/{name}")
    inner = name.removeprefix("knowledge/").removesuffix(".md")
    label = (inner.partition("/")[2] or inner).replace("/", " › ")
    pill = h.span("edited by you", class_="pill amber") if name in mine else None
    return h.li(
        h.a(label, href=href, title=name), pill, h.span(when, class_="facts"),
        class_="thing", data_href=href,
    )  # fmt: skip


# --- one note --------------------------------------------------------------------------------
class Note(NamedTuple):
    path: Path
    name: str  # relative to the home
    text: str
    sum: str  # of the whole file, as it was read


def opened(memory: Memory, name: str) -> Note:
    """A note by its path, whole. Raises NotFound: nothing else of the home is shown."""
    known = _name(name, files(memory))
    path = memory.home.root / known
    data = path.read_bytes()
    return Note(path, known, _text(name, data), file_sum(data))


def _name(name: str, there: Iterable[NoteFile]) -> str:
    names = {file.name for file in there}
    known = name if name in names else f"knowledge/{name}"
    if known not in names:
        raise NotFound(f"There is no note {name!r}. `wakebook notes` lists what there is.")
    return known


def _text(name: str, data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise WakebookError(f"{name} is not UTF-8: {error}. Convert it first.") from error


class Outline(NamedTuple):
    """What is to be known of a whole note; a part of it can be read alone then."""

    sum: str
    title: str
    updated: str
    starts: tuple[int, ...]  # the byte at which each part begins
    lines: int
    blocks: tuple[tuple[str, int, int], ...]  # of Wakebook: name, first and last line


def _outline(path: Path, name: str) -> Outline:
    data = path.read_bytes()
    text = _text(name, data)
    front = markdown.read_front(text)
    lines = data.removesuffix(b"\n").split(b"\n")
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    head = text[front.body : front.body + 1000].lstrip().partition("\n")[0].rstrip()
    found: list[tuple[str, int, int]] = []
    for one in markdown.names(text):
        with suppress(markdown.BrokenBlock):
            if block := markdown.block(text, one):
                found.append((one, block.first, block.first + len(block.lines) - 1))
    return Outline(
        sum=file_sum(data),
        title=head.removeprefix("# ") if head.startswith("# ") else name,
        updated=str((front.values or {}).get("updated") or ""),
        starts=tuple(starts[:-1:PART]),
        lines=len(lines),
        blocks=tuple(found),
    )


class Part(NamedTuple):
    """Some lines of a note."""

    path: Path
    name: str  # relative to the home
    whole: Outline
    first: int  # line
    lines: list[str]


def _part(memory: Memory, file: NoteFile, line: int) -> Part:
    """The part of a note that a line is in."""
    path = memory.home.root / file.name
    key = ("outline", str(path), file.changed, file.size)
    whole = kept(key, OUTLINE_SECONDS, lambda: _outline(path, file.name))
    number = min(max(line - 1, 0) // PART, len(whole.starts) - 1)
    begin, end = (*whole.starts, file.size)[number : number + 2]
    with path.open("rb") as stream:
        stream.seek(begin)
        text = stream.read(end - begin).decode("utf-8", "replace")
    lines = text.removesuffix("\n").split("\n")
    return Part(path, file.name, whole, number * PART + 1, lines)


def note(request: Request, memory: Memory) -> Sheet:
    there = files(memory)
    name = _name(request.parts["file"], there)
    if request.get("edit"):
        return _edit(request, opened(memory, name))
    line = request.number("line")
    [file] = [one for one in there if one.name == name]
    found = _part(memory, file, line or request.number("at") or request.number("from"))
    shown = "\n".join(found.lines)
    large = len(shown) > SHOWN
    text = body(shown[:SHOWN], begins=found.first == 1)
    if found.first == 1:
        text = text.replace(f"# {found.whole.title}", "", 1)
    known = lines_of(memory, found)
    shown_ = written(
        text,
        _links(there),
        lambda at, box: _beside(request, found, known, at, box),
        found.first - 1,
    )
    where = to(f"/notes/{name}", {"edit": 1})
    acts = [h.a("Edit", href=where, class_="button"), h.a("All notes", href=to("/notes"))]
    last = found.first + len(found.lines) - 1
    left = [
        _waiting() if edited_in(found.path) else None,
        h.article(shown_, class_="note card roomy", id="note", data_live="notes"),
        large and none(f"The rest of this part is not shown: it has {len(shown):,} characters."),
        parts.parted(request, found.first, last, found.whole.lines, PART, "note"),
        h.div(acts, class_="acts"),
    ]
    right = _why(memory, found, known, line) if line else _hint()
    updated = clock.parse(found.whole.updated)
    when = parts.moment(updated, memory.opened.now()) if updated else ""
    facts = (
        name,
        when and f"updated {when}",
        f"lines {found.first:,} to {last:,} of {found.whole.lines:,}"
        if found.whole.lines > PART
        else "",
    )
    return Sheet(
        found.whole.title,
        h.div(h.div(left), h.div(right), class_="columns"),
        parts.dotted(facts),
        source=name,
        command=f"wakebook show {name}:{line}" if line else f"wakebook show {name}",
    )


def _hint() -> Html:
    said = "Every line that Wakebook wrote has a small arrow: it leads to the entries behind it, "
    said += "and they to the words that were said."
    return section("Why", card(none(said)))


def _links(there: Iterable[NoteFile]) -> dict[str, str]:
    names = (file.name for file in there)
    places = {name.removeprefix("knowledge/"): to(f"/notes/{name}") for name in names}
    return {end: places[path] for end, path in targets(places).items()}


def lines_of(memory: Memory, found: Part) -> dict[int, NoteLine]:
    """The lines that stand for entries, by number, as they were written down."""
    made: dict[int, NoteLine] = {}
    below, end = memory.notes.below(found.path), found.first + len(found.lines)
    for name, first, last in found.whole.blocks:
        numbers = range(max(first, found.first), min(last + 1, end))
        if not numbers:
            continue
        rows_ = asked(memory, "SELECT lines FROM block WHERE key = ?", key(below, name))
        noted = decode(rows_[0][0] or "[]", list[Raw]) if rows_ else []
        texts = {at: found.lines[at - found.first].rstrip() for at in numbers}
        there = {at: _noted(noted, at - first) for at in numbers}
        if any(one is None or one.text.rstrip() != texts[at] for at, one in there.items()):
            there = _by_text(noted, texts)  # it was edited
        made |= {at: one for at, one in there.items() if one}
    return made


def _noted(noted: Sequence[Raw], at: int) -> NoteLine | None:
    return decode(bytes(noted[at]), NoteLine) if at < len(noted) else None


def _by_text(noted: Sequence[Raw], texts: Mapping[int, str]) -> dict[int, NoteLine | None]:
    """What was noted of lines, wherever they stand now; of equal ones, each its own."""
    wanted, by_text = {*texts.values()}, dict[str, list[NoteLine]]()
    for one in (decode(bytes(raw), NoteLine) for raw in noted):
        if one.text.rstrip() in wanted:
            by_text.setdefault(one.text.rstrip(), []).append(one)
    made: dict[int, NoteLine | None] = {}
    for at, text in texts.items():
        if same := by_text.get(text):
            made[at] = same.pop(0) if len(same) > 1 else same[0]
    return made


def _beside(
    request: Request, found: Part, known: dict[int, NoteLine], line: int, box: str
) -> tuple[Html | None, Html | None]:
    """A box for a task, and a way to why the line is there."""
    sign = {" ": "☐", "x": "☑"}.get(box, "")
    before = None
    if sign and line in known and box == " ":
        before = request.form_(
            "tick", h.button(sign, class_="box", title="Done", aria_label="Mark as done"),
            file=found.name, line=str(line), sum=found.whole.sum,
        )  # fmt: skip
    elif sign:
        before = h.span(f"{sign} ", class_="box", aria_label="done" if box == "x" else "to do")
    if line not in known or not known[line].ids:
        return before, None
    address = to(f"/notes/{found.name}", {"line": line}, at=f"L{line}")
    chosen = request.number("line") == line
    return before, join(
        " ",
        h.a("↗", href=address, class_="why on" if chosen else "why", title="Why is this here?",
            aria_label="Why is this here?"),
    )  # fmt: skip


def _why(memory: Memory, found: Part, known: dict[int, NoteLine], line: int) -> Iterable[Child]:
    now, there = memory.opened.now(), known.get(line)
    at = line - found.first
    said = found.lines[at] if 0 <= at < len(found.lines) else ""
    head = h.p(f"Line {line}: ", h.q(parts.short(said.strip(), 160)), class_="facts")
    if there and there.ids:
        behind = entries(memory, f"id {AMONG}", Many(there.ids), order="seq", most=40)
        body_ = card(rows(parts.remembered(one, now, id="w") for one in behind))
        by = "In other words than the entries: a model or a rule has condensed them."
        return [section("Why", head, body_, there.rewritten and none(by))]
    why = memory.notes.why(f"{found.name}:{line}")
    return [section("Why", card(head, none(parts.dotted((why.note, why.commit)))))]


def _waiting() -> Html:
    return h.div(
        h.p("You have edited what Wakebook writes here. It waits for your word."),
        h.a("Decide", href=to("/review"), class_="button main"),
        class_="said waits",
    )


def _edit(request: Request, found: Note) -> Sheet:
    if len(found.text) > LARGEST:
        raise WakebookError(f"{found.name} is too long to be edited here. Open it in an editor.")
    back = to(f"/notes/{found.name}")
    form = request.form_(
        "save-note",
        h.textarea(found.text, name="text", class_="mono", rows=28, spellcheck="true",
                   aria_label=f"The text of {found.name}"),
        h.div(h.button("Save", class_="main"), h.a("Leave it", href=back, class_="button"),
              class_="acts"),
        class_="stack", file=found.name, sum=found.sum,
    )  # fmt: skip
    said = "What you write outside of the markers is yours. What you change between them waits in "
    said += "Review, like an edit in the file."
    return Sheet(f"Edit {found.name}", card(form, roomy=True), said, source=found.name,
                 command=f"$EDITOR {found.name}")  # fmt: skip
