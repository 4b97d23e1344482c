"""Reads `claims.toml`, and refuses what cannot be meant: unknown keys, experiments, columns, labels, predicates."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wifair._output.words import suggestion
from wifair.reproduce._claims import GIVEN, Claim, Claims, Clause, Control, Open, Reading
from wifair.reproduce._expressions import ExpressionError, SelectedRows, reduced_over, selections, validate
from wifair.reproduce._places import Places, TomlTable
from wifair.reproduce._predicates import expressions_in, kind_of, needs_effect, number
from wifair.reproduce._reading import read_text, read_toml

if TYPE_CHECKING:
    from wifair.reproduce.table import Label, Table

TOP = ("effect", "open", "control", "claim")
EFFECT = ("by", "because")
OWN = {"open": ("readings",), "claim": ("clauses",)}
"""Fields that are tables of their own in the file."""
NEEDED_OPTIONS = {"same_as": ("margin",), "ranks": ("over",)}
SHAPES: Mapping[str, type | tuple[type, ...]] = {
    "says": str, "rows": str, "source": str, "id": str, "asks": str, "experiment": str, "predicate": dict,
    "experiments": list, "calibrated": bool, "relabel": dict, "changes": dict, "where": dict, "mechanism": str,
    "null": str, "because": str, "full_only": str, "not_specific": str, "no_flip": str, "no_control": str,
 "unit": str, "label": str, "decided": str, "control": str, "given": str, "scale": (int, float),
}  # fmt: skip


@dataclass(frozen=True)
class Vocabulary:
    """What the experiments of a paper have, for the names in its claims."""

    experiments: Mapping[str, Sequence[Mapping[str, Label]]]
    """The labels of all cases, by experiment."""
    quantities: Collection[str]
    """The quantities of the paper."""

    def labels(self, experiments: Iterable[str]) -> dict[str, set[str]]:
        """Collect the values of each label in some experiments."""
        found: dict[str, set[str]] = {}
        for case in chain.from_iterable(self.experiments.get(one, ()) for one in experiments):
            for label, value in case.items():
                found.setdefault(label, set()).add(str(value))
        return found


def read_claims(path: Path, known: Vocabulary | None = None) -> Claims:
    """Read `claims.toml`.

    Parameters
    ----------
    path : path
        The file.
    known : Vocabulary, optional
        What the experiments have; without it names are not checked.

    Returns
    -------
    Claims
        The declarations.

    Raises
    ------
    PaperError
        If something in it is wrong; the message shows everything that is, with its line.
    """
    places, document = Places(path, read_text(path)), read_toml(path)
    reader = _Reader(places, document, known)
    claims = reader.read()
    places.stop()
    return claims


class _Reader:
    """Reads a document, and notes what is wrong."""

    def __init__(self, places: Places, document: Mapping[str, Any], known: Vocabulary | None) -> None:
        self.places, self.document, self.known = places, document, known
        self.wrong = places.wrong

    def read(self) -> Claims:
        for key in self.document:
            if key not in TOP:
                self.wrong(f"unknown table `{key}`", self.places.table(key, 0), "", key, _hint(key, TOP))
        effect = self.document.get("effect", {})
        for key in effect:
            if key not in EFFECT:
                self.wrong(
                    f"unknown key `{key}` in [effect]", self.places.table("effect", 0), key, "", _hint(key, EFFECT)
                )
        opens = [self._open(entry, place) for place, entry in enumerate(self._entries("open"))]
        controls = [self._control(entry, place) for place, entry in enumerate(self._entries("control"))]
        by_id = {control.id: control for control in controls if control is not None}
        claims = [
            self._claim(entry, place, by_id, [one for one in opens if one is not None], effect)
            for place, entry in enumerate(self._entries("claim"))
        ]
        if not claims:
            self.wrong("no claim", None, hint="write [[claim]] with id, experiment, says, source and its clauses")
        return Claims(
            tuple(one for one in claims if one is not None), tuple(one for one in opens if one is not None), by_id
        )

    def _entries(self, name: str) -> Sequence[Mapping[str, Any]]:
        entries = self.document.get(name, [])
        if not isinstance(entries, list):
            self.wrong(f"`{name}` is a table", None, word=name, hint=f"write [[{name}]], once for each")
            return []
        seen: set[str] = set()
        for place, entry in enumerate(entries):
            if entry.get("id") in seen:
                self.wrong(f"`{entry['id']}` is declared twice", self.places.table(name, place), "id", str(entry["id"]))
            seen.add(str(entry.get("id")))
        return entries

    def _fits(
        self, kind: type, entry: Mapping[str, Any], table: TomlTable | None, name: str, own: Iterable[str] = ()
    ) -> bool:
        """Check the keys of a table against the fields of what it becomes. Returns whether it can become that."""
        names = [one.name for one in fields(kind) if one.name not in OWN.get(name, ())]
        good = True
        for key, value in entry.items():
            shape = SHAPES.get(key)
            if key not in (*names, *own):
                self.wrong(f"unknown key `{key}` in [[{name}]]", table, key, "", _hint(key, [*names, *own]))
                good = False
            elif shape is not None and not isinstance(value, shape):
                wanted = " or ".join(one.__name__ for one in (shape if isinstance(shape, tuple) else (shape,)))
                self.wrong(f"`{key}` is no {WORDS.get(wanted, wanted)}", table, key)
                good = False
        for one in fields(kind):
            if (
                one.default is MISSING
                and one.default_factory is MISSING
                and one.name in names
                and one.name not in entry
            ):
                self.wrong(f"[[{name}]] has no `{one.name}`", table, hint=f"add {one.name} = ...")
                good = False
        return good

    def _experiments(self, names: Iterable[str], table: TomlTable | None, key: str) -> None:
        for name in names:
            if self.known is not None and name not in self.known.experiments:
                self.wrong(f"no experiment `{name}`", table, key, name, _hint(name, self.known.experiments))

    def _open(self, entry: Mapping[str, Any], place: int) -> Open | None:
        table = self.places.table("open", place)
        readings = []
        for one in entry.get("reading", ()):
            full = {"value": one.get("id"), **one}
            if self._fits(Reading, full, table, "open.reading"):
                readings.append(Reading(**full))
        rest = {key: value for key, value in entry.items() if key != "reading"}
        if not self._fits(Open, rest, table, "open"):
            return None
        if len(readings) < 2:
            self.wrong(
                f"open point `{entry['id']}` has {len(readings)} readings", table, "reading", hint="give two or more"
            )
        found = Open(readings=tuple(readings), **rest)
        if self.known is None:
            return found
        self._experiments(found.experiments, table, "experiments")
        if found.label is None:
            return found
        touched = [one for one in found.experiments or self.known.experiments if one in self.known.experiments]
        for reading in readings:
            self._experiments(reading.experiments, table, "reading")
            some = [one for one in touched if not reading.experiments or one in reading.experiments]
            values = self.known.labels(some)
            if found.label not in values:
                self.wrong(
                    f"no case has the label `{found.label}`", table, "label", found.label, _hint(found.label, values)
                )
                break
            if str(reading.value) not in values[found.label]:
                hint = _hint(str(reading.value), sorted(values[found.label]))
                self.wrong(f"no case has `{reading.value}` as {found.label}", table, "", str(reading.value), hint)
        return found

    def _control(self, entry: Mapping[str, Any], place: int) -> Control | None:
        table = self.places.table("control", place)
        if not self._fits(Control, entry, table, "control"):
            return None
        control = Control(**entry)
        if not control.relabel and not control.changes:
            self.wrong(f"control `{control.id}` replaces nothing", table, hint="add `relabel` or `changes`")
        if self.known is None:
            return control
        labels = self.known.labels(self.known.experiments)
        labels["experiment"] = set(self.known.experiments)
        pairs = [
            (label, value) for label, values in control.relabel.items() for value in chain(values, values.values())
        ]
        for key, label, value in [
            *(("relabel", label, value) for label, value in pairs),
            *(("where", label, value) for label, value in control.where.items()),
        ]:
            if label not in labels:
                self.wrong(f"no case has the label `{label}`", table, "", str(label), _hint(str(label), labels))
            elif str(value) not in labels[label]:
                self.wrong(
                    f"`{key}`: no case has `{value}` as {label}", table, "", str(value),
                    _hint(str(value), sorted(labels[label])),
                )  # fmt: skip
        return control

    def _claim(
        self, entry: Mapping[str, Any], place: int, controls: Mapping[str, Control], opens: Sequence[Open],
        effect: Mapping[str, Any],
    ) -> Claim | None:  # fmt: skip
        table = self.places.table("claim", place)
        rest = {key: value for key, value in entry.items() if key != "clause"}
        if not self._fits(Claim, rest, table, "claim"):
            return None
        control = entry.get("control")
        if control is not None and control not in controls:
            self.wrong(f"no control `{control}`", table, "control", control, _hint(control, controls))
        if (control is None) == ("no_control" not in entry):
            self.wrong(
                f"claim `{entry['id']}` needs `control`, or `no_control` with the reason, and not both", table, "id"
            )
        given = entry.get("given")
        if given is not None and given not in GIVEN:
            self.wrong(f"no verdict `{given}` can be declared", table, "given", given, _hint(given, GIVEN))
        if not entry.get("clause") and given is None:
            self.wrong(
                f"claim `{entry['id']}` has no clause", table, "id", hint="add [[claim.clause]] with rows and predicate"
            )
        self._experiments([entry["experiment"]], table, "experiment")
        clauses = [self._clause(one, entry, place, at, opens, effect) for at, one in enumerate(entry.get("clause", ()))]
        return Claim(clauses=tuple(one for one in clauses if one is not None), **rest)

    def _clause(
        self, clause: Mapping[str, Any], claim: Mapping[str, Any], place: int, at: int, opens: Sequence[Open],
        effect: Mapping[str, Any],
    ) -> Clause | None:  # fmt: skip
        table = self.places.clause(place, at)
        full = {"says": claim["says"], **clause}
        if not self._fits(Clause, full, table, "claim.clause"):
            return None
        try:
            full = {**full, "predicate": self._predicate(full, effect)}
        except ExpressionError as error:
            self.wrong(str(error), table, "predicate", error.word)
            return None
        if "by" in full["predicate"] and "by" not in clause["predicate"]:
            full.setdefault("because", str(effect.get("because", "")))
        good = Clause(**full)
        for text, key in [(good.rows, "rows"), *((one, "predicate") for one in expressions_in(good.predicate))]:
            self._expression(text, key, table, opens)
        return good

    def _predicate(self, clause: Mapping[str, Any], effect: Mapping[str, Any]) -> dict[str, Any]:
        """Check a predicate, and give it the smallest effect of the file if it has none of its own."""
        predicate = dict(clause["predicate"])
        kind = kind_of(predicate)
        validate(_filled_in(clause["rows"]))
        for option in NEEDED_OPTIONS.get(kind, ()):
            if option not in predicate:
                raise ExpressionError(f"`{kind}` needs `{option}`", kind)
        limits = {"within": 2, "crosses": 2}.get(kind, 1 if kind in ("above", "below") else 0)
        given = predicate[kind] if isinstance(predicate[kind], list) else [predicate[kind]]
        if limits and not isinstance(predicate[kind], Mapping):
            if len(given) != limits:
                raise ExpressionError(f"`{kind}` takes {limits} numbers", kind)
            for one in given:
                if "{" not in str(one):
                    number(one)
        if needs_effect(predicate, _filled_in(clause["rows"])) and "by" not in predicate:
            if "by" not in effect or not _is_ratio_kind(predicate):
                raise ExpressionError(
                    f"`{kind}` compares results, and has no smallest effect `by`: add it, with `because`", kind
                )
            if not effect.get("because"):
                self.wrong(
                    "[effect] has no `because`", self.places.table("effect", 0), hint="say why the effect is as large"
                )
            predicate["by"] = effect["by"]
        elif ("by" in predicate or "margin" in predicate) and not clause.get("because"):
            option = "by" if "by" in predicate else "margin"
            raise ExpressionError(f"`{option}` has no reason: add `because` to the clause", option)
        return predicate

    def _expression(self, text: str, key: str, table: TomlTable | None, opens: Sequence[Open]) -> None:
        for name in re.findall(r"\{(\w*)\}", text):
            free = [one.id for one in opens if one.label is None]
            if name not in free:
                self.wrong(f"no open point `{name}` without a label", table, key, f"{{{name}}}", _hint(name, free))
                return
        variants = _variants(text, opens)
        for variant in variants:
            try:
                validate(variant)
                some = selections(variant)
            except ExpressionError as error:
                self.wrong(str(error), table, key, error.word)
                return
            if self.known is None:
                continue
            for one in some:
                if one.experiment not in self.known.experiments:
                    hint = _hint(one.experiment, self.known.experiments)
                    self.wrong(f"no experiment `{one.experiment}`", table, key, one.experiment, hint)
                if one.quantity not in self.known.quantities:
                    hint = _hint(one.quantity, self.known.quantities)
                    self.wrong(f"no quantity `{one.quantity}` in [units] of paper.toml", table, key, one.quantity, hint)


def _is_ratio_kind(predicate: Mapping[str, Any]) -> bool:
    return not any(kind in predicate and float(predicate[kind]) == 0 for kind in ("above", "below"))


def _filled_in(text: str) -> str:
    return text.replace("{", "").replace("}", "")


def _variants(text: str, opens: Sequence[Open]) -> list[str]:
    """Fill in each reading of each placeholder."""
    found = [text]
    for one in opens:
        if one.label is None and f"{{{one.id}}}" in text:
            found = [text.replace(f"{{{one.id}}}", str(reading.value)) for text in found for reading in one.readings]
    return found


WORDS = {"str": "text", "dict": "table", "list": "list", "bool": "true or false", "int or float": "number"}


def _hint(word: str, known: Iterable[object]) -> str:
    names = [str(one) for one in known]
    return suggestion(word, names, f"there are {', '.join(names)}" if names else "there is none")


def check_rows(
    path: Path, claims: Claims, tables: Mapping[str, Table], known: Vocabulary, chosen: Iterable[Claim]
) -> None:
    """Check the columns and labels in the clauses of claims against measured rows.

    Raises
    ------
    PaperError
        If a clause names a quantity that an experiment does not measure, or a label or value that no row and no case of
        a full run has.
    """
    places = Places(path, read_text(path))
    order = [claim.id for claim in claims.claims]
    seen: set[tuple[int, int, str]] = set()
    for claim in chosen:
        for at, clause in enumerate(claim.clauses):
            table = places.clause(order.index(claim.id), at)
            for reading in claims.readings(claim):
                _, filling = claims.bound(reading)
                rows, predicate = clause.filled(filling)
                for key, text in [("rows", rows), *(("predicate", one) for one in expressions_in(predicate))]:
                    mark = (order.index(claim.id), at, text)
                    if mark in seen:
                        continue
                    seen.add(mark)
                    for message, word, hint in _unknown(text, tables, known):
                        places.wrong(message, table, key, word, hint)
    places.stop()


def _unknown(text: str, tables: Mapping[str, Table], known: Vocabulary) -> Iterator[tuple[str, str, str]]:
    """Find what an expression names and no row has: message, word, hint."""
    over: set[str] = set()
    some = selections(text)
    for one in some:
        if one.experiment not in tables:
            continue
        rows = tables[one.experiment].of(one.quantity)
        if not tables[one.experiment].rows:
            continue
        if not rows:
            every = dict.fromkeys(row.quantity for row in tables[one.experiment].rows)
            message = f"experiment `{one.experiment}` does not measure `{one.quantity}`"
            yield message, one.quantity, _hint(one.quantity, every)
            continue
        values: dict[str, set[str]] = known.labels([one.experiment])
        for row in rows:
            for label, value in row.labels.items():
                values.setdefault(label, set()).add(str(value))
        over |= set(values)
        yield from _unknown_labels(one, values)
    for label in reduced_over(text):
        if over and label not in over:
            yield f"no row has the label `{label}`", label, _hint(label, sorted(over))


def _unknown_labels(one: SelectedRows, values: Mapping[str, set[str]]) -> Iterator[tuple[str, str, str]]:
    for label, value, equal in one.conditions:
        if label and label not in values:
            yield f"no row of `{one.experiment}` has the label `{label}`", label, _hint(label, values)
        elif equal:
            there = values[label] if label else set().union(*values.values())
            if str(value) not in there:
                what = f"as {label}" if label else "as a label"
                yield f"no row of `{one.experiment}` has `{value}` {what}", str(value), _hint(str(value), sorted(there))
