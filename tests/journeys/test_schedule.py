"""The clock, from the command line: cron's tick, the table of jobs, and the watch."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.command import run, run_json
from tests.story import WORKDAY, Claude, chat
from wakebook import Memory
from wakebook.base import cache
from wakebook.base.home import Home

JOBS = "observe briefing daily weekly monthly prune commit tags".split()


@pytest.fixture
def home() -> Home:
    run("init")
    return Home(Path.home() / ".wakebook")


def runs(home: Home) -> dict[str, int]:
    traced = [record["job"] for record in home.traces("job", 1000)]
    return {name: traced.count(name) for name in JOBS}


def test_a_tick_runs_what_is_due_and_the_next_one_nothing(home: Home, projects: Path) -> None:
    chat(Claude(projects), WORKDAY)
    lines = run("tick").splitlines()
    assert [line.split()[1] for line in lines] == JOBS
    assert "messages read: 6" in lines[0]
    assert run("tick").strip() == "● Nothing is due. Next: observe, Mon 08:15."
    assert run_json("tick") == {"jobs": []}
    assert "Ankerpolice" in home.memory.read_text()  # the briefing


def test_the_clock_moves_and_a_week_of_sleep_is_one_run_of_each(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tick(now: str) -> list[str]:
        monkeypatch.setenv("WAKEBOOK_NOW", f"2026-11-{now}Z")
        return [ran["job"] for ran in run_json("tick")["jobs"]]

    assert tick("09T08:00:00") == JOBS
    assert tick("09T08:14:59") == []
    assert tick("09T08:15:00") == ["observe"]
    assert tick("09T08:30:00") == ["observe", "commit"]
    assert tick("16T12:07:00") == [name for name in JOBS if name != "monthly"]
    assert tick("16T12:08:00") == []


def test_the_users_zone_decides_when_the_night_begins(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.config.write_text('[schedule]\ntime_zone = "America/New_York"\ndaily = "30 1 * * *"\n')
    nights: list[str] = []
    for now in (
        "2026-10-31T12:00:00Z",
        "2026-11-01T05:29:00Z",  # 01:29, for the first time in this night
        "2026-11-01T05:30:00Z",
        "2026-11-01T06:30:00Z",  # 01:30 again
        "2026-11-02T06:30:00Z",
    ):
        monkeypatch.setenv("WAKEBOOK_NOW", now)
        done = run_json("tick")["jobs"]
        nights += [ran["slot"] for ran in done if ran["job"] == "daily"]
    assert nights == ["2026-10-31T05:30:00Z", "2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z"]
    assert run_json("jobs")["time_zone"] == "America/New_York"


def test_a_job_by_name_runs_now(home: Home) -> None:
    run("tick")
    assert run("tick", "briefing").startswith("● briefing")
    assert runs(home)["briefing"] == 2 and runs(home)["daily"] == 1
    assert "Did you mean 'daily'?" in run("tick", "dayly", code=9)


def test_a_failure_is_loud_and_comes_to_an_end(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    run("remember", "Deploy to lagoon", "--type", "task")
    home.memory.chmod(0o400)
    done = {ran["job"]: ran for ran in run_json("tick", code=1)["jobs"]}
    assert done["briefing"]["outcome"] == "failed" and "read-only" in done["briefing"]["said"]
    assert done["tags"]["outcome"] == "ok"
    assert "job briefing" in run("status", code=1)
    assert "failed" in run("jobs")
    run("tick")  # at once it is not tried again
    assert runs(home)["briefing"] == 1
    home.memory.chmod(0o600)
    monkeypatch.setenv("WAKEBOOK_NOW", "2026-11-09T08:16:00Z")
    assert "● briefing" in run("tick")
    [standing] = [one for one in run_json("jobs")["jobs"] if one["job"] == "briefing"]
    assert standing["last"]["outcome"] == "ok" and standing["last"]["failures"] == 0
    assert "job briefing" not in run("status")


@pytest.mark.parametrize("command", ["tick", "jobs", "watch"])
def test_a_wrong_expression_or_zone_is_told_with_its_place(home: Home, command: str) -> None:
    home.config.write_text('[schedule]\nweekly = "0 25 * * 0"\n')
    said = run(command, code=5)
    assert "config.toml: [schedule] weekly: '0 25 * * 0' is no cron expression: Bad hour" in said
    home.config.write_text('[schedule]\ntime_zone = "Atlantis"\n')
    assert "[schedule] time_zone" in run(command, code=5)


def test_the_table_says_what_when_and_how_to_begin(home: Home) -> None:
    home.config.write_text('[schedule]\ntime_zone = "Europe/Lisbon"\ntags = ""\n')
    said = run("jobs")
    assert "at 23:30 on Sunday" in said and "roll the week up" in said and "due now" in said
    assert "switched off" in said and "Europe/Lisbon" in said
    assert "OnCalendar=*:0/5" in said and "*/5 * * * *" in said
    run("tick", "commit")
    found = run_json("jobs")
    commit = next(one for one in found["jobs"] if one["job"] == "commit")
    assert commit["last"]["outcome"] == "ok" and commit["due"] is False
    assert commit["next"] == "2026-11-09T08:30:00Z"


@pytest.mark.parametrize(
    ("now", "ago"),
    [
        ("09T08:00:59", "ok just now"),
        ("09T08:01:00", "ok 1 minute ago"),
        ("09T10:59:00", "ok 2 hours ago"),
        ("16T08:00:00", "ok 7 days ago"),
        ("08T08:00:00", "ok in the future (the clock was set back)"),
    ],
)
def test_how_long_ago_a_job_ran(
    home: Home, monkeypatch: pytest.MonkeyPatch, now: str, ago: str
) -> None:
    run("tick", "commit")
    monkeypatch.setenv("WAKEBOOK_NOW", f"2026-11-{now}Z")
    assert ago in run("jobs")


def test_the_line_for_the_crontab_does_what_it_says() -> None:
    odd = Path.home() / "a 100% home"
    run("init", str(odd))
    found = run_json("jobs", "--home", str(odd))
    assert f'--home "{odd}" jobs run'.replace("%", "%%") in found["systemd"]
    line = found["crontab"]
    assert line.startswith("*/5 * * * * ") and line.endswith(" >/dev/null")
    command = line.removeprefix("*/5 * * * * ").replace("\\%", "%")  # as cron reads it
    apart = {"PATH": "/usr/bin:/bin", "HOME": str(Path.home()), "WAKEBOOK_OFFLINE": "1"}
    done = subprocess.run(["sh", "-c", command], env=apart, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert set(runs(Home(odd)).values()) == {1}


def test_ticks_at_the_same_time_share_the_work(home: Home) -> None:
    command = [sys.executable, "-m", "wakebook", "tick"]
    children = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(3)]
    assert [child.wait(120) for child in children] == [0, 0, 0]
    assert runs(home) == dict.fromkeys(JOBS, 1)


def test_a_tick_with_nothing_to_do_loads_nothing_heavy(home: Home) -> None:
    run("tick")
    program = (
        "import sys\n"
        "from wakebook import Memory\n"
        "assert Memory().tick() == []\n"
        "print(*sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    loaded = set(done.stdout.split())
    assert "wakebook.upkeep.jobs" in loaded, done.stderr
    heavy = ("wakebook.models", "wakebook.store", "wakebook.log.log", "wakebook.history", "numpy")
    assert not {name for name in loaded if name.startswith(heavy)}


def test_with_every_job_switched_off_nothing_runs(home: Home) -> None:
    home.config.write_text("[schedule]\n" + "".join(f'{name} = ""\n' for name in JOBS))
    assert "Every job is switched off: see [schedule]" in run("tick")
    assert set(runs(home).values()) == {0}


def test_after_a_tick_the_first_words_are_still_kept_ready(home: Home) -> None:
    run("tick")
    [kept] = (home.cache / "start").glob("*.md")
    assert cache.read(str(home.root), f"start/{kept.name}") is not None


def test_the_watch_runs_the_jobs_and_ends_when_it_is_told_to(
    memory: Memory, projects: Path
) -> None:
    chat(Claude(projects), WORKDAY)
    child = subprocess.Popen(
        [sys.executable, "-m", "wakebook", "--home", str(memory.home.root), "watch", "--json"],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ,
    )
    assert child.stdout
    try:
        lines: list[dict[str, Any]] = []
        for line in child.stdout:
            lines.append(json.loads(line))
            if lines[-1].get("job") == "tags":
                break
    finally:
        child.send_signal(signal.SIGTERM)
        assert child.wait(30) == 0
        child.stdout.close()
    assert lines[0]["messages"] == 6
    assert [line["job"] for line in lines[1:]] == JOBS
    assert {line["outcome"] for line in lines[1:]} == {"ok"}
