"""`wifair packetdrill`: verdicts and exit codes; no command of a script is executed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from wifair.cli import main

SCRIPTS = Path(__file__).parents[2] / "crates" / "packetdrill" / "tests" / "scripts"
OPEN = """0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 65535 <mss 1000,nop,wscale 7>
+0 > S. 0:0(0) ack 1 <...>
+.1 < . 1:1(0) ack 1 win 1000
+0 accept(3, ..., ...) = 4
"""


def call(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["packetdrill", *map(str, arguments)])


def script(folder: Path, text: str, name: str = "a.pkt") -> Path:
    file = folder / name
    file.write_text(text)
    return file


def test_a_folder_of_scripts_passes() -> None:
    found = call(SCRIPTS, "--json")
    assert found.exit_code == 0, found.output
    document = json.loads(found.output)
    assert document["total"]["pass"] == len(document["scripts"]) >= 40
    assert {row["verdict"] for row in document["scripts"]} == {"pass"}


def test_a_difference_is_reported_with_its_line(tmp_path: Path) -> None:
    file = script(tmp_path, OPEN + "+0 write(4, ..., 500) = 500\n+0 > P. 1:401(400) ack 1\n")
    found = call(file, "--json")
    assert found.exit_code == 1
    (row,) = json.loads(found.output)["scripts"]
    assert (row["file"], row["verdict"], row["line"]) == (str(file), "differs", 9)
    assert "1:401(400)" in row["reason"]
    assert "1:501(500)" in row["reason"]


@pytest.mark.parametrize(
    ("text", "code", "verdict"),
    [
        (OPEN, 0, "pass"),
        (OPEN + "+0 epoll_create(1) = 5\n", 1, "unsupported"),
        (OPEN + "+0 < . 1:2(0) ack 1\n", 2, "error"),
        ("\x00\x01", 2, "error"),
        ("", 2, "error"),
    ],
)
def test_exit_codes(tmp_path: Path, text: str, code: int, verdict: str) -> None:
    found = call(script(tmp_path, text))
    assert found.exit_code == code, found.output
    assert found.output.startswith(verdict if code < 2 else f"error: {tmp_path}")
    assert (f"\n1 script: 1 {verdict}\n" in found.output) == (code < 2)


def test_missing_files(tmp_path: Path) -> None:
    found = call(tmp_path / "none.pkt")
    assert found.exit_code == 2
    assert "no such file" in found.output
    assert "no scripts" in call(tmp_path).output


def test_the_tolerance(tmp_path: Path) -> None:
    file = script(tmp_path, OPEN + "+0 write(4, ..., 500) = 500\n+.005 > P. 1:501(500) ack 1\n")
    assert call(file).exit_code == 1
    assert call(file, "--tolerance_usecs", "6000").exit_code == 0
    assert call(file, "--tolerance_usecs", "0").exit_code == 2


def test_nothing_of_a_script_is_executed(tmp_path: Path) -> None:
    witness = tmp_path / "witness"
    shell = script(tmp_path, OPEN + f"+0 `touch {witness}`\n", "shell.pkt")
    code = script(tmp_path, OPEN + f"+0 %{{ open('{witness}', 'w') }}%\n", "code.pkt")
    (tmp_path / "defaults.sh").write_text(f"touch {witness}\n")
    file = script(tmp_path, "`./defaults.sh`\n" + OPEN, "file.pkt")
    for found in map(call, (shell, code, file)):
        assert found.exit_code == 1
        assert found.output.startswith("unsupported")
    assert not witness.exists()


def test_settings_are_read_from_a_file_beside_the_script(tmp_path: Path) -> None:
    (tmp_path / "defaults.sh").write_text("#!/bin/bash\nsysctl -q net.ipv4.tcp_sack=0\n")
    syn = (
        "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 listen(3, 1) = 0\n+0 < S 0:0(0) win 65535 <mss 1000,sackOK>\n"
    )
    with_sack = script(tmp_path, syn + "+0 > S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK>\n", "with.pkt")
    without = script(tmp_path, "`./defaults.sh`\n" + syn + "+0 > S. 0:0(0) ack 1 <mss 1460>\n", "without.pkt")
    assert call(with_sack, without).exit_code == 0
