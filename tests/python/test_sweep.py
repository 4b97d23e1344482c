"""`wifair.sweep`: which runs, in which order, equal for every engine; queries of the store."""

from __future__ import annotations

import math
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import wifair
from wifair.statistics import mean_interval
from wifair.sweeps import Runs, Store
from wifair.sweeps.merging import merge
from wifair.sweeps.query import Condition, ask, means, select

VARY: dict[Any, Any] = {"stations.count": "1..2", "flows.tcp.cc": ["reno", "vegas"]}


@pytest.fixture
def scenario(text: str) -> wifair.Scenario:
    return wifair.Scenario.from_text(text)


def points(runs: Runs, *names: str) -> list[tuple[object, ...]]:
    return list(zip(*(runs.figures[name].tolist() for name in names)))


def csv(store: Path) -> tuple[str, str]:
    with Store(store, create=False) as opened:
        return select(opened).to_csv(), select(opened, ask(opened, table="flows")).to_csv()


def test_a_grid_is_run_in_order(scenario: wifair.Scenario) -> None:
    runs = wifair.sweep(scenario, vary=VARY, seeds=[3, 1])
    assert points(runs, "stations.count", "flows.tcp.cc", "seed") == [
        (count, cc, seed) for count in (1, 2) for cc in ("reno", "vegas") for seed in (3, 1)
    ]
    alone = wifair.run(scenario.with_({"stations.count": 2, "flows.tcp.cc": "vegas"}), seeds=[1])
    assert runs.figures["goodput_bps"][-1] == alone.cells["goodput_bps"][0]


def test_values_may_be_zipped_listed_drawn_and_dependent(scenario: wifair.Scenario) -> None:
    zipped = wifair.sweep(scenario, vary={("stations.count", "ap.queue.limit"): [(1, "9 packets"), (2, "8 packets")]})
    assert points(zipped, "stations.count", "ap.queue.limit") == [(1, "9 packets"), (2, "8 packets")]
    listed = wifair.sweep(scenario, points=[{"stations.count": 2}, {"stations.count": 1, "duration": "2 s"}])
    assert points(listed, "stations.count", "duration") == [(2, ""), (1, "2 s")]
    drawn = wifair.sweep(scenario, vary={"stations.count": "integers(1, 3)"}, samples=3)
    assert sorted(drawn.figures["stations.count"].tolist()) == [1, 2, 3]
    again = wifair.sweep(scenario, vary=["stations.count = integers(1, 3)"], samples=3)
    assert again.figures["stations.count"].tolist() == drawn.figures["stations.count"].tolist()
    dependent = wifair.sweep(
        scenario,
        vary={
            "stations.count": [1, 2],
            "ap.queue.limit": "{10 * stations.count} packets",
            "servers.delay": lambda point: f"{point['stations.count']} ms",
        },
    )
    assert points(dependent, "ap.queue.limit", "servers.delay") == [("10 packets", "1 ms"), ("20 packets", "2 ms")]


def test_the_file_may_describe_the_whole_sweep(text: str, tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text(f'seeds = "1..2"\n{text}\n[sweep]\nvary = ["stations.count = 1, 2"]\ntables = ["stations"]\n')
    runs = wifair.sweep(file)
    assert points(runs, "stations.count", "seed") == [(1, 1), (1, 2), (2, 1), (2, 2)]
    assert list(runs.tables) == ["stations"]
    assert len(wifair.sweep(file, vary={"stations.count": [3]}, seeds=1).figures) == 1


def test_points_with_the_same_scenario_are_run_once(scenario: wifair.Scenario, tmp_path: Path) -> None:
    runs = wifair.sweep(scenario, vary={"duration": ["3 s", "3000 ms"]}, out=tmp_path / "out")
    assert points(runs, "duration", "seed") == [("3 s", 1), ("3000 ms", 1)]
    with Store(tmp_path / "out") as store:
        assert store.count() == 1


def test_seeds_are_added_until_the_interval_is_narrow(scenario: wifair.Scenario, tmp_path: Path) -> None:
    """The number of seeds is the first at which a rule computed here holds."""
    limit = 0.0002
    runs = wifair.sweep(
        scenario, vary=VARY, seeds=[1, 2, 3], stop_when="ci(jain) < 0.02 %", most_seeds=30, out=tmp_path / "out"
    )
    every = wifair.sweep(scenario, vary=VARY, seeds=range(1, 31), out=tmp_path / "out")
    counts = set()
    wide = 0
    for count, cc in [(1, "reno"), (1, "vegas"), (2, "reno"), (2, "vegas")]:
        of = {"stations.count": count, "flows.tcp.cc": cc}
        jain = every.figures.filter(**of)["jain_index"].tolist()
        n = 3
        while True:
            mean, half = mean_interval(jain[:n])
            if half <= limit * mean or n == 30:
                break
            n = min(n + max(n // 4, 1), 30)
        wide += half > limit * mean
        assert runs.figures.filter(**of)["seed"].tolist() == list(range(1, n + 1))
        counts.add(n)
    assert len(counts) > 1, "all points took equally many seeds: the test shows nothing"
    assert runs.wide == wide
    with pytest.raises(ValueError, match="2 seeds are too few to stop by an interval"):
        wifair.sweep(scenario, seeds=[1, 2], stop_when="ci(jain) < 0.01")


def test_any_engine_and_any_division_give_the_same_bytes(scenario: wifair.Scenario, tmp_path: Path) -> None:
    wifair.sweep(scenario, vary=VARY, seeds=[1, 2, 3], out=tmp_path / "threads")
    expected = csv(tmp_path / "threads")
    with ProcessPoolExecutor(2) as executor:
        wifair.sweep(scenario, vary=VARY, seeds=[1, 2, 3], out=tmp_path / "processes", executor=executor)
    assert csv(tmp_path / "processes") == expected
    shards = [tmp_path / f"shard{number}" for number in range(1, 5)]
    rows = [
        len(wifair.sweep(scenario, vary=VARY, seeds=[1, 2, 3], out=shard, shard=(number, 4)).figures)
        for number, shard in enumerate(shards, 1)
    ]
    assert rows == [3, 3, 3, 3]
    for target, order in (("merged", shards), ("backwards", shards[::-1])):
        with Store(tmp_path / target) as store:
            assert [merge(store, shard) for shard in order] == rows
        assert csv(tmp_path / target) == expected


def test_shards_that_stop_by_intervals_decide_as_one_sweep(scenario: wifair.Scenario, tmp_path: Path) -> None:
    rule: dict[str, Any] = {"vary": VARY, "seeds": [1, 2, 3], "stop_when": "ci(jain) < 0.5 %", "most_seeds": 12}
    wifair.sweep(scenario, **rule, out=tmp_path / "whole")
    with Store(tmp_path / "merged") as store:
        for number in (1, 2):
            wifair.sweep(scenario, **rule, out=tmp_path / f"{number}", shard=f"{number}/2")
            merge(store, tmp_path / f"{number}")
    assert csv(tmp_path / "merged") == csv(tmp_path / "whole")


def test_a_merged_store_is_complete(scenario: wifair.Scenario, tmp_path: Path) -> None:
    wifair.sweep(scenario, vary={"stations.count": [1]}, out=tmp_path / "a", tables=["flows"])
    wifair.sweep(scenario, vary={"flows.tcp.cc": ["vegas"]}, out=tmp_path / "b", tables=["stations"])
    wifair.sweep(scenario, vary={"stations.count": [1]}, out=tmp_path / "c", tables=["stations"])
    with Store(tmp_path / "a") as store:
        assert [merge(store, tmp_path / name) for name in ("b", "c", "c")] == [1, 0, 0]
        both = select(store)
        assert both["stations.count"][0] == 1
        assert math.isnan(both["stations.count"][1])
        assert both["flows.tcp.cc"].tolist() == ["", "vegas"]
        assert select(store, ask(store, table="stations"))["name"].tolist() == ["ap", "sta", "ap", "sta1", "sta2"]
        assert select(store, ask(store, table="flows"))["name"].tolist() == ["up"]
        assert "vegas" in store.scenario_text(select(store, ask(store, columns=["scenario"]))["scenario"][1])
        with pytest.raises(wifair.StoreError, match="is the store to merge into"):
            merge(store, tmp_path / "a")
        with pytest.raises(wifair.StoreError, match="there is no such folder"):
            merge(store, tmp_path / "none")


def test_averages_have_the_intervals_of_their_group(scenario: wifair.Scenario, tmp_path: Path) -> None:
    runs = wifair.sweep(scenario, vary=VARY, seeds=[1, 2, 3], out=tmp_path / "out")
    with Store(tmp_path / "out") as store:
        table = means(select(store), ["flows.tcp.cc"], ["jain_index", "up_down_ratio"])
        some = select(store, ask(store, where=[Condition.parse("count>1"), Condition.parse("cc=vegas, newreno")]))
    assert table["flows.tcp.cc"].tolist() == ["reno", "vegas"]
    assert table["seeds"].tolist() == [3, 3]
    for row, cc in enumerate(("reno", "vegas")):
        mine = runs.figures.filter(**{"flows.tcp.cc": cc})
        expected = mean_interval(float(mine.filter(seed=seed)["jain_index"].mean()) for seed in (1, 2, 3))
        np.testing.assert_allclose([table["jain_index"][row], table["jain_index_ci95"][row]], expected, rtol=1e-12)
    assert np.isnan(table["up_down_ratio"]).all()
    assert some["stations.count"].tolist() == [2, 2, 2]
    assert some["flows.tcp.cc"].tolist() == ["vegas"] * 3


def test_quantities_are_compared_by_value(scenario: wifair.Scenario, tmp_path: Path) -> None:
    wifair.sweep(scenario, vary={"servers.delay": ["9 ms", "0.02 s", "100 ms"]}, out=tmp_path / "out")
    with Store(tmp_path / "out") as store:

        def delays(condition: str) -> list[str]:
            found: list[str] = select(store, ask(store, where=[Condition.parse(condition)]))["servers.delay"].tolist()
            return found

        assert delays("servers.delay >= 20 ms") == ["0.02 s", "100 ms"]
        assert delays("delay = 20 ms, 100 ms") == ["0.02 s", "100 ms"]
        assert delays("delay != 20 ms") == ["9 ms", "100 ms"]
        for bad, message in (
            ("delay", "`delay` is no condition"),
            ("delay < 1 ms, 2 ms", "compares with several values"),
            ("dellay = 1", "no column `dellay`: did you mean"),
        ):
            with pytest.raises(ValueError, match=message):
                delays(bad)


@pytest.mark.parametrize(
    ("bad", "error", "message"),
    [
        ({"vary": {"stations.number": [1]}}, wifair.ScenarioError, "no name or key `number` in `stations`"),
        ({"vary": {"stations.count": "20..2"}}, wifair.ScenarioError, "`20..2` is empty"),
        ({"vary": {"stations.count": ["many"]}}, wifair.ScenarioError, "`count` is a string, not a whole number"),
        ({"vary": {"stations.count": []}}, ValueError, "there are no values of stations.count"),
        ({"vary": {"stations.count": [object()]}}, TypeError, r"stations.count\[?.* is a object"),
        ({"vary": {("a", "b"): [(1, 2, 3)]}}, ValueError, "are not 2 values"),
        ({"samples": 5}, wifair.ScenarioError, "there is nothing to draw samples of"),
        ({"design": "grid"}, wifair.ScenarioError, "latin-hypercube, random"),
        ({"stop_when": "ci(jian) < 1"}, wifair.ScenarioError, "no figure `jian`"),
        ({"seeds": []}, ValueError, "no seed"),
        ({"seeds": [1, 1]}, ValueError, "comes twice"),
        ({"seeds": [1 << 63]}, ValueError, "is not between 0 and 2"),
        ({"shard": "5/4"}, ValueError, "`5/4` is no shard"),
        ({"tables": ["flow"]}, ValueError, "table `flow`"),
    ],
)
def test_bad_arguments(scenario: wifair.Scenario, bad: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        wifair.sweep(scenario, **bad)


def test_a_mistake_in_several_points_is_one_error(text: str, tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text(f'{text}\n[sweep]\nvary = ["stations.count = 1, two, 3, four"]\n')
    with pytest.raises(wifair.ScenarioError) as caught:
        wifair.sweep(file)
    line = file.read_text().splitlines().index('vary = ["stations.count = 1, two, 3, four"]') + 1
    assert f"--> {file}:{line}:9 stations.count=two" in str(caught.value)
    assert "the same in 1 other point" in str(caught.value)
    assert len(caught.value.problems) == 1


@pytest.mark.parametrize("given", [{"design": "random"}, {"sample_seed": 2}, {"most_seeds": 9}])
def test_a_parameter_without_effect_is_refused(scenario: wifair.Scenario, given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"`{next(iter(given))}`.* nothing"):
        wifair.sweep(scenario, vary=VARY, seeds=[1], **given)


def test_a_single_value_is_no_list(text: str) -> None:
    with pytest.raises(TypeError, match=r"3 of stations.count is no list of values: write \[3\]"):
        wifair.sweep(wifair.Scenario.from_text(text), vary={"stations.count": 3})
