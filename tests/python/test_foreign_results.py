"""Files of other programs cost bounded time and memory, and what is wrong with them is said."""

from __future__ import annotations

import bz2
import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from wifair._output import files
from wifair.cli import main


@pytest.mark.parametrize("program", ["flent", "iperf3"])
@pytest.mark.parametrize(
    ("made", "says"),
    [
        ("gzip bomb", "it has more than 1 MB unpacked"),
        ("bzip2 bomb", "it has more than 1 MB unpacked"),
        ("large", "it has 1,000,001 bytes, at most 1,000,000"),
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


DATA = Path(__file__).parents[1] / "data"


@pytest.mark.parametrize(
    ("program", "change", "says"),
    [
        ("iperf3", lambda d: d["end"]["streams"][1]["sender"].update(seconds="ten"),
         '`end.streams[1].sender.seconds`, which is "ten"'),
        ("iperf3", lambda d: d["intervals"].__setitem__(2, 7), "`intervals[2]`, which is 7"),
        ("iperf3", lambda d: d["start"].pop("test_start"), '`start`, which is a table: it has no "test_start"'),
        ("flent", lambda d: d["x_values"].__setitem__(3, "x"), '`x_values[3]`, which is "x"'),
        ("flent", lambda d: d["results"]["TCP upload::1"].__setitem__(5, {}),
         '`results["TCP upload::1"][5]`, which is a table'),
    ],
)  # fmt: skip
def test_what_is_wrong_in_an_import_has_its_place(program: str, change: Any, says: str, tmp_path: Path) -> None:
    found = next(DATA.rglob("3up.json" if program == "iperf3" else "three_up.flent.gz"))
    document = json.loads(gzip.decompress(found.read_bytes()) if program == "flent" else found.read_text())
    change(document)
    file = tmp_path / "x.flent"
    file.write_text(json.dumps(document))
    answer = CliRunner().invoke(main, ["import", program, str(file)])
    assert (answer.exit_code, f"at {says}" in answer.stderr) == (2, True), answer.output
