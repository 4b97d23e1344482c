"""`wifair sweep`."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import Executor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from wifair import Scenario, _core
from wifair._output.files import read_regular
from wifair._output.words import counted
from wifair.cli.common import (
    FAILED,
    INTERRUPTED,
    Seeds,
    complain,
    echo_json,
    fail,
    overrides_of,
    refuse_unused,
    trying,
)
from wifair.exceptions import Interrupted, StoppedError
from wifair.simulation.simulate import cores
from wifair.sweeps.compute import kept_of, limit_of
from wifair.sweeps.engines import WORKERS_S, Engine, Given, Processes, Threads
from wifair.sweeps.estimate import estimate, fitting
from wifair.sweeps.own_figures import Metrics, metric_named, metrics_of
from wifair.sweeps.points import Option, Points, rows_of
from wifair.sweeps.query import means, scenarios_differ, version_of
from wifair.sweeps.runs import Runs
from wifair.sweeps.schema import FILE
from wifair.sweeps.store import Store
from wifair.sweeps.summarising import SHOWN, averages
from wifair.sweeps.sweeping import WHOLE, Shard, Sweep, run_sweep
from wifair.sweeps.texts import Display, duration_text
from wifair.sweeps.work import Progress

MOST_FAILURES = 5


@click.command(name="sweep")
@click.argument("file", type=click.Path(allow_dash=True))
@click.option("--vary", multiple=True, metavar="PATH=VALUES", help="A parameter and its values; several span a grid.")
@click.option("--point", "listed", multiple=True, metavar="PATH=VALUE;...", help="A point; may be repeated.")
@click.option("--points", type=click.Path(), metavar="CSV", help="Points from a file whose header has the paths.")
@click.option("--samples", type=int, metavar="N", help="How often to draw the parameters that have a distribution.")
@click.option("--design", metavar="NAME", help="How samples lie: latin-hypercube (the default) or random.")
@click.option("--sample-seed", type=int, metavar="N", help="Seed of the samples.")
@click.option(
    "--seeds", type=Seeds(), metavar="LIST", help="Seeds of each point: 1..10; by default as FILE says, or 1."
)
@click.option("--stop-when", "rules", multiple=True, metavar="RULE", help="Add seeds until 'ci(FIGURE) < LIMIT' holds.")
@click.option("--most-seeds", type=int, metavar="N", help="Seeds of a point at most, for --stop-when; 100 by default.")
@click.option("--set", "changes", multiple=True, metavar="PATH=VALUE", help="Change a parameter of all points.")
@click.option("--duration", metavar="TIME", help="Simulated time of all points, as in '100 s'.")
@click.option("--out", metavar="DIR", type=click.Path(), help="The store: what it has is not computed again.")
@click.option(
    "--keep",
    "tables",
    type=click.Choice(["flows", "stations", "sessions", "nothing"]),
    multiple=True,
    help="Tables to keep of each run besides its figures; flows by default.",
)
@click.option("--series", metavar="TIME", help="Also keep series, sampled this far apart: '100 ms'.")
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="MODULE:FUNCTION",
    help="Also keep what a function returns for the results of a run, under its name or NAME=MODULE:FUNCTION.",
)
@click.option("--threads", type=click.IntRange(min=1), metavar="N", help="Runs at the same time; all cores by default.")
@click.option("--processes", type=click.IntRange(min=1), metavar="N", help="Processes instead: one can die alone.")
@click.option("--time-limit", metavar="TIME", help="Time that a run may take, as in '10 min': a longer one has failed.")
@click.option("--dask", metavar="ADDRESS", help="Compute on a Dask cluster, as in tcp://10.0.0.1:8786.")
@click.option("--shard", metavar="I/N", help="Only this share of the runs, for job arrays; see `wifair results merge`.")
@click.option("--yes", is_flag=True, help="Run also what is estimated to need more memory than is free.")
@click.option("--dry-run", is_flag=True, help="Print the number of runs and how long they will take.")
@click.option("--json", "as_json", is_flag=True, help="Print averages and failures as JSON.")
@click.option("--quiet", "-q", is_flag=True, help="No progress on stderr.")
def sweep_command(
    file: str,
    vary: tuple[str, ...],
    listed: tuple[str, ...],
    points: str | None,
    seeds: list[int] | None,
    rules: tuple[str, ...],
    changes: tuple[str, ...],
    duration: str | None,
    out: str | None,
    tables: tuple[str, ...],
    series: str | None,
    metrics: tuple[str, ...],
    threads: int | None,
    processes: int | None,
    time_limit: str | None,
    dask: str | None,
    shard: str | None,
    yes: bool,
    dry_run: bool,
    as_json: bool,
    quiet: bool,
    **settings: Any,
) -> None:
    """Simulate the scenario in FILE for many parameters and seeds, into a store.

    Without --vary, --point and --points, the [sweep] of FILE says what is varied. After any interruption the same
    command continues where it stopped. `wifair results DIR` then filters, groups, plots and exports.

    \b
    Values of --vary:
      'stations.count=2..20:2'                   a range; 1..64:*2 multiplies; 10..100 ms:10 has a unit
      'flows.tcp.cc=reno,vegas'                  a list
      'stations.count=2,4; ap.queue.limit=20 packets,40 packets'       lists that go together
      'servers.delay=loguniform(1 ms, 100 ms)'   drawn; also uniform, integers, choice
      'ap.queue.limit={2 * stations.count} packets'                    depends on others

    \b
    Examples:
      wifair sweep hot-spot.toml --vary 'stations.count=2..20:2' --seeds 1..10 --out results
      wifair sweep hot-spot.toml --vary flows.tcp.cc=reno,vegas --stop-when 'ci(jain) < 0.01' --seeds 1..5 --out results
      wifair sweep hot-spot.toml --vary 'servers.delay=uniform(1 ms, 99 ms)' --samples 200 --out results --dry-run
    """  # noqa: D301
    if out is None and not dry_run:
        raise click.UsageError("Missing option '--out': a folder for the results.")
    if sum(option is not None for option in (threads, processes, dask)) > 1:
        raise click.UsageError("--threads, --processes and --dask exclude each other")

    asked = _asked(
        file,
        [("--vary", text) for text in vary],
        [("--point", text) for text in listed] + (_listed(points) if points else []),
        overrides_of(changes, duration)
        + [
            (f"--{name.replace('_', '-')}", f"sweep.{name}={value}")
            for name, value in settings.items()
            if value is not None
        ],
        seeds,
        rules,
        shard,
    )
    if not quiet:
        for note in asked.points.said_of_groups():
            click.echo(note, err=True)
    if not asked.points.drawn:
        refuse_unused(["design", "sample_seed"], "changes nothing: no parameter has a distribution")
    if not asked.rules:
        refuse_unused(["most_seeds"], "needs --stop-when")
    if dry_run:
        refuse_unused(["as_json"], "changes nothing of --dry-run")
    kept = [name for name in tables if name != "nothing"] if tables else asked.points.base._core.tables
    if dry_run:
        _dry_run(asked, out, kept, series, threads or processes)
        return
    assert out is not None
    kept_of(kept, series)  # report wrong arguments before the store is created
    try:
        own = metrics_of(dict(metric_named(text, ".") for text in metrics))
        limit_s = limit_of(time_limit)
    except ValueError as error:
        fail(str(error))
    if dask is None and not yes:
        threads, processes = _fitting(asked, threads, processes, series)
    with ExitStack() as stack:
        engine = _engine(stack, threads, processes, dask, limit_s)
        store = stack.enter_context(Store(out))
        runs = _run(asked, store, engine, kept, series, own, quiet)
        _show(asked, runs, own.functions if own else (), as_json)
    if runs.failures:
        sys.exit(FAILED)


def _asked(
    file: str,
    axes: list[Option],
    listed: list[Option],
    overrides: list[Option],
    seeds: list[int] | None,
    rules: Iterable[str],
    shard: str | None,
) -> Sweep:
    """Read and check the whole sweep."""
    base = Scenario.from_file(file, overrides=overrides)
    given = [_core.stop_rule("--stop-when", text) for text in rules]
    points = Points(base, axes, listed)
    for option, change in overrides:
        path, _, value = change.partition("=")
        if path.strip() in points.paths:
            shown = f"{option} {value if option == '--duration' else change}"
            fail(f"`{shown}` sets nothing: each point has a `{path.strip()}` of its own; leave it out")
    try:
        return Sweep(points, seeds, rules=given, shard=WHOLE if shard is None else Shard.parse(shard))
    except ValueError as error:
        fail(str(error))


def _listed(path: str) -> list[Option]:
    with trying("read", path):
        try:
            text = read_regular(path).decode("utf-8-sig")
        except UnicodeDecodeError:
            fail(f"`{path}` is no text in UTF-8")
    return [(f"{path}:{line}", text) for line, text in rows_of(text, path)]


def _fitting(
    asked: Sweep, threads: int | None, processes: int | None, series: str | None
) -> tuple[int | None, int | None]:
    """Reduce the number of runs at the same time until they fit into memory."""
    step_ns = None if series is None else _core.sample_step(series)
    slots = fitting(asked, processes or threads or cores(), step_ns=step_ns)
    return (None, slots) if processes else (slots, None)


def _engine(
    stack: ExitStack, threads: int | None, processes: int | None, dask: str | None, limit_s: float | None
) -> Engine:
    if dask is not None:
        executor = _cluster(stack, dask)
        return Given(executor, limit_s)
    engine = Processes(processes, limit_s) if processes is not None else Threads(threads or cores(), limit_s)
    stack.callback(engine.close)
    return engine


def _cluster(stack: ExitStack, address: str) -> Executor:
    try:
        from distributed import Client  # noqa: PLC0415
    except ImportError:
        fail("--dask needs distributed: pip install 'wifair[dask]'")
    try:
        client = stack.enter_context(Client(address, timeout="10s"))
    except (OSError, ValueError, TimeoutError) as error:
        fail(f"cannot reach a Dask scheduler at `{address}`: {error}")
    try:
        client.wait_for_workers(1, timeout=WORKERS_S)
    except TimeoutError:
        fail(f"the Dask cluster at `{address}` has had no worker for {WORKERS_S:g} s: start some, then repeat", FAILED)
    except (OSError, ValueError) as error:
        fail(f"lost the Dask scheduler at `{address}`: {error}; repeat the command to go on", FAILED)
    executor: Executor = client.get_executor()
    return executor


def _run(
    asked: Sweep,
    store: Store,
    engine: Engine,
    kept: list[str],
    series: str | None,
    metrics: Metrics | None,
    quiet: bool,
) -> Runs:
    display = Display(asked, wanted=not quiet)
    last = Progress(asked.count())

    def report(progress: Progress) -> None:
        nonlocal last
        last = progress
        display.report(progress)

    try:
        runs = run_sweep(asked, store, engine, kept, series, report, metrics)
    except Interrupted:
        display.close()
        click.echo(
            f"interrupted: {last.done} of {last.total} runs are in `{store.path}`; repeat the command to go on",
            err=True,
        )
        sys.exit(INTERRUPTED)
    except StoppedError as error:
        display.close()
        complain(str(error))
        done = _count(asked, store, kept, series)
        click.echo(f"{done} of {last.total} runs are in `{store.path}`; repeat the command to go on", err=True)
        sys.exit(FAILED)
    display.close()
    if not quiet:
        click.echo(
            f"{counted(last.total, 'run')}: {last.computed} computed, {last.found} found in `{store.path}`", err=True
        )
    if scenarios_differ(store, store.labels(), version=version_of(store, [])[0]):
        click.echo(
            f"`{store.path}` also has runs of other scenarios with the same values: give a changed scenario another"
            " --out to keep them apart",
            err=True,
        )
    if runs.wide:
        have = "has" if runs.wide == 1 else "have"
        seeds = f"with {counted(asked.most_seeds, 'seed')}"
        click.echo(f"{counted(runs.wide, 'point')} still {have} too wide an interval {seeds}", err=True)
    return runs


def _count(asked: Sweep, store: Store, kept: list[str], series: str | None) -> int:
    """Count the runs of the sweep that the store has, whoever computed them."""
    done = store.done(kept_of(kept, series)[0])
    return sum(key in done for key in asked.runs())


def _show(asked: Sweep, runs: Runs, own: Iterable[str], as_json: bool) -> None:
    names = [name for name in asked.points.paths if name in runs.figures]
    if as_json:
        figures = [name for name in runs.figures if name not in (*names, "scenario", "seed")]
        table = means(runs.figures, names, figures).to_dicts() if len(runs.figures) else []
        echo_json({"points": table, "failures": [failure._asdict() for failure in runs.failures]})
    elif len(runs.figures):
        shown = [*SHOWN, *own]
        click.echo(averages(means(runs.figures, names, shown), names, shown))
    for failure in runs.failures[:MOST_FAILURES]:
        labels = ", ".join(f"{name}={value}" for name, value in failure.labels.items())
        what = f"{labels}, seed {failure.seed}" if labels else f"seed {failure.seed}"
        complain(f"{what} failed: {failure.message} (scenario {failure.scenario[:12]})")
    if len(runs.failures) > MOST_FAILURES:
        more = len(runs.failures) - MOST_FAILURES
        click.echo(f"... and {more} more: wifair results {runs.path} --failed", err=True)


def _dry_run(asked: Sweep, out: str | None, kept: list[str], series: str | None, slots: int | None) -> None:
    with ExitStack() as stack:
        there = out is not None and (Path(out) / FILE).exists()
        store = stack.enter_context(Store(out, create=False)) if there and out is not None else None
        done = store.done(kept_of(kept, series)[0]) if store is not None else set()
        missing = Counter(key.scenario for key in asked.runs() if key not in done)
        left = missing.total()
        slots = slots or cores()
        seconds = estimate(asked, missing, store)
    runs = (
        f"{counted(asked.count(), 'run')} ({counted(len(asked.points), 'point')}, {counted(len(asked.seeds), 'seed')})"
    )
    if done:
        runs += f", {asked.count() - left} of them done"
    if seconds is None:
        click.echo(f"{runs}; how long they take is not known: classes of the scenario's own are not run for that")
    else:
        about = duration_text(seconds / min(slots, max(left, 1)))
        click.echo(f"{runs}: about {about} on {slots} {'cores' if slots > 1 else 'core'}")
    if asked.rules:
        click.echo(f"and more seeds, up to {asked.most_seeds}, until {' and '.join(rule[0] for rule in asked.rules)}")
