"""demo: three weeks of a fictional person's work, remembered."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wakebook.base import clock
from wakebook.cli.shared import Out, esc

if TYPE_CHECKING:
    from wakebook.memory import Memory

QUESTION = "On which day do we open to the public?"
MESSAGE = "Let us cut a release with the voucher fix: what is left before we open?"
BUDGET = 2000  # tokens
DAY = "2026-11-02"  # with a journal worth reading
MORNING_AFTER = "2026-11-09T07:00:00Z"
PROGRESS, JOURNAL = "projects/tidepool/progress.md", f"journal/{DAY}.md"


@click.command()
@click.option("--keep", metavar="PATH", help="Keep the demo's home in this folder.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
def demo(keep: str | None, as_json: bool) -> None:
    """Three weeks of a fictional person's work, remembered offline in a temporary home.

    It reads the sample sessions that ship with Wakebook, is killed half-way (kill -9),
    recovers, and shows what the agent will read on waking, the notes that people read, and
    what the agent is told for the next message, with the reasons.

    \b
    wakebook demo
    wakebook demo --keep ~/demo      to look around in its home afterwards
    """
    os.environ["WAKEBOOK_NOW"] = MORNING_AFTER
    with tempfile.TemporaryDirectory(prefix="wakebook-demo-") as folder:
        target = Path(keep).expanduser().absolute() if keep else Path(folder) / "home"
        if target.exists() and any(target.iterdir()):
            raise click.UsageError(f"{target} is not empty. Give --keep a new folder.")
        samples = target.parent / f"{target.name}-sessions" if keep else Path(folder) / "sessions"
        out = Out(as_json)
        out.json(_story(out, target, samples, str(target) if keep else "~/.wakebook"))


def _story(out: Out, target: Path, samples: Path, where: str) -> dict[str, object]:
    began = clock.monotonic()
    with resources.as_file(resources.files("wakebook") / "samples") as shipped:
        shutil.copytree(shipped, samples)
    _heading(out, "1. Mira's agents have been busy: Claude Code and OpenClaw, three weeks")
    count = sum(1 for _ in samples.rglob("*.jsonl*"))
    out.say(f"   {count} session files; one ends in the middle of a line (a crash).")

    _heading(out, "2. wakebook catch-up, and kill -9 in the middle of it")
    survived, memory = _kill_half_way(target, samples)
    out.say(f"   killed with {survived} entries in the log.")

    told = {"survived": survived} | _recovered(out, memory) | _believed(out, memory)
    told |= _noted(out, memory)

    _heading(out, "10. wakebook context: the next message, what the agent is told for it, and why")
    out.say(f'   $ wakebook context "{MESSAGE}" --budget {BUDGET} --explain\n')
    from wakebook.cli.agents import explained

    told["context"] = context = memory.context(MESSAGE, budget=BUDGET)
    explained(out, context, MESSAGE)

    _heading(out, "Where to look next")
    out.say("   wakebook init && wakebook catch-up     the same with your own sessions")
    out.say(f"   {where}/log.jsonl                 what was learned, one entry a line")
    out.say(f"   {where}/raw/conversations/        what was said, as Markdown, under git")
    out.say(f"   {where}/knowledge/                notes and journal, yours to edit")
    seconds = clock.monotonic() - began
    out.say(f"\n   All of this ran offline, without a model, in {seconds:.1f} s.")
    return told | {"entries": len(memory.log.chains().by_id), "seconds": round(seconds, 2)}


def _recovered(out: Out, memory: Memory) -> dict[str, object]:
    _heading(out, "3. wakebook catch-up again: it goes on where it was")
    from wakebook.cli.read import report
    from wakebook.learn.account import UNACCOUNTED

    report(out, memory.catch_up())
    accounts = memory.audit()
    behind = sum(account.status in UNACCOUNTED for account in accounts)
    torn = sum(account.status == "torn" for account in accounts)
    out.say(
        f"   wakebook status --sessions: {len(accounts)} sources, {behind} unaccounted for, "
        f"{torn} with a half-written last line. Nothing lost, nothing twice."
    )

    _heading(out, "4. wakebook wake: what the agent reads first, the next morning")
    text = memory.wake()
    out.say(text, markup=False)
    return {"unaccounted": behind, "wake": text}


def _believed(out: Out, memory: Memory) -> dict[str, object]:
    _heading(out, "5. wakebook search: asked in other words, it knows the corrected date")
    out.say(f'   $ wakebook search "{QUESTION}"\n')
    found = memory.search(QUESTION, limit=3)
    for hit in found.hits:
        kind = hit.type or hit.category
        out.say(f"   [bold]{hit.score:.2f}[/bold]  {kind:12}  [dim]{hit.ref}[/dim]")
        out.say(f"         {esc(hit.snippet.replace('**', '')[:200])}")
        out.say(f"         [dim]{esc(hit.why)}[/dim]")

    _heading(out, "6. wakebook show: why does it believe that?")
    from wakebook.cli.look import show_ref

    corrected = _most_corrected(memory)
    out.say(f"   $ wakebook show {corrected}\n")
    show_ref(memory, out, memory.get(corrected))
    return {"found": [hit.ref for hit in found.hits], "shown": corrected}


def _noted(out: Out, memory: Memory) -> dict[str, object]:
    from wakebook.cli.look import show_ref

    _heading(out, "7. The notes: a project's page and a day's journal, for people to read and edit")
    for name in (PROGRESS, JOURNAL):
        out.say(f"   [bold]knowledge/{name}[/bold]\n")
        out.say(_indented(_note(memory, name)), markup=False, highlight=False)

    _heading(out, "8. Every line of a note knows where it comes from: wakebook show FILE:LINE")
    lines = enumerate(_note(memory, JOURNAL).split("\n"), 1)
    line = next(number for number, text in lines if text.startswith("- **Decided:**"))
    out.say(f"   $ wakebook show {JOURNAL}:{line}\n")
    reason = memory.notes.why(f"{JOURNAL}:{line}")
    show_ref(memory, out, memory.get(reason.entries[0].id))

    _heading(out, "9. Tick a task in the note, and it is done in the log: wakebook notes review")
    ticked = _tick(memory, PROGRESS)
    out.say(f"   edited: {esc(ticked)}")
    for entry in memory.notes.accept().entries:
        out.say(f"   [bold]{entry.id}[/bold] {entry.type}, {entry.status}: {esc(entry.content)}")
    return {"notes": [_note(memory, name) for name in (PROGRESS, JOURNAL)], "ticked": ticked}


def _heading(out: Out, text: str) -> None:
    out.say(f"\n[bold cyan]── {text}[/bold cyan]\n")


def _note(memory: Memory, name: str) -> str:
    return (memory.home.root / "knowledge" / name).read_text(encoding="utf-8")


def _indented(text: str) -> str:
    """As it is read: without frontmatter and markers, and the long lines cut."""
    lines = text.split("---\n", 2)[-1].strip().split("\n")
    shown = [line for line in lines if not line.startswith("<!--")]
    return "\n".join(f"   {line[:110]}{'…' * (len(line) > 110)}" for line in shown) + "\n"


def _tick(memory: Memory, name: str) -> str:
    """Tick the first task of a note, as a person would in an editor."""
    path = memory.home.root / "knowledge" / name
    text = path.read_text(encoding="utf-8").replace("- [ ]", "- [x]", 1)
    path.write_text(text, encoding="utf-8")
    return next(line for line in text.split("\n") if line.startswith("- [x]"))


def _kill_half_way(target: Path, samples: Path) -> tuple[int, Memory]:
    """Start catch-up as a process of its own and kill it once it has written something."""
    from wakebook.memory import Memory

    hosts = {"claude_code": "claude-code", "openclaw": "openclaw"}
    lines = [f"{name} = [{json.dumps(str(samples / at))}]" for name, at in hosts.items()]
    config = "\n".join(["[hosts]", *lines, "codex = []", "pi = []"]) + "\n"
    command = [sys.executable, "-m", "wakebook", "--home", str(target), "catch-up"]
    for enough in (25, 10, 1, 0):
        shutil.rmtree(target, ignore_errors=True)
        Memory(target).init()
        target.joinpath("config.toml").write_text(config, encoding="utf-8")
        memory = Memory(target)
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        while child.poll() is None:
            if memory.home.log.read_bytes().count(b"\n") >= enough:
                child.send_signal(signal.SIGKILL)
                child.wait()
                break
            clock.sleep(0.002)
        if child.returncode == -signal.SIGKILL:
            break
    return memory.home.log.read_bytes().count(b"\n"), memory


def _most_corrected(memory: Memory) -> str:
    """The entry with the longest history: the best one to ask about."""
    chains = memory.log.chains()
    spoken = [entry for entry in chains.current() if entry.type in ("fact", "decision")]
    spoken = spoken or chains.current()
    best = max(spoken, key=lambda entry: (len(chains.history(entry.id)), entry.timestamp))
    return best.id
