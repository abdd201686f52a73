"""How many secrets are found, how much else is taken for one, and how fast.

    python bench/redaction.py                  the tally, and what was missed or wrongly taken
    python bench/redaction.py --half dev       only the kinds that the rules were written with
    python bench/redaction.py --speed FOLDER   MB a second on the texts of real sessions (*.jsonl)

The strings are made from shapes (secret_shapes/) with a fixed seed: none of them opens anything,
and none of them stands in the repository. Every secret is looked for in five places: what a user
says, what an agent says, a tool's input, a tool's output, and the middle of a log.

Every other kind is held out: its shapes were written before the rules were tried on any of them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
import string
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from wakebook.capture.secrets import redact

SHAPES = Path(__file__).with_name("secret_shapes")
SEED = 20261116
TIMES = 3  # harmless strings of a shape that has anything random in it
LETTERS = string.ascii_letters + string.digits
SETS = {
    "an": LETTERS,
    "al": string.ascii_letters,
    "hex": "0123456789abcdef",
    "upx": "0123456789ABCDEF",
    "dig": string.digits,
    "low": string.ascii_lowercase,
    "lowd": string.ascii_lowercase + string.digits,
    "up": string.ascii_uppercase + string.digits,
    "b32_": string.ascii_uppercase + "234567",
    "b64_": LETTERS + "+/",
    "url": LETTERS + "-_",
}
WORDS = (
    "ribbon turnip lantern walnut gravel meadow thistle copper saddle willow marble falcon "
    "juniper velvet anchor pebble cinder orchard tundra quartz"
).split()
SIGNS = "!#%*+-.?^~"
_HOLE = re.compile(r"\{([a-z0-9]*?_?)(\d*)\}")
PLACES: dict[str, Callable[[str], str]] = {
    "user": lambda text: (
        f"It still fails on the server, here is what I have:\n\n{text}\n\nAny idea?"
    ),
    "agent": lambda text: f"I found this in the settings:\n\n```\n{text}\n```\n\nI will use it.",
    "tool input": lambda text: json.dumps(
        {"command": f"cd /srv/app && cat <<X\n{text}\nX"}, ensure_ascii=False
    ),
    "tool output": lambda text: "\n".join(
        f"{number:6}\t{line}" for number, line in enumerate(["# settings", *text.split("\n")], 1)
    ),
    "log": lambda text: (
        "2026-11-02T10:11:12Z INFO worker[12] starting, 3 of 12 jobs are due\n"
        f"2026-11-02T10:11:13Z DEBUG worker[12] {text}\n"
        "2026-11-02T10:11:14Z INFO worker[12] done in 812 ms\n"
    ),
}


class Shape(NamedTuple):
    kind: str
    text: str
    held: bool


def shapes(name: str) -> Iterator[Shape]:
    lines = (SHAPES / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(one for one in lines if not one.startswith("#")):
        kind, _, text = line.partition("|") if name == "positive" else (str(number), "", line)
        yield Shape(kind, text, bool(number % 2))


def made(shape: str, chance: random.Random) -> str:
    """A string of a shape. Names in braces that are none of ours stay as they are."""

    def fill(hole: re.Match[str]) -> str:
        name, size = hole[1], int(hole[2] or 0)
        if name in SETS and size:
            return "".join(chance.choices(SETS[name], k=size))
        if name == "uuid":
            digits = "".join(chance.choices(SETS["hex"], k=32))
            return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
        if name == "words":
            return "".join(chance.sample(WORDS, 2))
        if name == "pw":
            middle = [*chance.choices(LETTERS, k=7), chance.choice(string.digits)]
            middle.append(chance.choice(SIGNS))
            chance.shuffle(middle)
            return f"{chance.choice(string.ascii_letters)}{''.join(middle)}{chance.choice(LETTERS)}"
        return hole[0]

    return _HOLE.sub(fill, shape).replace("\\n", "\n")


class Case(NamedTuple):
    kind: str
    place: str
    text: str
    secrets: tuple[str, ...]
    held: bool


def positives() -> Iterator[Case]:
    chance = random.Random(SEED)
    for shape in shapes("positive"):
        marked = made(shape.text, chance)
        text = re.sub("[⟦⟧]", "", marked)
        secrets = tuple(re.findall("⟦(.*?)⟧", marked, re.DOTALL))
        for place, put in PLACES.items():
            yield Case(shape.kind, place, put(text), secrets, shape.held)


def negatives() -> Iterator[Case]:
    chance = random.Random(SEED)
    places = list(PLACES.items())
    for number, shape in enumerate(shapes("negative")):
        for count in range(TIMES if _HOLE.search(shape.text) else 1):
            place, put = places[(number + count) % len(places)]
            yield Case(shape.kind, place, put(made(shape.text, chance)), (), shape.held)


def left(case: Case) -> bool:
    """Whether anything of a secret can still be read: the beginning or the end of one of its
    lines. Of a long one six characters are too much, of a short one four."""
    after = redact(case.text)[0]
    for line in "\n".join(case.secrets).split("\n"):
        size = 6 if len(line) > 11 else 4
        if line and "-----" not in line and (line[:size] in after or line[-size:] in after):
            return True
    return False


class Tally(NamedTuple):
    missed: list[Case]
    asked: int
    wrong: list[Case]
    harmless: int

    @property
    def found(self) -> float:
        return 1 - len(self.missed) / self.asked

    @property
    def mistaken(self) -> float:
        return len(self.wrong) / self.harmless


def tally(half: str = "") -> Tally:
    secret = [one for one in positives() if not half or one.held == (half == "held")]
    harmless = [one for one in negatives() if not half or one.held == (half == "held")]
    wrong = [one for one in harmless if redact(one.text)[1]]
    return Tally([one for one in secret if left(one)], len(secret), wrong, len(harmless))


# --- speed -------------------------------------------------------------------------------------
def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)


def speed(folder: Path) -> None:
    texts: list[str] = []
    for path in sorted(folder.rglob("*.jsonl")):
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            texts += (one for one in _texts(json.loads(line)) if len(one) > 80)
    size = sum(len(one.encode()) for one in texts)
    redact("warm")
    mine = _seconds(lambda: [redact(one) for one in texts])
    other = _seconds(lambda: [hashlib.sha256(one.encode()).digest() for one in texts])
    hits = sum(bool(redact(one)[1]) for one in texts)
    print(
        f"{len(texts):,} texts, {size / 1e6:.1f} MB, {hits} with a secret: "
        f"{size / mine / 1e6:.0f} MB/s of CPU time, {other / mine:.2f} times the speed of SHA-256"
    )


def _seconds(work: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(5):
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    return best


def main() -> int:
    asked = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    asked.add_argument("--half", choices=("dev", "held"), default="")
    asked.add_argument("--quiet", action="store_true", help="only the figures")
    asked.add_argument("--speed", type=Path, metavar="FOLDER")
    given = asked.parse_args()
    if given.speed:
        speed(given.speed)
        return 0
    done = tally(given.half)
    for case in () if given.quiet else done.missed:
        print(f"missed  {case.kind} ({case.place})")
    for case in () if given.quiet else done.wrong:
        print(f"wrong   {redact(case.text)[0].strip()[:300]!r}")
    print(f"found {done.found:.1%} of {done.asked}, wrong {done.mistaken:.1%} of {done.harmless}")
    return int(done.found < 0.98 or done.mistaken > 0.01)


if __name__ == "__main__":
    sys.exit(main())
