"""Killed, read beside, done twice at once: the index is the same afterwards."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.crash import run_and_die
from tests.store.making import (
    WORDS_ALONE,
    again,
    append,
    entry,
    everything,
    find,
    fresh,
    name,
    note,
    plain,
    refs,
    rewrite,
    rows,
    sentences,
    transcript,
)
from wakebook import Memory
from wakebook.base.errors import IndexUnavailable
from wakebook.store.database import LocalStore


def fill(memory: Memory) -> None:
    for number in range(1, 15):
        old = (name(number - 1),) if number % 4 == 0 else ()
        append(memory, entry(number, f"zebra {number} eats", replaces=old))
    for number in range(1, 4):
        note(memory, f"topics/2026-01-0{number}.md", f"# A\n\nzebra {number}\n\n# B\n\nlion\n")
    transcript(memory, "s1", [("user", "a zebra"), ("agent", "a lion")])


def questions(memory: Memory) -> list[Any]:
    return [plain(find(memory, text)) for text in ("zebra", "lion", "zebra 3 eats", "animal")]


class Killing:
    """Kills its own process when the given number of steps in SQLite were made."""

    def __init__(self, at: int) -> None:
        self.left = at

    def __call__(self) -> int:
        self.left -= 1
        if self.left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return 0


def dying_sync(root: Path, at: int) -> None:
    memory = Memory(root)
    opened = memory.opened.index.store.db
    assert isinstance(opened, sqlite3.Connection)
    opened.set_progress_handler(Killing(at), 200)
    memory.index.sync()


def test_killed_at_any_step_and_searched_it_is_the_same(tmp_path: Path) -> None:
    reference = fresh(tmp_path / "reference")
    fill(reference)
    expected = questions(reference), everything(reference)
    root = tmp_path / "home"
    step, kills = 1, 0
    while True:
        memory = fresh(root)
        fill(memory)
        died = died_in_sqlite(root, step)
        kills += died
        assert (questions(memory), everything(memory)) == expected, f"killed at {step}"
        for path in root.glob("index.db*"):
            path.unlink()
        memory.home.log.unlink()
        if not died:
            break
        step = step + 1 if step < 4 else int(step * 1.6)
    assert kills > 5


def died_in_sqlite(root: Path, step: int) -> bool:
    return run_and_die(lambda: dying_sync(root, step), 10**9)


def test_killed_again_and_again_while_things_change(tmp_path: Path) -> None:
    chance = random.Random(3)
    memory, kills = fresh(tmp_path / "home"), 0
    for number in range(1, 25):
        old = (name(number - 1),) if number % 3 == 0 else ()
        append(memory, entry(number, f"zebra {number}", replaces=old))
        note(memory, f"topics/2026-01-0{number % 5 + 1}.md", f"# T\n\nlion {number}\n\n# U\n\nox\n")
        if number == 13:
            rewrite(memory, lambda item: item.id not in (name(2), name(3)))
        if number == 17:
            (memory.home.root / "topics/2026-01-01.md").unlink()
        kills += died_in_sqlite(memory.home.root, chance.randint(1, 12))
    assert kills > 8
    reference = fresh(tmp_path / "reference")
    reference.home.log.write_bytes(memory.home.log.read_bytes())
    for path in (memory.home.root / "topics").iterdir():
        note(reference, f"topics/{path.name}", path.read_bytes())
    assert questions(memory) == questions(reference)
    left, right = everything(memory), everything(reference)
    assert left == right


def test_killed_by_a_full_rebuild(tmp_path: Path) -> None:
    memory = fresh(tmp_path / "home")
    fill(memory)
    expected = questions(memory)
    for step in range(1, 8):
        run_and_die(lambda: Memory(memory.home.root).index.sync(full=True), step)
        assert questions(memory) == expected


BUSY = "Another process is writing the index; the newest things may be missing."
_READER = """
import json, sys
from wakebook import Memory
notes, count = set(), 0
print("ready", flush=True)
while True:
    memory = Memory(sys.argv[1])
    for text in ("zebra", "which lion", "room 7"):
        found = memory.search(text, min_score=0)
        notes.update(found.notes)
        count += 1
        assert all(hit.snippet for hit in found.hits)
    if sys.stdin.readline() != "more\\n":
        break
print(json.dumps([count, sorted(notes)]))
"""


def test_a_reader_beside_a_writer_never_fails(tmp_path: Path) -> None:
    memory = fresh(tmp_path / "home", WORDS_ALONE)
    append(memory, entry(1, "a zebra"))
    memory.index.sync()
    reader = subprocess.Popen(
        [sys.executable, "-c", _READER, str(memory.home.root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert reader.stdin and reader.stdout
    assert reader.stdout.readline() == "ready\n"
    texts = sentences(1500)
    for number in range(15):
        part = texts[number * 100 : number * 100 + 100]
        append(memory, *(entry(number * 100 + at + 2, text) for at, text in enumerate(part)))
        note(memory, f"topics/{number % 3}.md", f"# Lion\n\nzebra {number}\n\n# Room\n\nroom 7\n")
        reader.stdin.write("more\n")
        reader.stdin.flush()
        memory.index.sync()
    out, _ = reader.communicate("done\n")
    assert reader.returncode == 0
    count, notes = json.loads(out.splitlines()[-1])
    assert count >= 45
    assert set(notes) <= {BUSY}  # on a machine that is


def test_a_writer_that_is_in_the_middle_is_not_seen(tmp_path: Path) -> None:
    memory = fresh(tmp_path / "home", WORDS_ALONE)
    append(memory, entry(1, "a zebra"))
    memory.index.sync()
    before = find(memory, "zebra")
    db = sqlite3.connect(memory.home.index, isolation_level=None)
    db.execute("BEGIN IMMEDIATE")
    db.execute("DELETE FROM chunk")
    db.execute("DELETE FROM body")
    assert plain(find(memory, "zebra")) == plain(before)
    db.execute("ROLLBACK")
    db.close()


def test_two_syncs_at_once_do_the_work_once(tmp_path: Path) -> None:
    memory = fresh(tmp_path / "home")
    fill(memory)
    texts = sentences(600)
    append(memory, *(entry(1000 + at, text) for at, text in enumerate(texts)))
    code = "import sys; from wakebook import Memory; print(Memory(sys.argv[1]).index.sync().added)"
    command = [sys.executable, "-c", code, str(memory.home.root)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    added = [int(process.communicate()[0]) for process in running]
    assert [process.returncode for process in running] == [0, 0, 0]
    reference = fresh(tmp_path / "reference")
    fill(reference)
    append(reference, *(entry(1000 + at, text) for at, text in enumerate(texts)))
    reference.index.sync()
    assert sum(added) == rows(reference, "SELECT count(*) FROM chunk")[0][0]
    assert everything(memory) == everything(reference)


def test_threads_that_search_and_write(tmp_path: Path) -> None:
    memory = fresh(tmp_path / "home", WORDS_ALONE)
    append(memory, entry(1, "a zebra"))
    memory.search("zebra")
    failures: list[BaseException] = []

    def search() -> None:
        try:
            for _ in range(15):
                assert name(1) in refs(memory.search("zebra", limit=50, min_score=0))
        except BaseException as error:
            failures.append(error)

    def write() -> None:
        try:
            for number in range(10):
                memory.remember(f"lion number {number}")
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for work in (search, search, write)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(again(memory).search("lion", limit=50, min_score=0).hits) == 10


_WRITER = """
import sys
from pathlib import Path
from tests.store.making import Memory, append, entry, note, sentences
home = Memory(Path(sys.argv[1]))
texts = sentences(1500)
for turn in range(13):
    part = texts[300 + turn * 90 : 390 + turn * 90]
    append(home, *(entry(300 + turn * 90 + at, text) for at, text in enumerate(part)))
    for topic in range(4):
        parts = [f"# H{at}\\n\\nzebra {at} {turn} room {at * turn}\\n" for at in range(30)]
        note(home, f"topics/{topic}.md", "".join(parts))
    home.index.sync()
"""


def test_threads_that_search_while_another_process_writes(tmp_path: Path) -> None:
    import numpy  # noqa: F401 - what was read stays in memory then, and threads share it

    memory = fresh(tmp_path / "home")
    append(memory, *(entry(at, text) for at, text in enumerate(sentences(300))))
    memory.index.sync()
    writer = subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(memory.home.root)], cwd=Path(__file__).parents[2]
    )
    failures: list[BaseException] = []

    def search() -> None:
        try:
            while writer.poll() is None:
                for text in ("zebra room", "who fixed the bicycle in room 7"):
                    assert memory.search(text, min_score=0).hits
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert writer.wait() == 0


class Raced(LocalStore):
    """Another program sets the file aside while this one opens it for the first time."""

    opened = 0

    def _create_or_check(self, db: sqlite3.Connection) -> None:
        self.opened += 1
        if self.opened == 1:
            self.path.unlink()
        super()._create_or_check(db)


def test_a_file_that_goes_while_it_is_opened_is_made_anew(tmp_path: Path) -> None:
    store = Raced(tmp_path / "index.db")
    assert store.db.execute("SELECT value FROM meta WHERE key = 'schema'").fetchone()
    assert (store.opened, store.readonly, store.path.is_file()) == (2, False, True)


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(IndexUnavailable, match=r"index\.db"):
        LocalStore(tmp_path / "none" / "index.db").db  # noqa: B018 - opens it
