"""The real command, as a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any


def run(*arguments: str, code: int = 0, stdin: str = "") -> str:
    done = subprocess.run(
        [sys.executable, "-m", "wakebook", *arguments],
        capture_output=True,
        text=True,
        input=stdin,
        env=os.environ | {"COLUMNS": "100"},
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout + (done.stderr if code else "")


def run_json(*arguments: str, code: int = 0) -> Any:
    return json.loads(run(*arguments, "--json", code=code))
