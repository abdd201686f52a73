"""The key of a cached answer: what the answer was made from.

`wakebook wake` is run by a host that waits for it. Its text is kept with the key of the
files behind it, so that most calls only compare a few file times. This module is on that
path: it imports next to nothing.
"""

import os

from wakebook.base import clock
from wakebook.version import __version__

FOLDER = ".cache"
PROSE = f"{FOLDER}/briefing.json"
MEMORY = "knowledge/memory/MEMORY.md"
SOURCES = ("log.jsonl", "subjects.json", "projects.json", "state.json", "config.toml", MEMORY)


def key(root: str) -> str:
    """Changes when a source changes (size, time or file), and with the day."""
    parts = [__version__, clock.now().strftime("%Y-%m-%d")]
    for name in SOURCES:
        try:
            found = os.stat(f"{root}/{name}")  # noqa: PTH116
        except OSError:
            parts.append(f"{name}:-")
        else:
            parts.append(f"{name}:{found.st_size}:{found.st_mtime_ns}:{found.st_ino}")
    return " ".join(parts)


def wake_file(cwd: str) -> str:
    """Where the text of `wakebook wake` is kept that was asked for in a folder."""
    from binascii import crc32

    return f"wake/{crc32(cwd.encode('utf-8', 'replace')):08x}.md"


def read(root: str, name: str, also: str = "") -> str | None:
    """The cached text, if what it was made from is unchanged. `also`: more of its key."""
    try:
        with open(f"{root}/{FOLDER}/{name}", encoding="utf-8") as stream:  # noqa: PTH123
            return stream.read() if stream.readline().rstrip("\n") == key(root) + also else None
    except (OSError, UnicodeDecodeError):
        return None
