"""The page in a real browser, all of it: `make test-page`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.page.asking import talk
from tests.page.browsing import ALL, NO_AXE, WAIT, Visit, by_command, every_view, missing, visiting
from tests.page.install import axe
from tests.service.serving import Service, serving, start
from wakebook import Memory

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [
    pytest.mark.skipif(not os.environ.get(ALL), reason="a part of `make test-page`"),
    pytest.mark.skipif(bool(missing()), reason=missing()),
]
PHONE = {"width": 360, "height": 740}
DESK = {"width": 1240, "height": 860}


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


@pytest.mark.parametrize(
    "view",
    [
        "/",
        "/search?q=launch",
        "/conversations",
        "/notes",
        "/told",
        "/time?day=2026-11-09",
        "/subject/tidepool",
    ],
)
def test_every_list_is_walked_by_keys(chromium: Browser, lived_in: Service, view: str) -> None:
    with visiting(chromium, lived_in) as visit:
        visit.enter()
        page = visit.go(view)
        page.keyboard.press("j")
        first = page.locator(".picked").get_attribute("data-href")
        page.keyboard.press("j")
        page.keyboard.press("k")
        assert page.locator(".picked").get_attribute("data-href") == first
        page.keyboard.press("Enter")
        page.wait_for_url(f"**{first}**")
        assert page.locator("h1").count() == 1


def test_a_look_beside_the_list_opens_and_closes_by_keys(
    chromium: Browser, lived_in: Service
) -> None:
    with visiting(chromium, lived_in) as visit:
        visit.enter()
        page = visit.go("/search?q=launch")
        page.keyboard.press("j")
        page.keyboard.press("o")
        page.locator("dialog.peek[open]").wait_for()
        page.keyboard.press("Escape")
        page.locator("dialog.peek[open]").wait_for(state="detached")
        page.keyboard.press("/")
        page.keyboard.press("ArrowDown")
        page.locator(".picked").wait_for()
        page.keyboard.press("Escape")
        assert page.evaluate("document.activeElement.tagName") == "BODY"


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


# --- acting, without a script ------------------------------------------------------------------
@pytest.fixture
def scriptless(chromium: Browser, memory: Memory) -> Iterator[Visit]:
    memory.remember("The launch is on 14 November.", subject="tidepool")
    with (
        serving(Path(memory.home.root)) as service,
        visiting(chromium, service, java_script_enabled=False) as visit,
    ):
        visit.enter()
        yield visit


def press(visit: Visit, name: str) -> str:
    """Press a button; what the next page says at its top."""
    visit.page.get_by_role("button", name=name, exact=True).first.click()
    return visit.page.locator(".said").first.inner_text()


def test_every_action_of_an_entry_works_without_javascript(scriptless: Visit) -> None:
    visit, page = scriptless, scriptless.page
    page.locator("summary", has_text="Keep something by hand").click()
    page.fill("textarea[name=text]", "Jonas takes the keys to the boathouse.")
    page.select_option("select[name=type]", "task")
    assert "Kept" in press(visit, "Keep")
    assert "Done." in press(visit, "Done") and "As it was" in press(visit, "Undo")
    assert "Pinned" in press(visit, "Pin") and "As it was" in press(visit, "Undo")
    page.locator("summary", has_text="Correct").click()
    page.fill("textarea[name=text]", "Jonas takes both keys to the boathouse.")
    assert "Corrected" in press(visit, "Keep")
    page.get_by_role("link", name="Forget …").click()
    assert "Nothing has happened yet" in visit.words()
    assert "Forgotten" in press(visit, "Forget it")
    visit.go("/time")
    assert "Remembered again" in press(visit, "Undo")
    assert "both keys" in visit.words()


def test_erasing_is_confirmed_by_a_word_and_leaves_nothing(scriptless: Visit) -> None:
    visit, page = scriptless, scriptless.page
    page.locator(".thing a", has_text="14 November").first.click()
    address = page.url
    page.get_by_role("link", name="Erase …").click()
    for _ in range(60):
        if page.locator("input[name=word]").count():
            break
        page.wait_for_timeout(500)
        page.get_by_role("link", name="Look again").click()
    assert "There is no undo" in visit.words() and "log.jsonl" in visit.words()
    page.fill("input[name=word]", "erase")
    assert "nothing is left" in press(visit, "Erase for good")
    assert page.get_by_role("button", name="Undo").count() == 0
    visit.forgive("404")
    page.goto(address)
    assert "no entry" in visit.words()
    visit.go("/search?q=launch")
    assert "14 November" not in visit.words()


def test_notes_and_review_work_without_javascript(scriptless: Visit) -> None:
    visit, page = scriptless, scriptless.page
    visit.go("/notes/knowledge/projects/tidepool/notes.md")
    page.get_by_role("link", name="Edit").click()
    text = page.locator("textarea").input_value()
    page.fill("textarea", text.replace("14 November", "21 November"))
    assert "waits for your word" in press(visit, "Save")
    page.get_by_role("link", name="Decide").click()
    assert "Accepted: 1 entry" in press(visit, "Accept")
    assert "waits again" in press(visit, "Undo")
    assert "says again" in press(visit, "Reject")


def test_a_rebuild_is_looked_at_built_dropped_and_brought_back(visit: Visit) -> None:
    talk(
        Memory(visit.service.home), ["The harbour opens on 21 November.", "We decided to paint it."]
    )
    visit.context.set_default_timeout(4 * WAIT)  # four processes, one after the other
    page = visit.enter()
    visit.go("/upkeep/rebuild")  # what it would do comes by itself
    page.get_by_role("button", name="Read all of it anew").click()
    page.get_by_role("button", name="Drop it").click()
    page.get_by_text("is dropped").wait_for()
    page.get_by_role("button", name="Undo").click()
    page.get_by_text("is there again").wait_for()
    page.get_by_role("button", name="Merge it").wait_for()


def test_a_finding_is_rated_and_that_is_taken_back(chromium: Browser, lived_in: Service) -> None:
    with visiting(chromium, lived_in, java_script_enabled=False) as visit:
        visit.enter()
        visit.go("/told?session=told-1")
        assert "Noted as useful" in press(visit, "Useful")
        assert visit.page.locator(".pill", has_text="useful").count() == 1
        assert "Rated as before" in press(visit, "Undo")
        assert visit.page.locator(".pill", has_text="useful").count() == 0


def test_an_export_is_searched_without_a_service(
    chromium: Browser, lived_in: Service, tmp_path: Path
) -> None:
    by_command(lived_in.home, "page", "--export", str(tmp_path / "out"))
    with chromium.new_page() as page:
        wrong: list[str] = []
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto((tmp_path / "out" / "index.html").as_uri())
        page.get_by_role("link", name="Search").click()
        page.fill("#q", "insurance")
        page.locator("#found .thing").first.wait_for()
        page.locator("#found a").first.click()
        assert page.url.startswith("file:") and page.locator(":target").count() == 1
        for name in ("Told", "Review", "Time", "Upkeep", "Conversations", "Notes", "Entries"):
            page.get_by_role("link", name=name, exact=True).click()
            assert page.locator("h1").inner_text() and page.locator("form").count() == 0
        assert wrong == []


# --- live --------------------------------------------------------------------------------------
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
    visit.forgive("410", "401")  # what is live may ask once more, without a cookie
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
