"""Embedder: text in, vectors out. The one interface, and which one is used.

Vectors of two models are never compared: an embedder's `name` says all that its vectors
depend on, and an index remembers the name that it was made with. Rows have unit length
and one dimension for the life of the embedder; an empty text is all zeros.

Nothing leaves the machine unless config.toml or a variable of Wakebook's own says so. A key
that lies in the environment for other programs (OPENAI_API_KEY) is used only if config.toml
names its provider.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import sys
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from wakebook.base import config
from wakebook.base.errors import BadModelOutput, ConfigError, ModelUnavailable
from wakebook.models import model as keys

Rows = Sequence[Sequence[float]]  # lists, or the rows of a numpy array

LOCAL = ("onnx", "sentence-transformers")
SERVED = ("openai", "gemini", "ollama", "compatible")
PROVIDERS = ("auto", "builtin", "none", *SERVED, *LOCAL)
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
    embedder = _make(provider, settings, environ)
    if provider in SERVED:
        why += _about_the_key(provider, settings, environ)
    return Choice(embedder, embedder.name, f"{embedder.name}: {why}")


def _provider(settings: config.Embedding, environ: Mapping[str, str]) -> tuple[str, str]:
    """The provider's name, and why it is this one."""
    if settings.provider not in PROVIDERS:
        import difflib

        close = difflib.get_close_matches(settings.provider, PROVIDERS, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(PROVIDERS)}."
        raise ConfigError(f"[embedding] provider is {settings.provider!r}; {hint}")
    if settings.provider != "auto":
        return settings.provider, "[embedding] provider names it"
    if settings.base_url:
        return "compatible", "[embedding] base_url names its server"
    if settings.model and config.expand(settings.model).is_dir():
        return _kind_of_folder(config.expand(settings.model)), "[embedding] model is its folder"
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


def _kind_of_folder(folder: Path) -> str:
    from wakebook.models import local

    return "onnx" if local.onnx_file(folder) else "sentence-transformers"


def _make(provider: str, settings: config.Embedding, environ: Mapping[str, str]) -> Embedder:
    if provider == "builtin":
        from wakebook.models.builtin import Builtin

        return Builtin()
    if provider in LOCAL:
        from wakebook.models import local

        return local.make(provider, settings)
    from wakebook.models import remote

    return remote.make(provider, settings, environ)


def _about_the_key(provider: str, settings: config.Embedding, environ: Mapping[str, str]) -> str:
    find: Callable[[], str] = keys.finder(provider, "[embedding]", settings, environ)
    try:
        find()
    except ModelUnavailable as error:
        return f", but it cannot be asked: {error}"
    return ""


# -----------------------------------------------------------------------------
# Kept: an embedder whose vectors are kept, so that no text is paid for twice.
#
# A SQLite file beside the other things that can be deleted. The key is the hash of the model's
# name (with all that its vectors depend on), of the text, and of whether it is a question; the
# value is the row as 32-bit numbers. Every batch is stored as soon as it is there. A file that is
# damaged is set aside, one that cannot be written or stays locked is done without: `problem` says
# so, and the vectors come anyway.

BATCH = 64
BUSY_SECONDS = 5.0
_SCHEMA = """
CREATE TABLE IF NOT EXISTS vectors_1 (key BLOB PRIMARY KEY, row BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS models_1 (name TEXT PRIMARY KEY, dimensions INTEGER NOT NULL);
"""
_SELECT = "SELECT row FROM vectors_1 WHERE key = ?"


def _silent(done: int, total: int) -> None:
    pass


class Kept:
    def __init__(
        self, embedder: Embedder, path: Path, batch: int = BATCH, busy: float = BUSY_SECONDS
    ) -> None:
        self.name = embedder.name
        self.remote = embedder.remote
        self.problem = ""  # what is the matter with the file, in one sentence for people
        self._embedder = embedder
        self._path = path
        self._batch = batch
        self._busy = busy
        self._usable = True  # the file; a new call of `embed` tries again

    def __repr__(self) -> str:
        return f"Kept({self._embedder!r})"

    def embed(
        self,
        texts: Sequence[str],
        *,
        query: bool = False,
        progress: Callable[[int, int], None] = _silent,
    ) -> list[array[float]]:
        """Rows from the file; only what is not there is asked for.

        `progress` is told how many of the texts that had to be asked for are done.
        """
        self._usable = True
        keys = [self._key(text, query) for text in texts]
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

    def _key(self, text: str, query: bool) -> bytes:
        whole = f"{self.name}\0{'query' if query else 'document'}\0{text}"
        return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).digest()

    def _agree(self, dimensions: set[int]) -> None:
        if len(dimensions) > 1:
            raise BadModelOutput(
                f"{self.name} now gives vectors of another dimension "
                f"({' and '.join(map(str, sorted(dimensions)))} numbers). They are not mixed: "
                f"delete {self._path} so that all are made anew, or set another model."
            )

    # --- the file ------------------------------------------------------------------

    def _read(self, keys: set[bytes]) -> dict[bytes, array[float]]:
        rows: dict[bytes, array[float]] = {}
        with self._opened() as database:
            found: dict[bytes, array[float]] = {}
            for key in keys:
                for (blob,) in database.execute(_SELECT, (key,)) if database else ():
                    if isinstance(blob, bytes) and blob and len(blob) % 4 == 0:
                        found[key] = _unpacked(blob)
            rows |= found  # all or none: a damaged file is not trusted even where it can be read
        return rows

    def _write(self, fresh: dict[bytes, array[float]]) -> None:
        dimensions = {len(row) for row in fresh.values()}
        self._agree(dimensions)
        known: set[int] = set()
        with self._opened() as database:
            if database:
                query = "SELECT dimensions FROM models_1 WHERE name = ?"
                known = {number for (number,) in database.execute(query, (self.name,))}
                if known <= dimensions:
                    with database:
                        database.execute(
                            "INSERT OR IGNORE INTO models_1 VALUES (?, ?)",
                            (self.name, *dimensions),
                        )
                        database.executemany(
                            "INSERT OR REPLACE INTO vectors_1 VALUES (?, ?)",
                            ((key, _packed(row)) for key, row in fresh.items()),
                        )
        self._agree(dimensions | known)

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection | None]:
        """The file for one use; None if there is none to be had. What fails in it is noted."""
        if not self._usable:
            yield None
            return
        try:
            database = self._connect()
        except (sqlite3.Error, OSError) as error:
            self._note(error)
            yield None
            return
        with closing(database):
            try:
                yield database
            except sqlite3.Error as error:
                self._note(error)

    def _connect(self) -> sqlite3.Connection:
        if not self._path.exists():
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
        database = sqlite3.connect(self._path, timeout=self._busy)
        try:
            database.executescript(_SCHEMA)  # which writes only if something is missing
        except BaseException:
            database.close()
            raise
        return database

    def _note(self, error: Exception) -> None:
        self.problem = (
            f"Vectors cannot be kept in {self._path} ({error}), so they are made anew each time."
        )
        if isinstance(error, sqlite3.OperationalError | OSError):  # locked, read-only, full
            self._usable = False
            return
        aside = self._path.with_name(self._path.name + ".damaged")
        with suppress(OSError):
            self._path.replace(aside)
            self.problem = (
                f"The kept vectors in {self._path} were damaged ({error}). They were renamed to "
                f"{aside.name}, and are made anew."
            )


def _packed(row: array[float]) -> bytes:
    if sys.byteorder == "big":
        row = array("f", row)
        row.byteswap()
    return row.tobytes()


def _unpacked(blob: bytes) -> array[float]:
    row = array("f")
    row.frombytes(blob)
    if sys.byteorder == "big":
        row.byteswap()
    return row
