"""Condensed: what rewrites have put together comes along, with the ids of the new reading.

Another reading gives other ids to what was said. Where an entry of the old log has become another
one, by what it says and where it was said, the lines of condensed.json stand for that one from now
on: otherwise the long-term part of MEMORY.md would be empty. A line that loses one of its entries
does not hold any more, and the others of it are told one by one.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from wakebook.derive.notes import condensed
from wakebook.derive.notes.condensed import Condensed, Kept, Rewrite
from wakebook.home import Home
from wakebook.lifecycle.rebuild.compare import pairs
from wakebook.log.chains import Chains


def follow(home: Home, main: Chains, new: Chains) -> int:
    """Write condensed.json anew for another log. How many of its entries nobody says any more."""
    told = condensed.load(home)
    gone = [one for one in main.entries if one.id not in new.by_id]
    fresh = [one for one in new.entries if one.id not in main.by_id]
    became = {name: entry.id for name, entry in pairs(gone, fresh).items()}
    became |= {name: name for name in new.by_id}
    after = Condensed({name: _followed(one, became) for name, one in told.blocks.items()})
    if after != told:
        condensed.save(home, after)
    return len({one for rewrite in told.blocks.values() for one in _ids(rewrite)} - became.keys())


def _ids(rewrite: Rewrite) -> set[str]:
    return {one for line in rewrite.lines for one in line.ids}


def _followed(rewrite: Rewrite, became: Mapping[str, str]) -> Rewrite:
    lines: list[Kept] = []
    for line in rewrite.lines:
        left = tuple(became[one] for one in line.ids if one in became)
        if len(left) == len(line.ids):
            lines.append(msgspec.structs.replace(line, ids=left))
        else:
            lines += [Kept((one,), section=line.section) for one in left]
    dropped = tuple(became[one] for one in rewrite.dropped if one in became)
    return msgspec.structs.replace(rewrite, lines=tuple(lines), dropped=dropped)
