"""The air: errors, collisions, slow stations; and wired links that are full instead."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from wifair.report import percent, rate
from wifair.words import counted, general

from .records import FEW, Finding, Records, each_run

FULL = 0.9
"""Throughput is at least this part of the rate of a full link: headers are a tenth of packets of 400 bytes."""
RATES = {"b/s": 1.0, "kb/s": 1e3, "Mb/s": 1e6, "Gb/s": 1e9}


def wires(r: Records) -> Iterator[Finding]:
    """Tell which wired links are full, so that flows that want more cannot get it, whatever the air allows."""
    directions = r.flows.text("direction")
    # What arrived: goodput counts what waited behind a gap when the gap closes, and may exceed the rate.
    carried = r.flows["throughput_bps" if "throughput_bps" in r.flows else "goodput_bps"]
    only = next((server["name"] for server in r.scenario.get("servers", [])), "")
    ends = [r.group("flows", flow).get("server", only) for flow in r.flows.names]
    for name in sorted(set(ends) - {""}):
        server = r.group("servers", name)
        copies = server.get("count", 1) if name == server.get("name") else 1
        limit = _bits_per_second(server.get("rate", "")) * copies
        for way in ("up", "down"):
            flows = [i for i, end in enumerate(ends) if (end, directions[i]) == (name, way)]
            used = float(carried[flows].sum())
            if used > FULL * limit and not r.sated[flows].all():
                which = f"links of {name} are" if copies > 1 else f"link of {name} is"
                yield Finding(
                    "wire",
                    f"The wired {which} full: {way}link flows carry {rate(used)} of {rate(limit)}, headers not"
                    " included, and cannot get more, whatever the air allows.",
                    {"throughput_bps": used, "link_bps": limit},
                    (f"servers.{server['name']}.rate=1 Gb/s",) if limit < 1e9 else (),
                )


def _bits_per_second(text: str) -> float:
    """Read a rate as resolved scenarios have it; infinite if there is none."""
    number, _, unit = text.partition(" ")
    return float(number) * RATES[unit] if unit in RATES else math.inf


def radio(r: Records) -> Iterator[Finding]:
    """Tell which stations lose frames to errors, and in space to hidden stations."""
    if r.stations is None or "errors" not in r.stations:
        return
    attempts, errors, given_up = (r.stations[name] for name in ("attempts", "errors", "given_up"))
    share = errors / np.maximum(attempts, 1)
    bad = [int(i) for i in np.argsort(-share, kind="stable") if share[i] > 0.02]
    if bad:
        is_older = r.scenario.get("wlan", {}).get("standard") in ("802.11a", "802.11b", "802.11g")
        parts = [f"{r.stations.names[i]} {percent(float(share[i]))}" for i in bad[:FEW]]
        yield Finding(
            "bad radio",
            f"Transmission attempts that fail because of errors, not collisions: {', '.join(parts)}."
            f" The MAC retries them, and gives up {counted(float(given_up[bad].sum()), 'frame')}{each_run(r)}.",
            {f"errors_{r.stations.names[i]}": float(share[i]) for i in bad},
            (f"wlan.rate_adaptation={'minstrel' if is_older else 'minstrel-ht'}",) if "space" in r.scenario else (),
        )
    if "space" not in r.scenario:
        return  # where all stations hear each other, those that rarely send may also collide more often
    collisions = r.stations["collisions"] / np.maximum(attempts, 1)
    busy = attempts > 0.02 * attempts.sum()
    if busy.sum() > 1:
        most, least = collisions[busy].max(), collisions[busy].min()
        # Attempts collide with those of the others, so a station that sends less may collide more, hidden or not.
        others = (attempts.sum() - attempts)[busy]
        alike = max(1.0, float(others[np.argmax(collisions[busy])] / max(others[np.argmin(collisions[busy])], 1)))
        if most > 0.1 and most > 2 * alike * least:
            names = np.array(r.stations.names)[busy]
            yield Finding(
                "collisions",
                f"{percent(float(most))} of the attempts of {names[int(np.argmax(collisions[busy]))]} collide,"
                f" but only {percent(float(least))} of those of {names[int(np.argmin(collisions[busy]))]}:"
                " hidden stations or the capture effect cause this.",
                {"collisions_most": float(most), "collisions_least": float(least)},
                ("wlan.rts_threshold=0 B",),
            )


def slow_stations(r: Records) -> Iterator[Finding]:
    """Tell which station takes most air for a frame."""
    if r.stations is None or "air_data_s" not in r.stations:
        return
    delivered = r.stations["delivered"]
    air = r.stations["air_data_s"]  # collisions say nothing of how slow it is
    used = (delivered > 0.02 * max(delivered.sum(), 1)) & [r.uploads(name) for name in r.stations.names]
    if used.sum() < 2:
        return
    each = air[used] / delivered[used]
    names = np.array(r.stations.names)[used]
    slow, fast = int(np.argmax(each)), int(np.argmin(each))
    if each[slow] > 2 * each[fast]:
        yield Finding(
            "slow station",
            f"A frame of {names[slow]} takes {1e3 * each[slow]:.2f} ms of air, one of {names[fast]}"
            f" {1e3 * each[fast]:.2f} ms. Channel access is fair in frames, so the slow one takes time from all.",
            {"air_per_frame_slow_s": float(each[slow]), "air_per_frame_fast_s": float(each[fast])},
            ("ap.queue.discipline=airtime",),
        )


def slow_receivers(r: Records) -> Iterator[Finding]:
    """Tell which station's downloads take most air, if they need much more of it for a bit than those of others."""
    if r.stations is None or "air_to_station_s" not in r.stations:
        return
    down = np.array(r.flows.text("direction")) == "down"
    receivers = np.array([r.receiver(flow) for flow in r.flows.names])
    names = sorted(set(receivers[down & r.persistent]) - {""}, key=r.stations.names.index)
    goodput = np.array([r.flows["goodput_bps"][down & (receivers == name)].sum() for name in names])
    air = r.stations["air_to_station_s"][[r.stations.names.index(name) for name in names]]
    if len(names) < 2 or not goodput.all():
        return
    each = air / goodput
    slow, fast = int(np.argmax(air)), int(np.argmin(each))
    if each[slow] > 2 * each[fast] and air[slow] > 2 * air[fast]:
        of_air, of_goodput = float(air[slow] / air.sum()), float(goodput[slow] / goodput.sum())
        times = float(each[slow] / each[fast])
        why = " The access point shares out packets, not air time: the slow one takes time from all."
        if r.scenario.get("ap", {}).get("queue", {}).get("discipline") == "airtime":
            why = ""  # the queue is too short for it
        yield Finding(
            "slow receiver",
            f"Frames to {names[slow]} take {percent(of_air)} of the air time of downloads, and bring"
            f" {percent(of_goodput)} of their goodput: a bit to it takes {general(times)} times the air time of one to"
            f" {names[fast]}.{why}",
            {"air_share": of_air, "goodput_share": of_goodput, "air_per_bit_ratio": times},
            ("ap.queue.discipline=airtime",),
        )


def air(r: Records) -> Iterator[Finding]:
    """Tell what the time on the air is used for."""
    if not r.cell_has("air_idle", "air_collision"):
        return
    idle, collided, spoilt = r.cell["air_idle"], r.cell["air_collision"], r.cell.get("air_error", 0.0)
    text = (
        f"Data takes {percent(r.cell['air_data'])} of the time on the air, collisions {percent(collided)},"
        f" frames with errors {percent(spoilt)}; {percent(idle)} is idle"
    )
    if idle > 0.3:
        text += ": gaps and backoffs between frames, and time in which nobody has anything to send"
    elif collided + spoilt > 0.15:
        cause = "Fewer stations that contend at a time, or RTS/CTS," if collided >= spoilt else "Lower rates"
        text += f". {cause} would waste less"
    figures = {"air_idle": idle, "air_collision": collided, "air_error": spoilt, "air_data": r.cell["air_data"]}
    yield Finding("air", text + ".", figures)
