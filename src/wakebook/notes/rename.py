"""Rename: a subject gets another name, or becomes part of another one, everywhere."""

from __future__ import annotations

from wakebook.base.errors import NotFound, WakebookError
from wakebook.base.home import Home
from wakebook.history.history import History
from wakebook.log import subjects


def rename(
    home: Home, history: History, old: str, new: str, *, merge: bool = False
) -> tuple[str, int]:
    """The new slug, and how many entries changed. Under the writer lock, between two commits."""
    registry = subjects.load(home)
    source = registry.get(old).slug
    target = subjects.slug_of(new)
    target = registry.canonical(target) if merge else target
    after = subjects.rename(registry, old, target)
    exists = target in registry.subjects and not registry.subjects[target].deleted
    if exists and not merge:
        raise WakebookError(
            f"{target!r} exists already. `wakebook subjects merge {source} {target}` "
            "puts the two together."
        )
    if merge and not exists:
        raise NotFound(f"There is no subject {new!r} to merge into.")
    history.log(f"before {source} becomes {target}")
    # the registry first: its alias already leads from the old name to the new one
    subjects.save(home, after)
    changed = subjects.rewrite_log(home, source, target)
    history.log(f"{'merge' if merge else 'rename'} subject {source} to {target}")
    return target, changed
