"""Team memories: a tenant that others may read, and nobody else, and nothing but read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.store import making
from tests.team.postgres import database
from tests.team.serving import Answer, Team, ask
from tests.team.test_serve import WHERE
from wakebook.log.query import EVERYTHING, Query, Scope
from wakebook.service import tools
from wakebook.service.team_work import fill, opened
from wakebook.team import tenants
from wakebook.team.copies import Copies
from wakebook.team.database import Database
from wakebook.verbs import VERBS

FERRY = "The ferry to Aldern leaves the north pier at six."
OWN = "My ferry ticket to Aldern is in the blue folder."
CLOSED = "The agent of the quay keeps the ferry's spare key under the bench."


class Place:
    def __init__(self, team: Team, db: Database) -> None:
        self.team, self.db, self.ports = team, db, [team.server(), team.server()]
        self.tokens = {
            name: tenants.give(db, name, scopes=("read", "write", "erase")).text
            for name in ("ada", "bo", "handbook")
        }

    def ask(self, who: str, path: str, body: Any, port: int = 0) -> Answer:
        return ask(self.ports[port], path, body, self.tokens[who])

    def found(self, who: str, text: str, **options: Any) -> dict[str, str]:
        """What is found, and whose it is."""
        told = self.ask(who, "/v1/search", {"text": text, **options})
        assert told.status == 200, told
        return {hit["snippet"].replace("**", ""): hit["origin"] for hit in told.data["hits"]}


@pytest.fixture(scope="module")
def place(server: tuple[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """Two servers with three tenants: Ada may read the handbook, Bo may not."""
    folder = tmp_path_factory.mktemp("team")
    env = {key: value for key, value in os.environ.items() if not key.startswith("WAKEBOOK")}
    env |= {"HOME": str(folder), "WAKEBOOK_OFFLINE": "1"}
    with database(*server) as url:
        team, db = Team(url, folder / "copies", env), Database(url)
        for name in ("ada", "bo", "handbook"):
            team.command("add", name)
        team.command("share", "handbook", "ada")
        made = Place(team, db)
        for who, text in (("handbook", FERRY), ("ada", OWN)):
            assert made.ask(who, "/v1/remember", {"text": text}).status == 200
        yield made
        team.end()
        db.close()


def test_a_search_finds_ones_own_and_the_teams_and_says_which(place: Place) -> None:
    assert place.found("ada", "ferry Aldern") == {FERRY: "handbook", OWN: ""}
    assert place.found("handbook", "ferry Aldern") == {FERRY: ""}
    assert place.found("bo", "ferry Aldern") == {}
    assert set(place.found("ada", "", types=["fact"])) == {FERRY, OWN}
    assert set(place.found("ada", "", types=["fact"], limit=1)) == {OWN}


def test_a_hit_of_the_team_can_be_opened_and_no_other(place: Place) -> None:
    hits = place.ask("ada", "/v1/search", {"text": "north pier"}).data["hits"]
    ref = next(hit["ref"] for hit in hits if hit["origin"] == "handbook")
    assert ref.startswith("@handbook/")
    shown = place.ask("ada", "/v1/get", {"ref": ref}).data
    assert (shown["entry"]["content"], shown["origin"]) == (FERRY, "handbook")
    told = place.ask("ada", "/v1/tools/memory_get", {"arguments": {"path": ref}}).data
    assert told["data"]["origin"] == "handbook" and FERRY in told["text"]
    log = place.ask("ada", "/v1/tools/memory_get", {"arguments": {"path": "@handbook/log.jsonl"}})
    assert FERRY in log.data["text"]
    for path in ("@handbook/state.json", "@handbook/../1/home/log.jsonl", "@handbook/"):
        told = place.ask("ada", "/v1/tools/memory_get", {"arguments": {"path": path}}).data
        assert told["failed"] and FERRY not in str(told), path
    assert place.ask("bo", "/v1/get", {"ref": ref}).status == 404
    assert FERRY not in str(place.ask("bo", "/v1/get", {"ref": ref.partition("/")[2]}).data)


def test_context_tells_both_with_their_origin(place: Place) -> None:
    told = place.ask("ada", "/v1/context", {"message": "Where does the ferry to Aldern leave?"})
    text = told.data["text"]
    assert FERRY in text and OWN in text
    assert "in @handbook, a team memory" in text and "(@handbook/" in text
    recalled = next(slot for slot in told.data["slots"] if slot["name"] == "recalled")
    assert all(item["ref"].startswith("@handbook/") for item in recalled["items"])
    nothing = place.ask("bo", "/v1/context", {"message": "Where does the ferry to Aldern leave?"})
    assert "ferry" not in nothing.data["text"].casefold().replace("the ferry to aldern", "")


def test_what_is_learned_or_forgotten_there_is_so_at_once_everywhere(place: Place) -> None:
    text = "The ferry office has moved to Gull Lane."
    kept = place.ask("handbook", "/v1/remember", {"text": text}).data
    for port in (0, 1):
        hits = place.ask("ada", "/v1/search", {"text": "ferry office Gull Lane"}, port).data["hits"]
        assert hits[0]["ref"] == f"@handbook/{kept['id']}"
    gone = place.ask("handbook", "/v1/forget", {"ids": [kept["id"]], "yes": True})
    assert gone.status == 200, gone
    for port in (0, 1):
        assert "Gull" not in str(place.ask("ada", "/v1/search", {"text": "Gull Lane"}, port).data)
        told = place.ask("ada", "/v1/context", {"message": "Where is the ferry office?"}, port)
        assert "Gull" not in told.data["text"]


def test_a_share_that_is_taken_back_ends_at_once(place: Place) -> None:
    for _ in range(2):
        tenants.share(place.db, "handbook", "bo")
        assert place.found("bo", "ferry Aldern") == {FERRY: "handbook"}
        tenants.share(place.db, "handbook", "bo", stop=True)
        assert place.found("bo", "ferry Aldern") == {}
        told = place.ask("bo", "/v1/context", {"message": "When does the ferry to Aldern leave?"})
        assert FERRY not in told.data["text"]


def test_memories_that_read_each_other_do_not_wait_for_each_other(place: Place) -> None:
    from concurrent.futures import ThreadPoolExecutor

    tenants.share(place.db, "ada", "handbook")
    try:
        with ThreadPoolExecutor(8) as threads:
            who = ["ada", "handbook"] * 12
            found = list(threads.map(lambda name: place.found(name, "ferry Aldern"), who))
    finally:
        tenants.share(place.db, "ada", "handbook", stop=True)
    assert found == [{FERRY: "handbook", OWN: ""}, {FERRY: "", OWN: "ada"}] * 12


def test_scopes_of_the_team_memory_hold_for_readers(url: str, tmp_path: Path) -> None:
    db = Database(url)
    copies = Copies(db, tmp_path / "copies", opened)
    own, team = fill(db, copies, "ada"), fill(db, copies, "handbook")
    tenants.share(db, "handbook", "ada")

    def write(memory: Any) -> bytes:
        closed = making.entry(1, CLOSED, project="agent:quay")
        making.append(memory, closed, making.entry(2, FERRY, project="git:pier"))
        return b""

    def found(**options: Any) -> list[str]:
        def search(memory: Any) -> list[str]:
            scope = Scope(**options) if options else EVERYTHING
            hits = memory.search(Query(text="ferry pier key", scope=scope)).hits
            return [hit.ref for hit in hits]

        return copies(own).read(search)

    copies(team).write(write)
    assert found() == [f"@handbook/{making.name(2)}"]  # an agent that is apart stays apart
    assert found(projects=("git:pier", "")) == [f"@handbook/{making.name(2)}"]
    assert found(projects=("git:other", "")) == []
    assert found(projects=("agent:quay",), agents=("agent:quay",)) == []
    copies.close()
    db.close()


def test_every_verb_that_writes_leaves_the_team_memory_as_it_is(place: Place) -> None:
    """With the token of a reader, whatever it names."""
    entry = place.ask("handbook", "/v1/search", {"text": "north pier"}).data["hits"][0]["ref"]
    before = _rows(place, "handbook")
    for ref in (entry, f"@handbook/{entry}"):
        for name, verb in VERBS.items():
            body: Any = WHERE.get(name, {})
            if name in ("forget", "erase"):
                body = {"ids": [ref]} if name == "forget" else {"what": ref}
                body["yes"] = True
            elif name == "remember":
                body = {"text": "The ferry never leaves.", "replaces": [ref]}
            told = place.ask("ada", verb.path, body)
            assert told.status != 500, (name, told)
        for tool in tools.NAMES:
            given = {"ids": [ref]} if tool == "forget" else {"text": "x", "replaces": [ref]}
            place.ask("ada", f"/v1/tools/{tool}", {"arguments": given})
    assert _rows(place, "handbook") == before
    assert place.found("handbook", "north pier") == {FERRY: ""}


def _rows(place: Place, name: str) -> dict[str, Any]:
    """Every row of a tenant's memory; what was noted by the way is left out."""
    with place.db.admin() as connection:
        found: dict[str, Any] = {}
        number = tenants._number(connection, name)
        for table in tenants._tables(connection):
            if table in ("token", "done") or table.startswith("wakebook_index.meta"):
                continue
            sql = f"SELECT * FROM {table} WHERE tenant = %s"
            rows = connection.execute(sql.encode(), (number,)).fetchall()
            loose = ("trace", "fired", "costs", ".cache")
            found[table] = sorted(
                str(row) for row in rows if not any(f"'{one}" in str(row) for one in loose)
            )
        return found
