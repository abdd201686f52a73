"""Status: how the memory is doing, with every failure of the last days in plain sight; and what
the models have cost."""

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from wakebook.base import clock
from wakebook.base.errors import ConfigError, GitError, WakebookError
from wakebook.base.home import Home
from wakebook.capture.state import State
from wakebook.history.history import History
from wakebook.learn.account import UNACCOUNTED, Account
from wakebook.learn.reread import candidates
from wakebook.log import waiting as unaccepted
from wakebook.log.chains import Chains
from wakebook.log.entry import TYPES
from wakebook.log.log import Ledger
from wakebook.models import prices
from wakebook.models.budget import Limit
from wakebook.models.calls import FAILED, Called
from wakebook.models.chat import Models
from wakebook.models.later import waits
from wakebook.notes import condensed
from wakebook.notes.check import Knowledge
from wakebook.opened import Opened
from wakebook.recall.topics.topic import TopicFiles
from wakebook.store.index import IndexStatus
from wakebook.upkeep.jobs import table

RECENT_DAYS = 7
FULL = 1 << 20  # bytes that are left on the disk
TORN = "log.torn holds half-written lines that a crash left; the log itself is whole"
NOTABLE = {
    "failure": "",
    "covered": "rules read what the model should have (`catch-up --upgrade` reads it again): ",
    "archive-lost": "the open transcript was removed and written again: ",
    "source-replaced": "the host replaced the file; reading went on after the last known message: ",
}

WORTH_KNOWING = {  # and nothing to worry about
    "rejected": "a line broke the rules and was left out: ",
    "refused": "a model proposed what is not to be kept: ",
}


class Status(msgspec.Struct, frozen=True, kw_only=True):
    home: str
    extractor: str
    models: dict[str, str]  # role -> provider/model
    spent: float  # dollars on models, this month
    budget: float  # dollars a month; 0: none
    limits: tuple[Limit, ...]  # what the model may use, and has used
    held: int  # conversations that wait for the model
    by_rules: int  # transcripts that the model could read again: catch-up --upgrade
    log_bytes: int
    counts: dict[str, int]  # current entries by type
    open_tasks: int
    open_questions: int
    replaced: int
    subjects: int
    sessions: dict[str, int]  # audit status -> number
    accounts: tuple[Account, ...]  # those that need attention
    transcripts: int
    last_handoff: str
    git: str
    uncommitted: int
    waiting: int  # entries that the user has yet to accept
    index: IndexStatus
    knowledge: Knowledge
    problems: tuple[str, ...]
    notes: tuple[str, ...]  # worth knowing: edits that wait, what models' answers lost


def status(
    opened: Opened,
    history: History,
    accounts: Sequence[Account],
    index: IndexStatus,
    known: Knowledge,
    now: datetime,
) -> Status:
    home, models, ledger, state = opened.home, opened.models, opened.ledger, opened.state()
    chains = ledger.chains()
    current = chains.current()
    counts = dict.fromkeys(TYPES, 0) | Counter(entry.type for entry in current)
    waiting: list[Path] = []
    problems: list[str] = []
    try:
        waiting = history.waiting()
        problems += history.problems()
    except GitError as error:
        problems.append(str(error))
    by_rules = candidates(home, chains, state) if models.has("extract") else []
    since = clock.iso(now - timedelta(days=RECENT_DAYS))
    over = _over(home, models, state, now) | history.over()
    notable = NOTABLE if by_rules else {k: v for k, v in NOTABLE.items() if k != "covered"}
    handoffs = [entry.timestamp for entry in current if entry.type == "handoff"]
    return Status(
        home=str(home.root),
        extractor=opened.extractor.name,
        models={role: models.name(role) for role in ("main", "cheap") if models.name(role)},
        spent=round(models.calls.spent(now), 6),
        budget=models.limit,
        limits=tuple(models.limits(models.name("main"))) if models.name("main") else (),
        held=sum(one.held for one in state.sessions.values()),
        by_rules=len(by_rules),
        log_bytes=ledger.size(),
        counts=counts,
        open_tasks=sum(entry.type == "task" and chains.is_open(entry) for entry in current),
        open_questions=counts["question"],
        replaced=len(chains.replaced_by),
        subjects=len(opened.registry().known()),
        sessions=dict(Counter(account.status for account in accounts)),
        accounts=tuple(account for account in accounts if account.status in UNACCOUNTED),
        transcripts=sum(1 for _ in home.conversations.glob("*/*/*/*.md")),
        last_handoff=clock.iso(max(handoffs)) if handoffs else "",
        git=history.note(),
        uncommitted=len(waiting),
        waiting=len(unaccepted.read(home).entries),
        index=index,
        knowledge=known,
        problems=(
            *problems,
            *models.problems(),
            *_problems(home, ledger, chains),
            *_events(home, state, notable, since, over),
            *index.problems,
            *known.problems,
            *(f"{one} It is left out." for one in TopicFiles(home).read().bad),
            *_schedule(history),
            *_sync(home),
            *_unsent(home),
        ),
        notes=(
            *_server(home),
            *filter(None, [waits(home)]),
            *_events(home, state, WORTH_KNOWING, since, {}),
            *known.hints,
        ),
    )


def _problems(home: Home, ledger: Ledger, chains: Chains) -> Iterator[str]:
    for bad in ledger.bad():
        yield f"log.jsonl line {bad.number}: {bad.reason}. Correct or remove that line."
    yield from (said for said, _ in broken_chains(chains))
    if (home.root / "log.torn").exists():
        yield TORN
    if (free := shutil.disk_usage(home.root).free) < FULL:
        yield f"The disk is full ({free / 1e6:,.0f} MB free): what cannot be written is refused."
    if (home.root / "erasing.json").exists():
        yield "An erasure was interrupted: `wakebook erase` finishes it."


def broken_chains(chains: Chains) -> Iterator[tuple[str, str]]:
    """What is wrong with replacements, and the entry to look at, if it is one."""
    for entry, missing in chains.dangling:
        yield f"entry {entry} replaces {missing}, which is not in the log", entry
    for circle in chains.cycles:
        yield f"entries replace each other in a circle: {' -> '.join(circle)}", ""
    for identity in chains.repeated:
        yield f"entry {identity} stands in the log more than once; the first one counts", ""


def _over(home: Home, models: Models, state: State, now: datetime) -> dict[str, str]:
    """When something last did well: its earlier failures are over."""
    used = {models.name("main"), models.name("cheap")}  # and not one that was only tried
    calls = (call for call in models.calls.of_month(now) if call.model in used)
    over = {f"model for {call.operation}": call.at for call in calls if call.outcome == "ok"}
    runs = state.jobs.items()
    over |= {f"job {name}": clock.iso(run.ended) for name, run in runs if run.outcome == "ok"}
    with suppress(WakebookError):  # which the notes complain about
        blocks = condensed.load(home).items()
        over |= {f"condense {name}": clock.iso(rewrite.at) for name, rewrite in blocks}
    # a vault that was built since has told anew what is wrong there
    for built in home.traces("vault", 1):
        over["vault"] = str(built["at"])
    return over | {f"flush {one['session']}": str(one["at"]) for one in home.traces("flushed")}


def _sync(home: Home) -> Iterator[str]:
    if (home.root / "machine.json").exists():
        from wakebook.sync import behind

        yield from filter(None, [behind.problem(home)])


def _server(home: Home) -> Iterator[str]:
    """The server for teams that this home is joined to (see service/remote)."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        url = json.loads((home.root / "server.json").read_bytes())["url"]
        yield f"joined to {url}: hooks, MCP, search and remember ask it, not this home"


def _unsent(home: Home) -> Iterator[str]:
    """Sessions of a joined home that have not got there; one may be on its way right now."""
    ages = [clock.age(path.stat().st_mtime) for path in (home.root / "unsent").glob("*.json")]
    if ages and max(ages) > 60:
        yield (
            f"{len(ages)} events of sessions wait to be sent to the server, the oldest for "
            f"{max(ages) / 60:.0f} minutes. They go with the next event that reaches it."
        )


def _schedule(history: History) -> Iterator[str]:
    try:
        table(history.config.schedule, history.home.config)
    except ConfigError as error:
        yield f"{error} No job runs until then."


def _events(
    home: Home, state: State, notable: Mapping[str, str], since: str, over: Mapping[str, str]
) -> Iterator[str]:
    """The notable events since then; what happened again and again is told once."""
    told: dict[tuple[str, str], tuple[str, int]] = {}
    for event, what in notable.items():
        for record in home.traces(event):
            where = str(record.get("where") or record.get("session") or "")
            if event == "failure" and where in state.sessions:
                continue  # it stands in the session's account
            where = "extract" if event == "covered" else where  # once for all sessions
            where = "vault" if where.startswith("vault ") else where
            if str(record.get("at", "")) < max(since, over.get(where, "")):
                continue
            reason = record.get("error") or record.get("reason") or record.get("path") or ""
            said = (where, f"{what}{reason}")
            told[said] = (str(record["at"]), told.get(said, ("", 0))[1] + 1)
    for (where, text), (at, times) in told.items():
        yield f"{at} {where}: {text}" + (f" ({times} times)" if times > 1 else "")


# --- costs -------------------------------------------------------------------------------
GROUPS: dict[str, Callable[[Called], str]] = {
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
    every = models.calls.all()
    chosen = [one for one in every if since is None or (clock.parse(one.at) or since) >= since]
    groups: dict[str, list[Called]] = {}
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


def _sum(name: str, found: Sequence[Called]) -> Sum:
    return Sum(
        name=name,
        calls=len(found),
        failed=sum(call.outcome in FAILED for call in found),
        tokens_in=sum(call.tokens_in for call in found),
        tokens_out=sum(call.tokens_out for call in found),
        cached=sum(call.cached for call in found),
        cost=round(sum(call.cost or 0.0 for call in found), 6),
        unpriced=sum(call.cost is None and call.tokens_in > 0 for call in found),
        seconds=round(sum(call.seconds for call in found), 3),
    )
