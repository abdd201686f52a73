"""A round trip: something is remembered, read, indexed, found, told and forgotten.

It happens in a temporary home with the defaults, so that it shows whether this installation
works, whatever is in the user's home. Nothing there is touched, and no model is asked.
"""

from __future__ import annotations

import json
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from wakebook.base import clock
from wakebook.base.config import Config
from wakebook.base.errors import WakebookError
from wakebook.upkeep.doctor import Check, examine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wakebook.learn.catch_up import Sweep
    from wakebook.log.entry import Entry
    from wakebook.opened import Opened
    from wakebook.recall.show import Shown
    from wakebook.recall.slot import Context
    from wakebook.store.search import Found

NAME = "round trip: all of it"
PARROT = "The parrot of the lighthouse keeper is called Quillfeather."
SAID = "The harbour office closes at a quarter to six on Fridays."
MEND = f"{shlex.quote(sys.executable)} -m pip install --force-reinstall wakebook"
SESSION = "doctor-round-trip"


class _Lost(WakebookError):
    """A step that did not lead where it should."""


class Trying(Protocol):
    """The verbs that a round trip takes."""

    opened: Opened

    def init(self) -> object: ...
    def remember(self, text: str) -> Entry: ...
    def catch_up(self, paths: Sequence[Path] = (), *, closing: bool = False) -> Sweep: ...
    def search(self, wanted: str) -> Found: ...
    def get(self, ref: str) -> Shown: ...
    def context(self, message: str = "") -> Context: ...
    def forget(self, names: Sequence[str]) -> object: ...


Make = Callable[[Path, Config], Trying]


def tried(make: Make, so_far: list[Check]) -> list[Check]:
    """What a round trip found, if it had to say anything new."""
    return examine([(NAME, lambda: round_trip(make))], so_far)


def round_trip(make: Make) -> Iterator[Check]:
    began = clock.monotonic()
    with tempfile.TemporaryDirectory(prefix="wakebook-doctor-") as folder:
        try:
            notes = _steps(make, Path(folder))
        except WakebookError as error:
            yield Check(NAME, "fail", f"{error}", MEND)
            return
    seconds = clock.monotonic() - began
    said = f"written, read, indexed, found, told and forgotten in {seconds:.1f} s"
    yield Check(NAME, "ok", said)
    for note in notes:
        yield Check("round trip: search", "warn", note, MEND)


def _steps(make: Make, folder: Path) -> tuple[str, ...]:
    """What a search wants a reader to know, which should be nothing."""
    memory = make(folder / "home", _alone())
    memory.init()
    entry = memory.remember(PARROT)
    done = memory.catch_up([_session(folder)], closing=True)
    _must(done.messages == 2, f"of 2 messages {done.messages} were read")
    memory.opened.index.sync()
    parrot = memory.search("parrot lighthouse keeper")
    _must(entry.id in [hit.ref for hit in parrot.hits], "search does not find what was remembered")
    harbour = memory.search("harbour office closes")
    _must(any(hit.session == SESSION for hit in harbour.hits), "search finds no session")
    shown = memory.get(entry.id).entry
    _must(shown is not None and shown.content == PARROT, "an entry cannot be shown")
    _must(bool(memory.get(f"session:{SESSION}").transcripts), "a session cannot be shown")
    told = memory.context("What is the parrot of the lighthouse keeper called?").text
    _must("Quillfeather" in told, "the context does not tell what was remembered")
    memory.forget([entry.id])
    left = memory.search("parrot lighthouse keeper").hits
    _must(
        not any("Quillfeather" in hit.snippet for hit in left), "what was forgotten is still found"
    )
    _must("Quillfeather" not in memory.opened.home.log.read_text("utf-8"), "the log still holds it")
    return (*parrot.notes, *harbour.notes)


def _must(well: bool, otherwise: str) -> None:
    if not well:
        raise _Lost(f"In a temporary home, {otherwise}.")


def _alone() -> Config:
    """The defaults, with nobody's sessions."""
    found = Config()
    return found.with_(hosts=found.hosts.with_(**dict.fromkeys(found.hosts.settings, ())))


def _session(folder: Path) -> Path:
    path = folder / f"{SESSION}.jsonl"
    at = clock.iso(clock.now())
    turns = [("user", f"Please remember: {SAID}"), ("assistant", "I will.")]
    lines = [json.dumps({"role": role, "content": text, "at": at}) for role, text in turns]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
