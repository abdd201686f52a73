"""Learning: the archived turns of a window become entries, and an ended window is closed.

Extraction may ask a model, which takes its time: nothing is locked meanwhile. What was found
is written under the lock, if the window is still as it was; otherwise it is read again. A
window has its own cursor, `extracted`, so that a failure costs nothing but the attempt:

- the model fails: the cursor stays, the failure is noted, and the next trigger tries again;
- it fails again, is left alone for too long, or must not be asked: rules read the words
  instead, and the entries say so, for `catch-up --upgrade`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from wakebook.base import clock, words
from wakebook.base.config import Config
from wakebook.base.errors import LeftAlone, ModelError, NotAsked, TranscriptError
from wakebook.base.home import Home
from wakebook.capture import archive
from wakebook.capture import project as projects
from wakebook.capture import state as states
from wakebook.capture import window as windows
from wakebook.capture.state import Failure, Window, holds_memories
from wakebook.capture.transcript import Message
from wakebook.learn import extract, written
from wakebook.learn.entries import (
    Source,
    admitted,
    append,
    complete,
    parted,
    related,
    replaced_in,
    settle,
    subject_of_project,
)
from wakebook.learn.extract import RULES, Draft, Extraction, Extractor, Heard, Scene
from wakebook.learn.select.extractor import Selector, handoff_of
from wakebook.learn.select.worth import stated, untold
from wakebook.log import forgotten, subjects
from wakebook.log.chains import Chains
from wakebook.log.entry import Entry
from wakebook.log.log import Ledger
from wakebook.log.subjects import Registry
from wakebook.models.chat import Models

HOLD = timedelta(hours=1)  # for a model that is left alone
Notes = Callable[[Sequence[Entry], Registry], Mapping[str, str]]
REACH = 40  # conversations back, for what was said and not kept
ENTRIES = 4000  # of the newest: more than these have left
_EPOCH = datetime.fromtimestamp(0, UTC)


class Work(msgspec.Struct, frozen=True):
    """What every step needs besides the session."""

    home: Home
    config: Config
    ledger: Ledger
    extractor: Extractor
    at: datetime | None = None  # a time to pretend, for a benchmark
    sparing: bool = False  # ask a model about an open window only when it pauses, or is long
    # makes the reader of imported memories, which are kept as they stand
    verbatim: Callable[[], Extractor] | None = None
    notes: Notes | None = None  # says which notes entries are told on

    @property
    def now(self) -> datetime:
        """Not the same all the time: with a model, catching up may take an hour."""
        return self.at or clock.now()

    def asks(self, project: str) -> bool:
        """Whether what was learned there waits for the user."""
        modes = self.config.projects.values()
        mode = projects.load(self.home).mode(project, modes) if modes else ""
        return mode == "ask" or self.config.learn.approve

    @property
    def record_limit(self) -> int:
        """Bytes of the largest record that is read."""
        return self.config.capture.max_record_megabytes << 20

    def idle(self, last_at: datetime) -> bool:
        """Whether a pause since then ends a window."""
        return self.now - last_at > timedelta(minutes=self.config.capture.idle_minutes)


def choose(models: Models, home: Home, config: Config) -> Extractor:
    """The extractor that the settings ask for."""
    if not models.has("extract"):
        return Selector(home)
    from wakebook.learn.ask import ModelExtractor
    from wakebook.learn.small import SmallExtractor, is_small

    small = is_small(models.name("main"), config.models.small)
    kind = SmallExtractor if small else ModelExtractor
    return kind(models, home, config.models.request_tokens)


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What was done for one session."""

    ref: str
    messages: int = 0
    entries: int = 0
    redacted: int = 0
    closed: tuple[str, ...] = ()  # transcripts that are now final
    covered: int = 0  # times that rules read what the model should have
    held: str = ""  # why the model failed: the next trigger tries again
    busy: bool = False  # another process is reading it
    waits: bool = False  # a batch will bring the answer

    def plus(self, other: Report) -> Report:
        added = ("messages", "entries", "redacted", "closed", "covered")
        sums: dict[str, Any] = {one: getattr(self, one) + getattr(other, one) for one in added}
        held, busy = self.held or other.held, self.busy or other.busy
        return Report(ref=self.ref, held=held, busy=busy, **sums)


class _Before(msgspec.Struct, frozen=True):
    """A window and the log, as they are before an extraction."""

    window: Window
    source: Source
    body: str
    scene: Scene
    first: int  # turns that have been extracted
    fresh: list[Message]  # what is to be extracted now
    verbatim: Extractor | None  # reads it, if these are old memories


def learn(work: Work, ref: str, earlier: Failure | None = None) -> Report:
    """Extract what is new in the window of a session, and close it if it has ended.

    `earlier`: how the model has failed at it before.
    """
    before = _before(work, ref) if work.extractor.name != RULES else None
    if before is None or not _due(work, before):
        return _all(work, ref, earlier)
    with work.home.reading(ref) as alone:  # two processes do not pay for the same words
        return _all(work, ref, earlier) if alone else Report(ref=ref, busy=True)


def _all(work: Work, ref: str, earlier: Failure | None) -> Report:
    report, more = Report(ref=ref), True
    while more and (before := _before(work, ref)):
        if not _due(work, before):
            _sketched(work, ref, before)
            break
        try:
            found, covered = _extracted(work, before, earlier)
        except ModelError as error:
            return report.plus(_held(work, ref, before, error))
        done, more = _kept(work, ref, before, found, covered)
        report = report.plus(done)
    return report


def _before(work: Work, ref: str) -> _Before | None:
    progress = states.load(work.home).sessions.get(ref)
    window = progress.window if progress else None
    body = windows.body(work.home, window) if window else None
    if progress is None or window is None or body is None:
        return None  # nothing to read, or it was removed: the next step finds out
    source = Source(
        ref=ref,
        session=progress.id,
        path=window.path,
        number=window.number,
        last_at=window.last_at,
        turns=archive.apart(work.home, window.path, archive.parse(body)),
        project=window.project,
    )
    chains = work.ledger.chains()
    registry = subjects.load(work.home)
    said = source.messages()
    first = min(max(window.extracted, _known(window, chains)), len(said))
    last = len(said) if window.ended else complete(source.turns)
    make = work.verbatim if holds_memories(progress.channel) else None
    verbatim = make() if make else None
    scene = Scene(
        earlier=said[:first],
        current=chains.current() if verbatim else related(chains, window.path),
        subjects=registry.names(),
        people=registry.people(),
        subject=registry.for_entry(subject_of_project(projects.load(work.home), window.project)),
        project=window.project,
        ends=bool(window.ended),
        gone=replaced_in(chains, window.path),
        heard=partial(heard, work.home, source, chains),
    )
    return _Before(window, source, body, scene, first, said[first:last], verbatim)


def _due(work: Work, before: _Before) -> bool:
    if before.window.ended:
        return True
    if not work.sparing or work.extractor.name == RULES or not before.fresh:
        return bool(before.fresh)
    watch = work.config.watch
    pauses = work.now - before.window.last_at >= timedelta(minutes=watch.pause_minutes)
    return pauses or len(before.fresh) >= watch.writes


def _known(window: Window, chains: Chains) -> int:
    """Turns that a model has read, as the log knows after state.json was lost.

    Rules would find the same entries again; a model would find others.
    """
    if window.extracted:
        return 0
    ours = (e for e in chains.entries if e.transcript == window.path and e.by not in ("", RULES))
    return max((number for entry in ours for number in entry.evidence), default=0)


def _extracted(work: Work, before: _Before, earlier: Failure | None) -> tuple[Extraction, int]:
    """What was found, and whether rules had to stand in."""
    reader = before.verbatim or work.extractor
    try:
        return reader.read(before.fresh, before.scene), 0
    except ModelError as error:
        if not _enough(error, earlier, work.now):
            raise
        work.home.trace("covered", session=before.source.ref, reason=str(error))
        return Selector(work.home).read(before.fresh, before.scene), 1


def _enough(error: ModelError, earlier: Failure | None, now: datetime) -> bool:
    """Whether rules have to stand in now."""
    if isinstance(error, NotAsked):
        return True
    if isinstance(error, LeftAlone):  # it was not tried: that can wait, but not for ever
        return earlier is not None and now - earlier.at > HOLD
    return earlier is not None and earlier.retries >= 0


def _held(work: Work, ref: str, before: _Before, error: ModelError) -> Report:
    """Note that the model failed. The words stay unread; what rules make of them is shown."""
    sketch = _sketch(work, before, [])
    with work.home.locked():
        state = settle(work.home)
        progress = state.sessions.get(ref)
        if progress is None:
            return Report(ref=ref)  # it goes by another name now
        last = progress.failure if progress.held else None
        tried = (last.retries if last else -1) + (not isinstance(error, LeftAlone))
        failure = Failure(last.at if last else work.now, str(error), tried, model=True)
        window = progress.window
        if window and window.path == before.window.path:
            window = _drawn(window, sketch)
        held = progress.with_(window=window, failure=failure)
        states.save(work.home, state.with_session(ref, held))
    return Report(ref=ref, held=str(error))


def _sketched(work: Work, ref: str, before: _Before) -> None:
    """Nothing is complete enough to be extracted, but the handoff may look different now."""
    drawn = _drawn(before.window, _sketch(work, before, []))
    if drawn != before.window:
        with work.home.locked():
            state = settle(work.home)
            progress = state.sessions.get(ref)
            if progress and progress.window == before.window:
                after = progress.with_(window=drawn)
                states.save(work.home, state.with_session(ref, after))


def _kept(
    work: Work, ref: str, before: _Before, found: Extraction, covered: int
) -> tuple[Report, bool]:
    """Write what was found. Returns whether there is more to extract."""
    with work.home.locked():
        state = settle(work.home)
        progress = state.sessions.get(ref)
        window = progress.window if progress else None
        if progress is None or window is None:
            return Report(ref=ref), False  # it goes by another name now, or is done
        if (window.path, window.extracted) != (before.window.path, before.window.extracted):
            return Report(ref=ref), True  # another process was faster
        registry = subjects.load(work.home)
        drafts = _marked(found.drafts) if window.covered else found.drafts
        chains = work.ledger.chains()
        drafts = written.unwritten(drafts, before.source, chains)
        if before.scene.ends:
            names = tuple(before.scene.subjects)
            drafts = written.with_handoff(work.home, drafts, before.source, state.left, (), names)
        entries = admitted(work.home, drafts, before.source, chains, registry, work.now)
        entries, held = parted(entries, work.asks(before.source.project))
        gone, waits = written.withdrawn(before.source, chains)
        used = (*window.subjects, *(one.subject for one in entries if one.subject))
        window = window.with_(
            extracted=before.first + found.taken,
            entries=window.entries + tuple(entry.id for entry in entries),
            subjects=tuple(dict.fromkeys(used)),
            title=found.title or window.title,
            covered=window.covered or bool(covered),
        )
        grew = window.size != before.window.size  # while we were reading
        whole = window.extracted >= len(before.source.turns)
        ends = before.scene.ends and whole and not grew
        if ends:
            by_rules = work.extractor.name == RULES or window.covered
            learned = [chains.by_id[one] for one in window.entries if one in chains.by_id]
            grown = registry.ensure(window.subjects, extract.subject_types(drafts))
            notes = work.notes([*learned, *entries], grown) if work.notes else {}
            read_by = RULES if by_rules else work.extractor.name
            _close(work.home, window, before.body, read_by, notes)
        else:
            window = _drawn(window, _sketch(work, before, entries))
        after = progress.with_(
            window=None if ends else window,
            entries=progress.entries + sum(one.session == before.source.session for one in entries),
            failure=None,
            touched_at=work.now,
        )
        state = written.taken(state, before.source) if ends else state
        types = extract.subject_types(drafts)
        append(work.home, state, ref, after, [*entries, *gone], types, [*held, *waits])
    closed = (window.path,) if ends else ()
    report = Report(ref=ref, entries=len(entries), closed=closed, covered=covered)
    left = complete(before.source.turns) > window.extracted
    return report, not ends and (bool(window.ended) or left)


def _marked(drafts: Sequence[Draft]) -> list[Draft]:
    """With a note on the handoff that rules have read a part of the window, found or not."""
    return [
        draft.with_(by=f"{draft.by}{extract.PARTLY}")
        if draft.type == "handoff" and draft.by != RULES
        else draft
        for draft in drafts
    ]


def _close(home: Home, window: Window, body: str, read_by: str, notes: Mapping[str, str]) -> None:
    """The transcript's last writing: from now on it does not change."""
    front = archive.read(home, window.path).front | {
        "closed": True,
        "read_by": read_by,
        "topic": window.title,
        "tags": list(window.subjects),
    }
    front.pop("knowledge_changes", None)  # it comes last
    if window.entries:
        front["knowledge_changes"] = windows.changes(window, notes)
    text = archive.compose(front, window.title, body)
    archive.write(home, window.path, text, mode=0o400)


def _sketch(work: Work, before: _Before, entries: Sequence[Entry]) -> Draft | None:
    """The handoff as it would be now, by rules: for a session that begins before this one ends."""
    source = before.source
    if before.verbatim:
        return None
    current = extract.after(before.scene.current, entries)
    scene = msgspec.structs.replace(before.scene, current=current)
    learned = [one for one in current if one.transcript == source.path]
    by_rules = work.extractor.name == RULES
    draft = handoff_of(source.messages(), scene, learned if by_rules else None)
    if draft is None:
        return None
    entry = draft.entry(source.session, source.last_at).with_(transcript=source.path)
    kept = forgotten.load(work.home).without(entry, words.terms)
    if kept is None:
        return None
    return draft.with_(content=kept.content, detail=kept.detail)


def _drawn(window: Window, sketch: Draft | None) -> Window:
    if sketch is None:
        return window.with_(draft="", draft_detail="")
    return window.with_(draft=sketch.content, draft_detail=sketch.detail)


def heard(home: Home, source: Source, chains: Chains) -> list[Heard]:
    """What was stated in the same project before a window began, and not kept.

    A change is the strongest evidence that both values are worth keeping, so a sentence that
    changes something is put beside these, too. They are read from the transcripts; what was erased
    or is withheld is not there, and what was said later is left out, so that it is the same when
    everything is read anew.
    """
    if not source.turns:
        return []
    began = source.turns[0].at
    earlier = _earlier(home, source.path)
    told: dict[str, list[str]] = {one: [] for one in earlier}
    for entry in islice(reversed(chains.by_id.values()), ENTRIES):
        if entry.transcript in told and entry.type != "handoff":  # which quotes what was said
            told[entry.transcript].append(f"{entry.content}\n{entry.detail}")
    return [
        one
        for other in earlier
        for one in untold(_stated(home, other), told[other])
        if one.project == source.project and one.at and one.at < began
    ]


def _earlier(home: Home, path: str) -> list[str]:
    """The latest transcripts that begin before another, oldest first."""
    found: list[str] = []
    limit = str(home.root / path)
    for day in sorted(home.conversations.glob("*/*/*"), reverse=True):
        files = (one.path for one in os.scandir(day) if one.name.endswith(".md"))
        found += sorted((one for one in files if one < limit), reverse=True)
        if len(found) >= REACH:
            break
    return [os.path.relpath(one, home.root) for one in reversed(found[:REACH])]


def _stated(home: Home, path: str) -> tuple[Heard, ...]:
    try:
        if archive.marked(home):
            return _found_in(home, path)
        seen = (home.root / path).stat()
        return _once(home.root, path, seen.st_mtime_ns, seen.st_size)
    except (OSError, TranscriptError):
        return ()  # it was removed: what it said is not known any more


@lru_cache(maxsize=256)
def _once(root: Path, path: str, mtime: int, size: int) -> tuple[Heard, ...]:
    return _found_in(Home(root), path)


def _found_in(home: Home, path: str) -> tuple[Heard, ...]:
    found = archive.read(home, path)
    source = Source(
        ref="",
        session=str(found.front.get("session_id") or ""),
        path=path,
        number=int(found.front.get("window") or 1),
        last_at=_EPOCH,
        turns=[turn for turn in found.turns if turn.role == "user"],
        project=str(found.front.get("project") or ""),
    )
    at = {turn.number: turn.at for turn in source.turns}
    return tuple(
        msgspec.structs.replace(
            one,
            session=source.session,
            transcript=path,
            project=source.project,
            at=at[one.turn],
        )
        for one in stated(source.messages())
    )
