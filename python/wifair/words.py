"""Numbers and what they count, in words."""

from __future__ import annotations

import re

__all__ = ["KEPT", "counted", "general", "often", "together"]

KEPT = "\N{NO-BREAK SPACE}"
"""Stands between a number and its unit while lines are broken."""


def together(text: str) -> str:
    """Keep numbers and their units in one line."""
    return re.sub(r"(?<=\d) (?=\S)", KEPT, text)


def general(value: float) -> str:
    """Show a number with three digits, or with all before the point, never as a power of ten."""
    return f"{value:,.0f}" if abs(value) >= 999.5 else f"{value:.3g}"


def counted(number: float, what: str) -> str:
    """Say how many there are.

    Parameters
    ----------
    number : float
        How many; a mean is shown with three digits.
    what : str
        What one of them is called; the plural only adds an ``s``.

    Examples
    --------
    >>> counted(1, "run"), counted(1200, "run"), counted(1 / 3, "timeout")
    ('1 run', '1,200 runs', '0.333 timeouts')
    """
    shown = f"{number:,}" if isinstance(number, int) else general(number)
    return f"{shown} {what}{'' if shown == '1' else 's'}"


def often(number: float) -> str:
    """Say how many times.

    Examples
    --------
    >>> often(1), often(12.0)
    ('once', '12 times')
    """
    times = counted(number, "time")
    return "once" if times == "1 time" else times
