"""Embedder: text in, vectors out. The one interface, and which one is used.

Vectors of two models are never compared: an embedder's `name` says all that its vectors depend
on, and an index remembers it. Rows have unit length and one dimension for the life of the
embedder; an empty text is all zeros. Nothing leaves the machine unless config.toml or a variable
of Wakebook's own says so: OPENAI_API_KEY is used only if config.toml names its provider.
"""

from __future__ import annotations

import hashlib
import os
import sys
from array import array
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from wakebook.base import config
from wakebook.base.errors import BadModelOutput, ConfigError, ModelUnavailable

if TYPE_CHECKING:
    from sqlite3 import Connection

T = TypeVar("T")
Rows = Sequence[Sequence[float]]  # lists, or the rows of a numpy array

LOCAL = ("onnx", "sentence-transformers")
PROVIDERS = ("auto", "builtin", "none", "openai", "gemini", "ollama", "compatible", *LOCAL)
OWN_KEYS = {"openai": "WAKEBOOK_OPENAI_API_KEY", "gemini": "WAKEBOOK_GEMINI_API_KEY"}


class Embedder(Protocol):
    @property
    def name(self) -> str:
        """Identifies its vectors: "builtin", "openai/text-embedding-3-small"."""

    @property
    def remote(self) -> bool:
        """Slow or paid, so that vectors are kept and embedding many shows progress."""

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Rows:
        """A row a text, in order. Raises ModelUnavailable or BadModelOutput."""


@dataclass(frozen=True)
class Choice:
    embedder: Embedder | None  # None: search by words only, because the user said so
    name: str
    why: str  # one sentence for people


def choose(settings: config.Embedding, environ: Mapping[str, str]) -> Choice:
    """The embedder that the settings and the environment ask for, not yet tried out.

    Raises ConfigError for settings that do not fit together. A provider that has no key, or
    does not answer, is found out by `embed` (ModelUnavailable).
    """
    provider, why = _provider(settings, environ)
    if provider == "none":
        return Choice(None, "none", f"none: {why}")
    embedder: Embedder
    if provider == "builtin":
        from wakebook.models.builtin import Builtin

        embedder = Builtin()
    elif provider in LOCAL:
        from wakebook.models import local

        embedder = local.make(provider, settings)
    else:
        from wakebook.models.model import OverHttp

        embedder = remote = OverHttp(provider, settings, environ)
        try:
            remote.endpoint.key()
        except ModelUnavailable as error:
            why += f", but it cannot be asked: {error}"
    return Choice(embedder, embedder.name, f"{embedder.name}: {why}")


def _provider(settings: config.Embedding, environ: Mapping[str, str]) -> tuple[str, str]:
    """The provider's name, and why it is this one."""
    if settings.provider not in PROVIDERS:
        hint = config.nearest(settings.provider, PROVIDERS)
        raise ConfigError(f"[embedding] provider is {settings.provider!r}; {hint}")
    if settings.provider != "auto":
        return settings.provider, "[embedding] provider names it"
    if settings.base_url:
        return "compatible", "[embedding] base_url names its server"
    folder = config.expand(settings.model)
    if settings.model and folder.is_dir():
        from wakebook.models import local

        kind = "onnx" if local.onnx_file(folder) else "sentence-transformers"
        return kind, "[embedding] model is its folder"
    for provider, variable in OWN_KEYS.items():
        if environ.get(variable):
            return provider, f"{variable} is set"
    for name in ("model", "key_variable", "key_file"):
        if getattr(settings, name):
            raise ConfigError(
                f"[embedding] {name} is set, but nothing says whom to ask: it is no folder here, "
                f"and provider is auto. Set provider to one of {', '.join(PROVIDERS[1:])}."
            )
    return "builtin", "nothing else is configured"


BATCH = 64
BUSY_SECONDS = 5.0
_SCHEMA = """
CREATE TABLE IF NOT EXISTS vectors_1 (key BLOB PRIMARY KEY, row BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS models_1 (name TEXT PRIMARY KEY, dimensions INTEGER NOT NULL);
"""


class Kept:
    """An embedder whose vectors are kept in a SQLite file, so that no text is paid for twice.

    The key is the hash of the model's name (with all that its vectors depend on), of the text,
    and of whether it is a question; the value is the row as 32-bit numbers. Every batch is
    stored as soon as it is there. A damaged file is set aside, one that cannot be written or
    stays locked is done without: `problem` says so, and the vectors come anyway.
    """

    def __init__(
        self, embedder: Embedder, path: Path, batch: int = BATCH, busy: float = BUSY_SECONDS
    ) -> None:
        self.name, self.remote = embedder.name, embedder.remote
        self.problem = ""  # what is the matter with the file, in one sentence for people
        self._embedder, self._path = embedder, path
        self._batch, self._busy = batch, busy
        self._usable = True  # the file; a new call of `embed` tries again

    def embed(
        self,
        texts: Sequence[str],
        *,
        query: bool = False,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> list[array[float]]:
        """Rows from the file; only what is not there is asked for. `progress` is told how many of
        the texts that had to be asked for are done."""
        self._usable = True
        keys = [self.key(text, query) for text in texts]
        rows = self._read(set(keys))
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in rows}
        todo = list(missing)
        for start in range(0, len(todo), self._batch):
            batch = todo[start : start + self._batch]
            made = self._embedder.embed([missing[key] for key in batch], query=query)
            if len(made) != len(batch):
                raise BadModelOutput(f"{self.name}: {len(made)} rows for {len(batch)} texts.")
            fresh = {key: array("f", row) for key, row in zip(batch, made, strict=True)}
            self._write(fresh)
            rows |= fresh
            progress(min(start + self._batch, len(todo)), len(todo))
        self._agree({len(row) for row in rows.values()})
        return [rows[key] for key in keys]

    def key(self, text: str, query: bool) -> bytes:
        whole = f"{self.name}\0{'query' if query else 'document'}\0{text}"
        return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).digest()

    def _agree(self, dimensions: set[int]) -> None:
        if len(dimensions) > 1:
            raise BadModelOutput(
                f"{self.name} now gives vectors of another dimension "
                f"({' and '.join(map(str, sorted(dimensions)))} numbers). They are not mixed: "
                f"delete {self._path} so that all are made anew, or set another model."
            )

    def _read(self, keys: set[bytes]) -> dict[bytes, array[float]]:
        """All or none: a damaged file is not trusted even where it can be read."""

        def rows(database: Connection) -> dict[bytes, array[float]]:
            query = "SELECT row FROM vectors_1 WHERE key = ?"
            found = {key: database.execute(query, (key,)).fetchone() for key in keys}
            return {
                key: _little(array("f", row[0]))
                for key, row in found.items()
                if row and isinstance(row[0], bytes) and row[0] and len(row[0]) % 4 == 0
            }

        return self._used(rows) or {}

    def _write(self, fresh: dict[bytes, array[float]]) -> None:
        dimensions = {len(row) for row in fresh.values()}
        self._agree(dimensions)

        def write(database: Connection) -> set[int]:
            query = "SELECT dimensions FROM models_1 WHERE name = ?"
            known = {number for (number,) in database.execute(query, (self.name,))}
            if known <= dimensions:
                rows = ((key, _little(row).tobytes()) for key, row in fresh.items())
                with database:
                    row = (self.name, *dimensions)
                    database.execute("INSERT OR IGNORE INTO models_1 VALUES (?, ?)", row)
                    database.executemany("INSERT OR REPLACE INTO vectors_1 VALUES (?, ?)", rows)
            return known

        self._agree(dimensions | (self._used(write) or set()))

    def _used(self, act: Callable[[Connection], T]) -> T | None:
        """What `act` makes of the file; None if it cannot be had, and `problem` says why."""
        import sqlite3

        if not self._usable:
            return None
        try:
            if not self._path.exists():
                self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                os.close(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
            with closing(sqlite3.connect(self._path, timeout=self._busy)) as database:
                database.executescript(_SCHEMA)  # which writes only if something is missing
                return act(database)
        except (sqlite3.OperationalError, OSError) as error:  # locked, read-only, full
            self._usable = False
            self.problem = self._unkept(error)
        except sqlite3.Error as error:
            aside = self._path.with_name(self._path.name + ".damaged")
            self.problem = self._unkept(error)
            with suppress(OSError):
                self._path.replace(aside)
                self.problem = (
                    f"The kept vectors in {self._path} were damaged ({error}). They were renamed "
                    f"to {aside.name}, and are made anew."
                )
        return None

    def _unkept(self, error: Exception) -> str:
        return f"Vectors cannot be kept in {self._path} ({error}), so they are made anew each time."


def _little(row: array[float]) -> array[float]:
    """A row with the lowest byte of each number first, on every machine."""
    if sys.byteorder == "big":
        row = row[:]
        row.byteswap()
    return row
