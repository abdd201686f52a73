"""Entry: one thing that is remembered. Its story, the words it came from, its neighbours, and what
can be done with it. Forgetting says first what would follow from it."""

from __future__ import annotations

from datetime import datetime

from wakebook.log.chains import resolve
from wakebook.log.entry import TYPES, decode
from wakebook.memory import Memory
from wakebook.service.page import parts
from wakebook.service.page.data import Remembered, asked, entries, family, one
from wakebook.service.page.html import Child, Html, h, join
from wakebook.service.page.parts import card, rows, section
from wakebook.service.page.request import Request, Sheet, to
from wakebook.service.page.said import around, conversation
from wakebook.store import AMONG, Many
from wakebook.upkeep.forget import Forgetting, plan

NEAR = 8


def entry(request: Request, memory: Memory) -> Sheet:
    found, now = one(memory, request.parts["id"]), memory.opened.now()
    item = found.entry
    story = _story(memory, item.id)
    left = [_words(request, found), _told(memory, found, now), _chain(story, item.id, now)]
    right = [_facts(memory, found, now), *_near(memory, found, now)]
    state = found.state
    lead = parts.dotted(
        (
            parts.kind_of(item),
            found.subject and parts.subject(item.subject, found.subject),
            parts.said_at(found, now),
            state and h.span(state, class_=f"pill {state}"),
        )
    )
    if found.replaced_by:
        now_ = story[-1].entry
        said = parts.short(now_.content, 120)
        left.insert(0, h.p("Holds no longer. Now: ", h.a(said, href=to(f"/entry/{now_.id}")),
                           class_="said"))  # fmt: skip
    return Sheet(
        parts.short(item.content, 90),
        h.div(h.div(left), h.div(right), class_="columns", id="entry", data_live="entries"),
        lead,
        source=f"log.jsonl and {item.transcript}" if item.transcript else "log.jsonl",
        command=f"wakebook show {item.id}",
    )


def _story(memory: Memory, name: str) -> list[Remembered]:
    kin = memory.index.ask(lambda db: family(db, name))
    return entries(memory, f"id {AMONG}", Many(kin), order="seq", most=100)


def _words(request: Request, found: Remembered) -> Html:
    item = found.entry
    body = [h.p(item.content, class_="words", dir="auto")]
    if item.detail:
        body.append(h.p(parts.short(item.detail, 8000), class_="words", dir="auto"))
    acts = [] if found.replaced_by else _acts(request, found)
    return section("Remembered", card(body, h.div(acts, class_="acts"), roomy=True))


def _acts(request: Request, found: Remembered) -> list[Child]:
    item = found.entry
    seen = {"id": item.id}
    acts: list[Child] = []
    if item.type == "task" and found.status == "open":
        acts.append(request.button("done", "Done", class_="main", **seen))
    elif item.type == "task" and found.status == "done":
        acts.append(request.button("reopen", "Open again", **seen))
    if item.type != "handoff":
        acts += [_correct(request, found)]
        acts.append(request.button("unpin" if item.pinned else "pin",
                                   "Unpin" if item.pinned else "Pin", **seen))  # fmt: skip
    acts.append(h.a("Forget …", href=to(f"/entry/{item.id}/forget"), class_="button danger"))
    acts.append(h.a("Erase …", href=to("/erase", {"entry": item.id}), class_="button danger"))
    return acts


def _correct(request: Request, found: Remembered) -> Html:
    item = found.entry
    kinds = (h.option(one, value=one, selected=one == item.type) for one in TYPES[:-1])
    form = request.form_(
        "correct",
        h.label("What holds", h.textarea(item.content, name="text", required=True, maxlength=8000)),
        h.label("More about it", h.textarea(item.detail, name="detail", maxlength=32000)),
        h.label("Type", h.select(kinds, name="type")),
        h.p(h.button("Keep", class_="main"), " ", h.span("The old words stay in its story.",
                                                         class_="facts")),
        class_="stack", id=item.id,
    )  # fmt: skip
    return h.details(h.summary("Correct", class_="button"), form, class_="fold", id="correct")


def _told(memory: Memory, found: Remembered, now: datetime) -> Html | None:
    item = found.entry
    if not item.transcript:
        said = "Written by hand." if item.session == "manual" else "No conversation is known."
        return section("Said", card(parts.none(said)))
    places = list(item.evidence)
    turns = around(memory, item.transcript, places)
    if not turns:
        return section("Said", card(parts.none(f"{item.transcript} is not in the index.")))
    shown = [one for one in turns if not places or min(abs(one.place - at) for at in places) <= 1]
    whole = h.a("the conversation", href=to("/said", {"entry": item.id}))
    return section("Said", card(conversation(memory, shown, places, now), roomy=True), aside=whole)


def _chain(story: list[Remembered], name: str, now: datetime) -> Html | None:
    if len(story) < 2:
        return None
    told = []
    for at, one_ in enumerate(story):
        last = at == len(story) - 1
        status = one_.status if last else one_.entry.status  # as it was then
        words: Child = parts.short(one_.entry.content, 300)
        words = words if last or one_.entry.content == story[-1].entry.content else h.s(words)
        if one_.entry.id != name:
            words = h.a(words, href=to(f"/entry/{one_.entry.id}"))
        told.append(
            h.li(
                h.p(words, class_="words", dir="auto"),
                h.p(parts.dotted((parts.said_at(one_, now), status)), class_="facts"),
                class_="is" if last else "was",
            )
        )
    return section("Its story", card(h.ol(told, class_="story"), roomy=True))


def _facts(memory: Memory, found: Remembered, now: datetime) -> Html:
    item = found.entry
    from wakebook.capture import project

    known = project.load(memory.home)
    facts: list[tuple[str, Child]] = [
        ("id", h.code(item.id)),
        ("type", parts.kind_of(item)),
        ("about", found.subject and parts.subject(item.subject, found.subject)),
        ("project", known.name(item.project) if item.project else "everywhere"),
        ("status", found.status),
        ("when", f"{item.timestamp.astimezone(now.tzinfo):%Y-%m-%d %H:%M}"),
        ("host", parts.host(found.host)),
        ("found by", item.by or ("you" if item.session == "manual" else "")),
        ("file", item.transcript and h.code(item.transcript)),
        ("pinned", "yes" if item.pinned else ""),
    ]
    return section("Facts", card(parts.table(one_ for one_ in facts if one_[1])))


def _near(memory: Memory, found: Remembered, now: datetime) -> list[Html]:
    item, made = found.entry, []
    if item.subject:
        where = "subject = ? AND replaced_by = '' AND id <> ?"
        near = entries(memory, where, item.subject, item.id, most=NEAR)
        if near:
            body = card(rows(parts.remembered(one_, now, id="n") for one_ in near))
            made.append(section(f"Also about {found.subject}", body))
    if item.transcript:
        sql = "SELECT DISTINCT entry FROM said WHERE file = ? AND entry <> ? LIMIT ?"
        names = [name for (name,) in asked(memory, sql, item.transcript, item.id, NEAR)]
        near = entries(memory, f"id {AMONG} AND replaced_by = ''", Many(names))
        if near:
            body = card(rows(parts.remembered(one_, now, id="c") for one_ in near))
            made.append(section("From the same conversation", body))
    return made


# --- forgetting ----------------------------------------------------------------------------
def forget(request: Request, memory: Memory) -> Sheet:
    """What would go, and what would follow from it. Nothing is done here."""
    found, now = one(memory, request.parts["id"]), memory.opened.now()
    item = found.entry
    alone, all_ = (planned(memory, item.id, chain) for chain in (False, True))
    choices = [_choice(request, alone, False, now)]
    if len(all_.entries) > 1:
        choices.append(_choice(request, all_, True, now))
    back = h.a("Leave it as it is", href=to(f"/entry/{item.id}"), class_="button")
    return Sheet(
        "Forget this?",
        (
            card(h.p(item.content, class_="words", dir="auto"), roomy=True),
            *choices,
            h.p(back, class_="acts"),
        ),
        "Nothing has happened yet. This is what would follow.",
        source="log.jsonl",
        command=f"wakebook forget {item.id}",
    )


def planned(memory: Memory, name: str, chain: bool) -> Forgetting:
    """As the façade would plan it, of the entries that matter: its family, its conversation."""
    kin = memory.index.ask(lambda db: family(db, name))
    sql = (
        f"SELECT id, line FROM entry WHERE id {AMONG} OR id IN (SELECT c.name FROM chunk c "  # noqa: S608
        "WHERE c.name <> '' AND c.session IN (SELECT session FROM chunk "
        f"WHERE session > 0 AND name {AMONG})) ORDER BY seq"
    )
    found = asked(memory, sql, Many(kin), Many(kin))
    return plan(resolve(decode(line) for _, line in found), [name], chain)


def _choice(request: Request, going: Forgetting, chain: bool, now: datetime) -> Html:
    title = "With its whole story" if chain else "This entry alone"
    follows: list[Child] = [
        h.li(parts.many(len(going.entries), "entry leaves", "entries leave"), " the log, the notes "
             "and the index, and will not come back when the conversation is read again."),
        [h.li("Holds again: ", h.b(one_.content)) for one_ in going.again],
        [h.li("A handoff loses the lines that say it: ", parts.short(one_.content, 120))
         for one_ in going.shorter],
        [h.li("Says it too, and stays: ", parts.short(one_.content, 120)) for one_ in going.also],
        [h.li("The sentence in ", h.code(path), " is told no more.") for path in going.transcripts],
        h.li("The words stay in the transcript and in git’s history. As long as they do, the view ",
             h.a("Time", href=to("/time")), " can take it back. Only ",
             h.a("erasing", href=to("/erase", {"entry": request.parts["id"]})), " removes them."),
    ]  # fmt: skip
    fields = {"id": request.parts["id"], "chain": "yes" if chain else ""}
    act = request.button(
        "forget", f"Forget {'all of it' if chain else 'it'}", class_="danger", **fields
    )
    return section(title, card(h.ul(follows, class_="follows"), join(act), roomy=True))
