"""Told: what each turn of each session was really told, why, and what just missed; compared with
the turn before. A message can be tried; a finding can be rated."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from zlib import crc32

from wakebook.base import clock
from wakebook.capture import project
from wakebook.memory import Memory
from wakebook.recall.slot import SLOTS, Slot
from wakebook.recall.told import Look, SessionTold, TurnDifference, TurnTold
from wakebook.recall.told import Told as Finding
from wakebook.service.page import parts
from wakebook.service.page.html import Child, Html, h, join
from wakebook.service.page.parts import card, many, none, row, rows, section
from wakebook.service.page.request import Done, Request, Sheet, to
from wakebook.service.page.undoing import undoable

SESSIONS, TURNS = 12, 60  # in a list
TEXT = 14_000  # characters of what was told
FIRST = 8  # lines that are not folded away
NAMES = {"identity": "Your files", "memory": "Memory", "recalled": "Recalled"}
EVENTS = {"start": "the start", "tool": "a tool call", "context": "a question"}
RATED = {True: "useful", False: "not useful"}
WORDS = {"yes": True, "no": False, "": None}
EMPTY = (
    "No turn is recorded yet. From now on every prompt to a wired agent is, with what the agent "
    "was told for it and what it was not."
)
_WORDS = re.compile(r"words: ([^·]+)")


def told(request: Request, memory: Memory) -> Sheet:
    """The sessions, and of one of them, or the newest, the newest turn."""
    sessions = memory.told.sessions()
    if not sessions:
        return _sheet(h.div(card(none(EMPTY)), _acts(), id="turn", data_live="told"), "Told")
    wanted = request.get("session") or sessions[0].session
    turns = memory.told.turns(wanted)
    if not turns:
        said = none(f"No turn of the session {wanted} is recorded.")
        return _sheet(h.div(card(said), _sessions(memory, sessions, "")), "Told")
    return _looked(request, memory, memory.told.look(turns[-1].id))


def turn(request: Request, memory: Memory) -> Sheet:
    return _looked(request, memory, memory.told.look(request.parts["turn"]))


def tried(request: Request, memory: Memory) -> Sheet:
    """What a message would be told. Nothing is written, and nothing counts as told."""
    message, place = request.get("message"), request.get("project")
    usual = memory.config.hooks.budget
    budget = max(request.number("budget", usual), 400)
    session = request.get("session")
    form = _form(memory, message, budget, place, session)
    if not message:
        return _sheet(form, "Try a message", "What would an agent be told for it?")
    look = memory.told.tried(message, budget=budget, project=place, session=session)
    body = h.div(form, _turn(request, look, memory), class_="stack-wide")
    return _sheet(body, "Try a message", _lead(look, memory.opened.now()), command=(
        f"wakebook context {message[:60]!r} --explain --budget {budget}"))  # fmt: skip


def rate(request: Request, memory: Memory) -> Done:
    """Say whether a finding helped; without a word, take that back."""
    name, ref = request.field("turn"), request.field("ref")
    done = memory.told.rate(name, ref, WORDS.get(request.field("useful")))
    said, was = parts.short(done.text or done.item.label, 80), WORDS.get(request.field("was"))
    word = f"No longer rated: “{said}”."
    if done.useful is not None:
        word = f"Noted as {RATED[done.useful]} for messages like this: “{said}”."

    def back(memory: Memory) -> str:
        memory.told.rate(name, ref, was)
        return f"Rated as before: “{said}”."

    return undoable(memory, word, back)


def _sheet(body: Child, title: str, lead: Child = "", command: str = "") -> Sheet:
    source = ".cache/turns.jsonl, which hooks write"
    return Sheet(title, body, lead, source=source, command=command)


# --- a turn, beside the others of its session ----------------------------------------------------
def _looked(request: Request, memory: Memory, look: Look) -> Sheet:
    turns = memory.told.turns(look.turn.session)
    left = [
        section("Turns", _turns(turns, look.turn.id, memory), id="turns", live="told",
                aside=many(len(turns), "turn")),
        _sessions(memory, memory.told.sessions(), look.turn.session),
    ]  # fmt: skip
    right = h.div(_turn(request, look, memory), _acts(look))
    body = h.div(h.div(left), right, class_="columns turned")
    return _sheet(
        body,
        "Told",
        _lead(look, memory.opened.now()),
        command=f"wakebook context --turn {look.turn.id}",
    )


def _lead(look: Look, now: datetime) -> Html:
    turn = look.turn
    at = clock.parse(turn.timestamp)
    said = "What an agent would read." if turn.event == "trial" else "What the agent really read."
    place = (look.project, parts.host(turn.host), parts.moment(at, now) if at else "")
    return join(said, " ", parts.dotted(place if turn.event != "trial" else place[:1]))


def _turns(turns: Sequence[TurnTold], shown: str, memory: Memory) -> Html:
    """Around the one that is shown, if there are very many."""
    at = next((number for number, one in enumerate(turns) if one.id == shown), len(turns))
    first = max(0, min(at - TURNS // 2, len(turns) - TURNS))
    zone = memory.opened.now().tzinfo
    listed = [_item(one, one.id == shown, zone) for one in turns[first : first + TURNS]]
    before = first and h.li(h.a(f"{first} earlier", href=to(f"/told/{turns[first - 1].id}")))
    after = len(turns) - first - TURNS
    later = after > 0 and h.li(h.a(f"{after} later", href=to(f"/told/{turns[-1].id}")))
    return h.ol(before or None, listed, later or None, class_="turns")


def _item(one: TurnTold, here: bool, zone: object) -> Html:
    at = clock.parse(one.timestamp)
    when = f"{at.astimezone(zone):%H:%M}" if at else ""  # type: ignore[arg-type]
    took = f"{one.milliseconds:.0f} ms" if one.milliseconds else ""
    size = f"{one.tokens:,} tokens" if one.tokens else "nothing told"
    words = h.span(f"“{parts.short(one.message, 110)}”", class_="words", dir="auto")
    said = words if one.message else h.span(EVENTS.get(one.event, one.event), class_="plainly")
    facts = h.span(parts.dotted((when, size, took)), class_="facts")
    current = "true" if here else None
    return h.li(
        h.a(said, facts, href=to(f"/told/{one.id}"), aria_current=current),
        class_="thing",
        data_href=to(f"/told/{one.id}"),
        id=f"t-{one.id}",
    )


def _sessions(memory: Memory, found: Sequence[SessionTold], shown: str) -> Html:
    now = memory.opened.now()
    others = [one for one in found if one.session != shown]
    listed = []
    for one in others[:SESSIONS]:
        at = clock.parse(one.last)
        facts = (one.project, parts.host(one.host), parts.moment(at, now) if at else "")
        words = parts.short(one.message, 70) or one.session
        link = h.a(h.span(words, class_="words", dir="auto"),
                   h.span(parts.dotted((*facts, many(one.turns, "turn"))), class_="facts"),
                   href=to("/told", {"session": one.session}))  # fmt: skip
        listed.append(h.li(link))
    more = len(others) - SESSIONS
    body = h.ol(listed, class_="turns") if listed else none("No other session is recorded.")
    return section("Other sessions", body, aside=f"{more:,} more" if more > 0 else "")


# --- one turn ------------------------------------------------------------------------------------
def _turn(request: Request, look: Look, memory: Memory) -> Html:
    turn = look.turn
    late = None
    if look.arrived == "not yet":
        late = h.p("It has not arrived: the answer came too late, and comes with the next prompt.",
                   class_="said")  # fmt: skip
    elif look.arrived != "yes":
        with_ = h.a("a later turn", href=to(f"/told/{look.arrived}"))
        late = h.p("It came too late, and was told with ", with_, ".", class_="said")
    lines = [one for one in look.told if one.slot in ("recalled", "topics")]
    why = [_line(request, look, one) for one in sorted(lines, key=_rank)]
    none_ = none("Nothing was told for it." if turn.event != "trial" else "Nothing would be told.")
    return h.div(
        late,
        _slots(turn.slots, turn.tokens, turn.budget, turn.event == "trial"),
        section(
            "Why each line was told" if turn.event != "trial" else "Why each line would be told",
            card(_some(why, "told") if why else none_),
            aside=many(len(why), "line") if why else "",
        ),
        _missed(request, look),
        _difference(look.difference) if look.difference else None,
        _text(turn.text),
        id="turn",
    )


def _rank(one: Finding) -> tuple[bool, float]:
    """Topics first, then the best."""
    return one.slot != "topics", -(one.item.score or 0.0)


def _some(found: Sequence[Html], name: str) -> Html:
    """The first of a list; the rest is folded away."""
    rest = found[FIRST:]
    if len(rest) < 3:
        return rows(found)
    more = h.details(h.summary(f"{len(rest)} more"), rows(rest), id=f"more-{name}")
    return join(rows(found[:FIRST]), more)


def _slots(slots: Iterable[Slot], tokens: int, budget: int, trial: bool) -> Html:
    order = list(SLOTS)
    shown = [one for one in sorted(slots, key=lambda one: order.index(one.name)) if one.tokens]
    empty = [one for one in slots if not one.tokens]
    lines = [
        h.div(
            h.dt(_name(one.name)),
            h.dd(
                parts.bar(one.tokens / max(budget, 1), "amber" if one.name == "topics" else ""),
                h.span(f"{one.tokens:,} of {max(one.budget, one.tokens):,}", class_="number"),
            ),
            class_="slot",
        )
        for one in shown
    ]
    whole = h.p(h.b(f"{tokens:,}"), h.span(f"of {budget:,} tokens"), class_="cost")
    by_note: dict[str, list[str]] = {}
    for one in empty:
        start = trial and one.note == "told before"
        note = "told when a session begins" if start else one.note or "empty"
        by_note.setdefault(note, []).append(_name(one.name))
    rest = (f"{', '.join(names)}: {note}" for note, names in by_note.items())
    return section(
        "Slots",
        card(whole, h.dl(lines, class_="slots"), h.p(parts.dotted(rest), class_="facts"),
             roomy=True),
    )  # fmt: skip


def _name(slot: str) -> str:
    return NAMES.get(slot, slot.capitalize())


def _line(request: Request, look: Look, one: Finding, *, compact: bool = False) -> Html:
    """Something that was told, or just was not, as it is known now."""
    item = one.item
    said, by = _said(item.label)
    facts: list[Child] = [_reason(item.reason), f"said by {by}" if by and not one.type else ""]
    if one.replaced_by:
        now = h.a("since corrected", href=to(f"/entry/{one.replaced_by}"))
        facts.append(h.span(now, class_="rose"))
    facts += [f"{item.tokens} tokens"] if item.tokens and not compact else []
    href = to(f"/entry/{item.ref}") if one.type else _place(item.ref)
    text = parts.short(one.text or said, 300)
    words = _marked(text, item.reason)
    aside = [f"{item.score:.2f}" if item.score is not None else "", *_rating(request, look, one)]
    sign = parts.glyph(one.type, one.status) if one.type else _sign(one)
    return row(
        sign,
        h.a(words, href=href) if href else words,
        facts,
        aside=h.div([h.div(each) for each in aside if each], class_="rated"),
        href=href,
        class_=f"finding {'open' * (one.status == 'open')} {'dim' * compact}".strip(),
        id=f"f-{'m' * compact}{crc32(f'{one.slot} {item.ref} {item.label}'.encode()):x}",
    )


def _sign(one: Finding) -> str:
    return "▸" if one.slot == "topics" else "“"


def _said(label: str) -> tuple[str, str]:
    """A told line without what its row shows anyway, and who said it."""
    by, _, words = label.partition(": ")
    if by in ("user", "agent"):
        return words, "you" if by == "user" else "the agent"
    plain = re.sub(r"^\[[^\]]*\] |<!--.*?(?:-->|$)", "", label)
    return re.sub(r" \([\w-]{12}[^)]*\)$", "", plain), ""


def _place(ref: str) -> str:
    if ref.startswith("raw/"):
        return to("/said", {"ref": ref})
    return to(f"/notes/{ref.partition('#')[0]}") if ref.startswith("knowledge/") else ""


def _reason(reason: str) -> Html:
    found = _WORDS.search(reason)
    if not found:
        return join(reason)
    return join(reason[: found.start()], "words ", h.b(found[1].strip()), " ",
                reason[found.end() :])  # fmt: skip


def _marked(text: str, reason: str) -> Html:
    """With the words marked that it was found by."""
    found = _WORDS.search(reason)
    words = [one.strip() for one in found[1].split(",")] if found else []
    stems = [re.escape(one[: max(3, len(one) - 2)]) for one in words if len(one) > 2]
    if not stems:
        return join(text)
    pieces = re.split(rf"(?i)(\b(?:{'|'.join(stems)})\w*)", text)
    return join(*(h.mark(one) if at % 2 else one for at, one in enumerate(pieces)))


def _rating(request: Request, look: Look, one: Finding) -> list[Child]:
    """What a person said of it, or may say."""
    name = one.item.label.removeprefix("topic ") if one.decision else one.item.ref
    if not (name and look.turn.message) or look.turn.event == "trial" or one.gone:
        return []
    was = {True: "yes", False: "no", None: ""}[one.useful]
    fields = {"turn": look.turn.id, "ref": name, "was": was}
    if one.useful is not None:
        pill = h.span(RATED[one.useful], class_="pill" if one.useful else "pill dim")
        take = request.button("rate", "take back", class_="quiet", **fields, useful="")
        return [pill, take]
    return [
        h.span(
            request.button("rate", "Useful", class_="quiet", **fields, useful="yes"),
            request.button("rate", "Not useful", class_="quiet", **fields, useful="no"),
            class_="pair",
        )
    ]


def _missed(request: Request, look: Look) -> Html:
    found = [_line(request, look, one, compact=True) for one in look.missed]
    found += [
        row("⊘", _said(item.label)[0], (item.reason,), aside=f"{item.score or 0:.2f}",
            class_="conflict dim", href=_place(item.ref) or to(f"/entry/{item.ref}"))
        for item in look.elsewhere
    ]  # fmt: skip
    body = card(_some(found, "missed")) if found else card(none("Nothing came near."))
    return section("Just missed", body, aside="and why")


def _difference(found: TurnDifference) -> Html:
    parts_ = [
        ("+", "told now, not then", found.new),
        ("−", "told then, not now", found.gone),
        ("=", "told both times", found.again),
    ]
    lines = [
        h.li(h.span(sign, class_="glyph", aria_hidden="true"), h.b(what, class_="unseen"),
             h.span(parts.short(_said(one)[0], 160), dir="auto"), class_=f"change c{number}")
        for number, (sign, what, labels) in enumerate(parts_) for one in labels
    ]  # fmt: skip
    more = f"{abs(found.tokens):,} tokens {'more' if found.tokens >= 0 else 'fewer'}"
    counts = f"{len(found.new)} new, {len(found.gone)} not told again, {more}"
    before = h.a("the turn before", href=to(f"/told/{found.before}"))
    body = h.ul(lines[:FIRST], class_="changes") if lines else none("Nothing was told in either.")
    if len(lines) > FIRST:
        rest = h.ul(lines[FIRST:], class_="changes")
        body = join(body, h.details(h.summary(f"{len(lines) - FIRST} more"), rest, id="more-same"))
    return section("Compared", card(h.p("Beside ", before, f": {counts}.", class_="facts"), body,
                                    roomy=True), id="compared")  # fmt: skip


def _text(text: str) -> Html | None:
    if not text:
        return None
    shown = text[:TEXT]
    rest = len(text) - len(shown)
    body = h.pre(shown, f"\n… {rest:,} more characters" if rest else "", class_="told-text",
                 dir="auto", tabindex="0")  # fmt: skip
    return h.section(h.details(h.summary("The text, as it was told"), body, id="text"))


# --- trying --------------------------------------------------------------------------------------
def _acts(look: Look | None = None) -> Html:
    query: dict[str, str | int] = {}
    if look:
        query = {"message": look.turn.message, "session": look.turn.session}
        query |= {"project": look.turn.project} if look.turn.project else {}
    around = [
        look and look.earlier and h.a("← Turn before", href=to(f"/told/{look.earlier}"),
                                      class_="button"),
        look and look.later and h.a("Turn after →", href=to(f"/told/{look.later}"),
                                    class_="button"),
    ]  # fmt: skip
    label = "Try another message" if look else "Try a message"
    trying = h.a(label, href=to("/told/try", query), class_="button main")
    return h.p(trying, [one for one in around if one], class_="acts")


def _form(memory: Memory, message: str, budget: int, place: str, session: str) -> Html:
    known = project.load(memory.home)
    keys = sorted(known.known, key=lambda key: known.name(key).casefold())
    options = [h.option("Everywhere", value="", selected=not place)]
    options += [
        h.option(parts.project(known.name(key)), value=key, selected=key == place) for key in keys
    ]
    within = h.label(
        h.input(type="checkbox", name="session", value=session, checked=True),
        f" after all that session {parts.short(session, 14)} was told", class_="tick",
    ) if session else None  # fmt: skip
    fields = (
        h.label("Message", h.textarea(message, name="message", required=True, maxlength=4000)),
        h.div(
            h.label("Project", h.select(options, name="project")),
            h.label("Budget, tokens", h.input(type="number", name="budget", value=budget, min=400,
                                              max=100_000, step=100)),
            within,
            h.button("Try it", class_="main"),
            class_="row",
        ),
        h.p("Nothing counts as told, and no model is asked.", class_="facts"),
    )  # fmt: skip
    return h.form(fields, method="get", action=to("/told/try"), class_="card roomy stack")
