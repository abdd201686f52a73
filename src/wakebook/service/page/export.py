"""Export: the page as files that can be read offline, without a service and without a script.

Today, every conversation, every note, and every entry in a list by day. Links are relative and lead
to files of the same folder; what only a service can do (search, actions) is left out. The folder
belongs to the export: one that holds anything else is not written to.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from datetime import datetime
from html import escape, unescape
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qs, quote, unquote, urlsplit

from wakebook.base.errors import WakebookError
from wakebook.log.entry import Entry, decode
from wakebook.memory import Memory
from wakebook.service.page import assets, parts
from wakebook.service.page.data import asked
from wakebook.service.page.html import Html, h
from wakebook.service.page.request import ROOT, Request, Sheet, to
from wakebook.service.page.views import find

MARK = "wakebook-export.json"
MOST = 100_000  # files
TOGETHER = 300  # entries in one file
KEPT = ("before", "from", "turn", "letter", "more")  # parts of a query that lead to other words
STARTS = ("/", "/conversations", "/notes")
NAV = (("Today", "index.html"), ("Entries", "entries/index.html"),
       ("Conversations", "conversations.html"), ("Notes", "notes.html"))  # fmt: skip
_FORM = re.compile(r'<form method="post".*?</form>', re.DOTALL)
_ASK = re.compile(r'<form\b.*?</form>|<div class="acts"></div>', re.DOTALL)
_DATA = re.compile(r' (?:data-[\w-]+|tabindex)(?:="[^"]*")?')
_HREF = re.compile(r' href="([^"]*)"')

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
        self._places: dict[str, str] = {}  # an entry's id -> its file

    def run(self) -> Exported:
        listed = list(self._entries())
        for name, _, found in listed:
            for entry, _ in found:
                self._places[entry.id] = name
        style = assets.ALL["page.css"].body
        self._write("page.css", style)
        left = self._views()
        for name, title, found in listed:
            self._sheet(name, Sheet(title, _days(found, self._now), source="the log"))
        links = [h.li(h.a(title, href=f"/{name}")) for name, title, _ in listed]
        body = parts.card(h.ul(links), roomy=True)
        self._sheet("entries/index.html", Sheet("Entries", body, source="the log"))
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

    def _sheet(self, name: str, sheet: Sheet) -> list[str]:
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
        inner = _DATA.sub("", _ASK.sub("", _FORM.sub("", main.markup)))
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
            f"<body>{_HREF.sub(link, body)}</body></html>\n"
        )
        self._write(name, page.encode("utf-8", "replace"))
        return reached

    def _place(self, href: str) -> tuple[str, str]:
        """The file that a link leads to, with the place in it; and the address to export for it."""
        parsed = urlsplit(href.removeprefix(ROOT))
        path, at = unquote(parsed.path), f"#{parsed.fragment}" if parsed.fragment else ""
        if path.startswith("/entry/"):
            name = path.removeprefix("/entry/")
            file = self._places.get(name, "")
            return (f"{file}#e-{name}" if file else ""), ""
        query = {key: values[0] for key, values in parse_qs(parsed.query).items()}
        if path not in STARTS and not path.startswith(("/conversations/", "/notes/")):
            return "", ""
        if query.keys() - {*KEPT, "at"}:
            return "", ""  # a filter: it leads to nothing that is not there anyway
        query.pop("at", None)
        address = to(path, query).removeprefix(ROOT) or "/"
        return _name(address) + at, address

    def _write(self, name: str, data: bytes) -> None:
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as stream:
            stream.write(data)
        self._files.append(name)
        self._bytes += len(data)


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
    from wakebook.service.page.conversations import address

    words = parts.short(entry.content, 600)
    turn = entry.evidence[0] if entry.evidence else 0
    said = (
        h.a("where it was said", href=address(entry.transcript, turn)) if entry.transcript else ""
    )
    later = h.a("what holds now", href=to(f"/entry/{by}")) if by else ""
    return parts.row(
        parts.glyph(entry.type, entry.status or ""),
        h.s(words) if by else words,
        (parts.kind_of(entry), entry.subject, parts.moment(entry.timestamp, now), said, later),
        id=f"e-{entry.id}",
    )
