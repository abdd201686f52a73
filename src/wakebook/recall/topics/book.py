"""Book: the topics of one home at work: activated by messages, fired from outside, watched for."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import msgspec

from wakebook.base import clock
from wakebook.base.decode import decode
from wakebook.base.errors import Locked, NotFound, WakebookError
from wakebook.base.home import Home
from wakebook.base.text import printable, whole
from wakebook.recall.topics import decisions
from wakebook.recall.topics.activation import Activation, Activator, Decision, Gate, quick_gate
from wakebook.recall.topics.topic import FOLDER, UNFILLED, Read, Topic, TopicFiles
from wakebook.recall.topics.triggers import Remark
from wakebook.recall.turn import Sessions

if TYPE_CHECKING:
    from wakebook.opened import Opened

WAITING = "fired.json"
MOST = 100  # that wait, at most; the oldest go first
PAYLOAD = 4000  # characters
LOCK_SECONDS = 1.0
CLAIM = timedelta(minutes=1)
_NAME = re.compile(r"[a-z0-9][a-z0-9-]*(?:/[a-z0-9][a-z0-9-]*)*")


class Book:
    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        self._home = opened.home
        self._files = TopicFiles(opened.home)
        self._sessions = Sessions(opened)
        self._activator: Activator | None = None
        self._gate: Gate | None = None

    def read(self) -> Read:
        """The topics, and the files that are none, with what is wrong with them."""
        self._home.require()
        return self._files.read()

    def missing(self) -> list[tuple[Topic, str]]:
        """Subscriptions to files that are not there."""
        every = [(topic, name) for topic in self.read().topics for name in topic.subscriptions]
        return [(topic, name) for topic, name in every if not (self._home.root / name).is_file()]

    def new(self, name: str, about: str = "") -> Path:
        """A topic file to fill in, with every key that it may have."""
        home = self._home
        home.require()
        if not _NAME.fullmatch(name):
            allowed = "small letters, digits and hyphens, like release-day"
            raise WakebookError(f"{name!r} is no name for a topic: {allowed}.")
        path = home.root / FOLDER / f"{name}.md"
        last = name.rpartition("/")[2].replace("-", " ")
        said = printable(whole(about)) or f"What {last} is about, and when it helps."
        starter = resources.files("wakebook") / "starter" / "topic.md"
        text = starter.read_text(encoding="utf-8").format(
            about=json.dumps(said, ensure_ascii=False),
            word=json.dumps(last),
            title=last.capitalize(),
            unfilled=UNFILLED,
        )
        with home.locked():
            if path.exists():
                there = f"{home.relative(path)} is there already."
                raise WakebookError(f"{there} Edit it, or choose another name.")
            home.replace(path, text)
        return path

    def get(self, name: str) -> Topic:
        topic = self.read().get(name)
        if topic is None:
            raise NotFound(f"There is no topic {name!r}. `wakebook topics list` shows them.")
        return topic

    def test(
        self, message: str, *, direction: str = "input", paths: Sequence[str] = ()
    ) -> list[Activation]:
        """What a message would activate, and why. Nothing is traced."""
        self._home.require()
        return self._activated(Remark(message, direction, tuple(paths)))

    def _activated(
        self, said: Remark, session: str = "", *, read: Read | None = None, ask: bool = True
    ) -> list[Activation]:
        if not said.text.strip() and not said.paths:
            return []
        read = read or self.read()
        gate = self._gate = self._gate or quick_gate(self._opened)
        activator = self._activator
        if activator is None or activator.read is not read:
            activator = self._activator = Activator(read)
        settings, asked = self._opened.config.topics, gate if ask else None
        return activator.activate(said, settings, asked, clock.now(), session)

    def weighed(
        self, said: Remark, session: str = "", *, read: Read | None = None
    ) -> list[Activation]:
        """The same, without asking a model."""
        return self._activated(said, session, read=read, ask=False)

    def activate(
        self, said: Remark, session: str = "", *, read: Read | None = None, ask: bool = True
    ) -> list[Activation]:
        """What is activated, and why, written down. `read`: the topics, if they were just read."""
        found = self._activated(said, session, read=read, ask=ask)
        return decisions.trace(self._home, found, said.text)

    def observe(
        self, output: str, *, session: str = "", paths: Sequence[str] = ()
    ) -> list[Decision]:
        """Look at what the agent itself has said, and at the files of its tool calls: a topic that
        corrects it, or is about such a file, waits for its next turn, if its session is known. No
        model is asked: the agent waits."""
        if not any(one.observes for topic in self.read().told for one in topic.triggers):
            return []
        session, now = self._sessions.resolved(session)[0], clock.now()
        found = self.activate(Remark(output, "output", tuple(paths)), session, ask=False)
        said = {one.topic.name for one in found if one.decision.activated}
        worked = self.activate(Remark("", "input", tuple(paths)), session, ask=False)
        worked = [one for one in worked if one.topic.name not in said]
        if session:  # otherwise, whose next turn would it be?
            self._add(
                Fired(
                    topic=one.topic.name,
                    why=f"{'what you said' if one in found else 'a file that you work on'}: "
                    + ", ".join(one.decision.matched),
                    at=now,
                    session=session,
                    hint=_hints(one) if one in found else "",
                )
                for one in (*found, *worked)
                if one.decision.activated
            )
        return [one.decision for one in (*found, *worked)]

    # --- from outside --------------------------------------------------------------------

    def fire(
        self, source: str, event: str = "", *, payload: str = "", session: str = ""
    ) -> list[Fired]:
        """A webhook has sent something: topics that wait for it come with the next turn."""
        label = printable(f"{source}:{event}" if event else source)
        places = [(source, ""), (source, event)]
        names = [
            topic.name
            for topic in self.read().told
            if any(one.type == "webhook" and one.place in places for one in topic.triggers)
        ]
        return self._fired(names, f"webhook {label}", payload, session)

    def fire_topic(self, name: str, *, payload: str = "", session: str = "") -> Fired:
        """Activate a topic by hand, for the next turn."""
        return self._fired([self.get(name).name], "fired by hand", payload, session)[0]

    def _fired(self, names: Sequence[str], why: str, payload: str, session: str) -> list[Fired]:
        """What came along is kept without secrets, and not too much of it."""
        signs = (sign if sign in "\n\t" or sign.isprintable() else " " for sign in whole(payload))
        from wakebook.capture.secrets import redact

        said = redact("".join(signs))[0][:PAYLOAD].strip()
        own, now = self._sessions.resolved(session)[0], clock.now()
        return self._add(
            Fired(topic=name, why=why, at=now, session=own, payload=said) for name in names
        )

    def fire_due(self, due: Callable[[str], bool]) -> list[Fired]:
        """By the clock: `due` says whether a schedule is."""
        return self._add(
            Fired(topic=topic.name, why=f"schedule {trigger.schedule}", at=clock.now())
            for topic in self.read().told
            for trigger in topic.triggers
            if trigger.type == "cron" and due(trigger.schedule)
        )

    def _add(self, news: Iterable[Fired]) -> list[Fired]:
        found = list(news)
        self._waiting.add(found)
        return found

    # --- waiting -------------------------------------------------------------------------

    @property
    def _waiting(self) -> Waiting:
        return Waiting(self._home, clock.now(), self._opened.config.topics.fired_hours)

    def waiting(self) -> list[Fired]:
        """Topics that were fired and wait for a turn."""
        return self._waiting.read()

    def peek(self, session: str, kind: str) -> list[Fired]:
        """What a turn of this session would be told."""
        return [one for one in self.waiting() if one.meets(session, kind)]

    def claim(self, session: str, kind: str) -> list[Fired]:
        """What this turn of a session tells; `settle` says afterwards what it has told."""
        return self._waiting.claim(lambda one: one.meets(session, kind))

    def settle(self, claimed: Sequence[Fired], told: Sequence[Fired]) -> None:
        self._waiting.settle(claimed, told)

    def judgements(self) -> dict[str, bool]:
        """Which decisions were judged, and whether they were useful."""
        return {one.decision.id: bool(one.useful) for one in decisions.feedback(self._home)}

    def decided(self, topic: str = "") -> tuple[list[decisions.Standing], list[Decision]]:
        """How every topic has done, with thresholds that would do better; the newest decisions."""
        self._home.require()
        found = decisions.decisions(self._home, topic)
        judged = [
            one for one in decisions.feedback(self._home) if topic in ("", one.decision.topic)
        ]
        topics = [one for one in self.read().topics if topic in ("", one.name)]
        if topic and not (found or judged or topics):
            self.get(topic)  # which says that there is none
        return decisions.standings(found, judged, topics), found

    def judge(self, decision: str, *, useful: bool | None) -> Decision:
        """Say whether a topic helped (or, if it was not activated, would have); None takes it
        back."""
        self._home.require()
        return decisions.judge(self._home, decision, useful, clock.now())


def _hints(one: Activation) -> str:
    return "; ".join(dict.fromkeys(map(one.topic.hint, one.triggers)))


# --- topics that wait for the next turn ---------------------------------------------------
# A webhook, a schedule, or something that the agent itself has said fires a topic; the next context
# of that session (or of any main session, if none is named) brings it to the agent, once. A turn
# claims what it tells before it tells it; a claim whose turn was killed ends after a minute.
class Fired(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    topic: str
    why: str
    at: Annotated[datetime, msgspec.Meta(tz=True)]
    session: str = ""  # empty: any main session
    hint: str = ""
    payload: str = ""
    claimed: Annotated[datetime, msgspec.Meta(tz=True)] | None = None  # by a turn, since then

    def meets(self, session: str, kind: str) -> bool:
        return self.session == session if self.session else kind == "main"

    @property
    def what(self) -> tuple[str, ...]:
        """The same thing waits once."""
        return self.topic, self.why, self.session, self.payload, self.hint

    def free(self, now: datetime) -> bool:
        return self.claimed is None or not timedelta() <= now - self.claimed < CLAIM


class Waiting(NamedTuple):
    """The file with what waits."""

    home: Home
    now: datetime
    hours: int

    def read(self) -> list[Fired]:
        """All that wait, oldest first. What has waited too long is left out."""
        path = self.home.root / WAITING
        try:
            found = decode(path.read_bytes(), list[Fired])
        except FileNotFoundError:
            return []
        except (OSError, msgspec.DecodeError) as error:
            told = str(error)
            with suppress(OSError):
                if isinstance(error, msgspec.DecodeError):
                    path.replace(path.with_suffix(".broken"))  # or it would be told at every turn
                    told += ": it is kept as fired.broken"
                self.home.trace("failure", where=WAITING, error=told)
            return []
        return [one for one in found if self.now - one.at < timedelta(hours=self.hours)]

    def _write(self, found: Sequence[Fired]) -> None:
        if found:
            self.home.replace(self.home.root / WAITING, msgspec.json.encode(found) + b"\n")
        else:
            (self.home.root / WAITING).unlink(missing_ok=True)

    def add(self, news: Sequence[Fired]) -> None:
        if news:
            with self.home.locked():
                same = {one.what for one in news}
                before = [one for one in self.read() if one.what not in same]
                self._write([*before, *news][-MOST:])

    def claim(self, wanted: Callable[[Fired], bool]) -> list[Fired]:
        """What this turn may tell: no other turn will, for a minute. Nothing if that fails."""
        if not any(wanted(one) and one.free(self.now) for one in self.read()):
            return []
        try:
            with self.home.locked(LOCK_SECONDS):
                waiting, mine = self.read(), []
                for at, one in enumerate(waiting):
                    if wanted(one) and one.free(self.now):
                        waiting[at] = msgspec.structs.replace(one, claimed=self.now)
                        mine.append(waiting[at])
                self._write(waiting)
                return mine
        except (Locked, OSError):
            return []

    def settle(self, claimed: Sequence[Fired], told: Sequence[Fired]) -> None:
        """What was told waits no longer; what was claimed and not told waits on."""
        if not claimed:
            return
        ours, gone = {one.what for one in claimed}, {one.what for one in told}
        try:
            with self.home.locked(LOCK_SECONDS):
                left = [one for one in self.read() if one.what not in gone]
                free = msgspec.structs.replace
                self._write([free(one, claimed=None) if one.what in ours else one for one in left])
        except (Locked, OSError) as error:
            with suppress(OSError):
                told_again = f"{error} It may be told again."
                self.home.trace("failure", where=WAITING, error=told_again)
