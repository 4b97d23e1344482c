"""Where in a JSON document something is missing or wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, TypeVar

from wifair.exceptions import ResultsError

Found = TypeVar("Found")

WRONG = (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError, ZeroDivisionError)
"""What the readers raise if a document is not as they expect."""


def complete(path: object, document: Any, read: Callable[[Any], Found]) -> Found:
    """Read `document`, the JSON in the file `path`.

    Raises
    ------
    ResultsError
        If something is missing or wrong in it, with the place that was read last, and what is there.
    """
    try:
        return read(document)
    except WRONG as error:
        trace = _Trace()
        with suppress(*WRONG):  # again, and this time with places, which take time
            read(trace.of(document, ""))
        said = f"it has no {_shown(error.args[0])}" if type(error) is KeyError else str(error)
        raise ResultsError(f"`{path}` is not complete: {trace.last or 'at its top'}: {said}") from None


class _Trace:
    """Remembers the last place that was read."""

    def __init__(self) -> None:
        self.last = ""

    def of(self, value: Any, place: str) -> Any:
        """Give a value that is read at `place`, with places of its own."""
        if place:
            shown = "a table" if isinstance(value, dict) else "a list" if isinstance(value, list) else _shown(value)
            self.last = f"at `{place}`, which is {shown}"
        if isinstance(value, dict):
            return _Table(value, place, self)
        return _List(value, place, self) if isinstance(value, list) else value


class _Table(dict[str, Any]):
    def __init__(self, values: dict[str, Any], place: str, trace: _Trace) -> None:
        super().__init__(values)
        self._place, self._trace = place, trace

    def __getitem__(self, key: str) -> Any:
        if key not in self:
            self._trace.of(self, self._place)
        return self._trace.of(super().__getitem__(key), self._below(key))

    def get(self, key: str, default: Any = None) -> Any:
        return self[key] if key in self else default  # noqa: SIM401 (this is `get`)

    def _below(self, key: str) -> str:
        if re.fullmatch(r"\w+", key):
            return f"{self._place}.{key}" if self._place else key
        return f"{self._place}[{json.dumps(key, ensure_ascii=False)}]"


class _List(list[Any]):
    def __init__(self, values: list[Any], place: str, trace: _Trace) -> None:
        super().__init__(values)
        self._place, self._trace = place, trace

    def __getitem__(self, at: Any) -> Any:
        found = super().__getitem__(at)
        return self._trace.of(found, f"{self._place}[{at}]") if isinstance(at, int) else found

    def __iter__(self) -> Iterator[Any]:
        for at, value in enumerate(super().__iter__()):
            yield self._trace.of(value, f"{self._place}[{at}]")


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else f"{text[:36]} ..."
