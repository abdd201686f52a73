"""One PostgreSQL for all tests of a session, and a database of its own for each."""

from __future__ import annotations

import os
from collections.abc import Iterator
from subprocess import SubprocessError

import pytest

if not os.environ.get("TEST_TEAM"):
    collect_ignore_glob = ["test_*.py"]  # `make test-team` runs them, CI some of them


@pytest.fixture(scope="session")
def server() -> Iterator[tuple[str, str]]:
    """The address of the server, and the name of a database with the schema."""
    from psycopg.conninfo import conninfo_to_dict

    from tests.team.postgres import database, postgres

    try:
        running = postgres()
        url = running.__enter__()
    except (ImportError, OSError, RuntimeError, SubprocessError) as error:
        pytest.skip(f"no PostgreSQL can be had here: {error}")
    try:
        with database(url) as template:
            yield url, str(conninfo_to_dict(template)["dbname"])
    finally:
        running.__exit__(None, None, None)


@pytest.fixture
def url(server: tuple[str, str]) -> Iterator[str]:
    """A database with the schema, and nothing in it."""
    from tests.team.postgres import database

    with database(*server) as made:
        yield made
