"""Journal: what a rebuild has read so far, one line a step, in its work tree's `.cache`.

A step holds its entries, so that a rebuild that was killed goes on after the last whole line:
nothing that was read is read again, nothing that was paid for is paid again. Half a line that
a crash left is cut off.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from wakebook.errors import WakebookError
from wakebook.home import Home
from wakebook.lifecycle.rebuild.plan import Plan
from wakebook.log.entry import Entry, as_dict, from_dict

FILE = "rebuild.jsonl"


class Step(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What happened between two writes."""

    read: list[str] = []  # transcripts that are done
    entries: list[dict[str, Any]] = []  # that came of it, in their order
    turns: dict[str, int] = {}  # transcript -> turns read so far, of those that are not done
    carried: list[str] = []  # ids of those that are not from this reading
    kept: list[str] = []  # transcripts that stay as they were read before
    failed: dict[str, str] = {}  # transcript -> why, this time
    calls: int = 0
    cost: float = 0.0
    unpriced: int = 0


class Journal:
    def __init__(self, home: Home) -> None:
        self._home = home
        self._path = home.cache / FILE
        self.steps: list[Step] = []
        self.plan: Plan | None = None
        self._whole: bytes | None = None  # without the half line that a crash left
        self._load()

    def begin(self, plan: Plan) -> None:
        self._home.folder(self._home.cache)
        self._home.replace(self._path, msgspec.json.encode(plan) + b"\n")
        self.plan, self.steps, self._whole = plan, [], None

    def add(self, step: Step) -> None:
        if self._whole is not None:  # only now: another process may be writing that line
            self._home.replace(self._path, self._whole)
            self._whole = None
        self._home.append(self._path, msgspec.json.encode(step) + b"\n")
        self.steps.append(step)

    def entries(self) -> list[Entry]:
        return [from_dict(raw) for step in self.steps for raw in step.entries]

    def carried(self) -> set[str]:
        return {name for step in self.steps for name in step.carried}

    def read(self) -> set[str]:
        return {path for step in self.steps for path in step.read}

    def turns(self) -> dict[str, int]:
        """How far those are read that are not done."""
        return self.steps[-1].turns if self.steps else {}

    def kept(self) -> tuple[str, ...]:
        return tuple(path for step in self.steps for path in step.kept)

    def failures(self) -> dict[str, int]:
        """Transcript -> how many times it has failed."""
        counts: dict[str, int] = {}
        for step in self.steps:
            for path in step.failed:
                counts[path] = counts.get(path, 0) + 1
        return counts

    def _load(self) -> None:
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            return
        whole = data[: data.rfind(b"\n") + 1]
        lines = whole.splitlines()
        try:
            if lines:
                self.plan = msgspec.json.decode(lines[0], type=Plan)
                self.steps = [msgspec.json.decode(line, type=Step) for line in lines[1:]]
        except msgspec.MsgspecError as error:
            raise WakebookError(
                f"{self._path}: not written by this version ({error}). `wakebook rebuild --drop "
                "NAME` removes this rebuild; then begin anew."
            ) from error
        self._whole = whole if len(whole) != len(data) else None


def step(entries: Sequence[Entry], carried: Sequence[str], read: Sequence[str]) -> Step:
    return Step(read=list(read), entries=[as_dict(one) for one in entries], carried=list(carried))
