"""The verbs: one table of everything that can be asked of a memory from outside.

A row is a verb: its name, its meaning, the type of its answer, the call of the façade, and the
fields of its request, which msgspec checks. The paths of the service, their description in
OpenAPI, the service's client and the tools of agents are all made from these rows.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta
from msgspec.structs import asdict

from wakebook.base import decode as decoding
from wakebook.log.query import Query

Count = Annotated[int, Meta(ge=0)]
Some = Annotated[int, Meta(ge=1)]
Moment = Annotated[datetime, Meta(tz=True)] | None
Words = tuple[str, ...]


class Ask(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """A request. Everything that has a default may be left out."""


class Verb(NamedTuple):
    name: str
    about: str
    answers: str  # a type by its module; or "key: type", or "key: [type]" for a list of them
    does: Callable[[Any, Any], Any]  # with the memory, or a conversation, and the request
    asks: Any  # the fields of the request; in VERBS, the Struct that is made from them
    long: bool = False  # it may read whole conversations, or ask a model
    path: str = ""

    @property
    def needs(self) -> str:
        """What a bearer must be allowed to do: read, write or erase."""
        return "read" if self.name in READS else "erase" if self.name in ERASES else "write"

    def answer(self, of: Any, ask: Any) -> bytes:
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


def query_of(ask: Any) -> Query:
    given = asdict(ask)
    return Query(**{name: given[name] for name in Query.__slots__ if name in given})


def _search(m: Any, a: Any) -> Any:
    names = ("limit", "min_score", "sessions", "explain", "cwd", "everywhere")
    options = {name: getattr(a, name) for name in names}
    return m.search(query_of(a), **options)


def _transcripts(ask: Any) -> dict[str, Any]:
    """A request that names transcripts, as the façade takes it."""
    return asdict(ask) | {"paths": [Path(path) for path in ask.paths]}


READS = frozenset(  # verbs that change nothing
    "wake context told turns trial search get log topics status doctor audit jobs why when costs "
    "prune".split()
)
ERASES = frozenset(("forget", "erase"))
_asks = dict  # the fields of a request: each a type, or a type and its default
FILTERS = _asks(
    text=(str, ""),
    types=(tuple[Literal["fact", "decision", "task", "question", "handoff"], ...], ()),
    subjects=(Words, ()), kinds=(Words, ()), status=(Literal["", "open", "done", "answered"], ""),
    session=(str, ""), since=(Moment, None), until=(Moment, None),
    projects=(Words, ()),  # said there: names, folders or keys
    all=(bool, False),  # replaced entries too
)  # fmt: skip
PLACE = _asks(  # where it is asked: a folder, or a project by name; without one, everything
    cwd=(str, ""), project=(str, ""), everywhere=(bool, False)
)
_TABLE = (
    Verb("wake", "What a new session should be told.", "text: str",
         lambda m, a: m.wake(**asdict(a)), PLACE),
    Verb("context", "What an agent needs to know for a message.", "recall.slot.Context",
         lambda m, a: m.context(**asdict(a)), _asks(
             message=(str, ""), session=(str, ""),
             kind=(Literal["", "main", "group", "subagent", "cron", "hook"], ""),
             budget=(Count, 0),  # tokens; 0: [context] budget
             have=(Words, ()), history=(tuple[Any, ...], ()), topics=(Words, ()), paths=(Words, ()),
             skip=(Words, ()),  # slots that are not wanted now
             told=(str, ""),  # earlier context that the session still sees
             **PLACE)),
    Verb("told", "What a turn was really told, and what just missed.", "recall.told.Look",
         lambda m, a: m.told.look(a.turn), _asks(turn=str)),
    Verb("turns", "The turns that were told something, or nothing, oldest first.",
         "turns: [recall.told.TurnTold]",
         lambda m, a: m.told.turns(a.session)[-a.limit :], _asks(
             session=(str, ""), limit=(Some, 100))),
    Verb("trial", "What a message would be told now. Nothing counts as told.",
         "recall.slot.Context", lambda m, a: m.told.trial(**asdict(a)), _asks(
             message=str, budget=(Count, 0), project=(str, ""),
             session=(str, ""))),  # after all that it was told
    Verb("rate", "Say whether a finding of a turn was useful.", "recall.told.Told",
         lambda m, a: m.told.rate(**asdict(a)), _asks(
             turn=str, ref=str, useful=(bool | None, None))),  # null takes it back
    Verb("search", "Find what was said, learned or written.", "store.search.Found", _search, _asks(
         **FILTERS, categories=(Words, ()), host=(str, ""),
         limit=(Count, 0),  # 0: as many as [search] says
         min_score=(Annotated[float, Meta(ge=0, le=1)] | None, None),
         sessions=(bool, False),  # whole conversations
         explain=(bool, False),
         cwd=(str, ""), everywhere=(bool, False))),  # of what may be told there, or of everything
    Verb("get", "An entry with its history, a session, or lines of a file.", "recall.show.Shown",
         lambda m, a: m.get(**asdict(a)), _asks(
             ref=str,  # an entry's id, session:ID, or a file of the home
             first=(Count, 0), lines=(Count, 0))),
    Verb("log", "The newest entries, oldest first.", "entries: [log.entry.Entry]",
         lambda m, a: m.log.entries(query_of(a))[-a.limit :],  # 0: all
         _asks(**FILTERS, limit=(Count, 20))),
    Verb("remember", "Keep something by hand.", "log.entry.Entry",
         lambda m, a: m.remember(**asdict(a)), _asks(
             text=str, type_=(Literal["fact", "decision", "task", "question"], "fact"),
             subject=(str, ""), detail=(str, ""), replaces=(Words, ()),
             status=(Literal["", "open", "done"], ""), pinned=(bool, False),
             project=(str, ""), cwd=(str, ""),  # where it belongs
             origin=(str, ""))),  # a page, a mail: then it waits for the user's word
    Verb("handoff", "Leave a handoff, to be checked and kept when the session ends.", "id: str",
         lambda m, a: m.handoff(**asdict(a)), _asks(
             text=Annotated[str, Meta(min_length=1)], detail=(str, ""))),
    Verb("forget", "Take entries out of the log. Without `yes` it only says what would go.",
         "upkeep.forget.Forgetting",
         lambda m, a: (m.forget if a.yes else m.plan_forget)(a.ids, chain=a.chain), _asks(
             ids=Annotated[Words, Meta(min_length=1)], chain=(bool, False), yes=(bool, False))),
    Verb("erase", "Remove something for good. Without `yes` it only says what would go.",
         "upkeep.erase.Erasing", lambda m, a: m.eraser.asked(**asdict(a)), _asks(
             what=(str, ""),  # an entry's id, or a text
             session=(str, ""), since=(Moment, None), yes=(bool, False)), long=True),
    Verb("catch-up", "Read what was said since the last time.", "learn.catch_up.Sweep",
         lambda m, a: m.catch_up(**_transcripts(a)), _asks(
             session=(str, ""), paths=(Words, ()), closing=(bool, False),
             retry_failed=(bool, False),
             sparing=(bool, False),  # archive at once; a model reads only when enough is new
         ), long=True),
    Verb("flush", "Save a session before its host compacts it, and check that.",
         "learn.flush.Flushed", lambda m, a: m.flush(**_transcripts(a)), _asks(
             session=str, tokens=(int | None, None), window=(int | None, None),
             compactions=(int | None, None),
             paths=(Words, ()),  # where the session is, if that is known
         ), long=True),
    Verb("observe", "Look at what the agent itself has said.",
         "decisions: [recall.topics.activation.Decision]", lambda m, a: m.observe(**asdict(a)),
         _asks(output=str, session=(str, ""), paths=(Words, ()))),
    Verb("fire", "A webhook: topics that wait for it come with the next turn.",
         "fired: [recall.topics.book.Fired]", lambda m, a: m.topics.fire(**asdict(a)),
         _asks(source=str, event=(str, ""), payload=(str, ""), session=(str, ""))),
    Verb("topics", "The topics.", "topics: [recall.topics.topic.Topic]",
         lambda m, a: m.topics.read().topics, {}),
    Verb("status", "How the memory is doing.", "upkeep.status.Status", lambda m, a: m.status(), {}),
    Verb("doctor", "Check everything, and say what to run.", "checks: [upkeep.doctor.Check]",
         lambda m, a: m.doctor(**asdict(a)), _asks(
             quick=(bool, False),  # without the slow checks
             ask=(bool, False),  # the model, too: a question that costs a little
         ), long=True),
    Verb("audit", "Account for every session of every host.", "accounts: [learn.account.Account]",
         lambda m, a: m.audit(), {}),
    Verb("brief", "Write the briefing into MEMORY.md.", "notes.briefing.Brief",
         lambda m, a: m.notes.brief(ask=a.ask),
         _asks(ask=(bool, True)),  # a model, if there is one
         long=True),
    Verb("notes", "Bring the notes up to date.", "notes.write.Updated",
         lambda m, a: m.notes.update(full=a.full), _asks(full=(bool, False)), long=True),
    Verb("index", "Bring the search index up to date.", "store.sync.Synced",
         lambda m, a: m.index.sync(full=a.full), _asks(full=(bool, False)), long=True),
    Verb("jobs", "The jobs, when they ran and when they run next.", "jobs: [upkeep.jobs.JobStatus]",
         lambda m, a: m.jobs.listed(), {}),
    Verb("tick", "Run the jobs that are due, or those with these names.", "ran: [upkeep.jobs.Ran]",
         lambda m, a: m.tick(a.names), _asks(names=(Words, ())), long=True),
    Verb("commit", "Commit what is waiting to git, now.", "commit: str",
         lambda m, a: m.history.commit(a.summary) or "", _asks(summary=(str, "")), long=True),
    Verb("why", "Where a line of a note comes from.", "notes.why.Why",
         lambda m, a: m.notes.why(a.place), _asks(place=str)),  # FILE:LINE
    Verb("when", "When something was learned.", "history.past.Learned",
         lambda m, a: m.history.when(a.text), _asks(text=str)),
    Verb("costs", "What the models have cost.", "upkeep.status.Costs",
         lambda m, a: m.costs(**asdict(a)), _asks(
             by=(Literal["operation", "model", "day"], "operation"), since=(Moment, None))),
    Verb("prune", "Make the old tool results of a message list smaller.", "recall.prune.Pruned",
         lambda m, a: m.window.prune(**asdict(a)),
         _asks(messages=list[Any], window=Some, idle_ms=(int | None, None))),
    Verb("slide", "A message list that fits a budget: its oldest messages drop.",
         "recall.window.Slid", lambda m, a: m.window.slide(**asdict(a)), _asks(
             messages=list[Any], budget=Some, session=(str, ""), anyway=(bool, False)), long=True),
)  # fmt: skip
_SESSIONS = (  # verbs of a conversation of your own agent
    Verb("messages", "Write down what was said.", "ids: [str]",
         lambda chat, a: [chat.add(one) for one in a.messages], _asks(
             # as OpenAI, Anthropic or LangChain have them
             messages=Annotated[tuple[dict[str, Any], ...], Meta(min_length=1)],
             channel=(str, ""), model=(str, ""), cwd=(str, ""))),
    Verb("context", "What the agent should know for its next turn.", "recall.slot.Context",
         lambda chat, a: chat.context(**asdict(a)), _asks(message=(str, ""), budget=(Count, 0))),
    Verb("keep", "Learn from what was said so far.", "learn.catch_up.Sweep",
         lambda chat, a: chat.keep(), {}, long=True),
    Verb("end", "Learn from what was said, and leave a handoff.", "learn.catch_up.Sweep",
         lambda chat, a: chat.end(), {}, long=True),
)  # fmt: skip
TOOLS = {  # the tools of agents: a verb, and the names that they know its fields by
    "memory_search": ("search", {
        "query": "text", "maxResults": "limit", "minScore": "min_score", "type": "types",
        "subject": "subjects", "project": "projects", "includeReplaced": "all",
    }),
    "memory_get": ("get", {"path": "ref", "from": "first"}),
    "remember": ("remember", {"type": "type_"}),
    "handoff": ("handoff", {}),
    "forget": ("forget", {}),
    "context": ("context", {}),
}  # fmt: skip


class ToolCall(Ask, frozen=True):
    """A tool's arguments. The tool itself says what is wrong with them."""

    arguments: dict[str, Any] = {}
    session: str = ""


def request_of(tool: str, arguments: Mapping[str, Any]) -> Any:
    """The request that a tool's arguments make. A tool names one type or subject, not several."""
    name, fields = TOOLS[tool]
    given = {fields.get(key, key): value for key, value in arguments.items()}
    one = {key: (given[key],) for key in ("types", "subjects", "projects") if key in given}
    return VERBS[name].asks(**given | one)


def _made(verb: Verb, session: str = "") -> Verb:
    """A row with its path, and the Struct of its request."""
    fields = [(n, *kind) if isinstance(kind, tuple) else (n, kind) for n, kind in verb.asks.items()]
    name = f"{session}{verb.name}".title().replace("-", "")
    asks = msgspec.defstruct(name, fields, namespace={"__doc__": verb.about}, **_OPTIONS)
    path = f"/v1/sessions/{{id}}/{verb.name}" if session else f"/v1/{verb.name}"
    return verb._replace(asks=asks, path=path)


_OPTIONS: dict[str, Any] = {
    "bases": (Ask,), "module": __name__, "frozen": True, "kw_only": True,
    "rename": {"type_": "type"},
}  # fmt: skip
VERBS = {verb.name: _made(verb) for verb in _TABLE}
SESSIONS = {verb.name: _made(verb, "session-") for verb in _SESSIONS}
ALL = (*VERBS.values(), *SESSIONS.values())


def decode(body: bytes, type_: Any) -> Any:
    """A request. Raises msgspec.ValidationError or DecodeError with what is wrong, and where."""
    return decoding.decode(body.strip() or b"{}", type_)


def encode(value: Any) -> bytes:
    return msgspec.json.encode(value, enc_hook=plain)


def plain(value: Any) -> str:
    if isinstance(value, Path):
        return str(value)
    raise NotImplementedError(f"{type(value).__name__} is not for JSON")
