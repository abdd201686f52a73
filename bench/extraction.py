"""Measure what is learned from labelled conversations: without a model, and beside it with one.

    python bench/extraction.py dev|locked [--data FOLDER] [--lme] [--limit N] [--errors] [--json]
                               [--model PROVIDER/MODEL [--base-url URL] | --home PATH]
    python bench/extraction.py real --real LABELS --data FOLDER [--errors]

All conversations of a set are read into a temporary home, as `wakebook catch-up` does it, and every
entry of its log is judged by the labels (bench/labels/README.md). `--data` names the folder with
longmemeval/ and locomo/; without it, only conversations that were written for this project are
read. Tune on `dev`; `locked` is for reporting a change that is finished.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from time import perf_counter
from types import MappingProxyType
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))
sys.path.insert(1, str(Path(__file__).parents[1]))

from bench.homes import add_model_options, configured, dollars, temporary
from bench.judged import (
    Judged,
    Places,
    Result,
    Told,
    is_copy,
    is_kept,
    judge,
    pairs,
    read,
    replaced,
    replacements,
)
from bench.labelled import NUMBERS, SMALL, Item, Session, content, has, stem, words

from bench import labelled, real
from wakebook import Memory
from wakebook.base.config import Config
from wakebook.learn.judge.grounds import tongue
from wakebook.upkeep.status import Sum

OF_MODEL = """\
A conversation that the model could not read has no entries, and is listed. rejected: lines of
answers that broke the rules even after they were asked for again; refused: drafts, handoffs
included, that the sift did not let through. Calls, tokens and dollars are those of the call
records, repairs and failed calls included. Figures from a scripted server mean nothing."""
TYPES = ("fact", "decision", "task", "question")
WORST = 20
SEVERITY = (  # of a bad entry; the rest of the verdicts are the mildest
    "no evidence",
    "agent's turn",
    "not worth keeping",
    "too long, or a request",
)
GROUP = 20  # questions of LongMemEval whose conversations share a home
UNITS = frozenset(
    map(stem, "am day days dollars hour hours miles minute minutes month months pm pounds times "
    "week weeks year years".split())
)  # fmt: skip


class Figure(NamedTuple):
    name: str
    part: float
    whole: float
    meaning: str
    is_share: bool = True

    @property
    def value(self) -> float:
        return self.part / self.whole if self.whole else 0.0

    def __str__(self) -> str:
        if not self.whole:
            return "none"
        exact = f"{self.value:.3f}" if self.is_share else f"{self.value:.2f}"
        return f"{exact} ({self.part:,.0f}/{self.whole:,.0f})"


def figures(result: Result) -> Iterator[Figure]:
    ours, sessions = result.counted, [one for one in result.sessions if not one.has_nothing]
    blank = len(result.sessions) - len(sessions)
    labels = [(item.weight, told) for _, item, told in result.labels()]
    yield _share(
        "precision",
        (one.is_good for one in ours),
        "good entries: one has the words of a label of its turn, or its turn is fine and it says "
        "something; bad: over 40 words, or a question mark in what is no question",
    )
    for type_ in TYPES:
        these = [one.is_good for one in ours if one.entry.type == type_]
        yield _share(f"precision, {type_}s", these, f"the same among its {type_}s")
    yield Figure(
        "recall, weighted",
        sum(weight for weight, told in labels if told),
        sum(weight for weight, _ in labels),
        "labels that a good entry tells, by weight: 2 important, 1 nice to have",
    )
    for weight in (2, 1):
        these = [told for one, told in labels if one == weight]
        yield _share(f"recall, weight {weight}", these, f"the same among labels of weight {weight}")
    yield _share(
        "wrong entries",
        (one.is_wrong for one in ours),
        "what nobody said: words in it that do not stand, three or more in a row, in the turns it "
        "points to or the entry it replaces (a model's own words count here, too)",
    )
    yield _share(
        "verbatim entries",
        (one.is_verbatim for one in ours),
        "80 % of the words stand in one run in the turns it points to",
    )
    yield Figure(
        "entries a conversation",
        len(ours),
        len(sessions),
        "entries, without handoffs and reports that a task is done, by conversation",
        is_share=False,
    )
    yield Figure(
        "entries where nothing is",
        len(result.needless),
        blank,
        "entries in conversations without labels and fine turns, by conversation",
        is_share=False,
    )
    changed = pairs(result)
    yield _share(
        "changes followed",
        (one.is_right for one in changed),
        "of labels that replace an older one: the new value is current, the old one replaced",
    )
    yield _share(
        "changes followed, both kept",
        (one.is_right for one in changed if "missing" not in (one.new, one.old)),
        "the same where both values became entries",
    )
    yield _share(
        "replacements right",
        (one.is_right for one in replacements(result)),
        "of all that were made: both have labels of the same changing value, or they come from the "
        "same conversation or pair and have two words or a label in common",
    )


def _share(name: str, hits: Iterable[bool], meaning: str) -> Figure:
    found = list(hits)
    return Figure(name, sum(found), len(found), meaning)


# --- having it read ------------------------------------------------------------------------


class Reading(NamedTuple):
    """A set as one reader has read it, and what that took."""

    result: Result
    seconds: float
    failed: dict[str, str]  # conversation -> why
    name: str = "selector"
    prompts: tuple[str, ...] = ()  # with their versions
    calls: Sum | None = None
    rejected: Mapping[str, int] = MappingProxyType({})  # by reason
    refused: Mapping[str, int] = MappingProxyType({})  # by kind


def reading(sessions: Sequence[Session], config: Config | None, like: Path | None) -> Reading:
    given = [Told(one.id, one.date, one.turns) for one in sessions]
    with temporary(config or Config(), like) as memory, tempfile.TemporaryDirectory() as folder:
        start = perf_counter()
        sweep = read(memory, Path(folder), given)
        seconds = perf_counter() - start
        failed = {ref.partition("/")[2]: why for ref, why in (sweep.failed | sweep.held).items()}
        done = Reading(judge(memory, sessions), seconds, failed)
        if not config:
            return done
        return done._replace(
            name=memory.opened.extractor.name,
            prompts=tuple(sorted({call.prompt for call in memory.models.calls.all()})),
            calls=memory.costs().total,
            rejected=_traced(memory, "rejected", "reason"),
            refused=_traced(memory, "refused", "kind"),
        )


def _traced(memory: Memory, event: str, by: str) -> Counter[str]:
    return Counter(str(trace.get(by)) for trace in memory.home.traces(event, sys.maxsize))


# --- parts of a set ------------------------------------------------------------------------


def parts(result: Result) -> Iterator[tuple[str, Result]]:
    """By where the conversations come from, and by language where it is not English."""
    yield from _by(result, lambda one: one.source)
    yield from ((name, part) for name, part in _by(result, _language) if name != "en")


def _by(result: Result, key: Callable[[Session], str]) -> Iterator[tuple[str, Result]]:
    for name in sorted({key(one) for one in result.sessions}):
        yield name, result.of(one for one in result.sessions if key(one) == name)


def _language(session: Session) -> str:
    return tongue(" ".join(text for role, text in session.turns if role == "user")) or "en"


# --- agreement of the labels ---------------------------------------------------------------


def agreement() -> list[Figure]:
    """How far independent passes over the same conversations agree."""
    passes: dict[int, dict[str, tuple[Item, ...]]] = {}
    for raw in labelled.lines("passes"):
        passes.setdefault(raw["pass"], {})[raw["id"]] = labelled.items(raw)
    matched: list[tuple[Item, Item]] = []
    all_ = 0
    for one, other in combinations(passes.values(), 2):
        for session in one:
            all_ += len(one[session]) + len(other[session])
            matched += _matched(one[session], other[session])
    f1 = Figure(
        "F1 of two passes",
        2 * len(matched),
        all_,
        f"{len(passes)} passes over {len(passes[1])} conversations, each two of them: labels of "
        "the same turn of which one has the other's words, each matched once",
    )
    same = (one.weight == other.weight for one, other in matched)
    return [f1, _share("the same weight", same, "among matched labels")]


def _matched(first: Iterable[Item], second: Iterable[Item]) -> Iterator[tuple[Item, Item]]:
    left = list(second)
    for one in first:
        fits = [two for two in left if one.turns & two.turns and _same(one, two)]
        if fits:
            best = max(fits, key=lambda two: len(content(one.text) & content(two.text)))
            left.remove(best)
            yield one, best


def _same(one: Item, two: Item) -> bool:
    return has(one.text, two.must) or has(two.text, one.must)


# --- the free labels of LongMemEval --------------------------------------------------------


def free(data: Path, limit: int | None) -> list[Figure]:
    """LongMemEval marks the turns that hold an answer, and its answers can change."""
    sessions = labelled.longmemeval(data).sessions
    asked = [
        one
        for one in labelled.longmemeval(data).questions
        if not one.id.endswith("_abs") and one.kind != "single-session-assistant"
    ][:limit]
    covered: list[bool] = []
    answered: dict[str, list[bool]] = {"knowledge-update": [], "single-session-user": []}
    for start in range(0, len(asked), GROUP):
        group = asked[start : start + GROUP]
        dates = {name: date for one in group for name, date in one.sessions.items()}
        said = {name: _said(sessions[name]) for name in dates}
        with temporary(Config()) as memory, tempfile.TemporaryDirectory() as folder:
            read(memory, Path(folder), [Told(name, dates[name], said[name]) for name in dates])
            log, places = list(memory.log.chains().entries), Places(memory)
            kept = [one for one in log if is_kept(one) and one.session in said]
            seen = {
                (one.session, turn) for one in kept for turn in places.of(one, said[one.session])
            }
        gone = replaced(log)
        current = [one for one in kept if one.id not in gone and not is_copy(one)]
        for one in group:
            covered += [
                (name, place) in seen
                for name in one.sessions
                for place, turn in enumerate(sessions[name])
                if turn.get("has_answer") and turn["role"] == "user"
            ]
            if one.kind in answered and 0 < len(words(one.answer)) <= 5:
                told = (entry.content for entry in current if entry.session in one.sessions)
                answered[one.kind].append(any(_answers(one, text) for text in told))
    return [
        _share(
            "turns with an answer",
            covered,
            f"user turns that hold the answer of one of {len(asked)} questions and are evidence of "
            "an entry",
        ),
        _share(
            "changed answers current",
            answered["knowledge-update"],
            "knowledge-update questions whose answer (up to five words) an entry that was not "
            "replaced has",
        ),
        _share(
            "plain answers current",
            answered["single-session-user"],
            "the same for single-session-user questions",
        ),
    ]


def _said(turns: Iterable[dict[str, Any]]) -> list[tuple[str, str]]:
    return [("user" if one["role"] == "user" else "agent", one["content"]) for one in turns]


def _answers(question: labelled.Question, text: str) -> bool:
    wanted = {stem(word) for word in words(question.answer) if word not in SMALL or word in NUMBERS}
    parts = {stem(part) for word in words(text) for part in _cut(word)}
    if not wanted or not wanted <= parts | {stem(word) for word in words(text)}:
        return False
    says_little = all(word.isdigit() or word in UNITS for word in wanted)
    return not says_little or bool(content(question.text) & content(text))


def _cut(word: str) -> list[str]:
    return "".join(one if one.isalnum() else " " for one in word).split()


# --- report --------------------------------------------------------------------------------


def worst(result: Result) -> list[Judged]:
    """Bad entries, the worst first."""

    def rank(one: Judged) -> tuple[int, int, int]:
        severity = SEVERITY.index(one.verdict) if one.verdict in SEVERITY else len(SEVERITY)
        return (not one.is_wrong, severity, len(content(one.entry.content)))

    bad = [one for one in result.counted + result.needless if one.is_wrong or not one.is_good]
    return sorted(bad, key=rank)


def errors(result: Result, most: int | None) -> Iterator[str]:
    """Wrong replacements and bad entries; without a limit, missed labels as well."""
    made = [one for one in replacements(result) if not one.is_right]
    for one in made[:most]:
        yield f"REPLACED  {one.old.session.id}: {one.old.entry.content!r}"
        yield f"      by  {one.new.session.id}: {one.new.entry.content!r}"
    for bad in worst(result)[: most - len(made[:most]) if most else None]:
        why = "wrong" if bad.is_wrong else bad.verdict
        turns = ", ".join(map(str, sorted(bad.turns)))
        where = f"{bad.session.id} [{turns}]"
        yield f"BAD  {where} {bad.entry.type}, {why}: {bad.entry.content!r}"
    if most:
        return
    for pair in pairs(result):
        if not pair.is_right:
            yield f"CHANGE  {pair.session.id} new {pair.new}, old {pair.old}: {pair.item.text}"
    missed = [(session, item) for session, item, told in result.labels() if not told]
    for session, item in sorted(missed, key=lambda one: -one[1].weight):
        yield f"MISSED {item.weight}  {session.id} [{item.turn}] {item.text}"


def as_dict(one: Reading) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": one.name,
        "figures": _values(figures(one.result)),
        "bad": dict(_verdicts(one.result)),
        "parts": {name: _values(figures(part)) for name, part in parts(one.result)},
        "seconds": round(one.seconds, 2),
        "failed": one.failed,
    }
    if one.calls:
        found |= {
            "prompts": one.prompts,
            "calls": one.calls.calls,
            "failed_calls": one.calls.failed,
            "tokens_in": one.calls.tokens_in,
            "tokens_out": one.calls.tokens_out,
            "cached": one.calls.cached,
            "dollars": one.calls.cost,
            "unpriced_calls": one.calls.unpriced,
            "rejected": dict(one.rejected),
            "refused": dict(one.refused),
        }
    return found


def _values(given: Iterable[Figure]) -> dict[str, dict[str, float]]:
    return {
        one.name: {"value": round(one.value, 4), "part": one.part, "whole": one.whole}
        for one in given
    }


def _verdicts(result: Result) -> list[tuple[str, int]]:
    return Counter(one.verdict for one in result.counted if not one.is_good).most_common()


def table(readings: Sequence[Reading]) -> Iterator[str]:
    """Every figure with its definition; the readers side by side."""
    if len(readings) > 1:
        yield f"{'':28}" + f"{'selector':22}model"
    for row in zip(*(figures(one.result) for one in readings), strict=True):
        yield from lines(*row)


def lines(*row: Figure) -> Iterator[str]:
    yield f"{row[0].name:28}" + "".join(f"{one!s:22}" for one in row).rstrip()
    yield f"    {row[0].meaning}"


def split(one: Reading) -> Iterator[str]:
    shown = ("precision", "recall, weighted", "wrong entries", "entries a conversation")
    yield f"{one.name + ', by part':28}{'conversations':22}" + "".join(f"{it:22}" for it in shown)
    for name, part in parts(one.result):
        found = {figure.name: figure for figure in figures(part)}
        row = "".join(f"{found[it]!s:22}" for it in shown)
        yield f"{name:28}{len(part.sessions):<22}{row}".rstrip()


def what_it_took(one: Reading) -> Iterator[str]:
    calls = one.calls
    assert calls is not None
    yield f"model: {one.name}, prompt {', '.join(one.prompts) or 'none'}"
    yield (
        f"calls: {calls.calls} ({calls.failed} failed), {calls.tokens_in:,} tokens in "
        f"({calls.cached:,} cached), {calls.tokens_out:,} out, {dollars(calls)}, "
        f"{one.seconds:.1f} s"
    )
    for name, found in (("rejected", one.rejected), ("refused", one.refused)):
        most = Counter(found).most_common(5)
        reasons = "; ".join(f"{count} {reason}" for reason, count in most)
        yield f"{name}: {sum(found.values())}" + (f" ({reasons})" if reasons else "")


def report(readings: Sequence[Reading], name: str, every: bool) -> Iterator[str]:
    sessions = readings[0].result.sessions
    blank = sum(one.has_nothing for one in sessions)
    yield (
        f"{name}: {len(sessions)} conversations, {blank} of them with nothing to keep; "
        f"{sum(len(one.items) for one in sessions)} labels"
    )
    yield from ("", *table(readings))
    for one in readings:
        bad = "; ".join(f"{count} {verdict}" for verdict, count in _verdicts(one.result))
        yield from ("", *split(one), f"bad entries: {bad or 'none'}")
        yield f"read in {one.seconds:.1f} s; not read: {len(one.failed)} of {len(sessions)}"
        yield from (f"  {session}: {why}" for session, why in one.failed.items())
        if one.calls:
            yield from ("", OF_MODEL, *what_it_took(one))
        yield f"\n{one.name}, {'all errors' if every else f'the {WORST} worst errors'}:"
        yield from errors(one.result, None if every else WORST)


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = options.add_argument
    add("set", choices=("dev", "locked", "real"))
    add("--real", type=Path, metavar="LABELS", help="of real transcripts (bench/real.py), for real")
    add("--data", type=Path, metavar="FOLDER", help="where longmemeval/ and locomo/ are")
    add("--lme", action="store_true", help="also the free labels of LongMemEval (without a model)")
    add("--limit", type=int, metavar="N", help="the first N conversations (and questions) only")
    add("--errors", action="store_true", help="list all errors, with the labels that were missed")
    add("--json", action="store_true", help="print the figures as JSON")
    add_model_options(options)
    return options.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> None:
    asked = _options(argv)
    if asked.lme and not asked.data:
        raise SystemExit("--lme needs --data: the folder with longmemeval/.")
    if asked.set == "real":
        print(*real.report(asked.real, asked.data, every=asked.errors), sep="\n")
        return
    config = configured(asked.model, asked.base_url, asked.home)
    sessions = labelled.sessions(asked.set, asked.data)[: asked.limit]
    readings = [reading(sessions, one, asked.home) for one in (None, config)[: 2 if config else 1]]
    agreed = agreement()
    wide = free(asked.data, asked.limit) if asked.lme else []
    if asked.json:
        found = {"set": asked.set, "conversations": len(sessions)}
        found |= dict(zip(("selector", "model"), map(as_dict, readings), strict=False))
        found |= {"agreement": _values(agreed)} | ({"longmemeval": _values(wide)} if wide else {})
        print(json.dumps(found))
        return
    print(*report(readings, asked.set, asked.errors), sep="\n")
    for title, rows in (("LongMemEval", wide), ("the labels", agreed)):
        if rows:
            print(f"\n{title}:", *(line for row in rows for line in lines(row)), sep="\n")


if __name__ == "__main__":
    main()
