"""Fig. 2 and 3 of lee2007: who gets what when the access point does nothing about it; ns-2 beside it.

`python papers/lee2007/reproduce.py` prints the tables and draws out/lee2007_default.svg.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import wifair

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import shared  # noqa: E402

EXPERIMENTS = {"fig2a": (1, 4), "fig2b": (4, 4), "fig3": (14, 0)}


def run() -> dict[str, wifair.Results]:
    """Simulate the three experiments."""
    default = wifair.Scenario.from_file(HERE / "default.toml")
    uploads = wifair.Scenario.from_file(HERE / "uploads.toml")
    results = {}
    for name in shared.progress(list(EXPERIMENTS), "lee2007, Fig. 2 and 3"):
        up, down = EXPERIMENTS[name]
        results[name] = wifair.run(default.with_({"stations.sender.count": up}) if down else uploads)
    return results


def show(results: dict[str, wifair.Results]) -> None:
    """Print a row for each experiment: ns-2's runs, and the range of ours."""
    known = shared.expected(HERE)
    rows = []
    for name, (up, down) in EXPERIMENTS.items():
        cells, summary = results[name].cells, results[name].summary
        theirs = [row for row in known if row["experiment"] == name]

        def ours(column: str, form: str, cells: wifair.Columns = cells) -> str:
            return f"{np.min(cells[column]):{form}} to {np.max(cells[column]):{form}}"

        rows.append(
            (
                f"{name}: {up} up, {down} down",
                ", ".join(f"{float(row['goodput_mbps']):.2f}" for row in theirs),
                f"{summary['goodput_bps'].mean / 1e6:.2f}",
                ", ".join(f"{float(row['jain_index']):.2f}" for row in theirs),
                ours("jain_index", ".2f"),
                ", ".join(f"{float(row['up_down_ratio']):.3g}" for row in theirs if row["up_down_ratio"]) or "-",
                ours("up_down_ratio", ".3g") if down else "-",
                f"{len(results[name].flows['name']) / len(cells['seed']) * summary['starved_fraction'].mean:.1f}",
            )
        )
    print("lee2007, Fig. 2 and 3, no scheme: ns-2's runs, and 20 seeds here\n")
    heads = ("", "Mb/s ns-2", "wifair", "Jain ns-2", "wifair", "up/down ns-2", "wifair", "starved flows")
    shared.table(heads, rows)


def draw(results: dict[str, wifair.Results], path: Path) -> None:
    """Draw the bytes that each flow received: bars are means, points are seeds."""
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(8, 2.9), layout="constrained")
    panels = figure.subplots(1, 3, width_ratios=[5, 8, 14])
    for axes, (name, result) in zip(panels, results.items()):
        seeds = len(result.seeds)
        received = np.asarray(result.flows["received_bytes"], dtype=np.float64).reshape(seeds, -1) / 1e6
        up = result.flows["direction"].reshape(seeds, -1)[0] == "up"
        at = np.arange(received.shape[1])
        for mask, colour, label in ((up, "#E69F00", "up"), (~up, "#56B4E9", "down")):
            if mask.any():
                axes.bar(at[mask], received[:, mask].mean(axis=0), color=colour, label=label)
        axes.plot(np.tile(at, seeds), received.ravel(), ".", color="black", markersize=2, alpha=0.5)
        axes.set_title({"fig2a": "Fig. 2a", "fig2b": "Fig. 2b", "fig3": "Fig. 3"}[name], fontsize=10)
        axes.set_xticks(at, [str(i + 1) for i in at], fontsize=8)
        axes.set_xlabel("flow")
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("received [MB]")
    handles, labels = panels[1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    shared.save(figure, path)


def main() -> None:
    """Print and draw."""
    results = run()
    show(results)
    path = shared.OUT / "lee2007_default.svg"
    draw(results, path)
    print(f"\nfigure: {shared.shown(path)}")


if __name__ == "__main__":
    main()
