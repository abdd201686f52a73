from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.server import ModelServer


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server
