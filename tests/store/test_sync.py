"""Sync: everything is found, right after it was written, and only what changed is read."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.store.making import (
    WORDS_ALONE,
    again,
    append,
    entry,
    everything,
    find,
    fresh,
    ids,
    name,
    note,
    paths,
    plain,
    python,
    refs,
    rewrite,
    rows,
    store,
    transcript,
)
from wakebook import Memory
from wakebook.base import markdown
from wakebook.log.entry import encode
from wakebook.models.embedder import Rows
from wakebook.store.database import LocalStore
from wakebook.store.sync import Sync


@pytest.fixture
def home(tmp_path: Path) -> Memory:
    return fresh(tmp_path / "home", WORDS_ALONE)


def test_entries_notes_topics_and_turns_are_found(home: Memory) -> None:
    append(home, entry(1, "The zebra is striped"))
    note(home, "knowledge/people/mira.md", "# Pets\n\nA zebra called Zoe\n")
    note(home, "topics/animals.md", "Where the zebra lives\n")
    path = transcript(home, "s1", [("user", "I saw a zebra"), ("agent", "Nice, a lion too?")])
    found = find(home, "zebra")
    assert set(paths(found)) == {name(1), "knowledge/people/mira.md", "topics/animals.md", path}
    [turn] = [hit for hit in found.hits if hit.ref.startswith("raw")]
    assert (turn.category, turn.session, turn.speaker) == ("conversation", "s1", "user")
    assert turn.provenance == f"claude-code session:s1 {turn.ref}"


def test_generated_blocks_are_not_found_twice(home: Memory) -> None:
    append(home, entry(1, "The zebra is striped"))
    block = f"{markdown.BEGIN}\n- The zebra is striped\n{markdown.END}\n"
    note(home, "knowledge/memory/MEMORY.md", f"# Memory\n\n{block}\nmy lion\n")
    assert refs(find(home, "zebra")) == [name(1)]
    assert paths(find(home, "lion"))[0] == "knowledge/memory/MEMORY.md"


def test_what_was_just_remembered_is_found(home: Memory) -> None:
    assert home.search("zebra").hits == ()
    made = home.remember("The zebra is striped")
    assert refs(home.search("zebra")) == [made.id]
    other = Memory(home.home.root)
    assert refs(other.search("zebra")) == [made.id]
    second = home.remember("Another zebra came")
    assert set(refs(other.search("zebra"))) == {made.id, second.id}  # though it looked just now


def test_what_another_process_remembered_is_found(home: Memory) -> None:
    home.search("zebra")
    code = (
        "import sys; from wakebook import Memory; print(Memory(sys.argv[1]).remember('a zebra').id)"
    )
    made = python(code, str(home.home.root)).strip()
    assert refs(home.search("zebra")) == [made]


def test_a_second_sync_does_nothing(home: Memory) -> None:
    append(home, entry(1, "one zebra"))
    note(home, "topics/a.md", "two zebras")
    first = home.index.sync()
    assert (first.added, first.removed, first.files) == (2, 0, ["topics/a.md"])
    second = again(home).index.sync()
    assert (second.added, second.removed, second.embedded, second.files) == (0, 0, 0, [])


def test_unchanged_text_keeps_its_chunks(home: Memory) -> None:
    path = note(home, "topics/a.md", "# A\n\none\n\n# B\n\ntwo\n", 1_700_000_000)
    home.index.sync()
    before = ids(home)
    os.utime(path, (1_800_000_000, 1_800_000_000))
    done = again(home).index.sync()
    assert done.files == ["topics/a.md"]
    assert (done.added, done.removed) == (0, 0)
    assert ids(home) == before


def test_a_changed_section_replaces_only_its_chunks(home: Memory) -> None:
    text = "# A\n\none zebra\n\n# B\n\ntwo lions\n"
    note(home, "topics/a.md", text, 1_700_000_000)
    home.index.sync()
    before = ids(home)
    note(home, "topics/a.md", text.replace("one", "no"), 1_700_000_100)
    done = again(home).index.sync()
    assert (done.added, done.removed) == (1, 1)
    assert ids(home)["two lions"] == before["two lions"]
    note(home, "topics/a.md", f"# Z\n\nnew\n\n{text}", 1_700_000_200)
    again(home).index.sync()
    assert ids(home)["two lions"] == before["two lions"]
    assert refs(find(home, "lions")) == ["topics/a.md#9-12"]


def test_sections_that_say_the_same(home: Memory) -> None:
    note(home, "topics/a.md", "# A\n\na zebra\n\n# A\n\na zebra\n")
    assert len(refs(find(home, "zebra"))) == 2
    note(home, "topics/a.md", "# A\n\na zebra\n")
    assert len(refs(find(home, "zebra"))) == 1
    note(home, "topics/a.md", "# A\n\na zebra\n" * 3)
    assert len(set(refs(find(home, "zebra")))) == 3


def test_lines_move_with_the_text(home: Memory) -> None:
    note(home, "topics/2026-01-01.md", "# A\n\none zebra\n")
    before = refs(find(home, "zebra"))
    note(home, "topics/2026-01-01.md", "\n\n\n# A\n\none zebra\n")
    after = refs(find(home, "zebra"))
    assert before != after
    assert again(home).get(after[0]).lines[-1][1] in ("one zebra", "")


def test_only_new_lines_of_the_log_are_read(home: Memory) -> None:
    append(home, *(entry(number, f"zebra {number}") for number in range(1, 20)))
    home.index.sync()
    before = ids(home)
    data = home.home.log.read_bytes()
    with home.home.log.open("r+b") as stream:  # the same file, its beginning unreadable
        stream.write(b"#" * 50)
    append(home, entry(20, "a lion"))
    done = again(home).index.sync()
    assert (done.added, done.removed) == (1, 0)
    assert ids(home).items() >= before.items()
    assert len(data) < home.home.log.stat().st_size


def test_a_renamed_subject_is_found_under_its_new_name(home: Memory) -> None:
    home.remember("The webhook is slow", subject="auth-migration")
    other = home.remember("The webhook is red")
    before = ids(home) if home.search("webhook").hits else {}
    home.log.rename_subject("auth-migration", "login")
    for subject in ("login", "auth-migration"):  # the old name is an alias now
        [hit] = find(home, "webhook", subjects=(subject,)).hits
        assert hit.subject == "login"
        assert len(find(home, "", subjects=(subject,)).hits) == 1
    assert ids(home)["The webhook is red"] == before["The webhook is red"]
    assert other.id in refs(find(home, "webhook"))


def test_merged_subjects(home: Memory) -> None:
    home.remember("The webhook is slow", subject="login")
    home.remember("The cookie is old", subject="sign-in")
    home.search("x")
    home.log.rename_subject("login", "sign-in", merge=True)
    found = again(home).search("webhook cookie", min_score=0)
    assert {hit.subject for hit in found.hits} == {"sign-in"}
    assert len(find(home, "", subjects=("login",)).hits) == 2


def test_lines_that_are_taken_out_of_the_log(home: Memory) -> None:
    append(home, entry(1, "a zebra"), entry(2, "a striped zebra"), entry(3, "the lion"))
    assert len(refs(find(home, "zebra"))) >= 2
    rewrite(home, lambda item: item.id != name(2))
    assert name(2) not in refs(find(home, "striped zebra"))
    rewrite(home, lambda item: False)
    assert refs(find(home, "zebra lion")) == []


def test_a_log_that_is_gone(home: Memory) -> None:
    append(home, entry(1, "a zebra"))
    assert refs(find(home, "zebra")) == [name(1)]
    home.home.log.unlink()
    assert refs(find(home, "zebra")) == []
    append(home, entry(2, "a zebra"))
    assert refs(find(home, "zebra")) == [name(2)]


def test_a_line_that_is_completed_later(home: Memory) -> None:
    append(home, entry(1, "a lion"))
    line = encode(entry(2, "a zebra"))
    with home.home.log.open("ab") as stream:
        stream.write(line[:40])
    assert name(2) not in refs(find(home, "zebra"))
    with home.home.log.open("ab") as stream:
        stream.write(line[40:])
    assert refs(find(home, "zebra"))[0] == name(2)


def test_bad_lines_and_repeated_ids(home: Memory) -> None:
    append(home, entry(1, "a zebra"), entry(1, "a repeated zebra"))
    with home.home.log.open("ab") as stream:
        stream.write(b'not json\n{"id": 3}\n\n\xff\xfe\n')
    append(home, entry(2, "a second zebra"))
    assert set(refs(find(home, "zebra"))) == {name(1), name(2)}
    [hit] = [hit for hit in find(home, "zebra").hits if hit.ref == name(1)]
    assert "repeated" not in hit.snippet


def test_a_changed_a_new_and_a_deleted_file(home: Memory) -> None:
    note(home, "topics/a.md", "one zebra")
    there = note(home, "topics/b.md", "two zebras")
    assert set(paths(find(home, "zebra"))) == {"topics/a.md", "topics/b.md"}
    note(home, "topics/a.md", "a lion instead of it")
    note(home, "topics/deep/er/c.md", "three zebras")
    there.unlink()
    assert paths(find(home, "zebra"))[0] == "topics/deep/er/c.md"
    assert "topics/b.md" not in paths(find(home, "zebra two"))
    assert paths(find(home, "lion"))[0] == "topics/a.md"
    shutil.rmtree(home.home.root / "topics")
    assert refs(find(home, "zebra lion")) == []
    assert rows(home, "SELECT count(*) FROM term") == [(0,)]


def test_what_was_moved_to_the_archive_is_found_below(home: Memory) -> None:
    for topic in "ab":
        note(home, f"topics/{topic}.md", f"# Zebras\n\nThe zebra of topic {topic} eats grass\n")
    other, first = reversed(paths(find(home, "zebra eats grass")))
    (home.home.root / "archive/topics").mkdir(parents=True)
    (home.home.root / first).rename(home.home.root / "archive" / first)
    found = find(home, "zebra eats grass")
    assert paths(found) == [other, f"archive/{first}"]
    assert found.hits[1].score < found.hits[0].score


def test_files_that_are_none_of_ours(home: Memory) -> None:
    for path in ("topics/.hidden.md", "topics/x.py", "prompts/x.md", "elsewhere/x.md"):
        note(home, path, "a zebra")
    note(home, "topics/x.txt", "a zebra in plain text")
    assert paths(find(home, "zebra")) == ["topics/x.txt"]


def test_a_memory_file_that_lives_elsewhere(tmp_path: Path) -> None:
    outside = tmp_path / "workspace" / "MEMORY.md"
    memory = fresh(tmp_path / "home", f'[briefing]\nmemory_file = "{outside}"\n')
    assert refs(find(memory, "zebra")) == []
    outside.parent.mkdir()
    outside.write_text("a zebra\n")
    assert paths(find(memory, "zebra")) == [str(outside)]


def test_without_anything(home: Memory) -> None:
    found = find(home, "zebra")
    assert (found.hits, found.notes) == ((), ())
    assert again(home).index.sync().added == 0


def test_the_same_question_twice(home: Memory) -> None:
    append(home, *(entry(number, f"zebra number {number % 3}") for number in range(30)))
    first = find(home, "zebra number")
    assert plain(find(home, "zebra number")) == plain(first)
    once_more = again(home).search("zebra number", limit=20, min_score=0, explain=True)
    assert plain(once_more) == plain(first)


def test_step_by_step_is_the_same_as_at_once(tmp_path: Path) -> None:
    slow, fast = fresh(tmp_path / "slow"), fresh(tmp_path / "fast")
    for memory in (slow, fast):
        for number in range(1, 12):
            replaced = (name(number - 1),) if number % 3 == 0 else ()
            append(memory, entry(number, f"zebra {number} of the day", replaces=replaced))
            note(memory, f"topics/2026-01-0{number % 4 + 1}.md", f"# T{number}\n\nlion {number}\n")
            if memory is slow:
                find(memory, "zebra")
    find(fast, "zebra")
    assert everything(slow) == everything(fast)


class Meddling:
    """An embedder during whose work somebody else writes to the log."""

    name = "meddling"
    remote = False

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.next = 50

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Rows:
        if self.next < 53:
            append(self.memory, entry(self.next, f"zebra {self.next}"))
            self.next += 1
        return [[1.0, float(len(text))] for text in texts]


def test_what_is_written_during_a_sync_is_not_lost(home: Memory) -> None:
    append(home, entry(1, "zebra 1"))
    opened = store(home)
    meddling = Meddling(home)
    for _ in range(5):
        Sync(opened, home.home, meddling).run()
    found = opened.db.execute("SELECT name FROM chunk ORDER BY name").fetchall()
    opened.close()
    assert [row[0] for row in found] == [name(1), name(50), name(51), name(52)]


class Crowded(LocalStore):
    """A store for which somebody waits: before each transaction, the log grows."""

    left = 6

    def grow(self, memory: Memory) -> None:
        self.memory = memory

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        if self.left:
            self.left -= 1
            append(self.memory, entry(60 - self.left, f"late zebra {self.left}"))
        with super().writing() as db:
            yield db


def test_what_is_written_while_a_sync_waits_is_not_lost(home: Memory) -> None:
    append(home, entry(1, "zebra 1"))
    crowded = Crowded(home.home.index)
    crowded.grow(home)
    Sync(crowded, home.home, None).run()
    crowded.close()
    assert len(refs(find(home, "zebra"))) == len(list(again(home).log.chains().entries)) > 2


def test_full_makes_it_anew(home: Memory) -> None:
    append(home, entry(1, "a zebra"), entry(2, "a lion"))
    home.index.sync()
    before = everything(home)
    done = again(home).index.sync(full=True)
    assert done.added == 2
    assert everything(home) == before
    assert home.home.index.stat().st_mode & 0o777 == 0o600
