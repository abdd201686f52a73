"""The page in a real browser: the shortest walk through all of it, for every run of the tests.
`make test-page` has the rest."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.page.browsing import VIEWS, by_command, missing, visiting
from tests.service.serving import serving
from wakebook import Memory

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SCRIPT = "<script>document.title = 'owned'</script><img src=x onerror=\"document.title='owned'\">"


@pytest.mark.skipif(bool(missing()), reason=missing())
def test_the_page_in_a_real_browser(chromium: Browser, memory: Memory) -> None:
    """Every view opens without a complaint, a hostile memory stays words, what another process
    writes appears by itself, and keys lead through it."""
    home = Path(memory.home.root)
    memory.remember("The launch is on 21 November.", subject="tidepool")
    memory.remember(SCRIPT)
    with serving(home) as service, visiting(chromium, service) as visit:
        page = visit.enter()
        for view in VIEWS:
            visit.go(view)
            assert visit.too_wide() == [], view
        visit.go("/")
        page.locator("body.is-live").wait_for()
        assert page.get_by_text("onerror=").count() > 0 and "owned" not in page.title()
        by_command(home, "remember", "Jonas has the boat inspection on the 14th.")
        page.get_by_text("boat inspection").first.wait_for()
        page.keyboard.press("/")
        page.keyboard.type("launch")
        page.keyboard.press("Enter")
        page.get_by_text("21 November").first.wait_for()
        page.locator("h1").click()
        page.keyboard.press("?")
        page.locator("dialog[open]").wait_for()
