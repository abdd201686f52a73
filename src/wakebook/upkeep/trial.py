"""Trial: what a model makes of a small conversation, asked and checked like any other."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import msgspec

from wakebook.base import clock
from wakebook.base.errors import ModelError
from wakebook.base.home import Home
from wakebook.capture.transcript import Message
from wakebook.learn.ask import ModelExtractor
from wakebook.learn.extract import Scene
from wakebook.models.chat import Models

if TYPE_CHECKING:
    from wakebook.base.config import Config

SAID = (
    "We decided to send the newsletter on Fridays from now on, because most people read it then.",
    "Noted: the newsletter goes out on Fridays.",
)


class Tried(msgspec.Struct, frozen=True, kw_only=True):
    model: str
    seconds: float
    learned: tuple[str, ...] = ()
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = None  # dollars
    error: str = ""


class _Untraced(Home):
    """A trial tells of its failures itself. They are none of the model that is in use."""

    def trace(self, event: str, **details: Any) -> None:
        pass


def tried(home: Home, config: Config, name: str) -> Tried:
    """Have a model read a conversation of two messages. Nothing is remembered; the call costs what
    it costs, and is written down. Raises ConfigError for a name that is none."""
    settings = config.models.with_(main=name, cheap="", off=(), attempts=1)
    home = _Untraced(home.root)
    models = Models(home, config.with_(models=settings), os.environ)
    models.insist = True
    turns = enumerate(zip(("user", "assistant"), SAID, strict=True), 1)
    fresh = [Message(who, said, f"m{n}", clock.now(), turn=n) for n, (who, said) in turns]  # type: ignore[arg-type]
    before, began, error = len(models.calls.of_month(clock.now())), clock.monotonic(), ""
    learned: tuple[str, ...] = ()
    try:
        found = ModelExtractor(models, home, config.models.request_tokens).read(fresh, Scene())
        learned = tuple(one.content for one in found.drafts)
    except ModelError as refused:
        error = str(refused)
    calls = models.calls.of_month(clock.now())[before:]
    costs = [one.cost for one in calls if one.cost is not None]
    return Tried(
        model=name,
        seconds=round(clock.monotonic() - began, 1),
        learned=learned,
        calls=len(calls),
        tokens_in=sum(one.tokens_in for one in calls),
        tokens_out=sum(one.tokens_out for one in calls),
        cost=sum(costs) if costs else None,
        error=error,
    )
