"""docs/agents.md does what it says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.server import ModelServer
from tests.test_server import ask as post
from wakebook import Conversation, Memory

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "agents.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
RECIPES = [block for block in BLOCKS if block.startswith("import os")]


def test_the_samples_run_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer(reply=lambda chat: "Noted.") as server:

        def ask(messages: list[dict[str, Any]]) -> str:
            said: str = post(server, "openai", messages=messages).body["choices"][0]["message"][
                "content"
            ]
            return said

        names: dict[str, Any] = {"ask": ask}
        samples = [block for block in BLOCKS if block not in RECIPES]
        for day, block in enumerate(samples, 10):
            monkeypatch.setenv("WAKEBOOK_NOW", f"2026-11-{day:02}T08:00:00Z")
            exec(compile(block, "docs/agents.md", "exec"), names)
    assert len(samples) >= 6 and len(server.chats) == 1
    assert server.chats[0].messages == [("user", "We decided to use Postgres for Tidepool.")]
    assert {account.status for account in Memory().audit()} == {"ok"}


@pytest.mark.parametrize("name", ["langgraph_agent", "openai_agents"])
def test_a_recipe_on_the_page_is_the_one_that_is_tested(name: str) -> None:
    text = (ROOT / "examples" / f"{name}.py").read_text()
    assert any(text.endswith(block) for block in RECIPES)


def test_every_verb_of_a_conversation_is_on_the_page() -> None:
    verbs = [name for name in vars(Conversation) if not name.startswith("_")]
    assert len(verbs) == 8
    for name in verbs:
        assert f"| `{name}(" in PAGE, name


def test_links_of_the_examples_lead_somewhere() -> None:
    readme = ROOT / "examples" / "README.md"
    for link in re.findall(r"\]\(([^)#:]+)\)", readme.read_text()):
        assert (readme.parent / link).exists(), link
    for path in readme.parent.glob("*.py"):
        assert f"({path.name})" in readme.read_text()
