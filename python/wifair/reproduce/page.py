"""Pages of a report: plain HTML with everything in it."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from wifair._core import __version__
from wifair.reproduce.text import compared, measured, shown_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wifair.reproduce.claims import Claim, Judgement
    from wifair.reproduce.session import Outcome, PaperOutcome

__all__ = ["index", "markdown", "paper"]

VERDICTS = {
    "holds": "holds",
    "fails": "does not hold",
    "other-reading": "holds under another reading",
    "untestable": "cannot be tested",
}

STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; line-height: 1.25; } h2 { font-size: 1.2rem; margin-top: 2.5rem; } h3 { font-size: 1rem; }
a { color: #0072b2; } code, pre { font-family: ui-monospace, monospace; font-size: 0.875em; }
pre { background: #f5f5f5; padding: 0.6rem; overflow-x: auto; }
.wide { overflow-x: auto; } figure { margin: 1rem 0; } figure svg { max-width: 100%; height: auto; }
table { border-collapse: collapse; font-size: 0.875rem; margin: 0.5rem 0; }
th, td { text-align: left; vertical-align: top; padding: 0.25rem 0.75rem 0.25rem 0; border-bottom: 1px solid #ddd; }
td.n, th.n { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.verdict { white-space: nowrap; font-weight: 600; } .verdict::before { margin-right: 0.35em; }
.holds { color: #00664b; } .holds::before { content: "\\2713"; }
.fails { color: #a33d00; } .fails::before { content: "\\2717"; }
.other-reading { color: #0072b2; } .other-reading::before { content: "\\25D0"; }
.untestable { color: #666; } .untestable::before { content: "?"; }
.changed { background: #fff3cd; } .small { color: #555; font-size: 0.875rem; }
summary { cursor: pointer; }
@media print { details { display: none; } body { max-width: none; } }
"""


def index(outcome: Outcome) -> str:
    """Write the page that leads to the others: how many claims hold, and all of them."""
    rows = []
    for item in outcome.papers:
        verdicts: list[str] = [judgement.verdict for _, judgement in item.claims]
        counts = "".join(f'<td class="n">{verdicts.count(verdict) or ""}</td>' for verdict in VERDICTS)
        rows.append(
            f'<tr><td><a href="{item.paper.key}.html">{_e(item.paper.title)}</a></td>'
            f'<td class="n">{len(item.tables)}</td><td class="n">{len(verdicts)}</td>{counts}</tr>'
        )
    heads = "".join(f'<th class="n">{_e(text)}</th>' for text in VERDICTS.values())
    parts = [
        "<h1>Papers reproduced with wifair</h1>",
        _effort(outcome),
        f'<div class="wide"><table><thead><tr><th>paper</th><th class="n">experiments</th>'
        f'<th class="n">claims</th>{heads}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>',
        _broken(outcome),
        *(_all_claims(outcome, item) for item in outcome.papers),
    ]
    return _page("Papers reproduced with wifair", parts)


def paper(
    outcome: Outcome, item: PaperOutcome, figures: Mapping[str, str], scenarios: Mapping[str, Sequence[str]]
) -> str:
    """Write the page of a paper: each experiment with figure, table, claims, scenarios; the README at the end."""
    parts = [f'<p><a href="index.html">All papers</a></p><h1>{_e(item.paper.title)}</h1>', _effort(outcome)]
    links = "".join(f'<li><a href="#{key}">{key}: {_e(_title(item, key))}</a></li>' for key in item.tables)
    parts.append(f"<ul>{links}</ul>")
    for key, table in item.tables.items():
        experiment = item.paper.experiment(key)
        parts.append(f'<h2 id="{key}">{key}: {_e(experiment.title)}</h2>')
        if experiment.note:
            parts.append(f"<p>{_e(experiment.note)}</p>")
        own = item.paper.key
        if key in figures:
            files = ", ".join(
                f'<a href="{own}/{key}.{ending}">{ending.upper()}</a>' for ending in ("png", "svg", "pdf")
            )
            label = _e(f"{key}: {experiment.title}")
            picture = figures[key].replace("<svg", f'<svg role="img" aria-label="{label}"', 1)
            parts.append(f"<figure>{picture}</figure>")
        else:
            files = ""
        parts.append(_claims(outcome, [pair for pair in item.claims if pair[0].experiment == key]))
        cells = compared(item.paper, shown_rows(experiment, table))
        links = f'<a href="{own}/{key}.csv">CSV</a>' + (f"; figure: {files}" if files else "")
        parts.append(
            f"<details><summary>table ({len(cells) - 1} rows)</summary>"
            f'<div class="wide">{_table(cells)}</div></details>'
            f'<p class="small">All rows: {links}. Again: <code>wifair reproduce {own}/{key}'
            f"{' --full' if outcome.effort.value == 'full' else ''}</code></p>"
        )
        parts.append(_rerun(own, key, scenarios.get(key, ())))
    readme = item.paper.folder / "README.md"
    if readme.is_file():
        parts.append("<h2>Readings taken</h2>" + markdown(readme.read_text(encoding="utf-8")))
    return _page(item.paper.title, parts)


def _title(item: PaperOutcome, key: str) -> str:
    return item.paper.experiment(key).title


def _effort(outcome: Outcome) -> str:
    if outcome.effort.value == "full":
        return f'<p class="small">wifair {__version__}, full: the durations and repetitions of the papers, or more.</p>'
    return (
        f'<p class="small">wifair {__version__}, <strong>quick</strong>: fewer seeds and shorter runs; intervals '
        "are wide, and a verdict near its threshold may differ from that of <code>--full</code>.</p>"
    )


def _broken(outcome: Outcome) -> str:
    items = "".join(f"<li>{key.key}: {claim.id}</li>" for key, claim, _ in outcome.broken())
    return f"<p>Recorded as holding, and not holding here:</p><ul>{items}</ul>" if items else ""


def _all_claims(outcome: Outcome, item: PaperOutcome) -> str:
    if not item.claims:
        return ""
    return f"<h2>{item.paper.key}</h2>{_claims(outcome, item.claims, f'{item.paper.key}.html')}"


def _claims(outcome: Outcome, claims: Sequence[tuple[Claim, Judgement]], link: str = "") -> str:
    if not claims:
        return ""
    rows = "".join(_claim(outcome, claim, judgement, link) for claim, judgement in claims)
    return (
        '<div class="wide"><table><thead><tr><th>claim</th><th>published</th><th>measured, 95 % interval</th>'
        f"<th>verdict</th></tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _claim(outcome: Outcome, claim: Claim, judgement: Judgement, link: str) -> str:
    changed = judgement.verdict != outcome.recorded(claim)
    note = f'<div class="small">recorded: {VERDICTS[outcome.recorded(claim)]}</div>' if changed else ""
    name = f'<a href="{link}#{claim.experiment}"><code>{claim.id}</code></a>' if link else f"<code>{claim.id}</code>"
    published = ", ".join(f"{key} {value}" for key, value in claim.published.items()) or "in words"
    return (
        f"<tr{' class=changed' if changed else ''}><td>{name}<div>{_e(claim.statement)}</div>"
        f'<div class="small">{_e(judgement.reason)}</div></td>'
        f"<td>{_e(published)}</td><td>{_e(measured(judgement))}</td>"
        f'<td><span class="verdict {judgement.verdict}">{VERDICTS[judgement.verdict]}</span>{note}</td></tr>'
    )


def _rerun(own: str, key: str, names: Sequence[str]) -> str:
    if not names:
        return ""
    items = ", ".join(f'<a href="{own}/scenarios/{key}/{name}">{_e(name)}</a>' for name in names)
    return f"<details><summary>scenario files ({len(names)})</summary><p>{items}</p></details>"


def _table(cells: Sequence[Sequence[str]]) -> str:
    def row(tag: str, line: Sequence[str]) -> str:
        inner = "".join(
            f"<{tag}{' class=n' if index >= 2 else ''}>{_e(cell)}</{tag}>" for index, cell in enumerate(line)
        )
        return f"<tr>{inner}</tr>"

    body = "".join(row("td", line) for line in cells[1:])
    return f"<table><thead>{row('th', cells[0])}</thead><tbody>{body}</tbody></table>"


def _page(title: str, parts: Sequence[str]) -> str:
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{_e(title)}</title><style>{STYLE}</style></head><body>\n"
        + "\n".join(part for part in parts if part)
        + "\n</body></html>\n"
    )


def _e(text: str) -> str:
    return html.escape(text, quote=True)


def markdown(text: str) -> str:
    """Turn the little of Markdown that the READMEs use into HTML: headings, paragraphs, lists, tables, code, links."""
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
            head = "".join(f"<th>{cell}</th>" for cell in rows[0])
            body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows[2:])
            parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
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
