"""Networks and servers for tests of measurements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from testbed import Testbed


@pytest.fixture
def testbed(tmp_path: Path) -> Iterator[Callable[..., Testbed]]:
    """Make networks, and remove them when the test ends."""
    made: list[Testbed] = []

    def make(**options: Any) -> Testbed:
        made.append(Testbed(tmp_path / f"net{len(made)}", **options))
        return made[-1]

    yield make
    for network in made:
        network.close()
