"""Measure what a context holds: is the evidence for a question in it, and for how many tokens?

    python bench/context.py --locomo locomo10.json --longmemeval longmemeval_s.json
                            [--budgets 1000,2000,4000,8000] [--ways hits,context,...]
                            [--part tuned|other] [--questions N] [--extract] [--json]

The sessions are written into homes, as bench/retrieval.py does it (see there for where the sets
come from), without git; with --extract the rules read them first, so that there are entries,
notes, a briefing and a handoff. Every question is asked at its own date. No model is asked.
"""

from __future__ import annotations

import argparse
import json
import lzma
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from random import Random
from statistics import fmean, quantiles
from time import perf_counter
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))
sys.path.insert(1, str(Path(__file__).parents[1]))

from bench.evidence import SPEAKER, Evidence, Text, content
from bench.homes import without_git
from bench.qa import at
from bench.retrieval import ADVERSARIAL, Home, Question, Session, Store, Turn, told

from bench import retrieval
from wakebook import Memory
from wakebook.capture import archive
from wakebook.learn import entries as batch
from wakebook.learn import reread as whole
from wakebook.learn.entries import admitted, related
from wakebook.learn.extract import Scene
from wakebook.log import subjects
from wakebook.models import tokenizer
from wakebook.store.hits import MARK, Hit

DEFINITIONS = """\
newest: the newest turns of the whole history that fit, the oldest of them first. hits: what
Memory.search finds, best first, as `wakebook search` shows it (up to 700 characters around what
matched), one line each with date and speaker; one that does not fit any more is left out and the
next is tried. turns: the same hits, each as the whole turn. context: Memory.context. equal: the
hits within as many tokens as the context has taken, which may be less than the budget. full: the
whole history. tokens: of the final text, by the tokenizer, mean over the questions.
A turn is *in* a text if one of its sentences of at least 25 characters is (if it has none: the
whole turn), word by word, without regard to case and punctuation. A sentence that also occurs in
another session of the store does not count. A session is in if one of its turns is.
turns any / all / share: questions with one / all of their evidence turns in, and the mean share of
them (LoCoMo: the turns that it names; LongMemEval: those with has_answer). sessions any / all /
share: the same for the sessions of the evidence (LongMemEval: answer_session_ids). all sessions:
the share of all sessions of the store that is in. It is what chance would give: where a text has a
line of nearly every session, it has those of the evidence whatever the line says.
turn words: of the evidence turns that are in, the share of their words that is in.
answer words: the mean share of the right answer's words, without stop words, that occur in the
text (LoCoMo: categories 1-4). turns/1k, sessions/1k: evidence in all contexts for 1,000 tokens;
who spends less has more, so compare context with equal.
LongMemEval without abstention questions. The halves are those of bench/retrieval.py."""
WAYS = ("newest", "hits", "turns", "context", "equal", "full")
SHARES = (
    *("turns any", "turns all", "turns share", "turn words"),
    *("sessions any", "sessions all", "sessions share", "all sessions", "answer words"),
)
HITS = 300  # more than a search considers
SEED = 1


# --- data --------------------------------------------------------------------------------------


def longmemeval(path: Path) -> list[Store]:
    """The questions that have an answer, with the turns that hold it."""
    marked = _marked(path)
    return [
        replace(store, questions=tuple(replace(one, turns=marked[one.id]) for one in questions))
        for store in retrieval.longmemeval(path, every=True)
        if (questions := [one for one in store.questions if not one.unknown])
    ]


def _marked(path: Path) -> dict[str, frozenset[str]]:
    """The turns with has_answer of each question, by the names that bench/retrieval.py gives."""
    data = path.read_bytes()
    raw = json.loads(lzma.decompress(data) if path.suffix == ".xz" else data)
    found: dict[str, frozenset[str]] = {}
    for number, item in enumerate(raw["questions"] if isinstance(raw, dict) else raw):
        name = str(item["question_id"] if "question_id" in item else item.get("id", number))
        if "haystack" in item:
            hay = [(part["id"], raw["sessions"][part["session"]]) for part in item["haystack"]]
        else:
            hay = list(zip(item["haystack_session_ids"], item["haystack_sessions"], strict=True))
        found[name] = frozenset(
            f"{session}:{place}"
            for session, turns in hay
            if session in item["answer_session_ids"]
            for place, turn in enumerate(turns)
            if turn.get("has_answer") and turn["content"].strip()
        )
    return found


def chosen(stores: Sequence[Store], part: str, most: int | None) -> list[Store]:
    """The stores with the questions of a half, or with a sample of them."""
    wanted = [
        question.id
        for store in stores
        for question in store.questions
        if part == "all" or question.tuned == (part == "tuned")
    ]
    if most is not None and most < len(wanted):
        wanted = Random(SEED).sample(wanted, most)
    kept = set(wanted)
    taken = [
        replace(store, questions=tuple(one for one in store.questions if one.id in kept))
        for store in stores
    ]
    return [store for store in taken if store.questions]


# --- homes -------------------------------------------------------------------------------------


@contextmanager
def opened(store: Store, extract: bool) -> Iterator[Memory]:
    """A home with a store's conversations, indexed."""
    with tempfile.TemporaryDirectory() as folder:
        without_git(Path(folder))
        home = Home(Path(folder), "builtin")
        home.write(store.sessions)
        if extract:
            learn(home.memory, store)
        home.memory.index.sync()
        yield home.memory


def learn(memory: Memory, store: Store) -> None:
    """Have the rules read all conversations, oldest first, and write what follows from it."""
    asked = store.questions[0].at
    end = max(asked, *(session.at for session in store.sessions)) + timedelta(days=1)
    with at(end):
        for path in _transcripts(memory):
            _read(memory, path)
    with at(asked):
        memory.notes.brief(ask=False)
        memory.notes.update()


def _transcripts(memory: Memory) -> list[str]:
    return sorted(map(memory.home.relative, memory.home.conversations.glob("*/*/*/*.md")))


def _read(memory: Memory, path: str) -> None:
    home, now, chains = memory.home, memory.opened.now(), memory.log.chains()
    registry = subjects.load(home)
    source = whole.source_of(archive.read(home, path), now)
    scene = Scene(current=related(chains), subjects=registry.names(), ends=True)
    drafts = whole.read(memory.opened.extractor, source, scene)
    with home.locked():
        entries = admitted(home, drafts, source, chains, registry, now)
        batch.append(home, batch.settle(home), source.ref, None, entries)


# --- ways --------------------------------------------------------------------------------------


class Shown(Text):
    """A text that a model would be shown."""

    def __init__(self, text: str, milliseconds: float | None = None) -> None:
        super().__init__(text)
        self.tokens = tokenizer.count(text)
        self.milliseconds = milliseconds


Shows = Iterator[tuple[int, Shown]]  # by budget; 0: without one


class Ways:
    """What each way shows of one home."""

    def __init__(self, memory: Memory, store: Store, budgets: Sequence[int]) -> None:
        self._memory = memory
        self._store = store
        self._budgets = budgets
        self._sizes: dict[str, int] = {}
        self._asked = ""  # the last question that was searched for
        self._lines: dict[str, list[str]] = {}
        self._told = ""  # the last question that had a context
        self._contexts: dict[int, Shown] = {}
        self._is_warm = False

    def shown(self, way: str, question: Question) -> Shows:
        if way == "newest":
            yield from self._newest.items()
        elif way == "full":
            yield 0, self._full
        elif way == "context":
            yield from self._compiled(question).items()
        elif way == "equal":
            lines = self._found(question)["hits"]
            for budget, shown in self._compiled(question).items():
                yield budget, Shown("\n".join(self._fitting(lines, shown.tokens)))
        else:
            lines = self._found(question)[way]
            for budget in self._budgets:
                yield budget, Shown("\n".join(self._fitting(lines, budget)))

    # --- the history ---------------------------------------------------------------------

    @cached_property
    def _history(self) -> list[str]:
        """Every turn on a line, the oldest first."""
        return [
            _line(f"{session.at:%Y-%m-%d}", _speaker(turn, session), turn.text)
            for session in sorted(self._store.sessions, key=lambda one: one.at)
            for turn in session.turns
        ]

    @cached_property
    def _full(self) -> Shown:
        return Shown("\n".join(self._history))

    @cached_property
    def _newest(self) -> dict[int, Shown]:
        found = {}
        for budget in self._budgets:
            lines = self._fitting(self._history[::-1], budget, stop=True)
            found[budget] = Shown("\n".join(reversed(lines)))
        return found

    # --- search --------------------------------------------------------------------------

    def _found(self, question: Question) -> dict[str, list[str]]:
        """The hits of a question as lines: as they are found, and as whole turns."""
        if self._asked != question.id:
            self._asked = question.id
            with at(question.at):
                hits = self._memory.search(question.text, limit=HITS, min_score=0.0).hits
            self._lines = {"hits": list(map(_hit, hits)), "turns": list(map(self._turn, hits))}
        return self._lines

    def _turn(self, hit: Hit) -> str:
        return _hit(hit, self._texts.get(hit.ref, hit.snippet))

    @cached_property
    def _texts(self) -> dict[str, str]:
        """The whole turns, by their refs."""
        home = self._memory.home
        return {
            f"{path}#{turn.line}-{turn.last_line}": turn.text
            for path in _transcripts(self._memory)
            for turn in archive.read(home, path).turns
        }

    def _fitting(self, lines: Sequence[str], budget: int, stop: bool = False) -> list[str]:
        """The lines that fit, in their order; with `stop` up to the first that does not."""
        kept, room = [], budget
        for line in lines:
            size = self._size(line)
            if size <= room:
                kept.append(line)
                room -= size
            elif stop:
                break
        return kept or [tokenizer.cut(line, budget) for line in lines[:1]]

    def _size(self, line: str) -> int:
        if line not in self._sizes:
            self._sizes[line] = tokenizer.count(line + "\n")
        return self._sizes[line]

    # --- the compiled context ------------------------------------------------------------

    def _compiled(self, question: Question) -> dict[int, Shown]:
        if self._told != question.id:
            self._told = question.id
            with at(question.at):
                self._warm()
                self._contexts = {size: self._context(question, size) for size in self._budgets}
        return self._contexts

    def _context(self, question: Question, budget: int) -> Shown:
        begin = perf_counter()
        found = self._memory.context(question.text, budget=budget)
        return Shown(found.text, (perf_counter() - begin) * 1000)

    def _warm(self) -> None:
        """The first context of a process opens the index: it is not measured."""
        if not self._is_warm:
            self._memory.context("Good morning, what is the plan for today?", budget=1000)
            self._is_warm = True


def _speaker(turn: Turn, session: Session) -> str:
    named = all(SPEAKER.match(one.text) for one in session.turns)
    return turn.text.partition(": ")[0] if named else turn.role


def _line(day: str, speaker: str, text: str) -> str:
    said = " ".join(text.split()).removeprefix(f"{speaker}: ")
    return f"[{day}, {speaker}] {said}"


def _hit(hit: Hit, text: str = "") -> str:
    day = f"{hit.timestamp:%Y-%m-%d}" if hit.timestamp else ""
    speaker = hit.speaker or hit.type or hit.category
    return _line(day, speaker, (text or hit.snippet).replace(MARK, ""))


# --- figures -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """One question, shown one text."""

    question: Question
    shares: Mapping[str, float]
    turns: int  # of evidence, in the text
    sessions: int
    tokens: int
    budget: int
    milliseconds: float | None = None


def judge(question: Question, shown: Shown, evidence: Evidence, budget: int) -> Outcome:
    turns = [name for name in question.turns if evidence.has_turn(shown, name)]
    sessions = [name for name in question.sessions if evidence.has_session(shown, name)]
    shares = _shares("turns", len(turns), len(question.turns))
    shares |= _shares("sessions", len(sessions), len(question.sessions))
    shares["all sessions"] = evidence.spread(shown)
    if turns:
        shares["turn words"] = fmean(evidence.share(shown, name) for name in turns)
    wanted = content(question.answer) if question.kind != ADVERSARIAL else frozenset()
    if wanted:
        shares["answer words"] = len(wanted & shown.words) / len(wanted)
    size = (shown.tokens, budget, shown.milliseconds)
    return Outcome(question, shares, len(turns), len(sessions), *size)


def _shares(name: str, found: int, wanted: int) -> dict[str, float]:
    return {
        f"{name} any": float(found > 0),
        f"{name} all": float(found == wanted),
        f"{name} share": found / wanted,
    }


def figures(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The means over questions, and what is counted over all of them."""
    tokens = sum(one.tokens for one in outcomes)
    found: dict[str, Any] = {"questions": len(outcomes)}
    for name in SHARES:
        shares = [one.shares[name] for one in outcomes if name in one.shares]
        found[name] = round(100 * fmean(shares), 1) if shares else None
    for name in ("turns", "sessions"):
        items = sum(getattr(one, name) for one in outcomes)
        found[f"{name}/1k"] = round(1000 * items / tokens, 3) if tokens else 0.0
    found["tokens"] = round(tokens / len(outcomes))
    found["over budget"] = sum(0 < one.budget < one.tokens for one in outcomes)
    spent = [one.milliseconds for one in outcomes if one.milliseconds is not None]
    if spent:
        cuts = quantiles(spent, n=100) if len(spent) > 1 else spent * 99
        found |= {"p50 ms": round(cuts[49], 2), "p95 ms": round(cuts[94], 2)}
    return found


def summary(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The figures of all questions, and of each half."""
    halves = {
        "tuned half": [one for one in outcomes if one.question.tuned],
        "other half": [one for one in outcomes if not one.question.tuned],
    }
    return figures(outcomes) | {name: figures(half) for name, half in halves.items() if half}


Outcomes = dict[tuple[str, int], list[Outcome]]  # by way and budget


def measure(
    stores: Sequence[Store], asked: argparse.Namespace, told: Callable[[str], None]
) -> Outcomes:
    found: Outcomes = {}
    for number, store in enumerate(stores, start=1):
        evidence = Evidence(store)
        with opened(store, asked.extract) as memory:
            ways = Ways(memory, store, asked.budgets)
            for place, question in enumerate(store.questions, start=1):
                told(f"store {number}/{len(stores)}, question {place}/{len(store.questions)}")
                for way in asked.ways:
                    for budget, shown in ways.shown(way, question):
                        outcome = judge(question, shown, evidence, budget)
                        found.setdefault((way, budget), []).append(outcome)
    return found


# --- report ------------------------------------------------------------------------------------


def rows(outcomes: Outcomes, kinds: str = "") -> list[dict[str, Any]]:
    """The figures by way and budget, of questions of some kinds."""
    found = []
    for way, budget in sorted(outcomes, key=lambda key: (WAYS.index(key[0]), key[1])):
        ours = [one for one in outcomes[way, budget] if not kinds or one.question.kind in kinds]
        if ours:
            found.append({"way": way, "budget": budget or None} | summary(ours))
    return found


def table(name: str, found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A set's rows, of all questions; then of each half, if there are two."""
    parts = [part for part in ("tuned half", "other half") if part in found[0]]
    for part in ["", *parts] if len(parts) > 1 else parts:
        yield from _table(name, part, [row | row[part] if part else row for row in found])


def _table(name: str, part: str, found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    columns = [*SHARES, "turns/1k", "sessions/1k", "tokens"]
    columns += ["p50 ms", "p95 ms"] if any("p50 ms" in row for row in found) else []
    yield f"\n{name}{part and f', {part}'}: {found[0]['questions']} questions\n"
    yield f"| way | budget | {' | '.join(columns)} |"
    yield "|---" * (len(columns) + 2) + "|"
    for row in found:
        cells = [_cell(row.get(column)) for column in ("budget", *columns)]
        yield f"| {row['way']} | {' | '.join(cells)} |"
    over = [f"{row['way']} {row['budget']}: {row['over budget']}" for row in found]
    over = [line for line in over if not line.endswith(": 0")]
    if over:
        yield f"over the budget: {', '.join(over)}"


def _cell(value: Any) -> str:
    return "" if value is None else f"{value:,}"


def run(asked: argparse.Namespace) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    if asked.locomo:
        stores = chosen(retrieval.locomo(asked.locomo), asked.part, asked.questions)
        found = measure(stores, asked, told)
        yield "LoCoMo, categories 1-4", rows(found, "1234")
        yield "LoCoMo, all categories", rows(found)
    if asked.longmemeval:
        stores = chosen(longmemeval(asked.longmemeval), asked.part, asked.questions)
        yield "LongMemEval_S", rows(measure(stores, asked, told))


def options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--locomo", type=Path, help="locomo10.json, or a part of it")
    add("--longmemeval", type=Path, help="longmemeval_s, .json or .json.xz")
    add("--budgets", default="1000,2000,4000,8000", help="tokens (1000,2000,4000,8000)")
    add("--ways", default=",".join(WAYS), help=f"some of {','.join(WAYS)} (all)")
    add("--part", choices=("tuned", "other", "all"), default="all", help="one half alone")
    add("--questions", type=int, metavar="N", help="a random sample of N questions of each set")
    add("--extract", action="store_true", help="have the rules read the conversations first")
    add("--json", action="store_true", help="print JSON")
    asked = parser.parse_args(argv)
    asked.budgets = sorted(map(int, asked.budgets.split(",")))
    asked.ways = asked.ways.split(",")
    if unknown := set(asked.ways) - set(WAYS):
        parser.error(f"--ways: no {', '.join(sorted(unknown))}; there are {', '.join(WAYS)}")
    if not (asked.locomo or asked.longmemeval):
        parser.error("give --locomo PATH, --longmemeval PATH, or both")
    return asked


def main(argv: Sequence[str] | None = None) -> None:
    asked = options(argv)
    results = {}
    if not asked.json:
        print(DEFINITIONS)
    for name, found in run(asked):
        results[name] = found
        if found and not asked.json:
            print("\n".join(table(name, found)), flush=True)
    if asked.json:
        print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
