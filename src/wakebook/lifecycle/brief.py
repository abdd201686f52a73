"""Brief: the briefing, written between its markers; every byte outside of them stays."""

from __future__ import annotations

import stat
from datetime import datetime
from pathlib import Path

import msgspec

from wakebook import config as configs
from wakebook import markdown
from wakebook.derive import prose as proses
from wakebook.derive.briefing import active, briefing
from wakebook.derive.prose import Prose
from wakebook.errors import WakebookError
from wakebook.home import Home
from wakebook.lifecycle.history import History
from wakebook.log import subjects
from wakebook.log.ledger import Ledger
from wakebook.models.chat import Models


class Brief(msgspec.Struct, frozen=True, kw_only=True):
    """What writing the briefing did."""

    path: Path
    lines: tuple[str, ...]
    changed: bool
    total: int  # lines of the whole file


def prose(
    home: Home, models: Models, ledger: Ledger, now: datetime, settings: configs.Briefing, ask: bool
) -> Prose:
    """What a model says: asked now, or kept from the last time. Not under the lock."""
    kept = proses.load(home)
    if not ask or not (models.has("briefing") or models.has("contradictions")):
        return kept
    busy = active(ledger.chains().current(), subjects.load(home).aliases(), now, settings)
    said = proses.write(models, kept, busy, now, settings)
    if said != kept:
        proses.save(home, said)
    return said


def write(
    home: Home,
    history: History,
    ledger: Ledger,
    now: datetime,
    settings: configs.Briefing,
    said: Prose,
) -> Brief:
    """Under the writer lock; what was there is committed first."""
    lines = briefing(ledger.chains(), subjects.load(home), now, settings, said)
    path = home.root / configs.expand(settings.memory_file) if settings.memory_file else home.memory
    path = path.resolve()  # a link stays a link
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
