"""What the working agent wrote itself: entries (`remember`) and a handoff (`handoff`).

Both tools answer with an id, which stands in the transcript beside the call. So whoever reads the
transcript, rules or a model, knows what was written already, where, and leaves it at that. A
handoff waits in state.json until its session ends. It is checked like a model's answer: what the
messages do not bear out is refused, and the reader's own handoff stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

import msgspec

from wakebook.base import clock, words
from wakebook.base.home import Home
from wakebook.base.text import one_line
from wakebook.capture import state as states
from wakebook.capture.archive import Turn, tools
from wakebook.capture.state import Left, State
from wakebook.capture.transcript import Message
from wakebook.learn.entries import Source
from wakebook.learn.extract import Draft
from wakebook.learn.judge.verdict import why_refused
from wakebook.learn.judge.whose import origin
from wakebook.log.chains import Chains
from wakebook.log.entry import ORIGIN, RETRACTED, Entry, derived_id, new_id

AGENT = "agent"  # `by` of what it wrote
KEPT = timedelta(days=30)  # for a session that never ends
BEFORE = 4  # turns before the call: what was said there is what it wrote down
SAME = 0.5  # of the fewer terms, to say the same
_ID = re.compile(r"(?P<verb>remembered|handoff)\W+id\W+(?P<id>[\w-]{12})(?![\w-])")


def _calls(turns: Sequence[Turn], verb: str) -> Iterator[tuple[int, str]]:
    """The turns with a call of a tool of ours, and the ids that it answered with."""
    for turn in turns:
        for tool in tools(turn):
            found = _ID.search(tool.result or "") if tool.name.endswith(verb) else None
            if found and not tool.error and not turn.branch:
                yield turn.number, found["id"]


def unwritten(drafts: Sequence[Draft], source: Source, chains: Chains) -> list[Draft]:
    """The drafts without what the agent has remembered by itself."""
    wrote = [
        (turn, chains.by_id[name])
        for turn, name in _calls(source.turns, "remember")
        if name in chains.by_id
    ]
    return [one for one in drafts if not any(_says(one, turn, old) for turn, old in wrote)]


def _says(draft: Draft, turn: int, entry: Entry) -> bool:
    here = draft.type != "handoff" and not draft.heard
    if not here or not any(turn - BEFORE <= at <= turn + 1 for at in draft.evidence):
        return False
    return same(f"{draft.content} {draft.detail}", f"{entry.content} {entry.detail}")


def same(one: str, other: str) -> bool:
    """Whether two texts about the same moment say the same."""
    mine, theirs = words.terms(one), words.terms(other)
    least = min(len(mine), len(theirs))
    return least > 0 and len(mine & theirs) >= max(SAME * least, min(2, least))


def withdrawn(source: Source, chains: Chains) -> tuple[list[Entry], list[Entry]]:
    """What the agent has remembered though only a text that it was shown says it: entries that take
    it back, and the same to wait for the user."""
    back: list[Entry] = []
    waits: list[Entry] = []
    messages = [_without(one) for one in source.messages()]
    for turn, name in _calls(source.turns, "remember"):
        entry = chains.by_id.get(name)
        if entry is None or entry.by != AGENT or entry.extra or name in chains.replaced_by:
            continue
        near = tuple(range(max(1, turn - BEFORE), turn + 1))
        draft = Draft(type=entry.type, content=entry.content, source=name, evidence=near)
        if whose := origin(draft, messages):
            place = {"session": source.session, "transcript": source.path, "evidence": (turn,)}
            said = f"Only {whose} says this, so it waits for the user's word."
            gone = entry.with_(
                id=derived_id(name, "fact", said), type="fact", content=said, detail="",
                status=None, kind=None, replaces=(name,), pinned=False, extra={RETRACTED: True},
                **place,
            )  # fmt: skip
            id_ = derived_id(name, entry.type, entry.content)
            back.append(gone)
            waits.append(entry.with_(id=id_, extra={ORIGIN: whose}, **place))
    return back, waits


def repeats(text: str, chains: Chains, state: State) -> list[str]:
    """Entries of the sessions that go on which say what an agent writes now: it replaces them."""
    going_on = state.open_transcripts()
    ours = (one for one in chains.current() if one.transcript in going_on and one.type != "handoff")
    return [one.id for one in ours if same(text, one.content)]


# --- the handoff -------------------------------------------------------------------------
def leave(state: State, id_: str, left: Left) -> State:
    """With a handoff that waits for the end of its session; without those that waited too long."""
    kept = {name: one for name, one in state.left.items() if left.at - one.at < KEPT}
    return msgspec.structs.replace(state, left=kept | {id_: left})


def taken(state: State, source: Source) -> State:
    """Without the handoffs of a session that has ended."""
    ours = {name for _, name in _calls(source.turns, "handoff")}
    if not ours & state.left.keys():
        return state
    left = {name: one for name, one in state.left.items() if name not in ours}
    return msgspec.structs.replace(state, left=left)


def with_handoff(
    home: Home,
    drafts: Sequence[Draft],
    source: Source,
    left: Mapping[str, Left],
    old: Sequence[Entry],
    names: Sequence[str],
) -> list[Draft]:
    """The drafts with the agent's own handoff in the place of the reader's, if it left one that
    the conversation bears out. `old`: what an earlier reading kept of it."""
    ours = next((one for one in drafts if one.type == "handoff"), None)
    if ours is None:
        return list(drafts)
    before = next((one for one in old if one.type == "handoff" and one.by == AGENT), None)
    calls = [(turn, left[name]) for turn, name in _calls(source.turns, "handoff") if name in left]
    if before is not None:
        found = ours.with_(content=before.content, detail=before.detail, by=AGENT)
    elif calls:
        turn, one = calls[-1]
        found = ours.with_(content=one.text, detail=one.detail, by=AGENT)
        refusal = why_refused(found, [_without(one) for one in source.messages()], names)
        if refusal:
            reason = f"{refusal.reason} ({refusal.kind}): {one_line(found.content, 100)!r}"
            home.trace("refused", where="handoff", kind=refusal.kind, reason=reason, turn=turn)
            return list(drafts)
    else:
        return list(drafts)
    return [found if one is ours else one for one in drafts]


def _without(message: Message) -> Message:
    """A message without calls of our tools: what it says there cannot bear itself out."""
    others = tuple(one for one in message.tools if not _ID.search(one.result or ""))
    return msgspec.structs.replace(message, tools=others)


def made(text: str, detail: str, at: datetime) -> Left:
    from wakebook.capture.secrets import redact

    return Left(at, redact(" ".join(text.split()))[0], redact(detail.strip())[0])


def kept(home: Home, state: State, text: str, detail: str) -> str:
    """Have a handoff wait for the end of its session. Its id. Under the lock."""
    name = new_id()
    states.save(home, leave(state, name, made(text, detail, clock.now())))
    return name
