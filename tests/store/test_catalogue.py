"""The catalogue answers as the chains do, whatever the log went through."""

from __future__ import annotations

import os
import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.log.test_chains import item, name
from tests.log.test_log import entry
from wakebook import Memory
from wakebook.base.home import Home
from wakebook.log import log
from wakebook.log.chains import Chains, resolve
from wakebook.log.entry import RETRACTED, Entry, encode
from wakebook.store.catalogue import Catalogue

START = datetime(2026, 11, 1, tzinfo=UTC)
END = START + timedelta(days=30)
KINDS: list[dict[str, Any]] = [
    {"type": "fact"},
    {"type": "fact", "kind": "relationship"},
    {"type": "fact", "pinned": True},
    {"type": "decision", "subject": "auth"},
    {"type": "question"},
    {"type": "task", "status": "open", "subject": "auth"},
    {"type": "task", "status": "done"},
    {"type": "handoff", "subject": "auth"},
]


@contextmanager
def opened(home: Home) -> Iterator[Catalogue]:
    """As a new process opens it, up to date."""
    with closing(Catalogue(home)) as catalogue:
        catalogue.sync()
        yield catalogue


def answers(catalogue: Catalogue) -> dict[str, Any]:
    """All that it can be asked about the whole log."""
    said = catalogue.said(START - timedelta(days=1), END)
    return {
        "said": [(one.id, instead.id if instead else "") for one, instead in said],
        "auth": [one.id for one in catalogue.about(["auth"])],
        "none": [one.id for one in catalogue.about([""])],
        "open": sorted(one.id for one in catalogue.pending()),
        "pinned": [one.id for one in catalogue.pinned()],
        "people": [one.id for one in catalogue.of_kind("relationship")],
        "subjects": sorted(catalogue.subjects()),
        "holding": sorted(
            one.id for slug in catalogue.subjects() for one in catalogue.about([slug])
        ),
        "depths": catalogue.depths(one.id for one, _ in said),
    }


def expected(chains: Chains) -> dict[str, Any]:
    """The same, from the chains."""
    current = chains.current()
    open_ = sorted(one.id for one in current if chains.is_open(one))
    return {
        "said": [
            (one.id, chains.latest(one.id) if one.id in chains.replaced_by else "")
            for one in chains.entries
        ],
        "auth": [one.id for one in current if one.subject == "auth"],
        "none": [one.id for one in current if not one.subject],
        "open": open_,
        "pinned": [one.id for one in current if one.pinned],
        "people": [one.id for one in current if one.kind == "relationship"],
        "subjects": sorted({one.subject for one in current}),
        "holding": sorted(one.id for one in current),
    }


def home_in(folder: str) -> Home:
    home = Home(Path(folder))
    home.folder(home.root)
    return home


@st.composite
def logs(draw: st.DrawFn) -> list[Entry]:
    """Any log: later ids replaced, circles, merges, the same id twice."""
    size = draw(st.integers(0, 14))
    found = []
    for number in range(size):
        olds = draw(st.lists(st.integers(0, size + 1), max_size=3, unique=True))
        kind = KINDS[draw(st.integers(0, len(KINDS) - 1))]
        found.append(item(number, [old for old in olds if old != number], **kind))
        if draw(st.integers(0, 6)) == 0:
            found.append(item(draw(st.integers(0, number)), [], type="question"))
    return found


@given(logs(), st.lists(st.integers(0, 20), max_size=4))
@example([item(0, [2]), item(1, [0]), item(2, [1]), item(3, [0])], [3])  # a circle, then broken
@example([item(0, [3]), item(1), item(2, [1]), item(3)], [1, 2, 3])
def test_it_answers_as_chains_do_at_once_and_bit_by_bit(
    entries: list[Entry], stops: list[int]
) -> None:
    with TemporaryDirectory() as one, TemporaryDirectory() as two:
        whole, parts = home_in(one), home_in(two)
        log.append(whole, entries)
        done = 0
        for stop in sorted({min(stop, len(entries)) for stop in stops} | {len(entries)}):
            log.append(parts, entries[done:stop])
            done = stop
            with opened(parts) as catalogue:  # a process of its own each time
                now = answers(catalogue)
                depths = now.pop("depths")
                assert now == expected(resolve(entries[:stop]))
        with opened(whole) as catalogue:
            assert answers(catalogue) == now | {"depths": depths}


@given(logs(), st.integers(0, 14), st.randoms(use_true_random=False))
@example([item(0), item(1, [0]), item(0), item(2)], 2, random.Random(1))  # an id twice
def test_what_was_rewritten_from_some_place_on_is_read_from_there(
    entries: list[Entry], cut: int, chance: random.Random
) -> None:
    cut = min(cut, len(entries))
    tail = [*entries[cut:], item(20, [3], type="decision"), item(21)]
    chance.shuffle(tail)
    with TemporaryDirectory() as folder:
        home = home_in(folder)
        log.append(home, entries)
        with opened(home) as catalogue:
            work_off(catalogue)
            assert catalogue.current
            lines = [encode(one) + b"\n" for one in (*entries[:cut], *tail)]
            log.rewrite(home, lines)
            size = sum(map(len, lines[:cut]))
            catalogue.read_from(size, {one.id for one in entries[cut:]}, len(entries))
            catalogue.sync()
            unique = {one.id for one in entries}
            if len(unique) == len(entries):
                assert not catalogue.anew
                assert {one.id for one in tail} <= set(dirty(catalogue))
            now = answers(catalogue)
            now.pop("depths")
            assert now == expected(resolve([*entries[:cut], *tail]))


def test_newest_is_the_latest_that_holds_and_was_not_taken_back(memory: Memory) -> None:
    entries = [
        item(1, subject="auth"),
        item(3, subject="auth"),
        item(2, subject="login"),
        item(4, [3], subject="auth", extra={RETRACTED: True}),
    ]
    log.append(memory.home, entries)
    with opened(memory.home) as catalogue:
        newest = catalogue.newest(["auth", "login"])
        assert newest is not None
        assert newest.id == name(2)
        assert catalogue.newest(["nobody"]) is None
        last = entries[2].timestamp
        assert catalogue.since(last)["login"] == last.timestamp()
        assert "login" not in catalogue.since(last + timedelta(seconds=1))


def test_recent_is_what_holds_newest_first_and_telling_leaves_plain_facts_out(
    memory: Memory,
) -> None:
    entries = [item(1), item(2, kind="lesson"), item(3, type="decision"), item(4, [1]), item(5)]
    entries += [item(6, type="handoff")]
    log.append(memory.home, entries)
    with opened(memory.home) as catalogue:
        recent = [one.id for one in catalogue.recent(START, 10)]
        assert recent == [name(number) for number in (5, 4, 3, 2)]
        telling = [one.id for one in catalogue.recent(START, 10, telling=True)]
        assert telling == [name(number) for number in (4, 3, 2)]  # 4 refines 1
        since = START + timedelta(minutes=3)
        assert [one.id for one in catalogue.recent(since, 2)] == [name(5), name(4)]


def test_what_is_open_comes_newest_first(memory: Memory) -> None:
    log.append(memory.home, [item(number, type="question") for number in range(5)])
    with opened(memory.home) as catalogue:
        assert [one.id for one in catalogue.pending()] == [name(n) for n in (4, 3, 2, 1, 0)]


# --- what is to be worked off ---------------------------------------------------------------


def dirty(catalogue: Catalogue) -> list[str]:
    return sorted(one.id for one in catalogue.dirty()[1])


def work_off(catalogue: Catalogue) -> None:
    catalogue.done(catalogue.dirty()[0])
    catalogue.set("anew", "")


def test_new_entries_are_dirty_with_what_they_replace_until_worked_off(memory: Memory) -> None:
    log.append(memory.home, [item(1), item(2)])
    with opened(memory.home) as catalogue:
        assert dirty(catalogue) == [name(1), name(2)]
        work_off(catalogue)
        log.append(memory.home, [item(3, [1])])
        catalogue.sync()
        assert dirty(catalogue) == [name(1), name(3)]
    with opened(memory.home) as catalogue:  # another process finds them, too
        assert dirty(catalogue) == [name(1), name(3)]
        work_off(catalogue)
        assert dirty(catalogue) == []


def test_all_of_a_chain_is_dirty_when_its_end_changes(memory: Memory) -> None:
    """Each of them tells, on its own day, what holds instead."""
    log.append(memory.home, [item(1), item(2, [1]), item(7), item(8)])
    with opened(memory.home) as catalogue:
        work_off(catalogue)
        log.append(memory.home, [item(3, [2, 7])])
        catalogue.sync()
        assert dirty(catalogue) == [name(1), name(2), name(3), name(7)]


# --- what the log goes through ---------------------------------------------------------------


def test_nothing_is_read_when_nothing_was_added(memory: Memory) -> None:
    log.append(memory.home, [item(1)])
    with opened(memory.home) as catalogue:
        work_off(catalogue)
        catalogue.sync()
        assert not catalogue.anew
        assert dirty(catalogue) == []


def test_a_half_written_line_is_taken_when_it_is_whole(memory: Memory) -> None:
    log.append(memory.home, [item(1)])
    line = encode(item(2))
    with memory.home.log.open("ab") as stream:
        stream.write(line[:20])
    with opened(memory.home) as catalogue:
        assert answers(catalogue)["holding"] == [name(1)]
        with memory.home.log.open("ab") as stream:
            stream.write(line[20:])
        catalogue.sync()
        assert answers(catalogue)["holding"] == [name(1), name(2)]


def test_a_line_that_is_no_entry_is_passed_over(memory: Memory) -> None:
    log.append(memory.home, [item(1)])
    with memory.home.log.open("ab") as stream:
        stream.write(b"\xff no entry\n")
    log.append(memory.home, [item(2)])
    with opened(memory.home) as catalogue:
        assert answers(catalogue)["holding"] == [name(1), name(2)]


@pytest.mark.parametrize("times", [1, 2, 3])
def test_a_log_that_was_rewritten_is_read_from_its_beginning(memory: Memory, times: int) -> None:
    """However often, and as long as before: a file's number may come back."""
    entries = [item(number, subject="aaaa") for number in range(20)]
    log.append(memory.home, entries)
    with opened(memory.home) as catalogue:
        work_off(catalogue)
    for number in range(times):
        slug = f"bbb{number}"
        changed = [one.with_(subject=slug) for one in entries[:5]] + entries[5:]
        log.rewrite(memory.home, [encode(one) for one in changed])
    with closing(Catalogue(memory.home)) as catalogue:
        catalogue.sync()
        assert catalogue.anew
        assert len(catalogue.about([slug])) == 5
        assert len(catalogue.about(["aaaa"])) == 15
        assert len(dirty(catalogue)) == 20


def test_a_log_that_got_shorter_or_is_gone_is_read_anew(memory: Memory) -> None:
    log.append(memory.home, [item(1), item(2)])
    with opened(memory.home) as catalogue:
        size = len(encode(item(1)))
        os.truncate(memory.home.log, size)
        catalogue.sync()
        assert catalogue.anew
        assert answers(catalogue)["holding"] == [name(1)]
        memory.home.log.unlink()
        catalogue.sync()
        assert answers(catalogue)["holding"] == []


def test_that_everything_was_read_anew_is_known_until_it_was_worked_off(memory: Memory) -> None:
    """Whoever reads first, or is killed: somebody has to write all the notes."""
    log.append(memory.home, [item(1)])
    for _ in range(2):
        with opened(memory.home) as catalogue:
            assert catalogue.anew
    with opened(memory.home) as catalogue:
        work_off(catalogue)
    log.append(memory.home, [item(2)])
    with opened(memory.home) as catalogue:
        assert not catalogue.anew


def test_forgetting_reads_everything_again(memory: Memory) -> None:
    log.append(memory.home, [item(1)])
    with opened(memory.home) as catalogue:
        work_off(catalogue)
        catalogue.forget()
        catalogue.sync()
        assert catalogue.anew
        assert dirty(catalogue) == [name(1)]


# --- what the file goes through ----------------------------------------------------------------


def test_a_deleted_catalogue_is_made_anew(memory: Memory) -> None:
    log.append(memory.home, [item(1), item(2, [1])])
    with opened(memory.home) as catalogue:
        before = answers(catalogue)
    for path in memory.home.root.glob("index.db*"):
        path.unlink()
    with opened(memory.home) as catalogue:
        assert answers(catalogue) == before
    assert memory.home.index.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("first", [0, 100, 4096, 20_000], ids=["head", "header", "second", "deep"])
def test_a_damaged_catalogue_is_made_anew(memory: Memory, first: int) -> None:
    entries = [item(number, subject=f"s{number % 40}") for number in range(400)]
    log.append(memory.home, entries)
    with opened(memory.home) as catalogue:
        before = answers(catalogue)
    path = memory.home.index
    data = bytearray(path.read_bytes())
    assert len(data) > 40_000
    data[first:] = random.Random(1).randbytes(len(data) - first)
    path.write_bytes(data)
    log.append(memory.home, [item(500, [3])])
    with opened(memory.home) as catalogue:
        after = answers(catalogue)
        assert name(500) in after["holding"]
        assert len(after["holding"]) == len(before["holding"])


@pytest.mark.parametrize("version", [1, 99], ids=["older", "newer"])
def test_a_database_of_another_version_does_not_matter(memory: Memory, version: int) -> None:
    """An older one is made anew. A newer one is left alone: the log is read into memory."""
    log.append(memory.home, [item(1)])
    with opened(memory.home):
        pass
    with closing(sqlite3.connect(memory.home.index)) as db:
        db.execute(f"PRAGMA user_version = {version}")
    with opened(memory.home) as catalogue:
        assert answers(catalogue)["holding"] == [name(1)]
        assert catalogue.anew
    with closing(sqlite3.connect(memory.home.index)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (2 if version == 1 else 99,)
    assert not list(memory.home.root.glob("index.db.broken-*"))


def test_the_database_of_its_own_that_there_was_is_removed(memory: Memory) -> None:
    memory.home.folder(memory.home.cache)
    old = [memory.home.cache / f"catalogue.db{ending}" for ending in ("", "-wal", "-shm")]
    for path in (*old, memory.home.cache / "embeddings.db"):
        path.write_bytes(b"old")
    with opened(memory.home):
        pass
    assert not any(path.exists() for path in old)
    assert (memory.home.cache / "embeddings.db").exists()


def test_a_long_log_is_read_in_slices(memory: Memory) -> None:
    """More than fits into one reading, with a line that crosses its end."""
    entries = [entry("x" * 100_000, number, id=name(number)) for number in range(90)]
    log.append(memory.home, entries)
    assert memory.home.log.stat().st_size > 8 << 20
    with opened(memory.home) as catalogue:
        assert answers(catalogue)["holding"] == [name(number) for number in range(90)]
