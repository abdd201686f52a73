"""Clients that follow a script: small executables on the PATH in the place of real programs."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

USED = {"input_tokens": 1000, "output_tokens": 20, "cache_read_input_tokens": 600}


def program(folder: Path, name: str, *lines: str) -> Path:
    """An executable of these lines of shell; `$here` is its own folder."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text("\n".join(["#!/bin/sh", f"here='{folder}'", *lines]) + "\n")
    path.chmod(0o755)
    return path


def says(text: str, **changes: Any) -> str:
    """A line of shell that prints what Claude Code prints for an answer."""
    result = {"type": "result", "subtype": "success", "is_error": False, "result": text}
    result |= {"stop_reason": "end_turn", "usage": USED, "total_cost_usd": 0.0123}
    return prints(json.dumps(result | changes))


def logged_out() -> str:
    return says("Not logged in · Please run /login", is_error=True) + "; exit 1"


def prints(line: str) -> str:
    quoted = line.replace("'", "'\\''")
    return f"printf '%s\\n' '{quoted}'"


def on_path(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Clients are found there, and may be asked."""
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("WAKEBOOK_OFFLINE")


def gone(pid: int) -> bool:
    """Whether a process has ended; one that waits to be reaped has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def until(true: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)
