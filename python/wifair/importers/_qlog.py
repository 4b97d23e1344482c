"""Writes the TCP connections of a capture as qlog, the log format of QUIC's tools: qvis draws them.

Format: draft-ietf-quic-qlog-main-schema-02 and draft-ietf-quic-qlog-quic-events-02, which call themselves version 0.3.
TCP is mapped to QUIC's events: each segment with data is a packet whose number counts the segments sent, with one
STREAM frame; an ACK is a packet with an ACK frame of the numbers that it newly acknowledges; a retransmission says
first that the packet which carried its bytes before is lost. Selective ACKs are not shown. Only what a capture knows is
written: round-trip times and bytes in flight, no congestion window.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from wifair._output.files import refuse, write_text
from wifair.capture.capture import Capture
from wifair.columns import Columns

LOST = {"fast": "reordering_threshold", "timeout": "pto_expired"}
"""Triggers of a loss, by the cause of the retransmission."""

FIN = 1


def write_qlog(capture: Capture, path: str | os.PathLike[str], *, force: bool = False) -> int:
    """Write the connections of a capture with data as qlog 0.3, one trace each.

    Parameters
    ----------
    capture : Capture
        The capture, with its packets: ``read_capture(file, packets=True)``; best taken where the data is sent.
    path : path
        The file, as ``upload.qlog``.
    force : bool, default False
        Replace it if it is there.

    Returns
    -------
    int
        Number of traces.

    Raises
    ------
    ValueError
        If the capture has no connection with data, or was read without packets.
    """
    refuse(path, force=force)
    packets = capture.tables.get("packets")
    if packets is None:
        raise ValueError("the capture was read without its packets: read_capture(file, packets=True)")
    traces = [*_traces(capture.tables["connections"], packets)] if len(packets) else []
    if not traces:
        raise ValueError("there is no TCP connection with data")
    write_text(path, _parts(capture.name, traces))
    return len(traces)


def _parts(title: str, traces: list[dict[str, Any]]) -> Iterator[str]:
    """Write the document with each event on a line."""
    head = {
        "qlog_version": "0.3",
        "qlog_format": "JSON",
        "title": title,
        "description": "TCP, mapped to QUIC's events: packet numbers count segments with data; no congestion window",
    }
    yield json.dumps(head)[:-1] + ', "traces": [\n'
    for at, trace in enumerate(traces):
        events = trace.pop("events")
        yield ("" if at == 0 else ",\n") + json.dumps(trace)[:-1] + ', "events": [\n'
        for place, event in enumerate(events):
            yield ("" if place == 0 else ",\n") + json.dumps(event)
        yield "\n]}"
    yield "\n]}\n"


def _traces(connections: Columns, packets: Columns) -> Iterator[dict[str, Any]]:
    first = {int(number): at for at, number in reversed([*enumerate(connections["id"])])}
    for number, at in sorted(first.items()):
        ends = [str(connections[name][at]) for name in ("host_a", "host_b")]
        mine = np.flatnonzero(packets["connection"] == number)
        ways, payload = packets["direction"][mine], packets["payload_bytes"][mine]
        sent = {way: int(payload[ways == way].sum()) for way in ("a2b", "b2a")}
        way = max(sent, key=lambda one: sent[one])
        if sent[way] == 0:
            continue
        source, destination = ends if way == "a2b" else ends[::-1]
        start_ns = int(packets["time_ns"][mine[0]])
        yield {
            "title": f"{source} to {destination}",
            # The side that opens the connection is QUIC's client; it is `a` here.
            "vantage_point": {"name": source, "type": "client" if way == "a2b" else "server"},
            "common_fields": {
                "protocol_type": ["TCP"],
                "group_id": f"{source} to {destination}",
                "time_format": "relative",
                "reference_time": start_ns / 1e6,
            },
            "events": _Sender(packets, mine, way, start_ns).events(),
        }


class _Sender:
    """What the side that sends data does and gets."""

    def __init__(self, packets: Columns, mine: np.ndarray[Any, Any], way: str, start_ns: int) -> None:
        names = (
            "time_ns",
            "direction",
            "seq",
            "ack",
            "payload_bytes",
            "flags",
            "retransmitted_bytes",
            "cause",
            "rtt_s",
        )
        self._columns = [packets[name][mine].tolist() for name in (*names, "in_flight_bytes")]
        self._way, self._start_ns = way, start_ns
        self._next = 0
        self._out: dict[int, tuple[int, int]] = {}
        """Packets that are neither acknowledged nor lost: first byte and the one after the last, by number."""
        self._acknowledged = -1
        self._acks = 0
        self._min_rtt = math.inf

    def events(self) -> Iterator[dict[str, Any]]:
        for time_ns, way, seq, ack, payload, flags, resent, cause, rtt_s, in_flight in zip(*self._columns):
            at = (time_ns - self._start_ns) / 1e6
            if way == self._way:
                if payload:
                    yield from self._send(at, int(seq), payload, flags, resent, cause)
            elif not math.isnan(ack):
                yield from self._take(at, int(ack), rtt_s, in_flight)

    def _send(self, at: float, seq: int, payload: int, flags: int, resent: int, cause: str) -> Iterator[dict[str, Any]]:
        if resent:
            trigger = {"trigger": LOST[cause]} if cause in LOST else {}
            for number in [one for one, (first, end) in self._out.items() if first < seq + payload and seq < end]:
                del self._out[number]
                header = {"packet_type": "1RTT", "packet_number": number}
                yield _event(at, "recovery:packet_lost", {"header": header, **trigger})
        stream = {
            "frame_type": "stream",
            "stream_id": 0,
            "offset": max(seq - 1, 0),
            "length": payload,
            "fin": bool(flags & FIN),
        }
        yield _event(at, "transport:packet_sent", _packet(self._next, payload, stream))
        self._out[self._next] = (seq, seq + payload)
        self._next += 1

    def _take(self, at: float, ack: int, rtt_s: float, in_flight: int) -> Iterator[dict[str, Any]]:
        new = [number for number, (_, end) in self._out.items() if end <= ack]
        for number in new:
            del self._out[number]
        if not new and self._acknowledged < 0:
            return  # of the SYN
        self._acknowledged = max([self._acknowledged, *new])
        frame = {"frame_type": "ack", "acked_ranges": _ranges(new or [self._acknowledged])}
        yield _event(at, "transport:packet_received", _packet(self._acks, 0, frame))
        self._acks += 1
        metrics: dict[str, Any] = {"bytes_in_flight": in_flight}
        if not math.isnan(rtt_s):
            self._min_rtt = min(self._min_rtt, 1e3 * rtt_s)
            metrics |= {"latest_rtt": 1e3 * rtt_s, "min_rtt": self._min_rtt}
        yield _event(at, "recovery:metrics_updated", metrics)


def _packet(number: int, payload: int, frame: dict[str, Any]) -> dict[str, Any]:
    header = {"packet_type": "1RTT", "packet_number": number}
    return {"header": header, "raw": {"length": payload, "payload_length": payload}, "frames": [frame]}


def _event(at_ms: float, name: str, data: dict[str, Any]) -> dict[str, Any]:
    return {"time": at_ms, "name": name, "data": data}


def _ranges(numbers: list[int]) -> list[list[int]]:
    """Join numbers, which ascend, into ranges with both ends."""
    found: list[list[int]] = []
    for number in sorted(numbers):
        if found and found[-1][1] == number - 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return found
