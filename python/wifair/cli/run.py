"""`wifair run`."""

from __future__ import annotations

import shutil
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING

import click

from wifair.cli.common import INTERRUPTED, WRONG, Seeds, fail, reason
from wifair.errors import Interrupted

if TYPE_CHECKING:
    from wifair.output import Folder
    from wifair.results import Results

__all__ = ["run_command"]


@click.command(name="run")
@click.argument("file", type=click.Path(allow_dash=True))
@click.option("--seed", "seeds", type=Seeds(), metavar="N", help="Seed of the run; by default as FILE says, or 1.")
@click.option("--seeds", "seeds", type=Seeds(), metavar="LIST", help="One run for each: 1..10 or 1,2,5.")
@click.option("--duration", metavar="TIME", help="Simulated time, as in '100 s'.")
@click.option("--set", "changes", multiple=True, metavar="PATH=VALUE", help="Change a parameter; may be repeated.")
@click.option("--json", "as_json", is_flag=True, help="Print all results as JSON instead of the table.")
@click.option("--out", metavar="DIR", type=click.Path(), help="Write all columns and their provenance into a folder.")
@click.option(
    "--format",
    "formats",
    type=click.Choice(["csv", "parquet"]),
    multiple=True,
    help="Format of the tables in DIR; CSV, and Parquet where pyarrow is installed, by default.",
)
@click.option("--force", is_flag=True, help="Replace earlier results in DIR.")
@click.option("--series", is_flag=True, help="Also sample cwnd, ssthresh, srtt, goodput and AP queue over time.")
@click.option("--series-step", metavar="TIME", default="100 ms", show_default=True, help="Time between samples.")
@click.option("--plot", is_flag=True, help="Also show the goodput of the flows as bars.")
@click.option("--figure", metavar="FILE", type=click.Path(), help="Draw a figure: .png, .svg or .pdf.")
@click.option("--threads", type=click.IntRange(min=1), metavar="N", help="Runs at the same time; all cores by default.")
@click.option("--quiet", "-q", is_flag=True, help="No progress on stderr.")
def run_command(
    file: str,
    seeds: list[int] | None,
    duration: str | None,
    changes: tuple[str, ...],
    as_json: bool,
    out: str | None,
    formats: tuple[str, ...],
    force: bool,
    series: bool,
    series_step: str,
    plot: bool,
    figure: str | None,
    threads: int | None,
    quiet: bool,
) -> None:
    """Simulate the scenario in FILE (- is standard input) and show who got what.

    With several seeds, flows are means and the cell has 95 % intervals (Student t).

    \b
    Examples:
      wifair run hot_spot.toml
      wifair run hot_spot.toml --seeds 1..10 --set stations.count=20
      wifair run hot_spot.toml --set flows.up.tcp.cc=vegas --json > vegas.json
      wifair run hot_spot.toml --series --out results --figure run.png
    """  # noqa: D301
    if series and not (as_json or out or figure):
        raise click.UsageError("--series needs --json, --out or --figure to put the series into")
    from wifair import Scenario, run  # noqa: PLC0415

    overrides = [("--set", change) for change in changes]
    if duration is not None:
        overrides.append(("--duration", f"duration={duration}"))
    scenario = Scenario.from_file(file, overrides=overrides)

    interrupted = False
    with ExitStack() as stack:
        folder = None if out is None else stack.enter_context(_folder(out, formats, force))
        try:
            results: Results | None = run(
                scenario,
                seeds=seeds,
                threads=threads,
                series=series_step if series else None,
                progress=not quiet,
            )
        except Interrupted as interruption:
            interrupted, results = True, interruption.results
        if results is not None:
            if folder is not None:
                folder.write(results, command=_command())
            if figure is not None:
                _draw(results, figure)
            click.echo(results.to_json().rstrip("\n") if as_json else repr(results))
            if plot:
                from wifair.report import bars  # noqa: PLC0415

                click.echo("\n" + bars(results, shutil.get_terminal_size().columns), err=as_json)
    if interrupted:
        done = 0 if results is None else len(results.seeds)
        click.echo(f"interrupted: {done} of {len(seeds or scenario.seeds)} runs had finished", err=True)
        sys.exit(INTERRUPTED)


def _folder(out: str, formats: tuple[str, ...], force: bool) -> Folder:
    from wifair.output import Folder  # noqa: PLC0415

    try:
        return Folder(out, formats=formats or None, force=force)
    except (FileExistsError, ImportError) as error:
        fail(str(error), WRONG)
    except OSError as error:
        fail(f"cannot write to `{out}`: {reason(error)}", WRONG)


def _draw(results: Results, path: str) -> None:
    from wifair import figure  # noqa: PLC0415

    try:
        figure.save(results, path)
    except (ImportError, ValueError) as error:
        fail(str(error), WRONG)
    except OSError as error:
        fail(f"cannot write `{path}`: {reason(error)}", WRONG)


def _command() -> str:
    import shlex  # noqa: PLC0415

    return shlex.join(["wifair", *sys.argv[1:]])
