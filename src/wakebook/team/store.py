"""TenantStore: the index of one tenant, in PostgreSQL. The same statements as for index.db.

What differs: a statement is translated once (`translated`), and prepared; the tenant is added by
the policies of the tables, which let a transaction see its own rows alone. What a search asks for,
it asks for all at once, because every question to another process costs what it costs: the words'
chunks in one, the vectors in one. They are compared here, by the same code as on a laptop, which
is why the hits are the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wakebook.base.errors import IndexUnavailable, Locked
from wakebook.store import AMONG, Answer, Connection, Many, Store
from wakebook.team import nearby
from wakebook.team.database import INDEX

if TYPE_CHECKING:
    import psycopg

    from wakebook.store.vectors import Nearest
    from wakebook.team.database import Database

SPAN = 2048  # chunk ids whose uses of a term stand in one row
FEW = 4096  # chunks whose vectors are read at once, rather than those that are needed
PATIENCE = "10s"  # that a write waits for another one
WRITER = 7312 << 48  # beside the tenant: the lock of the one that writes
PARTS = ("convert_to(word || E'\\n', 'UTF8')", "int4send(octet_length(uses))", "ids", "uses")
TABLES = """meta file session chunk body replaces said entry dirty waiting written block pending
    posting vectors""".split()


@lru_cache(maxsize=2000)
def translated(sql: str) -> bytes:
    """A statement of `store/` in PostgreSQL's words."""
    found = sql.replace("%", "%%").replace(AMONG, "= ANY(%s)")
    found = re.sub(r"instr\((\w+), \?\)", r"position(convert_to(?, 'UTF8') IN \1)", found)
    found = found.replace("?", "%s")
    return found.replace("ON CONFLICT (", "ON CONFLICT (tenant, ").encode()


def _sound(value: Any) -> Any:
    """PostgreSQL takes no text with a zero in it."""
    zero = isinstance(value, str) and "\0" in value
    return value.replace("\0", "\N{REPLACEMENT CHARACTER}") if zero else value


class Transaction:
    """One that the index of a tenant is written in, or those of several are read in. It begins when
    it is first used, and the caller ends it."""

    def __init__(
        self,
        begin: Callable[[], psycopg.Connection[Any]],
        tenant: int,
        check: Callable[[psycopg.Connection[Any]], None] | None = None,
    ) -> None:
        """`check`: whether what is to be written is still wanted, asked when no other can write
        any more; without it, this one only reads, and all of it as it was at one moment."""
        self._begin, self._check = begin, check
        self._tenant = tenant
        self._connection: psycopg.Connection[Any] | None = None
        self._locked = False
        self.editions: dict[int, int] = {}  # of the indexes that are only read

    @property
    def reads(self) -> bool:
        return self._check is None

    @property
    def written(self) -> bool:
        return self._locked

    def connection(self, tenant: int = 0) -> psycopg.Connection[Any]:
        """For a tenant; whoever calls has seen to it that it may."""
        if self._connection is None:
            self._connection = self._begin()
        if tenant and tenant != self._tenant:
            sql = "SELECT set_config('wakebook.tenant', %s, true)"
            self._connection.execute(sql, (str(int(tenant)),), prepare=True)
            self._tenant = tenant
        return self._connection

    def lock(self) -> psycopg.Connection[Any]:
        """From now on no other writes this tenant's index. Raises Locked."""
        import psycopg

        connection = self.connection()
        if not self._locked and self._check:
            connection.execute("SELECT set_config('lock_timeout', %s, true)", (PATIENCE,))
            try:
                sql = "SELECT pg_advisory_xact_lock(%s)"
                connection.execute(sql, (WRITER + self._tenant,))
            except psycopg.errors.LockNotAvailable as error:
                raise Locked("Another piece of work is writing this memory. Try again.") from error
            self._check(connection)
            self._locked = True
        return connection


class Statements:
    """Runs statements in a transaction that has begun."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self.connection = connection

    def execute(self, sql: str, values: Sequence[Any] = (), /) -> Answer:
        return self.connection.execute(translated(sql), values, prepare=True, binary=True)

    def executemany(self, sql: str, values: Iterable[Sequence[Any]], /) -> None:
        if rows := [[*map(_sound, row)] for row in values]:
            self.connection.cursor().executemany(translated(sql), rows)


class _Alone:
    """Runs each statement in a transaction of its own."""

    def __init__(self, store: TenantStore) -> None:
        self._store = store

    def execute(self, sql: str, values: Sequence[Any] = (), /) -> Answer:
        with self._store.session() as session:
            return session.execute(sql, values)  # all rows are here by now

    def executemany(self, sql: str, values: Iterable[Sequence[Any]], /) -> None:
        with self._store.session() as session:
            session.executemany(sql, values)


class TenantStore(Store):
    """The index of one tenant. With `fed`, workers keep it up to date, and a search only reads.
    `within`: the transaction that it takes part in, while there is one."""

    def __init__(
        self,
        database: Database,
        tenant: int,
        *,
        fed: bool = False,
        within: Callable[[], Transaction | None] = lambda: None,
    ) -> None:
        super().__init__()
        self.path = Path(f"postgresql:{tenant}")
        self.tenant = tenant
        self._fed, self._within = fed, within
        self._database = database
        self._session: Statements | None = None
        self._alone = _Alone(self)
        self._wait = 0.0
        self._whole = False  # whether all of `meta` was read
        self._made: object = None  # changes when the index is made anew
        self._numbers: tuple[Any, Any] | None = None  # that were read with the signs

    @property
    def fed(self) -> bool:  # type: ignore[override]
        joint = self._within()
        return self._fed or (joint is not None and joint.reads)

    @property
    def db(self) -> Connection:
        if joint := self._within():
            return Statements(joint.connection(self.tenant))
        return self._session or self._alone

    @contextmanager
    def session(self, *, still: bool = False) -> Iterator[Statements]:
        """A transaction of this tenant; the one that has begun, if one has."""
        if joint := self._within():
            yield Statements(joint.connection(self.tenant))
            return
        if self._session is not None:
            yield self._session
            return
        with self._database.tenant(self.tenant, path=INDEX, still=still) as connection:
            self._session = Statements(connection)
            try:
                yield self._session
            except BaseException:
                self.close()  # what was read may never have been
                raise
            finally:
                self._session = None

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        import psycopg

        if joint := self._within():
            with self._part(joint) as session:
                yield session
            return
        with self.session() as session:
            if self._wait:
                sql = "SELECT set_config('lock_timeout', ?, true)"
                session.execute(sql, (f"{int(self._wait * 1000)}ms",))
            try:
                session.execute("SELECT pg_advisory_xact_lock(?)", (WRITER + self.tenant,))
            except psycopg.errors.LockNotAvailable as error:
                raise IndexUnavailable("Another worker is writing this index.") from error
            self.fresh()
            yield session

    @contextmanager
    def _part(self, joint: Transaction) -> Iterator[Statements]:
        """A part of a longer transaction, whole or not at all."""
        connection = joint.lock()
        connection.execute("SAVEPOINT part")
        try:
            self.fresh()
            yield Statements(connection)
        except BaseException:
            if not connection.closed:
                connection.execute("ROLLBACK TO SAVEPOINT part")
            self.close()
            raise
        connection.execute("RELEASE SAVEPOINT part")

    @contextmanager
    def reading(self) -> Iterator[None]:
        joint = self._within()
        with nullcontext() if joint and joint.reads else self.session(still=True):
            if self._version < 0 or self._changed():
                self._read_all()
            yield

    def _changed(self) -> bool:
        joint = self._within()
        if joint and self.tenant in joint.editions:
            return joint.editions[self.tenant] != self._version
        row = self.db.execute("SELECT value FROM meta WHERE key = 'version'").fetchone()
        return (int(row[0]) if row else 0) != self._version

    def _read_all(self) -> None:
        """All that a search needs to know before it begins."""
        rows = self.db.execute(
            "SELECT key, value FROM meta UNION ALL "
            "SELECT ' pending', count(*)::text FROM pending UNION ALL "
            "SELECT ' said', count(*)::text FROM (SELECT FROM said LIMIT 1)"
        )
        known = {key: json.loads(value) for key, value in rows}
        pending, said = known.pop(" pending"), known.pop(" said")
        if known.get("made") != self._made or known.get("version", 0) < self._version:
            vars(self).pop("kept_nearest", None)  # its chunks are others now
        self._kept, self._meta, self._whole = {"pending": pending, "said": said > 0}, known, True
        self._version, self._made = self.get("version", 0), self.get("made")

    def fresh(self) -> None:
        self._meta, self._whole = {}, False
        if self._version < 0 or self._changed():
            self._kept, self._version = {}, self.get("version", 0)

    def get(self, key: str, default: Any = None) -> Any:
        if self._whole and key not in self._meta:
            return default
        return super().get(key, default)

    def patience(self, seconds: float) -> None:
        self._wait = seconds

    def close(self) -> None:
        super().close()
        vars(self).pop("kept_nearest", None)
        self._whole, self._numbers = False, None

    def abandon(self) -> None:
        self.close()  # PostgreSQL looks after its own files

    def delete(self) -> None:
        self.wipe()

    def wipe(self) -> None:
        with self.writing() as db:
            version, near = self.get("version", 0) + 1, self.get("nearby", 0)
            for table in (*TABLES, *(["near"] if near else [])):
                db.execute(f"DELETE FROM {table}")  # noqa: S608
            self.close()
            self.set("version", version)
            if near:
                self.set("nearby", near)
            self.set("made", version)

    def size(self) -> int:
        parts = {"body": "text", "posting": "ids || uses", "vectors": "numbers"}
        sums = [f"(SELECT sum(octet_length({b})) FROM {a})" for a, b in parts.items()]  # noqa: S608
        row = self.db.execute(f"SELECT {', '.join(sums)}").fetchone()
        return sum(int(one or 0) for one in row)

    @property
    def seen(self) -> int:
        """The edition that was last read."""
        return self._version

    def _few(self) -> bool:
        """Whether all of it is read at once: of a small memory that is searched again and again."""
        return self.fed and self.edition().last < FEW

    def read(self, table: str, columns: str, ids: Sequence[int]) -> list[Any]:
        if self._few() and " " not in table:
            known = self.keep((table, columns), lambda: self._all_of(table, columns))
            return [known[number] for number in ids if number in known]
        sql = f"SELECT {columns} FROM {table} WHERE id {AMONG}"  # noqa: S608
        return self.db.execute(sql, (Many(ids),)).fetchall()

    def _all_of(self, table: str, columns: str) -> dict[int, Any]:
        assert columns.startswith("id,")
        rows = self.db.execute(f"SELECT {columns} FROM {table}")  # noqa: S608
        return {row[0]: row for row in rows}

    # --- words: a row for each term and each span of chunk ids --------------------------------

    def uses(self, terms: Sequence[str]) -> Mapping[str, tuple[Any, Any]]:
        import numpy as np

        if self._few():
            places, ids, uses = self.keep("all uses", self._all_uses)
            return {
                term: (ids[slice(*places[term])], uses[slice(*places[term])])
                for term in terms
                if term in places
            }
        sql = f"SELECT word, ids, uses FROM posting WHERE word {AMONG} ORDER BY block"  # noqa: S608
        parts: dict[str, list[tuple[bytes, bytes]]] = {}
        for word, *part in self.db.execute(sql, (Many(terms),)):
            parts.setdefault(word, []).append((part[0], part[1]))
        return {
            word: (
                np.frombuffer(b"".join(ids for ids, _ in some), np.uint32),
                np.frombuffer(b"".join(uses for _, uses in some), np.uint16),
            )
            for word, some in parts.items()
        }

    def _all_uses(self) -> tuple[dict[str, tuple[int, int]], Any, Any]:
        """The places of all words in one list of chunks and uses. All of it comes as one row."""
        import numpy as np

        order = "''::bytea ORDER BY word, block"
        parts = ", ".join(f"string_agg({one}, {order})" for one in PARTS)
        words, sizes, ids, uses = self.db.execute(f"SELECT {parts} FROM posting").fetchone()  # noqa: S608
        places: dict[str, tuple[int, int]] = {}
        at = 0
        if words is not None:
            counts = (np.frombuffer(sizes, ">i4") // 2).tolist()
            for word, count in zip(words.decode().split("\n"), counts, strict=False):
                places[word] = (places[word][0] if word in places else at, at + count)
                at += count
        return places, np.frombuffer(ids or b"", np.uint32), np.frombuffer(uses or b"", np.uint16)

    def add_uses(self, found: Mapping[str, Mapping[int, int]]) -> None:
        import numpy as np

        words, blocks, ids, uses = [], [], [], []
        for word, packed in sorted(found.items()):
            spans: dict[int, list[int]] = {}
            for number in sorted(packed):
                spans.setdefault(number // SPAN, []).append(number)
            for block, numbers in spans.items():
                words.append(word)
                blocks.append(block)
                ids.append(np.array(numbers, np.uint32).tobytes())
                uses.append(np.array([packed[one] for one in numbers], np.uint16).tobytes())
        self.db.execute(
            "INSERT INTO posting AS p (word, block, ids, uses) "
            "SELECT * FROM unnest(?::text[], ?::bigint[], ?::bytea[], ?::bytea[]) "
            "ON CONFLICT (word, block) DO UPDATE "
            "SET ids = p.ids || excluded.ids, uses = p.uses || excluded.uses",
            (words, blocks, ids, uses),
        )

    def remove_uses(self, found: Mapping[str, Iterable[int]]) -> None:
        import numpy as np

        sql = f"SELECT word, block, ids, uses FROM posting WHERE word {AMONG}"  # noqa: S608
        changed, gone = [], []
        for word, block, ids, uses in self.db.execute(sql, (Many(found),)):
            numbers = np.frombuffer(ids, np.uint32)
            kept = ~np.isin(numbers, list(found[word]))
            if not kept.any():
                gone.append((word, block))
            elif not kept.all():
                left = np.frombuffer(uses, np.uint16)[kept].tobytes()
                changed.append((numbers[kept].tobytes(), left, word, block))
        sql = "UPDATE posting SET ids = ?, uses = ? WHERE word = ? AND block = ?"
        self.db.executemany(sql, changed)
        self.db.executemany("DELETE FROM posting WHERE word = ? AND block = ?", gone)

    # --- vectors: a row for each chunk. One that is gone leaves its place, with the scale 0 ----

    def add_vectors(self, ids: Sequence[int], rows: Any) -> None:
        from wakebook.store.vectors import packed

        if not ids:
            return
        scales, signs, numbers = packed(rows)
        self.db.execute(
            "INSERT INTO vectors (id, version, scale, signs, numbers) "
            "SELECT id, ?, scale, signs, numbers FROM "
            "unnest(?::bigint[], ?::real[], ?::bytea[], ?::bytea[]) "
            "AS new (id, scale, signs, numbers) "
            "ON CONFLICT (id) DO UPDATE SET version = excluded.version, scale = excluded.scale, "
            "signs = excluded.signs, numbers = excluded.numbers",
            (
                self.get("version", 0),
                [*ids],
                scales.tolist(),
                [row.tobytes() for row in signs],
                [row.tobytes() for row in numbers],
            ),
        )
        if self._nearby:
            nearby.add(self, ids, numbers)

    def remove_vectors(self, ids: Sequence[int]) -> None:
        sql = f"UPDATE vectors SET version = ?, scale = 0, numbers = ? WHERE id {AMONG}"  # noqa: S608
        self.db.execute(sql, (self.get("version", 0), b"", Many(ids)))
        if self._nearby:
            nearby.remove(self, ids)

    @property
    def _nearby(self) -> int:
        """The dimension of the approximate index, if there is one for these vectors."""
        found = int(self.get("nearby", 0))
        return found if found == self.get("dimension", found) else 0

    @property
    def nearest(self) -> Any:
        """Everything is compared, unless an administrator has chosen otherwise (see nearby)."""
        if dimension := self._nearby:
            return nearby.Nearby(self, dimension)
        return self.kept_nearest

    @cached_property
    def kept_nearest(self) -> Nearest:
        from wakebook.store.vectors import Nearest

        return Nearest(self.signs, self.numbers)

    def signs(self, version: int) -> Sequence[tuple[Any, Any, Any]] | None:
        few = version < 0 and self.edition().last < FEW
        since = "version > ?" if version >= 0 else "version > ? AND scale > 0"
        found = self._vectors(since, version, signs=True, numbers=few)
        self._numbers = None
        if found is None:
            there = self.db.execute("SELECT 1 FROM vectors LIMIT 1").fetchone()
            return [] if there else None
        places, scales, signs, numbers = found
        if few:
            self._numbers = (places, numbers)
        return [(places, scales, signs)]

    def numbers(self, blocks: Sequence[int]) -> Iterable[tuple[Any, Any]]:
        from wakebook.store.vectors import BLOCK

        if self._numbers is not None:
            found, self._numbers = self._numbers, None
            return [found]
        ids = [number for block in blocks for number in range(block * BLOCK, (block + 1) * BLOCK)]
        return self.numbers_of(ids)

    def numbers_of(self, ids: Sequence[int]) -> Iterable[tuple[Any, Any]]:
        return [(places, numbers) for places, _, numbers in self.vectors_of(ids)]

    def vectors_of(self, ids: Sequence[int]) -> Iterable[tuple[Any, Any, Any]]:
        """Places, scales and numbers of some chunks."""
        read = self._vectors(f"id {AMONG} AND scale > 0", Many(ids), signs=False, numbers=True)
        return [(read[0], read[1], read[3])] if read else []

    def _vectors(
        self, where: str, *values: Any, signs: bool, numbers: bool
    ) -> tuple[Any, Any, Any, Any] | None:
        """Places, scales, signs and numbers of some vectors, by place. All of them come as one
        row: a thousand rows take longer to take apart than to compare."""
        import numpy as np

        wanted = ["int8send(id)", "float4send(scale)"]
        wanted += [
            name if asked else "NULL" for name, asked in (("signs", signs), ("numbers", numbers))
        ]
        parts = ", ".join(f"string_agg({part}, ''::bytea ORDER BY id)" for part in wanted)
        sql = f"SELECT {parts} FROM vectors WHERE {where}"  # noqa: S608
        ids, scales, bits, data = self.db.execute(sql, values).fetchone()
        if ids is None:
            return None
        places = np.frombuffer(ids, ">i8").astype(np.intp)
        count = len(places)
        return (
            places,
            np.frombuffer(scales, ">f4").astype(np.float32),
            np.frombuffer(bits, np.uint64).reshape(count, -1) if bits else None,
            np.frombuffer(data, np.int8).reshape(count, -1) if data else None,
        )
