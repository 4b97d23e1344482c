"""The command as a user types it: output, exit codes, messages, files."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command import COMMAND, started, wifair
from wifair import __version__


def test_version() -> None:
    assert wifair("--version")[0] == f"wifair {__version__}\n"


def test_help_lists_the_commands() -> None:
    out, _ = wifair("--help")
    assert {"run", "check", "schema", "list"} <= set(re.findall(r"^  (\w+)", out, re.M))


@pytest.mark.parametrize("options", [["--help"], ["run", "FILE"], ["run", "FILE", "--seeds", "1..2", "--json"]])
def test_a_quick_command_imports_nothing_heavy(options: list[str], file: Path) -> None:
    arguments = [str(file) if option == "FILE" else option for option in options]
    program = (
        "import sys; from wifair.cli import main; main(sys.argv[1:], standalone_mode=False); "
        "print(sorted({'numpy', 'matplotlib', 'pyarrow'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"


@pytest.mark.parametrize("command", ["run", "analyze", "check", "list", "schema"])
def test_every_command_has_help_with_an_example(command: str) -> None:
    out, _ = wifair(command, "--help")
    assert f"  wifair {command}" in out


def test_run_shows_flows_and_cell(file: Path) -> None:
    out, err = wifair("run", file)
    assert re.search(r"^up1\s+up\s+[\d.]+ Mb/s", out, re.M)
    assert re.search(r"^Jain's index\s+0\.\d+|1\.000", out, re.M)
    assert err == ""


def test_json_has_the_documented_fields(file: Path) -> None:
    out, _ = wifair("run", file, "--seeds", "1..2", "--json")
    result = json.loads(out)
    assert result["seeds"] == [1, 2]
    assert [run["seed"] for run in result["runs"]] == [1, 2]
    run = result["runs"][0]
    assert [flow["name"] for flow in run["flows"]] == ["up1", "up2"]
    assert {"direction", "goodput_bps", "received_bytes", "retransmissions", "timeouts", "rtt_mean_s"} <= set(
        run["flows"][0]
    )
    assert {
        "goodput_bps",
        "jain_index",
        "up_down_ratio",
        "uplink_share",
        "starved_fraction",
        "instantaneous_fairness",
        "ap_queue_mean_packets",
    } <= set(run["cell"])
    assert run["cell"]["up_down_ratio"] is None
    assert set(result["summary"]) == set(run["cell"])
    goodputs = [run["cell"]["goodput_bps"] for run in result["runs"]]
    summary = result["summary"]["goodput_bps"]
    assert summary["mean"] == pytest.approx(sum(goodputs) / 2)
    assert summary["ci95"] is summary["low"] is summary["high"] is None  # two runs are too few


def test_any_number_of_threads_gives_the_same_bytes(file: Path) -> None:
    one, _ = wifair("run", file, "--seeds", "1..4", "--json", "--threads", 1)
    two, _ = wifair("run", file, "--seeds", "1..4", "--json", "--threads", 2)
    again, _ = wifair("run", file, "--seeds", "1..4", "--json", "--threads", 2)
    assert one == two == again


def test_set_duration_and_standard_input(file: Path, text: str) -> None:
    out, _ = wifair("run", file, "--set", "stations.count=3", "--duration", "4 s", "--json")
    run = json.loads(out)["runs"][0]
    assert len(run["flows"]) == 3
    assert run["measured_s"] == 3
    out, _ = wifair("run", "-", "--json", stdin=text)
    assert len(json.loads(out)["runs"][0]["flows"]) == 2


def test_plot_draws_bars(file: Path) -> None:
    out, _ = wifair("run", file, "--plot")
    assert out.count("█") > 10


def test_stations_show_who_takes_the_air() -> None:
    """By hand from the columns of the same run: two aggregating uploads, one of voice, and an access point."""
    text = """
duration = "2 s"
wlan.standard = "802.11n"
servers = [{ name = "server", delay = "5 ms" }]
stations = [{ name = "a" }, { name = "b", mcs = 0 }, { name = "idle" }]
flows = [
    { name = "up", station = "a", direction = "up" },
    { name = "slow", station = "b", direction = "up", category = "voice" },
]
"""
    out, _ = wifair("run", "-", "--stations", stdin=text)
    *_, head, ap, a, b, idle = out.splitlines()
    titles = "station, frames, MPDUs each, retries, air time, of all, to it, voice, best effort"
    assert re.split("  +", head) == titles.split(", ")
    run = json.loads(wifair("run", "-", "--json", stdin=text)[0])["runs"][0]
    stations = {station["name"]: station for station in run["stations"]}
    spent = {
        name: sum(station[f"air_{kind}_s"] for kind in ("data", "control", "collided"))
        for name, station in stations.items()
    }
    of_all = {name: f"{100 * air / sum(spent.values()):.1f} %" for name, air in spent.items()}
    for line, name in ((ap, "ap"), (a, "a"), (b, "b")):
        cells = re.split("  +", line)
        assert (cells[0], cells[1], cells[5]) == (name, str(stations[name]["attempts"]), of_all[name])
    assert re.split("  +", b)[2] == f"{stations['b']['mpdus'] / stations['b']['ppdus']:.3g}"
    assert re.split("  +", b)[7:] == [f"{stations['b']['air_voice_s']:.3g} s", "-"]
    assert re.split("  +", idle) == ["idle", "0", "-", "-", "0 ms", "0.0 %", "0.0 %", "-", "-"]
    # With JSON on stdout the table goes to stderr.
    out, err = wifair("run", "-", "--json", "--stations", stdin=text)
    assert json.loads(out)["runs"]
    assert b in err


def test_out_has_columns_and_provenance(file: Path, tmp_path: Path, text: str) -> None:
    out = tmp_path / "deep" / "results"
    wifair("run", file, "--seeds", "3,5", "--out", out, "--format", "csv", "--series")
    with (out / "flows.csv").open() as table:
        rows = list(csv.DictReader(table))
    assert [(row["seed"], row["name"]) for row in rows] == [("3", "up1"), ("3", "up2"), ("5", "up1"), ("5", "up2")]
    provenance = json.loads((out / "provenance.json").read_text())
    assert provenance["version"] == __version__
    assert provenance["seeds"] == [3, 5]
    assert re.fullmatch("[0-9a-f]{64}", provenance["scenario"]["hash"])
    assert provenance["columns"]["flows"]["goodput_bps"].endswith("[bit/s].")
    assert (out / "scenario.toml").read_text() == text
    with (out / "series.csv").open() as table:
        series = list(csv.DictReader(table))
    assert {"time_s", "flow", "cwnd", "ssthresh", "srtt_s", "goodput_bps"} <= set(series[0])
    # The resolved scenario gives the same results.
    again, _ = wifair("run", out / "resolved.toml", "--seeds", "3,5", "--json")
    assert json.loads(again)["runs"] == json.loads(wifair("run", file, "--seeds", "3,5", "--json")[0])["runs"]


def test_out_is_not_overwritten_without_force(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "results"
    wifair("run", file, "--out", out, "--format", "csv")
    before = (out / "cells.csv").read_text()
    _, err = wifair("run", file, "--out", out, "--seed", 2, code=2)
    assert "holds results" in err
    assert "--force" in err
    assert (out / "cells.csv").read_text() == before
    wifair("run", file, "--out", out, "--seed", 2, "--force", "--format", "csv")
    assert (out / "cells.csv").read_text() != before
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_force_replaces_only_results(file: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "thesis.tex").write_text("precious")
    _, err = wifair("run", file, "--out", tmp_path / "thesis", "--force", code=2)
    assert "holds other files" in err
    assert (tmp_path / "thesis" / "thesis.tex").read_text() == "precious"


def test_out_that_cannot_be_written(file: Path, tmp_path: Path) -> None:
    (tmp_path / "a file").write_text("")
    _, err = wifair("run", file, "--out", tmp_path / "a file" / "results", code=2)
    assert err.startswith("error: cannot write to")
    assert "not a directory" in err


def test_out_whose_name_is_not_utf8(file: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    wifair("run", file, "--duration", "1.1 s", "--out", tmp_path / os.fsdecode(b"r\xff"))
    assert (tmp_path / os.fsdecode(b"r\xff") / "flows.parquet").stat().st_size > 0


def test_parquet_equals_csv(file: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    wifair("run", file, "--out", tmp_path / "r")
    table = parquet.read_table(tmp_path / "r" / "flows.parquet")
    with (tmp_path / "r" / "flows.csv").open() as file_:
        rows = list(csv.DictReader(file_))
    assert [str(v) for v in table["received_bytes"].to_pylist()] == [row["received_bytes"] for row in rows]
    assert table.schema.field("goodput_bps").metadata[b"meaning"].endswith(b"[bit/s].")


def test_figure(file: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    wifair("run", file, "--series", "--figure", tmp_path / "f.png")
    assert (tmp_path / "f.png").read_bytes().startswith(b"\x89PNG")
    _, err = wifair("run", file, "--figure", tmp_path / "f.nonsense", code=2)
    assert err.startswith("error: ")


def test_a_figure_without_an_access_point_has_no_panel_for_its_queue(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    wifair("init", "dumbbell", cwd=tmp_path)
    wifair("run", "dumbbell.toml", "--duration", "12 s", "--series", "--figure", "f.svg", cwd=tmp_path)
    drawn = (tmp_path / "f.svg").read_text()
    assert "<!-- cwnd [segments] -->" in drawn
    assert "AP queue" not in drawn


def test_check(file: Path) -> None:
    out, _ = wifair("check", file)
    assert out.startswith(f"{file}: ok: ")
    out, _ = wifair("check", file, "--resolved")
    assert 'standard = "802.11b"' in out
    assert json.loads(wifair("check", file, "--json")[0])["ok"] is True
    out, _ = wifair("check", file, "--set", "stations.count=-1", "--json", code=2)
    assert json.loads(out)["problems"][0]["message"]


def test_schema_is_json_schema() -> None:
    schema = json.loads(wifair("schema")[0])
    assert schema["$schema"].startswith("https://json-schema.org/")
    assert {"wlan", "stations", "flows"} <= set(schema["properties"])
    assert "`warm_up`" in wifair("schema", "--markdown")[0]


def test_list() -> None:
    out, _ = wifair("list", "cc")
    assert re.search(r"^  newreno\s+.*RFC 6582", out, re.M | re.S)
    assert {entry["name"] for entry in json.loads(wifair("list", "cc", "--json")[0])} >= {"reno", "newreno", "vegas"}
    assert wifair("list", "queues")[0].startswith("ap.queue.discipline\n  fifo")
    assert re.findall(r"^ap\..*", wifair("list", "schemes")[0], re.M)[:2] == ["ap.scheme.window", "ap.scheme.uplink"]
    assert re.findall(r"^\S.*|^  \S+", wifair("list", "compound")[0], re.M) == ["tcp.cc", "  compound"]
    _, err = wifair("list", "ccc", code=2)
    assert "did you mean `cc`?" in err


def changed(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new)


BAD = {
    "unknown key": ("count = 2", "cuont = 2", "did you mean `count`?"),
    "missing unit": ('delay = "10 ms"', "delay = 10", "has no unit"),
    "negative rate": ('delay = "10 ms"', 'rate = "-5 Mb/s"', "rate"),
    "CWmin above CWmax": ('standard = "802.11b"', 'standard = "802.11b"\ncw_min = 63\ncw_max = 31', "cw_m"),
    "too many stations": ("count = 2", "count = 100001", "count"),
    "stop before start": ('direction = "up"', 'direction = "up"\nstart = "2 s"\nstop = "1 s"', "stop"),
    "duplicate name": ("[[stations]]", '[[stations]]\nname = "sta"\n[[stations]]', "sta"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_scenarios_give_one_clear_message(what: str, tmp_path: Path, text: str) -> None:
    old, new, expected = BAD[what]
    path = tmp_path / "bad.toml"
    path.write_text(changed(text, old, new))
    for command in ("run", "check"):
        out, err = wifair(command, path, code=2)
        assert out == ""
        assert err.startswith("error: ")
        assert expected in err
        assert f"--> {path}:" in err


def test_all_errors_are_shown_at_once(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(changed(changed(text, "count = 2", "cuont = 2"), '"10 ms"', "10"))
    _, err = wifair("check", path, code=2)
    assert err.count("error: ") == 2


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"\x7fELF\x02\x01\x01\x00\x00\x00", "not a text file"),
        ('name = "caf\u00e9"\nduration = "1 s"\n'.encode("latin-1"), "UTF-8"),
        (b"", "duration"),
        (b"[[[", "error: "),
    ],
    ids=["binary", "latin-1", "empty", "no TOML"],
)
def test_files_that_are_not_scenarios(content: bytes, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "odd.toml"
    path.write_bytes(content)
    _, err = wifair("run", path, code=2)
    assert err.startswith("error: ")
    assert expected in err


@pytest.mark.alone
def test_a_file_of_two_gigabytes_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "huge.toml"
    with path.open("wb") as huge:
        huge.truncate(2 << 30)  # a hole: takes no space
    began = time.monotonic()
    _, err = wifair("run", path, code=2)
    assert "2147.5 MB" in err
    assert time.monotonic() - began < 5


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    _, err = wifair("run", tmp_path / "nowhere.toml", code=2)
    assert err == f"error: cannot read `{tmp_path / 'nowhere.toml'}`: no such file or directory\n"
    _, err = wifair("check", tmp_path, code=2)
    assert "is a directory" in err


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["--seeds", "5..1"], "empty"),
        (["--seeds", "1,1"], "twice"),
        (["--seeds", "x"], "no seed"),
        (["--set", "ap.queue.limt=5packets"], "did you mean"),
        (["--set", "nonsense"], "nonsense"),
        (["--duration", "10"], "has no unit"),
        (["--threads", "0"], "--threads"),
        (["--series"], "--out"),
        (["--series", "--json", "--series-step", "10"], "unit"),
        (["--nonsense"], "--nonsense"),
    ],
)
def test_bad_options(args: list[str], expected: str, file: Path) -> None:
    out, err = wifair("run", file, *args, code=2)
    assert out == ""
    assert expected in err


def test_a_misspelt_command_is_suggested() -> None:
    assert "did you mean `check`?" in wifair("chek", "x.toml", code=2)[1]


def test_ctrl_c_keeps_finished_runs(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "partial"
    # A short run first, then one that would take hours: seeds take turns on one thread.
    with started("run", file, "--duration", "10000000 s", "--out", out, "--threads", 1) as process:
        while len(list(tmp_path.iterdir())) == 1 and process.poll() is None:
            time.sleep(0.05)  # until the folder of the results is prepared, which is just before the run
        time.sleep(1.5)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "interrupted: 0 of 1 runs had finished" in err
    assert "Traceback" not in err
    assert not out.exists()
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


def test_colour_follows_the_environment(tmp_path: Path) -> None:
    def err(**env: str) -> bytes:
        done = subprocess.run(
            [*COMMAND, "run", str(tmp_path / "nowhere")], capture_output=True, check=False, env={**os.environ, **env}
        )
        return done.stderr

    assert b"\x1b[" not in err()
    assert b"\x1b[" in err(FORCE_COLOR="1")
    assert b"\x1b[" not in err(FORCE_COLOR="1", NO_COLOR="1")


def test_results_are_kept_when_nobody_reads_the_table(file: Path, tmp_path: Path) -> None:
    """`wifair run FILE --out DIR | head -1` lost the folder."""
    command = [sys.executable, "-m", "wifair", "run", str(file), "--out", str(tmp_path / "out"), "--quiet"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        process.stdout.close()
    assert (tmp_path / "out" / "summary.json").exists()
