"""Behind: what takes long to find out, asked of a process of its own.

To account for a large home takes seconds, and a hundred megabytes. So the page runs the command
that a person would type, keeps its answer, and shows it with its age. An answer that may have
changed is asked for anew while the old one is shown; the first one is waited for, but not for long.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from wakebook.base import clock
from wakebook.base.home import Home

FIRST_SECONDS = 1.5  # that the first request waits
MOST_SECONDS = 300.0
FRESH_SECONDS = 5.0  # or ten times as long as it took: then it is looked at again
OLD_SECONDS = 60.0  # after which it is asked for anew even if nothing seems to have changed
KEPT = 64
WATCHED = ("log.jsonl", "state.json", "config.toml", "condensed.json", "waiting.jsonl", "knowledge")

T = TypeVar("T")


class Known(NamedTuple):
    value: Any = None  # the command's JSON; None: it is not known yet
    at: datetime | None = None  # when it was asked for
    running: bool = False  # it is being asked for anew
    error: str = ""


class _Question:
    def __init__(self, root: Path, words: tuple[str, ...]) -> None:
        self._root, self._words = root, words
        self._lock = threading.Lock()
        self._known, self._mark = Known(), object()
        self._asked, self._took = -MOST_SECONDS, 0.0
        self._done = threading.Event()

    def known(self, mark: object) -> Known:
        with self._lock:
            first = self._known.at is None and not self._known.error
            if not self._known.running and self._is_old(mark):
                self._known = self._known._replace(running=True)
                self._done.clear()
                name = f"behind {self._words[0]}"
                threading.Thread(target=self._ask, args=(mark,), name=name, daemon=True).start()
        if first:
            self._done.wait(FIRST_SECONDS)
        return self._known

    def _is_old(self, mark: object) -> bool:
        age = clock.monotonic() - self._asked
        changed = mark != self._mark and age > max(FRESH_SECONDS, 10 * self._took)
        return changed or age > max(OLD_SECONDS, 20 * self._took)

    def _ask(self, mark: object) -> None:
        begun, at = clock.monotonic(), clock.now()
        try:
            known = Known(_run(self._root, self._words), at)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            known = Known(self._known.value, self._known.at, error=str(error))
        now = clock.monotonic()
        with self._lock:
            self._known, self._mark = known, mark
            self._asked, self._took = now, now - begun
        self._done.set()


_kept: dict[tuple[object, ...], tuple[float, Any]] = {}


def kept(key: tuple[object, ...], seconds: float, make: Callable[[], T]) -> T:
    """What `make` says, made anew after some seconds, or for another key."""
    found = _kept.get(key)
    if found is None or clock.monotonic() - found[0] > seconds:
        if len(_kept) > KEPT:
            _kept.clear()
        found = _kept[key] = (clock.monotonic(), make())
    answer: T = found[1]
    return answer


def stamp(*paths: Path) -> tuple[int, ...]:
    """When files were last written, for the key of what is kept."""
    return tuple(one.stat().st_mtime_ns if one.exists() else 0 for one in paths)


_questions: dict[tuple[str, ...], _Question] = {}


def forget_all() -> None:
    """Something was erased: an answer may hold its words."""
    _kept.clear()
    _questions.clear()


def ask(home: Home, *words: str) -> Known:
    """The answer of a command, as JSON."""
    key = (str(home.root), *words)
    if key not in _questions:
        if len(_questions) > KEPT:
            _questions.clear()
        _questions[key] = _Question(home.root, words)
    return _questions[key].known(_mark(home))


def waited(home: Home, *words: str) -> Known:
    """The same, however long it takes."""
    while (known := ask(home, *words)).running:
        clock.sleep(0.1)
    return known


def _mark(home: Home) -> tuple[object, ...]:
    found: list[object] = []
    for name in WATCHED:
        try:
            there = os.stat(home.root / name)  # noqa: PTH116
            found.append((there.st_mtime_ns, there.st_size))
        except OSError:
            found.append(None)
    return tuple(found)


def _run(root: Path, words: tuple[str, ...]) -> Any:
    command = [sys.executable, "-m", "wakebook", "--home", str(root), *words, "--json"]
    done = subprocess.run(
        command, capture_output=True, stdin=subprocess.DEVNULL, timeout=MOST_SECONDS
    )
    if not done.stdout.strip():
        said = done.stderr.decode("utf-8", "replace").strip()
        raise ValueError(said.splitlines()[-1] if said else f"it ended with {done.returncode}")
    found = json.loads(done.stdout)
    if isinstance(found, dict) and "error" in found:
        raise ValueError(found["error"]["message"])
    return found
