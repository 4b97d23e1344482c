"""`wifair airtime`."""

from __future__ import annotations

from typing import Any

import click

from wifair.cli.common import echo_json, fail
from wifair.exchange_time import Airtime, AirtimeError, airtime, airtime_table
from wifair.tables import aligned


@click.command(name="airtime")
@click.option("--standard", required=True, metavar="NAME", help="802.11b, a, g, n, ac, ax or be.")
@click.option("--band", metavar="GHZ", help="2.4, 5 or 6; by default 2.4 for b and g, else 5.")
@click.option("--width", metavar="MHZ", help="Channel width; 20 by default.")
@click.option("--mcs", type=int, metavar="N", help="Modulation and coding scheme, from 802.11n on.")
@click.option("--rate", metavar="RATE", help="Data rate, for b, a and g, as in '54 Mb/s'.")
@click.option("--streams", type=int, metavar="N", help="Spatial streams; 1 by default, in 802.11n as the MCS says.")
@click.option("--guard-interval", metavar="TIME", help="As in '400 ns' or '3.2 us'; 800 ns by default.")
@click.option("--psdu", "psdu_length", type=int, metavar="BYTES", help="Length of the PSDU.")
@click.option(
    "--mpdu", "mpdu_length", type=int, metavar="BYTES", help="Length of an MPDU, MAC header and FCS included."
)
@click.option("--ampdu", "mpdus", type=int, metavar="N", help="Send so many of these MPDUs as an A-MPDU.")
@click.option("--response", metavar="KIND", help="ack, block-ack or none; by default as the content needs it.")
@click.option(
    "--buffer-size",
    type=int,
    metavar="N",
    help="MPDUs of the block ACK agreement: 64 in n and ac, up to 256 in ax (default), up to 1024 in be (default).",
)
@click.option("--basic-rate", "basic_rates", multiple=True, metavar="RATE", help="A basic rate; may be repeated.")
@click.option("--greenfield", is_flag=True, help="HT-greenfield format (n).")
@click.option("--short-preamble", is_flag=True, help="The short preamble of 2, 5.5 and 11 Mb/s (b, g).")
@click.option("--dcm", is_flag=True, help="Dual carrier modulation (ax).")
@click.option("--extended-range", type=int, metavar="TONES", help="HE ER SU on 242 or 106 tones (ax).")
@click.option("--ltf", type=int, metavar="N", help="1, 2 or 4: length of the LTFs (ax, be).")
@click.option("--coding", metavar="CODE", help="bcc or ldpc; by default BCC where the standard has it.")
@click.option("--ldpc-extra-symbol", is_flag=True, help="Count the symbol or segment that LDPC needs for some lengths.")
@click.option(
    "--packet-padding", metavar="TIME", help="Padding that the receiver needs: 0, 8, 16 us (ax, be), 20 us (be)."
)
@click.option("--table", is_flag=True, help="Show all modes that the other options leave open.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON; durations in nanoseconds.")
def airtime_command(table: bool, as_json: bool, **arguments: Any) -> None:
    """Say how long a PPDU takes, in parts, and the exchange that it begins.

    A cycle is AIFS of best effort (DIFS before 802.11n), the mean backoff of a single station, the PPDU, SIFS and the
    response. Efficiency is the fraction of the cycle that the bits of the MPDUs take at the data rate.

    \b
    Examples:
      wifair airtime --standard 802.11ax --band 5 --width 80 --mcs 11 --guard-interval '800 ns' --psdu 1538
      wifair airtime --standard 802.11n --mcs 7 --mpdu 1538 --ampdu 28
      wifair airtime --standard 802.11g --rate '54 Mb/s' --psdu 1536
      wifair airtime --standard 802.11ac --width 80 --streams 1 --psdu 1538 --table
    """  # noqa: D301
    try:
        if table:
            rows = airtime_table(**arguments)
            if as_json:
                echo_json([row.details for row in rows])
            else:
                click.echo(_table(rows))
            return
        answer = airtime(**arguments)
    except AirtimeError as error:
        fail(_with_option(error))
    if as_json:
        echo_json(answer.details)
    else:
        click.echo(_text(answer))


def _with_option(error: AirtimeError) -> str:
    """Put the option that the error is about before its message."""
    names = {"psdu_length": "psdu", "mpdu_length": "mpdu", "mpdus": "ampdu", "basic_rates": "basic-rate"}
    option = names.get(error.key, error.key.replace("_", "-"))
    return f"--{option}: {str(error).removeprefix(f'{error.key}: ')}"


def _us(nanoseconds: int) -> str:
    return f"{nanoseconds / 1000:.10g} us"


def _mbps(bps: float) -> str:
    return f"{bps / 1e6:.1f} Mb/s"


def _text(answer: Airtime) -> str:
    details = answer.details
    parts = details["parts"]
    lines = [
        ("data rate", _mbps(answer.data_rate_bps), ""),
        ("PSDU", f"{answer.psdu_bytes} B", _content(details)),
        ("PPDU", _us(answer.duration_ns), ""),
        ("  preamble", _us(parts["preamble_ns"]), _fields(parts["preamble_fields_ns"])),
        ("  data", _us(parts["data_ns"]), _symbols(parts)),
    ]
    for key, name, why in (
        ("rounding_ns", "  rounding", "to a multiple of 4 us"),
        ("packet_extension_ns", "  packet extension", ""),
        ("signal_extension_ns", "  signal extension", ""),
    ):
        if parts[key]:
            lines.append((name, _us(parts[key]), why))
    response = details["response"]
    if response is not None:
        lines.append(("SIFS", _us(details["sifs_ns"]), ""))
        what = f"{response['bytes']} B, {response['mode']}"
        lines.append((response["frame"], _us(response["duration_ns"]), what))
    exchange, cycle = details["exchange"], details["cycle"]
    lines.append(("exchange", _us(answer.exchange_ns), _share(exchange)))
    waiting = f"{'AIFS' if answer.details['mcs'] is not None else 'DIFS'} and mean backoff"
    lines.append((waiting, _us(cycle["aifs_ns"] + cycle["backoff_ns"]), ""))
    lines.append(("cycle", _us(answer.cycle_ns), _share(cycle)))
    text = [f"{answer.standard}, {answer.band} GHz, {answer.mode}"]
    text += [f"{name:<22}{value:>14}{'  ' if why else ''}{why}" for name, value, why in lines]
    if details["needs_ldpc_extra_symbol"]:
        text.append("LDPC needs an extra symbol for this length: --ldpc-extra-symbol counts it.")
    return "\n".join(text)


def _content(details: dict[str, Any]) -> str:
    if details["mpdus"] is None:
        return ""
    plural = "" if details["mpdus"] == 1 else "s"
    return f"{details['mpdus']} MPDU{plural}, {details['mpdu_bytes']} B together"


def _fields(fields: dict[str, int]) -> str:
    return ", ".join(f"{name} {length / 1000:g}" for name, length in fields.items())


def _symbols(parts: dict[str, Any]) -> str:
    if parts["symbols"] is None:
        return ""
    plural = "" if parts["symbols"] == 1 else "s"
    return (
        f"{parts['symbols']} symbol{plural} of {_us(parts['symbol_ns'])}, {parts['bits_per_symbol']} bits each; "
        f"{parts['padding_bits']} bits of padding"
    )


def _share(time: dict[str, Any]) -> str:
    return f"{_mbps(time['throughput_bps'])}, efficiency {100 * time['efficiency']:.1f} %"


def _table(rows: list[Airtime]) -> str:
    head = ("width", "streams", "MCS", "GI", "data rate", "PPDU", "exchange", "throughput", "efficiency")
    lines = [head]
    for row in rows:
        details = row.details
        interval = details["guard_interval_ns"]
        lines.append(
            (
                f"{details['width_mhz']} MHz",
                str(details["streams"]),
                "-" if details["mcs"] is None else str(details["mcs"]),
                "-" if interval is None else f"{interval} ns",
                _mbps(row.data_rate_bps),
                _us(row.duration_ns),
                _us(row.exchange_ns),
                _mbps(row.throughput_bps),
                f"{100 * row.efficiency:.1f} %",
            )
        )
    return "\n".join(aligned(lines))
