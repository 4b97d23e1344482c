"""Rows of the validation beside other programs; all of them, with the page, by `make validate`."""

from __future__ import annotations

import pytest
from captures import rows
from model import Case, Section
from reasons import reason
from sections import SECTIONS

CASES = [(section, case) for section in SECTIONS for case in section.cases()]


def check(section: Section, case: Case) -> None:
    row = case.run()
    wrong = [
        f"{one.quantity} {one.mean:.4g} {one.range}, {source} {one.their_mean(source):.4g}"
        for one, source in row.outside()
        if not reason(section.name, row.labels, one.quantity)
    ]
    assert not wrong, (row.name(), wrong)


def name(section: Section, case: Case) -> str:
    return f"{section.name}-" + "-".join(str(value) for value in case.labels.values())


@pytest.mark.parametrize(
    ("section", "case"),
    [pytest.param(s, c, id=name(s, c), marks=() if c.fast else pytest.mark.slow) for s, c in CASES],
)
def test_row_agrees_with_its_references(section: Section, case: Case) -> None:
    check(section, case)


def test_reasons_are_of_sections_that_exist() -> None:
    from reasons import REASONS  # noqa: PLC0415

    names = {section.name for section in SECTIONS}
    assert {name for name, *_ in REASONS} <= names


@pytest.mark.slow
def test_captures_are_read_as_tcptrace_reads_them() -> None:
    found = list(rows())
    assert len(found) >= 20
    assert [row.name for row in found if row.different] == []
