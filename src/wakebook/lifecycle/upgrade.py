"""Upgrade: every transcript that rules have read is read again by a model, oldest first."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from wakebook.capture import state as states
from wakebook.derive.distil import Work
from wakebook.derive.extract import RULES
from wakebook.derive.reread import candidates, reread
from wakebook.errors import ConfigError, NotFound, TranscriptError

PATIENCE = 3  # failures in a row


class Upgraded(msgspec.Struct, frozen=True, kw_only=True):
    transcripts: int = 0  # that were read again
    entries: int = 0  # that came out of it
    failed: dict[str, str] = {}  # transcript -> why it stays as it was
    left: int = 0  # not tried: the model failed too often


def upgrade(work: Work, session: str, progress: Callable[[str, int, int], None]) -> Upgraded:
    if work.extractor.name == RULES:
        raise ConfigError(
            "No model reads conversations: name one as main in [models] of config.toml, "
            "and leave extract out of off."
        )
    chains = work.ledger.chains()
    if session and not any(entry.session.startswith(session) for entry in chains.entries):
        raise NotFound(f"No session {session!r} is in the log. `wakebook log` shows what is.")
    waiting = candidates(chains, states.load(work.home), session)
    failed: dict[str, str] = {}
    entries = done = streak = 0
    for number, path in enumerate(waiting, 1):
        try:
            report = reread(work, path)
        except TranscriptError as error:  # somebody removed it: its entries stay
            failed[path] = str(error)
            continue
        if report.held:
            failed[path] = report.held
            streak += 1
            if streak == PATIENCE:
                left = len(waiting) - number
                return Upgraded(transcripts=done, entries=entries, failed=failed, left=left)
        elif not report.busy:
            streak = 0
            done += 1
            entries += report.entries
        progress(path, number, len(waiting))
    return Upgraded(transcripts=done, entries=entries, failed=failed)
