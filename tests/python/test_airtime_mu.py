"""Air times of PPDUs for several users, compared with durations computed elsewhere."""

from __future__ import annotations

import csv
import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from command import wifair
from wifair._airtime import AirtimeError, airtime

REFERENCE = Path(__file__).parents[1] / "data" / "reference" / "airtime_mu.csv"


def arguments(row: dict[str, str]) -> dict[str, Any]:
    """The arguments of `airtime` for a row of the reference, whose values repeat for further users."""
    units = row["rus"].split()
    columns = [itertools.cycle(map(int, row[name].split())) for name in ("mcs", "nss", "psdu_bytes")]
    return {
        "standard": "802.11ax",
        "band": "5",
        "width": int(row["width_mhz"]),
        "guard_interval": f"{row['gi_ns']} ns",
        "format": row["format"].lower(),
        "sig_b_mcs": int(row["sigb_mcs"]) if row["sigb_mcs"] else None,
        "users": [
            {"ru": unit, "mcs": mcs, "streams": streams, "psdu_length": psdu}
            for unit, mcs, streams, psdu in zip(units, *columns)
        ],
    }


def test_every_duration_of_the_reference() -> None:
    with REFERENCE.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 919
    for row in rows:
        answer = airtime(**arguments(row), sequence="none")
        assert answer.duration_ns == round(1000 * float(row["standard_us"])), row
        parts = answer.details["parts"]
        if row["format"] == "MU":
            assert parts["sig_b_bits"] == int(row["sigb_bits_standard"]), row
            assert parts["sig_b_symbols"] == int(row["sigb_symbols_standard"]), row
        assert parts["l_sig_length"] == int(row["lsig_length"]), row


def test_all_users_end_together_and_padding_fills_the_shorter_ones() -> None:
    """By hand: at MCS 5 and 106 tones 408 bits a symbol; 10,806 bytes need 212 symbols, 1538 bytes 31."""
    users = [{"ru": "106.1", "mcs": 5, "psdu_length": 10_806}, {"ru": "106.2", "mcs": 5, "psdu_length": 1538}]
    answer = airtime(standard="802.11ax", format="mu", users=users)
    long, short = answer.details["users"]
    assert answer.details["parts"]["symbols"] == long["symbols"] == -(-(8 * 10_806 + 22) // 408) == 212
    assert short["symbols"] == -(-(8 * 1538 + 22) // 408) == 31
    assert short["padding_bytes"] == (212 * 408 - 22) // 8 - 1538


def test_uplink_sequences_by_hand() -> None:
    """Two users of 106 tones, MCS 7, GI 1.6 us, 14 MPDUs of 1538 bytes, in 5 GHz.

    HE TB: 40 + 8 us, then 172,934 bits in symbols of 510 bits and 14.4 us. A Basic Trigger of 40 bytes at 6 Mb/s takes
    20 + 4 * 15 = 80 us, a BSRP Trigger of 38 bytes 76, a QoS Null with its delimiter, 34 bytes, one symbol, and a
    Multi-STA BlockAck of 26 bytes at 24 Mb/s 32 us.
    """
    user = {"mcs": 7, "mpdu_length": 1538, "mpdus": 14}
    users = [{"ru": "106.1", **user}, {"ru": "106.2", **user}]
    psdu = 13 * 1544 + 1542
    tb = 48_000 + 14_400 * -(-(8 * psdu + 22) // 510)
    plain = airtime(standard="802.11ax", format="tb", users=users)
    assert plain.duration_ns == tb
    assert plain.exchange_ns == 80_000 + 16_000 + tb + 16_000 + 32_000
    asked = airtime(standard="802.11ax", format="tb", users=users, sequence="bsrp")
    assert asked.exchange_ns == plain.exchange_ns + 76_000 + 16_000 + 62_400 + 16_000


def test_one_user_on_the_whole_channel_costs_what_the_formulas_say_against_single_user() -> None:
    """An HE MU PPDU has HE-SIG-B, here 18 + 31 bits: one symbol of 4 us at MCS 5; the rest is an HE SU PPDU."""
    mode: dict[str, Any] = {"mcs": 7, "psdu_length": 57_126}
    single = airtime(standard="802.11ax", **mode)
    multi = airtime(standard="802.11ax", format="mu", users=[mode])
    assert multi.duration_ns - single.duration_ns == 4_000
    # EHT has one format: the same PPDU.
    assert (
        airtime(standard="802.11be", format="mu", users=[mode]).duration_ns
        == airtime(standard="802.11be", **mode).duration_ns
    )


def test_mu_mimo_trains_for_all_streams() -> None:
    """Two users with two streams each on all of 80 MHz: 4 LTFs of 7.2 us; HE-SIG-B has one user field a channel."""
    users = [{"mcs": 9, "streams": 2, "psdu_length": 100_000}] * 2
    answer = airtime(standard="802.11ax", width=80, format="mu", users=users)
    assert answer.details["parts"]["preamble_fields_ns"]["HE-LTFs"] == 4 * 7_200
    assert answer.details["parts"]["sig_b_bits"] == 21 + 10


def test_command_and_function_agree() -> None:
    words = ["--standard", "802.11ax", "--width", "40", "--format", "mu", "--sig-b-mcs", "2", "--json"]
    words += ["--user", "ru=242.1,mcs=7,psdu=1538", "--user", "ru=242.2,mcs=3,mpdu=1538,ampdu=4"]
    document = json.loads(wifair("airtime", *words)[0])
    users = [
        {"ru": "242.1", "mcs": 7, "psdu_length": 1538},
        {"ru": "242.2", "mcs": 3, "mpdu_length": 1538, "mpdus": 4},
    ]
    assert document == airtime(standard="802.11ax", width=40, format="mu", sig_b_mcs=2, users=users).details


@pytest.mark.parametrize(
    ("change", "key", "text"),
    [
        ({"users": []}, "users", "no user"),
        ({"users": [{"ru": "484.1", "mcs": 7, "psdu_length": 100}]}, "ru", "there are 26, 52, 106 and 242 tones"),
        ({"users": [{"ru": "26.10", "mcs": 7, "psdu_length": 100}]}, "ru", "there are 26.1 to 26.9"),
        (
            {"users": [{"ru": u, "mcs": 7, "psdu_length": 100} for u in ("106.1", "26.2")]},
            "ru",
            "RUs 106.1 and 26.2 overlap",
        ),
        ({"users": [{"ru": "52.1", "mcs": 7, "psdu_length": 100}] * 2}, "ru", "RUs of 106 tones and more"),
        ({"users": [{"mcs": 12, "psdu_length": 100}]}, "mcs", "there are 0 to 11"),
        ({"users": [{"mcs": 7}]}, "psdu_length", "no length for user 1"),
        ({"users": [{"mcs": 7, "psdu": 100}]}, "users", "has no `psdu`"),
        ({"standard": "802.11ac"}, "format", "802.11ax and be"),
        ({"format": "up"}, "format", "there are su, mu and tb"),
        ({"width": 320, "standard": "802.11be"}, "width", "20, 40, 80 and 160"),
        ({"sig_b_mcs": 6}, "sig_b_mcs", "there are 0 to 5"),
        ({"sequence": "basic-trigger"}, "sequence", "there are none, bar, mu-bar and aggregated-mu-bar"),
        ({"format": "tb", "guard_interval": "800 ns"}, "guard_interval", "2x with 1600 ns"),
        ({"format": "tb", "sig_b_mcs": 1}, "sig_b_mcs", "a TB PPDU has no HE-SIG-B"),
        ({"mcs": 7}, "mcs", "belongs to each of the users"),
        ({"format": "su"}, "users", 'give format "mu" or "tb"'),
        ({"users": [{"mcs": 0, "psdu_length": 100_000}]}, "psdu_length", "longer than the 5484 us"),
    ],
)
def test_what_does_not_exist_is_refused(change: dict[str, Any], key: str, text: str) -> None:
    usual: dict[str, Any] = {"standard": "802.11ax", "format": "mu", "users": [{"mcs": 7, "psdu_length": 100}]}
    with pytest.raises(AirtimeError) as caught:
        airtime(**usual | change)
    assert caught.value.key == key
    assert text in str(caught.value)


def test_a_wrong_user_on_the_command_line_is_one_error() -> None:
    for word, text in (
        ("ru=106.1,mcs=x,psdu=100", "`x` is no whole number"),
        ("mcs", "name=value"),
        ("size=3", "no `size`"),
    ):
        words = ("--standard", "802.11ax", "--format", "mu", "--user", word)
        err = wifair("airtime", *words, code=2)[1]
        assert text in err, err
        assert err.count("error") == 1
