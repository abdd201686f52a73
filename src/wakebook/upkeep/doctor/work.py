"""What is done in a home: models that are asked, sessions that are read, hooks, jobs."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from wakebook.base import clock
from wakebook.base.config import Config
from wakebook.base.errors import ModelError
from wakebook.base.home import Home
from wakebook.capture.state import JobRun
from wakebook.learn.account import Account
from wakebook.models.chat import Models
from wakebook.models.model import HOST
from wakebook.models.prices import dollars
from wakebook.upkeep.doctor import Check, State, to_edit, to_run
from wakebook.upkeep.jobs import Standing

RECENT = timedelta(days=7)
SHOWN = 5  # of the same kind
HELD = ("held", "torn")
# what went wrong with a session -> how bad that is, and what helps
ACCOUNTS: dict[str, tuple[str, ...]] = {
    "behind": ("catch-up",),
    "failed": ("catch-up", "--retry-failed"),
    "lost": ("audit",),
    "missing": ("audit",),
}
EVENT = re.compile(r"^\d{4}-\d\d-\d\dT\S+Z (?P<where>.*?): ")
# where something went wrong -> the group of checks that knows whether it still does, what helps
AGAIN: dict[str, tuple[str, tuple[str, ...]]] = {
    "index": ("index", ("index",)),
    "embedding": ("index", ("index",)),
    "git": ("git", ("commit",)),
    "commit": ("git", ("commit",)),
    "model": ("model", ("doctor", "--ask")),
    "budget": ("model", ("costs",)),
    "costs": ("model", ("costs",)),
    "extract": ("model", ("catch-up", "--upgrade")),
    "brief": ("notes", ("brief",)),
    "notes": ("notes", ("notes",)),
    "flush": ("sessions", ("catch-up",)),
    "keep": ("sessions", ("catch-up",)),
    "close": ("sessions", ("catch-up",)),
    "sweep": ("sessions", ("catch-up",)),
    "watch": ("home", ("status",)),
    "wake": ("notes", ("wake",)),
}


def model(home: Home, models: Models) -> Iterator[Check]:
    names = list(dict.fromkeys(filter(None, (models.name("main"), models.name("cheap")))))
    if not names:
        said = "none is configured: rules read the conversations, on this machine"
        yield Check("model: chat", "ok", said)
        return
    problems = models.problems()
    for problem in problems:
        yield Check("model: chat", "warn", problem, _key(problem) or to_edit(home.config))
    if not problems:
        yield Check("model: chat", "ok", f"{', '.join(names)}, with what is needed to ask")
    spent = dollars(models.calls.spent(clock.now()))
    limit = f" of {dollars(models.limit)}" if models.limit else ", no limit"
    yield Check("model: budget", "ok", f"{spent}{limit} this month")


def _key(problem: str) -> str:
    found = re.search(r"there is no key\. Set ([A-Z_]+)", problem)
    return f"export {found[1]}=YOUR-KEY" if found else ""


def asked(home: Home, config: Config, models: Models) -> Iterator[Check]:
    """One small question to every model that is configured. It may cost a little."""
    for name in dict.fromkeys(filter(None, (models.name("main"), models.name("cheap")))):
        settings = config.models.with_(main=name, cheap="", off=(), attempts=1, timeout_seconds=30)
        one = Models(home, config.with_(models=settings), os.environ)
        one.insist = True
        began = clock.monotonic()
        try:
            one.begin("gate", message="Hello.", playbook="greetings: how to answer a greeting")
        except ModelError as error:
            state: State = "note" if name == HOST else "fail"  # which is asked where it is
            yield Check("model: answer", state, str(error), to_edit(home.config))
        else:
            seconds = clock.monotonic() - began
            yield Check("model: answer", "ok", f"{name} answered in {seconds:.1f} s")


def sessions(home: Home, accounts: Sequence[Account]) -> Iterator[Check]:
    for status, words in ACCOUNTS.items():
        found = [account for account in accounts if account.status == status]
        for one in found[:SHOWN]:
            said = f"{one.ref}: {one.note}" if one.note else one.ref
            yield Check(f"sessions: {status}", "warn", said, to_run(home, *words))
        if len(found) > SHOWN:
            said = f"and {len(found) - SHOWN:,} more"
            yield Check(f"sessions: {status}", "warn", said, to_run(home, *words))
    waiting = [one.ref for one in accounts if one.status in HELD]
    if waiting:
        said = f"{waiting[0]}{f' and {len(waiting) - 1} more' if waiting[1:] else ''}: an answer "
        said += "or the end of a line is still to come"
        yield Check("sessions: held", "note", said, to_run(home, "audit"))
    if not any(one.status in ACCOUNTS for one in accounts):
        yield Check("sessions: read", "ok", f"{len(accounts):,} found, none is behind")


def hooks(home: Home, observed: JobRun | None, now: datetime) -> Iterator[Check]:
    """Hooks that failed. When everything was read since then, nothing was lost by it."""
    since = clock.iso(now - RECENT)
    told: dict[str, tuple[str, str, int]] = {}
    for record in home.traces("failure", 1000):
        where, at = str(record.get("where", "")), str(record.get("at", ""))
        if where.startswith("hook ") and at >= since:
            times = told.get(where, ("", "", 0))[2] + 1
            told[where] = (at, str(record.get("error", "")), times)
    read_at = clock.iso(observed.ended) if observed and observed.outcome == "ok" else ""
    for where, (at, error, times) in told.items():
        often = f" ({times} times, last at {at})" if times > 1 else f" ({at})"
        over = at <= read_at
        said = f"{where.removeprefix('hook ')}: {error}{often}"
        said += "; everything was read since" if over else ""
        run = "" if over else to_run(home, "tick", "observe")
        yield Check("hooks: failures", "note" if over else "warn", said, run)
    if not told:
        yield Check("hooks: failures", "ok", f"none in {RECENT.days} days")


def jobs(home: Home, standing: Sequence[Standing]) -> Iterator[Check]:
    failed = [one for one in standing if one.last and one.last.outcome == "failed"]
    for one in failed:
        assert one.last is not None
        times = f" {one.last.failures} times in a row" if one.last.failures > 1 else ""
        said = f"{one.job} failed{times}: {one.last.error}"
        yield Check("jobs: runs", "warn", said, to_run(home, "tick", one.job))
    ran = [one for one in standing if one.last]
    if not ran:
        said = "none has run yet: nothing on this machine runs them"
        yield Check("jobs: runs", "note", said, to_run(home, "service", "install"))
    elif not failed:
        last = max(one.last.ended for one in ran if one.last)
        due = [one.job for one in standing if one.due]
        said = f"last run {clock.iso(last)}" + (f"; due: {', '.join(due)}" if due else "")
        yield Check("jobs: runs", "note" if due else "ok", said, _tick(home, due))


def _tick(home: Home, due: Sequence[str]) -> str:
    return to_run(home, "tick") if due else ""


def lately(home: Home, problems: Sequence[str], so_far: Sequence[Check]) -> Iterator[Check]:
    """What went wrong in the last days and no check knows better: what `status` tells."""
    ill = {one.name.partition(":")[0] for one in so_far if one.state in ("warn", "fail")}
    for problem in problems:
        found = EVENT.match(problem)
        where = found["where"] if found else ""
        if not where or where.startswith(("hook ", "job ")):
            continue  # it has a check of its own
        group, words = AGAIN.get(where.split(" ")[0], ("", ("status",)))
        over = bool(group) and group not in ill
        run = "" if over else to_run(home, *words)
        yield Check("lately: failures", "note" if over else "warn", problem, run)
