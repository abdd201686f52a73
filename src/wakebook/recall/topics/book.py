"""Book: the topics of one home at work: activated by messages, fired from outside, watched for."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec

from wakebook.base import clock
from wakebook.base.decode import decode
from wakebook.base.errors import Locked, NotFound, WakebookError
from wakebook.base.home import Home
from wakebook.base.text import printable, whole
from wakebook.capture.clean import redact
from wakebook.recall.topics import decisions
from wakebook.recall.topics.activation import Activation, Activator, Decision, Gate, quick_gate
from wakebook.recall.topics.topic import FOLDER, UNFILLED, Read, Topic, TopicFiles, Trigger
from wakebook.recall.topics.triggers import Remark
from wakebook.recall.turn import Sessions

if TYPE_CHECKING:
    from wakebook.opened import Opened

WAITING = "fired.json"
MOST = 100  # that wait, at most; the oldest go first
PAYLOAD = 4000  # characters
LOCK_SECONDS = 1.0
CLAIM = timedelta(minutes=1)


class Book:
    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        self._home = opened.home
        self._files = TopicFiles(opened.home)
        self._sessions = Sessions(opened)
        self._activator: Activator | None = None

    @cached_property
    def _gate(self) -> Gate:
        return quick_gate(self._opened)

    def read(self) -> Read:
        """The topics, and the files that are none, with what is wrong with them."""
        self._home.require()
        return self._files.read()

    def new(self, name: str, about: str = "") -> Path:
        """A topic file to fill in, with every key that it may have."""
        self._home.require()
        with self._home.locked():
            return create(self._home, name, about)

    def get(self, name: str) -> Topic:
        topic = self.read().get(name)
        if topic is None:
            raise NotFound(f"There is no topic {name!r}. `wakebook topics list` shows them.")
        return topic

    # --- messages ------------------------------------------------------------------------

    def test(
        self, message: str, *, direction: str = "input", paths: Sequence[str] = ()
    ) -> list[Activation]:
        """What a message would activate, and why. Nothing is traced."""
        self._home.require()
        return self._activated(Remark(message, direction, tuple(paths)))

    def _activated(self, said: Remark, session: str = "") -> list[Activation]:
        if not said.text.strip() and not said.paths:
            return []
        read = self.read()
        activator = self._activator
        if activator is None or activator.read is not read:
            activator = self._activator = Activator(read)
        return activator.activate(
            said, self._opened.config.topics, self._gate, clock.now(), session
        )

    def activate(self, said: Remark, session: str = "") -> list[Activation]:
        """What is activated, and why, written down."""
        return decisions.trace(self._home, self._activated(said, session), said.text)

    def observe(
        self, output: str, *, session: str = "", paths: Sequence[str] = ()
    ) -> list[Decision]:
        """Look at what the agent itself has said: a topic that corrects it waits for its next
        turn, if its session is known."""
        self._home.require()
        session = self._sessions.id_of(session)
        found = self.activate(Remark(output, "output", tuple(paths)), session)
        if not session:  # whose next turn would it be?
            return [one.decision for one in found]
        self._add(
            Fired(
                topic=one.topic.name,
                why=f"what you said: {', '.join(one.decision.matched)}",
                at=clock.now(),
                session=session,
                hint="; ".join(dict.fromkeys(map(one.topic.hint, one.triggers))),
            )
            for one in found
            if one.decision.activated
        )
        return [one.decision for one in found]

    # --- from outside --------------------------------------------------------------------

    def fire(
        self, source: str, event: str = "", *, payload: str = "", session: str = ""
    ) -> list[Fired]:
        """A webhook has sent something: topics that wait for it come with the next turn."""
        self._home.require()
        own = self._sessions.id_of(session)

        def meant(trigger: Trigger) -> bool:
            return (
                trigger.type == "webhook"
                and trigger.source == source
                and (trigger.event in ("", event))
            )

        label = printable(f"{source}:{event}" if event else source)
        said = _kept(payload)
        return self._add(
            Fired(
                topic=topic.name,
                why=f"webhook {label}",
                at=clock.now(),
                session=own,
                payload=said,
            )
            for topic in self.read().topics
            if any(map(meant, topic.triggers))
        )

    def fire_topic(self, name: str, *, payload: str = "", session: str = "") -> Fired:
        """Activate a topic by hand, for the next turn."""
        self._home.require()
        return self._add(
            [
                Fired(
                    topic=self.get(name).name,
                    why="fired by hand",
                    at=clock.now(),
                    session=self._sessions.id_of(session),
                    payload=_kept(payload),
                )
            ]
        )[0]

    def fire_due(self, due: Callable[[str], bool]) -> list[Fired]:
        """By the clock: `due` says whether a schedule is."""
        return self._add(
            Fired(topic=topic.name, why=f"schedule {trigger.schedule}", at=clock.now())
            for topic in self.read().topics
            for trigger in topic.triggers
            if trigger.type == "cron" and due(trigger.schedule)
        )

    def _add(self, news: Iterable[Fired]) -> list[Fired]:
        found = list(news)
        add(self._home, found, clock.now(), self._opened.config.topics.fired_hours)
        return found

    # --- waiting -------------------------------------------------------------------------

    def waiting(self) -> list[Fired]:
        """Topics that were fired and wait for a turn."""
        self._home.require()
        return waiting_in(self._home, clock.now(), self._opened.config.topics.fired_hours)

    def peek(self, session: str, kind: str) -> list[Fired]:
        """What a turn of this session would be told."""
        return [one for one in self.waiting() if _meets(one, session, kind)]

    def claim(self, session: str, kind: str) -> list[Fired]:
        """What this turn of a session tells; `settle` says afterwards what it has told."""
        hours = self._opened.config.topics.fired_hours
        return claim(self._home, lambda one: _meets(one, session, kind), clock.now(), hours)

    def settle(self, claimed: Sequence[Fired], told: Sequence[Fired]) -> None:
        settle(self._home, claimed, told, clock.now(), self._opened.config.topics.fired_hours)

    # --- decisions -----------------------------------------------------------------------

    def judgements(self) -> dict[str, bool]:
        """Which decisions were judged, and whether they were useful."""
        return {one.decision.id: one.useful for one in decisions.feedback(self._home)}

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

    def judge(self, decision: str, *, useful: bool) -> Decision:
        """Say whether a topic helped (or, if it was not activated, would have)."""
        self._home.require()
        return decisions.judge(self._home, decision, useful, clock.now())


def _meets(one: Fired, session: str, kind: str) -> bool:
    return one.meets(session) and bool(one.session or kind == "main")


def _kept(payload: str) -> str:
    """What is kept of what came along: without secrets, and not too much of it."""
    shown = "".join(
        char if char in "\n\t" or char.isprintable() else " " for char in whole(payload)
    )
    return redact(shown)[0][:PAYLOAD].strip()


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

    def meets(self, session: str) -> bool:
        return self.session in ("", session)


def waiting_in(home: Home, now: datetime, hours: int) -> list[Fired]:
    """All that wait, oldest first. What has waited too long is left out."""
    path = home.root / WAITING
    try:
        found = decode(path.read_bytes(), list[Fired])
    except FileNotFoundError:
        return []
    except OSError as error:
        with suppress(OSError):
            home.trace("failure", where=WAITING, error=str(error))
        return []
    except msgspec.DecodeError as error:
        with suppress(OSError):
            path.replace(path.with_suffix(".broken"))  # or it would be told at every turn
            home.trace("failure", where=WAITING, error=f"{error}: it is kept as fired.broken")
        return []
    return [one for one in found if now - one.at < timedelta(hours=hours)]


def add(home: Home, news: Sequence[Fired], now: datetime, hours: int) -> None:
    """The same thing waits once."""
    if not news:
        return
    with home.locked():
        same = set(map(_same, news))
        before = [one for one in waiting_in(home, now, hours) if _same(one) not in same]
        _write(home, [*before, *news][-MOST:])


def _same(one: Fired) -> tuple[str, ...]:
    return one.topic, one.why, one.session, one.payload, one.hint


def claim(home: Home, wanted: Callable[[Fired], bool], now: datetime, hours: int) -> list[Fired]:
    """What this turn may tell: no other turn will, for a minute. Nothing if that fails."""
    if not any(wanted(one) and _free(one, now) for one in waiting_in(home, now, hours)):
        return []
    try:
        with home.locked(LOCK_SECONDS):
            all_ = waiting_in(home, now, hours)
            mine = [wanted(one) and _free(one, now) for one in all_]
            claimed = [
                msgspec.structs.replace(one, claimed=now) if own else one
                for one, own in zip(all_, mine, strict=True)
            ]
            _write(home, claimed)
            return [one for one, own in zip(claimed, mine, strict=True) if own]
    except (Locked, OSError):
        return []


def _free(one: Fired, now: datetime) -> bool:
    return one.claimed is None or not timedelta() <= now - one.claimed < CLAIM


def settle(
    home: Home, claimed: Sequence[Fired], told: Sequence[Fired], now: datetime, hours: int
) -> None:
    """What was told waits no longer; what was claimed and not told waits on."""
    if not claimed:
        return
    ours, gone = set(map(_same, claimed)), set(map(_same, told))
    try:
        with home.locked(LOCK_SECONDS):
            _write(
                home,
                [
                    msgspec.structs.replace(one, claimed=None) if _same(one) in ours else one
                    for one in waiting_in(home, now, hours)
                    if _same(one) not in gone
                ],
            )
    except (Locked, OSError) as error:
        with suppress(OSError):
            home.trace("failure", where=WAITING, error=f"{error} It may be told again.")


def _write(home: Home, found: Sequence[Fired]) -> None:
    if found:
        home.replace(home.root / WAITING, msgspec.json.encode(found) + b"\n")
    else:
        (home.root / WAITING).unlink(missing_ok=True)


# --- a new topic file, with what it may say ------------------------------------------------

_NAME = re.compile(r"[a-z0-9][a-z0-9-]*(?:/[a-z0-9][a-z0-9-]*)*")
_TEXT = """---
type: topic
description: {about}
triggers:
  - type: keyword            # pattern, keyword, glob, mention, url, code, language, urgency,
    match: [{word}]          # webhook (source, event), cron (schedule)
    scope: input             # input: what is said to the agent; output: what it says; both
subscriptions: []            # notes that come with it, like knowledge/reference/tools.md
activation: gated            # auto: at once; gated: a model is asked first; manual: by name
priority: medium             # low, medium, high, critical
max_context_kb: 4
---

# {title}

{unfilled}
"""


def create(home: Home, name: str, about: str = "") -> Path:
    """Write it. A file that is there already is not touched."""
    if not _NAME.fullmatch(name):
        raise WakebookError(
            f"{name!r} is no name for a topic: small letters, digits and hyphens, like release-day."
        )
    path = home.root / FOLDER / f"{name}.md"
    if path.exists():
        raise WakebookError(
            f"{home.relative(path)} is there already. Edit it, or choose another name."
        )
    last = name.rpartition("/")[2].replace("-", " ")
    text = _TEXT.format(
        about=json.dumps(
            printable(whole(about)) or f"What {last} is about, and when it helps.",
            ensure_ascii=False,
        ),
        word=json.dumps(last),
        title=last.capitalize(),
        unfilled=UNFILLED,
    )
    home.replace(path, text)
    return path
