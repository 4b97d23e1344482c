"""Options shared by all Python tests."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

# How long an input takes depends on what else the computer does.
settings.register_profile("wifair", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("wifair")


def pytest_xdist_auto_num_workers() -> int:
    """Two processes for each core: many tests wait for programs that they start."""
    return 2 * (os.cpu_count() or 1)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="also run tests marked slow")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--slow"):
        return
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(pytest.mark.skip(reason="slow: run with --slow"))


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Without collections of garbage: Hypothesis takes their time, and Python drops what a signal raises in there."""
    gc.disable()
    yield
    gc.enable()
