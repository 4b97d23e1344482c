"""Each misspelt name in a `claims.toml` is an error that names the file, the line, and what exists."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import numpy as np
import pytest
from click.testing import CliRunner
from wifair.cli import main
from wifair.reproduce import _session as session
from wifair.reproduce._declaring import check_rows, read_claims
from wifair.reproduce._places import PaperError
from wifair.reproduce.table import Row, Table

if TYPE_CHECKING:
    from pathlib import Path

LEE = session.load("lee2007")
TEXT = (LEE.folder / "claims.toml").read_text(encoding="utf-8")

TYPOS = [
    # before, after, what the message says, what stands at the mark
    ("fig2b[way:up].received_mb", "fig2bb[way:up].received_mb", "no experiment `fig2bb`", "did you mean `fig2b`?"),
    ("fig3.least_timeouts", "fig3.least_timeout", "no quantity `least_timeout`", "did you mean `least_timeouts`?"),
    ("predicate = { below = 0.7 }", "predicate = { belo = 0.7 }", "no predicate or option `belo`", "`below`?"),
    ('experiment = "fig4"', 'experiment = "fig44"', "no experiment `fig44`", "did you mean `fig4`?"),
    ('control = "uploads"', 'control = "up"', "no control `up`", "there are upload, uploads"),
    ('given = "definition"', 'given = "defined"', "no verdict `defined`", "there are calibrated"),
    ('{ id = "window 20"', '{ id = "window 21"', "no case has `window 21` as setting", "did you mean `window 20`?"),
    ('label = "starts"', 'label = "start"', "no case has the label `start`", "did you mean `starts`?"),
    ('says = "Four uploads', 'say = "Four uploads', "unknown key `say`", "did you mean `says`?"),
    ("relabel.scheme", "relabel.shceme", "no case has the label `shceme`", "did you mean `scheme`?"),
    ('relabel.scheme = { "B/n" =', 'relabel.scheme = { "B/m" =', "no case has `B/m` as scheme", "did you mean `B/n`?"),
    ("rtt<={longest}", "rtt<={longst}", "no open point `longst`", "did you mean `longest`?"),
    ("mean(fig2b[way:up]", "mena(fig2b[way:up]", "no function `mena`", "did you mean `mean`?"),
    ("fig3.least_share <= 0.1 and", "fig3.least_share <= 0.1 andd", "invalid syntax", ""),
    ('falls = "rtt", slack', 'falls = "rtt", slak', "no predicate or option `slak`", "did you mean `slack`?"),
    ("within = [2, 8]", "within = [2, 8, 9]", "`within` takes 2 numbers", ""),
    ("within = [2, 8]", 'within = [2, "x"]', "`x` is no number", ""),
    ('[[claim]]\nid = "f2b_worse"', '[[claims]]\nid = "f2b_worse"', "unknown table `claims`", "did you mean `claim`?"),
    ("because = \"'much wider' is taken as twice\"", "", "`by` has no reason", ""),
]


@pytest.mark.parametrize(("before", "after", "message", "hint"), TYPOS, ids=[typo[1] for typo in TYPOS])
def test_a_typo_is_named_with_file_line_and_what_exists(
    before: str, after: str, message: str, hint: str, tmp_path: Path
) -> None:
    assert before in TEXT
    path = tmp_path / "claims.toml"
    path.write_text(TEXT.replace(before, after, 1), encoding="utf-8")
    with pytest.raises(PaperError) as caught:
        read_claims(path, LEE.vocabulary)
    text = str(caught.value)
    assert message in text
    assert hint in text
    assert f"--> {path}:" in text
    line = next(one.line for one in caught.value.problems if message in one.message)
    assert line is not None
    wrong = TEXT.replace(before, after, 1).splitlines()[line - 1]
    begin = TEXT[: TEXT.index(before)].count("\n") + 1
    assert abs(line - begin) <= 8, wrong


def test_all_errors_of_a_file_are_shown_together(tmp_path: Path) -> None:
    path = tmp_path / "claims.toml"
    text = TEXT.replace("fig3.least_timeouts", "fig3.least_timeout").replace('control = "uploads"', 'control = "up"')
    path.write_text(text, encoding="utf-8")
    with pytest.raises(PaperError) as caught:
        read_claims(path, LEE.vocabulary)
    assert len(caught.value.problems) == 2
    assert str(caught.value).count("error: ") == 2


def test_a_file_that_is_no_toml_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "claims.toml"
    path.write_text("[effect]\nby = = 1\n", encoding="utf-8")
    with pytest.raises(PaperError, match=r"claims\.toml:2"):
        read_claims(path)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("fig3[starts:'within 1 s'].up_down_ratio", "experiment `fig3` does not measure `up_down_ratio`"),
        ("fig3[ways:up].received_mb", "no row of `fig3` has the label `ways`"),
        ("fig3[way:upp].received_mb", "no row of `fig3` has `upp` as way"),
        ("mean(fig3.received_mb, over=flows)", "no row has the label `flows`"),
    ],
)
def test_what_only_measured_rows_have_is_checked_after_measuring(rows: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "claims.toml"
    path.write_text(TEXT.replace('rows = "fig3.least_timeouts"', f'rows = "{rows}"'), encoding="utf-8")
    claims = read_claims(path, LEE.vocabulary)
    labels = {"setting": "as printed", "starts": "within 1 s", "flow": "up1", "way": "up"}
    measured = ("received_mb", "least_share", "jain_index", "least_timeouts")
    table = Table("fig3", [Row(dict(labels), quantity, np.ones(3), seeds=(1, 2, 3)) for quantity in measured])
    chosen = [claim for claim in claims.claims if claim.id == "f3_starvation"]
    with pytest.raises(PaperError, match=message) as caught:
        check_rows(path, claims, {"fig3": table}, LEE.vocabulary, chosen)
    assert f"--> {path}:" in str(caught.value)


def test_the_command_shows_the_typo_and_exits_with_2(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    shutil.copytree(LEE.folder, folder)
    (folder / "claims.toml").write_text(TEXT.replace("fig3.least_timeouts", "fig3.least_timeout"), encoding="utf-8")
    done = CliRunner().invoke(main, ["reproduce", f"{folder}/calc_3868"])
    assert done.exit_code == 2
    assert "no quantity `least_timeout`" in done.stderr
    assert "^ did you mean `least_timeouts`?" in done.stderr
    assert "Traceback" not in done.stderr
