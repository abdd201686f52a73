"""Versions of a file that grows: found without being read, and written as what each has more."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from wakebook.history.objects import Growth, Objects
from wakebook.history.repository import Repository

LINES = [b"%d: a line of the log\n" % number * (1 + number % 7) for number in range(70)]


@pytest.fixture(params=["sha1", "sha256"])
def repository(request: pytest.FixtureRequest, tmp_path: Path) -> Repository:
    command = ["git", "init", "-q", "-b", "main", f"--object-format={request.param}", str(tmp_path)]
    subprocess.run(command, check=True)
    found = Repository.find(tmp_path)
    assert found is not None
    return found


def written(repository: Repository, data: bytes, sizes: list[int]) -> list[str]:
    objects = Objects(repository)
    names = objects.write_beginnings(data, sizes)
    objects.close()
    return names


def test_beginnings_are_objects_like_any_other(repository: Repository) -> None:
    data = b"".join(LINES)
    sizes = [len(b"".join(LINES[: number + 1])) for number in range(len(LINES))]
    names = written(repository, data, [0, *sizes])
    objects = Objects(repository)
    assert [objects.read(name)[1] for name in names] == [b"", *(data[:size] for size in sizes)]
    objects.abandon()
    packed = sum(path.stat().st_size for path in objects.folder.rglob("*.pack"))
    assert packed < 3 * len(data) < sum(sizes)
    repository.git("fsck", "--strict", "--full")
    repository.git("repack", "-a", "-d", "-q")


def test_versions_are_known_by_their_names(repository: Repository) -> None:
    """Two that grow, one after the other, as when the log was rewritten in between."""
    first, second = b"".join(LINES), b"".join(reversed(LINES))
    log = repository.root / "log.jsonl"
    wanted: dict[bytes, list[int]] = {first: [], second: []}
    for data in (first, second):
        for number in (1, 3, 9):
            size = len(b"".join((LINES if data is first else LINES[::-1])[:number]))
            log.write_bytes(data[:size])
            repository.commit("memory", f"{number} lines", [log])
            wanted[data].append(size)
    objects, growth = Objects(repository), Growth()
    for _ in range(2):
        found = growth.found(repository, objects, "log.jsonl")
        assert [[size for size, _ in one.shorter] for one in found] == [*wanted.values()][::-1]
        for one, data in zip(found, (second, first), strict=True):
            assert all(objects.read(name)[1] == data[:size] for size, name in one.shorter)
    objects.abandon()
