"""A browser, and a home that has been lived in, for all tests of the page that need them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.page.browsing import Visit, browser, lived, visiting
from tests.service.serving import Service, own_env, serving
from wakebook import Memory

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser("--host-resolver-rules=MAP evil.example 127.0.0.1") as found:
        yield found


@pytest.fixture(scope="module")
def lived_in(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service whose home has read two conversations, told some turns, and has something to
    decide."""
    folder = tmp_path_factory.mktemp("lived-in")
    env = own_env(folder)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in env.items():
            patch.setenv(name, value)
        lived(folder / "home", folder / "user")
    with serving(folder / "home", env) as found:
        yield found


@pytest.fixture
def visit(chromium: Browser, memory: Memory) -> Iterator[Visit]:
    """A person at a home of the test's own."""
    with serving(Path(memory.home.root)) as service, visiting(chromium, service) as found:
        yield found
