"""A small scenario for the tests of the Python side."""

from __future__ import annotations

from pathlib import Path

import pytest

TEXT = """\
name = "two uploads"
duration = "3 s"
warm_up = "1 s"

[wlan]
standard = "802.11b"

[ap]
queue.limit = "50 packets"

[[servers]]
name = "server"
delay = "10 ms"

[[stations]]
name = "sta"
count = 2

[[flows]]
name = "up"
station = "sta"
server = "server"
direction = "up"
"""


@pytest.fixture(scope="session")
def text() -> str:
    return TEXT


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "two.toml"
    path.write_text(TEXT)
    return path
