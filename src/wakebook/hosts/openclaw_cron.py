"""Take our job out of OpenClaw's scheduler: `python -m ... OPENCLAW KEY`.

The gateway makes a job once for a declaration key, but removes it by its id only.
"""

from __future__ import annotations

import json
import subprocess
import sys

SECONDS = 60


def main(openclaw: str, key: str) -> int:
    done = _run(openclaw, "list", "--all", "--json")
    if done.returncode:
        sys.stderr.write(done.stderr)
        return done.returncode
    jobs = json.loads(done.stdout).get("jobs", [])
    removed = [_run(openclaw, "rm", one["id"]) for one in jobs if one.get("declarationKey") == key]
    return max((one.returncode for one in removed), default=0)


def _run(openclaw: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [openclaw, "cron", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
