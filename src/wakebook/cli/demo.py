"""demo: three weeks of a fictional person's work, remembered by the commands themselves."""

from __future__ import annotations

import io
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import nullcontext, redirect_stdout, suppress
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wakebook.base import clock
from wakebook.cli.shared import Command, Out, esc

if TYPE_CHECKING:
    from wakebook.memory import Memory

QUESTION = "On which day do we open to the public?"
MESSAGE = "Let us cut a release with the voucher fix: what is left before we open?"
ASKED = (QUESTION, "How often do we retry a webhook, and why?", MESSAGE)  # for the view Told
CODE = "4711-tern"
BUDGET = 1500  # tokens
MORNING_AFTER = "2026-11-09T07:00:00Z"
NOTES = ("projects/tidepool/progress.md", "journal/2026-11-02.md")
CONFIG = """\
[hosts]
claude_code = [{}]
openclaw = [{}]
codex = []
pi = []
[schedule]
sync = ""
"""


@click.command(cls=Command)
@click.option("--keep", metavar="PATH", help="Keep the demo's home in this folder.")
@click.option("--page", is_flag=True, help="Leave the demo's home open in your browser.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
def demo(keep: str | None, page: bool, as_json: bool) -> None:
    """Three weeks of a fictional person's work, remembered offline in a temporary home."""
    os.environ["WAKEBOOK_NOW"] = MORNING_AFTER
    if page and not keep:
        keep = str(Path(tempfile.mkdtemp(prefix="wakebook-demo-"), "home"))
    with tempfile.TemporaryDirectory(prefix="wakebook-demo-") as folder:
        target = Path(keep).expanduser().absolute() if keep else Path(folder) / "home"
        if target.exists() and any(target.iterdir()):
            raise click.UsageError(f"{target} is not empty. Give --keep a new folder.")
        samples = target.parent / f"{target.name}-sessions" if keep else Path(folder) / "sessions"
        with redirect_stdout(io.StringIO()) if as_json else nullcontext():
            told = _story(Out(), target, samples, str(target) if keep else "~/.wakebook")
            if page:
                told["page"] = _open(Out(), target)
        Out(as_json).json(told)


def _open(out: Out, target: Path) -> str:
    """Start the service of the demo's home, and show the page."""
    from wakebook.cli.page import link, show
    from wakebook.memory import Memory

    memory = Memory(target)
    for message in ASKED:
        memory.context(message, session="this-morning", budget=BUDGET)
    where = link(memory)
    out.say("\n[bold cyan]── The page[/bold cyan]\n")
    show(out, where)
    out.say(f"\nThe demo's home stays in {esc(target)}. Another link, and the end of it:")
    for words in ("page", "serve stop"):
        out.say(f"  {esc(_called())} {words} --home {esc(target)}")
    return where


def _called() -> str:
    """How this person calls Wakebook: in a clone, it is not on the path."""
    return "wakebook" if shutil.which("wakebook") else f"{Path(sys.executable)} -m wakebook"


def _story(out: Out, target: Path, samples: Path, where: str) -> dict[str, Any]:
    from wakebook.learn.account import UNACCOUNTED
    from wakebook.memory import Memory

    began = clock.monotonic()

    def heading(text: str) -> None:
        out.say(f"\n[bold cyan]── {text}[/bold cyan]\n")

    def run(*words: str, home: Path = target) -> None:
        """A command, as a person types it."""
        from wakebook.cli import cli

        out.say(f"   $ wakebook {shlex.join(words)}\n", markup=False)
        with suppress(SystemExit):
            cli.main(["--home", str(home), *words], "wakebook", standalone_mode=False)

    with resources.as_file(resources.files("wakebook") / "samples") as shipped:
        shutil.copytree(shipped, samples)
    heading("1. Mira's agents have been busy: Claude Code and OpenClaw, three weeks")
    count = sum(1 for _ in samples.rglob("*.jsonl*"))
    out.say(f"   {count} session files; one ends in the middle of a line (a crash).")
    heading("2. wakebook catch-up, and kill -9 in the middle of it")
    survived, memory = _kill_half_way(target, samples)
    out.say(f"   killed with {survived} entries in the log.")
    heading("3. wakebook catch-up again: it goes on where it was. Nothing lost, nothing twice")
    run("catch-up")
    out.say()
    run("status", "--sessions")
    heading("4. wakebook wake: what the agent reads first, the next morning")
    run("wake")
    told: dict[str, Any] = {"survived": survived, "wake": memory.wake()}
    told["unaccounted"] = sum(account.status in UNACCOUNTED for account in memory.audit())
    heading("5. wakebook search: asked in other words, it knows the corrected date")
    run("search", QUESTION, "--limit", "3")
    told["found"] = [hit.ref for hit in memory.search(QUESTION, limit=3).hits]
    heading("6. wakebook show: why does it believe that?")
    told["shown"] = told["found"][0]
    run("show", told["shown"])
    heading("7. The notes: a project's page and a day's journal, for people to read and edit")
    progress, journal = (target / "knowledge" / name for name in NOTES)
    for name, path in zip(NOTES, (progress, journal), strict=True):
        out.say(f"   [bold]knowledge/{name}[/bold]\n")
        # without frontmatter and markers, and the long lines cut
        lines = path.read_text(encoding="utf-8").split("---\n", 2)[-1].strip().split("\n")
        shown = [line for line in lines if not line.startswith("<!--")]
        cut = [f"   {line[:110]}{'…' * (len(line) > 110)}\n" for line in shown]
        out.say("".join(cut), markup=False)
    heading("8. wakebook show FILE:LINE: every line of a note knows where it comes from")
    numbered = enumerate(journal.read_text(encoding="utf-8").split("\n"), 1)
    line = next(number for number, text in numbered if text.startswith("- **Decided:**"))
    run("show", f"{NOTES[1]}:{line}")
    heading("9. Tick a task in the note, and it is done in the log: wakebook review")
    text = progress.read_text(encoding="utf-8").replace("- [ ]", "- [x]", 1)
    progress.write_text(text, encoding="utf-8")
    told["ticked"] = next(line for line in text.split("\n") if line.startswith("- [x]"))
    out.say(f"   edited: {esc(told['ticked'])}")
    run("notes", "review", "accept")
    told["notes"] = [path.read_text(encoding="utf-8") for path in (progress, journal)]
    heading("10. wakebook context: the next message, what the agent is told for it, and why")
    run("context", MESSAGE, "--budget", str(BUDGET), "--explain")
    told["context"] = memory.context(MESSAGE, budget=BUDGET)
    heading("11. wakebook erase: a code that should not be here goes, from git's history, too")
    run("remember", f"The alarm code of the boathouse is {CODE}")
    memory.history.commit()
    out.say()
    run("erase", CODE, "--yes")
    told["erased"] = memory.eraser.plan(CODE).nothing
    heading("12. wakebook sync: a second machine knows what the first one has learned")
    remote, laptop = (target.with_name(f"{target.name}-{name}") for name in ("remote", "laptop"))
    subprocess.run(["git", "init", "--quiet", "--bare", str(remote)], check=True)
    run("sync", "add", str(remote), "--name", "desk")
    out.say("\n   and on the laptop:\n")
    run("sync", "clone", str(remote), "--name", "laptop", home=laptop)
    out.say()
    run("search", QUESTION, "--limit", "1", home=laptop)
    told["laptop"] = [hit.ref for hit in Memory(laptop).search(QUESTION, limit=3).hits]
    heading("Where to look next")
    out.say(f"   {f'{_called()} demo --page':38} all of it in your browser")
    out.say("   wakebook init && wakebook catch-up     the same with your own sessions")
    out.say(f"   {where}/log.jsonl                 what was learned, one entry a line")
    out.say(f"   {where}/raw/conversations/        what was said, as Markdown, under git")
    out.say(f"   {where}/knowledge/                notes and journal, yours to edit")
    seconds = clock.monotonic() - began
    out.say(f"\n   All of this ran offline, without a model, in {seconds:.1f} s.")
    return told | {"entries": len(memory.log.chains().by_id), "seconds": round(seconds, 2)}


def _kill_half_way(target: Path, samples: Path) -> tuple[int, Memory]:
    """Start catch-up as a process of its own and kill it once it has written something."""
    from wakebook.memory import Memory

    folders = [json.dumps(str(samples / name)) for name in ("claude-code", "openclaw")]
    command = [sys.executable, "-m", "wakebook", "--home", str(target), "catch-up"]
    for enough in (25, 10, 1, 0):
        shutil.rmtree(target, ignore_errors=True)
        Memory(target).init()
        topic = target / "topics" / "release-day.md"  # Mira has made the sample her own
        text = topic.read_text(encoding="utf-8").replace(
            "Ask which version", "Ask me which version"
        )
        topic.write_text(text, encoding="utf-8")
        target.joinpath("config.toml").write_text(CONFIG.format(*folders), encoding="utf-8")
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
