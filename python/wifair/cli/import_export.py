"""`wifair import` and `wifair export`."""

from __future__ import annotations

import click

from wifair.cli.common import Command, check_figure, command_line, fail, trying, with_options
from wifair.figures.style import save
from wifair.importers import ImportedResults, read_flent, read_iperf3, write_flent
from wifair.results.folder import Folder
from wifair.results.from_folder import read_results


@click.group(name="import")
def import_command() -> None:
    """Read results of another program, for `compare`, `explain`, `results` and figures.

    \b
    Examples:
      wifair import iperf3 run1.json run2.json --out measured
      wifair import flent tcp_nup-2026-11-22.flent.gz --figure uploads.png
      wifair compare hot-spot.toml measured
    """  # noqa: D301


@click.group(name="export")
def export_command() -> None:
    """Write results for another program.

    \b
    Example:
      wifair run hot-spot.toml --seed 1 --series --series-step '200 ms' --out results
      wifair export flent results uploads.flent.gz
    """  # noqa: D301


def import_options(command: Command) -> Command:
    """Add what all imports take."""
    return with_options(
        command,
        click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path()),
        click.option("--name", metavar="TEXT", help="What to call the results."),
        click.option("--out", metavar="DIR", type=click.Path(), help="Write all tables into a folder, as `run` does."),
        click.option("--figure", metavar="FILE", type=click.Path(), help="Draw who got how much: .png, .svg or .pdf."),
        click.option("--force", is_flag=True, help="Replace earlier results."),
    )


@import_command.command(name="iperf3")
@import_options
def iperf3_command(files: tuple[str, ...], name: str | None, out: str | None, figure: str | None, force: bool) -> None:
    """Read what `iperf3 --json` or `--json-stream` wrote; each test is a repetition, each stream a flow.

    \b
    Examples:
      iperf3 -c server --json -P 4 > run1.json
      wifair import iperf3 run1.json
      wifair import iperf3 run*.json --out measured
    """  # noqa: D301
    _finish(read_iperf3(*files, name=name), out, figure, force)


@import_command.command(name="flent")
@import_options
def flent_command(files: tuple[str, ...], name: str | None, out: str | None, figure: str | None, force: bool) -> None:
    """Read data files of Flent; each FILE is a repetition, each upload and download a flow.

    \b
    Examples:
      flent rrul -H server -l 60
      wifair import flent rrul-*.flent.gz --out measured
    """  # noqa: D301
    _finish(read_flent(*files, name=name), out, figure, force)


@export_command.command(name="flent")
@click.argument("source", metavar="DIR", type=click.Path())
@click.argument("file", metavar="FILE", type=click.Path())
@click.option("--seed", type=click.IntRange(min=0), metavar="N", help="Which run; the first by default.")
@click.option("--force", is_flag=True, help="Replace FILE.")
def to_flent_command(source: str, file: str, seed: int | None, force: bool) -> None:
    """Write a run as a data file of Flent: FILE ends in .flent or .flent.gz.

    DIR holds results of `wifair run --series --out`. Flent's plots of goodput, windows and round-trip times
    (`flent -i FILE -p totals`, `-p tcp_cwnd`, `-p tcp_rtt`) then show the simulation.

    \b
    Example:
      wifair export flent results uploads.flent.gz
    """  # noqa: D301
    if not file.endswith((".flent", ".flent.gz")):
        fail(f"`{file}`: Flent reads .flent and .flent.gz")
    with trying("write", file):
        write_flent(read_results(source), file, seed=seed, force=force)


def _finish(results: ImportedResults, out: str | None, figure: str | None, force: bool) -> None:
    """Write what was asked for, and show the table."""
    from wifair.figures.run import draw  # noqa: PLC0415

    if figure is not None:
        check_figure(figure, force=force)
    with trying("write", out if figure is None else figure):
        if out is not None:
            with Folder(out, force=force) as folder:
                folder.write(results, command=command_line())
        if figure is not None:
            save(draw(results), figure)
    click.echo(repr(results))
