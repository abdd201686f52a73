"""What goes wrong around a server for teams: its database, its disks, its clocks, its versions."""

from __future__ import annotations

import os
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.team.relay import Relay
from tests.team.serving import Team, ask, until
from tests.team.test_remote import team_env
from tests.team.test_work import idle, remember, texts
from tests.team.twins import twins
from wakebook.base import clock
from wakebook.base.errors import Locked, Unavailable, WakebookError
from wakebook.service.team_work import check_clock, fill, opened
from wakebook.team import queue, tenants
from wakebook.team.copies import Copies
from wakebook.team.database import Database
from wakebook.team.schema import migrate, migrations

SMALL = 300_000  # bytes of the largest file on a disk that is full


@pytest.fixture
def db(url: str) -> Iterator[Database]:
    made = Database(url)
    yield made
    made.close()


@pytest.fixture
def copies(db: Database, tmp_path: Path) -> Iterator[Copies]:
    made = Copies(db, tmp_path / "copies", opened)
    yield made
    made.close()


@pytest.fixture
def relay(url: str) -> Iterator[Relay]:
    made = Relay(url)
    yield made
    made.close()


@pytest.fixture
def teams(tmp_path: Path) -> Iterator[Callable[..., Team]]:
    """Servers and workers on a database; `more` are variables of theirs."""
    made: list[Team] = []

    def another(url: str, **more: str) -> Team:
        env = team_env(tmp_path) | {"WAKEBOOK_TEAM_WAIT_SECONDS": "3"} | more
        made.append(Team(url, tmp_path / f"machine-{len(made)}", env))
        return made[-1]

    yield another
    for one in made:
        one.end()


def owner(url: str, sql: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.encode())


def test_postgresql_gone_and_back(
    db: Database, copies: Copies, relay: Relay, teams: Callable[..., Team]
) -> None:
    tenant, token = fill(db, copies, "ada"), tenants.give(db, "ada").text
    team = teams(relay.url)
    port = team.server()
    team.process("work")
    assert ask(port, "/v1/remember", {"text": "Before."}, token).status == 200
    relay.down()
    queue.put(db, tenant, remember("Meanwhile."))
    for path, body in (("/v1/remember", {"text": "Lost?"}), ("/v1/search", {"text": "before"})):
        told = ask(port, path, body, token)
        assert told.status == 503 and int(told.headers["retry-after"]) > 0, told
        assert "does not answer" in told.data["error"]["message"]
    assert ask(port, "/health", None, "", "GET").status == 503
    assert queue.counts(db)["todo"] + queue.counts(db)["doing"] >= 1
    relay.up()
    until(lambda: idle(db))
    until(lambda: ask(port, "/health", None, "", "GET").status == 200)
    assert ask(port, "/v1/remember", {"text": "After."}, token).status == 200
    assert copies(tenant).read(texts) == ["Before.", "Meanwhile.", "After."]
    assert queue.aside(db) == []


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_connection_cut_in_a_commit_is_all_or_nothing(
    db: Database, copies: Copies, relay: Relay, tmp_path: Path, when: str
) -> None:
    tenant = fill(db, copies, "ada")
    far = Database(relay.url)
    other = Copies(far, tmp_path / "other", opened)
    tries: list[int] = []

    def work(memory: Any) -> bytes:
        if not tries:
            relay.cut(when)
        tries.append(1)
        return str(memory.remember("Once.").id).encode()

    kept = other(tenant).write(work, name="job 1", long=True)
    assert relay.cuts == 1 and len(tries) == (2 if when == "before" else 1)
    assert copies(tenant).read(texts) == ["Once."]
    assert [kept.decode()] == copies(tenant).read(
        lambda m: [one.id for one in m.log.chains().entries]
    )
    other.close()
    far.close()


def test_postgresql_fails_over(tmp_path: Path, teams: Callable[..., Team]) -> None:
    """A real standby takes over while a server and a worker write."""
    try:
        running = twins()
        both = running.__enter__()
    except (ImportError, OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"no PostgreSQL with a standby can be had here: {error}")
    relay = Relay(both.url(1))
    try:
        migrate(both.url(1))
        db = Database(relay.url)
        copies = Copies(db, tmp_path / "copies", opened)
        tenant, token = fill(db, copies, "ada"), tenants.give(db, "ada").text
        team = teams(relay.url)
        port = team.server()
        team.process("work")
        over, stop, failures = threading.Event(), threading.Event(), list[int]()

        def write(number: int) -> None:
            key = {"Idempotency_Key": f"asked {number}"}
            body = {"text": f"Asked {number}."}
            while not stop.is_set():
                with suppress(OSError):  # no answer: then once more
                    status = ask(port, "/v1/remember", body, token, **key).status
                    if status == 200:
                        return
                    failures.append(status)
                clock.sleep(0.1)

        def writing() -> int:
            number = 0
            while not over.is_set():
                number += 1
                write(number)
            return number

        with ThreadPoolExecutor(1) as pool:
            client = pool.submit(writing)
            try:
                until(lambda: len(copies(tenant).read(texts)) > 3)
                for number in range(5):
                    queue.put(db, tenant, remember(f"Job {number}."))
                both.fail_over()
                relay.down()
                relay.lead(both.url(2))
                relay.up()
                until(lambda: idle(db))
                over.set()
                count = client.result(120)
            finally:
                over.set()
                stop.set()
        assert {*failures} <= {503, 423}
        found = copies(tenant).read(texts)
        want = [f"Asked {number}." for number in range(1, count + 1)]
        assert sorted(found) == sorted([*want, *(f"Job {number}." for number in range(5))])
        assert queue.aside(db) == []
        copies.close()
        db.close()
    finally:
        relay.close()
        running.__exit__(None, None, None)


@pytest.fixture
def small(url: str, server: tuple[str, str], tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A database whose files lie on a disk of 64 MB, and the disk."""
    disk = Path(tempfile.mkdtemp(prefix="wb-small-"))
    try:
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=64m,mode=777", "tmpfs", str(disk)],
            check=True,
            capture_output=True,
        )
    except (OSError, subprocess.CalledProcessError):
        disk.rmdir()
        pytest.skip("only root can make a small disk")
    name = f"small_{os.getpid()}"
    (disk / "rows").mkdir(mode=0o777)
    try:
        with psycopg.connect(url) as connection:
            [(folder,)] = connection.execute("SHOW data_directory").fetchall()
        shutil.chown(disk / "rows", Path(folder).stat().st_uid)
        owner(url, f"CREATE TABLESPACE {name} LOCATION '{disk}/rows'")
        owner(server[0], f"CREATE DATABASE {name} TEMPLATE {server[1]} TABLESPACE {name}")
        yield psycopg.conninfo.make_conninfo(url, dbname=name), disk
    finally:
        owner(url, f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        owner(url, f"DROP TABLESPACE IF EXISTS {name}")
        subprocess.run(["umount", "-l", str(disk)], check=True)
        disk.rmdir()


def test_the_disk_of_postgresql_is_full(
    small: tuple[str, Path], tmp_path: Path, teams: Callable[..., Team]
) -> None:
    """It really is: requests and jobs are told so, and go on when there is room."""
    url, disk = small
    db = Database(url)
    copies = Copies(db, tmp_path / "copies", opened)
    tenant, token = fill(db, copies, "ada"), tenants.give(db, "ada").text
    team = teams(url)
    port = team.server()
    assert ask(port, "/v1/remember", {"text": "Before."}, token).status == 200
    number = queue.put(db, tenant, remember("Waits."))
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as stream, suppress(OSError):
        while True:
            stream.write(b"x" * 4096)
    line = b'{"role": "user", "content": "%b"}\n' % (b"word " * 3000)
    path, size, told = "/v1/uploads/plain/big.jsonl", 0, None
    for _ in range(100):  # pages that are there have some room yet
        told = ask(port, f"{path}?offset={size}", line * 20, token)
        if told.status != 200:
            break
        size = told.data["size"]
    assert told is not None and told.status == 503 and int(told.headers["retry-after"]) > 0
    assert "has no room left" in told.data["error"]["message"]
    assert ask(port, "/v1/search", {"text": "before"}, token).data["hits"]
    team.process("work")
    ballast.unlink()
    with db.anyone() as connection:  # its pause is over
        sql = "UPDATE procrastinate_jobs SET scheduled_at = NULL WHERE id = %s AND status = 'todo'"
        connection.execute(sql, (number,))
    there = ask(port, path, None, token, "GET").data["size"]
    assert there >= size
    assert ask(port, f"{path}?offset={there}", line, token).status == 200
    until(lambda: "Waits." in copies(tenant).read(texts))
    assert copies(tenant).read(texts) == ["Before.", "Waits."] and queue.aside(db) == []
    copies.close()
    db.close()


def test_postgresql_is_full(url: str, db: Database, copies: Copies) -> None:
    """A trigger says what PostgreSQL says when its disk is full (53100)."""
    tenant = fill(db, copies, "ada")
    copies(tenant).write(lambda m: m.remember("Before.").id.encode())
    owner(
        url,
        "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION "
        "'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$;"
        "CREATE TRIGGER full_disk BEFORE INSERT ON wakebook.segment FOR EACH ROW "
        "EXECUTE FUNCTION full_disk()",
    )
    with pytest.raises(Unavailable, match=r"has no room left: .*No space left"):
        copies(tenant).write(lambda m: m.remember("Too much.").id.encode())
    assert copies(tenant).read(texts) == ["Before."]
    owner(url, "DROP TRIGGER full_disk ON wakebook.segment")
    copies(tenant).write(lambda m: m.remember("After.").id.encode())
    assert copies(tenant).read(texts) == ["Before.", "After."]


def test_two_versions_at_once(
    url: str, db: Database, copies: Copies, teams: Callable[..., Team]
) -> None:
    """A newer Wakebook has migrated; what runs goes on, what starts is refused."""
    tenant, token = fill(db, copies, "ada"), tenants.give(db, "ada").text
    team = teams(url)
    port = team.server()
    team.process("work")
    later = len(migrations()) + 1
    owner(url, f"INSERT INTO wakebook.migration VALUES ({later}, 'later', 'x')")
    owner(url, "ALTER TABLE wakebook.home ADD COLUMN later text NOT NULL DEFAULT ''")
    assert ask(port, "/v1/remember", {"text": "By the old one."}, token).status == 200
    queue.put(db, tenant, remember("By an old worker."))
    until(lambda: idle(db))
    assert copies(tenant).read(texts) == ["By the old one.", "By an old worker."]
    for words in (("serve", "--port", "0"), ("work",), ("list",)):
        done = team.run(*words)
        assert done.returncode and "newer Wakebook" in done.stdout + done.stderr
        assert "Upgrade Wakebook here" in done.stdout + done.stderr
    owner(url, f"DELETE FROM wakebook.migration WHERE number >= {later - 1}")
    done = team.run("work")
    assert done.returncode and "wakebook team init" in done.stdout + done.stderr


WORKER = """
import resource, sys
from pathlib import Path
from wakebook.service.team_work import Worker, opened
from wakebook.team.copies import Copies
from wakebook.team.database import Database
db = Database(sys.argv[1])
worker = Worker(db, Copies(db, Path(sys.argv[2]), opened), heart=0.3)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]),) * 2)
worker.run(lambda: print("ready", flush=True))
"""


def test_a_worker_without_disk_leaves_its_job_to_others(
    url: str, db: Database, copies: Copies, tmp_path: Path
) -> None:
    tenant = fill(db, copies, "ada")
    number = queue.put(db, tenant, remember("Kept."))

    def worker(name: str, size: int) -> subprocess.Popen[str]:
        words = [sys.executable, "-c", WORKER, url, str(tmp_path / name), str(size)]
        return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def tried() -> Any:
        with db.anyone() as connection:
            sql = "SELECT attempts FROM procrastinate_jobs WHERE id = %s"
            return connection.execute(sql, (number,)).fetchone()

    full = worker("full", 2_000)
    try:
        until(lambda: tried() and tried()[0] >= 1)
    finally:
        full.kill()
        full.communicate()
    assert queue.aside(db) == [] and copies(tenant).read(texts) == []
    with db.anyone() as connection:  # its pause is over
        connection.execute("UPDATE procrastinate_jobs SET scheduled_at = NULL, attempts = 90")
    well = worker("well", resource.RLIM_INFINITY)
    try:
        until(lambda: idle(db))
    finally:
        well.kill()
        well.communicate()
    assert copies(tenant).read(texts) == ["Kept."] and queue.aside(db) == []


def test_a_gigabyte_is_refused_before_it_is_sent(
    db: Database, copies: Copies, url: str, teams: Callable[..., Team]
) -> None:
    fill(db, copies, "ada")
    token, port = tenants.give(db, "ada").text, teams(url).server()
    tenants.limit(db, "ada", bytes=3_000_000)
    path = "/v1/uploads/plain/big.jsonl"
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
    with socket.create_connection(("127.0.0.1", port), 30) as link:
        link.sendall(f"{head}Content-Length: {1 << 30}\r\n\r\n".encode())
        assert b"429" in link.recv(1 << 16).partition(b"\r\n")[0]
    with socket.create_connection(("127.0.0.1", port), 30) as link:  # which does not say its size
        link.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        piece = b"100000\r\n" + b"x" * (1 << 20) + b"\r\n"
        sent = 0
        try:
            while sent < 1024 and not _readable(link):
                link.sendall(piece)
                sent += 1
        except OSError:
            pass
        assert sent < 64
    assert ask(port, path, None, token, "GET").data["size"] <= 3_000_000


def test_a_large_upload_takes_little_memory(
    db: Database, copies: Copies, url: str, teams: Callable[..., Team]
) -> None:
    tenant = fill(db, copies, "ada")
    team = teams(url)
    process, ready = team.process("serve", "--port", "0")
    token, port = tenants.give(db, "ada").text, int(ready["port"])
    path = "/v1/uploads/plain/big.jsonl"
    line = b'{"role": "user", "content": "%b"}\n' % (b"word " * 3000)
    assert ask(port, path, line, token).status == 200
    before, size = _memory(process.pid), len(line)
    for _ in range(16):
        body = line * (4_000_000 // len(line))
        assert ask(port, f"{path}?offset={size}", body, token).status == 200
        size += len(body)
    assert _memory(process.pid) - before < 40_000_000, "64 MB were sent"
    assert copies(tenant).read(lambda m: (m.home.root / path[4:]).stat().st_size) == size


def _memory(process: int) -> int:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) * 1024


def _readable(link: socket.socket) -> bool:
    import select

    return bool(select.select([link], [], [], 0)[0])


def test_leases_go_by_the_clock_of_the_database(
    db: Database, copies: Copies, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tenant = fill(db, copies, "ada")
    other = Copies(db, tmp_path / "other", opened)

    def first(memory: Any) -> bytes:
        for moment in ("2001-01-01T00:00:00Z", "2099-01-01T00:00:00Z"):
            monkeypatch.setenv("WAKEBOOK_NOW", moment)  # another machine's clock is far off
            with pytest.raises(Locked, match="Another long piece of work"):
                other(tenant).write(lambda m: b"", long=True)
        return str(memory.remember("Alone.").id).encode()

    copies(tenant).write(first, long=True)
    assert other(tenant).read(texts) == ["Alone."]
    other.close()
    for hours in (1, -1):
        now = datetime.now(UTC) + timedelta(hours=hours)
        with pytest.raises(WakebookError, match="clock is"):
            check_clock(db, now)
