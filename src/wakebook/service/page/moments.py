"""Time: the memory as it was on a day, what has changed since, and what can be taken back."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, time, timedelta

from wakebook.base.errors import GitError, NotFound, WakebookError
from wakebook.history.past import Change
from wakebook.log.entry import Entry, decode
from wakebook.memory import Memory
from wakebook.notes.page import ARCHIVE, notes_below
from wakebook.service.page import parts
from wakebook.service.page.acts import again
from wakebook.service.page.behind import kept, stamp
from wakebook.service.page.data import asked, counted
from wakebook.service.page.html import Child, Html, h
from wakebook.service.page.request import Done, Request, Sheet, to
from wakebook.service.page.undoing import listed, rewritten, standing, undoable
from wakebook.upkeep.again import Forgot
from wakebook.upkeep.undo import Rewrite

AGO = timedelta(days=7)
ENTRIES = 30
CORRECTED = 20
FILES = 30
ACTIONS = 12  # of this page, that can be taken back
PATCH = 120_000  # characters of a difference
KEPT_SECONDS = 10.0
CONSEQUENCES = (
    "Each of these files goes back to what it was before, with whatever was written to it since. "
    "If the two do not fit together, nothing is changed. What was forgotten or erased since stays "
    "so."
)
HELD = (
    "SELECT e.seq, e.line FROM entry e LEFT JOIN entry r ON r.id = e.replaced_by "
    "WHERE (e.at, e.seq) < (?, ?) AND (r.at IS NULL OR r.at > ?) AND e.type != 'handoff' "
    "ORDER BY e.at DESC, e.seq DESC LIMIT ?"
)
REPLACED = (
    "SELECT e.line, r.line FROM replaces p CROSS JOIN entry e ON e.id = p.old "
    "CROSS JOIN entry r ON r.id = p.new WHERE r.at > ? AND e.at <= ? AND e.replaced_by = r.id "
    "AND e.type != 'handoff' "
    "ORDER BY r.at DESC, r.seq DESC LIMIT ?"
)
COUNTS = (
    "SELECT (SELECT count(*) FROM entry WHERE at <= ?), (SELECT count(*) FROM entry WHERE at > ?)"
)
STANDS = "SELECT line FROM entry WHERE id = ? AND replaced_by = ''"


def moments(request: Request, memory: Memory) -> Sheet:
    now = memory.opened.now()
    day = _day(request, now)
    end = datetime.combine(day, time(23, 59, 59, 999_999), tzinfo=now.tzinfo)
    [(known, since)] = counted(memory, COUNTS, end.timestamp(), end.timestamp())
    said = _said(day, now)
    body = h.div(
        _choose(request, day, now),
        h.div(
            h.div(_held(request, memory, end, now, said)),
            h.div(
                _replaced(request, memory, end, now),
                _notes(memory, day),
                _rewrites(request, memory, now),
                _archive(request, memory),
            ),
            class_="columns",
        ),
    )
    lead = f"{parts.many(known, 'entry', 'entries')} had been learned by then, {since:,} since."
    command = f"wakebook history at {day:%Y-%m-%d} log"
    source = "the log, and git's history of the notes"
    return Sheet(f"As of {said}", body, lead, source=source, command=command)


def _day(request: Request, now: datetime) -> datetime:
    with suppress(ValueError, OverflowError):
        return datetime.fromisoformat(request.get("day")[:10]).replace(tzinfo=now.tzinfo)
    return (now - AGO).replace(hour=0, minute=0, second=0, microsecond=0)


def _said(day: datetime, now: datetime) -> str:
    return f"{day:%A}, {day.day} {day:%B}" + (f" {day.year}" if day.year != now.year else "")


def _choose(request: Request, day: datetime, now: datetime) -> Html:
    def another(by: timedelta, label: str) -> Html | None:
        with suppress(OverflowError):
            then = now + by
            return h.a(label, href=to("/time", {"day": f"{then:%Y-%m-%d}"}))
        return None

    today = f"{now:%Y-%m-%d}"
    return h.div(
        h.form(
            h.label("The memory at the end of",
                    h.input(type="date", name="day", value=f"{day:%Y-%m-%d}", max=today)),
            h.button("Go there"), action=to("/time"), class_="row",
        ),
        h.p(
            another(timedelta(days=-1), "yesterday"), another(timedelta(days=-7), "a week ago"),
            another(timedelta(days=-30), "a month ago"),
            another(timedelta(days=-365), "a year ago"),
            class_="facets",
        ),
        class_="stack",
    )  # fmt: skip


def _held(request: Request, memory: Memory, end: datetime, now: datetime, said: str) -> Html:
    at, seq = end.timestamp(), request.number("seq", 1 << 60, 1 << 60)
    with suppress(ValueError):
        at = min(at, float(request.get("until") or at))
    rows = asked(memory, HELD, at, seq, end.timestamp(), ENTRIES + 1)
    found = [(number, decode(line)) for number, line in rows]
    older = ""
    if len(found) > ENTRIES:
        last = found[ENTRIES - 1]
        older = request.here(seq=last[0], until=repr(last[1].timestamp.timestamp()))
    listed = (_row(entry, now) for _, entry in found[:ENTRIES])
    return parts.section(
        "What held then",
        parts.card(parts.rows(listed) if found else parts.none("Nothing had been learned yet.")),
        parts.pages(request.here(seq=None, until=None) if request.get("seq") else "", older),
        id="held",
    )


def _row(entry: Entry, now: datetime, *more: Child) -> Html:
    href = to(f"/entry/{entry.id}")
    facts = (parts.kind_of(entry), entry.subject, parts.moment(entry.timestamp, now))
    return parts.row(
        parts.glyph(entry.type, entry.status or ""),
        h.a(parts.short(entry.content, 240), href=href),
        (*facts, *more),
        href=href,
        id=f"h-{entry.id}",
    )


def _replaced(request: Request, memory: Memory, end: datetime, now: datetime) -> Html | None:
    at = end.timestamp()
    rows = counted(memory, REPLACED, at, at, CORRECTED)
    if not rows:
        return None
    pairs = [(decode(old), decode(new)) for old, new in rows]
    listed = (_corrected(request, old, new, now) for old, new in pairs)
    return parts.section("Changed since", parts.card(parts.rows(listed)), id="corrected")


def _corrected(request: Request, old: Entry, new: Entry, now: datetime) -> Html:
    """What it was, struck through; what only has another state is said once."""
    other = old.content != new.content
    was = h.p(h.s(parts.short(old.content, 160)), class_="learned", dir="auto") if other else None
    label = "Let the old one hold again" if other else "As it was before"
    return h.li(
        h.span(parts.glyph(new.type, new.status or ""), class_="glyph", aria_hidden="true"),
        h.div(
            was,
            h.p(h.a(parts.short(new.content, 160), href=to(f"/entry/{new.id}")),
                class_="learned", dir="auto"),
            h.p(parts.dotted(("" if other else new.status, parts.moment(new.timestamp, now))),
                class_="facts"),
            request.button("hold-again", label, class_="quiet", old=old.id, new=new.id),
        ),
        class_="thing",
    )  # fmt: skip


def _notes(memory: Memory, day: datetime) -> Html:
    since = f"{day + timedelta(days=1):%Y-%m-%d}" if day.year < 9999 else "now"
    try:
        files = _files(memory, since)
    except WakebookError as error:
        return parts.section("Notes changed since", parts.card(parts.none(str(error))))
    rows = (
        h.tr(
            h.td(h.a(one.path.removeprefix("knowledge/"),
                     href=to("/time/notes", {"since": since, "file": one.path}))),
            h.td(f"+{one.added:,} −{one.removed:,}", class_="number"),
        )
        for one in files[:FILES]
    )  # fmt: skip
    rest = parts.rest(len(files), FILES)
    table = h.table(h.tbody(rows)) if files else parts.none("None.")
    return parts.section(
        "Notes changed since", parts.card(table, rest), aside=f"{len(files):,}", id="notes"
    )


def _files(memory: Memory, since: str) -> list[Change]:
    """The notes that have changed, as git says."""
    key = ("changed", str(memory.home.root), since)
    return kept(key, KEPT_SECONDS, lambda: memory.history.changed_since(since))


def _rewrites(request: Request, memory: Memory, now: datetime) -> Html:
    """Actions of this page, rewrites, and what was forgotten; the newest first."""
    rewrites, forgotten = _known(memory)
    found: list[tuple[datetime, str, tuple[Child, ...], Child]] = []
    for gone in forgotten:
        words = "; ".join(parts.short(entry.content, 90) for entry in gone.entries[:3])
        undo = request.button("undo", "Undo", commit=gone.commit)
        state = "remembered again" if gone.undone else ""
        found.append((gone.at, words, ("forgotten", state), "" if gone.undone else undo))
    found += [
        (one.at, one.said, ("in this page",), request.button("back", "Undo", key=key))
        for key, one in listed(memory)[:ACTIONS]
    ]
    last = _standing(rewrites)
    for one in rewrites[:10]:
        act = h.a("Undo …", href=to("/time/undo"), class_="button") if one is last else ""
        state = "taken back" if one.undone else ""
        found.append((one.at, one.name, (one.commit[:7], state), act))
    found.sort(key=lambda each: each[0], reverse=True)
    rows = (
        parts.row("↺", said, (parts.moment(at, now), *facts), aside=act, plainly=True)
        for at, said, facts, act in found
    )
    body = parts.rows(rows) if found else parts.none("Nothing was rewritten or forgotten yet.")
    return parts.section("What can be taken back", parts.card(body), id="rewrites", live="entries")


def _known(memory: Memory) -> tuple[list[Rewrite], list[Forgot]]:
    """What git says, which is asked when it or the log has something new."""
    head = memory.home.root / ".git" / "logs" / "HEAD"
    key = ("rewrites", str(memory.home.root), stamp(head, memory.home.log))
    try:
        return kept(key, 60.0, lambda: (memory.rewrites(), memory.forgettings.listed()))
    except GitError:  # `wakebook status` tells of it
        return [], []


def _standing(found: Sequence[Rewrite]) -> Rewrite | None:
    return next((one for one in found if not one.undone), None)


def _archive(request: Request, memory: Memory) -> Html | None:
    found = notes_below(memory.home, ARCHIVE)[:FILES]
    if not found:
        return None
    names = [one.relative_to(memory.home.root / ARCHIVE).as_posix() for one in found]
    listed = (
        parts.row("⌂", name, aside=request.button("unarchive", "Restore", name=name), plainly=True)
        for name in names
    )
    return parts.section("Put away in the archive", parts.card(parts.rows(listed)), id="archive")


# --- more of it --------------------------------------------------------------------------------
def difference(request: Request, memory: Memory) -> Sheet:
    """What has changed in one note."""
    since, file = request.get("since", "7d"), request.get("file")
    if not file.startswith("knowledge/"):
        raise NotFound(f"There is no note {file!r:.200}.")
    patch = memory.history.patch_since(since, file)
    shown = patch[:PATCH]
    cut = parts.none("The rest is left out here.") if len(patch) > PATCH else None
    lines = [_line(one) for one in shown[max(shown.find("@@"), 0) :].split("\n")]
    body = h.div(
        parts.card(
            h.pre(lines, class_="patch") if patch else parts.none("Nothing."), cut, roomy=True
        )
    )
    command = f"wakebook history diff --since {since}"
    lead = f"What has changed since {since}."
    return Sheet(file.removeprefix("knowledge/"), body, lead, source="git", command=command)


def _line(text: str) -> Html:
    if text.startswith("+") and not text.startswith("+++"):
        return h.ins(text, "\n")
    if text.startswith("-") and not text.startswith("---"):
        return h.del_(text, "\n")
    return h.span(text, "\n", class_="at" if text.startswith("@@") else None)


def undoing(request: Request, memory: Memory) -> Sheet:
    """What taking back the last rewrite would change."""
    now, last = memory.opened.now(), _standing(memory.rewrites())
    if last is None:
        return Sheet("Take back", parts.none("There is no rewrite to take back."))
    files = memory.history.changed_by(last.commit)
    rows = (
        h.tr(h.td(h.code(one.path)), h.td(f"+{one.added:,} −{one.removed:,}", class_="number"))
        for one in files[:FILES]
    )
    body = h.div(
        parts.section(
            "What it had changed",
            parts.card(h.table(h.tbody(rows)), parts.rest(len(files), FILES)),
        ),
        h.p(CONSEQUENCES, class_="lead"),
        h.div(
            request.button("undo", f"Take back {last.name}", class_="main", back=to("/time"),
                           rewrite=last.commit),
            h.a("Leave it", href=to("/time"), class_="button"),
            class_="acts",
        ),
        class_="stack",
    )  # fmt: skip
    lead = f"{last.name}, {parts.moment(last.at, now)}: {last.summary}"
    return Sheet("Take back", body, lead, source="git", command="wakebook history undo")


def hold_again(request: Request, memory: Memory) -> Done:
    """An earlier entry's words, as a correction of what replaced it."""
    old, new = request.field("old"), request.field("new")
    was = asked(memory, "SELECT line FROM entry WHERE id = ?", old)
    if not was or not asked(memory, STANDS, new):
        return Done("That has changed since, in another window or by another program.")
    entry = decode(was[0][0])
    made = again(memory, entry, replaces=[new])

    def back(memory: Memory) -> str:
        memory.log.take_back([made.id])
        return "The newer one holds again."

    return undoable(memory, f"Holds again: {parts.short(entry.content, 120)}", back)


def unarchive(request: Request, memory: Memory) -> Done:
    before, (_, new) = standing(memory), memory.notes.restore(request.field("name"))
    return rewritten(memory, before, f"{new} is back.")
