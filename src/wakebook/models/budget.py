"""Budget: what models may use, by the day and by the month (UTC), and what they have used.

Dollars for every model. A client (Claude Code, Codex, pi) mostly runs on a subscription, so that
its calls and tokens are limited as well. The records of the calls are the only memory of it, and
hold across processes. A limit of 0 is none.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Literal

import msgspec

from wakebook.base import clock, config
from wakebook.base.config import is_client
from wakebook.models.calls import Calls
from wakebook.models.prices import dollars

WARN = 0.8  # of a limit
Period = Literal["day", "month"]
UNTIL = {"day": "tomorrow (UTC)", "month": "the next month"}


class Limit(msgspec.Struct, frozen=True, kw_only=True):
    period: Period
    of: Literal["dollars", "calls", "tokens"]
    most: float
    used: float

    def allows(self, more: float) -> bool:
        return self.used + more <= self.most

    @property
    def setting(self) -> str:
        """Its name in [models]."""
        return f"{_LY[self.period]}_{'budget' if self.of == 'dollars' else self.of}"

    def used_up(self) -> str:
        """That it is, or does not reach for the next question."""
        state = "is used up" if self.used >= self.most else "does not reach for the next question"
        verb = "spent" if self.of == "dollars" else "used"
        return (
            f"{self._name()} {state} ({self._count(self.used)} {verb}): rules take over until "
            f"{UNTIL[self.period]}. Raise {self.setting} in [models] to go on."
        )

    def warning(self) -> str:
        """What is due to be said about it; "" if nothing is."""
        if self.used < WARN * self.most:
            return ""
        if self.used >= self.most:
            return self.used_up()
        name = self._name()
        return (
            f"{self._count(self.used)} of {name[0].lower()}{name[1:]} "
            f"{'is spent' if self.of == 'dollars' else 'are used'} ({self.used / self.most:.0%}). "
            f"When it is used up, rules take over until {UNTIL[self.period]}."
        )

    def __str__(self) -> str:
        """12 of 400 calls today."""
        when = "today" if self.period == "day" else "this month"
        noun = "" if self.of == "dollars" else f" {self.of}"
        used = self._count(self.used).removesuffix(noun)
        return f"{used} of {self._count(self.most)} {when}"

    def _name(self) -> str:
        kind = "budget" if self.of == "dollars" else "limit"
        return f"The {_LY[self.period]} {kind} of {self._count(self.most)}"

    def _count(self, number: float) -> str:
        return dollars(number) if self.of == "dollars" else f"{int(number):,} {self.of}"


_LY: dict[str, str] = {"day": "daily", "month": "monthly"}


def limits(settings: config.ModelSettings, calls: Calls, name: str, now: datetime) -> list[Limit]:
    """The limits that hold for a model, with what is used of each."""
    return list(_limits(settings, calls, name, now))


def _limits(
    settings: config.ModelSettings, calls: Calls, name: str, now: datetime
) -> Iterator[Limit]:
    every = calls.of_month(now)
    today = clock.iso(now)[:10]
    by_day = [one for one in every if one.at[:10] == today]
    for period, chosen in (("day", by_day), ("month", every)):
        own = [one for one in chosen if is_client(one.model)] if is_client(name) else []
        used = {
            "dollars": sum(one.cost or 0.0 for one in chosen) + calls.promised(),
            "calls": len(own),
            "tokens": sum(one.tokens_in + one.tokens_out for one in own),
        }
        for of in used if is_client(name) else ("dollars",):
            limit = Limit(period=period, of=of, most=0.0, used=used[of])  # type: ignore[arg-type]
            if most := getattr(settings, limit.setting):
                yield msgspec.structs.replace(limit, most=most)
