"""Notes: the pages that Wakebook and you write together. Each line knows why it is there."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from wakebook.base import markdown
from wakebook.base.decode import decode
from wakebook.base.errors import NotFound, WakebookError
from wakebook.memory import Memory
from wakebook.notes.book import key
from wakebook.notes.check import edited_blocks
from wakebook.notes.page import NoteLine, file_sum, targets
from wakebook.service.page import parts
from wakebook.service.page.data import asked, entries
from wakebook.service.page.html import Child, Html, h, join
from wakebook.service.page.needs import NoteFile, edited, files
from wakebook.service.page.parts import card, none, rows, section
from wakebook.service.page.request import Request, Sheet, to
from wakebook.service.page.written import body, written
from wakebook.store import AMONG, Many

FOLDERS = ("memory", "identity", "projects", "people", "procedures", "reference", "journal")
LISTED = 60  # notes of a folder
SHOWN, LARGEST = 60_000, 120_000  # characters of a note that are shown; that can be edited


def pages(request: Request, memory: Memory) -> Sheet:
    now, mine = memory.opened.now(), dict(edited(memory))
    folders: dict[str, list[NoteFile]] = {}
    for file in files(memory):
        folders.setdefault(_folder(file.name), []).append(file)
    order = [*FOLDERS, *sorted(folders.keys() - {*FOLDERS})]
    only = request.get("folder")
    chosen = [name for name in order if name in folders and only in ("", name)]
    most = 500 if only else LISTED
    made = [_shelf(name, folders[name], mine, now, most) for name in chosen]
    number = sum(map(len, folders.values()))
    return Sheet(
        "Notes",
        h.div(
            made or none("There are no notes yet."), id="notes", data_live="notes", class_="shelves"
        ),
        f"{parts.many(number, 'page')} that Wakebook and you write together.",
        source="knowledge/ and archive/",
        command="wakebook notes",
    )


def _folder(name: str) -> str:
    inner = name.split("/")
    if len(inner) < 3:
        return "memory"
    return inner[1] if inner[0] == "knowledge" else inner[0]


def _shelf(
    name: str, found: list[NoteFile], mine: dict[str, int], now: datetime, most: int
) -> Html:
    found = sorted(found, reverse=name == "journal")
    more = len(found) - most
    rest = h.a(f"all {len(found):,}", href=to("/notes", {"folder": name})) if more > 0 else ""
    lines = (_line(file, mine, now) for file in found[:most])
    return section(name.capitalize(), h.ul(lines, class_="card shelf"), aside=rest)


def _line(file: NoteFile, mine: dict[str, int], now: datetime) -> Html:
    name = file.name
    at = parts.moment(datetime.fromtimestamp(file.changed / 1e9, UTC), now)
    href = to(f"/notes/{name}")
    inner = name.removeprefix("knowledge/").removesuffix(".md")
    label = (inner.partition("/")[2] or inner).replace("/", " › ")
    pill = h.span("edited by you", class_="pill amber") if name in mine else None
    return h.li(
        h.a(label, href=href, title=name), pill, h.span(f"written {at}", class_="facts"),
        class_="thing", data_href=href,
    )  # fmt: skip


# --- one note --------------------------------------------------------------------------------
class Note(NamedTuple):
    path: Path
    name: str  # relative to the home
    text: str
    sum: str  # of the whole file, as it was read


def opened(memory: Memory, name: str) -> Note:
    """A note by its path. Raises NotFound: nothing else of the home is shown."""
    names = {file.name for file in files(memory)}
    known = name if name in names else f"knowledge/{name}"
    if known not in names:
        raise NotFound(f"There is no note {name!r}. `wakebook notes` lists what there is.")
    path = memory.home.root / known
    data = path.read_bytes()
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise WakebookError(f"{name} is not UTF-8: {error}. Convert it first.") from error
    return Note(path, known, text, file_sum(data))


def note(request: Request, memory: Memory) -> Sheet:
    found = opened(memory, request.parts["file"])
    line = request.number("line")
    if request.get("edit"):
        return _edit(request, found)
    large = len(found.text) > SHOWN
    text = body(found.text[:SHOWN].rpartition("\n")[0] if large else found.text)
    heading = next((one for one in text.split("\n") if one.strip()), "")
    title = heading.removeprefix("# ") if heading.startswith("# ") else found.name
    text = text.replace(heading, "", 1) if heading.startswith("# ") else text
    known = lines_of(memory, found)
    links = _links(memory)
    shown_ = written(text, links, lambda at, box: _beside(request, found, known, at, box))
    mine = sum(1 for _ in edited_blocks(found.text))
    where = to(f"/notes/{found.name}", {"edit": 1})
    acts = [h.a("Edit", href=where, class_="button"), h.a("All notes", href=to("/notes"))]
    left = [
        _waiting() if mine else None,
        h.article(shown_, class_="note card roomy", id="note", data_live="notes"),
        large and none(f"The rest is not shown: the file has {len(found.text):,} characters."),
        h.div(acts, class_="acts"),
    ]
    right = _why(memory, found, known, line) if line else _hint()
    front = markdown.read_front(found.text).values or {}
    facts = (found.name, front.get("updated") and f"updated {front['updated']}")
    return Sheet(
        title,
        h.div(h.div(left), h.div(right), class_="columns"),
        parts.dotted(str(one) for one in facts if one),
        source=found.name,
        command=f"wakebook show {found.name}:{line}" if line else f"wakebook show {found.name}",
    )


def _hint() -> Html:
    said = "Every line that Wakebook wrote has a small arrow: it leads to the entries behind it, "
    said += "and they to the words that were said."
    return section("Why", card(none(said)))


def _links(memory: Memory) -> dict[str, str]:
    inner = {file.name.removeprefix("knowledge/"): file.name for file in files(memory)}
    return {end: to(f"/notes/{inner[path]}") for end, path in targets(inner).items()}


def lines_of(memory: Memory, found: Note) -> dict[int, NoteLine]:
    """The lines of a note that stand for entries, by number, as they were written down."""
    made: dict[int, NoteLine] = {}
    below = memory.notes.below(found.path)
    for name in markdown.names(found.text):
        try:
            there = markdown.block(found.text, name)
        except markdown.BrokenBlock:
            continue
        kept = asked(memory, "SELECT lines FROM block WHERE key = ?", key(below, name))
        lines = decode(kept[0][0] or "[]", list[NoteLine]) if kept else []
        by_text: dict[str, list[NoteLine]] = {}
        for one in lines:
            by_text.setdefault(one.text.rstrip(), []).append(one)
        for at, text in enumerate(there.lines if there else (), there.first if there else 0):
            same = by_text.get(text.rstrip())
            if same:
                made[at] = same.pop(0) if len(same) > 1 else same[0]
    return made


def _beside(
    request: Request, found: Note, known: dict[int, NoteLine], line: int, box: str
) -> tuple[Html | None, Html | None]:
    """A box for a task, and a way to why the line is there."""
    sign = {" ": "☐", "x": "☑"}.get(box, "")
    before = None
    if sign and line in known and box == " ":
        before = request.form_(
            "tick",
            h.input(type="hidden", name="file", value=found.name),
            h.input(type="hidden", name="line", value=line),
            h.input(type="hidden", name="sum", value=found.sum),
            h.button(sign, class_="box", title="Done", aria_label="Mark as done"),
        )
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


def _why(memory: Memory, found: Note, known: dict[int, NoteLine], line: int) -> Iterable[Child]:
    now, there = memory.opened.now(), known.get(line)
    texts = found.text.split("\n")
    said = texts[line - 1] if 0 < line <= len(texts) else ""
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
        h.input(type="hidden", name="file", value=found.name),
        h.input(type="hidden", name="sum", value=found.sum),
        h.textarea(found.text, name="text", class_="mono", rows=28, spellcheck="true",
                   aria_label=f"The text of {found.name}"),
        h.div(h.button("Save", class_="main"), h.a("Leave it", href=back, class_="button"),
              class_="acts"),
        class_="stack",
    )  # fmt: skip
    said = "What you write outside of the markers is yours. What you change between them waits in "
    said += "Review, like an edit in the file."
    return Sheet(f"Edit {found.name}", card(form, roomy=True), said, source=found.name,
                 command=f"$EDITOR {found.name}")  # fmt: skip
