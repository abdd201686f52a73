"""What a host's event means, and the answer to it.

hosts.json says which event of a host is for what. What a host waits for is answered at once (wake,
context, steer, flush); the rest (keep, close, reset, sweep) is handed to `behind`. All of it is
`catch_up`, so an event that comes twice, late or never changes nothing but the moment.
"""

import json
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from time import time_ns
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec

from wakebook.base import clock
from wakebook.base.config import SLOTS
from wakebook.base.decode import decode
from wakebook.base.echo import CLOSE, wrap
from wakebook.base.errors import WakebookError
from wakebook.capture.project import load
from wakebook.capture.state import kind_of_key
from wakebook.hosts import HOSTS, told
from wakebook.memory import Memory
from wakebook.recall.slot import began
from wakebook.recall.tellings import keep
from wakebook.recall.texts import Once

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wakebook.learn.catch_up import Sweep
    from wakebook.recall.slot import Context

GOES_ON = ("compaction", "restart", "shutdown", "unknown")  # reasons of an OpenClaw "end"
FIXED = ("identity", "memory", "projects", "handoff", "journal")  # told when a session begins
PATIENCE = 0.5  # of the time box: a new session waits so long for the end of the one before
SMALLEST = 200  # tokens of a context
GOES_ON_MARK = "(told before)\n"
Payload = dict[str, Any]  # of an event, and of the answer
NOT_SAID = (  # how messages of a host begin that stand in the user's place
    "<task-notification>", "<subagent_notification>", "<local-command-", "<command-name>",
    "[System]",
)  # fmt: skip


class KnownHost(msgspec.Struct, frozen=True):
    """What is known of a host: its entry in hosts.json."""

    name: str
    label: str  # for people
    program: str  # its command
    folder: tuple[str, str]  # the variable that says where its files are, and their usual place
    events: dict[str, str]  # each is for: wake, context, steer, flush, keep, close, reset, sweep
    loads: tuple[str, ...]  # slots of a context that its agents have without us
    keeps: bool  # what a hook tells stays in the conversation
    answers: str  # the key of a context in what its hooks answer

    def answer(self, event: str, text: str) -> Payload:
        """A text as its hooks answer it."""
        if not text.strip():
            return {}
        shaped = {"hookEventName": event, "additionalContext": text}
        return {self.answers: shaped if self.answers == "hookSpecificOutput" else text}


@cache
def about(name: str) -> KnownHost:
    """Raises WakebookError for a name that is none."""
    if name not in HOSTS:
        raise WakebookError(f"There is no host {name!r}. There are: {', '.join(HOSTS)}.")
    return decode(Path(__file__).with_name("hosts.json").read_bytes(), dict[str, KnownHost])[name]


class Errand(NamedTuple):
    """What is done while the host goes on."""

    act: str  # keep, close, reset, sweep
    host: str = ""
    session: str = ""  # of a sweep: the one that began it
    path: str = ""
    folder: str = ""  # that the session works in


class Behind(Protocol):
    """Does the work that a host does not wait for."""

    def put(self, work: Errand) -> None: ...

    def wait(self, seconds: float) -> None:
        """Until what was put before is done, but not longer than this."""


def act_of(host: str, event: str) -> str:
    """What is done about an event. Raises WakebookError for one that is not known."""
    events = about(host).events
    if event not in events:
        known = ", ".join(name for name, act in events.items() if act)
        raise WakebookError(f"{host} has no event {event!r} for Wakebook. There are: {known}.")
    return events[event]


def answer(
    memory: Memory, host: str, event: str, payload: Payload, behind: Behind, asked: int = 0
) -> Payload:
    """What the host gets back; empty if there is nothing to say. `asked`: see `Told`."""
    act = act_of(host, event)
    moment = _Event(memory, host, payload, asked)
    found = ""
    if memory.opened.is_off(moment.text("cwd")):
        told.keep_start(str(memory.home.cache), host, moment.text("cwd"), b"")
        return {}
    moment.record_starts()
    if act == "wake":
        memory.sync_soon(moment.patience)
        behind.wait(moment.patience)
        found = moment.wake() if moment.text("source") in told.WAKING else moment.goes_on()
        behind.put(moment.work("sweep"))
    elif act == "context" and not (moment.by_machine and moment.host.keeps):
        if not moment.host.keeps or payload.get("first"):
            behind.wait(moment.patience)
        found = moment.turn()
    elif act == "steer":
        found = moment.steer()
    elif act == "flush":
        return moment.flush()
    elif act and act != "context":
        if act == "keep":
            moment.heard()
        behind.put(moment.work(act))
    return moment.host.answer(event, found)


def told_of(cache: Path, host: str, payload: Payload, asked: int = 0) -> told.Told:
    """What the session of an event has been told."""
    session = payload.get("session_id") or payload.get("session") or ""
    return told.Told(str(cache), host, session if isinstance(session, str) else "", asked)


def do(memory: Memory, work: Errand) -> None:
    """The work itself. Raises whatever goes wrong: the caller traces it."""
    _read(memory, work)
    for folder in {work.folder or told.ANYWHERE, told.ANYWHERE}:
        _Event(memory, work.host, {"cwd": folder}).keep()


def _read(memory: Memory, work: Errand) -> None:
    paths = [Path(work.path)] if work.path else []
    if work.act == "sweep":
        done = memory.catch_up(sparing=True)
        # as an answer that came too late: the next prompt brings it along
        own = told.Told(str(memory.home.cache), work.host, work.session, time_ns())
        own.note(_recovered(memory, work, done))
    elif work.path and not paths[0].exists():
        return  # a session that was opened and left: its host has written nothing
    elif work.act == "keep":
        memory.catch_up(paths, work.session, sparing=True)
    elif work.act == "close":
        memory.catch_up(paths, work.session, closing=True)
    elif not memory.catch_up(paths, work.session).closed:
        # a reset stands in the host's store itself, and ends the window there: it may come a
        # moment after its event, and the next window may have begun before we look
        clock.sleep(0.3)
        memory.catch_up(paths, work.session)


def _recovered(memory: Memory, work: Errand, done: "Sweep") -> str:
    """What a sweep has read that earlier sessions of the same project had left behind, for the
    session that began it: it was told all else before."""
    state, chains, lines = memory.opened.state(), memory.opened.chains(), []
    projects = load(memory.home)
    for report in done.reports if work.session and work.folder else ():
        known = state.sessions.get(report.ref)
        if known is None or known.id == work.session or not report.messages:
            continue
        if projects.of(known.cwd) != projects.of(work.folder):
            continue
        left = [one for one in chains.current() if (one.type, one.session) == ("handoff", known.id)]
        text = known.window.draft if known.window else left[-1].content if left else ""
        lines += [f"- {text or 'nothing is left of it'} (session {known.id})"]
    said = "Read after this session began, because no one had read it before:"
    return wrap("\n".join(["## Recovered", said, *lines])) if lines else ""


class _Event:
    """One event, and what it needs of the memory."""

    def __init__(self, memory: Memory, host: str, payload: Payload, asked: int = 0) -> None:
        self.memory = memory
        self.host = about(host)
        self.payload = payload
        self.session = self.text("session_id", "session")
        self.path = self.text("transcript_path", "path")
        self.told = told_of(memory.home.cache, host, payload, asked)

    def text(self, *names: str) -> str:
        for name in names:
            value = self.payload.get(name)
            if isinstance(value, str) and value:
                return value
        return ""

    @property
    def patience(self) -> float:
        return PATIENCE * float(self.memory.config.hooks.seconds)

    @property
    def by_machine(self) -> bool:
        """A prompt that no person typed: a subagent's, or a note that one has finished."""
        said = self.text("prompt").lstrip()
        return bool(self.text("agent_id")) or said.startswith(NOT_SAID)

    def wake(self) -> str:
        """What a session is told that knows nothing yet."""
        started = self.start()
        found = self.keep(started)
        self.told.begin()
        self.told.note(found)
        self.record("start", [started], found)
        return found

    def record(self, event: str, parts: "Sequence[Context]", text: str, **about: Any) -> None:
        """What this turn was told, for a person to look at."""
        if self.session or self.text("key"):
            about |= {"event": event, "host": self.host.name, "answer": self.told.waiting}
            session = self.session or self.text("key")
            keep(self.memory.opened, parts, session=session, text=text, **about)

    def record_starts(self) -> None:
        """Starts of this session that were told the kept text by a hook, which records nothing."""
        for asked, text in self.told.starts():
            here = self.memory.turns.scope(cwd=self.text("cwd")).here or ""
            said = datetime.fromtimestamp(asked / 1e9, UTC)
            self.record("start", [began(text, here)], text, timestamp=clock.iso(said))

    def keep(self, started: "Context | None" = None) -> str:
        """The text of a start, kept for one that has to be answered before all is read."""
        event = next((one for one, act in self.host.events.items() if act == "wake"), "")
        if not event:
            return ""
        found = (started or self.start()).text
        note = wrap(f"This is how things stood at {clock.iso(clock.now())}.") if found else ""
        fits = len(found) + len(note) <= self.memory.config.hooks.characters
        answer = self.host.answer(event, found + note if fits else found)
        body, folder = json.dumps(answer).encode() if found else b"", self.text("cwd")
        told.keep_start(str(self.memory.home.cache), self.host.name, folder, body)
        return found

    def goes_on(self) -> str:
        """A session that was told before, under this id or the one that it was forked from."""
        if not self.told.before():
            self.told.add(GOES_ON_MARK)
        return ""

    def turn(self) -> str:
        """What a message calls for, beside what the session sees already; and then what earlier
        ones called for, if that came too late."""
        message = "" if self.by_machine else self.text("prompt")
        keeps, earlier = self.host.keeps, ""  # or it is told everything, every time
        late: dict[str, str] = {}
        if self.payload.get("first"):
            self.told.begin()
        elif keeps:
            earlier = self.told.before()
            late = {name: unsaid(text, earlier) for name, text in self.told.late().items()}
        seen = earlier + "".join(late.values())
        parts = [] if seen else [self.start()]  # or the session began without us
        begins = "".join(one.text for one in parts)
        parts.append(self.context(message, seen or begins, len(begins)))
        found = "".join(one.text for one in parts)
        brought = []
        for name, text in late.items():
            if len(found) + len(text) <= self.memory.config.hooks.characters:
                found += text
                brought.append(name)
        if keeps:
            self.told.note(found, instead=tuple(brought))
        if message or found:
            names = tuple(name.removesuffix(".wait") for name in brought)
            self.record("prompt", parts, found, message=message, late=names)
        return found

    def start(self) -> "Context":
        settings, session = self.memory.config.hooks, self.text("key") or self.session
        most = max(settings.characters - 4 * settings.start, SMALLEST)
        start, budget = self.memory.turns.start, self.budget
        have, cwd = self.host.loads, self.text("cwd")
        return start(session, budget=budget, characters=most, have=have, cwd=cwd)

    def steer(self) -> str:
        """What a tool call brings: topics about its files, or about what the agent wrote with it.
        It comes while the agent is still at work, and once."""
        from wakebook.recall.topics.touched import touched

        given = next(filter(None, map(self.payload.get, ("tool_input", "params"))), None)
        paths, text = touched(given)
        if self.by_machine or not (paths or text):
            return ""
        decided = self.memory.observe(text, session=self.session, paths=paths)
        if not any(one.activated for one in decided):
            return ""
        most: Payload = {"budget": self.budget, "characters": self.memory.config.hooks.characters}
        skip = [name for name in SLOTS if name != "topics"]
        made = self.memory.context("", **self.whose, **most, skip=skip, record=False)
        found = made.text
        if found in self.told.before():
            return ""
        self.told.note(found)
        self.record("tool", [made], found, message=", ".join(paths))
        return found

    def heard(self) -> None:
        """What the agent has said: a topic that corrects it comes with the next turn."""
        said = self.text("last_assistant_message", "output")
        if said and self.session and not self.text("agent_id"):
            look = partial(self.memory.observe, said, session=self.session)
            self.memory.opened.quietly("topics", look)  # the session is read all the same

    @property
    def whose(self) -> Payload:
        """The session of a context, and its kind if OpenClaw's key tells of another than main."""
        kind = kind_of_key(self.text("key")) if self.text("key") else "main"
        named = {"session": self.session or self.text("key")}
        return named if kind == "main" else named | {"kind": kind}

    def context(self, message: str, told: str, before: int) -> "Context":
        """As much of a context as a host lets through, `before` characters being told already."""
        options: Payload = self.whose | {"told": told}
        options |= {"cwd": self.text("cwd"), "key": self.text("key")}
        options["characters"] = max(self.memory.config.hooks.characters - before, SMALLEST)
        options |= {"budget": self.budget, "have": self.host.loads, "skip": FIXED}
        return self.memory.context(message, **options, record=False)

    @property
    def budget(self) -> int:
        return max(self.memory.config.hooks.budget, SMALLEST)

    def flush(self) -> Payload:
        paths = [Path(self.path)] if self.path else []
        if not self.host.keeps:
            self.told.begin()  # what tool calls brought is compacted, too
        done = self.memory.flush(self.session, paths=paths)
        said = f"Wakebook has not saved this session yet: {done.why}"
        return {} if done.ok else {"systemMessage": said}

    def work(self, act: str) -> Errand:
        if not (self.session or self.path):
            act = "sweep"  # there is something to read, but no session is ended by that
        elif act == "reset" and self.text("reason") in GOES_ON:
            act = "keep"
        elif act == "reset" and self.text("reason") == "deleted":
            act = "close"
        about = (self.session, "" if act == "sweep" else self.path)
        return Errand(act, self.host.name, *about, self.text("cwd"))


def unsaid(text: str, earlier: str) -> str:
    """The lines of a text in fences that are new beside an earlier one."""
    if not earlier:
        return text
    once, kept = Once(), ""
    once.add(earlier)
    for part in text.split(f"{CLOSE}\n"):
        head, _, said = part.partition("\n\n")
        if fresh := once.fresh(said, "newer").strip():
            kept += f"{head}\n\n{fresh}\n{CLOSE}\n"
    return kept
