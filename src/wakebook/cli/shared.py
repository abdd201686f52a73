"""What every command shares: its options, JSON for machines, and colours for people."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import IO, TYPE_CHECKING, Any

import click

from wakebook.base import clock

if TYPE_CHECKING:
    from rich.console import Console

    from wakebook.log.entry import Entry
    from wakebook.memory import Memory
    from wakebook.models.chat import Models, Planned

COLOURS = {
    "task": "yellow",
    "fact": "cyan",
    "decision": "green",
    "question": "magenta",
    "handoff": "blue",
}


def options(function: Callable[..., Any]) -> Callable[..., Any]:
    """--home and --json, on every command; the function gets an opened Memory first."""

    @click.option("--home", metavar="PATH", help="The home to use.")
    @click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
    @functools.wraps(function)
    def wrapped(*, home: str | None, **arguments: Any) -> Any:
        from wakebook.service.client import Served

        return function(Served(home or click.get_current_context().obj), **arguments)

    return wrapped


def spoken(words: Sequence[str]) -> str:
    """What was typed; of a single "-", what standard input holds."""
    if tuple(words) != ("-",):
        return " ".join(words)
    return sys.stdin.buffer.read().decode("utf-8", "replace")


def json_in(file: IO[bytes]) -> Any:
    """What a file or standard input holds."""
    name = _named(file)
    if name == "standard input" and file.isatty():
        raise click.UsageError("Give a FILE, or pipe a JSON list of messages into it.")
    try:
        return json.loads(file.read(), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise click.UsageError(f"{name} is not JSON: {error}.") from error


def messages_of(found: Any, file: IO[bytes]) -> list[Any]:
    """A list of messages, or the "messages" of an object."""
    messages = found.get("messages") if isinstance(found, dict) else found
    if not isinstance(messages, list):
        wanted = 'expected a list of messages, or {"messages": [...]}'
        raise click.UsageError(f"{_named(file)}: {wanted}.")
    return messages


def _named(file: IO[bytes]) -> str:
    return "standard input" if file.name in ("-", "<stdin>", 0) else file.name


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no number in JSON")


def emit(value: Any) -> None:
    """JSON on standard output: structs, dates and paths included."""
    print(json.dumps(value, ensure_ascii=False, indent=2, default=_plain))


def emit_line(value: Any) -> None:
    """JSON on one line, at once: for somebody who follows."""
    print(json.dumps(value, ensure_ascii=False), flush=True)


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return clock.iso(value)
    names = getattr(value, "__struct_fields__", None) or getattr(value, "__dataclass_fields__", ())
    return {name: getattr(value, name) for name in names} if names else str(value)


def entry_json(memory: Memory, entry: Entry) -> dict[str, Any]:
    """An entry as it stands in the log, with what the chains say about it."""
    from wakebook.log.entry import as_dict

    chains = memory.log.chains()
    extra: dict[str, Any] = {}
    if status := memory.log.status_of(entry):
        extra["state"] = status
    if entry.id in chains.replaced_by:
        extra["replaced_by"] = chains.replaced_by[entry.id]
    return as_dict(entry) | extra


def console(stderr: bool = False, file: IO[str] | None = None) -> Console:
    from rich.console import Console

    class Honest(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # for the one place where errors become exit codes

    stream = file or (sys.stderr if stderr else sys.stdout)
    return Honest(
        file=stream,
        highlight=False,
        soft_wrap=not stream.isatty(),
        width=None if stream.isatty() else 100_000,
        theme=None,
    )


def print_entries(
    memory: Memory,
    entries: Iterable[Entry],
    details: bool = False,
    out: Console | None = None,
) -> None:
    """A line for each entry; on a terminal long ones wrap below themselves."""
    from rich.table import Table

    out = out or console()
    grid = Table.grid(padding=(0, 2))
    for _ in range(3):
        grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for entry in entries:
        cells = (
            f"[dim]{entry.id}[/dim]",
            f"[dim]{entry.timestamp:%Y-%m-%d %H:%M}[/dim]",
            f"[{COLOURS[entry.type]}]{entry.type:8}[/]",
            _described(memory, entry, details),
        )
        if out.is_terminal:
            grid.add_row(*cells)
        else:
            out.print("  ".join(cells))
    if grid.row_count:
        out.print(grid)


def _described(memory: Memory, entry: Entry, details: bool) -> str:
    from rich.markup import escape

    status = memory.log.status_of(entry)
    replaced = memory.log.chains().replaced_by.get(entry.id)
    text = "📌 " if entry.pinned else ""
    text += f"[bold]{escape(entry.subject)}[/bold] " if entry.subject else ""
    text += escape(entry.content)
    text += f" [dim]({status})[/dim]" if status and status != "replaced" else ""
    text += f" [red]replaced by {replaced}[/red]" if replaced else ""
    if details and entry.detail:
        text += f"\n[dim]{escape(entry.detail)}[/dim]"
    return text


class When(click.ParamType[datetime]):
    """A date (2026-02-20), a moment (2026-02-20T14:00), or an age (7d, 12h, 3w)."""

    name = "when"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        if isinstance(value, datetime):
            return value
        text = str(value).strip().lower()
        units = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
        if text in ("today", "yesterday"):
            midnight = clock.now().replace(hour=0, minute=0, second=0, microsecond=0)
            return midnight - timedelta(days=text == "yesterday")
        if text[:-1].isdigit() and text[-1] in units:
            try:
                return clock.now() - timedelta(**{units[text[-1]]: int(text[:-1])})
            except OverflowError:
                self.fail(f"{value!r} is too long ago.", param)
        moment = clock.parse(value)
        if moment is None:
            self.fail(f"{value!r} is no date. Write 2026-02-20, 2026-02-20T14:00 or 7d.", param)
        return moment.astimezone(UTC)


class Progress:
    """A progress bar on a terminal for what takes more than a moment; elsewhere nothing."""

    def __init__(self, quiet: bool) -> None:
        self._wanted = not quiet and sys.stderr.isatty()
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar:
            self._bar.stop()

    def __call__(self, what: str, done: int, total: int) -> None:
        """So much of so many is done. The bar appears with the first part of a longer job."""
        if not self._wanted or (not self._bar and done >= total):
            return
        if not self._bar:
            from rich import progress

            self._bar = progress.Progress(
                progress.TextColumn("{task.description}"),
                progress.BarColumn(),
                progress.MofNCompleteColumn(),
                console=console(stderr=True),
                transient=True,
            )
            self._bar.start()
            self._task = self._bar.add_task(what)
        self._bar.update(self._task, description=what[:40], completed=done, total=total)


def many(count: int, noun: str) -> str:
    """3 entries, 1 entry."""
    if count == 1:
        return f"1 {noun}"
    return f"{count:,} {noun[:-1]}ies" if noun.endswith("y") else f"{count:,} {noun}s"


def tell_troubles(memory: Memory) -> None:
    """Why a model did not do what was done without it, on standard error."""
    from rich.markup import escape

    for trouble in dict.fromkeys(memory.models.troubles):
        console(stderr=True).print(f"[yellow]without a model:[/yellow] {escape(trouble)}")


def show_planned(memory: Memory, dry: Models, as_json: bool) -> None:
    """What a dry run would have asked the models, word for word, and what it would cost.

    `dry` are the models that were not asked; `memory` knows what would stop them.
    """
    planned = dry.planned
    cost = sum(one.cost or 0.0 for one in planned)
    unpriced = sorted({one.model for one in planned if one.cost is None})
    wrong = list(dict.fromkeys((*dry.troubles, *memory.models.problems())))
    if as_json:
        emit({"calls": planned, "cost": round(cost, 6), "unpriced": unpriced, "problems": wrong})
    else:
        _print_planned(planned, cost, unpriced, wrong)
    if dry.troubles:
        sys.exit(1)


def _print_planned(
    planned: Sequence[Planned], cost: float, unpriced: Sequence[str], wrong: Sequence[str]
) -> None:
    from rich.markup import escape

    from wakebook.models.prices import dollars

    out = console()
    for one in planned:
        head = f"{one.operation} · {one.model} · {one.prompt} · {one.tokens_in:,} tokens"
        out.print(f"[bold]── {escape(head)}[/bold]")
        out.print(f"[dim]{escape(one.system)}[/dim]\n\n{escape(one.message)}\n")
    if planned:
        asked = sum(one.tokens_in for one in planned)
        said = sum(one.tokens_out for one in planned)
        calls = many(len(planned), "call")
        out.print(
            f"[green]●[/green] {calls}, about {asked:,} tokens in and {said:,} out, "
            f"[bold]about {dollars(cost)}[/bold]. Nothing was sent, nothing was changed."
        )
        out.print(
            "  [dim]The answers' length is a guess, questions that build on answers differ, and a "
            "catch-up may also ask for a commit's message.[/dim]"
        )
    else:
        out.print("[green]●[/green] Nothing would be sent to a model.")
    for name in unpriced:
        out.print(f"  [yellow]the price of {escape(name)} is not known[/yellow]")
    for problem in wrong:
        out.print(f"  [yellow]{escape(problem)}[/yellow]")


def filters(function: Callable[..., Any]) -> Callable[..., Any]:
    """The filters of `log` and `search`."""
    types = click.Choice(["task", "fact", "decision", "question", "handoff"])
    kinds = click.Choice(["lesson", "procedure", "preference", "event", "relationship"])
    for option in (
        click.option("--type", "-t", "types", type=types, multiple=True, help="Only this type."),
        click.option("--subject", "-s", "subjects", multiple=True, help="Only about this."),
        click.option("--status", type=click.Choice(["open", "done", "answered"]), default=None),
        click.option("--kind", "kinds", type=kinds, multiple=True, help="Only this kind of fact."),
        click.option("--session", default="", help="Only from this session (a beginning will do)."),
        click.option("--since", type=When(), help="Not older: 2026-02-20, 7d, yesterday."),
        click.option("--until", type=When(), help="Older than this moment."),
        click.option("--all", "everything", is_flag=True, help="Replaced entries too."),
    ):
        function = option(function)
    return function


def query_of(text: str, arguments: dict[str, Any]) -> Any:
    from wakebook.log.query import Query

    return Query(
        text=text,
        types=arguments["types"],
        subjects=arguments["subjects"],
        kinds=arguments["kinds"],
        categories=arguments.get("categories", ()),
        host=arguments.get("host", ""),
        status=arguments["status"] or "",
        session=arguments["session"],
        since=arguments["since"],
        until=arguments["until"],
        all=arguments["everything"],
    )
