"""A flame graph of the engine, inlined functions included, from what perf has recorded.

    cargo build --profile bench -p wifair-sim --example run
    perf record -e cpu-clock -F 1500 --call-graph dwarf,4096 target/release/examples/run benches/scenarios/uploads.toml
    perf script -F ip,sym | python benches/flame.py > docs/figures/flame.svg

Boxes are as wide as the share of samples in which their function was running or waited for the one above it.
"""

from __future__ import annotations

import re
import sys
from colorsys import hls_to_rgb
from html import escape
from typing import TextIO

WIDTH, ROW, NARROWEST = 1160.0, 18, 2.0
ROOT = "World::run_until"
# Plumbing of the standard library that would only make the graph higher.
DULL = re.compile(r"^(<)?(core|alloc|std)::|^<(T|I|usize|u64|u32|\[)")


class Box:
    """A function, the samples in it, and what it called."""

    def __init__(self) -> None:
        self.samples = 0
        self.above: dict[str, Box] = {}


def short(name: str) -> str:
    """The last two parts of a path."""
    name = re.sub(r" \(inlined\)$|::\{closure#\d+\}|::h[0-9a-f]{16}$", "", name)
    name = re.sub(r"^<(.+?) as .+?>::", r"\1::", name)
    name = re.sub(r"<impl (.+?)>::", r"\1::", name)
    name = re.sub(r"<[^<>]*>", "", re.sub(r"<[^<>]*>", "", name))
    return "::".join(re.sub(r"[<>]", "", name).split("::")[-2:])


def stacks(lines: TextIO) -> list[list[str]]:
    """The stack of each sample, outermost function first."""
    found, stack = [], []
    for line in lines:
        parts = line.split(None, 1)
        if len(parts) == 2:
            stack.append(parts[1].strip())
        elif stack:
            names = [short(name) for name in reversed(stack) if not DULL.match(name)]
            if ROOT in names:
                found.append(names[names.index(ROOT) :])
            stack = []
    return found


def draw(name: str, box: Box, x: float, depth: int, scale: float, total: int) -> list[str]:
    """A box and those above it."""
    width = box.samples * scale
    if width < NARROWEST:
        return []
    hue = sum(name.split("::", maxsplit=1)[0].encode()) * 37 % 60
    # As numbers: not all that draws SVG knows hsl().
    colour = "#" + "".join(f"{round(255 * part):02x}" for part in hls_to_rgb(hue / 360, 0.72, 0.7))
    label = name if len(name) * 6.2 < width - 6 else name.rsplit("::", maxsplit=1)[-1]
    label = label if len(label) * 6.2 < width - 6 else ""
    y = depth * ROW
    out = [
        f'<g><title>{escape(name)}: {100 * box.samples / total:.1f} %</title><rect x="{x:.1f}" y="{y}" '
        f'width="{width:.1f}" height="{ROW - 1}" rx="2" fill="{colour}"/>'
        + (f'<text x="{x + 3:.1f}" y="{y + 13}">{escape(label)}</text>' if label else "")
        + "</g>"
    ]
    for callee, above in sorted(box.above.items(), key=lambda item: -item[1].samples):
        out += draw(callee, above, x, depth + 1, scale, total)
        x += above.samples * scale
    return out


def height(box: Box, scale: float) -> int:
    """Rows that a box and those above it need."""
    return 1 + max(
        (height(above, scale) for above in box.above.values() if above.samples * scale >= NARROWEST), default=0
    )


def main() -> None:
    """Read stacks, write the graph."""
    root = Box()
    for stack in stacks(sys.stdin):
        box = root
        box.samples += 1
        for name in stack[1:]:
            box = box.above.setdefault(name, Box())
            box.samples += 1
    if root.samples == 0:
        raise SystemExit(f"error: no sample within {ROOT}")
    scale = WIDTH / root.samples
    rows = height(root, scale)
    print(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:.0f} {rows * ROW}" '
        'font-family="Verdana, sans-serif" font-size="11">'
    )
    print('<rect width="100%" height="100%" fill="#fff"/>')
    print("\n".join(draw(ROOT, root, 0.0, 0, scale, root.samples)))
    print("</svg>")


if __name__ == "__main__":
    main()
