"""Reread: what rules have read is read again by a model.

A closed transcript is read anew as a whole, with the log as it is now but for what came out of
this transcript. The new entries take the place of the old ones: each of those that say the same,
in its own chain; the others are replaced by the new handoff, or taken back where there is none.
Nothing is there twice, and nothing is lost: the old entries stay in the log, replaced. What later
entries have replaced already stays replaced, and is not brought back; what only this transcript's
old entries had replaced, and the new ones do not, holds again.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

import msgspec

from wakebook.base import clock
from wakebook.base.errors import ConfigError, Deferred, ModelError, NotFound, TranscriptError
from wakebook.base.home import Home
from wakebook.capture import archive
from wakebook.capture import project as projects
from wakebook.capture import state as states
from wakebook.capture.archive import Transcript
from wakebook.capture.project import Projects, project_of
from wakebook.capture.state import State
from wakebook.learn import extract, written
from wakebook.learn.entries import (
    Source,
    admitted,
    append,
    parted,
    related,
    settle,
    subject_of_project,
)
from wakebook.learn.extract import RULES, Draft, Extractor, Scene
from wakebook.learn.reading import Report, Work
from wakebook.log import subjects
from wakebook.log.chains import Chains, resolve
from wakebook.log.entry import RETRACTED, Entry, derived_id

AGAIN = "upgrade"  # `by` of what holds again
NONE = Projects({})
PATIENCE = 3  # failures in a row


def candidates(home: Home, chains: Chains, state: State, session: str = "") -> list[str]:
    """The closed transcripts that rules have read, in whole or in part, oldest first."""
    done = {*state.open_transcripts(), *state.reread}
    found: dict[str, datetime] = {}
    for entry in chains.current():
        path = entry.transcript
        if path and _read_by_rules(entry) and entry.session.startswith(session):
            found.setdefault(path, entry.timestamp)
    known = {entry.transcript for entry in chains.entries if entry.by != written.AGENT}
    for file in home.conversations.glob("*/*/*/*.md"):
        path = home.relative(file)
        front = {} if path in known or path in done else archive.read(home, path).front
        if front.get("read_by") == RULES and str(front.get("session_id")).startswith(session):
            found[path] = clock.parse(front.get("ended")) or clock.now()
    return sorted(found.keys() - done, key=lambda path: (found[path], path))


def _read_by_rules(entry: Entry) -> bool:
    return entry.by in ("", RULES) or entry.by.endswith(extract.PARTLY)


def _waits(path: str, chains: Chains, state: State) -> bool:
    """Whether no model has read it yet."""
    every = (entry for entry in chains.current() if entry.transcript == path)
    ours = [entry for entry in every if entry.by != written.AGENT]
    return path not in state.reread and (not ours or any(map(_read_by_rules, ours)))


def reread(work: Work, path: str, whatever: bool = False) -> Report:
    """Read one transcript again with the work's extractor, if rules have read it; or `whatever`."""
    transcript = archive.read(work.home, path)
    known = projects.load(work.home)
    source = source_of(transcript, work.now, known)
    ref = source.ref
    if not transcript.front.get("closed"):
        return Report(ref=ref, busy=True)  # it is still being written
    with work.home.reading(ref) as alone:
        if not alone:
            return Report(ref=ref, busy=True)
        chains = work.ledger.chains()
        if not whatever and not _waits(path, chains, states.load(work.home)):
            return Report(ref=ref, busy=True)  # another process has read it meanwhile
        old = [entry for entry in chains.entries if entry.transcript == path]
        try:
            drafts = _read(work, source, subject_of(source.project, old, known), chains)
        except Deferred:
            return Report(ref=ref, waits=True)
        except ModelError as error:
            return Report(ref=ref, held=str(error))
        if old and all(draft.by.endswith(RULES) for draft in drafts):
            return Report(ref=ref, held=f"{work.extractor.name} found nothing to keep in it.")
        return _replace(work, source, drafts, {entry.id for entry in old})


def _read(work: Work, source: Source, subject: str, chains: Chains) -> list[Draft]:
    registry = subjects.load(work.home)
    scene = Scene(
        current=related(_without(chains, source.path)),
        subjects=registry.names(),
        people=registry.people(),
        subject=registry.for_entry(subject),
        project=source.project,
        ends=True,
    )
    return read(work.extractor, source, scene)


def _replace(work: Work, source: Source, drafts: Sequence[Draft], expected: set[str]) -> Report:
    with work.home.locked():
        state = settle(work.home)
        chains = work.ledger.chains()
        old = [entry for entry in chains.entries if entry.transcript == source.path]
        if {entry.id for entry in old} != expected:
            return Report(ref=source.ref, busy=True)  # another process was faster
        registry = subjects.load(work.home)
        drafts = written.unwritten(drafts, source, chains)
        names = tuple(registry.names())
        drafts = written.with_handoff(work.home, drafts, source, state.left, old, names)
        new = _chained(drafts, old, chains)
        entries = admitted(work.home, new, source, chains, registry, work.now)
        entries += _taken_back(source, drafts, entries, old, chains)
        entries += _revived(chains, source.path, entries)
        kept, held = parted(entries, work.asks(source.project))
        same = (ref for ref, one in state.sessions.items() if one.id == source.session)
        known = next(same, source.ref)
        progress = state.sessions.get(known)
        if progress:
            ours = sum(entry.session == source.session for entry in kept)
            progress = progress.with_(entries=progress.entries + ours)
        done = tuple(sorted({*state.reread, source.path}))
        state = msgspec.structs.replace(state, reread=done)
        append(work.home, state, known, progress, kept, extract.subject_types(drafts), held)
    return Report(ref=source.ref, entries=len(entries))


def _taken_back(
    source: Source,
    drafts: Sequence[Draft],
    new: Sequence[Entry],
    old: Sequence[Entry],
    chains: Chains,
) -> list[Entry]:
    """What rules kept and the model did not, where no new handoff takes its place."""
    replaced = {one for entry in new for one in entry.replaces}
    stale = [one.id for one in old if one.id not in replaced and _by_rules(chains, one.id)]
    if not stale or any(one.type == "handoff" for one in new):
        return []
    by = drafts[0].by if drafts else AGAIN
    gone = Entry(
        id=derived_id(source.path, AGAIN, by),
        timestamp=source.last_at,
        type="fact",
        content="Read again by a model, which did not keep these sentences.",
        session=source.session,
        transcript=source.path,
        replaces=tuple(stale),
        by=by,
        extra={RETRACTED: True},
    )
    return [] if gone.id in chains.by_id else [gone]


def _chained(drafts: Sequence[Draft], old: Sequence[Entry], chains: Chains) -> list[Draft]:
    """The drafts with what they replace; without those that something newer has replaced."""
    alike = extract.matches(drafts, old)
    left = [entry.id for entry in old if entry.id not in {one.id for one in alike.values()}]
    renamed: dict[str, str] = {}  # drafts whose id was taken
    dropped: set[str] = set()
    found: list[Draft] = []
    for draft in drafts:
        if draft.type == "handoff":
            stale = [identity for identity in left if _by_rules(chains, identity)]
            found.append(_apart(draft.with_(replaces=tuple(stale)), chains))
            continue
        match = alike.get(draft.id)
        replaces = [renamed.get(one, one) for one in draft.replaces]
        replaces += [match.id] if match else []
        if dropped.intersection(replaces) or _overtaken(draft, match, old, chains):
            dropped.add(draft.id)
            continue
        replaced = tuple(dict.fromkeys(replaces))
        apart = _apart(draft.with_(replaces=replaced), chains)
        renamed[draft.id] = apart.id
        found.append(apart)
    return found


def _overtaken(draft: Draft, match: Entry | None, old: Sequence[Entry], chains: Chains) -> bool:
    """Whether a later entry has had a word on what a draft says."""
    if match is not None:
        return _elsewhere(match, chains)
    alike = (one for one in old if extract.likeness(draft, one) >= extract.MUCH)
    return any(_elsewhere(one, chains) for one in alike)


def _elsewhere(entry: Entry, chains: Chains) -> bool:
    """Whether another conversation has replaced an entry."""
    return chains.by_id[chains.latest(entry.id)].transcript != entry.transcript


def _by_rules(chains: Chains, identity: str) -> bool:
    """Whether an entry holds, or only rules say that it does not: they may be read again, too."""
    later = chains.replaced_by.get(identity)
    return later is None or chains.by_id[later].by in ("", RULES)


def _apart(draft: Draft, chains: Chains) -> Draft:
    """A draft in the very words of an old entry, with an id of its own."""
    if draft.id not in chains.by_id:
        return draft
    return draft.with_(source=f"{draft.source}/{AGAIN}/{draft.by}")


def _without(chains: Chains, path: str) -> Chains:
    """The log as if a transcript had never been read."""
    return resolve(entry for entry in chains.entries if entry.transcript != path)


def _revived(chains: Chains, path: str, new: Sequence[Entry]) -> list[Entry]:
    """Entries of other transcripts that the old reading had replaced, and the new one does not."""
    replaced = {old for entry in new for old in entry.replaces}
    succeeded = {old for entry in new if entry.type != "handoff" for old in entry.replaces}
    found: list[Entry] = []
    for entry in _without(chains, path).current():
        by = chains.replaced_by.get(entry.id)
        again = derived_id(entry.id, AGAIN, path)
        if not by or entry.id in replaced or by in succeeded or again in chains.by_id:
            continue
        if chains.by_id[chains.latest(by)].transcript == path:  # nothing newer has its place
            found.append(entry.with_(id=again, replaces=(by,), by=AGAIN))
    return found


class Upgraded(msgspec.Struct, frozen=True, kw_only=True):
    transcripts: int = 0  # that were read again
    entries: int = 0  # that came out of it
    failed: dict[str, str] = {}  # transcript -> why it stays as it was
    left: int = 0  # not tried: the model failed too often
    waiting: int = 0  # a batch will bring the answers


def upgrade(work: Work, session: str, progress: Callable[[str, int, int], None]) -> Upgraded:
    """Every transcript that rules have read is read again by a model, oldest first."""
    if work.extractor.name == RULES:
        raise ConfigError(
            "No model reads conversations: name one as main in [models] of config.toml, "
            "and leave extract out of off."
        )
    chains = work.ledger.chains()
    waiting = candidates(work.home, chains, states.load(work.home), session)
    known = any(entry.session.startswith(session) for entry in chains.entries)
    if session and not waiting and not known:
        raise NotFound(f"No session {session!r} is in the log. `wakebook log` shows what is.")
    failed: dict[str, str] = {}
    entries = done = streak = batched = 0
    for number, path in enumerate(waiting, 1):
        try:
            report = reread(work, path)
        except TranscriptError as error:  # it was removed: its entries stay
            failed[path] = str(error)
            continue
        if report.waits:
            batched += 1
        elif report.held:
            failed[path] = report.held
            streak += 1
            if streak == PATIENCE:
                left = len(waiting) - number
                counts = {"transcripts": done, "entries": entries, "waiting": batched}
                return Upgraded(failed=failed, left=left, **counts)
        elif not report.busy:
            streak = 0
            done += 1
            entries += report.entries
        progress(path, number, len(waiting))
    return Upgraded(transcripts=done, entries=entries, failed=failed, waiting=batched)


# An upgrade and a rebuild both read a transcript here, so that both see what catching up saw: its
# turns, the log as it was, and the project that it was about.


def source_of(
    transcript: Transcript, now: datetime, projects: Projects = NONE, cwd: str = ""
) -> Source:
    """`cwd`: as far as state.json still knows it; older transcripts do not say it themselves."""
    front = transcript.front
    session = str(front.get("session_id") or "")
    return Source(
        ref=f"{front.get('host')}/{session}",
        session=session,
        path=transcript.path,
        number=int(front.get("window") or 1),
        last_at=clock.parse(front.get("ended")) or now,
        turns=transcript.turns,
        project=project_of(front, projects, cwd),
    )


def subject_of(project: str, old: Iterable[Entry], projects: Projects) -> str:
    """What a conversation is about: its project, or what an older reading says."""
    if project:
        return subject_of_project(projects, project)
    tags = [entry.subject for entry in old if entry.type == "handoff" and entry.subject]
    return tags[-1] if tags else ""


def read(
    extractor: Extractor, source: Source, scene: Scene, first: int = 0, last: int | None = None
) -> list[Draft]:
    """What an extractor finds in the turns from `first` on, piece by piece as it takes them.

    `scene` says what is known before; whether the window ends with the last turn, too.
    """
    said = source.messages()
    stop = len(said) if last is None else last
    drafts: list[Draft] = []
    closes = first == stop == len(said) and scene.ends  # all is read, the handoff is left
    while first < stop or closes:
        closes = False
        made = (draft.entry(source.session, source.last_at) for draft in drafts)
        known = [entry.with_(project=source.project) for entry in made]
        current = extract.after(scene.current, known) if known else scene.current
        ends = scene.ends and stop == len(said)
        seen = msgspec.structs.replace(scene, earlier=said[:first], current=current, ends=ends)
        found = extractor.read(said[first:stop], seen)
        drafts += found.drafts
        first += max(found.taken, 1)
    return drafts
