"""What a session has been told by hooks, and still sees: so that no turn tells it again.

A host keeps what a hook told in its conversation, until it compacts that. The words are kept in
.cache/told/, one file a session; without them a turn only says something twice.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from typing import TYPE_CHECKING

from wakebook.base import clock

if TYPE_CHECKING:
    from wakebook.base.home import Home

LARGEST = 200_000  # bytes; what is older has mostly been compacted by then
KEPT = 14 * 86_400.0  # seconds


class Said:
    def __init__(self, home: Home, host: str, session: str) -> None:
        name = hashlib.sha256(f"{host}/{session}".encode("utf-8", "replace")).hexdigest()[:24]
        self._home = home
        self._path = home.cache / "told" / f"{name}.md" if session else None

    def before(self) -> str:
        try:
            return self._path.read_text(encoding="utf-8", errors="replace") if self._path else ""
        except OSError:
            return ""

    def begin(self, text: str) -> None:
        """A session that knows nothing yet is told this."""
        if self._path is None:
            return
        with suppress(OSError):
            self._tidy()
            self._home.replace(self._path, text)

    def forget(self) -> None:
        """It was not told after all."""
        if self._path is not None:
            with suppress(OSError):
                self._path.unlink(missing_ok=True)

    def add(self, text: str) -> None:
        if self._path is None or not text:
            return
        with suppress(OSError):
            if self._path.exists() and self._path.stat().st_size > LARGEST:
                self._home.replace(self._path, self.before()[-LARGEST // 2 :])
            self._home.folder(self._path.parent)
            self._home.append(self._path, text.encode("utf-8", "replace"), durable=False)

    def _tidy(self) -> None:
        assert self._path is not None
        oldest = clock.now().timestamp() - KEPT
        for path in self._path.parent.glob("*.md"):
            if path.stat().st_mtime < oldest:
                path.unlink(missing_ok=True)
