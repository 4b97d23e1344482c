"""SVG for embedding in a page, reduced to what a screen can show."""

from __future__ import annotations

import re

DECIMALS = 1
"""Decimals of coordinates in points: the error is at most a twentieth of a point."""
DOT = 2.0
"""Diameter of a dot [points]."""
MANY = 20
"""From so many dots on, they become one path."""

_MARKER = r'<use xlink:href="#(?P<id>\w+)" x="[-\d.]+" y="[-\d.]+" style="[^"]*stroke: (?P<colour>#\w+)"/>'


def inline(svg: bytes) -> str:
    """Shorten an SVG of matplotlib, and remove what precedes its root.

    Coordinates are rounded, and the dots of a line, an element each, become one path. Its ids are hashes of what they
    name, so several SVGs of a page may share some.
    """
    text = re.sub(r"^.*?(?=<svg)", "", svg.decode(), flags=re.DOTALL)
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    round_ones = set(re.findall(r'<path id="(\w+)" d="[^"]*C[^"]*"', text))
    text = re.sub(rf"(?:{_MARKER}\s*){{{MANY},}}", lambda run: _dots(run[0], round_ones), text)
    return re.sub(r'(?<= d=")[^"]*(?=")', lambda path: _short(path[0]), text)


def once(page: str) -> str:
    """Remove repeated definitions, such as those of letters, from a page."""
    seen: set[str] = set()

    def first(found: re.Match[str]) -> str:
        if found[1] in seen:
            return ""
        seen.add(found[1])
        return found[0]

    return re.sub(r'\s*<path id="([\w-]+)" d="[^"]*"[^>]*/>', first, page)


def _dots(run: str, round_ones: set[str]) -> str:
    """Convert a run of markers to one path of points with round caps, if they are equal dots."""
    found = {(one["id"], one["colour"]) for one in re.finditer(_MARKER, run)}
    (name, colour), *others = found
    if others or name not in round_ones:
        return run
    points = "".join(f"M{x} {y}h0" for x, y in re.findall(r' x="([-\d.]+)" y="([-\d.]+)"', run))
    style = f"fill: none; stroke: {colour}; stroke-width: {DOT:g}; stroke-linecap: round"
    return f'<path d="{points}" style="{style}"/>\n'


def _short(path: str) -> str:
    """Round the numbers of a path, and remove unnecessary blanks."""
    path = re.sub(r"-?\d+\.\d+", lambda number: f"{float(number[0]):.{DECIMALS}f}".removesuffix(".0"), path)
    return re.sub(r"\s*([A-Za-z])\s*", r"\1", path).replace("\n", " ")
