"""Operating it: rebuilds with progress, jobs that fail for real, a graceful stop, logs."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.team.postgres import database
from tests.team.serving import Team, ask, until
from tests.team.test_remote import team_env
from wakebook.team import queue, tenants
from wakebook.team.database import Database
from wakebook.team.queue import Chore

LINE = '{"role": "user", "content": "Our landlord is called Osei, and he lives in Faro."}\n'


@pytest.fixture
def team(server: tuple[str, str], tmp_path: Path) -> Iterator[Team]:
    with database(*server) as url:
        made = Team(
            url, tmp_path / "copies", team_env(tmp_path) | {"TEAM_LOG": str(tmp_path / "log")}
        )
        yield made
        made.end()


def test_a_rebuild_of_all_spreads_over_workers_and_shows_how_far_it_is(
    team: Team, tmp_path: Path
) -> None:
    db, names = Database(team.url), ("ada", "bo", "cleo")
    for name in names:
        team.command("add", name)
    port = team.server()
    tokens = {name: tenants.give(db, name).text for name in names}
    for token in tokens.values():
        assert ask(port, "/v1/uploads/plain/talk.jsonl", LINE.encode(), token).status == 200
    for name in names[:2]:  # the third has nothing that could be read anew
        close = Chore(verb="close", ask={"session": "talk"})
        queue.put(db, tenants.number(db, name), close)
    workers = [team.process("work", "--jobs", "1")[0] for _ in range(2)]
    until(lambda: not any(queue.counts(db)[one] for one in ("todo", "doing")))
    made = team.command("rebuild")
    assert made["tenants"] == 3

    def done() -> bool:
        jobs = team.command("jobs", "--batch", made["batch"])["jobs"]
        assert sum(jobs.values()) == 3
        return bool(jobs["succeeded"] == 3)

    until(done)
    for token in tokens.values():
        hits = ask(port, "/v1/search", {"text": "landlord"}, token).data["hits"]
        assert sum("Osei" in hit["snippet"] for hit in hits) >= 1
    queue.put(db, tenants.number(db, "ada"), Chore(verb="get", ask={"ref": "nowhere"}))
    with db.anyone() as connection:  # it has failed four times
        connection.execute("UPDATE procrastinate_jobs SET attempts = 4 WHERE status = 'todo'")
    until(lambda: queue.aside(db))
    told = team.command("jobs", code=1)
    assert told["aside"][0]["tenant"] == "ada" and "nowhere" in told["aside"][0]["error"]
    assert [one["aside"] for one in team.command("list")] == [1, 0, 0]
    team.command("jobs", "--drop", str(told["aside"][0]["job"]))
    queue.put(db, tenants.number(db, "bo"), Chore(verb="remember", ask={"text": "At the end."}))
    for worker in workers:
        os.kill(worker.pid, signal.SIGTERM)
    assert [worker.wait(60) for worker in workers] == [0, 0]
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    events = {(line["level"], line["event"]) for line in lines}
    assert {("info", "ready"), ("info", "job"), ("warning", "job failed"), ("info", "stopped")} <= (
        events
    )
    assert all(line["tenant"] and line["seconds"] >= 0 for line in lines if line["event"] == "job")
    assert queue.counts(db)["doing"] == 0
    db.close()
