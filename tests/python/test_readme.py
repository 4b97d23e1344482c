"""What the README shows works as printed."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README.read_text(encoding="utf-8"), re.M | re.S)


def blocks(language: str) -> list[str]:
    return [text for kind, text in BLOCKS if kind == language]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the scenario of the README, under the name in its first line."""
    (scenario,) = blocks("toml")
    name = re.match(r"# (\S+)\n", scenario)
    assert name is not None
    (tmp_path / name[1]).write_text(scenario)
    return tmp_path


def commands() -> list[str]:
    lines = "".join(blocks("sh")).splitlines()
    return [line.split("#")[0].strip() for line in lines if line.startswith(".venv/bin/wifair ")]


def test_there_are_commands() -> None:
    assert len(commands()) >= 4


@pytest.mark.parametrize("command", commands())
def test_commands(command: str, folder: Path) -> None:
    if "--figure" in command:
        pytest.importorskip("matplotlib")
    arguments = shlex.split(command)[1:]
    done = subprocess.run(
        [sys.executable, "-m", "wifair", *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_python(folder: Path) -> None:
    code = "\n".join(line for line in "".join(blocks("python")).splitlines() if "to_polars" not in line)
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Interval") == 6
