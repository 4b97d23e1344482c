"""An import of a name that moved says where it is now; the names of `wifair` itself have not moved."""

from __future__ import annotations

import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import wifair
from click.testing import CliRunner
from wifair import Columns, _moved, optional
from wifair.cli import main
from wifair.comparison.sources import read
from wifair.laboratory._notebook import LabView


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("import wifair.errors", "`wifair.errors` is now `wifair.exceptions`"),
        ("from wifair import saved", "`wifair.saved` is now `wifair.read_results`"),
        ("from wifair.exchange import read_flent", "`wifair.exchange` is now `wifair.importers`"),
        ("from wifair.results import Results", "`wifair.results.Results` is now `wifair.Results`"),
        ("import wifair.results.nothing", "No module named 'wifair.results.nothing'"),
    ],
)
def test_an_import_of_an_old_name_says_the_new_one(statement: str, message: str) -> None:
    with pytest.raises(ImportError) as caught:
        exec(statement)
    assert str(caught.value) == message


@pytest.mark.parametrize(("old", "new"), _moved.MODULES.items())
def test_what_replaced_an_old_module_exists(old: str, new: str) -> None:
    with pytest.raises(AttributeError, match="it is now"):
        getattr(wifair, old.removeprefix("wifair."))
    first, *rest = new.removeprefix("wifair.").split(".")
    if first not in wifair.__all__:
        assert find_spec(new) is not None
    else:
        owner = getattr(wifair, first)
        assert all(hasattr(owner, name) for name in rest)


@pytest.mark.parametrize("module", _moved.NAMES)
def test_names_of_packages_are_names_of_wifair(module: str) -> None:
    for name in _moved.NAMES[module]:
        with pytest.raises(ImportError, match=f"is now `wifair.{name}`"):
            getattr(import_module(module), name)
        assert name in wifair.__all__


@pytest.mark.parametrize("kind", [Columns, wifair.Scenario, LabView])
def test_an_old_attribute_says_its_new_name(kind: type) -> None:
    bare: Any = object.__new__(kind)
    for old, new in _moved.ATTRIBUTES[kind.__name__].items():
        with pytest.raises(AttributeError, match=f"it is now `{re.escape(new)}`"):
            getattr(bare, old)
        name = new.partition("(")[0]
        assert hasattr(kind, name) or name in ("len", "dict")
    with pytest.raises(AttributeError, match=r"has no attribute 'nothing'$"):
        bare.nothing  # noqa: B018


def test_a_table_has_as_many_elements_as_rows() -> None:
    table = Columns({"a": np.arange(5.0), "b": np.array(list("vwxyz"))})
    assert (len(table), table.columns, list(table), list(dict(table))) == (5, *3 * [["a", "b"]])
    assert table.slice(1, 2).to_dicts() == [{"a": 1.0, "b": "w"}, {"a": 2.0, "b": "x"}]
    assert (len(table.slice(3)), len(table.slice(3, 9)), len(table.filter(b="z")), table.drop("b").columns) == (
        2,
        2,
        1,
        ["a"],
    )


def test_the_command_works_without_the_optional_parts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(optional, "has", lambda _: False)
    shown = CliRunner().invoke(main, ["--help"]).output
    assert "analyze" in shown
    assert not re.search(r"^  (measure|packetdrill)\b", shown, re.MULTILINE)
    refused = CliRunner().invoke(main, ["measure", "run"])
    assert (refused.exit_code, "no command `measure`" in refused.output) == (2, True)
    assert optional.module("measure", "results") is None
    with pytest.raises(wifair.ResultsError):
        read(str(tmp_path))


@pytest.mark.parametrize("part", ["measure", "packetdrill"])
def test_an_optional_part_has_its_command(part: str) -> None:
    assert optional.has(part)
    assert CliRunner().invoke(main, [part, "--help"]).exit_code == 0
