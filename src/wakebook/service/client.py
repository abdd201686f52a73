"""Served: a Memory that asks the service where one runs.

It has everything read and warm, and answers at once. Without it, or when it does not answer in
time, the same is done here. Verbs that take long are done here anyway.
"""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any

from wakebook.base import errors
from wakebook.base.errors import WakebookError
from wakebook.log.query import EVERYTHING, Query
from wakebook.memory import Memory
from wakebook.service.call import address, call, elsewhere

SECONDS = 20.0
BUSY = 423  # another process is writing; the service does not wait long for it


def _through(name: str) -> Any:
    """A verb of the façade, asked of the service first."""

    def verb(self: Served, *given: Any, **options: Any) -> Any:
        if elsewhere(str(self.home.root)):
            return getattr(self._server, name)(*given, **options)
        found = self._asked(name, given, options) if address(str(self.home.root)) else None
        own = getattr(super(Served, self), name)
        return own(*given, **options) if found is None else found

    return verb


class Served(Memory):
    search = _through("search")
    get = _through("get")
    context = _through("context")
    remember = _through("remember")

    @cached_property
    def _server(self) -> Memory:
        from wakebook.service.remote import Remote, joined

        return Remote("", line=joined(self.home.root))

    def _asked(self, name: str, given: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """The answer of the service; None if it does not answer, or cannot do this."""
        import msgspec

        from wakebook.base.decode import decode
        from wakebook.verbs import VERBS, plain

        verb = VERBS[name]
        known = verb.asks.__struct_fields__
        fields = dict(zip(known, given, strict=False)) | options
        if name == "search":
            wanted = fields.pop("wanted", fields.pop("text", ""))
            query = Query(text=wanted) if isinstance(wanted, str) else wanted
            if query.scope != EVERYTHING or query.files:
                return None
            asked_for = (one for one in Query.__slots__ if one not in ("scope", "files"))
            fields |= {one: getattr(query, one) for one in asked_for}
            fields.pop("progress", None)
        if not fields.keys() <= set(known):
            return None
        asked = msgspec.to_builtins(verb.asks(**fields), enc_hook=plain)
        body = json.dumps(asked, ensure_ascii=False).encode("utf-8", "replace")
        try:
            answer = call(str(self.home.root), verb.path, body, SECONDS)
        except (TimeoutError, ConnectionError) as error:
            said = str(error) or f"silent for {SECONDS:g} s"
            if name == "remember":  # it may have been done: once more would be twice
                unsure = "`wakebook log` shows whether it has kept this."
                raise WakebookError(f"The service has not answered ({said}). {unsure}") from error
            self.home.trace("failure", where=f"service {name}", error=said)
            return None
        if answer is None or answer[0] == BUSY:
            return None
        if answer[0] >= 300:
            if wrong := refused(answer[1]):
                raise wrong
            return None
        try:
            return decode(answer[1], verb.answer_type())
        except msgspec.MsgspecError:  # a service of another version
            return None


def refused(body: bytes) -> WakebookError | None:
    """The error that it would have been here, if the answer names one."""
    try:
        error = json.loads(body)["error"]
        kind = getattr(errors, error["kind"], None)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if isinstance(kind, type) and issubclass(kind, WakebookError):
        return kind(error["message"])
    return None
