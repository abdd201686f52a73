"""Kill workers at random while they work, and count what is lost or done twice.

    python bench/team_kills.py --kills 200 --tenants 8 --workers 3

Starts a PostgreSQL of its own. Every job remembers one sentence; after the kills, each tenant's
log must hold each of its sentences once.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.team.postgres import database, postgres

from wakebook.service.team_work import fill, opened
from wakebook.team import queue
from wakebook.team.copies import Copies
from wakebook.team.database import Database
from wakebook.team.queue import Chore


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--tenants", type=int, default=8)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--seed", type=int, default=22)
    parser.add_argument("--seconds", type=float, default=3600, help="stop killing after this long")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, postgres() as server, database(server) as url:
        sys.exit(run(url, Path(folder), given))


def run(url: str, folder: Path, given: argparse.Namespace) -> int:
    chance, db = random.Random(given.seed), Database(url)
    copies = Copies(db, folder / "admin", opened)
    tenants = [fill(db, copies, f"tenant-{number}") for number in range(given.tenants)]
    wanted: Counter[tuple[int, str]] = Counter()
    env = os.environ | {"WAKEBOOK_TEAM_URL": url, "WAKEBOOK_TEAM_FOLDER": str(folder / "work")}
    env |= {"WAKEBOOK_TEAM_HEART_SECONDS": "0.3", "WAKEBOOK_OFFLINE": "1"}

    def worker() -> subprocess.Popen[bytes]:
        words = [sys.executable, "-m", "wakebook", "team", "work", "--json"]
        one = subprocess.Popen(words, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert one.stdout is not None
        one.stdout.readline()  # it is ready
        return one

    def feed(number: int) -> None:
        tenant, text = chance.choice(tenants), f"Sentence {number} is kept."
        queue.put(db, tenant, Chore(verb="remember", ask={"text": text}))
        wanted[tenant, text] += 1

    began, kills, number = time.monotonic(), 0, 0
    running = [worker() for _ in range(given.workers)]
    while kills < given.kills and time.monotonic() - began < given.seconds:
        while queue.counts(db)["todo"] < 2 * given.workers:
            feed(number := number + 1)
        time.sleep(chance.uniform(0.0, 0.6))
        one = running.pop(chance.randrange(len(running)))
        one.kill()
        one.communicate()
        running.append(worker())
        kills += 1
    while (left := queue.counts(db))["todo"] or left["doing"]:
        time.sleep(0.2)
    found: Counter[tuple[int, str]] = Counter()
    for tenant in tenants:
        texts = copies(tenant).read(lambda m: [one.content for one in m.log.chains().entries])
        found.update((tenant, text) for text in texts)
    for one in running:
        one.kill()
        one.communicate()
    lost, twice = wanted - found, found - wanted
    seconds = time.monotonic() - began
    print(f"{kills} kills, {sum(wanted.values())} jobs, {given.tenants} tenants, "
          f"{given.workers} workers, seed {given.seed}, {seconds:.0f} s: "
          f"{sum(lost.values())} lost, {sum(twice.values())} twice, "
          f"{len(queue.aside(db))} set aside")  # fmt: skip
    copies.close()
    db.close()
    return int(bool(lost or twice))


if __name__ == "__main__":
    main()
