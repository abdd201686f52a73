"""Bring a browser for the tests of the page: `python -m tests.page.install`.

Chromium comes from the system's packages (apt-get, by root or a sudo that does not ask), axe-core
from the npm registry into .page/, which git ignores. What cannot be had is said, and is no error:
the tests that need it are skipped with the same reason.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / ".page"
AXE = "axe-core@4.14.0"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SECONDS = 300
PLAIN = ["-o", "Acquire::Retries=1", "-o", "Acquire::http::Timeout=20", "-qq", "--yes"]


def chromium() -> str:
    """Where it is; empty: nowhere."""
    found = (shutil.which(name) for name in NAMES)
    return os.environ.get("CHROMIUM") or next((one for one in found if one), "")


def axe() -> Path | None:
    script = FOLDER / "package" / "axe.min.js"
    return script if script.is_file() else None


def main() -> None:
    print(f"chromium: {_get_chromium()}")
    print(f"axe-core: {_get_axe()}")


def _get_chromium() -> str:
    if there := chromium():
        return there
    if not shutil.which("apt-get"):
        return "not here, and there is no apt-get: install it, or set CHROMIUM to its path."
    sudo = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if sudo and (not shutil.which("sudo") or not _ran(["sudo", "-n", "true"])):
        return "not here, and only root can install it: apt-get install chromium"
    env = ["env", "DEBIAN_FRONTEND=noninteractive"]
    install = [*sudo, *env, "apt-get", "install", *PLAIN, "--no-install-recommends", "chromium"]
    if not _ran(install) and _ran([*sudo, "apt-get", "update", *PLAIN]):
        _ran(install)
    return chromium() or "not here, and apt-get could not install it."


def _get_axe() -> str:
    if there := axe():
        return str(there)
    if not shutil.which("npm"):
        return "not here, and there is no npm."
    FOLDER.mkdir(exist_ok=True)
    if not _ran(["npm", "pack", AXE, "--silent", "--pack-destination", str(FOLDER)]):
        return "not here, and npm could not get it."
    for packed in FOLDER.glob("axe-core-*.tgz"):
        with tarfile.open(packed) as archive:
            archive.extractall(FOLDER, filter="data")
        packed.unlink()
    return str(axe())


def _ran(command: list[str]) -> bool:
    try:
        done = subprocess.run(command, capture_output=True, timeout=SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


if __name__ == "__main__":
    main()
    sys.exit(0)
