"""Start: the subjects that a replay knows before its first conversation.

Everything that a person has made or changed: names, aliases, types, deletions. A subject that
rules came upon by themselves is left out: they come upon it again, at the same place, and not
before it was first mentioned. A model is shown all of them, so that names stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from wakebook.derive.extract import RULES, Scene
from wakebook.derive.rules import subjects as by_rules
from wakebook.derive.rules.finding import Finding
from wakebook.log import subjects
from wakebook.log.chains import Chains
from wakebook.log.entry import Entry
from wakebook.log.subjects import Registry, Subject


def registry(
    before: Registry, main: Chains, extractor: str, project: Callable[[Entry], str]
) -> Registry:
    """`project`: the working folder's subject of the conversation that an entry is from."""
    if extractor != RULES:
        return before
    first: dict[str, Entry] = {}
    for entry in main.entries:
        first.setdefault(entry.subject, entry)
    kept = {
        slug: item
        for slug, item in before.subjects.items()
        if not (_plain(item) and slug in first and _introduces(first[slug], project))
    }
    return Registry(kept)


def _plain(item: Subject) -> bool:
    return item == Subject(item.slug, subjects.title(item.slug))


def _introduces(entry: Entry, project: Callable[[Entry], str]) -> bool:
    """Whether rules would find the subject in this entry without knowing it."""
    if not entry.transcript:
        return False
    finding = Finding(entry.type, entry.content, detail=entry.detail)
    known = project(entry)
    return entry.subject in (known, by_rules.subject(finding, Scene(subject=known)))


def completed(
    after: Registry, before: Registry, used: Collection[str], was_used: Collection[str]
) -> Registry:
    """The registry of a new log: what it uses, as it was known, and what a person made.

    What nobody made and only the old log used is gone.
    """
    new = {slug: item for slug, item in after.subjects.items() if slug in used}
    kept = {
        slug: item
        for slug, item in before.subjects.items()
        if slug in used or slug not in was_used or not _plain(item)
    }
    return Registry(new | kept)
