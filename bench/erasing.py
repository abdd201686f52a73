"""How long an erasure takes in a large home with a long history.

    python bench/erasing.py DIR [--entries 50000] [--commits 3000]

The home is that of bench/large.py with a conversation a commit. Each commit adds what was learned
in one conversation to the log, its transcript, and a few lines of a note, as catching up does. The
words to erase were said in the middle of it, so that half of all commits are written anew.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

from bench import large
from wakebook import Memory
from wakebook.history.objects import Objects
from wakebook.log import log

CODE = "4711-Quokka"


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("folder", type=Path)
    options.add_argument("--entries", type=int, default=50_000)
    options.add_argument("--commits", type=int, default=3_000)
    given = options.parse_args()
    pattern = large.made(given.folder.absolute(), given.entries, given.commits)
    root = given.folder.absolute() / "erased"
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(pattern, root, symlinks=True)
    _told(root)
    _history(root, given.commits)
    _measured(root)


def _told(root: Path) -> None:
    """The words, in an entry and a transcript of the middle."""
    found = log.read(Memory(root).home).entries
    old = found[len(found) // 2]
    for path in (root / "log.jsonl", root / old.transcript):
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(old.content, f"{old.content} The code is {CODE}.", 1))


def _history(root: Path, commits: int) -> None:
    """A commit for each conversation, as if each had been caught up with when it ended."""
    memory = Memory(root)
    repository = memory.history.git().repository
    assert repository is not None
    data = (root / "log.jsonl").read_bytes()
    paths = list(dict.fromkeys(one.transcript for one in log.read(memory.home).entries))
    cuts = _cuts(data, paths)
    objects = Objects(repository)
    versions = objects.write_beginnings(data, cuts)
    objects.close()
    note = max(
        (root / "knowledge" / "projects").rglob("*.md"), key=lambda path: path.stat().st_size
    )
    lines = note.read_bytes().splitlines(keepends=True)
    name = note.relative_to(root).as_posix()
    subprocess.run(["git", "checkout", "-q", "--orphan", "long"], cwd=root, check=True)
    with subprocess.Popen(
        ["git", "fast-import", "--quiet", "--force"], cwd=root, stdin=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        for number, path in enumerate(paths):
            text = b"".join(lines[: 1 + len(lines) * number // len(paths)])
            process.stdin.write(b"commit refs/heads/main\n")
            process.stdin.write(b"committer Mira <mira@localhost> %d +0000\n" % (10**9 + number))
            process.stdin.write(b"data 5\nmore\n\n")
            if not number:
                process.stdin.write(b"deleteall\n")
                for other in (".gitignore", ".gitattributes", "config.toml", "subjects.json"):
                    process.stdin.write(_file(other, (root / other).read_bytes()))
            process.stdin.write(b"M 100644 %b log.jsonl\n" % versions[number].encode())
            process.stdin.write(_file(path, (root / path).read_bytes()))
            process.stdin.write(_file(name, text))
    assert process.returncode == 0
    subprocess.run(["git", "symbolic-ref", "HEAD", "refs/heads/main"], cwd=root, check=True)
    subprocess.run(["git", "reset", "-q"], cwd=root, check=True)
    memory.history.commit("the rest")
    subprocess.run(["git", "reflog", "expire", "--expire=all", "--all"], cwd=root, check=True)
    subprocess.run(["git", "repack", "-a", "-d", "-q"], cwd=root, check=True)
    memory.close()


def _file(name: str, data: bytes) -> bytes:
    return b"M 100644 inline %b\ndata %d\n%b\n" % (name.encode(), len(data), data)


def _cuts(data: bytes, paths: list[str]) -> list[int]:
    """Where the lines of each conversation end."""
    found, last = [], 0
    for path in paths:
        last = data.index(b"\n", data.rindex(path.encode())) + 1
        found.append(last)
    return found


def _measured(root: Path) -> None:
    memory = Memory(root)
    steps = dict(_timed(memory))
    size = sum(path.stat().st_size for path in (root / ".git").rglob("*") if path.is_file())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"git {size / 1e6:,.0f} MB; peak {peak:,.0f} MB of memory")
    for name, (wall, cpu) in steps.items():
        print(f"{name:8} {wall:7.1f} s, {cpu:7.1f} s of CPU")


def _timed(memory: Memory) -> Iterator[tuple[str, tuple[float, float]]]:
    began, cpu = time.monotonic(), sum(os.times()[:4])
    planned = memory.eraser.plan(CODE)
    print(f"{planned.commits:,} of {planned.of_commits:,} commits, {len(planned.entries)} entries")
    yield "plan", (time.monotonic() - began, sum(os.times()[:4]) - cpu)
    began, cpu = time.monotonic(), sum(os.times()[:4])
    done = memory.eraser.erase(CODE)
    print(
        f"{done.scan.files:,} files, {done.scan.objects:,} objects, {done.scan.bytes / 1e6:,.0f} MB"
    )
    assert done.well, done.scan.found
    yield "erase", (time.monotonic() - began, sum(os.times()[:4]) - cpu)


if __name__ == "__main__":
    main()
