"""IEEE 802.11 DCF with saturated stations that all hear each other: a slow, plain model.

Source: IEEE Std 802.11-2012, clause 9.3 (DCF: interframe spaces 9.3.2.3, backoff 9.3.4.3, recovery and
retry limits 9.3.4.4); timing from clauses 17 (DSSS/CCK), 18 (OFDM) and 19 (ERP).

Every station counts down slots of its own; the next transmission is the earliest end of a countdown, and
stations that end at the same nanosecond collide. Between two transmissions nothing happens but idle slots,
so the loop takes them in one step: that is all the speed this file has. It shares no code with the core.

Not modelled: propagation delay, capture, bit errors, arrivals (each station always has a frame).
"""

from __future__ import annotations

import math
import random
import statistics
from dataclasses import dataclass, field
from typing import Literal

ACK_BYTES = 14
CTS_BYTES = 14
RTS_BYTES = 20
MAC_BYTES = 28  # header of 24 and FCS of 4
LLC_BYTES = 8  # LLC and SNAP
US = 1000  # ns


@dataclass(frozen=True)
class Phy:
    """Durations of a physical layer [ns] and its contention windows [slots]."""

    name: str
    slot: int
    sifs: int
    cw_min: int
    cw_max: int
    plcp: int
    """Preamble and header; also the time after which a receiver knows that a frame has begun."""
    extension: int
    """Silence counted as part of each frame (signal extension, 19.3.2.4)."""
    data_mbps: float
    basic_mbps: float
    lowest_mbps: float
    """Rate of the ACK in the EIFS (9.3.2.3.7)."""
    symbols: bool
    """OFDM: service (16) and tail (6) bits, then whole symbols of 4 us."""
    whole_us: bool = True
    """DSSS: the payload takes whole microseconds (17.2.3.6, TXTIME)."""

    @property
    def difs(self) -> int:
        """DCF interframe space."""
        return self.sifs + 2 * self.slot

    @property
    def eifs(self) -> int:
        """SIFS, an ACK at the lowest rate, DIFS."""
        return self.sifs + self.frame(ACK_BYTES, self.lowest_mbps) + self.difs

    @property
    def timeout(self) -> int:
        """ACK and CTS timeout, from the end of the frame: SIFS, a slot, the start of a frame (9.3.2.8)."""
        return self.sifs + self.slot + self.plcp

    def frame(self, size: int, mbps: float) -> int:
        """Duration of a frame of `size` bytes, MAC header and FCS included."""
        if self.symbols:
            symbols = math.ceil((16 + 8 * size + 6) / (4 * mbps))
            return self.plcp + 4 * US * symbols + self.extension
        if self.whole_us:
            return self.plcp + US * math.ceil(8 * size / mbps)
        return self.plcp + math.ceil(8 * size * US / mbps)

    def data(self, size: int) -> int:
        """Duration of a data frame of `size` bytes."""
        return self.frame(size, self.data_mbps)

    def control(self, size: int) -> int:
        """Duration of an RTS, CTS or ACK."""
        return self.frame(size, self.basic_mbps)


def dsss(
    preamble: Literal["long", "short"] = "long",
    *,
    data_mbps: float = 11,
    basic_mbps: float = 2,
    plcp_mbps: float | None = None,
    whole_us: bool = True,
) -> Phy:
    """802.11b. `plcp_mbps` sends all 192 bits of preamble and header at that rate, as simulators allow."""
    plcp = 192 * US if preamble == "long" else (72 + 48 // 2) * US
    if plcp_mbps is not None:
        plcp = math.ceil(192 * US / plcp_mbps)
    return Phy(
        name="b",
        slot=20 * US,
        sifs=10 * US,
        cw_min=31,
        cw_max=1023,
        plcp=plcp,
        extension=0,
        data_mbps=data_mbps,
        basic_mbps=basic_mbps,
        lowest_mbps=1,
        symbols=False,
        whole_us=whole_us,
    )


def ofdm(standard: Literal["a", "g"], *, data_mbps: float = 54, basic_mbps: float = 24) -> Phy:
    """802.11a, or 802.11g among g stations only (short slots, signal extension, no protection)."""
    return Phy(
        name=standard,
        slot=9 * US,
        sifs=(16 if standard == "a" else 10) * US,
        cw_min=15,
        cw_max=1023,
        plcp=20 * US,
        extension=(0 if standard == "a" else 6) * US,
        data_mbps=data_mbps,
        basic_mbps=basic_mbps,
        lowest_mbps=6,
        symbols=True,
    )


@dataclass(frozen=True)
class Rules:
    """Readings of the standard in which implementations differ."""

    rts_threshold: int = 2347
    """Longer frames [bytes] are announced by RTS and CTS."""
    bystanders: Literal["difs", "eifs"] = "difs"
    """How long stations wait that heard a collision."""
    colliders: Literal["difs", "timeout", "timeout+difs", "ns2"] = "difs"
    """How long those wait who caused it, from the end of their frame: DIFS; the longer of DIFS and the timeout
    (the medium was idle meanwhile); both in turn; ns-2's timeout (SIFS, the answer, 4 us) without a DIFS."""
    draw: Literal["0..cw", "0..cw-1"] = "0..cw"
    """The backoff is uniform on these slots: the standard's, or ns-2's."""
    retry_limit: int = 7
    """Attempts of an RTS, or of a data frame sent without RTS, before the frame is dropped."""
    reset_cw_on_drop: bool = True
    """Contention window after a drop: CWmin, or left as it is."""
    nav_us: bool = False
    """Bystanders of a success trust a NAV that was rounded to the nearest microsecond, and resume so much later
    than the sender: their slots are then shifted against the sender's."""


STANDARD = Rules(bystanders="eifs", colliders="timeout")
NO_EIFS = Rules()
NS2 = Rules(bystanders="eifs", colliders="ns2", draw="0..cw-1", nav_us=True)


@dataclass
class Result:
    """Results of a run; standard errors come from the means of batches."""

    goodput_mbps: float
    goodput_se: float
    collision_probability: float
    """Fraction of tries that collided."""
    drops_per_success: float
    successes: list[int] = field(repr=False)
    """Frames delivered by each station."""


def saturate(
    phy: Phy,
    rules: Rules,
    stations: int,
    payload: int,
    *,
    overhead: int = 36,
    frames: int,
    seed: int,
    batches: int = 50,
) -> Result:
    """Let `stations` compete until `frames` frames of `payload` bytes each are delivered.

    `overhead` is what each frame carries beside the payload, MAC header and FCS included: 64 bytes for UDP over
    IP over LLC.
    """
    rng = random.Random(seed)
    size = payload + overhead
    with_rts = size > rules.rts_threshold

    # A success: [RTS, CTS,] data, ACK, with SIFS between them. A collision: the first frame only.
    data_and_ack = phy.data(size) + phy.sifs + phy.control(ACK_BYTES)
    reservation = phy.control(RTS_BYTES) + phy.sifs + phy.control(CTS_BYTES) + phy.sifs
    success = data_and_ack + (reservation if with_rts else 0)
    collision = phy.control(RTS_BYTES) if with_rts else phy.data(size)
    answer = phy.control(CTS_BYTES if with_rts else ACK_BYTES)

    # The first frame sets the NAV, which covers the frames that follow it; the data frame sets it
    # anew.
    nav_after_data = phy.sifs + phy.control(ACK_BYTES)
    nav_delay = max(0, round_half_up(nav_after_data, US) - nav_after_data) if rules.nav_us else 0
    if with_rts and rules.nav_us:
        nav_after_rts = success - phy.control(RTS_BYTES)
        nav_delay = max(nav_delay, round_half_up(nav_after_rts, US) - nav_after_rts)

    wait_bystander = phy.eifs if rules.bystanders == "eifs" else phy.difs
    wait_collider = {
        "difs": phy.difs,
        "timeout": max(phy.difs, phy.timeout),
        "timeout+difs": phy.timeout + phy.difs,
        "ns2": phy.sifs + answer + 4 * US,
    }[rules.colliders]

    def draw(cw: int) -> int:
        return rng.randint(0, cw if rules.draw == "0..cw" else cw - 1)

    cw = [phy.cw_min] * stations
    tries = [0] * stations
    counter = [draw(phy.cw_min) for _ in range(stations)]
    ready = [phy.difs] * stations  # when the station begins to count idle slots
    delivered = [0] * stations
    collided = drops = done = 0
    batch_start, batch_goodput = 0, []

    while done < frames:
        due = [r + c * phy.slot for r, c in zip(ready, counter)]
        start = min(due)
        senders = [i for i in range(stations) if due[i] == start]

        # The others freeze: only whole idle slots count.
        for i in range(stations):
            if due[i] != start and ready[i] < start:
                counter[i] -= (start - ready[i]) // phy.slot

        if len(senders) == 1:
            winner = senders[0]
            end = start + success
            ready = [end + phy.difs + nav_delay] * stations
            ready[winner] = end + phy.difs
            delivered[winner] += 1
            tries[winner] = 0
            cw[winner] = phy.cw_min
            counter[winner] = draw(phy.cw_min)
            done += 1
            if done % (frames // batches) == 0:
                batch_goodput.append(8e3 * payload * (frames // batches) / (end - batch_start))
                batch_start = end
        else:
            end = start + collision
            ready = [end + wait_bystander] * stations
            for i in senders:
                ready[i] = end + wait_collider
                collided += 1
                tries[i] += 1
                if tries[i] < rules.retry_limit:
                    cw[i] = min(2 * cw[i] + 1, phy.cw_max)
                else:
                    drops += 1
                    tries[i] = 0
                    if rules.reset_cw_on_drop:
                        cw[i] = phy.cw_min
                counter[i] = draw(cw[i])

    return Result(
        goodput_mbps=statistics.mean(batch_goodput),
        goodput_se=statistics.stdev(batch_goodput) / math.sqrt(len(batch_goodput)),
        collision_probability=collided / (collided + done),
        drops_per_success=drops / done,
        successes=delivered,
    )


def round_half_up(value: int, unit: int) -> int:
    """`value` to the nearest multiple of `unit`."""
    return (value + unit // 2) // unit * unit


def lone_station_mbps(phy: Phy, rules: Rules, payload: int, overhead: int) -> float:
    """Goodput of one station, which never collides: payload over DIFS, mean backoff, exchange [Mb/s]."""
    size = payload + overhead
    mean_slots = phy.cw_min / 2 if rules.draw == "0..cw" else (phy.cw_min - 1) / 2
    cycle = phy.difs + phy.slot * mean_slots + phy.data(size) + phy.sifs + phy.control(ACK_BYTES)
    if size > rules.rts_threshold:
        cycle += phy.control(RTS_BYTES) + phy.sifs + phy.control(CTS_BYTES) + phy.sifs
    return 8e3 * payload / cycle
