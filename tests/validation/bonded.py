"""Bonded channels beside ns-3: a wide BSS alone, and beside one of 20 MHz on one of its channels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

import numpy as np
import wifair
from model import Case, Comparison, Rule, goodput, read

STANDARDS = {"n": "802.11n", "ac": "802.11ac"}
SETTINGS = (
    "std",
    "width_mhz",
    "mcs",
    "ampdu_max",
    "neighbour",
    "load_mbps",
    "level_dbm",
    "cca_dbm",
    "duplicates",
    "end_s",
)
FEWEST = 5000
"""With fewer PPDUs of the full width in ns-3 their share has a standard error above 1.4 %, half of the tolerance."""


def scenario(row: Mapping[str, str]) -> str:
    """Write the scenario of a row of ns-3."""
    cells = {"wide": ("36", row["width_mhz"], "200" if row["std"] == "n" else "450")}
    if row["neighbour"] != "0":
        cells["narrow"] = (row["neighbour"], "20", row["load_mbps"])
    channels, widths = (", ".join(cell[place] for cell in cells.values()) for place in (0, 1))
    lines = [f'duration = "{row["end_s"]} s"', 'warm_up = "1 s"']
    lines += ["[wlan]", f'standard = "{STANDARDS[row["std"]]}"', f"mcs = {row['mcs']}"]
    lines += [] if row["std"] == "ac" else ['band = "5 GHz"']
    lines += [f'aggregation.max_ampdu = "{row["ampdu_max"]} B"', "aggregation.request_after_miss = false"]
    # Access points come first. Frames of a station's own BSS arrive with -40 dBm, those of the other BSS with the row's
    # level.
    places = [cell for _ in ("access points", "stations") for cell in cells]
    levels = [[-40 if to == sender else int(row["level_dbm"]) for to in places] for sender in places]
    gains = ", ".join("[" + ", ".join(f'"{level - 16} dB"' for level in line) + "]" for line in levels)
    lines += ["[space]", "overlapping_channels = true", f"gains = [{gains}]", 'radio.tx_power = "16 dBm"']
    lines += ["[ap]", f"count = {len(cells)}", f"channels = [{channels}]", f"widths = [{widths}]"]
    for ap, (name, (_, _, load)) in zip(("ap1", "ap2") if len(cells) > 1 else ("ap",), cells.items(), strict=True):
        lines += ["[[servers]]", f'name = "{name}-server"', f'at = "{ap}"', 'rate = "10 Gb/s"']
        lines += ["[[stations]]", f'name = "{name}"', f'ap = "{ap}"', 'queue.limit = "500 packets"']
        lines += ["[[flows]]", f'name = "{name}"', f'station = "{name}"', f'server = "{name}-server"']
        lines += ['direction = "up"', 'transport = "udp"', f'udp.rate = "{load} Mb/s"', 'start_spread = "10 ms"']
    return "\n".join(lines)


def cases() -> Iterator[Case]:
    """Both goodputs, and how often the wide BSS has its full width."""

    def settings(row: Mapping[str, str]) -> tuple[str, ...]:
        return tuple(row[key] for key in SETTINGS)

    for _, group in groupby(read("ns3_bonded.csv"), settings):
        runs = list(group)
        row = runs[0]
        neighbour, width = row["neighbour"], row["width_mhz"]

        def measure(results: wifair.Results, runs: list[dict[str, str]] = runs) -> Iterable[Comparison]:
            wide, narrow = (np.asarray([float(run[f"{bss}_mbps"]) for run in runs]) for bss in ("wide", "narrow"))
            yield Comparison("goodput [Mb/s]", goodput(results), {"ns-3": list(wide + narrow)}, Rule.MEAN, 0.02)
            if runs[0]["neighbour"] == "0":
                return
            flows = np.asarray(results.flows["goodput_bps"], dtype=float).reshape(len(results.seeds), -1)
            ours = flows[:, 0] / flows.sum(axis=1)
            yield Comparison("wide BSS's share", ours, {"ns-3": list(wide / (wide + narrow))}, Rule.MEAN, 0.03)
            if runs[0]["neighbour"] != "36":
                yield full_width(results, runs)

        channel, load, level = (
            (neighbour, row["load_mbps"], row["level_dbm"]) if neighbour != "0" else ("none", "-", "-")
        )
        labels = {"standard": STANDARDS[row["std"]], "MHz": width, "MCS": row["mcs"], "A-MPDU": row["ampdu_max"]}
        labels |= {"neighbour": channel, "its load": load, "dBm": level, "CCA": row["cca_dbm"]}
        responses = {"0": "20 MHz", "1": "full width"}[row["duplicates"]]
        labels["responses"] = "-" if neighbour in ("0", "36") else responses  # on the primary channel all hear them
        fast = (row["std"], row["mcs"], row["ampdu_max"], neighbour, row["duplicates"]) == ("n", "7", "0", "40", "1")
        yield Case(labels, wifair.Scenario.from_text(scenario(row)), measure, fast)


def full_width(results: wifair.Results, runs: Iterable[Mapping[str, str]]) -> Comparison:
    """The share of the wide station's data PPDUs that have the full width of its channel."""
    runs = list(runs)
    own = np.asarray(results.stations["name"]) == "wide"
    widths = [f"ppdus_{width}_mhz" for width in (20, 40, 80)]
    full = f"ppdus_{runs[0]['width_mhz']}_mhz"
    counts = {width: np.asarray(results.stations[width], dtype=float)[own] for width in widths}
    theirs = [float(run[full]) / sum(float(run[width]) for width in widths) for run in runs]
    rule = Rule.MEAN if sum(int(run[full]) for run in runs) >= FEWEST else Rule.SHOWN
    return Comparison("full width", counts[full] / sum(counts.values()), {"ns-3": theirs}, rule, 0.03)
