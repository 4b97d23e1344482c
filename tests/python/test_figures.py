"""Figures are fit for print: fonts, resolution, sizes, axes; and they show who starved."""

from __future__ import annotations

import itertools
import struct
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import wifair
from click.testing import CliRunner
from wifair.cli import main
from wifair.columns import Columns
from wifair.figures import style, sweep
from wifair.figures._labels import parameter, quantity
from wifair.figures.run import draw

pytest.importorskip("matplotlib")

SCENARIO = """
name = "two and a sensor"
duration = "20 s"
warm_up = "4 s"
[wlan]
standard = "802.11b"
[[servers]]
name = "server"
delay = "5 ms"
[[stations]]
name = "sta"
count = 3
[[flows]]
name = "up"
station = "sta1"
direction = "up"
[[flows]]
name = "down"
station = "sta2"
direction = "down"
[[flows]]
name = "little"
station = "sta3"
direction = "up"
transport = "udp"
udp.rate = "10 kb/s"
udp.payload = "100 B"
"""


@cache
def results(seeds: int = 1, series: str | None = "500 ms") -> wifair.Results:
    return wifair.run(wifair.Scenario.from_text(SCENARIO), seeds=range(1, seeds + 1), series=series)


def axes_with(figure: Any, label: str) -> Any:
    return next(axes for axes in figure.axes if label in (axes.get_xlabel(), axes.get_ylabel()))


@pytest.fixture
def file(tmp_path: Path) -> str:
    (tmp_path / "s.toml").write_text(SCENARIO)
    return str(tmp_path / "s.toml")


def test_fonts_are_embedded_as_truetype(tmp_path: Path) -> None:
    """Type 3 fonts are refused by IEEE's PDF eXpress; user settings must not bring them back."""
    import matplotlib as mpl  # noqa: PLC0415

    with mpl.rc_context({"pdf.fonttype": 3}):
        results().figure().savefig(tmp_path / "run.pdf")
    found = (tmp_path / "run.pdf").read_bytes()
    assert b"/Type3" not in found
    assert b"/TrueType" in found or b"/CIDFontType2" in found


def test_png_has_300_dots_per_inch_and_the_width_of_a_column(tmp_path: Path) -> None:
    results().save_figure(tmp_path / "run.png", size="one-column")
    png = (tmp_path / "run.png").read_bytes()
    at = png.index(b"pHYs") + 4
    per_metre = struct.unpack(">II", png[at : at + 8])
    assert per_metre == (11811, 11811)  # 300 / 0.0254
    width = struct.unpack(">I", png[16:20])[0]
    assert width == 1050  # 3.5 in, the column of IEEE


def test_the_same_figure_gives_the_same_bytes(tmp_path: Path) -> None:
    for ending in ("png", "svg", "pdf"):
        for number in (1, 2):
            results().save_figure(tmp_path / f"{number}.{ending}")
        assert (tmp_path / f"1.{ending}").read_bytes() == (tmp_path / f"2.{ending}").read_bytes()


def test_the_heat_map_has_a_row_for_each_flow_and_shows_its_goodput() -> None:
    figure = results().figure()
    heat = figure.axes[0]
    assert [text.get_text() for text in heat.get_yticklabels()] == ["up", "down", "little"]
    mesh = heat.collections[0].get_array().reshape(3, -1)
    series = results().series
    assert series is not None
    for row, name in enumerate(["little", "down", "up"]):  # the first row is the lowest
        assert mesh[row].mean() == pytest.approx(series.filter(flow=name)["goodput_bps"].mean() / 1e6)


def test_the_warm_up_is_shaded() -> None:
    from matplotlib.patches import Rectangle  # noqa: PLC0415

    heat = results().figure().axes[0]
    spans = [patch for patch in heat.patches if isinstance(patch, Rectangle)]
    assert {(span.get_x(), span.get_width()) for span in spans} == {(0.0, 4.0)}


def test_starved_flows_are_red_and_their_bars_say_so() -> None:
    loud = wifair.run(
        wifair.Scenario.from_file(wifair_gallery("hot-spot")).with_({"stations.count": 20, "duration": "40 s"}),
        seeds=[1],
        series="500 ms",
    )
    goodput = np.asarray(loud.flows["goodput_bps"])
    starved = {str(name) for name, value in zip(loud.flows["name"], goodput) if value < 0.1 * goodput.mean()}
    assert len(starved) > 3
    heat = loud.figure().axes[0]
    red = {text.get_text() for text in heat.get_yticklabels() if text.get_color() == style.STARVED}
    assert red == starved


def wifair_gallery(name: str) -> Path:
    return Path(wifair.__file__).parent / "gallery" / f"{name}.toml"


def test_several_seeds_have_intervals_and_points() -> None:
    several = results(4, None)
    axes = several.figure().axes[0]
    assert len(axes.containers) == 2  # bars and their intervals
    points = next(line for line in axes.lines if len(line.get_xdata()) == 12)
    assert np.allclose(np.sort(points.get_xdata()), np.sort(several.flows["goodput_bps"]) / 1e6)


def test_one_flow_is_a_line() -> None:
    alone = SCENARIO.split('[[flows]]\nname = "down"', maxsplit=1)[0]
    axes = wifair.run(wifair.Scenario.from_text(alone), series="1 s", seeds=[1]).figure().axes
    assert [a.get_ylabel() for a in axes] == ["goodput [Mb/s]", "cwnd [segments]", "AP queue\n[packets]"]
    assert axes[-1].get_xlim() == (0, 20)  # nothing is before 0, and the run ends at 20 s


def test_large_numbers_have_thousands_separators() -> None:
    axes = results().figure().axes[2]
    axes.set_ylim(0, 400_000)
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert "400,000" in labels
    assert "0" in labels
    axes.set_ylim(0, 4)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["0", "2", "4"]


def test_title_labels_size_and_logarithm() -> None:
    figure = results().figure(
        title="Who waits?", labels={"little": "sensor", "goodput_bps": "rate"}, size="16 x 9 cm", logy=True
    )
    assert figure.get_suptitle() == "Who waits?"
    assert figure.get_size_inches() == pytest.approx([16 / 2.54, 9 / 2.54])
    assert figure.axes[0].get_yticklabels()[2].get_text() == "sensor"
    assert axes_with(figure, "rate").get_xscale() == "log"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": "huge"}, "`huge` is not a size of a figure: write one-column, two-column"),
        ({"size": "5 km"}, "is not a size"),
        ({"size": "0.1 in"}, "between 0.5 and 40 inches"),
        ({"labels": {"nobody": "x"}}, "label `nobody`: the figure shows nothing of that name; there are up, down"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        results().figure(**options)


def test_command_draws_time_series_without_series_and_prints_the_same(file: str, tmp_path: Path) -> None:
    plain = CliRunner().invoke(main, ["run", file, "--json"])
    drawn = CliRunner().invoke(
        main, ["run", file, "--json", "--figure", str(tmp_path / "f.svg"), "--title", "T", "--label", "up=Ann"]
    )
    assert drawn.exit_code == 0, drawn.output
    assert drawn.stdout == plain.stdout
    assert (tmp_path / "f.svg").stat().st_size > 20_000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--title", "T"], "--title, --label, --size and --logy need --figure"),
        (["--figure", "f.png", "--label", "up"], "--label `up`: write NAME=TEXT"),
        (["--figure", "f.png", "--size", "9"], "`9` is not a size of a figure"),
    ],
)
def test_wrong_usage(arguments: list[str], message: str, file: str) -> None:
    done = CliRunner().invoke(main, ["run", file, *arguments])
    assert done.exit_code == 2
    assert message in done.stderr


def test_comparison_has_readable_names_and_a_logarithmic_ratio() -> None:
    scenario = wifair.Scenario.from_text(SCENARIO)
    both = wifair.compare(scenario, scenario.with_({"ap.queue.discipline": "las"}), seeds=[1, 2, 3], names=["a", "b"])
    figure = both.figure(labels={"b": "LAS"})
    assert axes_with(figure, "uplink / downlink").get_yscale() == "log"
    assert axes_with(figure, "goodput [Mb/s]").get_yscale() == "linear"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a", "LAS"]


@pytest.mark.parametrize(
    ("ends", "shown"), [((2, 30), "2 20"), ((5.3, 5.65), "5.4 5.6"), ((1, 2000), "10 1,000"), ((1e-3, 1), "1")]
)
def test_ticks_on_a_logarithmic_axis_are_plain_numbers(ends: tuple[float, float], shown: str) -> None:
    figure = style.new_figure(style.Look(), width_in=3.5, height_in=2.0)
    axes = figure.subplots()
    axes.plot([0, 1], ends)
    style.logarithmic(axes)
    figure.draw_without_rendering()
    texts = {tick.get_text() for tick in axes.get_yticklabels(which="both")}
    assert set(shown.split()) <= texts
    assert not any("10^{0}" in text for text in texts)  # it was 5.4 x 10^0


def test_a_marker_at_zero_is_not_clipped() -> None:
    scenario = wifair.Scenario.from_text(SCENARIO)
    figure = wifair.compare(scenario, scenario.with_({"ap.queue.limit": "3 packets"}), seeds=[1, 2, 3]).figure()
    from_zero = [axes for axes in figure.axes if axes.get_visible() and axes.get_ylim()[0] == 0]
    assert from_zero
    assert not any(line.get_clip_on() for axes in from_zero for line in axes.lines)


def test_a_sweep_has_ticks_at_its_points() -> None:
    data = {
        "stations.count": np.array([2, 8, 20]),
        "goodput_bps": np.array([5e6, 4e6, 3e6]),
        "goodput_bps_low": np.array([4.9e6, 3.9e6, 2.9e6]),
        "goodput_bps_high": np.array([5.1e6, 4.1e6, 3.1e6]),
        "up_down_ratio": np.array([1.0, 4.0, 20.0]),
        "up_down_ratio_low": np.array([0.9, 3.9, 19.0]),
        "up_down_ratio_high": np.array([1.1, 4.1, 21.0]),
    }
    figure = sweep.draw(Columns(data), "stations.count", ["goodput_bps", "up_down_ratio"], [])
    goodput, ratio = figure.axes
    assert ratio.get_xticks().tolist() == [2, 8, 20]
    assert ratio.get_xlabel() == "number of stations"
    assert (goodput.get_yscale(), ratio.get_yscale()) == ("linear", "log")


def test_a_legend_covers_no_line() -> None:
    """Lines go up and down all over the panel, so the legend is beside it."""
    rows = [(count, cc) for cc in range(4) for count in range(1, 9)]
    goodput = np.array([1e6 * (1 + (count + cc) % 4) for count, cc in rows])
    data: dict[str, Any] = {
        "stations.count": np.array([count for count, _ in rows]),
        "flows.tcp.cc": np.array([("reno", "cubic", "vegas", "bbr")[cc] for _, cc in rows]),
        "goodput_bps": goodput,
        "goodput_bps_low": goodput - 1e4,
        "goodput_bps_high": goodput + 1e4,
    }
    figure = sweep.draw(Columns(data), "stations.count", ["goodput_bps"], ["flows.tcp.cc"])
    figure.draw_without_rendering()
    (legend,) = figure.legends
    assert legend.get_window_extent().x0 >= figure.axes[0].get_window_extent().x1
    assert [text.get_text() for text in legend.get_texts()] == ["reno", "cubic", "vegas", "bbr"]


@pytest.mark.parametrize("ending", ["gif", "jpg", "eps", "svgz"])
def test_other_kinds_of_files_are_refused_even_if_matplotlib_writes_them(ending: str, tmp_path: Path) -> None:
    """The formats of figures are PNG, SVG and PDF."""
    expected = f"`.{ending}` is no kind of figure: let `.*` end in .png, .svg or .pdf"
    with pytest.raises(ValueError, match=expected):
        results().save_figure(tmp_path / f"run.{ending}")
    wifair.run(wifair.Scenario.from_text(SCENARIO), pcap=wifair.Pcap(tmp_path / "cap", at=("server",)))
    capture = wifair.read_capture(tmp_path / "cap" / "server.pcap", packets=True)
    with pytest.raises(ValueError, match=expected):
        capture.plot(tmp_path / "figures", formats=["png", ending])
    assert not (tmp_path / "figures").exists()


def test_a_slow_computer_gets_no_warning_about_legends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """matplotlib warns if it takes a second to find a place for a legend, unless it was told to look for one."""
    seconds = itertools.count(0.0, 10.0)
    monkeypatch.setattr("matplotlib.legend.time", SimpleNamespace(perf_counter=lambda: next(seconds)))
    wifair.run(wifair.Scenario.from_text(SCENARIO), pcap=wifair.Pcap(tmp_path / "cap", at=("server",)))
    capture = wifair.read_capture(tmp_path / "cap" / "server.pcap", packets=True)
    assert capture.plot(tmp_path / "figures")
    data = {
        "n": [1, 1, 2, 2],
        "cc": ["a", "b", "a", "b"],
        **{f"jain_index{end}": [0.5] * 4 for end in ("", "_low", "_high")},
    }
    columns = Columns({name: np.array(values) for name, values in data.items()})
    style.save(sweep.draw(columns, "n", ["jain_index"], ["cc"]), tmp_path / "sweep.svg")


def test_points_without_the_x_parameter_get_a_tick_not_set() -> None:
    data = {
        "ap.queue.discipline": np.array(["las", ""]),
        "goodput_bps": np.array([5e6, 4e6]),
        "goodput_bps_low": np.array([4.9e6, 3.9e6]),
        "goodput_bps_high": np.array([5.1e6, 4.1e6]),
    }
    figure = sweep.draw(Columns(data), "ap.queue.discipline", ["goodput_bps"], [])
    assert [tick.get_text() for tick in figure.axes[0].get_xticklabels()] == ["las", "not set"]


def test_names_and_units() -> None:
    assert quantity("rtt_p95_s", 0.4).axis == "RTT, 95th percentile [ms]"
    assert quantity("rtt_p95_s", 4.0).axis == "RTT, 95th percentile [s]"
    assert quantity("goodput_bps", 5e4).axis == "goodput [kb/s]"
    assert quantity("starved_fraction", 0.4).axis == "starved flows [%]"
    assert quantity("some_new_figure").axis == "some new figure"
    assert parameter("flows.up.tcp.cc") == parameter("flows.tcp.cc") == "congestion control"
    assert parameter("stations.sender.count") == "number of stations (sender)"
    assert parameter("stations.far.circle.radius") == parameter("stations.circle.radius") == "distance from the centre"
    assert parameter("some.other.path") == "some.other.path"


def test_no_flow_is_an_error() -> None:
    class Nothing:
        seeds = (1,)
        flows = Columns({"name": np.array([], dtype=str), "direction": np.array([], dtype=str), "goodput_bps": []})

    with pytest.raises(ValueError, match="no flow"):
        draw(Nothing())  # type: ignore[arg-type]


def test_a_window_is_drawn_from_the_start_of_its_flow_on() -> None:
    """The line was at the initial window from 0 s on."""
    late = wifair.Scenario.from_text(SCENARIO.replace('direction = "down"', 'direction = "down"\nstart = "7.05 s"'))
    axes = draw(wifair.run(late, seeds=[1], series="100 ms")).axes
    (windows,) = [one for one in axes if one.get_ylabel() == "cwnd [segments]"]
    begins = {line.get_label().partition(",")[0]: float(line.get_xdata()[0]) for line in windows.get_lines()}
    assert begins["up"] == 0.1
    assert begins["down"] in (7.1, 7.2)  # a round trip takes 10 ms and what waits at the access point


def test_flows_without_a_window_are_not_in_the_legend_of_windows() -> None:
    """A call and a video were."""
    scenario = wifair.Scenario.from_file(wifair_gallery("four-categories")).with_(duration="4 s")
    figure = wifair.run(scenario, seeds=[1], series="500 ms").figure()
    legends = [legend for axes in figure.axes if (legend := axes.get_legend()) is not None]
    windows = next(legend for legend in legends if legend.get_title().get_text() == "cwnd of")
    assert sorted(text.get_text().partition(",")[0] for text in windows.get_texts()) == ["upload1", "upload2"]
