"""Vectors that are kept: asked for once, whatever happens to the file."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.server import Hang, ModelServer, Status, unit, vector
from wakebook.base.config import Embedding
from wakebook.base.errors import BadModelOutput, ModelUnavailable
from wakebook.models.embedder import Kept
from wakebook.models.model import OverHttp
from wakebook.models.transport import Patience

PATIENCE = Patience(attempts=1, seconds=20.0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / ".cache" / "embeddings.db"


def kept(server: ModelServer, path: Path, model: str = "m", **options: Any) -> Kept:
    settings = Embedding(model=model, base_url=server.url)
    return Kept(OverHttp("compatible", settings, {}, PATIENCE), path, **options)


def rows(*texts: str) -> list[Any]:
    return [pytest.approx(unit(vector(text)), abs=1e-6) for text in texts]


def listed(found: Any) -> list[list[float]]:
    return [list(row) for row in found]


def test_only_what_is_missing_is_asked_for(server: ModelServer, path: Path) -> None:
    first = kept(server, path)
    assert first.name == f"compatible/m@{server.url[7:]}" and first.remote
    made = first.embed(["one", "two", "one"])
    assert listed(made) == rows("one", "two", "one")
    again = kept(server, path)
    assert again.embed(["two", "three", "one"])[0] == made[1]
    assert again.embed([]) == []
    assert server.texts == [["one", "two"], ["three"]]
    assert not again.problem
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_questions_are_kept_apart(server: ModelServer, path: Path) -> None:
    embedder = kept(server, path)
    for _ in range(2):
        embedder.embed(["one"], query=True)
        embedder.embed(["one"])
    assert server.texts == [["one"], ["one"]]


def test_models_are_never_mixed(server: ModelServer, path: Path) -> None:
    kept(server, path).embed(["one"])
    kept(server, path, model="other").embed(["one"])
    assert [request.body["model"] for request in server.requests] == ["m", "other"]


def test_progress_and_a_provider_that_dies_halfway(server: ModelServer, path: Path) -> None:
    server.script(*[server.next()] * 2, Status(401))
    told: list[tuple[int, int]] = []
    with pytest.raises(ModelUnavailable):
        kept(server, path, batch=2).embed("abcdef", progress=lambda *step: told.append(step))
    assert told == [(2, 6), (4, 6)]
    kept(server, path, batch=2).embed("abcdef", progress=lambda *step: told.append(step))
    assert told[2:] == [(2, 2)]
    assert server.texts == [["a", "b"], ["c", "d"], ["e", "f"], ["e", "f"]]


def test_a_kill_loses_one_batch(server: ModelServer, path: Path) -> None:
    server.script(server.next(), Hang())
    code = (
        "import sys\nfrom pathlib import Path\nfrom wakebook.base.config import Embedding\n"
        "from wakebook.models.embedder import Kept; from wakebook.models.model import OverHttp\n"
        "asked = OverHttp('compatible', Embedding(model='m', base_url=sys.argv[1]), {})\n"
        "Kept(asked, Path(sys.argv[2]), batch=2).embed('abcd')"
    )
    process = subprocess.Popen([sys.executable, "-c", code, server.url, str(path)])
    deadline = time.monotonic() + 60
    while len(server.requests) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert listed(kept(server, path).embed("abcd")) == rows(*"abcd")
    assert server.texts == [["a", "b"], ["c", "d"], ["c", "d"]]


def test_a_model_that_changes_its_dimension(server: ModelServer, path: Path) -> None:
    kept(server, path).embed(["one"])
    server.dimensions = 12
    for texts in (["one", "two"], ["two"]):
        with pytest.raises(BadModelOutput, match=r"8 and 12 numbers.*delete .*embeddings\.db"):
            kept(server, path).embed(texts)
    path.unlink()
    assert len(kept(server, path).embed(["two"])[0]) == 12


# --- the file ----------------------------------------------------------------------------


@pytest.mark.parametrize("damage", ["head", "middle"])
def test_a_damaged_file_is_set_aside(server: ModelServer, path: Path, damage: str) -> None:
    texts = [f"text {number}" for number in range(400)]
    kept(server, path).embed(texts)
    data = bytearray(path.read_bytes())
    start = 0 if damage == "head" else 4096 * 2
    data[start : start + 4096 * 4] = b"\xff" * 4096 * 4
    path.write_bytes(data)
    embedder = kept(server, path)
    assert listed(embedder.embed(texts)) == rows(*texts)
    assert "were damaged" in embedder.problem
    assert path.with_name("embeddings.db.damaged").exists()
    asked = len(server.requests)
    healed = kept(server, path)
    assert listed(healed.embed(texts)) == rows(*texts)
    assert len(server.requests) == asked and not healed.problem


def test_a_row_that_is_none_is_made_anew(server: ModelServer, path: Path) -> None:
    kept(server, path).embed(["one"])
    with sqlite3.connect(path) as database:
        database.execute("UPDATE vectors_1 SET row = 'xyz'")
    database.close()
    for _ in range(2):
        assert listed(kept(server, path).embed(["one"])) == rows("one")
    assert len(server.requests) == 2


def test_without_a_file_it_works_all_the_same(server: ModelServer, path: Path) -> None:
    path.parent.parent.mkdir()
    path.parent.write_text("in the way")
    embedder = kept(server, path)
    assert listed(embedder.embed(["one"])) == rows("one")
    assert "cannot be kept" in embedder.problem


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_read(server: ModelServer, path: Path) -> None:
    kept(server, path).embed(["one"])
    path.chmod(0o400)
    path.parent.chmod(0o500)
    try:
        embedder = kept(server, path)
        assert listed(embedder.embed(["one", "two"])) == rows("one", "two")
    finally:
        path.parent.chmod(0o700)
    assert server.texts == [["one"], ["two"]]
    assert "cannot be kept" in embedder.problem


def test_a_locked_file_is_done_without(server: ModelServer, path: Path) -> None:
    kept(server, path).embed(["one"])
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    embedder = kept(server, path, batch=1, busy=0.1)
    started = time.monotonic()
    texts = [str(number) for number in range(20)]
    assert listed(embedder.embed(texts)) == rows(*texts)
    assert time.monotonic() - started < 20 * 0.1, "it waits once, not once a batch"
    assert "locked" in embedder.problem
    other.close()
    embedder.embed(["two"])
    asked = len(server.requests)
    assert listed(embedder.embed(["one", "two"])) == rows("one", "two")
    assert len(server.requests) == asked


def test_several_writers_at_once(server: ModelServer, path: Path) -> None:
    problems: list[str] = []

    def work() -> None:
        embedder = kept(server, path, batch=5)
        embedder.embed([str(number) for number in range(30)])
        problems.append(embedder.problem)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == [""] * 4
    asked = len(server.requests)
    kept(server, path).embed([str(number) for number in range(30)])
    assert len(server.requests) == asked
