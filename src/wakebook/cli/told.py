"""What turns were really told: `wakebook context --told` and `--turn ID`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from wakebook.cli.shared import Out, esc, many

if TYPE_CHECKING:
    from wakebook.memory import Memory
    from wakebook.recall.told import Look, Told

SHOWN = 20  # sessions, or turns of one
WORDS = {True: " [green]useful[/green]", False: " [red]useless[/red]", None: ""}


def show(memory: Memory, out: Out, session: str, turn: str, rated: Mapping[str, str]) -> None:
    given = [(name, ref) for name, ref in rated.items() if ref]
    if given and (len(given) > 1 or not turn):
        raise click.UsageError("Give --turn, and one of --useful, --useless, --unrated.")
    if given:
        [(name, ref)] = given
        useful = {"useful": True, "useless": False, "unrated": None}[name]
        done = memory.told.rate(turn, ref, useful)
        if not out.json(done):
            out.ok(f"Noted: {esc(done.text or done.item.label)} is {name}.")
    elif turn:
        look = memory.told.look(turn)
        if not out.json(look):
            _turn(out, look)
    elif session:
        _turns(memory, out, session)
    else:
        _sessions(memory, out)


def _sessions(memory: Memory, out: Out) -> None:
    found = memory.told.sessions()
    if out.json({"sessions": found}):
        return
    rows = [
        (
            _minute(one.last),
            esc(one.session[:12]),
            esc(one.host or "–"),
            esc(one.project or "–"),
            f"{one.told} of {one.turns}",
            f"{one.tokens:,}",
            esc(one.message[:60]),
        )
        for one in found[:SHOWN]
    ]
    columns = "last  session  host  project  >turns told  >tokens  first words"
    out.table(columns, rows, "No turn is recorded yet: hooks and your own agents write it.")
    out.say("[dim]--session ID lists its turns; --turn ID shows one.[/dim]", when=rows)


def _turns(memory: Memory, out: Out, session: str) -> None:
    found = memory.told.turns(session)
    if out.json({"turns": found}):
        return
    rows = [
        (
            _minute(one.timestamp),
            one.id,
            one.event,
            f"{one.tokens:,}" if one.tokens else "nothing",
            f"{one.milliseconds:.0f} ms",
            esc(one.message[:70]),
        )
        for one in found[-SHOWN:]
    ]
    columns = "at  turn  event  >tokens  >took  message"
    out.table(columns, rows, f"No turn of the session {session!r} is recorded.")


def _minute(timestamp: str) -> str:
    return timestamp[:16].replace("T", " ")


def _turn(out: Out, look: Look) -> None:
    turn = look.turn
    about = f"“{turn.message}”" if turn.message else f"a {turn.event}"
    place = ", ".join(filter(None, (turn.host, look.project, turn.session)))
    out.say(
        f"[bold]{esc(about)}[/bold]\n[dim]{_minute(turn.timestamp)}  {esc(place)}[/dim]\n"
        f"{turn.tokens:,} of {turn.budget:,} tokens, {turn.milliseconds:.1f} ms"
    )
    if look.arrived != "yes":
        late = "not arrived yet" if look.arrived == "not yet" else f"came with {look.arrived}"
        out.say(f"[yellow]It came too late: {late}.[/yellow]")
    for slot in turn.slots:
        size = f"{slot.tokens:,}" if slot.tokens else "–"
        out.cut(f"  {slot.name:9} {size:>7}  [dim]{esc(slot.note)}[/dim]")
    _listed(out, "Told", look.told)
    _listed(out, "Just missed", look.missed)
    for item in look.elsewhere:
        out.cut(f"  [red]{esc(item.reason)}[/red]  {esc(item.label)}")
    if look.difference:
        one = look.difference
        counts = f"{many(len(one.new), 'line')} new, {len(one.gone)} not told again"
        out.say(f"\n[dim]Beside the turn before ({one.before}): {counts}.[/dim]")


def _listed(out: Out, title: str, found: tuple[Told, ...]) -> None:
    out.say(f"\n[bold]{title}[/bold]", when=found)
    for one in found:
        score = f"{one.item.score:.2f}" if one.item.score is not None else "    "
        out.cut(f"  {score}  {esc(one.text or one.item.label)}{WORDS[one.useful]}")
        since = f"since replaced by {one.replaced_by}" if one.replaced_by else ""
        about = ", ".join(filter(None, (one.slot, one.item.reason, one.item.ref, since)))
        out.cut(f"        [dim]{esc(about)}[/dim]")
