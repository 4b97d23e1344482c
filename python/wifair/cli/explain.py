"""`wifair explain`."""

from __future__ import annotations

import shutil

import click

from wifair import Scenario, run, what_helps
from wifair._output.words import counted
from wifair.cli.common import Seeds, echo_json, fail, overrides_of, trying
from wifair.comparison import sources
from wifair.explaining import explain
from wifair.sweeps.query import Condition, ask, select, version_of
from wifair.sweeps.store import Store


@click.command(name="explain")
@click.argument("source", type=click.Path(allow_dash=True))
@click.option("--seeds", type=Seeds(), metavar="LIST", help="Seeds of a scenario's runs; by default as it says.")
@click.option(
    "--where", multiple=True, metavar="COND", help="Of a sweep, the point with stations.count=4; may be repeated."
)
@click.option("--duration", metavar="TIME", help="Simulated time, as in '100 s'.")
@click.option("--set", "changes", multiple=True, metavar="PATH=VALUE", help="Change a parameter; may be repeated.")
@click.option(
    "--try",
    "tries",
    is_flag=True,
    help="Run what may help a scenario, over 10 pairs of seeds, and say what does, by how much, and at what price.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the findings with their figures as JSON.")
@click.option("--quiet", "-q", is_flag=True, help="No progress on stderr.")
def explain_command(
    source: str,
    seeds: list[int] | None,
    where: tuple[str, ...],
    duration: str | None,
    changes: tuple[str, ...],
    tries: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Say in words what happened and why: who gets what, what was dropped where, who waits for what.

    SOURCE is a scenario (.toml), which is run first, a folder of `wifair run --out` or of `wifair measure run`, the
    store of a sweep, of which one point is run again, or a capture. Every sentence rests on records, and gives the
    numbers.

    \b
    Examples:
      wifair explain hot-spot.toml
      wifair explain hot-spot.toml --try
      wifair explain results/
      wifair explain store --where stations.count=8
      wifair explain capture.pcapng --json
    """  # noqa: D301
    is_store = sources.is_store(source)
    if where and not is_store:
        raise click.UsageError(f"--where chooses a point of a sweep: `{source}` is no store of one")
    if not is_store and not sources.is_scenario(source):
        if seeds is not None or duration is not None or changes or tries:
            raise click.UsageError(f"--seeds, --duration, --set and --try are for scenarios: `{source}` is none")
        with trying("read", source):
            found = sources.read(source)
    else:
        overrides = overrides_of(changes, duration)
        if is_store:
            scenario, of_point = _point(source, where)
            scenario, seeds = scenario._changed(overrides), of_point if seeds is None else seeds
        else:
            scenario = Scenario.from_file(source, overrides=overrides)
        if tries:
            # Few seeds of a point make no intervals.
            _show_what_helps(scenario, None if is_store else seeds, as_json=as_json, quiet=quiet)
            return
        found = [(scenario.name, run(scenario, seeds=seeds, progress=not quiet))]
    explanations = []
    for name, results in found:
        try:
            explanation = explain(results)
        except ValueError as error:
            fail(f"{source}: {error}")
        explanation.name = name
        explanations.append(explanation)
    if as_json:
        documents = [explanation.to_dict() for explanation in explanations]
        echo_json(documents[0] if len(documents) == 1 else documents)
    else:
        width = min(max(shutil.get_terminal_size().columns, 60), 110)
        click.echo("\n\n".join(explanation.text(width) for explanation in explanations))


def _point(path: str, where: tuple[str, ...]) -> tuple[Scenario, list[int]]:
    """Read the scenario of the one point of a store that meets conditions, and the seeds of its runs."""
    with trying("read", path), Store(path, create=False) as store:
        conditions = [Condition.parse(text) for text in where]
        names = store.labels()
        version, _ = version_of(store, conditions)
        runs = select(store, ask(store, where=conditions, columns=[*names, "scenario", "seed"], version=version))
        chosen = sorted(set(runs["scenario"].tolist()))
        if len(chosen) != 1:
            varied = ", ".join(f"`{name}`" for name in names) or "nothing"
            points = f"{counted(len(chosen), 'point')} of `{path}` meet the conditions"
            fail(f"{points}: choose one by --where NAME=VALUE; what was varied is {varied}")
        text = store.scenario_text(chosen[0])
    labels = ", ".join(f"{name}={runs[name][0]}" for name in names)
    scenario = Scenario.from_text(text, name=f"{path}: {labels}" if labels else path)
    return scenario, sorted({int(seed) for seed in runs["seed"]})


def _show_what_helps(scenario: Scenario, seeds: list[int] | None, *, as_json: bool, quiet: bool) -> None:
    try:
        found = what_helps(scenario, seeds=seeds, progress=not quiet)
    except ValueError as error:
        fail(str(error))
    if as_json:
        echo_json(found.to_dict())
    else:
        click.echo(found.text())
