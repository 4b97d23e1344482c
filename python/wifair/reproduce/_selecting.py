"""Which papers, experiments and claims a name means."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from wifair._output.words import suggestion
from wifair.reproduce._claims import Claim
from wifair.reproduce._model import Experiment, Paper
from wifair.reproduce._places import PaperError, in_short

KEYS: tuple[str, ...] = import_module("wifair.papers").KEYS
"""The papers by name. They import this package, which therefore imports them only when needed."""

FILES = ("experiments.py", "claims.toml", "paper.toml")
"""What the folder of a paper must hold."""


def is_path(name: str) -> bool:
    """Whether a name is the path of a folder, and not the key of a paper."""
    return name.startswith((".", "/", "~")) or "\\" in name


def load(key: str) -> Paper:
    """Import the paper with a key, or the one in a folder, if the key is a path.

    Raises
    ------
    LookupError
        If the folder holds no paper.
    PaperError
        If its `experiments.py` cannot be imported.
    """
    if is_path(key):
        return _load_folder(Path(key).expanduser().resolve())
    paper = import_module(f"wifair.papers.{key}").PAPER
    assert isinstance(paper, Paper)
    assert paper.key == key
    return paper


@cache
def _load_folder(folder: Path) -> Paper:
    """Import `experiments.py` of a folder, which defines ``PAPER``."""
    missing = [name for name in FILES if not (folder / name).is_file()]
    if missing:
        raise LookupError(
            f"`{folder}` holds no paper: {' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing; "
            "docs/add-a-paper.md shows a whole one"
        )
    path = folder / "experiments.py"
    name = f"wifair_paper_{folder.name}_{abs(hash(folder))}"
    spec = spec_from_file_location(name, path, submodule_search_locations=[str(folder)])
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise PaperError(f"error: {_told(error)}\n  --> {in_short(path)}:{_line(error, path)}") from error
    paper = getattr(module, "PAPER", None)
    if not isinstance(paper, Paper):
        raise PaperError(
            f"error: no `PAPER`\n  --> {in_short(path)}:1\n  write PAPER = Paper(Path(__file__).parent, (...))"
        )
    if paper.folder.resolve() != folder:
        raise PaperError(
            f"error: `PAPER` has the folder `{paper.folder}`\n  --> {in_short(path)}:1\n  write Path(__file__).parent"
        )
    return paper


def _told(error: Exception) -> str:
    return error.msg if isinstance(error, SyntaxError) else f"{type(error).__name__}: {error}"


def _line(error: BaseException, path: Path) -> int:
    """Find the last line of a file that took part in an error."""
    line, at = error.lineno or 1 if isinstance(error, SyntaxError) else 1, error.__traceback__
    while at is not None:
        if at.tb_frame.f_code.co_filename == str(path):
            line = at.tb_lineno
        at = at.tb_next
    return line


@dataclass(frozen=True)
class Selection:
    """A paper, and the experiments of it that were selected."""

    paper: Paper
    experiments: tuple[str, ...]
    """Experiments that were selected, and those of selected claims."""
    only: frozenset[str] = frozenset()
    """Experiments that were selected only through some of their claims."""
    chosen: frozenset[str] = frozenset()
    """IDs of claims that were selected individually."""

    @property
    def whole(self) -> frozenset[str]:
        """Experiments of which every case is run; of others only those that the selected claims need."""
        return frozenset(self.experiments) - self.only

    @property
    def claims(self) -> list[Claim]:
        """The claims on the selected experiments, and those selected individually."""
        return [
            claim
            for claim in self.paper.claims
            if claim.id in self.chosen or (claim.experiment in self.experiments and claim.experiment not in self.only)
        ]

    @property
    def needed(self) -> list[Experiment]:
        """The selected experiments, and others that their claims need."""
        ids = {*self.experiments, *(key for claim in self.claims for key in self._needed(claim))}
        return [experiment for experiment in self.paper.experiments if experiment.id in ids]

    def _needed(self, claim: Claim) -> set[str]:
        """Find the experiments that a claim and its control need."""
        control = self.paper.declared.controls.get(claim.control or "")
        others = control.relabel.get("experiment", {}) if control else {}
        return claim.needs | {str(source) for key, source in others.items() if key in claim.needs}


def select(names: Sequence[str]) -> list[Selection]:
    """Parse a selection of ``PAPER``, ``PAPER/EXPERIMENT`` and ``PAPER/CLAIM``; an empty one means everything.

    Raises
    ------
    LookupError
        If there is no such paper, experiment or claim; the message lists those that exist.
    """
    chosen: dict[str, set[str] | None] = {}
    for name in names or KEYS:
        key, part = _parts(name)
        if not is_path(key) and key not in KEYS:
            hint = suggestion(key, KEYS, f"there are {', '.join(KEYS)}")
            raise LookupError(f"no paper `{key}`: {hint}; a folder begins with `./` or `/`")
        if not part:
            chosen[key] = None
            continue
        experiments = [item.id for item in load(key).experiments]
        claims = [claim.id for claim in load(key).claims]
        if part not in experiments and part not in claims:
            there = f"there are {', '.join(experiments)}; {', '.join(claims)}"
            hint = suggestion(part, [*experiments, *claims], there)
            raise LookupError(f"no experiment or claim `{part}` in {key}: {hint}")
        some = chosen.setdefault(key, set())
        if some is not None:
            some.add(part)
    order = [*KEYS, *chosen]
    return [_selection(load(key), chosen[key]) for key in sorted(chosen, key=order.index)]


def _parts(name: str) -> tuple[str, str]:
    """Split a name into the paper, which may be a path, and an experiment or a claim."""
    if not is_path(name):
        key, _, part = name.partition("/")
        return key, part
    path = Path(name).expanduser()
    if path.is_dir():
        return str(path.resolve()), ""
    if path.parent.is_dir() and (path.parent / FILES[0]).is_file():
        return str(path.parent.resolve()), path.name
    raise LookupError(f"no folder `{name}`: a path names the folder of a paper")


def _selection(paper: Paper, wanted: set[str] | None) -> Selection:
    """Select experiments and claims of a paper by their IDs; without any, everything."""
    if wanted is None:
        return Selection(paper, tuple(item.id for item in paper.experiments))
    whole = {item.id for item in paper.experiments} & wanted
    claims = frozenset(claim.id for claim in paper.claims if claim.id in wanted)
    needed = whole | {claim.experiment for claim in paper.claims if claim.id in claims}
    ids = tuple(item.id for item in paper.experiments if item.id in needed)
    return Selection(paper, ids, frozenset(needed - whole), claims)
