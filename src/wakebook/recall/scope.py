"""Scope: which projects a session or a person looks at, and what may be told there.

- A session is told what belongs to its project, what belongs to none, and what is about the user.
- What belongs to another project is told if the message names that project.
- What was said in a folder holds in the folders below it, too, not the other way round.
- An OpenClaw agent other than the main one is apart: what it has learned is told to nobody else,
  and it is told nothing else, unless [learn] joined_agents joins it to the main one.
- A project can be switched off, be read-only, or have its entries wait for a review: [projects].
- Nobody's folder: everything, as far as agents are not apart.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from wakebook.base.config import AGENT
from wakebook.base.words import terms
from wakebook.capture import project as projects
from wakebook.capture.project import agent_of
from wakebook.learn.about import is_own
from wakebook.log.entry import slugify
from wakebook.log.query import Scope

if TYPE_CHECKING:
    from wakebook.capture.project import Projects
    from wakebook.log.entry import Entry
    from wakebook.log.subjects import Registry
    from wakebook.opened import Opened

_OF_ALL = re.compile(  # what is in a folder: "rule for the whole repo: ..."
    r"(?i)\b(?:whole|entire|all over the|everywhere in (?:the|this)) (?:mono-?)?repo(?:sitory)?\b"
    r"|\b(?:every|each|all(?: the| our)?) (?:service|package|module|app|subproject)s?\b"
    r"|\b(?:ganze[sn]?|gesamte[sn]?) repo\w*|\balle \w*(?:dienste|pakete|module)\b"
    r"|\btodo el repo|\btout le (?:repo|d[ée]p[ôo]t)"
)
SHORTEST = 4  # characters of a name that a message may name a project by
# names of folders that are words of any message
COMMON = frozenset(
    "code test tests demo docs main site page work repo data tool tools game blog shop notes "
    "server client frontend backend project website scripts sandbox example examples config".split()
)


class Place(NamedTuple):
    """Where a session is, or a person looks from."""

    cwd: str = ""
    project: str = ""  # by key, name or folder
    everywhere: bool = False
    session_key: str = ""  # OpenClaw's


def scope(opened: Opened, place: Place, message: str = "") -> Scope:
    """What may be told at a place. Raises WakebookError for a project that is not known."""
    agent, known = agent_of(place.session_key), projects.load(opened.home)
    if not agent and (place.everywhere or not (place.cwd or place.project)):
        inside = bool(place.session_key or place.cwd)  # an agent, not a person
        agents = joined(opened, known) if inside else None
        return Scope(None, agents, waiting(opened, known))
    open_agents, unread = joined(opened, known), waiting(opened, known)
    here = known.find(place.project) if place.project else known.of(place.cwd, agent)
    if here.startswith(AGENT) and here not in open_agents:
        return Scope((here,), (here,), unread)
    named = [key for key in known.known if key != here and names(message, known.name(key))]
    wanted = dict.fromkeys((here, "", *named, *known.above(here)))
    open_ = [key for key in wanted if not key.startswith(AGENT)]
    return Scope((*open_, *open_agents), open_agents, unread)


class Inside:
    """What belongs to a place itself. Entries of older logs say only their transcript."""

    def __init__(self, opened: Opened, scope: Scope) -> None:
        self._opened, self._scope = opened, scope
        self._slug, self._above, self._around = "", tuple[str, ...](), tuple[str, ...]()
        if scope.here and not scope.here.startswith(AGENT):
            known = projects.load(opened.home)
            self._slug, self._above = slugify(known.name(scope.here)), known.above(scope.here)
            self._around = known.around(scope.here)

    @property
    def topic(self) -> frozenset[str]:
        """The terms of the project's name."""
        return terms(self._slug.replace("-", " "))

    @cached_property
    def _said_in(self) -> dict[str, str]:
        return self._opened.index.transcripts()

    def _project(self, project: str, transcript: str) -> str:
        return project or (self._said_in.get(transcript, "") if transcript else "")

    def has(self, project: str, transcript: str) -> bool:
        key, here = self._project(project, transcript), self._scope.here
        if here is None:
            return self._scope.holds(key, own=False)
        return key == here or (not here and key in (self._scope.agents or ()))

    def holds(self, entry: Entry) -> bool:
        """Said here, or elsewhere about this project by name, or what holds for all folders below
        the one that it was said in."""
        named = bool(self._slug) and entry.subject == self._slug
        key = self._project(entry.project, entry.transcript)
        wide = key in self._above or (
            key in self._around and _OF_ALL.search(f"{entry.content}\n{entry.detail}")
        )
        if wide and entry.type in ("fact", "decision"):
            return True
        return self.has(entry.project, entry.transcript) or (
            named and self._scope.holds(key, own=True)
        )

    def tells(self, entry: Entry) -> bool:
        """Whether it may be told here as something about the user."""
        key = self._project(entry.project, entry.transcript)
        if key and not entry.project:
            entry = entry.with_(project=key)
        return self._scope.holds(key, own=is_own(entry, self._registry))

    @cached_property
    def _registry(self) -> Registry:
        return self._opened.registry()


def joined(opened: Opened, known: Projects) -> tuple[str, ...]:
    """The agents that are not apart."""
    wanted = opened.config.learn.joined_agents
    apart = (key for key in known.known if key.startswith(AGENT))
    return tuple(key for key in apart if {"*", key.removeprefix(AGENT)} & set(wanted))


def is_for(opened: Opened, wanted: Collection[str], scope: Scope) -> bool:
    """Whether what is for some projects, by name, is for this place. For none: it is for all."""
    if not wanted or scope.here is None:
        return True
    known = projects.load(opened.home)
    return any(scope.here in known.called(name) for name in wanted)


def names(message: str, name: str) -> bool:
    """Whether a message names a project: "alpha-grid", "Alpha Grid"."""
    if len(name) < SHORTEST or name.casefold() in COMMON:
        return False
    loose = r"[-_ .]?".join(map(re.escape, re.split(r"[-_ .]+", name)))
    return re.search(rf"(?<!\w){loose}(?!\w)", message, re.IGNORECASE) is not None


def waiting(opened: Opened, known: Projects) -> tuple[str, ...] | None:
    """The projects whose conversations wait for a review; None: all."""
    if opened.config.learn.approve:
        return None
    modes = opened.config.projects.values()
    return tuple(key for key in known.known if modes and known.mode(key, modes) == "ask")
