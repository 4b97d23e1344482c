"""Draws the figures of docs/gallery.md with the commands on that page: ``python docs/draw_gallery.py``.

Each picture of the page has the name of the file that one of the commands writes.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

DOCS = Path(__file__).parent
PAGE = (DOCS / "gallery.md").read_text(encoding="utf-8")


def main() -> None:
    """Run the commands in a temporary folder, and copy the figures with a palette of 256 colours."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    with tempfile.TemporaryDirectory() as folder:
        for block in re.findall(r"^```sh\n(.*?)^```$", PAGE, re.M | re.S):
            subprocess.run(["bash", "-e", "-c", block], cwd=folder, env=environment, check=True)
        for picture in re.findall(r"\]\((figures/gallery/[^)]+)\)", PAGE):
            (drawn,) = Path(folder).rglob(Path(picture).name)
            target = DOCS / picture
            target.parent.mkdir(parents=True, exist_ok=True)
            with Image.open(drawn) as image:
                small = image.convert("RGB").quantize(256)
                small.save(target, optimize=True, dpi=(300, 300))


if __name__ == "__main__":
    main()
