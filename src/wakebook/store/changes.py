"""Changes: whether there is anything to index. A search asks this first, and mostly it is no."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from stat import S_ISREG
from typing import Any
from zlib import crc32

from wakebook.base.home import WITHHELD, Home
from wakebook.store import Store, words

SUFFIXES = (".md", ".txt")
FOLDERS = ("knowledge", "topics", "archive", "raw/conversations")
SECONDS = 30  # that ripgrep may take
TAIL = 256  # bytes before the place where the log was left, to see that it is the same log

Stat = tuple[int, int]  # time and size of a file


def any_(store: Store, home: Home, extra: Sequence[Path]) -> bool:
    """Whether the log, a note, a transcript or the subjects differ from what is indexed."""
    if in_log(store, home) or store.get("subjects_mark") != mark(home, home.subjects):
        return True
    if store.get("withheld", {}).get("mark") != mark(home, home.root / WITHHELD):
        return True
    known = store.db.execute("SELECT path, modified, size FROM file")
    found = dict(files(home, extra))
    return {path: (modified, size) for path, modified, size in known} != found


def in_log(store: Store, home: Home) -> bool:
    """Whether the log is another one than when its entries were last indexed."""
    known = store.get("indexed", {})
    return bool(known != log_mark(home, known.get("size", 0)))


def log_mark(home: Home, size: int) -> dict[str, Any]:
    """How far the log was read, how long it is now, and which log it is."""
    try:
        with home.log.open("rb") as stream:
            there = os.fstat(stream.fileno())
            stream.seek(max(0, size - TAIL))
            tail = crc32(stream.read(min(size, TAIL)))
    except FileNotFoundError:
        return {"size": 0, "end": 0}
    number = 0 if home.opens else there.st_ino
    same = [number, tail, mark(home, home.rewrites)]
    return {"size": size, "end": there.st_size, "same": same}


def mark(home: Home, path: Path) -> list[int] | None:
    """Which file it is, as far as its time, size and number tell; its text, if the folder is one
    of several working copies."""
    try:
        if home.opens:
            text = path.read_bytes()
            return [crc32(text), len(text), 0]
        there = path.stat()
    except OSError:
        return None
    return [there.st_mtime_ns, there.st_size, there.st_ino]


def files(
    home: Home, extra: Sequence[Path], folders: Sequence[str] = FOLDERS
) -> Iterator[tuple[str, Stat]]:
    """Every note and transcript of the home, and some files outside of it."""
    root = str(home.root)
    waiting = [f"{root}/{folder}" for folder in folders]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    elif entry.name.endswith(SUFFIXES) and entry.name[0] != ".":
                        found = _stat(entry)
                        if found:
                            yield _readable(entry.path[len(root) + 1 :]), found
        except PermissionError:
            yield _readable(folder[len(root) + 1 :]) + "/", (0, 0)
        except OSError:  # no such folder, or gone meanwhile
            continue
    for other in extra:
        found = _stat(other)
        if found:
            yield str(other), found


def _stat(path: os.DirEntry[str] | Path) -> Stat | None:
    """Time and size of an ordinary file. A pipe, or a link that leads nowhere, is none."""
    try:
        there = path.stat()
    except OSError:
        return None
    return (there.st_mtime_ns, there.st_size) if S_ISREG(there.st_mode) else None


def _readable(path: str) -> str:
    """A path that can be written down, even if the file's name is not UTF-8."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


# --- without an index --------------------------------------------------------------------
def holding(root: Path, text: str) -> tuple[str, set[str]]:
    """What looked, and the files (relative to the home) with one of the words in them. ripgrep
    looks if it is there; otherwise every file is read. It is slow and knows no meaning, which is
    why a result that comes this way says so."""
    asked = (word.word for word in words.asked(text, ()) if not word.common)
    # the beginning that a word's forms share, near enough
    wanted = sorted({one if len(one) < 5 else one[: max(4, len(one) - 3)] for one in asked})
    folders = [folder for folder in FOLDERS if (root / folder).is_dir()]
    tool = shutil.which("rg") if wanted and folders else None
    found = _ripgrep(tool, root, folders, wanted) if tool else None
    if found is not None:
        return "ripgrep", found
    below = (path for folder in folders for path in (root / folder).rglob("*"))
    notes = (path for path in below if path.suffix in SUFFIXES)
    held = (path for path in notes if not wanted or _holds(path, wanted))
    return "a plain scan", {path.relative_to(root).as_posix() for path in held}


def _ripgrep(tool: str, root: Path, folders: list[str], wanted: list[str]) -> set[str] | None:
    patterns = [part for word in wanted for part in ("-e", word)]
    command = [tool, *"-l -i -F -0 --no-ignore --no-config".split(), *patterns, "--", *folders]
    try:
        done = subprocess.run(command, cwd=root, capture_output=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode not in (0, 1):
        return None
    return {name.decode("utf-8", "surrogateescape") for name in done.stdout.split(b"\0") if name}


def _holds(path: Path, wanted: list[str]) -> bool:
    try:
        text = path.read_text(encoding="utf-8", errors="replace").casefold()
    except OSError:
        return False
    return any(word in text for word in wanted)
