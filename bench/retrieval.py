"""Measure what search finds, on LoCoMo and LongMemEval, through the real index.

    python bench/retrieval.py --locomo locomo10.json --longmemeval longmemeval_s.json
                              [--embedder builtin|none|...] [--peer NAME]... [--json]

Every conversation is written into a home as archived transcripts and indexed; every question
goes through `Memory.search`. LoCoMo: github.com/snap-research/locomo (CC BY-NC 4.0), its own
format. LongMemEval: huggingface.co/datasets/xiaowu0162/longmemeval-cleaned (MIT), its own
format or the compact one with `questions` and `sessions`, plain or .xz.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import fmean, quantiles
from time import perf_counter
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

sys.path.insert(1, str(Path(__file__).parents[1]))

from bench.peers import ENVIRONMENTS, Doc, Failed, NotInstalled, start

from wakebook import Memory, Query
from wakebook.capture import archive
from wakebook.capture.transcript import Message

DEFINITIONS = """\
LoCoMo, turn level: recall@k = the share of a question's evidence turns among the first k turns
found in its conversation, averaged over questions of categories 1-4 (1-5: over all of them);
hit@k = any of them. Session level: any@k = a session with evidence among the first k sessions,
all@k = all of them, sessions@1 = their share in the first.
LongMemEval: each question in its own haystack, abstention questions excluded; any@k and all@k
over its answer sessions; MRR of the first. Pooled: all sessions of the file in one store.
The halves: LoCoMo by conversation (the first ones were tuned on, the last ones not), LongMemEval
by the question's place (even ones were tuned on)."""
KS = (1, 5, 10)
ADVERSARIAL = "5"  # LoCoMo's questions about what was not said


@dataclass(frozen=True)
class Turn:
    id: str
    text: str
    role: str = "user"


@dataclass(frozen=True)
class Session:
    id: str
    at: datetime
    turns: tuple[Turn, ...]


@dataclass(frozen=True)
class Question:
    text: str
    at: datetime
    turns: frozenset[str] = frozenset()  # evidence
    sessions: frozenset[str] = frozenset()
    kind: str = ""
    tuned: bool = True  # in the half that was tuned on
    id: str = ""
    answer: str = ""
    unknown: bool = False  # the right answer is that it was never said


@dataclass(frozen=True)
class Store:
    name: str
    sessions: tuple[Session, ...]
    questions: tuple[Question, ...]


@dataclass
class Scores:
    """One figure for each question, by name."""

    values: dict[str, list[float]] = field(default_factory=dict)
    halves: dict[str, list[list[float]]] = field(default_factory=dict)
    milliseconds: list[float] = field(default_factory=list)
    bytes: int = 0
    documents: int = 0
    seconds: float = 0.0  # of adding them

    def add(self, name: str, value: float, tuned: bool) -> None:
        self.values.setdefault(name, []).append(value)
        self.halves.setdefault(name, [[], []])[0 if tuned else 1].append(value)

    def as_dict(self) -> dict[str, Any]:
        cuts = quantiles(self.milliseconds, n=100) if len(self.milliseconds) > 1 else [0.0] * 99
        return {
            "questions": len(self.values.get("MRR", ())),
            "documents": self.documents,
            **{name: round(100 * fmean(found), 1) for name, found in self.values.items()},
            "tuned half": _half(self.halves, 0),
            "other half": _half(self.halves, 1),
            "p50 ms": round(cuts[49], 2),
            "p95 ms": round(cuts[94], 2),
            "adds/s": round(self.documents / self.seconds) if self.seconds else 0,
            "bytes": self.bytes,
        }


def _half(halves: dict[str, list[list[float]]], which: int) -> dict[str, float]:
    return {
        name: round(100 * fmean(parts[which]), 1) for name, parts in halves.items() if parts[which]
    }


# --- data ----------------------------------------------------------------------------------


def locomo(path: Path, every: bool = False) -> list[Store]:
    """The conversations. With `every`, also questions whose evidence is not known."""
    stores = []
    samples = json.loads(path.read_text(encoding="utf-8"))
    for number, sample in enumerate(samples):
        talk = sample["conversation"]
        sessions = []
        for key in sorted(
            (name for name in talk if re.fullmatch(r"session_\d+", name)),
            key=lambda name: int(name.split("_")[1]),
        ):
            at = datetime.strptime(talk[f"{key}_date_time"], "%I:%M %p on %d %B, %Y")
            turns = tuple(_locomo_turn(turn) for turn in talk[key])
            sessions.append(Session(key, at.replace(tzinfo=UTC), turns))
        where = {turn.id: session.id for session in sessions for turn in session.turns}
        last = max(session.at for session in sessions) + timedelta(days=1)
        tuned = number < (len(samples) + 1) // 2
        name = str(sample.get("sample_id", number))
        questions = []
        for place, item in enumerate(sample["qa"]):
            found = re.findall(r"D\d+:\d+", " ".join(map(str, item.get("evidence", []))))
            turns_ = frozenset(name for name in found if name in where)
            if turns_ or every:
                kind = str(item["category"])
                gold = frozenset(where[turn] for turn in turns_)
                answer = str(item.get("answer", ""))
                unknown = kind == ADVERSARIAL and not answer
                questions.append(
                    Question(
                        item["question"],
                        last,
                        turns_,
                        gold,
                        kind,
                        tuned,
                        f"{name}/{place}",
                        answer,
                        unknown,
                    )
                )
        stores.append(Store(name, tuple(sessions), tuple(questions)))
    return stores


def _locomo_turn(turn: dict[str, Any]) -> Turn:
    caption = f" [image: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
    text = f"{turn['speaker']}: {turn['text']}{caption}"
    return Turn(turn["dia_id"], text, "user")


def longmemeval(path: Path, every: bool = False) -> list[Store]:
    """Every question with its haystack. With `every`, also the abstention questions."""
    data = path.read_bytes()
    raw = json.loads(lzma.decompress(data) if path.suffix == ".xz" else data)
    stores = []
    items = raw["questions"] if isinstance(raw, dict) else raw
    for number, item in enumerate(items):
        name = str(item["question_id"] if "question_id" in item else item.get("id", number))
        unknown = name.endswith("_abs")
        if unknown and not every:
            continue
        if "haystack" in item:
            listed = [
                (part["id"], part["date"], raw["sessions"][part["session"]])
                for part in item["haystack"]
            ]
        else:
            ids, dates = item["haystack_session_ids"], item["haystack_dates"]
            listed = list(zip(ids, dates, item["haystack_sessions"], strict=True))
        sessions = tuple(
            Session(identity, _moment(date), _chat_turns(identity, turns))
            for identity, date, turns in listed
        )
        question = Question(
            item["question"],
            _moment(item["question_date"]),
            sessions=frozenset(item["answer_session_ids"]),
            kind=item["question_type"],
            tuned=number % 2 == 0,
            id=name,
            answer=str(item["answer"]) if every else "",
            unknown=unknown,
        )
        stores.append(Store(name, sessions, (question,)))
    return stores


def _chat_turns(session: str, turns: Sequence[dict[str, Any]]) -> tuple[Turn, ...]:
    roles = {"assistant": "agent"}
    return tuple(
        Turn(f"{session}:{number}", turn["content"], roles.get(turn["role"], "user"))
        for number, turn in enumerate(turns)
        if turn["content"].strip()
    )


def _moment(text: str) -> datetime:
    plain = re.sub(r"\s*\([A-Za-z]+\)\s*", " ", text).strip()
    for form in ("%Y/%m/%d %H:%M", "%Y-%m-%d %H:%M", "%Y/%m/%d", "%Y-%m-%dT%H:%M:%S"):
        try:
            return datetime.strptime(plain, form).replace(tzinfo=UTC)
        except ValueError:
            continue
    raise SystemExit(f"No date: {text!r}")


def pooled(stores: Sequence[Store]) -> Store:
    """All sessions in one store. A session that stands in several haystacks is one session."""
    seen: dict[tuple[str, str], Session] = {}
    for store in stores:
        for session in store.sessions:
            words = session.turns[0].text if session.turns else ""
            seen.setdefault((session.id, words), session)
    questions = tuple(question for store in stores for question in store.questions)
    return Store("pooled", tuple(seen.values()), questions)


def _joined(stores: Sequence[Store]) -> Store:
    """LoCoMo's conversations in one store, each turn under its conversation's name."""
    sessions = tuple(
        Session(
            f"{store.name}-{session.id}",
            session.at,
            tuple(replace(turn, id=f"{store.name}-{turn.id}") for turn in session.turns),
        )
        for store in stores
        for session in store.sessions
    )
    questions = tuple(
        replace(
            question,
            turns=frozenset(f"{store.name}-{name}" for name in question.turns),
            sessions=frozenset(f"{store.name}-{name}" for name in question.sessions),
        )
        for store in stores
        for question in store.questions
    )
    return Store("joined", sessions, questions)


# --- Wakebook ------------------------------------------------------------------------------


class Home:
    """A home with the transcripts of a store, indexed."""

    def __init__(self, folder: Path, embedder: str) -> None:
        self.memory = Memory(folder)
        self.memory.init()
        for kind in ("identity", "memory"):  # what a new home holds is not part of the set
            for note in (folder / "knowledge" / kind).glob("*.md"):
                note.unlink()
        for topic in (folder / "topics").glob("*.md"):
            topic.unlink()
        if embedder:
            config = folder / "config.toml"
            config.write_text(
                config.read_text() + f'\n[embedding]\nprovider = "{embedder}"\n'
                if "[embedding]" not in config.read_text()
                else config.read_text().replace(
                    '# provider = "auto"', f'provider = "{embedder}"', 1
                )
            )
        self._turns: dict[str, str] = {}  # ref -> id of the turn

    def add(self, sessions: Sequence[Session]) -> float:
        """Write the transcripts, then index them. Seconds that the indexing took."""
        self.write(sessions)
        start = perf_counter()
        self.memory.index.sync()
        return perf_counter() - start

    def write(self, sessions: Sequence[Session]) -> None:
        """Write the transcripts as closed windows."""
        for session in sessions:
            self._write(session)

    def _write(self, session: Session) -> None:
        home = self.memory.home
        at = session.at
        messages = []
        for number, turn in enumerate(session.turns):
            moment = at + timedelta(minutes=number)
            messages.append(Message(role=turn.role, text=turn.text, at=moment, id=str(number)))  # type: ignore[arg-type]
        path = archive.path_for(home, session.id, 1, at, "chat")
        if (home.root / path).exists():
            return
        parts, tail = [], archive.Tail()
        starts: list[str] = []
        for message, turn in zip(messages, session.turns, strict=True):
            text, after = archive.render([message], tail)
            if after.turns > tail.turns:
                starts.append(turn.id)
            parts.append(text)
            tail = after
        front = {
            "format": 1,
            "session_id": session.id,
            "host": "bench",
            "window": 1,
            "topic": "",
            "ended": (at + timedelta(minutes=len(messages))).isoformat(),
            "closed": True,
        }
        home.replace(home.root / path, archive.compose(front, session.id, "".join(parts)))
        for number, turn_ in enumerate(archive.read(home, path).turns):
            self._turns[f"{path}#{turn_.line}-{turn_.last_line}"] = starts[number]

    def turns(self, question: Question, most: int) -> list[str]:
        found = self._search(question, most, False)
        return [self._turns[hit.ref] for hit in found.hits if hit.ref in self._turns]

    def sessions(self, question: Question, most: int) -> list[str]:
        return [hit.session for hit in self._search(question, most, True).hits]

    def _search(self, question: Question, most: int, sessions: bool) -> Any:
        os.environ["WAKEBOOK_NOW"] = question.at.isoformat()
        query = Query(text=question.text)
        return self.memory.search(query, limit=most, min_score=0.0, sessions=sessions)

    def size(self) -> int:
        return sum(path.stat().st_size for path in self.memory.home.root.glob("index.db*"))


def measure(
    stores: Sequence[Store], embedder: str, turns: bool, told: Callable[[str], None]
) -> Scores:
    scores = Scores()
    for number, store in enumerate(stores, start=1):
        with tempfile.TemporaryDirectory() as folder:
            home = Home(Path(folder), embedder)
            scores.seconds += home.add(store.sessions)
            scores.documents += sum(len(session.turns) for session in store.sessions)
            for question in store.questions:
                _ask(home, question, turns, scores)
            scores.bytes += home.size()
        told(f"{number}/{len(stores)} stores")
    return scores


# --- peers ---------------------------------------------------------------------------------


def compare(name: str, stores: Sequence[Store], environments: Path | None) -> dict[str, Any]:
    """A peer on the same turns and questions. Raises NotInstalled."""
    scores = Scores()
    version = note = ""
    for store in stores:
        documents = [
            Doc(
                f"{session.id}/{turn.id}",
                f"[{session.at:%d %B %Y}] {turn.text}",
                session.id,
                session.at.isoformat(),
            )
            for session in store.sessions
            for turn in session.turns
        ]
        with (
            tempfile.TemporaryDirectory() as folder,
            start(name, Path(folder) / "peer", environments) as peer,
        ):
            version, note = peer.version, peer.note
            scores.seconds += peer.add(documents)
            scores.documents += len(documents)
            for question in store.questions:
                found = peer.search(question.text, KS[-1])
                scores.milliseconds.append(found.seconds * 1000)
                turns = [identity.split("/", 1)[1] for identity in found.ids]
                sessions = list(dict.fromkeys(identity.split("/", 1)[0] for identity in found.ids))
                _score(question, turns, sessions, scores)
            scores.bytes += peer.size()
    return scores.as_dict() | {"version": version, "note": note}


def _score(
    question: Question, turns: Sequence[str], sessions: Sequence[str], scores: Scores
) -> None:
    if question.turns:
        share = len(question.turns.intersection(turns)) / len(question.turns)
        scores.add("recall@10, 1-5", share, question.tuned)
        if question.kind == ADVERSARIAL:
            return
        for k in KS:
            share = len(question.turns.intersection(turns[:k])) / len(question.turns)
            scores.add(f"recall@{k}", share, question.tuned)
        scores.add("hit@10", bool(question.turns.intersection(turns)), question.tuned)
    for k in KS:
        scores.add(f"any@{k}", bool(question.sessions.intersection(sessions[:k])), question.tuned)
        scores.add(f"all@{k}", question.sessions.issubset(sessions[:k]), question.tuned)
    first = len(question.sessions.intersection(sessions[:1])) / len(question.sessions)
    scores.add("sessions@1", first, question.tuned)
    ranks = [sessions.index(name) for name in question.sessions if name in sessions]
    scores.add("MRR", 1 / (min(ranks) + 1) if ranks else 0.0, question.tuned)


def _ask(home: Home, question: Question, turns: bool, scores: Scores) -> None:
    begin = perf_counter()
    found = home.turns(question, KS[-1])
    scores.milliseconds.append((perf_counter() - begin) * 1000)
    listed = home.sessions(question, KS[-1])
    _score(question, found if turns else [], listed, scores)


# --- report --------------------------------------------------------------------------------


def table(name: str, found: dict[str, Any]) -> Iterator[str]:
    columns = [key for key, value in found["tuned half"].items() if isinstance(value, float)]
    yield f"\n{name}: {found['questions']} questions, {found['documents']:,} turns"
    yield "| | " + " | ".join(columns) + " |"
    yield "|---" * (len(columns) + 1) + "|"
    yield "| all | " + " | ".join(f"{found[column]:.1f}" for column in columns) + " |"
    for half in ("tuned half", "other half"):
        if found[half]:
            yield f"| {half} | " + " | ".join(f"{found[half][c]:.1f}" for c in columns) + " |"
    yield (
        f"p50 {found['p50 ms']} ms, p95 {found['p95 ms']} ms; {found['adds/s']:,} turns/s "
        f"indexed; {found['bytes'] / 1e6:.1f} MB"
    )


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--locomo", type=Path, help="locomo10.json, or a part of it")
    add("--longmemeval", type=Path, help="longmemeval_s, .json or .json.xz")
    add("--embedder", default="builtin", help="[embedding] provider (builtin)")
    add(
        "--peer",
        action="append",
        default=[],
        choices=[*ENVIRONMENTS, "all"],
        help="another system on LoCoMo, with the same embedder; may be repeated",
    )
    add("--peer-env", type=Path, help="the folder that bench/peers/setup.py made")
    add("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()
    if not (arguments.locomo or arguments.longmemeval):
        parser.error("give --locomo PATH, --longmemeval PATH, or both")
    return arguments


def told(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r{text}   ", end="", file=sys.stderr)


def run(arguments: argparse.Namespace) -> Iterator[tuple[str, dict[str, Any]]]:
    embedder = arguments.embedder
    if arguments.locomo:
        stores = locomo(arguments.locomo)
        yield "LoCoMo", measure(stores, embedder, True, told).as_dict()
        if arguments.peer:
            yield from beside_peers(arguments, [_joined(stores)])
    if arguments.longmemeval:
        stores = longmemeval(arguments.longmemeval)
        yield "LongMemEval_S", measure(stores, embedder, False, told).as_dict()
        one = [pooled(stores)]
        yield "LongMemEval_S, pooled", measure(one, embedder, False, told).as_dict()


def beside_peers(
    arguments: argparse.Namespace, stores: Sequence[Store]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """All conversations in one store: Wakebook, then every peer, one after the other."""
    where = "LoCoMo in one store"
    yield f"{where}: Wakebook", measure(stores, arguments.embedder, True, told).as_dict()
    for name in list(ENVIRONMENTS) if "all" in arguments.peer else arguments.peer:
        try:
            found = compare(name, stores, arguments.peer_env)
        except (NotInstalled, Failed) as error:
            print(error, file=sys.stderr)
            continue
        yield f"{where}: {name} {found['version']}", found


def main() -> None:
    arguments = options()
    results = {}
    if not arguments.json:
        print(DEFINITIONS)
    for name, found in run(arguments):
        results[name] = found
        if not arguments.json:
            print("\n".join(table(name, found)), flush=True)
    if arguments.json:
        print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
