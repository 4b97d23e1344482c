"""What everything with a figure has in common: the figure can be saved."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import Any

from wifair.figures.style import check, save


class Drawable(ABC):
    """Has a figure."""

    @abstractmethod
    def figure(self, *args: Any, **options: Any) -> Any:
        """Draw the figure."""

    def save_figure(self, path: str | os.PathLike[str], **options: Any) -> Any:
        """Draw the figure into a file.

        Parameters
        ----------
        path : str or path
            The file; its extension chooses PNG, SVG or PDF. An existing file is replaced.
        **options
            As for `figure`.

        Returns
        -------
        matplotlib.figure.Figure
            What was saved.

        Raises
        ------
        ValueError
            If the extension is another one, or an option is wrong.
        ImportError
            If matplotlib is not installed.
        OSError
            If the file cannot be written.
        """
        check(path)
        figure = self.figure(**options)
        save(figure, path)
        return figure
