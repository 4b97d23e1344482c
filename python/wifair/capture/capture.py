"""Packet captures: what TCP and 802.11 did in them, in the columns of a simulated run."""

from __future__ import annotations

import json
import math
import os
import sys
import threading
from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wifair import _core
from wifair._output import files
from wifair._output.progress import ProgressBar
from wifair._output.streams import escape
from wifair.capture._columns import (
    ATTEMPTS,
    CELLS,
    COUNTS,
    DATAGRAMS,
    ECHOES,
    FLAGS,
    FLOWS,
    SERIES,
    SESSIONS,
    STATIONS,
    TEXTS,
)
from wifair.capture._report import text
from wifair.columns import Columns, of_core
from wifair.exceptions import INTERRUPTION, CaptureError, Interrupted
from wifair.figures.style import Look
from wifair.results.folder import Folder

POLL_S = 0.05
NEAR_S = 0.1e-3
"""A capture point is at an end if the round trip to that end is shorter: then no radio lies between, because two frames
and two interframe spaces of 802.11 take longer."""
PATIENCE_S = 0.5
NOTEBOOK_COLUMNS = 100


class Capture:
    """The analysis of a capture.

    `connections` holds everything that is known of each direction of each TCP connection, tcptrace's figures under
    tcptrace's names. The other tables are those of `wifair.Results`, so that a measurement can be compared with a run;
    NaN stands for what the capture point cannot show.

    Attributes
    ----------
    path : str
        The file; ``-`` for standard input.
    damage : str or None
        Why the file could not be read to its end; what came before is analysed.
    """

    def __init__(self, core: _core.Capture, path: str) -> None:
        """`core` is what the core returned for the file `path`."""
        self._core = core
        self.path = path
        self.damage = core.damage

    @property
    def others(self) -> int:
        """Number of small connections that are only counted together; see `read_capture`."""
        return self._core.other_connections

    @cached_property
    def document(self) -> dict[str, Any]:
        """All but the packets as plain Python values, in the layout of ``wifair analyze --json``."""
        document: dict[str, Any] = json.loads(self._core.to_json())
        return {"file": self.path, **document}

    def to_json(self) -> str:
        """Write the same as JSON text; the same file gives the same bytes."""
        return "".join(self.json_parts()) + "\n"

    def json_parts(self, indent: int = 0) -> Iterator[str]:
        """Write the same, one connection at a time, without a final newline; `indent` is that of the first line."""
        document = {**self.document}
        document["connections"] = iter(document["connections"])
        yield from files.json_parts(document, indent)

    @cached_property
    def connections(self) -> Columns:
        """A row for each direction of each connection, with every figure; `about` explains them."""
        return of_core(self._core.directions())

    @cached_property
    def packets(self) -> Columns | None:
        """A row for each TCP segment, if requested."""
        columns = self._core.packets()
        return None if columns is None else of_core(columns)

    @property
    def name(self) -> str:
        """Name of the file."""
        return Path(self.path).name

    @property
    def duration_s(self) -> float:
        """Time from the first to the last packet [s]."""
        return float(self.document["capture"]["duration_s"] or 0.0)

    @property
    def analysed_s(self) -> float:
        """Part of that time between `start` and `end` [s]."""
        return float(self.document["capture"]["analysed_s"])

    @cached_property
    def flows(self) -> Columns:
        """A row for each direction that carried data, named ``sender>receiver``."""
        return _table([self._flow(flow) for flow in self.document["fairness"]["flows"]], FLOWS)

    def _flow(self, flow: dict[str, Any]) -> Mapping[str, Any]:
        """Give the figures of a direction that carried data, by the names of `FLOWS`."""
        side = self._side(flow)
        point = self._point(flow, side)
        mean, least = _path(side, "mean", point), _path(side, "min", point)
        median, p95, p99 = self._rtt_quantiles(flow)
        figures = {
            "name": _name(flow),
            "direction": flow["way"] or "wired",
            "goodput_bps": _goodput(flow, side),
            "throughput_bps": _rate(side["actual_data_bytes"], side["unique_bytes_sent"], side),
            "received_bytes": flow["bytes"],
            "data_packets_sent": side["actual_data_pkts"],
            "retransmissions": side["retransmissions"],
            "rtt_p50_s": median,
            "rtt_p95_s": p95,
            "rtt_p99_s": p99,
            "cwnd_mean": math.nan,
            "side": flow["direction"],
            "rtt_point": point,
            "rtt_path_mean_s": mean,
            "rtt_idle_s": least,
            "latency_increase_s": mean - least,
            "bufferbloat_grade": _core.bufferbloat_grade(mean - least),
            "window_hidden": self._is_window_hidden(flow, point, mean),
        }
        return ChainMap(figures, flow, side)  # most figures have the same name there

    @cached_property
    def attempts(self) -> Columns:
        """A row for each attempt to open a connection that was not refused, but never carried data."""
        rows = self.document["fairness"]["attempts"]
        return _table([ChainMap({"name": _name(row)}, row) for row in rows], ATTEMPTS)

    @cached_property
    def cells(self) -> Columns:
        """One row for the whole capture."""
        fairness, flows = self.document["fairness"], self.flows
        up, down = fairness["uplink_bytes"], fairness["downlink_bytes"]
        sessions = fairness["sessions"]
        payload = sum(self._side(flow)["actual_data_bytes"] for flow in fairness["flows"])
        competes = flows["competes"]
        values: dict[str, float] = {
            "goodput_bps": self._rate_of(float(np.sum(flows["received_bytes"]))),
            "up_goodput_bps": self._rate_of(up),
            "down_goodput_bps": self._rate_of(down),
            "throughput_bps": self._rate_of(payload),
            "jain_index": _number(fairness["jain"]),
            "up_down_ratio": _number(fairness["uplink_downlink_ratio"]),
            "uplink_share": math.nan if up is None or up + down == 0 else up / (up + down),
            "starved_fraction": float(np.mean(flows["starved"][competes])) if competes.any() else math.nan,
            "instantaneous_fairness": _number(sessions["instantaneous_fairness_sent"]),
            "instantaneous_fairness_acked": _number(sessions["instantaneous_fairness_acked"]),
            "sessions_finished": float(sessions["count"]),
            "sessions_unfinished": float(sessions["unfinished"]),
            "timeouts": float(np.sum(flows["timeouts"])),
            "retransmissions": float(np.sum(flows["retransmissions"])),
            "jain_overlap": _number(fairness["jain_overlap"]),
        }
        data: dict[str, NDArray[Any]] = {"seed": np.zeros(1, dtype=np.uint64)}
        data |= {name: np.array([value]) for name, value in values.items()}
        return Columns(data, CELLS)

    def _rate_of(self, count: float | None) -> float:
        """Rate of `count` bytes over the time that is analysed."""
        return math.nan if count is None or self.analysed_s <= 0 else 8 * count / self.analysed_s

    @cached_property
    def stations(self) -> Columns:
        """A row for each transmitter of an 802.11 capture."""
        return _table([_station(row) for row in self.document.get("wlan", {}).get("stations", [])], STATIONS)

    @cached_property
    def sessions(self) -> Columns:
        """A row for each transmission session of the flows that paused."""
        sessions: list[dict[str, Any]] = self.document["fairness"]["sessions"]["list"]
        names = self.flows["name"]
        origin = self.document["capture"]["start_ns"] or 0

        rows = [
            {
                "flow": names[session["flow"]],
                "start_s": (session["start_ns"] - origin) / 1e9,
                "length_bytes": session["bytes"],
                "sent_after_s": session["sent_s"],
                "acked_after_s": session["acked_s"],
            }
            for session in sessions
        ]
        return _table(rows, SESSIONS)

    @cached_property
    def series(self) -> Columns:
        """New bytes and goodput of each flow in each time bin in which it is active."""
        fairness = self.document["fairness"]
        step: float = fairness["bin_s"]
        times, names, goodputs = [np.empty(0)], [np.empty(0, dtype=np.str_)], [np.empty(0)]
        for flow in fairness["flows"]:
            goodput = np.array(flow["goodput_bps"], dtype=np.float64)
            times.append((flow["first_bin"] + 1 + np.arange(len(goodput))) * round(step * 1e9) / 1e9)
            names.append(np.full(len(goodput), _name(flow)))
            goodputs.append(goodput)
        goodput = np.concatenate(goodputs)
        data: dict[str, NDArray[Any]] = {
            "seed": np.zeros(len(goodput), dtype=np.uint64),
            "time_s": np.concatenate(times),
            "flow": np.concatenate(names),
            "received_bytes": np.round(goodput * step / 8).astype(np.uint64),
            "goodput_bps": goodput,
        }
        return Columns(data, SERIES)

    @cached_property
    def datagrams(self) -> Columns:
        """A row for each direction between two endpoints that carried UDP, QUIC included."""
        return _table(self.document["datagrams"], DATAGRAMS)

    @cached_property
    def echoes(self) -> Columns:
        """A row for each pair of hosts and ICMP echo identifier."""
        return _table(self.document["echoes"], ECHOES)

    @property
    def tables(self) -> dict[str, Columns]:
        """All tables, by name."""
        names = ("connections", "datagrams", "echoes", "flows", "attempts", "cells", "stations", "sessions", "series")
        tables: dict[str, Columns] = {name: getattr(self, name) for name in names}
        if self.packets is not None:
            tables["packets"] = self.packets
        return tables

    def save(
        self, directory: str | os.PathLike[str], *, formats: Iterable[str] | None = None, force: bool = False
    ) -> None:
        """Write all tables into a new folder, with the JSON beside them; see `Results.save` for the errors.

        Parameters
        ----------
        directory : str or path
            The folder to create. It appears only when it is complete.
        formats : iterable of {"csv", "parquet"}, optional
            CSV, and Parquet if pyarrow is installed, by default.
        force : bool, default False
            Replace a folder of earlier results.
        """
        with Folder(directory, formats=formats, force=force) as folder:
            folder.write_capture(self)

    def xplot(self, directory: str | os.PathLike[str]) -> list[Path]:
        """Write the graphs that ``xplot.org`` shows: time-sequence, outstanding data, round-trip times, goodput.

        Needs packets. Files are named ``1_a2b_tsg.xpl``: connection, direction, graph.

        Parameters
        ----------
        directory : str or path
            The folder, created if it does not exist. Files of these names are replaced.

        Returns
        -------
        list of Path
            What was written.

        Raises
        ------
        ValueError
            If the packets were not kept.
        OSError
            If a file cannot be written.
        """
        self._need_packets()
        folder = Path(directory)
        folder.mkdir(parents=True, exist_ok=True)
        written = []
        for flow in self.document["fairness"]["flows"]:
            side = 0 if flow["direction"] == "a2b" else 1
            for graph in ("tsg", "owin", "rtt", "tput"):
                text = self._core.xplot(flow["connection"] - 1, side, graph)
                if text is not None:
                    path = files.below(folder, f"{flow['connection']}_{flow['direction']}_{graph}.xpl")
                    files.write_text(path, text)
                    written.append(path)
        return written

    def plot(
        self,
        directory: str | os.PathLike[str],
        *,
        formats: Sequence[str] = ("png",),
        title: str | None = None,
        labels: Mapping[str, str] | None = None,
        size: str | None = None,
        logy: bool = False,
    ) -> list[Path]:
        """Draw goodput and fairness over time, and each flow; needs packets and matplotlib.

        Parameters
        ----------
        directory : str or path
            The folder, created if it does not exist. Files of these names are replaced.
        formats : sequence of {"png", "svg", "pdf"}, default ("png",)
            Each figure is written in all of them.
        title : str, optional
            Title over all figures, none if empty; the flow's name over those of flows by default.
        labels : mapping of str to str, optional
            Other texts, by the names of flows (``sender>receiver``) or of ``goodput_bps``, ``jain_index``, ``time_s``,
            ``seq``, ``outstanding_bytes``, ``rtt_s``.
        size : str, optional
            ``"one-column"``, ``"two-column"``, ``"16 cm"`` or ``"3.5 x 2.4 in"``.
        logy : bool, default False
            Goodput and round-trip times on a logarithmic scale.

        Returns
        -------
        list of Path
            What was written.

        Raises
        ------
        ValueError
            If the packets were not kept, or a format is none of png, svg and pdf.
        ImportError
            If there is no matplotlib.
        OSError
            If a file cannot be written.
        """
        from wifair.figures.capture import save  # noqa: PLC0415

        self._need_packets()
        return save(self, directory, formats, Look.of(title, labels, size, logy))

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write a self-contained HTML page that works offline; needs packets and matplotlib.

        Parameters
        ----------
        path : str or path
            The file, which is replaced if it is there.

        Raises
        ------
        ValueError
            If the packets were not kept.
        ImportError
            If there is no matplotlib.
        OSError
            If the file cannot be written.
        """
        from wifair.capture._page import page  # noqa: PLC0415

        self._need_packets()
        files.write_text(path, page(self))

    def __repr__(self) -> str:
        return text(self)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(text(self, NOTEBOOK_COLUMNS))}</pre>"

    def _need_packets(self) -> None:
        if self.packets is None:
            raise ValueError("this needs the packets: read_capture(..., packets=True)")

    def _side(self, flow: dict[str, Any]) -> dict[str, Any]:
        side: dict[str, Any] = self.document["connections"][flow["connection"] - 1][flow["direction"]]
        return side

    def _point(self, flow: dict[str, Any], side: dict[str, Any]) -> str:
        """Say where the capture was taken, as seen by the round trips on both sides of it."""
        connection: dict[str, Any] = self.document["connections"][flow["connection"] - 1]
        sender = "client" if flow["direction"] == "a2b" else "server"
        echo = _number(side["echo_rtt_min_s"])
        if (_number(connection[f"handshake_{sender}_s"]) if math.isnan(echo) else echo) < NEAR_S:
            return "sender"
        return "receiver" if _number(side["rtt_min_s"]) < NEAR_S else "between"

    def _is_window_hidden(self, flow: dict[str, Any], point: str, path_s: float) -> bool:
        """Whether a full receive window would go unnoticed: away from the sender, part of its data is not visible.

        A flow with less than half a window in flight (goodput times round-trip time) is not limited by the window.
        """
        if point == "sender":
            return False
        receiver = self.document["connections"][flow["connection"] - 1]["b2a" if flow["direction"] == "a2b" else "a2b"]
        under_way = _number(_goodput(flow, self._side(flow))) / 8 * path_s
        return not under_way < 0.5 * _number(receiver["max_win_adv"])

    @cached_property
    def _rtt(self) -> dict[tuple[int, str], NDArray[np.float64]]:
        """Round-trip times by connection and direction of the ACKs."""
        packets = self.packets
        assert packets is not None
        timed = ~np.isnan(packets["rtt_s"])
        connection, direction = packets["connection"][timed], packets["direction"][timed]
        rtt = packets["rtt_s"][timed]
        order = np.lexsort((direction, connection))
        connection, direction, rtt = connection[order], direction[order], rtt[order]
        new = np.flatnonzero((np.diff(connection) != 0) | (direction[1:] != direction[:-1])) + 1
        starts = [0, *new.tolist()] if len(rtt) else []
        return {
            (int(connection[first]), str(direction[first])): rtt[first:last]
            for first, last in zip(starts, [*starts[1:], len(rtt)])
        }

    def _rtt_quantiles(self, flow: dict[str, Any]) -> list[float]:
        """Compute median, 95th and 99th percentile of round-trip times; NaN without packets."""
        if self.packets is None:
            return [math.nan] * 3
        # The ACKs come from the other side.
        rtt = self._rtt.get((flow["connection"], "a2b" if flow["direction"] == "b2a" else "b2a"))
        if rtt is None:
            return [math.nan] * 3
        return [float(value) for value in np.quantile(rtt, [0.5, 0.95, 0.99], method="inverted_cdf")]


def read_capture(
    path: str | os.PathLike[str],
    *,
    hosts: Iterable[str] = (),
    ports: Iterable[int] = (),
    start: str | None = None,
    end: str | None = None,
    pause: str = "1 s",
    bin: str | None = None,  # noqa: A002 (the field's own word)
    fair_share: str | None = None,
    local: Iterable[str] = (),
    keep_copies: bool = False,
    packets: bool = False,
    connections: int = 10_000,
    progress: bool = False,
) -> Capture:
    """Read and analyse a capture: pcap or pcapng, plain or compressed with gzip or zstd, of any length.

    Parameters
    ----------
    path : str or path
        The file; ``-`` is standard input.
    hosts : iterable of str, optional
        Only segments from or to one of these addresses.
    ports : iterable of int, optional
        Only segments from or to one of these ports.
    start, end : str, optional
        Only packets between these times after the first one, as in ``"10 s"``.
    pause : str, default "1 s"
        A flow that has nothing to send for this long begins a new transmission session afterwards.
    bin : str, optional
        Width of the time bins; 100 ms, and wider for long captures, by default.
    fair_share : str, optional
        Fair share of each flow, as in ``"1.2 Mb/s"``; by default the total goodput over the number of flows.
    local : iterable of str, optional
        Networks of the stations, as in ``"192.168.1.0/24"``: what they send is uplink.
    keep_copies : bool, default False
        Count each copy of a packet that was captured more than once, as tcptrace does.
    packets : bool, default False
        Keep a row for each segment. Needs about 200 bytes of memory a segment.
    connections : int, default 10,000
        How many connections are listed: the largest ones. The others are counted together, to bound memory;
        `Capture.others` says how many there are.
    progress : bool, default False
        Show a progress bar on stderr, if that is a terminal.

    Returns
    -------
    Capture
        What was found. A damaged file gives what came before the damage, and says so in ``damage``.

    Raises
    ------
    CaptureError
        If the file is empty or not a capture.
    ValueError
        If an option is wrong.
    OSError
        If the file cannot be read.
    Interrupted
        On Ctrl-C; its ``capture`` is what was found so far.

    Examples
    --------
    >>> capture = read_capture("hot_spot.pcapng")  # doctest: +SKIP
    >>> capture.flows["goodput_bps"]  # doctest: +SKIP
    array([2.1e6, 0.3e6])
    """
    name = os.fspath(path)
    wanted: _core.AnalysisRequest = {
        "hosts": list(hosts),
        "ports": list(ports),
        "from_time": start,
        "to_time": end,
        "pause": pause,
        "bin": bin,
        "fair_share": fair_share,
        "local": list(local),
        "keep_copies": keep_copies,
        "packets": packets,
        "most_connections": connections,
    }
    if connections < 1:
        raise ValueError(f"{connections} connections: expected at least 1")
    if name == "-" and sys.stdin is None:
        raise CaptureError("standard input is closed")
    if name != "-":
        files.require_regular(name)
    return Capture(_read(name, wanted, progress), name)


def _read(name: str, wanted: _core.AnalysisRequest, progress: bool) -> _core.Capture:
    """Analyse in another thread, because only the main one receives Ctrl-C."""
    control = _core.Control()
    outcome: list[_core.Capture | BaseException | None] = []
    over = threading.Lock()
    over.acquire()

    def work() -> None:
        try:
            outcome.append(_core.read_capture(None if name == "-" else name, wanted, control))
        except BaseException as error:
            outcome.append(error)
        finally:
            over.release()

    threading.Thread(target=work, name="wifair-capture", daemon=True).start()
    try:
        size = None if name == "-" or not Path(name).is_file() else Path(name).stat().st_size
        with ProgressBar(progress, size, unit="B", unit_scale=True, delay=0.5) as bar:
            while not over.acquire(timeout=POLL_S):
                bar.show(control.read_bytes)
    except KeyboardInterrupt:
        control.stop()
        over.acquire(timeout=PATIENCE_S)  # in vain if it waits for input
        if outcome and isinstance(outcome[0], _core.Capture):
            partial = Capture(outcome[0], name)
            partial.damage = INTERRUPTION
            raise Interrupted(capture=partial) from None
        raise
    found = outcome[0]
    if isinstance(found, BaseException):
        raise found
    assert found is not None
    return found


def _name(flow: dict[str, Any]) -> str:
    return f"{flow['from']}>{flow['to']}"


def _goodput(flow: dict[str, Any], side: dict[str, Any]) -> float | None:
    """Rate over the time of the connection, with the silence after it if the flow had more to send."""
    rate: float | None = side["goodput_bps"]
    if rate is None or not flow["active_s"]:
        return rate
    return min(rate, 8 * float(flow["bytes"]) / float(flow["active_s"]))


def _path(side: dict[str, Any], which: str, point: str) -> float:
    """Round-trip time of the whole path: from the capture point to the receiver and back, and to the sender."""
    there, rest = _number(side[f"rtt_{which}_s"]), _number(side[f"echo_rtt_{which}_s"])
    return there if point == "sender" and math.isnan(rest) else there + rest


def _station(station: dict[str, Any]) -> Mapping[str, Any]:
    """Give the figures of a transmitter by the names of `STATIONS`."""
    modes = station["frames_by_mode"]
    usual: dict[str, Any] = max(modes, key=lambda mode: int(mode["frames"]), default={})
    figures = {
        "name": station["address"],
        "attempts": station["frames"],
        **{name: usual.get(name) for name in ("mcs", "streams", "width_mhz", "guard_interval_ns")},
        "mode_share": usual["frames"] / max(sum(mode["frames"] for mode in modes), 1) if usual else None,
    }
    return ChainMap(figures, station)


def _table(rows: Sequence[Mapping[str, Any]], about: Mapping[str, str]) -> Columns:
    """Make a table of the figures of `rows` that `about` names; missing numbers become NaN."""
    data: dict[str, NDArray[Any]] = {"seed": np.zeros(len(rows), dtype=np.uint64)}
    for name in list(about)[1:]:
        values = [row[name] for row in rows]
        if name in TEXTS:
            data[name] = np.array([value or "" for value in values], dtype=np.str_)
        elif name in COUNTS:
            data[name] = np.array(values, dtype=np.uint64)
        elif name in FLAGS:
            data[name] = np.array(values, dtype=np.bool_)
        else:
            data[name] = np.array([_number(value) for value in values], dtype=np.float64)
    return Columns(data, about)


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else math.nan


def _rate(all_bytes: int, unique: int, side: dict[str, Any]) -> float:
    """Rate of `all_bytes` over the time that gives `unique` bytes the goodput."""
    return math.nan if not unique or side["goodput_bps"] is None else side["goodput_bps"] * all_bytes / unique
