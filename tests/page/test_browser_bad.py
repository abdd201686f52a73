"""The page in a real browser, with all that can be wrong: `make test-page`."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.page.asking import talk
from tests.page.browsing import ALL, VIEWS, Visit, missing, visiting
from tests.service.serving import serving
from wakebook import Memory
from wakebook.log import waiting

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [
    pytest.mark.skipif(not os.environ.get(ALL), reason="a part of `make test-page`"),
    pytest.mark.skipif(bool(missing()), reason=missing()),
]
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


def test_a_home_with_one_entry_is_a_whole_page(chromium: Browser, memory: Memory) -> None:
    only = memory.remember("The launch is on 21 November.", subject="tidepool")
    with serving(Path(memory.home.root)) as service, visiting(chromium, service) as visit:
        visit.enter()
        more = (f"/entry/{only.id}", f"/entry/{only.id}/forget", f"/said?entry={only.id}")
        for view in (*VIEWS, *more, "/subject/tidepool"):
            visit.go(view)
            assert len(visit.words()) > 40 and visit.too_wide() == [], view
        visit.go("/search?q=launch")
        assert "1 finding" in visit.words()


def test_a_conversation_of_10_megabytes_is_read_in_parts(chromium: Browser, memory: Memory) -> None:
    long = "The harbour has a long story. " * 20_000
    path = talk(memory, [f"{number}: {long}" for number in range(18)])
    with serving(Path(memory.home.root)) as service, visiting(chromium, service) as visit:
        visit.enter()
        page = visit.go(f"/conversations/{path.removeprefix('raw/conversations/')}")
        assert len(page.content()) < 200_000
        page.get_by_role("link", name="after →").click()
        part = page.locator("#chat h2").text_content() or ""
        assert "of 18" in part and "Turns 1 to" not in part
        page.get_by_role("link", name="All 6").first.click()
        assert "of 600," in visit.words() and len(page.content()) < 200_000


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


def test_the_second_window_is_told_and_nothing_is_lost(chromium: Browser, memory: Memory) -> None:
    name = memory.remember("The launch is on 14 November.").id
    with serving(Path(memory.home.root)) as service, visiting(chromium, service) as visit:
        first, second = visit.enter(), visit.another()
        for page in (first, second):
            page.goto(f"{visit.root}/entry/{name}")
            page.locator("summary", has_text="Correct").click()
        second.evaluate(
            "for (const one of document.querySelectorAll('[data-live]')) delete one.dataset.live"
        )
        first.fill("textarea[name=text]", "The launch is on 21 November.")
        first.get_by_role("button", name="Keep").click()
        first.locator(".said").wait_for()
        visit.forgive("400")
        second.fill("textarea[name=text]", "The launch is on 28 November.")
        second.get_by_role("button", name="Keep").click()
        second.get_by_text("changed since you saw it").wait_for()
        assert "21 November" in second.locator("main").inner_text()
        assert [one.content[-12:] for one in memory.log.chains().current()] == ["21 November."]


def test_a_link_that_is_too_old_says_how_to_get_another(visit: Visit) -> None:
    visit.forgive("410")
    answer = visit.page.goto(f"{visit.root}/open?key=of-yesterday")
    assert answer and answer.status == 410
    assert "older than a minute" in visit.words() and "wakebook page" in visit.words()
