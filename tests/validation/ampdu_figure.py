"""Draws docs/figures/validation-ampdu.svg: goodput over the longest A-MPDU and the number of stations, beside ns-3.

``python tests/validation/ampdu_figure.py``; saturated uploads of 802.11n, MCS 7, 20 MHz (cases a and c of ns-3's runs).
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
import wifair
from high_throughput import rows, scenario, values
from matplotlib.figure import Figure
from model import goodput

TARGET = Path(__file__).parents[2] / "docs" / "figures" / "validation-ampdu.svg"
SIZES = (0, 3_200, 6_400, 12_800, 25_600, 40_000, 65_535)
SEEDS = range(1, 6)


def main() -> None:
    # Rows in which data are sent again after a missing block ACK; without aggregation there is none.
    groups = [group for group in rows("c") if "0" in (group[0]["bar_after_missed_ba"], group[0]["ampdu_max"])]
    ns3 = {(int(group[0]["n"]), int(group[0]["ampdu_max"])): values(group, "goodput_mbps") for group in groups}
    with mpl.rc_context({"svg.hashsalt": "wifair", "font.size": 8}):
        figure = Figure(figsize=(7.2, 2.8), layout="constrained")
        axes = figure.subplots()
        for place, n in enumerate(sorted({n for n, _ in ns3})):
            row = next(group[0] for group in groups if int(group[0]["n"]) == n)
            base = wifair.Scenario.from_text(scenario(row))
            ours = []
            for size in SIZES:
                changes = {"max_ampdu": f"{size} B", "request_after_miss": False}
                one = base.with_({f"wlan.aggregation.{key}": value for key, value in changes.items()})
                ours.append(float(np.mean(goodput(wifair.run(one, seeds=list(SEEDS))))))
            axes.plot(
                [size / 1e3 for size in SIZES], ours, color=f"C{place}", label=f"{n} station{'s' if n > 1 else ''}"
            )
            for size, theirs in ((size, ns3[n, size]) for size in (0, 65_535) if (n, size) in ns3):
                axes.plot([size / 1e3], [np.mean(theirs)], "o", color=f"C{place}", markerfacecolor="none")
        axes.plot([], [], "ko", markerfacecolor="none", label="ns-3")
        axes.set_xlabel("longest A-MPDU [kB]")
        axes.set_ylabel("goodput [Mb/s]")
        axes.set_ylim(bottom=0)
        axes.legend(loc="lower right")
        figure.savefig(TARGET, metadata={"Date": None})


if __name__ == "__main__":
    main()
