"""team: many memories in one PostgreSQL: init, serve, work, add, token, quota, share, list, …"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wakebook.cli.shared import Out, command, emit_line, esc, group, many

if TYPE_CHECKING:
    from wakebook.memory import Memory
    from wakebook.team.copies import Copies
    from wakebook.team.database import Database

UNITS = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


@group()
def team(memory: Memory, out: Out) -> None:
    """A server for teams and platforms: many memories in one PostgreSQL."""


def _database(url: str | None = None) -> Database:
    from wakebook.team import schema
    from wakebook.team.database import Database
    from wakebook.team.settings import required

    db = Database(required(url=url).url)
    schema.require(db)
    return db


def _copies(db: Database) -> Copies:
    from wakebook.service.team_work import opened
    from wakebook.team.copies import Copies
    from wakebook.team.settings import required

    return Copies(db, required().place("admin"), opened)


@command(team)
@click.argument("url", required=False)
def init(memory: Memory, out: Out, url: str | None) -> None:
    """Make the schema, roles and policies in a database, or bring them up to date."""
    from wakebook.team.database import without_password
    from wakebook.team.schema import migrate
    from wakebook.team.settings import required

    where = required(url=url).url
    ran = migrate(where)
    if out.json({"ran": ran}):
        return
    shown = esc(without_password(where))
    out.ok(f"{shown} is ready" if ran else f"{shown} is up to date")
    out.each("  [dim]migration[/dim] ", ran)
    out.say("  [dim]wakebook team add NAME   adds the first memory", when=ran)


@command(team)
@click.option("--host", help="The address to listen at.")
@click.option("--port", type=click.IntRange(0, 65_535), help="0: any free one.")
def serve(memory: Memory, out: Out, host: str | None, port: int | None) -> None:
    """Answer HTTP and MCP for every tenant. Start as many as you like."""
    from wakebook.hosts.team import TeamHooks
    from wakebook.service.team_serve import serve as run
    from wakebook.team import logs
    from wakebook.team.settings import required

    logs.begin()
    settings = required(host=host, port=port)

    def ready(at: int) -> None:
        logs.tell("info", "ready", address=f"{settings.host}:{at}")
        if out.as_json:
            emit_line({"ready": True, "port": at})
        else:
            out.ok(f"Serving at http://{settings.host}:{at}. Ctrl-C ends it.")

    run(settings, TeamHooks(), ready)


@command(team)
@click.option("--jobs", type=click.IntRange(1, 64), help="That are done at once.")
def work(memory: Memory, out: Out, jobs: int | None) -> None:
    """Do the jobs of all tenants. Start as many as you like, on any number of machines."""
    from wakebook.service.team_work import Worker, check_clock, opened
    from wakebook.team import logs, schema
    from wakebook.team.copies import Copies
    from wakebook.team.database import Database
    from wakebook.team.settings import required

    logs.begin()
    settings = required(jobs=jobs)
    db = Database(settings.url, size=settings.jobs + 4, patience=settings.wait_seconds)
    schema.require(db)
    check_clock(db)
    copies = Copies(db, settings.place("work"), opened)

    def ready() -> None:
        logs.tell("info", "ready", jobs=settings.jobs)
        if out.as_json:
            emit_line({"ready": True})

    Worker(db, copies, jobs=settings.jobs, heart=settings.heart_seconds).run(ready)
    copies.close()
    db.close()


@command(team)
@click.argument("name")
def add(memory: Memory, out: Out, name: str) -> None:
    """Add a tenant: one empty memory."""
    _filled(out, name, None)


@command(team, name="import")
@click.argument("path", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--name", default="", help="Of the tenant (default: the folder's).")
def import_home(memory: Memory, out: Out, path: Path, name: str) -> None:
    """Make a tenant of a plain home: its files and its history."""
    from wakebook.base.home import Home

    Home(path).require()
    with Home(path).locked():
        _filled(out, name or path.resolve().name.lstrip("."), path)


def _filled(out: Out, name: str, source: Path | None) -> None:
    from wakebook.service.team_work import fill

    db = _database()
    copies = _copies(db)
    number = fill(db, copies, name, source)
    copies(number).discard()
    copies.close()
    out.json({"name": name, "tenant": number})
    out.ok(f"{esc(name)} has a memory")
    out.say(f"  [dim]wakebook team token {esc(name)}   lets an agent ask for it")


@command(team)
@click.argument("name")
@click.option("--agent", default="", help="Who will use it: a name for your own overview.")
@click.option("--scope", "scopes", multiple=True, help="read, write, erase (default: read, write).")
@click.option("--days", type=click.FloatRange(0.001, 3650), default=90, show_default=True)
@click.option("--list", "only", is_flag=True, help="Show the tokens that there are.")
@click.option("--revoke", default="", metavar="ID", help="Take a token back.")
def token(
    memory: Memory,
    out: Out,
    name: str,
    agent: str,
    scopes: tuple[str, ...],
    days: float,
    only: bool,
    revoke: str,
) -> None:
    """Make a token for a tenant, list its tokens, or take one back."""
    from wakebook.team import tenants

    db = _database()
    if revoke:
        tenants.revoke(db, revoke)
        out.json({"revoked": revoke})
        out.ok(f"{esc(revoke)} is good for nothing any more: within seconds, everywhere")
    elif only:
        found = tenants.tokens(db, name)
        rows = [(one.id, one.agent, ", ".join(one.scopes), str(one.expires_at)) for one in found]
        if not out.json(found):
            out.table("id  agent  may  until", rows, empty="There are none.")
    else:
        made = tenants.give(db, name, agent=agent, scopes=scopes or ("read", "write"), days=days)
        if not out.json(made):
            click.echo(made.text)
            out.err.say(
                f"[dim]{made.id}: may {', '.join(made.scopes)} until {made.expires_at:%Y-%m-%d}. "
                "It is shown this once."
            )


def _amount(text: str) -> float | None:
    """500, 20m, 1.5g; `none`: no limit."""
    if text == "none":
        return None
    unit = UNITS.get(text[-1:].lower(), 1)
    try:
        return float(text[:-1] if unit > 1 else text) * unit
    except ValueError:
        raise click.UsageError(f"{text!r} is no amount. Write one like 500, 20m or none.") from None


@command(team)
@click.argument("name")
@click.option("--bytes", "bytes_", help="Of files and history: 500m, 2g, none.")
@click.option("--entries", help="Of the log.")
@click.option("--dollars", help="A month, for models.")
def quota(memory: Memory, out: Out, name: str, **given: str | None) -> None:
    """What a tenant holds and may hold; with options, set that."""
    from wakebook.team import tenants

    db = _database()
    limits = {key.rstrip("_"): _amount(text) for key, text in given.items() if text is not None}
    whole = {k: v if v is None or k == "dollars" else int(v) for k, v in limits.items()}
    tenants.limit(db, name, **whole)
    tenants.number(db, name)
    [found] = tenants.listed(db, name)
    if out.json(found):
        return
    for key in tenants.LIMITS:
        most = getattr(found, f"most_{key}")
        limit = "no limit" if most is None else f"{most:,}"
        out.say(f"[dim]{key:8}[/dim] {getattr(found, key):>16,}  of {limit}")


@command(team)
@click.argument("name")
@click.argument("reader")
@click.option("--stop", is_flag=True, help="No more.")
def share(memory: Memory, out: Out, name: str, reader: str, stop: bool) -> None:
    """Let READER read the memory NAME beside its own: search, context and get."""
    from wakebook.team import tenants

    tenants.share(_database(), name, reader, stop=stop)
    out.json({"shared": name, "with": reader, "stopped": stop})
    out.ok(f"{esc(reader)} may read {esc(name)}{' no more' if stop else ''}")


@command(team)
@click.argument("name")
@click.argument("how", type=click.Choice(["exact", "approximate"]))
def nearest(memory: Memory, out: Out, name: str, how: str) -> None:
    """Compare all vectors of a tenant, or those that pgvector's HNSW finds (large archives)."""
    from wakebook.team import nearby, tenants

    db = _database()
    count = nearby.switch(db, tenants.number(db, name), on=how == "approximate")
    out.json({"name": name, "how": how, "vectors": count})
    found = f": {many(count, 'vector')} in its index" if count else ""
    out.ok(f"What is nearest in {esc(name)} is {how}{found}")


@command(team, name="list")
def list_(memory: Memory, out: Out) -> None:
    """The tenants, with what they hold."""
    from wakebook.team import tenants

    found = tenants.listed(_database())
    if out.json(found):
        return
    rows = [
        (
            f"[bold]{esc(one.name)}[/bold]",
            f"{one.entries:,}",
            f"{one.bytes:,}",
            f"{one.dollars:.2f}",
            str(one.tokens),
            ", ".join(one.reads),
            f"[red]{many(one.aside, 'job')} set aside[/red]" if one.aside else "",
        )
        for one in found
    ]
    out.table("tenant  >entries  >bytes  >dollars  >tokens  reads  look at", rows, "None yet.")


@command(team)
@click.argument("name")
@click.argument("path", type=click.Path(path_type=Path))
def export(memory: Memory, out: Out, name: str, path: Path) -> None:
    """Write a tenant as a plain home, with its history."""
    from wakebook.base.errors import WakebookError
    from wakebook.service.team_work import taken_out
    from wakebook.team import tenants

    if path.exists() and any(path.iterdir()):
        raise WakebookError(f"{path} is not empty. Name a folder that does not exist yet.")
    db = _database()
    taken_out(db, tenants.number(db, name), path)
    out.json({"name": name, "path": str(path)})
    out.ok(f"{esc(name)} is a home in {esc(path)}")


@command(team)
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
def remove(memory: Memory, out: Out, name: str, yes: bool) -> None:
    """Erase a tenant: every row of it, tokens and jobs included."""
    from wakebook.team import tenants

    db = _database()
    tenants.number(db, name)
    if not yes:
        click.confirm(f"Erase {name} for good?", abort=True, err=True)
    gone = tenants.remove(db, name)
    if out.json({"removed": name, "rows": gone}):
        return
    out.ok(f"{esc(name)} is gone: {many(sum(gone.values()), 'row')}")
    out.say("  [dim]Working copies go within a minute; backups of the database keep theirs.")


@command(team)
@click.argument("url")
@click.option("--token", required=True, help="One that `wakebook team token` has made.")
def join(memory: Memory, out: Out, url: str, token: str) -> None:
    """Have this machine's hosts (hooks and MCP) and commands ask a server instead of a home."""
    from wakebook.base.home import locate
    from wakebook.service.remote import FILE, join

    context = click.get_current_context()
    root = locate(context.obj)
    join(root, url, token)
    if not memory.home.config.exists():  # which keeps the settings, and what has yet to be sent
        memory.init()
    out.json({"joined": url, "file": str(root / FILE)})
    out.ok(f"{esc(root)} is joined to {esc(url)}. Remove {FILE} there to end that.")
    out.say(
        "  [dim]wakebook init --host claude-code   wires a host to it (codex, openclaw, pi as well)"
    )


@command(team)
@click.option("--again", type=int, metavar="NUMBER", help="Try one that was set aside once more.")
@click.option("--drop", type=int, metavar="NUMBER", help="Drop one that was set aside.")
@click.option("--batch", default="", help="Of one rebuild.")
def jobs(memory: Memory, out: Out, again: int | None, drop: int | None, batch: str) -> bool:
    """How many jobs wait, run, are done; and those that were set aside, with why."""
    from wakebook.team import queue

    db = _database()
    if again is not None:
        out.json({"job": queue.again(db, again)})
        out.ok(f"job {again} is tried once more")
        return False
    if drop is not None:
        queue.forget(db, drop)
        out.json({"dropped": drop})
        out.ok(f"job {drop} is dropped")
        return False
    counted, found = queue.counts(db, batch), queue.aside(db)
    if out.json({"jobs": counted, "aside": found}):
        return bool(found)
    for name, count in counted.items():
        out.say(f"[dim]{name:10}[/dim] {count:>8,}")
    rows = [
        (str(one.job), esc(one.tenant), str(one.arguments.get("verb")), esc(one.error))
        for one in found
    ]
    out.table("set aside  tenant  job  why", rows)
    return bool(found)


@command(team)
@click.argument("names", nargs=-1)
@click.option("--model", is_flag=True, help="Read with each tenant's model, not by rules.")
def rebuild(memory: Memory, out: Out, names: tuple[str, ...], model: bool) -> None:
    """Read all conversations of all tenants anew: a job each, spread over the workers."""
    from wakebook.base import clock
    from wakebook.team import queue, tenants
    from wakebook.team.queue import Chore

    db = _database()
    chosen = [tenants.number(db, name) for name in names]
    every = chosen or [one.id for one in tenants.listed(db)]
    batch = f"rebuild-{clock.now():%Y%m%dT%H%M%S}"
    ask: dict[str, Any] = {"extractor": "model"} if model else {}
    for tenant in every:
        queue.put(db, tenant, Chore(verb="rebuild", ask=ask, batch=batch), priority=-10)
    if out.json({"batch": batch, "tenants": len(every)}):
        return
    out.ok(f"{many(len(every), 'tenant')} will be read anew")
    out.say(f"  [dim]wakebook team jobs --batch {batch}   shows how far it is")
