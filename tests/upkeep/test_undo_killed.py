"""An undo that dies half-way, and is given again."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests import homes
from tests.crash import run_and_die
from tests.history.test_past import NOTE, rewrite
from wakebook import Memory


def test_an_undo_that_was_killed_takes_back_that_rewrite_and_no_other(tmp_path: Path) -> None:
    memory = homes.made(tmp_path / "home")
    path = memory.home.root / NOTE
    path.write_text("zero\n")
    memory.history.commit()
    rewrite(memory, "first", {NOTE: "one\n"})
    rewrite(memory, "second", {NOTE: "two\n"})
    killed = 0
    for step in range(1, 200, 2):
        shutil.copytree(memory.home.root, tmp_path / str(step), symlinks=True)
        died = run_and_die(Memory(tmp_path / str(step)).undo, step)
        again = Memory(tmp_path / str(step))
        if not next(one for one in again.rewrites() if one.name == "second").undone:
            assert again.undo().rewrite.name == "second", step
            killed += 1
        assert (again.home.root / NOTE).read_text() == "one\n", step
        undone = {one.name: one.undone for one in again.rewrites()}
        assert undone == {"second": True, "first": False}, step
        if not died:
            break
    assert not died and killed > 2
    assert again.undo().rewrite.name == "first"
