"""The calibration of kemerlis2006: the recorded parameters have the recorded effect, and a search finds them again."""

from __future__ import annotations

import pytest
from wifair.papers.kemerlis2006 import calibration
from wifair.papers.kemerlis2006.calibration import CONTROL, PUBLISHED, READINGS, calibrate, calibrated, throughput


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
