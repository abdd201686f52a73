"""Spending: the calls of one rebuild, counted while they are written down like all others."""

from __future__ import annotations

from threading import Lock

from wakebook.home import Home
from wakebook.models.calls import Call, Calls


class Spending:
    """Calls and dollars since the last time somebody asked. Several threads add to it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._calls: list[Call] = []

    def add(self, call: Call) -> None:
        with self._lock:
            self._calls.append(call)

    def taken(self) -> tuple[int, float, int]:
        """Calls, dollars, and calls without a price; the count begins anew."""
        with self._lock:
            calls, self._calls = self._calls, []
        cost = round(sum(one.cost or 0.0 for one in calls), 8)
        return len(calls), cost, sum(one.cost is None for one in calls)


class CountedCalls(Calls):
    """The calls of a home, as ever; and this rebuild knows of its own."""

    def __init__(self, home: Home, spending: Spending) -> None:
        super().__init__(home)
        self._spending = spending

    def add(self, call: Call) -> None:
        self._spending.add(call)
        super().add(call)
