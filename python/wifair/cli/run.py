"""`wifair run`."""

from __future__ import annotations

import shutil
import sys
from contextlib import ExitStack
from typing import Any

import click

from wifair import _core, run
from wifair._output.report import WIDE, bars, stations
from wifair.cli.common import (
    INTERRUPTED,
    Seeds,
    check_figure,
    check_frames,
    command_line,
    echo_parts,
    fail,
    figure_options,
    overrides_of,
    pcap_options,
    refuse_same,
    results_folder,
    trying,
)
from wifair.exceptions import Interrupted
from wifair.results.folder import write_table
from wifair.results.results import Results
from wifair.scenario.scenario import Scenario
from wifair.simulation.taps import Pcap

FIGURE_SAMPLES = 200
"""Default number of samples over time in a figure."""


@click.command(name="run")
@click.argument("file", type=click.Path(allow_dash=True))
@click.option("--seed", type=Seeds(), metavar="N", help="Seed of the run; by default as FILE says, or 1.")
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
@click.option("--force", is_flag=True, help="Replace files and results that are there.")
@click.option("--series", is_flag=True, help="Also sample cwnd, ssthresh, srtt, goodput and AP queue over time.")
@click.option("--series-step", metavar="TIME", help="Time between samples; 100 ms by default.")
@click.option(
    "--stations", "with_stations", is_flag=True, help="Also show a table of the stations: frames, retries, air time."
)
@click.option("--plot", is_flag=True, help="Also show the goodput of the flows as bars.")
@click.option("--figure", metavar="FILE", type=click.Path(), help="Draw who got how much, when: .png, .svg or .pdf.")
@figure_options("--figure", "figure")
@pcap_options("air,hosts", "Bytes kept of each packet; 160 holds all headers but those inside an A-MSDU.")
@click.option("--frames", metavar="FILE", type=click.Path(), help="Write every frame of the air: .csv or .parquet.")
@click.option("--timeline", metavar="FILE", type=click.Path(), help="Draw the air over time: .svg, .png or .pdf.")
@click.option(
    "--from", "start", metavar="TIME", help="Start of frames (of the run) and timeline (the end of the warm-up)."
)
@click.option("--to", "end", metavar="TIME", help="End of frames (the whole run) and timeline (20 ms).")
@click.option("--threads", type=click.IntRange(min=1), metavar="N", help="Runs at the same time; all cores by default.")
@click.option("--no-fast-paths", is_flag=True, help="Take no shortcuts: slower; only `events` may differ.")
@click.option("--yes", is_flag=True, help="Run also what is estimated to need more memory than is free.")
@click.option("--quiet", "-q", is_flag=True, help="No progress on stderr.")
def run_command(
    file: str,
    seed: list[int] | None,
    seeds: list[int] | None,
    duration: str | None,
    changes: tuple[str, ...],
    as_json: bool,
    out: str | None,
    formats: tuple[str, ...],
    force: bool,
    series: bool,
    series_step: str | None,
    with_stations: bool,
    plot: bool,
    figure: str | None,
    frames: str | None,
    timeline: str | None,
    start: str | None,
    end: str | None,
    threads: int | None,
    no_fast_paths: bool,
    yes: bool,
    quiet: bool,
    look: dict[str, Any],
    captures: Pcap | None,
) -> None:
    """Simulate the scenario in FILE (- is standard input) and show who got what.

    With several seeds, flows are means and the cell has 95 % intervals (Student t).

    \b
    Examples:
      wifair run hot-spot.toml
      wifair run hot-spot.toml --seeds 1..10 --set stations.count=20
      wifair run hot-spot.toml --set flows.up.tcp.cc=vegas --json > vegas.json
      wifair run hot-spot.toml --series --out results --figure run.png
      wifair run hot-spot.toml --pcap captures --pcap-at air,server --pcap-snap 160
      wifair run hot-spot.toml --timeline air.svg --from '5 s' --to '5.01 s'
      wifair run hot-spot.toml --frames frames.csv
      wifair run wifi-6.toml --stations
    """  # noqa: D301
    if series and not (as_json or out or figure):
        raise click.UsageError("--series needs --json, --out or --figure to put the series into")
    if seeds is not None and seed is not None:
        raise click.UsageError("--seed and --seeds exclude each other")
    if series_step and not series:
        raise click.UsageError("--series-step needs --series")
    if formats and not out:
        raise click.UsageError("--format needs --out")
    pcap = None if captures is None else str(captures.folder)
    refuse_same(figure=figure, frames=frames, timeline=timeline, out=out, pcap=pcap)
    _check_air(frames, timeline, start, end, force)

    scenario = Scenario.from_file(file, overrides=overrides_of(changes, duration))
    span = _span(scenario, frames, timeline, start, end)
    if figure is not None:
        check_figure(figure, force=force)
    interrupted = False
    results: Results | None
    with ExitStack() as stack:
        folder = None if out is None else stack.enter_context(results_folder(out, formats, force=force))
        try:
            with trying("write"):
                results = run(
                    scenario,
                    seeds=seeds or seed,
                    threads=threads,
                    series=(series_step or "100 ms") if series else None,
                    progress=not quiet,
                    pcap=captures,
                    frames=span,
                    fast_paths=not no_fast_paths,
                    any_memory=yes,
                )
        except Interrupted as interruption:
            interrupted, results = True, interruption.results
        if results is not None:
            if folder is not None:
                folder.write(results, command=command_line())
            if figure is not None:
                with trying("write", figure):
                    _with_series(results).save_figure(figure, **look)
            _draw_air(results, frames, timeline, start, end)
    if results is not None:  # after the files, because printing fails if the reader of a pipe has ended
        _print(results, as_json=as_json, with_stations=with_stations, plot=plot)
    if interrupted:
        done = 0 if results is None else len(results.seeds)
        click.echo(f"interrupted: {done} of {len(seeds or seed or scenario.seeds)} runs had finished", err=True)
        sys.exit(INTERRUPTED)


def _print(results: Results, *, as_json: bool, with_stations: bool, plot: bool) -> None:
    echo_parts(results.json_parts() if as_json else (repr(results), "\n"))
    if with_stations and results.seeds:
        click.echo("\n" + stations(results, shutil.get_terminal_size((WIDE, 24)).columns), err=as_json)
    if plot:
        click.echo("\n" + bars(results, shutil.get_terminal_size().columns), err=as_json)


def _check_air(frames: str | None, timeline: str | None, start: str | None, end: str | None, force: bool) -> None:
    if (start or end) and not (frames or timeline):
        raise click.UsageError("--from and --to need --frames or --timeline")
    times = [_core.time_of_run(option, text) for option, text in (("--from", start), ("--to", end)) if text is not None]
    if len(times) == 2 and times[1] <= times[0]:
        fail(f"--to {end} is not after --from {start}")
    if frames is not None:
        check_frames(frames, force=force)
    if timeline is not None:
        check_figure(timeline, force=force)


def _span(
    scenario: Scenario, frames: str | None, timeline: str | None, start: str | None, end: str | None
) -> bool | tuple[str, str | None]:
    """Determine the time for which frames are recorded."""
    if frames is not None:
        return (start or "0 s", end)
    if timeline is not None:
        from wifair.figures.timeline import usual_span  # noqa: PLC0415

        return usual_span(scenario, start, end)
    return False


def _draw_air(results: Results, frames: str | None, timeline: str | None, start: str | None, end: str | None) -> None:
    if frames is not None:
        assert results.frames is not None
        with trying("write", frames):
            write_table(results.frames, frames)
    if timeline is not None:
        from wifair.figures import style  # noqa: PLC0415
        from wifair.figures import timeline as drawing  # noqa: PLC0415

        with trying("write", timeline):
            style.save(drawing.draw(results, start=start, end=end), timeline)


def _with_series(results: Results) -> Results:
    """Add the series that a figure shows; they come from another run of the first seed."""
    if results.series is not None or not results.seeds:
        return results

    step_ns = max(round(results.scenario.duration_s * 1e9 / FIGURE_SAMPLES), 1_000_000)
    sampled = run(results.scenario, seeds=results.seeds[:1], series=f"{step_ns} ns")
    return results.with_series_of(sampled)
