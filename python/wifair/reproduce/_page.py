"""Pages of a report: self-contained HTML."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files

import numpy as np

from wifair._core import __version__
from wifair._output.streams import escape as _e
from wifair._output.words import counted
from wifair.reproduce._claims import LEVEL, VERDICTS, Claim, Clause
from wifair.reproduce._criteria import possible
from wifair.reproduce._expressions import selections
from wifair.reproduce._judging import Judgement
from wifair.reproduce._model import Effort, Paper
from wifair.reproduce._null_results import NullResult
from wifair.reproduce._nulls import NULLS
from wifair.reproduce._plain import about
from wifair.reproduce._predicates import RegionComparison
from wifair.reproduce._session import Judged, Outcome, PaperOutcome
from wifair.reproduce._tallies import by_reading, sentence
from wifair.reproduce.table import Row
from wifair.reproduce.text import compared, first_readings, number, shown_rows

MARKS = {"holds": "\u2713", "partly": "\u25d1", "depends": "\u25d0", "fails": "\u2717", "undecided": "?"}
WORDS = {
    "holds": "holds",
    "partly": "holds in part",
    "depends": "depends on the reading",
    "fails": "does not hold",
    "undecided": "undecided",
    "full-only": "needs a full run",
    "calibrated": "calibrated, not a prediction",
    "definition": "true by definition",
    "untestable": "cannot be tested",
}
PLURAL = {
    "holds": "hold",
    "partly": "hold in part",
    "depends": "depend on the reading",
    "fails": "do not hold",
    "full-only": "need a full run",
    "calibrated": "calibrated, not predictions",
}
GENERATED = re.compile(
    r"<!-- (verdicts|deviations|readings): written by recording.py -->.*?<!-- end of \1 -->\n?", re.DOTALL
)
"""The parts of a README that the page leaves out, as it has all of that itself."""
ORDER = ("fails", "partly", "depends", "undecided", "holds", "full-only", "calibrated", "definition", "untestable")
"""Order of claims: failures and surprises first."""


def index(outcome: Outcome, figures: Mapping[str, Sequence[str]]) -> str:
    """Write the overview page: numbers of verdicts, surprises, every claim, every figure."""
    cards = "".join(_card(item) for item in outcome.papers)
    thumbs = "".join(
        f'<a href="{_e(item.paper.key)}.html#{_e(key)}">'
        f'<img loading="lazy" src="{_e(item.paper.key)}/{_e(key)}.svg" alt="">'
        f"{_e(item.paper.experiment(key).title)}</a>"
        for item in outcome.papers
        for key in figures.get(item.paper.key, ())
    )
    claims = [(item.paper, judged) for item in outcome.papers for judged in item.claims]
    claims.sort(key=lambda pair: ORDER.index(pair[1].judgement.verdict))
    rows = "".join(_line(of, judged) for of, judged in claims)
    parts = [
        "<h1>Papers reproduced with wifair</h1>",
        _effort(outcome.effort),
        _cited(),
        f'<div class="cards">{cards}</div>',
        _broken(outcome),
        "<h2>Claims, failures and surprises first</h2>" + _filter(),
        f'<table class="list"><tbody>{rows}</tbody></table>' if rows else "",
        f'<h2>Figures</h2><div class="thumbs">{thumbs}</div>' if thumbs else "",
    ]
    return _page("Papers reproduced with wifair", parts)


def formats(effort: Effort) -> tuple[str, ...]:
    """List the formats of figures; quick runs only have the one that pages show, because drawing takes long."""
    return ("svg",) if effort.value == "quick" else ("svg", "png", "pdf")


def _card(item: PaperOutcome) -> str:
    return (
        f'<a class="card" href="{_e(item.paper.key)}.html"><h3>{_e(item.paper.cite)}</h3>'
        f'<p class="small">{_e(item.paper.title)}</p>{_counts(item)}</a>'
    )


def _counts(item: PaperOutcome) -> str:
    """Write the number of claims for each verdict, as a bar and in words."""
    verdicts = [judged.verdict for judged in item.claims]
    counts = [(verdict, verdicts.count(verdict)) for verdict in VERDICTS if verdict in verdicts]
    bar = "".join(f'<span class="b-{v}" style="flex:{n}" title="{n} {WORDS[v]}"></span>' for v, n in counts)
    words = "".join(
        f'<span class="v-{v}">{n} {PLURAL.get(v, WORDS[v]) if n > 1 else WORDS[v]}</span>' for v, n in counts
    )
    loose = sum(judged.unspecific for judged in item.claims)
    tail = f'<p class="small">not specific (they hold without their mechanism, too): {loose}</p>' if loose else ""
    return f'<div class="bar">{bar}</div><div class="counts">{words}</div>{tail}'


def _filter() -> str:
    boxes = "".join(
        f'<label><input type="checkbox" value="{verdict}" checked> {WORDS[verdict]}</label>' for verdict in ORDER
    )
    return (
        f'<div class="filter"><input type="search" placeholder="filter by text" aria-label="filter by text">{boxes}'
        '<label><input type="checkbox" value="loose" checked> not specific</label><output></output></div>'
    )


def _line(of: Paper, judged: Judged) -> str:
    failing = "; ".join(
        clause.says
        for clause, tested in zip(judged.claim.clauses, judged.judgement.first.tested)
        if tested.result == "fails" and clause.says != judged.claim.says and judged.verdict != "full-only"
    )
    tail = f'<div class="small">does not hold: {_e(failing)}</div>' if failing else ""
    return (
        f'<tr data-verdict="{_kinds(judged)}"><td>{_verdict(judged.judgement)}{_tag(judged)}</td>'
        f'<td><a href="{_e(of.key)}.html#{_e(judged.claim.id)}">{_e(judged.claim.says)}</a>{tail}</td>'
        f'<td class="small">{_e(_short(of))}</td></tr>'
    )


def _short(of: Paper) -> str:
    return of.cite


def _kinds(judged: Judged) -> str:
    """Say by which boxes of the filter a claim is shown."""
    return judged.verdict + (" loose" if judged.unspecific else "")


def _tag(judged: Judged) -> str:
    return ' <span class="tag">not specific</span>' if judged.unspecific else ""


def _verdict(judgement: Judgement) -> str:
    mark = MARKS.get(judgement.verdict, "\u2022")
    words = _plainly(judgement)
    return f'<span class="verdict v-{judgement.verdict}">{mark} {words}</span>'


def _of_readings(judgement: Judgement) -> str:
    """In how many readings a claim holds; empty if there is only one, or if the verdict is declared."""
    of, holding = len(judgement.readings), judgement.holding
    if of < 2:
        return ""
    return {
        "holds": f" in all {of} readings",
        "partly": f" in {sum(one.result == 'partly' for one in judgement.readings)} of {of} readings",
        "depends": f": holds in {holding} of {of}",
        "fails": f" in any of {of} readings",
        "undecided": f": holds in {holding} of {of} readings, fails in {judgement.ruled_out}",
    }.get(judgement.verdict, "")


def paper(
    effort: Effort, item: PaperOutcome, figures: Mapping[str, str], scenarios: Mapping[str, Sequence[str]]
) -> str:
    """Write the page of a paper: each experiment with figure, residuals and claims; tables of claims; the README."""
    of = item.paper
    links = "".join(f'<li><a href="#{_e(key)}">{_e(of.experiment(key).title)}</a></li>' for key in item.tables)
    parts = [
        f'<p><a href="index.html">All papers</a></p><h1>{_e(of.title)}</h1>',
        _effort(effort),
        _cited(of),
        f"<div class='total'>{_counts(item)}</div>" if item.claims else "",
        f'<ul class="contents">{links}</ul>',
        _filter() if item.claims else "",
    ]
    for key, table in item.tables.items():
        experiment = of.experiment(key)
        rows = shown_rows(experiment, table)
        parts.append(f'<h2 id="{_e(key)}">{_e(experiment.title)}</h2>')
        if experiment.note:
            parts.append(f"<p>{_inline(experiment.note)}</p>")
        seen = ""
        if key in figures:
            picture = figures[key].replace("<svg", f'<svg role="img" aria-label="{_e(experiment.title)}"', 1)
            wide = ' class="wide-figure"' if experiment.size[0] >= WIDE_INCH else ""
            seen = f"<figure{wide}>{picture}</figure>"
        seen += _residuals(of, first_readings(of, key, rows))
        claims = "".join(_claim(of, judged) for judged in item.claims if judged.claim.experiment == key)
        beside = " beside" if seen and experiment.size[0] < WIDE_INCH else ""
        parts.append(f'<div class="experiment{beside}"><div>{seen}</div><div>{claims}</div></div>')
        files = ", ".join(f'<a href="{_e(of.key)}/{_e(key)}.{end}">{end.upper()}</a>' for end in formats(effort))
        every = f'<a href="{_e(of.key)}/{_e(key)}.csv">CSV</a>' + (f"; figure: {files}" if key in figures else "")
        full = " --full" if effort.value == "full" else ""
        parts.append(
            f"<details><summary>table ({counted(len(rows), 'row')})</summary>"
            f'<div class="wide">{_results(of, compared(of, rows))}</div></details>'
            f'<p class="small">All rows: {every}. To rerun: '
            f"<code>wifair reproduce {_e(of.key)}/{_e(key)}{full}</code></p>"
        )
        parts.append(_rerun(of.key, key, scenarios.get(key, ())))
    parts += [_tallies(item), _by_reading(item), _by_control(item), _by_null(item)]
    readme = of.folder / "README.md"
    if readme.is_file():
        text = GENERATED.sub("", readme.read_text(encoding="utf-8")).replace("## Verdicts of this version", "")
        parts.append("<h2>How the paper was read</h2>" + markdown(text))
    return _page(of.title, parts)


WIDE_INCH = 5.0
"""A wider figure leaves no room for claims beside it [inch]."""


def _claim(of: Paper, judged: Judged) -> str:
    claim, judgement = judged.claim, judged.judgement
    rows = [_clause(of, claim, judgement, place) for place in range(len(claim.clauses))]
    heads = ("clause", "published", "measured", "deviation", "verdict")
    table = _table(heads, rows, ' class="clauses"') if rows else ""
    notes = [judgement.note] if judgement.note else []
    if judged.in_full and judged.in_full != judged.verdict:
        notes.append(f"Full runs of this version: {WORDS[judged.in_full]}.")
    notes += [f"With another measure, {says}: {_plainly(one)}." for says, one in judged.others]
    note = "".join(f'<p class="small">{_inline(text)}</p>' for text in notes)
    control = ""
    if judged.controlled is not None and judged.controlled.judgement is not None:
        without = judged.controlled.judgement
        control = (
            f'<p class="small">Control: {_e(judged.controlled.control.null)}: {_verdict(without)}. '
            f"{_inline(_sentence(judged.controlled.reason))}</p>"
        )
    elif judged.controlled is None:
        control = f'<p class="small">No control. {_inline(claim.no_control)}</p>'
    return (
        f'<section class="claim" id="{_e(claim.id)}" data-verdict="{_kinds(judged)}">'
        f"<p>{_verdict(judgement)}{_tag(judged)}</p>"
        f'<p><strong>{_e(claim.says)}</strong> <span class="small">{_e(claim.source)}</span></p>{note}{table}{control}'
        "</section>"
    )


def _plainly(judgement: Judgement) -> str:
    return f"{WORDS[judgement.verdict]}{_of_readings(judgement)}"


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _table(heads: Iterable[str], rows: Iterable[str], attributes: str = "") -> str:
    """Write a table of rows that are HTML already, under the texts `heads`."""
    head = "".join(f"<th>{text}</th>" for text in heads)
    return f"<table{attributes}><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _clause(of: Paper, claim: Claim, judgement: Judgement, place: int) -> str:
    clause, tested = claim.clauses[place], judgement.first.tested[place]
    decisive = tested.decisive
    measured = _measured(decisive, clause.unit, clause.rows) if decisive else _e(tested.missing)
    if tested.lacking:
        measured += f'<div class="small">{_e(tested.lacking)}</div>'
    ratio = "ratio, " if decisive and " / " in decisive.at else ""
    at = f'<div class="small">{ratio}{_e(_human(of, decisive.at))}</div>' if decisive and decisive.at else ""
    asks = clause.asks
    for label, name in of.names.items():
        asks = re.sub(rf"(?<=(rises|falls) with ){re.escape(label)}\b", _fixed(_word(name)[0]), asks)
    deviation = ""
    if decisive and isinstance(clause.published, int | float) and clause.published:
        deviation = f"{_percent(decisive.bounds.estimate / clause.published - 1)} %"
    of_all = len(judgement.readings)
    many = f'<div class="small">in {judgement.holds_in(place)} of {of_all} readings</div>' if of_all > 1 else ""
    colour, says = ("calibrated",) * 2 if clause.calibrated else (tested.result, WORDS[tested.result])
    published = "no number" if clause.published is None else f"{clause.published}"
    unit = f" {clause.unit}" if clause.unit and isinstance(clause.published, int | float) else ""
    return (
        f'<tr><td>{_e(clause.says)}<div class="small">tested: {_e(asks)}{_because(of, clause)}</div></td>'
        f'<td{" class=none" if clause.published is None else ""} data-head="published">{_e(published + unit)}</td>'
        f'<td data-head="measured">{measured}{at}</td>'
        f'<td class="n{" none" if not deviation else ""}" data-head="deviation">{deviation or "&ndash;"}</td>'
        f'<td data-head="verdict"><span class="verdict v-{colour}">{says}</span>{many}</td></tr>'
    )


def _because(of: Paper, clause: Clause) -> str:
    """Write why the smallest effect is as large as it is, and how the paper defines what is tested."""
    text = f"; {_inline(clause.because)}" if clause.because else ""
    used = {one.quantity for one in selections(re.sub(r"[{}]", "", clause.rows))}
    known = [(of.units[name], of.defined[name]) for name in sorted(used) if name in of.defined]
    lines = "".join(f"<li>{_e(unit.partition(' [')[0])}: {_inline(how)}</li>" for unit, how in known)
    return text + (f"<details><summary>as the paper defines it</summary><ul>{lines}</ul></details>" if lines else "")


def _percent(part: float) -> str:
    return f"{round(100 * part):+d}" if round(100 * part) else "0"


def _measured(comparison: RegionComparison, unit: str, rows: str) -> str:
    estimate, low, high = possible(comparison, rows)
    digits = _digits(low, high)
    tail = f" {_e(unit)}" if unit and " / " not in comparison.at else ""
    if not math.isfinite(low) or not math.isfinite(high):
        return f"{number(estimate)}{tail} <span class='small'>no interval yet</span>"
    if low == high:
        return f"{number(estimate)}{tail}"
    return f"{estimate:.{digits}f}{tail} <span class='small whole'>{low:.{digits}f} to {high:.{digits}f}</span>"


def _digits(low: float, high: float) -> int:
    if not math.isfinite(low) or not math.isfinite(high) or high <= low:
        return 3
    return min(max(1 - math.floor(math.log10((high - low) / 2)), 0), 5)


def _human(of: Paper, text: str) -> str:
    """Replace labels by their names for readers: ``window 30`` becomes ``window 30 kB``, ``on`` becomes ``RTS on``."""
    text = "".join(of.words.get(part, part) for part in re.split(r"(, | / | - )", text))
    for label, name in of.names.items():
        word, unit = _word(name)
        numbers = rf"\b{re.escape(label)} ([\d.]+(?: / [\d.]+)?)"
        text = re.sub(numbers, _around(f"{word} ", unit), text)
    return text


def _fixed(word: str) -> Callable[[re.Match[str]], str]:
    """Replace a match by `word`, as it is."""
    return lambda _: word


def _around(before: str, after: str) -> Callable[[re.Match[str]], str]:
    """Replace a match by its first group between two texts."""
    return lambda found: f"{before}{found[1]}{after}"


def _word(name: str) -> tuple[str, str]:
    """Split the name of a label from its unit, which gets a leading blank."""
    word, _, unit = name.partition(" [")
    return word, f" {unit.rstrip(']')}" if unit else ""


def _residuals(of: Paper, rows: Iterable[Row]) -> str:
    """Draw the deviations of results from published values and from ns-2, with intervals."""
    known = [row for row in rows if (np.isfinite(row.published) and row.published) or (row.ns2 and row.ns2_mean)]
    if not known or len(known) > MOST_RESIDUALS:
        return ""
    reach = 0.25
    names = [_short_name(of, row, known) for row in known]
    left = max(len(name) for name in names) * 5.6 + 66
    width, height = left + 2 * HALF + 66, 18 * len(known) + 34

    def x(part: float) -> float:
        return left + HALF * (1 + max(-1.0, min(1.0, part / reach)))

    parts = [
        f'<line x1="{x(v):.0f}" y1="18" x2="{x(v):.0f}" y2="{height - 14}" stroke="currentColor" '
        f'stroke-opacity="{0.7 if v == 0 else 0.15}"/><text x="{x(v):.0f}" y="{height - 2}" text-anchor="middle">'
        f"{_percent(v)} %</text>"
        for v in (-0.25, -0.1, 0.0, 0.1, 0.25)
    ]
    for place, row in enumerate(known):
        y = 30 + 18 * place
        name = names[place]
        parts.append(f'<text x="0" y="{y + 4}">{_e(name)}</text>')
        estimate = row.estimate
        for value, mark in ((row.published, CIRCLE), (row.ns2_mean, CROSS)):
            if not np.isfinite(value) or value == 0 or not math.isfinite(estimate.mean):
                continue
            half = estimate.half_width / abs(value) if math.isfinite(estimate.half_width) else 0
            part = estimate.mean / value - 1
            ends = f'x1="{x(max(part - half, -1)):.1f}" x2="{x(part + half):.1f}" y1="{y}" y2="{y}"'
            parts.append(f'<line {ends} stroke="currentColor" stroke-width="1.2"/>')
            placed = mark.format(x=x(part), y=y, left=x(part) - 3.5, top=y - 3.5)
            parts.append(f'<{placed} stroke="currentColor" stroke-width="1.4"/>')
            if abs(part) > reach:
                side, anchor = (left + 2 * HALF + 10, "start") if part > 0 else (left - 8, "end")
                parts.append(f'<text x="{side}" y="{y + 4}" text-anchor="{anchor}">{_far(part)}</text>')
    whys = list(dict.fromkeys((name, row.why) for name, row in zip(names, known) if row.why))
    notes = "".join(f"<li>{_e(name)}: {_e(why)}</li>" for name, why in whys)
    return (
        '<figure class="residuals"><figcaption class="small">Deviation from the published value (circle) and from ns-2 '
        f'(cross), with 95 % intervals</figcaption><svg viewBox="0 0 {width:.0f} {height}" role="img" '
        f'style="max-width: {1.2 * width:.0f}px" font-size="11" fill="currentColor" aria-label="deviations">'
        f"{''.join(parts)}</svg></figure>" + (f'<ul class="small">{notes}</ul>' if notes else "")
    )


def _short_name(of: Paper, row: Row, among: Sequence[Row]) -> str:
    """Name a row by the labels that tell rows apart, and by its quantity if there are several."""
    labels = {
        label: value
        for label, value in row.labels.items()
        if any(str(other.labels.get(label)) != str(value) for other in among)
    }
    words = [
        of.words.get(value, value) if isinstance(value, str) else _human(of, f"{label} {value:g}")
        for label, value in labels.items()
    ]
    if not words or any(other.quantity != row.quantity for other in among):
        words.append(of.units.get(row.quantity, row.quantity))
    return ", ".join(words)


CIRCLE, CROSS = 'circle cx="{x:.1f}" cy="{y}" r="4" fill="none"', 'path d="M{left:.1f} {top}l7 7m0 -7l-7 7"'
"""Marks of deviations from the published value and from ns-2."""
HALF = 110
"""Half of the width of a plot of deviations [px]."""
MOST_RESIDUALS = 60
"""The most rows that are drawn; the table has all."""


def _far(part: float) -> str:
    return f"{100 * part:+.0f} %" if part < 9 else f"x {part + 1:.0f}"


def _by_reading(item: PaperOutcome) -> str:
    """Write claims by readings: one matrix for all claims with the same readings."""
    groups: dict[tuple[str, ...], list[Judged]] = {}
    for judged in item.claims:
        if len(judged.judgement.readings) > 1:
            groups.setdefault(tuple(one.says for one in judged.judgement.readings), []).append(judged)
    parts = []
    for readings, some in groups.items():
        heads = "".join(f'<th class="n" title="{_e(text)}">{i}</th>' for i, text in enumerate(readings, 1))
        rows = "".join(
            f'<tr><td><a href="#{_e(judged.claim.id)}">{_e(judged.claim.says)}</a></td>'
            + "".join(
                f'<td class="m v-{one.result}" title="{_e(one.says)}: {WORDS[one.result]}">{MARKS[one.result]}</td>'
                for one in judged.judgement.readings
            )
            + "</tr>"
            for judged in some
        )
        legend = "".join(f"<li>{_e(text)}</li>" for text in readings)
        parts.append(
            f'<div class="wide"><table class="matrix"><thead><tr><th>claim</th>{heads}</tr></thead>'
            f'<tbody>{rows}</tbody></table></div><details class="legend">'
            f"<summary>readings 1 to {len(readings)}</summary><ol>{legend}</ol></details>"
        )
    if not parts:
        return ""
    key = ", ".join(f'<span class="v-{v}">{mark}</span> {WORDS[v]}' for v, mark in MARKS.items() if v != "depends")
    return f'<h2>Claims by readings</h2><p class="small">{key}</p>' + "".join(parts)


def _tallies(item: PaperOutcome) -> str:
    """Write how many claims hold under each reading of a point."""
    points = {one.id: one for one in item.paper.declared.open}
    parts = []
    for point, every in by_reading(item.paper.declared, item.claims).items():
        best = max(one.holds for one in every)
        rows = [
            f"<tr><td>{_e(one.says)}{' (figures)' if one.shown else ''}</td>"
            f'<td class="n">{f"<strong>{best}</strong>" if one.holds == best else one.holds}</td>'
            f'<td class="n">{one.fails}</td><td class="n">{one.undecided}</td><td class="n">{one.of}</td></tr>'
            for one in every
        ]
        heads = (_e(_sentence(points[point].asks)), "hold", "do not", "undecided", "claims")
        parts.append(f"<div class='wide'>{_table(heads, rows)}</div><p class='small'>{_e(sentence(every))}</p>")
    if not parts:
        return ""
    return (
        "<h2>Claims that hold under each reading</h2><p>What the paper leaves open, with all other points as the "
        "figures show them.</p>" + "".join(parts)
    )


def _by_null(item: PaperOutcome) -> str:
    """Write the matrix of claims and generic nulls, and which claims hold with each of them."""
    found, origin = item.nulls, "of this run"
    if not found:
        found, origin = item.paper.nulls, "of a recorded quick run"
    shown = [judged.claim for judged in item.claims if judged.claim.id in found]
    if not shown:
        return ""
    rows, firm = [], []
    for claim in shown:
        results = [found[claim.id].get(null.id) for null in NULLS]
        if not any(one is not None and one.touched and one.still < one.held for one in results):
            firm.append(claim)
        cells = "".join(f'<td class="m">{_null_cell(one)}</td>' for one in results)
        rows.append(f'<tr><td><a href="#{_e(claim.id)}">{_e(claim.says)}</a></td>{cells}</tr>')
    heads = ("claim", *(f'<span title="{_e(null.says)}">{_e(null.id)}</span>' for null in NULLS))
    legend = "".join(f"<li>{_e(null.id)}: {_e(null.says)}</li>" for null in NULLS)
    reasons = "".join(
        f"<li>{_e(one.says)} {_inline(_sentence(one.no_flip) or 'No reason is known.')}</li>" for one in firm
    )
    tail = f"<p>These claims hold with each null in every reading:</p><ul>{reasons}</ul>" if firm else ""
    return (
        f"<h2>Generic nulls</h2><p>Five changes, {origin}, each in the readings in which the claim holds: in how many "
        "of them it still holds. A dash: the null changes nothing that the claim needs.</p>"
        f'<ul class="small">{legend}</ul><div class="wide">{_table(heads, rows)}</div>{tail}'
    )


def _null_cell(result: NullResult | None) -> str:
    if result is None or not result.touched:
        return "&ndash;"
    return f"{result.still} of {result.held}"


def _by_control(item: PaperOutcome) -> str:
    """Write a table of claims with their mechanism and without it."""
    rows = []
    for judged in item.claims:
        controlled = judged.controlled
        if controlled is None or controlled.judgement is None:
            continue
        specific = {True: "specific", False: "not specific", None: "&ndash;"}[controlled.specific]
        rows.append(
            f'<tr><td><a href="#{_e(judged.claim.id)}">{_e(judged.claim.says)}</a></td>'
            f'<td>{_e(controlled.control.mechanism)}<div class="small">{_e(controlled.control.null)}</div></td>'
            f"<td>{_verdict(judged.judgement)}</td>"
            f"<td>{_verdict(controlled.judgement)}</td><td>{specific}</td></tr>"
        )
    if not rows:
        return ""
    heads = ("claim", "mechanism, and its null", "with mechanism", "with null", "the claim is")
    return (
        "<h2>Controls</h2><p>A control replaces the mechanism of a claim by a null. A claim that also holds with the "
        "null is <em>not specific</em>: the observation may be right, but it is no evidence for the mechanism.</p>"
        f'<div class="wide">{_table(heads, rows)}</div>'
    )


def _effort(effort: Effort) -> str:
    seeds = [str(effort.seeds_at(look)) for look in range(effort.looks)]
    looks = f"{seeds[0]} seeds; {' or '.join(seeds[1:])} if these do not decide"
    level = (
        f"Each end of an interval has an error probability of {100 * LEVEL:g} %, divided among {effort.looks} looks at "
        "the data, and, where a clause fails, among the clauses of the claim and their comparisons."
    )
    if effort.value == "full":
        return f'<p class="small">wifair {__version__}, full: the durations of the papers; {looks}. {level}</p>'
    return (
        f'<p class="small">wifair {__version__}, <strong>quick</strong>: fewer points and seeds, {looks}. '
        f"Full runs (<code>--full</code>) may decide claims that are undecided here. {level}</p>"
    )


def _cited(of: Paper | None = None) -> str:
    """Write what one cites: version, commit, date, machine, command, and the files with every number."""
    known = about()
    rows = [("wifair", f"{known['version']}, commit {known['commit']}"), ("date", known["date"])]
    rows += [("machine", f"{known['machine']}, {known['platform']}, Python {known['python']}")]
    rows += [("command", f"wifair {known['command']}")]
    cells = "".join(f"<dt>{_e(name)}</dt><dd>{_e(value)}</dd>" for name, value in rows)
    files = '<a href="reproduction.json">reproduction.json</a>: every case with its seeds and scenario'
    if of is not None:
        files += f'; <a href="{_e(of.key)}/claims.csv">claims.csv</a>: one verdict for each claim'
    return f'<dl class="cited">{cells}<dt>data</dt><dd>{files}</dd></dl>'


def _broken(outcome: Outcome) -> str:
    items = "".join(f"<li>{_e(judged.claim.says)} ({_e(_short(of))})</li>" for of, judged in outcome.broken())
    return f"<p>Claims that are recorded as holding but do not hold here:</p><ul>{items}</ul>" if items else ""


def _rerun(own: str, key: str, names: Sequence[str]) -> str:
    if not names:
        return ""
    items = ", ".join(f'<a href="{_e(own)}/scenarios/{_e(key)}/{_e(name)}">{_e(name)}</a>' for name in names)
    return f"<details><summary>scenario files ({len(names)})</summary><p>{items}</p></details>"


def _results(of: Paper, cells: Sequence[Sequence[str]]) -> str:
    def row(tag: str, line: Sequence[str]) -> str:
        inner = "".join(
            f"<{tag}{' class=n' if i >= 2 and not cells[0][i].startswith(' ') else ''}>{_e(_human(of, cell))}</{tag}>"
            for i, cell in enumerate(line)
        )
        return f"<tr>{inner}</tr>"

    body = "".join(row("td", line) for line in cells[1:])
    return f"<table><thead>{row('th', cells[0])}</thead><tbody>{body}</tbody></table>"


def _page(title: str, parts: Sequence[str]) -> str:
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{_e(title)}</title><style>{_file('page.css')}</style></head><body>\n"
        + "\n".join(part for part in parts if part)
        + f"\n<script>\n{_file('page.js')}</script></body></html>\n"
    )


@cache
def _file(name: str) -> str:
    return (files("wifair.reproduce") / name).read_text(encoding="utf-8")


def markdown(text: str) -> str:
    """Convert the Markdown of the READMEs to HTML: headings, paragraphs, lists, tables, code, links."""
    parts: list[str] = []
    for block in re.split(r"\n{2,}", text.strip()):
        lines = block.splitlines()
        if lines[0].startswith("#"):
            level = len(lines[0]) - len(lines[0].lstrip("#"))
            parts.append(f"<h{level + 1}>{_inline(lines[0].lstrip('# '))}</h{level + 1}>")
            if lines[1:]:
                parts.append(markdown("\n".join(lines[1:])))
        elif lines[0].startswith("```"):
            parts.append(f"<pre>{_e(chr(10).join(lines[1:-1]))}</pre>")
        elif lines[0].startswith("|"):
            rows = [[_inline(cell.strip()) for cell in line.strip("|").split("|")] for line in lines]
            body = ["<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows[2:]]
            parts.append(_table(rows[0], body))
        elif lines[0].startswith("- "):
            items = re.split(r"^- ", block, flags=re.MULTILINE)[1:]
            parts.append("<ul>" + "".join(f"<li>{_inline(' '.join(item.split()))}</li>" for item in items) + "</ul>")
        else:
            parts.append(f"<p>{_inline(' '.join(lines))}</p>")
    return "\n".join(parts)


def _inline(text: str) -> str:
    text = _e(text)
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", text)
    text = re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", text)
    return re.sub(r"\[([^\]]+)\]\((https?://[^)]+)\)", r'<a href="\2">\1</a>', text)
