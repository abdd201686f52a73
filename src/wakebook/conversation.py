"""Your own agent: a conversation that is written down as it happens.

    with memory.session("support-42") as chat:
        chat.user("The kiosk is called Heron.")
        told = chat.context("The kiosk is called Heron.").text    # for the model's system prompt
        chat.agent("Noted.")

Every message is one durable append to `<home>/sessions/<id>.jsonl`, in the plain format: when a
verb returns, the words survive whatever happens to the process. That folder is known like any
host's, so that `catch-up`, `watch` and `audit` take care of it when `end` is not called. Nothing
lives in the object alone: another one with the same id, in another process, goes on.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

from wakebook.base import clock
from wakebook.base.errors import WakebookError
from wakebook.capture.archive import file_part
from wakebook.capture.hosts import plain_file
from wakebook.capture.hosts.plain_file import Line
from wakebook.log.entry import new_id
from wakebook.opened import SESSIONS

if TYPE_CHECKING:
    from wakebook.learn.catch_up import Sweep
    from wakebook.opened import Opened
    from wakebook.recall.slot import Context

LONGEST = 200  # characters of an id
RESERVED = (".", "..", "manual")  # the last one: what was told by hand


class Remembering(Protocol):
    """What a conversation needs of the memory."""

    opened: Opened

    @property
    def context(self) -> Callable[..., Context]: ...
    @property
    def catch_up(self) -> Callable[..., Sweep]: ...
    @property
    def observe(self) -> Callable[..., object]: ...


class Conversation:
    """One conversation. What is said can be written from any thread; each verb returns the id of
    its message, and a message whose id was written before is not written again.

    Without an id it gets a new one. `channel`: where it takes place; `model`: who answers; `cwd`:
    the folder that it is about. Nothing is written before something is said.
    """

    def __init__(
        self,
        memory: Remembering,
        id: str = "",
        *,
        channel: str = "",
        model: str = "",
        cwd: str = "",
    ) -> None:
        opened = memory.opened
        opened.home.require()
        self.id = _checked(id) if id != "" else f"{clock.now():%Y-%m-%d}-{os.urandom(4).hex()}"
        self.model = _text(model, "The model")
        about = {
            "session": self.id,
            "channel": _text(channel, "The channel"),
            "model": self.model,
            "cwd": _text(cwd, "The folder"),
        }
        self.path = opened.home.root / SESSIONS / f"{_file_name(self.id)}.jsonl"
        self._cwd = about["cwd"]
        self._file = plain_file.PlainFile(opened.home, self.path, about)
        self._memory, self._opened = memory, opened

    def __repr__(self) -> str:
        return f"Conversation({self.id!r})"

    # --- what was said -------------------------------------------------------------------

    def user(self, text: str, *, id: str = "") -> str:
        """What the human said."""
        return self.add({"role": "user", "content": _text(text, "A message")}, id=id)

    def agent(self, text: str, *, id: str = "", usage: Mapping[str, Any] | None = None) -> str:
        """What the agent answered. A topic that corrects it comes with the next `context`. `usage`:
        the tokens that it took, as the client of the model gives them."""
        said = {"role": "assistant", "content": _text(text, "A message"), "usage": usage}
        done = self.add(said, id=id)
        self._observe(text)
        return done

    def tool(
        self, name: str, arguments: object, result: object, *, error: bool = False, id: str = ""
    ) -> str:
        """A tool that the agent has called, and what it gave back (text, or anything for JSON). A
        topic about the files of the call, or about what it wrote, comes with the next `context`."""
        from wakebook.recall.topics.touched import touched

        named = _text(id, "An id") or new_id()
        called = plain_file.call(f"call-{named}", _text(name, "A tool's name"), arguments)
        gave = plain_file.result(f"call-{named}", plain_file.text_of(result), error)
        done = self._write([called, gave], named, again=bool(id))
        files, text = touched(arguments)
        self._observe(text, files)
        return done

    def _observe(self, text: str, paths: Sequence[str] = ()) -> None:
        name = f"plain/{self.id}"
        look = partial(self._memory.observe, text, session=name, paths=paths)
        self._opened.quietly(f"topics for {self.id}", look)

    def add(self, message: object, *, id: str = "") -> str:
        """A message as OpenAI, Anthropic or LangChain have it: a dict, or a client's object.

        Its own id counts if no other is given, and its `timestamp`. System prompts, reasoning
        and empty messages are passed over.
        """
        given = plain_file.as_dict(message)
        named = _text(id, "An id") or plain_file.identity(given)
        lines = plain_file.lines(given)
        return self._write(lines, named or new_id(), bool(named), given.get("timestamp"))

    def messages(self) -> list[dict[str, Any]]:
        """What was said since the last `end`, as OpenAI's chat models are sent it."""
        return self._file.messages(self._limit)

    # --- memory --------------------------------------------------------------------------

    def context(self, message: str = "", *, budget: int = 0) -> Context:
        """What the agent should know for this message; `.text` goes into its system prompt.

        What was said in this conversation is not in it: you send that yourself (`messages`).
        """
        options: dict[str, Any] = {"kind": "main", "budget": budget, "have": ("history",)}
        name = f"plain/{self.id}"
        return self._memory.context(message, session=name, cwd=self._cwd, **options)

    def keep(self) -> Sweep:
        """Learn from what was said so far. The conversation goes on."""
        return self._catch_up(sparing=True)

    def end(self) -> Sweep:
        """Learn from what was said, and leave a handoff for the next session.

        What is said later under the same id gets a handoff of its own.
        """
        at = clock.iso(clock.now())
        self._file.reset({"id": new_id(), "type": "reset", "reason": "end", "timestamp": at})
        return self._catch_up(closing=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.end()
        else:  # which must reach the caller, whatever `end` meets
            self._opened.quietly(f"session {self.id}", self.end)

    def _catch_up(self, *, closing: bool = False, sparing: bool = False) -> Sweep:
        from wakebook.learn.catch_up import Sweep

        if not self._file.begun():
            return Sweep()
        paths, name = [self.path], ""
        known = self._opened.state().sessions.get(f"plain/{self.id}")
        if known and known.path != str(self.path):  # another file has, or had, the same id
            every = self._opened.sessions()
            paths, name = [], next(one.ref for one in every if one.path == self.path)
        return self._memory.catch_up(paths, name, closing=closing, sparing=sparing)

    # --- writing -------------------------------------------------------------------------

    @property
    def _limit(self) -> int:
        return self._opened.config.capture.max_record_megabytes << 20

    def _write(self, lines: Sequence[Line], id: str, again: bool, at: object = None) -> str:
        """`again`: it may be there already."""
        moment = clock.iso(clock.parse(at) or clock.now())
        data: list[Line] = []
        for number, line in enumerate(lines, 1):
            by = {"model": self.model} if self.model and line["role"] == "assistant" else {}
            named = id if number == 1 else f"{id}.{number}"
            data.append({"id": named, **line, "timestamp": moment, **by})
        self._check(data)
        if data:
            self._file.append(data, again=again)
        return id

    def _check(self, lines: Sequence[Line]) -> None:
        largest = max((len(plain_file.encode(line)) for line in lines), default=0)
        if largest > self._limit:
            raise WakebookError(
                f"A message of {largest >> 20} MB in {self.id}: [capture] max_record_megabytes is "
                f"{self._limit >> 20}. Nothing was written. Keep what matters of it, or raise that."
            )


def _text(value: object, what: str) -> str:
    if isinstance(value, str):
        return value
    raise WakebookError(f"{what} is text, not {type(value).__name__}: {value!r:.80}")


def _checked(id: str) -> str:
    """An id that can be written into files, paths and addresses."""
    fine = isinstance(id, str) and id.isprintable() and id == id.strip() and len(id) <= LONGEST
    if fine and not set(id) & set("/\\") and id not in RESERVED:
        return id
    raise WakebookError(
        f"{id!r:.80} cannot be the id of a session. Give up to {LONGEST} printable characters "
        "without slashes or spaces around them, and not `manual`; or none, for a new one."
    )


def _file_name(id: str) -> str:
    """As the id, if every file system can tell it from others; else with a digest."""
    part = file_part(id)
    if part != id or id == id.lower():
        return part
    return f"{id.lower()}-{hashlib.sha256(id.encode()).hexdigest()[:8]}"
