"""Reading again in batches: half the price, across runs and kills, nothing twice."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.learn.telling import Tale, answer, block, fact, handoff
from tests.lend import entry, known
from tests.server import Chat, ModelServer
from wakebook.base import clock
from wakebook.base.errors import ConfigError
from wakebook.learn.reread import Upgraded

NAMES = {"anthropic": "anthropic/claude-sonnet-4-5", "openai": "openai/gpt-4.1"}
SAID = ("The relay listens on port 8443.", "Mira brings the projector.", "Ruben moved to Lund.")


def reply(chat: Chat) -> str:
    """What the user said first, as a fact, and a handoff."""
    first = next(line for line in block(chat, "messages").splitlines() if line.startswith("    "))
    return answer(fact(f"Note: {first.strip()}", 1), handoff())


@pytest.fixture
def tale(tmp_path: Path, projects: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tale]:
    """Three conversations that rules have read, and a model that could read them now."""
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "sk-of-nobody")
    with ModelServer(reply=reply) as server:
        tale = Tale(tmp_path / "home", projects, server)
        tale.settings("")
        for number, text in enumerate(SAID, 1):
            tale.talk(text, "Noted.", "Thanks, that is all.", "Fine.", number=number)
        tale.memory.catch_up()
        chosen(tale)
        yield tale


def chosen(tale: Tale, provider: str = "anthropic", **models: Any) -> None:
    tale.settings(NAMES[provider], **models)
    with tale.memory.home.config.open("a") as stream:
        stream.write(f'[openai]\nbase_url = "{tale.server.base("openai")}"\n')


def saved(tale: Tale) -> Path:
    return tale.root / "costs" / "batches.json"


def by_model(tale: Tale) -> list[str]:
    return [one.content for one in tale.current("fact") if one.by.startswith(tuple(NAMES.values()))]


@pytest.mark.parametrize("provider", NAMES)
def test_a_later_run_collects_what_an_earlier_one_asked(tale: Tale, provider: str) -> None:
    chosen(tale, provider)
    desk, before = tale.server.desk, len(tale.log())
    assert tale.memory.upgrade(batch=True) == Upgraded(waiting=3)
    assert [len(one["requests"]) for one in desk.batches] == [3]
    assert not tale.memory.costs().groups and len(tale.log()) == before
    (note,) = [one for one in tale.memory.status().notes if "batch" in one]
    assert note.startswith(f"3 questions wait in a batch for {NAMES[provider]}, since 2026-11-09")
    assert tale.memory.upgrade(batch=True) == Upgraded(waiting=3)  # it is not done yet
    assert tale.memory.upgrade() == Upgraded(waiting=3)  # and is not asked for besides
    assert len(desk.batches) == 1 and not tale.server.chats
    desk.ready = True
    done = tale.memory.upgrade()
    assert (done.transcripts, done.waiting, done.failed) == (3, 0, {})
    assert by_model(tale) == [f"Note: {text}" for text in SAID]
    calls = list(tale.memory.models.calls.all())
    price = tale.memory.models.price(NAMES[provider])
    assert price and len(calls) == 3 == len(tale.server.chats)
    assert calls[0].cost == pytest.approx(price.cost(calls[0].tokens_in, calls[0].tokens_out) / 2)
    assert not saved(tale).exists() and tale.valid()
    assert tale.memory.upgrade(batch=True) == Upgraded()
    assert len(list(tale.memory.models.calls.all())) == 3 and len(desk.batches) == 1


@pytest.mark.parametrize("provider", NAMES)
def test_a_kill_while_sending_sends_nothing_twice(tale: Tale, provider: str) -> None:
    chosen(tale, provider)
    tale.memory.upgrade(batch=True)
    (batch,) = json.loads(saved(tale).read_bytes())
    del batch["id"]  # the provider had it, and we were killed before we knew its name
    saved(tale).write_text(json.dumps([batch]))
    assert tale.memory.upgrade(batch=True).waiting == 3
    assert len(tale.server.desk.batches) == 1
    tale.server.desk.batches.clear()  # killed before the provider had it
    saved(tale).write_text(json.dumps([batch]))
    assert tale.memory.upgrade(batch=True).waiting == 3
    tale.server.desk.ready = True
    assert tale.memory.upgrade().transcripts == 3 and len(tale.server.desk.batches) == 1


def test_a_kill_while_collecting_counts_nothing_twice(tale: Tale) -> None:
    tale.memory.upgrade(batch=True)
    waiting = saved(tale).read_bytes()
    tale.server.desk.ready = True
    tale.memory.upgrade()
    log, spent = tale.log(), tale.memory.costs().total
    saved(tale).write_bytes(waiting)  # as it was before
    assert tale.memory.upgrade() == Upgraded()
    assert tale.log() == log and tale.memory.costs().total == spent


def test_a_question_that_failed_is_asked_again(tale: Tale) -> None:
    tale.memory.upgrade(batch=True)
    desk = tale.server.desk
    desk.ready, desk.failing = True, {1}
    done = tale.memory.upgrade()
    assert done.transcripts == 2 and "expired" in "".join(done.failed.values())
    assert tale.memory.costs().total.failed == 1
    desk.failing = set()
    desk.ready = False
    assert tale.memory.upgrade(batch=True).waiting == 1
    desk.ready = True
    assert tale.memory.upgrade().transcripts == 1 and tale.valid()


def test_references_are_those_of_the_question(tale: Tale) -> None:
    """What was shown as k1 is k1, whatever came into the log since."""
    (port,) = known(tale.memory, entry(400, "The old relay listens on port 7000."))

    def corrects(chat: Chat) -> str:
        (ref,) = [one.split()[0] for one in block(chat, "known").splitlines() if "7000" in one]
        if "8443" not in block(chat, "messages"):
            return answer(handoff())
        return answer(fact("The old relay listens on port 8443", 1, replaces=[ref]), handoff())

    tale.server.reply = corrects
    tale.memory.upgrade(batch=True)
    more = (f"The relay of harbour {number} listens on port 90{number}0." for number in range(5))
    known(tale.memory, *(entry(500 + at, text) for at, text in enumerate(more)))
    tale.server.desk.ready = True
    tale.memory.upgrade()
    (found,) = [one for one in tale.current("fact") if one.content.endswith("port 8443")]
    assert port.id in found.replaces and tale.valid()


def test_a_batch_keeps_to_the_budget(tale: Tale) -> None:
    chosen(tale, monthly_budget=0.01, daily_budget=0.0)
    memory = tale.memory
    assert memory.upgrade(batch=True).waiting == 3
    (batch,) = tale.server.desk.batches
    assert 0 < len(batch["requests"]) < 3
    assert memory.models.calls.promised() <= 0.01
    assert any("does not reach" in one for one in memory.status().problems)
    (limit,) = memory.models.limits(NAMES["anthropic"])
    assert limit.used == memory.models.calls.promised()  # nothing else may spend it


def test_not_every_model_takes_batches(tale: Tale) -> None:
    tale.settings("ollama/qwen3:8b")
    with pytest.raises(
        ConfigError, match=r"ollama/qwen3:8b takes no batches: anthropic/\.\.\. and"
    ):
        tale.memory.upgrade(batch=True)


def test_a_rebuild_in_batches(tale: Tale) -> None:
    tale.settings(NAMES["anthropic"], git=True)
    tale.memory.history.commit("settings")
    first = tale.memory.rebuilds.build(extractor="model", batch=True)
    assert first.done is None and first.stopped.left == 3 and "batch" in first.stopped.reason
    assert any("`wakebook rebuild`" in one for one in tale.memory.status().notes)
    tale.server.desk.ready = True
    last = tale.memory.rebuilds.build(extractor="model", batch=True)
    assert last.done and last.done.calls == 3 and len(tale.server.desk.batches) == 1
    assert last.done.cost == pytest.approx(tale.memory.models.calls.spent(clock.now()), abs=1e-6)
