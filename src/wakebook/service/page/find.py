"""Search: one box, facets, and why each thing was found. The words that were said, beside it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from wakebook.base import clock
from wakebook.log.entry import TYPES
from wakebook.log.query import Query
from wakebook.memory import Memory
from wakebook.service.page import parts
from wakebook.service.page.data import asked
from wakebook.service.page.html import Child, Html, h, join
from wakebook.service.page.parts import card, many, none, rows
from wakebook.service.page.request import Request, Sheet, to
from wakebook.store.hits import Found, Hit

SIGNS = {"conversation": "“", "journal": "▤", "topics": "✧"}
WHERE = {"memory": "entries", "conversation": "conversations", "notes": "notes"}
NOTES = ("projects", "people", "reference", "procedures", "journal", "topics", "identity")
SPANS = {"day": 1, "week": 7, "month": 31, "year": 366}
FIRST, MORE, MOST = 20, 20, 100
SUBJECTS = 8


def find(request: Request, memory: Memory) -> Sheet:
    text, limit = request.get("q")[:2000], min(MOST, FIRST + request.number("more"))
    now = memory.opened.now()
    query = _query(request, text, now)
    searched = bool(text) or query.filtered
    found = memory.search(query, limit=limit, explain=True) if searched else Found()
    command = f"wakebook search {_quoted(text)}" if text else "wakebook search"
    return Sheet(
        "Search",
        (
            _facets(request, memory),
            h.section(_results(request, found, searched, limit, now), id="found",
                      data_live="entries conversations notes", aria_live="polite"),
        ),
        h.span(_lead(found, searched), id="lead"),
        source="the index, by words and by meaning",
        command=command,
    )  # fmt: skip


def _quoted(text: str) -> str:
    import shlex

    return shlex.quote(text)


def _query(request: Request, text: str, now: datetime) -> Query:
    types = tuple(one for one in request.query.get("type", ()) if one in TYPES)
    status = request.get("status")
    where = request.get("where")
    kinds = {"notes": NOTES, "conversation": ("conversation",), "memory": ("memory",)}
    project = request.get("project")
    return Query(
        text=text,
        types=types,
        subjects=(request.get("subject"),) if request.get("subject") else (),
        status=status if status in ("open", "done", "answered") else "",
        since=_day(request.get("since"), now) or _since(request.get("when"), now),
        until=_day(request.get("until"), now),
        categories=kinds.get(where, ()),
        projects=(project,) if project else (),
        session=request.get("session"),
        all=bool(request.get("all")),
    )


def _day(given: str, now: datetime) -> datetime | None:
    at = clock.parse(f"{given}T00:00:00Z") if given else None
    return at.replace(tzinfo=now.tzinfo) if at else None


def _since(span: str, now: datetime) -> datetime | None:
    return now - timedelta(days=SPANS[span]) if span in SPANS else None


def _lead(found: Found, searched: bool) -> Child:
    if not searched:
        return "What was said, learned or written, in your own words."
    steps = sum(found.steps.values())
    told = [many(len(found.hits), "finding"), f"{steps:.0f} ms"]
    told += ["by words and by meaning" if found.embedder else "by words"]
    return join(parts.dotted(told), [h.span(note, class_="note-line") for note in found.notes])


def _facets(request: Request, memory: Memory) -> Html:
    types = [("type", one, one) for one in TYPES]
    when = [("when", one, f"past {one}") for one in SPANS]
    where = [("where", key, name) for key, name in WHERE.items()]
    state = [("status", "open", "open"), ("all", "1", "also what was replaced")]
    names = {one.slug: one.display for one in memory.log.registry().known()}
    chosen = request.get("subject")
    about = [("subject", one, names.get(one, one)) for one in _busy(memory, chosen)]
    dates = [(key, request.get(key), f"{key} {request.get(key)}") for key in ("since", "until")]
    lines: tuple[tuple[str, list[tuple[str, str, str]]], ...] = (
        ("type", types),
        ("where", where),
        ("when", [*when, *(one for one in dates if one[1])]),
        ("state", state),
        ("about", about),
    )
    shown = (
        h.div(h.span(name, class_="name"), [_facet(request, *one) for one in line], class_="facets")
        for name, line in lines
        if line
    )
    chosen_any = any(key != "q" for key in request.query)
    title = "Narrow it down" if not chosen_any else "Narrowed down"
    inner = h.details(h.summary(title), shown, open=chosen_any, id="narrow")
    return h.div(inner, id="facets")


def _facet(request: Request, key: str, value: str, name: str) -> Html:
    chosen = request.get(key) == value
    address = request.here(**{key: None if chosen else value, "more": None})
    label = join(name, " ×") if chosen else name
    return h.a(label, href=address, class_="on" if chosen else None,
               aria_current="true" if chosen else None)  # fmt: skip


def _busy(memory: Memory, chosen: str) -> list[str]:
    """The subjects that most was said about lately, and the chosen one."""
    sql = (
        "SELECT subject FROM (SELECT subject FROM entry WHERE replaced_by = '' "
        "ORDER BY at DESC LIMIT 400) WHERE subject <> '' GROUP BY subject ORDER BY count(*) DESC "
        "LIMIT ?"
    )
    found = [slug for (slug,) in asked(memory, sql, SUBJECTS)]
    return found if not chosen or chosen in found else [chosen, *found]


def _results(
    request: Request, found: Found, searched: bool, limit: int, now: datetime
) -> Iterable[Child]:
    if not searched:
        return [none("Type a question, or choose what to see below “Narrow it down”.")]
    if not found.hits:
        return [none("Nothing fits. Other words, or fewer facets, may help.")]
    shown = [_hit(hit, request.get("q"), now) for hit in found.hits]
    more = len(found.hits) >= limit and limit < MOST
    address = request.here(more=request.number("more") + MORE)
    return [
        card(rows(shown)),
        h.p(h.a(f"{MORE} more", href=address), class_="pages") if more else None,
    ]


def _hit(hit: Hit, text: str, now: datetime) -> Html:
    entry = hit.category == "memory" and "#" not in hit.ref
    href = address(hit.ref, hit.category)
    sign = parts.glyph(hit.type, hit.status) if entry else SIGNS.get(hit.category, "¶")
    what = hit.type if entry else f"{hit.title} · {hit.category}" if hit.title else hit.category
    who = "" if entry or not hit.speaker else f"said by {hit.speaker}"
    state = "replaced" if hit.replaced_by else hit.status if hit.status == "open" else ""
    fits = hit.why if hit.why != "within the filters" else ""
    score = h.span(f"{hit.score:.2f}", title="how well it fits, 0 to 1") if fits else None
    query = {"entry": hit.ref} if entry else {"ref": hit.ref}
    return parts.row(
        sign,
        h.a(parts.marked(hit.snippet), href=href),
        (
            what,
            hit.subject,
            who,
            parts.moment(hit.timestamp, now) if hit.timestamp else "",
            fits and h.span("found by " if fits.startswith("words") else "found: ", fits),
        ),
        aside=join(h.span(state, class_=f"pill {state}") if state else "", " ", score),
        href=href,
        peek=to("/said", {**query, "q": text}),
        class_="open" if state == "open" else "",
        id=f"f-{hit.ref}",
    )


def address(ref: str, category: str) -> str:
    """Where a finding is shown whole."""
    path, found, lines = ref.partition("#")
    if not found:
        return to(f"/entry/{ref}")
    first = lines.partition("-")[0]
    if category == "conversation":
        return to("/said", {"ref": ref})
    if path.startswith(("knowledge/", "archive/")):
        return to(f"/notes/{path}", {"at": first}, at=f"L{first}")
    return to("/said", {"ref": ref})
