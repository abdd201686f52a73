"""The page's scripts in a real browser: the plot, and search as you type. `make test-page`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from tests import homes
from tests.page.browsing import Visit, browser, by_command, missing, visiting
from tests.service.serving import own_env, serving
from wakebook.log import log
from wakebook.log.entry import Entry, Type, derived_id

pytestmark = [
    pytest.mark.skipif(not os.environ.get("TEST_PAGE"), reason="a part of `make test-page`"),
    pytest.mark.skipif(bool(missing()), reason=missing()),
]
KINDS: tuple[Type, ...] = ("fact", "decision", "question")
DAYS = 60


@pytest.fixture(scope="module")
def visit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visit]:
    """In front of a home that has learned something every day for two months."""
    folder = tmp_path_factory.mktemp("daily")
    env = own_env(folder)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in env.items():
            patch.setenv(name, value)
        memory = homes.made(folder / "home")
        today = datetime.fromisoformat(env["WAKEBOOK_NOW"]).astimezone(UTC)
        made = (
            Entry(
                id=derived_id(f"s{number}", "fact", str(number)), session=f"s{number}",
                timestamp=today - timedelta(days=number), type=KINDS[number % 3],
                content=f"The heron fence was mended {number} days ago.",
            )
            for number in range(DAYS)
        )  # fmt: skip
        log.append(memory.home, list(made))
        memory.index.sync()
        memory.close()
    with (
        browser() as chromium,
        serving(folder / "home", env) as service,
        visiting(chromium, service) as found,
    ):
        found.enter()
        yield found


def test_the_plot_takes_the_place_of_the_bars(visit: Visit) -> None:
    page = visit.go("/upkeep")
    canvas = page.locator("[data-plot] canvas")
    canvas.wait_for()
    assert "Entries by day and type" in (canvas.get_attribute("aria-label") or "")
    assert page.locator("[data-plot] svg").count() == 0
    over = page.locator("[data-plot] .u-over")
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] - 4, box["y"] + box["height"] / 2)
    page.locator(".u-legend", has_text="fact1").wait_for()  # the last day's only entry
    assert "2026" in page.locator(".u-legend").inner_text()


def test_a_plot_that_is_read_stays_when_the_page_has_news(visit: Visit) -> None:
    page = visit.go("/upkeep")
    page.locator("[data-plot] canvas").wait_for()
    page.evaluate("document.querySelector('[data-plot]').mine = true")
    page.evaluate("document.querySelector('#jobs').old = true")
    page.locator("#learned summary").click()
    by_command(visit.service.home, "tick", "tags")
    page.wait_for_function("!document.querySelector('#jobs').old")
    assert page.evaluate("document.querySelector('[data-plot]').mine")
    assert page.locator("[data-plot] canvas").count() == 1
    assert page.locator("#learned details[open] table").count() == 1


def test_without_a_script_the_bars_stay(visit: Visit) -> None:
    assert visit.page.context.browser
    with visiting(visit.page.context.browser, visit.service, java_script_enabled=False) as plain:
        plain.enter()
        assert plain.go("/upkeep").locator("[data-plot] svg").count() == 1


def test_the_newest_words_are_searched_for_last(visit: Visit) -> None:
    page = visit.go("/search")
    page.locator("#q").press_sequentially("heron fence mended 7 days ago")  # faster than answers
    page.wait_for_url("**/search?q=heron+fence+mended+7+days+ago")
    assert "mended, 7, days, ago" in page.locator("#found .thing").first.inner_text()
