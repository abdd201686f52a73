"""The page of a tenant in a real browser: the same rules as at home, on a server for teams."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import pytest

from tests.page.browsing import NO_AXE, Visit, browser, every_view, lived, missing
from tests.page.install import axe
from tests.service.serving import own_env
from tests.team.postgres import database
from tests.team.serving import Team
from tests.team.test_remote import team_env
from wakebook import Memory
from wakebook.service.team_work import fill, opened
from wakebook.team import tenants
from wakebook.team.copies import Copies
from wakebook.team.database import Database

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())
PHONE, DESK = {"width": 360, "height": 740}, {"width": 1240, "height": 860}


class Place(NamedTuple):
    team: Team
    port: int
    home: Path  # the plain home that the tenant was made from
    tokens: dict[str, str]

    @property
    def memory(self) -> Memory:
        return Memory(f"http://127.0.0.1:{self.port}", token=self.tokens["ada"])

    def views(self) -> list[str]:
        found = every_view(cast(Any, self))
        return [one for one in found if not one.startswith("/told/")]


class Person(Visit):
    """Signs in with a token."""

    def enter(self) -> Page:
        self.page.goto(f"{self.root}/")
        assert self.page.url.endswith("/page/sign-in")
        self.page.fill("input[name=token]", cast(Any, self.service).tokens["ada"])
        self.page.get_by_role("button", name="Sign in").click()
        self.page.wait_for_url("**/page/")
        return self.page


@contextmanager
def visiting(chromium: Browser, place: Place, **options: Any) -> Iterator[Person]:
    context = chromium.new_context(**options)
    person = Person(context, cast(Any, place))
    try:
        yield person
    finally:
        context.close()
    assert person.wrong == []


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as found:
        yield found


@pytest.fixture(scope="module")
def place(server: tuple[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("browser")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in own_env(folder).items():
            patch.setenv(name, value)
        lived(folder / "home", folder / "user")
    with database(*server) as url:
        db = Database(url)
        copies = Copies(db, folder / "admin", opened)
        fill(db, copies, "ada", folder / "home")
        fill(db, copies, "bo")
        copies.close()
        scopes = ("read", "write", "erase")
        tokens = {name: tenants.give(db, name, scopes=scopes).text for name in ("ada", "bo")}
        db.close()
        team = Team(url, folder / "copies", team_env(folder))
        found = Place(team, team.server(), folder / "home", tokens)
        for message in ("When do we launch?", "Which insurance do we take?"):
            found.memory.context(message, session="told-1")
        yield found
        team.end()


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_every_view_opens_without_a_complaint(
    chromium: Browser, place: Place, size: dict[str, int]
) -> None:
    with visiting(chromium, place, viewport=size) as person:
        person.enter()
        for view in place.views():
            person.go(view)
            assert person.page.locator("h1").first.inner_text(), view
            assert person.too_wide() == [], view
            assert person.page.locator(".origin").inner_text(), view
        person.go("/told?session=told-1")
        person.page.locator(".thing a, a.thing, main a").first.click()


@pytest.mark.skipif(axe() is None, reason=NO_AXE)
def test_no_view_has_a_serious_hurdle(chromium: Browser, place: Place) -> None:
    with visiting(chromium, place, bypass_csp=True) as person:
        person.page.goto(f"{person.root}/sign-in")
        assert person.complaints() == []
        person.enter()
        for view in ("/", "/upkeep", "/search?q=launch", "/review"):
            person.go(view)
            assert person.complaints() == [], view


def test_without_javascript_one_acts_and_takes_it_back(chromium: Browser, place: Place) -> None:
    with visiting(chromium, place, java_script_enabled=False) as person:
        page = person.enter()
        page.fill("#q", "launch")
        page.press("#q", "Enter")
        assert "21 November" in person.words()
        person.go("/")
        page.locator("summary", has_text="Keep something by hand").click()
        page.fill("textarea[name=text]", "Jonas takes the keys to the boathouse.")
        assert "Kept" in press(person, "Keep")
        page.get_by_role("link", name="Forget …").click()
        assert "Nothing has happened yet" in person.words()
        assert "Forgotten" in press(person, "Forget it")
        assert "Remembered again" in press(person, "Undo")
        assert "boathouse" in person.words()


def test_erasing_shows_first_what_goes_and_leaves_nothing(chromium: Browser, place: Place) -> None:
    kept = place.memory.remember("The safe opens with 19-44-7.", subject="safe")
    with visiting(chromium, place, java_script_enabled=False) as person:
        page = person.enter()
        person.go(f"/entry/{kept.id}")
        page.get_by_role("link", name="Erase …").click()
        for _ in range(60):
            if page.locator("input[name=word]").count():
                break
            page.wait_for_timeout(500)
            page.get_by_role("link", name="Look again").click()
        assert "log.jsonl" in person.words()
        page.fill("input[name=word]", "erase")
        assert "nothing is left" in press(person, "Erase for good")
        person.forgive("404")
        person.go(f"/entry/{kept.id}", 404)


def test_open_pages_hear_of_changes_and_survive_a_server_that_goes(
    chromium: Browser, place: Place
) -> None:
    with visiting(chromium, place) as person:
        person.forgive("ERR_", "Failed to load", "Failed to fetch")
        first, second = person.enter(), person.another()
        second.goto(f"{person.root}/")
        for page in (first, second):
            page.locator("body.is-live").wait_for()
        place.memory.remember("<img src=x onerror=alert(1)> The otter boat is called Otter.")
        for page in (first, second):
            page.get_by_text("otter boat").first.wait_for()
        serving = place.team.running[-1]
        serving.kill()
        serving.wait()
        first.get_by_text("the service is away").wait_for()
        place.team.process("serve", "--port", str(place.port))
        place.memory.remember("Written after it was away.")
        for page in (first, second):
            page.locator("body.is-live").wait_for()
            page.get_by_text("Written after it was away").first.wait_for()


def test_another_tenants_page_is_another_memory(chromium: Browser, place: Place) -> None:
    theirs = place._replace(tokens={"ada": place.tokens["bo"]})
    with visiting(chromium, theirs) as person:
        person.enter()
        for view in ("/", "/search?q=launch", "/conversations", "/notes", "/upkeep"):
            person.go(view)
            assert "21 November" not in person.words() and "idepool" not in person.words(), view


def press(person: Person, name: str) -> str:
    """Press a button; what the next page says at its top."""
    person.page.get_by_role("button", name=name, exact=True).first.click()
    assert person.page.locator(".said").count(), person.words()
    return person.page.locator(".said").first.inner_text()
