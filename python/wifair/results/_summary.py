"""Figures of the cell by name, each with its interval: what `Results.summary` is."""

from __future__ import annotations

from wifair._output.report import figure_text
from wifair._output.tables import aligned, html_rows
from wifair.statistics import Interval


class Summary(dict[str, Interval]):
    """A mapping from the names of figures to `Interval`, which prints as a table.

    Examples
    --------
    >>> Summary({"goodput_bps": Interval(5.65e6, 1.2e4), "jain_index": Interval(0.882, 0.080)})
    goodput_bps  5.650 ± 0.012 Mb/s
    jain_index   0.882 ± 0.080
    """

    def __repr__(self) -> str:
        return "\n".join(aligned(self._shown(), left=range(2)))

    def _repr_html_(self) -> str:
        head = "<thead><tr><th>figure</th><th>mean and 95 % interval</th></tr></thead>"
        return f"<table>{head}<tbody>{html_rows(self._shown(), titled=True)}</tbody></table>"

    def _shown(self) -> list[tuple[str, str]]:
        return [(name, figure_text(name, interval)) for name, interval in self.items()]
