"""`wifair reproduce`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from wifair.cli.common import FAILED, WRONG, echo_json, fail, reason

if TYPE_CHECKING:
    from wifair.reproduce import Outcome

__all__ = ["reproduce_command"]


def _complete(_context: click.Context, _parameter: click.Parameter, start: str) -> list[str]:
    from wifair import papers  # noqa: PLC0415

    return [key for key in papers.KEYS if key.startswith(start)]


@click.command(name="reproduce")
@click.argument("what", nargs=-1, metavar="[PAPER[/EXPERIMENT]]...", shell_complete=_complete)
@click.option(
    "--full/--quick", "full", help="The papers' durations and repetitions, or a look within seconds (default)."
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
    out: str | None,
    force: bool,
    as_json: bool,
    store: str | None,
    threads: int | None,
    quiet: bool,
) -> None:
    """Rerun the experiments of papers, draw their figures, judge their claims.

    With --full what was computed is kept: whatever interrupts it, the same command goes on where it stopped.

    Exit code 1 means that a claim which this version is recorded to confirm does not hold.

    \b
    Examples:
      wifair reproduce
      wifair reproduce jung2016 --full --out report
      wifair reproduce lee2007/fig6 lee2007/fig7 --json
    """  # noqa: D301
    from wifair.reproduce import reproduce, select  # noqa: PLC0415
    from wifair.reproduce.runner import default_store  # noqa: PLC0415
    from wifair.reproduce.text import text  # noqa: PLC0415

    try:
        select(what)
        if out is not None:
            _prepare(out, force)
        place = store if store is not None else default_store() if full else None
        outcome = reproduce(what, full=full, store=place, threads=threads, progress=not quiet)
    except LookupError as error:
        fail(str(error.args[0]), WRONG)
    if out is not None:
        _write(outcome, out)
    if as_json:
        echo_json(outcome.to_dict())
    else:
        click.echo(text(outcome))
        if out is not None:
            click.echo(f"report: {out}/index.html{_without_figures()}")
    if outcome.broken():
        sys.exit(FAILED)


def _without_figures() -> str:
    try:
        import matplotlib  # noqa: F401, PLC0415
    except ImportError:
        return " (without figures, which need matplotlib: pip install 'wifair[plot]')"
    return ""


def _prepare(out: str, force: bool) -> None:
    from wifair.reproduce.report import prepare  # noqa: PLC0415

    try:
        prepare(out, force=force)
    except FileExistsError as error:
        fail(str(error), WRONG)
    except OSError as error:
        fail(f"cannot write to `{out}`: {reason(error)}", WRONG)


def _write(outcome: Outcome, out: str) -> None:
    from wifair.reproduce.report import write  # noqa: PLC0415

    try:
        write(outcome, out)
    except FileExistsError as error:
        fail(str(error), WRONG)
    except OSError as error:
        fail(f"cannot write to `{out}`: {reason(error)}", WRONG)
