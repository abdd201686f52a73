"""The page as files: everything is there, every link leads somewhere, and nothing private is."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.journeys.command import run
from tests.page.asking import talk
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
    found = pages.pop(folder / "search.html")
    assert "<form" not in whole and "/page/" not in whole and whole.count("<script") == 1
    assert "Undo" not in whole and "Erase …" not in whole and "All is well" in whole
    for path, text in pages.items():
        for href in re.findall(r'href="([^"]+)"', text):
            name, _, at = unquote(unescape(href)).partition("#")
            target = (path.parent / name).resolve() if name else path
            assert target.is_file() and target.is_relative_to(folder), f"{path}: {href}"
            if at and target.suffix == ".html":
                assert f'id="{at}"' in target.read_text(), f"{path}: {href}"
    assert {path.stat().st_mode & 0o777 for path in pages} == {0o600}
    [words] = re.findall(r'data-files="([^"]+)"', found)
    assert '<script src="find.js">' in found and (folder / "find.js").is_file()
    rows = json.loads((folder / words).read_text().removeprefix("wakebook(").rstrip(";\n)"))
    assert {"●", "▤", "“"} <= {sign for sign, *_ in rows}
    for _, _, _, href in rows:
        name, _, at = unquote(href).partition("#")
        assert f'id="{at}"' in (folder / name).read_text() or not at, href


def test_a_turn_of_a_long_conversation_is_in_its_part(memory: Memory, tmp_path: Path) -> None:
    """Links lead to the part that has the turn, and not to the first one."""
    talk(memory, [f"The tide table of day {n} is in drawer {n}." for n in range(1, 76)])
    memory.index.sync()
    export(memory, tmp_path / "out")
    words = (tmp_path / "out" / "words" / "001.js").read_text()
    [href] = re.findall(r'day 64 is in drawer 64\..*?","[^"]*","(conv[^"]+)"', words)
    name, _, at = unquote(href).partition("#")
    assert "--from-61" in name and f'id="{at}"' in (tmp_path / "out" / name).read_text()


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
