"""Plain JSON that others wrote: broken in whatever way, it is one kind of error.

It imports nothing heavy: what a host waits for reads with it, too.
"""

import json
from typing import Any


def loads(data: bytes | str, strict: bool = False) -> Any:
    """Plain JSON, as Python's own reader takes it: with lone surrogates and, unless `strict`, with
    NaN. Raises ValueError, whatever is wrong."""
    try:
        return json.loads(data, parse_constant=_no_number if strict else None)
    except RecursionError as error:
        raise ValueError(reason(error)) from error


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number in JSON")


def reason(error: Exception) -> str:
    return "nested too deeply" if isinstance(error, RecursionError) else f"not UTF-8: {error}"
