"""802.11n, ac and ax beside ns-3 and an exact Monte Carlo at the same settings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

import numpy as np
import wifair
from model import NARROW, Case, Comparison, Rule, goodput, read

STANDARDS = {"n": "802.11n", "ac": "802.11ac", "ax": "802.11ax"}
CATEGORIES = {"VO": "voice", "VI": "video", "BE": "best-effort", "BK": "background"}
SETTINGS = (
    "case", "std", "band_ghz", "width_mhz", "mcs", "nss", "gi_ns", "ampdu_max", "amsdu_max", "bar_after_missed_ba",
    "dir", "transport", "tcp", "n", "acs", "txop", "mcss", "per", "queue",
)  # fmt: skip


def scenario(row: Mapping[str, str]) -> str:
    """Write the scenario of a row of ns-3."""
    n = int(row["n"])
    stations = 2 * n if row["dir"] == "mix" else n
    wlan: list[str] = [f'standard = "{STANDARDS[row["std"]]}"', f"mcs = {row['mcs'].split(';')[0]}"]
    if row["std"] != "ac":
        wlan.append(f'band = "{row["band_ghz"]} GHz"')
    if row["std"] != "n":
        wlan.append(f"streams = {row['nss']}")
    wlan += [f"width = {row['width_mhz']}", f'guard_interval = "{row["gi_ns"]} ns"']
    wlan += [f"data_error = {row['per']}"] if float(row["per"] or 0) > 0 else []
    wlan.append(f'aggregation.max_ampdu = "{row["ampdu_max"]} B"')
    wlan += [f'aggregation.max_amsdu = "{row["amsdu_max"]} B"'] if int(row["amsdu_max"]) else []
    if row["bar_after_missed_ba"] == "1" and row["ampdu_max"] != "0":
        wlan.append("aggregation.request_after_miss = true")
    if row["txop"] == "1":
        wlan.append("cf_end = true")  # ns-3 ends each TXOP with it that has the time
    else:
        wlan += ['edca.vo.txop = "0 s"', 'edca.vi.txop = "0 s"']
    if row["transport"] == "tcp":
        wlan += ["aggregation.count_in_flight = true"]  # as in ns-3
    lines = [f'duration = "{row["end_s"]} s"', f'warm_up = "{row["warm_s"]} s"', "[wlan]", *wlan]
    lines += ["[ap]", f'queue.limit = "{row["queue"]} packets"']
    lines += ["[[servers]]", 'name = "server"', 'delay = "10 ms"', f'rate = "{row["wire_mbps"]} Mb/s"']
    lines.append('queue.limit = "1000000 packets"')
    categories, own = (row[key].replace(",", ";").split(";") for key in ("acs", "mcss"))
    for index in range(stations):
        lines += ["[[stations]]", f'name = "s{index}"', f'queue.limit = "{row["queue"]} packets"']
        lines += [f"mcs = {own[index]}"] if row["mcss"] else []
        up = row["dir"] == "up" or (row["dir"] == "mix" and index < n)
        lines += ["[[flows]]", f'name = "f{index}"', f'station = "s{index}"', f'direction = "{"up" if up else "down"}"']
        lines += [f'category = "{CATEGORIES[categories[index]]}"'] if row["acs"] else []
        lines += traffic(row, n, len(categories))
    return "\n".join(lines)


# TCP of ns-3 3.44 as set there: neither RACK, tail loss probes, F-RTO, Eifel nor quick ACKs, a minimum RTO of 1 s,
# buffers of 4 MiB.
NS3_TCP = [
    'tcp.stack = "modern"',
    'tcp.mss = "1460 B"',
    'tcp.recovery = "sack"',
    "tcp.f_rto = false",
    "tcp.eifel = false",
    'tcp.min_rto = "1 s"',
    "tcp.min_rto_on_variance = false",
    'tcp.ack_delay = "200 ms"',
    "tcp.quick_acks = 0",
    'tcp.receive_window = "4 MiB"',
]

# ns-3's CUBIC has a HyStart of its own, windows of whole segments with the steps of Linux, and a plateau that survives
# timeouts; its NewReno is that of RFC 5681, with one segment for each ACK, but halves what may still be in the network.
NS3_CONTROL = {
    "Cubic": [
        'tcp.cc = "cubic"',
        'tcp.cubic.hystart = "ns3"',
        "tcp.cubic.whole_segments = true",
        "tcp.cubic.keep_plateau = true",
    ],
    "NewReno": ['tcp.cc = "newreno"', 'tcp.growth = "one-segment"', 'tcp.reduce_from = "pipe"'],
}


def traffic(row: Mapping[str, str], n: int, categories: int) -> list[str]:
    """Write what each flow of a row carries."""
    if row["transport"] == "tcp":
        # Without timestamps ns-3 takes an RTT sample from each ACK of segments sent once, and each new ACK ends the
        # backoff of its timer, much as with timestamps. They take no bytes then.
        count = "true" if row["timestamps"] == "1" else "false"
        lines = ['start = "1 s"', 'start_spread = "500 ms"', "tcp.timestamps = true", f"tcp.count_options = {count}"]
        return lines + NS3_TCP + NS3_CONTROL[row["tcp"]]
    phy_rate = float(row["phy_rate_mbps"])
    if row["case"] == "f":
        # Exponential on and off periods there; here each interval is drawn from within its mean.
        return ['transport = "udp"', 'udp.rate = "30 Mb/s"', "udp.jitter = 1.0", 'start_spread = "10 ms"']
    contended = 1.02 * phy_rate if n == 1 else 1.38 * phy_rate / n
    rate = phy_rate if row["case"] == "a" or categories > 1 else contended
    return ['transport = "udp"', f'udp.rate = "{rate:.3f} Mb/s"', 'start_spread = "10 ms"']


def rows(*cases: str) -> Iterator[list[dict[str, str]]]:
    """Group the rows of these cases by their settings: runs that differ in the seed alone."""
    chosen = [row for row in read("ns3_high_throughput.csv") if row["case"] in cases]

    def settings(row: Mapping[str, str]) -> tuple[str, ...]:
        return tuple(row[key] for key in SETTINGS)

    for _, group in groupby(sorted(chosen, key=settings), settings):
        yield list(group)


def values(runs: Iterable[Mapping[str, str]], column: str) -> list[float]:
    return [float(run[column]) for run in runs]


def udp() -> Iterator[Case]:
    """Datagrams: one station, contention, errors, stations at different rates."""
    limits = {"a": 0.01, "b": 0.01, "c": 0.02, "cx": 0.02, "f": 0.03, "g": 0.03}
    for runs in rows(*limits):
        row = runs[0]
        if row["transport"] != "udp":
            continue
        tolerance = limits[row["case"]]
        # Ten stations of 802.11ax have one run of 3 s in ns-3.
        shown = row["case"] == "cx" and row["n"] == "10"
        goodputs = values(runs, "goodput_mbps")
        exact = monte_carlo(row) if row["case"] in ("c", "cx") else None

        def measure(
            results: wifair.Results,
            theirs: list[float] = goodputs,
            rule: Rule = Rule.SHOWN if shown else Rule.MEAN,
            tolerance: float = tolerance,
            exact: float | None = exact,
            alone: bool = row["n"] == "1",
        ) -> Iterable[Comparison]:
            if exact is not None:
                # For one station it is a closed form.
                source, within = ("closed form", 0.002) if alone else ("Monte Carlo", 0.01)
                yield Comparison("goodput [Mb/s]", goodput(results), {source: [exact]}, Rule.MEAN, within)
            yield Comparison("goodput [Mb/s]", goodput(results), {"ns-3": theirs}, rule, tolerance)

        labels = {
            "case": row["case"],
            "standard": STANDARDS[row["std"]],
            "GHz": row["band_ghz"],
            "MHz": row["width_mhz"],
        }
        labels |= {
            "MCS": row["mcss"] or row["mcs"],
            "GI": row["gi_ns"],
            "A-MPDU": row["ampdu_max"],
            "A-MSDU": row["amsdu_max"],
        }
        labels |= {"BAR": row["bar_after_missed_ba"], "direction": row["dir"], "n": row["n"], "errors": row["per"]}
        fast = row["case"] == "f" or (row["case"] == "c" and row["n"] == "2") or row["per"] == "0.1"
        yield Case(labels, wifair.Scenario.from_text(scenario(row)), measure, fast)


def monte_carlo(row: Mapping[str, str]) -> float | None:
    """Find the goodput of a row of ns-3 by the exact Monte Carlo with ns-3's rules, in Mb/s."""
    keys = {"case": row["case"], "n": row["n"], "ampdu_max": row["ampdu_max"], "mcs": row["mcs"], "rule": "ns3"}
    keys["bar"] = row["bar_after_missed_ba"] if int(row["ampdu_max"]) else "0"
    keys["retry_limit"] = "7"
    found = (one for one in read("ampdu_mc.csv") if all(one[key] == value for key, value in keys.items()))
    return next((float(one["goodput_mbps"]) for one in found), None)


PUBLISHED = """
duration = "11 s"
warm_up = "1 s"
wlan = { standard = "802.11n", mcs = 7 }
ap.queue.limit = "500 packets"
servers = [{ name = "server", rate = "1 Gb/s", queue.limit = "100000 packets" }]
stations = [{ name = "sta", queue.limit = "500 packets" }]
[[flows]]
name = "f"
station = "sta"
direction = "down"
transport = "udp"
udp.rate = "117.76 Mb/s"
start_spread = "1 ms"
"""
"""ns-3's examples: a datagram of 1472 bytes each 100 us, ten seconds."""


def published() -> Iterator[Case]:
    """Figures that ns-3's own examples are held to."""
    base = wifair.Scenario.from_text(PUBLISHED)
    alone = {"wlan.aggregation.max_ampdu": "0 B"}
    both = {"wlan.aggregation.max_ampdu": "32768 B", "wlan.aggregation.max_amsdu": "3839 B"}
    sizes = {
        "A-MPDU 65 kB": {},
        "none": alone,
        "A-MSDU 8 kB": alone | {"wlan.aggregation.max_amsdu": "7935 B"},
        "both": both,
    }
    levels = [["-10 dB", "-70 dB", "-70 dB"], ["-70 dB", "-10 dB", "-200 dB"], ["-70 dB", "-200 dB", "-10 dB"]]
    hidden: dict[str, object] = {
        "flows.direction": "up",
        "space.gains": levels,
        "wlan.aggregation.max_ampdu": f"{32 * 1672} B",
    }
    hidden |= {"wlan.aggregation.request_after_miss": True}  # ns-3's default
    bianchi = {"wlan.standard": "802.11ax", "wlan.mcs": 11, "flows.direction": "up", "flows.udp.rate": "120 Mb/s"}
    bianchi |= {"flows.udp.payload": "1500 B", "flows.udp.header": "0 B"} | alone
    for row in read("ns3_published.csv"):
        example, case, n = row["example"], row["case"], int(row["n"])
        changes: dict[str, object] = {"stations.count": n}
        match example:
            case "saturation":
                changes["wlan.mcs"] = int(case.split()[1])
            case "hidden stations":
                changes |= hidden | ({"wlan.rts_threshold": "0 B"} if "RTS" in case else {})
            case "Bianchi":
                changes |= bianchi
            case _:
                changes |= sizes[case]
                changes |= {"wlan.edca.be.txop": "3.52 ms", "wlan.cf_end": True} if "txop" in example else {}
        low, high = float(row["low_mbps"]), float(row["high_mbps"])
        # The model never gives up a frame, as in the section on Bianchi's model; a figure without a band has 1 %
        # tolerance.
        for tries in (255, 7) if example == "Bianchi" else (7,):

            def measure(
                results: wifair.Results,
                middle: float = (low + high) / 2,
                within: float = (high - low) / (high + low) or 0.01,
                rule: Rule = Rule.SHOWN if example == "Bianchi" and tries == 7 else Rule.MEAN,
            ) -> Iterable[Comparison]:
                yield Comparison("goodput [Mb/s]", goodput(results), {"ns-3": [middle]}, rule, within)

            labels = {"example": example, "case": case, "n": n, "tries": tries, "band": f"{low:g} to {high:g}"}
            if low == high:
                labels["band"] = "1 %"
            text = base.with_(changes | {"wlan.short_retry_limit": tries})
            yield Case(labels, text, measure, fast=(example, case) == ("wifi-aggregation", "none"))


def categories() -> Iterator[Case]:
    """One saturated station of each category."""
    monte_carlo = read("ampdu_mc.csv")
    for runs in rows("d"):
        row = runs[0]
        exact = next(
            mc
            for mc in monte_carlo
            if mc["case"] == "d"
            and mc["rule"] == "ns3"
            and mc["txop"] == row["txop"]
            and mc["ampdu_max"] == row["ampdu_max"]
            and mc["bar"] == (row["bar_after_missed_ba"] if int(row["ampdu_max"]) else "0")
        )
        each = [float(value) for value in exact["per_station_mbps"].split(";")]
        has_txop = row["txop"] == "1"
        goodputs = values(runs, "goodput_mbps")

        def measure(
            results: wifair.Results,
            exact: Mapping[str, str] = exact,
            each: list[float] = each,
            theirs: list[float] = goodputs,
            has_txop: bool = has_txop,
        ) -> Iterable[Comparison]:
            total = {"Monte Carlo": [float(exact["goodput_mbps"])], "ns-3": theirs}
            yield Comparison("goodput [Mb/s]", goodput(results), total, Rule.MEAN, 0.02)
            flows = np.asarray(results.flows["goodput_bps"], dtype=float).reshape(len(results.seeds), -1) / 1e6
            for place, name in enumerate(("VO", "VI", "BE")):
                # With a TXOP limit too few frames of BE are sent.
                rule = Rule.SHOWN if has_txop and name == "BE" else Rule.MEAN
                yield Comparison(f"{name} [Mb/s]", flows[:, place], {"Monte Carlo": [each[place]]}, rule, 0.05)

        labels = {"A-MPDU": row["ampdu_max"], "BAR": row["bar_after_missed_ba"], "TXOP": row["txop"]}
        text = wifair.Scenario.from_text(scenario(row))
        yield Case(labels, text, measure, fast=not has_txop)


def tcp() -> Iterator[Case]:
    """CUBIC and NewReno, up, down and both, without timestamps as in `ns3_tcp.csv`, and with them."""
    plain = read("ns3_tcp.csv")
    for recorded in rows("e", "en", "f", "g"):
        first = recorded[0]
        if first["transport"] != "tcp":
            continue
        keys = ("case", "std", "tcp", "dir", "n", "queue")
        if runs := [one for one in plain if all(one[key] == first[key] for key in keys)]:
            yield one_tcp(first | {"timestamps": "0"}, {"ns-3": runs}, Rule.MEAN, Rule.T_TEST)
        # The wire makes two fragments of a segment with timestamps on its way down: see the text of the section.
        split = first["dir"] != "up"
        references = {"ns-3, fragments" if split else "ns-3": recorded}
        rules = (Rule.SHOWN, Rule.SHOWN) if split else (Rule.MEAN, Rule.T_TEST)
        yield one_tcp(first | {"timestamps": "1"}, references, *rules)


def one_tcp(row: Mapping[str, str], references: Mapping[str, list[dict[str, str]]], mean: Rule, test: Rule) -> Case:
    """Compare goodput, Jain's index and round-trip times of TCP."""

    def measure(results: wifair.Results) -> Iterable[Comparison]:
        def theirs(column: str) -> dict[str, list[float]]:
            return {source: values(runs, column) for source, runs in references.items() if runs[0].get(column)}

        yield Comparison("goodput [Mb/s]", goodput(results), theirs("goodput_mbps"), mean, 0.05)
        ours = np.asarray(results.cells["jain_index"], dtype=float)
        yield Comparison("Jain", ours, theirs("jain"), test, NARROW)
        # Counted as here, where that was recorded.
        if rtts := theirs("rtt_all_ms") or theirs("rtt_ms"):
            each = np.asarray(results.flows["rtt_mean_s"], dtype=float).reshape(len(results.seeds), -1)
            average = np.nanmean(each, axis=1)  # a flow that never got through has none
            yield Comparison("RTT [ms]", average * 1e3, rtts, mean, 0.10)

    labels = {"case": row["case"], "standard": STANDARDS[row["std"]], "TCP": row["tcp"], "direction": row["dir"]}
    labels |= {"n": row["n"], "queue": row["queue"], "MCS": row["mcss"] or row["mcs"], "errors": row["per"]}
    labels |= {"timestamps": "yes" if row["timestamps"] == "1" else "no"}
    fast = row["case"] == "e" and row["std"] == "n" and row["dir"] == "up" and row["n"] == "1"
    return Case(labels, wifair.Scenario.from_text(scenario(row)), measure, fast)
