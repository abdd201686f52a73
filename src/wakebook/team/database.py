"""Database: one PostgreSQL, and the only ways to speak to it: for a tenant, or as an administrator.

Every transaction names its role and its tenant for itself alone (`set_config(…, true)`), so that a
pooler that hands out connections by transaction fits. A connection that was lost is replaced while
nothing has been done on it yet; after that, the caller is told, and decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

from wakebook.base import clock
from wakebook.base.errors import Unavailable, WakebookError

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg_pool import ConnectionPool

SCHEMA = "wakebook"
APP, ADMIN = "wakebook_app", "wakebook_admin"
PATIENCE = 10.0  # seconds that a transaction waits for a database that is gone
TABLES, INDEX = "wakebook,public", "wakebook_index"  # where statements look for tables
_LOOK = b"wakebook_look"
_STILL = "ISOLATION LEVEL REPEATABLE READ READ ONLY"
WATCHFUL = {  # a machine that has gone without a word is noticed within half a minute
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "tcp_user_timeout": 30_000,
}
FULL = ("53100", "53200")  # what PostgreSQL says if its disk, or its memory, is full

Row = tuple[Any, ...]


class Database:
    """Connections are made when they are needed. For any number of threads."""

    def __init__(self, url: str, *, size: int = 8, patience: float = PATIENCE) -> None:
        try:
            import psycopg  # noqa: F401
            import psycopg_pool  # noqa: F401
        except ImportError as error:
            raise WakebookError(
                f"{error}. The server for teams needs more packages: `pip install wakebook[team]`."
            ) from error
        self.url = url
        self.patience = patience
        self._size = size

    def __repr__(self) -> str:
        return f"Database({without_password(self.url)!r})"

    @cached_property
    def _pool(self) -> ConnectionPool:
        from psycopg_pool import ConnectionPool

        return ConnectionPool(
            self.url,
            min_size=0,
            max_size=self._size,
            open=True,
            timeout=self.patience,
            reconnect_timeout=self.patience,
            kwargs={"autocommit": True, "application_name": "wakebook", **WATCHFUL},
        )

    @contextmanager
    def tenant(
        self, tenant: int, *, path: str = TABLES, still: bool = False
    ) -> Iterator[Connection[Row]]:
        """A transaction that sees the rows of this tenant, and no others. `still`: all of it as it
        was at one moment."""
        with self._transaction(APP, str(int(tenant)), path, still) as connection:
            yield connection

    def look(self, tenant: int) -> tuple[int, float | None, bool] | None:
        """Whether anything has changed (see the migration), in one question without a transaction,
        and as near to libpq as can be: it is asked before every search. None if there is no answer
        at once."""
        import psycopg_pool
        from psycopg.pq import ExecStatus

        try:
            connection = self._pool.getconn(self.patience)
        except (psycopg_pool.PoolTimeout, psycopg_pool.PoolClosed):
            return None
        try:
            server, given = connection.pgconn, [str(int(tenant)).encode()]
            found = server.exec_prepared(_LOOK, given)
            if (
                found.status == ExecStatus.FATAL_ERROR
            ):  # by this connection, or behind a pooler, it is the first
                server.prepare(_LOOK, b"SELECT * FROM wakebook.look($1)")
                found = server.exec_prepared(_LOOK, given)
            if not found.ntuples:
                return None
            change, most, shares = (found.get_value(0, at) for at in range(3))
            return int(change or 0), float(most) if most else None, shares == b"t"
        finally:
            self._pool.putconn(connection)

    @contextmanager
    def anyone(self) -> Iterator[Connection[Row]]:
        """A transaction without a tenant: for the few functions that need none."""
        with self._transaction(APP, "") as connection:
            yield connection

    @contextmanager
    def admin(self) -> Iterator[Connection[Row]]:
        """A transaction that sees every tenant's rows; the login has to be an administrator."""
        with self._transaction(ADMIN, "") as connection:
            yield connection

    @contextmanager
    def _transaction(
        self, role: str, tenant: str, path: str = TABLES, still: bool = False
    ) -> Iterator[Connection[Row]]:
        import psycopg

        # all at once: every question to the server costs a way there and back
        values = {"search_path": path, "role": role, "wakebook.tenant": tenant}
        values["plan_cache_mode"] = "force_generic_plan"  # planning costs more than it gains
        several = ", ".join(
            f"set_config('{key}', '{value}', true)" for key, value in values.items()
        )
        connection = self._entered(role, f"BEGIN {_STILL if still else ''}; SELECT {several}")
        try:
            yield connection
            connection.execute("COMMIT")
        except psycopg.OperationalError as error:
            raise _unavailable(self.url, error) from error
        finally:
            with suppress(psycopg.Error):
                if not connection.closed and connection.info.transaction_status:
                    connection.execute("ROLLBACK")
            self._pool.putconn(connection)

    def _entered(self, role: str, begin: str) -> Connection[Row]:
        """A connection in a transaction. Waits for a database that comes back."""
        import psycopg
        import psycopg_pool

        deadline = clock.monotonic() + self.patience
        while True:
            left = deadline - clock.monotonic()
            try:
                connection = self._pool.getconn(max(left, 0.1))
            except (psycopg_pool.PoolTimeout, psycopg_pool.PoolClosed) as error:
                raise _unavailable(self.url, error) from error
            try:
                connection.execute(begin.encode(), prepare=False)
                return connection
            except psycopg.errors.InsufficientPrivilege as error:
                connection.execute("ROLLBACK")
                self._pool.putconn(connection)
                raise WakebookError(
                    f"{without_password(self.url)}: {_said(error)}. Grant it: `GRANT {role} TO` "
                    "the user of this address."
                ) from error
            except psycopg.errors.InvalidParameterValue as error:  # there is no such role
                connection.execute("ROLLBACK")
                self._pool.putconn(connection)
                raise not_made(self.url) from error
            except psycopg.OperationalError as error:
                connection.close()
                self._pool.putconn(connection)
                if clock.monotonic() >= deadline:
                    raise _unavailable(self.url, error) from error
                clock.sleep(0.05)

    def close(self) -> None:
        if "_pool" in vars(self):
            self._pool.close()
            del vars(self)["_pool"]


def not_made(url: str) -> WakebookError:
    return WakebookError(
        f"{without_password(url)} has no Wakebook in it yet. Run `wakebook team init` first."
    )


def _unavailable(url: str, error: Exception) -> Unavailable:
    if (getattr(error, "sqlstate", None) or "").startswith(FULL):
        return Unavailable(
            f"PostgreSQL ({without_password(url)}) has no room left: {_said(error)}. Nothing was "
            "changed; try again when its administrator has made room."
        )
    return Unavailable(
        f"PostgreSQL ({without_password(url)}) does not answer: {_said(error)}. Nothing is lost; "
        "try again when it is back."
    )


def _said(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


def without_password(url: str) -> str:
    """An address as it may be shown."""
    return re.sub(r"(://[^:/@]*):[^@]*@", r"\1:…@", re.sub(r"(password=)[^&\s]*", r"\1…", url))
