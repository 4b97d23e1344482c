"""The lab in a notebook."""

from __future__ import annotations

from wifair._moved import Renamed
from wifair._output.streams import escape
from wifair.laboratory.page import Start
from wifair.laboratory.server import LabServer
from wifair.scenario.scenario import Scenario, Source, scenario_of


class LabView(Renamed):
    """The lab page in a notebook; displayed when it is the last value of a notebook's cell.

    Attributes
    ----------
    url : str
        Address of the page, to open it in a separate tab.
    """

    def __init__(self, server: LabServer, height: int) -> None:
        """Show the page of `server`, `height` pixels high."""
        self._server = server
        self._height = height
        self.url = server.url

    @property
    def toml(self) -> str:
        """The scenario on the page as TOML; before the page is open, the one that it was started with."""
        state = self._server.state
        return str(state["text"]) if state and "text" in state else (self._server.start.text or "")

    @property
    def scenario(self) -> Scenario:
        """The scenario on the page as a `Scenario`.

        Raises
        ------
        ScenarioError
            If the text on the page is invalid.
        """
        return Scenario.from_text(self.toml)

    @property
    def seed(self) -> int:
        """The seed on the page; 1 before the page is open."""
        state = self._server.state
        return int(str(state["seed"])) if state and "seed" in state else 1

    def close(self) -> None:
        """Stop the server; the page stays visible, but computes nothing any more."""
        self._server.close()

    def _repr_html_(self) -> str:
        url = escape(self.url)
        return (
            f'<iframe src="{url}" title="wifair lab" style="width:100%;height:{self._height}px;border:1px solid #8888">'
            f'</iframe><br><a href="{url}" target="_blank" rel="noopener">open in a new tab</a>'
        )

    def __repr__(self) -> str:
        return f"<LabView {self.url}>"


def lab(scenario: Source | None = None, *, height: int = 900) -> LabView:
    """Show a scenario in a notebook with live controls; the scenario as changed by the user can be read back.

    The page comes from a local server, which ends with the Python process or with `LabView.close`. The browser has to
    run on the same machine.

    Parameters
    ----------
    scenario : Scenario, path or mapping, optional
        What to show; a path is read by `Scenario.from_file`, a mapping by `Scenario.from_dict`. By default the first
        lesson.
    height : int, default 900
        Height of the page in the notebook [pixels].

    Returns
    -------
    LabView
        The page; ``view.scenario`` is the scenario that it shows now.

    Raises
    ------
    ScenarioError
        If the scenario is invalid.
    ValueError
        If `height` is below 100.

    Examples
    --------
    >>> view = wifair.lab("hot-spot.toml")  # doctest: +SKIP
    >>> wifair.run(view.scenario, seeds=range(1, 31))  # doctest: +SKIP
    """
    if height < 100:
        raise ValueError(f"height of {height} pixels: the page needs at least 100")
    return LabView(LabServer(Start.of(scenario_of(scenario)) if scenario is not None else Start()), height)
