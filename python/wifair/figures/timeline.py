"""The air over time as a picture: a lane for each node, its frames by kind and fate, backoff and NAVs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wifair import _core
from wifair.figures.style import TWO_COLUMNS, Look, new_figure, settings

if TYPE_CHECKING:
    from wifair.columns import Columns
    from wifair.results.results import Results
    from wifair.scenario.scenario import Scenario

USUAL_NS = 20_000_000
HEIGHT = 0.62
"""Height of a frame; a lane is 1 high."""
MOST_LANES = 60
FEW_LANES = 12
"""Up to so many stations, inactive ones have a lane, too."""
MOST_FRAMES = 20_000

# Colours that colour-blind readers can tell apart: M. Okabe and K. Ito, "Color universal design", 2008.
KINDS = {
    "data": ("#0072B2", "TCP data"),
    "ack": ("#56B4E9", "TCP ACK"),
    "udp": ("#CC79A7", "UDP data"),
    "other": ("#8C564B", "other packet"),
    "mac_ack": ("#009E73", "ACK"),
    "rts": ("#E69F00", "RTS"),
    "cts": ("#F0E442", "CTS"),
    "block-ack": ("#00513B", "block ACK"),
    "block-ack-request": ("#D55E00", "block ACK request"),
    "addba-request": ("#7A5195", "ADDBA request"),
    "addba-response": ("#B79BD9", "ADDBA response"),
    "delba": ("#4A2E5E", "DELBA"),
    "cf-end": ("#5F5F5F", "CF-End"),
}
NAV, FIRST_NAV, BASIC_NAV = "NAV", "intra-BSS NAV, or the only one", "basic NAV (other BSSs)"
LOSSES = {"collision": ("xxxx", "collision"), "error": ("....", "error"), "unheard": ("----", "not heard")}


def usual_span(scenario: Scenario, start: str | None, end: str | None) -> tuple[str, str]:
    """Determine the time that is drawn.

    Parameters
    ----------
    scenario : Scenario
        What is run.
    start, end : str or None
        Times since the start of the run, as in ``"5 s"``; the end of the warm-up and 20 ms after the start by default.

    Returns
    -------
    (str, str)
        The same in whole nanoseconds, as `run` takes them for its frames.

    Raises
    ------
    ScenarioError
        If one of them is no time.
    """
    first = round(scenario._core.warm_up_s * 1e9) if start is None else _core.time_of_run("--from", start)
    last = first + USUAL_NS if end is None else _core.time_of_run("--to", end)
    return (f"{first} ns", f"{last} ns")


def draw(results: Results, look: Look | None = None, *, start: str | None = None, end: str | None = None) -> Any:
    """Draw the air over time, of the first seed.

    Parameters
    ----------
    results : Results
        Of a run with `frames`.
    look : Look, optional
        What to change: title, labels (names of stations), size.
    start, end : str, optional
        From when to when, as in ``"5 s"``; 20 ms from the end of the warm-up by default.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    ValueError
        If the run has no record of frames, there is no frame in that time, or far too many to be seen.
    """
    look = look or Look()
    if results.frames is None or results.backoffs is None:
        raise ValueError("the run has no record of frames: give `frames` to wifair.run")
    first_ns, last_ns = (_core.time_of_run("time", text) for text in usual_span(results.scenario, start, end))
    first_s, last_s = first_ns / 1e9, last_ns / 1e9
    frames = _within(results.frames.filter(seed=results.seeds[0]), first_s, last_s)
    backoffs = _within(results.backoffs.filter(seed=results.seeds[0]), first_s, last_s)
    if not len(frames):
        raise ValueError(f"no frame from {first_s:g} s to {last_s:g} s")
    if len(frames) > MOST_FRAMES:
        raise ValueError(f"{len(frames)} frames from {first_s:g} s to {last_s:g} s: choose less with --from and --to")
    stations = list(dict.fromkeys(results.stations["name"].tolist()))
    active = set(frames["sender"].tolist()) | set(frames["receiver"].tolist()) | set(backoffs["station"].tolist())
    lanes = stations if len(stations) <= FEW_LANES else [name for name in stations if name in active]
    if len(lanes) > MOST_LANES:
        raise ValueError(f"{len(lanes)} stations are active: at most {MOST_LANES} can be drawn")

    look.check_labels(lanes)
    with settings():
        figure = new_figure(look, width_in=TWO_COLUMNS, height_in=1.2 + 0.36 * len(lanes))
        _draw(figure, frames, backoffs, lanes, first_s, last_s, look)
    return figure


def _draw(
    figure: Any, frames: Columns, backoffs: Columns, lanes: list[str], first_s: float, last_s: float, look: Look
) -> None:
    in_ms = last_s - first_s >= 0.002
    unit = 1e3 if in_ms else 1e6
    axes = figure.subplots()
    axes.set_xlim(0, (last_s - first_s) * unit)
    place = {name: len(lanes) - 1 - index for index, name in enumerate(lanes)}
    draw = _Lanes(axes, place, lambda time: (np.asarray(time) - first_s) * unit)
    draw.backoffs(backoffs)
    draw.reservations(frames, lanes)
    draw.frames(frames)
    for lane in range(len(lanes)):
        axes.axhline(lane, color="#999999", linewidth=0.4, zorder=0)
    axes.set_yticks(range(len(lanes)), [look.label(name) for name in lanes[::-1]])
    xlabel = f"time after {first_s * 1e3:.6g} ms [{'ms' if in_ms else 'us'}]"
    axes.set(ylim=(-0.55, len(lanes) - 0.35), xlabel=xlabel)
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    figure.legend(handles=draw.legend(), loc="outside upper left", ncols=6, handlelength=1.6)


def _within(table: Columns, first_s: float, last_s: float) -> Columns:
    from wifair.columns import Columns  # noqa: PLC0415

    mask = (table["end_s"] > first_s) & (table["start_s"] < last_s)
    return Columns({name: column[mask] for name, column in table.items()}, table.about)


def _merged(spans: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Merge spans that touch."""
    merged: list[tuple[float, float]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _ppdus(frames: Columns) -> list[list[dict[str, Any]]]:
    """Group frames by PPDU: the MPDUs of an A-MPDU together, every other frame alone."""
    groups: dict[Any, list[dict[str, Any]]] = {}
    for index, frame in enumerate(frames.to_dicts()):
        # Numbers are unique only in a channel, and a sender is in one channel at a time.
        key = (frame["ppdu"], frame["sender"], frame["start_s"]) if frame["ppdu"] else index
        groups.setdefault(key, []).append(frame)
    return list(groups.values())


def _mostly(mpdus: list[dict[str, Any]]) -> str:
    """Return the kind of packet with the most bytes; empty if the receiver has all of them already."""
    lengths: dict[str, int] = {}
    for mpdu in mpdus:
        if mpdu["packet"]:
            lengths[mpdu["packet"]] = lengths.get(mpdu["packet"], 0) + mpdu["length_bytes"]
    return max(lengths, key=lambda packet: lengths[packet], default="")


class _Lanes:
    """Draws on the lanes, and collects entries for the legend."""

    def __init__(self, axes: Any, place: dict[str, int], scale: Any) -> None:
        self.axes = axes
        self.place = place
        self.scale = scale
        self.shown: dict[str, Any] = {}
        self.retries = False

    def backoffs(self, backoffs: Columns) -> None:
        style = {"facecolor": "#666666", "edgecolor": "none", "linewidth": 0, "zorder": 2}
        for one in backoffs.to_dicts():
            self._bar(one["station"], one["start_s"], one["end_s"], 0, 0.12, label="backoff", **style)

    def reservations(self, frames: Columns, lanes: list[str]) -> None:
        """Draw the NAVs that frames set at stations that read them and are not their receivers, until a CF-End.

        A frame of another BSS changes the basic NAV of a station that has two, and every other frame its first NAV.
        """
        first: dict[str, list[tuple[float, float]]] = {name: [] for name in lanes}
        basic: dict[str, list[tuple[float, float]]] = {name: [] for name in lanes}
        for one in frames.to_dicts():
            of_others = one["inter_bss_at"].split()
            for reader in lanes if one["read_by"] == "*" else one["read_by"].split():
                if reader not in first or reader in (one["sender"], one["receiver"]):
                    continue
                now, spans = one["end_s"], basic if reader in of_others else first
                if one["kind"] == "cf-end":
                    spans[reader] = [(start, min(end, now)) for start, end in spans[reader]]
                elif one["nav_s"] > 0:
                    spans[reader].append((now, now + one["nav_s"]))
        style = {"edgecolor": "#888888", "linewidth": 0.4, "zorder": 1}
        hatched, filled = {"facecolor": "none", "hatch": "/////"}, {"facecolor": "#C9C9C9"}
        label = FIRST_NAV if any(basic.values()) else NAV
        for reader in lanes:
            for start, end in _merged(first[reader]):
                self._bar(reader, start, end, -0.2, 0.14, label=label, **style, **hatched)
            for start, end in _merged(basic[reader]):
                self._bar(reader, start, end, -0.3, 0.07, label=BASIC_NAV, **style, **filled)

    def frames(self, frames: Columns) -> None:
        has_tcp = bool({"data", "ack"} & set(frames["packet"].tolist()))
        for group in _ppdus(frames):
            first = group[0]
            start, end, sender, receiver = first["start_s"], first["end_s"], first["sender"], first["receiver"]
            fates = [frame["fate"] for frame in group]
            if first["kind"] == "ack":
                key = "mac_ack"
            elif first["kind"] == "data":
                key = _mostly(group)
                if not key and has_tcp:  # the receiver has it already
                    key = "data" if end - start > 0.0005 else "ack"
                key = key if key in ("data", "ack", "udp") else "other"
            else:
                key = first["kind"]
            colour, label = KINDS[key]
            style = {"edgecolor": "black", "linewidth": 0.4, "zorder": 3}
            self._bar(sender, start, end, 0, HEIGHT, label=label, facecolor=colour, **style)
            # The MPDUs of an A-MPDU share its air time by their lengths.
            lengths = np.array([frame["length_bytes"] for frame in group], dtype=float)
            edges = start + (end - start) * np.concatenate(([0.0], np.cumsum(lengths) / lengths.sum()))
            for place, fate in enumerate(fates):
                if fate in LOSSES:
                    hatch, label = LOSSES[fate]
                    style = {"facecolor": "none", "edgecolor": "black", "hatch": hatch, "linewidth": 0.8, "zorder": 4}
                    self._bar(sender, edges[place], edges[place + 1], 0, HEIGHT, label=label, **style)
            if first["kind"] == "data" and receiver in self.place:
                self._arrow(sender, receiver, end, "received" in fates)
            for frame, at in zip(group, edges):
                x = float(self.scale(at))
                if frame["retry"] and self.axes.get_xlim()[0] <= x <= self.axes.get_xlim()[1]:
                    self.retries = True
                    self.axes.text(x, self.place[sender] + HEIGHT, "r", fontsize=6, ha="left", va="bottom")

    def _arrow(self, sender: str, receiver: str, end: float, received: bool) -> None:
        """Draw an arrow from the end of a data frame to its receiver."""
        low, high = self.place[sender], self.place[receiver]
        if low == high:
            return
        at = float(self.scale(end))
        tail, head = (low, high + HEIGHT) if low > high else (low + HEIGHT, high)
        look = {"linewidth": 0.5, "color": "#444444", "mutation_scale": 5, "shrinkA": 0, "shrinkB": 0}
        look |= {"arrowstyle": "-|>", "linestyle": "-"} if received else {"arrowstyle": "-", "linestyle": ":"}
        self.axes.annotate("", xy=(at, head), xytext=(at, tail), arrowprops=look, annotation_clip=True, zorder=2)

    def _bar(
        self, station: str, start: float, end: float, low: float, height: float, *, label: str, **style: Any
    ) -> None:
        from matplotlib.patches import Rectangle  # noqa: PLC0415

        left = float(self.scale(start))
        corner = (left, self.place[station] + low)
        self.axes.add_patch(Rectangle(corner, float(self.scale(end)) - left, height, **style))
        if label not in self.shown:
            if "hatch" in style and label not in (NAV, FIRST_NAV):
                style = {**style, "facecolor": "white"}
            self.shown[label] = Rectangle((0, 0), 1, 1, label=label, **style)

    def legend(self) -> list[Any]:
        """List the entries of the legend in a fixed order."""
        order = [label for _, label in (*KINDS.values(), *LOSSES.values())] + ["backoff", NAV, FIRST_NAV, BASIC_NAV]
        handles = [self.shown[label] for label in order if label in self.shown]
        if self.retries:
            from matplotlib.lines import Line2D  # noqa: PLC0415

            handles.append(Line2D([], [], linestyle="none", marker="$r$", color="black", markersize=4, label="retry"))
        return handles
