"""Seeds as users write them: a number, several, or a text such as ``1..10``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import SupportsIndex

Seeding = int | str | Iterable[int]
"""A seed, several, or a text: ``"3"``, ``"1,2,5"``, ``"1..10"`` or ``"1..99:2"``."""

BOUND = 1 << 64
MOST = 1_000_000


def read_seeds(seeds: Seeding, *, bound: int = BOUND) -> list[int]:
    """Read seeds.

    Parameters
    ----------
    seeds : int, str or iterable of int
        One seed, several, or a text as after ``--seeds``: ``"1..3"`` is 1, 2 and 3, ``"1..9:2"`` every other one,
        ``"1,2,5"`` a list, and ``"123"`` the one seed 123.
    bound : int, default 2**64
        Upper limit; seeds are below it.

    Returns
    -------
    list of int
        At least one, each once.

    Raises
    ------
    ValueError
        If there is no seed, one is negative, too large or repeated, or the text is not a list of seeds.
    TypeError
        If something is not a whole number.

    Examples
    --------
    >>> read_seeds("1..3")
    [1, 2, 3]
    >>> read_seeds("123")
    [123]
    """
    numbers = _of_text(seeds) if isinstance(seeds, str) else list(seeds) if isinstance(seeds, Iterable) else [seeds]
    if not numbers:
        raise ValueError("no seed: expected at least one")
    for at, seed in enumerate(numbers):
        number = _whole(seed)
        if not 0 <= number < bound:
            raise ValueError(f"seed {number} is not between 0 and 2**{bound.bit_length() - 1} - 1")
        numbers[at] = number
    if len(set(numbers)) < len(numbers):
        twice = Counter(numbers).most_common(1)[0][0]
        raise ValueError(f"seed {twice} comes twice: its second run would only repeat the first")
    return numbers


def _whole(seed: object) -> int:
    if isinstance(seed, SupportsIndex) and not isinstance(seed, bool):
        return seed.__index__()
    hint = f': write "{seed}" without a list around it' if isinstance(seed, str) else ""
    raise TypeError(f"seed {seed!r} is no whole number{hint}")


def _of_text(text: str) -> list[int]:
    seeds: list[int] = []
    for part in text.split(","):
        span, colon, step = part.partition(":")
        first, dots, last = span.partition("..")
        try:
            low = int(first)
            high = int(last) if dots else low
            stride = int(step) if colon else 1
        except ValueError:
            raise ValueError(
                f"`{part.strip()}` is no seed: write a number, a list as in 1,2,5, or a range as in 1..10"
            ) from None
        if low < 0:
            raise ValueError(f"seed {low} is negative: seeds are 0 or more")
        if high < low:
            raise ValueError(f"`{part.strip()}` is an empty range: write the smaller seed first, {high}..{low}")
        if stride < 1:
            raise ValueError(f"`{part.strip()}` has a step below 1")
        if (high - low) // stride >= MOST:
            raise ValueError(f"`{part.strip()}` has more than a million seeds")
        seeds.extend(range(low, high + 1, stride))
    return seeds
