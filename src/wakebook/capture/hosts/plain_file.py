"""A chat of your own agent, on disk: a file in the plain format that is only ever appended to.

The lines of a message are one durable append, and every line begins with its id: whether it is
there can be seen without reading the file, and a message that is sent again adds what is missing.
A writer that was killed may leave half a line: the next one takes it out. Everything that writes
does so under the home's lock.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from wakebook.capture import source
from wakebook.capture.hosts.plain_line import Line, encode
from wakebook.home import Home

LAST = 4096  # bytes in which the last line is looked for, if it may be a reset
LOST = "(no result: the agent was stopped)"
SENT = ("role", "content", "tool_calls", "tool_call_id")  # what a model is sent of a line


class PlainFile:
    def __init__(self, home: Home, path: Path, about: Mapping[str, str]) -> None:
        """`about`: the first line of a new file, which names the session."""
        self.path = path
        self._home = home
        self._about = {key: value for key, value in about.items() if value}

    def begun(self) -> bool:
        return self.path.exists() and self.path.stat().st_size > 0

    def append(self, lines: Sequence[Line], *, again: bool = False) -> None:
        """Add the lines of a message; with `again`, those whose id is not there yet."""
        with self._home.locked():
            if not self.begun():
                self._begin(b"".join(map(encode, lines)))
                return
            self._mend()  # half a line has an id, too
            new = [encode(line) for line in lines if not (again and self.has(line["id"]))]
            if new:
                self._home.append(self.path, b"".join(new))

    def reset(self, line: Line) -> None:
        """Draw a line below what was said, unless nothing was said since the last one."""
        with self._home.locked():
            if self.begun() and not self._at_reset():
                self.append([line])

    def has(self, id: str) -> bool:
        """Whether there is a line with this id, which is the first thing on it."""
        wanted = b"\n" + encode({"id": id}).removesuffix(b"}\n") + b","
        with (
            self.path.open("rb") as stream,
            mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as text,
        ):
            return text.find(wanted) >= 0

    def messages(self, limit: int) -> list[dict[str, Any]]:
        """What was said since the last reset, as a chat model takes it. `limit`: of a line."""
        found: list[dict[str, Any]] = []
        for line in source.lines(self.path, 0, limit) if self.begun() else ():
            with suppress(msgspec.DecodeError, UnicodeError):
                read = msgspec.json.decode(line.data, type=dict[str, Any])
                found = [] if read.get("type") == "reset" else found
                if "role" in read:
                    found.append({key: read[key] for key in SENT if key in read})
        return _answered(found)

    def _begin(self, data: bytes) -> None:
        folder = self.path.parent
        self._home.folder(folder)
        if not (folder / ".gitignore").exists():  # secrets go only when it is archived
            self._home.replace(folder / ".gitignore", "*\n")
        self._home.replace(self.path, encode(self._about) + data)

    def _mend(self) -> None:
        """Finish or take out a last line without its end. Nobody has read it, and its writer
        never got to say that it was written."""
        with self.path.open("rb+") as stream:
            stream.seek(-1, os.SEEK_END)
            if stream.read(1) == b"\n":
                return
            stream.seek(0)
            text = stream.read()
            torn = text.rpartition(b"\n")[2]
            if _is_whole(torn):
                stream.write(b"\n")
            else:
                stream.truncate(len(text) - len(torn))
                self._home.trace("torn", where=str(self.path), bytes=len(torn))
            stream.flush()
            os.fsync(stream.fileno())

    def _at_reset(self) -> bool:
        with self.path.open("rb") as stream:
            stream.seek(max(0, stream.seek(0, os.SEEK_END) - LAST))
            last = stream.read().rstrip(b"\n").rpartition(b"\n")[2]
        return b'"type":"reset"' in last[:80] and _is_whole(last)


def _answered(messages: Sequence[Line]) -> list[Line]:
    """The messages with an answer to every call of a tool that somebody spoke after: a killed
    agent never gave it, and no model's server takes the one without the other."""
    found: list[Line] = []
    waiting: dict[str, None] = {}
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] in waiting:
                del waiting[message["tool_call_id"]]
                found.append(message)
            continue
        found += [{"role": "tool", "content": LOST, "tool_call_id": one} for one in waiting]
        waiting = dict.fromkeys(call["id"] for call in message.get("tool_calls") or ())
        found.append(message)
    return found


def _is_whole(line: bytes) -> bool:
    try:
        msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeError):
        return False
    return True
