"""Distil: the archived turns of a window become entries, and an ended window is closed.

Extraction may ask a model, which takes its time: nothing is locked meanwhile. What was found
is written under the lock, if the window is still as it was; otherwise it is read again. A
window has its own cursor, `extracted`, so that a failure costs nothing but the attempt:

- the model fails: the cursor stays, the failure is noted, and the next trigger tries again;
- it fails again (`cover`), or must not be asked: rules read the words instead, and the
  entries say so, for `catch-up --upgrade`.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from datetime import datetime

import msgspec

from wakebook.capture import archive
from wakebook.capture import state as states
from wakebook.capture import window as windows
from wakebook.capture.state import Failure, Window
from wakebook.capture.transcript import Message
from wakebook.config import Config
from wakebook.derive import batch
from wakebook.derive.entries import Source, admitted, complete, project, related
from wakebook.derive.extract import RULES, Draft, Extraction, Extractor, Scene, after
from wakebook.derive.rules import RuleExtractor
from wakebook.derive.sift import believed
from wakebook.errors import ModelError, NotAsked
from wakebook.home import Home
from wakebook.log import subjects
from wakebook.log.chains import Chains
from wakebook.log.entry import Entry
from wakebook.log.ledger import Ledger
from wakebook.log.subjects import Registry


class Work(msgspec.Struct, frozen=True):
    """What every step needs besides the session."""

    home: Home
    config: Config
    ledger: Ledger
    extractor: Extractor
    now: datetime


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What was done for one session."""

    ref: str
    messages: int = 0
    entries: int = 0
    redacted: int = 0
    closed: tuple[str, ...] = ()  # transcripts that are now final
    covered: int = 0  # times that rules read what the model should have
    held: str = ""  # why the model failed: the next trigger tries again

    def plus(self, other: Report) -> Report:
        return Report(
            ref=self.ref,
            messages=self.messages + other.messages,
            entries=self.entries + other.entries,
            redacted=self.redacted + other.redacted,
            closed=self.closed + other.closed,
            covered=self.covered + other.covered,
            held=self.held or other.held,
        )


class _View(msgspec.Struct, frozen=True):
    """A window and the log, as they are before an extraction."""

    window: Window
    source: Source
    body: str
    chains: Chains
    registry: Registry
    scene: Scene
    first: int  # turns that have been extracted


def distil(work: Work, ref: str, cover: bool = False) -> Report:
    """Extract what is new in the window of a session, and close it if it has ended."""
    report = Report(ref=ref)
    alone = nullcontext() if work.extractor.name == RULES else work.home.reading()
    with alone:  # so that two processes do not pay for the same words
        more = True
        while more:
            done, more = _once(work, ref, cover)
            report = report.plus(done)
    return report


def _once(work: Work, ref: str, cover: bool) -> tuple[Report, bool]:
    view = _view(work, ref)
    if view is None:
        return Report(ref=ref), False
    said = view.source.messages()
    last = len(said) if view.window.ended else complete(view.source.turns)
    fresh = said[view.first : last]
    if not fresh and not view.window.ended:
        return _sketched(work, ref, view), False
    try:
        found, covered = _extracted(work, fresh, view, cover)
    except ModelError as error:
        return _held(work, ref, view, str(error)), False
    return _kept(work, ref, view, found, covered)


def _view(work: Work, ref: str) -> _View | None:
    progress = states.load(work.home).sessions.get(ref)
    window = progress.window if progress else None
    body = windows.body(work.home, window) if window else None
    if progress is None or window is None or body is None:
        return None  # nothing to read, or somebody removed it: the next step finds out
    source = Source(
        ref=ref,
        session=progress.id,
        path=window.path,
        number=window.number,
        last_at=window.last_at,
        turns=archive.parse(body),
    )
    chains = work.ledger.chains()
    registry = subjects.load(work.home)
    first = max(window.extracted, _known(window, chains))
    scene = Scene(
        earlier=source.messages()[:first],
        current=related(chains),
        subjects=registry.names(),
        subject=registry.for_entry(project(progress.cwd)),
        ends=bool(window.ended),
    )
    return _View(window, source, body, chains, registry, scene, first)


def _known(window: Window, chains: Chains) -> int:
    """Turns that a model has read, as the log knows after state.json was lost.

    Rules would find the same entries again; a model would find others.
    """
    if window.extracted:
        return 0
    ours = (e for e in chains.entries if e.transcript == window.path and e.by not in ("", RULES))
    return max((number for entry in ours for number in entry.evidence), default=0)


def _extracted(
    work: Work, fresh: Sequence[Message], view: _View, cover: bool
) -> tuple[Extraction, int]:
    """What was found, and whether rules had to stand in."""
    if work.extractor.name == RULES:
        return _by_rules(fresh, view.scene), 0
    try:
        return work.extractor.read(fresh, view.scene), 0
    except ModelError as error:
        if not cover and not isinstance(error, NotAsked):
            raise
        work.home.trace("covered", session=view.source.ref, reason=str(error))
        return _by_rules(fresh, view.scene), 1


def _by_rules(fresh: Sequence[Message], scene: Scene) -> Extraction:
    """What rules find, in what is not an order to whoever reads along."""
    scene = msgspec.structs.replace(scene, earlier=believed(scene.earlier))
    return RuleExtractor().read(believed(fresh), scene)


def _held(work: Work, ref: str, view: _View, error: str) -> Report:
    """Note that the model failed. The words stay unread; what rules make of them is shown."""
    sketch = _sketch(view, [])
    with work.home.locked():
        state = batch.settle(work.home)
        progress = state.sessions[ref]
        retries = progress.failure.retries + 1 if progress.failure else 0
        window = progress.window
        if window and window.path == view.window.path:
            window = _drawn(window, sketch)
        held = msgspec.structs.replace(
            progress, window=window, failure=Failure(work.now, error, retries, model=True)
        )
        states.save(work.home, state.with_session(ref, held))
    return Report(ref=ref, held=error)


def _sketched(work: Work, ref: str, view: _View) -> Report:
    """Nothing is complete enough to be extracted, but the handoff may look different now."""
    sketch = _sketch(view, [])
    if _drawn(view.window, sketch) != view.window:
        with work.home.locked():
            state = batch.settle(work.home)
            progress = state.sessions[ref]
            if progress.window == view.window:
                drawn = msgspec.structs.replace(progress, window=_drawn(view.window, sketch))
                states.save(work.home, state.with_session(ref, drawn))
    return Report(ref=ref)


def _kept(
    work: Work, ref: str, view: _View, found: Extraction, covered: int
) -> tuple[Report, bool]:
    """Write what was found. Returns whether there is more to extract."""
    with work.home.locked():
        state = batch.settle(work.home)
        progress = state.sessions[ref]
        window = progress.window
        before = (view.window.path, view.window.extracted)
        if window is None or (window.path, window.extracted) != before:
            return Report(ref=ref), True  # another process was faster
        entries = admitted(
            work.home, found.drafts, view.source, work.ledger.chains(), view.registry, work.now
        )
        window = _grown(window, view.first + found.taken, entries, found.title)
        grew = window.size != view.window.size  # while we were reading
        ends = bool(window.ended) and not grew and window.extracted == len(view.source.turns)
        if ends:
            _close(work.home, window, view.body)
        else:
            window = _drawn(window, _sketch(view, entries))
        progress = msgspec.structs.replace(
            progress,
            window=None if ends else window,
            entries=progress.entries + len(entries),
            failure=None,
            touched_at=work.now,
        )
        batch.append(work.home, state, ref, progress, entries)
    report = Report(
        ref=ref, entries=len(entries), closed=(window.path,) if ends else (), covered=covered
    )
    left = complete(view.source.turns) > window.extracted
    return report, not ends and (bool(window.ended) or left)


def _grown(window: Window, extracted: int, entries: Sequence[Entry], title: str) -> Window:
    used = dict.fromkeys((*window.subjects, *(one.subject for one in entries if one.subject)))
    return msgspec.structs.replace(
        window,
        extracted=extracted,
        entries=window.entries + tuple(entry.id for entry in entries),
        subjects=tuple(used),
        title=title or window.title,
    )


def _close(home: Home, window: Window, body: str) -> None:
    """The transcript's last writing: from now on it does not change."""
    front = archive.read(home, window.path).front | {
        "closed": True,
        "topic": window.title,
        "tags": list(window.subjects),
    }
    if window.entries:
        front["knowledge_changes"] = windows.changes(window)
    text = archive.compose(front, window.title, body)
    home.replace(home.root / window.path, text, mode=0o400)


def _sketch(view: _View, entries: Sequence[Entry]) -> Draft | None:
    """The handoff as it would be now, by rules: for whoever wakes before the window ends."""
    scene = msgspec.structs.replace(
        view.scene, earlier=(), current=after(view.scene.current, entries)
    )
    drafts = RuleExtractor().close(believed(view.source.messages()), scene)
    return next((draft for draft in drafts if draft.type == "handoff"), None)


def _drawn(window: Window, sketch: Draft | None) -> Window:
    return msgspec.structs.replace(
        window,
        draft=sketch.content if sketch else "",
        draft_detail=sketch.detail if sketch else "",
    )
