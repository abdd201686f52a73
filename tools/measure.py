"""Measure the house: its size, the way that data walks through it, and what a command loads.

    python tools/measure.py             the table, with the aim beside each figure
    python tools/measure.py --check     exit 1 if a figure is over its limit, or an import breaks
                                        the contract (part of `make check`)

A limit is the aim, or where the aim is not reached yet, what has been reached. The aims for lines
and files are for the house without what it has learned since: projects and scope, approval, a
service that starts by itself, steering, the gate, setup. docs/decisions.md has what that takes.

lines, files   of src/
walk           a finished Claude Code session until log and notes are written, and a prompt until
               its context, through the hook without the service: files = source files in which a
               function runs (imports apart); hops = the longest chain of different files on the
               call stack
modules        wakebook's own in sys.modules when a fresh process has done the command
packages       in requirements.lock
commands       that `wakebook --help` lists
names          public ones of Memory
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SRC = ROOT / "src" / "wakebook"
PROMPT = "which database did we choose for the bookings?"

_LOADED = """
import sys
sys.argv = ["wakebook", *{words!r}]
from wakebook.__main__ import main
try:
    main()
except SystemExit:
    pass
print("modules", sum(name.split(".")[0] == "wakebook" for name in sys.modules), file=sys.stderr)
"""
_WALKED = """
import json, os, sys
import wakebook
from wakebook.hosts.backlog import begun
root = os.path.dirname(wakebook.__file__)
files, deepest, stack, over, importing = set(), [], [], False, 0

def seen(frame, event, argument):
    global over, deepest, importing
    name, function = frame.f_code.co_filename, frame.f_code.co_name
    if event == "return":
        if stack:
            importing -= stack.pop() == "<module>"
        over = over or (function == "update" and name.endswith("notes/write.py"))
    elif event == "call":
        importing += function == "<module>"
        stack.append("<module>" if function == "<module>" else name)
        if name.startswith(root) and not importing and not over:
            files.add(name)
            ours = [one for one in stack if one.startswith(root)]
            chain = [one for k, one in enumerate(ours) if k == 0 or ours[k - 1] != one]
            deepest = max(deepest, chain, key=len)

host, event, payload = sys.argv[1:]
sys.setprofile(seen)
*_, behind = begun(os.environ["WAKEBOOK_HOME"], host, event, payload.encode(), 0)
behind.work()
sys.setprofile(None)
chain = [os.path.relpath(one, root) for one in deepest]
named = sorted(os.path.relpath(one, root) for one in files)
print(json.dumps([named, chain]))
"""


class Figure(NamedTuple):
    name: str
    value: float
    aim: float
    note: str = ""
    limit: float = 0  # where the aim is not reached yet

    @property
    def ok(self) -> bool:
        return self.value <= self.aim

    @property
    def over(self) -> bool:
        return self.value > max(self.aim, self.limit)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--check", action="store_true", help="exit 1 if a figure is over its limit")
    parser.add_argument("--chains", action="store_true", help="show the longest chain of each walk")
    given = parser.parse_args()
    figures = [*size(), *surface()]
    with tempfile.TemporaryDirectory() as folder:
        figures += [*walks(Path(folder), given.chains)]
    width = max(len(one.name) for one in figures)
    for one in figures:
        mark = "  " if one.ok else " !"
        print(f"{one.name:<{width}} {one.value:>8,.0f}{mark} (aim {one.aim:,.0f}) {one.note}")
    if given.check:
        contract = subprocess.run([Path(sys.executable).with_name("lint-imports"), "--no-logo"])
        sys.exit(any(one.over for one in figures) or contract.returncode)


def size() -> list[Figure]:
    lengths = {path: len(path.read_text().splitlines()) for path in sorted(SRC.rglob("*.py"))}
    longest = max(lengths, key=lambda path: lengths[path])
    return [
        # the aims are those before new rooms: models, trust, syncing, a page, teams
        Figure("lines", sum(lengths.values()), 43_000, limit=74_760),
        Figure("files", len(lengths), 200, limit=326),
        Figure("longest file", lengths[longest], 500, str(longest.relative_to(SRC))),
    ]


def surface() -> list[Figure]:
    locked = set(
        re.findall(r"^([\w.-]+)==", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    )
    facade = (SRC / "memory.py").read_text()
    names = re.findall(r"^    def ([a-z]\w*)\(", facade, re.MULTILINE)
    listed = run(["-m", "wakebook", "--help"], {}).stdout
    commands = re.findall(r"^  ([a-z][\w-]+) {2,}\S", listed, re.MULTILINE)
    twice = Counter(
        name
        for path in SRC.rglob("*.py")
        for name in re.findall(r"^class ([A-Z]\w*)", path.read_text(), re.MULTILINE)
    )
    again = sorted(name for name, count in twice.items() if count > 1)
    return [
        Figure("runtime packages", len(locked), 20),
        Figure("names of Memory", len(set(names)), 40),
        Figure("commands", len(set(commands)), 25),
        Figure("class names used twice", len(again), 30, " ".join(again)),
    ]


def walks(folder: Path, chains: bool) -> list[Figure]:
    (folder / "user").mkdir()
    env = {"HOME": str(folder / "user"), "WAKEBOOK_HOME": str(folder / "home")}
    env |= {"WAKEBOOK_NOW": "2026-11-16T08:00:00Z", "WAKEBOOK_OFFLINE": "1"}
    run(["-m", "wakebook", "init"], env)
    [source, *_] = sorted((SRC / "samples" / "claude-code").rglob("*.jsonl"))
    place = folder / "user" / ".claude" / "projects" / "-home-mira-tidepool"
    place.mkdir(parents=True)
    session = place / source.name
    session.write_bytes(source.read_bytes())
    ended = {"session_id": session.stem, "transcript_path": str(session), "reason": "other"}
    asked = {"session_id": "another", "transcript_path": "", "prompt": PROMPT}
    found = []
    for name, event, payload, most_files, most_hops in (
        # what a prompt may touch is bounded by its hops; its files by what has been reached
        ("session to notes", "SessionEnd", ended, 75, 11),
        ("prompt to context", "UserPromptSubmit", asked, 60, 13),
    ):
        words = ["-c", _WALKED, "claude-code", event, json.dumps(payload)]
        files, chain = json.loads(run(words, env).stdout.splitlines()[-1])
        shown = (" ".join(files), " > ".join(chain)) if chains else ("", "")
        found += [Figure(f"{name}: files", len(files), most_files, shown[0], limit=most_files + 4)]
        found += [Figure(f"{name}: hops", len(chain), most_hops, shown[1])]
    run(["-m", "wakebook", "wake"], env)
    for command, most in (("wake", 8), ("search database", 40), ("context database", 80)):
        words = command.split()
        said = run(["-c", _LOADED.format(words=words)], env).stderr
        count = int(said.rsplit("modules ", 1)[1])
        found.append(Figure(f"modules for `{words[0]}`", count, most))
    return found


def run(words: list[str], env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *words]
    return subprocess.run(command, env=os.environ | env, capture_output=True, text=True, cwd=ROOT)


if __name__ == "__main__":
    main()
