"""A network as a link between endpoints in Python: the same as the crate's, and as the emulator's."""

from __future__ import annotations

import random
from typing import Any

import pytest
import wifair
from wifair import Link, LinkError

CELL: dict[str, Any] = {
    "duration": "20 s",
    "wlan": {"standard": "802.11g", "data_rate": "54 Mb/s"},
    "ap": {"queue": {"limit": "60 packets"}},
    "stations": [{"name": "phone"}, {"name": "neighbour", "count": 2}],
    "servers": [{"name": "server", "delay": "10 ms", "rate": "1 Gb/s"}],
    "flows": [{"name": "up", "station": "neighbour", "tcp": {"cc": "cubic"}}],
}
ALONE = {**CELL, "stations": [{"name": "phone"}], "flows": []}


def until_idle(link: Link) -> list[wifair.Delivery]:
    while link.in_flight:
        link.advance(link.next_event_s())
    return list(iter(link.poll_delivery, None))


def test_a_lone_datagram_takes_its_air_time_and_the_wire() -> None:
    """As in the crate's test: 1500 bytes take 254 us on the air and 12 us on the wire, and its delay is 10 ms."""
    link = Link(ALONE)
    number = link.offer(1.0, "phone", "server", bytes(1472))
    (arrived,) = until_idle(link)
    assert arrived == (arrived.time_s, number, "phone", "server", bytes(1472), 1472, "not-ect", 0)
    assert round(arrived.time_s * 1e9) == 1_000_000_000 + 254_000 + 12_000 + 10_000_000


def test_the_seed_decides_and_every_datagram_ends_once() -> None:
    def ends(seed: int) -> tuple[list[tuple[int, float]], list[tuple[int, float, str]]]:
        link, rng = Link(CELL, seed=seed), random.Random(1)
        at = 1.0
        for _ in range(400):
            at += rng.random() * 0.002
            ends = ("phone", "server") if rng.random() < 0.3 else ("server", "phone")
            link.offer(at, *ends, rng.randrange(1473), flow=rng.randrange(3))
        arrived = [(one.number, one.time_s) for one in until_idle(link)]
        lost = [(one.number, one.time_s, one.place) for one in iter(link.poll_loss, None)]
        now = link.snapshot()
        assert (now.offered, now.delivered, now.lost) == (400, len(arrived), len(lost))
        assert sorted([*(one[0] for one in arrived), *(one[0] for one in lost)]) == list(range(400))
        return arrived, lost

    assert ends(1) == ends(1) != ends(2)
    assert {one[2] for one in ends(1)[1]} <= {"ap-queue", "station-queue", "retry-limit"}


def test_times_are_exact_to_the_nanosecond() -> None:
    link = Link({**ALONE, "duration": "1000 h"})
    for nanos in (1, 333_333_333, 86_400_000_000_001, 3_599_999_999_999_999):
        link.advance(nanos / 1e9)
        assert round(link.now_s * 1e9) == nanos


def test_queues_mark_what_can_be_marked() -> None:
    link = Link({**ALONE, "ap": {"queue": {"discipline": "codel", "codel": {"ecn": True}}}})
    for step in range(2000):
        link.offer(0.0003 * step, "server", "phone", 1472, ecn="ect0" if step % 2 else "not-ect")
    arrived = until_idle(link)
    marked = [one.number for one in arrived if one.ecn == "ce"]
    assert marked
    assert all(number % 2 for number in marked)
    assert link.snapshot().marked == len(marked)
    assert link.snapshot().stations["ap"]["air_time_s"] > 0.1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda link: link.offer(1.0, "phone", "server", 100), "1s has passed: it is 2s"),
        (lambda link: link.offer(21.0, "phone", "server", 100), "after the network's end at 20s"),
        (lambda link: link.offer(2.0, "phone", "nobody", 100), "no host 'nobody': there are phone, server"),
        (lambda link: link.offer(2.0, "phone", "phone", 100), "no path"),
        (lambda link: link.offer(2.0, "phone", "server", 1473), "an IP packet of 1501 bytes is longer than 1500"),
        (lambda link: link.offer(2.0, "phone", "server", bytes(1473)), "an IP packet of 1501 bytes is longer"),
        (lambda link: link.offer(2.0, "phone", "server", -1), "no payload of -1"),
        (lambda link: link.offer(2.0, "phone", "server", 1, dscp=64), "no dscp of 64: there are 0 to 63"),
        (lambda link: link.offer(2.0, "phone", "server", 1, flow=-1), "no flow of -1"),
        (lambda link: link.offer(2.0, "phone", "server", 1, ecn="ect"), "no ECN field `ect`: there are"),
        (lambda link: link.offer(float("nan"), "phone", "server", 1), "no time nan"),
        (lambda link: link.advance(1.0), "1s has passed: it is 2s"),
        (lambda link: link.advance(21.0), "longer `duration`"),
        (lambda link: link.advance(-1.0), "no time -1.0"),
        (lambda link: link.advance(float("inf")), "no time inf"),
        (lambda _: Link(CELL, seed=-1), "no seed -1"),
    ],
)
def test_wrong_calls_say_what_is_wrong_and_change_nothing(call: Any, message: str) -> None:
    link = Link(ALONE)
    link.advance(2.0)
    with pytest.raises(LinkError, match=message.replace("(", r"\(")):
        call(link)
    assert (link.now_s, link.snapshot().offered, link.in_flight) == (2.0, 0, 0)


def test_wrong_scenarios_are_scenario_errors() -> None:
    with pytest.raises(wifair.ScenarioError, match="unknown key"):
        Link({**ALONE, "durtion": "1 s"})

    class Window(wifair.CongestionControl):
        pass

    scenario = wifair.Scenario.from_dict(CELL).with_({"flows.tcp.cc": Window})
    with pytest.raises(wifair.ScenarioError, match="is a class in Python"):
        Link(scenario)
