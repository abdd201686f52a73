"""How long a sync takes with a large memory, against a bare repository on the same disk.

    python bench/syncing.py [--entries 50000]

`one entry`: the remote and two machines agree, one remembers something, and syncs; then the other
one does. `nothing`: neither has anything new. `clone`: a new machine, with its index built. Wall
time and, because machines are noisy, how many times that of `git status` in the same home.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]

from bench.search import entries

from wakebook import Memory


def timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--entries", type=int, default=50_000)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        os.environ |= {"HOME": temporary, "GIT_CONFIG_GLOBAL": os.devnull}
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", folder / "r.git"], check=True)
        desk = Memory(folder / "desk")
        desk.init()
        quiet = '[schedule]\nsync = ""\n'
        (desk.home.root / "machine.toml").write_text(quiet)
        with desk.home.log.open("a") as stream:
            for lines in entries(0, chosen.entries):
                stream.writelines(lines)
        desk = Memory(desk.home.root)
        desk.notes.update(full=True)
        desk.index.sync()
        first = timed(lambda: desk.sync.add(str(folder / "r.git"), name="desk"))
        laptop = Memory(folder / "laptop")
        cloned = timed(lambda: laptop.sync.clone(str(folder / "r.git"), name="laptop"))
        (laptop.home.root / "machine.toml").write_text(quiet)
        laptop = Memory(laptop.home.root)
        rows: dict[str, list[float]] = {}
        command = ["git", "-C", str(desk.home.root), "status", "--porcelain"]
        for number in range(5):
            desk.remember(f"The lantern has number {number}")
            rows.setdefault("one entry, sent", []).append(timed(lambda: desk.sync()))
            rows.setdefault("one entry, received", []).append(timed(lambda: laptop.sync()))
            rows.setdefault("nothing new", []).append(timed(lambda: laptop.sync()))
            base = timed(lambda: subprocess.run(command, check=True, capture_output=True))
            rows.setdefault("git status", []).append(base)
        desk.remember("One of the desk")
        laptop.remember("One of the laptop")
        desk.sync()
        rows["both have something new"] = [timed(lambda: laptop.sync())]
        least = min(rows["git status"])
        print(__doc__.strip(), "\n")
        print(f"{chosen.entries:,} entries, {desk.home.log.stat().st_size / 1e6:.0f} MB of log\n")
        print("| what | seconds, least | times `git status` | aim |")
        print("|---|---:|---:|---|")
        print(f"| the first sync | {first:.1f} | | |")
        print(f"| clone, with the index | {cloned:.1f} | | under 60 |")
        for name, found in rows.items():
            aim = "under 1" if name.startswith("one") else ""
            print(f"| {name} | {min(found):.2f} | {min(found) / least:.1f} | {aim} |")


if __name__ == "__main__":
    main()
