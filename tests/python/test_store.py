"""Runs in a store: found again, in order, with labels; failures; files that are not stores."""

from __future__ import annotations

import _thread
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
import wifair
from wifair.sweeps import Key, Progress, Request, Runs, Store, compute, engines, work
from wifair.sweeps import _task as task
from wifair.sweeps.query import select
from wifair.sweeps.schema import FILE


@pytest.fixture
def scenario(text: str) -> wifair.Scenario:
    return wifair.Scenario.from_text(text)


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[Key]:
    """The runs that threads of this process compute, as the store counts them."""
    runs: list[Key] = []

    def count(scenario: wifair.Scenario, seed: int, *rest: Any) -> task.Computed:
        runs.append(Key(scenario.hash, seed))
        return task.simulate(scenario, seed, *rest)

    monkeypatch.setattr(engines, "simulate", count)
    return runs


def requests(scenario: wifair.Scenario, seeds: int = 3) -> list[Request]:
    return [
        Request(scenario.with_({"stations.count": count}), seed, {"stations.count": count})
        for count in (1, 2)
        for seed in range(1, seeds + 1)
    ]


def csv(runs: Runs) -> tuple[str, str]:
    return runs.figures.to_csv(), runs.flows.to_csv()


def test_results_equal_those_of_run(scenario: wifair.Scenario, tmp_path: Path) -> None:
    runs = compute(requests(scenario), tmp_path / "out")
    assert runs.figures["stations.count"].tolist() == [1, 1, 1, 2, 2, 2]
    assert runs.figures["seed"].tolist() == [1, 2, 3, 1, 2, 3]
    alone = wifair.run(scenario, seeds=[1, 2, 3])
    for name, column in alone.cells.items():
        np.testing.assert_array_equal(runs.figures.filter(**{"stations.count": 2})[name], column)
    flows = runs.flows.filter(**{"stations.count": 2})
    assert flows["name"].tolist() == ["up1", "up2"] * 3
    np.testing.assert_array_equal(flows["goodput_bps"], alone.flows["goodput_bps"])
    assert runs.figures.about["goodput_bps"] == alone.cells.about["goodput_bps"]


def test_finished_runs_are_not_computed_again(scenario: wifair.Scenario, tmp_path: Path, computed: list[Key]) -> None:
    some = requests(scenario)
    first = compute(some[2:4], tmp_path / "out")
    assert len(computed) == 2
    every = compute(some, tmp_path / "out")
    assert len(computed) == len(set(computed)) == 6
    assert csv(compute(some, tmp_path / "out")) == csv(every)
    assert first.figures["goodput_bps"].tolist() == every.figures["goodput_bps"].tolist()[2:4]
    compute(some[:1], tmp_path / "out", tables=["flows", "stations"])
    assert len(computed) == 7, "a table that was not kept needs the run again"
    assert compute(some[:1], tmp_path / "out", tables=["stations"]).tables["stations"]["name"].tolist() == ["ap", "sta"]
    assert csv(compute(some, tmp_path / "out")) == csv(every)
    assert len(computed) == 7


def test_a_run_may_have_several_labels(scenario: wifair.Scenario, tmp_path: Path, computed: list[Key]) -> None:
    wanted = [Request(scenario, 1, {"figure": "3a"}), Request(scenario, 1, {"figure": "3b", "n": 2.5})]
    runs = compute(wanted, tmp_path / "out")
    assert len(computed) == 1
    assert runs.figures["figure"].tolist() == ["3a", "3b"]
    np.testing.assert_array_equal(runs.figures["n"], [np.nan, 2.5])


def test_any_executor_gives_the_same_bytes(scenario: wifair.Scenario, tmp_path: Path) -> None:
    some = requests(scenario)
    threads = compute(some, tmp_path / "threads")
    executors: dict[str, Executor] = {"one": ThreadPoolExecutor(1), "processes": ProcessPoolExecutor(2)}
    for name, executor in executors.items():
        with executor:
            assert csv(compute(some, tmp_path / name, executor=executor)) == csv(threads)


def test_the_database_needs_no_wifair(scenario: wifair.Scenario, tmp_path: Path) -> None:
    runs = compute(requests(scenario), tmp_path / "out")
    db = sqlite3.connect(tmp_path / "out" / "runs.sqlite")
    query = 'SELECT "stations.count", seed, goodput_bps FROM results'
    columns = [runs.figures[name].tolist() for name in ("stations.count", "seed", "goodput_bps")]
    assert db.execute(query).fetchall() == list(zip(*columns))
    assert db.execute("SELECT count(*), sum(status = 'done') FROM runs").fetchone() == (6, 6)
    assert db.execute("SELECT count(*) FROM flows").fetchone() == (9,)
    assert db.execute("SELECT count(*) FROM claims").fetchone() == (0,)
    assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    db.close()
    with Store(tmp_path / "out", create=False) as store:
        assert store.scenario_text(runs.figures["scenario"][3][:12]) == scenario.resolved


def test_other_libraries_read_a_store_and_its_exports_alike(scenario: wifair.Scenario, tmp_path: Path) -> None:
    runs = compute(requests(scenario), tmp_path / "out")
    with Store(tmp_path / "out") as store:
        (tmp_path / "runs.csv").write_text(select(store).to_csv())
    query, goodput = "SELECT * FROM results", runs.figures["goodput_bps"].tolist()
    db = sqlite3.connect(tmp_path / "out" / "runs.sqlite")
    frame = pandas.read_sql(query, db)
    assert frame["goodput_bps"].tolist() == goodput
    assert frame["stations.count"].tolist() == runs.figures["stations.count"].tolist()
    assert pandas.read_csv(tmp_path / "runs.csv")["goodput_bps"].tolist() == goodput
    if find_spec("polars"):
        import polars  # noqa: PLC0415

        assert polars.read_database(query, db)["goodput_bps"].to_list() == goodput
        assert polars.read_csv(tmp_path / "runs.csv")["goodput_bps"].to_list() == goodput
    if find_spec("duckdb"):
        import duckdb  # noqa: PLC0415

        rows = duckdb.sql(f"SELECT goodput_bps FROM '{tmp_path}/runs.csv'").fetchall()
        assert [row[0] for row in rows] == goodput
        with suppress(duckdb.IOException, duckdb.HTTPException):  # its extension for SQLite comes over the network
            duckdb.sql("INSTALL sqlite; LOAD sqlite")
            file = tmp_path / "out" / "runs.sqlite"
            rows = duckdb.sql(f"SELECT goodput_bps FROM sqlite_scan('{file}', 'results')").fetchall()
            assert [row[0] for row in rows] == goodput
    db.close()


def test_a_failed_run_does_not_stop_others(
    scenario: wifair.Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(scenario: wifair.Scenario, seed: int, *rest: Any) -> task.Computed:
        if seed == 2:
            return task.Computed(None, "MemoryError: too many packets", 0.0, "here")
        return task.simulate(scenario, seed, *rest)

    some = requests(scenario)
    with monkeypatch.context() as patch:
        patch.setattr(engines, "simulate", fail)
        runs = compute(some, tmp_path / "out")
    assert runs.figures["seed"].tolist() == [1, 3, 1, 3]
    assert [(f.scenario, f.seed, f.labels, f.message) for f in runs.failures] == [
        (r.scenario.hash, 2, r.labels, "MemoryError: too many packets") for r in some if r.seed == 2
    ]
    again = compute(some, tmp_path / "out")
    assert again.failures == []
    assert again.figures["seed"].tolist() == [1, 2, 3, 1, 2, 3]


def test_an_error_of_the_core_is_a_failed_run(scenario: wifair.Scenario) -> None:
    class Core:
        def run(self, *_: object) -> None:
            raise BaseException("invariant: no packet is lost")

    broken = wifair.Scenario.from_text(scenario.toml)
    broken._core = Core()  # type: ignore[assignment]
    done = task.simulate(broken, 1, (), None, wifair._core.Control())
    assert (done.outcome, done.message) == (None, "BaseException: invariant: no packet is lost")


def test_progress_counts_up(scenario: wifair.Scenario, tmp_path: Path) -> None:
    some = requests(scenario)
    compute(some[:2], tmp_path / "out")
    seen: list[tuple[int, int, int]] = []
    latest: list[Key] = []

    def report(progress: Progress) -> None:
        seen.append((progress.total, progress.found, progress.computed))
        latest.extend(run.key for run in progress.latest)

    compute(some, tmp_path / "out", progress=report)
    assert seen[-1] == (6, 2, 4)
    assert seen == sorted(seen)
    assert len(latest) == len(set(latest)) == 4


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_keeps_finished_runs_of_a_store(scenario: wifair.Scenario, tmp_path: Path, computed: list[Key]) -> None:
    some = requests(scenario, seeds=50)

    def report(progress: Progress) -> None:
        if progress.computed >= 5:
            _thread.interrupt_main()

    with pytest.raises(wifair.Interrupted):
        compute(some, tmp_path / "out", progress=report)
    with Store(tmp_path / "out") as store:
        stored = store.done()
    assert 5 <= len(stored) < 100
    computed.clear()
    assert len(compute(some, tmp_path / "out").figures) == 100
    assert not stored & set(computed)


def test_a_store_that_another_process_is_making_is_shared(tmp_path: Path) -> None:
    (tmp_path / f"{FILE}-journal").touch()
    Store(tmp_path).close()
    assert (tmp_path / FILE).exists()


def test_a_store_that_another_process_is_about_to_make_is_waited_for(tmp_path: Path) -> None:
    # SQLite does not wait by itself if another process is about to write and the journal mode must
    # change.
    with closing(sqlite3.connect(tmp_path / FILE, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        release = threading.Timer(0.2, other.execute, ["COMMIT"])
        release.start()
        Store(tmp_path).close()
        release.join()


def test_two_computers_divide_the_runs(scenario: wifair.Scenario, tmp_path: Path, computed: list[Key]) -> None:
    some = requests(scenario, seeds=30)
    results: list[Runs] = []

    def work() -> None:
        results.append(compute(some, tmp_path / "out", threads=1))

    both = [threading.Thread(target=work) for _ in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    assert len(computed) == len(set(computed)) == 60
    assert csv(results[0]) == csv(results[1])


def test_a_cluster_that_grows_gets_more_runs(
    scenario: wifair.Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work, "SLOTS_S", 0.0)

    class Cluster(ThreadPoolExecutor):
        """Like Dask's `Client.get_executor`, with one more worker each time it is asked."""

        def __init__(self) -> None:
            super().__init__(1)
            self._client = self
            self.workers = self.submitted = 0

        def ncores(self) -> dict[str, int]:
            self.workers += 50
            return {"address": self.workers}

        def submit(self, *arguments: Any, **options: Any) -> Future[Any]:
            self.submitted += 1
            return super().submit(*arguments, **options)

    under_way = []
    with Cluster() as executor:

        def report(progress: Progress) -> None:
            under_way.append(executor.submitted - progress.computed)

        runs = [(scenario, seed) for seed in range(1, 301)]
        assert len(compute(runs, tmp_path / "out", executor=executor, progress=report).figures) == 300
    assert max(under_way) > 2 * 50


def test_a_broken_executor_keeps_finished_runs(scenario: wifair.Scenario, tmp_path: Path) -> None:
    class Dying(Executor):
        left = 3

        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            future: Future[Any] = Future()
            self.left -= 1
            if self.left >= 0:
                future.set_result(fn(*args, **kwargs))
            else:
                future.cancel()
                future.set_running_or_notify_cancel()
            return future

    with pytest.raises(wifair.StoppedError, match="cancelled; repeat the command"):
        compute(requests(scenario), tmp_path / "out", executor=Dying())
    with Store(tmp_path / "out") as store:
        assert store.count() == 3


def test_a_worker_of_another_version_is_refused(scenario: wifair.Scenario, tmp_path: Path) -> None:
    class Old(ThreadPoolExecutor):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            return super().submit(fn, args[0]._replace(version="0.0.1+0"), **kwargs)

    with Old(1) as executor, pytest.raises(wifair.StoppedError, match="install the same on both"):
        compute(requests(scenario), tmp_path / "out", executor=executor)


def refused(path: Path, create: bool = True) -> str:
    with pytest.raises(wifair.StoreError) as caught:
        Store(path, create=create)
    return str(caught.value)


def test_files_that_are_not_stores(tmp_path: Path) -> None:
    assert refused(tmp_path / "none", create=False).endswith("is no store: there is no such folder")
    (tmp_path / "empty").mkdir()
    assert "there is no `runs.sqlite` in it" in refused(tmp_path / "empty", create=False)
    (tmp_path / "file").write_text("")
    assert "is a file: a store is a folder" in refused(tmp_path / "file")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").write_text("")
    assert "holds other files: choose another folder" in refused(tmp_path / "other")
    broken = tmp_path / "empty" / "runs.sqlite"
    broken.write_text("no database" * 1000)
    assert "is no store: file is not a database" in refused(tmp_path / "empty")
    broken.unlink()
    db = sqlite3.connect(broken)
    db.execute("CREATE TABLE mine (x)")
    db.close()
    assert "is an SQLite database, but no store of wifair" in refused(tmp_path / "empty")


def test_a_store_of_another_format(tmp_path: Path) -> None:
    Store(tmp_path / "out").close()
    db = sqlite3.connect(tmp_path / "out" / "runs.sqlite")
    db.execute("PRAGMA user_version = 7")
    db.close()
    assert "has format 7 of a later wifair, this one has format 2" in refused(tmp_path / "out")


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"tables": ["flow"]}, "table `flow`: expected flows, stations, sessions"),
        ({"series": "fast"}, "time between samples"),
        ({"threads": 0}, "expected at least 1"),
    ],
)
def test_bad_arguments(scenario: wifair.Scenario, tmp_path: Path, bad: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        compute([(scenario, 1)], tmp_path / "out", **bad)
    with pytest.raises(ValueError, match="seed -1 is not between"):
        compute([(scenario, -1)], tmp_path / "out")
