"""Keyed hashes: how the home knows again what it must not keep.

The key is made when it is first needed, lies in `forget.key` (0600) and is never in git. Without
it a hash says nothing, not even to somebody who guesses; with it, a guess can be checked. Each
hash has the first characters of its key's own hash beside it, so that a lost key is noticed.
"""

import hashlib
import os
from pathlib import Path

from wakebook.base.errors import WakebookError
from wakebook.base.home import Home

FILE = "forget.key"
SIZE = 32


def key(home: Home) -> bytes:
    """The key, or nothing if there is none. Raises WakebookError."""
    path = _path(home)
    try:
        found = bytes.fromhex(path.read_text(encoding="ascii").strip())
    except FileNotFoundError:
        return b""
    except (OSError, ValueError) as error:
        raise WakebookError(
            f"{path} cannot be read ({error}). Bring it back from a backup: without it Wakebook "
            "does not know again what you have forgotten. If it is lost, remove the file."
        ) from error
    return found


def _path(home: Home) -> Path:
    """Of the home; a copy of it below .cache (a rebuild, an exploration) has the same key."""
    above = [one.parent for one in home.root.parents if one.name == ".cache"]
    return (above[-1] if above else home.root) / FILE


def made(home: Home) -> bytes:
    """The key; a new one if there is none. Under the writer lock."""
    found = key(home)
    if not found:
        found = os.urandom(SIZE)
        home.replace(_path(home), found.hex() + "\n")
    return found


def mark(secret: bytes) -> str:
    """Which key it is."""
    return hashed(secret, "key", size=4) if secret else ""


def hashed(secret: bytes, *parts: str, size: int = 12) -> str:
    data = "\0".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=size, key=secret).hexdigest()
