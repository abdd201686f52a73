"""Costs: what the models were asked, added up."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

import msgspec

from wakebook.base import clock
from wakebook.base.home import Home
from wakebook.models import prices
from wakebook.models.calls import FAILED, Call
from wakebook.models.chat import Models

GROUPS: dict[str, Callable[[Call], str]] = {
    "operation": lambda call: call.operation,
    "model": lambda call: call.model,
    "day": lambda call: call.at[:10],
}


class Sum(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    calls: int
    failed: int
    tokens_in: int
    tokens_out: int
    cached: int
    cost: float
    unpriced: int  # calls of models whose price is not known
    seconds: float


class Costs(msgspec.Struct, frozen=True, kw_only=True):
    by: str
    groups: tuple[Sum, ...]
    total: Sum
    month: float  # dollars, this month
    budget: float  # dollars a month; 0: none
    prices: str  # the date of the price table


def costs(home: Home, models: Models, by: str, since: datetime | None, now: datetime) -> Costs:
    chosen = [
        call
        for call in models.calls.all()
        if since is None or (clock.parse(call.at) or since) >= since
    ]
    groups: dict[str, list[Call]] = {}
    for call in chosen:
        groups.setdefault(GROUPS[by](call), []).append(call)
    sums = [_sum(name, found) for name, found in groups.items()]
    key = (lambda one: one.name) if by == "day" else (lambda one: (-one.cost, one.name))
    return Costs(
        by=by,
        groups=tuple(sorted(sums, key=key)),
        total=_sum("total", chosen),
        month=round(models.calls.spent(now), 6),
        budget=models.limit,
        prices=prices.load(home.root / "prices.toml").date,
    )


def _sum(name: str, calls: Iterable[Call]) -> Sum:
    found = list(calls)
    paid = [call for call in found if call.outcome not in (*FAILED, "too large")]
    return Sum(
        name=name,
        calls=len(found),
        failed=len(found) - len(paid),
        tokens_in=sum(call.tokens_in for call in found),
        tokens_out=sum(call.tokens_out for call in found),
        cached=sum(call.cached for call in found),
        cost=round(sum(call.cost or 0.0 for call in found), 6),
        unpriced=sum(call.cost is None for call in paid),
        seconds=round(sum(call.seconds for call in found), 3),
    )
