"""A home with something to erase in every corner of it, and a search of every byte."""

from __future__ import annotations

import json
import re
import subprocess
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tests.history.test_git import git
from wakebook import Memory

CODE = "4711-Quokka"
SAID = f"My locker code at the Harbour gym is {CODE}."
CHAT = "2026-11-02-gym"


def told(folder: Path, session: str = CHAT, day: str = "2026-11-02") -> Path:
    """A chat whose first words are what is to go."""
    path = folder / f"{session}.jsonl"
    said = [
        ("user", f"{SAID} By the way, I decided to use Postgres for the bookings."),
        ("assistant", f"Noted, your locker code at the Harbour gym is {CODE}."),
        ("user", "I prefer tabs over spaces in Go code. My sister Runa lives in Bergen."),
        ("assistant", "Done. I've added the rule to the linter."),
    ]
    lines: list[dict[str, str]] = [{"session": session}]
    for number, (role, text) in enumerate(said):
        at = f"{day}T18:4{number}:00Z"
        lines.append({"role": role, "content": text, "timestamp": at, "id": f"{session}-{number}"})
    path.write_text("".join(json.dumps(one) + "\n" for one in lines))
    return path


def lived(memory: Memory, folder: Path) -> Path:
    """Conversations, notes, a summary, an exploration, tags, traces and what was told. The chat."""
    root = memory.home.root
    chat = told(folder)
    memory.catch_up([chat], closing=True)
    other = told(folder, "2026-11-03-other", "2026-11-03")
    other.write_text(other.read_text().replace(CODE, "still unknown").replace("Harbour", "North"))
    memory.catch_up([other], closing=True)
    memory.remember(f"The safe holds a spare key for {CODE}", subject="gym", detail="In the cellar")
    memory.remember("Postgres runs on port 5433")
    memory.history.commit("keep")
    memory.history.snapshot("opening")
    git(root, "tag", "-a", "told", "-m", f"the day of {CODE}")
    memory.history.explore("idea")
    note = root / "knowledge" / "people" / "runa.md"
    note.write_text(note.read_text() + f"\nShe knows that my locker\ncode is {CODE.upper()}.\n")
    (root / "archive" / "old.md").write_text(f"# Old\n\nOnce: {CODE}\n")
    (root / "attachments" / "wide.txt").write_bytes(f"code {CODE}\n".encode("utf-16"))
    (root / "attachments" / "line.json").write_text(json.dumps(json.dumps({"a": f'"{CODE}" é'})))
    (root / "condensed.json").write_text(json.dumps(summary(memory)))
    memory.history.commit(f"notes on {CODE}")
    git(root, "branch", "side", "HEAD~1")
    memory.context(f"what is {CODE}?", session="s1")
    memory.wake()
    memory.home.trace("rejected", session="plain/x", content=f"{CODE} is a code")
    (root / "costs").mkdir(exist_ok=True)
    cost = {"at": "2026-11-02T10:00:00Z", "operation": "extract", "error": f"bad line {CODE}"}
    (root / "costs" / "2026-11.jsonl").write_text(json.dumps(cost) + "\n")
    (root / ".cache" / "told").mkdir(exist_ok=True)
    (root / ".cache" / "told" / "s1.json").write_text(json.dumps({"text": SAID}))
    (root / ".cache" / "handoffs.json").write_text(json.dumps([SAID]))
    return chat


def summary(memory: Memory) -> dict[str, object]:
    ids = [one.id for one in memory.log.chains().entries][:2]
    line = {"ids": ids, "text": f"The gym: {CODE}, Postgres", "section": "Other"}
    return {"journal/2026-11-02.md#journal": {"at": "", "by": "m", "lines": [line], "dropped": []}}


def everywhere(root: Path) -> Iterator[tuple[str, bytes]]:
    """Every file of a folder, whatever is packed in git's, and all objects of git, whether anything
    leads to it or not; by name. Nothing of Wakebook's own looks for them."""
    for path in sorted(root.rglob("*")):
        if path.is_file():
            name, data = path.relative_to(root).as_posix(), path.read_bytes()
            yield name, name.encode() + b"\n" + data
            if name.startswith(".git/"):  # half-written files, too, which git does not know
                yield f"unpacked: {name}", b"\n".join(_inflated(data))
    listed = ["git", "cat-file", "--batch-all-objects", "--batch", "--unordered"]
    data = subprocess.run(listed, cwd=root, capture_output=True, check=True).stdout
    while data:
        head, _, data = data.partition(b"\n")
        object_, kind, size = head.decode().split()
        yield f"git {kind} {object_}", data[: int(size)]
        data = data[int(size) + 1 :]


def _inflated(data: bytes) -> Iterator[bytes]:
    """What zlib finds in it, wherever a stream may begin."""
    at = data.find(b"x")
    while at >= 0:
        stream, found = zlib.decompressobj(), []
        with suppress(zlib.error):
            for start in range(at, len(data), 256):  # as far as it goes: the end may be missing
                found.append(stream.decompress(data[start : start + 256]))
                if stream.eof:
                    break
        yield b"".join(found)
        at = data.find(b"x", at + 1)


def holding(root: Path, *texts: str) -> list[str]:
    """Where any of these texts is, in one of many forms."""
    forms = [form for text in texts for form in _forms(text)]
    return [
        name
        for name, data in everywhere(root)
        if any(form in one for one in (data.lower(), _joined(data)) for form in forms)
    ]


def _forms(text: str) -> Iterator[bytes]:
    low = text.lower()
    yield low.encode()
    yield json.dumps(low)[1:-1].encode()
    yield low.encode("utf-16-le")
    yield low.encode("utf-16-be")
    yield re.sub(r"[^a-z0-9]+", "-", low).strip("-").encode()


def _joined(data: bytes) -> bytes:
    return re.sub(rb"(?:\s|\\n)+", b" ", data.lower())
