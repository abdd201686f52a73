"""Cursors: state.json after an erasure, and the open transcripts that it counts the bytes of."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from wakebook.base.decode import decode
from wakebook.base.home import Home
from wakebook.capture import archive
from wakebook.capture import state as states
from wakebook.capture import window as windows
from wakebook.capture.hosts import jsonl
from wakebook.capture.state import Progress, State
from wakebook.log import log
from wakebook.upkeep.scrub import Scrub


def tidied(home: Home) -> None:
    """Open transcripts without what a crash may have left behind their last turn."""
    home.sweep_temporary()
    for progress in states.load(home).sessions.values():
        window = progress.window
        body = windows.body(home, window) if window else None
        if window is None or not body:
            continue
        path = home.root / window.path
        text = path.read_text(encoding="utf-8")
        extra = archive.split_body(text).encode()[window.size :].decode("utf-8", "replace")
        if extra and text.endswith(extra):
            home.replace(path, text.removesuffix(extra))


def brought_up(home: Home, rules: Scrub) -> None:
    """state.json: cursors as the files are now."""
    if not home.state.exists():
        return
    state, order = states.load(home), rules.order
    there: dict[str, int] = {}
    for entry in log.read(home).entries:
        there[entry.session] = there.get(entry.session, 0) + 1
    kept = {
        ref: _progress(home, rules, one, there.get(one.id, 0))
        for ref, one in state.sessions.items()
        if one.id not in order.sessions and not rules.renames(one.id)
    }
    after = msgspec.structs.replace(
        state, sessions=kept, reread=tuple(one for one in state.reread if one not in order.gone)
    )
    data = msgspec.json.encode(after)
    if not order.scoped:
        data = rules.needles.swapped(data)
    with suppress(msgspec.MsgspecError):  # the cursors count more than a text in them
        after = decode(data, State)
    states.save(home, after)


def _progress(home: Home, rules: Scrub, progress: Progress, there: int) -> Progress:
    window = progress.window
    if window is not None:
        path = rules.path(window.path)
        body = None
        with suppress(OSError):
            body = archive.split_body((home.root / (path or "")).read_text(encoding="utf-8"))
        window = window.with_(path=path, size=len(body.encode())) if path and body else None
    changes: dict[str, Any] = {"window": window, "entries": min(progress.entries, there)}
    source = Path(progress.path)
    if source.is_relative_to(home.root) and source.is_file() and progress.tail:
        changes |= {
            "head": jsonl.fingerprint(source),
            "tail": jsonl.tail(source, progress.position),
        }
    if rules.order.since:
        left = len(archive.paths_of(home, progress.id))
        changes["windows"] = min(progress.windows, left)
    return progress.with_(**changes)
