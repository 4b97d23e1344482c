"""Datagrams as calls, echoes, and connections that were not made."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from wifair.columns import Columns
from wifair.report import percent, rate, time
from wifair.words import counted, often

from .records import FEW, Finding, Means, Records, some

SATISFIED = 70
"""Below this R-factor many users are dissatisfied (ITU-T G.109)."""


def calls(r: Records) -> Iterator[Finding]:
    """How datagrams would sound as a call, where that is not good."""
    if "r_factor" not in r.flows:
        return
    # Another discipline helps where packets wait at the access point.
    advice = ("ap.queue.discipline=fq-codel",) if r.cell.get("ap_queue_mean_packets", math.nan) > 1 else ()
    yield from _bad_calls(r.flows, r.flows.names, advice)


def _bad_calls(table: Columns | Means, names: list[str], advice: tuple[str, ...] = ()) -> Iterator[Finding]:
    """Say why the worst call sounds bad, and how many more do."""
    rating = table["r_factor"]
    bad = [int(i) for i in np.argsort(rating, kind="stable") if rating[i] < SATISFIED]
    if not bad:
        return
    worst, *others = bad
    figures = {name: float(table[name][worst]) for name in ("mos", "r_factor", "loss_fraction", "owd_p99_s")}
    text = (
        f"As a call, {names[worst]} would sound bad: a mean opinion score of {figures['mos']:.1f} (R-factor"
        f" {figures['r_factor']:.0f}), for {percent(figures['loss_fraction'])} of its datagrams are lost and one in a"
        f" hundred takes {time(figures['owd_p99_s'])} or more"
    )
    if others:
        has = "has" if len(others) == 1 else "have"
        text += f"; {counted(len(others), 'more flow')} {has} an R-factor below {SATISFIED}"
    yield Finding("calls", text + ".", figures, advice)


def attempts(table: Columns) -> Iterator[Finding]:
    """Name the connections of a capture that never carried data."""
    for is_answered in (True, False):
        rows = np.flatnonzero((table["answers"] > 0) == is_answered)
        if not rows.size:
            continue
        text = f"{some([str(name) for name in table['name'][rows]])} never carried data, after"
        text += f" {counted(float(np.sum(table['syns'][rows])), 'SYN')}"
        text += (
            f" and {counted(float(np.sum(table['answers'][rows])), 'answer')}, of which none got through: starved."
            if is_answered
            else " without an answer here: answers were lost on their way to this point, or nobody was there to answer."
        )
        yield Finding("never began", text, {"connections": float(rows.size)})


def datagrams(table: Columns) -> Iterator[Finding]:
    """Tell of the flows of datagrams in a capture."""
    order = sorted(range(table.rows), key=lambda row: -int(table["bytes"][row]))
    parts = []
    for row in order[:FEW]:
        name = f"{table['from'][row]} > {table['to'][row]} ({table['kind'][row]})"
        parts.append(f"{name} {rate(float(table['rate_bps'][row]))}")
        lost = float(table["loss_fraction"][row])
        if lost > 0:
            parts[-1] += f", of which {percent(lost)} lost"
    more = f"; {counted(len(order) - FEW, 'smaller one')}" if len(order) > FEW else ""
    total = float(np.sum(table["bytes"]))
    text = (
        f"{counted(len(order), 'flow')} of datagrams carr{'ies' if len(order) == 1 else 'y'}: {'; '.join(parts)}{more}."
    )
    if np.isnan(table["loss_fraction"]).all():
        text += " They have no numbers that are known here, so losses cannot be told."
    yield Finding("datagrams", text, {"flows": float(len(order)), "bytes": total})
    yield from _bad_calls(table, [f"{source} > {target}" for source, target in zip(table["from"], table["to"])])


def echoes(table: Columns) -> Iterator[Finding]:
    """Tell of the echoes in a capture."""
    parts = []
    for row in range(min(table.rows, FEW)):
        lost, mean = float(table["loss_fraction"][row]), float(table["rtt_mean_s"][row])
        part = f"{table['from'][row]} asks {table['to'][row]} {often(int(table['requests'][row]))}"
        part += f", {percent(lost)} without a reply" if lost > 0 else ""
        parts.append(part + (f", and waits {time(mean)} on average" if not math.isnan(mean) else ""))
    more = f"; {counted(table.rows - FEW, 'more pair')}" if table.rows > FEW else ""
    figures = {
        "rtt_mean_s": float(np.nanmean(table["rtt_mean_s"])) if not np.isnan(table["rtt_mean_s"]).all() else math.nan
    }
    yield Finding("echoes", f"Echoes (ping): {'; '.join(parts)}{more}.", figures)
