"""The Python API: scenarios, runs, results."""

from __future__ import annotations

import _thread
import csv
import io
import json
import math
import pickle
import re
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import wifair
from hypothesis import given
from hypothesis import strategies as st
from wifair.columns import safe_text

TABLE = {
    "name": "two uploads",
    "duration": "3 s",
    "warm_up": "1 s",
    "wlan": {"standard": "802.11b"},
    "ap": {"queue": {"limit": "50 packets"}},
    "servers": [{"name": "server", "delay": "10 ms"}],
    "stations": [{"name": "sta", "count": 2}],
    "flows": [{"name": "up", "station": "sta", "server": "server", "direction": "up"}],
}


@pytest.fixture
def scenario(text: str) -> wifair.Scenario:
    return wifair.Scenario.from_text(text)


def test_a_scenario_is_the_same_however_it_is_made(scenario: wifair.Scenario, file: Path) -> None:
    assert wifair.Scenario.from_file(file) == scenario
    assert wifair.Scenario.from_dict(TABLE) == scenario
    assert hash(wifair.Scenario.from_dict(TABLE)) == hash(scenario)
    assert wifair.Scenario.from_text(scenario.resolved) == scenario


def test_with_changes_a_copy(scenario: wifair.Scenario) -> None:
    more = scenario.with_({"stations.count": 3, "ap.queue.limit": "20 packets"}, duration="4 s")
    assert more != scenario
    assert more.duration_s == 4
    assert scenario.duration_s == 3
    assert more.with_({"stations.sta.count": 2, "ap.queue.limit": "50 packets"}, duration="3 s") == scenario
    assert pickle.loads(pickle.dumps(more)) == more
    assert "stations.count=3" in repr(more)
    with pytest.raises(wifair.ScenarioError, match="did you mean `limit`"):
        scenario.with_({"ap.queue.limt": "20 packets"})
    with pytest.raises(TypeError, match="ap is a object"):
        scenario.with_(ap=object())


def test_errors_say_where(tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text('duration = "1 s"\nnonsense = 3\n')
    with pytest.raises(wifair.ScenarioError, match="nonsense") as caught:
        wifair.Scenario.from_file(path)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, wifair.WifairError)
    assert (caught.value.path, caught.value.line, caught.value.key) == (str(path), 2, "nonsense")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.line) == (str(caught.value), 2)


def test_results_are_columns(scenario: wifair.Scenario) -> None:
    results = wifair.run(scenario, seeds=[1, 2])
    assert results.seeds == (1, 2)
    assert results.flows["seed"].tolist() == [1, 1, 2, 2]
    assert results.flows["name"].tolist() == ["up1", "up2"] * 2
    goodput = results.flows["goodput_bps"]
    np.testing.assert_allclose(8 * results.flows["received_bytes"] / 2, goodput)
    np.testing.assert_allclose(goodput.reshape(2, 2).sum(axis=1), results.cells["goodput_bps"])
    np.testing.assert_allclose(
        wifair.metrics.jain_index(goodput.reshape(2, 2)), results.cells["jain_index"], rtol=1e-12
    )
    assert results.summary["goodput_bps"] == wifair.statistics.mean_interval(results.cells["goodput_bps"])
    assert results.series is None
    one = results.flows.filter(seed=2, name="up1")
    assert len(one) == 1
    assert "[bit/s]" in results.flows.about["goodput_bps"]
    with pytest.raises(KeyError, match="no column 'goodput': did you mean `goodput_bps`"):
        results.flows["goodput"]


def test_columns_can_be_read_as_lists(scenario: wifair.Scenario) -> None:
    flows = wifair.run(scenario, seeds=[1, 2]).flows
    for name in flows:
        before = flows.to_list(name)
        np.testing.assert_array_equal(before, flows[name].tolist())  # NaN equals NaN here
        np.testing.assert_array_equal(before, flows.to_list(name))
    with pytest.raises(KeyError, match="no column 'goodput'"):
        flows.to_list("goodput")


def _as_csv_writes(table: wifair.Columns) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table)
    rows = zip(*(column.tolist() for _, column in table.items()), strict=True)
    writer.writerows([_as_cell(value) for value in row] for row in rows)
    return out.getvalue()


def _as_cell(value: object) -> object:
    """NaN is an empty cell, and a text that a spreadsheet would take for a formula gets an apostrophe (OWASP)."""
    if isinstance(value, float) and math.isnan(value):
        return ""
    if isinstance(value, str) and len(value) > 1 and value[0] in "=+-@\t" and not NUMBER.fullmatch(value):
        return f"'{value}"
    return value


NUMBER = re.compile(r"[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|inf(inity)?|nan)", re.ASCII | re.IGNORECASE)


FORMULAS = st.from_regex(r"[=+@-][0-9.e+=A(]*", fullmatch=True)
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"))  # csv quotes \r only since Python 3.13


@given(st.lists(st.tuples(st.floats(), st.integers(0, 2**64 - 1), TEXTS | FORMULAS), min_size=1))
def test_csv_equals_what_python_writes(rows: list[tuple[float, int, str]]) -> None:
    numbers, counts, texts = zip(*rows, strict=True)
    table = wifair.Columns(
        {
            "a number": np.array(numbers),
            'a "count", from the core': ("<u8", np.array(counts, np.uint64).tobytes()),
            "text": list(texts),
            "single": np.array(counts, np.float32),
            "flag": np.array(counts, np.uint64) > 5,
        }
    )
    assert table.to_csv() == _as_csv_writes(table)
    assert [safe_text(text) for text in texts] == [_as_cell(text) for text in texts]
    assert wifair.Columns({"text": list(texts)}).to_csv() == _as_csv_writes(wifair.Columns({"text": np.array(texts)}))


def test_air_time_adds_up(scenario: wifair.Scenario) -> None:
    cells = wifair.run(scenario).cells
    shares = [cells[name] for name in cells if name.startswith("air_")]
    assert float(np.sum(shares)) == pytest.approx(1, abs=1e-9)


def test_a_run_does_not_depend_on_other_runs(scenario: wifair.Scenario) -> None:
    alone = wifair.run(scenario, seeds=7).to_dict()["runs"][0]
    together = wifair.run(scenario, seeds=[3, 7, 5], threads=2).to_dict()["runs"][1]
    assert alone == together


def test_series(scenario: wifair.Scenario) -> None:
    results = wifair.run(scenario, seeds=[1, 2], series="100 ms")
    assert results.series is not None
    assert results.queues is not None
    one = results.series.filter(seed=1, flow="up1")
    assert one["time_s"].tolist() == [tenth / 10 for tenth in range(1, len(one["time_s"]) + 1)]
    np.testing.assert_allclose(np.diff(one["time_s"]), 0.1, atol=1e-9)
    measured = one["time_s"] > 1 + 1e-9
    np.testing.assert_allclose(8 * one["received_bytes"] / 0.1, one["goodput_bps"])
    received = results.flows.filter(seed=1, name="up1")["received_bytes"][0]
    assert one["received_bytes"][measured].sum() == received
    # Sampling changes nothing else.
    assert results.to_dict()["runs"][0]["cell"] == wifair.run(scenario).to_dict()["runs"][0]["cell"]


def test_series_show_the_delay_window_and_what_the_access_point_drops() -> None:
    uploads = """
        duration = "60 s"
        wlan.standard = "802.11g"
        ap.queue.limit = "5 packets"
        servers = [{ name = "server", rate = "1 Gb/s", delay = "50 ms" }]
        stations = [{ name = "sta", count = 3, queue.limit = "1000 packets" }]
        flows = [{ name = "up", station = "sta", direction = "up", tcp.cc = "compound", tcp.receive_window = "1 MB" }]
    """
    results = wifair.run(wifair.Scenario.from_text(uploads), seeds=[1], series="100 ms")
    assert results.series is not None
    series, flows = results.series, results.flows
    assert series["dwnd"].max() > 1
    assert (series["dwnd"] < series["cwnd"]).all()
    dropped = flows["ack_drops_ap_queue"].sum() + flows["data_drops_ap_queue"].sum()
    assert series["ap_drops"].sum() == dropped > 0
    assert series["received_bytes"].sum() == flows["received_bytes"].sum()
    assert series["arrived_bytes"].sum() >= series["received_bytes"].sum()


def test_conversion_to_other_data_frames(scenario: wifair.Scenario) -> None:
    flows = wifair.run(scenario).flows
    pa = pytest.importorskip("pyarrow")
    table = flows.to_arrow()
    assert table.column_names == list(flows)
    np.testing.assert_equal(pa.table(flows).to_pydict(), table.to_pydict())  # by the Arrow stream
    assert table["name"].to_pylist() == ["up1", "up2"]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_conversion_to_data_frames_or_a_hint_to_install(library: str, scenario: wifair.Scenario) -> None:
    flows = wifair.run(scenario).flows
    convert = getattr(flows, f"to_{library}")
    try:
        __import__(library)
    except ImportError:
        with pytest.raises(ImportError, match=f"pip install {library}"):
            convert()
    else:
        assert convert()["name"].to_list() == ["up1", "up2"]


def test_reprs(scenario: wifair.Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    results = wifair.run(scenario, seeds="1..3")
    assert results.seeds == (1, 2, 3)
    assert wifair.run(scenario, seeds="123").seeds == (123,)
    assert "two uploads" in repr(scenario)
    assert "Jain's index" in repr(results)
    assert " ± " in repr(results)
    assert "goodput_bps" in repr(results.flows)
    for html in (scenario._repr_html_(), results._repr_html_(), results.flows._repr_html_()):
        assert html.count("<table>") == html.count("</table>")
    # A notebook shows the tables that a wide terminal shows.
    text, page = repr(results), results._repr_html_()
    for word in text.split():
        assert word.replace("'", "&#x27;") in page, word
    assert repr(results.summary).splitlines()[0].startswith("goodput_bps ")
    assert " ± " in results.summary._repr_html_()
    angry = wifair.Scenario.from_dict({**TABLE, "name": "<script>"})
    assert "<script>" not in angry._repr_html_()


def test_save(scenario: wifair.Scenario, tmp_path: Path) -> None:
    results = wifair.run(scenario)
    results.save(tmp_path / "r", formats=["csv"])
    assert json.loads((tmp_path / "r" / "summary.json").read_text())["goodput_bps"]["ci95"] is None
    with pytest.raises(FileExistsError, match="holds results"):
        results.save(tmp_path / "r")
    results.save(tmp_path / "r", force=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seeds": []}, "no seed"),
        ({"seeds": [1, 1]}, "comes twice"),
        ({"seeds": "1,1"}, "comes twice"),
        ({"seeds": "3..1"}, "empty"),
        ({"seeds": "1..x"}, "no seed"),
        ({"seeds": "-1"}, "seeds are 0 or more"),
        ({"seeds": -1}, "not between"),
        ({"threads": 0}, "at least 1"),
        ({"series": "10"}, "unit"),
        ({"series": "0 s"}, "above 0|positive"),
    ],
)
def test_bad_arguments(options: dict[str, object], message: str, scenario: wifair.Scenario) -> None:
    with pytest.raises(ValueError, match=message):
        wifair.run(scenario, **options)  # type: ignore[call-overload]


def test_a_run_does_not_block_other_threads(scenario: wifair.Scenario) -> None:
    """The GIL is released: another thread keeps counting."""
    ticks, stop = 0, threading.Event()

    def count() -> None:
        nonlocal ticks
        while not stop.wait(0.001):
            ticks += 1

    thread = threading.Thread(target=count)
    thread.start()
    wifair.run(scenario.with_(duration="2000 s"))
    stop.set()
    thread.join()
    assert ticks >= 3


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_keeps_finished_runs_and_their_results(scenario: wifair.Scenario) -> None:
    """Many runs, interrupted half-way: those that had finished are returned, as if run alone."""
    long = scenario.with_(duration="10 s")
    for delay in (0.7, 3, 10):  # on a busy computer none may have finished at first
        timer = threading.Timer(delay, _thread.interrupt_main)
        timer.start()
        with pytest.raises(KeyboardInterrupt) as caught:
            wifair.run(long, seeds=range(1, 100_000), threads=2)
        timer.cancel()
        if isinstance(caught.value, wifair.Interrupted):
            break
    assert isinstance(caught.value, wifair.Interrupted)
    results = caught.value.results
    assert results is not None
    assert 1 <= len(results.seeds) < 99_999
    seed = results.seeds[-1]
    assert results.cells.filter(seed=seed)["goodput_bps"] == wifair.run(long, seeds=seed).cells["goodput_bps"]


def test_progress_is_silent_without_a_terminal(scenario: wifair.Scenario, capsys: pytest.CaptureFixture[str]) -> None:
    wifair.run(scenario, progress=True)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("width", [80, 70, 60])
def test_tables_fit_the_terminal(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    hot_spot = wifair.Scenario.from_file(Path(wifair.__file__).parent / "gallery" / "hot-spot.toml")
    hot_spot = hot_spot.with_({"duration": "20 s"})
    results = wifair.run(hot_spot, seeds=[1, 2, 3])
    assert max(map(len, repr(results).splitlines())) <= width
    assert "goodput" in repr(results)
    if width < 80:
        return
    compared = wifair.compare(hot_spot, hot_spot.with_({"ap.scheme.window": "b-over-n"}), seeds=[1, 2, 3])
    assert max(map(len, repr(compared).splitlines())) <= 80
    monkeypatch.setenv("COLUMNS", "120")
    assert "retransmitted  timeouts" in repr(results)


def test_series_are_typed() -> None:
    """The documented use of `series` passes ``mypy --strict``: mypy checks this function too."""
    scenario = wifair.Scenario.from_dict(TABLE)
    sampled = wifair.run(scenario, seeds=[1], series="1 s")
    one = sampled.series.filter(seed=1)
    assert one["cwnd"].size == len(sampled.series)
    assert len(sampled.queues) > 0
    assert wifair.run(scenario, seeds=[1]).series is None


def test_seeds_with_and_without_sessions_have_one_table() -> None:
    """A seed in which no session began has empty columns; these once hid the names of the others."""
    from wifair.results.stacking import Gathered  # noqa: PLC0415

    none: list[tuple[str, str, Any]] = [("flow", "", ("<f8", b"")), ("start_s", "", ("<f8", b""))]
    some: list[tuple[str, str, Any]] = [("flow", "", ["web"]), ("start_s", "", ("<f8", bytes(8)))]
    gathered = Gathered()
    for seed, sessions in ((1, none), (2, some), (3, none)):
        outcome: Any = {"seed": seed, "measured_s": 1.0, "events": 1, "sessions": sessions}
        gathered.add(outcome)
    table = gathered.table("sessions")
    assert table["flow"].tolist() == ["web"]
    assert table["seed"].tolist() == [2]


def test_series_show_the_window_of_the_one_connection_that_is_open() -> None:
    results = wifair.run(
        {
            "duration": "20 s",
            "wlan": {"standard": "802.11g"},
            "servers": [{"name": "server", "delay": "10 ms"}],
            "stations": [{"name": "reader"}],
            "flows": [
                {"name": "pages", "station": "reader", "direction": "down", "workload": "web"}
                | {"web.size": "100 kB", "web.think_time": "2 s", "web.object_interval": "200 ms"},
            ],
        },
        series="20 ms",
    )
    assert results.series is not None
    begin, took = results.sessions["start_s"], results.sessions["acked_after_s"]
    time, cwnd = results.series["time_s"][:, None], results.series["cwnd"]
    # Objects are asked for before and acknowledged after; in between their connection is open, and for a few ms more.
    open_now = np.sum((begin <= time) & (time <= begin + took), axis=1)
    around = np.sum((begin - 0.05 <= time) & (time <= begin + took + 0.2), axis=1)
    assert np.sum(around == 0) > 100
    assert np.sum(open_now > 1) > 5
    assert np.isnan(cwnd[around == 0]).all()
    assert np.isnan(cwnd[open_now > 1]).all()
    alone = cwnd[(open_now == 1) & (around == 1)]
    assert len(alone) > 0
    assert not np.isnan(alone).any()
