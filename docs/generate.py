"""Writes the reference of congestion controls, queues and schemes, and the lessons: ``python docs/generate.py``.

The text about each item is the documentation of its module; names, sources and keys come from the core.
"""

from __future__ import annotations

import inspect
import json
import re
import textwrap
from importlib import import_module
from pathlib import Path
from typing import Any

from wifair import _core
from wifair.laboratory.export import export
from wifair.laboratory.page import has_engine

ROOT = Path(__file__).parents[1]
OUT = ROOT / "docs" / "reference"
LESSONS = ROOT / "docs" / "lessons"
MODULES = {"newreno": "reno", "westwood-nr": "westwood"}
PAGES = {
    "congestion-controls": ("Congestion controls", "crates/tcp/src/cc", ["flows.tcp.cc"], "flows.tcp"),
    "queues": ("Queue disciplines", "crates/queue/src", ["ap.queue.discipline"], "ap.queue"),
    "schemes": (
        "Schemes of the access point",
        "crates/ap/src",
        [f"ap.scheme.{kind}" for kind in ("window", "uplink", "client", "access")],
        "ap.scheme",
    ),
}


def head(path: Path) -> str:
    """Get the documentation at the head of a module, with links to other code as plain names."""
    lines = [line[4:] for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("//!")]
    text = "\n".join(line.rstrip() for line in lines)
    return re.sub(r"\[(`[^`\]]+`)\](\([^)]*\))?", r"\1", text)


def keys() -> dict[str, str]:
    """Get the tables of keys by path, from the reference of scenarios."""
    parts = re.split(r"^#{2,6} `\[*([\w.-]+)\]*`\n", _core.reference(), flags=re.M)
    return {path: body.split("\nValues of")[0].strip() for path, body in zip(parts[1::2], parts[2::2])}


def page(title: str, folder: str, choosers: list[str], prefix: str) -> str:
    """Write one page."""
    tables = keys()
    items = [item for item in _core.catalogue() if any(_same(item[0], chooser) for chooser in choosers)]
    lines = [
        f"# {title}",
        "",
        "This page is generated from the code. Entries whose source was known only as an outline are marked.",
        "",
    ]
    lines += ["| name | what it is | source |", "| --- | --- | --- |"]
    sections = {item[1]: ROOT / folder / f"{MODULES.get(item[1], item[1]).replace('-', '_')}.rs" for item in items}
    sections = {name: path for name, path in sections.items() if path.exists()}
    for _, name, summary, source, outline in items:
        if name == "none":
            continue
        mark = " (outline only)" if outline else ""
        shown = f"[`{name}`](#{name})" if name in sections else f"`{name}`"
        lines.append(f"| {shown} | {summary} | {source or ''}{mark} |")
    for key, name, summary, _, outline in items:
        if name not in sections:
            continue
        path = sections[name]
        lines += ["", f"## {name}", "", f'`{key} = "{name}"`: {summary}', ""]
        if outline:
            lines += ["**Only an outline of the source was known**: details are guesses, as described below.", ""]
        lines += [head(path), ""]
        table = next((body for where, body in tables.items() if _same(where, f"{prefix}.{name}") and "|" in body), "")
        if table:
            lines += [table, ""]
    return "\n".join(lines).rstrip() + "\n"


def lesson(number: int, about: dict[str, Any]) -> str:
    """Write the page of a lesson; if the core was built for the browser, it contains the page of the lab."""
    name, title = about["id"], about["title"]
    text = (ROOT / "lab" / "lessons" / f"{name}.toml").read_text(encoding="utf-8")
    lines = [f"# {number}. {title}", "", " ".join(about["sentences"]), "", f"**Move** {about['move']}", ""]
    if has_engine():
        address = f"../../live/index.html?lesson={name}"
        style = "width:100%;height:1100px;border:1px solid #8888"
        lines += [f'<iframe src="{address}" title="The lab: {title}" loading="lazy" style="{style}"></iframe>', ""]
        lines += [f'<a href="{address}">Open in a separate page</a>', ""]
    lines += ["On your own machine:", "", "<!-- not run: a server that goes on -->", "```sh"]
    lines += [f"wifair lab --lesson {name}", "```", "", "The scenario:", "", "```toml", text.rstrip(), "```", ""]
    return "\n".join(lines)


def key_pages() -> dict[str, str]:
    """Write the reference of all keys: a page for each table of a scenario, and one that leads to them."""
    first, *parts = re.split(r"^### `\[*([\w.-]+)\]*`\n", _core.reference(), flags=re.M)
    tables = dict(zip(parts[::2], parts[1::2]))
    note = "Generated from the code: `wifair schema KEY` prints one key, `wifair schema --markdown` all of them.\n"
    index = first.replace("## Scenario files", f"# All keys of a scenario\n\n{note}").rstrip()
    for name in tables:
        index = index.replace(f"| `{name}` |", f"| [`{name}`]({name}.md) |")
    pages = {"index.md": f"{index}\n"}
    for name, body in tables.items():
        pages[f"{name}.md"] = re.sub(r"^#(#+)", r"\1", f"### `[{name}]`\n\n{note}{body}".rstrip(), flags=re.M) + "\n"
        pages[f"{name}.md"] = pages[f"{name}.md"].replace(f"## `[{name}]`", f"# `[{name}]`", 1)
    return pages


def python_pages() -> dict[str, str]:
    """Write the Python reference: signatures and docstrings of all public names, a page for each module."""
    pages = {}
    for module in ("wifair", "wifair.metrics", "wifair.statistics", "wifair.sweeps"):
        here = import_module(module)
        names = [name for name in here.__all__ if callable(getattr(here, name))]
        lines = [f"# `{module}`", "", "Generated from the docstrings.", "", _doc(here)]
        for name in sorted(names, key=str.lower):
            lines += ["", f"## `{name}`", "", _doc(getattr(here, name), name)]
            lines += _methods(name, getattr(here, name))
        pages[f"{module}.md"] = "\n".join(lines).rstrip() + "\n"
    return pages


def _methods(name: str, of: Any) -> list[str]:
    """Write the public methods and properties that a class adds."""
    if not isinstance(of, type) or not of.__module__.startswith("wifair"):
        return []
    lines = []
    for method, value in vars(of).items():
        found = getattr(value, "fget", None) or getattr(value, "func", None) or value
        if not method.startswith("_") and found.__doc__ and callable(getattr(found, "__call__", None)):  # noqa: B004
            lines += ["", f"### `{name}.{method}`", "", _doc(found, f"{name}.{method}")]
    return lines


def _doc(of: Any, name: str = "") -> str:
    """Write a signature and a docstring as they are."""
    text = inspect.getdoc(of) or ""
    try:
        plain = inspect.signature(of)
        bare = [one.replace(annotation=one.empty) for one in plain.parameters.values()]
        shown = f"{name}{plain.replace(parameters=bare, return_annotation=plain.empty)}"
        head = f"{textwrap.fill(shown, 110, subsequent_indent='    ')}\n\n" if name else ""
    except (TypeError, ValueError):
        head = ""
    return f"```text\n{head}{text}\n```"


def _same(path: str, wanted: str) -> bool:
    """Whether two paths of keys end in the same two steps, because a queue is described only where it first occurs."""
    return path.split(".")[-2:] == wanted.split(".")[-2:]


def main() -> None:
    """Write all pages."""
    OUT.mkdir(exist_ok=True)
    for name, of in PAGES.items():
        (OUT / f"{name}.md").write_text(page(*of), encoding="utf-8")
    for folder, pages in (("keys", key_pages()), ("python", python_pages())):
        (ROOT / "docs" / folder).mkdir(exist_ok=True)
        for name, text in pages.items():
            (ROOT / "docs" / folder / name).write_text(text, encoding="utf-8")
    if has_engine():
        export(ROOT / "docs" / "live", force=True)
    LESSONS.mkdir(exist_ok=True)
    abouts = json.loads((ROOT / "lab" / "lessons" / "lessons.json").read_text(encoding="utf-8"))
    for number, about in enumerate(abouts, 1):
        (LESSONS / f"{about['id']}.md").write_text(lesson(number, about), encoding="utf-8")


if __name__ == "__main__":
    main()
