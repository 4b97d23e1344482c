"""The checks of `make lint` find what they should; `tests/support/lint.py` checks the sources themselves."""

from __future__ import annotations

from pathlib import Path

import lint
import pytest


def sources(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / "python/wifair" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"a.py": "import wifair.b", "b.py": "from wifair import a"}, "a cycle of modules: wifair.a"),
        ({"a.py": "def f():\n    from wifair.b import g", "b.py": "import wifair.a"}, "a cycle of modules: wifair.a"),
        (
            {"a/x.py": "import wifair.b.x", "a/y.py": "", "b/x.py": "", "b/y.py": "import wifair.a.y"},
            "a cycle of packages: wifair.a",
        ),
        (
            {"a.py": "from wifair.optional.test import bed", "optional/test/bed.py": ""},
            "wifair.a imports wifair.optional.test.bed, which only wifair.optional.test may",
        ),
        ({"a.py": "from wifair.b import _c", "b/_c.py": ""}, "wifair.a imports wifair.b._c, which only wifair.b may"),
    ],
)
def test_imports_that_are_refused(files: dict[str, str], problem: str, tmp_path: Path) -> None:
    found = list(lint.problems(sources(tmp_path, {"__init__.py": "", **files}), []))
    assert any(line.startswith(problem) for line in found), found


def test_imports_for_type_checkers_make_cycles_of_modules_and_not_of_packages(tmp_path: Path) -> None:
    typed = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from wifair.{} import B\n"
    both = {"__init__.py": "", "a.py": typed.format("b"), "b.py": "import wifair.a"}
    (found,) = lint.problems(sources(tmp_path / "modules", both), [])
    assert found.startswith("a cycle of modules: wifair.a")
    apart = {"__init__.py": "", "a/x.py": typed.format("b.y"), "a/z.py": "", "b/y.py": "import wifair.a.z"}
    assert list(lint.problems(sources(tmp_path / "packages", apart), [])) == []


def test_long_files_and_lines_are_found(tmp_path: Path) -> None:
    wide, long = tmp_path / "wide.rs", tmp_path / "long.rs"
    wide.write_text("// " + "x" * 118 + "\n" + 'let text = "' + "x" * 120 + '";\n')
    long.write_text("\n" * 701)
    assert list(lint.problems(tmp_path, [wide, long])) == [
        "wide.rs:1: 121 characters, at most 120",
        "long.rs: 701 lines, at most 700: split it",
    ]


def test_types_with_the_same_name_are_found(tmp_path: Path) -> None:
    rust = {
        "a": "pub struct Params;\npub(crate) enum Link {}",
        "b": "pub struct Params;\n    struct Link;",
        "c": "type X = u8;",
    }
    for crate, text in rust.items():
        path = tmp_path / f"crates/{crate}/src/lib.rs"
        path.parent.mkdir(parents=True)
        path.write_text(text)
    sources(tmp_path, {"__init__.py": "", "a.py": "class Case:\n    pass", "b.py": "class Case:\n    pass"})
    assert list(lint.problems(tmp_path, [])) == [
        "2 types are named Link: crates/a/src/lib.rs, crates/b/src/lib.rs",
        "2 types are named Case: python/wifair/a.py, python/wifair/b.py",
    ]


def test_cycles_of_folders_are_found(tmp_path: Path) -> None:
    files = {
        "a/x.rs": "use crate::b::Y;",
        "b/mod.rs": "fn f() {\n    crate::a::g();\n}",
        "c/z.rs": "// crate::a\nuse crate::b;",
    }
    for name, text in files.items():
        path = tmp_path / "crates/one/src" / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
    (found,) = lint.problems(sources(tmp_path, {"__init__.py": ""}), [])
    assert found.startswith("a cycle of folders of one: ")


def test_types_with_too_many_fields_and_methods_are_found(tmp_path: Path) -> None:
    fields = "".join(f"    pub(crate) f{number}: u8,\n" for number in range(41))
    methods = "".join(f"    pub const fn m{number}(&self) {{}}\n" for number in range(20))
    files = {
        "one.rs": f"pub struct Large<T> {{\n    /// A field.\n{fields}}}\n\nimpl<T> Large<T> {{\n{methods}}}\n",
        "two.rs": f"impl<T> Large<T> {{\n{methods.replace('m', 'n')}}}\n\nimpl Debug for Large<u8> {{\n{methods}}}\n",
    }
    for name, text in files.items():
        path = tmp_path / "crates/a/src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    sources(tmp_path, {"__init__.py": ""})
    expected = "Large has 41 fields and 40 methods, at most 80 together: split it into parts"
    assert list(lint.problems(tmp_path, [])) == [expected]
    (tmp_path / "crates/a/src/two.rs").write_text("")
    assert list(lint.problems(tmp_path, [])) == []


def test_a_file_that_stands_for_shortcuts_may_repeat_their_types(tmp_path: Path) -> None:
    for name in ("one/fast/mod.rs", "one/plain.rs", "two/plain.rs"):
        path = tmp_path / "crates/a/src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("pub struct Shortcut;\n")
    sources(tmp_path, {"__init__.py": ""})
    expected = "2 types are named Shortcut: crates/a/src/one/fast/mod.rs, crates/a/src/two/plain.rs"
    assert list(lint.problems(tmp_path, [])) == [expected]


def test_words_are_those_of_sentences() -> None:
    code = "<!-- not run -->\n```sh\nwifair run\n```"
    page = f"# A title\n\n{code}\n\nTwo words, `code` too - and <b>a</b> [link](page.md).\n\n| a | b |\n"
    assert lint.words(page) == 2 + 7


def test_cycles_of_the_page_are_found(tmp_path: Path) -> None:
    files = {
        "a.ts": 'import {\n  b,\n} from "./b";\n',
        "b.ts": 'import type { A } from "./a";\n',
        "c.ts": 'import { a } from "./a";',
    }
    (tmp_path / "lab/src").mkdir(parents=True)
    for name, text in files.items():
        (tmp_path / "lab/src" / name).write_text(text)
    (found,) = lint.problems(sources(tmp_path, {"__init__.py": ""}), [])
    assert found.startswith("a cycle of modules of the lab's page: ")


def test_cycles_of_files_in_a_folder_are_found(tmp_path: Path) -> None:
    files = {
        "a/x.rs": "use super::y::Y;",
        "a/y.rs": "use super::{Other, x::X};\n#[cfg(test)]\nmod tests { use super::z; }",
        "a/z.rs": "use crate::a::y;",
        "lib.rs": "mod a;",
    }
    for name, text in files.items():
        path = tmp_path / "crates/one/src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (found,) = lint.problems(sources(tmp_path, {"__init__.py": ""}), [])
    assert found.startswith("a cycle of files of crates/one/src/a: "), found
    assert "z" not in found.removeprefix("a cycle of files of crates/one/src/a: ")
