"""Remember: an entry that a person or an agent writes directly, by hand."""

from __future__ import annotations

from collections.abc import Sequence

from wakebook.base import clock
from wakebook.base.errors import WakebookError
from wakebook.base.home import Home
from wakebook.capture import clean
from wakebook.log import log, subjects
from wakebook.log.chains import Chains, find_entry
from wakebook.log.entry import TYPES, Entry, new_id, validate


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
) -> Entry:
    """Under the writer lock. `replaces`: ids, or unique beginnings of them."""
    if type_ not in TYPES:
        raise WakebookError(f"type {type_!r} is not one of {', '.join(TYPES)}.")
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
            content=clean.redact(text.strip())[0],
            detail=clean.redact(detail.strip())[0],
            session="manual",
            subject=registry.for_entry(subject) if subject else "",
            replaces=tuple(one.id for one in old),
            status=(status or "open") if type_ == "task" else None,  # type: ignore[arg-type]
            pinned=pinned,
        )
    )
    if registry != before:  # first: a subject without entries harms nobody
        subjects.save(home, registry)
    log.append(home, [entry])
    return entry
