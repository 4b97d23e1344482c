"""Names and units of quantities and parameters in figures."""

from __future__ import annotations

from typing import NamedTuple


class Quantity(NamedTuple):
    """A quantity as written on an axis."""

    label: str
    """Name for readers, without the unit."""
    unit: str
    """Unit, empty for a plain number."""
    scale: float
    """Factor that converts values to this unit."""

    @property
    def axis(self) -> str:
        """Name and unit, as on an axis."""
        return f"{self.label} [{self.unit}]" if self.unit else self.label


RATIOS = ("up_down_ratio",)
"""Ratios of two quantities of one kind, whose axes are logarithmic: 2 and 1/2 are equally far from 1."""

NAMES = {
    "goodput_bps": "goodput",
    "throughput_bps": "throughput",
    "least_goodput_bps": "least goodput of a flow",
    "up_goodput_bps": "goodput of uploads",
    "down_goodput_bps": "goodput of downloads",
    "jain_index": "Jain's index",
    "jain_overlap": "Jain's index, all active",
    "overlap_jain_index": "Jain's index, all active",
    "up_down_ratio": "uplink / downlink",
    "uplink_share": "uplink share of goodput",
    "starved_fraction": "starved flows",
    "instantaneous_fairness": "instantaneous fairness",
    "rtt_mean_s": "mean RTT",
    "rtt_min_s": "shortest RTT",
    "rtt_p50_s": "median RTT",
    "rtt_p95_s": "RTT, 95th percentile",
    "rtt_p99_s": "RTT, 99th percentile",
    "rtt_max_s": "longest RTT",
    "srtt_s": "smoothed RTT",
    "cwnd": "cwnd",
    "cwnd_mean": "mean cwnd",
    "timeouts": "timeouts",
    "retransmissions": "retransmissions",
    "retransmitted_fraction": "retransmitted",
    "received_bytes": "bytes received",
    "air_data": "air time of data",
    "air_ack": "air time of ACKs",
    "air_rts_cts": "air time of RTS and CTS",
    "air_collision": "air time of collisions",
    "air_error": "air time of errors",
    "air_reuse": "air time of spatial reuse",
    "air_idle": "idle air",
    "collision_probability": "collision probability",
    "ap_queue_mean_packets": "mean AP queue",
    "ap_queue_max_packets": "longest AP queue",
    "ap_queue_full_fraction": "time with full AP queue",
    "ap_drops_data": "data dropped at AP",
    "ap_drops_ack": "ACKs dropped at AP",
}
UNITS = {"cwnd": "segments", "cwnd_mean": "segments"}
PERCENT = {
    "starved_fraction",
    "retransmitted_fraction",
    "uplink_share",
    "ap_queue_full_fraction",
    "collision_probability",
}
ENDINGS: dict[str, tuple[tuple[float, str, float], ...]] = {
    "_bps": ((2e9, "Gb/s", 1e-9), (2e5, "Mb/s", 1e-6), (0, "kb/s", 1e-3)),
    "_s": ((2.0, "s", 1.0), (0, "ms", 1e3)),
    "_bytes": ((2e9, "GB", 1e-9), (2e5, "MB", 1e-6), (0, "kB", 1e-3)),
    "_packets": ((0, "packets", 1.0),),
    "_dbm": ((0, "dBm", 1.0),),
}
"""For each ending of names its units, as (least maximum of the values, unit, scale)."""

PARAMETERS = {
    "stations.count": "number of stations",
    "flows.count": "number of flows",
    "stations.circle.radius": "distance from the centre",
    "stations.snr": "signal-to-noise ratio",
    "stations.data_rate": "data rate",
    "servers.delay": "one-way delay",
    "servers.rate": "rate of the wired link",
    "ap.queue.limit": "queue limit of the AP",
    "ap.queue.discipline": "queue discipline of the AP",
    "ap.scheme.window": "window scheme of the AP",
    "wlan.standard": "standard",
    "wlan.data_rate": "data rate",
    "wlan.data_error": "frame error rate",
    "wlan.rate_adaptation": "rate adaptation",
    "wlan.mcs": "MCS",
    "wlan.width": "channel width",
    "wlan.streams": "spatial streams",
    "wlan.guard_interval": "guard interval",
    "wlan.cw_min": "CWmin",
    "wlan.cw_max": "CWmax",
    "tcp.cc": "congestion control",
    "tcp.max_cwnd": "largest cwnd",
    "tcp.receive_window": "receive window",
    "tcp.mss": "MSS",
    "tcp.stack": "TCP stack",
    "udp.rate": "UDP rate",
    "flows.category": "access category",
    "flows.direction": "direction",
}


def quantity(name: str, largest: float = 1e6) -> Quantity:
    """Choose label, unit and scale of a column.

    Parameters
    ----------
    name : str
        Name of the column, which ends with its unit: ``goodput_bps``.
    largest : float
        Its largest value, which decides between Mb/s and kb/s, s and ms.

    Returns
    -------
    Quantity
        Label, unit and scale. An unknown column is called by its name in words.
    """
    if name in PERCENT or (name.startswith("air_") and name in NAMES):
        return Quantity(NAMES.get(name, name), "%", 100.0)
    label = NAMES.get(name)
    for ending, units in ENDINGS.items():
        if name.endswith(ending):
            unit, scale = next(((unit, scale) for least, unit, scale in units if largest >= least), units[-1][1:])
            return Quantity(label or _words(name.removesuffix(ending)), unit, scale)
    return Quantity(label or _words(name), UNITS.get(name, ""), 1.0)


def parameter(path: str) -> str:
    """Name a parameter for readers; an unknown path is its own name.

    A path may lead through the name of a flow or station: ``flows.up.tcp.cc`` is a congestion control, too, and
    ``stations.sender.count`` the number of those stations.
    """
    parts = path.split(".")
    if len(parts) == 3 and parts[-1] == "count":
        return f"{PARAMETERS.get(f'{parts[0]}.count', parts[0])} ({parts[1]})"
    for length in range(min(3, len(parts)), 1, -1):
        found = PARAMETERS.get(".".join(parts[-length:]))
        if found:
            return found
    return PARAMETERS.get(".".join([parts[0], *parts[2:]]), path)


def _words(name: str) -> str:
    return name.replace("_", " ")
