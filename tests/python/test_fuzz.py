"""The fuzz targets, with a few inputs each: `make fuzz` runs them for minutes."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

RUN = Path(__file__).parents[2] / "fuzz" / "run.py"


def driver() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fuzz_run", RUN)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


FUZZ = driver()


@pytest.mark.parametrize("target", FUZZ.TARGETS)
def test_a_few_inputs(target: str) -> None:
    count, findings = FUZZ.fuzz(target, 4.0, 1, most=40)
    assert count > 0
    assert findings == []


def test_a_finding_can_be_reproduced() -> None:
    FUZZ.TARGETS["wrong"] = lambda rng: 1 / (rng.randrange(3) // 2 * 0 + (rng.random() > 0.5))
    try:
        count, findings = FUZZ.fuzz("wrong", 60.0, 1, most=20)
        assert count == 20
        assert 0 < len(findings) < 20
        assert "ZeroDivisionError" in (FUZZ.once("wrong", 1, findings[0][0]) or "")
    finally:
        del FUZZ.TARGETS["wrong"]
