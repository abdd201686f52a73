"""Migrations, roles and the tenant of a transaction."""

from __future__ import annotations

import psycopg
import pytest

from tests.team.postgres import database
from wakebook.base.errors import Unavailable, WakebookError
from wakebook.team.database import Database, without_password
from wakebook.team.schema import migrate, migrations, require


def own(url: str, sql: str) -> list[tuple[object, ...]]:
    """As the owner, past everything."""
    with psycopg.connect(url, autocommit=True) as connection:
        done = connection.execute(sql.encode())
        return done.fetchall() if done.description else []


def test_a_second_init_changes_nothing(server: tuple[str, str]) -> None:
    with database(server[0]) as url:
        assert migrate(url) == []
        require(Database(url))


def test_older_newer_and_changed_schemas_are_said(url: str) -> None:
    db = Database(url)
    own(url, "INSERT INTO wakebook.migration VALUES (999, 'later', 'x')")
    with pytest.raises(WakebookError, match="newer Wakebook"):
        require(db)
    with pytest.raises(WakebookError, match="newer Wakebook"):
        migrate(url)
    own(url, f"DELETE FROM wakebook.migration WHERE number >= {len(migrations())}")
    with pytest.raises(WakebookError, match="wakebook team init"):
        require(db)
    own(url, "UPDATE wakebook.migration SET digest = 'other' WHERE number = 1")
    with pytest.raises(WakebookError, match="another text"):
        require(db)
    db.close()


def test_a_database_without_wakebook_says_so(server: tuple[str, str]) -> None:
    with database(server[0], "template0") as url, pytest.raises(WakebookError, match="team init"):
        require(Database(url))
    with pytest.raises(Unavailable, match="does not answer"):
        require(Database("postgresql://nobody@127.0.0.1:1/none", patience=0.3))


def test_a_transaction_sees_its_tenant_alone(url: str) -> None:
    db = Database(url)
    with db.admin() as connection:
        for name in ("ada", "bo"):
            connection.execute("INSERT INTO home (name) VALUES (%s)", (name,))
        numbers = dict(connection.execute("SELECT name, tenant FROM home").fetchall())
        connection.execute("INSERT INTO done VALUES (%s, 'job'), (%s, 'job')", [*numbers.values()])
    with db.tenant(numbers["ada"]) as connection:
        assert connection.execute("SELECT name FROM home").fetchall() == [("ada",)]
        assert connection.execute("SELECT tenant FROM done").fetchall() == [(numbers["ada"],)]
        connection.execute("UPDATE home SET version = 7")
        assert connection.execute("DELETE FROM done").rowcount == 1
    with db.tenant(numbers["bo"]) as connection:
        assert connection.execute("SELECT version FROM home").fetchall() == [(0,)]
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
            connection.execute("INSERT INTO done VALUES (%s, 'other')", (numbers["ada"],))
    for sql in ("SELECT * FROM home", "SELECT * FROM segment", "UPDATE done SET result = ''"):
        with db.anyone() as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(sql.encode())
    for sql in ("SELECT * FROM token", "UPDATE home SET most_bytes = NULL", "DELETE FROM home"):
        with (
            db.tenant(numbers["bo"]) as connection,
            pytest.raises(psycopg.errors.InsufficientPrivilege),
        ):
            connection.execute(sql.encode())
    db.close()


def test_the_app_owns_nothing_and_every_table_of_a_tenant_is_guarded(url: str) -> None:
    sql = "SELECT count(*) FROM pg_class JOIN pg_roles ON relowner = pg_roles.oid WHERE rolname = "
    assert own(url, f"{sql}'wakebook_app'") == [(0,)]
    bare = own(
        url,
        "SELECT relname FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid "
        "WHERE relnamespace = 'wakebook'::regnamespace AND attname = 'tenant' "
        "AND relkind IN ('r', 'p') AND NOT relispartition "
        "AND NOT (relrowsecurity AND relforcerowsecurity)",
    )
    assert bare == []
    reach = own(
        url,
        "SELECT relname FROM pg_class WHERE relispartition AND relkind = 'r' "
        "AND has_table_privilege('wakebook_app', oid, 'SELECT')",
    )
    assert reach == []  # a partition by its own name would have no policy


def test_a_password_is_never_shown() -> None:
    shown = without_password("postgresql://me:hunter2@db/wb?password=hunter2&x=1")
    assert shown == "postgresql://me:…@db/wb?password=…&x=1"
