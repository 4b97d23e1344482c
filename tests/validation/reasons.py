"""Reasons for differences, which the page prints beside them. Comparisons without a reason here must agree."""

from __future__ import annotations

from collections.abc import Mapping

BONDED = frozenset({"goodput [Mb/s]", "wide BSS's share", "full width"})
RESPONSES = (
    "ns-3 sends responses in the primary channel alone: the other BSS counts down during them, and sends more. The "
    "rows with their energy in the full width show what remains"
)
SIGNAL_B = (
    "ns-3's PPDUs of 802.11ac lack the 4 us of VHT-SIG-B. With them (`VhtPhy::GetTrainingDuration` 4 us longer) six "
    "runs of ns-3 have 0.187, between 0.179 and 0.197, and 59.0 Mb/s"
)
TCP_LABELS = ("standard", "TCP", "direction", "n", "queue", "timestamps")
TCP = {
    "802.11n Cubic up 4 1000 yes": (
        "RTT [ms]",
        "ten runs of `ns3_tcp.cc` with timestamps have 564 ms, between 456 and 786; the recorded ones count a sample "
        "only if it differs from the one before",
    ),
}
"""Rows of TCP over 802.11n and ax that differ from ns-3, by their labels: the quantity that does, and the reason. All
others must agree."""

FALLBACK = (
    "on a single queue that marks, the Prague of 2020 fell back to Reno's response; today's does not and takes more "
    "than its share (RFC 9331, section 4.3). With Reno in its place CUBIC's share in PIE is within 0.12 of Linux's in "
    "all rows, and the delay within 15 % at 20 and 80 ms"
)
GROWTH = "not explained: the Prague of 2020 leaves slow start earlier and grows more slowly over long paths"
PRAGUE = (
    ("250 Mb/s", "160 ms", GROWTH),
    ("250 Mb/s", "80 ms", GROWTH),
    ("50 Mb/s", "20 ms", "not explained: 0.3 ms"),
    ("50 Mb/s", "80 ms", "not explained: 0.2 ms"),
    ("5 Mb/s", "160 ms", "not explained: more goodput and 1.5 ms more delay, with steps of 2.4 ms"),
    ("5 Mb/s", "80 ms", "not explained: more goodput and 1.6 ms more delay, with steps of 2.4 ms"),
)
"""Rows of one Prague flow that differ: rate, round-trip time, reason."""
QUEUE_DELAY, GOODPUT_OF_ALL = "queueing delay [ms]", "all flows [Mb/s]"
CLOSED_LOOP = {
    "cake-bbr": ("drops [1/s]", "not explained: half of Linux's drops; goodput and delay agree"),
    "pfifo133-cubic-bbr": ("drops of bbr 1 [1/s]", "not explained; 0.8 to 4.4 in wifair"),
    "fqcodel-cubic-bbr": ("queueing delay of bbr 1 [ms]", "not explained: BBR's own queue holds 6 ms less"),
    "red-cubic-bbr": ("drops of bbr 1 [1/s]", "not explained: half as many again as in Linux"),
    "cake-reno-vegas": (GOODPUT_OF_ALL, "not explained: Vegas uses 0.8 Mb/s that it leaves in Linux"),
    "dualpi2-bbr": (QUEUE_DELAY, "not explained: 1.6 ms"),
}
"""Closed-loop cases with a quantity that differs from Linux, and the reason. DCTCP alone at 1 Mb/s has two."""

REASONS: tuple[tuple[str, Mapping[str, object], frozenset[str], str], ...] = (
    (
        "anomaly",
        {"slow station": "12 Mb/s"},
        frozenset({"goodput [Mb/s]"}),
        "in INET the slow station gets a quarter less than the others, which leaves them more of the air; its single "
        "run does not show why",
    ),
    (
        "published",
        {"example": "wifi-txop-aggregation", "case": "none"},
        frozenset({"goodput [Mb/s]"}),
        "the difference is ns-3's beacons: ns-3 3.44 has 38.97 Mb/s with one every 102.4 ms, as in the example, and "
        "39.06 with one every 10.24 s",
    ),
    (
        "published",
        {"example": "hidden stations", "case": "32 MPDUs"},
        frozenset({"goodput [Mb/s]"}),
        "ns-3's value is the goodput of one station. With ns-3 3.37 the other sends its ARP request seven times into "
        "the aggregates of the first; after three requests its ARP cache gives up for 100 s, longer than the example "
        "runs. With ARP tables filled beforehand (eight seeds) it takes up to six seconds until both have block ACK "
        "agreements, and then they get 53.2 Mb/s together. wifair gets 53.5 Mb/s (20 seeds) with "
        "`reset_cw_on_drop = false`, as ns-3's contention window stays large while BlockAckReqs fail, and 12.7 Mb/s if"
        " data are repeated instead",
    ),
    (
        "published",
        {"example": "hidden stations", "case": "32 MPDUs and RTS"},
        frozenset({"goodput [Mb/s]"}),
        "RTS and CTS are sent at 24 Mb/s in wifair and at 6 Mb/s in the example. At 6 Mb/s wifair gets 57.5 Mb/s, and "
        "ns-3 3.37 57.1 in ten seconds (three seeds), with its beacons",
    ),
    (
        "categories",
        {"A-MPDU": "65535", "BAR": "1"},
        frozenset({"BE [Mb/s]"}),
        "chance: in 50 s, as the Monte Carlo has, this category gets 2.5 to 3.5 Mb/s. 40 runs of 50 s of the plain "
        "model in `tests/oracle/edca.py` have 3.05 Mb/s with a standard error of 0.04; wifair is 0.8 % below",
    ),
    ("bonded", {"responses": "20 MHz"}, BONDED, RESPONSES),
    (
        "bonded",
        {"MHz": "80", "A-MPDU": "65535", "neighbour": "36"},
        BONDED,
        "in a collision the PPDU of 20 MHz is 6 dB above what it meets of the one of 80 MHz. ns-3 detects preambles "
        "from 4 dB on and then delivers the MPDUs after the collision; wifair's capture threshold is 10 dB. With 10 dB "
        "ns-3 has 103.9 Mb/s and a share of 0.620 (two seeds)",
    ),
    (
        "bonded",
        {"standard": "802.11n", "dBm": "-67", "CCA": "-82"},
        BONDED,
        "ns-3 senses PPDUs in the secondary channel from -82 dBm on, wifair (19.3.19) from -62; with -62 ns-3 agrees",
    ),
    (
        "bonded",
        {"standard": "802.11ac", "dBm": "-67"},
        BONDED,
        "ns-3 overlooks PPDUs in the secondary channel that begin while it receives a response; at -60 dBm, where it "
        "senses their energy, it agrees",
    ),
    ("bonded", {"MHz": "80", "A-MPDU": "0", "neighbour": "40", "its load": "150"}, frozenset({"full width"}), SIGNAL_B),
    *(
        ("l4s", {"queue": queue}, frozenset({"CUBIC's share", QUEUE_DELAY}), FALLBACK)
        for queue in ("codel1q", "codel1q(40ms)", "pie", "pie(1000p/20ms)", "pie(100p/20ms)", "pie(100p/5ms)")
    ),
    (
        "l4s",
        {"queue": "codel1q(20ms)"},
        frozenset({"CUBIC's share", QUEUE_DELAY}),
        "not explained: that Prague did not fall back here, and both take nearly all",
    ),
    (
        "l4s",
        {"queue": "pfifo(50)", "RTT": "20 ms"},
        frozenset({"CUBIC's share"}),
        "the Prague of 2020 reacts little to losses in its L4S mode",
    ),
    ("l4s", {"queue": "pfifo(1000)", "RTT": "160 ms"}, frozenset({QUEUE_DELAY}), "not explained; a single run"),
    *(
        ("l4s", {"rate": rate, "RTT": rtt, "flows": "prague"}, frozenset({GOODPUT_OF_ALL, QUEUE_DELAY}), why)
        for rate, rtt, why in PRAGUE
    ),
    *(("linux-queues", {"case": case}, frozenset({one}), why) for case, (one, why) in CLOSED_LOOP.items()),
    (
        "linux-queues",
        {"case": "dualpi2-dctcp"},
        frozenset({GOODPUT_OF_ALL, QUEUE_DELAY}),
        "not explained: both send little more than two segments a round trip, as every packet that waits is marked",
    ),
    *(
        ("aggregates-tcp", dict(zip(TCP_LABELS, row.split())), frozenset({quantity}), why)
        for row, (quantity, why) in TCP.items()
    ),
)


def reason(section: str, labels: Mapping[str, object], quantity: str) -> str:
    """Find the reason why a quantity of a row may differ; empty if it must agree."""
    for name, where, quantities, text in REASONS:
        if name == section and quantity in quantities and all(labels.get(key) == value for key, value in where.items()):
            return text
    return ""


BIASES: Mapping[str, str] = {
    "las": "not explained; most are below by 0.1 % or less, where the index is close to one",
}
"""Why the means of a section are above or below their references more often than by chance, where they are."""


def bias(section: str) -> str:
    """Find the reason why the signs of a section may be out of balance; empty if they must not be."""
    return BIASES.get(section, "")
