"""Topic: a playbook with triggers, as its file says."""

from __future__ import annotations

import msgspec

from wakebook.models.text import whole

TYPES = (
    "pattern",
    "keyword",
    "glob",
    "mention",
    "url",
    "code",
    "language",
    "urgency",
    "webhook",
    "cron",
)
SCOPES = ("input", "output", "both")
ACTIVATIONS = ("auto", "gated", "manual")
PRIORITIES = ("low", "medium", "high", "critical")
MAX_CONTEXT_KB = 4.0
UNFILLED = "## Instructions\n\n1. What the agent should do when this comes up."


class Trigger(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    type: str
    match: tuple[str, ...] = ()
    scope: str = "input"  # input, output, both
    hint: str = ""  # what to tell the agent on its next turn, if its own words matched
    source: str = ""  # of a webhook
    event: str = ""  # of a webhook; empty: any
    schedule: str = ""  # of a cron trigger

    def sees(self, direction: str) -> bool:
        return self.scope in (direction, "both")

    @property
    def label(self) -> str:
        """For people: what kind of trigger, and what it looks for."""
        what = ", ".join(self.match) or self.schedule or ":".join(filter(None, self.place))
        return f"{self.type} {what}".strip()

    @property
    def place(self) -> tuple[str, str]:
        return self.source, self.event


class Topic(msgspec.Struct, frozen=True, kw_only=True):
    name: str  # its path below topics/, without .md
    path: str  # below the home
    title: str = ""
    description: str = ""
    triggers: tuple[Trigger, ...] = ()
    subscriptions: tuple[str, ...] = ()
    activation: str = "gated"
    priority: str = "medium"
    threshold: float | None = None  # its own, instead of the settings'
    max_context_kb: float = MAX_CONTEXT_KB
    body: str = ""

    @property
    def rank(self) -> int:
        """The higher, the more important."""
        return PRIORITIES.index(self.priority)

    @property
    def about(self) -> str:
        """What it is about, in a line."""
        return self.description or first_words(self.body) or self.title or self.name

    @property
    def is_filled_in(self) -> bool:
        """Whether somebody has said what the agent should do."""
        return self.body.strip() != UNFILLED

    def hint(self, trigger: Trigger) -> str:
        return trigger.hint or self.about


class BadTopic(msgspec.Struct, frozen=True):
    """A file that is no topic, or not yet."""

    path: str
    line: int
    problem: str

    def __str__(self) -> str:
        return f"{whole(self.path)}:{self.line}: {self.problem}"


def first_words(body: str) -> str:
    """The first line that is no heading."""
    lines = (line.strip() for line in body.splitlines())
    return next((line for line in lines if line and not line.startswith("#")), "")
