"""Figures of the cell by name, each with its interval: what `Results.summary` is."""

from __future__ import annotations

import html

from wifair.report import figure_text
from wifair.statistics import Interval

__all__ = ["Summary"]


class Summary(dict[str, Interval]):
    """A mapping from the names of figures to `Interval`, which prints as a table.

    Examples
    --------
    >>> Summary({"goodput_bps": Interval(5.65e6, 1.2e4), "jain_index": Interval(0.882, 0.080)})
    goodput_bps  5.650 ± 0.012 Mb/s
    jain_index   0.882 ± 0.080
    """

    def __repr__(self) -> str:
        width = max(map(len, self), default=0)
        return "\n".join(f"{name:<{width}}  {figure_text(name, interval)}" for name, interval in self.items())

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th>{html.escape(name)}</th><td>{html.escape(figure_text(name, interval))}</td></tr>"
            for name, interval in self.items()
        )
        head = "<thead><tr><th>figure</th><th>mean and 95 % interval</th></tr></thead>"
        return f"<table>{head}<tbody>{rows}</tbody></table>"
