"""JSON that others wrote, into plain values (`loads`) or into our types (`decode`).

It may be no UTF-8, or be nested deeper than Python's stack goes. Here that is the same error as any
other broken text.

msgspec learns a type's fields at its first use, and two threads that are first at the same time
crash the process. So a type's decoder is made here, by one thread at a time, and kept. What a host
waits for reads plain JSON only and does not load msgspec.
"""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import msgspec

T = TypeVar("T")
_decoders: dict[Any, msgspec.json.Decoder[Any]] = {}
_one_at_a_time = threading.Lock()


def loads(data: bytes | str, strict: bool = False) -> Any:
    """Plain JSON, as Python's own reader takes it: with lone surrogates and, unless `strict`, with
    NaN. Raises ValueError, whatever is wrong."""
    try:
        return json.loads(data, parse_constant=_no_number if strict else None)
    except RecursionError as error:
        raise ValueError(_reason(error)) from error


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number in JSON")


def _reason(error: Exception) -> str:
    return "nested too deeply" if isinstance(error, RecursionError) else f"not UTF-8: {error}"


def decoder(type_: type[T]) -> msgspec.json.Decoder[T]:
    found = _decoders.get(type_)
    if found is None:
        import msgspec

        with _one_at_a_time:
            found = _decoders[type_] = msgspec.json.Decoder(type_)
    return found


def decode(data: bytes | str, type_: type[T]) -> T:
    """Raises msgspec.DecodeError, whatever is wrong."""
    try:
        return decoder(type_).decode(data)
    except (RecursionError, UnicodeError) as error:
        import msgspec

        raise msgspec.DecodeError(_reason(error)) from error


def convert(raw: Any, type_: type[T]) -> T:
    """What was read as plain JSON before. Raises msgspec.ValidationError."""
    import msgspec

    decoder(type_)
    return msgspec.convert(raw, type_)
