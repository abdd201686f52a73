"""Where the real clients are, and a skip with a reason where they are not."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path

import pytest

from tests.clients.install import FOLDER, WHEEL

MODULES = FOLDER / "node_modules"


def need(path: Path) -> Path:
    """This file of an installed client. They take their time: only where it was asked for."""
    if not os.environ.get("TEST_HOSTS"):
        pytest.skip("with the real clients: run `make test-hosts`")
    if not path.exists():
        pytest.skip(f"{path.relative_to(FOLDER)} is not installed: run `make test-hosts`")
    return path


def node() -> Path:
    return need(WHEEL / "bin" / "node")


def claude() -> Path:
    """Claude Code's own binary, of this machine's kind."""
    return need(MODULES / "@anthropic-ai" / f"claude-code-{_machine()}" / "claude")


def codex() -> list[str]:
    return [str(node()), str(need(MODULES / "@openai" / "codex" / "bin" / "codex.js"))]


def openclaw() -> list[str]:
    return [str(node()), str(need(MODULES / "openclaw" / "openclaw.mjs"))]


def pi() -> list[str]:
    package = MODULES / "@earendil-works" / "pi-coding-agent"
    return [str(node()), str(need(package / "dist" / "bundle" / "cli.js"))]


def _machine() -> str:
    system = "darwin" if sys.platform == "darwin" else "linux"
    return f"{system}-{'arm64' if platform.machine() in ('arm64', 'aarch64') else 'x64'}"
