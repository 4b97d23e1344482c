"""Names never become paths, terminal codes or lines, and inputs from somebody else cost bounded time and memory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import wifair
from click.testing import CliRunner
from wifair.cli import main

LONG_S = 30.0

SCENARIO = """\
name = {name}
description = {description}
duration = "1 s"
wlan.standard = "802.11g"
[ap]
name = {ap}
[[servers]]
name = "server"
[[stations]]
name = "sta"
[[flows]]
name = "up"
station = "sta"
"""

PATHS = ("./../X", "../X", "/tmp/X", "a/b", ".", "..", "", "a b", "a\\u001b[31m", "a\\nb", "a\\u202eb", "caf\\u00e9")


def scenario(*, name: str = "n", description: str = "d", ap: str = "box") -> str:
    return SCENARIO.format(name=f'"{name}"', description=f'"{description}"', ap=f'"{ap}"')


@pytest.mark.parametrize("name", PATHS)
def test_a_name_of_an_access_point_is_no_path(name: str, tmp_path: Path) -> None:
    for text in (scenario(ap=name), scenario(ap=name).replace("[ap]", "[ap]\ncount = 2")):
        with pytest.raises(wifair.ScenarioError, match="is not fit for a name") as caught:
            wifair.Scenario.from_text(text)
        assert "write letters, digits, - and _" in str(caught.value)
    folder = tmp_path / "in" / "here"
    wifair.run(wifair.Scenario.from_text(scenario()), pcap=folder)
    assert sorted(path.name for path in folder.iterdir()) == ["air.pcap", "hosts", "server.pcap", "sta.pcap"]


HIDDEN = ("\\u001b[2J", "a\\u0007", "\\u202e", "\\u2066x", "\\u200f", "\\u009b1m", "\\u2028", "\\u007f", "\\u0000")


@pytest.mark.parametrize("hidden", HIDDEN)
def test_hidden_characters_of_name_and_description_are_errors(hidden: str) -> None:
    for text, line in ((scenario(name=hidden), 1), (scenario(description=hidden), 2)):
        with pytest.raises(wifair.ScenarioError, match="without control characters") as caught:
            wifair.Scenario.from_text(text)
        assert caught.value.line == line
    with pytest.raises(wifair.ScenarioError):
        wifair.Scenario.from_text(scenario(name="a\\nb"))
    several = scenario().replace('"d"', '"""\ntwo\n\tlines, caf\u00e9 \u05d0\n"""')
    assert "two" in wifair.Scenario.from_text(several).resolved


def test_captures_are_written_into_the_folder_alone(tmp_path: Path) -> None:
    """A link under the temporary name of a capture is replaced, and not followed."""
    folder, outside = tmp_path / "pcap", tmp_path / "outside"
    folder.mkdir()
    outside.write_text("precious")
    for name in ("air.pcap", "hosts", "sta.pcap"):
        (folder / f".{name}.partial").symlink_to(outside)
    wifair.run(wifair.Scenario.from_text(scenario()), pcap=folder)
    assert outside.read_text() == "precious"
    assert all(path.is_file() and not path.is_symlink() for path in folder.iterdir())


TRACED = scenario().replace('station = "sta"', 'station = "sta"\nworkload = "trace"\ntrace.file = "{file}"')


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no FIFOs")
@pytest.mark.parametrize(
    ("made", "says"),
    [
        ("device", "it is no regular file"),
        ("fifo", "it is no regular file"),
        ("folder", "it is no regular file"),
        ("latin-1", "line 2: byte 0xe9 is not UTF-8"),
        ("huge", "it has 101 MB, at most 100 MB"),
        ("empty session", "line 3: a session of 0 bytes, at least 1"),
        ("large", "line 2: at most 1e9 s and 1e15 bytes"),
    ],
)
def test_a_trace_is_a_regular_file_of_bounded_size(tmp_path: Path, made: str, says: str) -> None:
    trace = tmp_path / "trace.csv"
    match made:
        case "device":
            trace = Path("/dev/zero")
        case "fifo":
            os.mkfifo(trace)
        case "folder":
            trace.mkdir()
        case "latin-1":
            trace.write_bytes(b"start_s,bytes\n1,\xe9\n")
        case "huge":
            with trace.open("wb") as file:
                file.truncate(101_000_000)
        case "empty session":
            trace.write_text("start_s,bytes\n1,1\n2,0\n")
        case "large":
            trace.write_text("start_s,bytes\n1,1e300\n")
    (tmp_path / "s.toml").write_text(TRACED.format(file=trace))
    done = subprocess.run(
        [sys.executable, "-m", "wifair", "check", tmp_path / "s.toml"],
        capture_output=True,
        text=True,
        timeout=LONG_S,
        check=False,
    )
    assert (done.returncode, says in done.stderr) == (2, True), done.stderr
    assert "s.toml:15:" in done.stderr


def test_deep_nesting_is_an_error_with_its_line() -> None:
    dots = ".".join(["a"] * 200)
    for text, line in (
        (scenario() + f"\n{dots} = 1\n", 15),
        (scenario() + "[space]\ngains = " + "[" * 400 + "]" * 400 + "\n", 15),
        (scenario() + "space = " + "{a = " * 400 + "1" + "}" * 400 + "\n", 14),
    ):
        with pytest.raises(wifair.ScenarioError) as caught:
            wifair.Scenario.from_text(text)
        assert (caught.value.line, "not TOML" in str(caught.value)) == (line, True), str(caught.value)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("duration=1e-9 ns", "`1e-9 ns` is less than 1 ns"),
        ("servers.delay=0.1 ns", "`0.1 ns` is less than 1 ns"),
        ("servers.rate=0.2 b/s", "`0.2 b/s` is less than 1 b/s"),
        ("ap.queue.limit=0.3 B", "`0.3 B` is less than 1 B"),
    ],
)
def test_a_quantity_that_would_become_zero_is_an_error(tmp_path: Path, change: str, says: str) -> None:
    (tmp_path / "s.toml").write_text(scenario())
    answer = CliRunner().invoke(main, ["check", str(tmp_path / "s.toml"), "--set", change])
    assert (answer.exit_code, says in answer.stderr) == (2, True), answer.output
    assert wifair.Scenario.from_text(scenario()).with_({"servers.delay": "0 ns"}).hash
