"""Style sheet of the pages of a report, and the script that filters claims."""

from __future__ import annotations

__all__ = ["COLOURS", "SCRIPT", "STYLE"]

COLOURS = {
    "holds": ("#00664b", "#4fd1a5"),
    "partly": ("#7a5c00", "#e3c04f"),
    "depends": ("#0060a0", "#6db9f2"),
    "fails": ("#a33d00", "#ff9a5c"),
    "undecided": ("#5a5a5a", "#b0b0b0"),
    "calibrated": ("#6a3d9a", "#c4a3ee"),
    "definition": ("#5a5a5a", "#b0b0b0"),
    "untestable": ("#5a5a5a", "#b0b0b0"),
}
"""Colour of each verdict, on a light and on a dark background."""

_LIGHT = "".join(f"--{verdict}: {light};" for verdict, (light, _) in COLOURS.items())
_DARK = "".join(f"--{verdict}: {dark};" for verdict, (_, dark) in COLOURS.items())
_CLASSES = "".join(
    f".v-{verdict} {{ color: var(--{verdict}); }} .b-{verdict} {{ background: var(--{verdict}); }}"
    for verdict in COLOURS
)

STYLE = (
    f":root {{ color-scheme: light dark; --ground: #fff; --ink: #1a1a1a; --pale: #f4f5f6; --line: #d9dcdf; "
    f"--soft: #555; --link: #0060a0; {_LIGHT} }}\n"
    f"@media screen and (prefers-color-scheme: dark) {{ :root {{ --ground: #15181b; --ink: #e8e8e8; --pale: #20252a; "
    f"--line: #3a4047; --soft: #a8adb3; --link: #7cc0f5; {_DARK} }} }}\n{_CLASSES}"
    """
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--ground); margin: 0 auto;
  max-width: 76rem; padding: 1.2rem 1rem 4rem; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0.4rem 0; }
h2 { font-size: 1.2rem; margin: 2.5rem 0 0.5rem; }
h3 { font-size: 1rem; margin: 1.2rem 0 0.3rem; }
a { color: var(--link); }
code, pre { font-family: ui-monospace, monospace; font-size: 0.875em; overflow-wrap: anywhere; }
pre { background: var(--pale); padding: 0.6rem; overflow-x: auto; }
summary { cursor: pointer; }
.small { color: var(--soft); font-size: 0.875rem; }
.wide { overflow-x: auto; }
.whole { white-space: nowrap; }
table { border-collapse: collapse; font-size: 0.875rem; margin: 0.5rem 0; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: 0.3rem 0.7rem 0.3rem 0;
  border-bottom: 1px solid var(--line); }
td.n, th.n { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(21rem, 100%), 1fr)); gap: 0.8rem;
  margin: 1rem 0; }
.card { border: 1px solid var(--line); border-radius: 0.5rem; padding: 0.7rem 0.9rem; display: block; color: inherit;
  text-decoration: none; }
a.card:hover { border-color: var(--link); }
.card h3 { margin: 0 0 0.2rem; font-size: 0.95rem; }
.card p { margin: 0.2rem 0; }
.bar { display: flex; height: 0.7rem; border-radius: 0.35rem; overflow: hidden; margin: 0.4rem 0;
  background: var(--pale); }
.bar span { display: block; }
.counts { font-size: 0.8rem; display: flex; flex-wrap: wrap; gap: 0 0.7rem; }
.thumbs { display: grid; grid-template-columns: repeat(auto-fill, minmax(14rem, 1fr)); gap: 0.6rem; margin: 1rem 0; }
.thumbs a { border: 1px solid var(--line); border-radius: 0.4rem; padding: 0.3rem; text-decoration: none;
  font-size: 0.75rem;
  line-height: 1.3; }
.thumbs img { width: 100%; height: 8rem; object-fit: contain; background: #fff; border-radius: 0.25rem; }
figure { margin: 1rem 0; }
figure > svg { width: 100%; height: auto; background: #fff; border-radius: 0.4rem; }
@media screen and (max-width: 48rem) { figure { overflow-x: auto; } .wide-figure > svg { min-width: 40rem; } }
.contents { columns: 22rem 2; padding-left: 1.2rem; }
.total { max-width: 40rem; }
.beside figure > svg { max-width: 36rem; }
@media (min-width: 64rem) {
  .beside { display: grid; grid-template-columns: minmax(0, 30rem) minmax(0, 1fr); gap: 0 2rem; align-items: start; }
}
.residuals { overflow-x: auto; }
.residuals svg { width: 100%; min-width: 20rem; height: auto; background: none; }
.verdict { font-weight: 600; }
.claim { border-left: 4px solid var(--line); padding: 0.2rem 0 0.2rem 0.8rem; margin: 1.1rem 0; }
.claim > p { margin: 0.2rem 0; }
.claim table { margin: 0.4rem 0; }
.tag { font-size: 0.75rem; border: 1px solid var(--line); border-radius: 0.6rem; padding: 0 0.45rem;
  white-space: nowrap; }
.filter { display: flex; flex-wrap: wrap; gap: 0.4rem 0.8rem; align-items: center; margin: 0.8rem 0; }
.filter input[type=search] { font: inherit; padding: 0.25rem 0.5rem; width: min(20rem, 100%);
  background: var(--ground);
  color: var(--ink); border: 1px solid var(--line); border-radius: 0.3rem; }
.matrix { width: auto; }
.matrix td, .matrix th { padding: 0.2rem 0.35rem; }
.matrix td.m { text-align: center; font-weight: 700; }
.matrix td:first-child { max-width: 26rem; }
[hidden] { display: none !important; }
@media (max-width: 45rem) {
  .list, .list tbody, .list tr, .list td { display: block; border: 0; padding: 0.05rem 0; }
  .list tr { border-bottom: 1px solid var(--line); padding: 0.4rem 0; }
  .clauses thead { display: none; }
  .clauses, .clauses tbody, .clauses tr, .clauses td { display: block; width: 100%; }
  .clauses td.none { display: none; }
  .clauses td { border: 0; padding: 0.05rem 0; text-align: left !important; white-space: normal !important; }
  .clauses tr { border-bottom: 1px solid var(--line); padding: 0.4rem 0; }
  .clauses td[data-head]::before { content: attr(data-head) ": "; color: var(--soft); }
}
@media print { :root { color-scheme: light; font-size: 10px; }
  body { max-width: none; font-size: 1.1rem; padding: 0; } h2 { break-after: avoid; } .residuals svg { min-width: 0; }
  .bar, .bar span { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  .filter, .thumbs, details:not(.legend) { display: none; }
  .claim, figure { break-inside: avoid; } a { color: inherit; text-decoration: none; } }
"""
)

SCRIPT = """
addEventListener('beforeprint', () => document.querySelectorAll('.legend').forEach(one => { one.open = true; }));
const box = document.querySelector('.filter');
if (box) {
  const show = () => {
    const wanted = new Set([...box.querySelectorAll('input[type=checkbox]')].filter(x => x.checked).map(x => x.value));
    const words = box.querySelector('input[type=search]').value.toLowerCase();
    let shown = 0;
    for (const row of document.querySelectorAll('[data-verdict]')) {
      const kinds = row.dataset.verdict.split(' ');
      row.hidden = !(kinds.some(kind => wanted.has(kind)) && row.textContent.toLowerCase().includes(words));
      shown += !row.hidden;
    }
    box.querySelector('output').textContent = shown + ' shown';
  };
  box.addEventListener('input', show);
  show();
}
"""
