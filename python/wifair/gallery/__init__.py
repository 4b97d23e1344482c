"""Scenarios to start from: a commented file for each kind of network, and one for each paper."""

from __future__ import annotations

from importlib.resources import files
from typing import NamedTuple

__all__ = ["Example", "example", "examples"]

# In the order in which `wifair init` shows them.
NETWORKS = {
    "hot-spot": "twenty uploads through one access point: ACKs overflow its queue, and half of them starve",
    "home": "a backup, a film, and sensors that wake up now and then",
    "lecture-hall": "200 stations: web pages and uploads",
    "rrul": "latency under load: echoes and a call beside four uploads and four downloads",
    "wifi-6": "802.11ax, 80 MHz: uploads and downloads in aggregates",
    "four-categories": "a call, a video and uploads in the access categories of 802.11n",
    "bonded-channels": "802.11ac, 80 MHz beside a neighbour on one of its 20 MHz channels",
    "hidden-nodes": "two stations that hear the access point but not each other",
    "weak-station": "a strong and a weak station, bit errors by signal and noise",
    "mesh-chain": "five nodes in a line, packets passed on from node to node",
    "grid": "sixteen nodes in a square, paths that cross",
    "dumbbell": "no Wi-Fi: two flows share a wired bottleneck",
    "high-speed-path": "10 Gb/s over 220 ms, Compound TCP+",
    "cc-coffee-shop": "for a congestion control: guests open pages and send photos",
    "cc-neighbours-backup": "for a congestion control: uploads next door begin, and end",
    "cc-walk-to-the-garden": "for a congestion control: the signal falls by 30 dB, and comes back",
    "cc-802.11b-client": "for a congestion control: a device at 2 Mb/s joins",
    "cc-rate-falls-by-half": "for a congestion control: a step of the capacity alone",
    "cc-deep-fifo": "for a congestion control: 3000 packets of buffer, shared with CUBIC",
    "cc-openwrt-airtime": "for a congestion control: FQ-CoDel in turns of air time",
    "cc-train": "for a congestion control: a mobile link behind, and pauses of 1.5 s",
}
CONGESTION = tuple(name for name in NETWORKS if name.startswith("cc-"))
"""Scenarios for tests of congestion controls: each has a flow `test`, whose `tcp.cc` is what is tested."""
# The scenario of each paper from which its others follow by a few changes.
PAPERS = {
    "hoiland2017": (
        "cell.toml",
        "Høiland-Jørgensen et al., 2017: two fast stations and a slow one, latency under load",
    ),
    "jung2016": ("table1.toml", "Jung and Park, 2016: transmission sessions, Table 1"),
    "kemerlis2006": ("together.toml", "Kemerlis et al., 2006: a strong and a weak station of a testbed"),
    "las": ("wlan.toml", "Least Attained Service in WLANs: servers at 2, 50 and 150 ms"),
    "lee2007": ("uploads.toml", "Lee et al., 2007: uploads against downloads, receive windows"),
    "oda2012": ("uploads.toml", "Oda et al., 2012: uploads with Compound TCP and Compound TCP+"),
}


class Example(NamedTuple):
    """A scenario of the gallery."""

    name: str
    summary: str
    """What it is, in a few words."""
    toml: str
    """The whole file."""


def example(name: str) -> Example:
    """Get a scenario by its name.

    Raises
    ------
    KeyError
        If there is none of this name.
    """
    if name in NETWORKS:
        text = (files("wifair.gallery") / f"{name}.toml").read_text(encoding="utf-8")
        return Example(name, NETWORKS[name], text)
    file, summary = PAPERS[name]
    return Example(name, summary, (files("wifair.papers") / name / file).read_text(encoding="utf-8"))


def examples() -> list[Example]:
    """Get all scenarios, networks before papers."""
    return [example(name) for name in (*NETWORKS, *PAPERS)]
