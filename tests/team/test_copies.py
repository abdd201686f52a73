"""A home is rows: working copies follow them, add to them, and are thrown away."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from wakebook import Memory
from wakebook.base.config import Config
from wakebook.base.errors import OverQuota
from wakebook.team import rows, tenants
from wakebook.team.copies import Copies
from wakebook.team.database import INDEX, Database
from wakebook.team.working import Copy, Depth

Machine = Callable[[], Copy]


def opened(tenant: int, root: Path, config: Config) -> Memory:
    return Memory(root, config=config)


@pytest.fixture
def db(url: str) -> Iterator[Database]:
    made = Database(url)
    yield made
    made.close()


@pytest.fixture
def machine(db: Database, tmp_path: Path) -> Iterator[Machine]:
    """Working copies of one tenant, each as if on a machine of its own."""
    made: list[Copies] = []
    tenant = tenants.add(db, "ada")

    def another() -> Copy:
        made.append(Copies(db, tmp_path / f"machine-{len(made)}", opened))
        return made[-1](tenant)

    another().write(lambda memory: str(memory.init()).encode())
    yield another
    for one in made:
        one.close()


def texts(memory: Any) -> list[str]:
    return [entry.content for entry in memory.log.chains().entries]


def remember(text: str) -> Callable[[Any], bytes]:
    return lambda memory: memory.remember(text).id.encode()


def files(copy: Copy) -> dict[str, bytes]:
    return {name: (copy.root / name).read_bytes() for name, _ in rows.walk(copy.root)}


def test_what_one_machine_writes_the_other_has_byte_for_byte(machine: Machine) -> None:
    one, other = machine(), machine()
    one.write(remember("The kiosk is called Heron."))
    assert other.read(texts) == ["The kiosk is called Heron."]
    other.write(remember("Heron opens at nine."))
    assert one.read(texts) == ["The kiosk is called Heron.", "Heron opens at nine."]
    other.read(texts)
    assert files(one) == files(other)


def test_an_append_costs_what_it_adds(machine: Machine, db: Database) -> None:
    one = machine()
    for number in range(3):
        one.write(remember(f"Shelf {number} holds the spare keys."))
    with db.tenant(one.tenant) as connection:
        sizes = connection.execute(
            "SELECT length(data) FROM segment WHERE path = 'log.jsonl' ORDER BY place"
        ).fetchall()
        whole = connection.execute("SELECT size FROM file WHERE path = 'log.jsonl'").fetchone()
    assert whole is not None and sum(size for (size,) in sizes) == whole[0]
    assert len(sizes) == 3 and max(size for (size,) in sizes) < whole[0] / 2


def test_history_and_undo_work_on_another_machine(machine: Machine) -> None:
    note = "knowledge/projects/ferry/notes.md"

    def condense(memory: Any) -> bytes:
        path = memory.home.root / note
        git = memory.history.git()
        with memory.home.locked(), git.rewrite("maintenance", "weekly", [path], "weekly"):
            memory.home.replace(path, "short\n")
        return b""

    one, other = machine(), machine()
    one.write(lambda memory: memory.remember("It leaves at six.", subject="ferry").id.encode())
    before = (one.root / note).read_text()
    one.write(condense)
    [rewrite] = other.read(lambda memory: memory.rewrites())
    other.write(lambda memory: str(memory.undo()).encode())
    [same] = one.read(lambda memory: memory.rewrites())
    assert same.undone and not rewrite.undone
    assert (one.root / note).read_text() == before
    history = ["git", "log", "--format=%H %s"]
    logs = [subprocess.check_output(history, cwd=copy.root) for copy in (one, other)]
    assert logs[0] == logs[1] and len(logs[0].splitlines()) >= 4


def test_notes_of_a_copy_that_is_behind_leave_the_history_alone(
    machine: Machine, db: Database
) -> None:
    one, other = machine(), machine()
    other.read(texts)

    def looks(memory: Any) -> None:
        one.write(remember("Meanwhile."))
        one.write(lambda m: str(m.history.commit("meanwhile") or "").encode())
        memory.home.trace("failure", where="a look", error="noted by the way")

    other.read(looks)
    other.write(remember("After."))
    other.write(lambda m: str(m.history.commit("after") or "").encode())
    history = ["git", "log", "--format=%s"]
    one.read(texts)
    logs = [subprocess.check_output(history, cwd=copy.root) for copy in (one, other)]
    assert logs[0] == logs[1] and b"Meanwhile" in logs[0] and b"after" in logs[0]


def test_a_lost_version_check_is_done_again(machine: Machine) -> None:
    one, other = machine(), machine()
    tries = []

    def slow(memory: Any) -> bytes:
        tries.append(texts(memory))
        if len(tries) == 1:  # another machine is quicker
            other.write(remember("Second."))
        return bytes(memory.remember("First.").id.encode())

    one.write(slow, long=True)
    assert tries == [[], ["Second."]]
    assert other.read(texts) == ["Second.", "First."]


def test_named_work_is_done_once(machine: Machine) -> None:
    one, other = machine(), machine()
    first = one.write(remember("Once."), name="job 7")
    assert other.write(remember("Once."), name="job 7") == first
    assert one.read(texts) == ["Once."]


def test_failed_work_leaves_nothing(machine: Machine) -> None:
    one, other = machine(), machine()

    def fails(memory: Any) -> bytes:
        memory.remember("Half done.")
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        one.write(fails)
    assert one.read(texts) == other.read(texts) == []


def test_a_copy_that_a_kill_has_left_is_thrown_away(machine: Machine, db: Database) -> None:
    one = machine()
    one.write(remember("Kept."))
    one.read(texts)
    one._dirty.touch()
    (one.root / "log.jsonl").write_text("garbage\n")
    again = Copy(db, one.tenant, one._folder, opened)
    assert again.read(texts) == ["Kept."]


def test_conversations_do_not_disturb_long_work(machine: Machine) -> None:
    one, other = machine(), machine()
    tries = []

    def slow(memory: Any) -> bytes:
        tries.append(1)
        chat = other.write(lambda memory: memory.session("talk").user("Hello.").encode())
        return bytes(memory.remember("Read by a model.").id.encode()) + chat

    one.write(slow, long=True)
    assert tries == [1]
    said = one.read(lambda memory: memory.session("talk").messages())
    assert [message["content"] for message in said] == ["Hello."]


def test_quotas_are_checked_in_the_commit(machine: Machine, db: Database) -> None:
    one = machine()
    one.write(remember("One."))
    tenants.limit(db, "ada", entries=1)
    with pytest.raises(OverQuota, match="1 entries"):
        one.write(remember("Two."))
    assert one.read(texts) == ["One."]
    held = rows.quota(db, one.tenant)
    assert held["entries"] == 1
    tenants.limit(db, "ada", entries=None, bytes=held["bytes"] + 10)
    with pytest.raises(OverQuota, match="bytes"):
        one.write(remember("Three is a longer sentence than ten bytes."))
    with db.tenant(one.tenant) as connection:
        sums = connection.execute(
            "SELECT (SELECT sum(size) FROM file) + (SELECT sum(length(data)) FROM bundle)"
        ).fetchone()
    assert sums == (held["bytes"],)


def test_a_removed_tenant_leaves_no_row(machine: Machine, db: Database) -> None:
    one = machine()
    one.write(remember("Gone soon."))
    tenants.give(db, "ada")
    gone = tenants.remove(db, "ada")
    assert gone["home"] == 1 and gone["token"] == 1 and gone["segment"] > 5
    with db.admin() as connection:
        for table in tenants._tables(connection):
            assert connection.execute(f"SELECT count(*) FROM {table}".encode()).fetchone() == (0,)


def chunks(db: Database, tenant: int) -> int:
    with db.tenant(tenant, path=INDEX) as connection:
        found = connection.execute("SELECT count(*) FROM chunk").fetchone()
    assert found is not None
    return int(found[0])


def hits(text: str) -> Callable[[Any], list[str]]:
    return lambda memory: [hit.snippet.replace("**", "") for hit in memory.search(text).hits]


def test_the_index_is_committed_with_what_it_is_of(machine: Machine, db: Database) -> None:
    one, other = machine(), machine()
    before = chunks(db, one.tenant)
    seen: list[Any] = []

    def half(memory: Any) -> bytes:
        memory.remember("The kiosk is called Heron.")
        memory.index.sync()
        seen.append(memory.search("kiosk").hits[0].snippet)
        seen.append(other.read(hits("kiosk")))  # nobody else sees it yet
        seen.append(other.read(texts))
        raise ValueError("killed")

    with pytest.raises(ValueError, match="killed"):
        one.write(half)
    assert seen == ["The **kiosk** is called Heron.", [], []]
    assert other.read(hits("kiosk")) == [] and chunks(db, one.tenant) == before
    one.write(remember("The kiosk is called Heron."))
    assert other.read(hits("kiosk")) == ["The kiosk is called Heron."]
    assert not (one.root / "index.db").exists() and not (other.root / "index.db").exists()


def test_a_search_brings_no_file_but_the_settings(machine: Machine) -> None:
    one, other = machine(), machine()
    one.write(remember("The kiosk is called Heron."))
    assert other.read(hits("kiosk"), Depth.INDEX) == ["The kiosk is called Heron."]
    assert [name for name, _ in rows.walk(other.root)] == ["config.toml"]
    one.write(remember("Heron the kiosk opens at nine."))
    assert len(other.read(hits("kiosk"), Depth.INDEX)) == 2
    other.read(texts, Depth.FILES)
    assert not (other.root / ".git").exists() and (other.root / "log.jsonl").exists()

    def fewer(memory: Any) -> bytes:
        memory.home.config.write_text("[search]\nmax_results = 1\n")
        return b""

    one.write(fewer)
    assert len(other.read(hits("kiosk"), Depth.INDEX)) == 1


def test_what_a_search_notes_is_added_to_what_others_noted(machine: Machine) -> None:
    one, other = machine(), machine()

    def note(word: str) -> Callable[[Any], None]:
        return lambda memory: memory.home.trace("failure", where=word, error=word)

    def noted(memory: Any) -> list[str]:
        lines = (memory.home.root / "trace.jsonl").read_text().splitlines()
        return [word for word in ("first", "second", "third") for line in lines if word in line]

    one.read(note("first"))
    other.read(note("second"), Depth.INDEX)
    other.read(note("third"), Depth.INDEX)
    assert one.read(noted) == ["first", "second", "third"]


def test_work_that_reads_the_index_before_another_commit_is_done_again(machine: Machine) -> None:
    one, other = machine(), machine()
    tries: list[list[str]] = []

    def slow(memory: Any) -> bytes:
        tries.append(hits("kiosk")(memory))
        if len(tries) == 1:
            other.write(remember("The kiosk is called Heron."))
        return bytes(memory.remember("The kiosk has a new roof.").id.encode())

    one.write(slow)
    assert [len(found) for found in tries] == [0, 1]
    assert len(other.read(hits("kiosk"))) == 2


def test_an_index_that_is_behind_is_made_up_before_it_is_asked(
    machine: Machine, db: Database
) -> None:
    one, other = machine(), machine()
    one.write(remember("The kiosk is called Heron."))
    with db.tenant(one.tenant, path=INDEX) as connection:  # as an older Wakebook leaves it
        for table in ("meta", "chunk", "body", "posting", "vectors", "entry", "file"):
            connection.execute(f"DELETE FROM {table}".encode())
    assert other.read(hits("kiosk"), Depth.INDEX) == ["The kiosk is called Heron."]
    assert one.read(hits("kiosk")) == ["The kiosk is called Heron."]


def test_what_another_machine_indexed_is_not_read_again(machine: Machine, db: Database) -> None:
    one, other = machine(), machine()
    one.write(remember("The kiosk is called Heron."))

    def files() -> list[Any]:
        with db.tenant(one.tenant, path=INDEX) as connection:
            found = connection.execute("SELECT path, modified, xmin::text FROM file ORDER BY 1")
            return found.fetchall()

    before = files()
    assert before
    other.write(lambda memory: str(memory.index.sync()).encode())
    assert files() == before


def test_the_oldest_of_many_open_copies_is_closed(
    machine: Machine, db: Database, tmp_path: Path
) -> None:
    first = machine()
    copies = Copies(db, tmp_path / "few", opened, most=1)
    copies(first.tenant).read(texts)
    copies(tenants.add(db, "bo"))
    assert copies(first.tenant)._memory is None
    assert copies(first.tenant).read(texts) == []
    copies.close()
