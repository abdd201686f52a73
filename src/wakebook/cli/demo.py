"""wakebook demo"""

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
from wakebook.cli.shared import console, emit

if TYPE_CHECKING:
    from rich.console import Console

    from wakebook.memory import Memory

QUESTION = "On which day do we open to the public?"
MESSAGE = "Let us cut a release with the voucher fix: what is left before we open?"
BUDGET = 2000  # tokens
DAY = "2026-11-02"  # with a journal worth reading
MORNING_AFTER = "2026-11-09T07:00:00Z"


@click.command()
@click.option("--keep", metavar="PATH", help="Keep the demo's home in this folder.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
def command(keep: str | None, as_json: bool) -> None:
    """Three weeks of a fictional person's work, remembered offline in a temporary home.

    It reads the sample sessions that ship with Wakebook, is killed half-way (kill -9),
    recovers, and shows what the agent will read on waking, the notes that people read, and
    what the agent is told for the next message, with the reasons.
    """
    os.environ["WAKEBOOK_NOW"] = MORNING_AFTER
    with tempfile.TemporaryDirectory(prefix="wakebook-demo-") as folder:
        target = Path(keep).expanduser().absolute() if keep else Path(folder) / "home"
        if target.exists() and any(target.iterdir()):
            raise click.UsageError(f"{target} is not empty. Give --keep a new folder.")
        if as_json:
            with open(os.devnull, "w", encoding="utf-8") as nowhere:  # noqa: PTH123
                emit(_story(Path(folder), target, console(file=nowhere)))
        else:
            _story(Path(folder), target, console(), keep)


def _story(folder: Path, target: Path, out: Console, keep: str | None = None) -> dict[str, object]:
    from rich.markup import escape

    began = clock.monotonic()
    samples = (target.parent / f"{target.name}-sessions") if keep else folder / "sessions"
    with resources.as_file(resources.files("wakebook") / "samples") as shipped:
        shutil.copytree(shipped, samples)
    _heading(out, "1. Mira's agents have been busy: Claude Code and OpenClaw, three weeks")
    out.print(f"   {_count(samples)} session files; one ends in the middle of a line (a crash).")

    _heading(out, "2. wakebook catch-up, and kill -9 in the middle of it")
    survived, memory = _kill_half_way(target, samples)
    out.print(f"   killed with {survived} entries in the log.")

    _heading(out, "3. wakebook catch-up again: it goes on where it was")
    from wakebook.cli.catch_up import report
    from wakebook.learn.account import UNACCOUNTED

    done = memory.catch_up()
    report(done, out)
    accounts = memory.audit()
    behind = [account for account in accounts if account.status in UNACCOUNTED]
    torn = sum(account.status == "torn" for account in accounts)
    out.print(
        f"   wakebook audit: {len(accounts)} sources, {len(behind)} unaccounted for, "
        f"{torn} with a half-written last line. Nothing lost, nothing twice."
    )

    _heading(out, "4. wakebook wake: what the agent reads first, the next morning")
    text = memory.wake()
    out.print(text, markup=False)

    _heading(out, "5. wakebook search: asked in other words, it knows the corrected date")
    out.print(f'   $ wakebook search "{QUESTION}"\n')
    found = memory.search(QUESTION, limit=3)
    for hit in found.hits:
        out.print(
            f"   [bold]{hit.score:.2f}[/bold]  {hit.type or hit.category:12}  [dim]{hit.ref}[/dim]"
        )
        out.print(f"         {escape(hit.snippet.replace('**', '')[:200])}")
        out.print(f"         [dim]{escape(hit.why)}[/dim]")

    _heading(out, "6. wakebook show: why does it believe that?")
    from wakebook.cli.show import show

    corrected = _most_corrected(memory)
    out.print(f"   $ wakebook show {corrected}\n")
    show(memory, memory.get(corrected), out)

    _heading(out, "7. The notes: a project's page and a day's journal, for people to read and edit")
    progress, journal = "projects/tidepool/progress.md", f"journal/{DAY}.md"
    for name in (progress, journal):
        out.print(f"   [bold]knowledge/{name}[/bold]\n")
        out.print(_indented(_note(memory, name)), markup=False, highlight=False)

    _heading(out, "8. wakebook why: every line of a note knows where it comes from")
    line = _first_decision(memory, journal)
    out.print(f"   $ wakebook why {journal}:{line}\n")
    reason = memory.notes.why(f"{journal}:{line}")
    show(memory, memory.get(reason.entries[0].id), out)

    _heading(out, "9. Tick a task in the note, and it is done in the log: wakebook review accept")
    ticked = _tick(memory, progress)
    out.print(f"   edited: {escape(ticked)}")
    for entry in memory.notes.accept().entries:
        out.print(
            f"   [bold]{entry.id}[/bold] {entry.type}, {entry.status}: {escape(entry.content)}"
        )

    _heading(out, "10. wakebook context: the next message, what the agent is told for it, and why")
    out.print(f'   $ wakebook context "{MESSAGE}" --budget {BUDGET} --explain\n')
    from wakebook.cli.context import report as explain

    context = memory.context(MESSAGE, budget=BUDGET)
    explain(context, MESSAGE, out)

    _heading(out, "Where to look next")
    where = target if keep else "~/.wakebook"
    out.print("   wakebook init && wakebook catch-up     the same with your own sessions")
    out.print(f"   {where}/log.jsonl                 what was learned, one entry a line")
    out.print(f"   {where}/raw/conversations/        what was said, as Markdown, under git")
    out.print(f"   {where}/knowledge/                notes and journal, yours to edit")
    seconds = clock.monotonic() - began
    out.print(f"\n   All of this ran offline, without a model, in {seconds:.1f} s.")
    return {
        "survived": survived,
        "entries": len(memory.log.chains().by_id),
        "unaccounted": len(behind),
        "wake": text,
        "shown": corrected,
        "notes": [_note(memory, name) for name in (progress, journal)],
        "ticked": ticked,
        "found": [hit.ref for hit in found.hits],
        "context": context,
        "seconds": round(seconds, 2),
    }


def _note(memory: Memory, name: str) -> str:
    return (memory.home.root / "knowledge" / name).read_text(encoding="utf-8")


def _indented(text: str) -> str:
    """As it is read: without frontmatter and markers, and the long lines cut."""
    lines = text.split("---\n", 2)[-1].strip().split("\n")
    shown = [line for line in lines if not line.startswith("<!--")]
    return "\n".join(f"   {line[:110]}{'…' * (len(line) > 110)}" for line in shown) + "\n"


def _first_decision(memory: Memory, name: str) -> int:
    lines = _note(memory, name).split("\n")
    return next(n for n, line in enumerate(lines, 1) if line.startswith("- **Decided:**"))


def _tick(memory: Memory, name: str) -> str:
    """Tick the first task of a note, as somebody would in an editor."""
    path = memory.home.root / "knowledge" / name
    text = path.read_text(encoding="utf-8").replace("- [ ]", "- [x]", 1)
    path.write_text(text, encoding="utf-8")
    return next(line for line in text.split("\n") if line.startswith("- [x]"))


def _heading(out: Console, text: str) -> None:
    out.print(f"\n[bold cyan]── {text}[/bold cyan]\n")


def _count(samples: Path) -> int:
    return sum(1 for path in samples.rglob("*.jsonl*"))


def _kill_half_way(target: Path, samples: Path) -> tuple[int, Memory]:
    """Start catch-up as a process of its own and kill it once it has written something."""
    from wakebook.memory import Memory

    for enough in (25, 10, 1, 0):
        shutil.rmtree(target, ignore_errors=True)
        memory = Memory(target)
        memory.init()
        hosts = {"claude_code": "claude-code", "openclaw": "openclaw"}
        lines = [f"{name} = [{json.dumps(str(samples / at))}]" for name, at in hosts.items()]
        target.joinpath("config.toml").write_text(
            "[hosts]\n" + "\n".join([*lines, "codex = []", "pi = []"]) + "\n", encoding="utf-8"
        )
        memory = Memory(target)
        child = subprocess.Popen(
            [sys.executable, "-m", "wakebook", "--home", str(target), "catch-up"],
            stdout=subprocess.DEVNULL,
        )
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
