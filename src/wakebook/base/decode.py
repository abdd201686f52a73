"""JSON into our types: in any thread, and whatever the text is (`plain`: into plain values).

msgspec learns a type's fields at its first use, and two threads that are first at the same time
crash the process. So a type's decoder is made here, by one thread at a time, and kept.

Text that others wrote may also be no UTF-8, or be nested deeper than Python's stack goes. Here that
is the same error as any other broken text.
"""

import threading
from typing import Any, TypeVar

import msgspec

from wakebook.base.plain import reason

T = TypeVar("T")
_decoders: dict[Any, msgspec.json.Decoder[Any]] = {}
_one_at_a_time = threading.Lock()


def decoder(type_: type[T]) -> msgspec.json.Decoder[T]:
    found = _decoders.get(type_)
    if found is None:
        with _one_at_a_time:
            found = _decoders[type_] = msgspec.json.Decoder(type_)
    return found


def decode(data: bytes | str, type_: type[T]) -> T:
    """Raises msgspec.DecodeError, whatever is wrong."""
    try:
        return decoder(type_).decode(data)
    except (RecursionError, UnicodeError) as error:
        raise msgspec.DecodeError(reason(error)) from error


def convert(raw: Any, type_: type[T]) -> T:
    """What was read as plain JSON before. Raises msgspec.ValidationError."""
    decoder(type_)
    return msgspec.convert(raw, type_)
