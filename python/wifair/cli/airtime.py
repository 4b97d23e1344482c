"""`wifair airtime`."""

from __future__ import annotations

from typing import Any

import click

from wifair._airtime import MU_ARGUMENTS, Airtime, AirtimeError, airtime, airtime_table
from wifair._output.tables import aligned
from wifair._output.words import counted
from wifair.cli.common import echo_json, fail


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
@click.option(
    "--format", "format", metavar="FORMAT", default="su", help="su (default), mu or tb: for several users (ax, be)."
)
@click.option(
    "--user",
    "users",
    multiple=True,
    metavar="NAME=VALUE,...",
    help="A user of mu or tb, as in ru=106.1,mcs=5,psdu=1538; also streams, mpdu, ampdu, dcm, coding. May be repeated.",
)
@click.option("--sig-b-mcs", type=int, metavar="N", help="MCS of HE-SIG-B (0 to 5) or EHT-SIG (0, 1, 3, 15).")
@click.option("--sig-b-dcm", is_flag=True, help="Dual carrier modulation of HE-SIG-B.")
@click.option(
    "--sequence", metavar="NAME", help="bar, mu-bar, aggregated-mu-bar (mu); basic-trigger, bsrp (tb); or none."
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
      wifair airtime --standard 802.11ax --format mu --user ru=106.1,mcs=7,psdu=1538 --user ru=106.2,mcs=3,psdu=1538
    """  # noqa: D301
    try:
        arguments["users"] = [_user(number, text) for number, text in enumerate(arguments["users"], 1)]
        if table:
            if arguments["format"] != "su":
                raise AirtimeError("table: shows single-user modes: leave out --format and --user", "table")
            rows = airtime_table(**{name: arguments[name] for name in arguments if name not in MU_ARGUMENTS})
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


def _user(number: int, text: str) -> dict[str, Any]:
    """Read a user, as in ``ru=106.1,mcs=5,psdu=1538``."""
    names = {"psdu": "psdu_length", "mpdu": "mpdu_length", "ampdu": "mpdus"}
    user: dict[str, Any] = {}
    for part in text.split(","):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals:
            raise AirtimeError(f"user: `{part}` of user {number} is no name=value, as in mcs=5", "user")
        if name not in ("ru", "mcs", "streams", "psdu", "mpdu", "ampdu", "dcm", "coding"):
            there = "ru, mcs, streams, psdu, mpdu, ampdu, dcm, coding"
            raise AirtimeError(f"user: user {number} has no `{name}`: there are {there}", "user")
        if name in ("ru", "coding"):
            user[name] = value
        elif name == "dcm":
            if value not in ("true", "false"):
                raise AirtimeError(f"user: dcm of user {number} is true or false, not `{value}`", "user")
            user[name] = value == "true"
        elif value.isascii() and value.isdigit():
            user[names.get(name, name)] = int(value)
        else:
            raise AirtimeError(f"user: {name} of user {number}: `{value}` is no whole number", "user")
    return user


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
    if "users" in details:
        return _mu_text(answer)
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


def _mu_text(answer: Airtime) -> str:
    details = answer.details
    parts = details["parts"]
    symbols = f"{counted(parts['symbols'], 'symbol')} of {_us(parts['symbol_ns'])}"
    lines = [
        ("data rate", _mbps(answer.data_rate_bps), "all users together"),
        ("PPDU", _us(answer.duration_ns), f"L-SIG LENGTH {parts['l_sig_length']}"),
        ("  preamble", _us(parts["preamble_ns"]), _fields(parts["preamble_fields_ns"])),
        ("  data", _us(parts["data_ns"]), symbols),
    ]
    if parts["sig_b_mcs"] is not None:
        sig_b = f"MCS {parts['sig_b_mcs']}, {parts['sig_b_bits']} bits, {counted(parts['sig_b_symbols'], 'symbol')}"
        lines.insert(3, ("  SIG-B", "", sig_b))
    for key, name in (("packet_extension_ns", "  packet extension"), ("signal_extension_ns", "  signal extension")):
        if parts[key]:
            lines.append((name, _us(parts[key]), ""))
    exchange, cycle = details["exchange"], details["cycle"]
    for frame in details["frames"]:
        name, each = frame["frame"], "each" if frame["frame"] in ("BlockAcks", "QoS Nulls") else "together"
        several = name in ("BlockAcks", "QoS Nulls", "MU PPDU", "TB PPDU")
        lines.append(
            (name, _us(frame["duration_ns"]), f"{frame['bytes']} B{' ' + each if several else ''}, {frame['mode']}")
        )
    gaps = len(details["frames"]) - 1
    if gaps:
        lines.append(
            ("SIFS", _us(gaps * details["sifs_ns"]), f"{gaps} of {_us(details['sifs_ns'])}" if gaps > 1 else "")
        )
    lines.append(("exchange", _us(answer.exchange_ns), _share(exchange)))
    lines.append(("AIFS and mean backoff", _us(cycle["aifs_ns"] + cycle["backoff_ns"]), ""))
    lines.append(("cycle", _us(answer.cycle_ns), _share(cycle)))
    text = [f"{answer.standard}, {answer.band} GHz, {answer.mode}"]
    text += [f"{name:<22}{value:>14}{'  ' if why else ''}{why}" for name, value, why in lines]
    rows = [("RU", "MCS", "streams", "data rate", "PSDU", "symbols", "padding")]
    for user in details["users"]:
        numbers = (str(user["mcs"]), str(user["streams"]), _mbps(user["data_rate_bps"]), f"{user['psdu_bytes']} B")
        rows.append((user["ru"], *numbers, str(user["symbols"]), f"{user['padding_bytes']} B"))
    return "\n".join([*text, "", *aligned(rows)])


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
