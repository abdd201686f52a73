"""Upkeep: sessions, jobs, costs, the index, hosts, machines, and what went wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from wakebook.base.errors import WakebookError
from wakebook.memory import Memory
from wakebook.service.page import behind, parts, pictures
from wakebook.service.page.behind import kept, stamp
from wakebook.service.page.data import counted
from wakebook.service.page.html import Child, Html, h
from wakebook.service.page.request import Done, Request, Sheet, to
from wakebook.service.page.undoing import rewritten, standing, undoable
from wakebook.upkeep.jobs import JobStatus

DAYS = 30  # of costs
LISTED = 30
CONSEQUENCES = (
    "Merging puts the rebuilt log in the place of this one, with all that came since. It stands "
    "between two commits, and `wakebook history undo` takes it back."
)
ATTENTION = ("behind", "failed", "lost", "missing", "changed")
MEANS = {
    "ok": "read to the end",
    "open": "going on",
    "held": "an answer is awaited",
    "torn": "a last line is unfinished",
    "skipped": "not kept",
    "gone": "read, then deleted by its host",
    "behind": "there is more to read",
    "failed": "could not be read",
    "lost": "deleted before it was read",
    "missing": "something that came of it is gone",
    "changed": "a closed transcript has changed",
}
HOSTS = "SELECT host, count(*) FROM session WHERE host <> '' GROUP BY host ORDER BY 2 DESC"


def upkeep(request: Request, memory: Memory) -> Sheet:
    known, now = behind.ask(memory.home, "status"), memory.opened.now()
    status: Mapping[str, Any] = known.value or {}
    body = h.div(
        h.div(
            h.div(
                problems(status),
                sessions(request, status),
                jobs(request, memory, now),
            ),
            h.div(
                costs(memory, now),
                _index(request, status),
                _hosts(memory, status),
                _machines(request, memory, now),
                _rebuilds(memory, now),
            ),
            class_="columns",
        ),
        parts.section("Learned", parts.card(pictures.learned(memory), roomy=True), id="learned"),
        parts.section("Health", parts.card(pictures.health(memory), roomy=True), id="health"),
        id="upkeep", data_live="upkeep", data_again=2 if known.running else None,
    )  # fmt: skip
    source = "state.json, trace.jsonl, costs/ and the index"
    lead = h.span(_lead(known, now), id="lead", data_live="upkeep")
    return Sheet("Upkeep", body, lead, source=source, command="wakebook status")


def _lead(known: behind.Known, now: datetime) -> str:
    if known.error:
        return f"The memory could not be looked through: {known.error}"
    if known.at is None:
        return "The memory is being looked through; the figures come in a moment."
    running = ", and being looked at again" if known.running else ""
    return f"{_verdict(known.value)} As of {parts.moment(known.at, now)}{running}."


def _verdict(status: Mapping[str, Any]) -> str:
    wrong = len(status["problems"]) + len(status["accounts"])
    return f"{parts.many(wrong, 'thing')} to look at." if wrong else "All is well."


def problems(status: Mapping[str, Any]) -> Html | None:
    found = [*status.get("problems", ()), *status.get("notes", ())]
    if not found:
        return None
    wrong = len(status.get("problems", ()))
    rows = (
        parts.row(
            "!" if at < wrong else "·", one, class_="conflict" if at < wrong else "", plainly=True
        )
        for at, one in enumerate(found[:LISTED])
    )
    return parts.section("Worth a look", parts.card(parts.rows(rows)), aside=f"{len(found)}")


def sessions(request: Request, status: Mapping[str, Any]) -> Html:
    counts = dict(status.get("sessions", {}))
    if not counts:
        body: Child = parts.none("No session was found yet." if status else "…")
    else:
        rows = (
            h.tr(
                h.td(h.span(name, class_="pill rose" if name in ATTENTION else "pill dim")),
                h.td(MEANS.get(name, "")),
                h.td(f"{count:,}", class_="number"),
            )
            for name, count in sorted(
                counts.items(), key=lambda one: (one[0] not in ATTENTION, -one[1])
            )
        )
        body = h.table(h.tbody(rows))
    listed = [
        parts.row("!", one["ref"], (one["status"], one["note"]), class_="conflict", plainly=True)
        for one in status.get("accounts", ())[:LISTED]
    ]
    rest = parts.rest(len(status.get("accounts", ())), LISTED, ": wakebook status --sessions")
    return parts.section(
        "Sessions",
        parts.card(body, parts.rows(listed) if listed else None, rest),
        h.div(request.button("catch-up", "Read what is new"), class_="acts"),
        aside=f"{sum(counts.values()):,}" if counts else "",
        id="sessions",
    )  # fmt: skip


def jobs(request: Request, memory: Memory, now: datetime) -> Html:
    try:
        found = _listed(memory)
    except WakebookError as error:  # config.toml
        return parts.section("Jobs", parts.card(parts.none(str(error))), id="jobs")
    rows = (
        h.tr(
            h.td(h.b(one.job), h.p(one.about, class_="facts")),
            h.td(_last(one, now)),
            h.td(_next(one, now), h.p(one.words, class_="facts")),
            h.td(request.button("run", "Run now", job=one.job)),
        )
        for one in found
    )
    head = h.tr(h.th("Job"), h.th("Last"), h.th("Next"), h.th(h.span("Run", class_="unseen")))
    table = h.table(h.thead(head), h.tbody(rows))
    region = h.div(table, class_="stacked", role="region", aria_label="Jobs")
    return parts.section("Jobs", parts.card(region), id="jobs")


def _listed(memory: Memory) -> Sequence[JobStatus]:
    """The jobs, looked at once a minute, and whenever one has run."""
    home = memory.home
    key = ("jobs", str(home.root), stamp(home.state, home.config))
    return kept(key, 60.0, memory.jobs.listed)


def _last(one: JobStatus, now: datetime) -> Child:
    if one.last is None:
        return h.span("never", class_="facts")
    ran = one.last
    sign = (
        h.span("failed", class_="pill rose")
        if ran.outcome == "failed"
        else h.span("ok", class_="pill")
    )
    said = ran.error or ran.said
    return (sign, " ", parts.moment(ran.ended, now), h.p(parts.short(said, 160), class_="facts"))


def _next(one: JobStatus, now: datetime) -> str:
    if one.due:
        return "due"
    return parts.moment(one.next, now) if one.next else "never"


def costs(memory: Memory, now: datetime) -> Html:
    since = now - timedelta(days=DAYS - 1)
    found = memory.costs("day", since)
    by_day = {one.name: one.cost for one in found.groups}
    days = [f"{since + timedelta(days=at):%Y-%m-%d}" for at in range(DAYS)]
    cents = [round(by_day.get(day, 0.0) * 10_000) for day in days]
    budget, share, plot = "this month, without a limit", None, None
    if found.budget:
        budget = f"of ${found.budget:,.2f} in {now:%B}"
        used = found.month / found.budget
        share = parts.bar(used, "amber" if used > 0.8 else "")
    if any(cents):
        label = f"Cost of models by day, {DAYS} days, ${found.total.cost:,.2f} in all"
        axis = (h.span(days[0]), h.span("dollars a day"), h.span("today"))
        plot = (parts.bars(cents, label), h.div(axis, class_="axis"))
    calls = parts.many(found.total.calls, "call") if found.total.calls else "No model was asked"
    return parts.section(
        "Cost",
        parts.card(
            h.div(h.b(f"${found.month:,.2f}"), h.span(budget), class_="cost"),
            share, plot, h.p(f"{calls} in the last {DAYS} days", class_="facts"), roomy=True,
        ),
        id="costs",
    )  # fmt: skip


def _index(request: Request, status: Mapping[str, Any]) -> Html:
    index = status.get("index") or {}
    chunks = index.get("chunks") or {}
    facts = [
        (
            "in it",
            ", ".join(f"{parts.place(name)} {count:,}" for name, count in chunks.items()) or "…",
        ),
        ("vectors", f"{index.get('vectors', 0):,} of {sum(chunks.values()):,}"),
        ("embedder", index.get("embedder") or "none"),
        ("size", f"{index.get('bytes', 0) / 1e6:,.1f} MB"),
        ("behind", f"{index.get('behind', 0):,} bytes of the log"),
    ][: None if index else 1]
    return parts.section(
        "Index", parts.card(parts.table(facts), roomy=True),
        h.div(request.button("index", "Bring it up to date"), class_="acts"), id="index",
    )  # fmt: skip


def _hosts(memory: Memory, status: Mapping[str, Any]) -> Html:
    counts = counted(memory, HOSTS)
    wired = sorted(one.name for one in (memory.home.root / "hosts").glob("*") if one.is_dir())
    rows = [(parts.host(name), parts.many(count, "session")) for name, count in counts]
    rows += [(parts.host(name), "wired") for name in wired]
    models = status.get("models") or {}
    reads = status.get("extractor") or "…"
    rows.append(("read by", ", ".join(f"{role} {name}" for role, name in models.items()) or reads))
    return parts.section("Hosts", parts.card(parts.table(rows), roomy=True), id="hosts")


def _machines(request: Request, memory: Memory, now: datetime) -> Html:
    if not memory.opened.syncs:
        body = parts.none("This memory is on one machine. ", h.code("wakebook sync add REMOTE"),
                          " brings it to another one.")  # fmt: skip
        return parts.section("Machines", parts.card(body), id="machines")
    try:
        key = ("machines", str(memory.home.root))
        found = kept(key, 10.0, lambda: memory.sync.standing(ask=False))
    except WakebookError as error:
        return parts.section("Machines", parts.card(parts.none(str(error))), id="machines")
    rows = [
        (one.name + (" (this one)" if one.id == found.me else ""), parts.moment(one.at, now))
        for one in found.machines
    ]
    agree = "All agree." if found.agree else "They do not agree yet."
    sync = h.div(request.button("sync", "Sync now"), class_="acts") if found.remote else None
    return parts.section(
        "Machines", parts.card(parts.table(rows), h.p(agree, class_="facts"), roomy=True), sync,
        id="machines",
    )  # fmt: skip


def _rebuilds(memory: Memory, now: datetime) -> Html:
    there = (memory.home.cache / "rebuild").is_dir()
    found = memory.rebuilds.listed() if there else []
    rows = (
        parts.row(
            "⟳", h.a(one.name, href=to(f"/upkeep/rebuild/{one.name}")),
            (one.extractor, parts.moment(one.began, now) if one.began else "",
             f"{one.read:,} of {one.transcripts:,} conversations", one.note),
            plainly=True,
        )
        for one in found
    )  # fmt: skip
    body = parts.rows(rows) if found else parts.none("None waits to be merged.")
    begin = h.div(h.a("Rebuild …", href=to("/upkeep/rebuild"), class_="button"), class_="acts")
    return parts.section("Rebuilds", parts.card(body), begin, id="rebuilds")


def reading(request: Request, memory: Memory) -> Sheet:
    """What reading all conversations anew would do."""
    known = behind.ask(memory.home, "rebuild", "--dry-run")
    if known.value is None:
        return _compared("Rebuild", known, "wakebook rebuild --dry-run")
    read, entries = known.value["transcripts"], known.value["entries"]
    follows = (
        f"{parts.many(read, 'conversation')} read anew, by rules, at no cost: "
        f"{parts.many(entries, 'entry', 'entries')}.",
        "It is done on a branch of its own, and takes a while. Nothing that holds is touched.",
        "In the end the two are compared, and you merge it or drop it.",
    )
    body = h.div(
        parts.card(h.ul(map(h.li, follows), class_="follows"), roomy=True),
        h.div(
            request.button("rebuild", "Read all of it anew", class_="main"),
            h.a("Leave it", href=to("/upkeep"), class_="button"), class_="acts",
        ),
        h.p("With a model, and what that would cost: ",
            h.code("wakebook rebuild --extractor model --dry-run"), class_="facts"),
        class_="stack", id="compared",
    )  # fmt: skip
    lead = "Nothing has happened yet. This is what would follow."
    return Sheet("Rebuild", body, lead, source="raw/conversations/", command="wakebook rebuild")


def _compared(title: str, known: behind.Known, command: str) -> Sheet:
    """What is not known yet, or could not be found out."""
    said = known.error or "It is being looked at; this takes a moment. Load the page again then."
    again = None if known.error else 2
    body = h.div(parts.none(said), id="compared", data_live="upkeep", data_again=again)
    return Sheet(title, body, source="the conversations and the log", command=command)


def rebuild(request: Request, memory: Memory) -> Sheet:
    """What merging a rebuild would change."""
    name = request.parts["name"]
    known = behind.ask(memory.home, "rebuild", "show", name)
    command = f"wakebook rebuild show {name}"
    if known.value is None:
        return _compared(name, known, command)
    found = known.value["rebuild"]
    total = found["comparison"]["total"]
    figures = [(word, f"{total[word]:,}") for word in ("same", "added", "lost", "changed")]
    notes = found["notes"]
    figures.append(
        ("notes", f"{notes['files']:,} changed, +{notes['added']:,} −{notes['removed']:,} lines")
    )

    def samples(title: str, rows: Sequence[Mapping[str, Any]], sign: str) -> Html | None:
        listed = (
            parts.row(sign, one["content"], (one["type"], one.get("subject", ""))) for one in rows
        )
        return parts.section(title, parts.card(parts.rows(listed))) if rows else None

    body = h.div(
        parts.section("What would be different", parts.card(parts.table(figures), roomy=True)),
        samples("Some that would be new", found["comparison"]["added"][:LISTED], "+"),
        samples("Some that would be lost", found["comparison"]["lost"][:LISTED], "−"),
        h.p(CONSEQUENCES, class_="lead"),
        h.div(
            request.button("merge", "Merge it", class_="main", name=name),
            request.button("drop", "Drop it", class_="danger", name=name),
            h.a("Leave it", href=to("/upkeep"), class_="button"),
            class_="acts",
        ),
        class_="stack", id="compared",
    )  # fmt: skip
    return Sheet(
        name, body, "A rebuild, compared.", source="the branch of the rebuild", command=command
    )


# --- what can be done --------------------------------------------------------------------------
def run(request: Request, memory: Memory) -> Done:
    ran = memory.tick([request.field("job")])
    said = "; ".join(f"{one.job}: {one.outcome}, {one.said}" for one in ran)
    return Done(said or "Nothing was due.")


def catch_up(request: Request, memory: Memory) -> Done:
    done = memory.catch_up()
    return Done(
        f"Everything was looked at: {parts.many(done.entries, 'new entry', 'new entries')}."
    )


def index(request: Request, memory: Memory) -> Done:
    done = memory.index.sync()
    return Done(f"The index is up to date: {done.added:,} added, {done.removed:,} removed.")


def sync(request: Request, memory: Memory) -> Done:
    before, done = standing(memory), memory.sync()
    said = f"Synced with {done.remote}: {done.received:,} came, {done.sent:,} went."
    return rewritten(memory, before, said)


def merge(request: Request, memory: Memory) -> Done:
    before = standing(memory)
    memory.rebuilds.merge(request.field("name"))
    return rewritten(memory, before, f"{request.field('name')} is merged.", to("/upkeep"))


def drop(request: Request, memory: Memory) -> Done:
    gone = memory.rebuilds.drop(request.field("name"))
    said = f"{gone.name} is dropped."
    if not gone.restore:  # it was not complete
        return Done(said, to("/upkeep"))

    def back(memory: Memory) -> Done:
        memory.rebuilds.restore(gone)
        return Done(f"{gone.name} is there again.", to(f"/upkeep/rebuild/{gone.name}"))

    return undoable(memory, said, back, to("/upkeep"))


def build(request: Request, memory: Memory) -> Done:
    name = memory.rebuilds.build().name

    def back(memory: Memory) -> Done:
        return Done(f"{memory.rebuilds.drop(name).name} is dropped.", to("/upkeep"))

    return undoable(memory, "All conversations are read. Compare the two, and decide.", back,
                    to(f"/upkeep/rebuild/{name}"))  # fmt: skip
