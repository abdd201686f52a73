"""What the page is made of besides markup: style, script, and the libraries of others.

An asset's address has a part of its hash in it, so that a browser keeps it until it changes.
`vendored.toml` has the origin, version, licence and hash of what is not our own.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple

MEDIA = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


class Asset(NamedTuple):
    body: bytes
    media: str
    mark: str  # in its address


def _read() -> dict[str, Asset]:
    found = {}
    for path in sorted(Path(__file__).parent.iterdir()):
        if path.suffix in MEDIA:
            body = path.read_bytes()
            mark = hashlib.sha256(body).hexdigest()[:12]
            found[path.name] = Asset(body, MEDIA[path.suffix], mark)
    return found


ALL = _read()


def address(name: str) -> str:
    return f"/page/assets/{ALL[name].mark}/{name}"
