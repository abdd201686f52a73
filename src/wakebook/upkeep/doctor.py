"""Doctor: what is well, what is not, and what to run for it.

Every look yields checks and never stops the others: one that breaks becomes a failed check
itself. A look takes what it looks at, and what knows that already (`status`, `audit`, the
index) is asked, not done again.

A round trip shows whether this installation works, whatever is in the user's home: something is
remembered, read, indexed, found, told and forgotten, in a temporary home with the defaults.
Nothing of the user's is touched, and no model is asked.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from wakebook.base import clock
from wakebook.base.errors import WakebookError
from wakebook.base.home import Home, locate

if TYPE_CHECKING:
    from wakebook.base.config import Config
    from wakebook.history.timeline import Timeline
    from wakebook.learn.account import Account
    from wakebook.notes.check import Knowledge
    from wakebook.notes.notes import Notes
    from wakebook.opened import Opened
    from wakebook.recall.topics.topic import Read
    from wakebook.store.index import IndexStatus
    from wakebook.upkeep.erase import Erased
    from wakebook.upkeep.jobs import JobStatus
    from wakebook.upkeep.status import Status

State = Literal["ok", "note", "warn", "fail"]
NAME = "round trip: all of it"
PARROT = "The parrot of the lighthouse keeper is called Quillfeather."
SAID = "The harbour office closes at a quarter to six on Fridays."
MEND = f"{shlex.quote(sys.executable)} -m pip install --force-reinstall wakebook"
SESSION = "doctor-round-trip"


class Check(msgspec.Struct, frozen=True):
    """One thing that was looked at. Of "home: lock", home is the group."""

    name: str
    state: State
    said: str
    run: str = ""  # what to run, where something is to be done


Look = Callable[[], Iterable[Check]]


def examine(looks: Iterable[tuple[str, Look]], so_far: Iterable[Check] = ()) -> list[Check]:
    """What all looks find. What stops several of them is told once."""
    found: list[Check] = []
    told = {check.said for check in so_far}
    for name, look in looks:
        try:
            for check in look():
                found.append(check)
                told.add(check.said)
        except Exception as error:  # noqa: BLE001 - a look that breaks is what is wrong
            said = _said(error)
            found += [] if said in told else [Check(name, "fail", said)]
            told.add(said)
    return found


def _said(error: Exception) -> str:
    if isinstance(error, WakebookError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    return f"{type(error).__name__}: {error}"


def to_run(home: Home, *words: str) -> str:
    """A command of Wakebook's for this home."""
    chosen = () if home.root == locate() else ("--home", str(home.root))
    return shlex.join(["wakebook", *chosen, *words])


def to_edit(path: object, line: int = 0) -> str:
    at = f"+{line} " if line else ""
    return f"${{EDITOR:-vi}} {at}{shlex.quote(str(path))}"


@dataclass
class Examination:
    """One look at everything in a home, for `status` and `doctor`. What several looks need is
    found out once."""

    opened: Opened
    history: Timeline
    notes: Notes
    topics: Callable[[], Read]
    jobs: Callable[[], list[JobStatus]]
    audit: Callable[[], list[Account]]
    finish: Callable[[], Erased | None]  # an erasure that was interrupted

    def checks(self, *, ask: bool = False) -> list[Check]:
        """What is well, what is not, and what to run for it. `ask`: ask the models, too."""
        from wakebook.upkeep import checks

        home = self.opened.home
        found = examine([("home: folder", lambda: checks.place(home))])
        if home.exists():
            found += examine(self._looks(ask), found)
            more = partial(checks.lately, home, so_far=tuple(found))
            found += examine([("lately: failures", lambda: more(self.status().problems))], found)
        return found

    def _looks(self, ask: bool) -> Iterator[tuple[str, Look]]:
        from wakebook.upkeep import checks

        opened, home = self.opened, self.opened.home
        yield "home: erasing", lambda: checks.erasing(self.finish)
        yield "home: forget.key", lambda: checks.key(home)
        yield "log: lines", lambda: checks.log(home, opened.ledger)
        yield "git: repository", lambda: checks.history(self.history.git())
        yield "index: content", lambda: checks.index(home, self.index)
        yield "notes: files", lambda: checks.notes(home, self.knowledge, self.topics())
        yield "model: chat", lambda: checks.model(home, opened.models)
        if ask:
            yield "model: answer", lambda: checks.asked(home, opened.config, opened.models)
        yield "sessions: read", lambda: checks.sessions(home, self.accounts)
        yield "hooks: failures", lambda: checks.hooks(home, opened.state(), opened.now())
        yield "jobs: runs", lambda: checks.jobs(home, self.jobs())

    def status(self) -> Status:
        from wakebook.upkeep.status import status

        git = self.history.git()
        return status(self.opened, git, self.accounts, self.index, self.knowledge, clock.now())

    @cached_property
    def accounts(self) -> list[Account]:
        return self.audit()

    @cached_property
    def index(self) -> IndexStatus:
        return self.opened.index.status()

    @cached_property
    def knowledge(self) -> Knowledge:
        return self.notes.knowledge()


# --- the round trip ----------------------------------------------------------------------
Make = Callable[[Path, "Config"], Any]  # the façade of a home with these settings


def tried(make: Make, so_far: list[Check]) -> list[Check]:
    """What a round trip found, if it had to say anything new."""
    return examine([(NAME, lambda: round_trip(make))], so_far)


def round_trip(make: Make) -> Iterator[Check]:
    import tempfile

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
    from wakebook.base.config import Config

    config = Config()  # with no sessions but ours
    alone = config.hosts.with_(**dict.fromkeys(config.hosts.settings, ()))
    memory = make(folder / "home", config.with_(hosts=alone))
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
    left = [hit.snippet for hit in memory.search("parrot lighthouse keeper").hits]
    _must("Quillfeather" not in "".join(left), "what was forgotten is still found")
    _must("Quillfeather" not in memory.opened.home.log.read_text("utf-8"), "the log still holds it")
    return (*parrot.notes, *harbour.notes)


def _must(well: bool, otherwise: str) -> None:
    if not well:
        raise WakebookError(f"In a temporary home, {otherwise}.")


def _session(folder: Path) -> Path:
    path = folder / f"{SESSION}.jsonl"
    at = clock.iso(clock.now())
    turns = [("user", f"Please remember: {SAID}"), ("assistant", "I will.")]
    lines = [msgspec.json.encode({"role": role, "content": text, "at": at}) for role, text in turns]
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path
