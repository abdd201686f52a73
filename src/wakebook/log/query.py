"""Query: what is asked, the same for every command and tool; and entries picked by it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from wakebook.base.config import AGENT

if TYPE_CHECKING:
    from wakebook.log.chains import Chains
    from wakebook.log.entry import Entry


class Scope(NamedTuple):
    """Where something is told, and so what may be told there.

    What belongs to one of these projects, and from all others what is about the user. Without
    projects, everything. What another OpenClaw agent has learned is for that agent alone."""

    projects: tuple[str, ...] | None = None  # keys; the empty one is for what belongs to none
    agents: tuple[str, ...] | None = None  # closed projects that are open here; None: all of them
    unread: tuple[str, ...] | None = ()  # projects whose transcripts are not told; None: all

    @property
    def here(self) -> str | None:
        """The project itself; empty outside of all, None for everything."""
        return self.projects[0] if self.projects else None

    def holds(self, project: str, own: bool) -> bool:
        """Whether something of this project may be told. `own`: it is about the user."""
        if project.startswith(AGENT):
            return self.agents is None or project in self.agents
        return self.projects is None or project in self.projects or (own and "" in self.projects)


EVERYTHING = Scope()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Query:
    """Words and filters. Filters narrow what may be found; words say what is wanted of it."""

    text: str = ""
    types: tuple[str, ...] = ()
    subjects: tuple[str, ...] = ()  # slugs or aliases
    kinds: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    files: bool = False  # of a category only its files, not the entries that stand in them
    status: str = ""  # open, done
    session: str = ""  # a session id, or its beginning
    host: str = ""
    since: datetime | None = None
    until: datetime | None = None  # exclusive
    all: bool = False  # replaced entries too
    projects: tuple[str, ...] = ()  # keys: what was said there, and nothing else
    scope: Scope = EVERYTHING

    @property
    def shows_replaced(self) -> bool:
        """An answered question is one that its answer replaced."""
        return self.all or self.status == "answered"

    @property
    def filtered(self) -> bool:
        """Whether anything but the words narrows the search."""
        return bool(
            self.types or self.subjects or self.kinds or self.categories or self.status
            or self.session or self.host or self.since or self.until or self.projects
        )  # fmt: skip


def pick(chains: Chains, query: Query, aliases: dict[str, str] | None = None) -> list[Entry]:
    """The entries that match, in log order. Subjects are canonical slugs."""
    words = [word.lower() for word in re.findall(r"\w+", query.text)]
    names = aliases or {}
    return [
        entry
        for entry in chains.entries
        if (query.shows_replaced or entry.id not in chains.replaced_by)
        and _matches(entry, query, chains, names)
        and (not words or _has_words(entry, words))
    ]


def _matches(entry: Entry, query: Query, chains: Chains, aliases: dict[str, str]) -> bool:
    return (
        (not query.types or entry.type in query.types)
        and (not query.subjects or aliases.get(entry.subject, entry.subject) in query.subjects)
        and (not query.kinds or entry.kind in query.kinds)
        and (not query.projects or entry.project in query.projects)
        and (not query.status or chains.status(entry) == query.status)
        and (not query.session or entry.session.startswith(query.session))
        and (query.since is None or entry.timestamp >= query.since)
        and (query.until is None or entry.timestamp < query.until)
    )


def _has_words(entry: Entry, words: list[str]) -> bool:
    text = f"{entry.content}\n{entry.detail}\n{entry.subject}".lower()
    return all(word in text for word in words)
