"""Schema: the tables, roles and policies, made by numbered migrations that only go forward.

A migration and its record share a transaction. Its sum is kept, so that a text that was changed
after it ran is noticed. Later migrations only add: what an older Wakebook knows stays, so that two
versions can serve while one replaces the other; only starting an old one on a newer schema is
refused.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

from wakebook.base.errors import WakebookError
from wakebook.team.database import ADMIN, APP, SCHEMA, Database, not_made, without_password

if TYPE_CHECKING:
    from psycopg import Connection

    from wakebook.team.database import Row

JOBS = 2  # the migration before which procrastinate makes its own tables
LOCK = 7311_000_022  # of the one process that changes the schema


class Migration(NamedTuple):
    number: int
    name: str
    text: str

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


@cache
def migrations() -> tuple[Migration, ...]:
    folder = resources.files("wakebook") / "team" / "migrations"
    found = sorted(one.name for one in folder.iterdir() if one.name.endswith(".sql"))
    made = [
        Migration(int(name[:3]), name[4:-4], (folder / name).read_text(encoding="utf-8"))
        for name in found
    ]
    assert [one.number for one in made] == list(range(1, len(made) + 1)), found
    return tuple(made)


def migrate(url: str) -> list[str]:
    """Bring the schema up to date: the names of the migrations that ran. Run by its owner."""
    import psycopg

    try:
        with psycopg.connect(url, autocommit=True, application_name="wakebook init") as connection:
            return _migrated(connection, url)
    except psycopg.Error as error:
        said = str(error).strip().splitlines()[0]
        raise WakebookError(f"{without_password(url)}: {said}. Nothing was changed.") from error


def _migrated(connection: Connection[Row], url: str) -> list[str]:
    ran: list[str] = []
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
        connection.execute(_ROLES)
        connection.execute(f"SET LOCAL search_path = {SCHEMA}, public")
        known = _applied(connection)
        _check(known, url, starting=True)
        for one in migrations()[len(known) :]:
            if one.number == JOBS:
                connection.execute(_procrastinate())
            connection.execute(one.text.encode())
            connection.execute(
                "INSERT INTO migration VALUES (%s, %s, %s)", (one.number, one.name, one.digest)
            )
            ran.append(f"{one.number:03} {one.name}")
    return ran


def require(db: Database) -> None:
    """Raises WakebookError if the schema is not the one that this Wakebook knows."""
    import psycopg

    with db.anyone() as connection:
        try:
            known = _applied(connection)
        except psycopg.Error as error:
            raise not_made(db.url) from error
    _check(known, db.url)


def _applied(connection: Connection[Row]) -> list[Row]:
    found = connection.execute("SELECT number, name, digest FROM migration ORDER BY number")
    return found.fetchall()


def _check(known: list[Row], url: str, *, starting: bool = False) -> None:
    own, where = migrations(), without_password(url)
    for (number, name, digest), one in zip(known, own, strict=False):
        if digest != one.digest:
            raise WakebookError(
                f"{where}: migration {number:03} ({name}) ran from another text than this "
                "Wakebook's. Use the version of Wakebook that made this database, or a later one."
            )
    if len(known) > len(own):
        raise WakebookError(
            f"{where} was made by a newer Wakebook (schema {len(known)}, this one knows "
            f"{len(own)}). Upgrade Wakebook here."
        )
    if len(known) < len(own) and not starting:
        raise WakebookError(
            f"{where} has schema {len(known)}, and this Wakebook needs {len(own)}. Run "
            "`wakebook team init` with it; older servers and workers go on meanwhile."
        )


def _procrastinate() -> bytes:
    from procrastinate.schema import SchemaManager

    return SchemaManager.get_schema().encode()


_ROLES = f"""
DO $$
DECLARE one text;
BEGIN
    FOREACH one IN ARRAY ARRAY['{APP}', '{ADMIN}'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = one) THEN
            EXECUTE format('CREATE ROLE %I NOLOGIN NOBYPASSRLS', one);
        END IF;
        EXECUTE format('GRANT %I TO CURRENT_USER', one);
    END LOOP;
END $$;
CREATE SCHEMA IF NOT EXISTS {SCHEMA};
GRANT USAGE ON SCHEMA {SCHEMA} TO {APP}, {ADMIN};
GRANT CREATE ON SCHEMA {SCHEMA} TO {ADMIN};
CREATE TABLE IF NOT EXISTS {SCHEMA}.migration (
    number int PRIMARY KEY, name text NOT NULL, digest text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
);
GRANT SELECT ON {SCHEMA}.migration TO {APP}, {ADMIN};
""".encode()
