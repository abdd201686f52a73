from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from wakebook import Memory
from wakebook.base.home import Home
from wakebook.log import log
from wakebook.log.entry import Entry, new_id
from wakebook.log.log import Ledger


def entry(content: str, minutes: int = 0, **fields: object) -> Entry:
    moment = datetime(2026, 11, 1, tzinfo=UTC) + timedelta(minutes=minutes)
    base = {"id": new_id(), "timestamp": moment, "type": "fact", "session": "s"}
    return Entry(content=content, **(base | fields))  # type: ignore[arg-type]


def test_append_and_read_back_in_order(memory: Memory) -> None:
    written = [entry("one"), entry("two")]
    log.append(memory.home, written)
    log.append(memory.home, [entry("three")])
    assert [item.content for item in log.read(memory.home).entries] == ["one", "two", "three"]


def test_an_invalid_line_in_the_middle_is_reported_and_the_rest_is_read(memory: Memory) -> None:
    log.append(memory.home, [entry("one")])
    with memory.home.log.open("ab") as stream:
        stream.write(b'{"id":"broken"}\n\xff\xfe not json\n\n')
    log.append(memory.home, [entry("two")])
    reading = log.read(memory.home)
    assert [item.content for item in reading.entries] == ["one", "two"]
    assert [bad.number for bad in reading.bad] == [2, 3]
    assert any("line 2" in problem for problem in memory.status().problems)


def test_a_torn_last_line_is_set_aside_and_never_glued_to(memory: Memory) -> None:
    log.append(memory.home, [entry("one")])
    with memory.home.log.open("ab") as stream:
        stream.write(b'{"id":"r7Wp3nKx_mZe","content":"half')
    log.append(memory.home, [entry("two")])
    reading = log.read(memory.home)
    assert [item.content for item in reading.entries] == ["one", "two"]
    assert not reading.bad
    assert b'"half' in (memory.home.root / "log.torn").read_bytes()
    assert any("log.torn" in problem for problem in memory.status().problems)


def test_a_full_disk_leaves_no_half_line(memory: Memory) -> None:
    """A file-size limit makes the kernel cut the write short, as a full disk does."""
    log.append(memory.home, [entry("one")])
    size = memory.home.log.stat().st_size
    script = f"""
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({size + 40}, {size + 40}))
from pathlib import Path
from wakebook.base.home import Home
home = Home({str(memory.home.root)!r})
try:
    home.append(home.log, b'x' * 200 + b'\\n')
except OSError as error:
    print('refused:', error.strerror)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert "refused: no space left" in done.stdout
    assert memory.home.log.stat().st_size == size
    with pytest.raises(OSError, match="No space left"):
        memory.home.append(Path("/dev/full"), b"line\n")


def test_two_processes_appending_at_once_tear_nothing(memory: Memory) -> None:
    script = f"""
import sys
sys.path[:0] = {sys.path!r}
from wakebook.base.home import Home
from wakebook.log import log
from tests.log.test_log import entry
home = Home({str(memory.home.root)!r})
for number in range(100):
    with home.locked():
        log.append(home, [entry(f'{{sys.argv[1]}}-{{number}}')])
"""
    root = Path(__file__).parents[2]
    running = [
        subprocess.Popen([sys.executable, "-c", script, name], cwd=root) for name in ("a", "b", "c")
    ]
    assert [process.wait() for process in running] == [0, 0, 0]
    reading = log.read(memory.home)
    assert not reading.bad
    assert len({item.content for item in reading.entries}) == 300


def test_the_ledger_reads_only_what_was_added_and_notices_a_rewrite(memory: Memory) -> None:
    ledger = Ledger(memory.home)
    log.append(memory.home, [entry("one")])
    assert len(ledger.chains().by_id) == 1
    log.append(memory.home, [entry("two")])
    assert [item.content for item in ledger.chains().entries] == ["one", "two"]
    log.rewrite(memory.home, [memory.home.log.read_bytes().replace(b'"two"', b'"zwei"')])
    assert [item.content for item in ledger.chains().entries] == ["one", "zwei"]
    memory.home.log.unlink()
    assert not ledger.chains().by_id


def test_reading_a_home_without_a_log_gives_nothing(tmp_path: Path) -> None:
    home = Home(tmp_path)
    assert log.read(home).entries == ()
    assert not log.set_torn_aside(home)
    assert [path.name for path in tmp_path.iterdir()] == ["user"]


def test_a_whole_last_line_without_its_newline_gets_it(memory: Memory) -> None:
    log.append(memory.home, [entry("one")])
    memory.home.log.write_bytes(memory.home.log.read_bytes().rstrip(b"\n"))
    log.append(memory.home, [entry("two")])
    assert [item.content for item in log.read(memory.home).entries] == ["one", "two"]
    assert not (memory.home.root / "log.torn").exists()


def test_a_byte_order_mark_and_a_hostile_line_cost_nothing(memory: Memory) -> None:
    log.append(memory.home, [entry("one")])
    data = memory.home.log.read_bytes()
    memory.home.log.write_bytes(b"\xef\xbb\xbf" + data + b"[" * 200_000 + b"\n")
    reading = log.read(memory.home)
    assert [item.content for item in reading.entries] == ["one"]
    assert [bad.number for bad in reading.bad] == [2]
