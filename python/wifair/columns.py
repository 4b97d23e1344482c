"""Tables of results: columns of equal length with names and meanings."""

from __future__ import annotations

import importlib
import math
import re
import sys
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from wifair import _core
from wifair._moved import Renamed
from wifair._output.streams import escape
from wifair._output.tables import aligned, html_rows
from wifair._output.words import cell, suggestion

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wifair._core import RawColumn, RawData

SHOWN_ROWS = 10
NUMBER_BYTES = 8
CODES = {"<f8": "d", "<u8": "Q"}


FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""Beginnings of texts that spreadsheets take for formulas."""
NUMBER = re.compile(r"[+-]?(\d+\.?\d*(e[+-]?\d+)?|\.\d+(e[+-]?\d+)?|inf(inity)?|nan)", re.ASCII | re.IGNORECASE)


def safe_text(text: str) -> str:
    """Put an apostrophe before a text that a spreadsheet would take for a formula, as the core does in CSV files."""
    is_formula = len(text) > 1 and text.startswith(FORMULA) and not NUMBER.fullmatch(text)
    return f"'{text}" if is_formula else text


def plain_text(cell: str) -> str:
    """Take the apostrophe of `safe_text` off again."""
    return cell[1:] if cell.startswith("'") and safe_text(cell[1:]) == cell else cell


class Columns(Renamed):
    """A table: NumPy arrays of equal length by name.

    ``len(table)`` is the number of rows; `filter`, `slice`, `drop` and `to_dicts` do what they do in polars, and
    ``dict(table)`` has the arrays. Names carry the unit (``goodput_bps``, ``rtt_mean_s``). NaN stands for missing
    values. Any library that reads Arrow streams accepts a table directly: ``polars.DataFrame(table)`` (with pyarrow
    installed).
    """

    def __init__(self, data: Mapping[str, NDArray[Any] | RawData], about: Mapping[str, str] | None = None) -> None:
        """Make a table of columns `data`, arrays or what the core hands over; `about` says what they mean.

        What the core hands over becomes an array when a column is read: commands that only print need not import
        NumPy, which takes longer than many runs.
        """
        self._data = dict(data)
        self._about = dict(about or {})
        lengths = {_rows(column) for column in self._data.values()}
        if len(lengths) > 1:
            raise ValueError(f"columns of different length: {sorted(lengths)}")
        self._rows = lengths.pop() if lengths else 0

    @classmethod
    def of_rows(cls, rows: Sequence[Mapping[str, object]], about: Mapping[str, str]) -> Columns:
        """Make a table of the columns that `about` names, from rows that have them all."""
        import numpy as np  # noqa: PLC0415

        return cls({name: np.array([row[name] for row in rows]) for name in about}, about)

    def __getitem__(self, name: str) -> NDArray[Any]:
        column = self._column(name)
        if isinstance(column, (list, tuple)):
            self._data[name] = column = _array(column)
        return column

    def _column(self, name: str) -> NDArray[Any] | RawData:
        try:
            return self._data[name]
        except KeyError:
            near = suggestion(str(name), self._data, f"there are {', '.join(self._data)}")
            raise KeyError(f"no column {name!r}: {near}") from None

    def to_list(self, name: str) -> list[Any]:
        """Give a column as plain Python values, NaN included.

        Raises
        ------
        KeyError
            If there is no such column.
        """
        column = self._column(name)
        if isinstance(column, (list, tuple)):
            return plain_values(column)
        values: list[Any] = column.tolist()
        return values

    def __contains__(self, name: object) -> bool:
        return name in self._data  # without making an array

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __len__(self) -> int:
        return self._rows

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self._data)

    def keys(self) -> list[str]:
        """Get the names of the columns, so that ``dict(table)`` has their arrays."""
        return list(self._data)

    def items(self) -> Iterator[tuple[str, NDArray[Any]]]:
        """Get each column with its name."""
        return ((name, self[name]) for name in self._data)

    @property
    def about(self) -> dict[str, str]:
        """What each column means, with its unit."""
        return dict(self._about)

    def filter(self, **values: object) -> Columns:
        """Select rows in which columns have the given values: ``flows.filter(seed=1, direction="up")``.

        Parameters
        ----------
        **values
            Values by column name; all must match.

        Returns
        -------
        Columns
            All columns of these rows, in their order; empty if no row matches.

        Raises
        ------
        KeyError
            If there is no such column.
        """
        import numpy as np  # noqa: PLC0415

        mask = np.ones(self._rows, dtype=bool)
        for name, value in values.items():
            mask &= np.asarray(self[name] == value)
        return Columns({name: column[mask] for name, column in self.items()}, self._about)

    def slice(self, offset: int, length: int | None = None) -> Columns:
        """Get `length` rows from row `offset` on, counted from 0, or all that follow."""
        end = self._rows if length is None else min(offset + length, self._rows)
        return Columns({name: _slice(column, offset, end) for name, column in self._data.items()}, self._about)

    def drop(self, *names: str) -> Columns:
        """Get all columns except these."""
        return Columns({name: column for name, column in self._data.items() if name not in names}, self._about)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Get rows as dicts of plain Python values; None for NaN and infinity."""
        lists = [[finite(value) for value in self.to_list(name)] for name in self]
        return [dict(zip(self._data, row)) for row in zip(*lists)]

    @property
    def texts(self) -> list[str]:
        """Names of the columns of texts."""
        return [name for name, column in self._data.items() if isinstance(_raw(column), list)]

    def to_csv(self) -> str:
        """Write as CSV with a header; numbers in full precision, NaN as an empty field."""
        return _core.csv_text(list(self._data), [_raw(column) for column in self._data.values()])

    def to_arrow(self) -> Any:
        """Convert to ``pyarrow.Table``, with the meanings of columns in the metadata of its fields.

        Raises
        ------
        ImportError
            If there is no pyarrow.
        """
        pa = _library("pyarrow", "parquet")
        fields, arrays = [], []
        for name, column in self.items():
            values = pa.array(column.tolist() if column.dtype.kind == "U" else column)
            meaning = {"meaning": self._about[name]} if name in self._about else None
            fields.append(pa.field(name, values.type, metadata=meaning))
            arrays.append(values)
        return pa.Table.from_arrays(arrays, schema=pa.schema(fields))

    def to_pandas(self) -> Any:
        """Convert to ``pandas.DataFrame``.

        Raises
        ------
        ImportError
            If there is no pandas.
        """
        return _library("pandas").DataFrame(dict(self))

    def to_polars(self) -> Any:
        """Convert to ``polars.DataFrame``.

        Raises
        ------
        ImportError
            If there is no polars.
        """
        return _library("polars").DataFrame(dict(self))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        names = list(self._data)
        rows = [names] + [[_shown(value) for value in row] for row in self._head()]
        return "\n".join([*aligned(rows), *self._more()])

    def _repr_html_(self) -> str:
        head = "".join(f'<th title="{escape(self._about.get(name, ""))}">{escape(name)}</th>' for name in self._data)
        body = html_rows(map(_shown, row) for row in self._head())
        more = "".join(f"<p>{escape(line)}</p>" for line in self._more())
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"

    def _head(self) -> list[tuple[object, ...]]:
        return list(zip(*(column[:SHOWN_ROWS].tolist() for _, column in self.items())))

    def _more(self) -> list[str]:
        return [f"... {self._rows} rows"] if self._rows > SHOWN_ROWS else []


def _raw(column: NDArray[Any] | RawData) -> RawData:
    """Turn an array into what the core hands over: texts where it is not of numbers with eight bytes."""
    if isinstance(column, (list, tuple)):
        return column
    if column.dtype.str in CODES:
        return column.dtype.str, column.tobytes()
    if column.dtype.kind == "f":
        return "<f8", column.astype("<f8").tobytes()
    return ["" if value is None else str(value) for value in column.tolist()]


def of_core(columns: Iterable[RawColumn]) -> Columns:
    """Make a table of what the core hands over."""
    columns = list(columns)
    return Columns({name: data for name, _, data in columns}, {name: meaning for name, meaning, _ in columns})


def plain_values(data: RawData) -> list[Any]:
    """Read what the core hands over for a column, without NumPy."""
    if isinstance(data, list):
        return list(data)
    numbers = array(CODES[data[0]], data[1])
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tolist()


def _rows(column: NDArray[Any] | RawData) -> int:
    return len(column[1]) // NUMBER_BYTES if isinstance(column, tuple) else len(column)


def _slice(column: NDArray[Any] | RawData, first: int, end: int) -> NDArray[Any] | RawData:
    if isinstance(column, tuple):
        return column[0], column[1][first * NUMBER_BYTES : end * NUMBER_BYTES]
    return column[first:end]


def _array(data: RawData) -> NDArray[Any]:
    import numpy as np  # noqa: PLC0415

    if isinstance(data, list):
        return np.array(data) if data else np.array(data, dtype=np.str_)
    return np.frombuffer(data[1], dtype=data[0]).copy()


def _library(name: str, extra: str | None = None) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError:
        source = f"'wifair[{extra}]'" if extra else name
        raise ImportError(f"this needs {name}: pip install {source}") from None


def finite(value: Any) -> Any:
    """Give None for NaN and infinity, which JSON does not have, and any other value as it is."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _shown(value: object) -> str:
    return cell(value, 6) if isinstance(value, float) else str(value)
