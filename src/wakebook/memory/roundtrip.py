"""A round trip: something is remembered, read, indexed, found, told and forgotten.

It happens in a temporary home with the defaults, so that it shows whether this installation
works, whatever is in the user's home. Nothing there is touched, and no model is asked.
"""

from __future__ import annotations

import json
import shlex
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from wakebook.base import clock
from wakebook.base.config import Config
from wakebook.base.errors import WakebookError

if TYPE_CHECKING:
    from wakebook.memory import Memory
    from wakebook.upkeep.doctor import Check

NAME = "round trip: all of it"
PARROT = "The parrot of the lighthouse keeper is called Quillfeather."
SAID = "The harbour office closes at a quarter to six on Fridays."
MEND = f"{shlex.quote(sys.executable)} -m pip install --force-reinstall wakebook"
SESSION = "doctor-round-trip"


class _Lost(WakebookError):
    """A step that did not lead where it should."""


def round_trip(make: type[Memory]) -> Iterator[Check]:
    from wakebook.upkeep.doctor import Check

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


def _steps(make: type[Memory], folder: Path) -> tuple[str, ...]:
    """What a search wants a reader to know, which should be nothing."""
    memory = make(folder / "home", config=_alone())
    memory.init()
    entry = memory.remember(PARROT)
    done = memory.catch_up([_session(folder)], closing=True)
    _must(done.messages == 2, f"of 2 messages {done.messages} were read")
    memory.index()
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
    _must("Quillfeather" not in memory.home.log.read_text("utf-8"), "the log still holds it")
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
