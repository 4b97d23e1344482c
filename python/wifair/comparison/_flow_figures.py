"""Figures of single flows in a comparison, called `FIGURE: FLOW`."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable

from wifair.columns import Columns

LABELS = {
    "goodput_bps": "goodput",
    "rtt_mean_s": "RTT",
    "rtt_p95_s": "RTT 95 %",
    "retransmitted_fraction": "retransmitted",
    "timeouts": "timeouts",
    "owd_mean_s": "delay",
    "owd_p99_s": "delay 99 %",
    "jitter_s": "jitter",
    "loss_fraction": "lost",
    "mos": "MOS",
}
"""The figures of a flow that are shown by default, and their names."""
NEEDS = {"owd_mean_s": "mos", "owd_p99_s": "mos", "loss_fraction": "jitter_s"}
"""A figure is shown by default only beside this one: TCP has RTT and retransmissions instead of delay and loss."""
NO_FIGURES = ("seed", "connection")
"""Columns of numbers that measure nothing."""
MOST_NAMES = 8


def figures_of_flows(flows: Columns) -> dict[str, float]:
    """Collect every figure of every flow of a run.

    Parameters
    ----------
    flows : Columns
        The rows of the run in the table of flows.

    Returns
    -------
    dict
        Values by `FIGURE: FLOW`, flow by flow, NaN where a flow does not have the figure.
    """
    columns = {name: flows[name] for name in flows if name not in NO_FIGURES and flows[name].dtype.kind in "biuf"}
    found: dict[str, float] = {}
    for row, flow in enumerate(flows.to_list("name")):
        figures = {name: float(column[row]) for name, column in columns.items()}
        sent = figures.get("data_packets_sent", 0.0)
        figures["retransmitted_fraction"] = figures.get("retransmissions", math.nan) / sent if sent else math.nan
        found |= {f"{name}: {flow}": value for name, value in figures.items()}
    return found


def flow_of(figure: str) -> str:
    """Name of the flow, empty for a figure of the cell."""
    return figure.partition(": ")[2]


def label_of(figure: str) -> str:
    """Write the name of a flow's figure for readers, the flow first."""
    name, _, flow = figure.partition(": ")
    return f"{flow}: {LABELS.get(name, name)}"


def is_telling(figure: str, known: Collection[str]) -> bool:
    """Whether a flow's figure is shown by default, if the flow has the `known` ones."""
    name, _, flow = figure.partition(": ")
    return name in LABELS and (name not in NEEDS or f"{NEEDS[name]}: {flow}" in known)


def by_flow(figures: Iterable[str]) -> list[str]:
    """Group by flow, in order of first appearance, the figures that are shown by default first."""
    flows: dict[str, list[str]] = {}
    for figure in figures:
        flows.setdefault(flow_of(figure), []).append(figure)
    return [figure for group in flows.values() for figure in sorted(group, key=_rank)]


def _rank(figure: str) -> int:
    name = figure.partition(": ")[0]
    return list(LABELS).index(name) if name in LABELS else len(LABELS)


def only_in(side: str, flows: list[str]) -> str:
    """Write a note that only one side has these flows."""
    shown = ", ".join(flows[:MOST_NAMES]) + (f" and {len(flows) - MOST_NAMES} more" * (len(flows) > MOST_NAMES))
    return f"(only {side} has the flow{'s' * (len(flows) > 1)} {shown})"
