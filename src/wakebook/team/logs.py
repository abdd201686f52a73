"""Logs: what servers and workers say, one JSON object a line on standard error."""

from __future__ import annotations

import json
import logging
import sys
from typing import Any

from wakebook.base import clock

LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}


class AsJson(logging.Handler):
    """Other packages' messages, in the same shape."""

    def emit(self, record: logging.LogRecord) -> None:
        said = record.getMessage()
        if record.exc_info and record.exc_info[1]:
            said += f": {type(record.exc_info[1]).__name__}: {record.exc_info[1]}"
        tell(record.levelname.lower(), record.name, said=said)


def tell(level: str, event: str, **about: Any) -> None:
    record = {"at": clock.iso(clock.now()), "level": level, "event": event, **about}
    line = json.dumps(record, ensure_ascii=False, default=str)
    try:
        sys.stderr.write(line + "\n")
        sys.stderr.flush()
    except OSError:  # nobody listens
        return


def begin() -> None:
    """Have other packages' warnings told here."""
    root = logging.getLogger()
    root.handlers[:] = [AsJson()]
    root.setLevel(LEVELS["warning"])
