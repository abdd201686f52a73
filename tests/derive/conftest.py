from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.derive.telling import Tale, telling


@pytest.fixture
def tale(tmp_path: Path, projects: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tale]:
    with telling(tmp_path, projects, monkeypatch) as tale:
        yield tale
