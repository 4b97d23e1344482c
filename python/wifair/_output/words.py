"""Numbers, what they count, and reasons, in words."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

KEPT = "\N{NO-BREAK SPACE}"
"""Stands between a number and its unit while lines are broken."""


def together(text: str) -> str:
    """Keep numbers and their units in one line."""
    return re.sub(r"(?<=\d) (?=\S)", KEPT, text)


LEGIBLE = 1e10
"""From here on numbers in tables are powers of ten."""


def cell(value: float, digits: int) -> str:
    """Show a number in a table: with so many digits, or with all before the point, without separators."""
    return f"{value:.0f}" if 10**digits - 0.5 <= abs(value) < LEGIBLE else f"{value:.{digits}g}"


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


def size(count: float) -> str:
    """Show a number of bytes, as in ``1.2 GB``."""
    for unit, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= unit:
            return f"{general(count / unit)} {name}"
    return f"{count:.0f} B"


def suggestion(word: str, known: Iterable[str], otherwise: str = "") -> str:
    """Ask whether a word that is close to an unknown one was meant; `otherwise` if none is.

    Examples
    --------
    >>> suggestion("vegs", ["reno", "vegas"])
    'did you mean `vegas`?'
    """
    from difflib import get_close_matches  # noqa: PLC0415

    near = get_close_matches(word, list(known), n=1)
    return f"did you mean `{near[0]}`?" if near else otherwise


def reason(error: OSError) -> str:
    """Say why the system refused, as part of a sentence."""
    # Below 0: names that are not found. Otherwise asyncio puts words of its own into the text.
    known = error.errno is not None and error.errno > 0
    text = os.strerror(error.errno) if known and error.errno is not None else error.strerror or str(error)
    return text[:1].lower() + text[1:]
