"""Data into our types, in any thread.

msgspec learns a type's fields at its first use, and two threads that are first at the same time
crash the process. So a type's decoder is made here, by one thread at a time, and kept.
"""

import threading
from typing import Any, TypeVar

import msgspec

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
    """Raises msgspec.DecodeError."""
    return decoder(type_).decode(data)


def convert(raw: Any, type_: type[T]) -> T:
    """What was read as plain JSON before. Raises msgspec.ValidationError."""
    decoder(type_)
    return msgspec.convert(raw, type_)
