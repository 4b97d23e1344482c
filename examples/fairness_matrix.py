"""Every pair of congestion controls on a wired bottleneck and in a WLAN upload cell, as two coloured tables.

Two flows share the bottleneck. The figure shows what the one of the row gets of what both get: 50 % is fair, blue is
more, red is less.

    python examples/fairness_matrix.py --out matrix.png
    python examples/fairness_matrix.py --algorithms reno cubic bbr vegas --seeds 3 --out small.png
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations_with_replacement
from pathlib import Path

import numpy as np
import wifair
from numpy.typing import NDArray

# Left out: udt and tsunami set rates instead of windows, dctcp needs marks, and linux is reno in whole segments.
ALGORITHMS = [
    "tahoe", "reno", "newreno", "vegas", "vegas-fair", "vegas-adaptive", "westwood", "westwood-plus",
    "westwood-nr", "compound", "compound-plus", "ctcp-tube", "highspeed", "scalable", "bic", "cubic", "htcp",
    "hybla", "illinois", "veno", "fast", "yeah", "fusion", "areno", "shimonishi", "ack-loss", "ledbat", "bbr",
    "bbr3",
]  # fmt: skip
# Receivers delay ACKs: without loss each ACK covers two segments.
PARAMETERS: dict[str, dict[str, object]] = {"ack-loss": {"segments_per_ack": 2}}

COMMON = """
duration = "60 s"
warm_up = "10 s"
[tcp]
stack = "modern"
[[flows]]
name = "a"
{ends_a}
start_spread = "1 s"
[[flows]]
name = "b"
{ends_b}
start_spread = "1 s"
"""

# 20 Mb/s, 40 ms, a buffer of one bandwidth-delay product.
WIRED = """
[[servers]]
name = "left"
count = 2
at = "west"
rate = "1 Gb/s"
[[servers]]
name = "right"
at = "east"
rate = "1 Gb/s"
[[routers]]
name = "west"
[[routers]]
name = "east"
[[links]]
from = "west"
to = "east"
rate = "20 Mb/s"
delay = "20 ms"
queue.limit = "67 packets"
"""

# 802.11g; the bottleneck is the access point's buffer, which holds the ACKs.
WLAN = """
[wlan]
standard = "802.11g"
[ap]
queue.limit = "50 packets"
[[servers]]
name = "server"
delay = "20 ms"
[[stations]]
name = "left"
count = 2
queue.limit = "50 packets"
"""

ENDS = {
    "wired bottleneck": (WIRED, 'from = "left1"\nto = "right"', 'from = "left2"\nto = "right"'),
    "WLAN uploads": (WLAN, 'from = "left1"\nto = "server"', 'from = "left2"\nto = "server"'),
}


def scenario(place: str) -> wifair.Scenario:
    """Write the scenario of a bottleneck: flows `a` and `b` share it."""
    network, a, b = ENDS[place]
    return wifair.Scenario.from_text(COMMON.format(ends_a=a, ends_b=b) + network, name=place)


def share(base: wifair.Scenario, a: str, b: str, seeds: int) -> tuple[float, float]:
    """Run a pair: the part of the goodput that `a` gets, and the goodput of both [Mb/s], means over the seeds."""
    changes: dict[str, object] = {}
    for flow, algorithm in (("a", a), ("b", b)):
        changes[f"flows.{flow}.tcp.cc"] = algorithm
        changes |= {
            f"flows.{flow}.tcp.{algorithm}.{key}": value for key, value in PARAMETERS.get(algorithm, {}).items()
        }
    flows = wifair.run(base.with_(changes), seeds=range(1, seeds + 1), threads=1).flows
    first, second = (flows.filter(name=name)["goodput_bps"] for name in ("a", "b"))
    return float(np.mean(first / (first + second))), float(np.mean(first + second)) / 1e6


def matrix(place: str, algorithms: Sequence[str], seeds: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """All pairs: shares of the row against the column, and goodput of both."""
    base = scenario(place)
    pairs = list(combinations_with_replacement(range(len(algorithms)), 2))
    shares, totals = np.full((2, len(algorithms), len(algorithms)), np.nan)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = pool.map(lambda pair: share(base, algorithms[pair[0]], algorithms[pair[1]], seeds), pairs)
        for number, ((row, column), (part, total)) in enumerate(zip(pairs, found, strict=True), 1):
            shares[row, column], shares[column, row] = part, 1.0 - part
            totals[row, column] = totals[column, row] = total
            print(f"\r{place}: {number} of {len(pairs)} pairs", end="", file=sys.stderr)
    # A flow against its own kind gets half; the diagonal leaves out the scatter of the seeds.
    np.fill_diagonal(shares, 0.5)
    print(file=sys.stderr)
    return shares, totals


def draw(found: dict[str, NDArray[np.float64]], algorithms: Sequence[str], out: Path) -> None:
    """Draw the tables side by side."""
    import matplotlib as mpl  # noqa: PLC0415

    mpl.use("agg")
    from matplotlib.figure import Figure  # noqa: PLC0415

    side = 1.6 + 0.24 * len(algorithms)
    figure = Figure(figsize=(2 * side + 0.8, side), layout="constrained")
    panels = figure.subplots(1, len(found), squeeze=False)[0]
    for axes, (place, shares) in zip(panels, found.items(), strict=True):
        image = axes.imshow(100 * shares, cmap="RdBu", vmin=0, vmax=100)
        axes.set_title(place)
        axes.set_xticks(range(len(algorithms)), algorithms, rotation=90, fontsize=7)
        axes.set_yticks(range(len(algorithms)), algorithms, fontsize=7)
        axes.set_xlabel("against")
        for row, column in np.ndindex(*shares.shape):
            value = 100 * shares[row, column]
            colour = "white" if abs(value - 50) > 30 else "black"
            axes.text(column, row, f"{value:.0f}", ha="center", va="center", fontsize=5, color=colour)
    figure.colorbar(image, ax=panels, label="share of the row's flow [%]", shrink=0.7)
    figure.savefig(out, dpi=160)


def main() -> None:
    """Read the command line, run, print who takes most, draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--algorithms", nargs="+", default=ALGORITHMS, metavar="NAME", help="as `wifair list` names them"
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("fairness_matrix.png"))
    given = parser.parse_args()
    found = {}
    for place in ENDS:
        shares, totals = matrix(place, given.algorithms, given.seeds)
        found[place] = shares
        print(f"{place}: mean share against all others, least and greatest total of a pair [Mb/s]")
        for index in np.argsort(-shares.mean(axis=1)):
            print(
                f"  {given.algorithms[index]:16} {100 * shares[index].mean():5.1f} %   "
                f"{totals[index].min():6.2f} {totals[index].max():6.2f}"
            )
    draw(found, given.algorithms, given.out)
    print(f"figure in {given.out}")


if __name__ == "__main__":
    main()
