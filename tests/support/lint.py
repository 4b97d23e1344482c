"""Checks the shape of the sources, without building anything: ``python tests/support/lint.py``.

- A source file (Rust, Python, TypeScript, TOML) has at most 700 lines, and a line at most 120 characters, except for
  lines with string literals and rows of tables.
- Modules of `python/wifair` import each other without cycles, and so do its packages. Imports inside functions count;
  imports for type checkers count for modules, except for those that were there when this check came.
- Nothing but the part itself imports a module of an optional part, `wifair.optional.PART`.
- A module whose name begins with `_` is imported by its own folder alone.
- No two types of the crates have the same name, and no two classes of `python/wifair`. The parameters of an algorithm,
  `Params`, are named by their module, and a file `plain.rs` stands for the shortcuts beside it.
- Modules of `lab/src` import each other without cycles, imports of types included.
- Files of one folder of a crate use each other without cycles, except for those that were there when this check came.
- Folders of a crate use each other without cycles. Cargo refuses cycles of crates, and the layers of `crates/sim`
  have their own test, `crates/sim/tests/suite/layers.rs`.
- The pages of `docs` that are written by hand have at most 30,000 words, tables and code not counted.
- A Rust type has at most 80 fields and methods, over all files: more than that is several parts in one. The types that
  were larger when this check came may not grow.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).parents[2]
MOST_LINES = 700
WIDEST = 120
EXEMPT = re.compile(r'"|^\s*//[!/]? \||\\n|`.*\$')
SOURCES = ("*.rs", "*.py", "*.ts", "*.mjs", "*.toml")
MOST_WORDS = 30_000
GENERATED = {"keys", "lessons", "python", "reference"}
NO_PROSE = re.compile(r"<!--.*?-->|^(```|~~~).*?^\1[ ]*$|<[^>]+>|^ *\|.*?$", re.MULTILINE | re.DOTALL)
VISIBLE = r"(?:pub(?:\([^)]*\))? )?"
RUST_TYPE = re.compile(rf"^(?: *{VISIBLE}(?:struct|enum|trait|union)|{VISIBLE}type) (\w+)", re.MULTILINE)
RUST_USE = re.compile(r"^[^/]*\bcrate::(\w+)", re.MULTILINE)
RUST_SIBLING = re.compile(r"\bsuper::(\w+)")
RUST_SIBLINGS = re.compile(r"use super::\{([^}]*)\}")
RUST_TESTS = re.compile(r"#\[cfg\(test\)\]\s*mod .*", re.DOTALL)
FILES_BEFORE = {
    ("crates/capture/src", "analysis", "rows"),
    ("crates/mac/src/channel/spatial", "overlap", "signal"),
    ("crates/mac/src/edcaf", "window", "agreement"),
    ("crates/py/src", "sweep", "scenario"),
}
PAGE_IMPORT = re.compile(r'^(?:import|export)\b[^;]*?from "\./([\w-]+)";', re.MULTILINE)
PYTHON_CLASS = re.compile(r"^class (\w+)", re.MULTILINE)
RUST_STRUCT = re.compile(rf"^{VISIBLE}struct (\w+)[^;{{(]*\{{\n(.*?)^\}}", re.MULTILINE | re.DOTALL)
RUST_IMPL = re.compile(r"^impl(?:<[^{]*?>)? (\w+)(?:<[^{]*>)? \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
RUST_FIELD = re.compile(rf"^    {VISIBLE}\w+: ", re.MULTILINE)
RUST_METHOD = re.compile(rf"^    {VISIBLE}(?:const )?fn \w", re.MULTILINE)
MOST_MEMBERS = 80
LARGER_BEFORE = {
    "Edcafs": 198,
    "GeneralChannel": 111,
    "Sender": 207,
    "SharedChannel": 97,
    "Side": 109,
    "SpatialChannel": 185,
    "World": 198,
}
NAMED_BY_MODULE = {"Params"}
OPTIONAL = "wifair.optional"
TYPES_BEFORE = {
    ("wifair.explaining", "wifair.comparison.sources"),
    ("wifair.optional.measure.report", "wifair.optional.measure.results"),
    ("wifair.reproduce._plain", "wifair.reproduce._session"),
    ("wifair.reproduce._tallies", "wifair.reproduce._session"),
    ("wifair.reproduce.table", "wifair.reproduce._model"),
}

Graph = dict[str, set[str]]


def too_long(path: Path, text: str) -> Iterator[str]:
    """Say which lines of a file are too long, and whether the file is."""
    lines = text.splitlines()
    if len(lines) > MOST_LINES:
        yield f"{path}: {len(lines)} lines, at most {MOST_LINES}: split it"
    for number, line in enumerate(lines, 1):
        if len(line) > WIDEST and not EXEMPT.search(line):
            yield f"{path}:{number}: {len(line)} characters, at most {WIDEST}"


def modules(package: Path) -> dict[str, Path]:
    """Find the modules of a package by their dotted names."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(tree: ast.AST, *, types: bool) -> Iterator[tuple[str, str]]:
    """Find what a module imports, for type checkers only if `types`: a module, and a name in it or nothing."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test) and not types:
            continue
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.module or "", alias.name) for alias in node.names)
        else:
            yield from imports(node, types=types)


def graph(found: dict[str, Path], *, types: bool) -> Graph:
    """Say which module imports which, for type checkers only if `types`; the core is a module without a file."""
    edges: Graph = {}
    for name, path in found.items():
        uses = edges.setdefault(name, set())
        for module, member in imports(ast.parse(path.read_text(encoding="utf-8")), types=types):
            inner = f"{module}.{member}"
            uses.add(inner if inner in found or member == "_core" else module)
        uses.intersection_update(found)
        uses.discard(name)
    return edges


def packages(edges: Graph) -> Graph:
    """Group the modules of each package; modules beside the packages are groups of their own."""
    merged: Graph = {}
    for name, uses in edges.items():
        own = merged.setdefault(_package(name), set())
        own.update(_package(use) for use in uses if _package(use) != _package(name))
    return merged


def _package(name: str) -> str:
    return ".".join(name.split(".")[: 3 if name.startswith(f"{OPTIONAL}.") else 2])


def cycle(edges: Graph, what: str) -> Iterator[str]:
    """Report a cycle, if there is one."""
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        yield f"a cycle of {what}: {' -> '.join(reversed(error.args[1]))}"


def private_imports(edges: Graph) -> Iterator[str]:
    """Report imports of modules that belong to another folder, or to an optional part, alone."""
    for name, uses in edges.items():
        for use in sorted(uses):
            parts = use.split(".")
            depth = next((place for place, part in enumerate(parts) if part.startswith("_")), None)
            if use.startswith(f"{OPTIONAL}."):
                depth = 3
            if depth is not None and name.split(".")[:depth] != parts[:depth]:
                yield f"{name} imports {use}, which only {'.'.join(parts[:depth])} may"


def folders(crate: Path) -> Graph:
    """Say which folder of a crate's sources uses which."""
    edges: Graph = {path.name: set() for path in crate.glob("src/*") if path.is_dir()}
    for name, uses in edges.items():
        for path in crate.glob(f"src/{name}/**/*.rs"):
            uses.update(RUST_USE.findall(path.read_text(encoding="utf-8")))
        uses.intersection_update(edges.keys() - {name})
    return edges


def files_of(folder: Path, root: Path) -> Graph:
    """Say which file or folder in a folder of a crate uses which, tests and the folder's own `mod.rs` left out."""
    place = folder.relative_to(root).as_posix()
    inner = "::".join(["crate", *folder.relative_to(root).parts[3:]])
    own = re.compile(rf"\b{inner}::(\w+)")
    names = {path.stem for path in folder.iterdir() if path.is_dir() or path.suffix == ".rs"} - {"mod", "lib", "main"}
    edges: Graph = {name: set() for name in names}
    for path in folder.rglob("*.rs"):
        name = path.relative_to(folder).parts[0].removesuffix(".rs")
        if name not in names:
            continue
        text = RUST_TESTS.sub("", re.sub(r"//.*", "", path.read_text(encoding="utf-8")))
        edges[name].update(own.findall(text))
        if path.parent == folder:
            edges[name].update(RUST_SIBLING.findall(text))
            edges[name].update(part for group in RUST_SIBLINGS.findall(text) for part in re.findall(r"(\w+)::", group))
    return {
        name: {use for use in uses & names if use != name and (place, name, use) not in FILES_BEFORE}
        for name, uses in edges.items()
    }


def page_modules(root: Path) -> Graph:
    """Say which module of the lab's page imports which, for values or for types."""
    paths = sorted(root.glob("lab/src/*.ts"))
    return {path.stem: set(PAGE_IMPORT.findall(path.read_text(encoding="utf-8"))) for path in paths}


def rust_files(root: Path) -> list[Path]:
    """Find the sources of the crates, without those that stand for shortcuts."""
    found = sorted(root.glob("crates/*/src/**/*.rs"))
    shortcuts = {path.parent if path.name == "fast.rs" else path.parents[1] for path in found if _is_shortcut(path)}
    return [path for path in found if path.name != "plain.rs" or path.parent not in shortcuts]


def _is_shortcut(path: Path) -> bool:
    return path.name == "fast.rs" or path.parent.name == "fast"


def names_twice(root: Path) -> Iterator[str]:
    """Report types that share a name."""
    for pattern, files in (RUST_TYPE, rust_files(root)), (PYTHON_CLASS, root.glob("python/**/*.py")):
        places: dict[str, list[Path]] = {}
        for path in sorted(files):
            for match in pattern.finditer(path.read_text(encoding="utf-8")):
                places.setdefault(match[1], []).append(path.relative_to(root))
        for name, paths in places.items():
            if len(paths) > 1 and name not in NAMED_BY_MODULE:
                yield f"{len(paths)} types are named {name}: {', '.join(map(str, paths))}"


def storeys(root: Path) -> Iterator[str]:
    """Report types with too many fields and methods, wherever these are written."""
    members: dict[str, list[int]] = {}
    for path in rust_files(root):
        text = path.read_text(encoding="utf-8")
        for place, (pattern, member) in enumerate(((RUST_STRUCT, RUST_FIELD), (RUST_IMPL, RUST_METHOD))):
            for match in pattern.finditer(text):
                members.setdefault(match[1], [0, 0])[place] += len(member.findall(match[2]))
    for name, (fields, methods) in members.items():
        most = LARGER_BEFORE.get(name, MOST_MEMBERS)
        if name not in NAMED_BY_MODULE and fields + methods > most:
            yield f"{name} has {fields} fields and {methods} methods, at most {most} together: split it into parts"


def words(page: str) -> int:
    """Count the words of a page, without its tables and its code."""
    return sum(any(map(str.isalnum, word)) for word in NO_PROSE.sub("", page).split())


def too_much_to_read(root: Path) -> Iterator[str]:
    """Say whether the pages that people write are too long together."""
    pages = [
        path for path in (root / "docs").rglob("*.md") if path.relative_to(root / "docs").parts[0] not in GENERATED
    ]
    count = sum(words(path.read_text(encoding="utf-8")) for path in pages)
    if count > MOST_WORDS:
        yield f"docs: {count} words of prose, at most {MOST_WORDS}: say less, or say it once"


def problems(root: Path, files: Iterable[Path]) -> Iterator[str]:
    """Report all problems below `root`, in its `files` and in `python/wifair`."""
    for path in files:
        yield from too_long(path.relative_to(root), path.read_text(encoding="utf-8"))
    found = modules(root / "python/wifair")
    edges = graph(found, types=False)
    typed = graph(found, types=True)
    for name, uses in typed.items():
        uses.difference_update(other for of, other in TYPES_BEFORE if of == name)
    typed.pop("wifair", None)  # it names what all others define
    yield from cycle(typed, "modules")
    yield from cycle(packages(edges), "packages")
    yield from private_imports(edges)
    yield from cycle(page_modules(root), "modules of the lab's page")
    for crate in sorted(root.glob("crates/*")):
        yield from cycle(folders(crate), f"folders of {crate.name}")
        for folder in sorted({path.parent for path in crate.glob("src/**/*.rs")}):
            yield from cycle(files_of(folder, root), f"files of {folder.relative_to(root)}")
    yield from names_twice(root)
    yield from storeys(root)
    yield from too_much_to_read(root)


def main() -> int:
    """Check the files that git tracks or would add."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *SOURCES]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    files = [ROOT / name for name in names if (ROOT / name).exists()]
    found = list(problems(ROOT, files))
    print("\n".join(found), file=sys.stderr, end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
