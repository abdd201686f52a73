"""The page as files: everything is there, every link leads somewhere, and nothing private is."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.journeys.command import run
from wakebook import Memory
from wakebook.base.errors import WakebookError
from wakebook.service.page.export import MARK, export


def test_everything_can_be_read_offline(knowing: Memory, tmp_path: Path) -> None:
    old = knowing.remember("The launch is on <b>14</b> November.", subject="tidepool")
    knowing.remember("The launch is on 21 November.", subject="tidepool", replaces=[old.id])
    folder = tmp_path / "out"
    assert "index.html" in run("page", "--export", str(folder), "--home", str(knowing.home.root))
    pages = {path: path.read_text() for path in folder.rglob("*.html")}
    whole = "\n".join(pages.values())
    assert "Good morning! Let" in whole and "21 November" in whole and "<b>14" not in whole
    assert "<script" not in whole and "<form" not in whole and "/page/" not in whole
    for path, text in pages.items():
        for href in re.findall(r'href="([^"]+)"', text):
            name, _, at = unquote(unescape(href)).partition("#")
            target = (path.parent / name).resolve() if name else path
            assert target.is_file() and target.is_relative_to(folder), f"{path}: {href}"
            if at and target.suffix == ".html":
                assert f'id="{at}"' in target.read_text(), f"{path}: {href}"
    assert {path.stat().st_mode & 0o777 for path in pages} == {0o600}


def test_an_export_is_written_anew_and_nothing_else_is_touched(
    knowing: Memory, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    first = export(knowing, folder)
    (folder / "mine.txt").write_text("kept")
    assert export(knowing, folder).files == first.files
    assert (folder / "mine.txt").read_text() == "kept"
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.txt").write_text("mine")
    with pytest.raises(WakebookError, match="no export"):
        export(knowing, other)
    (other / MARK).write_text('{"files": ["../out/mine.txt", "thesis.txt"]}')
    export(knowing, other)
    assert (folder / "mine.txt").exists()
