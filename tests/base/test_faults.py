"""A disk that is full or broken, and files that it has emptied: said, healed, nothing twice."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from tests import homes
from tests.journeys.command import run
from tests.story import NEXT_DAY, WORKDAY, Claude, chat
from wakebook import Memory
from wakebook.base.home import Home
from wakebook.log import log
from wakebook.service.serve import Impatient

MEGABYTES = 4


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own that is small."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={MEGABYTES}m", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a small file system cannot be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=False)


def fill(folder: Path) -> Path:
    """Take all the room that is left."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as stream:
        for size in (1 << 16, 1 << 12, 1):
            try:
                while True:
                    stream.write(b"x" * size)
            except OSError as error:
                assert error.errno == errno.ENOSPC
    return ballast


def test_on_a_full_disk_remember_keeps_it_once_or_says_that_it_is_not_kept(disk: Path) -> None:
    memory = homes.made(disk / "home")
    memory.remember("The first thing.")
    ballast = fill(disk)
    kept = []
    for number in range(40):  # a log has room until its last page is full
        try:
            Memory(memory.home.root).remember(f"The parrot number {number} is called Quillfeather.")
        except OSError as error:
            assert error.errno == errno.ENOSPC
        else:
            kept.append(number)
    assert 0 < len(kept) < 40
    assert any("The disk is full" in one for one in Memory(memory.home.root).status().problems)
    found = [entry.content for entry in log.read(memory.home).entries]
    assert found[1:] == [f"The parrot number {n} is called Quillfeather." for n in kept]
    ballast.unlink()
    Memory(memory.home.root).remember("The last thing.")
    after = Memory(memory.home.root)
    after.history.commit()
    assert not any("The disk is full" in one for one in after.status().problems)
    assert not list((memory.home.root / ".git").rglob("tmp_obj*"))
    assert log.read(memory.home).bad == () and not (memory.home.root / "log.torn").exists()


def test_a_catch_up_on_a_full_disk_goes_on_when_there_is_room(disk: Path, projects: Path) -> None:
    chat(chat(Claude(projects), WORKDAY).pause(hours=9), NEXT_DAY)
    reference = homes.made(projects.parent / "reference")
    reference.catch_up(closing=True)
    memory = homes.made(disk / "home")
    ballast = fill(disk)
    with pytest.raises(OSError, match="No space left"):
        memory.catch_up(closing=True)
    ballast.unlink()
    Memory(memory.home.root).catch_up(closing=True)
    assert memory.home.log.read_bytes() == reference.home.log.read_bytes()


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC])
def test_an_append_that_cannot_be_made_safe_leaves_nothing(tmp_path: Path, number: int) -> None:
    def refuse(descriptor: int) -> None:
        raise OSError(number, os.strerror(number))

    path = tmp_path / "log.jsonl"
    path.write_bytes(b"one\n")
    with pytest.raises(OSError, match=os.strerror(number)):
        Home(tmp_path, sync=refuse).append(path, b"two\n")
    assert path.read_bytes() == b"one\n"


def test_a_trace_that_cannot_be_written_fails_nothing(memory: Memory) -> None:
    memory.home.trace_file.mkdir()
    memory.home.trace("failure", where="here", error="of any kind")
    assert memory.remember("One.").content == "One."


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "\0" * 300])
def test_a_broken_state_is_set_aside_and_the_cursors_come_back(
    memory: Memory, projects: Path, text: str
) -> None:
    claude = chat(Claude(projects), WORKDAY)
    memory.catch_up(closing=True)
    before = memory.home.log.read_bytes()
    memory.home.state.write_text(text)
    again = Memory(memory.home.root)
    sweep = again.catch_up(closing=True)
    assert sweep.messages == 0 and memory.home.log.read_bytes() == before
    assert (memory.home.root / "state.broken.json").read_text() == text
    assert any("state.broken.json" in problem for problem in again.status().problems)
    chat(claude.pause(hours=9), NEXT_DAY)
    assert Memory(memory.home.root).catch_up(closing=True).messages == len(NEXT_DAY)


def test_a_state_of_a_newer_version_stays(memory: Memory) -> None:
    memory.home.state.write_text('{"version":99,"sessions":[]}')
    assert "has version 99" in run("--home", str(memory.home.root), "status", code=1)
    assert not (memory.home.root / "state.broken.json").exists()


def test_without_its_repository_a_home_is_not_well(memory: Memory) -> None:
    shutil.rmtree(memory.home.root / ".git")
    [said] = [one for one in memory.status().problems if "no git repository" in one]
    assert "wakebook init" in said
    assert "no git repository" in run("--home", str(memory.home.root), "status", code=1)
    memory.home.config.write_text("[git]\nenabled = false\n")
    assert Memory(memory.home.root).status().problems == ()


# --- connections ---------------------------------------------------------------------------
class Hasty(Impatient):
    looks, pause = 2, 0.02


async def answer(scope: Any, receive: Any, send: Any) -> None:
    await receive()
    await asyncio.sleep(0.3)  # longer than anything is waited for
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"late"})


@pytest.mark.parametrize(
    "sent", [b"", b"GET / HT", b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf"]
)
def test_a_request_that_never_gets_complete_ends_its_connection(sent: bytes) -> None:
    assert _said(sent) == b""


def test_a_request_that_is_complete_is_answered_however_long_it_takes() -> None:
    said = _said(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert said.startswith(b"HTTP/1.1 200") and b"late" in said


def _said(sent: bytes) -> bytes:
    async def work() -> bytes:
        config = uvicorn.Config(answer, log_config=None, http=Hasty)
        config.load()
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: Hasty(config, ServerState(), {}), "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(sent)
        said = await asyncio.wait_for(reader.read(), 20)  # until the other side closes it
        writer.close()
        server.close()
        return said

    return asyncio.run(work())
