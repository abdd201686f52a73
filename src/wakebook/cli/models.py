"""Models: which there are, which one reads; and the question that `setup` and `init --host` ask."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import click

from wakebook.base import clock
from wakebook.base.errors import ConfigError, ModelError
from wakebook.cli.shared import Out, command, esc, group, many
from wakebook.cli.status import prompts

if TYPE_CHECKING:
    from wakebook.base.config import Config
    from wakebook.learn.catch_up import Sweep
    from wakebook.memory import Memory
    from wakebook.models.found import FoundModel
    from wakebook.store.sync import Progress

WEEK = timedelta(days=7)
named = click.option("--model", metavar="NAME", help="The model that reads; none: no model does.")


@group(alone=True)
def models(memory: Memory, out: Out) -> None:
    """The models that could read your conversations, and the one that does."""
    from wakebook.models.model import NONE

    there = _found(memory)
    settings = _settings(memory).models
    chosen = settings.main or settings.cheap
    limits = memory.models.limits(chosen) if chosen not in ("", NONE) else []
    problems = memory.models.problems() if memory.home.exists() else []
    told = {"main": settings.main, "cheap": settings.cheap, "limits": limits, "problems": problems}
    out.json(told | {"found": [one._asdict() for one in there]})
    rows = [(_mark(one.name, chosen), esc(one.seen), one.pays) for one in there]
    out.table("model  found as  paid by", rows, "No model was found on this machine.", wrap=False)
    out.say()
    reads = f"{esc(chosen)} reads your conversations"
    if chosen in ("", NONE):
        out.ok("No model reads your conversations: rules do, on this machine.")
    else:
        out.ok("; ".join((reads, ", ".join(map(str, limits)))) if limits else reads)
    out.each("  [yellow]", problems)
    out.say(
        "[dim]`wakebook models test NAME` asks one a question, `models use NAME` has it read,[/dim]"
    )
    out.say("[dim]`models use none` none; a key of yours: docs/models.md.[/dim]")


def _mark(name: str, chosen: str) -> str:
    return f"[bold green]{esc(name)}[/bold green] reads" if name == chosen else esc(name)


@command(models)
@click.argument("name", default="")
def test(memory: Memory, out: Out, name: str) -> bool:
    """Have a model read two made-up messages, and say how it did. Nothing is remembered."""
    from wakebook.models.prices import dollars
    from wakebook.upkeep.trial import tried

    memory.home.require()
    name = name or memory.models.name("main")
    if not name:
        raise click.UsageError("No model is chosen: give the NAME of one. `wakebook models` lists.")
    done = tried(memory.home, memory.config, name)
    out.json(done)
    tokens = f"{done.tokens_in:,} tokens in, {done.tokens_out:,} out"
    used = f"{many(done.calls, 'call')}, {tokens}, {done.seconds:.1f} s"
    used += f", {dollars(done.cost)}" if done.cost is not None else ""
    if done.error:
        out.say(f"[red]●[/red] {esc(done.error)}")
        out.say(f"  [dim]{used}[/dim]", when=done.calls)
        return True
    out.say("[dim]asked about[/dim]  We decided to send the newsletter on Fridays ...")
    out.each("[dim]it learned[/dim]   ", done.learned)
    if not done.learned:
        out.say(
            f"[yellow]●[/yellow] {esc(name)} answers, but has learned nothing from it ({used})."
        )
        return True
    out.ok(f"{esc(name)} works: {used}.")
    return False


@command(models)
@click.argument("name")
def use(memory: Memory, out: Out, name: str) -> None:
    """Have a model read your conversations from now on, or none: NAME as `models` lists it."""
    memory.home.require()
    problem = choose(memory, name)
    out.json({"main": name, "problem": problem})
    _chosen(memory, out, name, problem)


models.add_command(prompts)


def choose(memory: Memory, name: str) -> str:
    """Write it into config.toml. What keeps it from being asked now, if something does. Raises
    ConfigError for a name that is none."""
    from wakebook.hosts import toml
    from wakebook.models.model import HOST, NONE, make

    problem = place = ""
    if name not in (HOST, NONE):
        model = make(name, memory.config, os.environ, None)
        place = getattr(model, "path", str)() or ""  # of a client: a service may have another PATH
        try:
            model.ready()
        except ModelError as error:
            problem = str(error)
    said = f"by `wakebook models use {name}` on {clock.now():%Y-%m-%d}"
    home = memory.home
    with home.locked():
        was = home.config.read_text(encoding="utf-8")
        text, _ = toml.set_line(was, "models.program", None)
        if place:
            text, _ = toml.put(text, "models.program", place)
        text, _ = toml.put(text, "models.main", name, said)
        if text != was:
            home.replace(home.config, text)
    return problem


def _chosen(memory: Memory, out: Out, name: str, problem: str) -> None:
    from wakebook.models.model import NONE

    if name == NONE:
        out.ok("No model reads your conversations: rules do, on this machine.")
        return
    out.ok(f"{esc(name)} reads your conversations from now on.")
    out.say(f"  [yellow]not yet: {esc(problem)}[/yellow]", when=problem)
    out.say(f"  [bold]wakebook models test {esc(name)}[/bold] tries it,")
    out.say("  [bold]wakebook catch-up --upgrade[/bold] has it read what rules have read so far")
    out.say("  (`--dry-run` says what that costs).")


# --- asked once ----------------------------------------------------------------------------
def proposed(memory: Memory) -> FoundModel | None:
    """The model that could be asked for, if none is chosen yet."""
    settings = _settings(memory).models
    if settings.main or settings.cheap:
        return None
    return next((one for one in _found(memory) if one.keyless), None)


def offer(memory: Memory, out: Out, name: str | None, ask: bool) -> dict[str, Any]:
    """Choose the model that was named; or ask, once, about the one that was found. No yes, no
    call: without an answer nothing is written down."""
    from wakebook.models.model import NONE

    if name:
        problem = choose(memory, name)
        _chosen(memory, out, name, problem)
        return {"chosen": name, "problem": problem}
    model = proposed(memory)
    if model is None:
        return {"chosen": memory.config.models.main}
    told: dict[str, Any] = {"chosen": "", "found": model._asdict()}
    out.say(f"\n[bold]{esc(model.name)}[/bold] was found ({esc(model.seen)}).", when=ask)
    if not ask:
        out.say(
            f"[dim]●[/dim] Rules read your conversations. {esc(model.name)} is there, too: "
            f"[bold]wakebook models use {esc(model.name)}[/bold] has it read them."
        )
        return told
    out.say(f"With it your memory is far better. It is paid by {esc(model.pays)}.")
    out.say(f"{_week(memory, model.name)}, within the limits of \\[models] in config.toml.")
    try:
        yes = click.confirm(f"Let {model.name} read your conversations?", default=False)
    except click.Abort:  # standard input has no answer
        click.echo()
        return told
    choose(memory, model.name if yes else NONE)
    done = f"{esc(model.name)} reads your conversations" if yes else "No model is asked"
    out.ok(f"{done}; [bold]wakebook models[/bold] changes that.")
    return told | {"chosen": model.name if yes else NONE}


def _week(memory: Memory, name: str) -> str:
    """What reading the last week would use."""
    from wakebook.memory import Memory
    from wakebook.models.prices import dollars

    config = memory.config
    with Memory(memory.home.root, config=_with(config, name)).rehearsal() as copy:
        copy.catch_up(since=clock.now() - WEEK, closing=True)
        planned = copy.models.planned
    if not planned:
        return "There is nothing of the last week to read"
    tokens = sum(one.tokens_in + one.tokens_out for one in planned)
    costs = [one.cost for one in planned if one.cost]
    price = f", {dollars(sum(costs))} at the prices of an API" if costs else ""
    calls = many(len(planned), "call")
    return f"Reading the last week would take about {calls} and {tokens:,} tokens{price}"


def first_reading(memory: Memory, progress: Progress) -> Sweep:
    """Everything that was said so far: the last week by the model, what is older by rules."""
    from msgspec.structs import replace

    from wakebook.memory import Memory
    from wakebook.models.model import NONE

    if not memory.models.has("extract"):
        return memory.catch_up(progress=progress)
    rules = Memory(memory.home.root, config=_with(memory.config, NONE))
    old = rules.catch_up(until=clock.now() - WEEK, progress=progress)
    new = memory.catch_up(progress=progress)
    return replace(new, reports=(*old.reports, *new.reports), failed=old.failed | new.failed)


def _with(config: Config, name: str) -> Config:
    return config.with_(models=config.models.with_(main=name, cheap=""))


def _settings(memory: Memory) -> Config:
    from wakebook.base.config import load

    return load(memory.home.config)


def _found(memory: Memory) -> list[FoundModel]:
    from wakebook.models.found import found

    return found(_settings(memory), os.environ)


def check(name: str | None) -> None:
    """Raises ConfigError for a --model that is none, before anything is done."""
    from wakebook.base.config import Config
    from wakebook.models.model import HOST, NONE, make

    if name and name not in (HOST, NONE):
        try:
            make(name, Config(), os.environ, None)
        except ConfigError as error:
            if not name.startswith("compatible/"):
                raise click.UsageError(f"--model: {error}") from None
