"""The scenarios for tests of congestion controls do what their comments say; the command shows what a control did."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import wifair
from click.testing import CliRunner
from wifair import gallery
from wifair.cli import main
from wifair.comparison.congestion import congestion

# A scenario that changes gets another version in its first line, and another row in the page with reference results.
VERSIONS = {
    "cc-coffee-shop": ("1", "07d1a4b374f603f3"),
    "cc-neighbours-backup": ("1", "44fc48e797312abc"),
    "cc-walk-to-the-garden": ("1", "d098cff807709aa0"),
    "cc-802.11b-client": ("1", "2b285e0527fdaded"),
    "cc-rate-falls-by-half": ("1", "9233b5bfa3285fe6"),
    "cc-deep-fifo": ("1", "06bfe9701c7b7761"),
    "cc-openwrt-airtime": ("1", "ea7bf7709f7639fb"),
    "cc-train": ("1", "15477ac1dbf29a0a"),
}


def scenario(name: str) -> wifair.Scenario:
    return wifair.Scenario.from_text(gallery.example(name).toml)


def document(name: str) -> dict[str, Any]:
    return tomllib.loads(gallery.example(name).toml)


def mbps(name: str, flow: str, changes: dict[str, Any]) -> float:
    results = wifair.run(scenario(name).with_(changes), seeds=[1, 2, 3])
    return float(np.mean(results.flows["goodput_bps"][results.flows["name"] == flow])) / 1e6


def during(start_s: int, end_s: int) -> dict[str, Any]:
    return {"warm_up": f"{start_s} s", "duration": f"{end_s} s"}


def test_each_has_a_version_and_a_length_and_what_is_tested() -> None:
    assert tuple(VERSIONS) == gallery.CONGESTION
    for name, (version, digest) in VERSIONS.items():
        text = gallery.example(name).toml
        assert f"version {version}." in text.partition("\n")[0]
        assert document(name)["description"] == f"version {version}"
        assert hashlib.sha256(text.encode()).hexdigest()[:16] == digest, name
        assert 10 <= scenario(name).duration_s <= 60


DATAGRAMS = {"name": "test", "station": "laptop", "direction": "down", "transport": "udp", "udp": {"rate": "400 Mb/s"}}


def test_the_rate_falls_by_half() -> None:
    changes = document("cc-rate-falls-by-half")["stations"][0]["snr_changes"]
    before = mbps("cc-rate-falls-by-half", "test", {"flows": [DATAGRAMS], "stations.snr_changes": [], **during(2, 10)})
    after = mbps(
        "cc-rate-falls-by-half", "test", {"flows": [DATAGRAMS], "stations.snr_changes": changes[:1], **during(11, 20)}
    )
    assert before == pytest.approx(148, rel=0.01)
    assert after == pytest.approx(before / 2, rel=0.01)


def test_uploads_next_door_take_more_than_half() -> None:
    alone = mbps("cc-neighbours-backup", "test", {"stations.neighbour.count": 0, **during(11, 20)})
    beside = mbps("cc-neighbours-backup", "test", {"flows.backup.stop": "19 s", **during(11, 19)})
    assert beside < alone / 2
    assert mbps("cc-neighbours-backup", "test", during(24, 30)) > 0.9 * alone


def test_the_garden_is_far() -> None:
    name = "cc-walk-to-the-garden"
    near = mbps(name, "test", {"stations.snr_changes": [], **during(2, 8)})
    far = mbps(name, "test", {"stations.snr_changes": [{"at": "1 s", "to": "8 dB"}], **during(5, 15)})
    assert far < near / 30


def test_an_old_client_slows_the_others() -> None:
    without = mbps("cc-802.11b-client", "test", {"stations.old.count": 0, **during(12, 30)})
    with_it = mbps("cc-802.11b-client", "test", during(12, 30))
    control = mbps("cc-802.11b-client", "test", {"stations.old.data_rate": "54 Mb/s", **during(12, 30)})
    assert with_it < without / 4
    assert control > 2 * with_it, "as fast as the others, it takes its turn only"


def test_a_deep_queue_is_filled() -> None:
    deep = wifair.run(scenario("cc-deep-fifo"), seeds=[1])
    shallow = wifair.run(scenario("cc-deep-fifo").with_({"ap.queue.limit": "100 packets"}), seeds=[1])
    assert deep.flows["rtt_p95_s"][0] > 0.5
    assert shallow.flows["rtt_p95_s"][0] < 0.2


def test_stations_get_equal_air_time() -> None:
    stations = wifair.run(scenario("cc-openwrt-airtime"), seeds=[1]).stations
    used = {name: stations["air_to_station_s"][stations["name"] == name][0] for name in ("laptop", "near", "far")}
    assert used["near"] == pytest.approx(used["laptop"], rel=0.1)
    assert used["far"] == pytest.approx(used["laptop"], rel=0.1)
    near, far = (mbps("cc-openwrt-airtime", flow, {}) for flow in ("near", "far"))
    assert far < near / 5


def test_the_train_pauses() -> None:
    pause = document("cc-train")["stations"][0]["snr_changes"][:1]
    for changes, least, most in ((pause, 0.0, 0.1), ([], 5.0, 30.0)):
        second: dict[str, Any] = {"stations.laptop.snr_changes": changes, "warm_up": "15500 ms", "duration": "16500 ms"}
        assert least <= mbps("cc-train", "test", second) <= most


REFERENCE = Path(__file__).parents[2] / "docs" / "congestion-scenarios.csv"


@pytest.mark.parametrize(
    "name", ["cc-rate-falls-by-half", *(pytest.param(n, marks=pytest.mark.slow) for n in VERSIONS)]
)
def test_the_reference_results_are_those_of_this_version(name: str) -> None:
    recorded = [row for row in csv.DictReader(REFERENCE.read_text().splitlines()) if row["scenario"] == name]
    assert [row["cc"] for row in recorded] == ["cubic", "bbr3", "reno", "prague"]
    now = csv.DictReader(io.StringIO(congestion(scenarios=[name]).to_csv()))
    for row, computed in zip(recorded, now):
        for column in ("goodput_mbps", "rtt_mean_ms", "goodput_mbps_half_width"):
            assert float(computed[column]) == pytest.approx(float(row[column]), rel=1e-9), (name, row["cc"], column)


def test_the_command_runs_any_control(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "mine_cc.py").write_text(
        "import wifair\nclass Window(wifair.CongestionControl):\n    def on_ack(self, ack):\n        self.cwnd = 2\n"
        "    def on_loss(self, loss):\n        pass\n"
    )
    only = ["--scenario", "cc-train", "--seeds", "1..3", "--quiet"]
    done = CliRunner().invoke(main, ["congestion", "mine_cc:Window", "reno", *only, "--json", "--csv", "out.csv"])
    assert done.exit_code == 0, done.output
    mine, reno = json.loads(done.stdout)["rows"]
    assert (mine["cc"], reno["cc"], reno["scenario"], reno["seeds"]) == ("mine_cc:Window", "reno", "cc-train", 3)
    # Two segments of 1448 bytes a round trip of at least 80 ms are 290 kb/s at most.
    assert 0.1 < mine["goodput_mbps"]["mean"] < 0.29 < reno["goodput_mbps"]["mean"]
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert lines[0].startswith("scenario,cc,seeds,goodput_mbps,goodput_mbps_half_width,")
    assert len(lines) == 3
    table = congestion(["reno"], scenarios=["cc-train"], seeds=[1, 2, 3])
    assert table.rows[0].goodput_mbps.mean == pytest.approx(reno["goodput_mbps"]["mean"])
    assert "cc-train  reno" in repr(table)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "`nothing`"),
        (["reno", "--scenario", "cc-trane"], "no scenario `cc-trane`: did you mean `cc-train`?"),
        (["reno", "--seeds", "0..x"], "seeds"),
        (["none_here:Window", "--scenario", "cc-train"], "none_here"),
    ],
)
def test_wrong_words_are_named(arguments: list[str], message: str) -> None:
    done = CliRunner().invoke(main, ["congestion", "--quiet", *arguments])
    assert done.exit_code == 2, done.output
    assert message in done.stderr
