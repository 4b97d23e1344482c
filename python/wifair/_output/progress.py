"""Progress bars on terminals."""

from __future__ import annotations

import sys
from typing import Any, Self

from wifair._output.streams import printable, write_codes


class _Terminal:
    """Standard error, to which codes for the terminal may be written."""

    encoding = "utf-8"

    def write(self, text: str) -> None:
        """Write a part of the bar; what it shows is printable."""
        write_codes(text)

    def flush(self) -> None:
        """Show it now."""
        sys.stderr.flush()

    def isatty(self) -> bool:
        """Whether it is a terminal."""
        return sys.stderr.isatty()

    def fileno(self) -> int:
        """Get the number of the file."""
        return sys.stderr.fileno()


class ProgressBar:
    """A progress bar; nothing where it is not wanted, or where standard error is no terminal."""

    def __init__(self, wanted: bool, total: float | None, **options: Any) -> None:
        """`options` are tqdm's. A description is shown until the first progress."""
        self._bar: Any = None
        if wanted and sys.stderr.isatty():
            from tqdm import tqdm  # noqa: PLC0415

            self._bar = tqdm(total=total, file=_Terminal(), leave=False, **options)

    @classmethod
    def counting(cls, wanted: bool, total: float, unit: str, **options: Any) -> Self:
        """Show the number of units done and the time left."""
        form = f"{{l_bar}}{{bar}}| {{n:.0f}}/{{total:.0f}} {unit}, {{remaining}} left"
        return cls(wanted, total, bar_format=form, **options)

    def more(self, units: float) -> None:
        """Add to the total."""
        if self._bar is not None:
            self._bar.total += units

    def show(self, done: float, note: str = "") -> None:
        """Show that so much is done in all; `note` takes the place of the description after the first progress."""
        if self._bar is None:
            return
        if done > 0 and self._bar.desc != note:
            self._bar.set_description_str(printable(note))
        self._bar.update(done - self._bar.n)
        if self._bar.desc:
            self._bar.refresh()  # the clock goes on, which tells that it is alive

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
