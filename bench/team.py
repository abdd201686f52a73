"""The server for teams: what a search, an upload and a tenant cost, beside plain homes on SQLite.

    python bench/team.py [--tenants 2000] [--chunks 500] [--seconds 20]

Starts a PostgreSQL of its own. A few homes are made and indexed as tenants; the others are copies
of their rows under other numbers, so that loading a million chunks takes minutes. Definitions:

CPU of a search      of the asking process and of PostgreSQL's processes together, over all calls
first, later         the first question that a server asks of a tenant, with nothing of it in
                     memory; and any other
the same             questions whose hit list (references and scores) is that of the plain home
ingest               chunks brought into the index as a worker does it, in one transaction, by the
                     CPU of the worker and PostgreSQL
p95                  of one question after another, in 10 tenants while there are 10, and in 10 and
                     all of them when there are all
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from statistics import quantiles
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

import psycopg
from bench.large import Maker
from tests.store import making
from tests.team.postgres import postgres
from tests.team.serving import Team, ask

from wakebook import Memory
from wakebook.service.team_work import fill, opened
from wakebook.team import tenants
from wakebook.team.copies import Copies
from wakebook.team.database import Database
from wakebook.team.schema import migrate
from wakebook.team.working import Depth

MODELS = 8  # homes that are really made
SAMPLE = 100  # tenants that are compared with plain homes
TICKS = os.sysconf("SC_CLK_TCK")
BEGUN = datetime(2026, 9, 1, 9, 0, tzinfo=UTC)
NOW = "2026-11-16T08:00:00Z"
CONFIG = '[hosts]\nclaude_code = []\nopenclaw = []\ncodex = []\npi = []\n[schedule]\nsync = ""\n'
TABLES = (
    "wakebook.file wakebook.segment wakebook_index.meta wakebook_index.file wakebook_index.session "
    "wakebook_index.chunk wakebook_index.body wakebook_index.replaces wakebook_index.said "
    "wakebook_index.entry wakebook_index.posting wakebook_index.vectors"
).split()


class Clock:
    """CPU seconds of this process, and of PostgreSQL's processes."""

    def __init__(self, url: str) -> None:
        with psycopg.connect(url) as connection:
            found = connection.execute("SELECT pg_backend_pid()").fetchone()
            assert found is not None
            self._parent = self._stat(found[0])[1]

    def __call__(self) -> tuple[float, float]:
        ours = sum(os.times()[:2])
        return ours, self._database()

    def _database(self) -> float:
        total = 0
        for pid in (int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()):
            try:
                _, parent, ticks, dead = self._stat(pid)
            except OSError:
                continue
            total += ticks if parent == self._parent else 0
            total += ticks + dead if pid == self._parent else 0  # and those that have ended
        return total / TICKS

    def _stat(self, pid: int) -> tuple[str, int, int, int]:
        rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return rest[0], int(rest[1]), int(rest[11]) + int(rest[12]), int(rest[13]) + int(rest[14])

    def spent(self, work: Callable[[], object]) -> tuple[float, float]:
        before = self()
        work()
        now = self()
        return now[0] - before[0], now[1] - before[1]


# --- what there is to search ---------------------------------------------------------------------
def home(root: Path, seed: int, chunks: int) -> Memory:
    """A plain home with conversations and entries, about so many chunks in all."""
    root.mkdir(parents=True)
    (root / "config.toml").write_text(CONFIG)
    memory = Memory(root)
    memory.init()
    maker = Maker(memory.home, root, 1, 1)
    maker._chance = chance = Random(seed)
    turns, number = chunks * 4 // 5, 0
    while turns > 0:
        said = [("user" if n % 2 == 0 else "agent", maker._sentence()[1]) for n in range(20)]
        at = BEGUN + timedelta(hours=7 * number)
        making.transcript(memory, f"talk-{number:04}", said[:turns], start=at)
        turns, number = turns - 20, number + 1
    subjects = [f"subject-{n}" for n in range(20)]
    making.append(
        memory,
        *(
            making.entry(n, maker._sentence()[1], subject=chance.choice(subjects), days=n % 60)
            for n in range(1, chunks // 5)
        ),
    )
    memory.index.sync()
    return memory


def questions(seed: int, count: int) -> list[str]:
    """As people ask: some words of sentences like those that are there."""
    with tempfile.TemporaryDirectory() as folder:
        memory = Memory(folder)
        memory.init()
        maker = Maker(memory.home, Path(folder), 1, 1)
    maker._chance = chance = Random(seed)
    found = []
    for _ in range(count):
        words = maker._sentence()[1].rstrip(".?").split()
        start = chance.randrange(max(1, len(words) - 6))
        found.append(" ".join(words[start : start + chance.randint(3, 8)]))
    return found


def copied(url: str, models: Sequence[int], count: int, first: int) -> list[int]:
    """More tenants with the rows of some."""
    with psycopg.connect(url, autocommit=True) as connection:
        made = connection.execute(
            "INSERT INTO wakebook.home (name, version, change, refs, due_at) "
            "SELECT 'copy-' || n, h.version, h.change, '{}', 'infinity' "
            "FROM generate_series(%s::int, %s::int) n "
            "JOIN wakebook.home h ON h.tenant = (%s::bigint[])[1 + n %% %s] RETURNING tenant, name",
            (first, first + count - 1, list(models), len(models)),
        ).fetchall()
        connection.execute("CREATE TEMP TABLE pairs (old_tenant bigint, new_tenant bigint)")
        with connection.cursor() as cursor:
            rows = [(models[int(name[5:]) % len(models)], tenant) for tenant, name in made]
            cursor.executemany("INSERT INTO pairs VALUES (%s, %s)", rows)
        for table in TABLES:
            names = connection.execute(
                "SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute "
                "WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped "
                "AND attname <> 'tenant'",
                (table,),
            ).fetchone()
            assert names is not None
            connection.execute(
                f"INSERT INTO {table} ({names[0]}, tenant) "
                f"SELECT {names[0]}, new_tenant FROM {table} "
                "JOIN pairs ON tenant = old_tenant".encode()
            )
    return [tenant for tenant, name in sorted(made, key=lambda one: int(one[1][5:]))]


# --- what is measured ----------------------------------------------------------------------------
def searched(memory: Memory, text: str) -> list[tuple[str, float]]:
    return [(hit.ref, hit.score) for hit in memory.search(text, limit=10).hits]


Asked = Sequence[tuple[int, str]]


class Bench:
    def __init__(self, server: str, name: str, folder: Path, given: argparse.Namespace) -> None:
        self.url, self.name = _database(server, name), name
        url, self.folder, self.given = self.url, folder, given
        self.db = Database(url)
        self.clock = Clock(url)
        self.copies = Copies(self.db, folder / f"copies-{name}", opened)
        self.found: dict[str, Any] = {"tenants": given.tenants, "chunks a tenant": given.chunks}
        self.all: list[int] = []

    def make(self, count: int) -> None:
        """The homes that are really made, brought in as `team import` does, and their copies."""
        made, models = self.folder / f"{self.name}.json", list[int]()
        if made.exists():
            models, self.all = json.loads(made.read_text())
        for number in range(len(models), MODELS):
            root = self.folder / f"plain-{number}"
            if not root.exists():
                home(root, number, self.given.chunks).close()
            models.append(fill(self.db, self.copies, f"model-{number}", root))
            made.write_text(json.dumps((models, self.all)))
        while len(self.all) < count:
            more = min(250, count - len(self.all))
            self.all += copied(self.url, models, more, len(self.all))
            made.write_text(json.dumps((models, self.all)))
            print(f"{len(self.all)} tenants", file=sys.stderr)

    def size(self) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("VACUUM ANALYZE")
            sizes = connection.execute(
                "SELECT relnamespace::regnamespace || '.' || "
                "regexp_replace(relname, '_[0-9]+$', '') AS name, "
                "sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' "
                "AND relnamespace::regnamespace::text LIKE 'wakebook%' GROUP BY 1 ORDER BY 2 DESC"
            ).fetchall()
            rows = connection.execute("SELECT count(*) FROM wakebook_index.chunk").fetchone()
        assert rows is not None
        self.chunks = int(rows[0])
        self.bytes = {name: int(size) for name, size in sizes}
        index = sum(size for name, size in self.bytes.items() if "_index" in name)
        self.found |= {
            "chunks": self.chunks,
            "index, bytes a chunk": round(index / self.chunks),
            "MB by table": {
                name: round(size / 1e6) for name, size in self.bytes.items() if size > 5e6
            },
        }

    def flat(self, few: Bench) -> None:
        """p95 of a question: first and later, with few tenants and with all."""
        every = Random(5).sample(self.all, min(300, len(self.all)))
        self.found["p95, ms (first, later)"] = {
            "10 tenants, of 10": few._p95(few.all),
            f"10 tenants, of {len(self.all)}": self._p95(self.all[:10]),
            f"{len(every)} tenants, of {len(self.all)}": self._p95(every),
        }

    def _p95(self, some: Sequence[int]) -> tuple[float, float]:
        asked, chance = questions(9, 60), Random(9)
        first, later = [], []
        for _ in range(max(1, 300 // len(some))):
            for tenant in some:
                self._close(tenant)
                first.append(self._took(tenant, chance.choice(asked)))
                later.append(self._took(tenant, chance.choice(asked)))
        return _p95(first), _p95(later)

    def _took(self, tenant: int, text: str) -> float:
        begun = time.perf_counter()
        self._ask(tenant, text)
        return (time.perf_counter() - begun) * 1000

    def _close(self, tenant: int) -> None:
        copy = self.copies(tenant)
        if copy._memory is not None:
            copy._memory.close()

    def _ask(self, tenant: int, text: str) -> list[tuple[str, float]]:
        return self.copies(tenant).read(lambda memory: searched(memory, text), Depth.INDEX)

    def compare(self) -> None:
        """The same questions to tenants and to plain homes: what they find, and their CPU."""
        import shutil

        sample = self.all[:: max(1, len(self.all) // SAMPLE)][:SAMPLE]
        plain: dict[int, Path] = {}
        for tenant in sample:
            model = self.all.index(tenant) % MODELS
            plain[tenant] = self.folder / f"sqlite-{tenant}"
            shutil.rmtree(plain[tenant], ignore_errors=True)
            shutil.copytree(self.folder / f"plain-{model}", plain[tenant], symlinks=True)
        texts = questions(3, 400)
        chance = Random(3)
        later = [(tenant, text) for tenant in sample for text in chance.sample(texts, 20)]
        first = [(tenant, chance.choice(texts)) for tenant in sample]
        for tenant, text in first:  # everything is loaded that is loaded once
            self._ask(tenant, text)
            self._close(tenant)
        memories = {tenant: Memory(root) for tenant, root in plain.items()}
        searched(next(iter(memories.values())), "warm")
        found: dict[str, Any] = {}
        lists: dict[str, list[Any]] = {}

        def sqlite(asked: Asked) -> None:
            lists["sqlite"] = [searched(memories[tenant], text) for tenant, text in asked]

        def postgres_(asked: Asked) -> None:
            lists["postgres"] = [self._ask(tenant, text) for tenant, text in asked]

        for name, asked in (("first", first), ("later", later)):
            for memory in memories.values() if name == "first" else ():
                memory.close()
            ours, _ = self.clock.spent(lambda asked=asked: sqlite(asked))  # type: ignore[misc]
            spent = self.clock.spent(lambda asked=asked: postgres_(asked))  # type: ignore[misc]
            same = sum(a == b for a, b in zip(lists["sqlite"], lists["postgres"], strict=True))
            each = 1000 / len(asked)
            found[name] = {
                "questions": len(asked),
                "the same": same,
                "SQLite, ms CPU": round(ours * each, 2),
                "PostgreSQL, ms CPU": round(sum(spent) * each, 2),
                "of it in the database": round(spent[1] * each, 2),
                "times SQLite's": round(sum(spent) / ours, 2),
            }
        self.found["search"] = found
        self.search_ms = found["later"]["PostgreSQL, ms CPU"]
        for memory in memories.values():
            memory.close()

    def ingest(self) -> None:
        """A home of its own, indexed by a worker, and by SQLite."""
        big = self.given.ingest
        name = f"big-{time.time_ns()}"
        memory = home(self.folder / name, 77, big)
        memory.close()
        count = memory.index.store.count("chunk")
        memory.close()
        local = Memory(memory.home.root)
        ours, _ = self.clock.spent(lambda: local.index.sync(full=True))
        local.close()
        tenant = fill(self.db, self.copies, name, memory.home.root)
        copy = self.copies(tenant)
        with copy._working() as (one, transaction):
            one.opened.index.store.wipe()
            copy._index(one, transaction, copy._manifest.version)
        with copy._working() as (one, _):
            one.opened.index.store.wipe()
        spent = self.clock.spent(copy.index)
        self.found["ingest"] = {
            "chunks": count,
            "a second of CPU": round(count / sum(spent)),
            "ms a chunk, worker": round(1000 * spent[0] / count, 3),
            "ms a chunk, database": round(1000 * spent[1] / count, 3),
            "SQLite, a second of CPU": round(count / ours),
        }

    def serve(self) -> None:
        """A real server, and 32 clients that ask one question after another."""
        team = Team(self.url, self.folder / "served", {**os.environ, "WAKEBOOK_OFFLINE": "1"})
        some = self.all if len(self.all) <= 500 else Random(1).sample(self.all, 500)
        names = {tenant.id: tenant.name for tenant in tenants.listed(self.db)}
        tokens = [tenants.give(self.db, names[tenant], scopes=("read",)).text for tenant in some]
        try:
            port = team.server()
            process = team.running[-1]
            texts = questions(4, 400)
            for token in tokens[:32]:
                ask(port, "/v1/search", {"text": "warm"}, token)
            end = time.monotonic() + self.given.seconds
            took: list[float] = []

            def client(number: int) -> int:
                chance, count = Random(number), 0
                while time.monotonic() < end:
                    begun = time.perf_counter()
                    body = {"text": chance.choice(texts), "limit": 10}
                    done = ask(port, "/v1/search", body, chance.choice(tokens))
                    assert done.status == 200, done
                    took.append((time.perf_counter() - begun) * 1000)
                    count += 1
                return count

            before, server = self.clock(), _cpu(process.pid)
            begun = time.monotonic()
            with ThreadPoolExecutor(32) as threads:
                count = sum(threads.map(client, range(32)))
            seconds = time.monotonic() - begun
            now = self.clock()
            self.found["32 clients"] = {
                "tenants": len(some),
                "searches a second": round(count / seconds, 1),
                "p95, ms": _p95(took),
                "server, ms CPU": round(1000 * (_cpu(process.pid) - server) / count, 2),
                "database, ms CPU": round(1000 * (now[1] - before[1]) / count, 2),
                "clients, ms CPU": round(1000 * (now[0] - before[0]) / count, 2),
                "server, MB": _megabytes(process.pid),
            }
        finally:
            team.end()

    def paper(self) -> None:
        """What larger ones need, from what was measured."""
        each = self.found["index, bytes a chunk"]
        rate, ms = self.found["ingest"]["a second of CPU"], self.search_ms
        million = 1_000_000 * self.given.chunks
        self.found["on paper"] = {
            "1M tenants, index, TB": round(million * each / 1e12, 2),
            "1M tenants, made once, core hours": round(million / rate / 3600),
            "searches a second of 32 cores": round(32_000 / ms),
            "100M turns, index, GB": round(1e8 * each / 1e9),
            "100M turns, made once, core hours": round(1e8 / rate / 3600),
            "100M turns, signs in memory, GB": round(1e8 * 36 / 1e9, 1),
        }


def _p95(took: Sequence[float]) -> float:
    return round(quantiles(took, n=20)[-1], 1)


def _cpu(pid: int) -> float:
    rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(rest[11]) + int(rest[12])) / TICKS


def _megabytes(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) >> 10 for line in lines if line.startswith("VmRSS"))


def _database(server: str, name: str) -> str:
    """A database of this name, with the schema."""
    url = psycopg.conninfo.make_conninfo(server, dbname=name)
    with psycopg.connect(server, autocommit=True) as connection:
        sql = "SELECT 1 FROM pg_database WHERE datname = %s"
        if connection.execute(sql, (name,)).fetchone() is None:
            connection.execute(f"CREATE DATABASE {name}".encode())
    migrate(url)
    return url


def measured(server: str, folder: Path, given: argparse.Namespace) -> dict[str, Any]:
    begun = time.monotonic()
    few, every = (Bench(server, name, folder, given) for name in ("few", "every"))
    few.make(10)
    every.make(given.tenants)
    if not given.make:
        steps = (every.size, every.compare, lambda: every.flat(few), every.ingest, every.serve)
        for number, step in enumerate((*steps, every.paper), start=1):
            step()
            print(f"{time.monotonic() - begun:6.0f} s  step {number}", file=sys.stderr)
    for one in (few, every):
        one.copies.close()
        one.db.close()
    return every.found | {"seconds of all": round(time.monotonic() - begun)}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tenants", type=int, default=2000)
    parser.add_argument("--chunks", type=int, default=500, help="of a tenant")
    parser.add_argument("--ingest", type=int, default=10_000, help="chunks that are brought in")
    parser.add_argument("--seconds", type=float, default=20, help="that 32 clients ask")
    parser.add_argument("--keep", type=Path, help="a folder in which all of it stays")
    parser.add_argument("--make", action="store_true", help="only make it (with --keep)")
    given = parser.parse_args()
    os.environ |= {"WAKEBOOK_OFFLINE": "1", "WAKEBOOK_NOW": NOW}
    words = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(words, cwd=ROOT, capture_output=True, text=True).stdout.strip()
    with tempfile.TemporaryDirectory() as folder, postgres(given.keep) as server:
        root = given.keep or Path(folder)
        found = measured(server, root, given)
        print(json.dumps({"commit": commit, **found}, indent=1))


if __name__ == "__main__":
    main()
