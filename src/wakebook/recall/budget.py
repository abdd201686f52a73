"""Budget: how many tokens each of the fixed slots gets."""

from __future__ import annotations

from collections.abc import Mapping


def shares(
    needs: Mapping[str, int], caps: Mapping[str, int], least: Mapping[str, int], room: int
) -> dict[str, int]:
    """Of `room` tokens, what each slot may use.

    Every slot has its cap, all of them in proportion if they are too much together, and `least`
    in any case. What one does not need goes to the others, in order.
    """
    wanted = {name: min(need, caps[name]) for name, need in needs.items() if need}
    total = sum(caps[name] for name in wanted)
    scale = min(1.0, room / total) if total else 1.0
    granted = {name: min(needs[name], max(int(caps[name] * scale), least[name])) for name in wanted}
    granted = {name: min(given, max(wanted[name], least[name])) for name, given in granted.items()}
    left = max(0, room - sum(granted.values()))
    for limit in (wanted, {name: needs[name] for name in wanted}):  # first up to the caps
        for name, want in limit.items():
            more = min(left, max(0, want - granted[name]))
            granted[name] += more
            left -= more
    return granted
