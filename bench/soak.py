"""Soak: the service for two simulated weeks, with sessions, searches and jobs; then a quiet minute.

    python bench/soak.py [--days 14] [--step-hours 2] [--quiet 60]

The service runs in this process, whose clock a second thread moves on, some hours a second. In
each step a session grows, an entry is remembered, and prompts and searches are asked over the
socket; the watcher reads what was said, and the jobs run when they are due. Memory, open files and
threads of the second half are held against those of the first; then the processor's time of a
minute in which nothing happens.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.service.serving import _Unix
from tests.story import NEXT_DAY, WORKDAY, Claude

from wakebook import Memory
from wakebook.hosts.backlog import Hooks
from wakebook.service.address import memory
from wakebook.service.serve import serve

START = datetime.fromisoformat("2026-11-02T06:00:00+00:00")
GROWTH_MB, MORE_FILES, MORE_THREADS, IDLE = 30.0, 3, 1, 0.003


class Sample(NamedTuple):
    megabytes: float
    files: int
    threads: int


def sample() -> Sample:
    files = len(list(Path("/proc/self/fd").iterdir()))
    return Sample(memory(os.getpid()) / 2**20, files, threading.active_count())


class Driver(threading.Thread):
    """Moves the clock, and does what a user and his agents do."""

    def __init__(self, projects: Path, chosen: argparse.Namespace) -> None:
        super().__init__(name="driver", daemon=True)
        self.projects, self.chosen = projects, chosen
        self.ready = threading.Event()
        self.told: Counter[str] = Counter()
        self.samples: list[Sample] = []
        self.idle = 0.0
        self.error = self.socket = ""

    def hear(self, what: str, about: Any) -> None:
        self.told[what] += 1
        if what == "ready":
            self.socket = str(about.path)
            self.ready.set()

    def run(self) -> None:
        try:
            self.ready.wait(60)
            self._weeks()
            self._quiet()
        except Exception as error:  # noqa: BLE001 - the service must still end
            self.error = repr(error)
        os.kill(os.getpid(), signal.SIGTERM)

    def _weeks(self) -> None:
        steps = int(self.chosen.days * 24 / self.chosen.step_hours)
        turns = WORKDAY + NEXT_DAY
        for step in range(steps):
            now = START + timedelta(hours=step * self.chosen.step_hours)
            os.environ["WAKEBOOK_NOW"] = now.isoformat()
            talk = Claude(self.projects, f"5e551011-0000-4000-8000-{step // 6:012}")
            talk.at, talk.count = now - timedelta(minutes=20), step * 10
            for number in range(4):
                role, text = turns[(step * 4 + number) % len(turns)]
                talk.user(f"{text} ({step})") if role == "user" else talk.agent(text)
            self._ask("/v1/remember", {"text": f"Step {step} is over."})
            for text in ("the launch", "Postgres bookings", "insurance form"):
                self._ask("/v1/search", {"text": text})
                self._ask("/v1/context", {"message": f"What about {text}?"})
            time.sleep(self.chosen.pause)
            self.samples.append(sample())

    def _ask(self, path: str, body: dict[str, str]) -> None:
        link = _Unix(self.socket)
        try:
            headers = {"Content-Type": "application/json"}
            link.request("POST", path, json.dumps(body), headers)
            answer = link.getresponse()
            answer.read()
            self.told[f"{path} {answer.status}"] += 1
        finally:
            link.close()

    def _quiet(self) -> None:
        """The clock is the machine's again: nothing is due, and nobody asks."""
        time.sleep(10)
        before = time.process_time()
        time.sleep(self.chosen.quiet)
        self.idle = (time.process_time() - before) / self.chosen.quiet


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--days", type=float, default=14)
    parser.add_argument("--step-hours", type=float, default=2)
    parser.add_argument("--pause", type=float, default=1.0, help="seconds a step")
    parser.add_argument("--quiet", type=float, default=60.0, help="seconds")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="wakebook-soak-") as folder:
        os.environ |= {"HOME": folder, "WAKEBOOK_NOW": START.isoformat(), "WAKEBOOK_OFFLINE": "1"}
        projects = Path(folder) / ".claude" / "projects" / "-home-mira-tidepool"
        projects.mkdir(parents=True)
        made = Memory(Path(folder) / "home")
        made.init()
        driver = Driver(projects, chosen)
        driver.start()
        serve(made.home, 0, driver.hear, Hooks)
        entries = len(made.opened.chains().by_id)
        sys.exit(_report(driver, chosen, entries))


def _report(driver: Driver, chosen: argparse.Namespace, entries: int) -> int:
    half = len(driver.samples) // 2
    first, second = driver.samples[half // 2 : half], driver.samples[half:]
    print(f"{chosen.days:g} days in {len(driver.samples)} steps, {entries:,} entries")
    print(", ".join(f"{name}: {count}" for name, count in sorted(driver.told.items())))
    bad = [driver.error] if driver.error else []
    limits = (GROWTH_MB, MORE_FILES, MORE_THREADS)
    for name, limit in zip(Sample._fields, limits, strict=True):
        was, now = (median(getattr(one, name) for one in part) for part in (first, second))
        print(f"{name}: {was:.0f} in the second quarter, {now:.0f} in the second half")
        bad += [f"{name} grew by {now - was:.0f}"] if now - was > limit else []
    print(f"idle: {driver.idle:.2%} of a processor over {chosen.quiet:g} s")
    bad += [f"idle CPU is {driver.idle:.2%}"] if driver.idle > IDLE else []
    print("\n".join(bad) or "flat")
    return 1 if bad else 0


if __name__ == "__main__":
    main()
