"""A user folder with the hosts' own files, and no home yet."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

CODEX = b'model = "gpt-5.5"\r\n# mine\n'
OPENCLAW = b"{ gateway: { mode: 'local' }, // do not change\n}\n"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No home yet, and no host: git is the only program."""
    programs = tmp_path / "bin"
    programs.mkdir()
    git = shutil.which("git")
    assert git
    (programs / "git").symlink_to(git)
    monkeypatch.setenv("PATH", str(programs))
    for name in ("OPENCLAW_STATE_DIR", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "PI_CODING_AGENT_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("WAKEBOOK_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def user(home: Path) -> Path:
    """Claude Code is found by its program, the others by their folders."""
    user = Path.home()
    for name, data in (
        (".codex/config.toml", CODEX),
        (".openclaw/openclaw.json", OPENCLAW),
        (".pi/agent/settings.json", b"{}"),
    ):
        (user / name).parent.mkdir(parents=True)
        (user / name).write_bytes(data)
    (user / ".openclaw" / "workspace" / "memory").mkdir(parents=True)
    program = home.parent / "bin" / "claude"
    program.write_text(f'#!/bin/sh\necho "$@" >> {home.parent}/ran\n')
    program.chmod(0o755)
    return user
