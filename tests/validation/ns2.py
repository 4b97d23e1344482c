"""The papers' scenarios beside ns-2 at the same settings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files

import numpy as np
import wifair
from model import NARROW, Case, Comparison, Rule, goodput, held, lookup, read, starved

PAPERS = files("wifair.papers")


def paper(name: str) -> wifair.Scenario:
    return wifair.Scenario.from_text((PAPERS / name).read_text(), name=name)


def table1() -> Iterator[Case]:
    rows = read("ns2_table1.csv")
    for transport, tcp, scheme, file in (
        ("UDP", "UDP", "rts0", "table1_udp"),
        ("TCP", "Reno", "rts1-mss1000", "table1"),
    ):
        for direction in ("down", "up"):
            for n in (1, 2, 4, 8):
                changes: dict[str, object] = {"stations.count": n, "flows.direction": direction}
                if transport == "UDP":
                    # The 20 bytes of DSDV are in the datagrams of ns-2's stations.
                    changes["flows.udp.payload"] = "1520 B" if direction == "up" else "1500 B"
                theirs = lookup(rows, "tot_mbps", tcp=tcp, scheme=scheme, direction=direction, n=n)

                def measure(results: wifair.Results, theirs: list[float] = theirs) -> Iterable[Comparison]:
                    yield Comparison("goodput [Mb/s]", goodput(results), {"ns-2": theirs}, Rule.MEAN, 0.03)

                labels = {"transport": transport, "direction": direction, "n": n}
                yield Case(labels, paper(f"jung2016/{file}.toml").with_(changes), measure)


TCPS: Mapping[str, Mapping[str, object]] = {
    "Reno": {"tcp.cc": "reno"},
    "Vegas": {
        "tcp.cc": "vegas",
        "tcp.vegas.variant": "ns2",
        "tcp.header": "0 B",
        "tcp.ack_header": "40 B",
        "tcp.limited_transmit": "off",
    },
    "Westwood": {
        "tcp.cc": "westwood-plus",
        "tcp.westwood-plus.filter": "ns2",
        "tcp.sack": True,
        "tcp.recovery": "tcp-linux",
        "tcp.handshake": "none",
        "tcp.max_rto": "120 s",
        "tcp.tick": "1 ms",
    },
    "Reno-MaxWin10": {"tcp.cc": "reno", "tcp.max_cwnd": "10 packets"},
}


def sessions() -> Iterator[Case]:
    rows, still = read("ns2_sessions.csv"), read("ns2_still.csv")
    keys = sorted(
        {
            (r["figure"], r["tcp"], r["scheme"], r["direction"], int(r["n"]), int(r["length_bytes"]))
            for r in rows
            if not r["scheme"].endswith("-start20")
        }
    )
    for figure, tcp, scheme, direction, n, length in keys:
        where = {"figure": figure, "tcp": tcp, "direction": direction, "n": n, "length_bytes": length}
        # Where there are runs that start when ns-2 has routes, they count.
        routed = lookup(rows, "jain", scheme=f"{scheme}-start20", **where)
        where["scheme"] = f"{scheme}-start20" if routed else scheme
        changes: dict[str, object] = {
            "duration": "105 s",
            "warm_up": "5 s",
            "stations.count": n // 2,
            "flows.direction": direction,
            "fair_share_base": "4.96 Mb/s" if direction == "down" else "6.88 Mb/s",
            "flows.short.periodic.length": f"{length} B",
            **TCPS[tcp],
        }
        if scheme == "window1000":
            changes["tcp.receive_window"] = "1000 packets"
        window = 1000 if scheme == "window1000" else 20
        known = {
            "case": "sessions",
            "tcp": tcp,
            "direction": direction,
            "n": n,
            "length_bytes": length,
            "window": window,
        }
        theirs = {
            metric: (lookup(still, metric, **known), lookup(rows, metric, **where))
            for metric in ("tot_mbps", "if_ack", "if_send", "unfinished")
        }

        def measure(
            results: wifair.Results,
            theirs: dict[str, tuple[list[float], list[float]]] = theirs,
        ) -> Iterable[Comparison]:
            yield from held("goodput [Mb/s]", goodput(results), *theirs["tot_mbps"], Rule.MEAN, 0.05)
            for quantity, ours, metric in (
                ("IF acked", "instantaneous_fairness_acked", "if_ack"),
                ("IF sent", "instantaneous_fairness", "if_send"),
                ("unfinished", "sessions_unfinished", "unfinished"),
            ):
                if any(theirs[metric]):
                    values = np.asarray(results.cells[ours], dtype=float)
                    yield from held(quantity, values, *theirs[metric], Rule.T_TEST)

        labels = {"tcp": tcp, "direction": direction, "n": n, "length": length, "window": window}
        fast = n == 6 and length == 10_000 and direction == "down" and tcp in ("Reno", "Vegas")
        yield Case(labels, paper("jung2016/mixed.toml").with_(changes), measure, fast=fast)


SCHEMES: Mapping[str, Mapping[str, object]] = {
    "default": {},
    "default-rwnd20": {"tcp.receive_window": "20 packets"},
    "B/n": {"ap.scheme.window": "b-over-n"},
    "Wmax/n": {"ap.scheme.window": "wmax-over-n", "ap.scheme.wmax-over-n.rtt": "given"},
}

WINDOWS = {"default": 60, "default-rwnd20": 20, "B/n": 12, "Wmax/n": 15}
"""Receive windows in packets in runs with fixed routes; those of the schemes are for eight flows and 100 ms."""


def lee2007() -> Iterator[Case]:
    rows, still = read("ns2_lee2007.csv"), read("ns2_still.csv")
    # Where there are runs that start when ns-2 has routes, they count.
    suffix = "-start20"
    routed = {(r["figure"], r["scheme"].removesuffix(suffix)) for r in rows if r["scheme"].endswith(suffix)}
    rows = [r for r in rows if (r["figure"], r["scheme"]) not in routed]
    for row in rows:
        row["scheme"] = row["scheme"].removesuffix(suffix)
    seen: dict[tuple[str, ...], None] = {}
    for r in rows:
        if r["figure"] != "mu":
            seen.setdefault((r["figure"], r["scheme"], r["direction"], r["n"], r["rtt_ms"], r["error_rate"]))
    for figure, scheme, direction, n, rtt, error in seen:
        where = {"figure": figure, "scheme": scheme, "direction": direction, "n": n, "rtt_ms": rtt, "error_rate": error}
        changes: dict[str, object] = {**SCHEMES[scheme], "servers.delay": f"{float(rtt) / 2:g} ms"}
        if scheme == "Wmax/n":
            changes["ap.scheme.wmax-over-n.given_rtt"] = f"{rtt} ms"
        if direction == "up":
            scenario = paper("lee2007/uploads.toml")
        else:
            up, down = (int(part.lstrip("updown")) for part in direction.split("+"))
            scenario = paper("lee2007/default.toml")
            changes |= {"stations.sender.count": up, "stations.receiver.count": down}
        if float(error) > 0:
            # ns-2's error model applies to every frame that a receiver gets.
            changes |= {"wlan.data_error": float(error), "wlan.control_error": float(error)}
        known = {"case": figure, "direction": direction, "window": WINDOWS[scheme], "rtt_ms": rtt, "error_rate": error}
        theirs = {
            metric: (lookup(still, metric, **known), lookup(rows, metric, **where))
            for metric in ("tot_mbps", "jain", "updown")
        }
        fair = scheme in ("B/n", "Wmax/n") and float(error) <= 0.02

        def measure(
            results: wifair.Results, theirs: dict[str, tuple[list[float], list[float]]] = theirs, fair: bool = fair
        ) -> Iterable[Comparison]:
            cells = results.cells
            yield from held("goodput [Mb/s]", goodput(results), *theirs["tot_mbps"], Rule.MEAN, 0.05)
            yield from held("Jain", np.asarray(cells["jain_index"], dtype=float), *theirs["jain"], Rule.T_TEST)
            if any(theirs["updown"]):
                ratio = np.asarray(cells["up_down_ratio"], dtype=float)
                rule = Rule.RATIO_ONE if fair else Rule.T_TEST
                yield from held("up/down", ratio, *theirs["updown"], rule, 0.03)

        labels = {"scheme": scheme, "flows": direction, "rtt": rtt, "error": error, "figure": figure}
        yield Case(labels, scenario.with_(changes), measure, fast=figure == "Fig4-7" and rtt == "100")


ODA = """
duration = "300 s"
warm_up = "100 s"
[wlan]
standard = "802.11g"
profile = "ns2"
data_rate = "54 Mb/s"
basic_rate = "6 Mb/s"
sifs = "16 us"
[space]
profile = "ns2"
[ap]
queue.limit = "49 packets"
[[servers]]
name = "server"
rate = "10 Gb/s"
delay = "110 ms"
queue.limit = "1000000 packets"
[[stations]]
name = "sta"
layout = "circle"
circle.radius = "5 m"
queue.limit = "49 packets"
[tcp]
stack = "ns2"
mss = "1460 B"
receive_window = "10000 packets"
[[flows]]
name = "up"
station = "sta"
start = "1 s"
start_spread = "5 s"
"""
# Agent/TCP/Linux begins without a SYN, its timeout grows up to 120 s, and its clock ticks every millisecond (tcpTick_
# after select_ca).
LINUX: Mapping[str, object] = {
    "tcp.sack": True,
    "tcp.handshake": "none",
    "tcp.max_rto": "120 s",
    "tcp.tick": "1 ms",
}
ODA_TCPS: Mapping[str, Mapping[str, object]] = {
    "Newreno": {"tcp.cc": "newreno"},
    # Measured from 100 to 200 s.
    "Sack1": {"tcp.cc": "newreno", "tcp.sack": True, "tcp.recovery": "sack1", "duration": "200 s"},
    "Linux/compound": {"tcp.cc": "compound", "tcp.compound.arithmetic": "ns2", **LINUX},
    "Linux/reno": {"tcp.cc": "linux", **LINUX},
}


def oda2012() -> Iterator[Case]:
    rows, still = read("ns2_oda2012.csv"), read("ns2_still.csv")
    seen = {(r["tcp"], int(r["n"]), int(r["buffer"].removesuffix("pkt"))) for r in rows}
    seen |= {(r["tcp"], int(r["n"]), int(r["queue"])) for r in still if r["case"] == "oda2012"}
    base = wifair.Scenario.from_text(ODA)
    for tcp, n, buffer in sorted(seen):
        where = {"tcp": tcp, "n": n, "buffer": f"{buffer}pkt"}
        known = {"case": "oda2012", "tcp": tcp, "n": n, "queue": buffer}
        theirs = {
            metric: (lookup(still, metric, **known), lookup(rows, metric, **where))
            for metric in ("tot_mbps", "jain", "starved_lt10pct", "apq_mean_pkts")
        }
        limit = f"{buffer - 1} packets"
        scenario = base.with_(
            {**ODA_TCPS[tcp], "stations.count": n, "ap.queue.limit": limit, "stations.queue.limit": limit}
        )

        def measure(
            results: wifair.Results, theirs: dict[str, tuple[list[float], list[float]]] = theirs
        ) -> Iterable[Comparison]:
            # ns-2's script counts IP bytes.
            total = goodput(results) * 1500 / 1460
            yield from held("goodput [Mb/s]", total, *theirs["tot_mbps"], Rule.MEAN, 0.05)
            yield from held("Jain", np.asarray(results.cells["jain_index"], dtype=float), *theirs["jain"], Rule.T_TEST)
            yield from held("starved", starved(results), *theirs["starved_lt10pct"], Rule.COUNT, 2.0)
            queue = np.asarray(results.cells["ap_queue_mean_packets"], dtype=float)
            yield from held("AP queue", queue, *theirs["apq_mean_pkts"], Rule.SHOWN)

        yield Case({"tcp": tcp, "n": n, "queue": buffer}, scenario, measure, fast=False)


LAS = """
duration = "160 s"
warm_up = "60 s"
[wlan]
standard = "802.11b"
profile = "ns2"
basic_rate = "1 Mb/s"
[ap]
[[servers]]
name = "near"
delay = "2 ms"
[[servers]]
name = "middle"
delay = "50 ms"
[[servers]]
name = "far"
delay = "150 ms"
[[stations]]
name = "sta"
count = 3
[tcp]
stack = "ns2"
cc = "newreno"
delayed_ack = true
[[flows]]
name = "near"
from = "near"
to = "sta1"
start = "20 s"
start_spread = "1 s"
[[flows]]
name = "middle"
from = "middle"
to = "sta2"
start = "20 s"
start_spread = "1 s"
[[flows]]
name = "far"
from = "far"
to = "sta3"
start = "20 s"
start_spread = "1 s"
"""


def las() -> Iterator[Case]:
    rows = read("ns2_las_wlan.csv")
    base = wifair.Scenario.from_text(LAS)
    for figure, window, buffer in dict.fromkeys((r["figure"], r["window_bytes"], r["buffer_bytes"]) for r in rows):
        where = {"figure": figure, "window_bytes": window, "buffer_bytes": buffer}
        total = [value / 1e3 for value in lookup(rows, "agg_kbps", **where)]
        jain = lookup(rows, "jain", **where)
        in_bytes = figure.endswith("bytebuffer")
        limit = f"{buffer} B" if in_bytes else f"{int(buffer) // 1000 - 1} packets"
        scenario = base.with_(
            {
                "tcp.receive_window": f"{int(window) // 1000} packets",
                "ap.queue.limit": limit,
                "stations.queue.limit": limit,
            }
        )

        def measure(
            results: wifair.Results, total: list[float] = total, jain: list[float] = jain
        ) -> Iterable[Comparison]:
            yield Comparison("goodput [Mb/s]", goodput(results), {"ns-2": total}, Rule.MEAN, 0.05)
            index = np.asarray(results.cells["jain_index"], dtype=float)
            yield Comparison("Jain", index, {"ns-2": jain}, Rule.T_TEST, NARROW)

        labels = {"window": window, "buffer": buffer, "counts": "bytes" if in_bytes else "packets"}
        yield Case(labels, scenario, measure, fast=window == "50000" and buffer == "50000" and not in_bytes)
