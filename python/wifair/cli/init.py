"""`wifair init`."""

from __future__ import annotations

from pathlib import Path

import click

from wifair import gallery
from wifair._output.files import refuse, write_text
from wifair._output.tables import aligned
from wifair._output.words import reason, suggestion
from wifair.capture.capture import read_capture
from wifair.capture.twin import scenario_text
from wifair.cli.common import fail, trying
from wifair.exceptions import CaptureError


def _complete(_: click.Context, __: click.Parameter, start: str) -> list[str]:
    return [name for name in (*gallery.NETWORKS, *gallery.PAPERS) if name.startswith(start)]


@click.command(name="init")
@click.argument("name", required=False, shell_complete=_complete)
@click.argument("file", required=False, type=click.Path(allow_dash=True))
@click.option("--from-capture", "capture", metavar="CAPTURE", help="Write the network of a capture instead.")
@click.option("--local", multiple=True, metavar="NETWORK", help="Network of the capture's stations, as in 10.0.0.0/24.")
@click.option("--force", is_flag=True, help="Replace FILE if it is there.")
def init_command(name: str | None, file: str | None, capture: str | None, local: tuple[str, ...], force: bool) -> None:
    """Write the commented scenario NAME into FILE, by default NAME.toml; - is standard output.

    Without NAME, list all scenarios. With --from-capture CAPTURE [FILE], write the network of a capture as far as it
    shows: stations, rates, flows, delays and queues, each value with how it was found and how sure it is.

    \b
    Examples:
      wifair init
      wifair init hot-spot
      wifair init weak-station my_flat.toml
      wifair init --from-capture monitor.pcapng my_network.toml
    """  # noqa: D301
    if capture is not None:
        if file is not None:
            raise click.UsageError("--from-capture takes one FILE")
        _write(_of_capture(capture, local), name or f"{_stem(capture)}.toml", force)
        return
    if local:
        raise click.UsageError("--local needs --from-capture")
    if name is None:
        click.echo("\n".join(aligned([(one.name, one.summary) for one in gallery.examples()], left=range(2))))
        return
    try:
        text = gallery.example(name).toml
    except KeyError:
        hint = suggestion(name, [one.name for one in gallery.examples()], "`wifair init` lists them all")
        fail(f"no scenario `{name}`: {hint}")
    _write(text, file or f"{name}.toml", force)


def _stem(capture: str) -> str:
    """Name of a capture without its endings."""
    return "capture" if capture == "-" else Path(capture).name.partition(".")[0] or "capture"


def _of_capture(capture: str, local: tuple[str, ...]) -> str:
    try:
        return scenario_text(read_capture(capture, local=local))
    except CaptureError as error:
        fail(f"{capture}: {error}")
    except OSError as error:
        fail(f"cannot read `{capture}`: {reason(error)}")
    except ValueError as error:
        fail(f"{capture}: {error}")


def _write(text: str, file: str, force: bool) -> None:
    if file == "-":
        click.echo(text, nl=False)
        return
    path = Path(file)
    with trying("write", path):
        refuse(path, force=force)
        write_text(path, text)
    click.echo(f"wrote {path}: edit it, then run `wifair run {path}`")
