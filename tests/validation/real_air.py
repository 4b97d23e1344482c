"""What others measured over the air beside what is predicted, as in docs/real-air.md.

    python tests/validation/real_air.py                all of them; writes docs/validation/real-air.csv and the table
    python tests/validation/real_air.py --only linux   those of one source, without writing

`real_air.toml` has the networks and the measurements. The networks were written before the first run, and have not
been changed by what it found.
"""

from __future__ import annotations

import csv
import functools
import itertools
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
from wifair import Results, Scenario, run

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs"
SEEDS = (1, 2, 3)
DESCRIBED: dict[str, Any] = tomllib.loads((HERE / "real_air.toml").read_text())


@dataclass(frozen=True)
class Row:
    """A measurement and the range of predictions: the least and the most over all values of what is not known."""

    source: str
    name: str
    unit: str
    measured: float
    least: float
    most: float
    nearest: str
    """The values of what is not known that come nearest."""
    afterwards: str
    """What was tried after a miss, and its range."""

    @property
    def deviation(self) -> float:
        """How far the measurement is outside the range, as a part of its nearer end; 0 within it."""
        end = min(max(self.measured, self.least), self.most)
        return self.measured / end - 1


def networks(name: str, known: Mapping[str, str]) -> Iterator[tuple[dict[str, str], str]]:
    """Write the scenario of a network for each combination of what is not known."""
    network = DESCRIBED["network"][name]
    scenario = DESCRIBED["network"][network.get("like", name)]["scenario"]
    for values in itertools.product(*network["open"].values()):
        open_values = dict(zip(network["open"], values, strict=True))
        text = scenario
        for old, new in network.get("change", ()):
            text = text.replace(old, new)
        for word, given in {**known, **open_values}.items():
            text = text.replace(f"<{word}>", given)
        yield open_values, text


@functools.cache
def found(scenario: str) -> Results:
    """Run a scenario."""
    return run(Scenario.from_text(scenario), seeds=SEEDS)


def value(results: Results, quantity: str) -> float:
    """Take a quantity from results, a mean over the seeds."""
    flows = results.flows
    names = np.asarray(flows["name"])
    if quantity.startswith("rtt "):
        chosen = np.char.startswith(names, quantity[4:])
        return float(np.nanmean(np.asarray(flows["rtt_mean_s"], float)[chosen])) * 1e3
    chosen = np.char.startswith(names, quantity) & ~np.char.startswith(names, "echo")
    return float(np.asarray(flows["goodput_bps"], float)[chosen].sum()) / len(SEEDS) / 1e6


def values(measurement: Mapping[str, Any], network: str) -> Iterator[tuple[float, dict[str, str]]]:
    """Run a network for a measurement, for each combination of what is not known."""
    quantity, known = measurement["quantity"], measurement["with"]
    for open_values, scenario in networks(network, known):
        if quantity == "gain":
            [(_, beside)] = networks(DESCRIBED["network"][network]["beside"], known)
            yield (value(found(scenario), "") / value(found(beside), "") - 1) * 100, open_values
        else:
            yield value(found(scenario), quantity), open_values


def predicted(source: str, measurement: Mapping[str, Any]) -> Row:
    """Predict a measurement."""
    quantity, measured = measurement["quantity"], measurement["measured"]
    of_all = list(values(measurement, measurement["network"]))
    nearest = min(of_all, key=lambda each: abs(each[0] - measured))[1]
    unit = "%" if quantity == "gain" else "ms" if quantity.startswith("rtt ") else "Mb/s"
    afterwards = ""
    if network := measurement.get("afterwards"):
        numbers = [number for number, _ in values(measurement, network)]
        afterwards = f"with {DESCRIBED['network'][network]['tried']}: {min(numbers):.3g} to {max(numbers):.3g}"
    numbers = [number for number, _ in of_all]
    words = ", ".join(f"{name} {given}" for name, given in nearest.items())
    return Row(source, measurement["name"], unit, measured, min(numbers), max(numbers), words, afterwards)


def table(rows: list[Row]) -> list[str]:
    """Write the table of a source in Markdown."""
    lines = ["| measured | | predicted | | tried afterwards |", "| --- | ---: | ---: | --- | --- |"]
    for row in rows:
        verdict = "within" if row.deviation == 0 else f"{row.deviation:+.0%}"
        numbers = f"{row.measured:.4g} {row.unit} | {row.least:.4g} to {row.most:.4g}"
        lines.append(f"| {row.name} | {numbers} | {verdict} | {row.afterwards} |")
    return lines


def counted(rows: list[Row]) -> str:
    """Count hits, in words."""
    hits = sum(row.deviation == 0 for row in rows)
    near = sum(abs(row.deviation) <= 0.1 for row in rows)
    return f"Of {len(rows)} measurements {hits} are within the predicted range, and {near} within 10 % of it."


@click.command()
@click.option("--only", help="A source.")
def main(only: str | None) -> None:
    """Predict all measurements and write them beside what was measured."""
    rows = []
    page = []
    for source in DESCRIBED["source"]:
        if only not in (None, source["key"]):
            continue
        of_source = [predicted(source["key"], measurement) for measurement in source["measurements"]]
        rows += of_source
        page += [f"**{source['title']}**", "", *table(of_source), ""]
        click.echo("\n".join(page[-len(of_source) - 5 :]))
    narrow = [row for row in rows if row.most <= 2 * row.least]
    summary = f"{counted(rows)} Ranges wider than a factor of two prove little; without them: {counted(narrow).lower()}"
    click.echo(summary)
    if only is None:
        with (DOCS / "validation" / "real-air.csv").open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(
                ["source", "measurement", "unit", "measured", "least", "most", "deviation", "nearest", "afterwards"]
            )
            for row in rows:
                numbers = (f"{number:.4g}" for number in (row.measured, row.least, row.most, row.deviation))
                writer.writerow([row.source, row.name, row.unit, *numbers, row.nearest, row.afterwards])
        text = (DOCS / "real-air.md").read_text()
        start, end = "<!-- table -->\n", "<!-- end of table -->"
        before, after = text.split(start)[0], text.split(end)[1]
        (DOCS / "real-air.md").write_text(f"{before}{start}{summary}\n\n" + "\n".join(page) + end + after)


if __name__ == "__main__":
    main()
