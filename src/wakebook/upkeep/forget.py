"""Forget: entries leave the log for good, and do not come back.

The lines are taken out of log.jsonl between two commits; a receipt without their words keeps
every later reading from bringing them back (`log.forgotten`). The sentences behind them in
conversations are marked, and told no more (`capture.withheld`); the transcript itself does not
change, but for its name, where that has the same words. The handoff of the same conversation
loses the lines that say it. What a forgotten entry had replaced would hold again. That is never
silent: it is said before anything is done, and the whole chain can be forgotten instead. The
transcript and git's history still hold the words: `erase` removes them.

Other rooms hold the words, too. Each has a step that takes them back; the façade lists them.
"""

import shutil
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from wakebook.base import clock, words
from wakebook.base.decode import decode
from wakebook.base.home import Home
from wakebook.capture import state as states
from wakebook.capture import withheld
from wakebook.history.history import History
from wakebook.log import forgotten, keyed, log
from wakebook.log.chains import Chains, resolve
from wakebook.log.entry import Entry, encode
from wakebook.log.entry import decode as entry_of
from wakebook.log.query import Query
from wakebook.notes import condensed
from wakebook.opened import Opened
from wakebook.upkeep.withhold import linked, marked, relinked, settled

FORGET = "forget"  # begins what the commit of a forgetting says
TOLD = 5  # entries that say it, too
LIKELY = 30  # turns of other conversations that are looked at

# What a room takes back, of the entries with these ids, which these transcripts hold. A step is
# made before anything is done, and raises if it will not be able to; then it is called, when the
# receipts are written and the log is not yet. It gives the files of git that it has changed.
Step = Callable[[Home, Collection[str], Collection[str]], Callable[[], Iterable[Path]]]


class Forgetting(msgspec.Struct, frozen=True, kw_only=True):
    """What goes, and what follows from it."""

    entries: tuple[Entry, ...]
    again: tuple[Entry, ...] = ()  # were replaced by what goes, and hold again
    shorter: tuple[Entry, ...] = ()  # handoffs that lose the lines that say it
    also: tuple[Entry, ...] = ()  # say the same in the same conversation, and stay
    transcripts: tuple[str, ...] = ()  # that hold the words, and tell them no more
    withheld: int = 0  # sentences of conversations that are told no more
    notes: tuple[str, ...] = ()  # with the words in what a person has written


def plan(chains: Chains, ids: Sequence[str], chain: bool) -> Forgetting:
    """`chain`: with everything that these replaced and that replaced these."""
    wanted = {one.id for name in ids for one in chains.history(name)} if chain else set(ids)
    entries = [entry for entry in chains.entries if entry.id in wanted]
    rest = [entry for entry in chains.entries if entry.id not in wanted]
    shorter = [
        one
        for one in rest
        if one.type == "handoff" and _says(one, (one.content, *one.detail.split("\n")), entries)
    ]
    wanted |= {one.id for one in shorter}
    also = [
        one
        for one in rest
        if one.id not in wanted and _says(one, (f"{one.content} {one.detail}",), entries)
    ]
    return Forgetting(
        entries=tuple(entries),
        again=tuple(one for one in resolve(rest).current() if one.id in chains.replaced_by),
        shorter=tuple(shorter),
        also=tuple(also[:TOLD]),
        transcripts=tuple(dict.fromkeys(one.transcript for one in entries if one.transcript)),
    )


def _says(entry: Entry, texts: Iterable[str], gone: Sequence[Entry]) -> bool:
    """Whether a text of an entry has all the words of one that goes, of the same conversation."""
    mine = [one for one in gone if one.transcript and one.transcript == entry.transcript]
    wanted = [terms for one in mine if len(terms := words.terms(one.content)) >= forgotten.LEAST]
    said = [words.terms(text) for text in texts] if wanted else []
    return any(terms <= one for one in said for terms in wanted)


def forget(
    home: Home,
    history: History,
    going: Forgetting,
    now: datetime,
    steps: Sequence[Step],
    likely: Sequence[str] = (),
) -> int:
    """Take the entries out. Under the writer lock, between two commits. `likely`: transcripts that
    may say the same. How many sentences of conversations are told no more."""
    wanted = {entry.id for entry in going.entries}
    shorter = {entry.id: entry for entry in going.shorter}
    rooms = [step(home, wanted | shorter.keys(), going.transcripts) for step in steps]
    history.log("before something is forgotten")
    # the receipts first: from now on nothing brings them back, whatever happens
    secret = keyed.made(home)
    forgotten.add(home, [forgotten.receipt(one, words.terms, now, secret) for one in going.entries])
    marks, moved = marked(home, going.entries, likely)
    withheld.add(home, marks)
    linked(home, moved)
    touched = [path for take_back in rooms for path in take_back()]
    receipts = forgotten.load(home)
    lines = home.log.read_bytes().splitlines(keepends=True)
    kept: list[bytes] = []
    for line in lines:
        name = _id(line)
        if name in shorter:
            left = receipts.without(shorter[name], words.terms)
            kept += [encode(left)] if left else []
        elif name not in wanted:
            kept.append(_unlinked(line, wanted))
    kept = [relinked(line, moved) for line in kept]
    if kept != lines:
        log.rewrite(home, kept)
    names = settled(home, moved)
    summary = f"{FORGET} {len(wanted)} {'entry' if len(wanted) == 1 else 'entries'}"
    history.log(summary, *(home.root / one.FILE for one in (forgotten, withheld)), *touched)
    history.renamed(names)
    return sum(not one.was for one in marks)


def _unlinked(line: bytes, gone: Collection[str]) -> bytes:
    """An entry that no longer says that it replaces one that is gone."""
    if not any(name.encode() in line for name in gone):
        return line
    entry = entry_of(line)
    left = tuple(name for name in entry.replaces if name not in gone)
    return encode(entry.with_(replaces=left)) if left != entry.replaces else line


def _id(line: bytes) -> str:
    try:
        raw = decode(line, Any)
    except msgspec.DecodeError:
        return ""
    return str(raw.get("id", "")) if isinstance(raw, dict) else ""


def drafts(
    home: Home, ids: Collection[str], transcripts: Collection[str]
) -> Callable[[], Iterable[Path]]:
    """The step of conversations that still go on: the handoffs that they would have."""

    def take_back() -> Iterable[Path]:
        state, receipts = states.load(home), forgotten.load(home)
        after = state
        for ref, progress in state.sessions.items():
            window = progress.window
            if window is None or not window.draft or window.path not in transcripts:
                continue
            drawn = Entry(
                id="",
                timestamp=clock.now(),
                type="handoff",
                content=window.draft,
                detail=window.draft_detail,
                session=progress.id,
                transcript=window.path,
            )
            left = receipts.without(drawn, words.terms) or drawn.with_(content="", detail="")
            window = window.with_(draft=left.content, draft_detail=left.detail)
            after = after.with_session(ref, progress.with_(window=window))
        if after != state:
            states.save(home, after)
        return ()  # state.json is not in git

    return take_back


def untold(home: Home) -> None:
    """Sessions that go on may have been told what is gone: they are told everything again. Texts
    that were kept for the next start go, too."""
    for name in ("told", "start", "wake"):
        shutil.rmtree(home.cache / name, ignore_errors=True)
    for name in ("wake.md", "handoffs.json", "briefing.json"):
        (home.cache / name).unlink(missing_ok=True)


def still_there(home: Home, gone: Forgetting) -> Forgetting:
    """With the notes that say it word for word outside of what Wakebook writes."""
    contents = [entry.content for entry in gone.entries]
    tops = ("knowledge", "topics", "archive")
    found = [
        home.relative(path)
        for top in tops
        for path in sorted((home.root / top).rglob("*.md"))
        if any(one in path.read_text("utf-8", "replace") for one in contents)
    ]
    told = [line.text for one in condensed.load(home).values() for line in one.lines]
    if any(content in text for content in contents for text in told):
        found.append(condensed.NAME)
    return msgspec.structs.replace(gone, notes=tuple(found))


def take_out(
    opened: Opened,
    git: History,
    going: Callable[[], Forgetting],
    *,
    steps: Sequence[Step],
    after: Callable[[], object],
) -> Forgetting:
    """Forget what `going` plans. `after`: writes the notes anew, and what else shows the log."""
    likely = [path for entry in going().entries for path in _likely(opened, entry)]
    with opened.writing():
        gone = going()
        number = forget(opened.home, git, gone, clock.now(), steps, likely)
    untold(opened.home)
    after()
    return still_there(opened.home, msgspec.structs.replace(gone, withheld=number))


def _likely(opened: Opened, entry: Entry) -> list[str]:
    """Conversations that may have the same sentence."""
    query = Query(text=entry.content, categories=("conversation",))
    found = opened.index.passages(query, clock.now(), LIKELY).found
    return [path for one in found if (path := one.ref.partition("#")[0]) != entry.transcript]
