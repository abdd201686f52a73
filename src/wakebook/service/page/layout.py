"""The frame of every page: what there is, the search box, the view itself, and where it is from."""

from __future__ import annotations

from typing import NamedTuple

from wakebook.service.page.assets import address
from wakebook.service.page.html import Child, Html, h, join
from wakebook.service.page.request import Done, Request, Sheet, to
from wakebook.service.page.views import NAV, VIEWS, View

ASK = "Ask your memory: “when do we open?”"
THEMES = {"": "dark", "dark": "light", "light": ""}  # the one that comes next
NAMES = {"": "as the system", "dark": "dark", "light": "light"}


class Frame(NamedTuple):
    """What every page shows besides its view."""

    home: str
    entries: int = 0
    waiting: int = 0  # decisions
    done: Done | None = None  # what the last action has done


def page(request: Request, view: View | None, sheet: Sheet, frame: Frame) -> bytes:
    title = (
        sheet.title if not view or sheet.title == view.title else f"{sheet.title} · {view.title}"
    )
    return document(
        request,
        f"{title} · Wakebook",
        h.a("Skip to the page", href="#main", class_="skip"),
        h.div(
            _side(request, view, frame),
            h.div(
                _ask(request),
                _said(request, frame.done),
                h.main(_head(sheet), sheet.body, _origin(view, sheet), id="main", tabindex="-1"),
                class_="middle",
            ),
            class_="frame",
        ),
        _help(),
    )


def plain(request: Request, title: str, *body: Child) -> bytes:
    """A page by itself, for those who are not let in, and for what went wrong."""
    inner = h.main(h.h1(title), body, id="main", class_="alone")
    return document(request, f"{title} · Wakebook", inner)


def document(request: Request, title: str, *body: Child) -> bytes:
    head = h.head(
        h.meta(charset="utf-8"),
        h.meta(name="viewport", content="width=device-width, initial-scale=1"),
        h.meta(name="color-scheme", content=request.theme or "light dark"),
        h.title(title),
        h.link(rel="icon", href=address("icon.svg"), type="image/svg+xml"),
        h.link(rel="stylesheet", href=address("page.css")),
        h.script(src=address("page.js"), defer=True),
    )
    whole = h.html(head, h.body(*body), lang="en", data_theme=request.theme or None)
    return f"<!doctype html>\n{whole}".encode()


def _side(request: Request, view: View | None, frame: Frame) -> Html:
    known = {one.title: one for one in reversed(VIEWS)}  # the first of a name is its entrance
    groups = [[known[title] for title in titles if title in known] for titles in NAV]
    lists = (h.ul(_entrance(one, view, frame) for one in group) for group in groups if group)
    brand = h.a("Wakebook", href=to("/"), class_="brand")
    return h.header(
        h.div(brand, h.span(frame.home, class_="home mono"), class_="title"),
        h.nav(lists, attributes={"aria-label": "Views"}),
        h.div(
            h.p(
                h.span("●", class_="dot", aria_hidden="true"),
                h.span("as of now", id="live", role="status"),
                h.span(f" · {frame.entries:,} entries", id="number", data_live="entries"),
                class_="state",
            ),
            request.form_(
                "theme",
                h.button(f"Theme: {NAMES.get(request.theme, '')}", class_="quiet"),
                theme=THEMES.get(request.theme, ""),
            ),
            class_="foot",
        ),
        class_="side",
    )


def _entrance(one: View, view: View | None, frame: Frame) -> Html:
    here = view is not None and view.title == one.title
    badge = None
    if one.title == "Review":
        count = frame.waiting
        said = h.span(count, h.span(" waiting", class_="unseen"), class_="badge") if count else None
        badge = h.span(said, id="waiting", data_live="entries notes review")
    current = "page" if here else None
    keys = f"g {one.key}" if one.key else None
    return h.li(
        h.a(one.title, badge, href=to(one.path), aria_current=current, data_key=one.key, title=keys)
    )


def _ask(request: Request) -> Html:
    asked = request.get("q") if request.path == "/search" else ""
    return h.form(
        h.span("⌕", class_="glass", aria_hidden="true"),
        h.input(type="search", name="q", value=asked, placeholder=ASK, id="q", autocomplete="off",
                aria_label="Search the memory"),
        h.kbd("/", aria_hidden="true"),
        action=to("/search"), role="search", class_="ask",
    )  # fmt: skip


def _head(sheet: Sheet) -> Html:
    return h.div(h.h1(sheet.title), sheet.lead and h.p(sheet.lead, class_="lead"), class_="head")


def _said(request: Request, done: Done | None) -> Html | None:
    """What the last action has done, and how to take it back."""
    if done is None:
        return None
    undo = done.undo and request.button(done.undo, "Undo", class_="quiet", **done.fields)
    return h.div(h.p(done.said), undo, class_="said", role="status")


def _origin(view: View | None, sheet: Sheet) -> Html:
    command = sheet.command or (view.command if view else "")
    return h.footer(
        sheet.source and h.span("From ", sheet.source, ". "),
        command and h.span("In a terminal: ", h.code(command)),
        class_="origin",
    )


def _help() -> Html:
    keys = [("/", "search"), ("j  k", "next, previous"), ("Enter", "open"), ("Esc", "close"),
            ("u", "undo"), ("?", "this")]  # fmt: skip
    keys += [(f"g {one.key}", one.title) for one in VIEWS if one.key]
    rows = (join(h.dt(h.kbd(key)), h.dd(what)) for key, what in keys)
    close = h.form(h.button("Close", class_="quiet"), method="dialog")
    return h.dialog(h.h2("Keys"), h.dl(rows, class_="keys"), close, id="keys")


def svg(width: int, height: int, *children: Child, label: str = "", class_: str = "") -> Html:
    """A picture, scaled to the width that there is."""
    return h.svg(
        children, viewBox=f"0 0 {width} {height}", role="img" if label else None,
        aria_label=label or None, aria_hidden=None if label else "true", class_=class_ or None,
    )  # fmt: skip
