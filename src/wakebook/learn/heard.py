"""What the user said in earlier conversations and was not kept.

A change is the strongest evidence that both values are worth keeping, so a sentence that changes
something is put beside these, too. They are read from the transcripts when they are needed; what
was erased or is withheld is not there.
"""

import os
from datetime import UTC, datetime
from functools import lru_cache
from itertools import islice
from pathlib import Path

import msgspec

from wakebook.base.errors import TranscriptError
from wakebook.base.home import Home
from wakebook.capture import archive
from wakebook.learn.entries import Source
from wakebook.learn.extract import Heard
from wakebook.learn.select.extractor import stated, untold
from wakebook.log.chains import Chains

REACH = 40  # conversations back
ENTRIES = 4000  # of the newest: more than these have left
_EPOCH = datetime.fromtimestamp(0, UTC)


def heard(home: Home, source: Source, chains: Chains) -> list[Heard]:
    """What was stated in the same project before a window began, beyond the entries.

    What was said later is left out, so that it is the same when everything is read anew.
    """
    if not source.turns:
        return []
    began = source.turns[0].at
    earlier = _before(home, source.path)
    told: dict[str, list[str]] = {one: [] for one in earlier}
    for entry in islice(reversed(chains.by_id.values()), ENTRIES):
        if entry.transcript in told and entry.type != "handoff":  # which quotes what was said
            told[entry.transcript].append(f"{entry.content}\n{entry.detail}")
    return [
        one
        for other in earlier
        for one in untold(_stated(home, other), told[other])
        if one.project == source.project and one.at and one.at < began
    ]


def _before(home: Home, path: str) -> list[str]:
    """The latest transcripts that begin before another, oldest first."""
    found: list[str] = []
    limit = str(home.root / path)
    for day in sorted(home.conversations.glob("*/*/*"), reverse=True):
        files = (one.path for one in os.scandir(day) if one.name.endswith(".md"))
        found += sorted((one for one in files if one < limit), reverse=True)
        if len(found) >= REACH:
            break
    return [os.path.relpath(one, home.root) for one in reversed(found[:REACH])]


def _stated(home: Home, path: str) -> tuple[Heard, ...]:
    try:
        if archive.marked(home):
            return _read(home, path)
        seen = (home.root / path).stat()
        return _kept(home.root, path, seen.st_mtime_ns, seen.st_size)
    except (OSError, TranscriptError):
        return ()  # it was removed: what it said is not known any more


@lru_cache(maxsize=256)
def _kept(root: Path, path: str, mtime: int, size: int) -> tuple[Heard, ...]:
    return _read(Home(root), path)


def _read(home: Home, path: str) -> tuple[Heard, ...]:
    found = archive.read(home, path)
    source = Source(
        ref="",
        session=str(found.front.get("session_id") or ""),
        path=path,
        number=int(found.front.get("window") or 1),
        last_at=_EPOCH,
        turns=[turn for turn in found.turns if turn.role == "user"],
        project=str(found.front.get("project") or ""),
    )
    at = {turn.number: turn.at for turn in source.turns}
    return tuple(
        msgspec.structs.replace(
            one,
            session=source.session,
            transcript=path,
            project=source.project,
            at=at[one.turn],
        )
        for one in stated(source.messages())
    )
