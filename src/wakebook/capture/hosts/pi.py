"""pi: `~/.pi/agent/sessions/--<path>--/<time>_<id>.jsonl`, an event tree (see `tree`).

A fork is a new file that repeats its parent's events, ids included, and names the
parent's file in its header.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from wakebook.capture import source
from wakebook.capture.hosts import jsonl, tree
from wakebook.capture.hosts.jsonl import load
from wakebook.capture.session import Session
from wakebook.capture.transcript import Record

_MODEL = re.compile(rb'"modelId":\s*("[^"\\]+")')
_string = msgspec.json.Decoder(str)


class Pi(jsonl.Files):
    name = "pi"
    tree = True

    def discover(self, root: Path) -> Iterator[Session]:
        for path, size in jsonl.files(root, ".jsonl"):
            head = jsonl.head(path)
            found = tree.header(head)
            if found is not None and self.recognises(path, head):
                yield Session(
                    host=self.name,
                    id=found.id or path.stem,
                    path=path,
                    parent=found.parent_session or "",
                    size=size,
                    cwd=found.cwd or "",
                    model=model_of(head),
                )

    def recognises(self, path: Path, head: bytes) -> bool:
        return tree.header(head) is not None and not is_openclaw(path, head)

    def records(
        self, session: Session, position: int, limit: int, closing: bool
    ) -> Iterator[Record]:
        return read(
            tree.Tree(tree.root(jsonl.head(session.path))), session, position, limit, closing
        )

    def beginning(self, session: Session, captured: Callable[[Path], bool]) -> int:
        parent = Path(session.parent)
        if not session.parent:
            return 0
        for path in (parent, session.path.parent / parent.name):
            if path != session.path and captured(path) and path.is_file():
                return jsonl.past(session.path, _shared(path))
        return 0


def read(
    events: tree.Tree, session: Session, position: int, limit: int, closing: bool
) -> Iterator[Record]:
    """The records of an event tree that is kept in a file."""
    for line in source.lines(session.path, position, limit, closing):
        nothing = jsonl.unloaded(line)
        yield Record(line.start, line.end, nothing or events.events(line.data))


def is_openclaw(path: Path, head: bytes) -> bool:
    """OpenClaw's older session files have the same form: tell them by place and content."""
    return (
        ".jsonl." in path.name
        or path.parent.name == "sessions"
        or (path.parent / "sessions.json").is_file()
        or b'"__openclaw"' in head
        or b'"customType":"openclaw.' in head
    )


def model_of(head: bytes) -> str:
    match = _MODEL.search(head)
    return (load(_string, match[1]) or "") if match else ""


def _shared(parent: Path) -> Callable[[bytes], bool | None]:
    known = {
        found.id
        for line in source.lines(parent, 0, source.CHUNK * 64)
        if (found := load(tree.node, line.data)) is not None
    }

    def verdict(data: bytes) -> bool | None:
        found = load(tree.node, data)
        if found is None or not found.id or found.type == "session":
            return None
        return found.id in known

    return verdict
