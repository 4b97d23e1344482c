"""How many claims hold under each reading of what a paper leaves open."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from wifair.reproduce._claims import GIVEN, Claims, Open, Reading

if TYPE_CHECKING:
    from wifair.reproduce._session import Judged


class Tally(NamedTuple):
    """The claims under one reading of a point, with all other points as the figures show them."""

    point: str
    reading: str
    says: str
    holds: int
    fails: int
    """Claims of which a clause fails, `partly` included."""
    undecided: int
    shown: bool
    """Whether it is the reading that figures show."""

    @property
    def of(self) -> int:
        """Number of claims that the point affects."""
        return self.holds + self.fails + self.undecided


def by_reading(declared: Claims, judged: Iterable[Judged]) -> dict[str, list[Tally]]:
    """Count the claims that hold under each reading, by point.

    A point that affects fewer than two claims is left out: its readings stand with the claim.
    """
    some = [one for one in judged if one.verdict not in (*GIVEN, "full-only")]
    firsts = {point.id: point.readings[0].id for point in declared.open}
    found = {}
    for point in declared.open:
        tallies = list(_tallies(point, some, firsts))
        if not point.decided and max((tally.of for tally in tallies), default=0) > 1:
            found[point.id] = tallies
    return found


def _tallies(point: Open, some: Iterable[Judged], firsts: dict[str, str]) -> Iterator[Tally]:
    for place, reading in enumerate(point.readings):
        results = [result for one in some for result in _results(one, point, reading, firsts)]
        holds, undecided = results.count("holds"), results.count("undecided")
        fails = len(results) - holds - undecided
        yield Tally(point.id, reading.id, reading.says or reading.id, holds, fails, undecided, place == 0)


def _results(judged: Judged, point: Open, reading: Reading, firsts: dict[str, str]) -> Iterator[str]:
    for read in judged.judgement.readings:
        settings = {name: one.id for name, one in read.reading.items()}
        others = all(firsts[name] == id_ for name, id_ in settings.items() if name != point.id)
        if settings.get(point.id) == reading.id and others:
            yield read.result


def sentence(tallies: Iterable[Tally]) -> str:
    """Say which reading the figures show, and which explains most claims."""
    every = list(tallies)
    shown = next(one for one in every if one.shown)
    best = max(every, key=lambda one: (one.holds, one.shown))
    tried = "All were tried, so that one of them fits best predicts nothing."
    if best.shown:
        return f"The figures show the reading under which most of these claims hold. {tried}"
    return (
        f"The figures show the reading under which {shown.holds} of {shown.of} claims hold; most, {best.holds} of "
        f"{best.of}, hold under this one: {best.says}. {tried}"
    )


def to_dict(found: dict[str, list[Tally]]) -> dict[str, Any]:
    """Convert to plain values, by point."""
    return {point: [one._asdict() for one in tallies] for point, tallies in found.items()}
