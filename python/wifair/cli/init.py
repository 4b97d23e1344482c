"""`wifair init`."""

from __future__ import annotations

from pathlib import Path

import click

from wifair import gallery
from wifair.cli.common import fail, trying
from wifair.files import refuse, write_text
from wifair.tables import aligned
from wifair.words import suggestion


def _complete(_: click.Context, __: click.Parameter, start: str) -> list[str]:
    return [name for name in (*gallery.NETWORKS, *gallery.PAPERS) if name.startswith(start)]


@click.command(name="init")
@click.argument("name", required=False, shell_complete=_complete)
@click.argument("file", required=False, type=click.Path(allow_dash=True))
@click.option("--force", is_flag=True, help="Replace FILE if it is there.")
def init_command(name: str | None, file: str | None, force: bool) -> None:
    """Write the commented scenario NAME into FILE, by default NAME.toml; - is standard output.

    Without NAME, list all scenarios.

    \b
    Examples:
      wifair init
      wifair init hot-spot
      wifair init weak-station my_flat.toml
    """  # noqa: D301
    if name is None:
        click.echo("\n".join(aligned([(one.name, one.summary) for one in gallery.examples()], left=range(2))))
        return
    try:
        text = gallery.example(name).text
    except KeyError:
        hint = suggestion(name, [one.name for one in gallery.examples()], "`wifair init` lists them all")
        fail(f"no scenario `{name}`: {hint}")
    if file == "-":
        click.echo(text, nl=False)
        return
    path = Path(file or f"{name}.toml")
    with trying("write", path):
        refuse(path, force=force)
        write_text(path, text)
    click.echo(f"wrote {path}: edit it, then run `wifair run {path}`")
