"""Why rows differ, where we know or have looked: the page prints it beside them. Rows without a reason must agree."""

from __future__ import annotations

from collections.abc import Mapping

NO_ROUTES = (
    "one to three runs of ns-2 from its first seconds, when stations have no routes yet, "
    "which moved other rows; not proven for this one"
)
ERRORS = (
    "the medium is not the cause: saturated uploads over UDP with RTS and CTS at 0.2 differ by -2.7 % with one station "
    "and +0.6 % with eight from the fourth second on, and the least waits after each kind of frame are the same; nor "
    "are routes that run out: ns-2's totals stay as they are where these never do. TCP above it is not explained"
)
STARVED = (
    "not explained: ns-2 starves more of 15 or 20 uploads. Its stations' missing routes are not the cause: a run whose "
    "flows begin at 30 s, when routes are there (20 of Compound, 50 packets, seed 2), has 7 starved flows, Jain 0.587"
)

REASONS: tuple[tuple[str, Mapping[str, object], frozenset[str], str], ...] = (
    ("lee2007", {"error": "0.2"}, frozenset({"goodput [Mb/s]", "Jain", "up/down"}), ERRORS),
    (
        "lee2007",
        {"rtt": "400", "scheme": "default"},
        frozenset({"Jain", "up/down"}),
        "not explained; starved downloads get 4.9 % of the air here and 4.2 % in ns-2, two runs with flows from the "
        "first second",
    ),
    (
        "lee2007",
        {"figure": "Fig2a"},
        frozenset({"Jain", "up/down"}),
        "not explained; the upload gets 50.5 % of the air here and 51.6 % in ns-2",
    ),
    ("cell", {"program": "ns-3"}, frozenset({"Jain"}), "not explained; ns-3 has one run"),
    (
        "cell",
        {"n": 4},
        frozenset({"Jain"}),
        "in ns-2 one of four stations is now and then slower than the others for the whole run; not explained",
    ),
    (
        "sessions",
        {"tcp": "Westwood"},
        frozenset({"IF acked"}),
        "its threshold differs from station to station with what ARP dropped; here it is 2 for all",
    ),
    ("sessions", {"tcp": "Reno", "n": 2, "length": 10_000}, frozenset({"IF acked", "IF sent"}), NO_ROUTES),
    ("sessions", {"tcp": "Reno", "n": 6, "length": 10_000}, frozenset({"IF acked", "IF sent"}), "not explained: 5 %"),
    ("sessions", {"tcp": "Reno-MaxWin10"}, frozenset({"IF acked", "IF sent"}), NO_ROUTES),
    ("sessions", {"tcp": "Vegas"}, frozenset({"IF acked", "IF sent"}), NO_ROUTES),
    (
        "sessions",
        {"tcp": "Reno", "length": 50_000, "direction": "up"},
        frozenset({"IF acked"}),
        "1.1 %: ns-2's SYN is one of the segments of the first session",
    ),
    ("oda2012", {}, frozenset({"Jain", "starved"}), STARVED),
    (
        "kernel",
        {"testbed": "Westwood, Reno"},
        frozenset({"goodput [Mb/s]", "cwnd"}),
        "one run of a kernel in user-mode Linux, of 6 s; the shares depend on who loses first (a bucket of 16 kB "
        "gives 3.6 and 4.3 Mb/s), both flows together agree",
    ),
)


def reason(section: str, labels: Mapping[str, object], quantity: str) -> str:
    """Find the reason why a quantity of a row may differ; empty if it must agree."""
    for name, where, quantities, text in REASONS:
        if name == section and quantity in quantities and all(labels.get(key) == value for key, value in where.items()):
            return text
    return ""
