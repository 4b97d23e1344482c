"""The results of an emulation as text."""

from __future__ import annotations

from typing import Any

from wifair._output.tables import aligned
from wifair._output.words import counted
from wifair.emulation.running import Emulated

SHOWN = 40
"""The most connections that are shown."""


def text_of(emulated: Emulated) -> str:
    """Format connections, simulated flows, packet counts and lateness as text."""
    parts = [_connections(emulated)]
    if len(emulated.results.flows):
        parts.append(repr(emulated.results))
    parts.append(_packets(emulated.packets))
    return "\n\n".join(part for part in parts if part)


def warnings_of(emulated: Emulated) -> list[str]:
    """List the failures to keep real time."""
    late = emulated.packets.get("lateness") or {}
    found = []
    if late.get("seconds_behind"):
        found.append(
            f"in {late['seconds_behind']} of {emulated.packets['time_s']:.0f} s more than 1 % of the packets came "
            "over 1 ms late: the machine did not keep up, so delays are not only those of the cell"
        )
    if late.get("devices_vanished"):
        found.append(f"{late['devices_vanished']} TUN devices vanished: their hosts were disconnected")
    return found


def _connections(emulated: Emulated) -> str:
    names = emulated.addresses
    document = emulated.connections.document
    rows = []
    for connection in document["connections"]:
        hosts = [_named(connection[key], names) for key in ("host_a", "host_b")]
        sides = [connection["a2b"], connection["b2a"]]
        sender = 0 if sides[0]["unique_bytes_sent"] >= sides[1]["unique_bytes_sent"] else 1
        side = sides[sender]
        rows.append(
            (
                f"{hosts[sender]} > {hosts[1 - sender]}",
                f"{(side['goodput_bps'] or 0) / 1e6:.3f}",
                f"{side['unique_bytes_sent'] / 1e6:.3f}",
                f"{side['rexmt_data_pkts']}",
                _ms(side.get("rtt_avg_ms")),
            )
        )
    if not rows:
        return "no TCP connections of real programs"
    head = ("connection, as seen at the AP", "Mb/s", "MB", "rexmt", "RTT to the receiver")
    shown = [head, *rows[:SHOWN]]
    more = [f"... and {len(rows) - SHOWN} more: --json has all"] if len(rows) > SHOWN else []
    return "\n".join([*aligned(shown, left=range(1)), *more])


def _named(endpoint: str, names: dict[str, str]) -> str:
    address, _, port = endpoint.rpartition(":")
    return f"{names.get(address, address)}:{port}"


def _ms(value: Any) -> str:
    return "-" if value is None else f"{value:.2f} ms"


def _packets(packets: dict[str, Any]) -> str:
    def some(counts: dict[str, int]) -> str:
        listed = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in counts.items() if count)
        return f" ({listed})" if listed else ""

    lost, refused = packets["lost"], packets["refused"]
    text = (
        f"{counted(packets['sent'], 'packet')} in {packets['time_s']:.1f} s: {packets['delivered']} delivered, "
        f"{sum(lost.values())} lost{some(lost)}, {sum(refused.values())} refused{some(refused)}"
    )
    if packets["marked"]:
        text += f", {packets['marked']} marked"
    if packets["windows_changed"]:
        text += f", {packets['windows_changed']} windows changed"
    late = packets.get("lateness") or {}
    if late.get("packets"):
        text += (
            f"\nlate by {late['median_s'] * 1e6:.0f} us (median), {late['p99_s'] * 1e6:.0f} us (99 %), "
            f"{late['worst_s'] * 1e6:.0f} us (worst); {late['share_later_than_100us']:.2%} of the packets over 100 us"
        )
    return text
