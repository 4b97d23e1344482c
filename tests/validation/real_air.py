"""What others measured over the air beside what is predicted, as in docs/real-air.md.

    python tests/validation/real_air.py              all measurements; writes docs/validation/real-air.csv and the page's table
    python tests/validation/real_air.py --only linux   those of one source, without writing

`real_air.toml` has the networks and the measurements. The networks were written before the first run, and have not
been changed by what it found.
"""

from __future__ import annotations

import csv
import functools
import itertools
import re
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

    @property
    def deviation(self) -> float:
        """How far the measurement is outside the range, as a part of its nearer end; 0 within it."""
        end = min(max(self.measured, self.least), self.most)
        return self.measured / end - 1


def networks(name: str, known: Mapping[str, str]) -> Iterator[tuple[dict[str, str], str]]:
    """Write the scenario of a network for each combination of what is not known."""
    network = DESCRIBED["network"][name]
    for values in itertools.product(*network["open"].values()):
        open_values = dict(zip(network["open"], values, strict=True))
        words = {**known, **open_values}
        yield open_values, re.sub(r"<(\w+)>", lambda word: words[word[1]], network["scenario"])


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


def predicted(source: str, measurement: Mapping[str, Any]) -> Row:
    """Predict a measurement."""
    quantity, measured, known = measurement["quantity"], measurement["measured"], measurement["with"]
    values = []
    for open_values, scenario in networks(measurement["network"], known):
        if quantity == "gain":
            [(_, beside)] = networks(DESCRIBED["network"][measurement["network"]]["beside"], known)
            of_both = [value(found(text), "") for text in (scenario, beside)]
            values.append(((of_both[0] / of_both[1] - 1) * 100, open_values))
        else:
            values.append((value(found(scenario), quantity), open_values))
    nearest = min(values, key=lambda each: abs(each[0] - measured))[1]
    unit = "%" if quantity == "gain" else "ms" if quantity.startswith("rtt ") else "Mb/s"
    words = ", ".join(f"{name} {given}" for name, given in nearest.items())
    numbers = [each[0] for each in values]
    return Row(source, measurement["name"], unit, measured, min(numbers), max(numbers), words)


def table(rows: list[Row]) -> list[str]:
    """Write the table of a source in Markdown."""
    lines = ["| measured | | predicted | |", "| --- | ---: | ---: | --- |"]
    for row in rows:
        verdict = "within" if row.deviation == 0 else f"{row.deviation:+.0%}"
        lines.append(f"| {row.name} | {row.measured:.4g} {row.unit} | {row.least:.3g} to {row.most:.3g} | {verdict} |")
    return lines


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
    hits = sum(row.deviation == 0 for row in rows)
    near = sum(abs(row.deviation) <= 0.1 for row in rows)
    summary = f"{hits} of {len(rows)} measurements are within the range that was predicted, {near} within 10 % of it."
    click.echo(summary)
    if only is None:
        with (DOCS / "validation" / "real-air.csv").open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["source", "measurement", "unit", "measured", "least", "most", "deviation", "nearest"])
            for row in rows:
                numbers = (f"{number:.4g}" for number in (row.measured, row.least, row.most, row.deviation))
                writer.writerow([row.source, row.name, row.unit, *numbers, row.nearest])
        text = (DOCS / "real-air.md").read_text()
        start, end = "<!-- table -->\n", "<!-- end of table -->"
        before, after = text.split(start)[0], text.split(end)[1]
        (DOCS / "real-air.md").write_text(f"{before}{start}{summary}\n\n" + "\n".join(page) + end + after)


if __name__ == "__main__":
    main()
