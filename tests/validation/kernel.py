"""Linux's TCP in a testbed without radio, rebuilt as a scenario; the truth is what its sockets said of themselves."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import wifair
from model import HERE, Case, Comparison, Rule, Values
from numpy.typing import NDArray

CAPTURES = HERE.parent / "data" / "captures" / "kernel"

TESTBED = """
duration = "12 s"
[[servers]]
name = "sender"
[[servers]]
name = "receiver"
[[routers]]
name = "relay"
[[links]]
from = "sender"
to = "relay"
rate = "1 Gb/s"
delay = "10 ms"
queue.limit = "100000 packets"
[[links]]
from = "relay"
to = "receiver"
rate = "8 Mb/s"
burst = "1600 B"
queue.limit = "30 kB"
[tcp]
stack = "modern"
mss = "1448 B"
receive_window = "4 MB"
"""
# The segment is 1448 bytes, 12 of option, 40 of header, and on the bridge 14 of Ethernet header: `header` counts those.


@dataclass(frozen=True)
class Flow:
    """A connection: its name here, its file, its congestion control, when it began [s]."""

    name: str
    file: str
    tcp: str
    start_s: float


@dataclass(frozen=True)
class Testbed:
    """A run of the testbed; the bucket counts Ethernet headers where it sits on the bridge."""

    name: str
    limit: str
    bursts: tuple[int, int, int]
    """What the bucket may hold, in bytes; the middle one is the likeliest."""
    flows: Sequence[Flow]
    ethernet: bool


RENO = 'tcp.cc = "reno"'
# The receiver acknowledges each of its first 22 segments (captures a and b; 16 in Linux 6.1, as everywhere here).
CUBIC = 'tcp.cc = "cubic"\ntcp.cubic.hystart = "classic"\ntcp.quick_acks = 22'
# Its timeouts are multiples of 10 ms: HZ is 100.
WESTWOOD = 'tcp.cc = "westwood-plus"\ntcp.westwood-plus = { filter = "linux", tick = "10 ms" }'
# The buckets' sizes are not recorded, but the captures bound them: arrivals repeatedly exceed 8 Mb/s times the time by
# at most 3104 bytes (a_reno_down_rcv). In user-mode Linux ACKs exceed it by up to 10.6 kB, 3 kB of it because an ACK
# counts two segments; its timeouts are multiples of 10 ms, so HZ is 100, and tc-tbf(8) then asks for 10 kB.
NAMESPACES, USER_MODE = (1_600, 3_100, 5_000), (8_000, 10_000, 12_000)
TESTBEDS = (
    Testbed("Reno alone", "30 kB", NAMESPACES, (Flow("Reno", "a_reno_down", RENO, 0.0),), ethernet=True),
    Testbed(
        "two CUBIC", "30 kB", NAMESPACES,
        (Flow("first", "b_cubic_2up_c1", CUBIC, 0.0), Flow("second", "b_cubic_2up_c2", CUBIC, 0.971)),
        ethernet=False,
    ),
    Testbed(
        "Westwood, Reno", "45 kB", USER_MODE,
        (
            Flow("Westwood", "uml_westwood_vs_reno.westwood", WESTWOOD, 0.0),
            Flow("Reno", "uml_westwood_vs_reno.reno", RENO, 0.347),
        ),
        ethernet=True,
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Socket:
    """What a socket said of itself, every 50 ms: means over the samples."""

    time_s: Values
    goodput: float
    cwnd: float
    srtt_s: float
    retransmissions: int


@cache
def socket(name: str) -> Socket:
    with gzip.open(CAPTURES / f"{name}.csv.gz", "rt", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    time, acked, cwnd, rtt = (
        np.array([float(row[key]) for row in rows]) for key in ("t_unix", "bytes_acked", "cwnd", "rtt_us")
    )
    time -= time[0]
    goodput = float(8e-6 * (acked[-1] - acked[0]) / time[-1])
    return Socket(time, goodput, float(cwnd.mean()), float(rtt.mean()) / 1e6, int(rows[-1]["total_retrans"]))


def scenario(testbed: Testbed, burst: int) -> wifair.Scenario:
    text = TESTBED.replace("1600 B", f"{burst} B").replace("30 kB", testbed.limit)
    text = text.replace("12 s", f"{max(flow.start_s + socket(flow.file).time_s[-1] for flow in testbed.flows):.3f} s")
    text += f'header = "{54 if testbed.ethernet else 40} B"\n'
    for flow in testbed.flows:
        # The start is drawn from 20 ms, because the hosts of a real testbed do not start in step.
        text += f'[[flows]]\nname = "{flow.name}"\nfrom = "sender"\nto = "receiver"\n'
        text += f'start = "{flow.start_s} s"\nstart_spread = "20 ms"\n{flow.tcp}\n'
    return wifair.Scenario.from_text(text)


def cases() -> Iterator[Case]:
    for testbed in TESTBEDS:
        alone = len(testbed.flows) == 1
        total = sum(socket(flow.file).goodput for flow in testbed.flows)
        for burst in testbed.bursts:
            for flow in testbed.flows:
                truth = socket(flow.file)

                def measure(
                    results: wifair.Results,
                    testbed: Testbed = testbed,
                    flow: Flow = flow,
                    truth: Socket = truth,
                    alone: bool = alone,
                    total: float = total,
                ) -> Iterable[Comparison]:
                    series, flows = sampled(results), results.flows
                    ours: dict[str, list[float]] = {"goodput": [], "cwnd": [], "srtt": []}
                    for seed in results.seeds:
                        rows = _samples(results, flow, seed)
                        ours["goodput"].append(_goodput(results, flow, seed))
                        ours["cwnd"].append(np.nanmean(series["cwnd"][rows]))
                        ours["srtt"].append(1e3 * np.nanmean(series["srtt_s"][rows]))
                    every = [_total(results, testbed, seed) for seed in results.seeds]
                    yield Comparison("all flows [Mb/s]", np.array(every), {"Linux": [total]}, Rule.MEAN, 0.05)
                    rule = (Rule.MEAN, 0.05) if alone else (Rule.T_TEST, 0.05)
                    yield Comparison("goodput [Mb/s]", np.array(ours["goodput"]), {"Linux": [truth.goodput]}, *rule)
                    yield Comparison("cwnd", np.array(ours["cwnd"]), {"Linux": [truth.cwnd]}, *rule15(alone))
                    srtt = {"Linux": [1e3 * truth.srtt_s]}
                    yield Comparison("srtt [ms]", np.array(ours["srtt"]), srtt, Rule.MEAN, 0.15)
                    again = flows.filter(name=flow.name)["retransmissions"].astype(float)
                    theirs = {"Linux": [float(truth.retransmissions)]}
                    yield Comparison("retransmissions", again, theirs, Rule.ORDER, 4.0)

                labels = {"testbed": testbed.name, "flow": flow.name, "burst": burst}
                yield Case(labels, scenario(testbed, burst), measure, fast=burst == testbed.bursts[1], series="50 ms")


def sampled(results: wifair.Results) -> wifair.Columns:
    """The time series, which every case asks for."""
    assert results.series is not None
    return results.series


def _samples(results: wifair.Results, flow: Flow, seed: int) -> NDArray[np.bool_]:
    """Samples of the time in which the kernel's socket was looked at."""
    series = sampled(results)
    at = series["time_s"]
    rows = (series["flow"] == flow.name) & (series["seed"] == seed)
    rows &= (at > flow.start_s + 0.02) & (at <= flow.start_s + socket(flow.file).time_s[-1])
    return np.asarray(rows, dtype=np.bool_)


def _goodput(results: wifair.Results, flow: Flow, seed: int) -> float:
    received = sampled(results)["received_bytes"][_samples(results, flow, seed)].sum()
    return float(8e-6 * received / socket(flow.file).time_s[-1])


def _total(results: wifair.Results, testbed: Testbed, seed: int) -> float:
    return sum(_goodput(results, flow, seed) for flow in testbed.flows)


def rule15(alone: bool) -> tuple[Rule, float]:
    """Flows that compete win or lose by chance: the one run of the kernel may lie where one of ours could."""
    return (Rule.MEAN if alone else Rule.T_TEST), 0.15
