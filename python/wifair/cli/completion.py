"""`wifair completion`."""

from __future__ import annotations

import click


@click.command(name="completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion_command(shell: str) -> None:
    """Print a script that lets SHELL complete commands, options and files.

    \b
    Examples:
      eval "$(wifair completion bash)"              # in ~/.bashrc
      eval "$(wifair completion zsh)"               # in ~/.zshrc
      wifair completion fish | source               # in ~/.config/fish/config.fish
    """  # noqa: D301
    from click.shell_completion import get_completion_class  # noqa: PLC0415

    from wifair.cli import main  # noqa: PLC0415

    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(main, {}, "wifair", "_WIFAIR_COMPLETE").source())
