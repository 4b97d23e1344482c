"""Numbers and what they count, in words."""

from __future__ import annotations

__all__ = ["counted"]


def counted(number: int, what: str) -> str:
    """Say how many there are.

    Parameters
    ----------
    number : int
        How many.
    what : str
        What one of them is called; the plural only adds an ``s``.

    Examples
    --------
    >>> counted(1, "run"), counted(1200, "run")
    ('1 run', '1,200 runs')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"
