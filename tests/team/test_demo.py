"""`make demo-team` in its short form: three workers, one of them killed, and four memories."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.team.demo import PEOPLE, run


def test_the_demo_ends_well(url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    well = run(url, tmp_path, tuple(PEOPLE)[:4])
    said = capsys.readouterr().out
    assert well and "✗" not in said, said
    assert "is killed (SIGKILL)" in said and "all equal" in said
    assert "handbook says: Invoices go to" in said
