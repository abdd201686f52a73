"""Measure answers: a model is asked LoCoMo's or LongMemEval's questions with what search finds.

    python bench/qa.py --data FOLDER --set locomo|longmemeval --model PROVIDER/MODEL
                       [--judge PROVIDER/MODEL] [--extract] [--budget TOKENS] [--limit N]
                       [--resume FILE] [--dry-run] [--json]

The sessions are written into homes, as bench/retrieval.py does it. For each question the context
is what Wakebook finds, within a budget; one model answers from it, and a judge compares with the
gold answer. The prompts are those in bench/prompts. With --resume every judged question is
appended to a file at once, and is not asked again.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from math import sqrt
from pathlib import Path
from random import Random
from statistics import fmean
from threading import Lock, local
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))
sys.path.insert(1, str(Path(__file__).parents[1]))

from bench.homes import add_model_options, configured, equip, temporary, without_git
from bench.retrieval import Question, Store

from bench import retrieval
from wakebook import Memory, Query
from wakebook.base import text
from wakebook.base.config import Config
from wakebook.base.errors import BadModelOutput, ModelError, NotAsked, WakebookError
from wakebook.base.home import Home
from wakebook.learn.reading import Work
from wakebook.learn.reread import reread
from wakebook.log.log import Ledger
from wakebook.models import model as makes
from wakebook.models import prompt, wire
from wakebook.models.calls import FAILED, Called, Calls
from wakebook.models.chat import Models
from wakebook.models.transport import on_this_machine
from wakebook.store.hits import MARK, Hit

PROMPTS = Path(__file__).parent / "prompts"
INPUTS = {
    "answer": ("today", "memory", "question"),
    "judge": ("kind", "question", "gold", "answer"),
}
GUESS = {"answer": 80, "judge": 5}  # tokens of an answer, for --dry-run
CATEGORIES = {  # LoCoMo's
    "1": "multi-hop",
    "2": "temporal",
    "3": "open-domain",
    "4": "single-hop",
    "5": "adversarial",
}
KINDS = {  # what the judge is told; all others are plain
    "temporal": "time",
    "temporal-reasoning": "time",
    "knowledge-update": "update",
    "single-session-preference": "preference",
}
TYPES = ("task", "fact", "decision", "question")
NOT_KNOWN = "It is not known: nothing was said about it."
PLUMBING = "plumbing only: no quality figure"
PATIENCE = 10  # failures in a row
DEFINITION = """\
accuracy = right / n: of the n questions that were answered and judged, those whose answer the
judge model called right. 95 %: the Wilson interval of that share; it knows nothing of a judge that
errs. A question without an answer or a verdict (the model failed, refused, was cut off) is not in
n, and is listed; "failed = wrong" counts it. Abstention questions (LongMemEval's _abs, LoCoMo's
category 5 unless it has a gold answer) are right if the answer says that it is not known; they are
a row of their own (LoCoMo: adversarial), in "overall", and not in "answerable". All questions of
the set are asked, also those that have no evidence.
context = tokens that the answering model is shown of the memory, by Wakebook's estimate, mean over
the judged questions: hits of Memory.search for the question (min_score 0), the best first until
the budget is full, in order of time; with --extract up to a third of it current entries that match.
calls, tokens, dollars = of answering and judging, failed questions included; extraction apart.
part: every other conversation (LoCoMo) or question (LongMemEval), counted from 0. limit: a random
sample of the questions, by seed. Figures from a scripted server mean nothing."""


# --- what it takes -------------------------------------------------------------------------


@dataclass
class Spent:
    """Calls of models, added up."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    dollars: float = 0.0
    unpriced: int = 0  # calls whose price is not known

    def add(self, tokens_in: int, tokens_out: int, dollars: float | None) -> None:
        self.calls += 1
        self.tokens_in += tokens_in
        self.tokens_out += tokens_out
        self.dollars += dollars or 0.0
        self.unpriced += dollars is None

    def plus(self, other: Spent) -> Spent:
        return Spent(*(one + two for one, two in zip(_values(self), _values(other), strict=True)))

    def __str__(self) -> str:
        unknown = f" ({self.unpriced} calls without a known price)" if self.unpriced else ""
        return (
            f"{self.calls:,} calls, {self.tokens_in:,} tokens in, {self.tokens_out:,} out, "
            f"${self.dollars:,.4f}{unknown}"
        )


def _values(spent: Spent) -> tuple[Any, ...]:
    return tuple(asdict(spent).values())


def total(parts: Sequence[dict[str, Any]]) -> Spent:
    spent = Spent()
    for part in parts:
        spent = spent.plus(Spent(**part))
    return spent


# --- asking --------------------------------------------------------------------------------


class Noted(Calls):
    """The record of the calls, which also remembers those of each thread's question."""

    def __init__(self, home: Home) -> None:
        super().__init__(home)
        self._mine = local()

    def add(self, call: Called) -> None:
        super().add(call)
        failed = call.outcome in FAILED or call.outcome == "too large"
        self.spent_here().add(call.tokens_in, call.tokens_out, 0.0 if failed else call.cost)

    def spent_here(self, anew: bool = False) -> Spent:
        """What this thread has spent since it began anew."""
        if anew or not hasattr(self._mine, "spent"):
            self._mine.spent = Spent()
        found: Spent = self._mine.spent
        return found


class Desk:
    """Where questions are asked: the main model answers, the cheap one judges."""

    def __init__(self, memory: Memory, dry: bool) -> None:
        for operation in INPUTS:
            shutil.copy(PROMPTS / f"{operation}.md", memory.home.root / "prompts")
        self.models = Models(memory.home, memory.config, os.environ, dry=dry)
        self.models.calls = self._calls = Noted(memory.home)
        self.labels = {
            operation: prompt.load(operation, memory.home, set(inputs)).label
            for operation, inputs in INPUTS.items()
        }
        self.names = {"answer": self.models.name("main"), "judge": self.models.name("cheap")}

    def spent(self, anew: bool = False) -> Spent:
        return self._calls.spent_here(anew)

    def ask(self, operation: str, **inputs: str) -> str:
        """The answer; nothing in a dry run. Raises ModelError."""
        try:
            return self.models.ask(operation, **inputs)
        except NotAsked:
            if not self.models.dry:
                raise
            return ""

    def planned(self) -> Spent:
        """What the questions of a dry run would have cost, with short answers."""
        spent = Spent()
        for plan in self.models.planned:
            price = self.models.price(plan.model)
            size = plan.tokens_in, GUESS[plan.operation]
            spent.add(*size, price.cost(*size) if price else None)
        return spent


def verdict(said: str) -> bool:
    """Yes or no, whatever stands around the word. Raises BadModelOutput."""
    words = "".join(char if char.isalpha() else " " for char in said.lower()).split()
    found = {word for word in words if word in ("yes", "no")}
    if len(found) != 1:
        raise BadModelOutput(f"The judge says neither yes nor no: {said[:80]!r}")
    return found == {"yes"}


# --- the context ---------------------------------------------------------------------------


@contextmanager
def at(moment: datetime) -> Iterator[None]:
    """The clock stands still at a moment."""
    before = os.environ.get("WAKEBOOK_NOW")
    os.environ["WAKEBOOK_NOW"] = moment.isoformat()
    try:
        yield
    finally:
        del os.environ["WAKEBOOK_NOW"]
        if before is not None:
            os.environ["WAKEBOOK_NOW"] = before


def context(memory: Memory, question: Question, asked: argparse.Namespace) -> str:
    """What Wakebook has to say about a question, within the budget."""
    room = asked.budget
    blocks: list[str] = []
    with at(question.at):
        if asked.extract:
            entries = _found(memory, Query(text=question.text, types=TYPES), asked.hits)
            notes = _fitting([(hit, _entry(hit)) for hit in entries], room // 3)
            room -= sum(map(text.tokens, notes))
            blocks += ["Notes:", *notes, ""] if notes else []
        turns = _found(memory, Query(text=question.text, categories=("conversation",)), asked.hits)
    said = _fitting([(hit, _turn(hit)) for hit in turns], room)
    if asked.extract and said:
        blocks.append("What was said:")
    return "\n".join([*blocks, *said]).strip() or "(nothing)"


def _found(memory: Memory, query: Query, most: int) -> Sequence[Hit]:
    return memory.search(query, limit=most, min_score=0.0).hits


def _fitting(ranked: Sequence[tuple[Hit, str]], room: int) -> list[str]:
    """The best that fit, oldest first."""
    kept: list[tuple[Hit, str]] = []
    for hit, line in ranked:
        size = text.tokens(line)
        if size > room and not kept:
            line = text.cut(line, room)
            size = text.tokens(line)
        if size <= room and line:
            kept.append((hit, line))
            room -= size
    return [line for _, line in sorted(kept, key=lambda pair: _when(pair[0], "%Y-%m-%d %H:%M"))]


def _entry(hit: Hit) -> str:
    kind = f"{hit.type}, {hit.status}" if hit.status else hit.type
    return f"[{_when(hit, '%Y-%m-%d')}, {kind}] {_plain(hit)}"


def _turn(hit: Hit) -> str:
    speaker = f", {hit.speaker}" if hit.speaker else ""
    return f"[{_when(hit, '%Y-%m-%d %H:%M')}{speaker}] {_plain(hit)}"


def _when(hit: Hit, form: str) -> str:
    return hit.timestamp.strftime(form) if hit.timestamp else ""


def _plain(hit: Hit) -> str:
    return hit.snippet.replace(MARK, "")


# --- extraction ----------------------------------------------------------------------------


@dataclass
class Extracted:
    """What a model has made of a store's sessions."""

    store: str
    sessions: int = 0
    entries: int = 0
    failed: dict[str, str] = field(default_factory=dict)  # transcript -> why
    prompts: list[str] = field(default_factory=list)  # with their versions
    spent: Spent = field(default_factory=Spent)


def extract(folder: Path, store: Store, config: Config, dry: bool) -> Extracted:
    """Have the model read a store's transcripts, oldest first, as an upgrade does it."""
    memory = Memory(folder, config=config, dry=dry)
    now = max(session.at for session in store.sessions) + timedelta(days=1)
    work = Work(memory.home, memory.config, Ledger(memory.home), memory.opened.extractor, now)
    done = Extracted(store.name)
    for path in sorted(map(memory.home.relative, memory.home.conversations.glob("*/*/*/*.md"))):
        report = reread(work, path, whatever=True)
        done.sessions += 1
        done.entries += report.entries
        if report.held:
            done.failed[path] = report.held
    if dry:
        for plan in memory.models.planned:
            done.spent.add(plan.tokens_in, plan.tokens_out, plan.cost)
    else:
        done.prompts = sorted({call.prompt for call in memory.models.calls.all()})
        costs = memory.costs().total
        done.spent = Spent(
            costs.calls, costs.tokens_in, costs.tokens_out, costs.cost, costs.unpriced
        )
    return done


# --- records -------------------------------------------------------------------------------


class Record:
    """What is known so far: judged questions, failures, extractions; also in a file."""

    def __init__(self, path: Path | None, run: dict[str, Any]) -> None:
        self.judged: dict[str, dict[str, Any]] = {}
        self.failed: dict[str, str] = {}
        self.extracted: list[dict[str, Any]] = []
        self.wasted: list[dict[str, Any]] = []  # what failed questions cost
        self.streak = 0
        self._path = path
        self._lock = Lock()
        lines = _whole_lines(path) if path and path.exists() else []
        if lines and lines[0].get("run") != run:
            raise SystemExit(f"{path} is of another run: {json.dumps(lines[0].get('run'))}")
        for line in lines[1:]:
            self._take(line)
        if not lines:
            self._write({"run": run})

    def add(self, line: dict[str, Any]) -> None:
        with self._lock:
            self._take(line)
            self._write(line)

    def _take(self, line: dict[str, Any]) -> None:
        if "extracted" in line:
            self.extracted.append(line["extracted"])
        elif "error" in line:
            self.streak += 1
            self.failed[line["id"]] = line["error"]
            self.wasted.append(line["spent"])
        else:
            self.streak = 0
            self.failed.pop(line["id"], None)
            self.judged[line["id"]] = line

    def _write(self, line: dict[str, Any]) -> None:
        if self._path:
            with self._path.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(line, ensure_ascii=False) + "\n")


def _whole_lines(path: Path) -> list[dict[str, Any]]:
    """The lines of a file; half a line that an interruption left is cut off."""
    data = path.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    if whole != data:
        path.write_bytes(whole)
    return [json.loads(line) for line in whole.splitlines()]


# --- the run -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """A question with its context."""

    question: Question
    memory: str


class Bench:
    def __init__(
        self, asked: argparse.Namespace, config: Config, desk: Desk, record: Record
    ) -> None:
        self._asked = asked
        self._desk = desk
        self._record = record
        self._config = config.with_(
            embedding=config.embedding.with_(provider=asked.embedder),
            search=config.search.with_(snippet_characters=asked.characters),
            git=config.git.with_(enabled=False),
        )
        self.stopped = ""

    def run(self, stores: Sequence[Store]) -> None:
        """A few stores at a time: homes, extraction, contexts; then their questions at once."""
        left = [_without(store, self._record.judged) for store in stores]
        left = [store for store in left if store.questions]
        step = self._config.models.concurrency
        self._record.streak = 0
        with ThreadPoolExecutor(step) as pool:
            try:
                for start in range(0, len(left), step):
                    if not self.stopped:
                        _told(f"{start}/{len(left)} conversations")
                        self._some(left[start : start + step], pool)
            except KeyboardInterrupt:
                pool.shutdown(wait=True, cancel_futures=True)
                self.stopped = "interrupted"

    def _some(self, stores: Sequence[Store], pool: ThreadPoolExecutor) -> None:
        with ExitStack() as stack:
            folders = [Path(stack.enter_context(tempfile.TemporaryDirectory())) for _ in stores]
            for folder, store in zip(folders, stores, strict=True):
                without_git(folder)
                retrieval.Home(folder, self._asked.embedder).write(store.sessions)
                equip(folder, self._asked.home)
            if self._asked.extract:
                list(pool.map(self._extract, folders, stores))
            questions: list[Asked] = []
            for folder, store in zip(folders, stores, strict=True):
                memory = Memory(folder, config=self._config)
                memory.index.sync()
                for question in store.questions:
                    questions.append(Asked(question, context(memory, question, self._asked)))
            list(pool.map(self._answer, questions))

    def _extract(self, folder: Path, store: Store) -> None:
        done = extract(folder, store, self._config, self._desk.models.dry)
        self._record.add({"extracted": asdict(done)})

    def _answer(self, asked: Asked) -> None:
        """Have a question answered and judged, and take it down."""
        if self._record.streak >= PATIENCE:
            self.stopped = f"stopped after {PATIENCE} failures in a row; run it again with --resume"
            return
        question = asked.question
        spent = self._desk.spent(anew=True)
        line: dict[str, Any] = {"id": question.id, "kind": row_of(question)}
        try:
            answer, right = self._judged(asked)
        except ModelError as error:
            self._record.add(line | {"error": str(error), "spent": asdict(spent)})
            return
        line |= {"unknown": question.unknown, "right": right, "question": question.text}
        line |= {"gold": gold_of(question), "answer": answer}
        size = text.tokens(asked.memory)
        self._record.add(line | {"context_tokens": size, "spent": asdict(spent)})

    def _judged(self, asked: Asked) -> tuple[str, bool]:
        question, gold = asked.question, gold_of(asked.question)
        today = f"{question.at:%A, %d %B %Y}"
        answer = self._desk.ask("answer", today=today, memory=asked.memory, question=question.text)
        kind = "unknown" if question.unknown else KINDS.get(row_of(question), "plain")
        said = self._desk.ask(
            "judge", kind=kind, question=question.text, gold=gold, answer=answer or gold
        )
        return answer, not self._desk.models.dry and verdict(said)


def _without(store: Store, known: dict[str, Any]) -> Store:
    left = tuple(question for question in store.questions if question.id not in known)
    return replace(store, questions=left)


def gold_of(question: Question) -> str:
    return question.answer or NOT_KNOWN


def row_of(question: Question) -> str:
    """The row of the table that a question is in."""
    if question.kind in CATEGORIES:
        return CATEGORIES[question.kind]
    return "abstention" if question.unknown else question.kind


# --- data ----------------------------------------------------------------------------------


def find(data: Path, name: str) -> Path:
    """The file of a set in a folder. Exits if there is not exactly one."""
    if data.is_file():
        return data
    found = [
        path
        for path in sorted(data.rglob(f"{name}*.json*"))
        if path.name.endswith((".json", ".json.xz"))
    ]
    if len(found) != 1:
        names = ", ".join(map(str, found)) or f"no {name}*.json or {name}*.json.xz"
        raise SystemExit(f"{data}: expected one file, found {names}. Give the file as --data.")
    return found[0]


def chosen(stores: Sequence[Store], part: str, limit: int | None, seed: int) -> list[Store]:
    """Every other store if a part is asked for, and a sample of the questions."""
    taken = list(stores[{"odd": 1, "even": 0, "all": 0}[part] :: 1 if part == "all" else 2])
    ids = [question.id for store in taken for question in store.questions]
    if limit is not None and limit < len(ids):
        out = set(ids) - set(Random(seed).sample(ids, limit))
        taken = [_without(store, dict.fromkeys(out)) for store in taken]
    return [store for store in taken if store.questions]


# --- report --------------------------------------------------------------------------------


def wilson(right: int, n: int) -> tuple[float, float]:
    """The 95 % interval of a share."""
    if not n:
        return 0.0, 1.0
    z = 1.959964
    share, square = right / n, z * z / n
    middle = (share + square / 2) / (1 + square)
    reach = z * sqrt(share * (1 - share) / n + square / (4 * n)) / (1 + square)
    return max(0.0, middle - reach), min(1.0, middle + reach)


def accuracy(judged: Sequence[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    rows: dict[str, list[bool]] = {"overall": [], "answerable": []}
    for one in sorted(judged, key=lambda one: str(one["kind"])):
        names = ["overall", one["kind"], *([] if one["unknown"] else ["answerable"])]
        for name in names:
            rows.setdefault(name, []).append(one["right"])
    return {name: _share(sum(found), len(found)) for name, found in rows.items()}


def _share(right: int, n: int) -> dict[str, Any]:
    low, high = wilson(right, n)
    share = {"accuracy": right / n if n else 0.0, "low": low, "high": high}
    return {"n": n, "right": right} | {name: round(value, 4) for name, value in share.items()}


def report(
    stores: Sequence[Store], record: Record, run: dict[str, Any], asked: argparse.Namespace
) -> dict[str, Any]:
    """The figures of the chosen questions, also of those that an earlier run has asked."""
    ids = [question.id for store in stores for question in store.questions]
    judged = [record.judged[name] for name in ids if name in record.judged]
    failed = {name: record.failed[name] for name in ids if name in record.failed}
    found: dict[str, Any] = run | {
        "part": asked.part,
        "limit": asked.limit,
        "seed": asked.seed,
        "questions": len(ids),
        "judged": len(judged),
        "failed": failed,
        "context_tokens": round(fmean(one["context_tokens"] for one in judged)) if judged else 0,
        "spent": asdict(total([*(one["spent"] for one in judged), *record.wasted])),
    }
    if asked.extract:
        done = record.extracted
        found["extraction"] = {
            "prompts": sorted({label for one in done for label in one["prompts"]}),
            "conversations": len(done),
            "sessions": sum(one["sessions"] for one in done),
            "entries": sum(one["entries"] for one in done),
            "failed": {path: why for one in done for path, why in one["failed"].items()},
            "spent": asdict(total([one["spent"] for one in done])),
        }
    if asked.plumbing or asked.dry_run:
        return found | {"note": PLUMBING if asked.plumbing else "dry run: nothing was asked"}
    wrong = _share(sum(one["right"] for one in judged), len(judged) + len(failed))
    return found | {"accuracy": accuracy(judged), "failed = wrong": wrong}


def printed(found: dict[str, Any]) -> Iterator[str]:
    yield f"{found['set']}: {found['judged']} of {found['questions']} questions judged"
    yield f"answers: {found['model']}, prompt {found['answer prompt']}"
    yield f"judge: {found['judge']}, prompt {found['judge prompt']}"
    yield (
        f"budget {found['budget']} tokens, at most {found['hits']} hits of "
        f"{found['characters']} characters, embedder {found['embedder']}, part {found['part']}, "
        f"limit {found['limit'] or 'none'}, seed {found['seed']}"
    )
    yield ""
    if "note" in found:
        yield found["note"]
    else:
        yield f"{'':28}{'n':>6}{'right':>7}{'accuracy':>10}   95 %"
        rows = found["accuracy"] | ({"failed = wrong": found["failed = wrong"]})
        for name, row in rows.items():
            low, high = 100 * row["low"], 100 * row["high"]
            share = 100 * row["accuracy"]
            yield f"{name:28}{row['n']:6}{row['right']:7}{share:10.1f}   {low:.1f}-{high:.1f}"
    yield ""
    yield f"context: {found['context_tokens']:,} tokens a question"
    yield f"answering and judging: {Spent(**found['spent'])}"
    if "extraction" in found:
        yield from _extraction(found["extraction"])
    yield f"failed: {len(found['failed'])} questions"
    yield from (f"  {name}: {error}" for name, error in found["failed"].items())


def _extraction(done: dict[str, Any]) -> Iterator[str]:
    yield (
        f"extraction: prompt {', '.join(done['prompts'])}; {done['conversations']} conversations, "
        f"{done['sessions']} sessions, {done['entries']} entries; {Spent(**done['spent'])}"
    )
    yield f"  not read by the model: {len(done['failed'])} sessions"
    yield from (f"  {path}: {error}" for path, error in done["failed"].items())


def planned(found: dict[str, Any]) -> Iterator[str]:
    """What a run would ask, after a dry one."""
    extraction = found.get("extraction", {}).get("spent", asdict(Spent()))
    yield f"{found['set']}: {found['questions']} questions, nothing was asked"
    yield f"context: {found['context_tokens']:,} tokens a question"
    yield f"answering and judging, about: {Spent(**found['spent'])}"
    if "extraction" in found:
        yield f"extraction, about: {Spent(**extraction)}"
    yield f"together, about: {Spent(**found['spent']).plus(Spent(**extraction))}"
    yield "Tokens are estimates; a model that thinks before it answers writes many more."


def _told(what: str) -> None:
    if sys.stderr.isatty():
        print(f"\r{what}   ", end="", file=sys.stderr)


# --- the command ---------------------------------------------------------------------------


def options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--data", type=Path, required=True, help="the folder of the sets, or the file")
    add("--set", choices=("locomo", "longmemeval"), required=True)
    add_model_options(parser)
    add("--judge", default="", metavar="PROVIDER/MODEL", help="who judges (the same model)")
    add("--extract", action="store_true", help="have the model read all conversations first")
    add("--budget", type=int, default=4000, help="tokens of context for a question (4000)")
    add("--hits", type=int, default=60, help="of a search, at most (60)")
    add("--characters", type=int, default=700, help="of a hit, at most (700)")
    add("--embedder", default="builtin", help="[embedding] provider (builtin)")
    add("--part", choices=("odd", "even", "all"), default="all")
    add("--limit", type=int, metavar="N", help="ask a random sample of N questions")
    add("--seed", type=int, default=1, help="of that sample (1)")
    add("--resume", type=Path, metavar="FILE", help="keep what was judged here, and go on from it")
    add("--plumbing", action="store_true", help="for a scripted server on loopback: no figures")
    add("--dry-run", action="store_true", help="estimate tokens and dollars, ask nothing")
    add("--json", action="store_true", help="print JSON")
    return parser.parse_args(argv)


def judged_by(name: str, config: Config) -> Config:
    """The settings with the judge as the cheap model. Exits if it is none."""
    name = name or config.models.main
    try:
        makes.make(name, config, os.environ, None)
    except WakebookError as error:
        raise SystemExit(str(error)) from None
    return config.with_(models=config.models.with_(cheap=name))


def addresses(config: Config) -> Iterator[str]:
    """Where the two models are."""
    for name in (config.models.main, config.models.cheap):
        provider = name.partition("/")[0]
        yield getattr(config, provider).base_url or wire.PROVIDERS[provider].base


def main(argv: Sequence[str] | None = None) -> None:
    asked = options(argv)
    config = configured(asked.model, asked.base_url, asked.home)
    if config is None:
        raise SystemExit("Give --model PROVIDER/MODEL, or a --home whose [models] names one.")
    config = judged_by(asked.judge, config)
    if asked.plumbing and not all(map(on_this_machine, addresses(config))):
        raise SystemExit("--plumbing is for a server on loopback: give its --base-url.")
    load = retrieval.locomo if asked.set == "locomo" else retrieval.longmemeval
    path = find(asked.data, asked.set)
    stores = chosen(load(path, every=True), asked.part, asked.limit, asked.seed)
    with temporary(config, asked.home) as memory:
        desk = Desk(memory, asked.dry_run)
        run = settings(asked, path, desk)
        record = Record(None if asked.dry_run else asked.resume, run)
        bench = Bench(asked, config, desk, record)
        bench.run(stores)
        found = report(stores, record, run, asked)
    if asked.dry_run:
        found["spent"] = asdict(desk.planned())
    if asked.json:
        print(json.dumps(found | {"stopped": bench.stopped}, indent=2))
        return
    print(*(planned(found) if asked.dry_run else (DEFINITION, "", *printed(found))), sep="\n")
    if bench.stopped:
        print(bench.stopped)


def settings(asked: argparse.Namespace, path: Path, desk: Desk) -> dict[str, Any]:
    """What a run may not change if it goes on from a file."""
    return {
        "set": asked.set,
        "file": path.name,
        "model": desk.names["answer"],
        "answer prompt": desk.labels["answer"],
        "judge": desk.names["judge"],
        "judge prompt": desk.labels["judge"],
        "budget": asked.budget,
        "hits": asked.hits,
        "characters": asked.characters,
        "embedder": asked.embedder,
        "extract": asked.extract,
    }


if __name__ == "__main__":
    main()
