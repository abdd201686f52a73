"""A tool of an agent, asked in this process."""

from __future__ import annotations

import json
from typing import Any

from wakebook import Memory
from wakebook.service import tools

SECRETS = ("config.toml", "state.json", "token", "trace.jsonl", "index.db", ".gitignore")


def ask(memory: Memory, name: str, **arguments: Any) -> Any:
    """What a tool answers that has not failed."""
    done = tools.call(memory, name, arguments)
    assert not done.failed, done.text
    if name != "context":
        assert json.loads(done.text) == json.loads(json.dumps(done.data, default=str)), name
    return done.data


def refused(memory: Memory, name: str, arguments: object) -> str:
    done = tools.call(memory, name, arguments)
    assert done.failed, done.text
    assert isinstance(done.text, str) and done.data["error"]
    return done.text
