"""The calibration and the measures of kemerlis2006."""

from __future__ import annotations

import pytest
import wifair
from wifair.papers.kemerlis2006 import PAPER, calibration
from wifair.papers.kemerlis2006.calibration import CONTROL, PUBLISHED, READINGS, calibrate, calibrated, throughput
from wifair.reproduce import Effort


@pytest.mark.parametrize("reading", READINGS)
def test_recorded_parameters_give_the_published_values_of_a_single_client(reading: str) -> None:
    found = calibrated(reading)
    changes = {**READINGS[reading], **CONTROL[found.control]}
    a_down = throughput(changes)
    b_down, b_up = (throughput({**changes, **found.weak, "flows.direction": way}) for way in ("down", "up"))
    # The search finds probabilities in steps that change goodput by 2 % at most.
    ratio = PUBLISHED["B down"] / PUBLISHED["A down"]
    if reading.startswith("on/off"):
        # An uplink that is down for a third of the time loses MAC ACKs too, so no downlink is good enough.
        assert found.down == 0
        assert b_down / a_down < ratio
        assert b_up == pytest.approx(PUBLISHED["B up"], rel=0.04)
        return
    assert b_down / a_down == pytest.approx(ratio, rel=0.02)
    assert b_up == pytest.approx(PUBLISHED["B up"], rel=0.02)


def test_the_rate_of_control_frames_is_the_one_that_fits_best() -> None:
    found = {rate: throughput(changes) for rate, changes in CONTROL.items()}
    assert min(found, key=lambda rate: abs(found[rate] - PUBLISHED["A down"])) == calibrated().control == "1 Mb/s"


@pytest.mark.slow
def test_the_search_finds_the_recorded_parameters() -> None:
    found, recorded = calibrate(), calibrated()
    assert found.control == recorded.control
    assert found.down == pytest.approx(recorded.down, abs=2 * calibration.SCALES[False][2])
    assert found.up == pytest.approx(recorded.up, abs=2 * calibration.SCALES[False][2])


def test_the_throughput_of_two_clients_is_bytes_over_the_own_transfer_time() -> None:
    """Section II.C of the paper. The slower client goes on alone, so its throughput is above that while both send."""
    experiment = PAPER.experiment("fig3_right")
    case = next(
        one
        for one in experiment.cases(Effort.QUICK)
        if (one.labels["setting"], one.labels["direction"], one.labels["rts"]) == ("taken", "up", "off")
    )
    results = wifair.run(case.scenario, seeds=[1], series=case.series)
    measured = {
        (one.quantity, one.labels.get("host")): next(iter(one.values)) for one in experiment.measure(case, results)
    }
    sent = int(case.scenario.with_({}).resolved.count("5242880 B"))
    assert sent == 2  # both transfers have 5 MB
    took = {}
    for host in ("ares", "apollo"):
        (took[host],) = results.sessions.filter(flow=host)["acked_after_s"]
        assert measured["throughput_kBps", host] == pytest.approx(5242.88 / took[host])
    assert took["apollo"] > took["ares"]  # the one at B
    assert measured["throughput_kBps", "apollo"] > measured["throughput_both_kBps", "apollo"]
    ratio = measured["throughput_kBps", "apollo"] / measured["throughput_kBps", "ares"]
    assert measured["apollo_over_ares", None] == pytest.approx(ratio)


def test_claims_on_two_clients_are_judged_by_the_papers_definition() -> None:
    (point,) = (one for one in PAPER.declared.open if one.id == "measure")
    assert point.decided.startswith("section II.C")
    claim = next(one for one in PAPER.claims if one.id == "ul_ratio_off")
    for reading in PAPER.declared.readings(claim):
        _, places = PAPER.declared.bound(reading)
        assert claim.clauses[0].filled(places)[0].endswith(".apollo_over_ares")
    assert [reading.id for reading, _ in PAPER.declared.others(claim)] == ["both"]
