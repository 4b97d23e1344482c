"""The expression language of claims.

``fig2a[tcp:vegas, n>=4].if_sent / fig2a[tcp:reno, n>=4].if_sent`` is a ratio for each number of nodes from four on. A
selection consists of an experiment, conditions on labels, and a quantity. Labels without a fixed value remain, and an
operation joins its two sides where their common labels agree. ``max``, ``min``, ``mean``, ``median``, ``sum`` and
``cv`` reduce all points to one, or the points along one label: ``max(fig8[scheme:default].ratio, over=stations)``.
``share(...)`` is the fraction of the seeds for which a condition holds.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wifair._output.words import suggestion
from wifair.reproduce._intervals import replicates
from wifair.reproduce.table import Label, Row, Table


def _variation(values: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    """Compute the coefficient of variation: standard deviation over mean."""
    return np.asarray(np.std(values, axis=axis) / np.mean(values, axis=axis))


REDUCE: Mapping[str, Callable[..., Any]] = {
    "max": np.max,
    "min": np.min,
    "mean": np.mean,
    "median": np.median,
    "sum": np.sum,
    "cv": _variation,
}
BINARY: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: np.divide,
}
COMPARE: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


class ExpressionError(ValueError):
    """An invalid expression or predicate."""

    def __init__(self, text: str, word: str = "") -> None:
        """`word` is the part that is wrong, as written; empty for all of it."""
        super().__init__(text)
        self.word = word


class MissingRowsError(LookupError):
    """Rows that an expression needs and that were not run."""


@dataclass
class LabelledValues:
    """Values of an expression, by the labels that remain."""

    labels: tuple[str, ...]
    """Names of the labels that remain."""
    values: dict[tuple[Label, ...], NDArray[np.float64]]
    """For each combination of label values: the estimate from all seeds, then without each seed in turn."""
    rows: list[Row] = field(default_factory=list)
    """The rows that the values were computed from."""
    cases: dict[tuple[Label, ...], frozenset[int]] = field(default_factory=dict)
    """The runs behind each value, as ids of their scenarios, without those that do not depend on the seed."""

    def over(self, label: str) -> dict[tuple[Label, ...], list[tuple[Label, tuple[Label, ...]]]]:
        """Sort the keys along a label, for each combination of the other labels: its values, and the keys with them."""
        at = self.labels.index(label)
        lines: dict[tuple[Label, ...], list[tuple[Label, tuple[Label, ...]]]] = {}
        for key in self.values:
            lines.setdefault(key[:at] + key[at + 1 :], []).append((key[at], key))
        for line in lines.values():
            if all(isinstance(x, int | float) for x, _ in line):
                line.sort(key=lambda item: float(item[0]))
        return lines

    def mapped(self, function: Callable[[Any], Any]) -> LabelledValues:
        """Apply a function to each value."""
        return LabelledValues(self.labels, {key: function(x) for key, x in self.values.items()}, cases=self.cases)

    def named(self, key: tuple[Label, ...]) -> dict[str, Label]:
        """Map the labels to the values in `key`."""
        return dict(zip(self.labels, key))


@dataclass
class _Context:
    tables: Mapping[str, Table]
    bound: Mapping[str, Label]
    """Labels that the reading fixes."""
    each: bool = False
    """Whether to compute values of each seed instead of means."""
    seeds: tuple[int, ...] | None = None
    """The seeds that all rows have; None while rows are being collected."""
    rows: list[Row] = field(default_factory=list)


@cache
def _parse(text: str) -> ast.expr:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        raise ExpressionError(f"`{text}`: {error.msg}", text) from None


def evaluate(
    text: str, tables: Mapping[str, Table], bound: Mapping[str, Label], *, seeds: int | None = None
) -> LabelledValues:
    """Evaluate an expression.

    Parameters
    ----------
    text : str
        The expression.
    tables : mapping
        Tables by experiment.
    bound : mapping
        Labels of the reading, which apply to every selection that does not fix them itself.
    seeds : int, optional
        Number of seeds to use; values that need rows with fewer seeds are NaN. By default the seeds that all rows have.

    Returns
    -------
    LabelledValues
        For ``share(...)`` 0 or 1 for each seed, otherwise jackknife replicates.

    Raises
    ------
    ExpressionError
        If the expression is invalid.
    MissingRowsError
        If there are no rows for a selection.
    """
    tree = _parse(text)
    inner = tree.args[0] if is_share(text) and isinstance(tree, ast.Call) else tree
    gather = _Context(tables, bound)
    _walk(inner, gather)
    common: tuple[int, ...] | None = None
    for row in gather.rows:
        if row.seeds is not None:
            common = row.seeds if common is None else tuple(seed for seed in common if seed in row.seeds)
    if seeds is not None and common is not None and len(common) < seeds:
        common = next((row.seeds for row in gather.rows if row.seeds is not None and len(row.seeds) == seeds), common)
    context = _Context(tables, bound, is_share(text), () if common is None else common)
    points = _walk(inner, context)
    points.rows = gather.rows
    return points


def is_share(text: str) -> bool:
    """Whether an expression is a fraction of seeds, ``share(...)``."""
    tree = _parse(text)
    return isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id == "share"


def is_ratio(text: str) -> bool:
    """Whether an expression is a ratio, or a reduction of ratios."""
    tree = _parse(text)
    while isinstance(tree, ast.Call) and tree.args:
        tree = tree.args[0]
    return isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Div)


def is_difference(text: str) -> bool:
    """Whether an expression is a difference, or a reduction of differences."""
    tree = _parse(text)
    while isinstance(tree, ast.Call) and tree.args and not (isinstance(tree.func, ast.Name) and tree.func.id == "abs"):
        tree = tree.args[0]
    return isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Sub)


class SelectedRows(NamedTuple):
    """The rows that a part of an expression selects."""

    experiment: str
    quantity: str
    conditions: tuple[tuple[str, Label, bool], ...]
    """Label (empty if any label may have the value), value, and whether a label must equal it."""


def selections(text: str) -> list[SelectedRows]:
    """List the selections of an expression.

    Raises
    ------
    ExpressionError
        If the expression is invalid.
    """
    found = []
    for node in ast.walk(_parse(text)):
        if isinstance(node, ast.Attribute):
            experiment, conditions = _selection(node)
            tests = tuple((one.label, one.value, one.fixes or not one.label) for one in conditions)
            found.append(SelectedRows(experiment, node.attr, tests))
    return found


def reduced_over(text: str) -> list[str]:
    """List the labels that an expression reduces points along."""
    calls = (node for node in ast.walk(_parse(text)) if isinstance(node, ast.Call))
    return [str(_constant(word.value)) for call in calls for word in call.keywords if word.arg == "over"]


def validate(text: str) -> None:
    """Check the syntax of an expression, and the names of its functions, without rows.

    Raises
    ------
    ExpressionError
        If it is invalid.
    """
    tree = _parse(text)
    known = [*REDUCE, "abs", "share"]
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            _selection(node)
        elif isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else ast.unparse(node.func)
            if name not in known:
                raise ExpressionError(
                    f"no function `{name}`: {suggestion(name, known, 'there are ' + ', '.join(known))}", name
                )
            for word in node.keywords:
                if word.arg != "over":
                    raise ExpressionError(f"no option `{word.arg}` of `{name}`: there is `over`", str(word.arg))
            if name == "share" and node is not tree:
                raise ExpressionError("`share` stands alone: its value is a fraction of seeds", "share")


def experiments_of(texts: Iterable[str]) -> dict[str, set[str]]:
    """Find the experiments in expressions, each with the labels that all its selections fix."""
    found: dict[str, set[str]] = {}
    for text in texts:
        for experiment, conditions in _selections(text):
            given = {one.label for one in conditions if one.fixes}
            found[experiment] = found.get(experiment, given) & given
    return found


def may_select(text: str, experiment: str, labels: Mapping[str, Label], bound: Mapping[str, Label]) -> bool:
    """Whether an expression may need rows of a case, which may have more labels than the case.

    Parameters
    ----------
    text : str
        The expression.
    experiment : str
        The experiment of the case.
    labels : mapping
        Labels of the case.
    bound : mapping
        Labels of the reading, as for `evaluate`.
    """
    return any(_fits(conditions, labels, bound) for of, conditions in _selections(text) if of == experiment)


class _Condition(NamedTuple):
    """A condition of a selection on the label of a row."""

    label: str
    """The label; empty if any label may have the value."""
    test: Callable[[Any, Any], Any]
    value: Label
    fixes: bool = False
    """Whether the label has this value alone, so that it does not remain."""


@cache
def _selections(text: str) -> list[tuple[str, list[_Condition]]]:
    return [_selection(node) for node in ast.walk(_parse(text)) if isinstance(node, ast.Attribute)]


def _fits(conditions: list[_Condition], labels: Mapping[str, Label], bound: Mapping[str, Label]) -> bool:
    left = dict(bound)
    for label, test, value, fixes in conditions:
        if not label:  # perhaps one that only rows have
            left.clear()
        elif label in labels and not test(labels[label], value):
            return False
        if fixes:
            left.pop(label, None)
    return all(label not in labels or _same(labels[label], value) for label, value in left.items())


def _selection(node: ast.Attribute) -> tuple[str, list[_Condition]]:
    value = node.value
    if isinstance(value, ast.Name):
        return value.id, []
    if isinstance(value, ast.Subscript) and isinstance(value.value, ast.Name):
        items = value.slice.elts if isinstance(value.slice, ast.Tuple) else [value.slice]
        return value.value.id, [_condition(item, node) for item in items]
    raise ExpressionError(f"`{ast.unparse(node)}`: expected experiment[labels].quantity")


def _condition(item: ast.expr, node: ast.Attribute) -> _Condition:
    match item:
        case ast.Slice(lower=ast.Name(id=label), upper=upper):
            return _Condition(label, _same, _constant(upper), fixes=True)
        case ast.Slice():
            raise ExpressionError(f"`{ast.unparse(node)}`: expected label:value")
        case ast.Compare(left=ast.Name(id=label), ops=[operation], comparators=[limit]):
            return _Condition(label, COMPARE[type(operation)], _constant(limit))
    return _Condition("", _same, _constant(item))


def _constant(node: ast.expr | None) -> Label:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Constant) and isinstance(node.value, str | int | float):
        return node.value
    raise ExpressionError(f"`{ast.unparse(node) if node else ''}`: expected a name, a number or a text")


def _same(one: object, other: object) -> bool:
    return one == other or str(one) == str(other)


def _rows(node: ast.Attribute, context: _Context) -> tuple[list[Row], set[str]]:
    """Find the rows of a selection, and the labels that it fixes."""
    experiment, conditions = _selection(node)
    if experiment not in context.tables:
        raise MissingRowsError(f"{experiment} was not run")
    rows = context.tables[experiment].of(node.attr)
    given: set[str] = set()
    for label, test, value, fixes in conditions:
        if label:
            given |= {label} if fixes else set()
            rows = [row for row in rows if label in row.labels and test(row.labels[label], value)]
        else:
            given |= {name for row in rows for name, held in row.labels.items() if _same(held, value)}
            rows = [row for row in rows if any(_same(held, value) for held in row.labels.values())]
    for label, value in context.bound.items():
        if label not in given and any(label in row.labels for row in rows):
            rows = [row for row in rows if _same(row.labels.get(label), value)]
    if not rows:
        raise MissingRowsError(f"no rows for {ast.unparse(node)} with {dict(context.bound)}")
    return rows, given


def _select(node: ast.Attribute, context: _Context) -> LabelledValues:
    rows, given = _rows(node, context)
    context.rows += rows
    names = [name for row in rows for name in row.labels]
    free = tuple(
        name for name in dict.fromkeys(names) if name not in given and len({row.labels.get(name) for row in rows}) > 1
    )
    values: dict[tuple[Label, ...], NDArray[np.float64]] = {}
    cases: dict[tuple[Label, ...], frozenset[int]] = {}
    for row in rows:
        key = tuple(row.labels.get(name, "") for name in free)
        if key in values:
            raise ExpressionError(f"`{ast.unparse(node)}`: two rows with {row.labels}")
        values[key] = _values(row, context)
        cases[key] = frozenset(() if row.case is None or not row.case.random else (id(row.case.scenario),))
    return LabelledValues(free, values, cases=cases)


def _values(row: Row, context: _Context) -> NDArray[np.float64]:
    if row.seeds is None:
        return np.array([row.values.mean()])
    if context.seeds is None:  # rows are being collected
        return row.values[:1]
    if not context.seeds:  # rows without a common seed cannot be compared
        return np.full(3, np.nan)
    if not set(context.seeds) <= set(row.seeds):
        return np.full(len(context.seeds) + (not context.each), np.nan)
    at = [row.seeds.index(seed) for seed in context.seeds]
    return row.values[at] if context.each else replicates(row.values[at])


def _walk(node: ast.expr, context: _Context) -> LabelledValues:  # noqa: PLR0911
    if isinstance(node, ast.Attribute):
        return _select(node, context)
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return LabelledValues((), {(): np.array([float(node.value)])}, cases={(): frozenset()})
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return _walk(node.operand, context).mapped(operator.neg)
    if isinstance(node, ast.BinOp) and type(node.op) in BINARY:
        return _join(BINARY[type(node.op)], _walk(node.left, context), _walk(node.right, context))
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        test = _known(COMPARE[type(node.ops[0])])
        return _join(test, _walk(node.left, context), _walk(node.comparators[0], context))
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        first, *others = (_walk(value, context) for value in node.values)
        for other in others:
            first = _join(_known(np.logical_and), first, other)
        return first
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return _call(node, node.func.id, context)
    raise ExpressionError(f"`{ast.unparse(node)}` is not allowed in an expression of a claim")


def _known(test: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Make the result of a comparison NaN if one side has no values but NaN."""

    def answer(one: Any, other: Any) -> Any:
        result = np.asarray(test(one, other), dtype=np.float64)
        return np.full(result.shape, np.nan) if np.isnan(one).all() or np.isnan(other).all() else result

    return answer


def _call(node: ast.Call, name: str, context: _Context) -> LabelledValues:
    if name == "abs" and len(node.args) == 1:
        return _walk(node.args[0], context).mapped(np.abs)
    if name not in REDUCE or not node.args:
        raise ExpressionError(f"`{name}`: there are {', '.join([*REDUCE, 'abs', 'share'])}")
    parts = [_walk(argument, context) for argument in node.args]
    if len(parts) > 1:  # several expressions: reduce at each point
        result = parts[0]
        if name not in ("max", "min"):
            raise ExpressionError(f"`{name}` takes one expression")
        for other in parts[1:]:
            result = _join(np.maximum if name == "max" else np.minimum, result, other)
        return result
    inner = parts[0]
    over = next((_constant(keyword.value) for keyword in node.keywords if keyword.arg == "over"), None)
    if over in inner.labels:
        labels = tuple(label for label in inner.labels if label != over)
        groups = {rest: [key for _, key in line] for rest, line in inner.over(str(over)).items()}
    else:
        labels, groups = (), {(): list(inner.values)}
    values = {
        rest: REDUCE[name](_stacked([inner.values[key] for key in keys]), axis=0) for rest, keys in groups.items()
    }
    cases = {rest: frozenset[int]().union(*(inner.cases[key] for key in keys)) for rest, keys in groups.items()}
    return LabelledValues(labels, values, cases=cases)


def _stacked(arrays: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    return np.stack(np.broadcast_arrays(*arrays))


def _join(function: Callable[[Any, Any], Any], one: LabelledValues, other: LabelledValues) -> LabelledValues:
    """Apply an operator to the pairs of points whose common labels agree."""
    shared = [label for label in one.labels if label in other.labels]
    labels = (*one.labels, *(label for label in other.labels if label not in shared))
    values: dict[tuple[Label, ...], NDArray[np.float64]] = {}
    cases: dict[tuple[Label, ...], frozenset[int]] = {}
    with np.errstate(divide="ignore", invalid="ignore"):
        for key, value in one.values.items():
            for key2, value2 in other.values.items():
                here, there = one.named(key), other.named(key2)
                if all(here[label] == there[label] for label in shared):
                    both = {**there, **here}
                    place = tuple(both[label] for label in labels)
                    values[place] = function(value, value2)
                    cases[place] = one.cases[key] | other.cases[key2]
    if not values:
        raise MissingRowsError("the two sides have no point in common")
    return LabelledValues(labels, values, cases=cases)
