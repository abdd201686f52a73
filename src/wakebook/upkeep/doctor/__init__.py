"""Doctor: what is well, what is not, and what to run for it.

Every look yields checks and never stops the others: one that breaks becomes a failed check
itself. A look takes what it looks at, and whoever knows that already (`status`, `audit`, the
index) is asked, not done again.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from typing import Literal

import msgspec

from wakebook.base.errors import WakebookError
from wakebook.base.home import Home, locate

State = Literal["ok", "note", "warn", "fail"]


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
