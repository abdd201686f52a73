"""What a host's event means, and the answer to it.

Every host has its own names for the same few moments; ACTS says which is which. What a host
waits for is answered at once (wake, context, flush). What it need not wait for (keep, close,
sweep) is handed to `behind`: the service's queue, or a process of its own. All of it is
`catch_up`, so an event that comes twice, late or never changes nothing but the moment.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from wakebook.base import clock
from wakebook.base.errors import WakebookError
from wakebook.hosts.told import Said

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wakebook.memory import Memory

CLAUDE = {
    "SessionStart": "wake",
    "UserPromptSubmit": "context",
    "PreCompact": "flush",
    "Stop": "keep",
    "SessionEnd": "close",
    "PostCompact": "",
    "SubagentStart": "",
    "SubagentStop": "",
    "PreToolUse": "",
    "PostToolUse": "",
    "Notification": "",
}
ACTS: dict[str, dict[str, str]] = {
    "claude-code": CLAUDE,
    "codex": CLAUDE,
    "openclaw": {
        "before_prompt_build": "context",
        "before_compaction": "flush",
        "agent_end": "keep",
        "before_reset": "reset",
        "session_end": "reset",
        "gateway_start": "sweep",
        "session_start": "",
        "after_compaction": "keep",
        "gateway_stop": "",
    },
    "pi": {
        "before_agent_start": "context",
        "session_before_compact": "flush",
        "agent_end": "keep",
        "session_shutdown": "close",
        "session_start": "sweep",
    },
}
WAKING = ("", "startup", "clear", "compact")  # sources of a session that knows nothing yet
GOES_ON = ("compaction", "restart", "shutdown", "unknown")  # reasons of an OpenClaw "end"
BY_HOST = ("identity", "memory", "history")  # what OpenClaw loads by itself
FIXED = ("identity", "memory", "projects", "handoff", "journal")  # told when a session begins
PATIENCE = 0.5  # of the time box: a new session waits so long for the end of the one before
SMALLEST = 200  # tokens of a context
GOES_ON_MARK = "(told before)\n"
NOT_SAID = ("<task-notification>", "<subagent_notification>", "<local-command-", "<command-name>")


class Work(NamedTuple):
    """What somebody does while the host goes on."""

    act: str  # keep, close, reset, sweep
    host: str = ""
    session: str = ""
    path: str = ""


class Behind(Protocol):
    """Whoever does the work that a host does not wait for."""

    def put(self, work: Work) -> None: ...

    def wait(self, seconds: float) -> None:
        """Until what was put before is done, but not longer than this."""


def act_of(host: str, event: str) -> str:
    """What is done about an event. Raises WakebookError for one that nobody knows."""
    if host not in ACTS:
        raise WakebookError(f"There is no host {host!r}. There are: {', '.join(ACTS)}.")
    if event not in ACTS[host]:
        known = ", ".join(name for name, act in ACTS[host].items() if act)
        raise WakebookError(f"{host} has no event {event!r} for Wakebook. There are: {known}.")
    return ACTS[host][event]


def answer(
    memory: Memory, host: str, event: str, payload: Mapping[str, Any], behind: Behind
) -> dict[str, Any]:
    """What the host gets back; empty if there is nothing to say."""
    act = act_of(host, event)
    told = _Told(memory, host, event, payload)
    if act == "context" and told.by_machine:
        return {}
    if act == "wake":
        behind.wait(told.patience)
        found = told.wake() if told.text("source") in WAKING else told.goes_on()
        behind.put(Work("sweep", host))
        return told.spoken(found)
    if act == "context":
        if host == "openclaw" or payload.get("first"):
            behind.wait(told.patience)
        return told.spoken(told.turn())
    if act == "flush":
        return told.flush()
    if act:
        behind.put(told.work(act))
    return {}


def undelivered(memory: Memory, host: str, payload: Mapping[str, Any]) -> None:
    """The host did not wait for the answer: its session has been told nothing."""
    _Told(memory, host, "", payload).forget()


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
    else:
        _reset(memory, work.session, paths)


def _reset(memory: Memory, session: str, paths: list[Path]) -> None:
    """A reset stands in the host's store itself, and ends the window there.

    It may come a moment after its event; and the next window may have begun before we look.
    """
    for pause in (0.3, 0.0):
        if memory.catch_up(paths, session).closed:
            return
        clock.sleep(pause)


class _Told:
    """One event, and what it needs of the memory."""

    def __init__(self, memory: Memory, host: str, event: str, payload: Mapping[str, Any]) -> None:
        self.memory = memory
        self.host = host
        self.event = event
        self.payload = payload
        self._said = Said(memory.home, host, self.session)

    def forget(self) -> None:
        self._said.forget()

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
    def session(self) -> str:
        return self.text("session_id", "session")

    @property
    def path(self) -> str:
        return self.text("transcript_path", "path")

    @property
    def by_machine(self) -> bool:
        """A prompt that nobody typed: a subagent's, or a note that one has finished."""
        said = self.text("prompt").lstrip()
        return bool(self.text("agent_id")) or said.startswith(NOT_SAID)

    def wake(self) -> str:
        """What a session is told that knows nothing yet. All of it may be fixed slots."""
        share = self.memory.config.context.fixed_share or 1.0
        found = self.context("", 1 / share, skip=("topics", "recalled"), have=("history",))
        self._said.begin(found)
        return found

    def goes_on(self) -> str:
        """A session that was told before, under this id or the one that it was forked from."""
        if not self._said.before():
            self._said.begin(GOES_ON_MARK)
        return ""

    def turn(self) -> str:
        """What a message calls for, beside what the session sees already."""
        message = self.text("prompt")
        if self.host == "openclaw":  # which keeps nothing of it: everything, every time
            return self.context(message, have=BY_HOST)
        earlier = "" if self.payload.get("first") else self._said.before()
        first = not earlier  # or the session began without us
        skip = () if first else FIXED
        found = self.context(message, have=("history",), skip=skip, told=earlier)
        self._said.begin(found) if first else self._said.add(found)
        return found

    def context(self, message: str, share: float = 1.0, **options: Any) -> str:
        """As much of a context as a host lets through."""
        settings = self.memory.config.hooks
        done = self.memory.context(
            message,
            session=self.text("key") or self.session,
            budget=max(int(settings.budget * share), SMALLEST),
            characters=settings.characters,
            **options,
        )
        return done.text

    def spoken(self, text: str) -> dict[str, Any]:
        if not text.strip():
            return {}
        if self.host == "openclaw":
            return {"prependContext": text}
        if self.host == "pi":
            return {"message": text}
        told = {"hookEventName": self.event, "additionalContext": text}
        return {"hookSpecificOutput": told}

    def flush(self) -> dict[str, Any]:
        paths = [Path(self.path)] if self.path else []
        done = self.memory.flush(self.session, paths=paths)
        if done.ok:
            return {}
        return {"systemMessage": f"Wakebook has not saved this session yet: {done.why}"}

    def work(self, act: str) -> Work:
        if not (self.session or self.path):
            act = "sweep"  # somebody has something to say; nobody is ended by that
        elif act == "reset" and self.text("reason") in GOES_ON:
            act = "keep"
        elif act == "reset" and self.text("reason") == "deleted":
            act = "close"
        return Work(act, self.host, self.session, self.path)
