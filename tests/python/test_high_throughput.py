"""802.11n, ac and ax from a scenario: what is refused, and what results contain about aggregates."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import wifair

BASE = """
duration = "2 s"
warm_up = "0.5 s"
[wlan]
standard = "802.11n"
[[servers]]
name = "server"
rate = "1 Gb/s"
[[stations]]
name = "sta"
queue.limit = "1000 packets"
[[flows]]
name = "up"
station = "sta"
transport = "udp"
udp.rate = "80 Mb/s"
"""


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"wlan.mcs": 40}, "no MCS 40 in 802.11n: there are 0 to 31"),
        ({"wlan.width": 80}, "no width of 80 MHz in 802.11n"),
        ({"wlan.guard_interval": "3200 ns"}, "no guard interval of 3200 ns in 802.11n"),
        ({"wlan.standard": "802.11ac", "wlan.mcs": 9}, "MCS 9"),
        ({"wlan.band": "6 GHz"}, "no 802.11n in 6 GHz"),
        ({"stations.sta.mcs": 32}, "no MCS 32 in 802.11n"),
        ({"stations.sta.mcs": 32}, '`wlan.standard` is "802.11n"'),
        (
            {"wlan.standard": "802.11ax", "stations.standard": "802.11n", "stations.sta.mcs": 32},
            '`standard` of these stations is "802.11n"',
        ),
        ({"wlan.data_rate": "24 Mb/s"}, "`data_rate` does not apply to 802.11n"),
        ({"wlan.cw_min": 31}, "`cw_min` does not apply to 802.11n"),
        ({"wlan.signal_extension": "6 us"}, "`signal_extension` does not apply to 802.11n"),
        ({"wlan.timeout_without_difs": True}, "`timeout_without_difs` does not apply to 802.11n"),
        ({"wlan.standard": "802.11be", "wlan.mcs": 15}, "there are 0 to 13 (14 and 15 are not modelled)"),
        ({"wlan.aggregation.max_ampdu": "65536 B"}, "no receiver of 802.11n takes an A-MPDU of 65536 B"),
        ({"wlan.aggregation.max_amsdu": "11454 B"}, "no receiver of 802.11n takes an A-MSDU of 11454 B"),
        ({"wlan.aggregation.window": 256}, "no block ACK of 802.11n covers 256 MPDUs"),
        ({"wlan.aggregation.window": 0}, "must be from 1 to 64, in 802.11ax to 256, in 802.11be to 1024"),
        ({"wlan.aggregation.max_amsdu": 3839}, 'write "3839 B"'),
        ({"wlan.guard_interval": 800}, 'write "800 ns"'),
        ({"wlan.guard_interval": "short"}, 'write "800 ns"'),
        ({"wlan.standard": "802.11g", "wlan.mcs": 3}, "`mcs` does not apply to 802.11g"),
        ({"tcp.gro_flush_timeout": "1 ms"}, "`gro_flush_timeout` is 1 ms"),
        ({"wlan.aggregation.agreements": "never"}, "unknown agreements `never`"),
        ({"wlan.packet_padding": "8 us"}, "no packet padding of 8 us in 802.11n"),
        ({"wlan.standard": "802.11ax", "wlan.packet_padding": "20 us"}, "no packet padding of 20 us in 802.11ax"),
        ({"wlan.standard": "802.11g", "wlan.ldpc_extra_symbol": True}, "`ldpc_extra_symbol` does not apply to 802.11g"),
        ({"wlan.aggregation.inactivity_timeout": "1 s"}, "`inactivity_timeout` ends agreements that last"),
        ({"wlan.standard": "802.11g", "flows.category": "voice"}, "`category` does not apply to 802.11g"),
        ({"flows.category": "voice", "flows.dscp": 46}, "`category` and `dscp` exclude each other"),
        ({"ap.scheme.access": "edca"}, "`access` does not apply to 802.11n"),
        ({"space.propagation": "friis", "wlan.rate_adaptation": "ideal"}, "`rate_adaptation` with 802.11n in [space]"),
        ({"wlan.rate_adaptation": "minstrel"}, '"minstrel" does not choose among the rates of 802.11n'),
        ({"wlan.rate_adaptation": "ideal"}, '"ideal" has no signal-to-noise ratio to go by'),
        ({"wlan.standard": "802.11g", "wlan.rate_adaptation": "minstrel-ht"}, '"minstrel-ht" does not choose'),
        ({"wlan.standard": "802.11g", "stations.snr": "20 dB"}, "`snr` does not apply to 802.11g"),
        ({"stations.standard": "802.11ax"}, "a station of 802.11ax in a network of 802.11n"),
        ({"stations.standard": "802.11g"}, "no 802.11g in 5 GHz"),
        ({"wlan.standard": "802.11g", "wlan.cf_end": True}, "`cf_end` does not apply to 802.11g"),
        (
            {"wlan.aggregation.count_in_flight": True, "stations.queue.limit": "10 kB"},
            "`count_in_flight` counts packets",
        ),
    ],
)
def test_settings_that_the_standard_lacks_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(wifair.ScenarioError, match=re.escape(message)):
        wifair.Scenario.from_text(BASE).with_(changes)


@pytest.mark.parametrize(
    ("standard", "keys", "message", "remedy"),
    [
        ("802.11n", {"dsss_only": True}, "`dsss_only` does not apply to 802.11n", 'write standard = "802.11b"'),
        ("802.11a", {"dsss_only": True}, "`dsss_only` does not apply to 802.11a", "802.11b is in 2.4 GHz"),
        ("802.11g", {"dsss_only": True}, "`dsss_only` needs [space]", "write [space]"),
        ("802.11g", {"standard": "802.11b"}, "`standard` does not apply to 802.11g", "write dsss_only = true"),
        ("802.11b", {"standard": "802.11b"}, "`standard` does not apply to 802.11b", 'write standard = "802.11n"'),
        ("802.11b", {"standard": "802.11g"}, "a station of 802.11g in a network of 802.11b", "write it in [wlan]"),
    ],
)
def test_a_station_of_another_standard_is_one_error(
    standard: str, keys: dict[str, object], message: str, remedy: str
) -> None:
    stations = {f"stations.{key}": value for key, value in keys.items()}
    with pytest.raises(wifair.ScenarioError) as error:
        wifair.Scenario.from_text(BASE).with_({"wlan.standard": standard, **stations})
    told = str(error.value)
    assert told.count("error:") == 1
    assert message in told
    assert remedy in told


def test_an_mcs_of_older_stations_is_one_error() -> None:
    scenario = wifair.Scenario.from_text(BASE).with_({"wlan.band": "2.4 GHz", "stations.standard": "802.11g"})
    with pytest.raises(wifair.ScenarioError) as error:
        scenario.with_({"stations.mcs": 3})
    assert str(error.value).count("error:") == 1
    assert "write `data_rate`" in str(error.value)


def test_a_resolved_scenario_can_be_read_again() -> None:
    for standard in ("802.11n", "802.11ac", "802.11ax", "802.11be"):
        scenario = wifair.Scenario.from_text(BASE).with_({"wlan.standard": standard})
        again = wifair.Scenario.from_text(scenario.resolved)
        assert wifair.run(again).cells["goodput_bps"][0] == wifair.run(scenario).cells["goodput_bps"][0]


def test_results_describe_aggregates() -> None:
    """One saturated station at MCS 7: 28 MPDUs of 1538 bytes in 5360 us, then 158.5 us of gaps and block ACK."""
    results = wifair.run(wifair.Scenario.from_text(BASE))
    assert results.cells["mpdus_per_ppdu"][0] == pytest.approx(28.0, abs=0.1)
    stations = dict(zip(results.stations["name"], range(len(results.stations["name"])), strict=True))
    place = stations["sta"]
    assert results.stations["air_best_effort_s"][place] / 1.5 == pytest.approx(5360 / 5518.5, rel=0.01)
    assert results.stations["air_voice_s"][place] == 0.0
    assert results.stations["mpdus"][place] == pytest.approx(28 * results.stations["ppdus"][place], rel=0.01)


def test_dscp_chooses_the_category() -> None:
    """EF is voice (RFC 8325, section 4.2.1, as Linux has it)."""
    scenario = wifair.Scenario.from_text(BASE).with_({"flows.dscp": 46, "flows.udp.rate": "1 Mb/s"})
    stations = wifair.run(scenario).stations
    place = list(stations["name"]).index("sta")
    assert stations["air_voice_s"][place] > 0.0
    assert stations["air_best_effort_s"][place] == 0.0
    ap = list(stations["name"]).index("ap")
    assert stations["air_to_voice_s"][ap] == stations["air_to_station_s"][ap] > stations["air_voice_s"][place]
    assert stations["air_to_best_effort_s"][ap] == stations["air_to_voice_s"][place] == 0.0


GRO = """
duration = "4 s"
warm_up = "2 s"
wlan = { standard = "802.11ac", mcs = 9, width = 80, guard_interval = "400 ns" }
servers = [{ name = "server", delay = "5 ms", rate = "1 Gb/s" }]
stations = [{ name = "sta", queue.limit = "1000 packets" }]
ap.queue.limit = "1000 packets"
flows = [{ name = "down", station = "sta", direction = "down" }]
tcp = { stack = "modern" }
"""


def test_a_receiver_with_gro_acknowledges_a_ppdu_at_once() -> None:
    """As in Linux, a batch gets one ACK; without GRO every second segment gets one.

    65,535 bytes hold 45 segments, so the up to 64 MPDUs of a PPDU make two batches, and a tick or two of the timestamps
    (1 ms) split them further.
    """
    plain = wifair.run(wifair.Scenario.from_text(GRO))
    merged = wifair.run(wifair.Scenario.from_text(GRO).with_({"tcp.gro": True}))

    def counts(results: wifair.Results) -> tuple[float, float, float]:
        segments = results.flows["goodput_bps"][0] * 2 / (8 * 1448)
        ppdus = results.stations["ppdus"][list(results.stations["name"]).index("ap")]
        return float(segments), float(results.flows["rtt_samples"][0]), float(ppdus)

    segments, acks, _ = counts(plain)
    assert acks == pytest.approx(segments / 2, rel=0.02)
    segments, acks, ppdus = counts(merged)
    assert ppdus <= acks <= 4 * ppdus
    assert acks < segments / 15
    # Fewer ACKs leave more of the air to data, and nothing else changes.
    gain = merged.flows["goodput_bps"][0] / plain.flows["goodput_bps"][0]
    assert 1.0 < gain < 1.1
    assert merged.flows["rtt_mean_s"][0] == pytest.approx(plain.flows["rtt_mean_s"][0], rel=0.1)
    assert merged.flows["retransmissions"][0] == 0
    # A burst of the sender ends a batch. At 1.2 times 300 Mb/s it has 30 segments, so batches are shorter.
    ended = wifair.run(wifair.Scenario.from_text(GRO).with_({"tcp.gro": True, "tcp.tso_autosize": True}))
    segments, more_acks, _ = counts(ended)
    assert acks < more_acks < segments / 8


def test_the_same_seed_gives_the_same_bytes_in_any_order() -> None:
    changes = {"stations.sta.count": 5, "wlan.data_error": 0.1, "wlan.aggregation.max_amsdu": "3839 B"}
    scenario = wifair.Scenario.from_text(BASE).with_(changes)
    together = wifair.run(scenario, seeds=[1, 2])
    assert list(together.cells["goodput_bps"])[::-1] == list(wifair.run(scenario, seeds=[2, 1]).cells["goodput_bps"])


def goodput_mbps(changes: Mapping[str, object]) -> float:
    return float(wifair.run(wifair.Scenario.from_text(BASE).with_(changes)).cells["goodput_bps"][0]) / 1e6


def test_frames_are_protected_beside_stations_that_cannot_read_ofdm() -> None:
    """28 MPDUs and block ACK in 2.4 GHz: 5366 + 10 + 38 + AIFS 37 + 7.5 slots.

    The CTS-to-self at 2 Mb/s takes 192 + 56 us and SIFS, an RTS of 20 bytes 192 + 80 us and SIFS more. Beside 802.11b
    slots are 20 us, 11 longer.
    """
    band = {"wlan.band": "2.4 GHz"}
    alone = 28 * 1472 * 8 / 5518.5
    assert goodput_mbps(band) == pytest.approx(alone, rel=0.005)
    beside = BASE.replace("[[servers]]", 'band = "2.4 GHz"\n[[servers]]')
    beside += '[[stations]]\nname = "old"\nstandard = "802.11b"\n'

    def protected(changes: dict[str, object]) -> float:
        results = wifair.run(wifair.Scenario.from_text(beside).with_(changes))
        return float(results.cells["goodput_bps"][0]) / 1e6

    cycle = 5518.5 + (3 + 7.5) * 11
    assert protected({}) == pytest.approx(28 * 1472 * 8 / (cycle + 258), rel=0.005)
    assert protected({"wlan.protect_by_rts": True}) == pytest.approx(28 * 1472 * 8 / (cycle + 258 + 282), rel=0.005)
    assert protected({"wlan.use_protection": False}) == pytest.approx(28 * 1472 * 8 / cycle, rel=0.005)
    assert protected({"wlan.use_protection": False, "wlan.slot": "9 us"}) == pytest.approx(alone, rel=0.005)


def test_extra_symbol_and_packet_extension_take_time() -> None:
    """1542 bytes fill a symbol of HE MCS 9, 80 MHz, two streams, to its last quarter; LDPC needs a quarter more.

    PPDU, SIFS, ACK, AIFS and 7.5 slots: 64 + 16 + 28 + 43 + 67.5 us. A quarter more begins another symbol of 13.6 us.
    Packet padding of 16 us follows a full symbol as it is, and three quarters of it are in a symbol of one quarter
    (IEEE Std 802.11ax-2021, 27.3.12.5.2 and 27.3.13).
    """
    own: dict[str, object] = {"wlan.standard": "802.11ax", "wlan.width": 80, "wlan.mcs": 9, "wlan.streams": 2}
    own |= {"wlan.aggregation.max_ampdu": "0 B"}
    extra: dict[str, object] = {"wlan.ldpc_extra_symbol": True}
    padding: dict[str, object] = {"wlan.packet_padding": "16 us"}
    for changes, longer in (({}, 0.0), (extra, 13.6), (padding, 16.0), (extra | padding, 17.6)):
        assert goodput_mbps(own | changes) == pytest.approx(1472 * 8 / (218.5 + longer), rel=0.005)


def test_older_stations_use_their_own_standard() -> None:
    """802.11a: 1536 bytes at 54 Mb/s take 248 + 16 + 28 us, DIFS and 7.5 slots. 802.11n stations are unchanged."""
    assert goodput_mbps({"stations.standard": "802.11a"}) == pytest.approx(1472 * 8 / 393.5, rel=0.01)
    newer = {"wlan.standard": "802.11ax", "stations.standard": "802.11n"}
    assert goodput_mbps(newer) == pytest.approx(28 * 1472 * 8 / 5518.5, rel=0.005)


def test_rate_adaptation_finds_the_mode_that_the_noise_allows() -> None:
    """The fixed fastest mode gets nothing through where slower ones do; no algorithm beats the one that knows the
    noise.
    """
    changes: dict[str, object] = {"wlan.mcs": 15, "flows.udp.rate": "150 Mb/s", "duration": "4 s", "warm_up": "2 s"}
    for snr, fixed_works in (("20 dB", False), ("35 dB", True)):
        by = {
            how: goodput_mbps(changes | {"stations.snr": snr, "wlan.rate_adaptation": how})
            for how in ("fixed", "minstrel-ht", "ideal")
        }
        assert (by["fixed"] > 100.0) == fixed_works, by
        assert 0.75 * by["ideal"] < by["minstrel-ht"] <= 1.01 * by["ideal"], by


def test_packets_in_flight_count_against_the_limit_if_set() -> None:
    """A PPDU of 28 packets from a queue of 30 makes room for others, or does not."""

    def drops(counted: bool) -> int:
        changes = {"stations.queue.limit": "30 packets", "wlan.aggregation.count_in_flight": counted}
        results = wifair.run(wifair.Scenario.from_text(BASE).with_(changes))
        return int(results.stations["queue_drops_overflow"].sum())

    assert drops(counted=True) > drops(counted=False)


@pytest.mark.parametrize(
    ("direction", "delay_ms", "earlier_ms"),
    [("up", 10.0, 0.855), ("up", 0.5, 0.407), ("up", 0.0, 0.0), ("down", 0.0, 0.855)],
)
def test_mpdus_are_passed_up_singly(direction: str, delay_ms: float, earlier_ms: float) -> None:
    """Ten MPDUs of 1544 bytes at 65 Mb/s are received 0.19 ms apart: the first 1.71 ms before the last. A wire takes
    them that early if that is no more than its delay."""
    changes = {"wlan.aggregation.window": 10, "servers.delay": f"{delay_ms} ms", "flows.direction": direction}
    base = wifair.Scenario.from_text(BASE).with_(changes | {"servers.rate": "100 Gb/s"})

    def delay(changes: Mapping[str, object]) -> float:
        return float(wifair.run(base.with_(changes)).flows["owd_mean_s"][0])

    apart = delay({"wlan.aggregation.pass_up_singly": False}) - delay({})
    assert apart == pytest.approx(earlier_ms / 1e3, abs=0.01e-3)


def test_packets_have_a_lifetime_in_their_queue() -> None:
    """With 1000 packets of queue a packet is some 200 ms old before it is sent, unless its lifetime is 50 ms."""
    delays = wifair.run(wifair.Scenario.from_text(BASE)).cells["delay_best_effort_p50_s"][0]
    assert delays > 0.15
    scenario = wifair.Scenario.from_text(BASE).with_({"wlan.aggregation.lifetime": "50 ms"})
    assert wifair.run(scenario).cells["delay_best_effort_p99_s"][0] < 0.065


def test_results_count_lost_block_acks_and_reordering_delay() -> None:
    changes = {"wlan.data_error": 0.1, "wlan.control_error": 0.05}
    cells = wifair.run(wifair.Scenario.from_text(BASE).with_(changes), seeds=range(1, 5)).cells
    assert cells["block_ack_loss"].mean() == pytest.approx(0.05, abs=0.015)
    # An MPDU waits if an earlier one of its PPDU is lost and sent again in the next PPDU, some 5.5 ms later.
    assert 0.002 < cells["reorder_delay_mean_s"].mean() < 0.008
    clean = wifair.run(wifair.Scenario.from_text(BASE)).cells
    assert clean["reorder_delay_mean_s"][0] == 0.0
    assert clean["block_ack_loss"][0] == 0.0


def test_a_capture_of_aggregates_is_read_back(tmp_path: Path) -> None:
    """The capture of the air has what the run counted: PPDUs, MPDUs in them, and rates of the MCS."""
    for standard, rate in (("802.11n", 65.0), ("802.11ax", 143.4)):
        scenario = tmp_path / f"{standard}.toml"
        text = BASE.replace("802.11n", standard).replace('warm_up = "0.5 s"\n', "").replace("80 Mb/s", "150 Mb/s")
        scenario.write_text(text.replace('duration = "2 s"', 'duration = "200 ms"'), encoding="utf-8")
        folder = tmp_path / standard
        command = [sys.executable, "-m", "wifair"]
        subprocess.run([*command, "run", str(scenario), "--pcap", str(folder), "--pcap-at", "air"], check=True)
        done = subprocess.run(
            [*command, "analyze", str(folder / "air.pcap"), "--json"], check=True, capture_output=True, text=True
        )
        sender, access_point = json.loads(done.stdout)["wlan"]["stations"]
        mean = wifair.run(wifair.Scenario.from_file(scenario)).cells["mpdus_per_ppdu"][0]
        assert sender["mpdus_per_aggregate"] == pytest.approx(mean, rel=0.05)
        assert sender["aggregates"] == pytest.approx(access_point["block_acks"], abs=1)
        assert sender["aggregates_unanswered"] == 0
        assert [float(each) for each in sender["frames_by_rate_mbps"]] == [pytest.approx(rate, abs=0.05)]
        (mode,) = sender["frames_by_mode"]
        assert mode == {
            "standard": standard,
            "mcs": 7 if standard == "802.11n" else 11,
            "streams": 1,
            "width_mhz": 20,
            "guard_interval_ns": 800,
            "frames": sender["data_frames"],
        }
        shown = subprocess.run(
            [*command, "analyze", str(folder / "air.pcap")], check=True, capture_output=True, text=True
        ).stdout
        head, row = next(part for part in shown.split("\n\n") if "MPDUs each" in part).splitlines()
        assert head.split()[1:6] == ["MCS", "streams", "width", "GI", "of"]
        expected = [str(mode["mcs"]), "1", "20", "MHz", "800", "ns", "100.0", "%", str(sender["aggregates"])]
        expected += [f"{sender['mpdus_per_aggregate']:.1f}", str(sender["largest_aggregate"]), "0.0", "%"]
        assert row.split()[1:] == expected


@pytest.mark.parametrize(("discipline", "queues"), [("fifo", 2), ("drr", 2 * 3)])
def test_a_limit_is_that_of_each_queue(discipline: str, queues: int) -> None:
    """Saturated downloads in two categories to three stations; FIFO has one queue for all stations."""
    downloads = """
        duration = "1 s"
        wlan = { standard = "802.11n", mcs = 0 }
        ap.queue.limit = "50 packets"
        servers = [{ name = "server" }]
        stations = [{ name = "sta", count = 3 }]
        [[flows]]
        name = "be"
        station = "sta"
        direction = "down"
        transport = "udp"
        udp.rate = "9 Mb/s"
        [[flows]]
        name = "vi"
        station = "sta"
        direction = "down"
        transport = "udp"
        udp.rate = "9 Mb/s"
        category = "video"
    """
    scenario = wifair.Scenario.from_text(downloads).with_({"ap.queue.discipline": discipline})
    results = wifair.run(scenario, seeds=[1], series="100 ms")
    assert results.queues["packets"].max() == queues * 50
