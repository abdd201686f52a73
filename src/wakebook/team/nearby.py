"""Nearby: the nearest chunks of one large archive by an approximate index, pgvector's HNSW.

Within a tenant everything is compared, which is exact, and quick up to some hundred thousand
chunks. `wakebook team nearest NAME approximate` is for an archive that is larger: its vectors stand
once more in a part of the table `near` that is its own, with an index of its own, because an index
over many tenants finds next to nothing of one. What the index finds is compared exactly; what words
have found is compared as ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import sqrt
from typing import TYPE_CHECKING, Any

from wakebook.base.errors import WakebookError
from wakebook.team.database import ADMIN, APP, INDEX, without_password

if TYPE_CHECKING:
    from wakebook.store import Edition
    from wakebook.store.question import Allowed
    from wakebook.team.database import Database
    from wakebook.team.store import TenantStore

LOOKED = 200  # chunks that the index looks at for a question, at least (hnsw.ef_search)
WIDE = 1000  # likewise where filters leave some out; pgvector takes no more
FEW = 20_000  # chunks within filters that are all compared
BATCH = 2000
MOST_MEMORY = 8192  # MB, while the index is made
_MINE = "current_setting('wakebook.tenant')::bigint"
_TABLE = f"""
    CREATE EXTENSION IF NOT EXISTS vector SCHEMA public;
    CREATE TABLE IF NOT EXISTS {INDEX}.near (id bigint NOT NULL, direction public.vector NOT NULL,
        tenant bigint NOT NULL DEFAULT {_MINE}) PARTITION BY LIST (tenant);
    ALTER TABLE {INDEX}.near ENABLE ROW LEVEL SECURITY;
    ALTER TABLE {INDEX}.near FORCE ROW LEVEL SECURITY;
    DROP POLICY IF EXISTS own ON {INDEX}.near;
    CREATE POLICY own ON {INDEX}.near TO {APP} USING (tenant = {_MINE});
    DROP POLICY IF EXISTS every ON {INDEX}.near;
    CREATE POLICY every ON {INDEX}.near TO {ADMIN} USING (true);
    GRANT SELECT, INSERT, UPDATE, DELETE ON {INDEX}.near TO {APP}, {ADMIN};
""".encode()


def switch(db: Database, tenant: int, *, on: bool) -> int:
    """Make the approximate index of a tenant, or do away with it: how many vectors are in it. The
    login has to own the tables."""
    import psycopg

    from wakebook.team.store import TenantStore

    store, part = TenantStore(db, tenant), f"{INDEX}.near_of_{int(tenant)}"
    try:
        with psycopg.connect(db.url, autocommit=True) as owner:
            if not on:
                with store.writing():
                    store.set("nearby", 0)
                    _changed(store)
                owner.execute(f"DROP TABLE IF EXISTS {part}".encode())
                return 0
            owner.execute(_TABLE)
            owner.execute(f"DROP TABLE IF EXISTS {part}".encode())
            sql = f"CREATE TABLE {part} PARTITION OF {INDEX}.near FOR VALUES IN ({int(tenant)})"
            owner.execute(sql.encode())
            with store.writing():  # from now on, writers keep it up to date
                dimension = int(store.get("dimension", 0) or 0)
                if not dimension:
                    raise WakebookError("This memory has no vectors yet.")
                store.set("nearby", dimension)
                count = _fill(store)
                _changed(store)
            room = min(MOST_MEMORY, 64 + count // 400)  # beyond its memory it is made slowly
            owner.execute(f"SET maintenance_work_mem = '{room}MB'".encode())
            for what in ("(id)", _by_direction(dimension)):
                owner.execute(f"CREATE INDEX ON {part} {what}".encode())
            owner.execute(f"ANALYZE {part}".encode())
            return count
    except psycopg.Error as error:
        said = str(error).strip().splitlines()[0]
        raise WakebookError(
            f"{without_password(db.url)}: {said}. It takes pgvector, and the login that ran "
            "`wakebook team init`."
        ) from error


def _changed(store: TenantStore) -> None:
    store.touch()
    store.db.execute("UPDATE wakebook.home SET change = change + 1")  # readers look again


def _by_direction(dimension: int) -> str:
    return f"USING hnsw ((direction::public.vector({dimension})) public.vector_cosine_ops)"


def _fill(store: TenantStore) -> int:
    count, last = 0, 0
    while True:
        sql = "SELECT id FROM vectors WHERE id > ? AND scale > 0 ORDER BY id LIMIT ?"
        ids = [number for (number,) in store.db.execute(sql, (last, BATCH))]
        if not ids:
            return count
        for places, numbers in store.numbers_of(ids):
            add(store, places.tolist(), numbers)
        count, last = count + len(ids), ids[-1]


def add(store: TenantStore, ids: Sequence[int], numbers: Any) -> None:
    """Keep some vectors: their numbers, whose length does not matter."""
    remove(store, ids)
    rows = [
        (number, f"[{','.join(map(str, row))}]")
        for number, row in zip(ids, numbers.tolist(), strict=True)
        if any(row)
    ]
    store.db.execute(
        "INSERT INTO near (id, direction) "
        "SELECT id, given::public.vector FROM unnest(?::bigint[], ?::text[]) AS new (id, given)",
        ([number for number, _ in rows], [text for _, text in rows]),
    )


def remove(store: TenantStore, ids: Iterable[int]) -> None:
    store.db.execute("DELETE FROM near WHERE id = ANY(?)", ([*ids],))


class Nearby:
    """Takes the place of `store.vectors.Nearest`. Nothing of the vectors stays in memory."""

    def __init__(self, store: TenantStore, dimension: int) -> None:
        self._store, self._dimension = store, dimension

    def search(
        self, wanted: Any, most: int, allowed: Allowed | None, also: Any, edition: Edition
    ) -> tuple[Any, Any]:
        """As `Nearest.search`, but that one of the nearest may be missing."""
        import numpy as np

        unit = np.asarray(wanted, np.float64)
        length = sqrt(unit @ unit)
        if not length or len(unit) != self._dimension:
            return also, np.zeros(len(also))
        near = self._near(unit / length, most, allowed, edition)
        ids = np.union1d(near, also).astype(np.intp)
        cosines = np.zeros(len(ids), np.float32)
        direction = (unit / length).astype(np.float32)
        for places, scales, numbers in self._store.vectors_of(ids.tolist()):
            found = numbers.astype(np.float32) @ direction * scales
            cosines[ids.searchsorted(places)] = found
        values = np.where(np.isin(ids, near), cosines, np.float32(-3))
        most = min(most, len(values))
        least = np.partition(values, -most)[-most] if most else np.inf
        kept = (values >= max(least, np.float32(-1.5))) | np.isin(ids, also)
        return ids[kept], cosines[kept]

    def _near(self, unit: Any, most: int, allowed: Allowed | None, edition: Edition) -> Any:
        import numpy as np

        inside = allowed.mask(edition.last) if allowed is not None else None
        if inside is not None and np.count_nonzero(inside) <= FEW:
            return inside.nonzero()[0]
        looked = max(LOOKED, most) if inside is None else WIDE
        run = self._store.db.execute
        run("SELECT set_config('hnsw.ef_search', ?, true)", (str(looked),))
        sql = (
            f"SELECT id FROM near ORDER BY direction::public.vector({self._dimension}) "  # noqa: S608
            f"OPERATOR(public.<=>) ?::public.vector({self._dimension}) LIMIT ?"
        )
        text = f"[{','.join(f'{one:.6f}' for one in unit.tolist())}]"
        ids = np.array([number for (number,) in run(sql, (text, looked))], np.intp)
        return ids[inside[ids]] if inside is not None else ids
