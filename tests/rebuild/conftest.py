"""Every test here has its home in the same folder: `remembering` puts it back as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import homes


@pytest.fixture
def tmp_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return homes.emptied(tmp_path_factory.getbasetemp() / "rebuild")
