"""Upkeep of a tenant, as its page shows it: what it holds and may hold, its jobs, its sessions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from wakebook.memory import Memory
from wakebook.service.page import parts, pictures
from wakebook.service.page import upkeep as own
from wakebook.service.page.behind import kept
from wakebook.service.page.html import Child, Html, h
from wakebook.service.page.request import Request, Sheet
from wakebook.team import queue, rows
from wakebook.team.database import Database
from wakebook.verbs import VERBS

SECONDS = 60.0  # that the status is shown for, unless the memory changes
LISTED = 30


def upkeep(request: Request, memory: Memory, db: Database, tenant: int) -> Sheet:
    room, now = rows.quota(db, tenant), memory.opened.now()
    key = ("status of a tenant", str(memory.home.root), room["change"])
    status = kept(key, SECONDS, lambda: _status(memory))
    aside = queue.aside(db, tenant)
    body = h.div(
        h.div(
            h.div(
                own.problems(status),
                _aside(aside, now),
                own.sessions(request, status),
                own.jobs(request, memory, now),
            ),
            h.div(_room(room), _waiting(queue.waiting(db, tenant), now), own.costs(memory, now)),
            class_="columns",
        ),
        parts.section("Learned", parts.card(pictures.learned(memory), roomy=True), id="learned"),
        id="upkeep", data_live="upkeep",
    )  # fmt: skip
    wrong = len(status["problems"]) + len(status["accounts"]) + len(aside)
    lead = f"{parts.many(wrong, 'thing')} to look at." if wrong else "All is well."
    source = "the database of the server"
    return Sheet("Upkeep", body, lead, source=source, command="wakebook team list")


def _status(memory: Memory) -> Mapping[str, Any]:
    verb = VERBS["status"]
    found: Mapping[str, Any] = json.loads(verb.answer(memory, verb.asks()))
    return found


def _room(room: Mapping[str, Any]) -> Html:
    """What it holds, beside its quota."""
    facts: list[tuple[str, Child]] = []
    for name, each in {"entries": "{:,}", "bytes": "{:,}", "dollars": "${:,.2f}"}.items():
        most, has = room[f"most_{name}"], each.format(room[name])
        limit = f"{has} of {each.format(most)}" if most is not None else f"{has}, without a limit"
        share = parts.bar(min(1.0, room[name] / most), "amber") if most else None
        facts.append((f"{name} this month" if name == "dollars" else name, (limit, share)))
    return parts.section("Room", parts.card(parts.table(facts), roomy=True), id="room")


def _waiting(found: list[queue.Waiting], now: datetime) -> Html:
    if not found:
        body: Child = parts.none("No job waits: workers have done everything.")
    else:
        body = parts.table((one.verb, _when(one, now)) for one in found[:LISTED])
    rest = parts.rest(len(found), LISTED)
    aside = f"{len(found)}" if found else ""
    return parts.section("With the workers", parts.card(body, rest), aside=aside, id="waiting")


def _when(one: queue.Waiting, now: datetime) -> str:
    if one.begun:
        return "being done"
    tried = f", failed {parts.many(one.attempts, 'time')}" if one.attempts else ""
    again = f", again {parts.moment(one.at, now)}" if one.at else ""
    return f"waits{tried}{again}"


def _aside(found: list[queue.Aside], now: datetime) -> Html | None:
    if not found:
        return None
    listed = (
        parts.row(
            "!", one.error, (f"job {one.job}: {one.arguments.get('verb', '')}",
                             parts.many(one.attempts, "attempt"), parts.moment(one.at, now)),
            class_="conflict", plainly=True,
        )
        for one in found[-LISTED:]
    )  # fmt: skip
    note = h.p(
        "Ask its administrator: ", h.code("wakebook team jobs --again NUMBER"), class_="facts"
    )
    return parts.section("Set aside", parts.card(parts.rows(listed), note), aside=f"{len(found)}")
