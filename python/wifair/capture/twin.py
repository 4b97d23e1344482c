"""A scenario from a capture: the network as far as the capture shows it, each value with how it was found."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cached_property
from statistics import median
from typing import Any, NamedTuple

from wifair._output.words import counted, size
from wifair.capture.capture import Capture
from wifair.scenario.toml import text as quoted

MOST_FLOWS = 200
"""Flows in a scenario; the largest ones."""
FEW_MS = 1e-3
"""What a small packet and its ACK add to a round trip over an idle air [s]."""
BRIEF_S = 1e-3
"""No flow is shorter [s]."""
LEAST_RTO_S = 0.2
"""The least retransmission timeout of Linux [s]: no shorter wait is one for a timer."""
LARGE = 1000
MOST_PACKETS = 100_000_000
MOST_DELAY_S = 3600.0
"""What `queue.limit` and `delay` take; damaged stamps give more."""
LONGEST_PAYLOAD = 2296 - 60
"""What fits into a frame of 802.11 beside headers of IP and TCP with stamps [B]."""
"""A queue that never overflowed, in packets: the default of Linux."""
DSSS = {1.0, 2.0, 5.5, 11.0}
COLUMN = 44
"""Where comments begin."""


class KnownValue(NamedTuple):
    """A key of the scenario: its value as TOML, how it was found, and how sure it is."""

    key: str
    value: str
    sure: str
    how: str

    def line(self) -> str:
        """Write it as a line of TOML with a comment."""
        return f"{f'{self.key} = {self.value}':<{COLUMN}} # {self.sure}: {self.how}"


def scenario_text(capture: Capture) -> str:
    """Write the commented scenario of a network that behaves like the one in the capture.

    Parameters
    ----------
    capture : Capture
        The capture; the air, an access point or one of its ends.

    Returns
    -------
    str
        TOML. Each value has a comment: ``seen`` in the capture, ``computed`` from it, or ``assumed``.

    Raises
    ------
    ValueError
        If the capture has no TCP flow with data and no flow of datagrams.
    """
    return _Twin(capture).text()


class _Twin:
    """What is known of the network."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.document = capture.document
        self.wlan: dict[str, Any] = self.document.get("wlan", {})
        self.origin = int(self.document["capture"]["start_ns"] or 0)
        rows = [row for row in self.document["fairness"]["flows"] if row["role"] == "data"]
        self.small = len(self.document["fairness"]["flows"]) - len(rows)
        rows.sort(key=lambda row: -int(row["bytes"]))
        self.left_out = rows[MOST_FLOWS:]
        self.flows = [_Flow(self, row) for row in rows[:MOST_FLOWS]]
        self.flows.sort(key=lambda flow: flow.start_s)
        self.calls = [row for row in self.document["datagrams"] if row["rate_bps"] and row["packets"] > 100]
        if not self.flows and not self.calls:
            raise ValueError("no flow in the capture had more to send than it could: there is nothing to simulate")
        hosts = [flow.station for flow in self.flows] + [self._station_of(row) for row in self.calls]
        self.stations = {host: f"sta{number + 1}" for number, host in enumerate(dict.fromkeys(hosts))}
        ends = [flow.server for flow in self.flows] + [self._server_of(row) for row in self.calls]
        self.servers = {host: f"server{number + 1}" for number, host in enumerate(dict.fromkeys(ends))}

    def text(self) -> str:
        """Write the scenario."""
        parts = [self._head(), self._wlan(), self._ap()]
        parts += [self._server(host, name) for host, name in self.servers.items()]
        parts += [self._station(host, name) for host, name in self.stations.items()]
        parts += [flow.text(number + 1) for number, flow in enumerate(self.flows)]
        parts += [self._call(row, number + 1) for number, row in enumerate(self.calls)]
        return "\n\n".join("\n".join(part) for part in parts) + "\n"

    def _head(self) -> list[str]:
        capture = self.capture
        lines = [
            f"# The network of the capture {_plain(capture.name)}, as far as it shows. Behind each value stands",
            "# whether it was seen, computed from what was seen, or assumed. Compare the two:",
            f"#   wifair compare {_plain(capture.name)} THIS_FILE",
        ]
        if self.small:
            lines.append(f"# Left out: {counted(self.small, 'flow')} of requests, replies and short messages.")
        if self.left_out:
            lines.append(f"# Left out: {counted(len(self.left_out), 'smaller flow')}.")
        lines.append(f"name = {quoted('twin of ' + _plain(capture.name))}")
        # Stamps of a capture may run back.
        last = max((flow.start_s + BRIEF_S for flow in self.flows), default=0.0)
        duration = max(math.ceil(10 * max(capture.analysed_s, last)) / 10, 0.1)
        return [*lines, KnownValue("duration", quoted(f"{duration:g} s"), "seen", "length of the capture").line()]

    # The air.

    @cached_property
    def access_point(self) -> dict[str, Any] | None:
        """The access point that sent the most data."""
        found = [row for row in self.wlan.get("stations", []) if row["access_point"]]
        return max(found, key=lambda row: int(row["data_frames"]), default=None)

    @cached_property
    def beacon(self) -> dict[str, Any] | None:
        """What the access point announced."""
        beacons = (self.access_point or {}).get("beacon", [])
        return beacons[0] if beacons else None

    @cached_property
    def links(self) -> dict[str, dict[str, Any]]:
        """Transmitters by address, with the modes of data from and to them."""
        return {row["address"]: row for row in self.wlan.get("stations", [])}

    @cached_property
    def usual_mode(self) -> dict[str, Any] | None:
        """The most frequent mode of 802.11n and later on the links of all stations."""
        modes = [mode for row in self.links.values() for mode in row["link_frames_by_mode"]]
        return max(modes, key=lambda mode: int(mode["frames"]), default=None)

    @cached_property
    def usual_rate(self) -> float | None:
        """The most frequent rate before 802.11n [Mb/s]."""
        return _usual(rate for row in self.links.values() for rate in row["link_frames_by_rate_mbps"].items())

    @cached_property
    def band_ghz(self) -> float | None:
        """The band, by the most frequent frequency."""
        mhz = _usual(self.wlan.get("frames_by_mhz", {}).items())
        return None if mhz is None else 2.4 if mhz < 3000 else 5 if mhz < 5935 else 6

    @cached_property
    def standard(self) -> tuple[str, str, str]:
        """The standard, how sure that is, and how it was found."""
        if self.usual_mode:
            return str(self.usual_mode["standard"]), "seen", "the most frequent modulation of data"
        if self.usual_rate is not None:
            rates = {float(rate) for row in self.links.values() for rate in row["link_frames_by_rate_mbps"]}
            if rates <= DSSS:
                return "802.11b", "seen", "rates of data frames"
            return ("802.11g" if self.band_ghz == 2.4 else "802.11a"), "seen", "rates and band of data frames"
        return "802.11ac", "assumed", "the capture has no 802.11 frames with a rate"

    def _wlan(self) -> list[str]:
        standard, sure, how = self.standard
        found = [KnownValue("standard", quoted(standard), sure, how)]
        mode = self.usual_mode
        if standard == "802.11ac" and mode is None:
            found.append(KnownValue("width", "80", "assumed", "set width, mcs and streams to what your radios have"))
        elif mode:
            if self.band_ghz and standard in ("802.11n", "802.11ax", "802.11be") and self.band_ghz != 5:
                found.append(KnownValue("band", quoted(f"{self.band_ghz:g} GHz"), "seen", "frequency of the frames"))
            found += self._mode(mode, "the most frequent of all data frames", standard)
            found += self._aggregation()
        elif self.usual_rate is not None:
            rate = quoted(f"{self.usual_rate:g} Mb/s")
            found.append(KnownValue("data_rate", rate, "seen", "the most frequent of all data frames"))
        lines = ["[wlan]", *self._rts(found)]
        if self.beacon:
            about = f"# beacon: network {quoted(_plain(self.beacon['ssid']))}, channel {self.beacon['channel']}"
            lines.insert(1, about + (", protects OFDM frames" if self.beacon["uses_protection"] else ""))
            if mode:
                lines += self._edca(self.beacon["edca"])
        return lines

    def _rts(self, found: list[KnownValue]) -> list[str]:
        rts = sum(int(row["rts"]) for row in self.links.values())
        data = sum(int(row["data_frames"]) for row in self.links.values())
        bursts = sum(int(row["aggregates"]) for row in self.links.values()) or data
        if rts > 0.5 * bursts > 0:
            found.append(
                KnownValue("rts_threshold", quoted("0 B"), "computed", f"{rts} RTS before {bursts} data PPDUs")
            )
        return [one.line() for one in found]

    def _mode(self, mode: Mapping[str, Any], how: str, standard: str) -> list[KnownValue]:
        found = [KnownValue("mcs", str(mode["mcs"]), "seen", how)]
        if standard != "802.11n":
            found.append(KnownValue("streams", str(mode["streams"]), "seen", how))
        if mode["width_mhz"]:
            found.append(KnownValue("width", str(mode["width_mhz"]), "seen", how))
        if how.startswith("the most frequent of all"):
            found.append(KnownValue("guard_interval", quoted(f"{mode['guard_interval_ns']} ns"), "seen", how))
        return found

    def _aggregation(self) -> list[KnownValue]:
        sent = sum(int(row["aggregates"]) for row in self.links.values())
        largest = max((int(row["largest_aggregate"]) for row in self.links.values()), default=0)
        if sent and largest == 1:
            return [KnownValue("aggregation.max_ampdu", quoted("0 B"), "seen", "no A-MPDU had more than one MPDU")]
        return []

    def _edca(self, edca: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
        for category, record in edca.items():
            yield f"[wlan.edca.{category}]  # seen in beacons, for stations; the access point may use others"
            yield f"cw_min = {record['cw_min']}"
            yield f"cw_max = {record['cw_max']}"
            yield f"aifsn = {record['aifsn']}"
            yield f"txop = {quoted(str(record['txop_us']) + ' us')}"

    # Queues.

    def _ap(self) -> list[str]:
        waits = [flow for flow in self.flows if not math.isnan(flow.ap_wait_s)]
        if not waits:
            found = KnownValue("queue.limit", quoted("1000 packets"), "assumed", "no timestamps or ACKs tell its delay")
            return ["[ap]", found.line()]
        own = self.standard[0] not in ("802.11b", "802.11g", "802.11a")
        wait_s = median(flow.ap_wait_s for flow in waits)
        rate = sum(flow.down_packets_s for flow in self.flows) * max(flow.peak for flow in waits)
        packets = min(max(round(wait_s * rate), 10), MOST_PACKETS)
        lost = sum(flow.down_losses for flow in self.flows)
        how = f"{1e3 * wait_s:.0f} ms of waiting at {rate:.0f} packets/s" + (
            "" if lost else "; it never overflowed, so it may be larger"
        )
        lines = ["[ap]", KnownValue("queue.limit", quoted(f"{packets} packets"), "computed", how).line()]
        if own:
            lines.append(KnownValue("queue.discipline", quoted("fifo"), "assumed", "one queue for all stations").line())
        return lines

    @cached_property
    def _station_queues(self) -> dict[str, int]:
        """For each station, what it sent between timestamps and their echoes: packets that waited before the echo."""
        packets = dict.fromkeys(self.stations, 0)
        for flow in self.flows:
            if self.wlan and flow.way == "up":
                packets[flow.station] += int(flow.side["echo_queue_pkts"])
        return packets

    def _station_queue(self, host: str) -> list[KnownValue]:
        own = self._station_queues[host]
        if not own:
            return []
        losing = [flow.station for flow in self.flows if flow.way == "up" and flow.loses]
        how = f"{own} packets left between a timestamp and its echo"
        if host not in losing:
            return [KnownValue("queue.limit", quoted(f"{max(own, LARGE)} packets"), "assumed", f"{how}, no loss")]
        fullest = max(self._station_queues[station] for station in losing)
        if own < fullest:
            how = f"as at the fullest station; here {how}"
        return [KnownValue("queue.limit", quoted(f"{fullest} packets"), "computed", how)]

    # Ends.

    def _server(self, host: str, name: str) -> list[str]:
        times = [flow.wired_s for flow in self.flows if flow.server == host and not math.isnan(flow.wired_s)]
        if times:
            found = KnownValue(
                "delay", quoted(_ms(min(min(times) / 2, MOST_DELAY_S))), "computed", "half its shortest round trip"
            )
        else:
            whole = [flow.idle_s for flow in self.flows if flow.server == host and not math.isnan(flow.idle_s)]
            rest = max(min(whole, default=FEW_MS) - FEW_MS, 0.0)
            how = "shortest round trip of the whole path less 1 ms for the air" if whole else "nothing tells it"
            sure = "computed" if whole else "assumed"
            found = KnownValue("delay", quoted(_ms(min(rest / 2, MOST_DELAY_S))), sure, how)
        rate = KnownValue("rate", quoted("1 Gb/s"), "assumed", "the air is the bottleneck")
        return [f"[[servers]]  # {host}", f"name = {quoted(name)}", found.line(), rate.line()]

    def _station(self, host: str, name: str) -> list[str]:
        addresses = [flow.connection["station"] for flow in self.flows if flow.station == host]
        link = next((self.links[one] for one in addresses if one in self.links), None)
        about = f", {link['address']}" if link else ""
        lines = [f"[[stations]]  # {host}{about}", f"name = {quoted(name)}"]
        found: list[KnownValue] = []
        if link:
            how = "the most frequent of data frames from and to it"
            modes = link["link_frames_by_mode"]
            usual = max(modes, key=lambda mode: int(mode["frames"]), default=None)
            rate = _usual(link["link_frames_by_rate_mbps"].items())
            if usual:
                found = self._mode(usual, how, str(self.standard[0]))
            elif rate is not None and self.usual_mode is None:
                found = [KnownValue("data_rate", quoted(f"{rate:g} Mb/s"), "seen", how)]
            found += self._losses(link)
        found += self._station_queue(host)
        return [*lines, *(one.line() for one in found)]

    def _losses(self, link: Mapping[str, Any]) -> list[KnownValue]:
        """Losses on the air beyond what collisions explain: two stations collide in one of CWmin backoffs or so."""
        retried, data = link["retry_fraction"] or 0.0, int(link["data_frames"])
        busy = sum(int(row["data_frames"]) > 0.05 * data for row in self.links.values())
        cw_min = 31 if self.standard[0] == "802.11b" else 15
        expected = 1 - (1 - 2 / (cw_min + 1)) ** max(busy - 1, 0)
        if data < 200 or retried < expected + 0.05:
            return []
        how = f"{100 * retried:.0f} % retries, of which collisions explain {100 * expected:.0f} %"
        return [KnownValue("data_error_up", f"{retried - expected:.2f}", "computed", how)]

    # Datagrams.

    def _station_of(self, row: Mapping[str, Any]) -> str:
        return _host(row["to"] if row["way"] == "down" else row["from"])

    def _server_of(self, row: Mapping[str, Any]) -> str:
        return _host(row["from"] if row["way"] == "down" else row["to"])

    def _call(self, row: Mapping[str, Any], number: int) -> list[str]:
        way = row["way"] or "up"
        sure = "seen" if row["way"] else "assumed"
        payload = min(max(round(row["bytes"] / row["packets"]), 1), LONGEST_PAYLOAD)
        bps = row["rate_bps"]
        shown = f"{bps / 1e3:.0f} kb/s" if bps >= 1e4 else f"{max(bps, 1.0):.0f} b/s"
        rate = KnownValue("udp.rate", quoted(shown), "seen", "payload over its time")
        return [
            f"[[flows]]  # {row['from']} > {row['to']}, {row['kind']}",
            f"name = {quoted(f'udp{number}')}",
            f"station = {quoted(self.stations[self._station_of(row)])}",
            f"server = {quoted(self.servers[self._server_of(row)])}",
            KnownValue("direction", quoted(way), sure, "802.11 headers or --local").line(),
            'transport = "udp"',
            rate.line(),
            KnownValue("udp.payload", quoted(f"{payload} B"), "seen", "mean payload").line(),
        ]


class _Flow:
    """A TCP flow with data."""

    def __init__(self, twin: _Twin, row: dict[str, Any]) -> None:
        self.twin, self.row = twin, row
        self.connection: dict[str, Any] = twin.document["connections"][row["connection"] - 1]
        back = {"a2b": "b2a", "b2a": "a2b"}[row["direction"]]
        self.side: dict[str, Any] = self.connection[row["direction"]]
        self.back: dict[str, Any] = self.connection[back]
        client_sends = (row["direction"] == "a2b") == self._a_opens()
        self.way = row["way"] or ("up" if client_sends else "down")
        self.station, self.server = map(
            _host, (row["from"], row["to"]) if self.way == "up" else (row["to"], row["from"])
        )
        self.start_s = max((self.connection["first_packet_ns"] - twin.origin) / 1e9, 0.0)
        self.active_s = max(float(row["active_s"]), 1e-3)

    def _a_opens(self) -> bool:
        return not str(self.connection["a2b"]["syn_fin_pkts_sent"]).startswith("0") or str(
            self.connection["b2a"]["syn_fin_pkts_sent"]
        ).startswith("0")

    @property
    def is_split(self) -> bool:
        """Whether the capture point lies between the station and its server, so that it sees each part of the path."""
        return bool(self.twin.wlan) or self.row["way"] is not None

    def _turn(self, which: str, *, wired: bool) -> float:
        """Round trip between the capture point and the server, or the station [s]."""
        sends = (self.way == "down") == wired
        # Towards the sender of data by echoes of its timestamps, towards the receiver by its ACKs.
        value = self.side[f"echo_rtt_{which}_s"] if sends else self.side[f"rtt_{which}_s"]
        return math.nan if value is None else float(value)

    @cached_property
    def wired_s(self) -> float:
        """Shortest round trip between the capture point and the server [s]."""
        if not self.is_split:
            return math.nan
        client_is_station = (self.row["direction"] == "a2b") == (self.way == "up")
        client_is_station = client_is_station == self._a_opens()
        part = self.connection["handshake_server_s" if client_is_station else "handshake_client_s"]
        times = [
            value for value in (part, self._turn("min", wired=True)) if value is not None and not math.isnan(value)
        ]
        return min(times, default=math.nan)

    @cached_property
    def idle_s(self) -> float:
        """Shortest round trip of the whole path [s]."""
        parts = [self._turn("min", wired=wired) for wired in (True, False)]
        if not math.isnan(sum(parts)):
            return sum(parts)
        handshake = self.connection["handshake_rtt_s"]
        known = [value for value in (*parts, handshake) if value is not None and not math.isnan(value)]
        return max(known, default=math.nan)

    def _wait(self, *, wired: bool) -> float:
        """Wait in a full queue on this part of the path [s].

        Towards a sender of data without timeouts, this is the longest wait, since data follow ACKs. Elsewhere the
        longest are not those of a queue, because timers and delayed ACKs come in: there it is the mean and one standard
        deviation, as in a queue that is often full.
        """
        high, low = self._turn("max", wired=wired), self._turn("min", wired=wired)
        mean, spread = self._turn("mean", wired=wired), self._turn("stdev", wired=wired)
        is_timer = self.side["timeouts"] or (high - low > LEAST_RTO_S and high > mean + 4 * spread)
        if (self.way == "down") != wired or is_timer:
            high = min(high, mean + spread)
        return high - low

    @cached_property
    def ap_wait_s(self) -> float:
        """Longest wait in the access point's queue [s]: towards the server where frames are captured on the air."""
        return self._wait(wired=bool(self.twin.wlan)) if self.is_split else self._wait(wired=self.way == "up")

    @property
    def packets_s(self) -> float:
        """Data packets per second."""
        return float(self.side["actual_data_pkts"]) / self.active_s

    @property
    def down_packets_s(self) -> float:
        """Packets per second to the station."""
        return self.packets_s if self.way == "down" else float(self.back["total_packets"]) / self.active_s

    @property
    def peak(self) -> float:
        """How much faster than on average a flow alone sent when most of its packets were under way; at most 3."""
        longest = self._turn("max", wired=True)
        if len(self.twin.flows) > 1 or self.way == "up" or self.side["timeouts"] or not longest > 0:
            return 1.0
        return min(max(float(self.side["echo_queue_pkts"]) / longest / self.packets_s, 1.0), 3.0)

    @property
    def down_losses(self) -> int:
        """Signs of packets lost on the way to the station."""
        return int(self.loses) if self.way == "down" else 0

    @property
    def loses(self) -> bool:
        """Whether its receiver missed data. Holes at the capture point alone may be retries of the MAC."""
        return bool(self.back["sack_pkts_sent"] or self.side["triple_dupacks"] or self.side["timeouts"])

    def text(self, number: int) -> list[str]:
        """Write the flow."""
        twin, row = self.twin, self.row
        sure, how = ("seen", "802.11 headers or --local") if row["way"] else ("assumed", "the client is the station")
        found = [KnownValue("direction", quoted(self.way), sure, how)]
        found.append(KnownValue("start", quoted(_ms(self.start_s)), "seen", "its first packet"))
        found += self._amount()
        found += self._tcp()
        return [
            f"[[flows]]  # {row['from']} > {row['to']}, {size(row['bytes'])}",
            f"name = {quoted(f'{self.way}{number}')}",
            f"station = {quoted(twin.stations[self.station])}",
            f"server = {quoted(twin.servers[self.server])}",
            *(one.line() for one in found),
        ]

    def _amount(self) -> list[KnownValue]:
        amount = quoted(f"{self.row['bytes']} B")
        if not self.row["competes"]:
            how = "an application limited it: its pauses are left out"
            return [
                KnownValue("workload", quoted("transfer"), "assumed", how),
                KnownValue("transfer.size", amount, "seen", "new bytes"),
            ]
        if self.row["had_no_more"]:
            return [
                KnownValue("workload", quoted("transfer"), "seen", "it ended while the capture went on"),
                KnownValue("transfer.size", amount, "seen", "new bytes"),
            ]
        end = self.start_s + max(float(self.connection["duration_s"]), BRIEF_S)
        if end < self.twin.capture.duration_s - 0.5:
            return [KnownValue("stop", quoted(_ms(end)), "seen", "its last packet; it may have had more to send")]
        return []

    def _tcp(self) -> list[KnownValue]:
        side, back = self.side, self.back
        most, offered = max(side["max_segm_size"], 1), int(back["mss_requested"])
        stamps, sack = (str(side["req_1323_ws_ts"]).endswith("/Y"), side["req_sack"] == "Y")
        # With segmentation offload, a capture at the sender shows several segments as one.
        payload = most if most <= offered or not offered else offered - 12 * stamps
        how = ("seen", "largest segment")
        if payload > LONGEST_PAYLOAD:
            payload, how = 1460 - 12 * stamps, ("assumed", f"segments of {payload} B do not fit into a frame")
        stack = "linux" if stamps and sack else "rfc"
        found = [KnownValue("tcp.stack", quoted(stack), "assumed", "its options are those of such a system")]
        found.append(KnownValue("tcp.mss", quoted(f"{payload} B"), *how))
        window = int(back["max_win_adv"])
        if window:
            found.append(KnownValue("tcp.receive_window", quoted(f"{window} B"), "seen", "largest window advertised"))
        found.append(self._control())
        return found

    def _control(self) -> KnownValue:
        why = "the capture does not tell" + ("" if self.loses else ": it lost nothing")
        return KnownValue("tcp.cc", quoted("cubic"), "assumed", f"{why}; most systems have it")


def _usual(counts: Any) -> float | None:
    """Return the number with the highest count, of pairs of a number as text and its count."""
    total: dict[float, int] = {}
    for number, count in counts:
        total[float(number)] = total.get(float(number), 0) + int(count)
    return max(total, key=lambda number: total[number], default=None)


def _host(endpoint: str) -> str:
    """Remove the port from an endpoint."""
    return endpoint.rpartition(":")[0].strip("[]")


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.3f}".rstrip("0").rstrip(".") + " ms"


def _plain(name: str) -> str:
    """Keep a foreign name to one line of printable text."""
    return "".join(sign if sign.isprintable() else "?" for sign in name)[:60]
