"""sync: one memory on all your machines: add, status, clone, undo, key, share, take, remove."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wakebook.cli.shared import Group, Out, command, esc, many

if TYPE_CHECKING:
    from wakebook.memory import Memory
    from wakebook.sync.together import Exchange

FILES = 8  # that are named


class _Sync(Group):
    """`wakebook sync REMOTE`: what is no command is a remote."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        named = [at for at, word in enumerate(args) if not word.startswith("-")]
        if named and args[named[0]] not in self.commands and args[named[0] - 1] != "--home":
            args[named[0] : named[0] + 1] = ["--remote", args[named[0]]]
        return super().parse_args(ctx, args)


@command(kind=_Sync, invoke_without_command=True)
@click.option("--remote", default="", hidden=True)
@click.option("--dry-run", is_flag=True, help="Show what would come and go; change nothing.")
@click.option("--even-so", is_flag=True, help="Also if much of what is here would go.")
@click.option("--quiet", is_flag=True, hidden=True)
def sync(memory: Memory, out: Out, remote: str, dry_run: bool, even_so: bool, quiet: bool) -> None:
    """Bring this memory and your other machines' together."""
    from wakebook.sync.carry import Offline

    try:
        done = memory.sync(remote, dry=dry_run, even_so=even_so)
    except Offline as error:
        out.json({"offline": str(error)})
        out.say(f"[yellow]●[/yellow] Offline: {esc(error)}", when=not quiet)
        return
    if not quiet:
        _told(out, done)


def _told(out: Out, done: Exchange) -> None:
    if out.json(done):
        return
    would = "would come" if done.dry else "came"
    came = [many(done.received, "entry")] if done.received else []
    files = [one for one in done.changed if one != "log.jsonl"]
    came += [many(len(files), "file")] if files else []
    out.ok(f"{' and '.join(came)} {would} from other machines", when=came)
    out.each("  [dim]", files[:FILES] if done.dry else ())
    gone = f"{many(len(done.gone), 'file')} {'would go' if done.dry else 'went'}"
    out.ok(f"{gone}: other machines have taken them out", when=done.gone)
    out.each("  [dim]", done.gone[:FILES])
    goes = "would go" if done.dry else "went"
    out.ok(f"{many(done.sent, 'entry')} {goes} to {esc(done.remote)}", when=done.sent)
    out.ok(
        f"Nothing new: this home and {esc(done.remote)} agree",
        when=not (came or done.gone or done.sent),
    )
    out.each("  [yellow]look at[/yellow] ", done.notes)


@command(sync)
@click.argument("remote")
@click.option("--name", default="", help="What this machine is called (default: its host name).")
@click.option("--sealed", is_flag=True, help="Encrypt everything: the remote can read nothing.")
@click.option("--token", default="", help="Of a tenant, if REMOTE is a server for teams.")
def add(memory: Memory, out: Out, remote: str, name: str, sealed: bool, token: str) -> None:
    """Sync with REMOTE from now on, by itself, and for the first time now."""
    done = memory.sync.add(remote, name=name, sealed=sealed, token=token)
    _told(out, done)
    if not out.as_json:
        out.say(
            "  [dim]From now on at the start of sessions and after changes. On another machine:"
        )
        key = " --key …" if sealed else " --token …" if token else ""
        out.say(f"  [dim]wakebook sync clone {esc(remote)}{key}")
        out.say("  [dim]`wakebook sync key` prints the key for it. Keep a copy.", when=sealed)


@command(sync)
def status(memory: Memory, out: Out) -> bool:
    """Which machines there are, when each was last seen, and whether all agree."""
    found = memory.sync.standing()
    out.json(found)
    out.say("No remote yet. [dim]wakebook sync add REMOTE[/dim]", when=not found.remote)
    if out.as_json or not found.remote:
        return False
    zone = memory.opened.now().tzinfo
    rows = [
        (
            f"[bold]{esc(one.name)}[/bold]" + (" (this one)" if one.id == found.me else ""),
            f"{one.at.astimezone(zone):%Y-%m-%d %H:%M}",
            f"{one.entries:,}",
            one.files[:7],
        )
        for one in found.machines
    ]
    out.table("machine  last seen  >entries  files", rows)
    out.ok("All machines agree.", when=found.agree)
    ahead = "Not all have the same yet: each catches up at its next sync."
    out.say(f"[yellow]●[/yellow] {ahead}", when=not found.agree)
    failed = found.went.failures
    out.say(f"[red]●[/red] failed {many(failed, 'time')}: {esc(found.went.error)}", when=failed)
    out.each("  [yellow]look at[/yellow] ", found.went.notes)
    return bool(failed)


@command(sync)
@click.argument("remote")
@click.option("--key", default="", help="The key of a sealed remote.")
@click.option("--name", default="", help="What this machine is called.")
@click.option("--token", default="", help="Of a tenant, if REMOTE is a server for teams.")
def clone(memory: Memory, out: Out, remote: str, key: str, name: str, token: str) -> None:
    """The memory of your other machines, on this new one."""
    memory.sync.clone(remote, key=key, name=name, token=token)
    found = memory.sync.standing(ask=False)
    if out.json(found):
        return
    entries = len(list(memory.log.chains().entries))
    out.ok(f"{esc(memory.home.root)} has {many(entries, 'entry')}")
    out.say("  [dim]wakebook setup   wires this machine's hosts to it")


@command(sync)
def undo(memory: Memory, out: Out) -> None:
    """Take back what the last sync has brought. Other machines keep it."""
    done = memory.sync.undo()
    if out.json(done):
        return
    out.ok(f"{many(len(done.changed) + len(done.gone), 'file')} as before the last sync")
    out.each("  [yellow]", done.notes)
    out.say("  [dim]Syncing by itself is paused until you run `wakebook sync`.")


@command(sync)
@click.argument("given", default="", metavar="[KEY]")
def key(memory: Memory, out: Out, given: str) -> None:
    """The key of a sealed remote; with KEY, take over that of another machine."""
    found = memory.sync.key(given)
    if not out.json({"key": found}):
        click.echo(found)


@command(sync)
@click.argument("remote")
@click.option("--subject", default="", help="What holds about this subject.")
@click.option("--project", default="", help="What was learned in this project.")
def share(memory: Memory, out: Out, remote: str, subject: str, project: str) -> None:
    """Give what holds about a subject to another person, through a REMOTE that both can reach."""
    done = memory.sync.share(remote, subject=subject, project=project)
    out.json(done)
    out.ok(f"{many(done.entries, 'entry')} about {esc(done.name)} can be taken from {esc(remote)}")


@command(sync)
@click.argument("remote")
def take(memory: Memory, out: Out, remote: str) -> None:
    """Have what another person shares at REMOTE wait for `wakebook review`."""
    found = memory.sync.take(remote)
    out.json(found)
    for one in found:
        out.ok(f"{esc(one.name)}: {many(one.entries, 'entry')} wait for `wakebook review`")


@command(sync)
def heal(memory: Memory, out: Out) -> None:
    """Put together what file-sync tools and merges by hand have left in the home."""
    found = memory.sync.heal()
    out.json(found)
    said = {"copy": "a second copy", "markers": "marks of a merge", "twice": "lines twice"}
    for one in found:
        out.ok(f"{esc(one.path)}: {said[one.kind]}, put together")
    out.ok("Nothing to heal.", when=not found)


@command(sync)
def remove(memory: Memory, out: Out) -> None:
    """Sync no more. What is here and on the remote stays."""
    before = memory.sync.remove()
    out.json({"removed": before})
    out.ok(f"No longer synced with {esc(before)}" if before else "There was no remote.")
