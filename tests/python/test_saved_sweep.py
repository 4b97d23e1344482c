"""`read_sweep`, averages of a sweep, and figures of the user's own."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import wifair
from command import wifair as command
from wifair import Columns, statistics
from wifair.figures.style import Look
from wifair.figures.sweep import draw

MODULE = """
def least(results):
    return results.flows["goodput_bps"].min()

def broken(results):
    return 1 / 0
"""


def least(results: Any) -> float:
    return float(results.flows["goodput_bps"].min())


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, text: str) -> Path:
    path = tmp_path_factory.mktemp("sweep") / "store"
    wifair.sweep(
        wifair.Scenario.from_text(text),
        vary={"stations.count": [1, 2], "flows.tcp.cc": ["newreno", "vegas"]},
        seeds=range(1, 5),
        metrics={"least_bps": least},
        out=path,
    )
    return path


def test_a_store_opens_as_tables(store: Path) -> None:
    sweep = wifair.read_sweep(store)
    assert sweep.parameters == ["stations.count", "flows.tcp.cc"]
    assert len(sweep.runs) == 16
    assert list(sweep.runs)[:3] == ["stations.count", "flows.tcp.cc", "seed"]
    assert len(sweep.flows) == 4 * 2 * (1 + 2)
    assert list(sweep.tables) == ["flows"]
    assert sweep.failures == []
    with pytest.raises(KeyError, match="sessions"):
        sweep.table("sessions")


def test_a_summary_has_the_mean_and_its_interval_for_each_point(store: Path) -> None:
    sweep = wifair.read_sweep(store)
    table = sweep.summary()
    assert len(table) == 4
    rows = sweep.runs
    for row in table.to_dicts():
        here = (rows["stations.count"] == row["stations.count"]) & (rows["flows.tcp.cc"] == row["flows.tcp.cc"])
        values = rows["goodput_bps"][here]
        assert len(values) == row["seeds"] == 4
        assert row["goodput_bps"] == pytest.approx(values.mean())
        half = statistics.student_t_quantile(0.975, 3) * values.std(ddof=1) / math.sqrt(4)
        assert row["goodput_bps_ci95"] == pytest.approx(half)


def test_a_mean_over_other_parameters_counts_each_seed_once(store: Path) -> None:
    sweep = wifair.read_sweep(store)
    table = sweep.summary(by="cc", figures=["goodput"])
    assert list(table["flows.tcp.cc"]) == ["newreno", "vegas"]
    assert list(table["seeds"]) == [4, 4]
    reno = sweep.runs.filter(**{"flows.tcp.cc": "newreno"})
    each = [reno["goodput_bps"][reno["seed"] == seed].mean() for seed in range(1, 5)]
    assert table["goodput_bps"][0] == pytest.approx(np.mean(each))
    half = statistics.student_t_quantile(0.975, 3) * np.std(each, ddof=1) / 2
    assert table["goodput_bps_ci95"][0] == pytest.approx(half)
    with pytest.raises(ValueError, match="no figure `gudput`"):
        sweep.summary(figures="gudput")
    with pytest.raises(ValueError, match="no parameter `nothing`"):
        sweep.summary(by="nothing")


def test_flows_are_averaged_by_name(store: Path) -> None:
    table = wifair.read_sweep(store, where="stations.count=2").summary(table="flows", figures="goodput_bps")
    assert list(zip(table["flows.tcp.cc"], table["name"])) == [
        ("newreno", "up1"),
        ("newreno", "up2"),
        ("vegas", "up1"),
        ("vegas", "up2"),
    ]


def test_what_is_printed_is_what_one_reads(store: Path, text: str) -> None:
    shown = repr(wifair.read_sweep(store))
    assert re.search(r"stations.count +flows.tcp.cc +seeds +goodput_bps +jain_index", shown)
    assert len(shown.splitlines()) == 6
    assert "16 runs in" in shown
    runs = wifair.sweep(text_scenario(text), vary={"stations.count": [1, 2]}, seeds=[1, 2, 3])
    assert re.search(r"^ +2 +3 +[\d.]+ ± [\d.]+ Mb/s", repr(runs), re.M)
    assert runs.summary(figures="goodput_bps")["seeds"].tolist() == [3, 3]


def text_scenario(text: str) -> wifair.Scenario:
    return wifair.Scenario.from_text(text)


def test_a_figure_of_the_users_own_is_a_column(store: Path, tmp_path: Path) -> None:
    sweep = wifair.read_sweep(store)
    flows = sweep.flows
    for row in sweep.runs.to_dicts():
        here = [
            flow["goodput_bps"]
            for flow in flows.to_dicts()
            if all(flow[name] == row[name] for name in (*sweep.parameters, "seed"))
        ]
        assert row["least_bps"] == min(here)
    assert "test_saved_sweep:least" in sweep.runs.about["least_bps"]
    shown, _ = command("results", str(store), "--show", "least_bps", "--where", "least_bps>0")
    assert "least_bps" in shown
    command("results", "merge", str(tmp_path / "all"), str(store))
    assert wifair.read_sweep(tmp_path / "all").runs["least_bps"].tolist() == sweep.runs["least_bps"].tolist()


def test_another_function_of_the_same_name_computes_its_runs_again(text: str, tmp_path: Path) -> None:
    def of(figure: Any) -> wifair.sweeps.Runs:
        counted: list[int] = []
        runs = wifair.sweep(
            text_scenario(text),
            seeds=[1, 2],
            metrics={"mine": figure},
            out=tmp_path / "s",
            progress=lambda progress: counted.append(progress.computed),
        )
        runs.computed = counted[-1]  # type: ignore[attr-defined]
        return runs

    first = of(lambda _: 1)
    assert first.figures["mine"].tolist() == [1, 1]
    assert of(lambda _: 1).computed == 0  # type: ignore[attr-defined]
    for value in (2, 3):
        again = of(lambda _, value=value: value)
        assert again.computed == 2  # type: ignore[attr-defined]
        assert again.figures["mine"].tolist() == [value, value]


def test_the_command_takes_a_function_of_a_module(file: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MODULE)
    out, _ = command(
        "sweep", file.name, "--seeds", "1..3", "--metric", "mine:least", "--metric", "low=mine:least",
        "--processes", "2", "--out", "s", "--quiet", cwd=tmp_path,
    )  # fmt: skip
    assert re.search(r"jain_index +least +low\n", out)
    rows = json.loads(command("results", "s", "--runs", "--json", "--show", "least,low", cwd=tmp_path)[0])
    assert len(rows) == 3
    assert all(row["least"] == row["low"] > 0 for row in rows)


@pytest.mark.parametrize(
    ("metric", "code", "words"),
    [
        ("mine:broken", 1, "metric `broken` raised ZeroDivisionError"),
        ("mine:nothing", 2, "module `mine` has no function `nothing`"),
        ("nowhere:f", 2, "cannot import `nowhere`"),
        ("least", 2, "write module:function"),
        ("jain_index=mine:least", 2, "each run has a figure of that name"),
        ("2x=mine:least", 2, "letters, digits and _"),
    ],
)
def test_a_wrong_function_is_one_error(metric: str, code: int, words: str, file: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MODULE)
    _, err = command("sweep", file.name, "--metric", metric, "--out", "s", "--quiet", code=code, cwd=tmp_path)
    assert words in err
    assert "Traceback" not in err


def test_the_wrong_reader_names_the_right_one(store: Path, text: str, tmp_path: Path) -> None:
    with pytest.raises(wifair.ResultsError, match=r"wifair\.read_sweep"):
        wifair.read_results(store)
    wifair.run(text_scenario(text)).save(tmp_path / "results")
    with pytest.raises(wifair.StoreError, match=r"wifair\.read_results"):
        wifair.read_sweep(tmp_path / "results")
    with pytest.raises(wifair.StoreError):
        wifair.read_sweep(tmp_path / "nothing")


def many(lines: int) -> Columns:
    """Averages of so many lines with three points each, in two parts."""
    rows = [(f"line {n}", part, x) for n in range(lines) for part in ("a", "b") for x in (1, 10, 100)]
    names, parts, x = zip(*rows)
    value = np.arange(float(len(rows)))
    return Columns(
        {"n": np.array(x), "cc": np.array(names), "part": np.array(parts), "goodput_bps": value}
        | {f"goodput_bps_{end}": value for end in ("low", "high")}
    )


@pytest.mark.parametrize("lines", [1, 5, 9, 40])
@pytest.mark.parametrize("panels", [None, "part"])
def test_the_legend_leaves_room_for_the_axes(lines: int, panels: str | None) -> None:
    """Forty lines left the axes a tenth of the height."""
    table = many(lines) if panels else many(lines).filter(part="a")
    figure = draw(table, "n", ["goodput_bps"], ["cc"], panels=panels, logx=True)
    figure.draw_without_rendering()
    boxes = [axes.get_position() for axes in figure.axes]
    assert len(boxes) == (2 if panels else 1)
    assert min(box.height for box in boxes) > 0.5
    assert sum(box.width for box in boxes) > 0.4
    legends = [*figure.legends, *(axes.get_legend() for axes in figure.axes if axes.get_legend())]
    assert [len(legend.get_texts()) for legend in legends] == [lines]
    if lines > 8 or panels:
        outside = legends[0].get_window_extent()
        assert all(outside.x0 >= axes.get_window_extent().x1 for axes in figure.axes)
    assert all(axes.get_xscale() == "log" for axes in figure.axes)


def test_a_figure_without_room_and_an_axis_without_numbers_are_errors() -> None:
    with pytest.raises(ValueError, match="40 lines in 2 panels do not fit into this size"):
        draw(many(40), "n", ["goodput_bps"], ["cc"], Look.of(size="3.5 x 2.4 in"), panels="part")
    with pytest.raises(ValueError, match="`cc` has no logarithmic axis"):
        draw(many(2), "cc", ["goodput_bps"], ["part"], logx=True)


def test_tables_for_papers_have_the_same_cells(store: Path) -> None:
    lines = {form: command("results", str(store), form)[0].splitlines() for form in ("--markdown", "--latex")}
    text = [re.split(r"  +", line.strip()) for line in command("results", str(store))[0].splitlines()]
    markdown = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines["--markdown"]]
    assert set(markdown.pop(1)) == {"---:"}
    assert markdown == text
    assert lines["--latex"][0] == r"\begin{tabular}{rrrrr}"
    assert lines["--latex"][2] == r"stations.count & flows.tcp.cc & seeds & goodput\_bps & jain\_index \\"
    rows = lines["--latex"][4:-2]
    assert [line.replace(r" $\pm$ ", " ± ").removesuffix(r" \\").split(" & ") for line in rows] == text[1:]


@pytest.mark.parametrize(
    "arguments", [("run", "two.toml"), ("sweep", "two.toml", "--out", "s"), ("compare", "two.toml")]
)
@pytest.mark.usefixtures("file")
def test_an_option_given_twice_is_an_error(arguments: tuple[str, ...], tmp_path: Path) -> None:
    _, err = command(*arguments, "--duration", "2 s", "--duration", "3 s", code=2, cwd=tmp_path)
    assert "--duration is given twice, but has one value" in err


@pytest.mark.usefixtures("file")
def test_a_number_of_seeds_is_taken_for_what_it_is_with_a_hint(tmp_path: Path) -> None:
    _, err = command("run", "two.toml", "--seeds", "5", cwd=tmp_path)
    assert err == "note: --seeds 5 is one run, with seed 5; write 1..5 for 5 runs\n"
    assert command("run", "two.toml", "--seeds", "1", cwd=tmp_path)[1] == ""
    assert command("run", "two.toml", "--seed", "5", cwd=tmp_path)[1] == ""
