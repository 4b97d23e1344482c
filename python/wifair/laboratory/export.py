"""Export of the lab page as static files."""

from __future__ import annotations

import os
from pathlib import Path

from wifair._output import files
from wifair.laboratory import page


def export(folder: str | os.PathLike[str], start: page.Start | None = None, *, force: bool = False) -> list[Path]:
    """Write the page as files that any web server can serve; everything is computed in the browser.

    Parameters
    ----------
    folder : path
        Where to write the files; created if it does not exist.
    start : Start, optional
        What the page shows at first.
    force : bool, default False
        Whether to replace existing files.

    Returns
    -------
    list of Path
        The files, ``index.html`` first.

    Raises
    ------
    ImportError
        If the core was not built as WebAssembly.
    FileExistsError
        If one of the files exists and `force` is false.
    OSError
        If they cannot be written.
    """
    if not page.has_engine():
        raise ImportError(
            "this installation has no core for the browser: run `make lab` in the sources with the target"
            " wasm32-unknown-unknown of rustup, or install a wheel; `wifair lab` works without it"
        )
    folder = Path(folder)
    paths = [folder / name for name in (*page.FILES, page.ENGINE)]
    there = [path for path in paths if path.exists()]
    if there and not force:
        raise FileExistsError(f"`{there[0]}` exists: choose another folder, or replace it with --force")
    for path in paths:
        data = page.index(start or page.Start(), engine="wasm") if path.name == "index.html" else page.read(path.name)
        files.write_bytes(files.below(folder, path.name), data)
    return paths
