"""Fixed: the parts of a context that do not depend on the message.

Who the agent is, MEMORY.md, the active projects, the last handoff, the journal of today and
yesterday; each as one text, in the order of how seldom they change.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from wakebook.derive.wake import Handoff
from wakebook.home import Home
from wakebook.models.text import whole
from wakebook.recall.texts import Texts

IDENTITY = ("AGENTS.md", "SOUL.md", "TOOLS.md", "IDENTITY.md", "USER.md")  # first, in this order
SUBAGENT = ("AGENTS.md", "TOOLS.md")  # all that a subagent is told
LONGEST = 100  # characters of a path that are shown
MEMORY = "memory.md"  # which is no identity, wherever it lies


class Part(NamedTuple):
    """The text of a slot, and where to read the whole of it."""

    text: str
    where: str
    older: str = ""  # stands before the text, and gives way to it
    files: tuple[tuple[str, str], ...] = ()  # where and text of what it is made of


def identity(home: Home, memory_file: Path, texts: Texts, kind: str) -> Part:
    folder = home.root / "knowledge" / "identity"
    try:
        names = sorted(path.name for path in folder.glob("*.md") if path.is_file())
    except OSError:
        names = []
    names = [name for name in names if name.casefold() != MEMORY and folder / name != memory_file]
    order = [name for name in IDENTITY if name in names]
    order += [name for name in names if name not in IDENTITY]
    if kind == "subagent":
        order = [name for name in order if name in SUBAGENT]
    parts = [
        (f"knowledge/identity/{whole(name)}", _titled(texts.read(folder / name), whole(name)))
        for name in order
    ]
    files = tuple((where, text) for where, text in parts if text)
    return Part("\n\n".join(text for _, text in files), "knowledge/identity/", files=files)


def memory(home: Home, path: Path, texts: Texts) -> Part:
    where = home.relative(path) if path.is_relative_to(home.root) else str(path)
    if len(where) > LONGEST:
        where = f"…{where[-LONGEST:]}"
    return Part(_titled(texts.read(path), "Core Memory"), where)


def projects(home: Home, texts: Texts) -> Part:
    where = "knowledge/projects/_active.md"
    return Part(_titled(texts.read(home.root / where), "Active Projects"), where)


def journal(home: Home, texts: Texts, now: datetime) -> Part:
    """Today's and yesterday's, the older one first: what is added comes at the end."""
    days = [now.date(), now.date() - timedelta(days=1)]
    today, yesterday = (
        _titled(texts.read(home.root / f"knowledge/journal/{day}.md"), f"Journal {day}")
        for day in days
    )
    return Part(today or yesterday, "knowledge/journal/", yesterday if today else "")


def handoff(found: Sequence[Handoff], session: str) -> Part:
    """What is still open of the session that goes on, it knows itself."""
    texts = [one.text for one in found if one.entry or one.session != session]
    return Part("\n\n".join(texts), "`wakebook log --type handoff`")


def observations(home: Home, texts: Texts) -> Part:
    where = "knowledge/memory/observations.md"
    return Part(texts.read(home.root / where), where)


def _titled(text: str, title: str) -> str:
    """With a heading, so that a reader can tell where it begins."""
    if not text or text.startswith("# "):
        return text
    return f"# {title.removesuffix('.md')}\n\n{text}"
