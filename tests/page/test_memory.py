"""What views have taken for a moment is given back."""

import ctypes
from pathlib import Path

import pytest

from wakebook.service.page.site import give_back


def anonymous() -> int:
    """Bytes of this process's own memory."""
    lines = Path("/proc/self/status").read_text().splitlines()
    [found] = [line for line in lines if line.startswith("RssAnon")]
    return int(found.split()[1]) * 1024


def test_freed_memory_is_given_back() -> None:
    if not hasattr(ctypes.CDLL(None), "malloc_trim"):
        pytest.skip("this C library keeps what is freed")
    parts = [bytes(1000) for _ in range(40_000)]
    del parts[:-1]  # the last one keeps what is below it
    before = anonymous()
    give_back()
    assert before - anonymous() > 20_000_000
