"""Files of other programs cost bounded time and memory, and what is wrong with them is said."""

from __future__ import annotations

import bz2
import gzip
import os
from pathlib import Path

import pytest
from click.testing import CliRunner
from wifair import files
from wifair.cli import main


@pytest.mark.parametrize("program", ["flent", "iperf3"])
@pytest.mark.parametrize(
    ("made", "says"),
    [
        ("gzip bomb", "it has more than 1 MB unpacked"),
        ("bzip2 bomb", "it has more than 1 MB unpacked"),
        ("large", "it has more than 1 MB"),
        ("cut off", "the packed file is cut off"),
        ("device", "it is no regular file"),
        ("fifo", "it is no regular file"),
        ("deep", "no"),
        ("latin-1", "no"),
    ],
)
def test_an_import_is_bounded(
    program: str, made: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LARGEST_INPUT", 1_000_000)
    file = tmp_path / "x.flent"
    match made:
        case "gzip bomb":
            file.write_bytes(gzip.compress(bytes(50_000_000)))
        case "bzip2 bomb":
            file.write_bytes(bz2.compress(bytes(50_000_000)))
        case "large":
            file.write_bytes(bytes(1_000_001))
        case "cut off":
            file.write_bytes(gzip.compress(os.urandom(10_000))[:5_000])
        case "device":
            file = Path("/dev/zero")
        case "fifo":
            os.mkfifo(file)
        case "deep":
            file.write_text("[" * 200_000)
        case "latin-1":
            file.write_bytes(b'{"title": "caf\xe9"}')
    answer = CliRunner().invoke(main, ["import", program, str(file)])
    assert (answer.exit_code, says in answer.stderr) == (2, True), (answer.output, answer.exception)
    assert str(file) in answer.stderr
