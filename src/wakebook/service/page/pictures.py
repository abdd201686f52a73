"""Pictures of the memory, drawn from all of it: each is a figure with a title, the picture, which
a screen reader hears in one sentence, and the same as a table or a list.

They are drawn here, as SVG, and so need no script. With one, a plot over time can be read closely
(assets/plots.js, which loads uPlot).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from math import cos, pi, sin, sqrt

from wakebook.log.entry import TYPES
from wakebook.memory import Memory
from wakebook.service.page import parts
from wakebook.service.page.assets import address
from wakebook.service.page.behind import kept, stamp
from wakebook.service.page.html import Child, Html, h, join
from wakebook.service.page.request import to
from wakebook.store import figures
from wakebook.store.figures import Neighbours, StripTurn

KINDS = TYPES  # in the order in which they are stacked
WIDTH, HEIGHT = 640, 120
DAYS = 120  # bars in a picture of the whole time: more days are put together
ROWS = 60  # of a table
FIRST_RING = 16  # subjects with a name beside them
LABEL = 22  # characters of a subject
STRIP = 600  # turns in a strip: of longer conversations several are one bar


def figure(title: str, picture: Child, table: Child, *, note: Child = "") -> Html:
    """`table`: the same in words, folded away."""
    return h.figure(
        picture,
        h.figcaption(note, class_="axis") if note else None,
        h.details(h.summary(f"{title}, as a table"), table, id="as-a-table") if table else None,
        class_="picture",
    )


def _clickable(label: str, drawn: Child, **more: str) -> Html:
    """A picture of links for those who point. Others hear what it shows; the list beside it, or
    below, has the same links."""
    picture = h.svg(drawn, attributes={"aria-hidden": "true", **more})
    return join(h.p(label, class_="unseen"), picture)


def table(heads: Sequence[str], found: Iterable[Sequence[Child]]) -> Html:
    """Numbers stand right."""

    def cell(value: Child) -> Html:
        return h.td(value, class_="number" if isinstance(value, int | float) else None)

    head = h.tr(h.th(one, scope="col") for one in heads)
    body = (h.tr(map(cell, row)) for row in found)
    return h.div(h.table(h.thead(head), h.tbody(body)), class_="scroll", tabindex="0")


# --- entries by day and type ---------------------------------------------------------------------
def learned(memory: Memory, days: int = 0) -> Html:
    """Entries by day and type: of the last days, or of all time."""
    zone, today = memory.opened.now().tzinfo, memory.opened.now().date()
    assert zone is not None
    none: dict[date, dict[str, int]] = {}
    found = memory.index.peek(lambda store: figures.by_day(store, zone), none)
    first = today - timedelta(days=days - 1) if days else min([*found, today])
    span = (today - first).days + 1
    each = max(1, -(-span // DAYS))  # days in a bar
    starts = [first + timedelta(days=at) for at in range(0, span, each)]
    counts: list[dict[str, int]] = [{} for _ in starts]
    for day, kinds in found.items():
        if first <= day <= today:
            into = counts[(day - first).days // each]
            for kind, number in kinds.items():
                into[kind] = into.get(kind, 0) + number
    total = sum(sum(one.values()) for one in counts)
    per = "a day" if each == 1 else f"{each} days"
    label = f"Entries by day and type since {_day(first)}: {total:,}"
    listed: list[list[Child]] = [
        [_day(start), *(one.get(kind, 0) for kind in KINDS)]
        for start, one in list(zip(starts, counts, strict=True))[::-1]
        if one
    ]
    plot = _plot(starts, {kind: [one.get(kind, 0) for one in counts] for kind in KINDS}, label)
    note = (h.span(_day(first)), h.span(f"{total:,} entries, each bar {per}"), h.span("today"))
    shown = table(("since", *KINDS), listed[:ROWS])
    return figure("Entries by day and type", (plot, _legend()), shown, note=note)


def _plot(starts: Sequence[date], series: Mapping[str, Sequence[int]], label: str) -> Html:
    """Stacked bars; with a script, a plot that can be read closely."""
    sums = [sum(values) for values in zip(*series.values(), strict=True)]
    most, step = max([*sums, 1]), WIDTH / max(len(starts), 1)
    wide, tops = max(step - (1.5 if step > 4 else 0), 0.8), [float(HEIGHT) for _ in starts]
    drawn: list[Html] = []
    for kind, values in series.items():
        bars: list[str] = []
        for at, value in enumerate(values):
            if value:
                tops[at] -= (tall := HEIGHT * value / most)
                bar = f"h{wide:.1f}v{max(tall - 0.5, 0.7):.1f}h-{wide:.1f}z"
                bars.append(f"M{at * step:.1f} {tops[at]:.1f}{bar}")
        drawn.append(h.path(d="".join(bars), class_=f"type {kind}"))
    picture = h.svg(drawn, viewBox=f"0 0 {WIDTH} {HEIGHT}", role="img", aria_label=label,
                    preserveAspectRatio="none", class_="tall")  # fmt: skip
    if len(starts) < 30:
        return picture
    data = {
        "at": [int(datetime(one.year, one.month, one.day).timestamp()) for one in starts],
        "series": {kind: list(values) for kind, values in series.items()},
    }
    return h.div(
        picture,
        h.script(src=address("plots.js"), defer=True),
        class_="plot",
        data_plot=json.dumps(data, separators=(",", ":")),
        data_script=address("uPlot.iife.min.js"),
        data_style=address("uPlot.min.css"),
    )


def _legend() -> Html:
    signs = (
        h.span(h.i(class_=f"swatch {kind}", aria_hidden="true"), parts.GLYPHS[kind], " ", kind)
        for kind in KINDS
    )
    return h.p(signs, class_="legend")


def _day(day: date) -> str:
    return f"{day.day} {day:%b} {day.year}"


# --- one conversation ----------------------------------------------------------------------------
def strip(memory: Memory, path: str) -> Html | None:
    """A conversation as a strip: who spoke how much, and what was learned where. Every bar leads
    to its turn."""
    none: list[StripTurn] = []
    turns = memory.index.peek(lambda store: figures.strip(store, path), none)
    if not turns:
        return None
    each = -(-len(turns) // STRIP)
    step = WIDTH / -(-len(turns) // each)
    drawn: list[Html] = []
    marks: list[Html] = []
    for at in range(0, len(turns), each):
        group, x = turns[at : at + each], at // each * step
        first = group[0]
        size = sum(one.size for one in group) / each
        tall = min(34.0, 3 + 1.6 * sqrt(size / 12))
        by = "agent" if first.speaker in ("agent", "tool") else "user"
        y = 46 - tall if by == "user" else 48
        bar = h.rect(x=round(x, 2), y=round(y, 1), width=round(max(step - 1, 0.8), 2), rx=1,
                     height=round(tall, 1), class_=f"turn-bar {by}")  # fmt: skip
        drawn.append(h.a(bar, href=parts.said_in(path, first.place), tabindex="-1"))
        found = [kind for one in group for _, kind in one.learned]
        if found:
            drawn.append(h.rect(x=round(x, 2), y=6, width=round(max(step - 1, 1.5), 2), rx=1,
                                height=6, class_=f"type {found[0]}"))  # fmt: skip
        marks += [
            h.li(
                f"{parts.glyph(kind)} ",
                h.a(f"turn {one.place}", href=parts.said_in(path, one.place)), ": ",
                h.a(f"{kind} {name}", href=to(f"/entry/{name}")),
            )
            for one in group for name, kind in one.learned
        ]  # fmt: skip
    number = len({name for one in turns for name, _ in one.learned})
    label = (
        f"The conversation as a strip of {len(turns):,} turns: yours above the line, the agent's "
        f"below; {parts.many(number, 'entry', 'entries')} learned from it."
    )
    picture = _clickable(label, drawn, viewBox=f"0 0 {WIDTH} 84", preserveAspectRatio="none",
                         class_="strip")  # fmt: skip
    note = (
        h.span("you above, the agent below"),
        h.span(f"{parts.many(number, 'entry', 'entries')} learned"),
        h.span(parts.many(len(turns), "turn")),
    )
    listed = h.ul(marks[: 4 * ROWS], class_="plain-list") if marks else None
    return figure("What was learned where", picture, listed, note=note)


# --- a subject and what is near it ----------------------------------------------------------------
def neighbourhood(found: Neighbours, names: Mapping[str, str]) -> Html:
    """A subject in the middle; nearest those that came up most often in the same conversations."""
    size, middle = 640, 320
    inner, outer = found.around[:FIRST_RING], found.around[FIRST_RING:]
    places: dict[str, tuple[float, float]] = {found.subject: (middle, 210)}
    for ring, radius in ((inner, (160, 125)), (outer, (300, 192))):
        for at, (slug, _) in enumerate(ring):
            turn = 2 * pi * at / len(ring) - pi / 2 + (0.1 if radius[0] > 200 else 0)
            places[slug] = (middle + radius[0] * cos(turn), 210 + radius[1] * sin(turn))
    most = max([number for _, number in found.around], default=1)
    lines = [
        _edge(places[one], places[other], min(1.0, number / most))
        for one, other, number in sorted(found.between, key=lambda pair: pair[2])[-120:]
    ]
    lines += [
        _edge(places[found.subject], places[slug], 0.4 + 0.6 * number / most, "spoke")
        for slug, number in found.around
    ]
    dots = [
        _dot(slug, number, most, places[slug], names, label=at < FIRST_RING)
        for at, (slug, number) in enumerate(found.around)
    ]
    name = names.get(found.subject, found.subject)
    x, y = places[found.subject]
    center = (
        h.circle(cx=x, cy=y, r=9, class_="node here"),
        h.text(parts.short(name, LABEL), x=x, y=y + 26, class_="here", text_anchor="middle"),
    )
    label = (
        f"{name} and {parts.many(len(found.around), 'subject')} that came up in the same "
        "conversations; the list beside has all of them"
    )
    drawn = (lines, dots, center)
    return _clickable(label, drawn, viewBox=f"0 0 {size} 420", class_="graph")


def _edge(
    one: tuple[float, float], other: tuple[float, float], strength: float, class_: str = ""
) -> Html:
    return h.line(
        x1=round(one[0], 1), y1=round(one[1], 1), x2=round(other[0], 1), y2=round(other[1], 1),
        stroke_width=round(0.4 + 1.6 * strength, 2), class_=f"edge {class_}".strip(),
    )  # fmt: skip


def _dot(
    slug: str,
    number: int,
    most: int,
    place: tuple[float, float],
    names: Mapping[str, str],
    *,
    label: bool,
) -> Html:
    x, y = round(place[0], 1), round(place[1], 1)
    name = names.get(slug, slug)
    aside = round((x - 320) / 40)  # 0: above or below the middle, where a name stands centred
    text = h.text(
        parts.short(name, LABEL),
        x=x + 12 * ((aside > 0) - (aside < 0)),
        y=y + 4.5 if aside else y + (21 if y >= 210 else -13),
        text_anchor="middle" if not aside else "start" if aside > 0 else "end",
    ) if label else None  # fmt: skip
    return h.a(
        h.title(f"{name}: {parts.many(number, 'conversation')} together"),
        h.circle(cx=x, cy=y, r=round(3 + 5 * sqrt(number / most), 1), class_="node"),
        text,
        href=to(f"/subject/{slug}"),
        tabindex="-1",  # the list beside it is for keys
    )


# --- health --------------------------------------------------------------------------------------
def shares(title: str, counts: Mapping[str, int], classes: Mapping[str, str]) -> Html:
    """How much of a whole each part is: one bar, with the numbers below it."""
    total, x = sum(counts.values()), 0.0
    drawn: list[Html] = []
    for name, number in counts.items():
        if number:
            wide = WIDTH * number / total
            drawn.append(h.rect(x=round(x, 1), y=0, width=round(max(wide - 1.5, 1.5), 1), height=10,
                                class_=f"part {classes.get(name, '')}".strip()))  # fmt: skip
            x += wide
    said = ", ".join(f"{name} {number:,}" for name, number in counts.items() if number)
    picture = h.svg(
        drawn or h.rect(x=0, y=0, width=WIDTH, height=10, class_="track"),
        viewBox=f"0 0 {WIDTH} 10", role="img", aria_label=f"{title}: {said or 'nothing'}",
        preserveAspectRatio="none", class_="parts",
    )  # fmt: skip
    legend = h.p(
        (
            h.span(h.i(class_=f"swatch part {classes.get(name, '')}", aria_hidden="true"),
                   f"{name} {number:,}")
            for name, number in counts.items() if number
        ),
        class_="legend",
    )  # fmt: skip
    return h.div(h.h3(title), picture, legend if total else parts.none("Nothing yet."),
                 class_="health")  # fmt: skip


def _captured(memory: Memory) -> dict[str, int]:
    """How many sessions stand how."""
    found = {"read": 0, "open": 0, "waiting for the model": 0, "failed": 0}
    for one in memory.opened.state().sessions.values():
        kind = "failed" if one.failure else "waiting for the model" if one.held else ""
        found[kind or ("open" if one.window is not None else "read")] += 1
    return found


def health(memory: Memory) -> Html:
    """How far sessions were read, and how far the index is."""
    key: tuple[object, ...] = ("captured", str(memory.home.root), stamp(memory.home.state))
    captured = kept(key, 600.0, lambda: _captured(memory))
    classes = {"open": "pale", "waiting for the model": "amber", "failed": "rose"}
    path, log = memory.index.store.path, memory.home.log
    key = ("index", str(path), stamp(path, path.with_name(f"{path.name}-wal"), log))
    index = kept(key, 60.0, memory.index.status)
    chunks = {parts.place(name): number for name, number in index.chunks.items()}
    order = sorted(chunks.items(), key=lambda one: -one[1])
    shades = dict(zip((name for name, _ in order[1:]), ("pale", "soft", "line"), strict=False))
    vectors = {"by meaning and words": index.vectors, "by words only": index.pending}
    behind = (
        f"{index.behind:,} bytes of the log are not in it yet" if index.behind else "up to date"
    )
    return h.div(
        shares("Conversations", captured, classes),
        shares("The index, by what it holds", dict(order), shades),
        shares("Found", vectors, {"by words only": "amber"}),
        h.p(f"The index has {index.bytes / 1e6:,.1f} MB and is {behind}.", class_="facts"),
        class_="healths",
    )
