"""`wifair congestion`."""

from __future__ import annotations

import click

from wifair import gallery
from wifair._output.files import write_text
from wifair._output.streams import write_data
from wifair._output.words import suggestion
from wifair.cli.common import Seeds, check_file, fail, trying
from wifair.comparison.congestion import REFERENCES, congestion


@click.command(name="congestion")
@click.argument("algorithms", metavar="[CC]...", nargs=-1)
@click.option("--scenario", "scenarios", multiple=True, metavar="NAME", help="Only this scenario; may be repeated.")
@click.option("--seeds", type=Seeds(), metavar="LIST", help="Seeds; 1..10 by default.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of the table.")
@click.option("--csv", "csv_file", metavar="FILE", type=click.Path(), help="Also write the table as CSV.")
@click.option("--force", is_flag=True, help="Replace FILE if it is there.")
@click.option("--threads", type=click.IntRange(min=1), metavar="N", help="Runs at the same time; all cores by default.")
@click.option("--quiet", "-q", is_flag=True, help="No progress on stderr.")
def congestion_command(
    algorithms: tuple[str, ...],
    scenarios: tuple[str, ...],
    seeds: list[int] | None,
    as_json: bool,
    csv_file: str | None,
    force: bool,
    threads: int | None,
    quiet: bool,
) -> None:
    """Run congestion controls in eight scenarios of Wi-Fi, each from 30 to 60 s, and show what they did.

    CC is a name as of `tcp.cc`, or MODULE:CLASS of your own; CUBIC, BBRv3, Reno and Prague by default. `wifair init`
    lists the scenarios, whose names begin with cc-, and writes them.

    \b
    Examples:
      wifair congestion
      wifair congestion mine:Window cubic --csv mine.csv
      wifair congestion vegas --scenario cc-train --seeds 1..100
    """  # noqa: D301
    for name in scenarios:
        if name not in gallery.CONGESTION:
            fail(f"no scenario `{name}`: {suggestion(name, gallery.CONGESTION, ', '.join(gallery.CONGESTION))}")
    if csv_file is not None:
        check_file(csv_file, force=force)
    table = congestion(
        algorithms or REFERENCES,
        scenarios=scenarios or gallery.CONGESTION,
        seeds=seeds,
        threads=threads,
        told=(lambda _: None) if quiet else (lambda line: click.echo(line, err=True)),
    )
    if csv_file is not None:
        with trying("write", csv_file):
            write_text(csv_file, table.to_csv())
    if as_json:
        write_data(table.to_json())
    else:
        click.echo(repr(table))
