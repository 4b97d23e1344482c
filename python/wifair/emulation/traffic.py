"""Programs that carry the flows of a scenario with the kernel's TCP and UDP, for `wifair compare --emulated`.

``python -m wifair.emulation.traffic receive PORT READY`` receives, and ``send`` sends. Each creates a file when it is
ready. When all are ready, `start_together` sets the start time on the monotonic clock, which all hosts of an emulation
share. At the end a sender writes its kernel's statistics to a report.
"""

from __future__ import annotations

import json
import os
import shlex
import socket
import struct
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from wifair import _core
from wifair._kernel_tcp import kernel_has, tcp_info
from wifair.emulation import kernel_cc
from wifair.emulation._programs import Command
from wifair.exceptions import EmulationError
from wifair.importers.imported import FlowRow as FigureRow

FIRST_PORT = 5201
CHUNK = bytes(65536)
BEGINNING = "beginning"
LEAD_S = 0.3
"""Time from when all programs are ready to the start [s]."""
RECEIVER_PRIORITY = 10
"""Real-time priority of receivers, below that of the emulation itself."""


class Kernel(NamedTuple):
    """How the kernel carries a flow."""

    flow: _core.FlowRow
    port: int
    cc: str | None
    report: Path
    stations: frozenset[str]


def kernel_name(cc: str, max_cwnd: str | None = None) -> str:
    """Get the kernel's name of a congestion control in a scenario."""
    if cc == "reno" and max_cwnd in ("10 packets", "10"):
        return "reno_maxwin10"
    return kernel_cc.available().get(cc, cc)


def commands(
    flows: Sequence[_core.FlowRow], stations: frozenset[str], folder: Path, lasts_s: float
) -> tuple[list[Kernel], list[Command]]:
    """Get the commands that carry flows.

    Parameters
    ----------
    flows : sequence of FlowRow
        The flows of a scenario.
    stations : frozenset of str
        The hosts on the air.
    folder : Path
        The folder for the senders' reports and for the files that tell which programs are ready.
    lasts_s : float
        Time after the start at which flows stop, if not earlier [s].

    Returns
    -------
    list of Kernel
        Each flow with its port and its report.
    list of Command
        The commands to run, receivers first.

    Raises
    ------
    EmulationError
        If a flow is not persistent, or the kernel lacks its congestion control.
    """
    carried, receivers, senders = [], [], []
    for index, flow in enumerate(flows):
        if not flow["is_endless"]:
            raise EmulationError(f"flow `{flow['name']}`: the kernel can carry persistent flows only")
        cc = None if flow["cc"] is None else kernel_name(flow["cc"], flow["max_cwnd"])
        if cc is not None and not kernel_has(cc):
            raise EmulationError(
                f"flow `{flow['name']}`: the kernel has no congestion control `{cc}`; `wifair bpf load` can add some"
            )
        port, report = FIRST_PORT + index, folder / f"{index}.json"
        carried.append(Kernel(flow, port, cc, report, stations))
        module = [sys.executable, "-m", "wifair.emulation.traffic"]
        receivers.append(
            Command(
                flow["to_host"],
                # In the background, because shells report a foreground program that a signal ends.
                shlex.join([*module, "receive", str(port), str(folder / f"{index}.listens")]) + " & wait",
                serves=True,
            )
        )
        stop_s = min(flow["stop_s"] or lasts_s, lasts_s)
        what = {
            "to": flow["to_host"],
            "port": port,
            "cc": cc,
            "folder": str(folder),
            "ready": str(folder / f"{index}.waits"),
            "starts_s": flow["start_s"],
            "stops_s": stop_s,
            "rate_bps": flow["rate_bps"],
            "payload": flow["payload_bytes"],
            "report": str(report),
        }
        senders.append(Command(flow["from_host"], shlex.join([*module, "send", json.dumps(what)])))
    return carried, receivers + senders


def figures(kernel: Kernel, from_s: float) -> FigureRow:
    """Read the report of a flow's sender, from `from_s` seconds after the start on.

    Raises
    ------
    EmulationError
        If there is no report.
    """
    name = kernel.flow["name"]
    try:
        said: dict[str, Any] = json.loads(kernel.report.read_text(encoding="ascii"))
    except (OSError, ValueError):
        raise EmulationError(f"flow `{name}`: its sender has written no report") from None
    samples = [sample for sample in said.get("samples", []) if sample["time_s"] >= from_s]
    found: dict[str, float] = {}
    if len(samples) > 1:
        first, last = samples[0], samples[-1]
        taken_s = last["time_s"] - first["time_s"]
        got = last["bytes_acked"] - first["bytes_acked"]
        found = {
            "goodput_bps": got * 8 / taken_s,
            "throughput_bps": got * 8 / taken_s,
            "received_bytes": got,
            "data_packets_sent": last["data_segs_out"] - first["data_segs_out"],
            "retransmissions": last["total_retrans"] - first["total_retrans"],
            "rtt_mean_s": sum(sample["rtt"] for sample in samples) / len(samples) / 1e6,
            "rtt_samples": len(samples),
            "cwnd_mean": sum(sample["snd_cwnd"] for sample in samples) / len(samples),
        }
    up = "up" if kernel.flow["from_host"] in kernel.stations else "down"
    return FigureRow(name, up, found, [])


def start_together(folder: Path, flows: int, until_s: float) -> bool:
    """Set the start time when all programs are ready. Returns false if they are not by `until_s`, on the clock [s]."""
    while len([*folder.glob("*.listens"), *folder.glob("*.waits")]) < 2 * flows:
        if time.monotonic() >= until_s:
            return False
        time.sleep(0.02)
    draft = folder / "draft"
    draft.write_text(repr(time.monotonic() + LEAD_S), encoding="ascii")
    draft.rename(folder / BEGINNING)
    return True


def _receive(port: int, ready: str) -> None:
    """Receive streams and datagrams.

    A receiver that is scheduled late acknowledges late, and thus less often: Linux delays the ACK of a second segment
    until the program has read the first. The receiver therefore gets real-time priority, if permitted.
    """
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(RECEIVER_PRIORITY))
    datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    datagrams.bind(("", port))

    def drain() -> None:
        while True:
            datagrams.recv(65536)

    threading.Thread(target=drain, daemon=True).start()
    listener = socket.create_server(("", port))
    Path(ready).touch()
    while True:
        peer, _ = listener.accept()
        threading.Thread(target=_take, args=(peer,), daemon=True).start()


def _take(peer: socket.socket) -> None:
    buffer = bytearray(1 << 18)
    # A sender resets its connection when its time is over.
    with peer, suppress(ConnectionResetError):
        while peer.recv_into(buffer):
            pass


def _send(what: dict[str, Any]) -> None:
    Path(what["ready"]).touch()
    beginning = Path(what["folder"]) / BEGINNING
    while not beginning.exists():
        time.sleep(0.01)
    begins_s = float(beginning.read_text(encoding="ascii"))
    what = {**what, "begins_s": begins_s + what["starts_s"], "ends_s": begins_s + what["stops_s"]}
    if what["cc"] is None:
        _send_datagrams(what)
        return
    peer = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, what["cc"].encode())
    _sleep_until(what["begins_s"])
    peer.settimeout(10)
    peer.connect((what["to"], what["port"]))
    peer.settimeout(0.1)
    samples = []
    next_s = time.monotonic()
    while time.monotonic() < what["ends_s"]:
        with suppress(TimeoutError):
            peer.send(CHUNK)
        if time.monotonic() >= next_s:
            samples.append({"time_s": time.monotonic() - what["begins_s"], **(tcp_info(peer) or {})})
            next_s += 0.1
    Path(what["report"]).write_text(json.dumps({"samples": samples}), encoding="ascii")
    # The time of the flow is over, so data still in the socket is discarded.
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    peer.close()


def _send_datagrams(what: dict[str, Any]) -> None:
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sender.connect((what["to"], what["port"]))
    interval_s = what["payload"] * 8 / what["rate_bps"]
    payload = bytes(what["payload"])
    due_s = what["begins_s"]
    while due_s < what["ends_s"]:
        _sleep_until(due_s)
        with suppress(ConnectionRefusedError):
            sender.send(payload)
        due_s += interval_s
    Path(what["report"]).write_text("{}", encoding="ascii")


def _sleep_until(then_s: float) -> None:
    while (rest := then_s - time.monotonic()) > 0:
        time.sleep(rest)


if __name__ == "__main__":
    if sys.argv[1] == "receive":
        _receive(int(sys.argv[2]), sys.argv[3])
    else:
        _send(json.loads(sys.argv[2]))
