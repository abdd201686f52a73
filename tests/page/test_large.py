"""A large memory: a view reads what it shows, not all that there is."""

from __future__ import annotations

import cProfile
import pstats
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.page.asking import do, forms, links, markup, text, undo
from wakebook import Memory
from wakebook.log import log
from wakebook.log.entry import Entry, derived_id

NUMBER = 3000
NOTE = "/notes/knowledge/reference/_general.md"
TASKS = "/notes/knowledge/projects/quarry/progress.md"
FIRST = datetime(2026, 1, 1, tzinfo=UTC)
VIEWS = ("/", "/search", "/entry/{}", "/entry/{}/forget", "/said?entry={}", "/conversations",
         "/notes", "/notes?folder=reference", NOTE, f"{NOTE}?from=200", "/subject/quarry", "/told",
         "/review", "/time", "/time?day=2026-01-08")  # fmt: skip


def made(number: int, old: str) -> Entry:
    """One in ten is a task, one in thirty a correction."""
    task = number % 10 == 0
    return Entry(
        id=derived_id(f"s{number}", "fact", f"{number}"), timestamp=FIRST + timedelta(hours=number),
        type="task" if task else "fact", content=f"Shed number {number} stands in row {number % 7}",
        session=f"s{number // 20}", subject="quarry" if task else "",
        status="open" if task else None, replaces=(old,) if number % 30 == 7 else (),
    )  # fmt: skip


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WAKEBOOK_NOW", "2026-05-06T08:00:00Z")
        patch.setenv("WAKEBOOK_OFFLINE", "1")
        memory = Memory(tmp_path_factory.mktemp("large") / "home")
        memory.init()
        entries: list[Entry] = []
        for number in range(NUMBER):
            entries.append(made(number, entries[number // 2].id if number else ""))
        log.append(memory.home, entries)
        memory.notes.update(full=True)
        yield memory
        memory.close()


def calls(memory: Memory, address: str) -> dict[tuple[str, str], int]:
    """How often each function was called for a view, by file and name."""
    profile = cProfile.Profile()
    profile.runcall(markup, memory, address)
    found: dict[tuple[str, str], int] = {}
    for (file, _, name), (_, number, *_) in pstats.Stats(profile).stats.items():  # type: ignore[attr-defined]
        key = ("/".join(Path(file).parts[-2:]), name)
        found[key] = found.get(key, 0) + number
    return found


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_reads_what_it_shows(large: Memory, view: str) -> None:
    address = view.format(derived_id("s1500", "fact", "1500"))
    assert len(markup(large, address)) < 200_000
    again = calls(large, address)
    read = sum(number for (_, name), number in again.items() if "msgspec" in name)
    assert read < NUMBER / 10, "it decodes the log, or a whole note"
    assert again.get(("base/markdown.py", "block"), 0) < 5, "it looks into every note"


def test_what_was_corrected_is_asked_by_corrections(large: Memory) -> None:
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 100
        return 0

    large.index.store.db.set_progress_handler(count, 100)  # type: ignore[attr-defined]
    try:
        assert "Changed since" in text(large, "/time?day=2026-04-28")
    finally:
        large.index.store.db.set_progress_handler(None, 0)  # type: ignore[attr-defined]
    assert steps < 6 * NUMBER


def test_a_long_note_comes_in_parts(large: Memory) -> None:
    note = (large.home.root / NOTE.removeprefix("/notes/")).read_text()
    shown, later = list[str](), [NOTE]
    while later:
        shown.append(markup(large, later[0]))
        later = re.findall(rf'href="([^"]+[?]from={100 * len(shown) + 1})"', shown[-1])
    assert len(shown) == -(-note.count("\n") // 100)
    said = [re.findall(r"Shed number (\d+) ", one) for one in shown]
    assert [n for part in said for n in part] == re.findall(r"Shed number (\d+) ", note)
    assert text(large, NOTE).startswith("General ") and "lines 1 to 100 of" in text(large, NOTE)


@pytest.mark.parametrize("lines", [1, 100])
def test_a_note_that_fits_has_no_part_after_it(large: Memory, lines: int) -> None:
    note = large.home.root / "knowledge" / "reference" / "short.md"
    note.write_text("A line.\n" * lines)
    assert "after →" not in text(large, "/notes/knowledge/reference/short.md")
    note.unlink()


def test_a_line_of_a_later_part_knows_why(large: Memory) -> None:
    lines = (large.home.root / NOTE.removeprefix("/notes/")).read_text().split("\n")
    number = lines[229].partition("number ")[2].partition(" ")[0]
    [why] = [one for one in links(large, f"{NOTE}?at=230") if one.endswith("#L230")]
    assert 'id="L230"' in markup(large, why)
    assert f"/page/entry/{derived_id(f's{number}', 'fact', number)}" in links(large, why)


def test_a_task_of_a_later_part_is_ticked(large: Memory) -> None:
    before = large.home.root / TASKS.removeprefix("/notes/")
    old = before.read_text().split("\n")
    form = forms(large, f"{TASKS}?from=201")[5]
    done = do(large, **form)
    new = before.read_text().split("\n")
    assert [at + 1 for at, pair in enumerate(zip(old, new, strict=True)) if len({*pair}) > 1] == [
        int(form["line"])
    ]
    assert int(form["line"]) > 200
    undo(large, done)
