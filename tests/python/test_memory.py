"""A run's needs are reported before it begins, and its memory is bounded while it runs."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import wifair
from command import wifair as command
from wifair.simulation import memory

TINY = """
workload = "poisson"
poisson.interval = "10 us"
poisson.size = "1 B"
"""


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A computer with 500 MB of free memory."""
    monkeypatch.setattr(memory, "free_memory", lambda: 500_000_000)


def test_an_estimate_is_of_the_right_order(text: str) -> None:
    """Counts are compared with those of the run itself; TCP cannot send more than the channel carries."""
    scenario = wifair.Scenario.from_text(text)
    found = memory.estimate(scenario, step_ns=100_000_000)
    results = wifair.run(scenario, seeds=1, series="100 ms")
    assert found.samples == len(results.series)
    sent = 1.5 * 1.5 * float(results.flows["data_packets_sent"].sum())  # of 2 s out of 3 s, with ACKs
    assert sent / 2 < found.packets < 4 * sent
    assert found.events > results._runs[0].events / 2
    assert 30e6 < found.memory_bytes < 100e6
    poisson = memory.estimate(wifair.Scenario.from_text(text + TINY.replace("10 us", "10 ms")))
    assert poisson.sessions == pytest.approx(600)


@pytest.mark.usefixtures("small")
def test_a_run_that_would_not_fit_is_refused_and_the_key_named(text: str) -> None:
    scenario = wifair.Scenario.from_text(text + TINY).with_({"duration": "10 s"})
    with pytest.raises(wifair.TooLargeError) as caught:
        wifair.run(scenario)
    said = str(caught.value)
    assert "and 500 MB are free" in said
    assert "connections: `flows.up.poisson.interval` is 10 us" in said
    assert "--yes" in said
    with pytest.raises(wifair.TooLargeError, match="`--series-step` is 2 us"):
        wifair.run(wifair.Scenario.from_text(text), series="2 us")


def test_the_key_is_named_for_any_number_of_stations(text: str) -> None:
    """Each of forty flows takes too little to be named; together they take nearly everything."""
    many = wifair.Scenario.from_text(text).with_(
        {
            "duration": "10000 s",
            "stations.count": 40,
            "flows.workload": "poisson",
            "flows.poisson.interval": "10 us",
            "flows.poisson.size": "1 B",
        }
    )
    with pytest.raises(wifair.TooLargeError) as error:
        wifair.run(many)
    _, why, last = str(error.value).splitlines()
    assert "40 billion connections: `flows." in why
    assert "poisson.interval` is 10 us" in why
    assert "--yes" in last or "any_memory" in last


def test_a_run_ends_before_it_exceeds_free_memory(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free_memory", lambda: 60_000_000)
    scenario = wifair.Scenario.from_text(text + TINY)
    with pytest.raises(wifair.TooLargeError, match=r"the run was ended at [\d.]+ s: it held"):
        wifair.run(scenario, any_memory=True)


@pytest.mark.usefixtures("small")
def test_fewer_runs_in_parallel_if_not_all_fit(text: str) -> None:
    assert memory.check(memory.estimate(wifair.Scenario.from_text(text)), 64) == 11
    assert memory.for_each(4) == 112_500_000


@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
def test_a_limit_of_the_process_counts(file: Path) -> None:
    """`ulimit -v` leaves less than the machine has."""
    import subprocess  # noqa: PLC0415

    limit = "import resource as r; r.setrlimit(r.RLIMIT_AS, (3 << 30, 3 << 30))"
    code = f"{limit}; from wifair.simulation import memory; print(memory.free_memory())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 0 < int(done.stdout) < 3 << 30
    assert "a run takes about" in command("check", file)[0]


def test_a_large_run_reports_its_needs_beforehand(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    scenario = wifair.Scenario.from_text(text)
    memory.announce(memory.estimate(scenario, step_ns=100_000_000), 1, said.append)
    assert said == []
    memory.announce(memory.estimate(scenario, step_ns=200), 1, said.append)
    assert re.fullmatch(
        r"a run takes about .* samples, [\d.]+ GB of memory, "
        r"mostly because `--series-step` is 200 ns; Ctrl-C ends it with what has finished",
        said[0],
    )
    told: list[str] = []
    monkeypatch.setattr(memory, "announce", lambda found, runs: told.append(f"{runs} of {found.samples:.0f}"))
    wifair.run(scenario, seeds=[1, 2], series="100 ms", progress=True)
    wifair.run(scenario, seeds=[1, 2], series="100 ms")
    assert told == ["2 of 60"]


def test_an_estimate_without_meaning_is_no_figure(file: Path) -> None:
    """A year of events at ten million a second is 3.2e14."""
    for duration in ("100 h", "10000000 s"):
        said = command("check", file, "--set", f"duration={duration}")[0]
        assert "a run takes about" in said
    said = command("check", file, "--set", "duration=3000000000 s")[0]
    assert said.endswith(
        "a run takes more than a trillion events, for which a machine that does ten million a second takes more than"
        " a day\n"
    )
    assert "trillion" not in str(memory.MemoryEstimate(9e11, 9e11, 9e11, 9e11, ()))
    endless = memory.MemoryEstimate(1.0, 1.0, 2e12, 2e12, (memory.Part("samples", 2e12, 5e15, "x", "y"),))
    assert str(endless).endswith("more than a trillion samples, more than 1,000 TB of memory")


@pytest.mark.parametrize("bad", [1.5, True, [True], [None]])
def test_seeds_are_whole_numbers(text: str, bad: Any) -> None:
    with pytest.raises(TypeError, match=r"^seed .* is no whole number$"):
        wifair.run(wifair.Scenario.from_text(text), seeds=bad)


def test_a_cell_without_flows_takes_only_memory(text: str) -> None:
    scenario = wifair.Scenario.from_text(text).with_({"stations.count": 0})
    assert re.fullmatch(r"about [\d.]+ MB of memory", str(memory.estimate(scenario)))


def test_many_sessions_have_a_sample_of_rows_and_figures_of_all(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some 300,000 sessions of one byte each on one persistent connection."""
    lines = '\nworkload = "poisson"\npoisson.interval = "20 us"\npoisson.size = "1 B"\npoisson.connection = "keep"\n'
    monkeypatch.setattr(memory, "free_memory", lambda: None)
    scenario = wifair.Scenario.from_text(text.replace("count = 2", "count = 1") + lines).with_({"duration": "6 s"})
    results = wifair.run(scenario, seeds=1)
    cell = results.cells.to_dicts()[0]
    began = cell["sessions_finished"] + cell["sessions_unfinished"]
    assert began == pytest.approx(250_000, rel=0.01)  # 5 s of 50,000 a second; the standard deviation is 500
    assert len(results.sessions) == 200_000
    starts = results.sessions["start_s"].tolist()
    assert starts == sorted(starts)


def test_json_is_the_same_part_by_part(text: str) -> None:
    scenario = wifair.Scenario.from_text(text)
    results = wifair.run(scenario, seeds=[3, 1, 2], series="500 ms", threads=3)
    whole = results.to_json()
    assert "".join(results.json_parts()) == whole
    assert [run["seed"] for run in json.loads(whole)["runs"]] == [3, 1, 2]
    assert max(map(len, results.json_parts())) < len(whole) / 2
