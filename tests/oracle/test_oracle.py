"""The slow models against values known in advance: closed forms, another Monte Carlo, ns-2, and each other."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import dcf
import edca
import hidden
import pytest
import traces

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


N_AGGREGATE = edca.Exchange(ppdu=5360 * edca.US, response=32 * edca.US, payload_bits=28 * 1472 * 8)
N_SINGLE = edca.Exchange(ppdu=228 * edca.US, response=28 * edca.US, payload_bits=1472 * 8)
AX_AGGREGATE = edca.Exchange(ppdu=5_320_800, response=40 * edca.US, payload_bits=256 * 1472 * 8)
"""At 24 Mb/s: an ACK is 134 bits, two symbols of 96; a block ACK of 32 bytes 278, three; of 56 bytes 470, five."""


@pytest.mark.parametrize("exchange", [N_AGGREGATE, N_SINGLE, AX_AGGREGATE])
@pytest.mark.parametrize("category", [edca.VO, edca.BE])
def test_lone_category_matches_the_closed_form(exchange: edca.Exchange, category: edca.Category) -> None:
    result = edca.saturate([(0, category)], exchange, seconds=40, seed=1)
    frames = 40e9 / exchange.duration
    # Backoff is uniform on 0..CWmin: four standard errors of the mean cycle.
    sd = exchange.slot * (((category.cw_min + 1) ** 2 - 1) / 12) ** 0.5
    rel = 4 * sd / exchange.duration / frames**0.5 + exchange.duration / 40e9
    assert result.goodput_mbps[0] == pytest.approx(edca.lone_mbps(category, exchange), rel=rel)
    assert result.collision_probability == 0


def test_a_block_ack_request_goes_before_data_again() -> None:
    """Data that collided take two more accesses, a BlockAckReq that collided one."""
    both = [(0, edca.BE), (1, edca.BE)]
    plain = edca.saturate(both, N_AGGREGATE, seconds=60, seed=1)
    asking = edca.saturate(both, replace(N_AGGREGATE, request=32 * edca.US), seconds=60, seed=1)
    delivered = sum(c.delivered_bits for c in asking.contenders) / N_AGGREGATE.payload_bits
    sent, collided = (sum(getattr(c, what) for c in asking.contenders) for what in ("sent", "collided"))
    assert delivered + 1.5 * collided < sent < delivered + 2 * collided
    assert sum(asking.goodput_mbps) < sum(plain.goodput_mbps)


def comparable(row: dict[str, str]) -> bool:
    """Rows by rules that both know: no CF-End, one length of PPDUs, with a BlockAckReq none behind it in its TXOP."""
    txop = row["txop"] == "1" and (row["rule"] == "ns3" or row["ampdu_max"] != "0")
    return row["retry_limit"] == "7" and row["n"] != "1" and not txop


@pytest.mark.parametrize(
    "row",
    [row for row in rows(REFERENCE / "ampdu_mc.csv") if comparable(row)],
    ids=lambda r: f"{r['case']}-{r['ampdu_max']}-{r['acs']}-{r['txop']}-n{r['n']}-{r['rule']}-{r['bar']}",
)
def test_edca_is_what_another_monte_carlo_finds(row: dict[str, str]) -> None:
    exchange = N_SINGLE if row["ampdu_max"] == "0" else AX_AGGREGATE if row["standard"] == "ax" else N_AGGREGATE
    assert exchange.ppdu == round(1000 * float(row["ppdu_us"]))
    if row["bar"] == "1":
        exchange = replace(exchange, request=32 * edca.US)  # 24 bytes at 24 Mb/s: 214 bits, three symbols
    if row["acs"] == "BE":
        contenders = [(station, edca.BE) for station in range(int(row["n"]))]
    else:
        contenders = list(enumerate([edca.VO, edca.VI, edca.BE, edca.BK]))
        if row["txop"] == "1":
            limits = [1504 * edca.US, 3008 * edca.US, 0, 0]
            contenders = [(n, replace(category, txop=limits[n])) for n, category in contenders]
    seconds, theirs_seconds = (10.0, 12.5) if exchange is N_SINGLE else (60.0, 50.0)
    result = edca.saturate(
        contenders,
        exchange,
        seconds=seconds,
        seed=1,
        colliders="aifs" if row["rule"] == "noeifs" else "timeout",
        eifs=row["rule"] == "eifs",
    )
    assert sum(result.goodput_mbps) == pytest.approx(float(row["goodput_mbps"]), rel=0.01)
    assert result.collision_probability == pytest.approx(float(row["p_collision"]), abs=0.01)
    if row["acs"] != "BE":
        for ours, text in zip(result.goodput_mbps, row["per_station_mbps"].split(";")):
            theirs = float(text)
            # Accesses come in clusters: a category that has lost keeps losing. Twice the error of independent ones.
            accesses = [
                value * 1e6 * s / exchange.payload_bits for value, s in ((ours, seconds), (theirs, theirs_seconds))
            ]
            error = 8 * max(ours, theirs) * sum(1 / max(n, 1) for n in accesses) ** 0.5
            assert ours == pytest.approx(theirs, abs=error)


def test_categories_of_one_station_do_not_collide() -> None:
    """Internal collisions are resolved within the station: with its two categories every access succeeds."""
    result = edca.saturate([(0, edca.VO), (0, edca.BE)], N_SINGLE, seconds=5, seed=1)
    apart = edca.saturate([(0, edca.VO), (1, edca.BE)], N_SINGLE, seconds=5, seed=1)
    assert result.collision_probability == 0 < apart.collision_probability
    assert sum(result.goodput_mbps) > sum(apart.goodput_mbps)


def test_the_table_of_congestion_controls_is_what_the_rules_give() -> None:
    table = rows(Path(__file__).parents[2] / "crates/tcp/src/cc/traces.csv")
    assert len(table) == len(traces.CONTROLS) * len(traces.STARTS) * traces.EVENTS // traces.STEP
    for row, (control, connection, cwnd, ssthresh) in zip(table, traces.rows(), strict=True):
        assert (row["control"], int(row["connection"])) == (control, connection)
        assert [float(row["cwnd"]), float(row["ssthresh"])] == pytest.approx([cwnd, ssthresh], rel=1e-6)
