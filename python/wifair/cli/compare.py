"""`wifair compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from wifair import Scenario
from wifair._output.files import write_text
from wifair._output.streams import write_data
from wifair.cli.common import Seeds, check_figure, check_file, fail, figure_options, overrides_of, trying
from wifair.comparison import sources
from wifair.comparison.comparing import compare, distinct
from wifair.comparison.sources import is_scenario
from wifair.emulation.beside import carried_by_the_kernel

EACH_FLOW = """Also compare flows of the same name: goodput, round-trip time, retransmissions and timeouts; for
datagrams delay, jitter, loss and MOS. --all, --json and --csv include every figure of each flow."""


@click.command(name="compare")
@click.argument("files", metavar="SOURCE...", nargs=-1, required=True, type=click.Path(allow_dash=True))
@click.option(
    "--against",
    "others",
    multiple=True,
    metavar="PATH=VALUE",
    help="Also compare the first scenario with this changed ('; ' between several changes); may be repeated.",
)
@click.option(
    "--emulated",
    is_flag=True,
    help="Emulate each scenario, too: its flows are carried by this kernel (root); --seeds is then 1..3 by default.",
)
@click.option("--seeds", type=Seeds(), metavar="LIST", help="Seeds of scenarios; as the first says, or 1..10.")
@click.option("--duration", metavar="TIME", help="Simulated time of every scenario, as in '100 s'.")
@click.option("--set", "changes", multiple=True, metavar="PATH=VALUE", help="Change every scenario; may be repeated.")
@click.option("--flows", is_flag=True, help=EACH_FLOW)
@click.option("--all", "everything", is_flag=True, help="Show all figures, not only the most telling ones.")
@click.option("--json", "as_json", is_flag=True, help="Print all differences as JSON instead of tables.")
@click.option("--csv", "csv_file", metavar="FILE", type=click.Path(), help="Write all differences as a table.")
@click.option("--figure", metavar="FILE", type=click.Path(), help="Draw the most telling ones: .png, .svg or .pdf.")
@figure_options("--figure", "figure")
@click.option("--force", is_flag=True, help="Replace files that are there.")
@click.option("--threads", type=click.IntRange(min=1), metavar="N", help="Runs at the same time; all cores by default.")
@click.option("--quiet", "-q", is_flag=True, help="No progress on stderr.")
def compare_command(
    files: tuple[str, ...],
    others: tuple[str, ...],
    emulated: bool,
    seeds: list[int] | None,
    duration: str | None,
    changes: tuple[str, ...],
    flows: bool,
    everything: bool,
    as_json: bool,
    csv_file: str | None,
    figure: str | None,
    force: bool,
    threads: int | None,
    quiet: bool,
    look: dict[str, Any],
) -> None:
    """Run scenarios on the same seeds and show how they differ from the first, with confidence intervals.

    A SOURCE is a scenario (.toml), a folder of `wifair run --out` or of `wifair measure run`, or a capture.

    \b
    Examples:
      wifair compare fifo.toml las.toml
      wifair compare hot-spot.toml --against ap.queue.discipline=las --against ap.scheme.window=b-over-n
      wifair compare hot-spot.toml --against 'flows.up.tcp.cc=vegas; ap.queue.limit=100 packets' --flows
      wifair compare simulated.toml measured/ capture.pcapng --figure differences.pdf
      sudo wifair compare hot-spot.toml --emulated --seeds 1..3
    """  # noqa: D301
    sources, names = _sources(files, others, duration, changes, alone=emulated)
    if (seeds is not None or duration is not None or changes) and not any(map(is_scenario, files)):
        raise click.UsageError("--seeds, --duration and --set are for scenarios: there is none")
    if csv_file is not None:
        check_file(csv_file, force=force)
    if figure is not None:
        check_figure(figure, force=force)
    if emulated:
        seeds = seeds or [1, 2, 3]
        _add_emulated(sources, names, seeds, quiet)
    try:
        comparison = compare(*sources, seeds=seeds, names=names, flows=flows, threads=threads, progress=not quiet)
    except ValueError as error:
        fail(str(error))
    if csv_file is not None:
        with trying("write", csv_file):
            write_text(csv_file, comparison.table.to_csv())
    if figure is not None:
        with trying("write", figure):
            comparison.save_figure(figure, **look)
    if as_json:
        write_data(comparison.to_json())
    else:
        click.echo(comparison.text(everything=everything))


def _sources(
    files: tuple[str, ...], others: tuple[str, ...], duration: str | None, changes: tuple[str, ...], *, alone: bool
) -> tuple[list[Any], list[str]]:
    """Collect what is compared, and the names for it."""
    found: list[Any] = []
    names: list[str] = []
    for file in files:
        if "=" in file and not Path(file).exists():
            raise click.UsageError(f"`{file}` is no file: to change a key, write --against '{file}'")
        if sources.is_scenario(file):
            found.append(Scenario.from_file(file, overrides=overrides_of(changes, duration)))
            names.append("stdin" if file == "-" else Path(file).stem)
        else:
            with trying("read", file):
                for name, results in sources.read(file):
                    found.append(results)
                    names.append(name)
    if others:
        if not sources.is_scenario(files[0]):
            raise click.UsageError(f"--against changes a scenario: `{files[0]}` is none")
        for other in others:
            pairs = [("--against", part.strip()) for part in other.split(";")]
            found.append(found[0]._changed(pairs))
            names.append(other)
    if len(found) < 2 and not alone:
        raise click.UsageError("nothing to compare with: give a second SOURCE, or --against PATH=VALUE")
    return found, distinct(names)


def _add_emulated(sources: list[Any], names: list[str], seeds: list[int], quiet: bool) -> None:
    """Emulate each scenario, and append the results."""
    scenarios = [(name, source) for name, source in zip(names, sources) if isinstance(source, Scenario)]
    if not scenarios:
        raise click.UsageError("--emulated is for scenarios: there is none")
    for name, scenario in scenarios:
        if not quiet:
            lasts_s = scenario.duration_s * len(seeds)
            click.echo(f"emulating {name} for {lasts_s:g} s, in real time", err=True)
        say = (lambda _: None) if quiet else (lambda text: click.echo(f"note: {text}", err=True))
        sources.append(carried_by_the_kernel(scenario, seeds, say))
        names.append(f"{name}, emulated")
