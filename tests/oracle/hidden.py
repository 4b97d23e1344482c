"""IEEE 802.11 DCF where some stations do not hear each other: saturated uploads to one access point.

Source: IEEE Std 802.11-2012, clause 9.3: carrier sense 9.3.2.1, NAV 9.3.2.4, RTS/CTS 9.3.2.5 to 9.3.2.7,
timeouts 9.3.2.8, retry limits and CW 9.3.3 and 9.3.4.4. Timing and frame sizes are those of `dcf.py`.

Each step goes to the next moment at which anything can happen, found by asking everybody. At one moment, frames
end first, then timeouts expire, then all who are due begin together.

A frame is received when its receiver hears nothing else from its first to its last bit, and does not itself
transmit; there is no capture. Who was silent and listening when a frame began that was then spoilt waits EIFS;
who turned from sending to listening in its middle senses energy only, and waits DIFS. An answer is sent SIFS
after the frame it answers whatever the channel does meanwhile. The access point sends nothing of its own. The
option to reset the NAV after an RTS without a CTS is not used.
"""

from __future__ import annotations

import csv
import itertools
import math
import random
import statistics
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import dcf

AP = 0
NEVER = 1 << 62
SHORT_RETRY_LIMIT = 7
LONG_RETRY_LIMIT = 4


@dataclass
class Frame:
    """A frame on the air."""

    kind: Literal["rts", "cts", "data", "ack"]
    sender: int
    receiver: int
    start: int
    end: int
    reserves: int
    """Its duration field: how long the exchange continues after the end of the frame."""


@dataclass
class Node:
    """The state of a node."""

    heard: list[Frame] = field(default_factory=list)
    """Frames of others that reach it now."""
    receiving: Frame | None = None
    spoilt: bool = False
    sending: Frame | None = None
    idle_since: int = 0
    ifs: int = 0
    """What to wait from `idle_since`: DIFS, or EIFS after a spoilt frame."""
    nav: int = -NEVER
    planned: tuple[int, Frame] | None = None
    """A response, or the data frame after a CTS, to be sent at a fixed time."""
    answer_by: int | None = None
    """When the response to the last frame must have begun."""
    backed_off_from: int = 0
    """No slot counts before this moment: the last timeout."""
    counter: int = 0
    cw: int = 0
    short_tries: int = 0
    long_tries: int = 0


@dataclass
class Result:
    """What a run measured."""

    goodput_mbps: float
    goodput_se: float
    tries: int
    """First frames of exchanges (RTS or data)."""
    failed: int
    """Of these, and of data frames after a CTS, those without an answer."""
    dropped: int
    successes: list[int]


def saturate(
    phy: dcf.Phy, hears: list[list[bool]], payload: int, *, overhead: int, rts: bool, eifs: bool, frames: int, seed: int
) -> Result:
    """Run until `frames` frames are acknowledged. `hears[i][j]`: i hears j; node 0 is the access point."""
    rng = random.Random(seed)
    size = payload + overhead
    data_time, ack_time = phy.data(size), phy.control(dcf.ACK_BYTES)
    rts_time, cts_time = phy.control(dcf.RTS_BYTES), phy.control(dcf.CTS_BYTES)
    nodes = [Node(ifs=phy.difs) for _ in hears]
    stations = range(1, len(nodes))
    for i in stations:
        nodes[i].cw = phy.cw_min
        nodes[i].counter = rng.randint(0, phy.cw_min)

    air: list[Frame] = []
    successes = [0] * len(nodes)
    tries = failed = dropped = done = 0
    batches, batch_start, batch_goodput = 50, 0, []

    def counting_from(node: Node) -> int:
        """When the node begins to count slots, if nothing more happens; NEVER while it may not."""
        if node.heard or node.sending or node.planned or node.answer_by is not None:
            return NEVER
        return max(node.idle_since + node.ifs, node.nav + phy.difs, node.backed_off_from)

    def due(i: int) -> int:
        start = counting_from(nodes[i])
        return start + nodes[i].counter * phy.slot if start < NEVER else NEVER

    def fail(node: Node, now: int, after_cts: bool) -> None:
        nonlocal failed, dropped
        failed += 1
        node.answer_by = None
        node.backed_off_from = now
        if after_cts:
            node.long_tries += 1
        else:
            node.short_tries += 1
        if node.short_tries == SHORT_RETRY_LIMIT or node.long_tries == LONG_RETRY_LIMIT:
            dropped += 1
            node.short_tries = node.long_tries = 0
            node.cw = phy.cw_min
        else:
            node.cw = min(2 * node.cw + 1, phy.cw_max)
        node.counter = rng.randint(0, node.cw)

    awaiting_cts = [False] * len(nodes)

    def received(i: int, frame: Frame, now: int) -> None:
        """Node `i` has received a whole frame."""
        nonlocal done, batch_start
        node = nodes[i]
        node.ifs = phy.difs
        if frame.receiver != i:
            node.nav = max(node.nav, now + frame.reserves)
        elif frame.kind == "rts":
            at, left = now + phy.sifs, frame.reserves - phy.sifs - cts_time
            node.planned = at, Frame("cts", i, frame.sender, at, at + cts_time, left)
        elif frame.kind == "data":
            at = now + phy.sifs
            node.planned = at, Frame("ack", i, frame.sender, at, at + ack_time, 0)
        elif frame.kind == "cts":
            node.answer_by = None
            node.short_tries = 0
            awaiting_cts[i] = False
            at = now + phy.sifs
            node.planned = at, Frame("data", i, AP, at, at + data_time, phy.sifs + ack_time)
        else:
            node.answer_by = None
            node.short_tries = node.long_tries = 0
            node.cw = phy.cw_min
            node.counter = rng.randint(0, node.cw)
            successes[i] += 1
            done += 1
            if done % (frames // batches) == 0:
                batch_goodput.append(8e3 * payload * (frames // batches) / (now - batch_start))
                batch_start = now

    while done < frames:
        moments = [f.end for f in air] + [due(i) for i in stations]
        moments += [n.planned[0] for n in nodes if n.planned] + [n.answer_by for n in nodes if n.answer_by is not None]
        now = min(moments)

        # 1. Frames end.
        for frame in [f for f in air if f.end == now]:
            air.remove(frame)
            sender = nodes[frame.sender]
            sender.sending = None
            if not sender.heard:
                sender.idle_since, sender.ifs = now, phy.difs
            if frame.kind in ("rts", "data"):
                sender.answer_by = now + phy.timeout
                awaiting_cts[frame.sender] = frame.kind == "rts"
            for i, node in enumerate(nodes):
                if frame not in node.heard:
                    continue
                node.heard.remove(frame)
                if not node.heard and not node.sending:
                    node.idle_since = now
                if node.receiving is frame:
                    node.receiving = None
                    if node.spoilt:
                        node.ifs = phy.eifs if eifs else phy.difs
                    else:
                        received(i, frame, now)

        # 2. Timeouts expire, unless a frame has begun that may be the answer.
        for i in stations:
            node = nodes[i]
            if node.answer_by == now:
                if node.receiving and node.receiving.start + phy.plcp <= now:
                    node.answer_by = node.receiving.end
                else:
                    fail(node, now, after_cts=rts and not awaiting_cts[i])

        # 3. All who are due begin; then the others hear them.
        begin = []
        for i, node in enumerate(nodes):
            if node.planned and node.planned[0] == now:
                begin.append(node.planned[1])
            elif i != AP and due(i) == now:
                tries += 1
                if rts:
                    reserves = 3 * phy.sifs + cts_time + data_time + ack_time
                    begin.append(Frame("rts", i, AP, now, now + rts_time, reserves))
                else:
                    begin.append(Frame("data", i, AP, now, now + data_time, phy.sifs + ack_time))
        for frame in begin:
            node = nodes[frame.sender]
            node.planned, node.sending, node.receiving = None, frame, None
            node.counter = 0
            air.append(frame)
        for frame in begin:
            for i, node in enumerate(nodes):
                if i == frame.sender or not hears[i][frame.sender]:
                    continue
                start = counting_from(node)
                if start < now:
                    node.counter -= (now - start) // phy.slot
                if node.receiving:
                    node.spoilt = True
                elif not node.sending and not node.heard:
                    node.receiving, node.spoilt = frame, False
                node.heard.append(frame)

    return Result(
        goodput_mbps=statistics.mean(batch_goodput),
        goodput_se=statistics.stdev(batch_goodput) / math.sqrt(batches),
        tries=tries,
        failed=failed,
        dropped=dropped,
        successes=successes[1:],
    )


def groups(*sizes: int) -> list[list[bool]]:
    """Who hears whom: stations hear those of their own group, and all stations and the access point each other."""
    group = [AP] + [g for g, size in enumerate(sizes, start=1) for _ in range(size)]
    return [[AP in (a, b) or a == b for b in group] for a in group]


def write_fixture() -> None:
    """Write hidden.csv: groups that do not hear each other, with and without RTS/CTS."""
    frames = 100_000
    with (Path(__file__).parent / "hidden.csv").open("w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(
            ["groups", "standard", "payload_bytes", "frame_bytes", "rts", "eifs", "frames", "goodput_mbps"]
            + ["goodput_se_mbps", "failed_per_try", "drops_per_success", "jain_index"]
        )
        cases = itertools.product(((2,), (1, 1), (2, 2), (1, 3)), ("b", "g"), (200, 1500), (False, True))
        for seed, (sizes, standard, payload, rts) in enumerate(cases, start=1):
            phy = dcf.dsss() if standard == "b" else dcf.ofdm("g")
            overhead = 64
            began = time.monotonic()
            r = saturate(phy, groups(*sizes), payload, overhead=overhead, rts=rts, eifs=True, frames=frames, seed=seed)
            jain = sum(r.successes) ** 2 / len(r.successes) / sum(x * x for x in r.successes)
            shown = "+".join(map(str, sizes)), standard, payload, payload + overhead, "on" if rts else "off"
            out.writerow(
                [*shown, "on", frames, f"{r.goodput_mbps:.4f}", f"{r.goodput_se:.4f}"]
                + [f"{r.failed / r.tries:.4f}", f"{r.dropped / sum(r.successes):.5f}", f"{jain:.4f}"]
            )
            print(*shown, f"{r.goodput_mbps:.4f} Mb/s, {time.monotonic() - began:.1f} s", file=sys.stderr)
