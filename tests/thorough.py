"""How much is tried: a few fixed examples by default, many in a long run (`make test-long`)."""

from __future__ import annotations

import os

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"


def tries(few: int, many: int) -> int:
    return many if LONG else few
