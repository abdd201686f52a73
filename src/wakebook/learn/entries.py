"""From archived turns to entries: what an extractor is shown, and what of its drafts is kept.

What an extractor proposes is never trusted with an entry's identity: id, timestamp and
session are set here, evidence must exist, and a draft that breaks the schema is traced as
rejected and left out.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import islice

import msgspec

from wakebook.base import clock, words
from wakebook.base.config import AGENT
from wakebook.base.errors import InvalidEntry, WakebookError
from wakebook.base.home import Home
from wakebook.capture import archive
from wakebook.capture import state as states
from wakebook.capture.archive import Turn
from wakebook.capture.project import Projects
from wakebook.capture.state import Pending, Progress, State
from wakebook.capture.transcript import Message
from wakebook.learn.extract import Draft
from wakebook.log import forgotten, log, subjects, waiting
from wakebook.log.chains import Chains, find_entry
from wakebook.log.entry import (
    ORIGIN,
    TYPES,
    Entry,
    as_dict,
    fitted,
    from_dict,
    new_id,
    slugify,
    too_large,
    validate,
)
from wakebook.log.forgotten import Forgotten
from wakebook.log.subjects import Registry

REACH = 2000  # of the newest entries


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """The archived window that drafts come from."""

    ref: str  # of the session
    session: str  # its id
    path: str  # of the transcript
    number: int  # of the window
    last_at: datetime
    turns: list[Turn]
    project: str = ""

    def messages(self) -> list[Message]:
        """The turns as an extractor sees them. Their ids are the same whenever they are read."""
        return [
            Message(
                role=turn.role,  # type: ignore[arg-type]
                text=turn.text,
                id=f"{self.session}/{self.number}/{turn.number}",
                at=turn.at,
                branch=turn.branch,
                turn=turn.number,
                tools=archive.tools(turn),
                report=turn.report,
            )
            for turn in self.turns
        ]


def related(chains: Chains, path: str = "") -> list[Entry]:
    """The current entries that new words may be about: all that is open, and the newest.

    How far it reaches back is counted in entries of other transcripts than this `path`,
    whether they hold or not: so it is the same in whatever portions a transcript is read.
    """
    newest: dict[str, Entry] = {}
    left = REACH
    for entry in reversed(chains.by_id.values()):
        if entry.transcript != path:
            if not left:
                break
            left -= 1
        if entry.id not in chains.replaced_by:
            newest[entry.id] = entry
    older = [entry for entry in chains.still_open.values() if entry.id not in newest]
    return older + list(reversed(newest.values()))


def replaced_in(chains: Chains, path: str) -> frozenset[str]:
    """What the replaced entries of a transcript say that is read now."""
    newest = islice(reversed(chains.by_id.values()), REACH)
    ours = (one for one in newest if one.transcript == path and one.id in chains.replaced_by)
    return frozenset(one.content for one in ours)


def complete(turns: Sequence[Turn]) -> int:
    """How many turns cannot grow any more: an agent's last turn still may."""
    count = len(turns)
    while count and turns[count - 1].role == "agent":
        count -= 1
    return count


def admitted(
    home: Home,
    drafts: Iterable[Draft],
    source: Source,
    chains: Chains,
    registry: Registry,
    now: datetime,
) -> list[Entry]:
    """The drafts as entries that are new to the log, and that were not forgotten."""
    entries: dict[str, Entry] = {}
    gone, asked = forgotten.load(home), waiting.read(home)
    for draft in drafts:
        entry = _entry(home, draft, source, registry, now)
        entry = entry and _not_outdated(home, entry, chains)
        entry = entry and _not_forgotten(home, entry, gone)
        if entry and entry.id not in chains.by_id and not asked.knows(entry.id):
            entries.setdefault(entry.id, entry)
    return list(entries.values())


def _entry(
    home: Home, draft: Draft, source: Source, registry: Registry, now: datetime
) -> Entry | None:
    heard = draft.heard  # in another window
    numbers = [number for number in draft.evidence if heard or 1 <= number <= len(source.turns)]
    said_at = source.turns[numbers[-1] - 1].at if numbers and not heard else source.last_at
    if heard and heard.at:
        said_at = heard.at
    entry = draft.entry(heard.session if heard else source.session, min(said_at, now)).with_(
        subject=registry.for_entry(draft.subject) if draft.subject else "",
        evidence=tuple(numbers),
        transcript=heard.transcript if heard else source.path,
        project=source.project,
    )
    try:
        return validate(fitted(entry))
    except InvalidEntry as error:
        home.trace("rejected", session=source.ref, reason=str(error), content=draft.content)
        return None


def _not_outdated(home: Home, entry: Entry, chains: Chains) -> Entry | None:
    """Older words never replace newer ones, in whatever order they were read.

    A correction of something that was said after it has been corrected itself by then: it
    stays in the transcript, and is not kept as if it held today.
    """
    kept = tuple(
        old
        for old in entry.replaces
        if old not in chains.by_id
        or chains.by_id[old].timestamp <= entry.timestamp
        or chains.by_id[old].transcript == entry.transcript
    )
    if kept == entry.replaces:
        return entry
    if kept:
        return entry.with_(replaces=kept)
    home.trace("outdated", session=entry.session, content=entry.content)
    return None


def _not_forgotten(home: Home, entry: Entry, gone: Forgotten) -> Entry | None:
    """What was taken out of the log does not come back, in whatever words."""
    kept = gone.without(entry, words.terms)
    if kept != entry:
        home.trace("forgotten", session=entry.session, entry=entry.id)
    return kept


def subject_of_project(projects: Projects, key: str) -> str:
    """The subject of what is said about a project without naming it."""
    return "" if not key or key.startswith(AGENT) else slugify(projects.name(key))


def parted(entries: Sequence[Entry], asks: bool) -> tuple[list[Entry], list[Entry]]:
    """Those for the log, and those that wait for the user: all, if the user is asked anyway, or
    what is not the user's own."""
    held = [one for one in entries if asks or one.extra.get(ORIGIN)]
    names = {one.id for one in held}
    kept = [one for one in entries if one.id not in names]
    return [
        one.with_(replaces=tuple(old for old in one.replaces if old not in names)) for one in kept
    ], held


# --- exactly once: entries get into the log together with the progress that they stand for ---
# 1. The batch, ids included, goes to state.json as pending.
# 2. The log is appended to in one write.
# 3. One write of state.json advances the progress and clears the batch.
#
# A process that finds a pending batch first finishes it (`settle`).
def settle(home: Home) -> State:
    """The state, after finishing what a crash left half done. Under the lock."""
    state = states.load(home)
    pending = state.pending
    if pending is None:
        return state
    log.set_torn_aside(home)
    written = {entry.id for entry in log.read(home, pending.log_size).entries}
    missing = [from_dict(raw) for raw in pending.entries if raw["id"] not in written]
    log.append(home, missing)
    waiting.add(home, map(from_dict, pending.held), {})
    _ensure_subjects(home, [str(raw.get("subject", "")) for raw in pending.entries])
    state = _after(state, pending.ref, pending.progress)
    states.save(home, state)
    home.trace("settled", session=pending.ref, entries=len(missing))
    return state


def append(
    home: Home,
    state: State,
    ref: str,
    after: Progress | None,
    entries: Sequence[Entry],
    types: Mapping[str, str] = {},
    held: Sequence[Entry] = (),
) -> None:
    """Put entries into the log and a session's progress into the state. Under the lock.

    `types`: what new subjects are, by slug. They come first: a subject alone does no harm. `held`:
    entries that wait for the user instead.
    """
    if entries or held:
        _ensure_subjects(home, [one.subject for one in entries if one.subject in types], types)
        log.set_torn_aside(home)
        size = home.log.stat().st_size if home.log.exists() else 0
        both = ([as_dict(entry) for entry in some] for some in (entries, held))
        pending = Pending(ref, size, next(both), after, next(both))
        states.save(home, msgspec.structs.replace(state, pending=pending))
        log.append(home, entries)
        waiting.add(home, held, types)
        _ensure_subjects(home, [entry.subject for entry in entries])
    states.save(home, _after(state, ref, after))


def _after(state: State, ref: str, progress: Progress | None) -> State:
    if progress is None:  # of a session that the state has long forgotten
        return msgspec.structs.replace(state, pending=None)
    return state.with_session(ref, progress, pending=None)


def _ensure_subjects(home: Home, names: Sequence[str], types: Mapping[str, str] = {}) -> None:
    registry = subjects.load(home)
    grown = registry.ensure(names, types)
    if grown != registry:
        subjects.save(home, grown)


def remember(
    home: Home,
    text: str,
    chains: Chains,
    *,
    type_: str,
    subject: str,
    detail: str,
    replaces: Sequence[str],
    status: str,
    pinned: bool,
    project: str = "",
    by: str = "",
    origin: str = "",
) -> Entry:
    """Keep what a person or an agent writes. Under the lock.

    `replaces`: ids, or unique beginnings of them. `by`: nothing for a person. `origin`: where it
    comes from if it is not the user's own; then it waits for the user, as what an agent writes
    does that would give orders. Raises InvalidEntry for more than an entry holds.
    """
    from wakebook.capture.secrets import redact

    if type_ not in TYPES:
        raise WakebookError(f"type {type_!r} is not one of {', '.join(TYPES)}.")
    if reason := too_large(text, detail):
        raise InvalidEntry(reason)
    old = [find_entry(chains, name) for name in replaces]
    before = registry = subjects.load(home)
    if not subject:  # a correction is about what it corrects
        known = (registry.for_entry(one.subject) for one in old if one.subject)
        subject = next((slug for slug in known if slug), "")
    if subject:
        subject = subjects.slug_of(subject)
        slug = registry.for_entry(subject)
        if not slug:
            raise WakebookError(
                f"The subject {subject!r} was deleted. Add it again, or use another one."
            )
        registry = registry.ensure([slug])
    entry = validate(
        Entry(
            id=new_id(),
            timestamp=clock.now(),
            type=type_,  # type: ignore[arg-type]
            content=redact(text.strip())[0],
            detail=redact(detail.strip())[0],
            session="manual",
            subject=registry.for_entry(subject) if subject else "",
            replaces=tuple(one.id for one in old),
            status=(status or "open") if type_ == "task" else None,  # type: ignore[arg-type]
            pinned=pinned,
            project=project,
            by=by,
            extra={ORIGIN: whence} if (whence := origin or _ordered(text, detail, by)) else {},
        )
    )
    if entry.extra:
        waiting.add(home, [entry], {})
        return entry
    if registry != before:  # first: a subject without entries does no harm
        subjects.save(home, registry)
    log.append(home, [entry])
    return entry


def _ordered(text: str, detail: str, by: str) -> str:
    """Where an agent's words seem to come from, if they give orders to those who read them."""
    if not by:
        return ""
    from wakebook.learn.judge.verdict import suspicious

    return f"an agent: {why}" if (why := suspicious(f"{text}\n{detail}", False)) else ""
