"""`wifair sweep` and `wifair results` as a user types them."""

from __future__ import annotations

import csv
import json
import os
import pty
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from wifair.cli import main
from wifair.columns import Columns
from wifair.sweeps import Store
from wifair.sweeps.checksums import seal_run
from wifair.sweeps.summarising import averages

GRID = ["--vary", "stations.count=1..2", "--vary", "flows.tcp.cc=reno,vegas", "--seeds", "1..3"]


def wifair(*args: object, code: int = 0) -> tuple[str, str]:
    """Call the command in this process; its stdout and stderr."""
    done = CliRunner().invoke(main, [str(arg) for arg in args])
    assert done.exit_code == code, (done.output, done.exception)
    return done.stdout, done.stderr


@pytest.fixture(scope="session")
def grid(text: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the runs of GRID."""
    folder = tmp_path_factory.mktemp("grid")
    (folder / "two.toml").write_text(text)
    out, err = wifair("sweep", folder / "two.toml", *GRID, "--out", folder / "out")
    assert len(out.splitlines()) == 5
    assert err == f"12 runs: 12 computed, 0 found in `{folder / 'out'}`\n"
    return folder / "out"


def test_a_sweep_ends_with_its_averages_and_is_not_computed_again(
    file: Path, grid: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(grid, tmp_path / "out")
    monkeypatch.setenv("COLUMNS", "80")
    out, err = wifair("sweep", file, *GRID, "--out", tmp_path / "out")
    assert re.match(r" *count +cc +seeds +goodput_bps +jain_index\n", out)  # the whole keys would not fit
    monkeypatch.setenv("COLUMNS", "120")
    out, err = wifair("sweep", file, *GRID, "--out", tmp_path / "out")
    assert re.match(r"stations.count +flows.tcp.cc +seeds +goodput_bps +jain_index\n", out)
    assert re.search(r"^ +2 +vegas +3 +[\d.]+ ± [\d.]+ Mb/s +0\.\d+ (± [\d.]+|\(.+\))$", out, re.M)
    assert "12 runs: 0 computed, 12 found" in err
    assert wifair("sweep", file, *GRID, "--out", tmp_path / "out", "--quiet")[1] == ""
    document = json.loads(wifair("sweep", file, *GRID, "--out", tmp_path / "out", "--json")[0])
    assert [point["seeds"] for point in document["points"]] == [3, 3, 3, 3]
    assert document["failures"] == []


def test_the_file_may_say_what_to_vary(file: Path, tmp_path: Path) -> None:
    file.write_text(file.read_text() + '\n[sweep]\nvary = ["stations.count = integers(1, 3)"]\nsamples = 2\n')
    out, err = wifair("sweep", file, "--out", tmp_path / "out", "--samples", 3)
    rows = [line.split()[0] for line in sorted(out.splitlines()[1:])]
    assert rows == ["1", "2", "3", "(no"]  # one seed each: no interval, and the table says so
    assert "3 runs: 3 computed" in err


def test_a_mistake_in_all_points_is_one_error(file: Path, tmp_path: Path) -> None:
    """With what was written, and what to write. A list of words has a mistake each."""
    for vary, said, times in [
        ("n=2..32", ["unknown key `n`", "--vary n=2\n", "the same in 30 other points"], 1),
        ("stations.count=2..32,*2", ["`*2` is no value", "write 2..32:*2"], 1),
        ("stations=20", ["`stations` is a list of tables, not a number", "write stations.count=20"], 1),
        ("wlan.standard=wifi9,wifi8", ["wifi9", "wifi8"], 2),
    ]:
        _, err = wifair("sweep", file, "--vary", vary, "--out", tmp_path / "out", code=2)
        assert all(part in err for part in said), err
        assert err.count("error: ") == times, err


def test_a_count_of_several_groups_is_said_to_be_of_each(file: Path, tmp_path: Path) -> None:
    file.write_text(file.read_text() + '\n[[stations]]\nname = "more"\n')
    _, err = wifair("sweep", file, "--vary", "stations.count=1..2", "--out", tmp_path / "out")
    assert "`stations.count` is the number in each group, sta and more: `stations.sta.count` sets one\n" in err
    wifair("results", tmp_path / "out", "--x", "stations.count", "--y", "jain_index", "--figure", tmp_path / "f.svg")
    assert "<!-- stations in each of 2 groups -->" in (tmp_path / "f.svg").read_text()
    _, err = wifair("sweep", file, "--vary", "stations.more.count=1..2", "--out", tmp_path / "more")
    assert "in each group" not in err


def test_a_point_is_explained_as_its_scenario(file: Path, grid: Path) -> None:
    where = ["--where", "stations.count=2", "--where", "flows.tcp.cc=vegas"]
    sets = ["--set", "stations.count=2", "--set", "flows.tcp.cc=vegas"]
    said = json.loads(wifair("explain", grid, *where, "--json")[0])["findings"]
    assert said == json.loads(wifair("explain", file, *sets, "--seeds", "1..3", "--json", "-q")[0])["findings"]
    _, err = wifair("explain", grid, "--where", "stations.count=2", code=2)
    assert "2 points" in err
    assert "--where NAME=VALUE" in err
    assert "is no store" in wifair("explain", file, "--where", "stations.count=2", code=2)[1]


def test_points_come_from_a_table(file: Path, tmp_path: Path) -> None:
    points = tmp_path / "points.csv"
    points.write_text("stations.count, ap.queue.limit\n1, 9 packets\n2,\n")
    wifair("sweep", file, "--points", points, "--point", "stations.count=2; duration=2 s", "--out", tmp_path / "out")
    listed = wifair("results", tmp_path / "out", "--runs", "--json")[0]
    assert [(row["stations.count"], row["duration"], row["ap.queue.limit"]) for row in json.loads(listed)] == [
        (2, "2 s", ""),
        (1, "", "9 packets"),
        (2, "", ""),
    ]
    points.write_text("stations.count\n1, 2\n")
    assert (
        f"2 values for 1 paths\n --> {points}:2"
        in wifair("sweep", file, "--points", points, "--out", tmp_path / "out", code=2)[1]
    )


def test_more_seeds_until_the_interval_is_narrow(file: Path, tmp_path: Path) -> None:
    arguments = ["sweep", file, "--seeds", "1..3", "--stop-when", "ci(jain) < 0.0000001", "--most-seeds", 5]
    _, err = wifair(*arguments, "--out", tmp_path / "out")
    assert "5 runs: 5 computed" in err
    assert "1 point still has too wide an interval with 5 seeds" in err
    assert "and more seeds, up to 5, until ci(jain) < 0.0000001" in wifair(*arguments, "--dry-run")[0]


def test_a_dry_run_counts_and_estimates(file: Path, grid: Path, tmp_path: Path) -> None:
    out, err = wifair("sweep", file, *GRID, "--dry-run", "--duration", "1000000 s")
    assert re.fullmatch(r"12 runs \(4 points, 3 seeds\): about [\d.]+ (s|min|h) on \d+ cores?\n", out)
    assert err == ""
    shutil.copytree(grid, tmp_path / "out")
    out, _ = wifair("sweep", file, *GRID[:4], "--seeds", "1..4", "--out", tmp_path / "out", "--dry-run", "--threads", 1)
    assert out.startswith("16 runs (4 points, 4 seeds), 12 of them done: about ")
    assert out.endswith(" on 1 core\n")
    wifair("sweep", file, *GRID, "--dry-run", "--out", tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_shards_are_merged_to_the_same_bytes(file: Path, grid: Path, tmp_path: Path) -> None:
    for number in (1, 2, 3, 4):
        wifair("sweep", file, *GRID, "--shard", f"{number}/4", "--out", tmp_path / f"shard{number}")
    shards = [tmp_path / f"shard{number}" for number in (1, 2, 3, 4)]
    _, err = wifair("results", "merge", tmp_path / "all", *shards)
    assert f"{tmp_path / 'all'}: 12 runs" in err
    assert wifair("results", tmp_path / "all", "--csv", "-") == wifair("results", grid, "--csv", "-")


def test_results_filter_and_group(grid: Path) -> None:
    out, _ = wifair("results", grid, "--where", "count=2", "--group", "cc", "--show", "jain,goodput_bps")
    assert re.fullmatch(r"flows.tcp.cc  seeds +jain_index +goodput_bps\n +reno +3 .*\n +vegas +3 .*\n", out)
    out, _ = wifair("results", grid, "--runs", "--rows", 2)
    assert len(out.splitlines()) == 4
    assert re.search(r" [0-9.]+ [kM]b/s +[01](\.[0-9]+)?\n", out)
    assert out.endswith("... and 10 more: --rows 0 shows all, --csv writes them\n")
    out, _ = wifair("results", grid, "--table", "flows", "--where", "name=up2", "--group", "cc")
    assert [line.split()[1] for line in out.splitlines()] == ["seeds", "3", "3"]
    rows = json.loads(wifair("results", grid, "--json")[0])
    assert [(row["stations.count"], row["flows.tcp.cc"], row["seeds"]) for row in rows] == [
        (1, "reno", 3),
        (1, "vegas", 3),
        (2, "reno", 3),
        (2, "vegas", 3),
    ]


def test_exports_hold_every_run(grid: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    wifair("results", grid, "--csv", tmp_path / "runs.csv", "--parquet", tmp_path / "runs.parquet")
    with (tmp_path / "runs.csv").open() as file:
        rows = list(csv.DictReader(file))
    table = parquet.read_table(tmp_path / "runs.parquet")
    assert table.column("jain_index").to_pylist() == [float(row["jain_index"]) for row in rows]
    assert table.column("flows.tcp.cc").to_pylist() == [row["flows.tcp.cc"] for row in rows]
    assert len(rows) == 12
    wifair("results", grid, "--group", "cc", "--csv", tmp_path / "means.csv")
    assert (tmp_path / "means.csv").read_text().startswith("flows.tcp.cc,seeds,goodput_bps,goodput_bps_ci95,")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["means.csv", "runs.csv", "runs.parquet"]


def test_runs_of_a_scenario_that_was_changed_are_never_averaged_with_those_before(
    file: Path, grid: Path, tmp_path: Path
) -> None:
    store = tmp_path / "out"
    shutil.copytree(grid, store)
    before = json.loads(wifair("results", store, "--json")[0])
    delay = ["--set", "servers.delay=40 ms"]
    swept, warned = wifair("sweep", file, *GRID, *delay, "--out", store, "--json")
    assert "give a changed scenario another --out" in warned
    after = json.loads(swept)["points"]
    out, err = wifair("results", store, "--json")
    both = json.loads(out)
    assert [row["goodput_bps"] for row in both] == [row["goodput_bps"] for row in (*before, *after)]
    assert len({row["scenario"] for row in both}) == 8
    told = "has different scenarios with the same values of stations.count, flows.tcp.cc"
    assert told in err
    assert "--where scenario=HASH selects one" in err
    one = both[-1]
    assert json.loads(wifair("results", store, "--where", f"scenario={one['scenario']}", "--json")[0]) == [
        {name: value for name, value in one.items() if name != "scenario"}
    ]
    assert 'delay = "40 ms"' in wifair("results", store, "--scenario", one["scenario"])[0]
    assert "averages are over scenario too" in wifair("results", store, "--group", "cc")[1]
    assert "averages are over scenario too" not in wifair("results", store, "--group", "cc,count,scenario")[1]
    with (tmp_path / "runs.csv").open("w") as file_of_runs:
        file_of_runs.write(wifair("results", store, "--csv", "-")[0])
    with (tmp_path / "runs.csv").open() as file_of_runs:
        assert len({row["scenario"] for row in csv.DictReader(file_of_runs)}) == 8


def test_results_are_drawn(grid: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    figure = tmp_path / "jain.svg"
    arguments = ["--x", "count", "--y", "jain", "--y", "goodput_bps", "--by", "cc", "--figure", figure]
    wifair("results", grid, *arguments)
    text = figure.read_text()
    assert all(
        f"<!-- {label} -->" in text for label in ("vegas", "number of stations", "Jain's index", "goodput [Mb/s]")
    )
    assert "exists" in wifair("results", grid, *arguments, code=2)[1]
    arguments.append("--force")
    assert wifair("results", grid, *arguments)[1] == ""
    mixed = "averages are over flows.tcp.cc too: --by or --where tells them apart\n"
    assert wifair("results", grid, "--x", "count", "--y", "jain", "--figure", figure, "--force")[1] == mixed
    only = ["--where", "cc=reno", "--x", "count", "--y", "jain", "--figure", figure, "--force"]
    assert wifair("results", grid, *only)[1] == ""
    wifair("results", grid, "--x", "cc", "--y", "jain", "--by", "count", "--figure", figure, "--force")
    assert all(f"<!-- {label} -->" in figure.read_text() for label in ("reno", "vegas", "congestion control"))
    assert "needs --x, --y and --figure" in wifair("results", grid, "--x", "count", code=2)[1]
    assert "cannot write" in wifair("results", grid, *arguments[:-2], tmp_path / "no" / "a.svg", code=2)[1]


def test_failures_are_kept_and_reported(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from wifair.sweeps import _task as task  # noqa: PLC0415
    from wifair.sweeps import engines  # noqa: PLC0415

    def fail(scenario: object, seed: int, *rest: object) -> task.Computed:
        if seed == 2:
            return task.Computed(None, "invariant: no packet is lost", 0.0, "here")
        return task.simulate(scenario, seed, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(engines, "simulate", fail)
    out, err = wifair("sweep", file, "--vary", "stations.count=1,2", "--seeds", "1..3", "--out", tmp_path / "o", code=1)
    assert re.search(r"^ +1 +2 ", out, re.M), "the other seeds are there"
    found = re.search(r"stations.count=2, seed 2 failed: invariant: no packet is lost \(scenario (\w{12})\)", err)
    assert found
    assert wifair("results", tmp_path / "o", "--failed")[0].count("seed 2") == 2
    assert "count = 2" in wifair("results", tmp_path / "o", "--scenario", found[1])[0]
    monkeypatch.undo()
    wifair("sweep", file, "--vary", "stations.count=1,2", "--seeds", "1..3", "--out", tmp_path / "o")
    assert wifair("results", tmp_path / "o", "--failed")[0] == "no run failed\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--vary", "stations.number=2"],
            "error: no name or key `number` in `stations`\n --> --vary stations.number=2",
        ),
        (["--vary", "stations.count=20..2:2"], "error: `20..2:2` is empty\n --> --vary stations.count=20..2:2"),
        (
            ["--vary", "stations.count=two"],
            "error: `count` is a string, not a whole number\n --> --vary stations.count",
        ),
        (["--vary", "ap.queue.limit=10..30:10"], "`limit` has no unit"),
        (["--vary", "stations.count"], "says no value"),
        (["--vary", "servers.delay=uniform(1 ms, 2 ms)"], "is drawn, but nothing says how often"),
        (["--vary", "ap.queue.limit={2 * nothing} packets"], "`nothing` stands for no single value"),
        (["--stop-when", "ci(jian_index) < 0.1"], "no figure `jian_index`\n --> --stop-when"),
        (["--stop-when", "ci(jain) < 0.1"], "1 seed is too few"),
        (["--design", "square"], "latin-hypercube, random"),
        (["--design", "random"], "--design changes nothing: no parameter has a distribution"),
        (["--sample-seed", "2"], "--sample-seed changes nothing"),
        (["--most-seeds", "20"], "--most-seeds needs --stop-when"),
        (["--shard", "0/4"], "`0/4` is no shard: write I/N"),
        (["--points", "none.csv"], "cannot read `none.csv`: no such file"),
        (["--threads", "1", "--processes", "1"], "exclude each other"),
        (["--series", "fast"], "time between samples"),
    ],
)
def test_bad_input_is_reported_and_writes_nothing(
    file: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    out, err = wifair("sweep", file, *arguments, "--out", tmp_path / "out", code=2)
    assert message in err
    assert out == ""
    assert not (tmp_path / "out").exists()


def test_bad_stores_and_queries(file: Path, grid: Path, tmp_path: Path) -> None:
    assert "Missing option '--out'" in wifair("sweep", file, code=2)[1]
    assert "is no store: there is no such folder" in wifair("results", tmp_path / "none", code=2)[1]
    assert "holds other files" in wifair("sweep", file, "--out", file.parent, code=2)[1]
    assert "-1 is not in the range x>=0" in wifair("results", grid, "--rows", -1, code=2)[1]
    assert (
        "no column `countt`: did you mean `stations.count`?"
        in wifair("results", grid, "--where", "countt=2", code=2)[1]
    )
    for use, unused in (
        (["--x", "count", "--y", "jain", "--figure", "x.svg"], ["--csv", "x.csv"]),
        (["--csv", "-"], ["--show", "jain"]),
        (["--failed"], ["--where", "count=2"]),
        (["--scenario", "a"], ["--json"]),
        ([], ["--x", "count"]),
    ):
        assert unused[0] in wifair("results", grid, *use, *unused, code=2)[1]
    assert "`count>>3` is no condition" in wifair("results", grid, "--where", "count>>3", code=2)[1]
    assert "`count=` is no condition" in wifair("results", grid, "--where", "count=", code=2)[1]
    same = ("results", grid, "--runs", "--json", "--where")
    assert wifair(*same, "count == 2") == wifair(*same, "count=2")
    assert "no figure `jian`: did you mean `jain_index`?" in wifair("results", grid, "--show", "jian", code=2)[1]
    assert "did you mean" not in wifair("results", grid, "--show", "nothing", code=2)[1]  # `routing_bytes`, it asked
    assert "no run meets these conditions" in wifair("results", grid, "--where", "count=7", code=2)[1]
    assert "`flows.tcp.cc` is no number" in wifair("results", grid, "--show", "flows.tcp.cc", code=2)[1]
    assert "table `stations` was not kept" in wifair("results", grid, "--table", "stations", code=2)[1]
    assert "no scenario whose hash begins with `ffff`" in wifair("results", grid, "--scenario", "ffff", code=2)[1]
    assert "there is no such folder" in wifair("results", "merge", tmp_path / "all", tmp_path / "none", code=2)[1]
    assert not (tmp_path / "all").exists()


def test_a_column_of_another_table_is_named_with_its_table(grid: Path) -> None:
    def refused(*args: object) -> str:
        return wifair("results", grid, *args, code=2)[1]

    assert "no figure `rtt`, but --table flows has rtt_mean_s, rtt_min_s" in refused("--show", "rtt")
    assert "no figure `cwnd_mean`, but --table flows has it" in refused("--show", "cwnd_mean")
    assert "no column `cwnd_mean`, but --table flows has it" in refused("--where", "cwnd_mean>1")
    assert "no parameter `direction`, but --table flows has it" in refused("--group", "direction")
    assert "no figure `jain`, but --table runs has jain_index" in refused("--table", "flows", "--show", "jain")
    assert "--table" not in refused("--show", "nothing")
    assert "--table" not in refused("--table", "flows", "--show", "run")  # the key of the database is no figure


def test_runs_of_another_version_are_not_mixed_in(grid: Path, file: Path, tmp_path: Path) -> None:
    shutil.copytree(grid, tmp_path / "out")
    with Store(tmp_path / "out") as store, store._change():
        store._db.execute("UPDATE runs SET version = '0.0.1+0', finished = '2020-01-01'")
        for (run,) in store._db.execute("SELECT run FROM runs").fetchall():
            seal_run(store._db, run, [])
    _, err = wifair("sweep", file, *GRID[:2], "--seeds", 1, "--out", tmp_path / "out")
    assert "2 runs: 2 computed, 0 found" in err
    out, err = wifair("results", tmp_path / "out", "--runs", "--json")
    assert len(json.loads(out)) == 2
    assert err == "12 runs are of wifair 0.0.1+0: --where version=0.0.1+0 shows them\n"
    assert (
        len(json.loads(wifair("results", tmp_path / "out", "--where", "version=0.0.1+0", "--runs", "--json")[0])) == 12
    )


def test_a_terminal_shows_bar_and_table(file: Path, tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "wifair",
        "sweep",
        str(file),
        *GRID[:4],
        "--seeds",
        "1..60",
        "--out",
        str(tmp_path / "o"),
    ]
    pid, terminal = pty.fork()
    if pid == 0:  # pragma: no cover
        os.environ.update(COLUMNS="100", LINES="40")
        os.execv(command[0], command)
    shown = b""
    try:
        while part := os.read(terminal, 65536):
            shown += part
    except OSError:  # the command has gone
        pass
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    frames = shown.decode().split("\x1b[J")
    assert re.search(r"240/240|\d+/240 \[\d\d:\d\d<\d\d:\d\d, +[\d.]+run/s, 0 found\]", shown.decode())
    assert any(re.search(r"stations.count +flows.tcp.cc +(seeds|runs) +goodput_bps", frame) for frame in frames[:-1])
    assert frames[-1].splitlines()[0].startswith("240 runs: 240 computed")
    assert all(len(line) < 100 for frame in frames[:-1] for line in frame.splitlines())


def test_averages_fit_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names of varied parameters are shortened while they stay distinct; at 80 columns the table once took 96."""
    ends = ("", "_ci95", "_low", "_high")
    figures = {f"goodput_bps{end}": np.array([24e6, 25e6]) for end in ends} | {"goodput_bps_seeds": np.array([5, 5])}
    names = ["stations.sta.count", "stations.phone.count", "ap.queue.discipline"]
    by = {name: np.array([1, 2]) for name in names}
    table = Columns({**by, "seeds": np.array([5, 5]), **figures})
    for columns, head in (("120", names), ("80", ["sta.count", "phone.count", "queue.discipline"])):
        monkeypatch.setenv("COLUMNS", columns)
        lines = averages(table, names, ["goodput_bps"]).splitlines()
        assert lines[0].split()[:3] == head
        assert max(map(len, lines)) <= int(columns)
