"""The verbs: one table of what can be asked, and the only place that says so.

Each line is a path, a verb of the façade, what it asks and what it answers. The routes of the
app and the description at /openapi.json are both made from it. What comes in is decoded and
checked by msgspec: a wrong field or type is told with its place.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from wakebook.service import asks

if TYPE_CHECKING:
    from wakebook.memory import Memory


class Verb(NamedTuple):
    name: str  # of the path
    about: str
    asks: type[asks.Ask]
    does: Callable[[Any, Any], Any]  # with the memory, or a conversation, and what is asked
    answers: str  # a name of ANSWERS; or "key: name", or "key: [name]" for a list of them
    long: bool = False  # it may read whole conversations, or ask a model


def _search(memory: Memory, ask: asks.Search) -> Any:
    return memory.search(
        _query(ask, categories=ask.categories, host=ask.host),
        limit=ask.limit,
        min_score=ask.min_score,
        sessions=ask.sessions,
        explain=ask.explain,
    )


def _log(memory: Memory, ask: asks.Log) -> Any:
    found = memory.log.entries(_query(ask))
    return found[-ask.limit :] if ask.limit else found


def _query(ask: asks.Filters, **more: Any) -> Any:
    from wakebook.log.query import Query

    names = ("text", "types", "subjects", "kinds", "status", "session", "since", "until", "all")
    return Query(**{name: getattr(ask, name) for name in names}, **more)


def _context(memory: Memory, ask: asks.Context) -> Any:
    more = {name: getattr(ask, name) for name in ask.__struct_fields__ if name != "message"}
    return memory.context(ask.message, **more)


def _remember(memory: Memory, ask: asks.Remember) -> Any:
    return memory.remember(
        ask.text,
        type_=ask.type,
        subject=ask.subject,
        detail=ask.detail,
        replaces=ask.replaces,
        status=ask.status,
        pinned=ask.pinned,
    )


def _forget(memory: Memory, ask: asks.Forget) -> Any:
    return (memory.forget if ask.yes else memory.plan_forget)(ask.ids, chain=ask.chain)


def _catch_up(memory: Memory, ask: asks.CatchUp) -> Any:
    return memory.catch_up(
        [Path(path) for path in ask.paths],
        ask.session,
        closing=ask.closing,
        retry_failed=ask.retry_failed,
        sparing=ask.sparing,
    )


def _flush(memory: Memory, ask: asks.Flush) -> Any:
    return memory.flush(
        ask.session,
        tokens=ask.tokens,
        window=ask.window,
        compactions=ask.compactions,
        paths=[Path(path) for path in ask.paths],
    )


def _fire(memory: Memory, ask: asks.Fire) -> Any:
    return memory.topics.fire(ask.source, ask.event, payload=ask.payload, session=ask.session)


TABLE: tuple[Verb, ...] = (
    Verb(
        "wake",
        "What a new session should be told.",
        asks.Nothing,
        lambda m, a: m.wake(),
        "text: str",
    ),
    Verb(
        "context", "What an agent needs to know for a message.", asks.Context, _context, "Context"
    ),
    Verb("search", "Find what was said, learned or written.", asks.Search, _search, "Found"),
    Verb(
        "get",
        "An entry with its history, a session, or lines of a file.",
        asks.Get,
        lambda m, a: m.get(a.ref, a.first, a.lines),
        "Shown",
    ),
    Verb("log", "The newest entries, oldest first.", asks.Log, _log, "entries: [Entry]"),
    Verb("remember", "Keep something by hand.", asks.Remember, _remember, "Entry"),
    Verb(
        "forget",
        "Take entries out of the log. Without `yes` it only says what would go.",
        asks.Forget,
        _forget,
        "Forgetting",
    ),
    Verb(
        "catch-up",
        "Read what was said since the last time.",
        asks.CatchUp,
        _catch_up,
        "Sweep",
        long=True,
    ),
    Verb(
        "flush",
        "Save a session before its host compacts it, and check that.",
        asks.Flush,
        _flush,
        "Flushed",
        long=True,
    ),
    Verb(
        "observe",
        "Look at what the agent itself has said.",
        asks.Observe,
        lambda m, a: m.observe(a.output, session=a.session, paths=a.paths),
        "decisions: [Decision]",
    ),
    Verb(
        "fire",
        "A webhook: topics that wait for it come with the next turn.",
        asks.Fire,
        _fire,
        "fired: [Fired]",
    ),
    Verb(
        "topics",
        "The topics.",
        asks.Nothing,
        lambda m, a: m.topics.read().topics,
        "topics: [Topic]",
    ),
    Verb("status", "How the memory is doing.", asks.Nothing, lambda m, a: m.status(), "Status"),
    Verb(
        "doctor",
        "Check everything, and say what to run.",
        asks.Doctor,
        lambda m, a: m.doctor(quick=a.quick, ask=a.ask),
        "checks: [Check]",
        long=True,
    ),
    Verb(
        "audit",
        "Account for every session of every host.",
        asks.Nothing,
        lambda m, a: m.audit(),
        "accounts: [Account]",
    ),
    Verb(
        "brief",
        "Write the briefing into MEMORY.md.",
        asks.Brief,
        lambda m, a: m.notes.brief(ask=a.ask),
        "Brief",
        long=True,
    ),
    Verb(
        "notes",
        "Bring the notes up to date.",
        asks.Full,
        lambda m, a: m.notes.update(full=a.full),
        "Updated",
        long=True,
    ),
    Verb(
        "index",
        "Bring the search index up to date.",
        asks.Full,
        lambda m, a: m.index.sync(full=a.full),
        "Synced",
        long=True,
    ),
    Verb(
        "jobs",
        "The jobs, when they ran and when they run next.",
        asks.Nothing,
        lambda m, a: m.jobs.listed(),
        "jobs: [Standing]",
    ),
    Verb(
        "tick",
        "Run the jobs that are due, or those with these names.",
        asks.Tick,
        lambda m, a: m.tick(a.names),
        "ran: [Ran]",
        long=True,
    ),
    Verb(
        "commit",
        "Commit what is waiting to git, now.",
        asks.Commit,
        lambda m, a: m.history.commit(a.summary) or "",
        "commit: str",
        long=True,
    ),
    Verb(
        "why",
        "Where a line of a note comes from.",
        asks.Why,
        lambda m, a: m.notes.why(a.place),
        "Why",
    ),
    Verb(
        "when",
        "When something was learned.",
        asks.When,
        lambda m, a: m.history.when(a.text),
        "Learned",
    ),
    Verb(
        "costs",
        "What the models have cost.",
        asks.Costs,
        lambda m, a: m.costs(a.by, a.since),
        "Costs",
    ),
    Verb(
        "prune",
        "Make the old tool results of a message list smaller.",
        asks.Prune,
        lambda m, a: m.window.prune(a.messages, a.window, idle_ms=a.idle_ms),
        "Pruned",
    ),
    Verb(
        "slide",
        "A message list that fits a budget: its oldest messages drop.",
        asks.Slide,
        lambda m, a: m.window.slide(a.messages, a.budget, a.session, anyway=a.anyway),
        "Slid",
        long=True,
    ),
)


def _said(chat: Any, ask: asks.Said) -> list[str]:
    return [chat.add(one) for one in ask.messages]


SESSIONS: tuple[Verb, ...] = (  # of your own agent: what they do takes a conversation
    Verb("messages", "Write down what was said.", asks.Said, _said, "ids: [str]"),
    Verb(
        "context",
        "What the agent should know for its next turn.",
        asks.Turn,
        lambda chat, a: chat.context(a.message, budget=a.budget),
        "Context",
    ),
    Verb(
        "keep",
        "Learn from what was said so far.",
        asks.Nothing,
        lambda chat, a: chat.keep(),
        "Sweep",
        long=True,
    ),
    Verb(
        "end",
        "Learn from what was said, and leave a handoff.",
        asks.Nothing,
        lambda chat, a: chat.end(),
        "Sweep",
        long=True,
    ),
)


def answer(verb: Verb, memory: Memory, body: bytes) -> bytes:
    """What a verb answers to a request, both as JSON."""
    return _answered(verb, memory, decode(body, verb.asks))


def answer_session(verb: Verb, memory: Memory, name: str, body: bytes) -> bytes:
    """The same for a conversation of your own agent."""
    ask = decode(body, verb.asks)
    about = {key: getattr(ask, key, "") for key in ("channel", "model", "cwd")}
    return _answered(verb, memory.session(name, **about), ask)


def _answered(verb: Verb, of: Any, ask: Any) -> bytes:
    done = verb.does(of, ask)
    key, found, _ = verb.answers.partition(": ")
    return encode({key: done} if found else done)


def decode(body: bytes, type_: type[Any]) -> Any:
    """A request. Raises msgspec.ValidationError or DecodeError with what is wrong, and where."""
    return msgspec.json.decode(body.strip() or b"{}", type=type_)


def encode(value: Any) -> bytes:
    return msgspec.json.encode(value, enc_hook=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    raise NotImplementedError(f"{type(value).__name__} is not for JSON")


ANSWERS = {  # the types of answers -> where they are defined
    "Account": "learn.account",
    "Brief": "notes.brief",
    "Check": "upkeep.doctor",
    "Context": "recall.slot",
    "Costs": "upkeep.costs",
    "Decision": "recall.topics.activation",
    "Entry": "log.entry",
    "Fired": "recall.topics.fired",
    "Flushed": "learn.flush",
    "Forgetting": "upkeep.forget",
    "Found": "store.search",
    "Learned": "history.past",
    "Pruned": "recall.prune",
    "Ran": "upkeep.jobs",
    "Shown": "recall.show",
    "Slid": "recall.window",
    "Standing": "upkeep.jobs",
    "Status": "upkeep.status",
    "Sweep": "learn.catch_up",
    "Synced": "store.sync",
    "Topic": "recall.topics.topic",
    "Updated": "notes.write",
    "Why": "notes.why",
}


def answer_type(name: str) -> Any:
    from importlib import import_module

    return getattr(import_module(f"wakebook.{ANSWERS[name]}"), name)
