"""Home: where everything lives, and the few ways to write to it.

Invariants. One writer at a time (`locked`); readers never wait. A file is replaced
whole (temporary file, fsync, rename) or appended to by one write and fsync, so a crash
at any point leaves either the old or the new text. Folders are 0700 and files 0600.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from wakebook.base import clock
from wakebook.base.errors import Locked, NotInitialised

FOLDERS = (
    "raw/conversations knowledge/identity knowledge/memory knowledge/journal knowledge/projects "
    "knowledge/people knowledge/procedures knowledge/reference topics archive attachments prompts"
).split()
# What of a home goes into git; anything else in the folder is the user's own business.
TRACKED = (
    "config.toml prices.toml log.jsonl condensed.json log.torn forgotten.jsonl erased.jsonl "
    "withheld.jsonl subjects.json projects.json waiting.jsonl "
    "feedback.jsonl .gitignore .gitattributes raw knowledge topics archive attachments prompts"
).split()
# Of these, what can be shown: not the records of what is told no more, or not yet.
RECORDS = ("forgotten.jsonl", "erased.jsonl", "withheld.jsonl", "waiting.jsonl")
CONTENT = tuple(name for name in TRACKED if name not in RECORDS)
# Where `replace` writes, and so may leave a temporary file when it is killed.
WRITTEN = ("", *".cache/ .cache/start/ .cache/wake/ sessions/".split())
WRITTEN += ("raw/**/", "knowledge/**/", "topics/**/", "archive/**/")
TRACE_BYTES = 4 << 20  # two files of this size at most
LOCK_SECONDS = 60.0
READING_SECONDS = 1.0
LEFT_SECONDS = 3600.0  # after which what a killed process left behind is removed
PREFIX = ".wakebook-"  # of temporary files
WITHHELD = "withheld.jsonl"  # what is told no more


def locate(path: str | os.PathLike[str] | None = None) -> Path:
    """--home, then WAKEBOOK_HOME, then ~/.wakebook."""
    chosen = path or os.environ.get("WAKEBOOK_HOME") or "~/.wakebook"
    return Path(os.path.abspath(os.path.expanduser(chosen)))  # noqa: PTH100, PTH111


class Home:
    """The paths of one home. Creating it does not touch the disk."""

    def __init__(
        self, root: str | os.PathLike[str], sync: Callable[[int], None] = os.fsync
    ) -> None:
        self.root = Path(root)
        self.config = self.root / "config.toml"
        self.log = self.root / "log.jsonl"
        self.subjects = self.root / "subjects.json"
        self.projects = self.root / "projects.json"
        self.state = self.root / "state.json"
        self.trace_file = self.root / "trace.jsonl"
        self.lock = self.root / ".lock"
        self.cache = self.root / ".cache"
        self.rewrites = self.cache / "rewrites"  # another text after every rewrite of the log
        self.index = self.root / "index.db"
        self.conversations = self.root / "raw" / "conversations"
        self.memory = self.root / "knowledge" / "memory" / "MEMORY.md"
        self.patience = LOCK_SECONDS  # with another writer
        self.sync = sync  # forces an open file or folder to the disk
        self.opens: Callable[[], Any] | None = None  # the index, where it is not index.db
        self._depth = 0
        self._threads = threading.RLock()
        self._descriptor = -1

    def __repr__(self) -> str:
        return f"Home({str(self.root)!r})"

    def exists(self) -> bool:
        return self.config.is_file()

    def require(self) -> None:
        if not self.exists():
            raise NotInitialised(
                f"There is no Wakebook home in {self.root}. Run `wakebook setup` first, "
                "or point --home or WAKEBOOK_HOME at an existing one."
            )

    def relative(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()

    @contextmanager
    def reading(self, what: str) -> Iterator[bool]:
        """Whether this process is the only one that has a model read this. It waits a second."""
        import hashlib

        digest = hashlib.blake2b(what.encode("utf-8", "replace"), digest_size=8).hexdigest()
        path = self.cache / f"reading-{digest}.lock"
        self.folder(self.cache)
        while True:
            try:
                descriptor = _acquire(path, READING_SECONDS)
            except Locked:
                yield False
                return
            with suppress(FileNotFoundError):
                if path.stat().st_ino == os.fstat(descriptor).st_ino:
                    break
            os.close(descriptor)  # the process that held it has removed the file
        try:
            yield True
        finally:
            path.unlink(missing_ok=True)
            os.close(descriptor)

    @contextmanager
    def scratch(self, prefix: str) -> Iterator[Home]:
        """A folder below .cache for another home, which is thrown away."""
        import shutil
        import tempfile

        self.folder(self.cache)
        for left in self.cache.glob(f"{prefix}*"):
            if clock.age(left.stat().st_mtime) > LEFT_SECONDS:
                shutil.rmtree(left, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix=prefix, dir=self.cache) as folder:
            yield Home(folder)

    @contextmanager
    def locked(self, seconds: float = 0.0) -> Iterator[None]:
        """The writer lock of this home; re-entrant within a thread. 0: as patient as ever."""
        seconds = seconds or self.patience
        if not self._threads.acquire(timeout=seconds):
            raise Locked(f"Another thread has been writing to this home for {seconds:g} s.")
        try:
            if self._depth == 0:
                self._descriptor = _acquire(self.lock, seconds)
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
                if self._depth == 0:
                    os.close(self._descriptor)  # releases the lock; the process's end would, too
        finally:
            self._threads.release()

    def replace(self, path: Path, text: str | bytes, mode: int = 0o600) -> None:
        """Write a whole file atomically and durably."""
        import tempfile

        data = text.encode("utf-8") if isinstance(text, str) else text
        self.folder(path.parent)
        descriptor, temporary = tempfile.mkstemp(prefix=PREFIX, suffix=".tmp", dir=path.parent)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(data)
                stream.flush()
                self.sync(descriptor)
            os.chmod(temporary, mode)  # noqa: PTH101
            os.replace(temporary, path)  # noqa: PTH105
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            self.sync(folder)  # the new name as well
        finally:
            os.close(folder)

    def append(self, path: Path, data: bytes, durable: bool = True) -> None:
        """Add complete lines to a file with one write. Independent of the file's size."""
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            before = os.fstat(descriptor).st_size
            written = os.write(descriptor, data)
            if written != len(data):  # a full disk: leave no half line behind
                os.ftruncate(descriptor, before)
                raise OSError(28, "no space left on the device", str(path))
            if durable:
                try:
                    self.sync(descriptor)
                except OSError:  # it is not kept: nor is it there for whoever tries again
                    os.ftruncate(descriptor, before)
                    raise
        finally:
            os.close(descriptor)

    def folder(self, path: Path) -> None:
        """Create a folder of the home, each new level with 0700."""
        missing: list[Path] = []
        while not path.is_dir():
            missing.append(path)
            path = path.parent
        for level in reversed(missing):
            level.mkdir(mode=0o700, exist_ok=True)

    def sweep_temporary(self) -> None:
        """Remove what a killed `replace` left behind. Only under the lock."""
        for below in WRITTEN:
            for leftover in self.root.glob(f"{below}{PREFIX}*.tmp"):
                leftover.unlink(missing_ok=True)

    def trace(self, event: str, **details: Any) -> None:
        """Note what happened (failures above all). Not in git, and kept small. A disk that takes no
        note must not fail the work that the note is about: `doctor` and `status` see the disk."""
        record = {"at": clock.iso(clock.now()), "event": event, **details}
        line = json.dumps(record, ensure_ascii=False, default=str) + "\n"
        with suppress(OSError):
            if self.trace_file.exists() and self.trace_file.stat().st_size > TRACE_BYTES:
                self.trace_file.replace(self.trace_file.with_suffix(".old.jsonl"))
            self.append(self.trace_file, line.encode("utf-8", "replace"), durable=False)

    def traces(self, event: str, last: int = 20) -> list[dict[str, Any]]:
        """The newest traces of one event, oldest first."""
        from wakebook.base.decode import loads

        lines: list[bytes] = []
        for path in (self.trace_file.with_suffix(".old.jsonl"), self.trace_file):
            with suppress(FileNotFoundError):
                lines += path.read_bytes().splitlines()
        found: list[dict[str, Any]] = []
        while lines and len(found) < last:
            with suppress(ValueError):  # half a line that a crash left
                record = loads(lines.pop())
                if isinstance(record, dict) and record.get("event") == event:
                    found.append(record)
        return found[::-1]


def _acquire(path: Path, seconds: float) -> int:
    """A descriptor that holds the lock on this file until it is closed. Raises Locked."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    deadline = clock.monotonic() + seconds
    pause = 0.005
    try:
        while True:
            with suppress(BlockingIOError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return descriptor
            if clock.monotonic() >= deadline:
                raise Locked(
                    f"Another process has been writing to this home for {seconds:g} s ({path}). "
                    "Wait for it, or stop it if it hangs: the lock is released when it ends."
                )
            clock.sleep(pause)
            pause = min(pause * 1.5, 0.1)
    except BaseException:
        os.close(descriptor)
        raise
