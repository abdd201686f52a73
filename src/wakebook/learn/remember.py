"""Remember: an entry that a person or an agent writes directly, by hand."""

from __future__ import annotations

from collections.abc import Sequence

from wakebook.base import clock
from wakebook.base.errors import WakebookError
from wakebook.base.home import Home
from wakebook.capture import clean
from wakebook.log import log, subjects
from wakebook.log.entry import TYPES, Entry, new_id, validate
from wakebook.log.subjects import Registry


def remember(
    home: Home,
    text: str,
    *,
    type_: str,
    subject: str,
    detail: str,
    replaces: Sequence[str],
    status: str,
    pinned: bool,
) -> Entry:
    """Under the writer lock. `replaces`: ids that exist."""
    if type_ not in TYPES:
        raise WakebookError(f"type {type_!r} is not one of {', '.join(TYPES)}.")
    before = registry = subjects.load(home)
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
            content=clean.redact(text.strip())[0],
            detail=clean.redact(detail.strip())[0],
            session="manual",
            subject=registry.for_entry(subject) if subject else "",
            replaces=tuple(replaces),
            status=(status or "open") if type_ == "task" else None,  # type: ignore[arg-type]
            pinned=pinned,
        )
    )
    if registry != before:  # first: a subject without entries harms nobody
        subjects.save(home, registry)
    log.append(home, [entry])
    return entry


def subject_of(entries: Sequence[Entry], registry: Registry) -> str:
    """What entries are about, if that is still a subject."""
    found = (registry.for_entry(one.subject) for one in entries if one.subject)
    return next((slug for slug in found if slug), "")
