"""Query: the filters by which entries are picked, the same for every command and tool."""

from __future__ import annotations

import re
from datetime import datetime

import msgspec

from wakebook.log.chains import Chains
from wakebook.log.entry import Entry


class Query(msgspec.Struct, frozen=True, kw_only=True):
    text: str = ""  # every word must occur (case-insensitive) in content, detail or subject
    types: tuple[str, ...] = ()
    subjects: tuple[str, ...] = ()  # canonical slugs
    status: str = ""  # open, done
    session: str = ""  # a session id, or its beginning
    since: datetime | None = None
    until: datetime | None = None  # exclusive
    all: bool = False  # replaced entries too


def pick(chains: Chains, query: Query, aliases: dict[str, str] | None = None) -> list[Entry]:
    """The entries that match, in log order."""
    words = [word.lower() for word in re.findall(r"\w+", query.text)]
    names = aliases or {}
    return [
        entry
        for entry in chains.entries
        if (query.all or entry.id not in chains.replaced_by)
        and _matches(entry, query, chains, names)
        and (not words or _has_words(entry, words))
    ]


def _matches(entry: Entry, query: Query, chains: Chains, aliases: dict[str, str]) -> bool:
    return (
        (not query.types or entry.type in query.types)
        and (not query.subjects or aliases.get(entry.subject, entry.subject) in query.subjects)
        and (not query.status or status(entry, chains) == query.status)
        and (not query.session or entry.session.startswith(query.session))
        and (query.since is None or entry.timestamp >= query.since)
        and (query.until is None or entry.timestamp < query.until)
    )


def _has_words(entry: Entry, words: list[str]) -> bool:
    text = f"{entry.content}\n{entry.detail}\n{entry.subject}".lower()
    return all(word in text for word in words)


def status(entry: Entry, chains: Chains) -> str:
    """open, done, answered, or nothing where a status makes no sense."""
    if entry.type == "task":
        if entry.status == "open" and entry.id in chains.replaced_by:
            end = chains.by_id[chains.latest(entry.id)]  # reworded, or finished?
            return "replaced" if chains.is_open(end) else "done"
        return entry.status or ""
    if entry.type == "question":
        return "answered" if entry.id in chains.replaced_by else "open"
    return ""
