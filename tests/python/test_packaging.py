"""The source distribution is complete: a wheel built from it works in a fresh environment."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def call(*command: object, cwd: Path) -> str:
    done = subprocess.run([*map(str, command)], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_wheel_from_the_source_distribution(tmp_path: Path) -> None:
    call(sys.executable, "-m", "maturin", "sdist", "--out", tmp_path, cwd=ROOT)
    (source,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        archive.extractall(tmp_path, filter="data")
    tree = source.with_suffix("").with_suffix("")
    call(sys.executable, "-m", "maturin", "build", "--release", "--out", tmp_path, cwd=tree)
    (wheel,) = tmp_path.glob("*.whl")
    assert "-abi3-" in wheel.name

    venv.create(tmp_path / "fresh", with_pip=True)
    python = tmp_path / "fresh" / "bin" / "python"
    call(python, "-m", "pip", "install", "--quiet", wheel, cwd=tmp_path)
    command = tmp_path / "fresh" / "bin" / "wifair"
    assert call(command, "--version", cwd=tmp_path).startswith("wifair ")
    call(command, "init", "hot-spot", cwd=tmp_path)
    assert "Jain's index" in call(command, "run", "hot-spot.toml", "--duration", "10 s", cwd=tmp_path)
    assert "holds" in call(command, "reproduce", "lee2007/fig2a", cwd=tmp_path)
