"""An import of a name that moved says where it is now; the names of `wifair` itself have not moved."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

import pytest
import wifair
from wifair import _moved


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
