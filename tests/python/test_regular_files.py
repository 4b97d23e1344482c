"""Files that are devices, pipes or folders are refused at once: their data may not end, or never come."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import wifair
from wifair._output import files

LONG_S = 60.0
pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no FIFOs")

READERS = [
    ["check", "{}"],
    ["check", "{}", "--json"],
    ["run", "{}"],
    ["explain", "{}.toml"],
    ["explain", "{}"],
    ["explain", "{}.json"],
    ["compare", "{}", "{}"],
    ["compare", "{}.flent", "{}.flent.gz"],
    ["sweep", "{}", "--vary", "seed=1", "--dry-run"],
    ["sweep", "s.toml", "--points", "{}", "--dry-run"],
    ["analyze", "{}"],
    ["import", "iperf3", "{}", "--out", "new"],
    ["import", "flent", "{}", "--out", "new"],
    ["packetdrill", "{}"],
    ["measure", "run", "{}"],
    ["emulate", "--replay", "{}"],
    ["reproduce", "--verify", "{}"],
    ["lab", "{}", "--no-browser"],
]


RUN_ALL = """
import json, sys
from click.testing import CliRunner
from wifair.cli import main
for arguments in json.load(sys.stdin):
    print(json.dumps(arguments), flush=True)
    answer = CliRunner().invoke(main, arguments)
    print(json.dumps([answer.exit_code, answer.output, repr(answer.exception)]), flush=True)
"""


def answers(commands: list[list[str]], folder: Path) -> list[tuple[list[str], int, str]]:
    """Run commands, all in one process, which is stopped if one of them waits: arguments, exit code and output."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", RUN_ALL],
            input=json.dumps(commands),
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=LONG_S,
            check=True,
        )
    except subprocess.TimeoutExpired as late:
        pytest.fail(f"it waits: {(late.stdout or b'').splitlines()[-1:]}")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines[::2] == commands
    for arguments, (_, said, error) in zip(lines[::2], lines[1::2]):
        assert error == "None" or error.startswith("SystemExit"), (arguments, error, said)
    return [(arguments, code, said) for arguments, (code, said, _) in zip(lines[::2], lines[1::2])]


@pytest.fixture
def folder(text: str, tmp_path: Path) -> Path:
    (tmp_path / "s.toml").write_text(text)
    for ending in ("", ".toml", ".json", ".flent", ".flent.gz"):
        os.mkfifo(tmp_path / f"fifo{ending}")
        (tmp_path / f"zero{ending}").symlink_to("/dev/zero")
    return tmp_path


@pytest.mark.parametrize("file", ["fifo", "zero"])
def test_a_pipe_and_a_device_are_refused(file: str, folder: Path) -> None:
    before = sorted(folder.iterdir())
    commands = [[part.format(file) for part in reader] for reader in READERS]
    for arguments, code, said in answers(commands, folder):
        assert code == 2, (arguments, said)
        assert "it is no regular file" in said, (arguments, said)
        assert file in said, (arguments, said)
    assert sorted(folder.iterdir()) == before


def test_a_part_of_saved_results_is_a_regular_file(text: str, tmp_path: Path) -> None:
    results = wifair.run(wifair.Scenario.from_text(text))
    results.save(tmp_path / "saved", formats=["csv"])
    parts = ("provenance.json", "resolved.toml", "scenario.toml", "flows.csv", "sessions.csv")
    for name in parts:
        results.save(tmp_path / f"without {name}.", formats=["csv"])
        (tmp_path / f"without {name}." / name).unlink()
        os.mkfifo(tmp_path / f"without {name}." / name)
    commands = [
        ["explain", "saved"],
        *(
            command
            for name in parts
            for command in (["explain", f"without {name}."], ["compare", "saved", f"without {name}."])
        ),
    ]
    (_, whole, _), *refused = answers(commands, tmp_path)
    assert whole == 0
    for arguments, code, said in refused:
        assert code == 2, (arguments, said)
        assert f"{arguments[-1]}/{arguments[-1][8:-1]}`: it is no regular file" in said, (arguments, said)


def test_a_journal_that_is_a_pipe_is_refused(tmp_path: Path) -> None:
    (tmp_path / "study").mkdir()
    os.mkfifo(tmp_path / "study" / "journal.jsonl")
    for _, code, said in answers([["measure", "report", "study"]], tmp_path):
        assert code == 1
        assert "journal.jsonl`: it is no regular file" in said


def test_the_size_of_a_file_is_bounded_and_said(text: str, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(text)
    for name in ("points.txt", "big.json"):
        with (tmp_path / name).open("wb") as file:
            file.truncate(files.LARGEST_INPUT + 1_000_000)  # without data on the disk
    says = "it has 501,000,000 bytes, at most 500,000,000"
    commands = [
        ["sweep", "s.toml", "--points", "points.txt", "--dry-run"],
        ["import", "iperf3", "big.json", "--out", "new"],
        ["reproduce", "--verify", "big.json"],
    ]
    for arguments, code, said in answers(commands, tmp_path):
        assert (code, says in said) == (2, True), (arguments, said)


def test_a_regular_file_is_read_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"data")
    (tmp_path / "link").symlink_to("file")
    assert files.read_regular(tmp_path / "link", 4) == b"data"
    with pytest.raises(OSError, match="at most 3"):
        files.read_regular(tmp_path / "link", 3)
    with pytest.raises(IsADirectoryError):
        files.read_regular(tmp_path)
