"""TCP through Linux's queue disciplines: 36 closed-loop cases, 10 Mb/s, 40 ms, one or two flows."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby

import numpy as np
import wifair
from model import REFERENCE, Case, Comparison, Rule

RED = (
    'discipline = "linux-red", limit = "200 kB", linux-red = { min = "25 kB", max = "75 kB", mean_packet = "1500 B", '
    "burst = 25, max_p = 0.1, ecn = {ecn} }"
)
QUEUES = {
    "pfifo limit 34": 'limit = "34 packets"',
    "pfifo limit 133": 'limit = "133 packets"',
    "codel": 'discipline = "codel", limit = "1000 packets", codel = { ecn = false }',
    "codel ecn": 'discipline = "codel", limit = "1000 packets"',
    "fq_codel": 'discipline = "fq-codel", limit = "10240 packets"',
    "pie tupdate 20ms": 'discipline = "pie", limit = "1000 packets", pie = { update = "20 ms", tick = "10 ms" }',
    "cake bandwidth 10mbit besteffort": 'discipline = "cake", limit = "4 MB", cake = { bandwidth = "10 Mb/s", '
    'diffserv = "besteffort" }',
    "sfq": 'discipline = "sfq", limit = "127 packets"',
    "dualpi2": 'discipline = "dualpi2", limit = "10000 packets"',
    "dualpi2 ecn_mask any": 'discipline = "dualpi2", limit = "10000 packets", dualpi2 = { ecn_mask = "any" }',
    "red": RED.replace("{ecn}", "false"),
    "red ecn": RED.replace("{ecn}", "true"),
}
FAST = ("pfifo34-cubic", "fqcodel-cubic", "dualpi2-cubic2", "dualpi2-cubic-dctcp")

TESTBED = """
duration = "30 s"
warm_up = "5 s"
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
delay = "20 ms"
queue.limit = "100000 packets"
[[links]]
from = "relay"
to = "receiver"
rate = "{rate}"
queue = {{ {queue} }}
[tcp]
stack = "linux"
"""
FLOW = """
[[flows]]
name = "flow{number}"
from = "sender"
to = "receiver"
start = "{start} s"
start_spread = "20 ms"
tcp.cc = "{cc}"
tcp.ecn = {ecn}
"""
LINK = "9.9075 Mb/s"
"""10 Mb/s for packets of 1500 bytes with 14 of Ethernet, which the kernel's link counts."""


@cache
def runs() -> tuple[tuple[str, tuple[Mapping[str, str], ...]], ...]:
    """Rows of each case."""
    with (REFERENCE / "linux_queues_tcp.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return tuple((name, tuple(group)) for name, group in groupby(rows, key=lambda row: row["case"]))


def scenario(rows: Sequence[Mapping[str, str]]) -> wifair.Scenario:
    qdisc = rows[0]["qdisc"]
    if qdisc.startswith("red"):
        qdisc = "red ecn" if qdisc.endswith("ecn") else "red"
    rate = "1 Gb/s" if qdisc.startswith("cake") else LINK
    text = TESTBED.format(rate=rate, queue=QUEUES[qdisc])
    for row in rows:
        # CUBIC beside DCTCP lost 33 packets and had none marked: it did not use ECN, whatever its row says.
        uses_ecn = row["ecn"] == "1" and (row["marks_all"] != "0" or row["drops_all"] == "0")
        ecn = "true" if uses_ecn else "false"
        text += FLOW.format(number=row["flow"], start=row["start_s"], cc=row["cc"], ecn=ecn)
    return wifair.Scenario.from_text(text)


def cases() -> Iterator[Case]:
    for name, rows in runs():

        def measure(results: wifair.Results, rows: Sequence[Mapping[str, str]] = rows) -> Iterable[Comparison]:
            flows = results.flows
            each = [flows.filter(name=f"flow{row['flow']}") for row in rows]
            goodput = [one["goodput_bps"] / 1e6 for one in each]
            theirs = [float(row["goodput_mbps"]) for row in rows]
            alone = len(rows) == 1
            together = {"Linux": [sum(theirs)]}
            yield Comparison("all flows [Mb/s]", np.sum(goodput, axis=0), together, Rule.MEAN, 0.02 if alone else 0.03)
            for row, one, own, truth in zip(rows, each, goodput, theirs, strict=True):
                of = "" if alone else f" of {row['cc']} {row['flow']}"
                if not alone:
                    yield Comparison(f"goodput{of} [Mb/s]", own, {"Linux": [truth]}, Rule.COUNT, 1.0)
                # Behind the queue: half of the round trip and a packet on the link, which CAKE does not occupy.
                wire_ms = 20.0 + 1514 * 8 / (1e6 if rows[0]["qdisc"].startswith("cake") else 1e4)
                wait = 1e3 * one["owd_mean_s"] - wire_ms
                delay = {"Linux": [float(row["delay_mean_ms"])]}
                yield Comparison(f"queueing delay{of} [ms]", wait, delay, Rule.MEAN, 0.15 if alone else 0.2)
                drops = one["data_drops_link_queue"] / 25.0
                drop_rate = float(row["drops_per_s"])
                rule = (Rule.MEAN, 0.3) if drop_rate > 1.0 else (Rule.COUNT, 0.3)
                yield Comparison(f"drops{of} [1/s]", drops, {"Linux": [drop_rate]}, *rule)

        labels = {"case": name.removeprefix("tcp-"), "qdisc": rows[0]["qdisc"]}
        yield Case(labels, scenario(rows), measure, fast=labels["case"] in FAST)
