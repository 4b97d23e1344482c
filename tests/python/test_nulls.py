"""Generic nulls take away what they say, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest
import wifair
from wifair.reproduce import Case, Effort, reproduce
from wifair.reproduce import _session as session
from wifair.reproduce._nulls import NULLS, nulled
from wifair.reproduce._tallies import Tally, sentence

BY_ID = {null.id: null for null in NULLS}


def case(key: str, experiment: str, **labels: object) -> Case:
    """The first quick case with these labels, made short."""
    cases = session.load(key).experiment(experiment).cases(Effort.QUICK)
    found = next(one for one in cases if all(one.labels[name] == value for name, value in labels.items()))
    return replace(found, scenario=found.scenario.with_({"duration": "60 s"}))


def run(one: Case) -> wifair.Results:
    return wifair.run(one.scenario, seeds=[1, 2])


UPLOADS = ("lee2007", "fig3", {"setting": "as printed", "starts": "within 1 s"})
"""Fourteen uploads, whose ACKs overflow the buffer of the access point."""


@pytest.mark.parametrize("null", ["no ACK drops", "endless buffers", "windows of 2", "no contention"])
def test_nothing_is_dropped_without_what_fills_the_buffer(null: str) -> None:
    key, experiment, labels = UPLOADS
    before = case(key, experiment, **labels)
    assert run(before).cells["ap_drops_ack"].min() > 100
    assert run(nulled(before, BY_ID[null])).cells["ap_drops_ack"].max() == 0


def test_no_frame_is_lost_without_noise() -> None:
    """At B and with 10 % of the data frames lost: the only failed frames left are collisions, with one sender none."""
    one = case("kemerlis2006", "fig1", setting="taken", place="B", direction="up", rts="off")
    assert run(one).stations["errors"].sum() > 100
    assert run(nulled(one, BY_ID["no noise"])).stations["errors"].sum() == 0
    two = case("lee2007", "fig10", setting="as printed", error=0.1, frames="all", scheme="default")
    assert run(two).stations["errors"].sum() > 100
    assert run(nulled(two, BY_ID["no noise"])).stations["errors"].sum() == 0


def test_a_null_that_does_not_apply_changes_nothing() -> None:
    chain = case("las", "fig2_5", discipline="FIFO", spacing=150, window=10, buffer=20)
    assert nulled(chain, BY_ID["no contention"]) is chain  # no wire
    assert nulled(chain, BY_ID["no noise"]) is chain  # its radio has none


def test_the_matrix_says_in_how_many_readings_a_claim_still_holds() -> None:
    """Four uploads make the gap wider than one: not if windows of two packets fill no buffer."""
    (outcome,) = reproduce(["lee2007/f2b_worse"], nulls=True).papers
    (judged,) = outcome.claims
    results = outcome.nulls["f2b_worse"]
    assert set(results) == set(BY_ID)
    assert {result.held for result in results.values()} == {judged.judgement.holding}
    assert results["windows of 2"].still == 0
    assert results["windows of 2"].touched
    assert not results["no noise"].touched  # there is none
    assert results["no noise"].still == judged.judgement.holding
    assert outcome.to_dict()["nulls"]["f2b_worse"]["windows of 2"]["still"] == 0


@pytest.mark.parametrize("key", ["jung2016", "kemerlis2006", "las", "lee2007"])
def test_a_claim_that_no_null_ends_says_why(key: str) -> None:
    """As recorded: a claim that holds whatever is taken away needs a reason for it."""
    paper = session.load(key)
    assert paper.nulls
    for claim in paper.claims:
        results = paper.nulls.get(claim.id, {}).values()
        ends = any(one.touched and one.still < one.held for one in results)
        assert ends or not results or claim.no_flip, claim.id


def test_a_reading_chosen_by_the_data_is_said_to_be() -> None:
    shown = Tally("p", "a", "in one way", 6, 12, 1, shown=True)
    other = Tally("p", "b", "in another", 14, 5, 0, shown=False)
    text = sentence([shown, other])
    assert "6 of 19" in text
    assert "14 of 19, hold under this one: in another" in text
    assert "predicts nothing" in text
    assert "most of these claims hold" in sentence([other._replace(shown=True), shown._replace(shown=False)])
