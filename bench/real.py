"""Measure what is learned from real transcripts of agents: `bench/extraction.py --real LABELS`.

LABELS has one transcript a line: `file` (below FOLDER/transcripts, FOLDER being --data), `session`,
`turns` (`role`, `content`), `items` (`must`: words of which an entry has all; `|` between
alternatives), `fine` (turns from which an entry would do) and `handoff` (`must` and `must_not`;
what begins with `re:` is a pattern). Neither transcripts nor labels are part of this project.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from bench.homes import temporary
from bench.judged import is_kept
from bench.labelled import has

from wakebook.base.config import Config
from wakebook.log.entry import Entry


class Real(NamedTuple):
    """A transcript with its labels, and what was learned from it."""

    raw: Mapping[str, Any]
    entries: list[Entry]
    handoff: str  # the last one

    def is_good(self, entry: Entry) -> bool:
        said = " ".join(entry.content.split())
        fine = (" ".join(self.raw["turns"][turn]["content"].split()) for turn in self.raw["fine"])
        told = any(has(entry.content, item["must"]) for item in self.raw["items"])
        return told or any(said in text for text in fine)

    def found(self) -> list[bool]:
        """Which labels an entry or the handoff tells."""
        texts = [self.handoff, *(entry.content for entry in self.entries)]
        return [any(has(text, it["must"]) for text in texts) for it in self.raw["items"]]

    def missing(self) -> list[str]:
        """What the handoff does not say."""
        wanted = (self.raw["handoff"] or {}).get("must", ())
        return [it for it in wanted if not _says(self.handoff, it)]

    def wrong(self) -> list[str]:
        """What the handoff says and is not so."""
        return [
            it for it in (self.raw["handoff"] or {}).get("must_not", ()) if _says(self.handoff, it)
        ]


def _says(text: str, wanted: str) -> bool:
    low = text.lower()
    if wanted.startswith("re:"):
        return re.search(wanted[3:], low) is not None
    return any(one.lower() in low for one in wanted.removeprefix("!").split("|"))


def read(labels: Path, data: Path) -> list[Real]:
    given = [json.loads(line) for line in labels.read_text("utf-8").splitlines()]
    with temporary(Config()) as memory, tempfile.TemporaryDirectory() as folder:
        for raw in given:  # a copy: nothing is written beside what is not ours
            target = Path(folder) / raw["file"]
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(data / "transcripts" / raw["file"], target)
        memory.catch_up([Path(folder)], closing=True)
        log = list(memory.log.chains().entries)
    found = []
    for raw in given:
        ours = [one for one in log if one.session in (raw["session"], Path(raw["file"]).stem)]
        last = max((one for one in ours if one.type == "handoff"), key=_when, default=None)
        handoff = f"{last.content}\n{last.detail}" if last else ""
        found.append(Real(raw, [one for one in ours if is_kept(one)], handoff))
    return found


def _when(entry: Entry) -> float:
    return entry.timestamp.timestamp()


def report(labels: Path | None, data: Path | None, *, every: bool) -> Iterator[str]:
    """The figures, and what is bad; `every`: what is good, too."""
    if not (labels and data):
        raise SystemExit("real needs --real LABELS and --data, the folder with transcripts/.")
    found = read(labels, data)
    entries = [(one, entry) for one in found for entry in one.entries]
    told = [yes for one in found for yes in one.found()]
    due = [one for one in found if one.raw["handoff"]]
    yield f"real transcripts: {len(found)}, {sum(one.raw['users'] for one in found)} user messages"
    good = sum(one.is_good(entry) for one, entry in entries)
    yield f"good entries                {good} of {len(entries)}"
    yield f"labels told                 {sum(told)} of {len(told)}"
    yield f"handoffs complete           {sum(not one.missing() for one in due)} of {len(due)}"
    yield f"handoffs without an error   {sum(not one.wrong() for one in due)} of {len(due)}"
    for one, entry in entries:
        if every or not one.is_good(entry):
            word = "GOOD" if one.is_good(entry) else "BAD"
            yield f"{word}  {one.raw['id']} {entry.type}: {entry.content!r}"
    for one in due:
        yield from (f"MISSING  {one.raw['id']}: {it}" for it in one.missing())
        yield from (f"WRONG  {one.raw['id']}: {it}" for it in one.wrong())
