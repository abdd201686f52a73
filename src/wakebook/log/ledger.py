"""Ledger: the log in memory, kept current by reading only what was added.

The chains that it gives grow with the log: whoever asks again gets what there is by then.

A rewrite (rename, merge, forget) gives the log a new inode and a new number, and a shrunk log was
set aside by hand: both make the ledger start over.
"""

from __future__ import annotations

import os

from wakebook.home import Home
from wakebook.log import log
from wakebook.log.chains import Chains, extend, resolve


class Ledger:
    def __init__(self, home: Home) -> None:
        self._home = home
        self._bad: list[log.BadLine] = []
        self._size = 0
        self._inode = 0
        self._number = ""
        self._chains = resolve(())

    def chains(self) -> Chains:
        """The log's entries with their replacements, as of now."""
        self._refresh()
        return self._chains

    def bad(self) -> list[log.BadLine]:
        self._refresh()
        return self._bad

    def size(self) -> int:
        self._refresh()
        return self._size

    def _refresh(self) -> None:
        try:
            found = os.stat(self._home.log)  # noqa: PTH116
            size, inode = found.st_size, found.st_ino
        except FileNotFoundError:
            size, inode = 0, 0
        number = log.rewrites(self._home)
        if size == self._size and inode == self._inode and number == self._number:
            return
        other = inode != self._inode or number != self._number
        if other or size < self._size or self._bad:
            self._chains, self._bad, self._size = resolve(()), [], 0
        reading = log.read(self._home, self._size)
        if reading.bad and self._size:  # line numbers count from the file's beginning
            self._chains = resolve(())
            reading = log.read(self._home)
        self._bad += reading.bad
        self._size, self._inode, self._number = reading.size, inode, number
        self._chains = extend(self._chains.copy(), reading.entries)  # others hold the old ones
