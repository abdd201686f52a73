"""wakebook completion"""

from __future__ import annotations

import click


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script for your shell.

    \b
    bash:  wakebook completion bash >> ~/.bashrc
    zsh:   wakebook completion zsh >> ~/.zshrc
    fish:  wakebook completion fish > ~/.config/fish/completions/wakebook.fish
    """
    from click.shell_completion import get_completion_class

    from wakebook.cli import cli

    made = get_completion_class(shell)
    assert made is not None
    click.echo(made(cli, {}, "wakebook", "_WAKEBOOK_COMPLETE").source())
