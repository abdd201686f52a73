"""What a host's event means, and the answer to it.

hosts.json says which event of a host is for what. What a host waits for is answered at once (wake,
context, flush); the rest (keep, close, reset, sweep) is handed to `behind`. All of it is
`catch_up`, so an event that comes twice, late or never changes nothing but the moment.
"""

import hashlib
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import msgspec

from wakebook.base import clock
from wakebook.base.decode import decode
from wakebook.base.errors import WakebookError
from wakebook.base.home import Home
from wakebook.hosts import HOSTS
from wakebook.memory import Memory

WAKING = ("", "startup", "clear", "compact")  # sources of a session that knows nothing yet
GOES_ON = ("compaction", "restart", "shutdown", "unknown")  # reasons of an OpenClaw "end"
FIXED = ("identity", "memory", "projects", "handoff", "journal")  # told when a session begins
PATIENCE = 0.5  # of the time box: a new session waits so long for the end of the one before
SMALLEST = 200  # tokens of a context
GOES_ON_MARK = "(told before)\n"
TOLD_BYTES = 200_000  # of what a session was told; older words have mostly been compacted by then
TOLD_SECONDS = 14 * 86_400.0  # that they are kept
Payload = dict[str, Any]  # of an event, and of the answer
NOT_SAID = ("<task-notification>", "<subagent_notification>", "<local-command-", "<command-name>")


class About(msgspec.Struct, frozen=True):
    """What is known of a host: its entry in hosts.json."""

    name: str
    label: str  # for people
    program: str  # its command
    folder: tuple[str, str]  # the variable that says where its files are, and their usual place
    events: dict[str, str]  # each is for: wake, context, flush, keep, close, reset, sweep or ""
    loads: tuple[str, ...]  # slots of a context that its agents have without us
    keeps: bool  # what a hook tells stays in the conversation
    answers: str  # the key of a context in what its hooks answer


@cache
def about(name: str) -> About:
    """Raises WakebookError for a name that is none."""
    if name not in HOSTS:
        raise WakebookError(f"There is no host {name!r}. There are: {', '.join(HOSTS)}.")
    return decode(Path(__file__).with_name("hosts.json").read_bytes(), dict[str, About])[name]


class Work(NamedTuple):
    """What is done while the host goes on."""

    act: str  # keep, close, reset, sweep
    host: str = ""
    session: str = ""
    path: str = ""


class Behind(Protocol):
    """Does the work that a host does not wait for."""

    def put(self, work: Work) -> None: ...

    def wait(self, seconds: float) -> None:
        """Until what was put before is done, but not longer than this."""


def act_of(host: str, event: str) -> str:
    """What is done about an event. Raises WakebookError for one that is not known."""
    events = about(host).events
    if event not in events:
        known = ", ".join(name for name, act in events.items() if act)
        raise WakebookError(f"{host} has no event {event!r} for Wakebook. There are: {known}.")
    return events[event]


def answer(memory: Memory, host: str, event: str, payload: Payload, behind: Behind) -> Payload:
    """What the host gets back; empty if there is nothing to say."""
    act = act_of(host, event)
    moment = _Event(memory, host, payload)
    found = ""
    if act == "wake":
        behind.wait(moment.patience)
        found = moment.wake() if moment.text("source") in WAKING else moment.goes_on()
        behind.put(Work("sweep", host))
    elif act == "context" and not moment.by_machine:
        if not moment.host.keeps or payload.get("first"):
            behind.wait(moment.patience)
        found = moment.turn()
    elif act == "flush":
        return moment.flush()
    elif act and act != "context":
        behind.put(moment.work(act))
    if not found.strip():
        return {}
    key, told = moment.host.answers, {"hookEventName": event, "additionalContext": found}
    return {key: told if key == "hookSpecificOutput" else found}


def undelivered(memory: Memory, host: str, payload: Payload) -> None:
    """The host did not wait for the answer: its session has been told nothing."""
    _Event(memory, host, payload).told.forget()


def do(memory: Memory, work: Work) -> None:
    """The work itself. Raises whatever goes wrong: the caller traces it."""
    paths = [Path(work.path)] if work.path else []
    if work.act == "sweep":
        memory.catch_up(sparing=True)
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


class Told:
    """What a session has been told by hooks, and still sees: so that no turn tells it again. It is
    kept in .cache/told/, one file a session; without it a turn only says something twice."""

    def __init__(self, home: Home, host: str, session: str) -> None:
        name = hashlib.sha256(f"{host}/{session}".encode("utf-8", "replace")).hexdigest()[:24]
        self._home = home
        self._path = home.cache / "told" / f"{name}.md" if session else None

    def before(self) -> str:
        try:
            return self._path.read_text(encoding="utf-8", errors="replace") if self._path else ""
        except OSError:
            return ""

    def begin(self, text: str) -> None:
        """A session that knows nothing yet is told this."""
        if self._path is None:
            return
        oldest = clock.now().timestamp() - TOLD_SECONDS
        with suppress(OSError):
            for path in self._path.parent.glob("*.md"):
                if path.stat().st_mtime < oldest:
                    path.unlink(missing_ok=True)
            self._home.replace(self._path, text)

    def add(self, text: str) -> None:
        if self._path is None or not text:
            return
        with suppress(OSError):
            if self._path.exists() and self._path.stat().st_size > TOLD_BYTES:
                self._home.replace(self._path, self.before()[-TOLD_BYTES // 2 :])
            self._home.folder(self._path.parent)
            self._home.append(self._path, text.encode("utf-8", "replace"), durable=False)

    def forget(self) -> None:
        """It was not told after all."""
        with suppress(OSError):
            if self._path is not None:
                self._path.unlink(missing_ok=True)


class _Event:
    """One event, and what it needs of the memory."""

    def __init__(self, memory: Memory, host: str, payload: Payload) -> None:
        self.memory = memory
        self.host = about(host)
        self.payload = payload
        self.session = self.text("session_id", "session")
        self.path = self.text("transcript_path", "path")
        self.told = Told(memory.home, host, self.session)

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
        found = self.start()
        self.told.begin(found)
        return found

    def goes_on(self) -> str:
        """A session that was told before, under this id or the one that it was forked from."""
        if not self.told.before():
            self.told.begin(GOES_ON_MARK)
        return ""

    def turn(self) -> str:
        """What a message calls for, beside what the session sees already."""
        keeps = self.host.keeps  # or it is told everything, every time
        earlier = self.told.before() if keeps and not self.payload.get("first") else ""
        begins = "" if earlier else self.start()  # or the session began without us
        found = begins + self.context(self.text("prompt"), earlier or begins, len(begins))
        if keeps:
            self.told.add(found) if earlier else self.told.begin(found)
        return found

    def start(self) -> str:
        settings, session = self.memory.config.hooks, self.text("key") or self.session
        most = max(settings.characters - 4 * settings.start, SMALLEST)
        start, budget = self.memory.turns.start, self.budget
        return start(session, budget=budget, characters=most, have=self.host.loads)

    def context(self, message: str, told: str, before: int) -> str:
        """As much of a context as a host lets through, `before` characters being told already."""
        options: Payload = {"session": self.text("key") or self.session, "told": told}
        options["characters"] = max(self.memory.config.hooks.characters - before, SMALLEST)
        options |= {"budget": self.budget, "have": self.host.loads, "skip": FIXED}
        return self.memory.context(message, **options).text

    @property
    def budget(self) -> int:
        return max(self.memory.config.hooks.budget, SMALLEST)

    def flush(self) -> Payload:
        paths = [Path(self.path)] if self.path else []
        done = self.memory.flush(self.session, paths=paths)
        said = f"Wakebook has not saved this session yet: {done.why}"
        return {} if done.ok else {"systemMessage": said}

    def work(self, act: str) -> Work:
        if not (self.session or self.path):
            act = "sweep"  # there is something to read, but no session is ended by that
        elif act == "reset" and self.text("reason") in GOES_ON:
            act = "keep"
        elif act == "reset" and self.text("reason") == "deleted":
            act = "close"
        return Work(act, self.host.name, self.session, self.path)
