"""The verbs for a turn: the context of a message, the topics behind it, and what they led to."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wakebook import clock
from wakebook.errors import NotFound, WakebookError
from wakebook.log.query import Query
from wakebook.memory.learning import Learning

if TYPE_CHECKING:
    from wakebook.config import Config
    from wakebook.index.search import Passages
    from wakebook.recall.history import Spoke
    from wakebook.recall.slot import Context
    from wakebook.recall.topics.activation import Activation, Activator, Decision
    from wakebook.recall.topics.decisions import Standing
    from wakebook.recall.topics.files import Read, TopicFiles
    from wakebook.recall.topics.fired import Fired
    from wakebook.recall.topics.gate import Gate
    from wakebook.recall.topics.topic import Topic
    from wakebook.recall.topics.triggers import Said

UNKNOWN = timedelta(minutes=15)  # how far a first look for due topics goes back


class Turns(Learning):
    # --- context -------------------------------------------------------------------------

    def context(
        self,
        message: str = "",
        *,
        session: str = "",
        kind: str = "",
        budget: int = 0,
        have: Sequence[str] = (),
        history: Sequence[Any] = (),
        topics: Sequence[str] = (),
        paths: Sequence[str] = (),
    ) -> Context:
        """What an agent needs to know for a message, within a budget of tokens.

        `session`: the one that the message belongs to; what waits for its next turn is told and
        then waits no longer. `kind`: main, group, subagent, cron or hook. `have`: slots that the
        host loads by itself. `history`: the messages so far, in the shape of any host; without
        them, the session's transcript. `topics`: activated by name. `paths`: files of the turn's
        tool calls.
        """
        from time import perf_counter

        from msgspec.structs import replace

        from wakebook.recall import playbooks
        from wakebook.recall.context import Request, Sources, compile_context
        from wakebook.recall.topics import decisions, fired
        from wakebook.recall.topics.triggers import Said

        self.home.require()
        kind = self._kind(kind, session)
        slots = self._slots(have)
        own = session.rpartition("/")[2]
        now = clock.now()
        begun = perf_counter()
        activator = self._activator()
        asked = [self._topic(activator.read, name) for name in topics]
        found: list[Activation] = []
        waits: list[Fired] = []
        if kind != "subagent" and "topics" not in slots:
            said = Said(message, "input", tuple(paths))
            found = self._activated(activator, said, own)
            found = decisions.trace(self.home, found, message)
            waits = self._waiting(own, kind)
        topic_ms = round((perf_counter() - begun) * 1000, 3)
        active = playbooks.active(found, waits, asked, activator.read.topics)
        request = Request(
            message=message,
            budget=budget or self.config.context.budget,
            kind=kind,
            session=own,
            have=slots,
            history=self._spoken(history, own, slots),
            topics=active,
        )
        sources = Sources(
            home=self.home,
            texts=self._texts,
            memory_file=self._memory_file(),
            handoffs=self._handoffs() if kind == "main" else (),
            search=lambda: self._passages(message, kind),
            now=self.now(),
        )
        done = compile_context(request, sources, self.config.context)
        told = {item.ref for slot in done.slots if slot.name == "topics" for item in slot.items}
        paths_told = {topic.name for topic in activator.read.topics if topic.path in told}
        gone = [one for one in waits if one.topic in paths_told]
        if session and gone:
            fired.done(self.home, gone, now, self.config.topics.fired_hours)
        bad = tuple(f"{one} It is left out." for one in activator.read.bad)
        return replace(
            done,
            decisions=tuple(one.decision for one in found),
            notes=(*done.notes, *bad),
            steps={"activate": topic_ms, **done.steps},
        )

    def _kind(self, kind: str, session: str) -> str:
        from wakebook.capture.session import kind_of_key
        from wakebook.recall.slot import KINDS

        chosen = kind or (kind_of_key(session) if ":" in session else "main")
        if chosen not in KINDS:
            raise WakebookError(f"{chosen!r} is no kind of session: {', '.join(KINDS)}.")
        return chosen

    def _slots(self, have: Sequence[str]) -> frozenset[str]:
        from wakebook.config import SLOTS

        for name in have:
            if name not in SLOTS:
                raise WakebookError(f"{name!r} is no slot of a context: {', '.join(SLOTS)}.")
        return frozenset((*have, *self.config.context.have))

    def _spoken(
        self, messages: Sequence[Any], session: str, have: frozenset[str]
    ) -> Sequence[Spoke]:
        from wakebook.recall import history

        if messages:
            return history.of_messages(messages)
        if session and "history" not in have:
            return history.of_session(self.home, session)
        return ()

    def _passages(self, message: str, kind: str) -> Passages:
        from wakebook.recall.recalled import MOST
        from wakebook.recall.slot import PUBLIC

        query = Query(text=message, categories=PUBLIC if kind == "group" else ())
        found = self._index.passages(query, clock.now(), MOST)
        if kind == "main":
            return found
        # MEMORY.md may live elsewhere, and mounted homes have notes of every kind
        own = [one for one in found.found if not one.path.startswith("/")]
        private = "knowledge/memory/"
        return found._replace(found=[one for one in own if not one.path.startswith(private)])

    def _memory_file(self) -> Path:
        from wakebook.config import expand

        chosen = self.config.briefing.memory_file
        return self.home.root / expand(chosen) if chosen else self.home.memory

    def _handoffs(self) -> list[tuple[str, str]]:
        """What sessions have left behind. Cached until something changes, as `wake` is."""
        import json
        from contextlib import suppress

        from wakebook import cache

        kept = cache.read(str(self.home.root), "handoffs.json")
        if kept is not None:
            with suppress(ValueError):
                return [(session, text) for session, text in json.loads(kept)]
        from wakebook.derive.wake import handoffs

        key = cache.key(str(self.home.root))
        found = handoffs(self.chains(), self.state().sessions.values())
        with suppress(OSError):
            self.home.replace(self.home.cache / "handoffs.json", f"{key}\n{json.dumps(found)}")
        return found

    @cached_property
    def _texts(self) -> Any:
        from wakebook.recall.texts import Texts

        return Texts()

    # --- topics --------------------------------------------------------------------------

    def topics(self) -> Read:
        """The topics, and the files that are none, with what is wrong with them."""
        self.home.require()
        return self._topic_files.read()

    def test_topics(
        self, message: str, *, direction: str = "input", paths: Sequence[str] = ()
    ) -> list[Activation]:
        """What a message would activate, and why. Nothing is traced."""
        from wakebook.recall.topics.triggers import Said

        self.home.require()
        said = Said(message, direction, tuple(paths))
        return self._activated(self._activator(), said, "")

    def observe(
        self, output: str, *, session: str = "", paths: Sequence[str] = ()
    ) -> list[Decision]:
        """Look at what the agent itself has said: a topic that corrects it waits for its next
        turn."""
        from wakebook.recall.topics import decisions, fired
        from wakebook.recall.topics.fired import Fired
        from wakebook.recall.topics.triggers import Said

        self.home.require()
        own, now = session.rpartition("/")[2], clock.now()
        said = Said(output, "output", tuple(paths))
        found = self._activated(self._activator(), said, own)
        found = decisions.trace(self.home, found, output)
        news = [
            Fired(
                topic=one.topic.name,
                why=f"what you said: {', '.join(one.decision.matched)}",
                at=now,
                session=own,
                hint="; ".join(dict.fromkeys(map(one.topic.hint, one.triggers))),
            )
            for one in found
            if one.decision.activated
        ]
        fired.add(self.home, news, now, self.config.topics.fired_hours)
        return [one.decision for one in found]

    def fire(
        self, source: str, event: str = "", *, payload: str = "", session: str = ""
    ) -> list[Fired]:
        """A webhook: topics that wait for it come with the next turn."""
        from wakebook.capture.redact import redact
        from wakebook.recall.topics import fired
        from wakebook.recall.topics.fired import PAYLOAD, Fired

        self.home.require()
        now = clock.now()
        label = f"{source}:{event}" if event else source
        news = [
            Fired(
                topic=topic.name,
                why=f"webhook {label}",
                at=now,
                session=session.rpartition("/")[2],
                payload=redact(payload)[0][:PAYLOAD].strip(),
            )
            for topic in self._topic_files.read().topics
            if any(
                trigger.type == "webhook"
                and trigger.source == source
                and trigger.event in ("", event)
                for trigger in topic.triggers
            )
        ]
        fired.add(self.home, news, now, self.config.topics.fired_hours)
        return news

    def fire_topic(self, name: str, *, session: str = "") -> Fired:
        """Activate a topic by hand, for the next turn."""
        from wakebook.recall.topics import fired
        from wakebook.recall.topics.fired import Fired

        topic, now = self._topic(self.topics(), name), clock.now()
        one = Fired(
            topic=topic.name, why="fired by hand", at=now, session=session.rpartition("/")[2]
        )
        fired.add(self.home, [one], now, self.config.topics.fired_hours)
        return one

    def fire_due(self) -> list[Fired]:
        """Topics whose cron trigger is due since the last time that somebody looked."""
        from wakebook.lifecycle.jobs import Job
        from wakebook.recall.topics import fired
        from wakebook.recall.topics.fired import Fired

        now = self.now()
        last = self.state().jobs.get("topics")
        since = last.slot if last else now - UNKNOWN
        news = []
        for topic in self.topics().topics:
            for trigger in topic.triggers:
                slot = Job(name=topic.name, expression=trigger.schedule).previous(now)
                if slot is not None and slot > since:
                    why = f"schedule {trigger.schedule}"
                    news.append(Fired(topic=topic.name, why=why, at=clock.now()))
        fired.add(self.home, news, clock.now(), self.config.topics.fired_hours)
        return news

    def new_topic(self, name: str, about: str = "") -> Path:
        """A topic file to fill in, with every key that it may have."""
        from wakebook.recall.topics.template import create

        self.home.require()
        with self.home.locked():
            return create(self.home, name, about)

    def waiting_topics(self) -> list[Fired]:
        """Topics that were fired and wait for a turn."""
        from wakebook.recall.topics import fired

        return fired.waiting(self.home, clock.now(), self.config.topics.fired_hours)

    def _waiting(self, session: str, kind: str) -> list[Fired]:
        return [
            one
            for one in self.waiting_topics()
            if one.meets(session) and (one.session or kind == "main")
        ]

    @cached_property
    def _topic_files(self) -> TopicFiles:
        from wakebook.recall.topics.files import TopicFiles

        return TopicFiles(self.home)

    def _activator(self) -> Activator:
        from wakebook.recall.topics.activation import Activator

        read = self._topic_files.read()
        known: Activator | None = self.__dict__.get("_made")
        if known is None or known.read is not read:
            known = self.__dict__["_made"] = Activator(read)
        return known

    def _topic(self, read: Read, name: str) -> Topic:
        topic = read.get(name)
        if topic is None:
            raise NotFound(f"There is no topic {name!r}. `wakebook topics list` shows them.")
        return topic

    def _activated(self, activator: Activator, said: Said, session: str) -> list[Activation]:
        if not said.text.strip() and not said.paths:
            return []
        return activator.activate(said, self.config.topics, self._gate, clock.now(), session)

    @cached_property
    def _gate(self) -> Gate:
        """Asks the cheap model, and not for long: somebody waits."""
        from wakebook.models.chat import Models
        from wakebook.recall.topics.gate import Gate

        settings = self.config.models.with_(
            timeout_seconds=self.config.topics.gate_seconds, attempts=1
        )
        quick: Config = self.config.with_(models=settings)
        return Gate(self.home, Models(self.home, quick, os.environ, lend=self._lend, dry=self._dry))

    # --- gates ---------------------------------------------------------------------------

    def gates(self, topic: str = "") -> tuple[list[Standing], list[Decision]]:
        """How every topic has done, with thresholds that would do better; the newest decisions."""
        from wakebook.recall.topics import decisions

        self.home.require()
        found = decisions.decisions(self.home, topic)
        judged = [one for one in decisions.feedback(self.home) if topic in ("", one.decision.topic)]
        topics = [one for one in self.topics().topics if topic in ("", one.name)]
        return decisions.standings(found, judged, topics), found

    def judge(self, decision: str, *, useful: bool) -> Decision:
        """Say whether a topic helped (or, if it was not activated, would have)."""
        from wakebook.recall.topics import decisions

        self.home.require()
        return decisions.judge(self.home, decision, useful, clock.now())
