"""Tables as text and as HTML."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from wifair._output.streams import escape
from wifair._output.words import counted


def aligned(rows: Sequence[Sequence[str]], left: Container[int] = ()) -> list[str]:
    """Set rows in columns: those numbered `left` to the left, the others to the right; empty columns are left out."""
    rows = [[" ".join(cell.splitlines()) if "\n" in cell else cell for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows)]
    return [
        "  ".join(
            f"{cell:{'<' if at in left else '>'}{width}}" for at, (cell, width) in enumerate(zip(row, widths)) if width
        ).rstrip()
        for row in rows
    ]


def left_out(rest: int, what: str, remedy: str) -> list[str]:
    """Say how many of `what` a table does not show, and what shows them; no line if that is none."""
    return [f"... and {counted(rest, what)}: {remedy}"] if rest > 0 else []


def html_rows(rows: Iterable[Iterable[str]], *, titled: bool = False) -> str:
    """Write rows of texts; the first cell of each is its title if they are `titled`."""
    return "".join(
        "<tr>"
        + "".join(
            f"<{tag}>{escape(cell)}</{tag}>"
            for at, cell in enumerate(row)
            for tag in ("th" if titled and at == 0 else "td",)
        )
        + "</tr>"
        for row in rows
    )


def formatted(rows: Sequence[Sequence[str]], form: str) -> str:
    """Write rows below a head for a paper: ``"markdown"``, or ``"latex"`` (a tabular with the rules of booktabs)."""
    if form == "markdown":
        cells = [[cell.replace("|", "\\|") for cell in row] for row in rows]
        cells.insert(1, ["---:"] * len(cells[0]))
        return "\n".join(f"| {' | '.join(line)} |" for line in cells)
    head, *body = (" & ".join(map(_latex, row)) + r" \\" for row in rows)
    rules = (r"\toprule", head, r"\midrule", *body, r"\bottomrule")
    return "\n".join([f"\\begin{{tabular}}{{{'r' * len(rows[0])}}}", *rules, r"\end{tabular}"])


LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\u00b1": r"$\pm$",
    "\u2212": "$-$",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}
"""What LaTeX takes for something else, and how it is written."""


def _latex(text: str) -> str:
    return "".join(LATEX.get(sign, sign) for sign in text)
