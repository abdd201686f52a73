"""Brief: the briefing, written between its markers; every byte outside of them stays."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from pathlib import Path

import msgspec

from wakebook import markdown
from wakebook.errors import WakebookError
from wakebook.home import Home
from wakebook.lifecycle.history import History


class Brief(msgspec.Struct, frozen=True, kw_only=True):
    """What writing the briefing did."""

    path: Path
    lines: tuple[str, ...]
    changed: bool
    total: int  # lines of the whole file


def write(home: Home, history: History, path: Path, lines: Sequence[str]) -> Brief:
    """Under the writer lock; what was there is committed first."""
    try:
        # bytes, not text: line ends belong to whoever wrote them
        old = path.read_bytes().decode("utf-8") if path.exists() else ""
    except UnicodeDecodeError as error:
        raise WakebookError(f"{path} is not UTF-8: {error}. Convert it first.") from error
    new = markdown.replace_block(old, "\n".join(lines) + "\n")
    if new != old:
        mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o600
        if not mode & 0o200:
            raise WakebookError(f"{path} is read-only: the briefing was not written.")
        history.before_touching(path)
        home.replace(path, new, mode)
    return Brief(path=path, lines=tuple(lines), changed=new != old, total=len(new.splitlines()))
