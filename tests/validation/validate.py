"""`make validate`: runs everything, writes docs/validation.md, and fails if a row differs without a reason or a reason
explains no row.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from model import CUTOFF, LEVEL, SEEDS, Row, by_t_test, cutoff, sign_test, signs
from reasons import REASONS, bias, reason
from report import page, section_text, tcptrace
from sections import SECTIONS

DOCS = Path(__file__).parents[2] / "docs"


def main(names: list[str]) -> int:
    texts = []
    unexpected = 0
    given: set[str] = set()
    p_values: list[float] = []
    for section in SECTIONS:
        if names and section.name not in names:
            continue
        begin = time.perf_counter()
        rows: list[Row] = []
        for case in section.cases():
            row = case.run(SEEDS)
            rows.append(row)
            for one, source in row.outside():
                why = reason(section.name, row.labels, one.quantity)
                unexpected += not why
                given.add(why)
                print(
                    f"{section.name}: {row.name()}: {one.quantity} {one.mean:.4g} {one.range}, "
                    f"{source} {one.their_mean(source):.4g}: {why or 'NOT EXPECTED'}"
                )
        above, below = signs(rows)
        p_values += [one.p_value(source) for one, source in by_t_test(rows)]
        if sign_test(above, below) < LEVEL / len(SECTIONS):
            why = bias(section.name)
            unexpected += not why
            print(f"{section.name}: {above} means above the reference, {below} below: {why or 'NOT EXPECTED'}")
        texts.append(section_text(section, rows, DOCS))
        print(f"{section.name}: {len(rows)} rows, {time.perf_counter() - begin:.0f} s", file=sys.stderr)
    found = cutoff(p_values)
    if not names and abs(found - CUTOFF) > 0.05 * CUTOFF:
        unexpected += 1
        print(
            f"the cut-off of {len(p_values)} t tests is {found:.6g}: write that for CUTOFF in model.py, and run again"
        )
    stale = [(name, where) for name, where, _, why in REASONS if why not in given]
    if not names and stale:
        unexpected += len(stale)
        print(f"these reasons explain no difference any more, remove them: {stale}")
    if not names or "captures" in names:
        texts.append(tcptrace())
    file = DOCS / "validation.md"
    old = file.read_text(encoding="utf-8") if file.exists() else ""
    file.write_text(page(old, texts, [section.title for section in SECTIONS]), encoding="utf-8")
    return 1 if unexpected else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
