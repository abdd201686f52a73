"""The verbs: one table of everything that can be asked of a memory from outside.

A row is a request: its fields, which msgspec checks, the call of the façade, and the type of the
answer. The paths of the service, their description in OpenAPI, the service's client and the
tools of agents are all made from these rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeVar

import msgspec
from msgspec import Meta
from msgspec.structs import asdict

if TYPE_CHECKING:
    from wakebook.log.query import Query

Moment = Annotated[datetime, Meta(tz=True)]
Count = Annotated[int, Meta(ge=0)]
Some = Annotated[int, Meta(ge=1)]
Share = Annotated[float, Meta(ge=0, le=1)]
Words = tuple[str, ...]
T = TypeVar("T", bound="type[Ask]")


class Ask(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """A request. Everything that has a default may be left out."""


class Verb(NamedTuple):
    name: str
    path: str
    about: str
    asks: type[Ask]
    does: Callable[[Any, Any], Any]  # with the memory, or a conversation, and the request
    answers: str  # a type by its module; or "key: type", or "key: [type]" for a list of them
    long: bool  # it may read whole conversations, or ask a model

    def answer(self, of: Any, ask: Ask) -> bytes:
        """The answer of a memory, or a conversation, as JSON."""
        done = self.does(of, ask)
        key, found, _ = self.answers.partition(": ")
        return encode({key: done} if found else done)

    def answer_type(self) -> Any:
        """Of the answer, or of what stands under its key."""
        key, _, name = self.answers.partition(": ")
        module, _, kind = (name or key).strip("[]").rpartition(".")
        type_: Any = getattr(import_module(f"wakebook.{module}"), kind) if module else str
        return list[type_] if name.startswith("[") else type_


VERBS: dict[str, Verb] = {}
SESSIONS: dict[str, Verb] = {}  # verbs of a conversation of your own agent


def verb(
    answers: str, does: Callable[[Any, Any], Any], *, long: bool = False, session: str = ""
) -> Callable[[T], T]:
    """A row of the table. It is named after its request, or as a verb of a session."""

    def added(asks: T) -> T:
        name = session or re.sub(r"(?<!^)(?=[A-Z])", "-", asks.__name__).lower()
        path = f"/v1/sessions/{{id}}/{name}" if session else f"/v1/{name}"
        row = Verb(name, path, asks.__doc__ or "", asks, does, answers, long)
        (SESSIONS if session else VERBS)[name] = row
        return asks

    return added


def query_of(ask: Filters) -> Query:
    from wakebook.log.query import Query

    given = asdict(ask)
    return Query(**{name: given[name] for name in Query.__slots__ if name in given})


def _search(m: Any, ask: Search) -> Any:
    options = {name: getattr(ask, name) for name in ("limit", "min_score", "sessions", "explain")}
    return m.search(query_of(ask), **options)


def _log(m: Any, ask: Log) -> Any:
    found = m.log.entries(query_of(ask))
    return found[-ask.limit :] if ask.limit else found


def _transcripts(ask: CatchUp | Flush) -> dict[str, Any]:
    """A request that names transcripts, as the façade takes it."""
    return asdict(ask) | {"paths": [Path(path) for path in ask.paths]}


# --- the table ---------------------------------------------------------------------------


@verb("text: str", lambda m, a: m.wake())
class Wake(Ask, frozen=True):
    """What a new session should be told."""


@verb("recall.slot.Context", lambda m, a: m.context(**asdict(a)))
class Context(Ask, frozen=True):
    """What an agent needs to know for a message."""

    message: str = ""
    session: str = ""
    kind: Literal["", "main", "group", "subagent", "cron", "hook"] = ""
    budget: Count = 0  # tokens; 0: [context] budget
    have: Words = ()
    history: tuple[Any, ...] = ()
    topics: Words = ()
    paths: Words = ()
    skip: Words = ()  # slots that are not wanted now
    told: str = ""  # earlier context that the session still sees


class Filters(Ask, frozen=True):
    text: str = ""
    types: tuple[Literal["fact", "decision", "task", "question", "handoff"], ...] = ()
    subjects: Words = ()
    kinds: Words = ()
    status: Literal["", "open", "done", "answered"] = ""
    session: str = ""
    since: Moment | None = None
    until: Moment | None = None
    all: bool = False  # replaced entries too


@verb("store.search.Found", _search)
class Search(Filters, frozen=True):
    """Find what was said, learned or written."""

    categories: Words = ()
    host: str = ""
    limit: Count = 0  # 0: as many as [search] says
    min_score: Share | None = None
    sessions: bool = False  # whole conversations
    explain: bool = False


@verb("recall.show.Shown", lambda m, a: m.get(**asdict(a)))
class Get(Ask, frozen=True):
    """An entry with its history, a session, or lines of a file."""

    ref: str  # an entry's id, session:ID, or a file of the home
    first: Count = 0
    lines: Count = 0


@verb("entries: [log.entry.Entry]", _log)
class Log(Filters, frozen=True):
    """The newest entries, oldest first."""

    limit: Count = 20  # 0: all


@verb("log.entry.Entry", lambda m, a: m.remember(**asdict(a)))
class Remember(Ask, frozen=True, rename={"type_": "type"}):
    """Keep something by hand."""

    text: str
    type_: Literal["fact", "decision", "task", "question"] = "fact"
    subject: str = ""
    detail: str = ""
    replaces: Words = ()
    status: Literal["", "open", "done"] = ""
    pinned: bool = False


@verb(
    "upkeep.forget.Forgetting",
    lambda m, a: (m.forget if a.yes else m.plan_forget)(a.ids, chain=a.chain),
)
class Forget(Ask, frozen=True):
    """Take entries out of the log. Without `yes` it only says what would go."""

    ids: Annotated[Words, Meta(min_length=1)]
    chain: bool = False
    yes: bool = False


@verb("learn.catch_up.Sweep", lambda m, a: m.catch_up(**_transcripts(a)), long=True)
class CatchUp(Ask, frozen=True):
    """Read what was said since the last time."""

    session: str = ""
    paths: Words = ()
    closing: bool = False
    retry_failed: bool = False
    sparing: bool = False  # archive at once; a model reads only when enough is new


@verb("learn.flush.Flushed", lambda m, a: m.flush(**_transcripts(a)), long=True)
class Flush(Ask, frozen=True):
    """Save a session before its host compacts it, and check that."""

    session: str
    tokens: int | None = None
    window: int | None = None
    compactions: int | None = None
    paths: Words = ()  # where the session is, if that is known


@verb("decisions: [recall.topics.activation.Decision]", lambda m, a: m.observe(**asdict(a)))
class Observe(Ask, frozen=True):
    """Look at what the agent itself has said."""

    output: str
    session: str = ""
    paths: Words = ()


@verb("fired: [recall.topics.fired.Fired]", lambda m, a: m.topics.fire(**asdict(a)))
class Fire(Ask, frozen=True):
    """A webhook: topics that wait for it come with the next turn."""

    source: str
    event: str = ""
    payload: str = ""
    session: str = ""


@verb("topics: [recall.topics.topic.Topic]", lambda m, a: m.topics.read().topics)
class Topics(Ask, frozen=True):
    """The topics."""


@verb("upkeep.status.Status", lambda m, a: m.status())
class Status(Ask, frozen=True):
    """How the memory is doing."""


@verb("checks: [upkeep.doctor.Check]", lambda m, a: m.doctor(**asdict(a)), long=True)
class Doctor(Ask, frozen=True):
    """Check everything, and say what to run."""

    quick: bool = False  # without the slow checks
    ask: bool = False  # the model, too: a question that costs a little


@verb("accounts: [learn.account.Account]", lambda m, a: m.audit())
class Audit(Ask, frozen=True):
    """Account for every session of every host."""


@verb("notes.brief.Brief", lambda m, a: m.notes.brief(ask=a.ask), long=True)
class Brief(Ask, frozen=True):
    """Write the briefing into MEMORY.md."""

    ask: bool = True  # a model, if there is one


@verb("notes.write.Updated", lambda m, a: m.notes.update(full=a.full), long=True)
class Notes(Ask, frozen=True):
    """Bring the notes up to date."""

    full: bool = False


@verb("store.sync.Synced", lambda m, a: m.index.sync(full=a.full), long=True)
class Index(Ask, frozen=True):
    """Bring the search index up to date."""

    full: bool = False


@verb("jobs: [upkeep.jobs.Standing]", lambda m, a: m.jobs.listed())
class Jobs(Ask, frozen=True):
    """The jobs, when they ran and when they run next."""


@verb("ran: [upkeep.jobs.Ran]", lambda m, a: m.tick(a.names), long=True)
class Tick(Ask, frozen=True):
    """Run the jobs that are due, or those with these names."""

    names: Words = ()


@verb("commit: str", lambda m, a: m.history.commit(a.summary) or "", long=True)
class Commit(Ask, frozen=True):
    """Commit what is waiting to git, now."""

    summary: str = ""


@verb("notes.why.Why", lambda m, a: m.notes.why(a.place))
class Why(Ask, frozen=True):
    """Where a line of a note comes from."""

    place: str  # FILE:LINE


@verb("history.past.Learned", lambda m, a: m.history.when(a.text))
class When(Ask, frozen=True):
    """When something was learned."""

    text: str


@verb("upkeep.costs.Costs", lambda m, a: m.costs(**asdict(a)))
class Costs(Ask, frozen=True):
    """What the models have cost."""

    by: Literal["operation", "model", "day"] = "operation"
    since: Moment | None = None


@verb("recall.prune.Pruned", lambda m, a: m.window.prune(**asdict(a)))
class Prune(Ask, frozen=True):
    """Make the old tool results of a message list smaller."""

    messages: list[Any]
    window: Some
    idle_ms: int | None = None


@verb("recall.window.Slid", lambda m, a: m.window.slide(**asdict(a)), long=True)
class Slide(Ask, frozen=True):
    """A message list that fits a budget: its oldest messages drop."""

    messages: list[Any]
    budget: Some
    session: str = ""
    anyway: bool = False


@verb("ids: [str]", lambda chat, a: [chat.add(one) for one in a.messages], session="messages")
class Messages(Ask, frozen=True):
    """Write down what was said."""

    messages: Annotated[tuple[dict[str, Any], ...], Meta(min_length=1)]
    channel: str = ""
    model: str = ""
    cwd: str = ""


@verb("recall.slot.Context", lambda chat, a: chat.context(**asdict(a)), session="context")
class Turn(Ask, frozen=True):
    """What the agent should know for its next turn."""

    message: str = ""
    budget: Count = 0


@verb("learn.catch_up.Sweep", lambda chat, a: chat.keep(), session="keep", long=True)
class Keep(Ask, frozen=True):
    """Learn from what was said so far."""


@verb("learn.catch_up.Sweep", lambda chat, a: chat.end(), session="end", long=True)
class End(Ask, frozen=True):
    """Learn from what was said, and leave a handoff."""


class ToolCall(Ask, frozen=True):
    """A tool's arguments. The tool itself says what is wrong with them."""

    arguments: dict[str, Any] = {}
    session: str = ""


def decode(body: bytes, type_: type[Any]) -> Any:
    """A request. Raises msgspec.ValidationError or DecodeError with what is wrong, and where."""
    return msgspec.json.decode(body.strip() or b"{}", type=type_)


def encode(value: Any) -> bytes:
    return msgspec.json.encode(value, enc_hook=plain)


def plain(value: Any) -> str:
    if isinstance(value, Path):
        return str(value)
    raise NotImplementedError(f"{type(value).__name__} is not for JSON")
