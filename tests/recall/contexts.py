"""Homes with something in every slot, and a look into the context that is made of them."""

from __future__ import annotations

import re
from typing import Any

from tests.store.making import append, entry, note, transcript
from wakebook import Memory
from wakebook.recall.slot import Context, Slot

TODAY, YESTERDAY = "knowledge/journal/2026-11-09.md", "knowledge/journal/2026-11-08.md"
SECRET = "violet"  # what only the user may know


def full(memory: Memory, word: str = "zebra") -> Memory:
    """Something in every slot."""
    note(memory, "knowledge/identity/AGENTS.md", "# Rules\n\nAsk before you feed.\n")
    note(memory, "knowledge/identity/SOUL.md", "# Soul\n\nI am calm.\n")
    note(memory, "knowledge/identity/TOOLS.md", "# Tools\n\nThe bucket is in the shed.\n")
    note(memory, "knowledge/memory/MEMORY.md", f"# Core\n\nThe {word} is called {SECRET} Otto.\n")
    note(memory, "knowledge/memory/observations.md", f"# Seen\n\nA {word} slept, {SECRET}.\n")
    note(memory, "knowledge/projects/_active.md", "# Active Projects\n\n- **zoo** grows\n")
    note(memory, "knowledge/reference/zoo.md", f"# Zoo\n\nIt opens at nine for the {word}.\n")
    note(memory, YESTERDAY, f"# 2026-11-08\n\n- The {word} ate, {SECRET}.\n")
    note(memory, TODAY, f"# 2026-11-09\n\n- The {word} woke, {SECRET}.\n")
    note(memory, "knowledge/people/mira.md", f"# Mira\n\nMira rides the {word}, {SECRET}.\n")
    append(memory, entry(1, f"the {word} eats grass, {SECRET}"))
    append(memory, entry(2, f"We stopped at the {word}, {SECRET}.", type="handoff", session="s0"))
    transcript(memory, "s9", [("user", f"I saw a {word}, {SECRET}"), ("agent", "Nice.")])
    topic(memory, "feeding", "Carry the bucket.", match=word)
    return memory


def topic(memory: Memory, name: str, body: str, *, match: str = "", **front: Any) -> None:
    keys = {"type": "topic", "activation": "auto", "priority": "critical"} | front
    lines = [f"{key}: {value}" for key, value in keys.items()]
    if match:
        lines += ["triggers:", "  - type: keyword", f"    match: {match}"]
    text = "\n".join(["---", *lines, "---", f"# {name.capitalize()}", "", body, ""])
    note(memory, f"topics/{name}.md", text)


def slot(context: Context, wanted: str) -> Slot:
    [found] = [one for one in context.slots if one.name == wanted]
    return found


def fences(text: str) -> dict[str, str]:
    """What stands between the marks, by the note that it begins with."""
    found = re.findall(r"<wakebook-memory>\n(.*)\n\n([\s\S]*?)\n</wakebook-memory>\n", text)
    assert "".join(f"<wakebook-memory>\n{a}\n\n{b}\n</wakebook-memory>\n" for a, b in found) == text
    assert len(found) == len(dict(found))
    return dict(found)


def said(count_: int) -> list[dict[str, str]]:
    roles = ("user", "assistant")
    return [{"role": roles[n % 2], "content": f"Turn number {n} of us"} for n in range(count_)]
