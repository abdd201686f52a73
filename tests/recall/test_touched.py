"""What a tool call touches, with the arguments of the hosts' own tools."""

from __future__ import annotations

from typing import Any

import pytest

from wakebook.recall.topics.touched import Touched, touched

PATCH = "*** Begin Patch\n*** Update File: src/app.py\n@@\n-a\n+print 'b'\n*** End Patch"


@pytest.mark.parametrize(
    ("arguments", "paths", "words"),
    [
        ({"file_path": "/w/app.py", "content": "print 'a'"}, ["/w/app.py"], "print 'a'"),
        ({"file_path": "a.py", "old_string": "x", "new_string": "y"}, ["a.py"], "y"),
        ({"path": "a.md", "edits": [{"oldText": "x", "newText": "y"}]}, ["a.md"], "y"),
        ({"command": "cat src/app.py | head -3"}, ["src/app.py"], "cat src/app.py | head -3"),
        ({"command": ["bash", "-lc", "ls docs/"]}, [], "bash -lc ls docs/"),
        ({"cmd": "git commit -m done && ./run.sh"}, ["./run.sh"], "git commit"),
        ({"input": PATCH}, ["src/app.py"], "print 'b'"),
        ({"command": ["apply_patch", PATCH]}, ["src/app.py"], "print 'b'"),
        ({"pattern": "x"}, [], ""),
        (PATCH, ["src/app.py"], "print 'b'"),
        ({"command": "echo 3.14 and e.g. this"}, [], "echo"),
    ],
)
def test_files_and_words(arguments: Any, paths: list[str], words: str) -> None:
    found = touched(arguments)
    assert list(found.paths) == paths
    assert words in found.text


@pytest.mark.parametrize("arguments", [None, 7, [], {}, {"path": None}, {"edits": [1, None]}])
def test_nothing_is_touched(arguments: Any) -> None:
    assert touched(arguments) == Touched()
