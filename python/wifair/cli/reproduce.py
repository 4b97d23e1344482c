"""`wifair reproduce`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial

import click

from wifair import papers
from wifair._output.words import counted
from wifair.cli.common import FAILED, echo_json, fail, refuse_others, trying
from wifair.reproduce import Effort, Outcome, reproduce, select
from wifair.reproduce.report import Report, prepare
from wifair.reproduce.runner import default_store, other_versions
from wifair.reproduce.text import text
from wifair.reproduce.verifying import verify
from wifair.sweeps import VERSION


def _complete(_context: click.Context, _parameter: click.Parameter, start: str) -> list[str]:
    return [key for key in papers.KEYS if key.startswith(start)]


@click.command(name="reproduce")
@click.argument("what", nargs=-1, metavar="[PAPER[/EXPERIMENT|/CLAIM]]...", shell_complete=_complete)
@click.option("--full/--quick", "full", help="The papers' durations and more seeds, or a quick look (default).")
@click.option("--controls", is_flag=True, help="Judge each claim without its mechanism, too.")
@click.option("--nulls", is_flag=True, help="Judge each claim that holds with each of five generic nulls, too.")
@click.option(
    "--verify",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="Rerun what a reproduction.json records, and say what differs.",
)
@click.option("--out", metavar="DIR", type=click.Path(), help="Write the report into a folder: pages, figures, tables.")
@click.option("--force", is_flag=True, help="Update a report that is there, paper by paper.")
@click.option("--json", "as_json", is_flag=True, help="Print all results as JSON instead of tables.")
@click.option(
    "--store", metavar="DIR", type=click.Path(), help="Keep runs here; by default in the user's cache with --full."
)
@click.option("--threads", type=click.IntRange(min=1), metavar="N", help="Runs at the same time; all cores by default.")
@click.option("--quiet", "-q", is_flag=True, help="No progress on stderr.")
def reproduce_command(
    what: tuple[str, ...],
    full: bool,
    controls: bool,
    nulls: bool,
    verify: str | None,
    out: str | None,
    force: bool,
    as_json: bool,
    store: str | None,
    threads: int | None,
    quiet: bool,
) -> None:
    """Rerun the experiments of papers, draw their figures, judge their claims.

    A paper of your own is a folder: its path begins with `.` or `/`.

    With --full what was computed is kept: whatever interrupts it, the same command goes on where it stopped.

    Exit code 1 means that a claim which this version is recorded to confirm does not hold.

    \b
    Examples:
      wifair reproduce
      wifair reproduce jung2016 --full --controls --out report
      wifair reproduce lee2007/fig6 lee2007/fig7 --json
      wifair reproduce oda2012/access_prob --controls
      wifair reproduce ./my_paper --out report
      wifair reproduce lee2007 --nulls
      wifair reproduce --verify report/reproduction.json
    """  # noqa: D301
    if verify is not None:
        if what or out is not None or as_json or store is not None:
            fail("--verify takes everything from its file: no names, --out, --json or --store")
        refuse_others(["verify", "threads", "quiet"], "--verify")
        _verify(verify, threads, progress=not quiet)
        return
    try:
        select(what)
        place = store if store is not None else default_store() if full else None
        run = partial(
            reproduce, what, full=full, controls=controls, nulls=nulls, store=place, threads=threads, progress=not quiet
        )
        if out is not None:
            with trying("write to", out):
                prepare(out, force=force)
        if place is not None:
            _tell_of_others(place)
        outcome = run() if out is None else _report(run, out, full=full)
    except LookupError as error:
        fail(str(error.args[0]))
    if as_json:
        echo_json(outcome.to_dict())
    else:
        click.echo(text(outcome))
        if out is not None:
            click.echo(f"report: {out}/index.html{_without_figures()}")
    if outcome.broken():
        sys.exit(FAILED)


def _tell_of_others(store: str | os.PathLike[str]) -> None:
    """Say which runs a store has that this version does not use."""
    for version, runs in other_versions(store).items():
        click.echo(
            f"{store}: {runs} runs are of version {version}, this is {VERSION}: they are not used, and all is computed "
            "anew; delete the folder to be rid of them",
            err=True,
        )


def _verify(path: str, threads: int | None, *, progress: bool) -> None:
    try:
        with trying("read", path):
            found = verify(path, threads=threads, progress=progress)
    except LookupError as error:
        fail(str(error.args[0]))
    for line in found:
        click.echo(line)
    click.echo(f"{path}: {counted(len(found), 'difference')}" if found else f"{path}: reproduced, value for value")
    if found:
        sys.exit(FAILED)


def _without_figures() -> str:
    try:
        import matplotlib  # noqa: F401, PLC0415
    except ImportError:
        return " (without figures, which need matplotlib: pip install 'wifair[plot]')"
    return ""


def _report(run: Callable[..., Outcome], out: str, *, full: bool) -> Outcome:
    """Reproduce, and write the report meanwhile."""
    with trying("write to", out):
        report = Report(out, Effort.FULL if full else Effort.QUICK)
    with report:
        outcome = run(done=report.add)
        with trying("write to", out):
            report.finish(outcome)
    return outcome
