"""The hosts: one module each, which says where its sessions are and what a record means.

A host is added by its module and its line in `HOSTS`; its folders are a setting of [hosts].
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from wakebook.base.errors import TranscriptError
from wakebook.capture.state import Session

if TYPE_CHECKING:
    from wakebook.capture.hosts.jsonl import Host

# Name -> module and class. A file that a person names is shown to them in this order: the host
# with the most particular form comes first.
HOSTS = {
    "claude-code": "claude_code.ClaudeCode",
    "codex": "codex.Codex",
    "pi": "pi.Pi",
    "openclaw": "openclaw.OpenClaw",
    "plain": "plain.Plain",
}


def format_of(session: Session) -> Host:
    if session.host not in HOSTS:
        known = ", ".join(HOSTS)
        raise TranscriptError(f"{session.path}: unknown host {session.host!r}; known are {known}.")
    return host(session.host).format(session)


@cache
def host(name: str) -> Host:
    module, _, named = HOSTS[name].partition(".")
    found: Host = getattr(import_module(f"{__name__}.{module}"), named)()
    return found
