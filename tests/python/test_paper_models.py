"""What reproductions need from the model: the same arrivals for two disciplines, hops counted, on/off fading."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import wifair
from wifair.papers import las

HERE = Path(las.__file__).parent


def test_two_disciplines_serve_the_same_web_users() -> None:
    """Sizes and starts of sessions are drawn for each user, independently of the order of service (las, section 6.2).

    A user whose pages are served later requests the next one later: what is requested in the first 60 s with one
    discipline is requested in 100 s with the other.
    """
    web = wifair.Scenario.from_file(HERE / "web.toml").with_({"duration": "100 s", "warm_up": "0 s"})
    early, late = [], []
    for discipline in ("fifo", "las"):
        sessions = wifair.run(web.with_({"ap.queue.discipline": discipline}), seeds=[3]).sessions
        objects = list(zip(sessions["flow"].tolist(), sessions["length_bytes"].tolist()))
        early.append(Counter(one for one, start in zip(objects, sessions["start_s"].tolist()) if start < 60))
        late.append(Counter(objects))
    assert sum(early[0].values()) > 200
    assert not early[0] - late[1]
    assert not early[1] - late[0]


CHAIN = """
duration = "30 s"
warm_up = "10 s"
[wlan]
standard = "802.11b"
profile = "ns2"
[space]
mode = "ad-hoc"
profile = "ns2"
[[stations]]
name = "node"
count = 4
layout = "chain"
chain.spacing = "150 m"
[[flows]]
name = "three_hops"
from = "node1"
to = "{last}"
transport = "udp"
udp.rate = "80 kb/s"
udp.payload = "1000 B"
[[flows]]
name = "one_hop"
from = "node2"
to = "node3"
transport = "udp"
udp.rate = "40 kb/s"
udp.payload = "1000 B"
"""


@pytest.mark.parametrize("routing", ["", '[routing]\nprotocol = "dsdv"\n'])
def test_a_packet_counts_once_for_each_hop(routing: str) -> None:
    """10 packets/s over three hops and 5 over one, in 20 s: 600 and 100, except for those in transit at the ends."""
    chain = wifair.Scenario.from_text(CHAIN.format(last="node4") + routing)
    if routing:  # ways must have been announced
        chain = chain.with_({"duration": "120 s", "warm_up": "100 s"})
    flows = wifair.run(chain, seeds=[1]).flows
    hops = dict(zip(flows["name"].tolist(), flows["data_air_hops"].tolist()))
    assert hops["three_hops"] == pytest.approx(600, abs=6)
    assert hops["one_hop"] == pytest.approx(100, abs=2)


LAST = """
[[stations]]
name = "last"
position = ["450 m", "0 m"]
data_error_down = 1.0
"""


def test_hops_of_packets_that_are_lost_later_count() -> None:
    """The last node loses every frame, so that each packet makes two hops: 10 packets/s in 20 s."""
    error = wifair.Scenario.from_text(
        CHAIN.format(last="last").replace('name = "node"\ncount = 4', 'name = "node"\ncount = 3') + LAST
    )
    flows = wifair.run(error, seeds=[1]).flows.where(name="three_hops")
    assert flows["received_bytes"][0] == 0
    assert flows["data_air_hops"][0] == pytest.approx(400, abs=4)


FADING = """
duration = "6000 s"
[wlan]
standard = "802.11b"
[ap]
queue.limit = "1 packet"
[[stations]]
name = "near"
[[stations]]
name = "far"
queue.limit = "1 packet"
{outage}
[[servers]]
name = "server"
[space]
[[flows]]
name = "far"
station = "far"
direction = "{direction}"
transport = "udp"
udp.rate = "400 kb/s"
udp.payload = "1000 B"
"""


@pytest.mark.parametrize("standard", ["802.11b", "802.11n"])
@pytest.mark.parametrize("direction", ["up", "down"])
def test_on_off_fading_delivers_the_fraction_of_time_that_the_link_is_up(direction: str, standard: str) -> None:
    """Up for 6 s and down for 4 s on average: 0.6 of the datagrams arrive.

    For a two-state chain with time constant tau = 0.6 * 4 s, the fraction of T = 6000 s in which it is up has a
    variance of 2 * 0.6 * 0.4 * tau / T: four standard deviations are 0.055. A datagram in the queue and one being
    retried outlast the end of an outage, 20 ms each in a cycle of 10 s: 0.004.
    """
    outage = f'outage_{direction}.up = "6 s"\noutage_{direction}.down = "4 s"'
    text = FADING.format(outage=outage, direction=direction).replace("802.11b", standard)
    cell = wifair.Scenario.from_text(text)
    goodput = wifair.run(cell, seeds=[1]).flows["goodput_bps"]
    assert goodput[0] / 400e3 == pytest.approx(0.6, abs=0.06)


def test_on_off_fading_needs_space() -> None:
    text = FADING.format(outage='outage_up.up = "1 s"\noutage_up.down = "1 s"', direction="up").replace("[space]\n", "")
    with pytest.raises(wifair.ScenarioError, match="`outage_up` needs"):
        wifair.Scenario.from_text(text)


def test_on_off_fading_is_the_same_with_and_without_access_categories() -> None:
    """Two categories, of which the flow uses one, with the parameters of DCF."""
    outage = 'outage_up.up = "80 ms"\noutage_up.down = "20 ms"'
    plain = wifair.Scenario.from_text(FADING.format(outage=outage, direction="up")).with_(
        {"duration": "50 s", "flows.udp.rate": "3 Mb/s", "stations[1].queue.limit": "20 packets"}
    )
    dcf = {"cw_min": 31, "cw_max": 1023, "aifsn": 2}
    categories = plain.with_({"ap.scheme.access": "edca"}).with_(
        {f"ap.scheme.edca.stations.{key}": value for key, value in dcf.items()}
    )
    by_dcf, by_category = (wifair.run(cell, seeds=[1, 2]) for cell in (plain, categories))
    assert (by_dcf.stations["errors"].reshape(2, -1)[:, -1] > 1000).all()
    for table, column in [("flows", "goodput_bps"), ("stations", "attempts"), ("stations", "errors")]:
        np.testing.assert_array_equal(getattr(by_dcf, table)[column], getattr(by_category, table)[column])


def test_outages_do_not_depend_on_traffic() -> None:
    """The states of a link are a function of time: a flow that sends more often meets the same outages."""
    outage = 'outage_up.up = "2 s"\noutage_up.down = "2 s"'
    cell = wifair.Scenario.from_text(FADING.format(outage=outage, direction="up")).with_({"duration": "60 s"})
    silent = []
    for rate in ("200 kb/s", "400 kb/s"):
        series = wifair.run(cell.with_({"flows.udp.rate": rate}), seeds=[5], series="500 ms").series
        assert series is not None
        silent.append(series["received_bytes"] == 0)
    assert np.mean(silent[0] == silent[1]) > 0.95
