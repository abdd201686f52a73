"""Whatever is wrong with the index, a search answers, and says what was wrong."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from tests.store.making import (
    again,
    append,
    entry,
    everything,
    find,
    fresh,
    name,
    note,
    paths,
    plain,
    python,
    refs,
    rows,
    sentences,
    transcript,
    wakebook,
)
from wakebook import Memory
from wakebook.store import changes as scan
from wakebook.store.database import LocalStore


@pytest.fixture
def home(tmp_path: Path) -> Memory:
    memory = fresh(tmp_path / "home")
    fill(memory)
    return memory


def fill(memory: Memory) -> None:
    append(memory, entry(1, "the zebra eats grass"), entry(2, "Mira sold a bicycle"))
    note(memory, "topics/animals.md", "# Zebras\n\nA zebra lives in Lagos\n")
    transcript(memory, "s1", [("user", "I saw a zebra"), ("agent", "Nice.")])


def answers(memory: Memory) -> tuple[str, ...]:
    """Everything about zebras is found; the notes."""
    found = find(memory, "zebra")
    there = {name(1), "topics/animals.md"}
    assert there <= set(paths(found))
    assert any(path.startswith("raw/conversations") for path in paths(found))
    return found.notes


def test_nothing_is_wrong(home: Memory) -> None:
    assert answers(home) == ()


def test_an_index_of_a_newer_wakebook_is_left_alone(home: Memory) -> None:
    home.index.sync()
    db = sqlite3.connect(home.home.index)
    db.execute("PRAGMA user_version = 99")
    db.close()
    before = home.home.index.read_bytes()
    [told] = answers(home)
    assert "newer Wakebook" in told and "wakebook index --full" in told
    assert home.home.index.read_bytes() == before
    assert "newer Wakebook" in wakebook(home, "status", code=1)
    assert "newer Wakebook" in wakebook(home, "index", "--status", code=1)
    assert "newer Wakebook" in wakebook(home, "index", code=12)
    wakebook(home, "index", "--full")
    assert answers(home) == ()


def test_a_folder_in_its_place(home: Memory) -> None:
    home.home.index.mkdir()
    [told] = answers(home)
    assert told.startswith("Found by reading the files (a plain scan), by words alone")
    assert "index.db" in told
    assert "index.db" in wakebook(home, "status", code=1)


@pytest.mark.parametrize("size", [10, 5000, 100_000])
def test_garbage_is_set_aside_and_the_index_made_anew(home: Memory, size: int) -> None:
    garbage = random.Random(size).randbytes(size)
    home.home.index.write_bytes(garbage)
    [told] = answers(home)
    [aside] = home.home.root.glob("index.db.broken-*")
    assert aside.read_bytes() == garbage
    assert aside.name in told and "new one was made" in told
    assert answers(home) == ()


def test_threads_that_find_it_broken_at_once_all_go_on(tmp_path: Path) -> None:
    """A service answers in four threads, and each of them has a connection of its own."""
    path = tmp_path / "index.db"
    for number in range(40):
        path.write_bytes(b"this is no database" * 1000)
        stores = [LocalStore(path) for _ in range(6)]
        begin = Barrier(len(stores))

        def set_aside(store: LocalStore, begin: Barrier = begin) -> None:
            begin.wait()
            store.abandon()

        with ThreadPoolExecutor(len(stores)) as pool:
            list(pool.map(set_aside, stores))  # raises what one of them raised
        assert sum(one.set_aside is not None for one in stores) == 1
        assert len(list(tmp_path.glob("index.db.broken-*"))) == 1, number
        assert not path.exists()


def test_an_empty_file_is_an_empty_index(home: Memory) -> None:
    home.home.index.write_bytes(b"")
    assert answers(home) == ()


def test_a_database_of_somebody_else(home: Memory) -> None:
    db = sqlite3.connect(home.home.index)
    db.execute("CREATE TABLE chunk (x)")
    db.commit()
    db.close()
    assert answers(home)
    assert list(home.home.root.glob("index.db.broken-*"))
    assert answers(home) == ()


def test_a_truncated_index(home: Memory) -> None:
    append(home, *(entry(100 + n, text) for n, text in enumerate(sentences(300))))
    home.index.sync()
    whole = home.home.index.read_bytes()
    for part in (0.3, 0.7, 0.97):
        home.home.index.write_bytes(whole[: int(len(whole) * part)])
        answers(home)
        assert answers(home) == ()
        assert paths(find(home, "zebra lives in Lagos"))[0] == "topics/animals.md"


def test_an_index_with_pages_overwritten(home: Memory) -> None:
    append(home, *(entry(100 + n, text) for n, text in enumerate(sentences(300))))
    home.index.sync()
    whole = home.home.index.read_bytes()
    chance = random.Random(8)
    pages = range(1, len(whole) // 4096)
    for number in range(4):
        broken = bytearray(whole)
        for page in chance.sample(pages, len(pages) // 2):
            broken[page * 4096 : page * 4096 + 64] = chance.randbytes(64)
        home.home.index.write_bytes(bytes(broken))
        answers(home)
        answers(home)
        assert paths(find(home, "zebra lives in Lagos"))[0] == "topics/animals.md", number


def test_an_index_with_flipped_bits(home: Memory) -> None:
    """SQLite does not notice most of them."""
    append(home, *(entry(100 + n, text) for n, text in enumerate(sentences(300))))
    home.index.sync()
    home.opened.index.store.close()
    whole, chance = home.home.index.read_bytes(), random.Random(5)
    for number in range(40):
        broken = bytearray(whole)
        for _ in range(chance.choice([1, 20, 200])):
            broken[chance.randrange(100, len(broken))] ^= 1 << chance.randrange(8)
        for path in home.home.root.glob("index.db*"):
            path.unlink()
        home.home.index.write_bytes(bytes(broken))
        for question in ("zebra bicycle in room 7", "zebra"):
            assert find(home, question).hits, number


def test_a_writer_that_does_not_let_go(home: Memory) -> None:
    home.index.sync()
    db = sqlite3.connect(home.home.index, isolation_level=None)
    db.execute("BEGIN IMMEDIATE")
    try:
        assert answers(home) == ()  # nothing to write, nothing to wait for
        append(home, entry(3, "a late zebra"))
        [told] = answers(home)
        assert "Another process is writing the index" in told
    finally:
        db.execute("ROLLBACK")
        db.close()
    assert answers(home) == ()
    assert name(3) in refs(find(home, "late zebra"))


# --- a home that may not be written ------------------------------------------------------


@pytest.fixture
def shared() -> Iterator[Memory]:
    """A home in a folder that other users may read."""
    folder = Path(tempfile.mkdtemp(prefix="wakebook-shared-"))
    folder.chmod(0o755)
    memory = fresh(folder / "home")
    fill(memory)
    yield memory
    shutil.rmtree(folder)


def _readable(root: Path) -> None:
    for path in (root, *root.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)


def _as_somebody(memory: Memory) -> tuple[list[str], list[str]]:
    """Search as a user who may read and not write. References and notes."""
    _readable(memory.home.root)
    code = """
import os, shutil, sys
from pathlib import Path
from wakebook import Memory
home, spare = Path(sys.argv[1]), Path(sys.argv[2])
for folder in (spare / "indexed", spare / "scanned"):  # import all while that is allowed
    shutil.copytree(home, folder, ignore=shutil.ignore_patterns("index.db*"))
    folder.chmod(0o755)
    if folder.name == "scanned":
        (folder / "index.db").mkdir()
    Memory(folder).search("zebra")
if os.getuid() == 0:
    os.setuid(65534)
found = Memory(home).search("zebra", min_score=0)
print("\\n".join(hit.ref for hit in found.hits))
print("---")
print("\\n".join(found.notes))
"""
    with tempfile.TemporaryDirectory() as spare:
        out = python(code, str(memory.home.root), spare)
    shown, _, notes = out.partition("---\n")
    return shown.split(), notes.strip().splitlines()


def test_a_read_only_home_with_an_index(shared: Memory) -> None:
    shared.index.sync()
    shared.opened.index.store.close()
    found, notes = _as_somebody(shared)
    assert name(1) in found and notes == []


def test_a_read_only_home_whose_index_is_behind(shared: Memory) -> None:
    shared.index.sync()
    shared.opened.index.store.close()
    append(shared, entry(3, "a late zebra"))
    found, [told] = _as_somebody(shared)
    assert name(1) in found and name(3) not in found
    assert "may not be written" in told


def test_a_read_only_home_without_an_index(shared: Memory) -> None:
    found, [told] = _as_somebody(shared)
    assert name(1) in found and "Found by reading the files" in told


# --- without an index --------------------------------------------------------------------


def test_a_scan_finds_the_same_words(home: Memory) -> None:
    note(home, "topics/other.md", "nothing of the kind")
    for question in ("zebra", "ZEBRAS", "the zebra in Lagos", "bicycle"):
        indexed = find(home, question)
        for path in home.home.root.glob("index.db*"):
            path.unlink()
        home.home.index.mkdir()
        scanned = find(home, question)
        home.home.index.rmdir()
        words = {hit.ref for hit in indexed.hits if "words:" in hit.why}
        assert words <= set(refs(scanned))


def test_which_files_hold_a_word(home: Memory) -> None:
    root = home.home.root
    note(home, "archive/topics/2020.md", "数据库 and Running")
    assert scan.holding(root, "数据库")[1] == {"archive/topics/2020.md"}
    assert scan.holding(root, "running")[1] == {"archive/topics/2020.md"}
    assert scan.holding(root, "--help -e $(x) zebra")[1] >= {"topics/animals.md"}
    assert len(scan.holding(root, "")[1]) == 3
    assert len(scan.holding(root, "the")[1]) == 3
    note(home, "topics/bad.md", b"\xff\xfe zebra \x00")
    assert "topics/bad.md" in scan.holding(root, "zebra")[1]


FAKE = """#!/bin/sh
echo "$@" >> "$RG_CALLS"
test -z "$RG_FAILS" || exit 2
while test "$1" != -e; do shift; done
word=$2
while test "$1" != --; do shift; done
shift
exec grep -rlZiF -e "$word" -- "$@"
"""


@pytest.mark.parametrize("fails", ["", "yes"])
def test_ripgrep_is_asked_if_it_is_there(home: Memory, tmp_path: Path, fails: str) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "rg").write_text(FAKE)
    (tools / "rg").chmod(0o755)
    home.home.index.mkdir()
    code = (
        "import sys\nfrom wakebook import Memory\n"
        "found = Memory(sys.argv[1]).search('zebra', min_score=0)\n"
        "print(found.notes[0])\nprint(' '.join(hit.ref for hit in found.hits))"
    )
    environ = {"PATH": f"{tools}:{os.environ['PATH']}", "RG_CALLS": str(tmp_path / "calls")}
    out = python(code, str(home.home.root), **environ, RG_FAILS=fails)
    assert "zebr" in (tmp_path / "calls").read_text()
    assert ("a plain scan" if fails else "ripgrep") in out
    assert "topics/animals.md" in out and name(1) in out


@pytest.mark.skipif(not shutil.which("rg"), reason="ripgrep is not installed")
def test_the_real_ripgrep(home: Memory) -> None:
    tool, found = scan.holding(home.home.root, "zebras")
    assert tool == "ripgrep" and "topics/animals.md" in found


# --- files that are not what they seem ---------------------------------------------------


def test_a_binary_file_among_the_notes(home: Memory) -> None:
    note(home, "topics/picture.md", b"\x89PNG\0\0\0zebra" * 100)
    assert answers(home) == ()
    assert "topics/picture.md" not in paths(find(home, "zebra"))
    [problem] = again(home).index.status().problems
    assert "topics/picture.md" in problem and "not text" in problem


def test_a_note_that_is_too_large(tmp_path: Path) -> None:
    memory = fresh(tmp_path / "home", "[search]\nmax_file_megabytes = 1\n")
    fill(memory)
    note(memory, "topics/huge.md", b"zebra " * 200_000)
    assert answers(memory) == ()
    for command in (["index", "--status"], ["index"], ["status"]):
        out = wakebook(memory, *command, code=1)
        assert "topics/huge.md" in out and "larger than 1 MB" in out
    note(memory, "topics/huge.md", b"zebra is small again")
    assert "topics/huge.md" in paths(find(memory, "zebra"))
    assert again(memory).index.status().problems == ()


def test_the_limit_is_ten_megabytes(home: Memory) -> None:
    note(home, "topics/huge.md", b"\n" * (11 << 20))
    home.index.sync()
    [problem] = again(home).index.status().problems
    assert "larger than 10 MB" in problem


def test_text_that_is_not_utf8(home: Memory) -> None:
    note(home, "topics/latin.md", "Le zèbre au café de Zürich, zebra".encode("latin-1"))
    assert "topics/latin.md" in paths(find(home, "zebra"))
    assert again(home).index.status().problems == ()


def test_a_transcript_that_is_not_utf8(home: Memory) -> None:
    path = transcript(home, "s2", [("user", "the lion")])
    there = home.home.root / path
    there.write_bytes(there.read_bytes().replace(b"lion", b"lion \xe9\xff zebra"))
    assert path in paths(find(home, "lion"))


def test_windows_line_ends(home: Memory) -> None:
    note(home, "topics/dos.md", b"# Head\r\n\r\na lion\r\n")
    [hit] = [hit for hit in find(home, "lion").hits if hit.ref.startswith("topics/dos.md")]
    assert hit.title == "dos › Head" and hit.snippet == "a **lion**"


def test_without_a_log_and_without_anything(tmp_path: Path) -> None:
    memory = fresh(tmp_path / "home")
    assert find(memory, "zebra").hits == ()
    note(memory, "knowledge/reference/a.md", "a zebra")
    assert paths(find(memory, "zebra")) == ["knowledge/reference/a.md"]
    wakebook(memory, "status")
    assert "Nothing found" in wakebook(fresh(tmp_path / "other"), "search", "zebra", code=1)


def test_not_a_home(tmp_path: Path) -> None:
    assert "wakebook setup" in wakebook(Memory(tmp_path / "nothing"), "search", "x", code=3)


def test_the_index_can_be_deleted_at_any_time(home: Memory) -> None:
    before = plain(find(home, "zebra")), everything(home)
    for path in home.home.root.glob("index.db*"):
        path.unlink()
    assert (plain(find(home, "zebra")), everything(home)) == before


def test_deleted_under_an_open_memory(home: Memory) -> None:
    home.search("zebra")
    for path in home.home.root.glob("index.db*"):
        path.unlink()
    home.remember("a zebra after that")
    assert len(home.search("zebra", min_score=0, limit=20).hits) >= 4
    assert answers(home) == ()


def test_status_never_fails(home: Memory) -> None:
    assert again(home).index.status().chunks == {}
    home.index.sync()
    found = again(home).index.status()
    assert found.chunks == {"conversation": 2, "memory": 2, "topic": 1}
    assert (found.vectors, found.pending, found.behind, found.problems) == (5, 0, 0, ())
    assert found.embedder == "builtin" and found.bytes > 4096
    append(home, entry(9, "more"))
    assert again(home).index.status().behind > 0
    assert sys.maxsize > sum(row[0] for row in rows(home, "SELECT count(*) FROM chunk"))


def test_a_file_name_that_is_not_utf8(home: Memory) -> None:
    odd = os.fsencode(home.home.root) + b"/topics/caf\xe9.md"
    Path(os.fsdecode(odd)).write_text("a lion")
    assert answers(home) == ()
    assert "caf" in wakebook(home, "status", code=1)


@pytest.mark.parametrize("value", ["0x_", "!!int abc", "!!float abc", "0b_", "[" * 3000, "*a"])
def test_frontmatter_that_yaml_chokes_on(home: Memory, value: str) -> None:
    note(home, "topics/odd.md", f"---\nx: {value}\n---\n\na lion\n")
    assert "topics/odd.md" in paths(find(home, "lion"))


def test_a_dangling_link_hides_nothing(home: Memory) -> None:
    for number in range(9):
        note(home, f"topics/{number}.md", f"lion number {number}")
    (home.home.root / "topics" / "dangling.md").symlink_to("/nowhere")
    found = set(paths(find(home, "lion number")))
    assert found >= {f"topics/{number}.md" for number in range(9)}


def test_a_file_among_the_conversations_that_is_none(home: Memory) -> None:
    note(home, "raw/conversations/2026/01/01/x.md", "just a lion")
    assert "raw/conversations/2026/01/01/x.md" in paths(find(home, "lion"))
    assert not any("is not indexed" in told for told in again(home).index.status().problems)


def test_plain_text_is_scanned_too(home: Memory) -> None:
    note(home, "topics/x.txt", "a lion")
    home.home.index.mkdir()
    assert "topics/x.txt" in paths(find(home, "lion"))


def test_a_pipe_among_the_notes_is_not_waited_for(home: Memory) -> None:
    os.mkfifo(home.home.root / "topics" / "pipe.md")
    assert answers(home) == ()


def test_an_index_that_is_cut_short_under_an_open_memory(home: Memory) -> None:
    assert find(home, "zebra").hits
    memory = again(home)
    assert memory.search("zebra").hits
    os.truncate(home.home.index, 4096)
    assert memory.search("zebra").hits


def test_an_index_that_is_removed_under_an_open_memory(home: Memory) -> None:
    memory = again(home)
    assert memory.search("zebra").hits
    home.home.index.unlink()
    append(home, entry(77, "a late zebra"))
    assert any(hit.ref == name(77) for hit in memory.search("late zebra").hits)
    assert any(hit.ref == name(77) for hit in again(home).search("late zebra").hits)


def test_a_link_out_of_the_home_is_not_followed(home: Memory, tmp_path: Path) -> None:
    outside = tmp_path / "secret.md"
    outside.write_text("the quagga is hidden")
    (home.home.root / "topics" / "link.md").symlink_to(outside)
    assert not [hit for hit in find(home, "quagga").hits if "quagga" in hit.snippet]
    assert any("out of the home" in problem for problem in again(home).index.status().problems)
