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
    behind = sum(least.values())
    for name, cap in caps.items():
        behind -= least[name]
        mine = min(int(cap * scale) + spare, room - behind - sum(granted.values()))
        if needs.get(name, 0):
            granted[name] = min(needs[name], max(mine, least[name]))
        spare = max(0, mine - granted.get(name, 0))
    return granted


def fair(needs: Mapping[str, int], room: int) -> dict[str, int]:
    """Of `room` tokens, an equal share for each; what one does not need goes to the others."""
    given: dict[str, int] = {}
    left = room
    for number, (name, need) in enumerate(sorted(needs.items(), key=lambda one: one[1])):
        given[name] = min(need, left // (len(needs) - number))
        left -= given[name]
    return given
