"""`wifair init`: every scenario runs, and so do the commands that its comments suggest."""

from __future__ import annotations

import re
import shlex
from itertools import pairwise
from pathlib import Path

import pytest
from command import wifair
from wifair import Scenario, gallery, run

NAMES = [one.name for one in gallery.examples()]
SHORT = {"warm_up": "500 ms", "seeds": 1}


def test_every_file_is_listed() -> None:
    files = {path.stem for path in Path(gallery.__file__).parent.glob("*.toml")}
    assert files == set(gallery.NETWORKS)
    out, _ = wifair("init")
    assert [line.split()[0] for line in out.splitlines()] == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_scenario_runs(name: str) -> None:
    text = gallery.example(name).text
    starts = [float(start) for start in re.findall(r'^start = "([\d.]+) s"', text, re.M)]
    results = run(Scenario.from_text(text).with_(SHORT, duration=f"{max(starts, default=0) + 2} s"))
    assert results.cells["goodput_bps"][0] > 0


@pytest.mark.parametrize("name", NAMES)
def test_what_is_filled_in_can_be_read_again(name: str) -> None:
    scenario = Scenario.from_text(gallery.example(name).text)
    assert Scenario.from_text(scenario.resolved).hash == scenario.hash


@pytest.mark.parametrize("name", list(gallery.NETWORKS))
def test_every_change_that_a_comment_suggests_can_be_made(name: str) -> None:
    text = gallery.example(name).text
    scenario = Scenario.from_text(text)
    commands = re.findall(r"^#   wifair (.*)$", text, re.M)
    for command in commands:
        words = shlex.split(command)
        assert words[1] == f"{name}.toml"
        for option, value in pairwise(words):
            if option == "--against":
                path, _, new = value.partition("=")
                assert scenario.with_({path: new}) != scenario


def test_init_writes_a_file_and_keeps_what_is_there(tmp_path: Path) -> None:
    out, _ = wifair("init", "hot-spot", cwd=tmp_path)
    assert "wifair run hot-spot.toml" in out
    path = tmp_path / "hot-spot.toml"
    assert path.read_text() == gallery.example("hot-spot").text
    path.write_text("mine")
    _, err = wifair("init", "hot-spot", code=2, cwd=tmp_path)
    assert "`hot-spot.toml` is there already" in err
    assert path.read_text() == "mine"
    wifair("init", "hot-spot", "--force", cwd=tmp_path)
    assert path.read_text() != "mine"
    wifair("init", "grid", "mine.toml", cwd=tmp_path)
    assert (tmp_path / "mine.toml").read_text() == gallery.example("grid").text
    assert wifair("init", "grid", "-")[0] == gallery.example("grid").text
