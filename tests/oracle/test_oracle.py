"""The slow models against values known in advance: closed forms, another Monte Carlo, ns-2, and each other."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import dcf
import hidden
import pytest

REFERENCE = Path(__file__).parents[1] / "data" / "reference"
UDP = 64
TABLE1 = dcf.dsss(basic_mbps=11, plcp_mbps=11, whole_us=False)


def rows(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def test_frame_times_of_the_standard() -> None:
    # 1064 bytes at 11 Mb/s: 192 + ceil(8512 / 11) = 966 us; an ACK at 2 Mb/s: 192 + 56.
    b = dcf.dsss()
    assert (b.data(1064), b.control(14), b.difs, b.eifs) == (966_000, 248_000, 50_000, 364_000)
    assert dcf.dsss("short").control(14) == 152_000
    # 1564 bytes at 54 Mb/s: 16 + 12512 + 6 bits are 59 symbols of 216 bits: 20 + 236 us, and 6 us of silence in g.
    assert dcf.ofdm("a").data(1564) == 256_000
    assert dcf.ofdm("g").data(1564) == 262_000
    assert dcf.ofdm("a").control(14) == 28_000


@pytest.mark.parametrize("rts", [False, True])
@pytest.mark.parametrize("phy", [dcf.dsss(), dcf.dsss("short"), dcf.ofdm("a"), dcf.ofdm("g"), TABLE1])
def test_lone_station_matches_the_closed_form(phy: dcf.Phy, rts: bool) -> None:
    rules = replace(dcf.STANDARD, rts_threshold=0 if rts else 2347)
    r = dcf.saturate(phy, rules, 1, 1500, overhead=UDP, frames=20_000, seed=1)
    assert r.goodput_mbps == pytest.approx(dcf.lone_station_mbps(phy, rules, 1500, UDP), abs=4 * r.goodput_se)
    assert r.collision_probability == 0


@pytest.mark.parametrize(
    "row", rows(REFERENCE / "bianchi.csv"), ids=lambda r: f"{r['standard']}{r['payload']}n{r['n']}"
)
def test_saturation_is_within_one_percent_of_another_monte_carlo(row: dict[str, str]) -> None:
    phy = dcf.dsss() if row["standard"] == "b" else dcf.ofdm("g")
    fixture = [
        r
        for r in rows(Path(__file__).parent / "saturation.csv")
        if (r["case"], r["standard"], r["payload_bytes"], r["stations"])
        == ("bianchi", row["standard"], row["payload"], row["n"])
    ]
    assert len(fixture) == 1
    kept, se = float(fixture[0]["goodput_mbps"]), float(fixture[0]["goodput_se_mbps"])
    assert kept == pytest.approx(float(row["mc_mbps_noeifs"]), rel=0.01)

    fresh = dcf.saturate(phy, dcf.NO_EIFS, int(row["n"]), int(row["payload"]), overhead=UDP, frames=5_000, seed=99)
    assert fresh.goodput_mbps == pytest.approx(kept, abs=5 * (se + fresh.goodput_se))


@pytest.mark.parametrize("rts", [0, 1])
@pytest.mark.parametrize("stations", [1, 2, 4, 8])
def test_ns2_is_matched_once_its_nav_is_rounded_as_ns2_does(stations: int, rts: int) -> None:
    """ns-2 rounds the duration field to whole microseconds: 37.64 us after the data frame become 38.

    Bystanders so resume 0.36 us after the last sender, their slots never coincide with the sender's, and two
    stations never collide. It also draws from 0 to CW-1. Its frames have a MAC header of 34 bytes and no IP header,
    and DSDV's 20 bytes, which the sink counts as received. Its one run of 20 s has a sampling error of about 0.15 %.
    """
    ns2 = [
        float(r["value"])
        for r in rows(REFERENCE / "ns2_table1.csv")
        if (r["tcp"], r["scheme"], r["direction"], r["n"], r["metric"])
        == ("UDP", f"rts{rts}", "up", str(stations), "tot_mbps")
    ]
    rules = replace(dcf.NS2, rts_threshold=0 if rts else 2347)
    r = dcf.saturate(TABLE1, rules, stations, 1520, overhead=34, frames=50_000, seed=1)
    assert r.goodput_mbps == pytest.approx(ns2[0], rel=0.005)


@pytest.mark.parametrize("rts", [False, True])
@pytest.mark.parametrize("phy", [dcf.dsss(), dcf.ofdm("g")])
def test_both_models_agree_where_everybody_hears_everybody(phy: dcf.Phy, rts: bool) -> None:
    slotted = dcf.saturate(
        phy, replace(dcf.STANDARD, rts_threshold=0 if rts else 2347), 3, 1500, overhead=UDP, frames=20_000, seed=1
    )
    spatial = hidden.saturate(phy, hidden.groups(3), 1500, overhead=UDP, rts=rts, eifs=True, frames=10_000, seed=2)
    se = (slotted.goodput_se**2 + spatial.goodput_se**2) ** 0.5
    assert spatial.goodput_mbps == pytest.approx(slotted.goodput_mbps, abs=4 * se)


def test_hidden_stations_lose_most_without_rts() -> None:
    def goodput(rts: bool) -> float:
        r = hidden.saturate(
            dcf.dsss(), hidden.groups(1, 1), 1500, overhead=UDP, rts=rts, eifs=True, frames=2_000, seed=1
        )
        return r.goodput_mbps

    assert goodput(rts=False) < goodput(rts=True) < dcf.lone_station_mbps(dcf.dsss(), dcf.STANDARD, 1500, UDP)
