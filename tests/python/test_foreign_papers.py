"""A paper's folder from a stranger: whatever is wrong with a data file of it is an error with file and line."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from wifair.cli import main
from wifair.reproduce import _session as session
from wifair.reproduce._places import PaperError
from wifair.reproduce._reading import read_rows, read_text, read_toml

if TYPE_CHECKING:
    from pathlib import Path

WRONG = [
    ("claims.toml", b"# \xff\n", "a byte that is not UTF-8", 1),
    ("claims.toml", b"x = " + b"[" * 5000, "values nested too deeply", 1),
    ("claims.toml", b"x = 1\ny = = 2\n", "invalid value", 2),
    ("paper.toml", b'title = "\xfe"\n', "a byte that is not UTF-8", 1),
    ("paper.toml", b'title = "t"\n', "`units` must be a table", 1),
    ("paper.toml", b'title = 1\n', "`title` must be a text", 1),
    ("expected.csv", b"experiment,quantity,value\n", "there is no column `source`", 1),
    ("expected.csv", b"# note\nexperiment,quantity,value,source\nfig1,x,many,table\n", "could not convert", 3),
    ("expected.csv", b"experiment,quantity,value,source\nfig1,x,1\n", "3 values for 4 columns", 2),
    ("verdicts.csv", b"claim,effort,verdict,holding,without\na,quick,holds,\xff,-\n", "a byte that is not UTF-8", 2),
    ("verdicts.csv", b"claim,effort,verdict,holding,without\na,quick,holds,x,-\n", "invalid literal", 2),
    ("nulls.csv", b"claim,null,held,still,touched\na,queues,1,?,yes\n", "invalid literal", 2),
    ("deviations.toml", b"deviation = 3\n", "`deviation` must be a list", 1),
]  # fmt: skip


@pytest.mark.parametrize(("name", "data", "message", "line"), WRONG, ids=[f"{one[0]}-{one[2]}" for one in WRONG])
def test_a_wrong_file_of_a_paper_is_an_error(name: str, data: bytes, message: str, line: int, tmp_path: Path) -> None:
    folder = tmp_path / "paper"
    shutil.copytree(session.load("lee2007").folder, folder)
    (folder / name).write_bytes(data)
    paper = session.load(f"{folder}")
    parts = ("declared", "title", "units", "recorded", "nulls", "published", "ns2", "deviations")
    with pytest.raises(PaperError) as caught:
        [getattr(paper, part) for part in parts]
    assert message in str(caught.value)
    assert f"{name}:{line}" in str(caught.value)
    if name in ("claims.toml", "paper.toml"):
        done = CliRunner().invoke(main, ["reproduce", str(folder), "--quiet"])
        assert done.exit_code == 2, done.output
        assert message in done.stderr


def test_pipes_and_devices_are_refused(tmp_path: Path) -> None:
    pipe = tmp_path / "claims.toml"
    os.mkfifo(pipe)
    for read in (read_text, read_toml):
        with pytest.raises(PaperError, match="no regular file"):
            read(pipe)
    with pytest.raises(PaperError, match="no regular file"):
        read_rows(pipe, (), dict)
