"""Budget: how many tokens each of the fixed slots gets."""

from __future__ import annotations

from collections.abc import Mapping


def shares(
    needs: Mapping[str, int], caps: Mapping[str, int], least: Mapping[str, int], room: int
) -> dict[str, int]:
    """Of `room` tokens, what each slot may use, in the order of the caps.

    Every slot has its cap, all of them in proportion if they are too much together, and `least`
    in any case. What one does not need goes to those behind it, and to them only: a slot that
    grows leaves those before it as they were, and with them the beginning of the text.
    """
    total = sum(caps.values())
    scale = min(1.0, room / total) if total else 1.0
    spare = max(0, room - int(total * scale))
    granted: dict[str, int] = {}
    for name, cap in caps.items():
        need = needs.get(name, 0)
        mine = int(cap * scale) + spare
        if need:
            granted[name] = min(need, max(mine, least[name]))
        spare = max(0, mine - granted.get(name, 0))
    return granted
