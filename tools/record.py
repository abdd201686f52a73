"""Record what one checkout makes of some sessions, to compare it with another, byte by byte.

    python tools/record.py OUT --python OLD/.venv/bin/python --sessions FOLDER [--questions FILE]
    python tools/record.py OUT2 --python .venv/bin/python --sessions FOLDER [--questions FILE]
    diff -r OUT OUT2

FOLDER is read as paths of `catch-up`, in portions, at a clock that stands still; then every job
runs. OUT gets the home's log, subjects, transcripts and notes, the start text, and for each line
of the questions file its context and its search result. Whatever measures time is left out.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

DAYS = ("2026-11-12T09:00:00Z", "2026-11-13T23:45:00Z", "2026-11-16T08:00:00Z")
KEPT = ("log.jsonl", "subjects.json", "condensed.json", "raw", "knowledge", "archive")
TIMED = ("seconds", "steps", "took", "milliseconds", "ms")
ASKED = ("which database did we choose", "open tasks", "what is still to do", "release", "tests")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--sessions", type=Path, required=True)
    parser.add_argument("--questions", type=Path)
    given = parser.parse_args()
    questions = given.questions.read_text().splitlines() if given.questions else []
    with tempfile.TemporaryDirectory() as folder:
        recorded = Recorded(given.python, Path(folder))
        recorded.build(given.sessions.resolve())
        recorded.save(given.out, [*ASKED, *questions])


class Recorded:
    def __init__(self, python: str, folder: Path) -> None:
        self.python, self.home = python, folder / "home"
        (folder / "user").mkdir()
        self.env = {"HOME": str(folder / "user"), "PATH": os.environ["PATH"], "TZ": "UTC"}
        self.now = DAYS[0]

    def run(self, *words: str) -> str:
        env = {**self.env, "WAKEBOOK_NOW": self.now, "WAKEBOOK_HOME": str(self.home)}
        env |= {"WAKEBOOK_OFFLINE": "1", "COLUMNS": "100"}
        command = [self.python, "-m", "wakebook", *words]
        return subprocess.run(command, env=env, capture_output=True, text=True).stdout

    def build(self, sessions: Path) -> None:
        self.run("init")
        paths = sorted(str(path) for path in sessions.iterdir())
        share = -(-len(paths) // len(DAYS))
        for number, day in enumerate(DAYS):
            self.now = day
            part = paths[number * share : (number + 1) * share]
            if part:
                self.run("catch-up", *part, *(["--close"] if number else []))
            self.run("tick")

    def save(self, out: Path, questions: list[str]) -> None:
        for path in self.home.rglob("*.md"):  # a note's time is its file's
            os.utime(path, (1_760_000_000, 1_760_000_000))
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir(parents=True)
        for name in KEPT:
            source = self.home / name
            if source.is_dir():
                shutil.copytree(source, out / name)
            elif source.exists():
                shutil.copy(source, out / name)
        (out / "wake.md").write_text(self.run("wake"))
        told, found = [], []
        for question in questions:
            told.append(f"===== {question}\n{self.run('context', question)}")
            found.append(_timeless(json.loads(self.run("search", question, "--json") or "null")))
        (out / "context.txt").write_text("\n".join(told))
        (out / "search.json").write_text(json.dumps(found, indent=1, ensure_ascii=False))


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _timeless(one) for key, one in value.items() if key not in TIMED}
    return [_timeless(one) for one in value] if isinstance(value, list) else value


if __name__ == "__main__":
    main()
