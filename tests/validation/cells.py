"""TCP over one cell: ns-2 and ns-3 at the same settings, and the saturated MAC."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import wifair
from model import NARROW, Case, Comparison, Rule, goodput, held, lookup, read, starved

NS2 = """
duration = "65 s"
warm_up = "5 s"
[wlan]
standard = "802.11b"
profile = "ns2"
[ap]
queue.limit = "49 packets"
[[servers]]
name = "server"
delay = "10 ms"
queue.limit = "100000 packets"
[[stations]]
name = "sta"
queue.limit = "49 packets"
[tcp]
stack = "ns2"
cc = "newreno"
receive_window = "1000 packets"
[[flows]]
name = "f"
station = "sta"
start = "1 s"
start_spread = "1 s"
"""

# ns-3's script had no timestamps, buffers of 1 MB, an initial window of one segment, an ACK for each one, and
# YansWifiPhy with its defaults on a circle of 5 m: log-distance loss of 46.6777 dB and exponent 3, 40 mW, a noise
# figure of 7 dB, frames heard from -101 dBm, bits that go wrong.
NS3 = """
duration = "65 s"
warm_up = "5 s"
[wlan]
standard = "802.11b"
[space]
propagation = "log-distance"
log-distance.exponent = 3
log-distance.reference_loss = "46.6777 dB"
radio.tx_power = "16.0206 dBm"
radio.noise = "-94 dBm"
radio.sensitivity = "-101 dBm"
reception.spoils = "bits"
reception.carrier_sense = "total"
[ap]
queue.limit = "49 packets"
[[servers]]
name = "server"
delay = "10 ms"
[[stations]]
name = "sta"
queue.limit = "49 packets"
layout = "circle"
circle.radius = "5 m"
[tcp]
cc = "newreno"
mss = "1000 B"
sack = true
timestamps = false
receive_window = "1000 packets"
initial_window = "1 packet"
delayed_ack = false
[[flows]]
name = "f"
station = "sta"
start_spread = "1 s"
"""

UDP = """
duration = "21 s"
warm_up = "1 s"
[wlan]
standard = "802.11b"
[ap]
[[servers]]
name = "server"
[[stations]]
name = "sta"
[[flows]]
name = "f"
station = "sta"
transport = "udp"
udp.rate = "12 Mb/s"
"""


def tcp() -> Iterator[Case]:
    rows, still = read("cell.csv"), read("ns2_still.csv")
    for program, text, ns2 in (
        ("ns-2", NS2, "b-ns2"),
        ("ns-2 SACK", NS2, "b-ns2-sack"),
        ("ns-3", NS3, "b-ns3-sack"),
    ):
        base = wifair.Scenario.from_text(text)
        if program == "ns-2 SACK":
            base = base.with_({"tcp.sack": True, "tcp.recovery": "sack1"})
        for queue in (50, 100):
            for direction in ("up", "down"):
                for n in (1, 4, 20):
                    keys = {"direction": direction, "n": n, "queue": queue}
                    # If there are runs that start after ns-2 has found its routes, those count.
                    routed = lookup(rows, "jain", case=f"{ns2}-start20", **keys)
                    keys["case"] = f"{ns2}-start20" if routed else ns2
                    known = {"tcp": "Sack1" if program == "ns-2 SACK" else "Newreno", "direction": direction}
                    known |= {"case": "cell" if ns2.startswith("b-ns2") else "", "n": str(n), "queue": str(queue)}
                    theirs = {
                        quantity: (lookup(still, metric, **known), lookup(rows, metric, **keys))
                        for quantity, metric in (
                            ("goodput [Mb/s]", "goodput_mbps"),
                            ("Jain", "jain"),
                            ("starved", "starved_flows"),
                        )
                    }
                    if not any(theirs["Jain"]):
                        continue
                    scenario = base.with_(
                        {
                            "stations.count": n,
                            "flows.direction": direction,
                            "ap.queue.limit": f"{queue - 1} packets",
                            "stations.queue.limit": f"{queue - 1} packets",
                        }
                    )

                    def measure(
                        results: wifair.Results,
                        theirs: dict[str, tuple[list[float], list[float]]] = theirs,
                        source: str = program.split(maxsplit=1)[0],
                    ) -> Iterable[Comparison]:
                        jain = np.asarray(results.cells["jain_index"], dtype=float)
                        for quantity, ours, rule, tolerance in (
                            ("goodput [Mb/s]", goodput(results), Rule.MEAN, 0.05),
                            ("Jain", jain, Rule.T_TEST, NARROW),
                            ("starved", starved(results), Rule.COUNT, 2.0),
                        ):
                            yield from held(quantity, ours, *theirs[quantity], rule, tolerance, source)

                    labels = {"program": program, "direction": direction, "n": n, "queue": queue}
                    yield Case(labels, scenario, measure, fast=n == 4 and queue == 50)


def saturation() -> Iterator[Case]:
    bianchi, ns3 = read("bianchi.csv"), read("cell.csv")
    base = wifair.Scenario.from_text(UDP)
    for row in bianchi:
        standard, payload, n = row["standard"], int(row["payload"]), int(row["n"])
        other = lookup(ns3, "goodput_mbps", case="a-ns3", standard=standard, n=n, payload=payload)
        rates = {"wlan.data_rate": "54 Mb/s", "wlan.basic_rate": "24 Mb/s"} if standard == "g" else {}
        scenario = base.with_(
            {
                "wlan.standard": f"802.11{standard}",
                **rates,
                "stations.count": n,
                "flows.udp.payload": f"{payload} B",
                "flows.udp.rate": f"{60 if standard == 'g' else 12} Mb/s",
            }
        )

        def measure(
            results: wifair.Results, row: dict[str, str] = row, other: list[float] = other, n: int = n
        ) -> Iterable[Comparison]:
            values = goodput(results)
            bianchi = {
                "Monte Carlo": [float(row["mc_mbps_noeifs"])],
                "Bianchi": [float(row["bianchi_mbps_tc_data_difs"])],
            }
            yield Comparison("goodput [Mb/s]", values, {"Monte Carlo": bianchi["Monte Carlo"]}, Rule.MEAN, 0.01)
            yield Comparison("goodput [Mb/s]", values, {"Bianchi": bianchi["Bianchi"]}, Rule.SHOWN)
            if other:
                # Above 20 stations ns-3 does not reset the contention window after the last try.
                yield Comparison("goodput [Mb/s]", values, {"ns-3": other}, Rule.MEAN if n <= 20 else Rule.SHOWN, 0.02)

        yield Case({"standard": f"802.11{standard}", "payload": payload, "n": n}, scenario, measure, fast=n == 5)


def bianchi() -> Iterator[Case]:
    """Bianchi's model as ns-3 solves it: no limit of tries, no IP."""
    base = wifair.Scenario.from_text(UDP).with_(
        {
            "wlan.standard": "802.11a",
            "wlan.basic_rate": "24 Mb/s",
            "flows.udp.rate": "60 Mb/s",
            "flows.udp.payload": "1500 B",
            "flows.udp.header": "0 B",
        }
    )
    for row in read("ns3_bianchi.csv"):
        for tries in (255, 7):
            n = int(row["n"])
            changes = {"stations.count": n, "wlan.short_retry_limit": tries, "wlan.eifs": "off"}

            def measure(
                results: wifair.Results, theirs: float = float(row["difs_mbps"]), tries: int = tries
            ) -> Iterable[Comparison]:
                # The model has no retry limit; rows with the standard's limit are shown without a criterion.
                rule = Rule.MEAN if tries == 255 else Rule.SHOWN
                yield Comparison("goodput [Mb/s]", goodput(results), {"ns-3's closed form": [theirs]}, rule, 0.01)

            yield Case({"n": n, "tries": tries}, base.with_(changes), measure, fast=n == 5)


def saturation_ns2() -> Iterator[Case]:
    """Uploads of UDP over 802.11g in ns-2, which adds 40 bytes of IP and DSDV to each datagram."""
    rows, still = read("cell.csv"), read("ns2_still.csv")
    base = wifair.Scenario.from_text(f'{UDP}\n[space]\nprofile = "ns2"').with_(
        {
            "stations.layout": "circle",
            "stations.circle.radius": "5 m",
            "wlan.standard": "802.11g",
            "wlan.profile": "ns2",
            "wlan.basic_rate": "24 Mb/s",
            "flows.udp.rate": "60 Mb/s",
            "flows.udp.payload": "1000 B",
            "flows.udp.header": "40 B",
        }
    )
    for n in (1, 2, 5, 10, 20, 50):
        theirs = (
            lookup(still, "goodput_mbps", case="a-ns2", n=n),
            lookup(rows, "goodput_mbps", case="a-ns2", n=n),
        )

        def measure(results: wifair.Results, theirs: tuple[list[float], list[float]] = theirs) -> Iterable[Comparison]:
            yield from held("goodput [Mb/s]", goodput(results), *theirs, Rule.MEAN, 0.02)

        yield Case({"n": n}, base.with_({"stations.count": n}), measure, fast=n == 2)


ANOMALY = """
[[flows]]
name = "{name}"
station = "{name}"
transport = "udp"
direction = "up"
udp.rate = "30 Mb/s"
udp.payload = "1000 B"
"""


def anomaly() -> Iterator[Case]:
    """One slow station among five: INET, and the equal shares that Heusse and others (INFOCOM 2003) derive."""
    text = UDP.split("[[stations]]", maxsplit=1)[0] + "".join(
        f'[[stations]]\nname = "{name}"\ncount = {count}\nqueue.limit = "10 packets"\n{ANOMALY.format(name=name)}'
        for name, count in (("slow", 1), ("fast", 4))
    )
    base = wifair.Scenario.from_text(text).with_({"wlan.standard": "802.11g", "wlan.basic_rate": "24 Mb/s"})
    for row in read("inet_anomaly.csv"):
        rate = row["slow_rate_mbps"]

        def measure(results: wifair.Results, row: dict[str, str] = row) -> Iterable[Comparison]:
            flows = np.asarray(results.flows["goodput_bps"], dtype=float).reshape(len(results.seeds), -1) / 1e6
            slow, fast = flows[:, 0], flows[:, 1:].mean(axis=1)
            theirs = {name: {"INET": [float(row[f"{name}_mbps"])]} for name in ("aggregate", "slow", "fast")}
            yield Comparison("goodput [Mb/s]", goodput(results), theirs["aggregate"], Rule.MEAN, 0.05)
            yield Comparison("slow [Mb/s]", slow, theirs["slow"], Rule.SHOWN)
            yield Comparison("fast [Mb/s]", fast, theirs["fast"], Rule.SHOWN)
            yield Comparison("slow/fast", slow / fast, {"Heusse": [1.0]}, Rule.RATIO_ONE, 0.03)

        yield Case(
            {"slow station": f"{rate} Mb/s"},
            base.with_({"stations.slow.data_rate": f"{rate} Mb/s"}),
            measure,
            fast=rate == "6",
        )
