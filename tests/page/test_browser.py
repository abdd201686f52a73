"""The page in a real browser, all of it: `make test-page`."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests import homes
from tests.page.browsing import (
    NO_AXE,
    VIEWS,
    Visit,
    browser,
    by_command,
    missing,
    visiting,
)
from tests.page.install import axe
from tests.service.serving import Service, own_env, serving, start
from tests.story import NEXT_DAY, WORKDAY, Claude, chat
from wakebook import Memory
from wakebook.log import waiting

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ALL = "TEST_PAGE"
pytestmark = [
    pytest.mark.skipif(not os.environ.get(ALL), reason="a part of `make test-page`"),
    pytest.mark.skipif(bool(missing()), reason=missing()),
]
PHONE = {"width": 360, "height": 740}
DESK = {"width": 1240, "height": 860}
HOSTILE = (
    "<script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    '"><svg onload="document.title=\'owned\'">',
    "javascript:document.title='owned'",
    "[a link](javascript:document.title='owned') and ![a picture](http://192.0.2.1/x.png)",
    "\x1b[31mred\x1b[0m \u202egnp.exe \u200b zero \u0000 width",
    "مرحبا بالعالم و 🦦🚤 and עברית",
    "{{7*7}} ${7*7} <%= 7*7 %> &lt;b&gt;",
)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser("--host-resolver-rules=MAP evil.example 127.0.0.1") as found:
        yield found


@pytest.fixture(scope="module")
def lived_in(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service whose home has read two conversations, and has something to decide."""
    folder = tmp_path_factory.mktemp("lived-in")
    env = own_env(folder)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in env.items():
            patch.setenv(name, value)
        memory = homes.made(folder / "home")
        projects = folder / "user" / ".claude" / "projects" / "-home-mira-tidepool"
        projects.mkdir(parents=True)
        chat(Claude(projects), WORKDAY)
        chat(Claude(projects, "5e551011-0000-4000-8000-000000000002").pause(hours=20), NEXT_DAY)
        memory.catch_up(closing=True)
        memory.remember("The weekend trip costs 229 euros a guest.", subject="tidepool")
        memory.remember("The weekend trip costs 239 euros a guest.", subject="tidepool")
        memory.notes.brief(ask=False)
        memory.history.commit()
        memory.close()
    with serving(folder / "home", env) as found:
        yield found


def every_view(service: Service) -> list[str]:
    """Every address of the page, with what varies in it."""
    memory = Memory(service.home)
    entry = memory.log.chains().current()[-1].id
    transcript = next(service.home.glob("raw/conversations/*/*/*/*.md"))
    path = transcript.relative_to(service.home / "raw" / "conversations").as_posix()
    more = (f"/entry/{entry}", f"/conversations/{path}", "/time/undo", f"/entry/{entry}/forget")
    note = next((service.home / "knowledge").rglob("*/notes.md"))
    return [*VIEWS, *more, f"/notes/{note.relative_to(service.home).as_posix()}"]


# --- every view, as people have their browsers -------------------------------------------------
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_every_view_opens_without_a_complaint(
    chromium: Browser, lived_in: Service, theme: str, size: dict[str, int]
) -> None:
    with visiting(chromium, lived_in, color_scheme=theme, viewport=size) as visit:
        visit.enter()
        for view in every_view(lived_in):
            visit.go(view)
            assert visit.page.locator("h1").first.inner_text(), view
            assert visit.too_wide() == [], view
            assert visit.page.locator(".origin").inner_text(), f"{view} says not where it is from"


@pytest.mark.skipif(axe() is None, reason=NO_AXE)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_view_has_a_serious_hurdle(chromium: Browser, lived_in: Service, theme: str) -> None:
    found: dict[str, list[str]] = {}
    # axe is put in past the page's own policy, which is what is tested elsewhere
    with visiting(chromium, lived_in, color_scheme=theme, bypass_csp=True) as visit:
        visit.enter()
        for view in every_view(lived_in):
            visit.go(view)
            if wrong := visit.complaints():
                found[view] = wrong
    assert found == {}


def test_every_view_says_the_same_without_javascript(chromium: Browser, lived_in: Service) -> None:
    with visiting(chromium, lived_in, java_script_enabled=False) as visit:
        visit.enter()
        for view in every_view(lived_in):
            visit.go(view)
            assert len(visit.words()) > 40, view
        page = visit.go("/")
        page.fill("#q", "launch")
        page.press("#q", "Enter")
        assert "21 November" in visit.words()
        page.get_by_role("link", name="Conversations").click()
        page.locator(".thing a").first.click()
        assert page.locator("article.turn").count() > 3


# --- keys --------------------------------------------------------------------------------------
def test_the_keyboard_is_enough(chromium: Browser, lived_in: Service) -> None:
    with visiting(chromium, lived_in) as visit:
        page = visit.enter()
        page.keyboard.press("?")
        page.locator("#keys[open]").wait_for()
        page.keyboard.press("Escape")
        page.locator("#keys[open]").wait_for(state="detached")
        page.keyboard.press("g")
        page.keyboard.press("c")
        page.wait_for_url("**/page/conversations")
        page.keyboard.press("j")
        page.locator(".thing.picked").wait_for()
        page.keyboard.press("Enter")
        page.locator("article.turn").first.wait_for()
        page.keyboard.press("/")
        page.keyboard.type("insurance")
        page.keyboard.press("Enter")
        page.wait_for_url("**/page/search?**")
        page.get_by_text("Ankerpolice").first.wait_for()
        page.locator("h1").click()
        page.keyboard.press("j")
        page.locator(".picked").wait_for()
        page.keyboard.press("Escape")
        page.locator(".picked").wait_for(state="detached")


def test_what_has_the_focus_can_be_seen(chromium: Browser, lived_in: Service) -> None:
    with visiting(chromium, lived_in) as visit:
        page = visit.enter()
        for _ in range(25):
            page.keyboard.press("Tab")
            shown = page.evaluate(
                "(() => { const one = document.activeElement, style = getComputedStyle(one);"
                " const near = getComputedStyle(one.closest('.ask') || one);"
                " return style.outlineStyle !== 'none' || near.boxShadow !== 'none' })()"
            )
            assert shown, page.evaluate("document.activeElement.outerHTML.slice(0, 200)")


def test_motion_is_left_out_for_those_who_ask(chromium: Browser, lived_in: Service) -> None:
    with visiting(chromium, lived_in, reduced_motion="reduce") as visit:
        page = visit.enter()
        page.evaluate("document.querySelector('h1').classList.add('new')")
        name = page.evaluate("getComputedStyle(document.querySelector('h1')).animationName")
        assert name == "none"


# --- live --------------------------------------------------------------------------------------
@pytest.fixture
def visit(chromium: Browser, memory: Memory) -> Iterator[Visit]:
    """A person at a home of the test's own."""
    with serving(Path(memory.home.root)) as service, visiting(chromium, service) as found:
        yield found


def test_two_tabs_hear_what_another_process_writes(visit: Visit) -> None:
    first, second = visit.enter(), visit.another()
    second.goto(f"{visit.root}/")
    for page in (first, second):
        page.get_by_text("live").first.wait_for()
    by_command(visit.service.home, "remember", "The otter boat is called Otter.")
    for page in (first, second):
        page.get_by_text("otter boat").first.wait_for()


def test_a_service_that_is_gone_and_back_is_shown_and_survived(
    chromium: Browser, memory: Memory
) -> None:
    home = Path(memory.home.root)
    with serving(home) as service, visiting(chromium, service) as visit:
        visit.forgive("ERR_", "Failed to load", "Failed to fetch")
        page = visit.enter()
        page.locator("body.is-live").wait_for()
        service.process.kill()
        service.process.wait()
        page.get_by_text("the service is away").wait_for()
        by_command(home, "remember", "Written while it was away.")
        again = start(home, "--port", str(service.port))
        try:
            page.locator("body.is-live").wait_for()
            page.get_by_text("Written while it was away").first.wait_for()
        finally:
            again.process.kill()
            again.process.wait()
            again.out.close()


# --- who may come in ---------------------------------------------------------------------------
def test_a_link_works_once(visit: Visit) -> None:
    visit.forgive("410")
    link = visit.link()
    visit.page.goto(link)
    assert visit.page.url.endswith("/page/")
    visit.context.clear_cookies()
    answer = visit.page.goto(link)
    assert answer and answer.status == 410
    assert "wakebook page" in visit.words()


def test_nobody_comes_in_without_a_link(visit: Visit) -> None:
    visit.forgive("401")
    visit.go("/", 401)
    assert "wakebook page" in visit.words()


def test_another_name_for_this_machine_is_refused(chromium: Browser, memory: Memory) -> None:
    with serving(Path(memory.home.root)) as service, chromium.new_page() as page:
        answer = page.goto(f"http://evil.example:{service.port}/page/")
        assert answer and answer.status in (400, 403, 421)
        assert memory.home.root.name not in page.content()
        link = service.ask("/v1/page", {}).json["path"]
        answer = page.goto(f"http://evil.example:{service.port}{link}")
        assert answer and answer.status in (400, 403, 421)


# --- bad input ---------------------------------------------------------------------------------
def test_hostile_memories_are_shown_and_not_run(chromium: Browser, memory: Memory) -> None:
    for text in HOSTILE:
        memory.remember(text.replace("\u0000", ""), subject="owned")
    note = memory.home.root / "knowledge" / "reference" / "evil.md"
    note.parent.mkdir(parents=True, exist_ok=True)
    note.write_text("# Evil\n\n" + "\n\n".join(HOSTILE[:5]) + "\n")
    with serving(Path(memory.home.root)) as service, visiting(chromium, service) as visit:
        page = visit.enter()
        names = [one.id for one in memory.log.chains().current()]
        views = [*VIEWS, "/search?q=document.title", "/notes/knowledge/reference/evil.md"]
        views.append("/search?q=" + "%3Cscript%3Edocument.title%3D'owned'%3C/script%3E")
        for view in [*views, *(f"/entry/{name}" for name in names)]:
            visit.go(view)
            page.wait_for_timeout(50)
            assert page.title() != "owned", view
            assert page.locator("main script, main img, main iframe").count() == 0, view
            assert page.locator("a[href^='javascript']").count() == 0, view
            assert not {"\x1b", "\u202e", "\u200b"} & set(visit.words()), view


def test_an_empty_home_is_a_clear_page(visit: Visit) -> None:
    visit.enter()
    for view in VIEWS:
        visit.go(view)
        assert visit.words().strip(), view


def test_a_corrupt_index_is_made_anew(chromium: Browser, memory: Memory) -> None:
    memory.remember("The launch is on 21 November.")
    memory.close()
    for path in memory.home.root.glob("index.db*"):
        path.write_bytes(b"no database at all" * 1000)
    with serving(Path(memory.home.root)) as service, visiting(chromium, service) as visit:
        visit.enter()
        for view in VIEWS:
            visit.go(view)
        visit.go("/search?q=launch")
        assert "21 November" in visit.words()


def test_a_locked_home_is_read_and_says_why_nothing_is_written(
    chromium: Browser, memory: Memory
) -> None:
    memory.remember("The launch is on 21 November.")
    with serving(Path(memory.home.root)) as service, visiting(chromium, service) as visit:
        page = visit.enter()
        visit.forgive("423")
        with memory.home.locked():
            for view in VIEWS:
                visit.go(view)
            name = memory.log.chains().current()[0].id
            visit.go(f"/entry/{name}")
            page.get_by_role("button", name="Pin").click()
            assert "Another" in visit.words() or "lock" in visit.words().lower()
        assert len(memory.log.chains().by_id) == 1


def test_two_windows_decide_once(chromium: Browser, memory: Memory) -> None:
    held = memory.remember("The alarm is serviced in May.")
    with memory.opened.writing():
        waiting.add(memory.home, [held.with_(id="waits-a-bit1")], {})
    memory.log.take_back([held.id])
    with serving(Path(memory.home.root)) as service, visiting(chromium, service) as visit:
        first = visit.enter()
        second = visit.another()
        for page in (first, second):
            page.goto(f"{visit.root}/review")
        second.evaluate("document.querySelector('#review').removeAttribute('data-live')")
        first.keyboard.press("a")
        first.locator(".said").wait_for()
        assert len(memory.log.chains().by_id) == 1
        second.get_by_role("button", name="Reject").click()
        second.get_by_text("decided already").wait_for()
        first.keyboard.press("u")
        first.get_by_text("It waits again").wait_for()
        assert not memory.log.chains().by_id


def test_a_clock_in_the_past_is_no_error(
    chromium: Browser, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.remember("The launch is on 21 November.")
    monkeypatch.setenv("WAKEBOOK_NOW", "1971-01-02T08:00:00Z")
    with serving(Path(memory.home.root)) as service, visiting(chromium, service) as visit:
        visit.enter()
        for view in VIEWS:
            visit.go(view)


def test_a_home_that_goes_away_is_told(chromium: Browser, memory: Memory, tmp_path: Path) -> None:
    with serving(Path(memory.home.root)) as service, visiting(chromium, service) as visit:
        visit.enter()
        visit.forgive("50", "40", "ERR_")
        shutil.move(memory.home.root / "config.toml", tmp_path / "config.toml")
        answer = visit.page.goto(f"{visit.root}/")
        assert answer and answer.status in (404, 409) and visit.words().strip()
