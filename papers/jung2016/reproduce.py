"""Table 1 of jung2016: published, in ns-2, here.

`python papers/jung2016/reproduce.py` prints the table and draws out/jung2016_table1.svg.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import wifair

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import shared  # noqa: E402

COLUMNS = [("udp", "down"), ("udp", "up"), ("tcp", "down"), ("tcp", "up")]
NODES = [1, 2, 4, 8]


class Cell(NamedTuple):
    """A cell of the table, in Mb/s."""

    transport: str
    direction: str
    nodes: int
    published: float
    ns2: float
    measured: float
    half_width: float


def run() -> list[Cell]:
    """Simulate all cells."""
    scenarios = {
        "tcp": wifair.Scenario.from_file(HERE / "table1.toml"),
        "udp": wifair.Scenario.from_file(HERE / "table1_udp.toml"),
    }
    cells = []
    for row in shared.progress(shared.expected(HERE), "jung2016, Table 1"):
        transport, direction, nodes = row["transport"], row["direction"], int(row["n"])
        changes: dict[str, object] = {"stations.count": nodes, "flows.direction": direction}
        if transport == "udp":
            changes["flows.udp.payload"] = "1520 B" if direction == "up" else "1500 B"
        mean, half_width = wifair.run(scenarios[transport].with_(changes)).summary["goodput_bps"]
        known = float(row["published_mbps"]), float(row["ns2_mbps"])
        cells.append(Cell(transport, direction, nodes, *known, mean / 1e6, half_width / 1e6))
    return cells


def show(cells: list[Cell]) -> None:
    """Print the table."""
    rows = [
        (
            f"{cell.transport.upper()} {cell.direction}, {cell.nodes} node{'s' * (cell.nodes > 1)}",
            f"{cell.published:.2f}",
            f"{cell.ns2:.2f}",
            f"{cell.measured:.2f} \u00b1 {cell.half_width:.2f}",
            f"{100 * (cell.measured / cell.published - 1):+.1f} %",
            f"{100 * (cell.measured / cell.ns2 - 1):+.1f} %",
        )
        for cell in cells
    ]
    print("jung2016, Table 1: aggregate throughput [Mb/s], 95 % intervals over 5 seeds\n")
    shared.table(("", "published", "ns-2", "wifair", "to paper", "to ns-2"), rows)


def draw(cells: list[Cell], path: Path) -> None:
    """Draw the table as a figure."""
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(8, 2.9), layout="constrained")
    panels = figure.subplots(1, 4, sharey=True)
    for axes, (transport, direction) in zip(panels, COLUMNS):
        column = [cell for cell in cells if (cell.transport, cell.direction) == (transport, direction)]
        at = range(len(NODES))
        axes.bar(at, [c.measured for c in column], 0.7, color="#56B4E9", label="wifair")
        axes.errorbar(
            at, [c.measured for c in column], [c.half_width for c in column], fmt="none", ecolor="black", elinewidth=1
        )
        axes.plot(at, [c.ns2 for c in column], "x", color="#0072B2", markersize=7, label="ns-2")
        axes.plot(at, [c.published for c in column], "o", color="#D55E00", markersize=5, label="published")
        axes.set_xticks(at, [str(n) for n in NODES])
        axes.set_title(f"{transport.upper()} {direction}load", fontsize=10)
        axes.set_xlabel("nodes")
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("all flows [Mb/s]")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    shared.save(figure, path)


def main() -> None:
    """Print and draw."""
    cells = run()
    show(cells)
    path = shared.OUT / "jung2016_table1.svg"
    draw(cells, path)
    print(f"\nfigure: {shared.shown(path)}")


if __name__ == "__main__":
    main()
