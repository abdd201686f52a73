"""Reading that costs little: at the right time, new turns only, a beginning that caches."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from tests.learn.telling import RECENT, Tale, answer, block, fact, handoff, numbers
from tests.lend import lines
from tests.server import ModelServer
from tests.wire import Cache
from wakebook.base import clock

TURNS = ("The relay listens on port 8443.", "Noted.", "Mira brings the projector.", "Good.")
NOTHING = lines({"type": "nothing"})


def test_a_conversation_is_read_when_it_pauses_not_with_every_turn(
    tale: Tale, monkeypatch: pytest.MonkeyPatch
) -> None:
    claude = tale.session(at=RECENT)
    for turn, text in enumerate(TURNS):
        claude.agent(text) if turn % 2 else claude.user(text)
        monkeypatch.setenv("WAKEBOOK_NOW", clock.iso(claude.at))
        tale.memory.catch_up(sparing=True)  # as every hook does
    assert not tale.asked
    tale.says(answer(fact("The relay listens on port 8443", 1)), answer(handoff()))
    for minutes in (20, 40, tale.memory.config.capture.idle_minutes + 20):
        monkeypatch.setenv("WAKEBOOK_NOW", clock.iso(claude.at + timedelta(minutes=minutes)))
        tale.memory.tick(["observe"])
    pause, end = tale.asked
    assert numbers(pause) == [1, 2, 3] and numbers(end) == [
        4
    ]  # what the agent said last could grow
    assert tale.learned() == ["The relay listens on port 8443"]


def test_only_new_turns_are_read_with_what_is_known(tale: Tale) -> None:
    claude = tale.talk(*TURNS, "And the demo is on Friday.", at=RECENT)
    tale.says(answer(fact("The relay listens on port 8443", 1)), NOTHING)
    tale.memory.catch_up()
    claude.agent("Fine.").user("The relay listens on port 9443 now.")
    tale.memory.catch_up()
    shown = block(tale.asked[-1], "messages")
    assert "9443" in shown and "8443" not in shown and "projector" not in shown
    assert "The relay listens on port 8443" in block(tale.asked[-1], "known")


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_questions_begin_alike_and_are_paid_at_the_cached_price(
    tmp_path: Path, projects: Path, monkeypatch: pytest.MonkeyPatch, provider: str
) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "sk-of-nobody")
    with ModelServer(reply=lambda chat: NOTHING, cache=Cache()) as server:
        tale = Tale(tmp_path / "home", projects, server)
        model = {"anthropic": "anthropic/claude-sonnet-4-5", "openai": "openai/gpt-4.1"}[provider]
        tale.settings(model, base=server.base("anthropic"))
        with tale.memory.home.config.open("a") as stream:
            stream.write(f'[openai]\nbase_url = "{server.base("openai")}"\n')
        for number in (1, 2, 3):  # one with work, which is due a handoff, and one without
            texts = TURNS if number < 3 else ("What is the capital of France?",)
            tale.talk(*texts, number=number)
        tale.memory.catch_up()
    calls = list(tale.memory.models.calls.all())
    assert len({chat.system for chat in tale.asked}) == 1
    assert [bool(call.cached) for call in calls] == [False, *[True] * (len(calls) - 1)]
    assert all(call.cached > 0.5 * call.tokens_in for call in calls[1:])
    price = tale.memory.models.price(model)
    assert price and calls[1].cost == pytest.approx(
        price.cost(calls[1].tokens_in, calls[1].tokens_out, calls[1].cached), rel=1e-4
    )
    assert tale.memory.costs().total.cached == sum(call.cached for call in calls)
