"""How fast the page is in a real browser, how much it sends, and what it costs the service.

    python bench/page.py [--home DIR] [--entries 100000] [--conversations 5000] [--rounds 7]
                         [--views WORD] [--json]

The home is the one of bench/large.py, made in DIR if it is not there. The service is the real one,
on a port of its own; the browser is chromium. Every machine is noisy: figures are medians of
so many rounds, after visits that warm each view up. `--views`: only those with this in their
address, without the search as you type.

first byte   from the browser's request to the first byte of the answer, in ms
cpu          of the service for one visit, in ms: what is left of the first byte on a machine that
             does nothing else
bytes        of the view's HTML, as it is sent, in KB
on screen    search as you type: from a key in the box to the first frame that is drawn with what
             was found, in ms
memory       RssAnon of the service, in MB, after all of this, less that after one search and one
             context of an agent, which load what any search needs (words, vectors, the embedder)
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

from bench.large import NOW, made
from tests.page.browsing import Visit, browser, missing
from tests.service.serving import Service, serving

if TYPE_CHECKING:
    from playwright.sync_api import Page

AIMS = {"first byte": 100.0, "cpu": 100.0, "bytes": 200.0, "on screen": 150.0, "memory": 50.0}
TYPED = ("winch", "copper lamp", "insurance of the hull", "permit from Porto", "heron fence keys")
TOOK = """(() => { const one = performance.getEntriesByType("navigation")[0];
  return [one.responseStart - one.requestStart, one.decodedBodySize]; })()"""
WATCH = """(() => {
  const box = document.querySelector("#q");
  window.shown = 0;
  box.addEventListener("input", () => { window.typed = performance.now(); });
  new MutationObserver(() => requestAnimationFrame(() => { window.shown = performance.now(); }))
    .observe(document.querySelector("main"), {childList: true, subtree: true});
})()"""


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--home", type=Path, default=Path(tempfile.gettempdir(), "wakebook-large"))
    options.add_argument("--entries", type=int, default=100_000)
    options.add_argument("--conversations", type=int, default=5_000)
    options.add_argument("--rounds", type=int, default=7)
    options.add_argument("--views", default="")
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    if why := missing():
        raise SystemExit(why)
    home = made(given.home.absolute(), given.entries, given.conversations)
    os.environ |= {"WAKEBOOK_NOW": NOW, "WAKEBOOK_OFFLINE": "1"}
    with browser() as chromium, serving(home) as service:
        visit = Visit(chromium.new_context(), service)
        found = measured(visit, service, home, given.rounds, given.views)
        visit.context.close()  # before the service goes, which the page would rightly complain of
        wrong = visit.wrong
    if given.json:
        print(json.dumps({"figures": found, "wrong": wrong}))
        return
    for name, kind, value in found:
        sign = "" if value <= AIMS[kind] else "  over the aim"
        print(f"{name:44} {kind:10} {value:9,.1f}  (aim {AIMS[kind]:g}){sign}")
    print("\n".join(wrong))


def measured(
    visit: Visit, service: Service, home: Path, rounds: int, only: str
) -> list[tuple[str, str, float]]:
    rested(service.process.pid)
    for verb, asked in (("search", {"text": "winch"}), ("context", {"message": "the winch"})):
        assert service.ask(f"/v1/{verb}", asked).status == 200
    rested(service.process.pid)
    before = anonymous(service.process.pid)
    page = visit.enter()
    found: list[tuple[str, str, float]] = []
    for view in views(home):
        if only not in view:
            continue
        visit.go(view)
        settled(page)
        visit.go(view)
        took: list[list[float]] = []
        begun = used(service.process.pid)
        for _ in range(rounds):
            visit.go(view)
            took.append(page.evaluate(TOOK))
        found.append((named(view), "first byte", median(one[0] for one in took)))
        spent = used(service.process.pid) - begun
        found.append((named(view), "cpu", 1000 * spent / rounds))
        found.append((named(view), "bytes", took[-1][1] / 1000))
    if not only:
        found.append(("search as you type", "on screen", typing(visit)))
    time.sleep(2)  # freed memory is given back a second after the last view
    rested(service.process.pid)
    after = anonymous(service.process.pid)
    found.append(("growth of the service, MB", "memory", after - before))
    return found


def settled(page: Page) -> None:
    """Wait until what is found out behind the page is known."""
    for _ in range(120):
        if not page.locator("[data-again]").count():
            return
        time.sleep(0.5)
        page.reload()


def views(home: Path) -> list[str]:
    log = (home / "log.jsonl").read_bytes().splitlines()
    entry = json.loads(log[len(log) // 2])
    transcripts = home / "raw" / "conversations"
    by_size = sorted(transcripts.rglob("*.md"), key=lambda path: path.stat().st_size)
    usual, long = by_size[len(by_size) // 2], by_size[-1]
    note = max((home / "knowledge").rglob("*.md"), key=lambda path: path.stat().st_size)
    talk, other = (
        f"/conversations/{path.relative_to(transcripts).as_posix()}" for path in (usual, long)
    )
    written = f"/notes/{note.relative_to(home).as_posix()}"
    return [
        "/", "/search", "/search?q=insurance+of+the+hull", "/search?type=task&q=permit",
        f"/entry/{entry['id']}", f"/entry/{entry['id']}/forget", f"/said?entry={entry['id']}",
        "/conversations", "/conversations?q=harbour", "/conversations?project=/home/mira/quarry",
        talk, other, f"{other}?turn=100", "/notes", "/notes?folder=journal", written,
        f"{written}?from=20000", "/subject/quarry", "/told", "/told/try?message=the+winch",
        "/review", "/time", "/time?day=2025-11-16", "/time/undo", "/upkeep",
    ]  # fmt: skip


def named(view: str) -> str:
    return view if len(view) < 44 else f"{view[:20]}…{view[-22:]}"


def typing(visit: Visit) -> float:
    """From a key until the list shows what was found: the median over all keys."""
    visit.go("/search")
    page, took = visit.page, list[float]()
    page.evaluate(WATCH)
    for words in TYPED:
        page.fill("#q", "")
        page.wait_for_timeout(400)
        for letter in words:
            page.evaluate("window.shown = 0")
            page.locator("#q").press_sequentially(letter)
            begun = time.monotonic()
            while not page.evaluate("window.shown") and time.monotonic() - begun < 2:
                page.wait_for_timeout(5)
            lasted: Any = page.evaluate("window.shown && window.shown - window.typed")
            if lasted:  # a letter that changes nothing in the list shows nothing new
                took.append(lasted)
    return median(took)


def rested(pid: int) -> None:
    """Wait until a process does nothing: it has started, and its jobs have run."""
    before = -1.0
    for _ in range(120):
        now = used(pid)
        if now - before < 0.05:
            return
        before = now
        time.sleep(1)


def used(pid: int) -> float:
    """Seconds of the processors that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def anonymous(pid: int) -> float:
    """MB of a process's own memory."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    fields = dict(line.split(":", 1) for line in lines)
    return int(fields["RssAnon"].split()[0]) / 1024


if __name__ == "__main__":
    main()
