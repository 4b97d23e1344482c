"""`wifair explain`."""

from __future__ import annotations

import shutil

import click

from wifair import Scenario, run, sources
from wifair.cli.common import Seeds, echo_json, fail, overrides_of, trying
from wifair.explaining import explain


@click.command(name="explain")
@click.argument("source", type=click.Path(allow_dash=True))
@click.option("--seeds", type=Seeds(), metavar="LIST", help="Seeds of a scenario's runs; by default as it says.")
@click.option("--duration", metavar="TIME", help="Simulated time, as in '100 s'.")
@click.option("--set", "changes", multiple=True, metavar="PATH=VALUE", help="Change a parameter; may be repeated.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings with their figures as JSON.")
@click.option("--quiet", "-q", is_flag=True, help="No progress on stderr.")
def explain_command(
    source: str,
    seeds: list[int] | None,
    duration: str | None,
    changes: tuple[str, ...],
    as_json: bool,
    quiet: bool,
) -> None:
    """Say in words what happened and why: who gets what, what was dropped where, who waits for what.

    SOURCE is a scenario (.toml), which is run first, a folder of `wifair run --out` or of `wifair measure run`, or a
    capture. Every sentence rests on records, and gives the numbers.

    \b
    Examples:
      wifair explain hot-spot.toml
      wifair explain results/
      wifair explain capture.pcapng --json
    """  # noqa: D301
    if sources.is_scenario(source):
        scenario = Scenario.from_file(source, overrides=overrides_of(changes, duration))
        found: list[tuple[str, sources.Found]] = [
            (scenario.name, run(scenario, seeds=seeds, series="100 ms", progress=not quiet))
        ]
    else:
        if seeds is not None or duration is not None or changes:
            raise click.UsageError(f"--seeds, --duration and --set are for scenarios: `{source}` is none")
        with trying("read", source):
            found = sources.read(source)
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
