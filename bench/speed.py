"""The three speed figures of the spine, as ratios and rates measured in one run.

    python bench/speed.py [--transcript FILE] [--json]

wake      the whole process `wakebook wake`, against `python -c pass`, 10,000 entries in the log
          (minimum CPU time, user + system, of fresh processes: machines are noisy)
reading   a 100 MB Claude Code transcript through the host's reader and the whole of capture
          (redaction, echo guard, tool lines), in a process of its own; peak memory of it
log       resolving and filtering 100,000 entries from disk, cold; one append with fsync to
          an empty log and to that log
The transcript is made here with the record kinds and sizes of a real session of 2.7 MB (share of
bytes: 42 % tool results, 40 % hook and command progress, 11 % tool calls, 4 % text); --transcript
repeats a file of yours up to 100 MB instead.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

MB = 1 << 20
NOW = "2026-11-09T08:00:00Z"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--transcript", type=Path)
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    os.environ["WAKEBOOK_NOW"] = NOW
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HOME"] = folder
        figures = wake(Path(folder)) | reading(Path(folder), chosen.transcript) | log(Path(folder))
    if chosen.json:
        print(json.dumps(figures, indent=2))
        return
    print(__doc__.strip(), "\n")
    for name, value in figures.items():
        print(f"{name:58} {value}")


def cpu(command: list[str], times: int) -> float:
    """The least user + system seconds that a fresh process of this command took."""
    best = []
    for _ in range(times):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(best)


def wake(folder: Path) -> dict[str, Any]:
    from wakebook import Memory

    memory = Memory(folder / "wake")
    memory.init()
    memory.home.log.write_bytes(b"".join(entries(10_000)))
    memory.wake()
    # what the installed command does, without depending on where it is installed
    script = "from wakebook.__main__ import main; main()"
    arguments = ["-c", script, "--home", str(memory.home.root), "wake"]
    pass_ = cpu([sys.executable, "-c", "pass"], 25)
    warm = cpu([sys.executable, *arguments], 25)
    cold = []
    for _ in range(3):
        shutil.rmtree(memory.home.cache / "wake", ignore_errors=True)
        cold.append(cpu([sys.executable, *arguments], 1))
    return {
        "python -c pass, ms": round(pass_ * 1000, 1),
        "wakebook wake, ms": round(warm * 1000, 1),
        "wakebook wake / python -c pass (aim: at most 3)": round(warm / pass_, 2),
        "the same when the log has changed, ms": round(min(cold) * 1000),
    }


def entries(count: int) -> list[bytes]:
    from wakebook.log.entry import Entry, derived_id, encode

    chance = random.Random(1)
    words = "retry queue billing launch webhook invoice staging harbour voucher design".split()
    start = datetime(2026, 1, 1, tzinfo=UTC)
    lines: list[bytes] = []
    ids: list[str] = []
    for number in range(count):
        identity = derived_id("bench", "fact", str(number))
        kind: Any = chance.choice(["fact", "decision", "task", "question"])
        replaced = (chance.choice(ids),) if ids and chance.random() < 0.1 else ()
        ids.append(identity)
        entry = Entry(
            id=identity,
            timestamp=start + timedelta(minutes=number * 4),
            type=kind,
            status="open" if kind == "task" else None,
            content=f"{' '.join(chance.choices(words, k=8))} number {number}",
            detail=" ".join(chance.choices(words, k=10)),
            subject=f"subject-{chance.randint(1, 200)}",
            session=f"session-{number // 10}",
            replaces=replaced,
        )
        lines.append(encode(entry))
    return lines


def reading(folder: Path, given: Path | None) -> dict[str, Any]:
    path = folder / "sessions" / "5e551011-0000-4000-8000-000000000001.jsonl"
    path.parent.mkdir()
    block = given.read_bytes() if given else transcript()
    with path.open("wb") as stream:
        for _ in range(100 * MB // len(block) + 1):
            stream.write(block)
    size = path.stat().st_size
    script = (
        "import resource, sys, time; from pathlib import Path\n"
        "from wakebook.capture.discover import sessions_at\n"
        "from wakebook.capture.hosts import format_of\n"
        "from wakebook.capture.read import Reader\n"
        "[session] = sessions_at(Path(sys.argv[1]))\n"
        "began = time.perf_counter(); count = 0\n"
        "if sys.argv[2] == 'records':\n"
        "    for _ in format_of(session).records(session, 0, 64 << 20, True): count += 1\n"
        "else:\n"
        "    for _ in Reader(session, 0, 64 << 20, True): count += 1\n"
        "seconds = time.perf_counter() - began\n"
        "print(seconds, count, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    figures: dict[str, Any] = {"transcript, MB": round(size / MB, 1)}
    for what, name in (("records", "reader alone"), ("capture", "whole capture")):
        rates = []
        for _ in range(3):
            done = subprocess.run(
                [sys.executable, "-c", script, str(path), what],
                capture_output=True,
                text=True,
                check=True,
            ).stdout.split()
            rates.append(size / MB / float(done[0]))
        figures[f"{name}, MB/s (aim: at least 100)"] = round(max(rates))
        figures[f"{name}, peak memory in MB (aim: under 200)"] = round(int(done[2]) / 1024)
    path.unlink()
    return figures


def transcript() -> bytes:
    """About 2 MB of records in the proportions of a real session."""
    chance = random.Random(2)
    vocabulary = "the tests pass but a worker still hangs when queue is empty so we retry".split()

    def text(size: int) -> str:
        return " ".join(chance.choices(vocabulary, k=size // 5))

    compact = json.JSONEncoder(separators=(",", ":")).encode  # as the host writes it
    lines: list[str] = []
    at = datetime(2026, 11, 8, 8, 0, tzinfo=UTC)
    for number in range(190):
        at += timedelta(seconds=40)
        base = {
            "parentUuid": f"p{number}",
            "isSidechain": False,
            "userType": "external",
            "cwd": "/home/mira/tidepool",
            "sessionId": "5e551011-0000-4000-8000-000000000001",
            "version": "2.1.39",
            "gitBranch": "main",
            "timestamp": at.isoformat().replace("+00:00", "Z"),
        }
        for step in range(7):
            data = {"type": "bash_progress", "output": text(520), "elapsedTimeSeconds": step}
            lines.append(
                compact(base | {"type": "progress", "data": data, "uuid": f"g{number}-{step}"})
            )
        if number % 38 == 0:
            message: dict[str, Any] = {"role": "user", "content": text(3200)}
            lines.append(compact(base | {"type": "user", "message": message, "uuid": f"u{number}"}))
        for block in (
            {"type": "text", "text": text(500)},
            {
                "type": "tool_use",
                "id": f"t{number}",
                "name": "Bash",
                "input": {"command": text(900)},
            },
        ):
            message = {"id": f"m{number}", "role": "assistant", "model": "x", "content": [block]}
            kind = {"type": "assistant", "message": message, "uuid": f"{block['type']}{number}"}
            lines.append(compact(base | kind))
        output = "\n".join(text(80) for _ in range(36))
        message = {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": f"t{number}", "content": output}],
        }
        kind = {"type": "user", "message": message, "toolUseResult": {"stdout": output}}
        lines.append(compact(base | kind | {"uuid": f"r{number}"}))
    return ("\n".join(lines) + "\n").encode()


def log(folder: Path) -> dict[str, Any]:
    from wakebook import Memory
    from wakebook.log import log as logs
    from wakebook.log.entry import decode

    memory = Memory(folder / "log")
    memory.init()
    extra = [decode(line) for line in entries(60)]

    def append() -> float:
        times = []
        for entry in extra:
            began = time.perf_counter()
            logs.append(memory.home, [entry])
            times.append(time.perf_counter() - began)
        return statistics.median(times)

    empty = append()
    memory.home.log.write_bytes(b"".join(entries(100_000)))
    os.sync()  # the bench's own 20 MB are not part of the append
    full = append()
    memory.home.log.write_bytes(b"".join(entries(100_000)))
    script = (
        "import sys, time; began = time.perf_counter()\n"
        "from wakebook import Memory, Query\n"
        "memory = Memory(sys.argv[1]); read = len(memory.log.chains().current())\n"
        "middle = time.perf_counter()\n"
        "memory.search(Query(types=('decision',), subjects=('subject-7',), text='retry'))\n"
        "print(middle - began, time.perf_counter() - middle, read)"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", script, str(memory.home.root)],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for _ in range(3)
    ]
    best = min(runs, key=lambda run: float(run[0]))
    return {
        "100,000 entries read and resolved, cold, s (aim: under 1)": round(float(best[0]), 2),
        "filtering them, ms": round(float(best[1]) * 1000),
        "append + fsync: full log / empty log (aim: about 1)": round(full / empty, 2),
        "append + fsync to 100,000 entries, ms": round(full * 1000, 2),
    }


if __name__ == "__main__":
    main()
