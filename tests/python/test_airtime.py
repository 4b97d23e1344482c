"""`wifair airtime` and `wifair.airtime`, compared with durations computed elsewhere."""

from __future__ import annotations

import csv
import json
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import wifair as package
from command import wifair
from wifair._airtime import AirtimeError, airtime, airtime_table

REFERENCE = Path(__file__).parents[1] / "data" / "reference" / "airtime.csv"


def arguments(row: dict[str, str]) -> dict[str, Any]:
    """The arguments of `airtime` for a row of the reference."""
    name, _, short = row["standard"].partition("-")
    found: dict[str, Any] = {
        "standard": f"802.11{name}",
        "band": row["band_ghz"],
        "width": int(row["width_mhz"]),
        "psdu_length": int(row["psdu_bytes"]),
    }
    if name in {"a", "b", "g"}:
        rate = {"5": "5.5"}.get(row["mcs"], row["mcs"])
        return found | {"rate": f"{rate} Mb/s", "short_preamble": bool(short)}
    return found | {"mcs": int(row["mcs"]), "streams": int(row["nss"]), "guard_interval": f"{row['gi_ns']} ns"}


def test_every_duration_of_the_reference() -> None:
    with REFERENCE.open(newline="") as file:
        rows = list(csv.DictReader(file))
    refused = []
    for row in rows:
        try:
            answer = airtime(**arguments(row))
        except AirtimeError as error:
            refused.append((error.key, row["standard"], row["width_mhz"], row["mcs"], row["nss"]))
            continue
        assert answer.duration_ns == round(1000 * float(row["standard_us"])), row
    # VHT does not define this MCS; ns-3 has it.
    assert set(refused) == {("mcs", "ac", "160", "9", "3")}


def test_command_and_function_agree() -> None:
    words = "--band 5 --width 80 --mcs 11 --streams 1 --guard-interval 800ns --psdu 1538 --json"
    out, err = wifair("airtime", "--standard", "802.11ax", *words.split())
    assert err == ""
    document = json.loads(out)
    answer = package.airtime(
        standard="802.11ax", band="5", width=80, mcs=11, streams=1, guard_interval="800 ns", psdu_length=1538
    )
    assert document == answer.details
    # 36 us and one HE-LTF of 7.2 us, 12,320 bits in 2 symbols of 8166 bits and 13.6 us.
    assert answer.duration_ns == document["duration_ns"] == 43_200 + 2 * 13_600
    parts = document["parts"]
    assert (parts["symbols"], parts["bits_per_symbol"], parts["padding_bits"]) == (2, 8166, 2 * 8166 - 16 - 8 * 1538)
    assert sum(parts["preamble_fields_ns"].values()) == parts["preamble_ns"] == 43_200


def test_an_a_mpdu_and_its_block_ack() -> None:
    """By hand: 27 x 1544 + 1542 bytes are 1331 symbols of 260 bits, after 36 us; 32 bytes at 24 Mb/s are 32 us."""
    answer = airtime(standard="802.11n", mcs=7, mpdu_length=1538, mpdus=28)
    assert answer.psdu_bytes == 27 * 1544 + 1542 == 43_230
    assert answer.duration_ns == 36_000 + 4_000 * -(-(43_230 * 8 + 22) // 260)
    assert answer.details["response"]["frame"] == "BlockAck"
    assert answer.exchange_ns == answer.duration_ns + 16_000 + 32_000
    assert answer.cycle_ns == answer.exchange_ns + 43_000 + 67_500
    assert answer.throughput_bps == pytest.approx(8 * 28 * 1538 / answer.cycle_ns * 1e9)
    assert answer.efficiency == pytest.approx(answer.throughput_bps / 65e6)


@pytest.mark.parametrize(
    ("standard", "size", "length"),
    [
        ("802.11n", None, 32),
        ("802.11ac", None, 32),
        ("802.11ax", 64, 32),
        ("802.11ax", 65, 56),
        ("802.11ax", None, 56),
        ("802.11be", 256, 56),
        ("802.11be", 512, 88),
        ("802.11be", None, 152),
    ],
)
def test_a_run_has_the_same_block_ack(standard: str, size: int | None, length: int) -> None:
    """For each buffer size, lengths of IEEE Std 802.11ax-2021 and 802.11be, 9.3.1.8.2, and equal air times."""
    wlan = {"standard": standard, "mcs": 7} | ({} if size is None else {"aggregation": {"window": size}})
    document = {
        "duration": "20 ms",
        "wlan": wlan,
        "stations": [{"name": "sta"}],
        "servers": [{"name": "server"}],
        "flows": [{"name": "up", "station": "sta", "transport": "udp", "udp": {"rate": "60 Mb/s"}}],
    }
    frames = package.run(package.Scenario.from_dict(document), seeds=[1], frames=True).frames
    assert frames is not None
    of_block_acks = frames["kind"] == "block-ack"
    response = airtime(standard=standard, mcs=7, mpdu_length=1538, mpdus=2, buffer_size=size).details["response"]
    assert set(frames["length_bytes"][of_block_acks]) == {length} == {response["bytes"]}
    times = (frames["end_s"] - frames["start_s"])[of_block_acks] * 1e9
    assert set(times.round()) == {response["duration_ns"]}


def test_responses() -> None:
    """Rates follow the reference rate; a single MPDU of 802.11ac is answered by an ACK; bitmaps have three sizes."""

    def response(**more: Any) -> tuple[str, int, int, int]:
        found = airtime(**more).details["response"]
        return found["frame"], found["bytes"], found["rate_bps"], found["duration_ns"]

    assert response(standard="802.11n", mcs=0, mpdu_length=1538) == ("ACK", 14, 6_000_000, 44_000)
    assert response(standard="802.11n", mcs=1, mpdu_length=1538) == ("ACK", 14, 12_000_000, 32_000)
    assert response(standard="802.11ac", mcs=9, width=80, mpdu_length=1538) == ("ACK", 14, 24_000_000, 28_000)
    assert response(standard="802.11n", mcs=7, mpdu_length=1538, mpdus=1)[:2] == ("BlockAck", 32)
    assert response(standard="802.11ax", mcs=11, width=80, mpdu_length=1538, mpdus=65)[:2] == ("BlockAck", 56)
    # The buffer size of the agreement decides, not the contents of this PPDU: 256 MPDUs in 802.11ax by
    # default.
    assert response(standard="802.11ax", mcs=11, width=80, mpdu_length=1538, mpdus=2)[:2] == ("BlockAck", 56)
    assert response(standard="802.11ax", mcs=11, mpdu_length=1538, mpdus=2, buffer_size=64)[:2] == ("BlockAck", 32)
    assert response(standard="802.11be", mcs=13, mpdu_length=1538, mpdus=2)[:2] == ("BlockAck", 152)
    assert response(standard="802.11be", mcs=13, mpdu_length=1538, mpdus=2, buffer_size=65)[:2] == ("BlockAck", 56)
    for standard, size, message in (
        ("802.11n", 65, "no block ACK buffer of 65 MPDUs in 802.11n: 1 to 64"),
        ("802.11ax", 0, "no block ACK buffer of 0 MPDUs in 802.11ax: 1 to 256"),
    ):
        with pytest.raises(AirtimeError, match=re.escape(message)):
            airtime(standard=standard, mcs=7, mpdu_length=1538, mpdus=2, buffer_size=size)
    with pytest.raises(AirtimeError, match="a block ACK with this buffer acknowledges 1 to 8"):
        airtime(standard="802.11ax", mcs=7, mpdu_length=1538, mpdus=9, buffer_size=8)
    assert response(standard="802.11be", mcs=13, width=160, streams=4, mpdu_length=1538, mpdus=257)[:2] == (
        "BlockAck",
        152,
    )
    assert response(standard="802.11b", rate="11 Mb/s", mpdu_length=1536, basic_rates=["1 Mb/s", "2 Mb/s"]) == (
        "ACK",
        14,
        2_000_000,
        248_000,
    )
    assert airtime(standard="802.11n", mcs=7, psdu_length=1538, response="none").details["response"] is None


def test_the_table_has_all_modes() -> None:
    """802.11n: 32 MCSs, 2 widths, 2 guard intervals. 802.11ac lacks 10 of its 320 combinations of MCS, streams and
    width.
    """
    assert len(airtime_table(standard="802.11n", psdu_length=100)) == 32 * 2 * 2
    assert len(airtime_table(standard="802.11ac", psdu_length=100)) == (320 - 10) * 2
    assert len(airtime_table(standard="802.11ax", psdu_length=100)) == 12 * 8 * 4 * 3
    assert [row.data_rate_bps for row in airtime_table(standard="802.11b", psdu_length=100)] == [
        1_000_000,
        2_000_000,
        5_500_000,
        11_000_000,
    ]
    # Too long for the lowest MCS: 5484 - 36 us are 1362 symbols of 26 bits, less 22 bits: 4423 bytes.
    rows = airtime_table(standard="802.11n", width=20, streams=1, guard_interval="800 ns", psdu_length=5000)
    assert [row.details["mcs"] for row in rows] == [1, 2, 3, 4, 5, 6, 7]


def test_ldpc_extra_symbol_and_packet_extension() -> None:
    """The only row of the reference that needs an extra symbol segment; there it adds a symbol of 16 us."""
    asked: dict[str, Any] = {"standard": "802.11ax", "width": 80, "mcs": 9, "streams": 2, "guard_interval": "3.2 us"}
    plain = airtime(**asked, psdu_length=1538)
    assert plain.duration_ns == 84_000
    assert plain.details["needs_ldpc_extra_symbol"]
    assert airtime(**asked, psdu_length=1538, ldpc_extra_symbol=True).duration_ns == 100_000
    assert airtime(**asked, psdu_length=1538, packet_padding="16 us").duration_ns == 84_000 + 16_000


@pytest.mark.parametrize(
    ("asked", "key", "part"),
    [
        ({"standard": "802.11z"}, "standard", "802.11ax"),
        ({"standard": "802.11n", "mcs": 32}, "mcs", "0 to 31"),
        ({"standard": "802.11ac", "mcs": 9}, "mcs", "3 and 6 streams"),
        ({"standard": "802.11ax"}, "mcs", "0 to 11"),
        ({"standard": "802.11a"}, "rate", "6, 9, 12, 18, 24, 36, 48 and 54 Mb/s"),
        ({"standard": "802.11a", "rate": "54"}, "rate", "no unit: there are 6, 9, 12, 18, 24, 36, 48 and 54 Mb/s"),
        ({"standard": "802.11n", "rate": "foo"}, "rate", "give an MCS, as in 7"),
        ({"standard": "802.11n", "rate": "54 Mb/s"}, "rate", "802.11n has no rate by itself: give an MCS, as in 7"),
        ({"standard": "802.11a", "rate": "54 Mb/s", "mcs": 3}, "mcs", "802.11a has no MCS: give a rate, as in 54 Mb/s"),
        ({"standard": "802.11a", "rate": "54 Mb/s", "streams": 2}, "streams", "one stream only: leave it out"),
        ({"standard": "802.11g", "rate": "6 Mb/s", "coding": "bcc"}, "coding", "one code only: leave it out"),
        ({"standard": "802.11b", "rate": "1 Mb/s", "short_preamble": True}, "short_preamble", "2, 5.5 and 11 Mb/s"),
        (
            {"standard": "802.11ax", "mcs": 1, "guard_interval": "foo"},
            "guard_interval",
            "`foo` is not a duration: there are 800 ns, 1600 ns and 3200 ns",
        ),
        (
            {"standard": "802.11n", "mcs": 1, "guard_interval": "400"},
            "guard_interval",
            "no unit: there are 400 ns and 800 ns",
        ),
        ({"standard": "802.11a", "rate": "6 Mb/s", "guard_interval": "foo"}, "guard_interval", "there is 800 ns"),
        ({"standard": "802.11b", "rate": "1 Mb/s", "guard_interval": "foo"}, "guard_interval", "leave it out"),
        ({"standard": "802.11ax", "mcs": 1, "packet_padding": "foo"}, "packet_padding", "there are 0, 8 and 16 us"),
        ({"standard": "802.11be", "mcs": 1, "packet_padding": "7 us"}, "packet_padding", "0, 8, 16 and 20 us"),
        ({"standard": "802.11ax", "mcs": 1, "basic_rates": ["6"]}, "basic_rates", "no unit: there are 1, 2, 5.5, 6, 9"),
        (
            {"standard": "802.11ax", "mcs": 1, "guard_interval": "400 ns"},
            "guard_interval",
            "800 ns, 1600 ns and 3200 ns",
        ),
        ({"standard": "802.11ax", "mcs": 1, "band": "60"}, "band", "2.4, 5 and 6"),
        ({"standard": "802.11ac", "mcs": 1, "band": "2.4"}, "band", "it exists in 5 GHz"),
        ({"standard": "802.11ax", "mcs": 1, "band": 2.4, "width": 80}, "width", "40 MHz"),
        ({"standard": "802.11ax", "mcs": 1, "width": -80}, "width", "whole number"),
        ({"standard": "802.11ax", "mcs": 1, "width": "80 m"}, "width", "there are 20 MHz, 40 MHz, 80 MHz and 160 MHz"),
        ({"standard": "802.11n", "mcs": 1, "width": "80 MHz"}, "width", "there are 20 MHz and 40 MHz"),
        ({"standard": "802.11ax", "mcs": 1, "psdu_length": None}, "psdu_length", "no length"),
        ({"standard": "802.11ax", "mcs": 1, "mpdu_length": 5}, "psdu_length", "one of them"),
        ({"standard": "802.11n", "mcs": 0, "psdu_length": 5000}, "psdu_length", "at most 4423 bytes"),
        ({"standard": "802.11a", "rate": "6 Mb/s", "psdu_length": 5000}, "psdu_length", "at most 4095 bytes"),
        # 5484 us are 1361 symbols of 4 us after a preamble of 40 us, which hold 44,229 bytes: 27 MPDUs of 1544 bytes
        # with delimiter and padding, and one of 1542.
        (
            {"standard": "802.11ac", "mcs": 7, "psdu_length": None, "mpdu_length": 1538, "mpdus": 64},
            "mpdus",
            "an A-MPDU of 64 MPDUs takes 12204 us in VHT MCS 7, 20 MHz, 1 stream, guard interval 800 ns, longer than "
            "the 5484 us of the longest PPDU: at most 28 MPDUs of 1538 bytes fit",
        ),
        # 65,535 bytes hold 15 MPDUs of 4096 bytes and one of 4094, but 5484 us at 6.5 Mb/s one of 4423 at most.
        (
            {"standard": "802.11n", "mcs": 0, "psdu_length": None, "mpdu_length": 4090, "mpdus": 17},
            "mpdus",
            "at most 1 MPDU of 4090 bytes fits",
        ),
        (
            {"standard": "802.11n", "mcs": 31, "width": 40, "psdu_length": None, "mpdu_length": 4090, "mpdus": 17},
            "mpdus",
            "at most 16 MPDUs of 4090 bytes fit",
        ),
        # In 802.11ac a delimiter of 4 bytes precedes every MPDU. 1361 symbols of 26 bits hold 4420 bytes.
        (
            {"standard": "802.11ac", "mcs": 0, "psdu_length": None, "mpdu_length": 9000, "mpdus": 2},
            "mpdu_length",
            "at most 1 MPDU of 4416 bytes fits",
        ),
        (
            {"standard": "802.11ac", "mcs": 0, "psdu_length": None, "mpdu_length": 9000},
            "mpdu_length",
            "at most 4416 bytes",
        ),
        (
            {"standard": "802.11n", "mcs": 7, "psdu_length": None, "mpdu_length": 5000, "mpdus": 2},
            "mpdu_length",
            "4095",
        ),
        ({"standard": "802.11n", "mcs": 7, "psdu_length": None, "mpdu_length": 100, "mpdus": 65}, "mpdus", "1 to 64"),
        (
            {"standard": "802.11g", "rate": "54 Mb/s", "psdu_length": None, "mpdu_length": 9, "mpdus": 2},
            "mpdus",
            "802.11n",
        ),
        ({"standard": "802.11ax", "mcs": 1, "response": "nack"}, "response", "block-ack"),
        (
            {"standard": "802.11a", "rate": "54 Mb/s", "response": "block-ack"},
            "response",
            "no block ACK in 802.11a: there are ack and none; 802.11n, ac, ax and be have block ACK",
        ),
        ({"standard": "802.11ax", "mcs": 7, "buffer_size": 64}, "buffer_size", "no block ACK here"),
        ({"standard": "802.11n", "mcs": 7, "response": "none", "buffer_size": 64}, "buffer_size", "no block ACK here"),
        (
            {"standard": "802.11n", "mcs": 7, "response": "none", "basic_rates": ["6 Mb/s"]},
            "basic_rates",
            "no response here",
        ),
        ({"standard": "802.11n", "mcs": 7, "ldpc_extra_symbol": True}, "ldpc_extra_symbol", "BCC"),
        ({"standard": "802.11ax", "mcs": 7, "coding": "bcc", "ldpc_extra_symbol": True}, "ldpc_extra_symbol", "ldpc"),
        ({"standard": "802.11ax", "mcs": 1, "basic_rates": ["7 Mb/s"]}, "basic_rates", "24"),
        ({"standard": "802.11ax", "mcs": 1, "basic_rates": ["11 Mb/s"]}, "basic_rates", "in 5 GHz: there are 6, 9, 12"),
        ({"standard": "802.11b", "rate": "11 Mb/s", "basic_rates": ["6 Mb/s"]}, "basic_rates", "1, 2, 5.5 and 11 Mb/s"),
        ({"standard": "802.11g", "rate": "54 Mb/s", "ldpc_extra_symbol": True}, "ldpc_extra_symbol", "no LDPC"),
        ({"standard": "802.11be", "mcs": 14}, "mcs", "(14 and 15 are not modelled)"),
        (
            {"standard": "802.11ax", "mcs": 5, "dcm": True},
            "dcm",
            "MCS 5 and 1 stream: it exists with MCS 0, 1, 3 and 4",
        ),
        ({"standard": "802.11ax", "mcs": 10, "coding": "bcc"}, "coding", "MCS 10, 1 stream and 20 MHz"),
        ({"standard": "802.11ax", "mcs": 3, "extended_range": 242}, "extended_range", "MCS 3, 1 stream and 20 MHz"),
        ({"standard": "802.11n", "mcs": 7, "packet_padding": "8 us"}, "packet_padding", "802.11ax"),
    ],
)
def test_modes_that_do_not_exist_are_refused(asked: dict[str, Any], key: str, part: str) -> None:
    with pytest.raises(AirtimeError) as caught:
        airtime(**{"psdu_length": 1538, **asked})
    assert caught.value.key == key
    assert part in str(caught.value)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.key) == (str(caught.value), key)


def test_the_table_counts_the_extra_symbol_of_modes_with_ldpc() -> None:
    """In 802.11ax BCC exists up to MCS 9 in 20 MHz; a table of it has both codes."""
    asked: dict[str, Any] = {"standard": "802.11ax", "streams": 1, "guard_interval": "800 ns", "psdu_length": 1538}
    plain, counted = airtime_table(**asked), airtime_table(**asked, ldpc_extra_symbol=True)
    longer = [one.details["needs_ldpc_extra_symbol"] for one in plain]
    assert [new.duration_ns > old.duration_ns for new, old in zip(counted, plain, strict=True)] == longer
    assert any(longer)
    with pytest.raises(AirtimeError, match="no extra symbol with BCC"):
        airtime_table(**{**asked, "width": 20, "coding": "bcc"}, ldpc_extra_symbol=True)


def test_the_error_of_a_table_is_that_of_the_fastest_mode() -> None:
    """MCS 0 to 11 of 802.11ax in 20 MHz: 143.4 Mb/s hold 8 MPDUs of 11,000 bytes in 5484 us, MCS 0 none."""
    with pytest.raises(AirtimeError, match=r"in HE MCS 11, .* at most 8 MPDUs of 11000 bytes fit"):
        airtime_table(standard="802.11ax", width=20, streams=1, mpdu_length=11000, mpdus=250)
    with pytest.raises(AirtimeError, match=r"no MCS 12 in 802.11ax: there are 0 to 11"):
        airtime_table(standard="802.11ax", mcs=12, psdu_length=100)


def test_arguments_that_are_easily_mistaken() -> None:
    with pytest.raises(AirtimeError, match=r'`6 Mb/s` is one text: write a list, as in \["6 Mb/s"\]'):
        airtime(standard="802.11ax", mcs=3, psdu_length=100, basic_rates="6 Mb/s")
    with pytest.raises(TypeError, match="needs `standard`"):
        airtime_table(mcs=3, psdu_length=100)


def test_a_width_may_have_a_unit() -> None:
    asked: dict[str, Any] = {"standard": "802.11ax", "mcs": 3, "psdu_length": 1538}
    widths: tuple[Any, ...] = ("80 MHz", "80", "80MHz", np.int64(80))
    for width in widths:
        assert airtime(**asked, width=width) == airtime(**asked, width=80)


@pytest.mark.parametrize(
    ("mode", "limit_us"),
    [
        ({"standard": "802.11ax", "mcs": 4, "packet_padding": "16 us"}, 5484),
        ({"standard": "802.11n", "mcs": 3, "coding": "ldpc", "ldpc_extra_symbol": True}, 5484),
        # IEEE Std 802.11-2016, 10.14: HT-greenfield has no L-SIG, whose length field limits the others.
        ({"standard": "802.11n", "mcs": 3, "greenfield": True}, 10_000),
    ],
)
def test_the_longest_psdu_is_the_one_that_the_error_names(mode: dict[str, Any], limit_us: int) -> None:
    with pytest.raises(AirtimeError) as caught:
        airtime(**mode, psdu_length=60_000)
    found = re.search(rf"the {limit_us} us of the longest PPDU: at most (\d+) bytes fit", str(caught.value))
    assert found is not None, caught.value
    longest = int(found[1])
    assert airtime(**mode, psdu_length=longest).duration_ns <= 1000 * limit_us
    with pytest.raises(AirtimeError):
        airtime(**mode, psdu_length=longest + 1)


def test_whole_numbers_of_numpy_are_numbers() -> None:
    kinds: tuple[Any, ...] = (int, np.int64)
    plain, numpy = (airtime(standard="802.11n", mcs=kind(7), psdu_length=kind(1538)) for kind in kinds)
    assert plain == numpy
    with pytest.raises(AirtimeError, match='psdu_length: "78" is a text: write a number, without quotes'):
        airtime(standard="802.11n", mcs=7, psdu_length="78")  # type: ignore[arg-type]
    for wrong in (np.array([1, 2]), 1.5, True):
        with pytest.raises(AirtimeError, match="is no whole number from 0"):
            airtime(standard="802.11n", mcs=7, psdu_length=wrong)  # type: ignore[arg-type]
