"""A server for teams in two minutes: `make demo-team`.

Ten people and one handbook in one PostgreSQL, a server, and three workers of which one is killed
while it works. At the end every memory is held against a plain home that has read the same: the
same entries, the same hits.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Sequence
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from tests.team.postgres import database, postgres
from wakebook import Memory
from wakebook.base import clock
from wakebook.log.query import Query
from wakebook.service.team_work import fill, opened
from wakebook.team import queue, tenants
from wakebook.team.copies import Copies
from wakebook.team.database import Database
from wakebook.team.queue import Chore

PEOPLE = {  # invented; each with something of their own
    "ada": ("the ferry to Brevik", "six in the morning", "the harbour master is called Osei"),
    "bo": ("the bakery in Lund", "nine on Sundays", "the flour comes from Ystad"),
    "cleo": ("the print shop", "noon on Fridays", "the large press is called Bertha"),
    "dee": ("the reading room", "ten", "the key is with the caretaker, Mr Halloran"),
    "eli": ("the bike repair", "half past eight", "spare tubes lie on shelf four"),
    "fay": ("the greenhouse", "seven", "the tomatoes are watered on even days"),
    "gus": ("the radio station", "five in the evening", "the archive is on the blue disk"),
    "hal": ("the observatory", "dusk", "the dome sticks in frost"),
    "ivy": ("the choir", "eight on Tuesdays", "the spare scores are at Ingrid's"),
    "jo": ("the boat yard", "first light", "the crane is rented from Nordahl"),
}
ASKED = ("when does it open", "what was decided about the newsletter", "shelf key crane disk press")
HANDBOOK = "Invoices go to accounts@example.com before the 25th."
WORKERS = 3


class Crowd:
    """Workers, and what they say."""

    def __init__(self, env: dict[str, str]) -> None:
        self._env = env
        self.jobs: Counter[int] = Counter()  # by worker
        self.running: dict[int, subprocess.Popen[str]] = {}
        self._hearing: list[threading.Thread] = []

    def start(self, number: int) -> None:
        words = [sys.executable, "-m", "wakebook", "team", "work", "--jobs", "1"]
        one = subprocess.Popen(
            words, env=self._env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        self.running[number] = one
        self._hearing.append(threading.Thread(target=self._hear, args=(number, one), daemon=True))
        self._hearing[-1].start()

    def _hear(self, number: int, one: subprocess.Popen[str]) -> None:
        assert one.stderr is not None
        with one.stderr as lines:
            for line in lines:
                self.jobs[number] += '"event": "job"' in line

    def end(self) -> None:
        for one in self.running.values():
            one.send_signal(signal.SIGTERM)
        for one in self.running.values():
            one.wait(60)
        for thread in self._hearing:
            thread.join()


def session(name: str) -> bytes:
    what, hour, more = PEOPLE[name]
    said = (
        f"By the way, {what} opens at {hour}, and {more}.",
        "We decided to send the newsletter every second Monday because nobody reads it weekly.",
        f"Remind me to write a sign for {what} before Friday.",
    )
    rows = [{"session": f"{name}-1"}]
    for number, text in enumerate(said):
        at = f"2026-11-09T08:{number:02}:00Z"
        rows += [{"role": "user", "content": text, "timestamp": at}]
        rows += [{"role": "assistant", "content": "Noted.", "timestamp": at}]
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def say(text: str, mark: str = "──") -> None:
    print(f"{mark} {text}", flush=True)


def main() -> int:
    assert __doc__
    print(__doc__.partition("\n\n")[2].strip(), "\n")
    begun = clock.monotonic()
    os.environ["WAKEBOOK_OFFLINE"] = "1"
    with tempfile.TemporaryDirectory() as folder, postgres() as server, database(server) as url:
        few = tuple(PEOPLE)[: 4 if "--short" in sys.argv else None]
        well = run(url, Path(folder), few)
    say(f"{clock.monotonic() - begun:.0f} seconds, of which most were processes starting up.", "\n")
    return 0 if well else 1


def run(url: str, folder: Path, people: Sequence[str] = tuple(PEOPLE)) -> bool:
    """Whether everything is as it should be."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("WAKEBOOK")}
    env |= {"HOME": str(folder), "WAKEBOOK_OFFLINE": "1", "WAKEBOOK_TEAM_URL": url}
    env |= {"WAKEBOOK_TEAM_FOLDER": str(folder / "machine"), "WAKEBOOK_TEAM_HEART_SECONDS": "0.5"}
    db = Database(url)
    copies = Copies(db, folder / "admin", opened)
    numbers = {name: fill(db, copies, name) for name in (*people, "handbook")}
    for name in people:
        tenants.share(db, "handbook", name)
    say(f"{len(people)} memories and a handbook that all of them may read, in one PostgreSQL")
    print(f"   {' '.join(people)}")
    words = [sys.executable, "-m", "wakebook", "team", "serve", "--port", "0", "--json"]
    serving = subprocess.Popen(
        words, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    crowd = Crowd(env)
    for number in range(1, WORKERS + 1):
        crowd.start(number)
    try:
        assert serving.stdout is not None
        port = int(json.loads(serving.stdout.readline())["port"])
        there = {
            name: Memory(f"http://127.0.0.1:{port}", token=tenants.give(db, name).text)
            for name in numbers
        }
        there["handbook"].remember(HANDBOOK)
        return played(db, crowd, port, numbers, there, folder, people)
    finally:
        crowd.end()
        serving.terminate()
        serving.communicate(timeout=60)
        copies.close()
        db.close()


def played(
    db: Database,
    crowd: Crowd,
    port: int,
    numbers: dict[str, int],
    there: dict[str, Memory],
    folder: Path,
    people: Sequence[str],
) -> bool:
    for name in people:
        upload(port, tenants.give(db, name).text, name)
        close = Chore(verb="close", ask={"session": f"{name}-1"})
        queue.put(db, numbers[name], close)
    waiting = queue.counts(db)["todo"]
    say(f"A conversation of each was uploaded; {waiting} jobs wait for {WORKERS} workers")
    wait(lambda: sum(crowd.jobs.values()) >= len(people) * 2 // 5)
    busy = max(crowd.running, key=lambda number: crowd.jobs[number])
    crowd.running[busy].kill()
    crowd.running[busy].wait()
    say(f"Worker {busy} is killed (SIGKILL) after {crowd.jobs[busy]} jobs, in the middle of one")
    wait(lambda: not any(queue.counts(db)[one] for one in ("todo", "doing")))
    found = queue.counts(db)
    done = ", ".join(f"worker {one}: {crowd.jobs[one]}" for one in sorted(crowd.running))
    say(f"{found['succeeded']} jobs are done ({done}), {found['failed']} failed")
    for number in crowd.running:
        if crowd.running[number].poll() is not None:
            print(f"   what worker {number} had begun was taken up by another, and done once")

    say("Each memory against a plain home that has read the same conversation")
    same = [compared(name, there[name], folder) for name in people]
    entries = sum(one[0] for one in same)
    lists = sum(one[1] for one in same)
    well = all(one[2] for one in same)
    for name in people[:3]:
        first = there[name].search("when does it open").hits[0]
        print(f"   {name:5} {first.snippet.replace('*', '')[:90]}")
    mark = "✓" if well else "✗"
    print(
        f"   {mark} {entries} entries and {lists} lists of hits, {'all' if well else 'NOT'} equal"
    )

    say("One team memory, asked together with one's own")
    hits = there["ada"].search("where do invoices go").hits
    ours = [one for one in hits if one.origin == "handbook"]
    for one in ours[:1]:
        print(
            f"   ada asks where invoices go, and {one.origin} says: {one.snippet.replace('*', '')}"
        )
    if not ours:
        print("   ✗ the handbook was not found")
    apart = not any("accounts@" in one.content for one in there["ada"].log.entries(Query()))
    print(f"   {'✓' if apart else '✗'} and her own log does not hold it")
    return well and bool(ours) and apart


def upload(port: int, token: str, name: str) -> None:
    link = HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {"Authorization": f"Bearer {token}"}
    link.request("POST", f"/v1/uploads/plain/{name}-1.jsonl", session(name), headers)
    assert link.getresponse().status == 200
    link.close()


def wait(found: Any) -> None:
    end = clock.monotonic() + 100
    while not found():
        if clock.monotonic() > end:
            raise SystemExit("✗ it takes too long")
        clock.sleep(0.1)


def compared(name: str, there: Memory, folder: Path) -> tuple[int, int, bool]:
    """How many entries and lists of hits were held against each other, and whether all agree."""
    plain = Memory(folder / f"plain-{name}")
    plain.init()
    path = folder / f"{name}-1.jsonl"
    path.write_bytes(session(name))
    plain.catch_up([path], closing=True)
    entries = [[one.content for one in each.log.entries(Query())] for each in (plain, there)]
    well = entries[0] == entries[1] and bool(entries[0])
    if not well:
        print(f"   ✗ {name}: {entries[0]} at home, {entries[1]} there")
    for question in ASKED:
        lists = [
            [one.snippet for one in each.search(question).hits if not one.origin]
            for each in (plain, there)
        ]
        if lists[0] != lists[1]:
            print(f"   ✗ {name}, {question}: {lists[0]} at home, {lists[1]} there")
            well = False
    plain.close()
    return len(entries[0]), len(ASKED), well


if __name__ == "__main__":
    sys.exit(main())
