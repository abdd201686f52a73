"""Conversations: the timeline, and a transcript as a chat with what was learned in its margin.

A list shows what transcripts say of themselves, and a long conversation is shown a part at a time:
nothing here grows with what there is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import groupby

from wakebook.capture import project as projects
from wakebook.capture import shelf
from wakebook.capture.archive import Turn
from wakebook.capture.shelf import Shelved
from wakebook.log.entry import Entry, decode
from wakebook.memory import Memory
from wakebook.service.page import parts, pictures
from wakebook.service.page.data import asked
from wakebook.service.page.html import Html, h, join
from wakebook.service.page.request import Request, Sheet, to
from wakebook.store import AMONG, Many

TOP = "raw/conversations/"
LISTED_AT_ONCE = 40
TURNS = 30  # of a conversation on one page ...
LETTERS = 40_000  # ... or so many characters
LONG = 6_000  # characters of a turn that are shown in a conversation
SLICE = 60_000  # characters of a turn that is looked at alone
CALLS = 200  # of tools in a turn
_CODE = re.compile(r"`([^`\n]{1,200})`")
LEARNED = (
    "SELECT s.place, e.line, e.replaced_by FROM said s JOIN entry e ON e.id = s.entry "
    "WHERE s.file = ? AND s.place BETWEEN ? AND ? ORDER BY s.place, e.seq"
)
COUNTED = f"SELECT file, count(DISTINCT entry) FROM said WHERE file {AMONG} GROUP BY file"  # noqa: S608


def timeline(request: Request, memory: Memory) -> Sheet:
    wanted, before = _wanted(request, memory), request.get("before")
    found = shelf.shelved(memory.home, LISTED_AT_ONCE + 1, before, wanted)
    more = found[LISTED_AT_ONCE:]
    found = found[:LISTED_AT_ONCE]
    learned, now = _counted(memory, [one.path for one in found]), memory.opened.now()
    names = projects.load(memory.home)
    busy = len({_day(one, now) for one in found}) * 2 <= len(found)
    name = _day_name if busy else _month_name  # a section for each day, or for each month
    sections = [
        parts.section(
            title, parts.card(parts.rows(_row(one, names.name, learned, now, busy) for one in some))
        )
        for title, some in groupby(found, key=lambda one: name(one, now))
    ]
    older = request.here(before=found[-1].path) if more else ""
    newest = request.here(before=None) if before else ""
    body = h.div(
        _facets(request, memory),
        h.div(sections or parts.none(_nothing(request)), id="timeline", data_live="conversations"),
        parts.pages(newest, older),
    )
    total = shelf.count(memory.home)
    lead = f"{parts.many(total, 'conversation')}, the newest first."
    return Sheet("Conversations", body, lead, source="the transcripts in raw/conversations/")


def _wanted(request: Request, memory: Memory) -> Callable[[Shelved], bool]:
    words = request.get("q").casefold().split()
    project, host = request.get("project"), request.get("host")
    day = request.get("day").replace("-", "/")

    def is_wanted(one: Shelved) -> bool:
        title = one.title.casefold()
        return (
            all(word in title for word in words)
            and (not project or one.project == project)
            and (not host or one.host == host)
            and (not day or one.path.startswith(f"{TOP}{day}/"))
        )

    return is_wanted


def _facets(request: Request, memory: Memory) -> Html:
    hosts = [row[0] for row in asked(memory, "SELECT DISTINCT host FROM session ORDER BY host")]
    known = sorted((one.name, key) for key, one in projects.load(memory.home).known.items())
    chosen = request.get("project")

    def facet(name: str, value: str, label: str) -> Html:
        if request.get(name) == value:
            return h.a(label, href=request.here(**{name: None, "before": None}), class_="on")
        return h.a(label, href=request.here(**{name: value, "before": None}))

    fields = ("project", "host", "day")
    kept = ((name, request.get(name)) for name in fields)
    hidden = (h.input(type="hidden", name=name, value=value) for name, value in kept if value)
    words = h.input(
        type="text", name="q", value=request.get("q"), placeholder="Words of the title",
        aria_label="Words of the title",
    )  # fmt: skip
    return h.div(
        h.form(words, hidden, h.button("Filter"), action=to("/conversations"), class_="row"),
        h.p(
            (facet("host", one, parts.host(one)) for one in hosts if one and len(hosts) > 1),
            (facet("project", key, name) for name, key in _some(known, chosen)),
            class_="facets",
        ),
        class_="stack",
    )


def _some(known: Sequence[tuple[str, str]], chosen: str) -> Iterable[tuple[str, str]]:
    """The first projects, and the one that was chosen."""
    return [one for at, one in enumerate(known) if at < 12 or one[1] == chosen]


def _nothing(request: Request) -> str:
    if any(request.get(name) for name in ("q", "project", "host", "day", "before")):
        return "No conversation fits."
    return (
        "No conversation was read yet. `wakebook setup` finds your agents and reads what they said."
    )


def _day(one: Shelved, now: datetime) -> str:
    return f"{one.started.astimezone(now.tzinfo):%Y-%m-%d}" if one.started else ""


def _day_name(one: Shelved, now: datetime) -> str:
    if one.started is None:
        return "Without a date"
    at = one.started.astimezone(now.tzinfo)
    return f"{at:%A}, {at.day} {at:%B}" + ("" if at.year == now.year else f" {at.year}")


def _month_name(one: Shelved, now: datetime) -> str:
    if one.started is None:
        return "Without a date"
    at = one.started.astimezone(now.tzinfo)
    return f"{at:%B}" + ("" if at.year == now.year else f" {at.year}")


def _row(
    one: Shelved, name: Callable[[str], str], learned: dict[str, int], now: datetime, busy: bool
) -> Html:
    count = learned.get(one.path, 0)
    return parts.row(
        "¶",
        h.a(one.title, href=parts.said_in(one.path)),
        (
            "" if busy or not one.started else f"{one.started.astimezone(now.tzinfo):%a %-d}",
            _span(one, now),
            one.project and name(one.project),
            one.host and parts.host(one.host),
            parts.many(one.turns, "turn") if one.turns else "",
            f"{count} learned" if count else "nothing learned",
            one.problem and f"cannot be read: {one.problem}",
        ),
        aside="" if one.closed or one.problem else h.span("going on", class_="pill open"),
        href=parts.said_in(one.path),
        id=f"c-{one.path.rpartition('/')[2].removesuffix('.md')}",
    )


def _span(one: Shelved, now: datetime) -> str:
    times = [f"{at.astimezone(now.tzinfo):%H:%M}" for at in (one.started, one.ended) if at]
    return " to ".join(dict.fromkeys(times))


def _counted(memory: Memory, paths: Sequence[str]) -> dict[str, int]:
    return dict(asked(memory, COUNTED, Many(paths)))


# --- one conversation --------------------------------------------------------------------------
def conversation(request: Request, memory: Memory) -> Sheet:
    path, now = TOP + request.parts["path"].removeprefix(TOP), memory.opened.now()
    at = request.number("at")
    if alone := request.number("turn"):
        return _alone(request, memory, path, alone)
    first = request.number("from") or max(1, (at - 1) // TURNS * TURNS + 1)
    found = shelf.part(memory.home, path, first, TURNS)
    shown = _fitting(found.turns)
    last = shown[-1].number if shown else first
    learned = _learned(memory, path, first, last)
    about = found.about
    name = projects.load(memory.home).name
    lead = parts.dotted(
        (
            _day_name(about, now),
            _span(about, now),
            about.project and name(about.project),
            about.host and parts.host(about.host),
            parts.many(found.total, "turn"),
        )
    )
    count = _counted(memory, [path]).get(path, 0)
    turns = [_turn(request, one, learned.get(one.number, []), at, now) for one in shown]
    strip = pictures.strip(memory, path)
    body = h.div(
        parts.section("At a glance", parts.card(strip, roomy=True)) if strip else None,
        parts.section(
            f"Turns {first:,} to {last:,} of {found.total:,}" if found.total else "What was said",
            parts.card(turns or parts.none("Nothing was said.")),
            aside=f"{count} learned" if count else "nothing learned",
            id="chat", live="conversations entries",
        ),
        parts.parted(request, first, last, found.total, TURNS, "conversation"),
        about.session and h.div(
            h.a("Erase …", href=to("/erase", {"session": about.session}), class_="button danger"),
            class_="acts",
        ),
    )  # fmt: skip
    command = f"wakebook show {path}"
    return Sheet(about.title, body, lead, source=path, command=command)


def _fitting(turns: Sequence[Turn]) -> list[Turn]:
    """The first turns that fit on a page, and at least one."""
    fitting: list[Turn] = []
    room = LETTERS
    for turn in turns:
        room -= min(len(turn.text), LONG) + sum(len(one) for one in turn.quotes[:CALLS])
        if fitting and room < 0:
            break
        fitting.append(turn)
    return fitting


def begins(memory: Memory, path: str) -> Iterator[int]:
    """The turns that begin the parts of a conversation, if one reads on from the first."""
    first = 1
    while True:
        yield first
        found = shelf.part(memory.home, TOP + path, first, TURNS)
        shown = _fitting(found.turns)
        if not shown or shown[-1].number >= found.total:
            return
        first = shown[-1].number + 1


def _learned(
    memory: Memory, path: str, first: int, last: int
) -> dict[int, list[tuple[Entry, str]]]:
    found: dict[int, list[tuple[Entry, str]]] = {}
    for place, line, by in asked(memory, LEARNED, path, first, last):
        found.setdefault(place, []).append((decode(line), by))
    return found


def _turn(
    request: Request, turn: Turn, learned: Sequence[tuple[Entry, str]], at: int, now: datetime
) -> Html:
    said = turn.text
    alone = request.here(turn=turn.number, at=None, **{"from": None})
    more = None
    if len(said) > LONG:
        said = said[:LONG]
        more = h.p(h.a(f"All {len(turn.text):,} characters", href=alone), class_="facts")
    here = " said-here" if turn.number == at else ""
    return h.article(
        h.div(
            _who(turn, now),
            said and h.p(coded(said), class_="words", dir="auto"),
            more,
            _calls(turn),
            class_="speech",
        ),
        h.ul((_margin(entry, by) for entry, by in learned), class_="margin") if learned else None,
        class_=f"turn {turn.role}{here}",
        id=f"t{turn.number}",
    )


def coded(text: str) -> Html:
    """Words, with what stands between backticks as code."""
    pieces = _CODE.split(text)
    return join(*(h.code(one) if at % 2 else one for at, one in enumerate(pieces)))


def _who(turn: Turn, now: datetime) -> Html:
    who = {"user": "You", "agent": "Agent"}.get(turn.role, "System")
    branch = " · taken back" if turn.branch else ""
    link = h.a(f"{turn.at.astimezone(now.tzinfo):%H:%M}", href=f"#t{turn.number}")
    return h.h3(h.b(who), " ", link, branch, class_="who")


def _calls(turn: Turn) -> Html | None:
    if not turn.quotes:
        return None
    rest = len(turn.quotes) - CALLS
    lines = [h.li(h.code(one.removeprefix("> "))) for one in turn.quotes[:CALLS]]
    more = h.li(f"and {rest:,} more") if rest > 0 else None
    count = parts.many(len(turn.quotes), "call of a tool", "calls of tools")
    return h.details(h.summary(count), h.ul(lines, more), id=f"calls{turn.number}")


def _margin(entry: Entry, by: str) -> Html:
    words = h.a(parts.short(entry.content, 240), href=to(f"/entry/{entry.id}"))
    return h.li(
        h.span(parts.glyph(entry.type, entry.status or ""), class_="glyph", aria_hidden="true"),
        h.div(
            h.p(h.s(words) if by else words, class_="learned", dir="auto"),
            h.p(
                parts.dotted((parts.kind_of(entry), "replaced since" if by else "")), class_="facts"
            ),
        ),
    )


def _alone(request: Request, memory: Memory, path: str, number: int) -> Sheet:
    """One turn, all of it, a slice at a time."""
    found, now = shelf.part(memory.home, path, number, 1), memory.opened.now()
    back = h.a("The whole conversation", href=parts.said_in(path, number))
    if not found.turns:
        return Sheet(found.about.title, parts.none("There is no such turn. ", back), status=404)
    [turn] = found.turns
    begin = request.number("letter", most=1 << 30)
    said = turn.text[begin : begin + SLICE]
    total = len(turn.text)
    later = request.here(letter=begin + SLICE) if begin + SLICE < total else ""
    earlier = request.here(letter=max(0, begin - SLICE)) if begin else ""
    body = h.div(
        parts.card(
            h.article(_who(turn, now), h.p(said, class_="words", dir="auto"), class_="turn")
        ),
        h.nav(
            earlier and h.a("← before", href=earlier), back, later and h.a("after →", href=later),
            class_="pages", aria_label="Parts of the turn",
        ),
    )  # fmt: skip
    lead = f"Turn {number:,}, characters {begin + 1:,} to {begin + len(said):,} of {total:,}"
    return Sheet(found.about.title, body, lead, source=path, command=f"wakebook show {path}")
