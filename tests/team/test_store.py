"""The index of a tenant: the same hits as index.db, list by list, and nobody else's."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest

from tests.store import golden
from tests.store.making import NOW, append, entry, fresh, name, note, rewrite, transcript
from tests.team.pairs import Pair, added, opened
from wakebook import Memory
from wakebook.base.errors import Unavailable
from wakebook.log import subjects
from wakebook.log.query import Query, Scope
from wakebook.store.hits import Options
from wakebook.team import nearby
from wakebook.team.database import INDEX, Database
from wakebook.team.store import TenantStore, Transaction, translated


@pytest.fixture
def db(url: str) -> Iterator[Database]:
    made = Database(url, patience=2)
    yield made
    made.close()


@pytest.fixture
def pair(tmp_path: Path, db: Database) -> Pair:
    """A home with a bit of everything that a search treats in its own way."""
    memory = fresh(tmp_path / "home")
    registry = subjects.load(memory.home).ensure(["billing", "ada"])
    subjects.save(memory.home, registry)
    talk = transcript(
        memory,
        "talk1",
        [
            ("user", "The billing service runs in Frankfurt, does it not?"),
            ("agent", "It does, on two machines in Frankfurt."),
            ("user", "We moved billing to Lisbon last week, because of latency."),
        ],
    )
    transcript(memory, "talk2", [("user", "Remind me of the harbour office.")], host="codex")
    append(
        memory,
        entry(
            1,
            "Billing runs in Frankfurt",
            subject="billing",
            session="talk1",
            days=9,
            transcript=talk,
            evidence=(1,),
        ),
        entry(
            2,
            "Billing runs in Lisbon",
            subject="billing",
            session="talk1",
            replaces=(name(1),),
            transcript=talk,
            evidence=(3,),
        ),
        entry(3, "Call the harbour office about the lease", type="task", project="git:harbour"),
        entry(4, "Ada likes plain words", kind="preference", subject="ada", pinned=True),
        entry(5, "Where we stopped: the lease", type="handoff", session="talk1"),
        entry(6, "The agent keeps its own lists", project="agent:lists"),
    )
    note(
        memory,
        "knowledge/projects/billing/notes.md",
        "# Billing\n\nSee [[harbour]].\n",
        1_780_000_000,
    )
    note(memory, "knowledge/reference/harbour.md", "# Harbour\n\nOpen from nine.\n", 1_780_000_000)
    return Pair(memory, db, added(db, "ada"))


WORDS = "where does billing run", "harbour office lease", "the", "Ada", "frankfurt", "zzz nothing"
FILTERS: tuple[dict[str, object], ...] = (
    {},
    {"types": ("fact",)},
    {"types": ("task",), "status": "open"},
    {"subjects": ("billing",)},
    {"kinds": ("preference",)},
    {"categories": ("project", "reference")},
    {"categories": ("person",), "files": True},
    {"session": "talk"},
    {"host": "codex"},
    {"since": NOW - timedelta(days=3)},
    {"until": NOW - timedelta(days=3)},
    {"all": True},
    {"projects": ("git:harbour",)},
    {"scope": Scope(projects=("git:harbour", ""), agents=())},
    {"scope": Scope(agents=("agent:lists",), unread=None)},
    {"sessions": True},
    {"limit": 2},
)


def test_every_golden_question_has_the_same_hits(tmp_path: Path, db: Database) -> None:
    pair = Pair(golden.home(tmp_path / "home"), db, added(db, "ada"))
    for query in golden.QUERIES:
        pair.find(query.text)
    for query in golden.QUERIES[::7]:
        pair.find(query.text, sessions=True)
        pair.find(query.text, types=("decision", "fact"))
        pair.passages(query.text)
    pair.same_rows()


@pytest.mark.parametrize("text", ["", *WORDS])
def test_filters_scopes_and_projects_find_the_same(pair: Pair, text: str) -> None:
    for filters in FILTERS:
        if text or not filters.get("sessions"):
            pair.find(text, **filters)  # type: ignore[arg-type]
    pair.passages(text or "billing")
    assert pair.find("harbour", projects=("git:harbour",)).hits


def test_what_was_replaced_gives_way_in_both(pair: Pair) -> None:
    found = pair.find("billing Frankfurt")
    assert found.hits[0].ref == name(2)
    assert "corrects" in found.hits[0].why
    assert found.hits[0].provenance.startswith("claude-code session:talk1 raw/conversations/")


def test_both_follow_every_change(pair: Pair) -> None:
    pair.same_rows()
    home = pair.plain
    append(home, entry(9, "Billing runs in Porto", subject="billing", replaces=(name(2),)))
    append(home, entry(8, "Lease signed", type="task", status="done", replaces=(name(3),)))
    pair.same_rows()
    assert pair.find("billing").hits[0].ref == name(9)
    rewrite(home, lambda one: one.id not in (name(9), name(4)))  # as `forget` does
    pair.same_rows()
    assert name(4) not in [hit.ref for hit in pair.find("plain words").hits]
    note(
        home, "knowledge/reference/harbour.md", "# Harbour\n\nOpen from ten.\n\nClosed on Monday.\n"
    )
    transcript(home, "talk2", [("user", "The lease is signed."), ("agent", "Good.")], host="codex")
    pair.same_rows()
    (home.home.root / "knowledge/reference/harbour.md").unlink()
    pair.same_rows()
    for text in WORDS:
        pair.find(text)
    for memory in (pair.plain, pair.team):
        memory.index.sync(full=True)
    pair.same_rows()
    pair.find("lease")


def test_mounted_notes_are_found_in_both(tmp_path: Path, db: Database) -> None:
    other = fresh(tmp_path / "other")
    note(other, "knowledge/projects/quay/quay.md", "# Quay\n\nThe crane is yellow.\n")
    mine = fresh(tmp_path / "mine", '[mounts]\nhomes = ["../other"]\n')
    pair = Pair(mine, db, added(db, "ada"))
    assert str(other.home.root) in pair.find("yellow crane").hits[0].ref
    pair.same_rows()


def test_words_alone_and_another_embedder(pair: Pair) -> None:
    pair.find("billing")
    config = pair.root / "config.toml"
    config.write_text(config.read_text() + '[embedding]\nprovider = "none"\n')
    pair = Pair(pair.plain, pair.db, pair.tenant)
    assert pair.find("billing").embedder == ""
    config.write_text(config.read_text().replace("none", "builtin"))
    pair = Pair(pair.plain, pair.db, pair.tenant)
    assert pair.find("billing").embedder
    pair.same_rows()


def test_notes_are_written_the_same_from_a_tenants_catalogue(tmp_path: Path, db: Database) -> None:
    first = golden.home(tmp_path / "first")
    shutil.copytree(first.home.root, tmp_path / "second", ignore=shutil.ignore_patterns("index*"))
    second = opened(tmp_path / "second", db, added(db, "ada"))
    written = []
    for memory in (first, second):
        memory.notes.update()
        append(memory, entry(900, "Lanternfish sails on Friday", subject="lanternfish"))
        memory.notes.update()
        root = memory.home.root
        files = (path for path in root.rglob("*.md") if ".cache" not in path.parts)
        written.append({str(path.relative_to(root)): path.read_text() for path in files})
    assert written[0] == written[1]
    assert any("sails on Friday" in text for text in written[1].values())
    assert not (tmp_path / "second" / "index.db").exists()


def test_a_text_with_a_zero_in_it_is_kept(pair: Pair) -> None:
    append(pair.plain, entry(11, "The zero\0 of the harbour", detail="\0"))
    found = pair.team.index.search(Query(text="zero"), NOW, Options(limit=1))
    assert found.hits[0].ref == name(11)


def test_a_search_that_is_fed_only_reads(pair: Pair) -> None:
    assert pair.find("billing").hits
    reader = Memory(pair.root)
    reader.home.opens = lambda: TenantStore(pair.db, pair.tenant, fed=True)
    append(pair.plain, entry(10, "Billing has a new logo"))
    options = Options(limit=5)
    assert not reader.index.search(Query(text="logo"), NOW, options).hits
    pair.same_rows()  # by a worker
    assert reader.index.search(Query(text="logo"), NOW, options).hits[0].ref == name(10)


def test_a_transaction_of_the_caller_takes_the_index_along(pair: Pair) -> None:
    joint: list[Transaction] = []
    home = pair.team.home
    home.opens = lambda: TenantStore(
        pair.db, pair.tenant, within=lambda: joint[-1] if joint else None
    )
    vars(pair.team.opened).pop("index", None)

    def index(fail: bool) -> None:
        with pair.db.tenant(pair.tenant, path=INDEX) as connection:
            joint.append(Transaction(lambda: connection, pair.tenant, lambda _: None))
            try:
                pair.team.index.sync()
                assert not fail
            finally:
                joint.clear()
                pair.team.close()

    with pytest.raises(AssertionError):
        index(fail=True)
    assert TenantStore(pair.db, pair.tenant).count("chunk") == 0
    index(fail=False)
    assert TenantStore(pair.db, pair.tenant).count("chunk") > 6
    pair.find("billing")


def test_an_approximate_index_follows_every_change_and_can_go_again(pair: Pair) -> None:
    pair.find("billing")
    assert nearby.switch(pair.db, pair.tenant, on=True) > 6
    for text in WORDS:
        pair.find(text)
    assert type(pair.team.index.store.nearest).__name__ == "Nearby"
    append(pair.plain, entry(9, "Billing runs in Porto", subject="billing", replaces=(name(2),)))
    pair.changed()
    for filters in FILTERS:
        pair.find("where does billing run", **filters)  # type: ignore[arg-type]
    rewrite(pair.plain, lambda one: one.id not in (name(9), name(4)))
    pair.same_rows()
    for text in WORDS:
        pair.find(text)
    pair.team.index.sync(full=True)
    pair.find("harbour office")
    with pair.db.tenant(pair.tenant, path=INDEX) as connection:
        near = connection.execute("SELECT id FROM near ORDER BY id").fetchall()
        there = connection.execute("SELECT id FROM vectors WHERE scale > 0 ORDER BY id").fetchall()
    assert near == there
    with pair.db.tenant(pair.tenant + 1, path=INDEX) as connection:
        assert connection.execute("SELECT count(*) FROM near").fetchone() == (0,)
    assert nearby.switch(pair.db, pair.tenant, on=False) == 0
    pair.find("billing")


# --- isolation ---------------------------------------------------------------------------------


def test_nobody_elses_rows_are_seen_or_touched(pair: Pair, tmp_path: Path) -> None:
    pair.find("billing")
    other = Pair(fresh(tmp_path / "other"), pair.db, added(pair.db, "bo"))
    append(other.plain, entry(1, "Bo keeps bees"))
    assert [hit.ref for hit in other.find("billing bees").hits] == [name(1)]
    other.team.index.store.wipe()
    with pair.db.tenant(other.tenant, path=INDEX) as connection:
        for table in ("chunk", "body", "posting", "vectors", "meta", "entry"):
            row = connection.execute(f"SELECT count(*) FROM {table}".encode()).fetchone()
            assert row == (2 if table == "meta" else 0,), table
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            sql = "INSERT INTO meta (key, value, tenant) VALUES ('version', '9', %s)"
            connection.execute(sql, (pair.tenant,))
    assert pair.find("billing").hits


def test_without_a_tenant_everything_fails(pair: Pair) -> None:
    pair.find("billing")
    with psycopg.connect(pair.db.url, autocommit=True) as owner:
        tables = owner.execute(
            "SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') "
            "AND relnamespace = 'wakebook_index'::regnamespace"
        ).fetchall()
    assert len(tables) > 100
    for (table,) in tables:
        with pytest.raises(psycopg.Error) as caught, pair.db.anyone() as connection:
            connection.execute(f"SELECT * FROM wakebook_index.{table}".encode())
        part = table.rpartition("_")[2].isdigit()
        wanted = psycopg.errors.InsufficientPrivilege if part else psycopg.DataError
        assert isinstance(caught.value, wanted), table


# --- PostgreSQL gone and back -----------------------------------------------------------------


def test_a_lost_connection_is_made_again(pair: Pair) -> None:
    found = pair.find("billing").hits
    for _ in range(2):
        with psycopg.connect(pair.db.url, autocommit=True) as owner:
            owner.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        assert pair.find("billing").hits == found


def test_a_database_that_is_gone_is_said(pair: Pair, server: tuple[str, str]) -> None:
    pair.find("billing")
    name_ = psycopg.conninfo.conninfo_to_dict(pair.db.url)["dbname"]
    db = Database(pair.db.url, patience=0.3)
    reader = opened(pair.root, db, pair.tenant)

    def allow(yes: bool) -> None:
        with psycopg.connect(server[0], autocommit=True) as owner:
            owner.execute(f"ALTER DATABASE {name_} ALLOW_CONNECTIONS {yes}".encode())

    allow(False)
    try:
        with pytest.raises(Unavailable, match="does not answer"):
            reader.index.search(Query(text="billing"), NOW, Options(limit=10))
    finally:
        allow(True)
        db.close()


def test_statements_are_translated() -> None:
    sql = "SELECT 1 FROM a WHERE b IN (SELECT value FROM json_each(?)) AND c LIKE '%x' AND d = ?"
    assert translated(sql) == b"SELECT 1 FROM a WHERE b = ANY(%s) AND c LIKE '%%x' AND d = %s"
    sql = "INSERT INTO a (b) VALUES (?) ON CONFLICT (b) DO NOTHING"
    assert translated(sql).endswith(b"ON CONFLICT (tenant, b) DO NOTHING")
    found = translated("SELECT count(*) FROM entry WHERE instr(line, ?) > 0")
    assert found.endswith(b"WHERE position(convert_to(%s, 'UTF8') IN line) > 0")
