"""A scenario: what is simulated."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import NamedTuple

from wifair import _core
from wifair._moved import Renamed
from wifair._output.files import require_regular
from wifair._output.streams import escape
from wifair._output.words import suggestion
from wifair.exceptions import ScenarioError
from wifair.scenario import toml


class ApQueues(NamedTuple):
    """The queues of an access category at an access point."""

    number: int
    """One for each station, or one for all."""
    limit: str
    """Capacity of each."""
    total: tuple[int, str]
    """Capacity of all together, with its unit."""

    def __str__(self) -> str:
        return f"{self.limit} for each of {self.number}" if self.number > 1 else f"{self.limit} for all"


class Scenario(Renamed):
    """What is simulated: stations, access point, servers, flows. Checked when it is created, and immutable.

    Create one with `from_file`, `from_text` or `from_dict`; `with_` gives a changed copy.
    """

    def __init__(
        self,
        text: str | bytes,
        *,
        name: str = "<text>",
        overrides: Sequence[tuple[str, str]] = (),
        for_programs: bool = False,
    ) -> None:
        """See `from_file`; `overrides` are pairs of an option as messages show it and ``PATH=VALUE``."""
        self._data = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else bytes(text)
        self._source = name
        self._overrides = tuple(overrides)
        self._folder = str(Path(name).parent) if not name.startswith("<") else "."
        self._for_programs = for_programs
        self._core = _core.parse(name, self._data, self._overrides, self._folder, for_programs)

    @classmethod
    def from_file(
        cls,
        path: str | os.PathLike[str],
        *,
        overrides: Sequence[str | tuple[str, str]] = (),
        for_programs: bool = False,
    ) -> Scenario:
        """Read a scenario file.

        Parameters
        ----------
        path : str or path
            A TOML file; ``"-"`` is standard input.
        overrides : sequence of str, optional
            ``PATH=VALUE`` each, as after ``--set``; or pairs of the text that messages show for it and ``PATH=VALUE``.
        for_programs : bool, default False
            Accept a scenario without flows, for an emulation in which only real programs send, or a `Link`.

        Returns
        -------
        Scenario
            The scenario with all defaults filled in.

        Raises
        ------
        ScenarioError
            If it cannot be read or is wrong; the message shows all problems with their lines.
        """
        name, data, size = read_source(path, _core.MAX_BYTES)
        if len(data) > _core.MAX_BYTES:
            raise _core.too_large(name, size)
        changes = [("--set", change) if isinstance(change, str) else change for change in overrides]
        _refuse_twice(changes)
        return cls(data, name=name, overrides=changes, for_programs=for_programs)

    @classmethod
    def from_text(cls, text: str, *, name: str = "<text>") -> Scenario:
        """Read a scenario from its text.

        Parameters
        ----------
        text : str
            The contents of a scenario file.
        name : str, default "<text>"
            Name of the scenario in messages.

        Returns
        -------
        Scenario
            The scenario with all defaults filled in.

        Raises
        ------
        ScenarioError
            If it is wrong; the message shows all problems with their lines.
        """
        return cls(text, name=name)

    @classmethod
    def from_dict(cls, table: Mapping[str, object], *, name: str = "<dict>", for_programs: bool = False) -> Scenario:
        """Make a scenario from nested dicts and lists, with the keys of a file.

        Parameters
        ----------
        table : mapping
            Keys and values as in a file: quantities are strings with a unit, and ``"tcp.cc"`` is ``cc`` in the table
            ``tcp``. None leaves a key out.
        name : str, default "<dict>"
            Name of the scenario in messages.
        for_programs : bool, default False
            Accept a scenario without flows, for an emulation or a `Link`.

        Returns
        -------
        Scenario
            The scenario with all defaults filled in.

        Raises
        ------
        ScenarioError
            If it is wrong.
        TypeError
            If a value has a type that scenarios do not allow.

        Examples
        --------
        >>> s = Scenario.from_dict({
        ...     "duration": "10 s",
        ...     "wlan": {"standard": "802.11g"},
        ...     "servers": [{"name": "server"}],
        ...     "stations": [{"name": "sta", "count": 3}],
        ...     "flows": [{"name": "up", "station": "sta", "server": "server", "direction": "up"}],
        ... })
        """
        return cls(toml.document(table), name=name, for_programs=for_programs)

    def with_(self, changes: Mapping[str, object] | None = None, /, **more: object) -> Scenario:
        """Get a copy with parameters changed.

        Parameters
        ----------
        changes : mapping of str to value, optional
            Paths and values: ``{"ap.queue.limit": "100 packets", "flows.up.tcp.cc": "reno"}``. A path without the
            name of a group, as in ``stations.count``, changes all groups. A class of your own may replace a
            congestion control or a queue discipline.
        **more
            The same for top-level keys: ``duration="10 s"``.

        Returns
        -------
        Scenario
            The changed scenario.

        Raises
        ------
        ScenarioError
            If there is no such parameter or the value is wrong.
        """
        pairs = {**(changes or {}), **more}
        new = [("with_", f"{path}={toml.value(value, path)}") for path, value in pairs.items()]
        return self._changed(new)

    def _changed(self, changes: Sequence[tuple[str, str]]) -> Scenario:
        """Get a copy with more overrides; see `__init__`."""
        overrides = [*self._overrides, *changes]
        return Scenario(self._data, name=self._source, overrides=overrides, for_programs=self._for_programs)

    @property
    def name(self) -> str:
        """Name of the scenario."""
        return self._core.name

    @property
    def duration_s(self) -> float:
        """Simulated time [s], warm-up included."""
        return self._core.duration_s

    @property
    def warm_up_s(self) -> float:
        """Simulated time before anything is measured [s]."""
        return self._core.warm_up_s

    @property
    def toml(self) -> str:
        """The scenario as it was written, without overrides."""
        return self._data.decode("utf-8", "replace")

    @property
    def overrides(self) -> tuple[str, ...]:
        """``PATH=VALUE`` of each change."""
        return tuple(change for _, change in self._overrides)

    @cached_property
    def resolved(self) -> str:
        """The scenario as TOML with overrides and all defaults filled in. Equal scenarios have equal texts."""
        return self._core.to_toml()

    @property
    def seeds(self) -> tuple[int, ...]:
        """Seeds that the scenario asks for; 1 by default."""
        return tuple(self._core.seeds)

    @property
    def summary(self) -> str:
        """A short description."""
        core = self._core
        counts = (core.stations, "station"), (core.flows, "flow")
        parts = [core.standard] if core.standard else []
        parts += [f"{count} {what}{'s' * (count != 1)}" for count, what in counts if count]
        return ", ".join([*parts, f"{core.duration_s:g} s"])

    @property
    def ap_queues(self) -> ApQueues | None:
        """Queues of an access category at the access point; None without access point, or with several."""
        found = self._core.ap_queues
        return ApQueues(*found) if found else None

    @property
    def hash(self) -> str:
        """SHA-256 of `resolved` without its seeds, in hexadecimal: what a run depends on besides seed and version.

        If the scenario names classes of your own, their sources and all that these import are included, as they were
        loaded, or else as they are on the disk; they are not imported for that.

        Raises
        ------
        ScenarioError
            If the source of a class is not found.
        """
        named = self._core.classes()
        if not named:
            return self._hash
        import hashlib  # noqa: PLC0415

        from wifair.extensions.class_sources import digest  # noqa: PLC0415

        sources = digest((name for name, _ in named), self._folder)
        return hashlib.sha256(f"{self._hash}{sources}".encode()).hexdigest()

    @cached_property
    def _hash(self) -> str:
        return self._core.hash()

    def _require_unchanged(self) -> None:
        """Refuse classes whose sources have changed since they were loaded; see `class_sources.require_unchanged`."""
        named = self._core.classes()
        if named:
            from wifair.extensions.class_sources import require_unchanged  # noqa: PLC0415

            require_unchanged((name for name, _ in named), self._folder)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scenario) and self.resolved == other.resolved

    def __hash__(self) -> int:
        return hash(self.resolved)

    def __reduce__(self) -> tuple[object, ...]:
        name, overrides, for_programs = self._source, self._overrides, self._for_programs
        return partial(Scenario, self._data, name=name, overrides=overrides, for_programs=for_programs), ()

    def __repr__(self) -> str:
        changes = "".join(f", {change}" for change in self.overrides)
        return f"<Scenario {self.name!r}: {self.summary}{changes}>"

    def _repr_html_(self) -> str:

        return f"<b>{escape(self.name)}</b>: {escape(self.summary)}<pre>{escape(self.toml)}</pre>"


Source = Scenario | str | os.PathLike[str] | Mapping[str, object]
"""What `scenario_of` takes for a scenario."""


def scenario_of(source: Source, *, for_programs: bool = False) -> Scenario:
    """Take a scenario as it is, a mapping as `Scenario.from_dict` does, and a path as `Scenario.from_file` does."""
    if isinstance(source, Scenario):
        return source
    if isinstance(source, Mapping):
        return Scenario.from_dict(source, for_programs=for_programs)
    return Scenario.from_file(source, for_programs=for_programs)


def _refuse_twice(changes: Sequence[tuple[str, str]]) -> None:
    """Raise an error if two changes are of the same parameter: one of them would be ignored."""
    first: dict[str, str] = {}
    for option, change in changes:
        path, _, value = change.partition("=")
        path = path.strip()
        shown = f"{option} {value if option.removeprefix('--') == path else change}"
        if path in first:
            raise ScenarioError(
                f"error: `{path}` is set twice\n --> {shown}\n  = also by {first[path]}: leave one out\n"
            )
        first[path] = shown


def read_source(path: str | os.PathLike[str], most: int) -> tuple[str, bytes, int]:
    """Read a file, or standard input for ``"-"``: its name in messages, at most a byte more than `most`, and its size.

    Raises
    ------
    ScenarioError
        If it cannot be read.
    """
    name = "<stdin>" if str(path) == "-" else str(path)
    try:
        if str(path) == "-":
            if sys.stdin is None:
                raise ValueError("standard input is closed")
            data = sys.stdin.buffer.read(most + 1)
            return name, data, len(data)
        size = require_regular(path)
        with Path(path).open("rb") as file:
            data = file.read(most + 1)
            return name, data, max(len(data), size)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        why = getattr(error, "strerror", None) or str(error)
        hint = _preset(name) if isinstance(error, FileNotFoundError) else ""
        raise ScenarioError(f"error: cannot read `{name}`: {why[0].lower()}{why[1:]}{hint}\n") from None


def _preset(name: str) -> str:
    """Say how to write the scenario of the gallery that has almost this name."""
    from wifair.gallery import examples  # noqa: PLC0415

    known = [one.name for one in examples()]
    word = suggestion(Path(name).name.removesuffix(".toml"), known).removesuffix("`?").rpartition("`")[2]
    return f"; `wifair init {word}` writes {word}.toml" if word else ""
