"""Turns: for a message of a session, what an agent needs to know."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING, Any

from wakebook.base import cache, clock
from wakebook.base.errors import NotFound, WakebookError
from wakebook.log.query import Query

if TYPE_CHECKING:
    from wakebook.capture.state import Progress
    from wakebook.opened import Opened
    from wakebook.recall.context import Sources
    from wakebook.recall.messages import Spoke, Transcripts
    from wakebook.recall.slot import Context
    from wakebook.recall.texts import Texts
    from wakebook.recall.topics.book import Book
    from wakebook.recall.topics.fired import Fired
    from wakebook.recall.wake import Handoff
    from wakebook.store.hits import Passages

HANDOFFS = "handoffs.json"
SHORT, LONG = 4, 20  # characters of an id that may be shortened, and of how much of it


class Turns:
    def __init__(self, opened: Opened, topics: Book) -> None:
        self._opened = opened
        self._home = opened.home
        self._topics = topics

    def context(
        self,
        message: str = "",
        *,
        session: str = "",
        kind: str = "",
        budget: int = 0,
        characters: int = 0,
        have: Sequence[str] = (),
        skip: Sequence[str] = (),
        told: str = "",
        history: Sequence[Any] = (),
        topics: Sequence[str] = (),
        paths: Sequence[str] = (),
    ) -> Context:
        """What an agent needs to know for a message, within a budget of tokens.

        `session`: the one that the message belongs to; what waits for its next turn is told and
        then waits no longer. `kind`: main, group, subagent, cron or hook. `have`: slots that the
        host loads by itself, as they are now. `skip`: slots that are not wanted. `told`: what the
        session was told before and still sees, which is not told again. `history`: the messages
        so far, in the shape of any host; without them, the session's transcript. `topics`:
        activated by name. `paths`: files of the turn's tool calls. `characters`: of the text, at
        most; 0: as many as the budget allows.
        """
        from msgspec.structs import replace

        from wakebook.recall import playbooks
        from wakebook.recall.context import Request, check, compile_context
        from wakebook.recall.topics.triggers import Said

        self._home.require()
        budget = budget or self._opened.config.context.budget
        check(budget)  # before anything is decided and written down
        slots = _slots((*have, *self._opened.config.context.have))
        own, kind, transcript = self.resolved(session, kind)
        begun, book = perf_counter(), self._topics
        asked = [book.get(name) for name in topics]
        wants = kind != "subagent" and "topics" not in slots
        found = book.activate(Said(message, "input", tuple(paths)), own) if wants else []
        read = book.read()
        spent = round((perf_counter() - begun) * 1000, 3)
        request = Request(
            message=message,
            budget=budget,
            kind=kind,
            session=own,
            transcript=transcript,
            have=slots,
            skip=_slots(skip),
            told=told,
            history=self._spoken(history, transcript, slots),
        )
        waits = (book.claim if session else book.peek)(own, kind) if wants else []
        fired: Sequence[Fired] = ()
        try:
            request = request._replace(topics=playbooks.active(found, waits, asked, read.topics))
            sources = self._sources(message, kind)
            done, fired = compile_context(request, sources, self._opened.config.context)
            while characters and len(done.text) > characters:
                request = request._replace(budget=_smaller(done, request.budget, characters))
                done, fired = compile_context(request, sources, self._opened.config.context)
        finally:
            if session:
                book.settle(waits, fired)
        return replace(
            done,
            decisions=tuple(one.decision for one in found),
            notes=(*done.notes, *(f"{one} It is left out." for one in read.bad)),
            steps={"activate": spent, **done.steps},
        )

    def resolved(self, name: str, kind: str = "main") -> tuple[str, str, str]:
        """A session's own id, its kind, and the transcript of its open window.

        The kind is as it was given, as state.json knows it, or as OpenClaw's key tells. It may
        be named with its host, by its key, or by a unique beginning.
        """
        from wakebook.capture.state import kind_of_key
        from wakebook.recall.slot import KINDS

        host, _, rest = name.partition("/")
        bare = rest if host.replace("-", "_") in self._opened.config.hosts.settings else name
        known = self._known_session(bare, exactly=host == "plain") if bare else None
        chosen = kind or (known.kind if known else kind_of_key(bare) if ":" in bare else "main")
        if chosen not in KINDS:
            raise WakebookError(f"{chosen!r} is no kind of session: {', '.join(KINDS)}.")
        if known:
            return known.id, chosen, known.window.path if known.window else ""
        return bare, chosen, self._transcripts.path(bare)

    def id_of(self, session: str) -> str:
        """A session's own id."""
        return self.resolved(session)[0]

    def kind_of(self, session: str) -> str:
        """main, group, subagent, cron or hook: by its id, its key, or what is known of it."""
        return self.resolved(session, "")[1] if session else "main"

    def _known_session(self, name: str, exactly: bool = False) -> Progress | None:
        sessions = list(self._opened.state().sessions.values())
        exact = [one for one in sessions if name in (one.id, one.key, f"{one.id}@{one.part}")]
        fitting = exact or [  # of an id that nobody would type; "work" is not "work-monday"
            one
            for one in sessions
            if not exactly
            and SHORT <= len(name) < len(one.id)
            and len(one.id) >= LONG
            and one.id.startswith(name)
        ]
        if len({one.id for one in fitting}) > 1:
            raise NotFound(f"{name!r} fits {len(fitting)} sessions. Give more of its id.")
        return fitting[-1] if fitting else None

    def _spoken(
        self, messages: Sequence[Any], transcript: str, have: frozenset[str]
    ) -> Sequence[Spoke]:
        from wakebook.recall import messages as history

        if messages:
            return history.of_messages(messages)
        if transcript and "history" not in have:
            return self._transcripts.said(transcript)
        return ()

    @cached_property
    def _transcripts(self) -> Transcripts:
        from wakebook.recall.messages import Transcripts

        return Transcripts(self._home)

    def _sources(self, message: str, kind: str) -> Sources:
        from wakebook.recall.context import Sources

        return Sources(
            home=self._home,
            texts=self._texts,
            memory_file=self._opened.memory_file(),
            handoffs=self._handoffs() if kind == "main" else (),
            search=lambda: self._passages(message, kind),
            now=self._opened.now(),
        )

    @cached_property
    def _texts(self) -> Texts:
        from wakebook.recall.texts import Texts

        return Texts()

    def _passages(self, message: str, kind: str) -> Passages:
        from wakebook.recall.recalled import MOST
        from wakebook.recall.slot import PUBLIC

        query = Query(text=message, categories=PUBLIC if kind == "group" else ())
        found = self._opened.index.passages(query, clock.now(), MOST)
        if kind == "main":
            return found
        # MEMORY.md may live elsewhere, mounted homes have notes of every kind, and a handoff is
        # from one main session to the next
        memory = self._opened.memory_file()
        inside = memory.is_relative_to(self._home.root)
        own = self._home.relative(memory) if inside else "/"
        private = ("/", "knowledge/memory/", own)
        return found._replace(
            found=[
                one
                for one in found.found
                if not one.path.startswith(private) and one.row.type != "handoff"
            ]
        )

    def _handoffs(self) -> list[Handoff]:
        """What sessions have left behind. Cached until something changes, as `wake` is."""
        from wakebook.recall.wake import Handoff, handoffs

        root = str(self._home.root)
        kept = cache.read(root, HANDOFFS)
        if kept is not None:
            with suppress(ValueError, TypeError):
                return [Handoff(*one) for one in json.loads(kept)]
        key = cache.key(root)
        found = handoffs(self._opened.chains(), self._opened.state().sessions.values())
        with suppress(OSError):  # a read-only home still answers, only slower
            self._home.replace(self._home.cache / HANDOFFS, f"{key}\n{json.dumps(found)}")
        return found


def _smaller(done: Context, budget: int, characters: int) -> int:
    """A budget whose text should fit. Raises WakebookError if none can."""
    fits = 0.95 * characters / len(done.text)
    return int(min(done.tokens * 1.1, budget) * fits)  # `check` says when nothing fits


def _slots(names: Sequence[str]) -> frozenset[str]:
    from wakebook.base.config import SLOTS

    for name in names:
        if name not in SLOTS:
            raise WakebookError(f"{name!r} is no slot of a context: {', '.join(SLOTS)}.")
    return frozenset(names)
