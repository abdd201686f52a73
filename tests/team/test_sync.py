"""A laptop keeps its own home, and syncs it with its tenant."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from tests import homes
from tests.team.postgres import database
from tests.team.serving import Team
from wakebook import Memory
from wakebook.base.errors import GitError
from wakebook.log.query import Query
from wakebook.team import tenants
from wakebook.team.database import Database

Laptop = Callable[[], Memory]
EVERYTHING = ("read", "write", "erase")


class Place:
    def __init__(self, team: Team, db: Database) -> None:
        self.team, self.db = team, db
        self.url = f"http://127.0.0.1:{team.server()}"

    def tenant(self, name: str, *scopes: str) -> str:
        tenants.number(self.db, name) if name in self.names else self.team.command("add", name)
        return tenants.give(self.db, name, scopes=scopes or EVERYTHING).text

    @property
    def names(self) -> list[str]:
        return [one.name for one in tenants.listed(self.db)]


@pytest.fixture(scope="module")
def place(server: tuple[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("sync")
    env = {key: value for key, value in os.environ.items() if not key.startswith("WAKEBOOK")}
    with database(*server) as url:
        team = Team(url, folder / "copies", env | {"HOME": str(folder), "WAKEBOOK_OFFLINE": "1"})
        db = Database(url)
        yield Place(team, db)
        team.end()
        db.close()


@pytest.fixture
def laptop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Laptop:
    """A home that is never synced by itself. The clock is the server's."""
    monkeypatch.delenv("WAKEBOOK_NOW", raising=False)
    numbers = count(1)

    def another() -> Memory:
        root = tmp_path / f"laptop-{next(numbers)}"
        homes.made(root)
        (root / "machine.toml").write_text('[schedule]\nsync = ""\n')
        return Memory(root)

    return another


def texts(memory: Memory) -> list[str]:
    return sorted(entry.content for entry in memory.log.entries(Query()))


def test_laptops_and_their_tenant_come_to_the_same(place: Place, laptop: Laptop) -> None:
    token = place.tenant("ada")
    there, one, other = Memory(place.url, token=token), laptop(), laptop()
    there.remember("The kiosk is called Heron.")
    one.remember("The ferry leaves at six.", subject="ferry")
    assert one.sync.add(place.url, token=token).received == 1
    everything = ["The ferry leaves at six.", "The kiosk is called Heron."]
    assert texts(one) == texts(there) == everything
    assert there.search("when does the ferry leave").hits
    assert "six" in str(there.get("knowledge/projects/ferry/notes.md").lines)
    other.sync.add(place.url, token=token)
    kept = other.remember("Heron opens at nine.")
    other.sync()
    there.remember("It closes at five.")
    one.sync()
    everything += ["Heron opens at nine.", "It closes at five."]
    assert texts(one) == texts(there) == sorted(everything)
    other.sync()
    one.forget([kept.id])
    one.sync()
    other.sync()
    assert "Heron opens at nine." not in texts(there) + texts(other)
    again = other.sync()
    assert (again.received, again.sent) == (0, 0)
    assert (one.home.root / "log.jsonl").read_bytes() == (
        other.home.root / "log.jsonl"
    ).read_bytes()


def test_erasures_travel_both_ways(place: Place, laptop: Laptop, tmp_path: Path) -> None:
    token = place.tenant("bo")
    there, one, other = Memory(place.url, token=token), laptop(), laptop()
    for memory in (one, other):
        memory.sync.add(place.url, token=token)
    one.remember("The vault code is heron-nine.")
    kept = there.remember("The lantern is kestrel-four.")
    one.sync()
    other.sync()
    one.eraser.erase("heron-nine")
    one.sync()
    there.eraser.asked(what=kept.id, yes=True)
    other.remember("Written meanwhile.")
    other.sync()
    one.sync()
    assert texts(one) == texts(other) == texts(there) == ["Written meanwhile."]
    out = tmp_path / "out"
    place.team.command("export", "bo", str(out))
    for root in (out, one.home.root, other.home.root):
        for path in root.rglob("*"):
            if path.is_file() and ".git" not in path.parts:
                assert b"heron-nine" not in path.read_bytes(), path
                assert b"kestrel-four" not in path.read_bytes(), path


def test_a_push_needs_its_scopes_and_its_room(place: Place, laptop: Laptop) -> None:
    reads, writes = place.tenant("cleo", "read"), place.tenant("cleo", "read", "write")
    one = laptop()
    one.remember("The ferry leaves at six.")
    with pytest.raises(GitError, match="may not write"):
        one.sync.add(place.url, token=reads)
    with pytest.raises(GitError, match="not known here"):
        one.sync.add(place.url, token="wb_wrong")
    assert one.sync.remote == ""
    one.sync.add(place.url, token=writes)
    held = place.team.command("quota", "cleo")["bytes"]
    place.team.command("quota", "cleo", "--bytes", str(held + 50_000))
    (one.home.root / "knowledge" / "reference" / "long.md").write_bytes(
        os.urandom(60_000).hex().encode()
    )
    with pytest.raises(GitError, match="may hold"):
        one.sync()
    place.team.command("quota", "cleo", "--bytes", "none")
    one.sync()
    one.eraser.erase("ferry leaves")
    with pytest.raises(GitError, match="may not erase"):
        one.sync()


def test_a_new_laptop_begins_with_what_its_tenant_has(place: Place, tmp_path: Path) -> None:
    token = place.tenant("dee")
    Memory(place.url, token=token).remember("The ferry leaves at six.")
    memory = Memory(tmp_path / "new")
    memory.sync.clone(place.url, token=token)
    assert texts(memory) == ["The ferry leaves at six."]
    assert token not in str(memory.sync.standing()) and token not in str(memory.status())
