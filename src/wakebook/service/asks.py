"""What can be asked: the body of every request. A wrong field or type is told with its place."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

Moment = Annotated[datetime, Meta(tz=True)]
Count = Annotated[int, Meta(ge=0)]
Some = Annotated[int, Meta(ge=1)]
Share = Annotated[float, Meta(ge=0, le=1)]
Words = tuple[str, ...]
EntryType = Literal["task", "fact", "decision", "question", "handoff"]


class Ask(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request. Everything that has a default may be left out."""


class Nothing(Ask, frozen=True):
    """Asks for nothing in particular."""


class Filters(Ask, frozen=True):
    text: str = ""
    types: tuple[EntryType, ...] = ()
    subjects: Words = ()
    kinds: Words = ()
    status: Literal["", "open", "done", "answered"] = ""
    session: str = ""
    since: Moment | None = None
    until: Moment | None = None
    all: bool = False  # replaced entries too


class Search(Filters, frozen=True):
    categories: Words = ()
    host: str = ""
    limit: Count = 0  # 0: as many as [search] says
    min_score: Share | None = None
    sessions: bool = False  # whole conversations
    explain: bool = False


class Log(Filters, frozen=True):
    limit: Count = 20  # the newest; 0: all


class Get(Ask, frozen=True):
    ref: str  # an entry's id, session:ID, or a file of the home
    first: Count = 0
    lines: Count = 0


class Context(Ask, frozen=True):
    message: str = ""
    session: str = ""
    kind: Literal["", "main", "group", "subagent", "cron", "hook"] = ""
    budget: Count = 0  # tokens; 0: [context] budget
    have: Words = ()
    history: tuple[Any, ...] = ()
    topics: Words = ()
    paths: Words = ()
    skip: Words = ()  # slots that are not wanted now
    told: str = ""  # what the session was told before, and sees still


class Remember(Ask, frozen=True):
    text: str
    type: Literal["task", "fact", "decision", "question"] = "fact"
    subject: str = ""
    detail: str = ""
    replaces: Words = ()
    status: Literal["", "open", "done"] = ""
    pinned: bool = False


class Forget(Ask, frozen=True):
    ids: Annotated[Words, Meta(min_length=1)]
    chain: bool = False
    yes: bool = False  # without it nothing is changed: the answer says what would go


class CatchUp(Ask, frozen=True):
    session: str = ""
    paths: Words = ()
    closing: bool = False
    retry_failed: bool = False
    sparing: bool = False  # archive at once; a model reads only when enough is new


class Flush(Ask, frozen=True):
    session: str
    tokens: int | None = None
    window: int | None = None
    compactions: int | None = None
    paths: Words = ()  # where the session is, if that is known


class Observe(Ask, frozen=True):
    output: str
    session: str = ""
    paths: Words = ()


class Fire(Ask, frozen=True):
    source: str
    event: str = ""
    payload: str = ""
    session: str = ""


class Brief(Ask, frozen=True):
    ask: bool = True  # a model, if there is one


class Full(Ask, frozen=True):
    full: bool = False


class Doctor(Ask, frozen=True):
    quick: bool = False  # without what takes longer
    ask: bool = False  # the model, too: a question that costs a little


class Tick(Ask, frozen=True):
    names: Words = ()


class Commit(Ask, frozen=True):
    summary: str = ""


class Why(Ask, frozen=True):
    place: str  # FILE:LINE


class When(Ask, frozen=True):
    text: str


class Costs(Ask, frozen=True):
    by: Literal["operation", "model", "day"] = "operation"
    since: Moment | None = None


class Prune(Ask, frozen=True):
    messages: list[Any]
    window: Some
    idle_ms: int | None = None


class Slide(Ask, frozen=True):
    messages: list[Any]
    budget: Some
    session: str = ""
    anyway: bool = False


class Said(Ask, frozen=True):
    """Messages of your own agent's conversation, as OpenAI, Anthropic or LangChain have them."""

    messages: Annotated[tuple[dict[str, Any], ...], Meta(min_length=1)]
    channel: str = ""
    model: str = ""
    cwd: str = ""


class Turn(Ask, frozen=True):
    message: str = ""
    budget: Count = 0


class Call(Ask, frozen=True):
    """A tool's arguments, as tools.json has them; whether they fit is for the tool to say."""

    arguments: dict[str, Any] = {}
    session: str = ""
