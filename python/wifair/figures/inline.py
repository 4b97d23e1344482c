"""Figures to stand in a page: SVG that holds what a screen can show, and no more."""

from __future__ import annotations

import re

DECIMALS = 1
"""Of coordinates in points: a twentieth of a point is not seen."""
DOT = 2.0
"""Diameter of a dot [points]."""
MANY = 20
"""Dots from which on they become one path."""

_MARKER = r'<use xlink:href="#(?P<id>\w+)" x="[-\d.]+" y="[-\d.]+" style="[^"]*stroke: (?P<colour>#\w+)"/>'


def inline(svg: bytes) -> str:
    """Make an SVG of matplotlib shorter, and take off what stands before its root.

    Coordinates are rounded, and the dots of a line, an element each, become one path. The ids of an SVG are hashes:
    alike ones may meet in a page.
    """
    text = re.sub(r"^.*?(?=<svg)", "", svg.decode(), flags=re.DOTALL)
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    round_ones = set(re.findall(r'<path id="(\w+)" d="[^"]*C[^"]*"', text))
    text = re.sub(rf"(?:{_MARKER}\s*){{{MANY},}}", lambda run: _dots(run[0], round_ones), text)
    return re.sub(r'(?<= d=")[^"]*(?=")', lambda path: _short(path[0]), text)


def once(page: str) -> str:
    """Drop what is defined more than once, as the letters of all figures are."""
    seen: set[str] = set()

    def first(found: re.Match[str]) -> str:
        if found[1] in seen:
            return ""
        seen.add(found[1])
        return found[0]

    return re.sub(r'\s*<path id="([\w-]+)" d="[^"]*"[^>]*/>', first, page)


def _dots(run: str, round_ones: set[str]) -> str:
    """Write markers one after the other as a path of points with round caps, if they are dots of one kind."""
    found = {(one["id"], one["colour"]) for one in re.finditer(_MARKER, run)}
    (name, colour), *others = found
    if others or name not in round_ones:
        return run
    points = "".join(f"M{x} {y}h0" for x, y in re.findall(r' x="([-\d.]+)" y="([-\d.]+)"', run))
    style = f"fill: none; stroke: {colour}; stroke-width: {DOT:g}; stroke-linecap: round"
    return f'<path d="{points}" style="{style}"/>\n'


def _short(path: str) -> str:
    """Round the numbers of a path, and leave out blanks that nothing needs."""
    path = re.sub(r"-?\d+\.\d+", lambda number: f"{float(number[0]):.{DECIMALS}f}".removesuffix(".0"), path)
    return re.sub(r"\s*([A-Za-z])\s*", r"\1", path).replace("\n", " ")
