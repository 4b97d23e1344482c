"""Three wrong inputs for every command: exit code 2, one message that names the place and the remedy."""

from __future__ import annotations

import shlex
import struct
from pathlib import Path

import pytest
import wifair as module
from command import wifair

# Command line, and parts of the message. The folder has two.toml (valid), wrong.toml, empty.pcap,
# real.pcap, notes.txt, full/, store/ (of a sweep).
WRONG: dict[str, list[tuple[str, tuple[str, ...]]]] = {
    "run": [
        ("none.toml", ("cannot read `none.toml`", "no such file")),
        ("wrong.toml", ("wrong.toml:5", "11 Mb/x", "Mb/s")),
        ("two.toml --set flows.up.tcp.cc=renno", ("--set", "renno", "reno")),
        ("two.toml --seeds 5..1", ("5..1", "empty")),
        ("two.toml --series --json --series-step '1 ns'", ("1 ns", "100,000,000 samples")),
        ("two.toml --set duration='1000 h' --figure full", ("what kind of figure", ".svg")),
        ("two.toml --set duration='1000 h' --figure run.zip", ("`.zip` is no kind of figure", ".svg")),
        ("two.toml --set duration='1000 h' --figure run.jpg", ("`.jpg` is no kind of figure", ".svg")),
        ("two.toml --set duration='1000 h' --timeline air.gif", ("`.gif` is no kind of figure", ".svg")),
        ("two.toml --set duration='1000 h' --figure none/run.svg", ("cannot write `none/run.svg`", "no such file")),
        ("two.toml --set duration='1000 h' --out notes.txt", ("`notes.txt` is a file",)),
        ("two.toml --series-step '10 ms'", ("--series-step needs --series",)),
        ("two.toml --format csv", ("--format needs --out",)),
        ("two.toml --duration 10", ("--> --duration 10", 'write "10 s"')),
        ("two.toml --set flows.cc=vegas", ("no name or key `cc`", "write flows.tcp.cc")),
        ("two.toml --set stations.count=", ("`stations.count` has no value", "write a value")),
        ("two.toml --set wlan.standard=n", ("unknown standard `n`", "did you mean `802.11n`?")),
        ("two.toml --set flows.up.tcp.cc=NewReno", ("unknown cc `NewReno`", "did you mean `newreno`?")),
        ("real.pcap", ("`real.pcap` is not a text file", "`wifair analyze` reads captures")),
        ("two.toml --set stations.rate=11", ("no name or key `rate`", "did you mean `data_rate`?")),
        ("two.toml --set wlan.rate=11", ("unknown key `rate`", "`data_rate` or ")),
        ("two.toml --duration '1 s' --set duration='2 s'", ("`duration` is set twice", "leave one out")),
        ("two.toml --set seeds=[1] --set seeds=[2]", ("`seeds` is set twice", "--set seeds=[2]", "--set seeds=[1]")),
        ("two.toml --set sweep.seeds=3", ("unknown key `seeds`", "write seeds")),
        ("two.toml --seed 1 --seeds 2,3", ("--seed and --seeds", "exclude")),
        ("two.toml --set name='\"a\\u001b[31mb\"'", ("name", "control characters")),
    ],
    "check": [
        ("none.toml", ("cannot read `none.toml`",)),
        ("wrong.toml", ("wrong.toml:5", "11 Mb/x")),
        ("two.toml --set stations.count=-1", ("stations.count", "0 ")),
    ],
    "list": [("nothing", ("nothing",)), ("cc cc", ("unexpected",)), ("--nothing", ("--nothing",))],
    "schema": [
        ("two.toml", ("no key or table `two.toml`",)),
        ("--nothing", ("--nothing",)),
        ("--markdown no", ("leave out KEY",)),
    ],
    "analyze": [
        ("none.pcap", ("cannot read `none.pcap`", "no such file")),
        ("empty.pcap", ("empty.pcap", "empty")),
        ("notes.txt", ("notes.txt", "not a capture")),
        ("", ("FILE",)),
        ("real.pcap --format svg", ("--format needs --figure",)),
        ("real.pcap --from '9 s' --to '2 s'", ("from 9 s to 2 s", "nothing")),
    ],
    "compare": [
        ("two.toml", ("second SOURCE", "--against")),
        ("two.toml none/", ("cannot read `none/`",)),
        ("two.toml notes.txt", ("notes.txt", "neither a scenario", "nor a capture")),
        ("two.toml full", ("full", "wifair run --out")),
        ("two.toml --against ap.queue.disciplin=las", ("disciplin", "did you mean")),
        ("real.pcap real.pcap --seeds 1..3", ("--seeds", "for scenarios", "none")),
        ("two.toml two.toml --duration '1000 h' --figure x.zip", (".zip",)),
        ("two.toml two.toml --duration '1000 h' --csv none/x.csv", ("cannot write `none/x.csv`",)),
    ],
    "explain": [
        ("none", ("cannot read `none`",)),
        ("notes.txt", ("neither a scenario",)),
        ("wrong.toml", ("wrong.toml:5",)),
        ("full --seeds 1", ("--seeds", "`full` is none")),
        ("store", ("`store/runs.sqlite` is empty", "nothing to read")),
    ],
    "congestion": [
        ("rneo", ("unknown cc `rneo`", "did you mean `reno`?")),
        ("--scenario cc-trian", ("no scenario `cc-trian`", "did you mean `cc-train`?")),
        ("reno --csv none/x.csv", ("cannot write `none/x.csv`", "no such file")),
    ],
    "emulate": [
        ("", ("FILE", "--replay", "--clean")),
        ("two.toml --clean", ("FILE", "--replay", "--clean")),
        ("none.toml", ("cannot read `none.toml`",)),
        ("two.toml --pcap-at air", ("--pcap-at", "need --pcap")),
        ("two.toml --record none/packets.rec", ("cannot write `none/packets.rec`", "no such file")),
        ("--replay none.rec", ("cannot read `none.rec`", "no such file")),
        ("--replay notes.txt", ("notes.txt", "not a recording")),
    ],
    "bpf": [
        ("load vegas-fare", ("vegas-fare", "did you mean `vegas-fair`?")),
        ("unload nothing", ("nothing", "compound-plus")),
        ("load", ("NAMES",)),
    ],
    "airtime": [
        ("--standard 802.11ac --width 20 --mcs 9 --psdu 1500", ("--mcs", "3 and 6 streams")),
        ("--standard 802.11ax --mcs 3 --guard-interval 400ns --psdu 1500", ("--guard-interval", "3200 ns")),
        ("--standard 802.11n --mcs 0 --psdu 9000", ("--psdu", "at most")),
        ("--standard 802.11b --rate 1Mb/s --short-preamble --psdu 100", ("--short-preamble", "2, 5.5 and 11 Mb/s")),
        ("--standard 802.11ac --mcs 7 --mpdu 1538 --ampdu 64", ("--ampdu", "at most 28 MPDUs")),
        ("--standard 802.11n --mcs 7 --width 80MHz --psdu 100", ("--width", "20 MHz and 40 MHz")),
    ],
    "packetdrill": [
        ("none.pkt", ("none.pkt", "no such file")),
        ("", ("FILE",)),
        ("notes.txt", ("notes.txt:1", "expected a time")),
        ("notes.txt --tolerance_usecs -1", ("--tolerance_usecs",)),
    ],
    "init": [
        ("hotspot", ("no scenario `hotspot`", "hot-spot")),
        ("grid two.toml", ("`two.toml` exists", "--force")),
        ("grid none/grid.toml", ("cannot write `none/grid.toml`", "no such file")),
    ],
    "import": [
        ("flent none.flent", ("cannot read `none.flent`", "o such file")),
        ("iperf3 notes.txt", ("`notes.txt` is no JSON", "iperf3 with --json")),
        ("nonsense notes.txt", ("nonsense",)),
    ],
    "export": [
        ("flent none out.flent.gz", ("none",)),
        ("flent full", ("FILE",)),
        ("nonsense full", ("nonsense",)),
    ],
    "lab": [
        ("none.toml --no-browser", ("none.toml", "o such file")),
        ("--port 99999", ("--port", "65535")),
        ("--nonsense", ("--nonsense",)),
    ],
    "completion": [("tcsh", ("tcsh", "bash")), ("", ("bash", "fish")), ("bash zsh", ("unexpected",))],
    "reproduce": [
        ("jung2017", ("jung2017", "jung2016")),
        ("jung2016/table9", ("table9",)),
        ("jung2016/table1 --threads 0", ("0",)),
        ("--full --out notes.txt", ("`notes.txt` is a file",)),
        ("--full --out full", ("`full` holds other files",)),
        ("--full --out notes.txt/report", ("cannot write to `notes.txt/report`", "not a directory")),
    ],
    "sweep": [
        ("two.toml --vary stations.cuont=1..3 --out s", ("stations.cuont",)),
        ("two.toml --vary stations.count=3..1 --out s", ("3..1",)),
        ("two.toml --vary stations.count=many --out s", ("many",)),
        ("two.toml --vary stations.count=1..3 --out notes.txt", ("notes.txt",)),
        ("two.toml --vary 'duration=4s,5s' --duration 3s --out s", ("`--duration 3s` sets nothing", "of its own")),
        (
            "two.toml --vary stations.count=1..3 --set stations.count=2 --out s",
            ("--set stations.count=2", "sets nothing"),
        ),
    ],
    "results": [
        ("none", ("none",)),
        ("full", ("full",)),
        ("notes.txt", ("notes.txt",)),
        ("store --x seed --y goodput_bps --figure x.gif", ("`.gif` is no kind of figure", ".svg")),
    ],
    "measure": [
        ("report none --figure m.gif", ("`.gif` is no kind of figure", ".svg")),
        ("run none.toml --out m", ("none.toml",)),
        ("run two.toml --out m", ("`two.toml` is a scenario, for `wifair run`", "[[cases]]")),
        ("dance", ("dance",)),
    ],
}


HEADER = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
"""A capture without packets."""


@pytest.fixture
def folder(tmp_path: Path, text: str) -> Path:
    (tmp_path / "two.toml").write_text(text)
    (tmp_path / "wrong.toml").write_text('duration = "3 s"\n\n[wlan]\nstandard = "802.11b"\ndata_rate = "11 Mb/x"\n')
    (tmp_path / "empty.pcap").write_bytes(b"")
    (tmp_path / "notes.txt").write_text("Lorem ipsum dolor sit amet, consectetur adipisici elit.\n")
    (tmp_path / "real.pcap").write_bytes(HEADER)
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "runs.sqlite").touch()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("mine")
    return tmp_path


def test_every_command_has_three() -> None:
    from wifair.cli import COMMANDS  # noqa: PLC0415

    assert {name: len(cases) >= 3 for name, cases in WRONG.items()} == dict.fromkeys(COMMANDS, True)


@pytest.mark.parametrize(("command", "line", "parts"), [(c, *case) for c, cases in WRONG.items() for case in cases])
def test_wrong_input(command: str, line: str, parts: tuple[str, ...], folder: Path) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    out, err = wifair(command, *shlex.split(line), code=2, cwd=folder)
    for part in parts:
        assert part in err, err
    assert out == ""
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_unknown_command() -> None:
    _, err = wifair("rnu", code=2)
    assert "did you mean `run`?" in err


README = """\
name = "hot spot"
duration = "3 s"
[wlan]
standard = "802.11b"
[[servers]]
name = "server"
delay = "10 ms"
[[stations]]
name = "sta"
count = 2
[[flows]]
name = "up"
station = "sta"
tcp.cc = "newreno"
"""


def test_a_setting_without_effect_is_an_error(tmp_path: Path) -> None:
    """Every flow has a `tcp.cc` of its own: setting that of `[tcp]` gave three identical rows of a sweep."""
    (tmp_path / "hot_spot.toml").write_text(README)
    expected = "`tcp.cc` sets nothing: every flow has a `tcp.cc` of its own"
    for command in (
        ("run", "hot_spot.toml", "--set", "tcp.cc=cubic"),
        ("compare", "hot_spot.toml", "--against", "tcp.cc=cubic"),
        ("sweep", "hot_spot.toml", "--vary", "tcp.cc=cubic,reno", "--out", "out"),
    ):
        _, err = wifair(*command, code=2, cwd=tmp_path)
        assert expected in err
        assert "write `flows.tcp.cc`" in err
        assert "Traceback" not in err
    scenario = module.Scenario.from_text(README)
    with pytest.raises(module.ScenarioError, match="sets nothing"):
        scenario.with_({"tcp.cc": "cubic"})
    assert scenario.with_({"tcp.stack": "modern"}).hash != scenario.hash  # no flow has that one


def test_empty_groups_are_the_baseline() -> None:
    both = README + '[[flows]]\nname = "down"\nstation = "sta"\ndirection = "down"\n'
    scenario = module.Scenario.from_text(both)
    results = module.run(scenario.with_({"flows.up.count": 0}))
    assert set(results.flows["direction"]) == {"down"}
    assert results.cells["up_goodput_bps"][0] == 0
    assert results.cells["down_goodput_bps"][0] == results.cells["goodput_bps"][0] > 0
    more = both + '[[stations]]\nname = "far"\ncount = 0\n[[flows]]\nname = "away"\nstation = "far"\n'
    assert len(module.run(module.Scenario.from_text(more)).flows) == 4


def test_a_missing_capture_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere\.pcap"):
        module.read_capture(tmp_path / "nowhere.pcap")
