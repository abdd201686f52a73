"""Today: what was learned, what is open, what needs a decision, where you stopped."""

from __future__ import annotations

from datetime import datetime, timedelta

from wakebook.log.entry import ORIGIN, TYPES
from wakebook.memory import Memory
from wakebook.service.page import parts
from wakebook.service.page.data import Remembered, asked, by_day, entries, last_day
from wakebook.service.page.html import Child, Html, h, join
from wakebook.service.page.needs import Needs, needs
from wakebook.service.page.parts import card, many, none, row, rows, section
from wakebook.service.page.request import Request, Sheet, to
from wakebook.store import AMONG, Many

LEARNED, OPEN, DAYS = 25, 6, 21
ENOUGH = 6  # things learned, to fill a day
NUMBERS = "No one two three four five six seven eight nine ten eleven twelve".split()


def today(request: Request, memory: Memory) -> Sheet:
    now = memory.opened.now()
    wants = needs(memory)
    left = [_learned(memory, now), _stopped(memory, now), _open(memory, now)]
    right = [_needs(wants, now), _keep(request), _weeks(memory, now), _cost(memory, now)]
    return Sheet(
        f"{now:%A}, {now.day} {now:%B}",
        h.div(h.div(left), h.div(right), class_="columns"),
        h.span(
            _lead(memory, now, wants), id="lead", data_live="entries conversations notes review"
        ),
        source="the log and its index",
        command="wakebook",
    )


def _lead(memory: Memory, now: datetime, wants: Needs) -> Html:
    folder = f"raw/conversations/{now:%Y/%m/%d}/"
    sql = "SELECT count(*) FROM file WHERE path >= ? AND path < ?"
    (talks,) = asked(memory, sql, folder, f"{folder}\U0010ffff")[0]
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0).timestamp()
    sql = "SELECT count(*) FROM entry WHERE at >= ? AND type <> 'handoff'"
    (learned,) = asked(memory, sql, midnight)[0]
    said = f"{_number(talks)} conversation{'s' * (talks != 1)} today, "
    said += f"{_number(learned).lower()} thing{'s' * (learned != 1)} learned."
    said = f"{said[0].upper()}{said[1:]}"
    waits = f"{_number(wants.number).capitalize()} waiting for you."
    return join(said, (" ", h.a(waits, href=to("/review"))) if wants.number else "")


def _number(number: int) -> str:
    return NUMBERS[number] if number < len(NUMBERS) else f"{number:,}"


def _learned(memory: Memory, now: datetime) -> Html:
    """What the last day has brought; if that is little, also the days before it."""
    days: list[Html] = []
    shown, before = 0, now + timedelta(days=1)
    while shown < ENOUGH and len(days) < 3 and (span := last_day(memory, before)):
        made, number = _day(memory, span, now, LEARNED if not days else ENOUGH - shown)
        days.append(made)
        shown, before = shown + number, span[0]
    if not days:
        said = none(
            "Nothing is remembered yet. ", h.code("wakebook setup"),
            " wires your agents and reads what you have said to them; ",
            h.code("wakebook remember"), " keeps something by hand.",
        )  # fmt: skip
        days = [section("Learned", card(said))]
    return h.div(days, id="learned", data_live="entries")


def _day(
    memory: Memory, span: tuple[datetime, datetime], now: datetime, most: int
) -> tuple[Html, int]:
    begin, end = (at.timestamp() for at in span)
    where = "at >= ? AND at < ? AND type <> 'handoff' AND replaced_by = ''"
    found = entries(memory, where, begin, end, most=most)
    sql = f"SELECT count(*) FROM entry WHERE {where}"  # noqa: S608
    (number,) = asked(memory, sql, begin, end)[0]
    more = number - len(found)
    rest = to("/search", {"since": f"{span[0]:%Y-%m-%d}", "until": f"{span[1]:%Y-%m-%d}"})
    made = section(
        f"Learned {parts.day(span[0], now)}",
        card(rows(parts.remembered(one, now) for one in found)),
        aside=h.a(f"{more:,} more", href=rest) if more > 0 else "",
    )
    return made, number


def _open(memory: Memory, now: datetime) -> Html | None:
    found = entries(memory, "status = 'open'", most=OPEN)
    if not found:
        return h.section(id="open", data_live="entries")
    (number,) = asked(memory, "SELECT count(*) FROM entry WHERE status = 'open'")[0]
    every = h.a(f"all {number:,}", href=to("/search", {"status": "open"}))
    return section(
        "Open",
        card(rows(parts.remembered(one, now, id="o") for one in found)),
        id="open",
        live="entries",
        aside=every if number > len(found) else "",
    )


def _stopped(memory: Memory, now: datetime) -> Html | None:
    sql = "SELECT name FROM chunk WHERE type = 'handoff' AND name <> '' ORDER BY at DESC LIMIT 24"
    names = [name for (name,) in asked(memory, sql)]
    found = entries(memory, f"id {AMONG} AND replaced_by = ''", Many(names))
    by_project: dict[str, Remembered] = {}
    for one in found:
        by_project.setdefault(one.entry.project, one)
    if not by_project:
        return h.section(id="stopped", data_live="entries")
    known = _projects(memory)
    told = [_handoff(one, known, now) for one in list(by_project.values())[:2]]
    return section("Where you stopped", *told, id="stopped", live="entries")


def _handoff(one: Remembered, known: dict[str, str], now: datetime) -> Html:
    entry = one.entry
    place = known.get(entry.project, entry.project)
    facts = (place, parts.said_at(one, now), h.a("the conversation", href=_said(one)))
    words = h.p(h.a(parts.short(entry.content, 600), href=to(f"/entry/{entry.id}")), class_="words",
                dir="auto")  # fmt: skip
    return h.div(words, h.p(parts.dotted(facts), class_="facts"), class_="card roomy handoff")


def _said(one: Remembered) -> str:
    return to("/said", {"entry": one.entry.id})


def _projects(memory: Memory) -> dict[str, str]:
    from wakebook.capture import project

    known = project.load(memory.home)
    return {key: known.name(key) for key in known.known}


def _needs(wants: Needs, now: datetime) -> Html:
    found: list[Html] = []
    for old, new in wants.conflicts[:3]:
        said = f"{parts.short(old.entry.content, 110)} ≠ {parts.short(new.entry.content, 110)}"
        since = f"both told since {parts.moment(new.entry.timestamp, now)}"
        place = to("/review", at=f"x-{old.entry.id}-{new.entry.id}")
        found.append(_wanted("≠", said, since, "Decide", place, "conflict"))
    for path, blocks in wants.edited[:3]:
        name = path.removeprefix("knowledge/")
        said = many(blocks, "part") + " of it is not what the log says"
        found.append(_wanted("✎", f"You edited “{name}”", said, "Look", to("/review"), "open"))
    for entry in wants.waiting[:3]:
        whose = entry.extra.get(ORIGIN)
        facts = f"{entry.type}, from {whose}" if whose else f"{entry.type}, waits for your approval"
        said = parts.short(entry.content, 140)
        found.append(_wanted("+", said, facts, "Decide", to("/review"), "open"))
    for note in wants.clashes[:3]:
        said, facts = parts.short(note, 140), "changed on two machines"
        found.append(_wanted("⇄", said, facts, "Look", to("/review"), "conflict"))
    more = wants.number - len(found)
    rest = h.a(f"{more:,} more", href=to("/review")) if more > 0 else ""
    body = rows(found) if found else none("Nothing waits for you.")
    return section("Needs you", card(body), id="needs", live="entries notes review", aside=rest)


def _wanted(sign: str, said: str, facts: Child, label: str, href: str, class_: str) -> Html:
    act = h.a(label, href=href, class_="button")
    return row(sign, said, (facts,), aside=act, href=href, class_=class_, plainly=True)


def _keep(request: Request) -> Html:
    kinds = (h.option(one, value=one) for one in TYPES if one != "handoff")
    form = request.form_(
        "remember",
        h.textarea(name="text", required=True, maxlength=8000, aria_label="What to keep"),
        h.div(
            h.select(kinds, name="type", aria_label="Type"),
            h.input(name="subject", placeholder="about …", aria_label="About what", size=12),
            h.button("Keep", class_="main"),
            class_="row",
        ),
        class_="stack",
    )
    return h.section(h.details(h.summary("Keep something by hand"), card(form, roomy=True),
                               id="keep"))  # fmt: skip


def _weeks(memory: Memory, now: datetime) -> Html:
    numbers = by_day(memory, DAYS, now)
    first = now - timedelta(days=DAYS - 1)
    label = f"entries a day: {sum(numbers):,} in three weeks, {numbers[-1]:,} today"
    axis = h.p(
        h.span(f"{first.day} {first:%b}"), h.span("entries a day"),
        h.span(f"today {numbers[-1]:,}"), class_="axis",
    )  # fmt: skip
    body = card(parts.bars(numbers, label), axis, roomy=True)
    return section("Three weeks", body, id="weeks", live="entries")


def _cost(memory: Memory, now: datetime) -> Html | None:
    models = memory.models
    spent, limit = models.calls.spent(now), models.limit
    if not (spent or models.name("main")):
        return None
    of = f"of ${limit:,.2f} in {now:%B}" if limit else f"in {now:%B}"
    share = parts.bar(spent / limit, "amber" if spent > 0.8 * limit else "") if limit else None
    told = h.p(h.b(f"${spent:,.2f}"), h.span(of), class_="cost")
    return section("Cost", card(told, share, roomy=True), id="cost", live="upkeep")
