"""Subject: what is known of a subject, and which others came up with it."""

from __future__ import annotations

from wakebook.base.errors import NotFound
from wakebook.memory import Memory
from wakebook.service.page import parts, pictures
from wakebook.service.page.data import entries
from wakebook.service.page.html import Html, h
from wakebook.service.page.parts import card, many, rows, section
from wakebook.service.page.request import Request, Sheet, to
from wakebook.store import figures
from wakebook.store.figures import Neighbours

NEWEST = 12


def subject(request: Request, memory: Memory) -> Sheet:
    slug, now = request.parts["slug"], memory.opened.now()
    found = neighbours(memory, slug)
    if not found.entries:
        raise NotFound(f"No entry is about {slug!r}. `wakebook subjects` lists the subjects.")
    names = {one.slug: one.display for one in memory.log.registry().known()}
    newest = entries(memory, "subject = ? AND replaced_by = ''", slug, most=NEWEST)
    every = h.a(f"all {found.entries:,}", href=to("/search", {"subject": slug}))
    left = [
        section(
            "In the same conversations", card(pictures.neighbourhood(found, names), roomy=True)
        ),
        section("Newest", card(rows(parts.remembered(one, now) for one in newest)), aside=every),
    ]
    beside = section("Beside it", card(_list(found, names), roomy=True),
                     aside=f"{found.more:,} more" if found.more else "")  # fmt: skip
    talks = many(found.conversations, "conversation")
    return Sheet(
        names.get(slug, slug),
        h.div(
            h.div(left if found.around else left[1:]),
            h.div(beside if found.around else None),
            class_="columns" if found.around else None,
            id="subject",
            data_live="entries",
        ),
        f"{many(found.entries, 'entry', 'entries')} from {talks}.",
        source="the log and its index",
        command=f"wakebook subjects show {slug}",
    )


def neighbours(memory: Memory, slug: str) -> Neighbours:
    nothing = Neighbours(slug, 0, 0, (), ())
    return memory.index.peek(lambda store: figures.neighbours(store, slug), nothing)


def _list(found: Neighbours, names: dict[str, str]) -> Html:
    return h.ol(
        (
            h.li(h.a(names.get(slug, slug), href=to(f"/subject/{slug}")),
                 h.span(number, class_="number"))
            for slug, number in found.around
        ),
        class_="counted",
    )  # fmt: skip
