"""Options shared by all Python tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from pathlib import Path

# How long an input takes depends on what else the computer does.
settings.register_profile("wifair", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("wifair")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="also run tests marked slow")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if "alone" in item.keywords:
            item.add_marker(pytest.mark.xdist_group(_topic(item.path)))
    if config.getoption("--slow"):
        return
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(pytest.mark.skip(reason="slow: run with --slow"))


def _topic(path: Path) -> str:
    """Tests of one topic share devices, namespaces and folders of the computer: they run one after another."""
    if path.parent.name == "measure":
        return "measure"
    return "page" if path.name.startswith("test_lab") else "emulate"
