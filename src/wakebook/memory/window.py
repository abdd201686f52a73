"""The verbs for what a model is sent: pruning it, sliding it, and saving it before it goes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from wakebook.base.errors import ConfigError, NotFound, TranscriptError, WakebookError
from wakebook.memory.learning import Learning

if TYPE_CHECKING:
    from wakebook.capture.state import Session
    from wakebook.learn.flush import Flushed
    from wakebook.recall.messages import Message
    from wakebook.recall.prune import Pruned
    from wakebook.recall.window import Slid


class Windowing(Learning):
    def prune_messages(
        self, messages: Sequence[Message], window: int, *, idle_ms: int | None = None
    ) -> Pruned:
        """A message list with smaller old tool results, by [pruning] in config.toml.

        `window`: tokens; `idle_ms`: since the model was last called, if that is known.
        """
        from wakebook.recall.prune import prune

        try:
            return prune(messages, window, self.config.pruning, idle_ms=idle_ms)
        except ConfigError as error:
            raise ConfigError(f"{self.home.config}: {error}") from error

    def slide(
        self,
        messages: Sequence[Message],
        budget: int,
        session: str = "",
        *,
        anyway: bool = False,
    ) -> Slid:
        """A message list that fits a budget of tokens: its oldest messages drop.

        With a session, it is first caught up on and checked. If it is not safely in the
        memory, nothing drops, unless `anyway`.
        """
        from msgspec.structs import replace

        from wakebook.learn.flush import Flushed
        from wakebook.recall.window import slide

        slid = slide(messages, budget)
        if not slid.dropped or not session:
            return slid
        found = self._found(session)
        done = found if isinstance(found, Flushed) else self._saved(found)
        if done.ok:
            return replace(slid, saved=True)
        if not anyway:
            slid = slide(messages, budget, drop=False)
        why = "; ".join(filter(None, (f"{done.session} is not saved: {done.why}", slid.why)))
        return replace(slid, saved=False, why=why)

    def flush(
        self,
        session: str,
        *,
        tokens: int | None = None,
        window: int | None = None,
        compactions: int | None = None,
        paths: Sequence[Path] = (),
    ) -> Flushed:
        """Save a session before its host compacts it, and check that it is saved.

        With `tokens` (used so far) and `window` (the context window) only if that is due, and
        once in each round. `compactions`: how often the host has compacted it; without it,
        what the session's file tells, and where that tells nothing each call is a round.
        `paths`: where the session is, if that is known.
        """
        from msgspec.structs import replace

        from wakebook.learn.flush import Flushed, flush_due, flushed_at, mark, rounds

        self.home.require()
        if (tokens is None) != (window is None):
            raise WakebookError("A flush needs both or neither: the tokens used, and the window.")
        full = (tokens, window) if tokens is not None and window is not None else None
        settings = self.config.flush
        if full and not (due := flush_due(*full, settings)):  # before anything is read
            return Flushed(session=session, due=False, why=due.reason)
        found = self._found(session, paths)
        if isinstance(found, Flushed):
            return found
        turn = rounds(found, self.config) if compactions is None else compactions
        last = flushed_at(self.state(), found)
        if full and not (due := flush_due(*full, settings, compactions=turn, flushed_at=last)):
            return Flushed(session=found[0].ref, due=False, round=turn, why=due.reason)
        done = self._saved(found)
        if done.ok and turn is not None:
            mark(self.home, found, turn)
        return replace(done, round=turn)

    def _found(self, name: str, paths: Sequence[Path] = ()) -> list[Session] | Flushed:
        """The sources of a session, or what to say if there is none."""
        from wakebook.capture.discover import named
        from wakebook.learn.flush import unknown

        if not name:
            return unknown(self.home, name, "no session was named")
        try:
            return named(self.sessions(paths), name)
        except (NotFound, TranscriptError) as error:
            return unknown(self.home, name, str(error))

    def _saved(self, found: list[Session]) -> Flushed:
        from wakebook.learn.flush import save

        self.models.insist = False
        return save(self.home, self.config, found, lambda: self._sweep(found), self.chains)
