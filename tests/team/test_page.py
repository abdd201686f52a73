"""The page of a tenant: signing in, looking, doing, and nobody else's memory."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from html import unescape
from http.client import HTTPConnection
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

import pytest

from tests.team.postgres import database
from tests.team.serving import Team
from tests.team.test_remote import team_env
from wakebook import Memory
from wakebook.base.errors import NotFound
from wakebook.log.query import Query
from wakebook.service.page.views import VIEWS
from wakebook.team import queue, tenants
from wakebook.team.database import Database
from wakebook.team.queue import Chore


class Place(NamedTuple):
    db: Database
    port: int

    def token(self, name: str, *scopes: str) -> tenants.Pass:
        return tenants.give(self.db, name, scopes=scopes or ("read", "write", "erase"))

    def memory(self, token: str) -> Memory:
        return Memory(f"http://127.0.0.1:{self.port}", token=token)


class Seen(NamedTuple):
    status: int
    text: str
    headers: dict[str, str]


@pytest.fixture(scope="module")
def place(server: tuple[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("page")
    with database(*server) as url:
        team, db = Team(url, folder / "copies", team_env(folder)), Database(url)
        for name in ("ada", "bo"):
            team.command("add", name)
        yield Place(db, team.server())
        team.end()
        db.close()


def seen(place: Place, path: str, cookie: str = "", form: dict[str, str] | None = None,
         **headers: str) -> Seen:  # fmt: skip
    link = HTTPConnection("127.0.0.1", place.port, timeout=60)
    host = f"127.0.0.1:{place.port}"
    given = {key.replace("_", "-"): value for key, value in headers.items()}
    if cookie:
        given["Cookie"] = f"wakebook_team={cookie}"
    if form is not None:
        given = {"Origin": f"http://{host}", "Content-Type": FORM} | given
    link.request("GET" if form is None else "POST", f"/page{path}", urlencode(form or {}), given)
    found = link.getresponse()
    told = {key.lower(): value for key, value in found.getheaders()}
    done = Seen(found.status, unescape(found.read().decode()), told)
    link.close()
    return done


FORM = "application/x-www-form-urlencoded"


def test_a_token_signs_in_and_every_view_shows_ones_own_memory(place: Place) -> None:
    ada, bo = place.token("ada").text, place.token("bo").text
    kept = place.memory(ada).remember("The vault code is heron-nine.", subject="vault")
    assert seen(place, "/").headers["location"] == "/page/sign-in"
    assert "token" in seen(place, "/sign-in").text
    wrong = seen(place, "/sign-in", form={"token": "wb_wrong"})
    assert wrong.status == 401 and "not known" in wrong.text
    let_in = seen(place, "/sign-in", form={"token": ada}, X_Forwarded_Proto="https")
    cookie = let_in.headers["set-cookie"]
    assert let_in.status == 303 and ada in cookie
    assert all(word in cookie for word in ("HttpOnly", "SameSite=Strict", "Path=/page", "Secure"))
    first = seen(place, "/", ada)
    assert first.status == 200 and "ada" in first.text and "/copies" not in first.text
    assert "default-src 'none'" in first.headers["content-security-policy"]
    assert "heron-nine" in seen(place, f"/entry/{kept.id}", ada).text
    assert "heron-nine" in seen(place, "/search?q=vault+code", ada).text
    for view in VIEWS:
        path = re.sub(r"\{[^}]*\}", kept.id, view.path)
        for token in (ada, bo):
            told = seen(place, path, token)
            assert told.status in (200, 404), (path, told)
            assert token == ada or "heron-nine" not in told.text, path


def test_upkeep_shows_what_a_tenant_has_on_the_server(place: Place) -> None:
    ada, bo = place.token("ada").text, place.token("bo").text
    number = next(one.id for one in tenants.listed(place.db) if one.name == "ada")
    place.memory(ada).remember("The tide table hangs by the door.")
    tenants.limit(place.db, "ada", bytes=80_000_000, entries=1000)
    queue.put(place.db, number, Chore(verb="condense"))
    queue.set_aside(place.db, number, 77, Chore(verb="catch-up"), 5, "The file has no end.")
    told = seen(place, "/upkeep", ada)
    assert told.status == 200 and "1 thing to look at" in told.text
    for part in (
        " of 1,000",
        " of 80,000,000",
        "condense",
        "waits",
        "The file has no end.",
        "job 77",
    ):
        assert part in told.text, part
    other = seen(place, "/upkeep", bo).text
    assert "All is well" in other and "no end" not in other and "condense</th>" not in other
    assert "administrator" in seen(place, "/upkeep/rebuild", ada).text
    queue.forget(place.db, 77)


def test_an_action_is_committed_and_needs_its_scope(place: Place) -> None:
    ada, reads = place.token("ada").text, place.token("ada", "read").text
    writes = place.token("ada", "read", "write").text
    for token, status in ((ada, 303), (reads, 403)):
        page = seen(place, "/", token).text
        found = re.search(r'name="token" value="([0-9a-f]{64})"', page)
        assert found is not None
        text = f"Written in the page with {status}."
        form = {"token": found[1], "text": text, "back": "/page/"}
        done = seen(place, "/do/remember", token, form)
        assert done.status == status, done
        texts = [one.content for one in place.memory(ada).log.entries(Query())]
        assert (text in texts) == (status == 303)
    found = re.search(r'name="token" value="([0-9a-f]{64})"', seen(place, "/", writes).text)
    assert found is not None
    [kept] = [one.id for one in place.memory(ada).log.entries(Query()) if "with 303" in one.content]
    for act in ({"id": kept}, {"entry": kept, "word": "erase"}):
        form = {"token": found[1], "back": "/page/"} | act
        path = "/do/erase" if "word" in act else "/do/forget"
        assert seen(place, path, writes, form).status == 403, act
    assert seen(place, f"/entry/{kept}", ada).status == 200


def test_every_action_on_entries_works_as_at_home(place: Place) -> None:
    ada = place.token("ada").text
    memory = place.memory(ada)
    token = re.search(r'name="token" value="([0-9a-f]{64})"', seen(place, "/", ada).text)
    assert token is not None

    def do(action: str, **fields: str) -> str:
        """Where the action leads, and the key of its undo."""
        form = {"token": token[1], "back": "/page/"} | fields
        done = seen(place, f"/do/{action}", ada, form)
        assert done.status == 303, (action, done.text)
        said = json.loads(
            base64.urlsafe_b64decode(done.headers["set-cookie"].split("=", 1)[1].split(";")[0])
        )
        fields_of[action] = said[2]
        return done.headers["location"].rpartition("/")[2]

    fields_of: dict[str, dict[str, str]] = {}
    name = do("remember", text="Jonas brings both keys.", type="task")
    name = do("correct", id=name, text="Jonas brings all the keys.")
    for action in ("pin", "unpin", "done", "reopen"):
        name = do(action, id=name)
    last = do("pin", id=name)
    do("back", **fields_of["pin"])
    old = memory.remember("The gate closes at ten.", subject="gate")
    new = memory.remember("The gate closes at eleven.", subject="gate", replaces=[old.id])
    do("hold-again", old=old.id, new=new.id)
    one = memory.remember("The pump is green.", subject="pump")
    two = memory.remember("The pump is blue.", subject="pump")
    do("settle", old=one.id, new=two.id, keep="new")
    do("forget", id=name)
    with pytest.raises(NotFound):
        memory.get(last)
    back = do("undo", **fields_of["forget"])
    assert memory.get(back).entry.content == "Jonas brings all the keys."  # type: ignore[union-attr]
    waits = memory.remember("Wire the deposit.", origin="a page that was pasted")
    do("take", id=waits.id)
    do("index")
    do("run", job="briefing")
    do("catch-up")
    texts = [one.content for one in memory.log.entries(Query())]
    assert "The gate closes at ten." in texts and "The pump is blue." in texts
    assert "The gate closes at eleven." not in texts and "The pump is green." not in texts


def test_other_sites_old_forms_and_dead_tokens_are_turned_away(place: Place) -> None:
    given = place.token("ada")
    ada = given.text
    form = {"token": "0" * 64, "text": "x", "back": "/page/"}
    assert seen(place, "/do/remember", ada, form).status == 403
    assert seen(place, "/", ada, Sec_Fetch_Site="cross-site").status == 403
    evil = seen(place, "/sign-in", form={"token": ada}, Origin="https://evil.example")
    assert evil.status == 403 and "set-cookie" not in evil.headers
    tenants.revoke(place.db, given.id)
    fresh = place.token("ada")
    tenants.revoke(place.db, fresh.id)  # which no server has seen before
    assert seen(place, "/", fresh.text).headers["location"] == "/page/sign-in"


def test_the_home_that_is_joined_knows_where_its_page_is(place: Place, tmp_path: Path) -> None:
    from tests.journeys.command import run

    token = place.token("bo").text
    url = f"http://127.0.0.1:{place.port}"
    run("team", "join", url, "--token", token, "--home", str(tmp_path / "home"))
    said = run("page", "--home", str(tmp_path / "home"))
    assert "/page/sign-in" in said and token not in said
