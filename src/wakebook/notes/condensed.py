"""Condensed: what a rewrite has decided about a block (condensed.json).

A rewrite says in fewer lines what a block's items said until then. It is kept as those lines with
the entries that each stands for, and what it left out; it is applied whenever the block is
written. A line holds while all of its entries do, and where one does not, the others are told one
by one again. What came later is told as usual. What is pinned or open is never left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec

from wakebook.base.errors import WakebookError
from wakebook.base.home import Home
from wakebook.notes.item import Item

NAME = "condensed.json"


class Kept(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line of a rewrite. Without a text, its entry is told as usual."""

    ids: tuple[str, ...]
    text: str = ""
    section: str = ""


class Rewrite(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    at: datetime
    by: str  # "rules", or a model and its prompt
    lines: tuple[Kept, ...]
    dropped: tuple[str, ...] = ()  # entries that are not told any more


class Condensed(msgspec.Struct, frozen=True):
    blocks: dict[str, Rewrite] = {}  # path#block -> the last rewrite of it

    def with_(self, key: str, rewrite: Rewrite) -> Condensed:
        return Condensed({**self.blocks, key: rewrite})


def load(home: Home) -> Condensed:
    path = home.root / NAME
    try:
        return Condensed(msgspec.json.decode(path.read_bytes(), type=dict[str, Rewrite]))
    except FileNotFoundError:
        return Condensed()
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise WakebookError(
            f"{path}: cannot be read ({error}). Correct it, or restore it with "
            f"`git -C {home.root} checkout {NAME}`."
        ) from error


def save(home: Home, condensed: Condensed) -> None:
    data = msgspec.json.encode(dict(sorted(condensed.blocks.items())))
    home.replace(home.root / NAME, msgspec.json.format(data, indent=1) + b"\n")


def apply(items: Sequence[Item], rewrite: Rewrite | None) -> list[Item]:
    """The items as the rewrite tells them, each section in the place of its first item."""
    if rewrite is None:
        return list(items)
    by_id = {one: item for item in items for one in item.ids}
    whole = [kept for kept in rewrite.lines if _holds(kept, by_id)]
    dropped = set(rewrite.dropped)
    covered: dict[str, Kept] = {one: kept for kept in whole for one in kept.ids}
    found: list[Item] = []
    told: set[tuple[str, ...]] = set()
    for item in items:
        kept = next((covered[one] for one in item.ids if one in covered), None)
        if kept is None:
            if item.held or item.ids[0] not in dropped:  # the first one is told
                found.append(item)
        elif kept.ids not in told:
            told.add(kept.ids)
            found.append(_merged(kept, by_id, item))
    return found


def _holds(kept: Kept, by_id: Mapping[str, Item]) -> bool:
    """Whether all that a line stands for is told, and nothing of it was corrected since."""
    if not all(one in by_id for one in kept.ids):
        return False
    return not kept.text or all(set(by_id[one].ids) <= set(kept.ids) for one in kept.ids)


def _merged(kept: Kept, by_id: Mapping[str, Item], first: Item) -> Item:
    if not kept.text:
        return first
    items = [by_id[one] for one in kept.ids]
    return Item(
        section=kept.section or first.section,
        text=kept.text,
        ids=tuple(dict.fromkeys(one for item in items for one in item.ids)),
        at=max(item.at for item in items),
        held=any(item.held for item in items),
        weight=max(item.weight for item in items),
        rewritten=True,
    )
