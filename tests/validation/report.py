"""Writes the page of the validation: tables and figures."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import captures
import numpy as np
from model import CUTOFF, LEVEL, Comparison, Row, Rule, Section, as_many_by_chance, by_t_test, sign_test, signs
from reasons import reason
from wifair.figures.style import COLOURS

CAPTURES = "Captures: tcptrace"
BALANCE = "Means above those of the reference: {above}, below: {below}; p = {p:.2g} by the sign test."
ALONE = (
    "Of {tests} t tests {alone} have p below 5 %; by chance {expected:.0f} would. In half of the comparisons the test "
    "would detect a difference of {visible:.0f} %."
)
RECORDED = "Comparisons with the original runs of ns-2, with DSDV: "
HEAD = """# Validation

This page compares wifair with other programs, theory and real TCP stacks, at the same settings. `make validate` writes
it and runs every row with 20 seeds (`tests/validation`); the references are in `tests/data/reference` and
`tests/data/captures`. `make test` runs some of the rows.

Each section has a figure, and a table in CSV with the mean of wifair's seeds, its minimum (`low`) and maximum (`high`).
An aggregate agrees if it lies within the tolerance. Indices, and flows that compete by chance, are compared by
Student's t test (`p`); if the reference has a single run, the test uses the prediction interval of wifair's seeds. Such
a comparison differs if p is at most {cutoff:.2g} (Benjamini and Hochberg, 1995: one in twenty of the differences
found may be due to chance) and the means are more than 1 % apart.

Three indications do not depend on what else is compared. A comparison with p below 5 % that passes is marked `weak`.
Of {tests} t tests {alone} have p below 5 %; by chance {expected:.0f} would (probability {chance:.1g}, if they were
independent): wifair and its references are not identical in every comparison that passes. And {above} means are above
those of the reference and {below} below (p = {p:.2g} by the sign test); each section has its own numbers.

Of {total} comparisons with a criterion {agree} agree. The others are shown, each with its reason or as not explained.
Where ns-2 was run again without the effects of its routing and address resolution, those runs count; its original runs
are in the tables, too, and of these {free_total} comparisons {free_agree} agree by the same rules.

"""


def number(value: float) -> str:
    if not np.isfinite(value):
        return "-"
    return f"{value:.4g}" if abs(value) < 1000 else f"{value:.0f}"


def probability(one: Comparison, source: str) -> str:
    if one.rule is not Rule.T_TEST:
        return ""
    p = one.p_value(source)
    return f"{p:.2g}" if p >= 1e-4 else "< 0.0001"


HEADINGS = ("quantity", "wifair", "low", "high", "reference", "source", "difference_percent", "p", "agrees", "reason")


def verdict(section: Section, row: Row, one: Comparison, source: str) -> tuple[str, str]:
    """Say whether a comparison agrees; if it does not, give the reason."""
    if one.rule is Rule.SHOWN:
        return "shown", ""
    if not one.binding:
        return ("shown; yes" if one.agrees(source) else "shown; no"), ""
    if one.agrees(source):
        if one.rule is Rule.T_TEST and one.p_value(source) < LEVEL:
            is_close = abs(one.difference(source)) <= one.tolerance
            return (f"within {100 * one.tolerance:g} %" if is_close else "weak"), ""
        return "yes", ""
    return "no", reason(section.name, row.labels, one.quantity) or "**not expected**"


def table(section: Section, rows: Sequence[Row]) -> list[list[str]]:
    """All comparisons of a section, a heading first."""
    names = list(rows[0].labels)
    lines = [[*names, *HEADINGS]]
    for row in rows:
        for one in row.comparisons:
            for source in one.theirs:
                difference = one.difference(source)
                percent = f"{100 * difference:+.1f}" if np.isfinite(difference) else ""
                low, high = one.range
                numbers = [number(value) for value in (one.mean, low, high, one.their_mean(source))]
                labels = [str(row.labels.get(name, "")) for name in names]
                result = [source, percent, probability(one, source), *verdict(section, row, one, source)]
                lines.append([*labels, one.quantity, *numbers, *result])
    return lines


def differences(lines: Sequence[Sequence[str]]) -> str:
    """The comparisons that do not agree, each with its reason."""
    head, *rows = lines
    apart = [dict(zip(head, row)) for row in rows if row[head.index("agrees")] == "no"]
    if not apart:
        return ""
    labels = head[: head.index("quantity")]
    text = ["| comparison | wifair | reference | difference | reason |", "|" + " --- |" * 5]
    notes: list[str] = []
    for row in apart:
        name = ", ".join(f"{label} {row[label]}" for label in labels if row[label] not in ("", "-"))
        if row["reason"] not in notes:
            notes.append(row["reason"])
        text.append(
            f"| {name}: {row['quantity']} | {row['wifair']} [{row['low']}, {row['high']}] "
            f"| {row['reference']} ({row['source']}) | {row['difference_percent']} % "
            f"| {notes.index(row['reason']) + 1} |"
        )
    return "\n".join([*text, "", *(f"{i + 1}. {note}." for i, note in enumerate(notes)), "", ""])


def write_csv(path: Path, lines: Sequence[Sequence[str]]) -> None:
    """Write the comparisons of a section."""
    path.parent.mkdir(exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(lines)


def count(rows: Sequence[Row], *, binding: bool) -> tuple[int, int]:
    """Count the comparisons with a criterion, and those that agree; or those that do not bind."""
    held = [one for row in rows for one in row.comparisons if one.rule is not Rule.SHOWN and one.binding is binding]
    agree = [one.agrees(source) for one in held for source in one.theirs]
    return len(agree), sum(agree)


def draw(section: Section, rows: Sequence[Row], path: Path) -> None:
    """Draw how far the aggregates are from the references, and the range of our seeds beside the reference's index."""
    import matplotlib as mpl  # noqa: PLC0415

    mpl.use("agg")
    from matplotlib.figure import Figure  # noqa: PLC0415

    with mpl.rc_context({"font.size": 8, "svg.hashsalt": "wifair"}):
        figure = Figure(figsize=(7.2, 2.8), layout="constrained")
        panels = figure.subplots(1, 2 if section.index else 1, squeeze=False)[0]
        _differences(panels[0], section, rows)
        if section.index:
            _ranges(panels[1], section, rows)
        figure.savefig(path, metadata={"Date": None})
    # The writer of SVG leaves spaces at the ends of lines.
    path.write_text("\n".join(line.rstrip() for line in path.read_text().splitlines()) + "\n")


def _differences(axes: Any, section: Section, rows: Sequence[Row]) -> None:
    seen: dict[str, list[tuple[int, float]]] = {}
    tolerance = 0.0
    for at, row in enumerate(rows, start=1):
        for one in row.comparisons:
            for source in one.theirs:
                if one.quantity in section.levels:
                    name = source if len(section.levels) == 1 else one.quantity
                    seen.setdefault(name, []).append((at, 100 * one.difference(source)))
                    tolerance = max(tolerance, 100 * one.tolerance)
    axes.axhspan(-tolerance, tolerance, facecolor="0.9", edgecolor="0.6", linewidth=0.5, label=f"{tolerance:.2g} %")
    axes.axhline(0, color="black", linewidth=0.6)
    for colour, (name, points) in zip(COLOURS, seen.items()):
        axes.plot(*zip(*points, strict=True), "o", markersize=3, color=colour, label=name)
    axes.set_xlabel("row of the table")
    axes.set_ylabel("wifair against reference [%]")
    axes.legend(frameon=False)


def _ranges(axes: Any, section: Section, rows: Sequence[Row]) -> None:
    found = [(at, one) for at, row in enumerate(rows, start=1) if (one := row.one(section.index)) is not None]
    at = [place for place, _ in found]
    axes.vlines(
        at, *zip(*(one.range for _, one in found), strict=True), color="#0072B2", linewidth=3, label="wifair, 20 seeds"
    )
    theirs = [(place, one.their_mean(source)) for place, one in found for source in one.theirs]
    axes.plot(*zip(*theirs, strict=True), "x", color="#D55E00", markersize=4, label="reference")
    if section.index == "up/down":
        axes.set_yscale("log")
    axes.set_xlabel("row of the table")
    axes.set_ylabel(section.index)
    axes.legend(frameon=False)


def tcptrace() -> str:
    lines = [
        f"## {CAPTURES}",
        "",
        "`wifair analyze` on real captures beside tcptrace 6.6.7: all fields of `tcptrace -l -r -W` but those of "
        "RTT at full size,",
        "where tcptrace takes only SYN and FIN for full.",
        "",
        "| capture | connections | packets | retransmitted | tcptrace | fields compared | different |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    fields = different = 0
    for row in captures.rows():
        fields, different = fields + row.fields, different + row.different
        lines.append(
            f"| {row.name} | {row.connections} | {row.packets} | {row.retransmitted} | {row.theirs} | {row.fields} | "
            f"{row.different} |"
        )
    return "\n".join([*lines, "", f"{fields} fields, {different} different.", ""])


def section_text(section: Section, rows: Sequence[Row], folder: Path) -> str:
    """One section of the page; its figure is written beside."""
    figure = folder / "figures" / f"validation-{section.name}.svg"
    draw(section, rows, figure)
    held, agree = count(rows, binding=True)
    recorded, agree_recorded = count(rows, binding=False)
    above, below = signs(rows)
    balance = BALANCE.format(above=above, below=below, p=sign_test(above, below)) + "\n\n" if above + below else ""
    if tests := by_t_test(rows):
        alone = sum(one.p_value(source) < LEVEL for one, source in tests)
        visible = 100 * float(np.nanmedian([one.visible(source) for one, source in tests]))
        balance += ALONE.format(tests=len(tests), alone=alone, expected=LEVEL * len(tests), visible=visible) + "\n\n"
    free = f"{RECORDED}{agree_recorded} of {recorded} agree.\n\n" if recorded else ""
    lines = table(section, rows)
    write_csv(folder / "validation" / f"{section.name}.csv", lines)
    return (
        f"## {section.title}\n\n{section.text}\n\n{agree} of {held} agree.\n\n{balance}{free}"
        f"![Differences and ranges](figures/{figure.name})\n\n{differences(lines)}"
        f"All comparisons: [{section.name}.csv](validation/{section.name}.csv)\n"
    )


def page(old: str, new: Sequence[str], order: Sequence[str]) -> str:
    """Put new sections in the place of the old ones; `order` are the titles."""
    found = {text.split("\n", 1)[0].removeprefix("## "): text for text in [*re.split(r"\n(?=## )", old)[1:], *new]}
    texts = [found[title].strip() for title in [*order, CAPTURES] if title in found]
    agree, total = _sum(texts, "")
    free_agree, free_total = _sum(texts, RECORDED)
    counts = [re.search(r"^Means above those of the reference: (\d+), below: (\d+);", text, re.M) for text in texts]
    above, below = (sum(int(one[side]) for one in counts if one) for side in (1, 2))
    counts_alone = [re.search(r"^Of (\d+) t tests (\d+) have p below", text, re.M) for text in texts]
    tests, alone = (sum(int(one[side]) for one in counts_alone if one) for side in (1, 2))
    head = HEAD.format(
        total=total,
        agree=agree,
        free_total=free_total,
        free_agree=free_agree,
        cutoff=CUTOFF,
        tests=tests,
        alone=alone,
        expected=LEVEL * tests,
        chance=as_many_by_chance(alone, tests),
        above=above,
        below=below,
        p=sign_test(above, below),
    )
    return head + "\n\n".join(texts) + "\n"


def _sum(texts: Sequence[str], start: str) -> tuple[int, int]:
    """Add up what the sections say that agrees, of how many."""
    counts = [re.search(rf"^{start}(\d+) of (\d+) agree\.$", text, re.M) for text in texts]
    return sum(int(one[1]) for one in counts if one), sum(int(one[2]) for one in counts if one)
