"""How fast search and indexing are, what they cost, and how near the vectors come to exact.

    python bench/search.py [--sizes 10000,100000,1000000] [--locomo PATH] [--longmemeval PATH]
                           [--json] [--keep DIR]

A home of synthetic entries grows from size to size: 8 to 40 words each, drawn by Zipf's law
from 21,719 English words in the order of their frequency (the whole words of the built-in
embedder's vocabulary), a tenth with one of 200 subjects, 3 % replacing an earlier one. What is
measured runs in fresh processes, one after the other. LoCoMo and LongMemEval (formats: see
bench/retrieval.py) add the same figures on real text, all their conversations in one home.
With --keep the homes stay in DIR, and the next run goes on with them.

Every machine is noisy: compare with the yardsticks of the same run, FTS5 and `python -c pass`.
"""

from __future__ import annotations

import argparse
import base64
import compileall
import hashlib
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from statistics import fmean, median, quantiles
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

if TYPE_CHECKING:
    from wakebook import Memory, Query

DEFINITIONS = """\
search      Memory.search(limit=10) in a process that stays, after 20 other questions; embedding
            the question included. Questions of 3 to 8 words: some words of an entry (two of them
            not among the 150 most common) and some common words. `common`: only of those 150;
            `one word`; `type`, `subject`, `since`: the first kind, with that filter.
            `CPU`: user + system time of the process, which other work on the machine hardly moves.
first       the first search of such a process: opening the index, reading vectors, the import
            of numpy.
step        of the first kind of question, the mean of each of Found.steps; `around` is the rest.
FTS5        the same questions to SQLite's own search (porter, bm25, OR of the words that are no
            stop words, LIMIT 10, optimized), by turns with Wakebook's, 10 questions each.
indexing    entries a second in Memory.index(), from the log's lines to the committed index,
            vectors of the built-in embedder included; its memory is the process's peak. Of real
            text, turns of conversations, which are longer.
10 new      10 entries appended (not timed), then Memory.index(), or the next search instead; in
            a process that stays.
memory      VmHWM of a fresh process after 50 searches: anonymous memory and mapped file pages.
process     `wakebook search WORDS` against `python -c pass`, by turns, bytecode
            compiled before; wall time, and user + system CPU; the least and the median.
vectors     recall@10 of wakebook.store.vectors.Nearest: the share of its first 10 that are as
            near as the 10 nearest of all (exact: float32 products with every int8 vector)."""

NOW = "2026-11-09T08:00:00Z"
YEAR = datetime(2025, 11, 9, tzinfo=UTC)
COMMON = 150
SUBJECTS = 200
STEP = 20_000  # entries that are made at a time
QUESTIONS = {"words": 250, "common": 100, "one word": 100, "type": 40, "subject": 40, "since": 40}
BESIDE = {"words": 100, "common": 30}  # so many of them go to FTS5, too
TURN = 10
WARM_UP = 20
NEAREST = 150  # questions for the recall of the vectors
ROUNDS = 20
PROCESSES = 30


@dataclass(frozen=True)
class Ask:
    kind: str
    text: str
    types: tuple[str, ...] = ()
    subjects: tuple[str, ...] = ()
    days: int = 0  # since so many days ago

    def query(self) -> Query:
        from wakebook import Query

        since = datetime.fromisoformat(NOW) - timedelta(days=self.days) if self.days else None
        return Query(text=self.text, types=self.types, subjects=self.subjects, since=since)


@dataclass
class Figure:
    name: str
    value: float
    unit: str
    aim: str = ""
    met: bool | None = None


@dataclass
class Report:
    figures: list[Figure] = field(default_factory=list)

    def add(self, name: str, value: float, unit: str, most: float = 0, least: float = 0) -> None:
        aim, met = "", None
        if most:
            aim, met = f"under {most:g}", value < most
        elif least:
            aim, met = f"at least {least:g}", value >= least
        self.figures.append(Figure(name, value, unit, aim, met))

    def lines(self) -> Iterator[str]:
        yield f"| {'figure':58} | {'value':>10} | {'':9} | {'aim':13} | met |"
        yield f"|{'-' * 60}|{'-' * 11}:|{'-' * 11}|{'-' * 15}|-----|"
        for item in self.figures:
            met = "" if item.met is None else "yes" if item.met else "NO"
            value = f"{item.value:,.0f}" if item.value >= 1000 else f"{item.value:.4g}"
            yield f"| {item.name:58} | {value:>10} | {item.unit:9} | {item.aim:13} | {met:3} |"


def told(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def fresh(function: Callable[..., Any], *arguments: Any) -> Any:
    """The function's result, from a new process that has imported nothing heavy."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes:
        return processes.submit(function, *arguments).result()


def memory_of_process() -> dict[str, float]:
    """VmHWM, RssAnon, RssFile of this process, in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    fields = dict(line.split(":", 1) for line in lines)
    wanted = ("VmHWM", "VmRSS", "RssAnon", "RssFile")
    return {name: int(fields[name].split()[0]) / 1024 for name in wanted if name in fields}


def cut(milliseconds: Sequence[float]) -> tuple[float, float]:
    """The median and the 95th percentile."""
    found = quantiles(milliseconds, n=100, method="inclusive")
    return round(found[49], 3), round(found[94], 3)


# --- entries and questions -----------------------------------------------------------------


@cache
def vocabulary() -> list[str]:
    lines = (ROOT / "src/wakebook/models/builtin/vocab.txt").read_text(encoding="utf-8").split("\n")
    return [word for word in lines if word.isascii() and word.isalpha() and len(word) > 1]


@cache
def subjects() -> list[str]:
    chance = random.Random(3)
    words = vocabulary()[500:8000]
    return sorted({f"{chance.choice(words)}-{chance.choice(words)}" for _ in range(SUBJECTS)})


def name_of(number: int) -> str:
    """An entry's id: unique, and in no order, as those of real entries are."""
    digest = hashlib.blake2b(b"bench %d" % number, digest_size=9).digest()
    return "e" + base64.urlsafe_b64encode(digest).decode()[1:]


def entries(first: int, stop: int, there: int = 0) -> Iterator[list[str]]:
    """The lines of the log from one number to another, spread over a year, some at a time.

    They replace some of those before them, or of the first ones if it is said how many."""
    import numpy as np

    words = np.array(vocabulary(), dtype=object)
    chances = 1 / np.arange(1, len(words) + 1)
    ladder = np.cumsum(chances / chances.sum())
    for start in range(first, stop, STEP):
        chance = np.random.default_rng(start)
        count = min(STEP, stop - start)
        sizes = chance.integers(8, 41, count)
        drawn = words[np.searchsorted(ladder, chance.random(sizes.sum()), "right")].tolist()
        ends = np.cumsum(sizes).tolist()
        place = (np.arange(start, start + count) - first) / max(stop - first, 1)
        moments = np.datetime64(YEAR.replace(tzinfo=None), "s") + (place * 31_500_000).astype(int)
        times = np.datetime_as_string(moments, unit="s").tolist()
        plain = random.Random(start)
        yield [
            line(plain, number, there or number, moment, " ".join(drawn[end - size : end]))
            for number, moment, size, end in zip(
                range(start, start + count), times, sizes.tolist(), ends, strict=True
            )
        ]


def line(chance: random.Random, number: int, there: int, moment: str, content: str) -> str:
    kind = chance.choice(("fact", "fact", "decision", "task", "question", "handoff"))
    more = '"status":"open",' if kind == "task" else ""
    if chance.random() < 0.1:
        more += f'"subject":"{chance.choice(subjects())}",'
    if there and chance.random() < 0.03:
        more += f'"replaces":"{name_of(chance.randrange(there))}",'
    return (
        f'{{"id":"{name_of(number)}","timestamp":"{moment}Z","type":"{kind}",'
        f'"content":"{content}",{more}"session":"session-{number // 10}"}}\n'
    )


def some_texts(index: Path, count: int, seed: int) -> list[str]:
    """Texts of the index, at random."""
    chance = random.Random(seed)
    with sqlite3.connect(f"file:{index}?mode=ro", uri=True) as db:
        (last,) = db.execute("SELECT max(id) FROM body").fetchone()
        sql = "SELECT text FROM body WHERE id >= ? LIMIT 1"
        return [db.execute(sql, (chance.randint(1, last),)).fetchone()[0] for _ in range(count)]


def questions(index: Path, seed: int) -> list[Ask]:
    """Of every kind, no two with the same words."""
    chance = random.Random(seed)
    common = vocabulary()[:COMMON]
    often = set(common)
    texts = iter(some_texts(index, 20 * sum(QUESTIONS.values()), seed))

    def of_entry() -> str:
        for text in texts:
            words = sorted(set(text.split()))
            rare = [word for word in words if word not in often]
            if len(rare) >= 2:
                size = chance.randint(3, 8)
                kept = chance.sample(rare, 2)
                kept += chance.sample(words, min(len(words), chance.randint(0, size - 2)))
                kept += chance.sample(common, max(0, size - len(kept)))
                chance.shuffle(kept)
                return " ".join(dict.fromkeys(kept))
        raise SystemExit("Too few entries to ask about.")

    made: dict[tuple[str, str], Ask] = {}
    for kind, count in {**QUESTIONS, "warm-up": WARM_UP}.items():
        wanted = len(made) + count
        while len(made) < wanted:
            if kind == "common":
                ask = Ask(kind, " ".join(chance.sample(common, chance.randint(3, 8))))
            elif kind == "one word":
                ask = Ask(kind, chance.choice(vocabulary()[COMMON : COMMON + 5000]))
            elif kind == "type":
                ask = Ask(kind, of_entry(), types=("decision",))
            elif kind == "subject":
                ask = Ask(kind, of_entry(), subjects=(chance.choice(subjects()),))
            else:
                ask = Ask(kind, of_entry(), days=30 if kind == "since" else 0)
            made.setdefault((kind, ask.text), ask)
    return list(made.values())


# --- FTS5 ----------------------------------------------------------------------------------


def open_fts(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None)
    for pragma in ("journal_mode = WAL", "synchronous = NORMAL", "mmap_size = 1073741824"):
        db.execute(f"PRAGMA {pragma}")
    db.execute("PRAGMA cache_size = -32768")
    db.execute("CREATE VIRTUAL TABLE IF NOT EXISTS fts USING fts5(text, tokenize = 'porter')")
    return db


def fill_fts(path: Path, index: Path) -> float:
    """Bring it up to what the index holds. Rows a second, optimizing it included."""
    db = open_fts(path)
    (done,) = db.execute("SELECT coalesce(max(rowid), 0) FROM fts").fetchone()
    began, count = time.perf_counter(), 0
    with sqlite3.connect(f"file:{index}?mode=ro", uri=True) as source:
        rows = source.execute("SELECT id, text FROM body WHERE id > ? ORDER BY id", (done,))
        while part := rows.fetchmany(STEP):
            db.execute("BEGIN")
            db.executemany("INSERT INTO fts (rowid, text) VALUES (?, ?)", part)
            db.execute("COMMIT")
            count += len(part)
            told(f"FTS5: {count:,} rows")
    if count:
        db.execute("INSERT INTO fts (fts) VALUES ('optimize')")
    db.close()
    return count / (time.perf_counter() - began)


def fts_search(db: sqlite3.Connection, text: str) -> float:
    """Milliseconds that it took."""
    from wakebook.store.words import STOP_WORDS

    began = time.perf_counter()
    words = text.replace('"', " ").split()
    kept = [word for word in words if word.lower() not in STOP_WORDS["english"]] or words
    match = " OR ".join(f'"{word}"' for word in kept)
    sql = "SELECT rowid, rank, text FROM fts WHERE fts MATCH ? ORDER BY rank LIMIT 10"
    db.execute(sql, (match,)).fetchall()
    return (time.perf_counter() - began) * 1000


# --- what runs in a process of its own -------------------------------------------------------


def index_all(root: str) -> dict[str, float]:
    memory = opened(root)
    began = time.perf_counter()
    done = memory.index.sync(
        progress=lambda what, at, of: told(f"indexing {what}: {at:,} of {of:,}")
    )
    seconds = time.perf_counter() - began
    return {"added": done.added, "seconds": seconds, **memory_of_process()}


def opened(root: str) -> Memory:
    from wakebook import Memory

    return Memory(root)


def check(notes: Sequence[str], embedder: str) -> None:
    """A search that falls back to something else still answers, but is not what is measured."""
    wrong = [note for note in notes if not note.startswith("Nothing within the filters")]
    if wrong or embedder != "builtin":
        raise SystemExit(f"The index was not used: {' '.join(wrong) or embedder}")


def ask_all(root: str, fts: str, asks: Sequence[Ask]) -> dict[str, Any]:
    memory = opened(root)
    found: dict[str, Any] = {"first": 0.0, "times": {}, "beside": {}, "steps": {}, "empty": 0}
    cpu: dict[str, list[float]] = {}

    def ask(one: Ask) -> float:
        query = one.query()
        began, used = time.perf_counter(), time.process_time()
        result = memory.search(query, limit=10)
        spent = (time.perf_counter() - began) * 1000
        cpu.setdefault(one.kind, []).append((time.process_time() - used) * 1000)
        check(result.notes, result.embedder)
        if one.kind == "words":
            found["empty"] += not result.hits
            steps = {**result.steps, "around": spent - sum(result.steps.values())}
            for name, part in steps.items():
                found["steps"].setdefault(name, []).append(part)
        return spent

    for number, one in enumerate(one for one in asks if one.kind == "warm-up"):
        spent = ask(one)
        found["first"] = found["first"] if number else spent
    db = open_fts(Path(fts)) if fts else None
    for kind in dict.fromkeys(one.kind for one in asks if one.kind != "warm-up"):
        mine = [one for one in asks if one.kind == kind]
        times, theirs = found["times"].setdefault(kind, []), []
        for start in range(0, len(mine), TURN):
            part = mine[start : start + TURN]
            times += [ask(one) for one in part]
            if db and start < BESIDE.get(kind, 0):
                theirs += [fts_search(db, one.text) for one in part]
            told(f"questions ({kind}): {start + len(part)} of {len(mine)}")
        if theirs:
            found["beside"][kind] = (times[: len(theirs)], theirs)
    found["steps"] = {name: fmean(values) for name, values in found["steps"].items()}
    found["cpu"] = median(cpu["words"])
    return found


def add_some(root: str, asks: Sequence[Ask], first: int, there: int) -> dict[str, list[float]]:
    """Milliseconds of a sync of 10 new entries, by itself and as a part of the next search."""
    from wakebook.log import log
    from wakebook.log.entry import decode

    memory = opened(root)
    for one in asks[:5]:
        memory.search(one.query(), limit=10)
    found: dict[str, list[float]] = {"index": [], "search": [], "plain": []}
    [lines] = entries(first, first + 2 * ROUNDS * 10, there)
    for number in range(2 * ROUNDS):
        part = [decode(one.encode()) for one in lines[number * 10 : number * 10 + 10]]
        with memory.home.locked():
            log.append(memory.home, part)
        what = "index" if number < ROUNDS else "search"
        query = asks[number].query()
        began = time.perf_counter()
        if what == "index":
            added = memory.index.sync().added
            if added != len(part):
                raise SystemExit(f"{added} of {len(part)} new entries were indexed.")
        else:
            memory.search(query, limit=10)
        found[what].append((time.perf_counter() - began) * 1000)
        began = time.perf_counter()
        memory.search(query, limit=10)
        found["plain"].append((time.perf_counter() - began) * 1000)
    return found


def remember_some(root: str, asks: Sequence[Ask]) -> dict[str, float]:
    memory = opened(root)
    for one in asks[:50]:
        found = memory.search(one.query(), limit=10)
        check(found.notes, found.embedder)
    return memory_of_process()


def nearest_of(root: str, texts: Sequence[str]) -> dict[str, float]:
    """Recall@10 against all vectors, and the milliseconds of both ways."""
    import numpy as np

    from wakebook.models.builtin import Builtin
    from wakebook.store.database import LocalStore
    from wakebook.store.search import CANDIDATES

    store = LocalStore(Path(root) / "index.db")
    db, edition, embedder = store.db, store.edition(), Builtin()
    nothing = np.zeros(0, np.intp)
    wanted = embedder.embed(texts, query=True)
    store.nearest.search(wanted[0], CANDIDATES, None, nothing, edition)
    answers, times = [], []
    for one in wanted:
        began = time.perf_counter()
        ids, near = store.nearest.search(one, CANDIDATES, None, nothing, edition)
        times.append((time.perf_counter() - began) * 1000)
        answers.append(ids[(-near).argsort()[:10]].tolist())
    rows, scales = all_vectors(db)
    exact_times, shares = [], []
    for one, answer in zip(wanted, answers, strict=True):
        question = np.asarray(one, np.float32)
        began = time.perf_counter()
        cosines = rows @ question
        cosines *= scales
        best = np.argpartition(cosines, -10)[-10:]
        exact_times.append((time.perf_counter() - began) * 1000)
        least = float(cosines[best].min()) - 1e-5  # as near as the tenth is near enough
        shares.append(sum(float(cosines[chunk]) >= least for chunk in answer) / 10)
    return {
        "recall": fmean(shares),
        "worst": min(shares),
        "ms": median(times),
        "exact ms": median(exact_times),
        "vectors": int(np.count_nonzero(scales)),
    }


def all_vectors(db: sqlite3.Connection) -> tuple[Any, Any]:
    """Every vector of an index as float32, at the place of its chunk, and their scales."""
    import numpy as np

    from wakebook.store.vectors import BLOCK

    last, size = db.execute("SELECT max(block), max(length(numbers)) FROM vectors").fetchone()
    rows = np.zeros(((last + 1) * BLOCK, size // BLOCK), np.float32)
    scales = np.zeros(len(rows), np.float32)
    for block, lengths, numbers in db.execute("SELECT block, scales, numbers FROM vectors"):
        part = slice(block * BLOCK, (block + 1) * BLOCK)
        rows[part] = np.frombuffer(numbers, np.int8).reshape(BLOCK, -1)
        scales[part] = np.frombuffer(lengths, np.float32)
    return rows, scales


# --- processes -----------------------------------------------------------------------------


def run(command: Sequence[str], environment: dict[str, str]) -> tuple[float, float]:
    """Milliseconds of a process: on the wall, and user + system."""
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):  # 1: nothing found
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}.")
    return wall * 1000, (used.ru_utime + used.ru_stime) * 1000


def processes(root: str, asks: Sequence[Ask]) -> dict[str, list[tuple[float, float]]]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    compileall.compile_dir(ROOT / "src", quiet=2)
    script = Path(root).parent / "wakebook"  # what an installation puts on the path
    script.write_text("from wakebook.__main__ import main\n\nmain()\n")
    search = [sys.executable, str(script), "--home", root, "search"]
    command = [*search, "--json", *asks[0].text.split()]
    answer = subprocess.run(command, stdout=subprocess.PIPE, env=environment, check=True)
    check(json.loads(answer.stdout)["notes"], json.loads(answer.stdout)["embedder"])
    found: dict[str, list[tuple[float, float]]] = {"pass": [], "search": [], "search --json": []}
    for number in range(PROCESSES + 2):
        words = asks[number % len(asks)].text.split()
        for what, command in (
            ("pass", [sys.executable, "-c", "pass"]),
            ("search", [*search, *words]),
            ("search --json", [*search, "--json", *words]),
        ):
            spent = run(command, environment)
            if number >= 2:  # the first ones warm the machine's caches
                found[what].append(spent)
        told(f"processes: {number} of {PROCESSES}")
    return found


# --- report --------------------------------------------------------------------------------


@dataclass
class Bench:
    folder: Path
    report: Report = field(default_factory=Report)
    p50: dict[int, float] = field(default_factory=dict)

    # synthetic entries

    def sizes(self, sizes: Sequence[int]) -> None:
        root = self.folder / "home"
        known = self.folder / "entries"
        have = int(known.read_text()) if known.exists() else 0
        self.prepare(root)
        for size in sizes:
            if size < have:
                continue  # kept from an earlier run, and larger by now
            label = f"{size:,}"
            if have < size:
                self.grow(root, have, size)
                self.indexing(label, root, least=3000)
                have = size
                known.write_text(str(size))
            self.size(size, label, root, size == min(sizes))
        self.growth(min(sizes), max(sizes))

    def prepare(self, root: Path) -> None:
        from wakebook.log import subjects as registry

        if not (root / "config.toml").exists():
            memory = builtin_home(root)
            registry.save(memory.home, memory.log.registry().ensure(subjects()))

    def grow(self, root: Path, first: int, stop: int) -> None:
        with (root / "log.jsonl").open("a", encoding="utf-8") as stream:
            for lines in entries(first, stop):
                stream.writelines(lines)
                told(f"entries: {first + len(lines):,} ...")
        os.sync()  # the bench's own writing is no part of what follows

    def size(self, size: int, label: str, root: Path, smallest: bool) -> None:
        index = root / "index.db"
        asks = questions(index, size)
        plain = [one for one in asks if one.kind == "words"]
        self.fts(label, index)
        self.latency(label, root, asks, size)
        self.nearest(label, root, [one.text for one in plain[:NEAREST]])
        self.memory(label, root, plain, 1024 if size >= 1_000_000 else 0)
        if smallest:
            self.processes(label, root, plain)
        more = 1_000_000_000 + random.Random(size + time.time_ns()).randrange(1 << 40)
        self.incremental(label, root, plain, more, size)

    def growth(self, least: int, most: int) -> None:
        if least in self.p50 and most in self.p50 and least < most:
            name = f"search p50, {most:,} / {least:,}"
            aim = 10.0 if (least, most) == (10_000, 1_000_000) else 0
            self.report.add(name, self.p50[most] / self.p50[least], "times", most=aim)

    # parts

    def indexing(self, label: str, root: Path, least: float = 0) -> None:
        done = fresh(index_all, str(root))
        rate = done["added"] / done["seconds"]
        self.report.add(f"{label}: indexing, {done['added']:,} more", rate, "/s", least=least)
        self.report.add(f"{label}: indexing, peak memory", done["VmHWM"], "MB")
        size = sum(path.stat().st_size for path in root.glob("index.db*"))
        self.report.add(f"{label}: index.db", size / (1 << 20), "MB")

    def fts(self, label: str, index: Path) -> None:
        rate = fresh(fill_fts, self.fts_path(index), index)
        if rate > 1:
            self.report.add(f"{label}: FTS5 indexing, for comparison", rate, "/s")

    @staticmethod
    def fts_path(index: Path) -> Path:
        return index.parent.with_name(f"{index.parent.name}-fts.db")

    def latency(self, label: str, root: Path, asks: Sequence[Ask], size: int = 0) -> None:
        fts = str(self.fts_path(root / "index.db"))
        found = fresh(ask_all, str(root), fts, asks)
        aims = {100_000: (10.0, 25.0), 1_000_000: (40.0, 0.0)}.get(size, (0.0, 0.0))
        add = self.report.add
        for kind, times in found["times"].items():
            p50, p95 = cut(times)
            first = kind == "words"
            name = f"{label}: search" if first else f"{label}: search, {kind}"
            add(f"{name} p50", p50, "ms", most=aims[0] if first else 0)
            add(f"{name} p95", p95, "ms", most=aims[1] if first else 0)
            self.p50.setdefault(size, p50)
        add(f"{label}: search, CPU of all threads, p50", found["cpu"], "ms")
        if found["empty"]:
            add(f"{label}: questions without a hit", found["empty"], "")
        for name, spent in found["steps"].items():
            add(f"{label}: step {name}, mean", spent, "ms")
        for kind, (ours, theirs) in found["beside"].items():
            add(f"{label}: FTS5, {kind}, p50", cut(theirs)[0], "ms")
            add(f"{label}: Wakebook / FTS5, {kind}, p50", cut(ours)[0] / cut(theirs)[0], "times")
        add(f"{label}: first search of a process", found["first"], "ms")

    def nearest(self, label: str, root: Path, texts: Sequence[str]) -> None:
        found = fresh(nearest_of, str(root), texts)
        self.report.add(f"{label}: vectors, recall@10", found["recall"], "", least=0.98)
        self.report.add(f"{label}: vectors, the worst question's", found["worst"], "")
        self.report.add(f"{label}: vectors, p50", found["ms"], "ms")
        ratio = found["exact ms"] / found["ms"]
        self.report.add(f"{label}: exact search / vectors", ratio, "times")

    def memory(self, label: str, root: Path, asks: Sequence[Ask], most: float = 0) -> None:
        found = fresh(remember_some, str(root), asks)
        self.report.add(f"{label}: memory of 50 searches, peak", found["VmHWM"], "MB", most=most)
        self.report.add(f"{label}: of it anonymous, at the end", found["RssAnon"], "MB")
        self.report.add(f"{label}: mapped file pages, at the end", found["RssFile"], "MB")

    def incremental(
        self, label: str, root: Path, asks: Sequence[Ask], first: int, there: int
    ) -> None:
        found = fresh(add_some, str(root), asks, first, there)
        p50, p95 = cut(found["index"])
        self.report.add(f"{label}: 10 new, index() p50", p50, "ms", most=50)
        self.report.add(f"{label}: 10 new, index() p95", p95, "ms")
        self.report.add(f"{label}: 10 new, the next search p50", cut(found["search"])[0], "ms")
        self.report.add(f"{label}: the search after that p50", cut(found["plain"])[0], "ms")

    def processes(self, label: str, root: Path, asks: Sequence[Ask]) -> None:
        found = processes(str(root), asks)
        for at, what in enumerate(("wall", "CPU")):
            base = [spent[at] for spent in found["pass"]]
            self.report.add(f"python -c pass, {what}, least", min(base), "ms")
            self.report.add(f"python -c pass, {what}, median", median(base), "ms")
            for command in ("search", "search --json"):
                name = f"{label}: wakebook {command}, {what}"
                mine = [spent[at] for spent in found[command]]
                self.report.add(f"{name}, least", min(mine), "ms")
                self.report.add(f"{name}, median", median(mine), "ms")
                for least, ratio in (
                    ("least", min(mine) / min(base)),
                    ("median", median(mine) / median(base)),
                ):
                    self.report.add(f"{name}, {least} / pass", ratio, "times", most=10)

    # real text

    def real(self, name: str, sessions: Sequence[Any], asked: Sequence[str]) -> None:
        from bench.retrieval import Home

        root = self.folder / name.lower()
        if not (root / "index.db").exists():
            home = Home(root, "builtin")
            for number, session in enumerate(sessions, start=1):
                home._write(session)
                told(f"{name}: {number} of {len(sessions)} sessions")
            os.sync()
            self.indexing(name, root)
        index = root / "index.db"
        self.fts(name, index)
        texts = list(dict.fromkeys(asked))
        random.Random(4).shuffle(texts)
        texts = texts[: WARM_UP + QUESTIONS["words"]]
        few = min(WARM_UP, len(texts) // 5)
        asks = [Ask("warm-up", text) for text in texts[:few]]
        asks += [Ask("words", text) for text in texts[few:]]
        self.latency(name, root, asks)
        self.nearest(name, root, texts[few : few + NEAREST])
        self.memory(name, root, asks)


def builtin_home(root: Path) -> Memory:
    from bench.retrieval import Home

    return Home(root, "builtin").memory


def locomo(bench: Bench, path: Path) -> None:
    from dataclasses import replace

    from bench import retrieval

    stores = retrieval.locomo(path)
    sessions = [
        replace(session, id=f"{store.name}-{session.id}")  # every conversation has a session_1
        for store in stores
        for session in store.sessions
    ]
    bench.real("LoCoMo", sessions, [one.text for store in stores for one in store.questions])


def longmemeval(bench: Bench, path: Path) -> None:
    from bench import retrieval

    store = retrieval.pooled(retrieval.longmemeval(path))
    bench.real("LongMemEval", store.sessions, [one.text for one in store.questions])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="10000,100000,1000000", help="entries, rising")
    parser.add_argument("--locomo", type=Path, help="locomo10.json, or a part of it")
    parser.add_argument("--longmemeval", type=Path, help="longmemeval_s, .json or .json.xz")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="leave the homes there")
    chosen = parser.parse_args()
    sizes = sorted({int(size) for size in chosen.sizes.split(",") if size})
    os.environ["WAKEBOOK_NOW"] = NOW
    before, began = os.getloadavg()[0], time.perf_counter()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (chosen.keep or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        bench = Bench(folder)
        if sizes:
            bench.sizes(sizes)
        if chosen.locomo:
            locomo(bench, chosen.locomo)
        if chosen.longmemeval:
            longmemeval(bench, chosen.longmemeval)
    told("")
    machine = {
        "python": sys.version.split()[0],
        "sqlite": sqlite3.sqlite_version,
        "cpus": os.cpu_count(),
        "load before": round(before, 1),
        "load after": round(os.getloadavg()[0], 1),
        "seconds": round(time.perf_counter() - began),
    }
    if chosen.json:
        figures = [vars(figure) for figure in bench.report.figures]
        print(json.dumps({"machine": machine, "figures": figures}, indent=2))
        return
    print(f"{DEFINITIONS}\n")
    print(", ".join(f"{name} {value}" for name, value in machine.items()), "\n")
    print("\n".join(bench.report.lines()))


if __name__ == "__main__":
    main()
