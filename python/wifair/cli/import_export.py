"""`wifair import` and `wifair export`."""

from __future__ import annotations

from typing import Literal

import click

from wifair._output.files import refuse
from wifair.capture.capture import read_capture
from wifair.cli.common import Command, check_figure, command_line, fail, overrides_of, trying, with_options
from wifair.figures.style import save
from wifair.importers import (
    ImportedResults,
    read_flent,
    read_iperf3,
    write_flent,
    write_mahimahi,
    write_perfetto,
    write_qlog,
)
from wifair.results.folder import Folder
from wifair.results.from_folder import read_results
from wifair.scenario.scenario import Scenario
from wifair.simulation.simulate import run


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
      wifair export qlog captures/server.pcap train.qlog
      wifair export mahimahi cc-train.toml train.down --station laptop --set flows.test.count=0
      wifair export perfetto cc-train.toml train.json --from '14 s' --to '18 s'
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


@export_command.command(name="qlog")
@click.argument("capture", metavar="CAPTURE", type=click.Path())
@click.argument("file", metavar="FILE", type=click.Path())
@click.option("--force", is_flag=True, help="Replace FILE.")
def to_qlog_command(capture: str, file: str, force: bool) -> None:
    """Write the TCP connections of a capture as qlog 0.3, which qvis draws; best taken where the data is sent.

    TCP is mapped to QUIC's events: a segment with data is a packet with a STREAM frame, numbered as it is sent; an ACK
    has the numbers that it newly acknowledges; a retransmission says that the packet before it is lost.

    \b
    Example:
      wifair run cc-train.toml --seeds 1 --pcap captures
      wifair export qlog captures/server.pcap train.qlog
    """  # noqa: D301
    with trying("read", capture):
        found = read_capture(capture, packets=True)
    with trying("write", file):
        try:
            write_qlog(found, file, force=force)
        except ValueError as error:
            fail(f"{capture}: {error}")


@export_command.command(name="perfetto")
@click.argument("scenario", metavar="SCENARIO", type=click.Path(allow_dash=True))
@click.argument("file", metavar="FILE", type=click.Path())
@click.option("--from", "start", metavar="TIME", default="0 s", show_default=True, help="Start of what is shown.")
@click.option("--to", "end", metavar="TIME", help="End of what is shown; that of the run by default.")
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, metavar="N", help="Seed of the run.")
@click.option("--set", "changes", multiple=True, metavar="PATH=VALUE", help="Change a parameter; may be repeated.")
@click.option("--force", is_flag=True, help="Replace FILE.")
def to_perfetto_command(
    scenario: str, file: str, start: str, end: str | None, seed: int, changes: tuple[str, ...], force: bool
) -> None:
    """Run SCENARIO and write its air as a trace that ui.perfetto.dev opens: PPDUs, backoffs, windows, queues.

    \b
    Example:
      wifair export perfetto cc-train.toml train.json --from '14 s' --to '18 s'
    """  # noqa: D301
    made = Scenario.from_file(scenario, overrides=overrides_of(changes, None))
    with trying("write", file):
        refuse(file, force=force)
        try:
            results = run(made, seeds=[seed], frames=(start, end), series="10 ms")
            write_perfetto(results, file, force=force)
        except ValueError as error:
            fail(str(error))


@export_command.command(name="mahimahi")
@click.argument("scenario", metavar="SCENARIO", type=click.Path(allow_dash=True))
@click.argument("file", metavar="FILE", type=click.Path())
@click.option("--station", required=True, metavar="NAME", help="The station.")
@click.option("--server", metavar="NAME", help="The server; the first one by default.")
@click.option("--up", is_flag=True, help="From the station instead of to it.")
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, metavar="N", help="Seed of the run.")
@click.option("--set", "changes", multiple=True, metavar="PATH=VALUE", help="Change a parameter; may be repeated.")
@click.option("--force", is_flag=True, help="Replace FILE.")
def to_mahimahi_command(
    scenario: str,
    file: str,
    station: str,
    server: str | None,
    up: bool,
    seed: int,
    changes: tuple[str, ...],
    force: bool,
) -> None:
    """Write a trace for mahimahi's mm-link: when the station could have got packets of 1500 bytes.

    The scenario's flows run meanwhile; leave one out by its count. Time begins at the end of `warm_up`.

    \b
    Example:
      wifair export mahimahi cc-train.toml train.down --station laptop --set flows.test.count=0
      mm-link train.up train.down -- ./client
    """  # noqa: D301
    made = Scenario.from_file(scenario, overrides=overrides_of(changes, None), for_programs=True)
    direction: Literal["up", "down"] = "up" if up else "down"
    with trying("write", file):
        try:
            write_mahimahi(made, file, station=station, server=server, direction=direction, seed=seed, force=force)
        except ValueError as error:
            fail(str(error))


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
