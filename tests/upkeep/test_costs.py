"""What the models have cost, through the command line and in the settings' own budget."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import CliRunner

from tests.lend import MODEL, answers, entry, equipped, known
from tests.server import ModelServer, Say, Status
from wakebook import Memory
from wakebook.cli import cli
from wakebook.models import prices

FIELDS = ("calls", "failed", "tokens_in", "tokens_out", "cached", "cost", "unpriced", "seconds")


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(reply=answers()) as server:
        yield server


def costs(memory: Memory, *arguments: str) -> str:
    done = CliRunner().invoke(cli, ["--home", str(memory.home.root), "costs", *arguments])
    assert done.exit_code == 0, done.output
    return done.output


def sums(memory: Memory, *arguments: str) -> Any:
    return json.loads(costs(memory, "--json", *arguments))


def ask(memory: Memory) -> None:
    """One question."""
    memory.models.ask("commit", files="log.jsonl", diff="+ The port is 9090.")


def three_days(
    memory: Memory, server: ModelServer, monkeypatch: pytest.MonkeyPatch, **models: Any
) -> Memory:
    """Two commits, one of which failed, at two days; then a briefing, by another model."""
    memory = equipped(memory, server, **{"cheap": "anthropic/claude-haiku-5-5"} | models)
    known(memory, entry(3, "The relay retries twice", subject="relay"))
    known(memory, entry(2, "The relay retries often", subject="relay"))
    monkeypatch.setenv("WAKEBOOK_NOW", "2026-10-31T23:00:00Z")
    server.script(Say("ok", tokens=(2_000_000, 1_000, 500_000)))
    ask(memory)
    monkeypatch.setenv("WAKEBOOK_NOW", "2026-11-08T10:00:00Z")
    server.script(Status(500, "out of order"))
    with pytest.raises(Exception, match="out of order"):
        ask(memory)
    monkeypatch.setenv("WAKEBOOK_NOW", "2026-11-09T08:00:00Z")
    line = json.dumps({"subject": "relay", "line": "The relay retries"})
    server.script(Say(line, tokens=(1000, 100, 0)), Say('{"none":true}', tokens=(500, 10, 0)))
    memory.notes.brief()
    return memory


def test_a_home_that_has_asked_nothing(memory: Memory) -> None:
    assert costs(memory) == "No model has been asked yet: rules cost nothing.\n"
    assert sums(memory)["groups"] == []
    assert sums(memory)["total"]["calls"] == 0


@pytest.mark.parametrize(
    ("by", "names"),
    [
        ("operation", ["commit", "briefing", "contradictions"]),
        ("model", ["anthropic/claude-haiku-5-5", MODEL]),
        ("day", ["2026-10-31", "2026-11-08", "2026-11-09"]),
    ],
)
def test_the_groups_add_up_to_the_total(
    memory: Memory,
    server: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
    by: str,
    names: list[str],
) -> None:
    memory = three_days(memory, server, monkeypatch)
    found = sums(memory, "--by", by)
    assert [group["name"] for group in found["groups"]] == names
    for field in FIELDS:
        added = sum(group[field] for group in found["groups"])
        assert added == pytest.approx(found["total"][field], abs=1e-5), field
    assert found["total"]["calls"] == 4
    assert found["total"]["failed"] == 1
    assert found["total"]["tokens_in"] == 2_001_500
    # haiku-5-5: 1.5 M at 0.10, 0.5 M cached at 0.01, 1,000 at 0.50; haiku-4-5: 1,500 and 110
    assert found["total"]["cost"] == pytest.approx(0.15 + 0.005 + 0.0005 + 0.0015 + 0.00055)
    assert found["month"] == pytest.approx(0.00205)  # October does not count
    text = costs(memory, "--by", by)
    for name in names:
        assert re.search(rf"^{re.escape(name)} ", text, re.MULTILINE)
    assert re.search(r"^total +4 +1 +2,001,500 +500,000 +1,110 +[\d.]+ +0\.157", text, re.M)


def test_operations_are_the_default_and_the_dearest_comes_first(
    memory: Memory, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = three_days(memory, server, monkeypatch)
    assert costs(memory) == costs(memory, "--by", "operation")
    spent = [group["cost"] for group in sums(memory)["groups"]]
    assert spent == sorted(spent, reverse=True)


def test_since_leaves_out_what_is_older(
    memory: Memory, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = three_days(memory, server, monkeypatch)
    assert sums(memory, "--since", "2026-11-01")["total"]["calls"] == 3
    assert sums(memory, "--since", "12h")["total"]["calls"] == 2
    assert sums(memory, "--since", "2026-11-09T08:00")["total"]["calls"] == 2
    nothing = costs(memory, "--since", "2026-11-10")
    assert "yet" not in nothing
    assert "since" in nothing.lower()


def test_the_date_of_the_prices_is_told(memory: Memory, server: ModelServer) -> None:
    memory = equipped(memory, server)
    ask(memory)
    date = prices.load().date
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", date)
    assert f"this month; prices of {date}" in costs(memory)
    assert sums(memory)["prices"] == date


def test_the_budget_stands_beside_what_is_spent(
    memory: Memory, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = three_days(memory, server, monkeypatch, monthly_budget=12.5)
    assert "$0.0021 of a budget of $12.50 this month" in costs(memory)
    assert sums(memory)["budget"] == 12.5


def test_a_price_that_is_not_known_is_told_and_can_be_given(
    memory: Memory, server: ModelServer
) -> None:
    memory = equipped(memory, server, main="anthropic/claude-unheard-of")
    server.script(Say("ok", tokens=(1_000_000, 0, 0)))
    ask(memory)
    text = costs(memory)
    assert re.search(r"^commit .* 0\.0000 \?", text, re.MULTILINE)
    assert "? calls without a known price: 1" in text
    assert sums(memory)["total"]["unpriced"] == 1
    own = memory.home.root / "prices.toml"
    own.write_text('[anthropic]\n"claude-unheard-of" = { input = 7.00, output = 9.00 }\n')
    server.script(Say("ok", tokens=(1_000_000, 0, 0)))
    ask(memory)
    assert sums(memory)["total"]["cost"] == pytest.approx(7.0)


def test_the_sum_is_marked_too_where_a_price_is_not_known(
    memory: Memory, server: ModelServer
) -> None:
    memory = equipped(memory, server, main="anthropic/claude-unheard-of")
    ask(memory)
    assert re.search(r"^total .* 0\.0000 \?", costs(memory), re.MULTILINE)


def test_a_failed_call_is_counted_but_costs_nothing(memory: Memory, server: ModelServer) -> None:
    memory = equipped(memory, server, main="anthropic/claude-unheard-of")
    server.script(Status(500, "out of order"))
    with pytest.raises(Exception, match="out of order"):
        ask(memory)
    [group] = sums(memory)["groups"]
    assert (group["calls"], group["failed"], group["cost"], group["unpriced"]) == (1, 1, 0.0, 0)
    assert "?" not in costs(memory)


def test_half_a_line_that_a_crash_left_is_no_call(memory: Memory, server: ModelServer) -> None:
    memory = equipped(memory, server)
    ask(memory)
    path = memory.home.root / "costs" / "2026-11.jsonl"
    with path.open("a") as stream:
        stream.write('{"at":"2026-11-09T08:00:00Z","opera')
    ask(memory)
    assert sums(memory)["total"]["calls"] == 2  # the one behind it is not lost with it


def test_costs_are_not_in_git_and_nobody_elses(memory: Memory, server: ModelServer) -> None:
    memory = equipped(memory, server)
    memory.history.commit("settings")
    ask(memory)
    assert memory.status().uncommitted == 0
    path = memory.home.root / "costs" / "2026-11.jsonl"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("limit", "spent", "warning"),
    [
        (1.0, 0.79, ""),
        (1.0, 0.81, "$0.8100 of the monthly budget of $1.00 is spent (81%)"),
        (1.0, 1.0, "The monthly budget of $1.00 is used up"),
        (0.001, 0.0009, "$0.0009 of the monthly budget of $0.0010 is spent (90%)"),
    ],
)
def test_status_warns_before_the_budget_is_used_up(
    memory: Memory, server: ModelServer, limit: float, spent: float, warning: str
) -> None:
    memory = equipped(memory, server, monthly_budget=limit)
    server.script(Say("ok", tokens=(round(spent * 1_000_000), 0, 0)))
    ask(memory)
    said = [line for line in memory.status().problems if "budget" in line]
    assert len(said) == bool(warning)
    assert all(line.startswith(warning) for line in said), said


def test_a_spent_budget_asks_nothing_until_the_next_month(
    memory: Memory, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = equipped(memory, server, monthly_budget=1.0)
    server.script(Say("ok", tokens=(1_000_000, 0, 0)))
    ask(memory)
    known(memory, entry(2, "The relay retries twice", subject="relay"))
    memory.notes.brief()
    assert len(server.chats) == 1
    assert "The relay retries twice" in memory.home.memory.read_text()
    monkeypatch.setenv("WAKEBOOK_NOW", "2026-12-01T00:00:00Z")
    ask(memory)
    assert len(server.chats) == 2
