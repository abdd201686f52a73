"""Measure the extractors on labelled conversations: rules, and beside them a model.

    python bench/extraction.py [FILE...] [--errors] [--json] [--limit N]
                               [--model PROVIDER/MODEL [--base-url URL] | --home PATH]

The format and the matching rule stand in bench/extraction/README.md. Every conversation is one
window, with the `known` entries as the log. Rules read it at once and a second time message by
message, which has to give the same drafts. A model reads as much of it at a time as the product
lets it, in a temporary home that keeps the record of its calls.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

from wakebook import Memory
from wakebook.base import config as configs
from wakebook.base.config import Config
from wakebook.base.errors import ModelError, WakebookError
from wakebook.base.home import Home
from wakebook.capture.transcript import Message
from wakebook.learn.extract import Draft, Extractor, Scene, after
from wakebook.learn.select.extractor import RuleExtractor
from wakebook.log.entry import Entry
from wakebook.models import model as makes
from wakebook.models.wire import PROVIDERS
from wakebook.upkeep.status import Sum

DEFAULT = Path(__file__).parent / "extraction" / "dev.jsonl"
START = datetime(2026, 3, 2, 9, tzinfo=UTC)
TYPES = ("task", "fact", "decision", "question")
DEFINITION = """\
A draft matches a gold entry when the type is the same, one of its turns is within one message
of the gold's, and all `must` substrings occur in its content + detail (lower case). Every
draft and every gold entry matches at most once; a task's status has to be the same. Handoffs
are not labelled and not counted.
P = matched / drafts, R = matched / gold, F1 = their harmonic mean; overall is micro-averaged.
replaces = of the matched gold entries that replace something, the share with the right target."""
OF_MODEL = """\
A conversation that the model could not read has no drafts, and is listed. It is told to write only
the outcome where somebody changes their mind within what it reads at once, so a gold target in
the same conversation (m<N>) is out of its reach there. rejected = lines of answers that broke the
rules even after they were asked for again; refused = drafts, handoffs included, that the sift did
not let through. Calls, tokens and dollars are those of the call records, repairs and failed calls
included. Figures from a scripted server mean nothing."""
FAILURES = 20  # in a row, before the model is left alone


class Score(NamedTuple):
    matched: int
    drafts: int
    gold: int

    def figures(self) -> dict[str, float]:
        p = self.matched / self.drafts if self.drafts else 0.0
        r = self.matched / self.gold if self.gold else 0.0
        return {"p": p, "r": r, "f1": 2 * p * r / (p + r) if p + r else 0.0}


class Case(NamedTuple):
    id: str
    messages: list[Message]
    known: list[Entry]
    gold: list[dict[str, Any]]
    drafts: list[Draft]
    stepwise: bool  # reading message by message gave the same
    pairs: list[tuple[int, int]]  # gold, draft


def _lines(path: Path) -> list[str]:
    return [line for line in path.read_text("utf-8").splitlines() if line]


def _case(raw: dict[str, Any]) -> Case:
    messages = [
        Message(one["role"], one["text"], f"{raw['id']}-{n}", START + timedelta(minutes=n), turn=n)
        for n, one in enumerate(raw["messages"], 1)
    ]
    known = [_known(one) for one in raw.get("known", ())]
    drafts = run(messages, known, len(messages))
    same = drafts == run(messages, known, 1)
    return Case(
        raw["id"], messages, known, raw["entries"], drafts, same, _pairs(raw["entries"], drafts)
    )


def _known(raw: dict[str, Any]) -> Entry:
    return Entry(
        id=raw["id"],
        timestamp=START,
        type=raw["type"],
        content=raw["content"],
        session="earlier",
        status=raw.get("status"),
    )


def run(messages: Sequence[Message], known: Sequence[Entry], step: int) -> list[Draft]:
    """What catch_up does: deltas of `step` messages, drafts logged at once, then closing."""
    rules = RuleExtractor()
    current = list(known)
    found: list[Draft] = []
    for start in range(0, len(messages), max(step, 1)):
        scene = Scene(earlier=messages[:start], current=current)
        for draft in rules.extract(messages[start : start + step], scene):
            current = [one for one in current if one.id not in draft.replaces]
            current.append(draft.entry("now", START))
            found.append(draft)
    return found + rules.close(messages, Scene(current=current))


# --- the model -----------------------------------------------------------------------------


class Reading(NamedTuple):
    """The same conversations as a model has read them, and what that took."""

    name: str
    prompts: list[str]  # with their versions
    cases: list[Case]
    failed: dict[str, str]  # conversation -> why
    seconds: float
    calls: Sum
    rejected: Counter[str]  # by reason
    refused: Counter[str]  # by kind


def add_model_options(options: argparse.ArgumentParser) -> None:
    add = options.add_argument
    add("--model", default="", metavar="PROVIDER/MODEL", help="the model to ask")
    add("--base-url", default="", metavar="URL", help="where it is, if not at the usual address")
    add("--home", type=Path, help="take model, prompts and prices from this home")


def configured(model: str, base_url: str, home: Path | None) -> Config | None:
    """Settings that name the chosen model; None if none was chosen. Exits if there is none."""
    try:
        if home:
            Home(home).require()
        config = configs.load(home / "config.toml") if home else Config()
        name = model or config.models.main or config.models.cheap
        if not name:
            if home or base_url:
                raise SystemExit("No model: give --model, or a home whose [models] names one.")
            return None
        config = _at(config, name, base_url) if base_url else config
        makes.make(name, config, os.environ, None)  # is it one?
    except WakebookError as error:
        raise SystemExit(str(error)) from None
    chosen = config.models.with_(
        main=name, cheap="", off=(), failures=max(FAILURES, config.models.failures)
    )
    return config.with_(models=chosen)


def _at(config: Config, name: str, base_url: str) -> Config:
    """The model's provider at another address."""
    provider = name.partition("/")[0]
    if provider not in PROVIDERS:
        raise SystemExit(f"{name!r} has no address: write provider/model.")
    return config.with_(**{provider: getattr(config, provider).with_(base_url=base_url)})


@contextmanager
def temporary(config: Config, like: Path | None) -> Iterator[Memory]:
    """A home for a while, with the prices and the prompts of another one."""
    with tempfile.TemporaryDirectory() as folder:
        without_git(Path(folder))
        memory = Memory(folder, config=config)
        memory.init()
        equip(Path(folder), like)
        yield memory


def without_git(folder: Path) -> None:
    """Spare a home that is made next its repository."""
    (folder / "config.toml").write_text("[git]\nenabled = false\n", encoding="utf-8")


def equip(folder: Path, like: Path | None) -> None:
    """Give a home the prices and the prompts of another one."""
    if like and (like / "prices.toml").is_file():
        shutil.copy(like / "prices.toml", folder)
    if like and (like / "prompts").is_dir():
        shutil.copytree(like / "prompts", folder / "prompts", dirs_exist_ok=True)


def by_model(cases: Sequence[Case], config: Config, like: Path | None) -> Reading:
    """Every conversation read by the model, several at a time."""
    failed: dict[str, str] = {}

    def one(case: Case) -> Case:
        try:
            drafts = read_whole(case, memory.opened.extractor)
        except ModelError as error:
            failed[case.id] = str(error)
            drafts = []
        return case._replace(drafts=drafts, pairs=_pairs(case.gold, drafts))

    with temporary(config, like) as memory, ThreadPoolExecutor(config.models.concurrency) as pool:
        name = memory.opened.extractor.name
        start = perf_counter()
        found = list(pool.map(one, cases))
        return Reading(
            name=name,
            prompts=sorted({call.prompt for call in memory.models.calls.all()}),
            cases=found,
            failed={case.id: failed[case.id] for case in cases if case.id in failed},
            seconds=perf_counter() - start,
            calls=memory.costs().total,
            rejected=_traced(memory.home, "rejected", "reason"),
            refused=_traced(memory.home, "refused", "kind"),
        )


def read_whole(case: Case, extractor: Extractor) -> list[Draft]:
    """Ask about what is left until all is read. The drafts of a part are known to the next."""
    current, drafts, first = list(case.known), list[Draft](), 0
    while first < len(case.messages):
        scene = Scene(earlier=case.messages[:first], current=current, ends=True)
        found = extractor.read(case.messages[first:], scene)
        drafts += found.drafts
        current = after(current, [draft.entry("now", _said(draft)) for draft in found.drafts])
        first += max(found.taken, 1)
    return drafts


def _said(draft: Draft) -> datetime:
    return START + timedelta(minutes=max(draft.evidence, default=0))


def _traced(home: Home, event: str, by: str) -> Counter[str]:
    return Counter(str(trace.get(by)) for trace in home.traces(event, sys.maxsize))


# --- matching ------------------------------------------------------------------------------


def _pairs(gold: Sequence[dict[str, Any]], drafts: Sequence[Draft]) -> list[tuple[int, int]]:
    """Pair gold entries and drafts: nearest evidence first, each at most once."""
    fits = sorted(
        (_distance(one, draft), g, d)
        for g, one in enumerate(gold)
        for d, draft in enumerate(drafts)
        if _fits(one, draft)
    )
    pairs: dict[int, int] = {}
    for _, g, d in fits:
        if g not in pairs and d not in pairs.values():
            pairs[g] = d
    return sorted(pairs.items())


def _fits(gold: dict[str, Any], draft: Draft) -> bool:
    text = f"{draft.content} {draft.detail}".lower()
    return (
        gold["type"] == draft.type
        and gold.get("status") == draft.status
        and _distance(gold, draft) <= 1
        and all(must in text for must in gold["must"])
    )


def _distance(gold: dict[str, Any], draft: Draft) -> int:
    return min(
        (abs(one - other) for one in gold["evidence"] for other in draft.evidence), default=99
    )


def scores(cases: Sequence[Case]) -> dict[str, Score]:
    found = {name: _score(cases, (name,)) for name in TYPES}
    return found | {"overall": _score(cases, TYPES)}


def _score(cases: Iterable[Case], types: tuple[str, ...]) -> Score:
    matched = drafts = gold = 0
    for case in cases:
        matched += sum(case.gold[g]["type"] in types for g, _ in case.pairs)
        drafts += sum(draft.type in types for draft in case.drafts)
        gold += sum(one["type"] in types for one in case.gold)
    return Score(matched, drafts, gold)


def replaced(cases: Sequence[Case]) -> tuple[int, int, int]:
    """Right targets, matched gold entries that have one, and targets nobody asked for."""
    right = asked = wrong = 0
    for case in cases:
        for g, d in case.pairs:
            target = case.gold[g].get("replaces")
            asked += target is not None
            right += target is not None and _aims(case, case.drafts[d], target)
            wrong += target is None and bool(case.drafts[d].replaces)
    return right, asked, wrong


def _aims(case: Case, draft: Draft, target: str) -> bool:
    if not target.startswith("m"):
        return target in draft.replaces
    message = case.messages[int(target[1:]) - 1]
    return any(one.id in draft.replaces and one.source == message.id for one in case.drafts)


def errors(cases: Sequence[Case]) -> Iterable[str]:
    for case in cases:
        hit = {g for g, _ in case.pairs}
        used = {d for _, d in case.pairs}
        for g, one in enumerate(case.gold):
            if g not in hit:
                said = " / ".join(case.messages[turn - 1].text for turn in one["evidence"])
                yield f"MISS  {case.id} {one['type']:8} {one['content']}"
                yield f"      said: {said[:300]!r}"
        for d, draft in enumerate(case.drafts):
            if d not in used and draft.type != "handoff":
                yield f"FALSE {case.id} {draft.type:8} {draft.content} [{draft.detail}]"
        for g, d in case.pairs:
            target = case.gold[g].get("replaces")
            if (target and not _aims(case, case.drafts[d], target)) or (
                not target and case.drafts[d].replaces
            ):
                aim = case.drafts[d].replaces
                yield f"AIM   {case.id} {case.drafts[d].content} -> {aim}, gold {target}"


# --- report --------------------------------------------------------------------------------


def as_dict(cases: Sequence[Case]) -> dict[str, Any]:
    right, asked, unasked = replaced(cases)
    return {
        "types": {name: one._asdict() | one.figures() for name, one in scores(cases).items()},
        "replaces": {"right": right, "asked": asked, "unasked": unasked},
        "conversations": len(cases),
    }


def model_as_dict(reading: Reading) -> dict[str, Any]:
    calls = reading.calls
    return as_dict(reading.cases) | {
        "model": reading.name,
        "prompts": reading.prompts,
        "calls": calls.calls,
        "failed_calls": calls.failed,
        "tokens_in": calls.tokens_in,
        "tokens_out": calls.tokens_out,
        "cached": calls.cached,
        "dollars": calls.cost,
        "unpriced_calls": calls.unpriced,
        "seconds": round(reading.seconds, 2),
        "rejected": dict(reading.rejected),
        "refused": dict(reading.refused),
        "failed": reading.failed,
    }


def table(cases: Sequence[Case]) -> Iterator[str]:
    yield f"{'type':10}{'P':>7}{'R':>7}{'F1':>7}{'matched':>9}{'drafts':>8}{'gold':>6}"
    for name, one in scores(cases).items():
        yield f"{name:10}{_row(one)}{one.gold:6}"


def both(rules: Sequence[Case], model: Sequence[Case]) -> Iterator[str]:
    """Rules and model side by side."""
    head = f"{'P':>7}{'R':>7}{'F1':>7}{'matched':>9}{'drafts':>8}"
    yield f"{'':10}{'rules':>7}{'':31}   {'model':>7}"
    yield f"{'type':10}{head}   {head}{'gold':>8}"
    for (name, one), other in zip(scores(rules).items(), scores(model).values(), strict=True):
        yield f"{name:10}{_row(one)}   {_row(other)}{one.gold:8}"


def _row(one: Score) -> str:
    f = one.figures()
    return f"{f['p']:7.2f}{f['r']:7.2f}{f['f1']:7.2f}{one.matched:9}{one.drafts:8}"


def targets(cases: Sequence[Case]) -> str:
    right, asked, unasked = replaced(cases)
    return f"{right} of {asked} right, {unasked} set where gold has none"


def what_it_took(reading: Reading) -> Iterator[str]:
    calls = reading.calls
    yield f"model: {reading.name}, prompt {', '.join(reading.prompts) or 'none'}"
    yield (
        f"calls: {calls.calls} ({calls.failed} failed), {calls.tokens_in:,} tokens in "
        f"({calls.cached:,} cached), {calls.tokens_out:,} out, {dollars(calls)}, "
        f"{reading.seconds:.1f} s"
    )
    for name, found in (("rejected", reading.rejected), ("refused", reading.refused)):
        reasons = "; ".join(f"{count} {reason}" for reason, count in found.most_common(5))
        yield f"{name}: {found.total()}" + (f" ({reasons})" if reasons else "")
    yield f"not read by the model: {len(reading.failed)} of {len(reading.cases)} conversations"
    for identity, error in reading.failed.items():
        yield f"  {identity}: {error}"


def dollars(calls: Sum) -> str:
    unknown = f" ({calls.unpriced} calls without a known price)" if calls.unpriced else ""
    return f"${calls.cost:,.4f}{unknown}"


def _listed(cases: Sequence[Case]) -> Iterator[str]:
    for case in cases:
        for draft in case.drafts:
            said = (draft.content, "|", draft.detail, draft.kind or "")
            yield " ".join((case.id, draft.type, "|", *said))


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("files", nargs="*", type=Path, default=[DEFAULT])
    options.add_argument("--errors", action="store_true", help="list misses and false alarms")
    options.add_argument("--drafts", action="store_true", help="list all drafts")
    options.add_argument("--json", action="store_true", help="print the figures as JSON")
    options.add_argument("--limit", type=int, metavar="N", help="the first N conversations only")
    add_model_options(options)
    return options.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> None:
    asked = _options(argv)
    config = configured(asked.model, asked.base_url, asked.home)
    lines = [line for path in asked.files for line in _lines(path)][: asked.limit]
    start = perf_counter()
    cases = [_case(json.loads(line)) for line in lines]
    seconds = perf_counter() - start
    same = sum(case.stepwise for case in cases)
    reading = by_model(cases, config, asked.home) if config else None
    if asked.json:
        found = as_dict(cases) | {"same_stepwise": same}
        print(json.dumps(found | ({"model": model_as_dict(reading)} if reading else {})))
        return
    print(DEFINITION, end="\n\n")
    if reading:
        print(OF_MODEL, end="\n\n")
    print(*(both(cases, reading.cases) if reading else table(cases)), sep="\n")
    print(f"\nreplaces: {targets(cases)}")
    if reading:
        print(f"replaces by the model: {targets(reading.cases)}")
    print(f"message by message gives the same drafts: {same} of {len(cases)} conversations")
    print(f"{len(cases)} conversations read twice in {seconds:.2f} s")
    if reading:
        print("", *what_it_took(reading), sep="\n")
    for name, found_by in (("rules", cases), ("model", reading.cases if reading else [])):
        heading = [f"\n{name}:"] if reading and (asked.errors or asked.drafts) else []
        listed = errors(found_by) if asked.errors else ()
        drafts = _listed(found_by) if asked.drafts else ()
        for line in (*heading, *listed, *drafts):
            print(line)


if __name__ == "__main__":
    main()
