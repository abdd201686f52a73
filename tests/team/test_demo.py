"""`make demo-team` in its short form: three workers, one of them killed, and four memories."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.team.test_remote import team_env


def test_the_demo_ends_well(server: tuple[str, str], tmp_path: Path) -> None:
    """As a process of its own, as `make demo-team` runs it."""
    env = team_env(tmp_path) | {"TEST_POSTGRES": server[0]}
    words = [sys.executable, "-m", "tests.team.demo", "--short"]
    root = Path(__file__).parents[2]
    done = subprocess.run(words, env=env, cwd=root, capture_output=True, text=True, timeout=300)
    said = done.stdout + done.stderr
    assert done.returncode == 0 and "✗" not in said, said
    assert "is killed (SIGKILL)" in said and "all equal" in said
    assert "handbook says: Invoices go to" in said
