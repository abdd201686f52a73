"""The demo's conversations, read by a model: `make demo-model`.

The model is the scripted server of the tests, on this machine. It answers in the wire format of
a real one, but it understands nothing: what it "remembers" says nothing about quality. What can
be seen is how a model is set up, what it is sent, how it takes the place of the rules, and what
that costs.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.lend import answers, goes_on, listened, settings
from tests.server import ModelServer

MORNING_AFTER = "2026-11-09T07:00:00Z"
COMMIT = "what the boats' first guests need\n\nA scripted model wrote this."


def run(*arguments: str, last: int = 0, quiet: bool = False) -> None:
    """A command, as it is typed, with what it prints (or the last lines of it)."""
    if not quiet:
        print(f"\n── $ wakebook {' '.join(arguments)}", flush=True)
    command = [sys.executable, "-m", "wakebook", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    lines = done.stdout.splitlines()
    if not quiet:
        print("\n".join(lines[-last:] if last else lines), flush=True)


def main() -> None:
    assert __doc__
    print(__doc__.partition("\n\n")[2].strip())
    with tempfile.TemporaryDirectory() as folder, ModelServer() as server:
        server.reply = answers(
            extract=lambda chat: listened(chat.prompt), briefing=goes_on, commit=COMMIT
        )
        home = Path(folder) / "home"
        os.environ |= {"HOME": folder, "WAKEBOOK_HOME": str(home), "WAKEBOOK_NOW": MORNING_AFTER}
        run("demo", "--keep", str(home), quiet=True)
        with (home / "config.toml").open("a", encoding="utf-8") as stream:
            stream.write(settings(server, monthly_budget=1.0))
        run("models")
        run("models", "test")
        run("status", last=12)
        run("catch-up", "--upgrade", "--dry-run", last=2)
        run("catch-up", "--upgrade")
        run("log", "--since", "2d")
        run("brief", last=12)
        run("costs")
        run("costs", "--by", "day")
        run("status")


if __name__ == "__main__":
    main()
