"""Options shared by all Python tests."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from typing import Any

import left_out
import pytest
from hypothesis import HealthCheck, settings

# How long an input takes depends on what else the computer does.
settings.register_profile("wifair", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("wifair")

# A shell that starts a job in the background lets it ignore Ctrl-C, and so would the programs that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# What commands print is as wide as the terminal; here always as if there were none, wherever tests are started from.
os.environ.pop("COLUMNS", None)


def _no_terminal(_descriptor: int = 1) -> os.terminal_size:
    raise OSError("tests have no terminal")


os.get_terminal_size = _no_terminal


def pytest_xdist_auto_num_workers() -> int:
    """Two processes for each core: many tests wait for programs that they start."""
    return 2 * (os.cpu_count() or 1)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With `--dist loadfile` all files of emulation go to one worker: an emulation that starts removes what killed ones
    left.
    """
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling  # noqa: PLC0415

    scheduling = LoadFileScheduling(config, log)
    file_of = scheduling._split_scope
    scheduling._split_scope = lambda nodeid: "emulation" if "test_emulate" in nodeid else file_of(nodeid)
    return scheduling


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="also run tests marked slow")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--slow"):
        return
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(pytest.mark.skip(reason="slow: run with --slow"))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Note the skipped tests, for the last lines of `make test`."""
    if not hasattr(terminalreporter.config, "workerinput"):  # not once more in each worker
        left_out.note(terminalreporter.stats.get("skipped", []))


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Switch off garbage collection: Hypothesis hooks into it, and Python drops what a signal raises in there."""
    gc.disable()
    yield
    gc.enable()
