"""Draw the pictures of the README: real commands on the sample sessions, as SVG.

python tools/pictures.py            writes docs/pictures/*.svg
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
SAMPLES = ROOT / "src" / "wakebook" / "samples"
WIDTH = 100
PICTURES = {
    "search": (
        ["search", "On which day do we open to the public?", "--limit", "2"],
        ["show", "FIRST"],
    ),
    "wake": (["wake"],),
}
MOST = 34  # lines of a picture


def main() -> None:
    out = ROOT / "docs" / "pictures"
    out.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        env = os.environ | {
            "HOME": folder,
            "WAKEBOOK_HOME": f"{folder}/.wakebook",
            "WAKEBOOK_NOW": "2026-11-09T08:00:00Z",
            "WAKEBOOK_OFFLINE": "1",
            "COLUMNS": str(WIDTH),
            "FORCE_COLOR": "1",
        }
        run(["init"], env)
        run(["catch-up", str(SAMPLES), "--close"], env)
        for name, commands in PICTURES.items():
            draw(out / f"{name}.svg", [(words, env) for words in commands])


def run(words: list[str], env: dict[str, str]) -> str:
    command = [sys.executable, "-m", "wakebook", *words]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout


def draw(path: Path, commands: list[tuple[list[str], dict[str, str]]]) -> None:
    console = Console(record=True, width=WIDTH, file=open(os.devnull, "w"))  # noqa: SIM115, PTH123
    lines: list[Text] = []
    found = json.loads(run([*commands[0][0], "--json"], commands[0][1]))
    for words, env in commands:
        if "FIRST" in words:  # of the hits of the command before
            words = [found["hits"][0]["ref"] if word == "FIRST" else word for word in words]
        shown = " ".join(f'"{word}"' if " " in word else word for word in words)
        lines.append(Text(f"$ wakebook {shown}", style="bold"))
        said = Text.from_ansi(run(words, env))
        lines += said.split("\n")
        lines.append(Text(""))
    for line in lines[:MOST]:
        console.print(line, overflow="ellipsis", no_wrap=True)
    drawn = console.export_svg(title="wakebook", unique_id=path.stem)
    # whoever looks at the picture has a fixed-width font: none is fetched from elsewhere
    path.write_text(re.sub(r"@font-face \{.*?\}\s*", "", drawn, flags=re.DOTALL))


if __name__ == "__main__":
    main()
