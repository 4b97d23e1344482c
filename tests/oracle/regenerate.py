"""Write the fixtures of the slow models: `python tests/oracle/regenerate.py [saturation] [hidden]`.

`published` and `traces` write those of congestion controls, at once.
Some minutes of CPU for each of the first two. The Rust tests read the files; rerun only when a model or a case changes.
"""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import dcf
import hidden
import published
import traces

HERE = Path(__file__).parent
CONTROLS = HERE.parents[1] / "crates" / "tcp" / "src" / "cc"
PUBLISHED = CONTROLS / "published.csv"
TRACES = CONTROLS / "traces.csv"
FRAMES = 200_000
UDP = 8 + 20 + dcf.LLC_BYTES + dcf.MAC_BYTES  # what a UDP datagram carries beside its payload

Case = tuple[str, dict[str, object], dcf.Phy, dcf.Rules, int, int, int]


def saturation_cases() -> Iterator[Case]:
    """Every row of saturation.csv: name, columns, PHY, rules, stations, payload, overhead."""
    cell_sizes = (1, 2, 5, 10, 20, 50)
    with_rts = replace(dcf.NO_EIFS, rts_threshold=0)

    b_long: dict[str, object] = {"preamble": "long", "plcp_mbps": 1, "data_mbps": 11, "basic_mbps": 2}
    b_short: dict[str, object] = {"preamble": "short", "plcp_mbps": "", "data_mbps": 11, "basic_mbps": 2}
    b_11: dict[str, object] = {"preamble": "long", "plcp_mbps": 11, "data_mbps": 11, "basic_mbps": 11}
    erp: dict[str, object] = {"preamble": "", "plcp_mbps": "", "data_mbps": 54, "basic_mbps": 24}

    for payload in (1000, 1500):
        for n in cell_sizes:
            for columns, phy in ((b_long, dcf.dsss()), (erp, dcf.ofdm("g"))):
                yield "bianchi", columns, phy, dcf.NO_EIFS, n, payload, UDP
                yield "standard", columns, phy, dcf.STANDARD, n, payload, UDP
    for n in cell_sizes:
        yield "rts", b_long, dcf.dsss(), with_rts, n, 1500, UDP
        yield "rts-standard", b_long, dcf.dsss(), replace(dcf.STANDARD, rts_threshold=0), n, 1500, UDP
        yield "rts", erp, dcf.ofdm("g"), with_rts, n, 1500, UDP
    for n in (1, 5, 20):
        yield "short-preamble", b_short, dcf.dsss("short"), dcf.NO_EIFS, n, 1000, UDP
        yield "802.11a", erp, dcf.ofdm("a"), dcf.NO_EIFS, n, 1000, UDP
        for name, rules in (
            ("timeout", dcf.Rules(colliders="timeout")),
            ("timeout+difs", dcf.Rules(bystanders="eifs", colliders="timeout+difs")),
            ("cw-1", dcf.Rules(draw="0..cw-1")),
            ("cw-kept", dcf.Rules(reset_cw_on_drop=False)),
        ):
            yield name, b_long, dcf.dsss(), rules, n, 1000, UDP

    # Table 1 of jung2016, uploads; as ns-2 sends them, without IP and LLC headers, and with the IP header.
    table1 = dcf.dsss(basic_mbps=11, plcp_mbps=11, whole_us=False)
    for threshold in (2347, 0):
        for n in (1, 2, 4, 8):
            for name, rules in (
                ("table1-no-eifs", dcf.NO_EIFS),
                ("table1-standard", dcf.STANDARD),
                ("table1-cw-1", replace(dcf.STANDARD, draw="0..cw-1")),
                ("table1-ns2", dcf.NS2),
                ("table1-ns2-exact-nav", replace(dcf.NS2, nav_us=False)),
            ):
                yield name, b_11, table1, replace(rules, rts_threshold=threshold), n, 1500, dcf.MAC_BYTES
            yield "table1-ip", b_11, table1, replace(dcf.STANDARD, rts_threshold=threshold), n, 1500, dcf.MAC_BYTES + 20


def saturation() -> None:
    """Write saturation.csv."""
    with (HERE / "saturation.csv").open("w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        columns = ["preamble", "plcp_mbps", "data_mbps", "basic_mbps"]
        out.writerow(
            ["case", "standard", *columns, "payload_bytes", "frame_bytes", "rts", "bystanders", "colliders", "draw"]
            + ["cw_on_drop", "nav", "stations", "frames", "goodput_mbps", "goodput_se_mbps", "p_collision"]
            + ["drops_per_success"]
        )
        for seed, (name, shown, phy, rules, n, payload, overhead) in enumerate(saturation_cases(), start=1):
            size = payload + overhead
            began = time.monotonic()
            r = dcf.saturate(phy, rules, n, payload, overhead=overhead, frames=FRAMES, seed=seed)
            out.writerow(
                [name, phy.name, *(shown[c] for c in columns), payload, size]
                + ["on" if size > rules.rts_threshold else "off", rules.bystanders, rules.colliders, rules.draw]
                + ["reset" if rules.reset_cw_on_drop else "kept", "us" if rules.nav_us else "exact", n, FRAMES]
                + [f"{r.goodput_mbps:.4f}", f"{r.goodput_se:.4f}", f"{r.collision_probability:.4f}"]
                + [f"{r.drops_per_success:.5f}"]
            )
            print(f"{name} n={n}: {r.goodput_mbps:.4f} Mb/s, {time.monotonic() - began:.1f} s", file=sys.stderr)


def congestion_controls() -> None:
    """Write published.csv."""
    with PUBLISHED.open("w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(published.Row._fields)
        out.writerows(
            [f"{value:.10g}" if isinstance(value, float) else value for value in row] for row in published.rows()
        )


def connections() -> None:
    """Write traces.csv."""
    with TRACES.open("w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["control", "connection", "cwnd", "ssthresh"])
        out.writerows([name, n, f"{cwnd:.8g}", f"{ssthresh:.8g}"] for name, n, cwnd, ssthresh in traces.rows())


if __name__ == "__main__":
    for what in sys.argv[1:] or ["saturation", "hidden", "published", "traces"]:
        {
            "saturation": saturation,
            "hidden": hidden.write_fixture,
            "published": congestion_controls,
            "traces": connections,
        }[what]()
