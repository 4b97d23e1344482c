"""CUBIC and TCP Prague through queues of real Linux: 38 of the public runs of L4STeam, rebuilt as scenarios."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

import numpy as np
import wifair
from model import REFERENCE, Case, Comparison, Rule

FLOW = """
[[flows]]
name = "{name}"
from = "sender"
to = "receiver"
start = "{start} s"
start_spread = "100 ms"
tcp.cc = "{name}"
tcp.ecn = true
"""

TESTBED = """
duration = "58 s"
warm_up = "20 s"
[[servers]]
name = "sender"
[[servers]]
name = "receiver"
[[routers]]
name = "relay"
[[links]]
from = "sender"
to = "relay"
rate = "10 Gb/s"
delay = "{half_ms} ms"
queue.limit = "100000 packets"
[[links]]
from = "relay"
to = "receiver"
rate = "{rate} Mb/s"
queue = {queue}
[tcp]
stack = "linux"
receive_window = "40 MB"
"""


def queue(title: str) -> str | None:
    """The qdisc of a run as a queue's table; None where its parameters are not recorded."""
    found = re.search(r"qdisc:(\w+?)(?:\((.*?)\))? ", title)
    assert found is not None, title
    name, options = found.group(1), found.group(2) or ""
    match name:
        case "dualpi2":
            return '{ discipline = "dualpi2", limit = "10000 packets" }'
        case "codel1q":
            # The interval is the path length; the target a twentieth of it, as 5 ms to 100 ms by default.
            interval = float(options.removesuffix("ms") or 100)
            codel = f'{{ target = "{interval / 20} ms", interval = "{interval} ms" }}'
            return f'{{ discipline = "codel", limit = "1000 packets", codel = {codel} }}'
        case "pie":
            limit = re.search(r"(\d+)p", options)
            target = re.search(r"(\d+)ms", options)
            ecn = "false" if "noecn" in options else "true"
            pie = f'{{ target = "{target.group(1) if target else 15} ms", ecn = {ecn} }}'
            return f'{{ discipline = "pie", limit = "{limit.group(1) if limit else 1000} packets", pie = {pie} }}'
        case "pfifo":
            return f'{{ limit = "{options} packets" }}'
        case _:
            return None


@cache
def runs() -> tuple[Mapping[str, str], ...]:
    with (REFERENCE / "linux_l4s.csv").open(encoding="utf-8") as file:
        return tuple(csv.DictReader(file))


def scenario(run: Mapping[str, str]) -> wifair.Scenario | None:
    table = queue(run["title"])
    if run["scenario"] not in ("l4s-s1-oneflow", "l4s-s2-twoflow") or table is None:
        return None
    rate, base = rate_and_rtt(run)
    text = TESTBED.format(half_ms=base / 2, rate=rate, queue=table)
    starts = run["delays_s"].split(",") if run["delays_s"] else ["0"]
    for name, start in zip(run["cc"].split(","), starts, strict=True):
        text += FLOW.format(name=name, start=start)
    return wifair.Scenario.from_text(text)


def rate_and_rtt(run: Mapping[str, str]) -> tuple[float, float]:
    """Mb/s and ms."""
    rate, rtt = re.search(r"bandwidth:(\d+)Mbit", run["title"]), re.search(r"rtt:(\d+)ms", run["title"])
    assert rate is not None
    assert rtt is not None
    return float(rate.group(1)), float(rtt.group(1))


def cases() -> Iterator[Case]:
    for run in runs():
        built = scenario(run)
        if built is None:
            continue
        rate, base = rate_and_rtt(run)
        title = re.search(r"qdisc:(\S+)", run["title"])
        assert title is not None
        names = run["cc"].split(",")

        def measure(
            results: wifair.Results,
            run: Mapping[str, str] = run,
            base: float = base,
            names: list[str] = names,
        ) -> Iterable[Comparison]:
            assert results.series is not None
            flows, series = results.flows, results.series
            theirs = [float(run[f"mbps_{i + 1}"]) for i in range(len(names))]
            ours = [flows.filter(name=name)["goodput_bps"] / 1e6 for name in names]
            total = np.sum(ours, axis=0)
            yield Comparison("all flows [Mb/s]", total, {"Linux": [sum(theirs)]}, Rule.MEAN, 0.15)
            if len(names) == 2:
                truth = {"Linux": [theirs[0] / sum(theirs)]}
                yield Comparison("CUBIC's share", ours[0] / total, truth, Rule.T_TEST, 0.15)
            rtt = 1e3 * np.array(
                [
                    np.nanmean(series["srtt_s"][(series["flow"] == names[0]) & (series["seed"] == seed) & late(series)])
                    for seed in results.seeds
                ]
            )
            truth = {"Linux": [float(run["rtt_ms_1"]) - base]}
            rule = Rule.T_TEST if len(names) == 2 else Rule.MEAN
            yield Comparison("queueing delay [ms]", rtt - base, truth, rule, 0.2)

        labels = {"queue": title.group(1), "rate": f"{rate:g} Mb/s", "RTT": f"{base:g} ms", "flows": run["cc"]}
        fast = base == 20 and "dualpi2" in run["title"] and len(names) == 2
        yield Case(labels, built, measure, fast=fast, series="100 ms")


def late(series: wifair.Columns) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.asarray(series["time_s"] > 20.0, dtype=np.bool_)
