"""Served: the memory, with the service behind it where that is up.

The service has everything read and warm, so a search or a context comes from there; without it,
the same is done here, with the same result. Whatever takes long, and whatever is not worth a
call, is done here anyway.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from wakebook.base import clock, errors
from wakebook.base.errors import WakebookError
from wakebook.log.query import Query
from wakebook.memory import Memory
from wakebook.service.call import call

if TYPE_CHECKING:
    from wakebook.log.entry import Entry
    from wakebook.recall.show import Shown
    from wakebook.recall.slot import Context
    from wakebook.store.search import Found

SECONDS = 20.0
BUSY = 423  # another process is writing
FILTERS = (
    "text", "types", "subjects", "kinds", "categories", "status", "session", "host", "since",
    "until", "all",
)  # fmt: skip


class Served(Memory):
    def search(self, wanted: Query | str, **options: Any) -> Found:
        query = Query(text=wanted) if isinstance(wanted, str) else wanted
        asked = {name: getattr(query, name) for name in FILTERS}
        given = {key: value for key, value in options.items() if key != "progress"}
        found: Found | None = self._asked("search", asked | given, "Found")
        return super().search(wanted, **options) if found is None else found

    def get(self, ref: str, first: int = 0, lines: int = 0) -> Shown:
        found = self._asked("get", {"ref": ref, "first": first, "lines": lines}, "Shown")
        return super().get(ref, first, lines) if found is None else found

    def context(self, message: str = "", **options: Any) -> Context:
        found = self._asked("context", {"message": message, **options}, "Context")
        return super().context(message, **options) if found is None else found

    def remember(self, text: str, *, type_: str = "fact", **options: Any) -> Entry:
        found = self._asked("remember", {"text": text, "type": type_, **options}, "Entry")
        return super().remember(text, type_=type_, **options) if found is None else found

    def _asked(self, verb: str, asked: dict[str, Any], answers: str) -> Any:
        """What the service answers; None if it is not there, or not in time."""
        body = json.dumps(asked, ensure_ascii=False, default=_plain).encode("utf-8", "replace")
        try:
            found = call(str(self.home.root), f"/v1/{verb}", body, SECONDS)
        except (TimeoutError, ConnectionError) as error:
            if verb == "remember":  # which may be done: once more would be twice
                raise WakebookError(
                    f"The service has not answered ({error or f'{SECONDS:g} s'}). `wakebook log` "
                    "shows whether it has kept this."
                ) from error
            self.home.trace(
                "failure", where=f"service {verb}", error=str(error) or f"silent for {SECONDS:g} s"
            )
            return None
        if found is None:
            return None
        if found[0] == BUSY:  # for so long; here one may wait longer
            return None
        return _decoded(found[1], answers) if found[0] < 300 else _refused(*found)


def _decoded(body: bytes, answers: str) -> Any:
    import msgspec

    from wakebook.service.verbs import answer_type

    try:
        return msgspec.json.decode(body, type=answer_type(answers))
    except msgspec.MsgspecError:  # a service of another version
        return None


def _refused(status: int, body: bytes) -> None:
    """The error that it would have been here; or None, if the service cannot do it at all."""
    try:
        error = json.loads(body)["error"]
        kind = getattr(errors, error["kind"], None)
    except (ValueError, KeyError, TypeError):
        return
    if isinstance(kind, type) and issubclass(kind, WakebookError):
        raise kind(error["message"])


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return clock.iso(value)
    if isinstance(value, Sequence | set | frozenset):
        return list(value)
    raise TypeError(f"{type(value).__name__} cannot be sent")
