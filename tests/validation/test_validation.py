"""Rows of the validation beside other programs; all of them, with the page, by `make validate`."""

from __future__ import annotations

import numpy as np
import pytest
from captures import rows
from model import Case, Section, as_many_by_chance, cutoff, sign_test, t_test
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


def test_the_t_test_is_that_of_the_tables() -> None:
    """Student's factor for 4 degrees of freedom is 2.776 at 5 %: a single run may be that times sqrt(2.5 * 6/5) off."""
    p, visible = t_test(np.arange(1.0, 6.0), [3 + 2.776 * 3**0.5])
    assert (p, visible) == pytest.approx((0.05, 2.776 * 3**0.5), rel=1e-3)
    # Two samples of 3, 4 degrees of freedom again: 2.776 * sqrt(1 * (1/3 + 1/3)) = 2.267.
    p, visible = t_test(np.array([1.0, 2.0, 3.0]), [3.267, 4.267, 5.267])
    assert (p, visible) == pytest.approx((0.05, 2.267), rel=1e-3)
    assert t_test(np.array([1.0, 1.0, np.nan]), [1.0]) == (1.0, 0.0)
    assert t_test(np.array([1.0, 1.0]), [1.1]) == (0.0, 0.0)


def test_the_cut_off_is_that_of_benjamini_and_hochberg() -> None:
    """The example of their paper of 1995, section 3.2: four of 15 at 5 %; Bonferroni's has three."""
    p_values = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459]
    p_values += [0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000]
    assert cutoff(p_values) == 0.0095
    assert cutoff([0.9, 0.5]) == 0.0


def test_many_failures_are_rarely_chance() -> None:
    """Two heads or more of three: 4 in 8; one or more in two at 5 %: 1 - 0.95**2."""
    assert as_many_by_chance(2, 3, 0.5) == pytest.approx(0.5)
    assert as_many_by_chance(1, 2) == pytest.approx(1 - 0.95**2)


def test_the_sign_test_counts_heads_and_tails() -> None:
    """One head in ten or fewer, or tails: 2 * (1 + 10) / 1024."""
    assert sign_test(9, 1) == sign_test(1, 9) == pytest.approx(22 / 1024)
    assert sign_test(5, 5) == 1.0


def test_reasons_are_of_sections_that_exist() -> None:
    from reasons import REASONS  # noqa: PLC0415

    names = {section.name for section in SECTIONS}
    assert {name for name, *_ in REASONS} <= names


@pytest.mark.slow
def test_captures_are_read_as_tcptrace_reads_them() -> None:
    found = list(rows())
    assert len(found) >= 20
    assert [row.name for row in found if row.different] == []
