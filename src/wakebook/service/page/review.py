"""Review: what waits for a person's word. New entries, edits in notes, contradictions."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from datetime import datetime
from zlib import crc32

from wakebook.base.errors import NotFound
from wakebook.log.entry import ORIGIN, Entry, decode
from wakebook.memory import Memory
from wakebook.notes import condensed
from wakebook.notes.contradictions import dismissed
from wakebook.notes.review import Change, Proposal
from wakebook.service.page import parts
from wakebook.service.page.acts import again
from wakebook.service.page.data import asked
from wakebook.service.page.html import Child, Html, h
from wakebook.service.page.needs import clashes, conflicts
from wakebook.service.page.request import Done, Request, Sheet, to
from wakebook.service.page.undoing import undoable
from wakebook.store import AMONG, Many

KEYS = "Keys: j and k to move, a to accept, r to reject, u to undo."
SHOWN = 40  # of each kind
SIGNS = {"changed": "~", "done": "✓", "removed": "−", "added": "+"}
OWN = " is a heading of your own: move it out of the generated part, or it is lost."
FOLLOWS = (
    "Accepted, it becomes entries that correct the log. Rejected, the note says again what the log "
    "says; your text stays in git."
)
FOREIGN = (
    "Pasted text, a page, a mail, an imported file: what others wrote is told to no agent "
    "until you accept it."
)
LATE = (
    "That was decided already, in another window or by another program. Nothing was changed; this "
    "is what waits now."
)
HOLD = f"SELECT line FROM entry WHERE replaced_by = '' AND id {AMONG}"  # noqa: S608


def review(request: Request, memory: Memory) -> Sheet:
    now, edits = memory.opened.now(), memory.notes.proposals()
    waiting = memory.log.waiting()
    own = [_entry(request, one, now) for one in waiting if not one.extra.get(ORIGIN)]
    others = [_entry(request, one, now) for one in waiting if one.extra.get(ORIGIN)]
    pairs = [_pair(request, old.entry, new.entry, now) for old, new in conflicts(memory)]
    machines = [_machines(request, one) for one in clashes(memory)]
    sections = [
        _section("New entries", "waiting", own),
        _section("Not your own words", "foreign", others, FOREIGN),
        _section("Contradictions", "conflicts", pairs),
        _section("Your edits in notes", "edits", [_edit(request, one) for one in edits]),
        _section("Changed on two machines", "machines", machines),
    ]
    number = len(waiting) + len(pairs) + len(edits) + len(machines)
    nothing = parts.card(h.p("Nothing waits for you.", class_="words"), roomy=True)
    body = h.div(
        sections if number else nothing,
        id="review", data_live="review entries notes", data_first=True,
    )  # fmt: skip
    lead = f"{parts.many(number, 'thing')} to decide. {KEYS}" if number else ""
    source = "waiting.jsonl, the notes, and the briefing"
    return Sheet("Review", body, lead, source=source, command="wakebook review")


def _section(title: str, id: str, rows: Sequence[Html], lead: str = "") -> Html | None:
    if not rows:
        return None
    rest = parts.rest(len(rows), SHOWN, ", when these are decided")
    said = parts.none(lead) if lead else None
    return parts.section(
        title, parts.card(said, parts.rows(rows[:SHOWN]), rest), id=id, aside=f"{len(rows):,}"
    )


def _thing(sign: str, id: str, *body: Child, class_: str = "") -> Html:
    return h.li(
        h.span(sign, class_="glyph", aria_hidden="true"), h.div(body),
        class_=f"thing wide {class_}".strip(), id=id, data_pick=True, tabindex="-1",
    )  # fmt: skip


def _entry(request: Request, entry: Entry, now: datetime) -> Html:
    turn = entry.evidence[0] if entry.evidence else 0
    said = entry.transcript and h.a("where it was said", href=parts.said_in(entry.transcript, turn))
    replaces = entry.replaces and f"replaces {', '.join(entry.replaces)}"
    whose = entry.extra.get(ORIGIN)
    facts = (whose and h.span(f"from {whose}", class_="rose"), parts.kind_of(entry), entry.subject,
             parts.moment(entry.timestamp, now))  # fmt: skip
    return _thing(
        parts.glyph(entry.type), f"w-{entry.id}",
        h.p(parts.short(entry.content), class_="words", dir="auto"),
        entry.detail and h.p(parts.short(entry.detail), class_="facts"),
        h.p(parts.dotted((*facts, said or "", replaces or "")), class_="facts"),
        h.div(
            request.button("take", "Accept", "main", "a", id=entry.id),
            request.button("refuse", "Reject", press="r", id=entry.id),
            class_="acts",
        ),
        class_="conflict" if whose else "open",
    )  # fmt: skip


def _machines(request: Request, note: str) -> Html:
    return _thing(
        "⇄", f"m-{crc32(note.encode()):x}",
        h.p(note, class_="plainly"),
        h.p("Put it right in the file, then say so.", class_="facts"),
        h.div(request.button("looked", "Looked at", "main", "a", note=note), class_="acts"),
        class_="conflict",
    )  # fmt: skip


def _pair(request: Request, old: Entry, new: Entry, now: datetime) -> Html:
    def side(entry: Entry, word: str) -> Html:
        href = to(f"/entry/{entry.id}")
        facts = (word, parts.kind_of(entry), parts.moment(entry.timestamp, now))
        return h.div(
            h.p(h.a(parts.short(entry.content), href=href), class_="words", dir="auto"),
            h.p(parts.dotted(facts), class_="facts"),
        )

    ids = {"old": old.id, "new": new.id}
    return _thing(
        "≠", f"x-{old.id}-{new.id}",
        side(new, "newer"), side(old, "older"),
        h.p("The one that you keep replaces the other. “Both hold” is never asked again.",
            class_="facts"),
        h.div(
            request.button("settle", "The newer holds", "main", "a", keep="new", **ids),
            request.button("settle", "The older holds", press="r", keep="old", **ids),
            request.button("dismiss", "Both hold", **ids),
            class_="acts",
        ),
        class_="conflict",
    )  # fmt: skip


def _edit(request: Request, proposal: Proposal) -> Html:
    lines = [_change(change) for change in proposal.changes[:SHOWN]]
    own = [h.p("! ", h.b(one), OWN, class_="facts") for one in proposal.headings]
    same = not lines and not own and h.p("Only spaces, headings or marks differ.", class_="facts")
    fields = {"path": proposal.path, "block": proposal.block, "seen": _seen(proposal)}
    note = to(f"/notes/{proposal.path}")
    return _thing(
        "✎", f"p-{_seen(proposal)}",
        h.p("You edited ", h.a(proposal.path, href=note), class_="plainly"),
        h.ul(lines, class_="changes") if lines else None, own, same or None,
        h.p(FOLLOWS, class_="facts"),
        h.div(
            request.button("accept-edit", "Accept", "main", "a", **fields),
            request.button("reject-edit", "Reject", press="r", **fields),
            class_="acts",
        ),
    )  # fmt: skip


def _change(change: Change) -> Html:
    sign = h.span(SIGNS.get(change.kind, "·"), class_="sign", aria_hidden="true")
    word = h.span(f"{change.kind}: ", class_="unseen")
    old = change.old and h.del_(parts.short(change.old.strip()))
    new = change.new and h.ins(parts.short(change.new.strip()))
    return h.li(sign, word, old or None, " " if old and new else "", new or None)


def _seen(proposal: Proposal) -> str:
    """Changes with what the person has seen."""
    told = repr((proposal.path, proposal.block, proposal.changes, proposal.headings))
    return hashlib.blake2b(told.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


# --- deciding ----------------------------------------------------------------------------------
def take(request: Request, memory: Memory) -> Done:
    try:
        done = memory.log.accept(request.field("id"))
    except NotFound:
        return Done(LATE)
    ids = [one.id for one in done]
    said = f"Accepted: {parts.short(done[0].content, 120)}"
    return _waits(memory, said, lambda memory: memory.log.take_back(ids, waits=True))


def refuse(request: Request, memory: Memory) -> Done:
    try:
        done = memory.log.refuse(request.field("id"))
    except NotFound:
        return Done(LATE)
    said = f"Rejected: {parts.short(done[0].content, 120)}"
    return _waits(memory, said, lambda memory: memory.log.ask_again(done))


def _waits(memory: Memory, said: str, undo: Callable[[Memory], object]) -> Done:
    def back(memory: Memory) -> str:
        undo(memory)
        return "It waits again."

    return undoable(memory, said, back)


def accept_edit(request: Request, memory: Memory) -> Done:
    return _edited(request, memory, accept=True)


def reject_edit(request: Request, memory: Memory) -> Done:
    return _edited(request, memory, accept=False)


def _edited(request: Request, memory: Memory, *, accept: bool) -> Done:
    name, seen = request.field("path"), request.field("seen")
    numbered = enumerate(memory.notes.proposals(), 1)
    number = next((at for at, one in numbered if (one.path, _seen(one)) == (name, seen)), 0)
    if not number:  # it is decided, or another edit
        return Done(LATE)
    path, ids = memory.home.root / name, list[str]()
    edited, said = path.read_bytes(), f"{name} says again what the log says."
    if accept:
        done = memory.notes.accept(str(number))
        ids = [one.id for one in done.entries]
        said = f"Accepted: {parts.many(len(ids), 'entry', 'entries')} from {name}."
        if done.left:
            said += f" {parts.many(len(done.left), 'change')} could not be said as an entry."
    else:
        memory.notes.reject(str(number))
    after = path.read_bytes()

    def back(memory: Memory) -> str:
        memory.notes.put_back(path, edited, after)
        if ids:
            memory.log.take_back(ids)
        return f"{name} waits again, as you had edited it."

    return undoable(memory, said, back)


def looked(request: Request, memory: Memory) -> Done:
    """What two machines have changed was looked at."""
    done = memory.sync.settle(request.field("note"))
    if not done:
        return Done(LATE)
    return _waits(memory, "Looked at.", lambda memory: memory.sync.ask_again(done))


def _two(request: Request, memory: Memory) -> tuple[Entry, Entry] | None:
    """The two entries of a contradiction, if both still hold."""
    ids = [request.field("old"), request.field("new")]
    found = {one.id: one for one in (decode(row[0]) for row in asked(memory, HOLD, Many(ids)))}
    gone = dismissed(condensed.load(memory.home))
    if found.keys() != {*ids} or frozenset(ids) in gone:
        return None
    return found[ids[0]], found[ids[1]]


def settle(request: Request, memory: Memory) -> Done:
    both = _two(request, memory)
    if both is None:
        return Done(LATE)
    kept = both[1] if request.field("keep") == "new" else both[0]
    new = again(memory, kept, replaces=[one.id for one in both])

    def back(memory: Memory) -> str:
        memory.log.take_back([new.id])
        return "Both hold again, and wait for a decision."

    return undoable(memory, f"Holds now: {parts.short(kept.content, 120)}", back)


def dismiss(request: Request, memory: Memory) -> Done:
    both = _two(request, memory)
    if both is None:
        return Done(LATE)
    pair = (both[0].id, both[1].id)
    memory.notes.dismiss_pair(*pair)

    def back(memory: Memory) -> str:
        memory.notes.dismiss_pair(*pair, dismissed=False)
        return "It is a contradiction again."

    return undoable(memory, "Both hold. It is not asked again.", back)
