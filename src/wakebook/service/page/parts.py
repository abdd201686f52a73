"""What several views are made of: a section, a thing that is remembered, a moment, a picture."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from wakebook.base.config import AGENT
from wakebook.log.entry import Entry
from wakebook.service.page.data import Remembered
from wakebook.service.page.html import Child, Html, h, join
from wakebook.service.page.request import Request, to

GLYPHS = {"decision": "◆", "fact": "●", "task": "☐", "question": "?", "handoff": "⇢"}
HOSTS = {"claude-code": "Claude Code", "codex": "Codex", "openclaw": "OpenClaw", "pi": "pi"}
PLACES = {"memory": "entries", "conversation": "conversations", "topic": "topics"}
WORDS = 400  # characters of an entry in a list
MARK = "**"  # around the words that were asked for
NO_PLACE: dict[str, str | int | None] = {"at": None, "line": None}  # in the address of a part


def section(title: Child, *body: Child, id: str = "", live: str = "", aside: Child = "") -> Html:
    """`live`: the kinds of changes after which it is fetched anew; it needs an id then."""
    head = h.h2(h.span(title), aside and h.span(aside, class_="count"))
    return h.section(head, body, id=id or None, data_live=live or None)


def card(*body: Child, roomy: bool = False) -> Html:
    return h.div(body, class_="card roomy" if roomy else "card")


def none(*said: Child) -> Html:
    return h.p(said, class_="none")


def glyph(type_: str, status: str = "") -> str:
    return "☑" if type_ == "task" and status == "done" else GLYPHS.get(type_, "·")


def row(
    sign: str,
    words: Child,
    facts: Iterable[Child] = (),
    *,
    aside: Child = "",
    href: str = "",
    peek: str = "",
    class_: str = "",
    id: str = "",
    plainly: bool = False,
) -> Html:
    """One line of a list: a sign, words, and what there is to know about them."""
    return h.li(
        h.span(sign, class_="glyph", aria_hidden="true"),
        h.div(
            h.p(words, class_="plainly" if plainly else "words", dir=None if plainly else "auto"),
            h.p(dotted(facts), class_="facts"),
        ),
        h.div(aside, class_="aside"),
        class_=f"thing {class_}".strip(),
        id=id or None,
        data_href=href or None,
        data_peek=peek or None,
    )


def rows(found: Iterable[Html]) -> Html:
    return h.ul(found, class_="things")


def dotted(facts: Iterable[Child]) -> Html:
    """Facts, with a dot between two of them."""
    kept = [one for one in facts if one not in ("", None)]
    return join(*(join(" · " if at else "", one) for at, one in enumerate(kept)))


def remembered(
    one: Remembered, now: datetime, *, id: str = "e", more: Sequence[Child] = ()
) -> Html:
    """An entry in a list."""
    entry = one.entry
    href = to(f"/entry/{entry.id}")
    state = one.state
    return row(
        glyph(entry.type, one.status),
        h.a(short(entry.content), href=href),
        (
            one.was and h.s(short(one.was, 90)),
            kind_of(entry),
            one.subject and subject(entry.subject, one.subject),
            said_at(one, now),
            *more,
        ),
        aside=state and h.span(state, class_=f"pill {state}"),
        href=href,
        peek=to("/said", {"entry": entry.id}) if entry.transcript else href,
        class_="open" if one.status == "open" else "",
        id=f"{id}-{entry.id}",
    )


def kind_of(entry: Entry) -> str:
    return f"{entry.type}, {entry.kind}" if entry.kind else entry.type


def subject(slug: str, name: str) -> Html:
    return h.a(name, href=to("/search", {"subject": slug}))


def said_at(one: Remembered, now: datetime) -> str:
    """When, and to whom."""
    at = moment(one.entry.timestamp, now)
    if one.entry.session == "manual":
        return f"{at}, by hand"
    return f"{at} to {host(one.host)}" if one.host else at


def host(name: str) -> str:
    return HOSTS.get(name, name)


def place(category: str) -> str:
    """A part of the index as people say it."""
    return PLACES.get(category, category)


def project(name: str) -> str:
    return name.removeprefix(AGENT)


def moment(at: datetime, now: datetime) -> str:
    """A moment as people say it: 12:09, yesterday 12:09, 3 Nov 12:09, 3 Nov 2025."""
    at = at.astimezone(now.tzinfo)
    if at.date() == now.date():
        return f"{at:%H:%M}"
    if at.date() == (now - timedelta(days=1)).date():
        return f"yesterday {at:%H:%M}"
    if at.year == now.year:
        return f"{at.day} {at:%b} {at:%H:%M}"
    return f"{at.day} {at:%b} {at.year}"


def day(at: datetime, now: datetime) -> str:
    """A day as people say it."""
    away = (now.date() - at.date()).days
    if away == 0:
        return "today"
    if away == 1:
        return "yesterday"
    if 1 < away < 7:
        return f"on {at:%A}"
    return f"on {at.day} {at:%B}" + (f" {at.year}" if at.year != now.year else "")


def short(text: str, most: int = WORDS) -> str:
    if len(text) <= most:
        return text
    kept, space, _ = text[:most].rpartition(" ")  # no word is cut, unless it is a very long one
    return f"{(kept if space and len(kept) > most // 2 else text[: most - 1]).rstrip()}…"


def marked(text: str) -> Html:
    """A snippet with the words that were asked for."""
    parts = text.split(MARK)
    if len(parts) % 2 == 0:  # the text has such marks of its own
        return join(text.replace(MARK, ""))
    return join(*(h.mark(one) if at % 2 else one for at, one in enumerate(parts)))


def many(number: int, one: str, more: str = "") -> str:
    return f"{number:,} {one if number == 1 else more or one + 's'}"


def bar(share: float, class_: str = "") -> Html:
    """A share of something, as a bar."""
    width = max(0.0, min(1.0, share)) * 400
    return h.svg(
        h.rect(x=0, y=0, width=400, height=6, rx=3, class_="track"),
        h.rect(x=0, y=0, width=round(width, 1), height=6, rx=3, class_=f"fill {class_}".strip()),
        viewBox="0 0 400 6", class_="share", aria_hidden="true", preserveAspectRatio="none",
    )  # fmt: skip


def bars(numbers: Sequence[int], label: str, gap_after: Sequence[int] = ()) -> Html:
    """Numbers by day, today's the last: small bars."""
    most, width = max(numbers, default=0) or 1, 312
    step = width / max(1, len(numbers))
    drawn = [
        h.rect(
            x=round(at * step + 1, 1), y=round(46 - max(2, 46 * number / most), 1),
            width=round(step - 5, 1), height=round(max(2, 46 * number / most), 1), rx=2,
            class_="bar today" if at == len(numbers) - 1 else "bar",
        )
        for at, number in enumerate(numbers) if number
    ]  # fmt: skip
    return h.svg(drawn, viewBox=f"0 0 {width} 46", role="img", aria_label=label)


def rest(number: int, shown: int, how: str = "") -> Html | None:
    """How many more there are than are shown."""
    return none(f"and {number - shown:,} more{how}") if number > shown else None


def table(facts: Iterable[tuple[str, Child]]) -> Html:
    """Names, and what there is to say of each."""
    return h.table(h.tbody(h.tr(h.th(name, scope="row"), h.td(value)) for name, value in facts))


def said_in(path: str, turn: int = 0) -> str:
    """Where a transcript is shown; `turn`: at one of its turns."""
    inside, query = path.removeprefix("raw/conversations/"), {"at": turn} if turn else None
    return to(f"/conversations/{inside}", query, at=f"t{turn}" if turn else "")


def pages(
    before: str, after: str, words: tuple[str, str] = ("newer", "older"), of: str = "list"
) -> Html | None:
    """Links to what comes before and after a part."""
    if not (before or after):
        return None
    return h.nav(
        before and h.a(f"← {words[0]}", href=before, rel="prev"), h.span(),
        after and h.a(f"{words[1]} →", href=after, rel="next"),
        class_="pages", aria_label=f"Parts of the {of}",
    )  # fmt: skip


def parted(request: Request, first: int, last: int, total: int, size: int, of: str) -> Html | None:
    """Links to what comes before and after a part of something long."""
    earlier = request.here(**{"from": max(1, first - size), **NO_PLACE}) if first > 1 else ""
    later = request.here(**{"from": last + 1, **NO_PLACE}) if last < total else ""
    return pages(earlier, later, ("before", "after"), of)
