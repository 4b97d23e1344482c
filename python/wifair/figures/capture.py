"""A capture as figures: goodput and fairness over time, and each flow as time-sequence, outstanding data and RTT."""

from __future__ import annotations

import io
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wifair._output import files
from wifair.figures._heat import coarser, colour_scale, heat_map
from wifair.figures.inline import inline
from wifair.figures.style import COLOURS, Look, check, logarithmic, new_figure, settings

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from wifair._output.shown import ShownCapture

FEW = 3
"""The most flows whose goodput is drawn as lines; of more, a heat map is drawn."""
MOST_FLOWS = 12
"""The most flows with a figure of their own, those with the most bytes."""
MOST_POINTS = 1_000
"""The most points of a line: a screen shows no more, and each makes an SVG larger."""

QUANTITIES = ("goodput_bps", "jain_index", "time_s", "seq", "outstanding_bytes", "rtt_s")
"""Names by which labels refer to the axes."""

SENT, AGAIN, ACKED, WINDOW = "#0072B2", "#D55E00", "#009E73", "#E69F00"


def save(capture: ShownCapture, directory: str | os.PathLike[str], formats: Sequence[str], look: Look) -> list[Path]:
    """Draw all figures into a folder; see `Capture.plot`."""
    flows = capture.document["fairness"]["flows"]
    look.check_labels([*(f"{flow['from']}>{flow['to']}" for flow in flows), *QUANTITIES])
    folder = Path(directory)
    for form in formats:
        check(folder / f"overview.{form}")
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for form in formats:
        for name, draw in _figures(capture, look):
            path = files.below(folder, f"{name}.{form}")
            files.write_bytes(path, _render(draw, form, look))
            written.append(path)
    return written


def overview_svg(capture: ShownCapture) -> str:
    """Draw goodput and fairness over time, as SVG for embedding in a page."""
    return inline(_render(lambda figure: _overview(figure, capture, Look()), "svg"))


def flow_svg(capture: ShownCapture, flow: dict[str, Any]) -> str:
    """Draw a flow, as SVG for embedding in a page."""
    return inline(_render(lambda figure: _flow(figure, capture, flow, Look()), "svg"))


def shown_flows(capture: ShownCapture) -> list[dict[str, Any]]:
    """Choose the flows that get a figure, in the order of the capture."""
    flows: list[dict[str, Any]] = capture.document["fairness"]["flows"]
    largest = sorted(flows, key=lambda flow: -int(flow["bytes"]))[:MOST_FLOWS]
    return [flow for flow in flows if flow in largest]


def _figures(capture: ShownCapture, look: Look) -> list[tuple[str, Callable[[Any], None]]]:
    flows = shown_flows(capture)
    if not flows:
        return []
    names = [f"{flow['connection']}_{flow['direction']}" for flow in flows]
    drawn = [partial(_flow, capture=capture, flow=flow, look=look) for flow in flows]
    return [("overview", partial(_overview, capture=capture, look=look)), *zip(names, drawn)]


def _render(draw: Callable[[Any], None], form: str, look: Look = Look()) -> bytes:  # noqa: B008 (frozen)
    out = io.BytesIO()
    with settings(**{"path.simplify_threshold": 0.5}):
        figure = new_figure(look, height_in=5.6)
        draw(figure)
        figure.savefig(out, format=form)
    return out.getvalue()


def _overview(figure: Any, capture: ShownCapture, look: Look) -> None:
    document = capture.document["fairness"]
    step: float = document["bin_s"]
    flows: list[dict[str, Any]] = document["flows"]
    goodput, fairness = figure.subplots(2, 1, sharex=True, height_ratios=[2.2, 1])
    if len(flows) <= FEW:
        for number, flow in enumerate(flows):
            times = (flow["first_bin"] + np.arange(len(flow["goodput_bps"]) + 1)) * step
            rates = np.array(flow["goodput_bps"]) / 1e6
            label = _name(flow, look)
            goodput.stairs(rates, times, color=COLOURS[number], linewidth=1, label=label, baseline=None)
        goodput.set_ylabel(look.label("goodput_bps", "goodput [Mb/s]"))
        _from_zero(goodput, look)
        goodput.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
    else:
        _heat(figure, goodput, capture, flows, step, look)
    index = np.array([np.nan if value is None else value for value in document["jain_in_bins"]])
    fairness.stairs(index, np.arange(len(index) + 1) * step, color="black", linewidth=1, baseline=None)
    fairness.set(ylabel=look.label("jain_index", "Jain's index"), ylim=(0, 1.05))
    fairness.set(xlabel=look.label("time_s", "time [s]"), xlim=(0, None))


def _heat(figure: Any, axes: Any, capture: ShownCapture, flows: list[dict[str, Any]], step: float, look: Look) -> None:
    """Draw all flows as a heat map, those with the highest goodput on top."""
    mean = np.nan_to_num(capture.flows["goodput_bps"])
    order = [int(row) for row in np.argsort(-mean, kind="stable")]
    bins = max(flow["first_bin"] + len(flow["goodput_bps"]) for flow in flows)
    values = np.zeros((len(flows), bins))
    for row, number in enumerate(order):
        flow = flows[number]
        values[row, flow["first_bin"] : flow["first_bin"] + len(flow["goodput_bps"])] = flow["goodput_bps"]
    edges, values = coarser(np.arange(bins + 1) * step, values / 1e6)
    names = [_name(flows[number], look) for number in order]
    mesh = heat_map(axes, edges, values, names, [bool(capture.flows["starved"][number]) for number in order])
    colour_scale(figure, axes, mesh, look.label("goodput_bps", "goodput [Mb/s]"), len(flows))


def _flow(figure: Any, capture: ShownCapture, flow: dict[str, Any], look: Look) -> None:
    packets = capture.packets
    assert packets is not None
    sequence, outstanding, rtt = figure.subplots(3, 1, sharex=True, height_ratios=[2, 1.3, 1])
    here = packets["connection"] == flow["connection"]
    own = here & (packets["direction"] == flow["direction"])
    back = here & (packets["direction"] != flow["direction"])
    data = own & (packets["payload_bytes"] > 0)
    if look.title is None:
        figure.suptitle(_name(flow, look), fontsize="medium")

    time, end = packets["time_s"], packets["seq"] + packets["payload_bytes"]
    again = data & (packets["retransmitted_bytes"] > 0)
    acks = back & ~np.isnan(packets["ack"])
    edge = packets["ack"] + packets["window_bytes"]
    # Windows far above what is sent would flatten the graph.
    _steps(sequence, time[acks], packets["ack"][acks] / 1e6, ACKED, "acknowledged")
    _points(sequence, time[data & ~again], end[data & ~again] / 1e6, SENT, "sent", ".")
    _points(sequence, time[again], end[again] / 1e6, AGAIN, "sent again", "x")
    top = float(np.max(end[data])) if data.any() else 1.0
    near = acks & (edge < 1.1 * top)
    _steps(sequence, time[near], edge[near] / 1e6, WINDOW, "window's end")
    sequence.set_ylabel(look.label("seq", "sequence [MB]"))
    sequence.legend(loc="best", frameon=False, fontsize="small", markerscale=1.5)

    known = data | (back & (packets["payload_bytes"] == 0))
    _steps(outstanding, time[known], packets["outstanding_bytes"][known] / 1e3, SENT, "outstanding")
    _steps(outstanding, time[known], packets["in_flight_bytes"][known] / 1e3, ACKED, "without SACKed")
    outstanding.set(ylabel=look.label("outstanding_bytes", "outstanding [kB]"), ylim=(0, None))
    outstanding.legend(loc="best", frameon=False, fontsize="small")

    timed = back & ~np.isnan(packets["rtt_s"])
    _points(rtt, time[timed], packets["rtt_s"][timed] * 1e3, SENT, "", ".")
    rtt.set_ylabel(look.label("rtt_s", "RTT [ms]"))
    _from_zero(rtt, look)
    rtt.set(xlabel=look.label("time_s", "time [s]"), xlim=(0, None))


def _name(flow: dict[str, Any], look: Look) -> str:
    return look.label(f"{flow['from']}>{flow['to']}", f"{flow['from']} \u2192 {flow['to']}")


def _thin(x: NDArray[Any], y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Reduce to `MOST_POINTS`: the lowest and the highest point of each section, in order."""
    if len(x) <= MOST_POINTS:
        return x, y
    edges = np.linspace(0, len(x), MOST_POINTS // 2 + 1).astype(np.intp)
    keep: set[int] = {0, len(x) - 1}
    for first, last in zip(edges[:-1].tolist(), edges[1:].tolist()):
        if last > first:
            piece = y[first:last]
            keep |= {first + int(np.argmin(piece)), first + int(np.argmax(piece))}
    chosen = np.array(sorted(keep))
    return x[chosen], y[chosen]


def _steps(axes: Any, x: NDArray[Any], y: NDArray[Any], colour: str, label: str) -> None:
    x, y = _thin(x, y)
    axes.step(x, y, where="post", color=colour, linewidth=0.8, label=label)


def _points(axes: Any, x: NDArray[Any], y: NDArray[Any], colour: str, label: str, marker: str) -> None:
    x, y = _thin(x, y)
    size = 2 if marker == "." else 4
    axes.plot(x, y, marker, color=colour, markersize=size, label=label, linestyle="none", zorder=3)


def _from_zero(axes: Any, look: Look) -> None:
    if look.logy:
        logarithmic(axes)
    else:
        axes.set_ylim(bottom=0)
