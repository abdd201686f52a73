"""page: a window into the memory, in a browser."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wakebook.cli.shared import Out, command, esc, many

if TYPE_CHECKING:
    from wakebook.memory import Memory

SECONDS = 10.0
OLD = "The service that runs is of an older version. `wakebook serve stop`, then again."


@command()
@click.argument("view", default="")
@click.option("--no-browser", is_flag=True, help="Only print the link.")
@click.option("--export", "folder", metavar="DIR", help="Write it as files, to be read offline.")
def page(memory: Memory, out: Out, view: str, no_browser: bool, folder: str | None) -> None:
    """Look into the memory in your browser."""
    if folder is not None:
        _export(memory, out, Path(folder).expanduser().absolute())
        return
    from wakebook.service.call import elsewhere

    if elsewhere(str(memory.home.root)):
        _sign_in(memory, out)
        return
    where = link(memory, view)
    out.json({"url": where})
    show(out, where, not (no_browser or out.as_json))


def _sign_in(memory: Memory, out: Out) -> None:
    """The page of the server that this home is joined to."""
    from wakebook.service.remote import FILE, joined

    line = joined(memory.home.root)
    where = f"{line.url}/page/sign-in" if line else ""
    out.json({"url": where})
    out.say(f"Your memory is on a server. Sign in there with the token in {FILE}:")
    out.say(f"  {esc(where)}")


def _export(memory: Memory, out: Out, folder: Path) -> None:
    from wakebook.service.page.export import export

    memory.home.require()
    with out.progress() as shown:
        done = export(memory, folder, lambda number: shown("pages", number, 0))
    out.json(done._asdict())
    out.ok(f"{many(done.files, 'file')}, {done.bytes / 1e6:,.1f} MB: {esc(folder / 'index.html')}")
    out.say(f"[yellow]{done.left:,} pages did not fit.[/yellow]", when=done.left)


def show(out: Out, where: str, browser: bool = True) -> None:
    """Print the link, and open it in a browser."""
    opened = browser and _opened(where)
    out.say("Your browser shows the page. The link, which works once, for a minute:", when=opened)
    out.say("Open this link. It works once, for a minute:", when=not opened)
    out.say(f"  {esc(where)}")


def link(memory: Memory, view: str = "") -> str:
    """A link that works once; the service is started for it if none runs."""
    from urllib.parse import quote

    from wakebook.base.errors import WakebookError
    from wakebook.service.call import call
    from wakebook.service.start import up

    running = up(memory.home, "wakebook page")
    answer = call(str(memory.home.root), "/v1/page", b"{}", SECONDS)
    if answer is None or answer[0] != 200:
        raise WakebookError(OLD)
    to = f"&to={quote('/page/' + view.strip('/'))}" if view else ""
    return f"http://127.0.0.1:{running.port}{json.loads(answer[1])['path']}{to}"


def _opened(where: str) -> bool:
    """Whether a browser with windows shows it; one that takes the terminal is not wanted."""
    if sys.platform != "darwin" and not {"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys():
        return False
    import webbrowser

    return webbrowser.open(where)
