"""Tenants: who there is, what they may hold, who may ask for them, and whose memory others read.

Only an administrator's login may change any of this. A token is shown once and kept as its sha256;
whether it has expired is the database's clock to say.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from wakebook.base.errors import NotFound, WakebookError
from wakebook.team.database import INDEX, SCHEMA, Database

if TYPE_CHECKING:
    from psycopg import Connection

    from wakebook.team.database import Row

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
SCOPES = {  # what a token lets its bearer do
    "read": "search, context, get and the like",
    "write": "remember, upload conversations, and everything that changes the memory",
    "erase": "forget and erase",
}
DAYS = 90  # that a token is good for
LIMITS = ("bytes", "entries", "dollars")


class Tenant(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    name: str
    added_at: datetime
    version: int
    bytes: int
    entries: int
    dollars: float
    most_bytes: int | None
    most_entries: int | None
    most_dollars: float | None
    tokens: int  # that are good
    reads: tuple[str, ...]  # team memories
    aside: int  # jobs that were set aside


class Pass(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    tenant: str
    agent: str
    scopes: tuple[str, ...]
    expires_at: datetime
    text: str = ""  # the token itself, when it is made


class Bearer(msgspec.Struct, frozen=True):
    """Whoever has come with a good token."""

    tenant: int
    name: str
    agent: str
    scopes: tuple[str, ...]


def add(db: Database, name: str) -> int:
    if not NAME.fullmatch(name):
        raise WakebookError(
            f"{name!r:.80} cannot be the name of a tenant. Use up to 63 small letters, digits, "
            "dots, dashes and underscores, beginning with a letter or digit."
        )
    with db.admin() as connection:
        done = connection.execute(
            "INSERT INTO home (name) VALUES (%s) ON CONFLICT DO NOTHING RETURNING tenant", (name,)
        ).fetchone()
    if done is None:
        raise WakebookError(f"There is a tenant {name!r} already.")
    return int(done[0])


def number(db: Database, name: str) -> int:
    with db.admin() as connection:
        return _number(connection, name)


def _number(connection: Connection[Row], name: str) -> int:
    found = connection.execute("SELECT tenant FROM home WHERE name = %s", (name,)).fetchone()
    if found is None:
        raise NotFound(f"There is no tenant {name!r}. `wakebook team list` shows all.")
    return int(found[0])


def listed(db: Database, name: str = "") -> list[Tenant]:
    with db.admin() as connection:
        found = connection.execute(
            "SELECT tenant, name, added_at, version, bytes, entries, dollars, most_bytes, "
            "most_entries, most_dollars, "
            "(SELECT count(*) FROM token WHERE token.tenant = home.tenant AND revoked_at IS NULL "
            "AND expires_at > now()), "
            "ARRAY(SELECT other.name FROM shared JOIN home other ON other.tenant = owner "
            "WHERE reader = home.tenant ORDER BY 1), "
            "(SELECT count(*) FROM aside WHERE aside.tenant = home.tenant) "
            "FROM home WHERE %s IN ('', name) ORDER BY name",
            (name,),
        ).fetchall()
    names = Tenant.__struct_fields__
    rows = ((*row[:11], tuple(row[11]), row[12]) for row in found)
    return [Tenant(**dict(zip(names, row, strict=True))) for row in rows]


def limit(db: Database, name: str, **most: float | None) -> None:
    """Set quotas: bytes, entries, dollars a month; None: no limit."""
    with db.admin() as connection:
        tenant = _number(connection, name)
        for key, value in most.items():
            assert key in LIMITS
            sql = f"UPDATE home SET most_{key} = %s WHERE tenant = %s"  # noqa: S608
            connection.execute(sql.encode(), (value, tenant))


# --- tokens --------------------------------------------------------------------------------------


def digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()


def give(
    db: Database,
    name: str,
    *,
    agent: str = "",
    scopes: Sequence[str] = ("read", "write"),
    days: float = DAYS,
) -> Pass:
    """A new token. Its text is known to nobody else, and not kept."""
    for one in scopes:
        if one not in SCOPES:
            raise WakebookError(f"There is no scope {one!r}: {', '.join(SCOPES)}.")
    text, id_ = f"wb_{secrets.token_urlsafe(32)}", secrets.token_hex(4)
    with db.admin() as connection:
        tenant = _number(connection, name)
        made = connection.execute(
            "INSERT INTO token (digest, id, tenant, agent, scopes, expires_at) VALUES "
            "(%s, %s, %s, %s, %s, now() + %s * interval '1 day') RETURNING expires_at",
            (digest(text), id_, tenant, agent, list(scopes), days),
        ).fetchone()
    assert made is not None
    about: dict[str, Any] = {"agent": agent, "scopes": tuple(scopes), "expires_at": made[0]}
    return Pass(id=id_, tenant=name, text=text, **about)


def tokens(db: Database, name: str) -> list[Pass]:
    """Those that are good."""
    with db.admin() as connection:
        found = connection.execute(
            "SELECT id, agent, scopes, expires_at FROM token WHERE tenant = %s "
            "AND revoked_at IS NULL AND expires_at > now() ORDER BY added_at",
            (_number(connection, name),),
        ).fetchall()
    return [
        Pass(id=id_, tenant=name, agent=agent, scopes=tuple(scopes), expires_at=at)
        for id_, agent, scopes, at in found
    ]


def revoke(db: Database, id_: str) -> None:
    with db.admin() as connection:
        done = connection.execute(
            "UPDATE token SET revoked_at = now() WHERE id = %s AND revoked_at IS NULL", (id_,)
        )
    if done.rowcount == 0:
        raise NotFound(f"There is no good token {id_!r}. `wakebook team token NAME` lists them.")


def bearer(db: Database, token: str) -> Bearer | str:
    """Whose token it is, or why it is not good."""
    with db.anyone() as connection:
        found = connection.execute("SELECT * FROM token_of(%s)", (digest(token),)).fetchone()
    if found is None:
        return "That token is not known here."
    tenant, name, agent, scopes, expired, revoked = found
    if revoked:
        return "That token was revoked."
    return "That token has expired." if expired else Bearer(tenant, name, agent, tuple(scopes))


# --- team memories -------------------------------------------------------------------------------


def share(db: Database, owner: str, reader: str, *, stop: bool = False) -> None:
    """Let one tenant read another's memory, or no more."""
    if owner == reader:
        raise WakebookError("A tenant reads its own memory anyway.")
    with db.admin() as connection:
        pair = (_number(connection, owner), _number(connection, reader))
        if stop:
            connection.execute("DELETE FROM shared WHERE (owner, reader) = (%s, %s)", pair)
        else:
            sql = "INSERT INTO shared (owner, reader) VALUES (%s, %s) ON CONFLICT DO NOTHING"
            connection.execute(sql, pair)


def readable(db: Database, tenant: int) -> dict[int, str]:
    """The team memories that a tenant may read beside its own, by number."""
    with db.tenant(tenant) as connection:
        return dict(connection.execute("SELECT tenant, name FROM readable()").fetchall())


# --- removing ------------------------------------------------------------------------------------


def remove(db: Database, name: str) -> dict[str, int]:
    """Erase a tenant: how many rows went from which table. Working copies go with the next sweep
    of each machine; what backups hold stays there."""
    with db.admin() as connection:
        tenant = _number(connection, name)
        connection.execute("SELECT FROM home WHERE tenant = %s FOR UPDATE", (tenant,))
        gone: dict[str, int] = {}
        for table in (*_tables(connection), "home"):
            sql = f"DELETE FROM {table} WHERE tenant = %s"  # noqa: S608
            gone[table] = connection.execute(sql.encode(), (tenant,)).rowcount
        connection.execute(
            "DELETE FROM procrastinate_jobs WHERE lock = %s AND status <> 'doing'",
            (f"tenant {tenant}",),
        )
    return {table: count for table, count in gone.items() if count}


def _tables(connection: Connection[Row]) -> list[str]:
    """Every table that holds something of a tenant, whichever migration made it."""
    found = connection.execute(
        "SELECT CASE nspname WHEN %s THEN '' ELSE nspname || '.' END || quote_ident(relname) "
        "FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid "
        "JOIN pg_namespace spaces ON spaces.oid = relnamespace "
        "WHERE nspname IN (%s, %s) AND attname = 'tenant' AND relkind IN ('r', 'p') "
        "AND NOT relispartition AND relname <> 'home' AND NOT attisdropped ORDER BY 1",
        (SCHEMA, SCHEMA, INDEX),
    )
    return [row[0] for row in found]
