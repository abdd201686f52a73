"""Which sessions are there, and who can read them.

Every host is asked about its own folders. A file that a person names is recognised by its
beginning; the order of `HOSTS` is the order of asking, the most particular form first.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from wakebook.capture.host import Host
from wakebook.capture.hosts import jsonl
from wakebook.capture.hosts.claude_code import ClaudeCode
from wakebook.capture.hosts.codex import Codex
from wakebook.capture.hosts.openclaw import OpenClaw
from wakebook.capture.hosts.pi import Pi
from wakebook.capture.hosts.plain import Plain
from wakebook.capture.session import Session
from wakebook.config import Hosts, expand
from wakebook.errors import TranscriptError

_OPENCLAW = OpenClaw()

HOSTS: dict[str, Host] = {
    host.name: host for host in (ClaudeCode(), Codex(), Pi(), _OPENCLAW, Plain())
}


def discover(hosts: Hosts) -> Iterator[Session]:
    """Every session in the configured folders. A missing or unreadable one yields nothing."""
    for name, host in HOSTS.items():
        for folder in getattr(hosts, name.replace("-", "_")):
            root = expand(folder)
            if _exists(root):
                yield from host.discover(root)


def sessions_at(path: Path) -> list[Session]:
    """The sessions in a file or folder that a person names, whatever host they are of."""
    if not _exists(path):
        raise TranscriptError(
            f"{path}: no such file or folder, or no permission to see it. Check the path."
        )
    path = Path(os.path.abspath(path))  # noqa: PTH100 - without following links
    if path.is_dir():
        found = [session for host in HOSTS.values() for session in host.discover(path)]
        known = {session.path for session in found}
        stray = (store for store in path.rglob("*.sqlite") if store not in known)
        found += [session for store in stray for session in _OPENCLAW.discover(store)]
    else:
        head = _head(path)
        host = next((host for host in HOSTS.values() if host.recognises(path, head)), None)
        found = list(host.discover(path)) if host else []
    if not found:
        raise TranscriptError(
            f"{path}: no session in a known format. Wakebook reads the files of "
            f"{', '.join(HOSTS)}; docs/formats.md shows the plain one."
        )
    return found


def host_of(session: Session) -> Host:
    """Who reads this session. (OpenClaw's two kinds of source count in different units.)"""
    if session.host == OpenClaw.name:
        return _OPENCLAW.reader(session)
    try:
        return HOSTS[session.host]
    except KeyError:
        raise TranscriptError(
            f"{session.path}: unknown host {session.host!r}; known are {', '.join(HOSTS)}."
        ) from None


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            return stream.read(jsonl.HEAD)
    except OSError as error:
        raise TranscriptError(
            f"{path}: cannot be read ({error.strerror}). Check its permissions."
        ) from error


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False
