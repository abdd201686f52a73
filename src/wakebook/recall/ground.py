"""Ground: the fixed slots, laid out. They are never dropped; one that is too long is cut.

They are the same for one message after the other, so the last few layouts are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from wakebook.base.home import Home
from wakebook.base.text import whole
from wakebook.models import tokenizer
from wakebook.recall import slot as budget
from wakebook.recall import texts as trim
from wakebook.recall.slot import Item, Slot, priority
from wakebook.recall.texts import Once, Texts
from wakebook.recall.wake import Handoff

JOINT = 2  # tokens between two texts
FEW = 40  # tokens: less of something older is not worth telling
INSTRUCTS = "identity"


class Wanted(NamedTuple):
    """A fixed slot that has to be filled, or that the host fills."""

    name: str
    part: Part
    cap: int  # tokens
    host: bool = False


class Ground(NamedTuple):
    texts: dict[str, str]
    slots: dict[str, Slot]
    ruled: Once  # what was said as an instruction
    once: Once  # all that has been said
    tokens: int


@lru_cache(16)
def lay(wanted: tuple[Wanted, ...], room: int) -> Ground:
    """`room`: tokens for all of them together.

    Reference data gives way to instructions that say the same, never the other way round.
    """
    ruled, once = Once(), Once()
    for one in wanted:
        if one.host:
            _add(one.name, f"{one.part.older}\n{one.part.text}", ruled, once)
    ours = [one for one in wanted if not one.host]
    needs = _needs(ours, ruled, once.copy())
    least = {one.name: trim.least(one.part.where) + JOINT for one in ours}
    granted = budget.shares(needs, {one.name: one.cap for one in ours}, least, room)
    texts: dict[str, str] = {}
    slots: dict[str, Slot] = {}
    for one in ours:
        room_left = granted.get(one.name, least[one.name])
        text, note = _told(one, ruled, once, room_left - JOINT)
        if not text:
            why = "told elsewhere already" if one.part.text.strip() else "nothing there yet"
            slots[one.name] = Slot(name=one.name, priority=priority(one.name), note=why)
            continue
        _add(one.name, text, ruled, once)
        texts[one.name] = text
        slots[one.name] = _slot(one, tokenizer.count(text) + JOINT, room_left, note)
    return Ground(texts, slots, ruled, once, sum(slot.tokens for slot in slots.values()))


def _add(name: str, text: str, ruled: Once, once: Once) -> None:
    once.add(text)
    if name == INSTRUCTS:
        ruled.add(text)


def _fresh(one: Wanted, text: str, ruled: Once, once: Once) -> str:
    if one.name == INSTRUCTS:
        return ruled.fresh(text, one.name, within=False)
    return once.fresh(text, one.name)


def _told(one: Wanted, ruled: Once, once: Once, room: int) -> trim.Trimmed:
    """What fits of a slot. What the slots before had to leave out is fresh again."""
    part = one.part
    if part.files and tokenizer.count(part.text) > room:
        return _by_file(one, ruled, room)
    text, note = trim.trim(_fresh(one, part.text, ruled, once), room, part.where)
    if not part.older:
        return trim.Trimmed(text, note)
    left = room - tokenizer.count(f"{text}\n\n")
    seen = once.copy()
    seen.add(text)
    older, cut = trim.trim(seen.fresh(part.older, one.name), left, part.where)
    if note or (cut and left < FEW):  # hardly room for what is newer
        return trim.Trimmed(text, note or "only the newest")
    return trim.Trimmed("\n\n".join(filter(None, (older, text))), cut)


def _by_file(one: Wanted, ruled: Once, room: int) -> trim.Trimmed:
    """Each file has its share: a long one does not push out another."""
    files = [(where, ruled.fresh(text, one.name, within=False)) for where, text in one.part.files]
    sizes = {where: tokenizer.count(f"{text}\n\n") for where, text in files}
    given = budget.fair(sizes, room)
    told, notes = [], []
    for where, text in files:
        if text and given[where] >= min(sizes[where], trim.least(where) + JOINT):
            fits = given[where] >= sizes[where]
            cut, note = (text, "") if fits else trim.trim(text, given[where] - JOINT, where)
            told.append(cut)
            notes += [f"{where.rpartition('/')[2]}: {note}"] if note else []
    if not told:
        return trim.trim(one.part.text, room, one.part.where)
    return trim.Trimmed("\n\n".join(told), "; ".join(notes))


def _needs(wanted: list[Wanted], ruled: Once, seen: Once) -> dict[str, int]:
    """Tokens of each slot that has something to say, if nothing were cut."""
    needs = {}
    for one in wanted:
        whole = "\n\n".join(filter(None, (one.part.older, one.part.text)))
        text = _fresh(one, whole, ruled, seen)
        seen.add(text)
        if text:
            needs[one.name] = tokenizer.count(text) + JOINT
    return needs


def _slot(one: Wanted, tokens: int, granted: int, note: str) -> Slot:
    where = one.part.where
    return Slot(
        name=one.name,
        priority=priority(one.name),
        tokens=tokens,
        budget=max(granted, tokens),
        items=(Item(label=where, tokens=tokens, reason="always told", ref=where),),
        note=note,
    )


# -----------------------------------------------------------------------------
# Fixed: the parts of a context that do not depend on the message.
#
# Who the agent is, MEMORY.md, the active projects, the last handoff, the journal of today and
# yesterday; each as one text, in the order of how seldom they change.

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
