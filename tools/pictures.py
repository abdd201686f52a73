"""Draw the pictures of the README: real commands and hooks on the sample sessions, as SVG.

python tools/pictures.py            writes docs/pictures/*.svg
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
SAMPLES = ROOT / "src" / "wakebook" / "samples"
WIDTH = 100
MOST = 34  # lines of a picture
PROJECT = "/home/mira/tidepool"
PROMPTS = ("Good morning, how are you today?", "How many amps does our berth have?")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        env = {
            "HOME": folder,
            "WAKEBOOK_HOME": f"{folder}/.wakebook",
            "WAKEBOOK_NOW": "2026-11-09T08:00:00Z",
            "WAKEBOOK_OFFLINE": "1",
            "COLUMNS": str(WIDTH),
            "FORCE_COLOR": "1",
        }
        os.environ |= env
        run("init")
        run("catch-up", str(SAMPLES), "--close")
        draw("search", searched())
        start = [Text(f"A new session begins in {PROJECT}. Wakebook tells the agent:", "bold")]
        draw("start", [*start, *told("SessionStart", source="startup")])
        draw("prompt", prompted())


def run(*words: str, given: str = "") -> str:
    command = [sys.executable, "-m", "wakebook", *words]
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=True)
    return done.stdout


def searched() -> Iterator[Text]:
    """A search, and why its first hit is believed."""
    asked = ("search", "On which day do we open to the public?", "--limit", "2")
    first = json.loads(run(*asked, "--json"))["hits"][0]["ref"]
    for words in (asked, ("show", first)):
        shown = " ".join(f'"{word}"' if " " in word else word for word in words)
        yield Text(f"$ wakebook {shown}", "bold")
        yield from Text.from_ansi(run(*words)).split("\n")
        yield Text("")


def prompted() -> Iterator[Text]:
    for prompt in PROMPTS:
        yield Text(f"> {prompt}", "bold")
        found = told("UserPromptSubmit", prompt=prompt)
        yield Text("Wakebook tells the agent:" if found else "Wakebook has nothing to say.", "dim")
        yield from found
        yield Text("")


def told(event: str, **fields: str) -> list[Text]:
    """What the hook of a session answers, in lines that fit."""
    payload = {"session_id": "one", "cwd": PROJECT, "hook_event_name": event} | fields
    answer = run("hook", "claude-code", event, given=json.dumps(payload))
    text = json.loads(answer)["hookSpecificOutput"]["additionalContext"] if answer else ""
    lines = text.strip().splitlines()
    return [
        Text(part) for line in lines for part in wrap(line, WIDTH, subsequent_indent="  ") or [""]
    ]


def draw(name: str, lines: Iterator[Text] | list[Text]) -> None:
    with Path(os.devnull).open("w") as nowhere:
        console = Console(record=True, width=WIDTH, file=nowhere)
        for line in list(lines)[:MOST]:
            console.print(line, overflow="ellipsis", no_wrap=True)
        drawn = console.export_svg(title="wakebook", unique_id=name)
    # whoever looks at the picture has a fixed-width font: none is fetched from elsewhere
    drawn = re.sub(r"@font-face \{.*?\}\s*", "", drawn, flags=re.DOTALL)
    (ROOT / "docs" / "pictures" / f"{name}.svg").write_text(drawn)


if __name__ == "__main__":
    main()
