"""Export: the page as files that can be read offline, without a service.

Every view but Search and Entry as it is now, and every entry in a list by day. Links are relative
and lead to files of the same folder; what only a service can do (actions, trying a message) is left
out. Search is a page of its own: a small script looks through lists of words, which are files, too
(`assets/find.js`). The folder belongs to the export: if it holds anything else, it is refused.
"""

from __future__ import annotations

import json
import os
import re
from bisect import bisect
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from html import escape, unescape
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qs, quote, unquote, urlsplit

from wakebook.base.errors import WakebookError
from wakebook.base.text import visible, whole
from wakebook.log.entry import Entry, decode
from wakebook.memory import Memory
from wakebook.service.page import assets, behind, parts
from wakebook.service.page.conversations import begins
from wakebook.service.page.data import asked
from wakebook.service.page.html import Html, h, join, raw
from wakebook.service.page.needs import files as note_files
from wakebook.service.page.request import ROOT, Request, Sheet, to
from wakebook.service.page.views import find
from wakebook.service.page.written import body as body_of

MARK = "wakebook-export.json"
MOST = 100_000  # files
TOGETHER = 300  # entries in one file
# parts of a query that lead to other words
KEPT = ("before", "from", "turn", "letter", "more", "day", "session")
STARTS = ("/", "/conversations", "/notes", "/told", "/review", "/time", "/upkeep")
BELOW = ("/conversations/", "/notes/", "/told/", "/subject/")
NEVER = ("/told/try",)
SEARCH = "search.html"
NAV = (("Today", "index.html"), ("Search", SEARCH), ("Entries", "entries/index.html"),
       ("Conversations", "conversations.html"), ("Notes", "notes.html"), ("Told", "told.html"),
       ("Review", "review.html"), ("Time", "time.html"), ("Upkeep", "upkeep.html"))  # fmt: skip
_ASK = re.compile(r"<form\b.*?</form>|<script\b.*?</script>", re.DOTALL)
_DATA = re.compile(r' (?:data-[\w-]+|tabindex)(?:="[^"]*")?')
_HREF = re.compile(r' href="([^"]*)"')
# what leads nowhere any more: a button goes, another link becomes its words
_BUTTON = re.compile(r'<a class="button[^"]*">[^<]*</a>')
_FACETS = re.compile(r'<(p|div) class="facets">(?:(?!href|</\1>).)*</\1>', re.DOTALL)
_BARE = re.compile(r"<a(?: (?:class|title|aria-label|rel)=\"[^\"]*\")*>(.*?)</a>", re.DOTALL)
_EMPTY = re.compile(r'<(div|p) class="acts">\s*</\1>')
WORDS = 1_000  # characters of a thing that can be searched for
SOME = 1 << 20  # bytes of words in one file ...
ALL = 16 << 20  # ... and in all: of more, the oldest turns are left out
TURNS = (
    "SELECT f.path, c.place, c.at, b.text FROM file f JOIN chunk c ON c.file = f.id "
    "JOIN body b ON b.id = c.id WHERE f.path >= 'raw/conversations/' "
    "AND f.path < 'raw/conversations0' ORDER BY c.at DESC"
)

Told = Callable[[int], None]


class Exported(NamedTuple):
    folder: Path
    files: int
    bytes: int
    left: int  # pages that did not fit


def export(memory: Memory, folder: Path, told: Told = lambda done: None) -> Exported:
    """Write all of it. Raises WakebookError if the folder holds something else."""
    _emptied(folder)
    return _Export(memory, folder, told).run()


def _emptied(folder: Path) -> None:
    mark = folder / MARK
    if folder.exists() and not folder.is_dir():
        raise WakebookError(f"{folder} is a file. Name a folder that is empty, or not there yet.")
    if folder.is_dir() and any(folder.iterdir()):
        try:
            files = [str(one) for one in json.loads(mark.read_text(encoding="utf-8"))["files"]]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise WakebookError(
                f"{folder} is not empty, and no export of the page. Nothing was written. Name a "
                "folder that is empty, or not there yet."
            ) from error
        for name in files:
            path = folder / name
            if path.resolve().is_relative_to(folder.resolve()):
                path.unlink(missing_ok=True)


class _Export:
    def __init__(self, memory: Memory, folder: Path, told: Told) -> None:
        self._memory, self._folder, self._told = memory, folder, told
        self._now = memory.opened.now()
        self._files: list[str] = []
        self._bytes = 0
        self._places: dict[str, str] = {}  # an entry's id -> its file ...
        self._said: dict[str, str] = {}  # ... and the address of what was said
        self._starts: dict[str, list[int]] = {}  # a conversation -> the turns that begin its parts

    def run(self) -> Exported:
        listed = list(self._entries())
        for name, _, found in listed:
            for entry, _ in found:
                self._places[entry.id] = name
                turn = entry.evidence[0] if entry.evidence else 0
                self._said[entry.id] = (
                    parts.said_in(entry.transcript, turn) if entry.transcript else ""
                )
        for name in ("page.css", "find.js"):
            self._write(name, assets.ALL[name].body)
        behind.waited(self._memory.home, "status")
        left = self._views()
        for name, title, found in listed:
            self._sheet(name, Sheet(title, _days(found, self._now), source="the log"))
        links = [h.li(h.a(title, href=f"/{name}")) for name, title, _ in listed]
        body = parts.card(h.ul(links), roomy=True)
        self._sheet("entries/index.html", Sheet("Entries", body, source="the log"))
        self._search(entry for _, _, found in listed for entry, by in found if not by)
        mark = {"made": f"{self._now:%Y-%m-%dT%H:%M:%S%z}", "files": self._files}
        self._write(MARK, json.dumps(mark, indent=1).encode())
        return Exported(self._folder, len(self._files), self._bytes, left)

    def _entries(self) -> Iterator[tuple[str, str, list[tuple[Entry, str]]]]:
        """Files of entries: name, title, entries with what replaced them; the newest first."""
        rows = asked(self._memory, "SELECT line, replaced_by FROM entry ORDER BY at DESC, seq DESC")
        found = [(decode(line), by) for line, by in rows]
        for at in range(0, len(found), TOGETHER):
            some = found[at : at + TOGETHER]
            days = [one.timestamp.astimezone(self._now.tzinfo) for one, _ in (some[-1], some[0])]
            title = " to ".join(dict.fromkeys(f"{day.day} {day:%B %Y}" for day in days))
            yield f"entries/{at // TOGETHER + 1:04}.html", title, some

    def _views(self) -> int:
        """Every view that can be reached from the first ones. How many were left out."""
        waiting, known = list(STARTS), set(STARTS)
        while waiting and len(self._files) < MOST:
            address = waiting.pop()
            parsed = urlsplit(address)
            path, row = unquote(parsed.path), find(unquote(parsed.path))
            assert row is not None
            request = Request(path, row[1], parse_qs(parsed.query))
            try:
                sheet = row[0].sheet(request, self._memory)
            except WakebookError as error:  # gone, or not to be read: it is said in its place
                sheet = Sheet("Not to be read", h.p(str(error)))
            for reached in self._sheet(_name(address), sheet):
                if reached not in known:
                    known.add(reached)
                    waiting.append(reached)
            self._told(len(self._files))
        return len(waiting)

    # --- search ----------------------------------------------------------------------------

    def _search(self, entries: Iterable[Entry]) -> None:
        """The page of search, and the words that it looks through: entries, notes, turns."""
        files, some, size, every = list[str](), list[str](), 0, True
        for row in self._rows(entries):
            line = json.dumps(row, ensure_ascii=False, separators=(",", ":"))
            # a list that is a script, so that it can be read from a file, too
            line = line.replace("\u2028", " ").replace("\u2029", " ")
            if size + len(line) > ALL:
                every = False
                break
            some.append(line)
            size += len(line)
            if size > SOME * (len(files) + 1):
                files.append(self._words(len(files), some))
                some = []
        if some:
            files.append(self._words(len(files), some))
        box = h.input(type="search", id="q", autocomplete="off", aria_label="Search the memory",
                      placeholder="Words of what was said, learned or written")  # fmt: skip
        less = "" if every else "Of the conversations, the oldest turns are not among it."
        body = h.div(
            h.div(h.span("⌕", class_="glass", aria_hidden="true"), box, class_="ask"),
            raw("<noscript><p>Search needs JavaScript; nothing else here does.</p></noscript>"),
            h.p(less, id="told", class_="lead", role="status"),
            h.div(h.ul(id="found", class_="things"), class_="card"),
            id="search",
        )
        sheet = Sheet("Search", body, "Every word that you type has to occur.", source="the index")
        lists = h.span(hidden=True, id="words", data_files=" ".join(files))
        script = raw('<script src="find.js"></script>')
        self._sheet(SEARCH, sheet, join(lists, script))

    def _words(self, number: int, rows: list[str]) -> str:
        name = f"words/{number + 1:03}.js"
        self._write(name, f"wakebook([\n{f',{chr(10)}'.join(rows)}\n]);\n".encode())
        return name

    def _rows(self, entries: Iterable[Entry]) -> Iterator[tuple[str, str, str, str]]:
        """Sign, words, facts and file of each thing that can be found."""

        def row(sign: str, words: str, facts: str, where: str) -> tuple[str, str, str, str]:
            return (
                sign,
                visible(whole(parts.short(words, WORDS))),
                facts,
                quote(where, safe="/.#-_~"),
            )

        for one in entries:
            at = parts.moment(one.timestamp, self._now)
            facts = f"{parts.kind_of(one)} · {at}"
            where = f"{self._places[one.id]}#e-{one.id}"
            words = f"{one.content} {one.detail}".strip()
            yield row(parts.glyph(one.type, one.status or ""), words, facts, where)
        for file in note_files(self._memory):
            text = (self._memory.home.root / file.name).read_text("utf-8", "replace")
            where, _ = self._place(to(f"/notes/{file.name}"))
            for line in body_of(text).split("\n"):
                if len(line.strip()) > 2:
                    yield row("▤", line.strip("#*- "), file.name, where)
        for path, place, at, text in asked(self._memory, TURNS):
            when = parts.moment(datetime.fromtimestamp(at, UTC), self._now)
            where, _ = self._place(parts.said_in(path, place))
            yield row("“", text, when, where)

    def _sheet(self, name: str, sheet: Sheet, more: Html | None = None) -> list[str]:
        """Write a page. The addresses of the views that it leads to."""
        up = "../" * name.count("/")
        reached: list[str] = []

        def link(match: re.Match[str]) -> str:
            href = unescape(match[1])
            if href.startswith("#"):
                return match[0]
            if not href.startswith(f"{ROOT}/"):
                return f' href="{escape(up + href[1:])}"' if href.startswith("/") else ""
            where, there = self._place(href)
            if there:
                reached.append(there)
            return f' href="{escape(quote(up + where, safe="/.#-_~"))}"' if where else ""

        lead = h.p(sheet.lead, class_="lead") if sheet.lead else None
        main = h.main(h.div(h.h1(sheet.title), lead, class_="head"), sheet.body, id="main")
        inner = _DATA.sub("", _ASK.sub("", main.markup))
        nav = h.ul(h.li(h.a(title, href=f"/{file}")) for title, file in NAV)
        side = h.header(
            h.div(h.span("Wakebook", class_="brand"), class_="title"),
            h.nav(nav, aria_label="Views"),
            h.div(h.p(f"as of {self._now.day} {self._now:%B %Y}"), class_="foot"),
            class_="side",
        )
        foot = h.footer(f"From {sheet.source}." if sheet.source else "", class_="origin")
        body = f'<div class="frame">{side}<div class="middle">{inner}{foot}</div></div>'
        title = h.title(f"{sheet.title} · Wakebook").markup
        page = (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f'{title}<link rel="stylesheet" href="{up}page.css"></head>'
            f"<body>{_tidied(_HREF.sub(link, body))}{more or ''}</body></html>\n"
        )
        self._write(name, page.encode("utf-8", "replace"))
        return reached

    def _place(self, href: str) -> tuple[str, str]:
        """The file that a link leads to, with the place in it; and the address to export for it."""
        parsed = urlsplit(href.removeprefix(ROOT))
        path, at = unquote(parsed.path), f"#{parsed.fragment}" if parsed.fragment else ""
        query = {key: values[0] for key, values in parse_qs(parsed.query).items()}
        if path == "/said" and "entry" in query:
            said = self._said.get(query["entry"], "")
            return self._place(said) if said else ("", "")
        if path == "/search" and query.keys() == {"subject"}:
            path, query = f"/subject/{query['subject']}", {}
        if path.startswith("/entry/"):
            name = path.removeprefix("/entry/")
            file = self._places.get(name, "")
            return (f"{file}#e-{name}" if file else ""), ""
        if path in NEVER or not (path in STARTS or path.startswith(BELOW)):
            return "", ""
        turn = query.pop("at", "")
        if query.keys() - {*KEPT} or (path == "/upkeep" and query):
            return "", ""  # a filter: it leads to nothing that is not there anyway
        if turn.isdecimal():
            starts = self._parts(path)
            begin = starts[bisect(starts, int(turn)) - 1]
            query |= {"from": str(begin)} if begin > 1 else {}
        address = to(path, query).removeprefix(ROOT) or "/"
        return _name(address) + at, address

    def _parts(self, path: str) -> list[int]:
        if path not in self._starts:
            if len(self._starts) > 100:
                self._starts.clear()
            self._starts[path] = list(begins(self._memory, path.removeprefix("/conversations/")))
        return self._starts[path]

    def _write(self, name: str, data: bytes) -> None:
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as stream:
            stream.write(data)
        self._files.append(name)
        self._bytes += len(data)


def _tidied(body: str) -> str:
    """Without buttons and facets that lead nowhere here."""
    left = _FACETS.sub("", _BUTTON.sub("", body))
    return _EMPTY.sub("", _BARE.sub(r"\1", left))


def _name(address: str) -> str:
    """The file of an address, below the folder."""
    parsed = urlsplit(address)
    path = unquote(parsed.path).strip("/") or "index"
    more = "".join(f"--{part}" for part in parsed.query.split("&") if part)
    return path + re.sub(r"[^\w.-]+", "-", unquote(more)) + ".html"


def _days(found: list[tuple[Entry, str]], now: datetime) -> Html:
    """Entries by day."""
    by_day: dict[str, list[tuple[Entry, str]]] = {}
    for entry, by in found:
        at = entry.timestamp.astimezone(now.tzinfo)
        by_day.setdefault(f"{at:%A}, {at.day} {at:%B %Y}", []).append((entry, by))
    return h.div(
        parts.section(day, parts.card(parts.rows(_row(*one, now) for one in some)))
        for day, some in by_day.items()
    )


def _row(entry: Entry, by: str, now: datetime) -> Html:
    words = parts.short(entry.content, 600)
    turn = entry.evidence[0] if entry.evidence else 0
    said = (
        h.a("where it was said", href=parts.said_in(entry.transcript, turn))
        if entry.transcript
        else ""
    )
    later = h.a("what holds now", href=to(f"/entry/{by}")) if by else ""
    return parts.row(
        parts.glyph(entry.type, entry.status or ""),
        h.s(words) if by else words,
        (parts.kind_of(entry), entry.subject, parts.moment(entry.timestamp, now), said, later),
        id=f"e-{entry.id}",
    )
