"""Environments for learning: agents that choose congestion windows in a contended Wi-Fi network.

Importing this module registers ``wifair/CongestionWindow-v1`` with gymnasium. `CongestionWindow` has one agent beside
the flows of a scenario, `CongestionWindows` many environments of that kind that a call steps in threads of the core,
`CongestionWindowsParallel` many agents in one network by PettingZoo's parallel interface.

An agent sees what a sender sees. An observation has the acknowledged payload [Mb/s], the mean round-trip time as a
multiple of the least so far, the part of the datagrams that were lost, the logarithm of the window to base 2, and the
datagrams under way per window. An action from -1 to 1 multiplies the window by 2 to that power, for one step.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

try:
    from gymnasium import Env, register, spaces
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space
    from pettingzoo import ParallelEnv
except ImportError as error:
    raise ImportError(f"{error}: environments need pip install 'wifair[gym]'") from error

from wifair import _core, gallery
from wifair.exceptions import ScenarioError, WifairError
from wifair.metrics import jain_index
from wifair.scenario.scenario import Scenario, Source, scenario_of

__all__ = ["REWARDS", "ActionError", "CongestionWindow", "CongestionWindows", "CongestionWindowsParallel"]

Figures = Sequence[float]
"""Goodput [bit/s], mean and least round-trip time [s], loss, datagrams under way, window."""

FIRST_WINDOW, LEAST_WINDOW, MOST_WINDOW = 10.0, 1.0, 20_000.0
HIGHEST = np.array([1e5, 1e3, 1.0, 15.0, 16.0], np.float32)
"""Observations are cut off here."""
LEAST_MBPS = 0.01
"""Goodput below this counts as this much in rewards [Mb/s]."""


class ActionError(WifairError, ValueError):
    """An action outside its space."""


def _utility(own: Figures, _: Sequence[Figures]) -> float:
    """Proportionally fair utility: the logarithm of the goodput in Mb/s."""
    return math.log(max(own[0] / 1e6, LEAST_MBPS))


def _power(own: Figures, _: Sequence[Figures]) -> float:
    """Logarithm of Kleinrock's power: goodput per round-trip time, which is a multiple of the least here."""
    return _utility(own, ()) - math.log(own[1] / own[2] if own[2] else 1.0)


def _jain(_: Figures, everybody: Sequence[Figures]) -> float:
    """Jain's index of the goodputs of all agents in this step; 0 if nobody gets anything."""
    index = float(jain_index([one[0] for one in everybody]))
    return 0.0 if math.isnan(index) else index


REWARDS: Mapping[str, Callable[[Figures, Sequence[Figures]], float]] = {
    "utility": _utility,
    "power": _power,
    "jain": _jain,
}
"""Rewards of a step by name: of an agent's figures and those of all agents."""


def _observations() -> spaces.Box:
    return spaces.Box(np.zeros(5, np.float32), HIGHEST)


def _actions() -> spaces.Box:
    """Make a space of its own for each agent: spaces are seeded."""
    return spaces.Box(-1.0, 1.0, (1,))


def _observed(figures: Figures) -> NDArray[np.float32]:
    goodput, mean, least, loss, in_flight, window = figures
    ratio = mean / least if least else 1.0
    seen = np.array([goodput / 1e6, ratio, loss, math.log2(window), in_flight / window], np.float32)
    return np.minimum(seen, HIGHEST)


FIRST = _observed((0.0, 0.0, 0.0, 0.0, 0.0, FIRST_WINDOW))


class _Networks:
    """Networks of one plan, with the windows of their agents."""

    def __init__(self, scenario: Source, agents: list[tuple[str, str]], step_s: float, reward: str, count: int) -> None:
        if reward not in REWARDS:
            raise ValueError(f"no reward {reward!r}: there are {', '.join(REWARDS)}")
        if not 1e-3 <= step_s <= 60.0:
            raise ValueError(f"a step of {step_s} s: give 0.001 to 60")
        made = scenario_of(scenario, for_programs=True)
        self._text, self._begin_ns = made.resolved, round(made.warm_up_s * 1e9)
        self._agents, self._step_ns = agents, round(step_s * 1e9)
        self._reward = REWARDS[reward]
        self.windows = np.full((count, len(agents)), FIRST_WINDOW)
        self._core: _core.AgentCells | None = None

    def begin(self, seeds: Sequence[int]) -> None:
        try:
            self._core = _core.AgentCells(self._text, self._agents, self._step_ns, self._begin_ns, list(seeds))
        except ValueError as error:
            raise ScenarioError(str(error)) from None
        self.windows[:] = FIRST_WINDOW

    def begin_again(self, index: int, seed: int) -> None:
        assert self._core is not None
        self._core.reset(index, seed)
        self.windows[index] = FIRST_WINDOW

    def step(
        self, actions: NDArray[Any], threads: int
    ) -> tuple[list[list[list[float]]], list[list[float]], list[bool]]:
        """Take a step; returns figures and rewards of each agent of each network, and whether it has ended."""
        if self._core is None:
            raise ActionError("call reset() before step()")
        actions = np.asarray(actions, float).reshape(self.windows.shape)
        if not ((actions >= -1.0) & (actions <= 1.0)).all():
            raise ActionError(f"an action of {actions[~((actions >= -1.0) & (actions <= 1.0))][0]}: give -1 to 1")
        self.windows = np.clip(self.windows * 2.0**actions, LEAST_WINDOW, MOST_WINDOW)
        seen = self._core.step(self.windows.ravel().tolist(), threads)
        if not all(seen):
            raise ActionError("the network has ended: call reset()")
        rewards = [[self._reward(one, cell) for one in cell] for cell in seen]
        return seen, rewards, [not has for has in self._core.have_time()]


def _beside(scenario: Source | None, station: str | None, server: str | None) -> tuple[Scenario, list[tuple[str, str]]]:
    """Choose the network of one agent, which downloads."""
    if scenario is None or (isinstance(scenario, str) and scenario in gallery.CONGESTION):
        scenario = Scenario.from_text(gallery.example(scenario or "cc-coffee-shop").toml).with_({"flows.test.count": 0})
    made = scenario_of(scenario, for_programs=True)
    hosts = _core.Link(made.resolved, 1).hosts
    return made, [(server or hosts[made._core.stations], station or hosts[0])]


class CongestionWindow(Env):  # type: ignore[misc]
    """One agent that chooses the congestion window of a download, beside the flows of a scenario.

    Parameters
    ----------
    scenario : Scenario, path, mapping or name, optional
        The network, or one of the gallery's scenarios for congestion controls, without its flow ``test``:
        ``"cc-coffee-shop"`` by default. The agent begins at the end of its `warm_up`.
    station, server : str, optional
        The ends of the download; the first of each by default.
    step_s : float, default 0.1
        Time between two decisions [s].
    reward : {"utility", "power", "jain"}
        See `REWARDS`.

    Raises
    ------
    ValueError
        If a name or the step is wrong; ScenarioError if the scenario is.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}

    def __init__(
        self,
        scenario: Source | None = None,
        *,
        station: str | None = None,
        server: str | None = None,
        step_s: float = 0.1,
        reward: str = "power",
        render_mode: str | None = None,
    ) -> None:
        self.observation_space, self.action_space, self.render_mode = _observations(), _actions(), render_mode
        self._cells = _Networks(*_beside(scenario, station, server), step_s, reward, 1)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin a network with a seed drawn from `seed`."""
        super().reset(seed=seed, options=options)
        self._cells.begin([int(self.np_random.integers(1 << 32))])
        return FIRST.copy(), {}

    def step(self, action: NDArray[Any]) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Let the agent send for a step. The network is never terminated, and truncated at its end."""
        seen, rewards, ended = self._cells.step(action, 1)
        return _observed(seen[0][0]), rewards[0][0], False, ended[0], {}


class CongestionWindows(VectorEnv):  # type: ignore[misc]
    """Many environments like `CongestionWindow`, stepped together in threads of the core, without the GIL.

    An environment that ends begins anew in the same step; its last observation is in ``info["final_obs"]``.

    Parameters
    ----------
    num_envs : int
        How many.
    threads : int, optional
        Threads; as many as there are processors by default.
    scenario, station, server, step_s, reward
        As of `CongestionWindow`.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": [], "autoreset_mode": AutoresetMode.SAME_STEP}

    def __init__(
        self,
        num_envs: int,
        scenario: Source | None = None,
        *,
        threads: int | None = None,
        station: str | None = None,
        server: str | None = None,
        step_s: float = 0.1,
        reward: str = "power",
    ) -> None:
        self.num_envs = num_envs
        self.single_observation_space, self.single_action_space = _observations(), _actions()
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._threads = threads or os.cpu_count() or 1
        self._cells = _Networks(*_beside(scenario, station, server), step_s, reward, num_envs)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin all networks, with seeds drawn as by environments with the seeds ``seed``, ``seed + 1`` and so on."""
        del options
        if isinstance(seed, int):
            seeds: Sequence[int | None] = [seed + place for place in range(self.num_envs)]
        else:
            seeds = seed or [None] * self.num_envs
        self._draws = [np.random.default_rng(one) for one in seeds]
        self._cells.begin([int(draw.integers(1 << 32)) for draw in self._draws])
        return np.tile(FIRST, (self.num_envs, 1)), {}

    def step(
        self, actions: NDArray[Any]
    ) -> tuple[NDArray[np.float32], NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Take a step in each environment."""
        seen, rewards, ended = self._cells.step(actions, self._threads)
        observed = np.array([_observed(cell[0]) for cell in seen])
        info: dict[str, Any] = {}
        if any(ended):
            info = {"final_obs": observed.copy(), "_final_obs": np.array(ended)}
            for place in np.flatnonzero(ended):
                self._cells.begin_again(int(place), int(self._draws[place].integers(1 << 32)))
                observed[place] = FIRST
        return observed, np.array([cell[0] for cell in rewards]), np.zeros(self.num_envs, bool), np.array(ended), info


class CongestionWindowsParallel(ParallelEnv):  # type: ignore[misc]
    """Many agents in one network, each of which chooses the window of a download; PettingZoo's parallel interface.

    Parameters
    ----------
    agents : int, default 4
        How many stations download, each with an agent.
    standard : str, default "802.11ax"
        The standard.
    duration_s : float, default 20
        Length of an episode [s].
    step_s, reward
        As of `CongestionWindow`.
    """

    metadata: ClassVar[dict[str, Any]] = {"name": "wifair_congestion_windows_v1", "render_modes": []}

    def __init__(
        self,
        agents: int = 4,
        *,
        standard: str = "802.11ax",
        duration_s: float = 20.0,
        step_s: float = 0.1,
        reward: str = "utility",
        render_mode: str | None = None,
    ) -> None:
        if not 1 <= agents <= 1000:
            raise ValueError(f"{agents} agents: give 1 to 1000")
        names = [f"agent_{number}" for number in range(1, agents + 1)]
        network = {
            "duration": f"{duration_s} s",
            "wlan": {"standard": standard},
            "ap": {"queue": {"limit": "1000 packets"}},
            "servers": [{"name": "server", "delay": "10 ms", "rate": "1 Gb/s"}],
            "stations": [{"name": name} for name in names],
        }
        self.possible_agents, self.agents, self.render_mode = names, list[str](), render_mode
        self._cells = _Networks(network, [("server", name) for name in names], step_s, reward, 1)
        self._spaces = {name: (_observations(), _actions()) for name in names}
        self._draws = np.random.default_rng()

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Space of the observations of an agent."""
        return self._spaces[agent][0]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Space of the actions of an agent."""
        return self._spaces[agent][1]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, NDArray[np.float32]], dict[str, dict[str, Any]]]:
        """Begin a network with a seed drawn from `seed`."""
        del options
        if seed is not None:
            self._draws = np.random.default_rng(seed)
        self.agents = list(self.possible_agents)
        self._cells.begin([int(self._draws.integers(1 << 32))])
        return {name: FIRST.copy() for name in self.agents}, {name: {} for name in self.agents}

    def step(self, actions: dict[str, Any]) -> tuple[dict[str, Any], ...]:
        """Let all agents send for a step."""
        missing = [name for name in self.agents if name not in actions]
        if missing:
            raise ActionError(f"no action of {missing[0]}")
        chosen = np.array([np.ravel(actions[name])[0] for name in self.agents])
        seen, rewards, (ended,) = self._cells.step(chosen, 1)
        names = self.agents
        self.agents = [] if ended else list(names)
        return (
            {name: _observed(one) for name, one in zip(names, seen[0])},
            dict(zip(names, rewards[0])),
            dict.fromkeys(names, False),
            dict.fromkeys(names, ended),
            {name: {} for name in names},
        )

    def render(self) -> None:
        """Do nothing: there is nothing to see."""


register("wifair/CongestionWindow-v1", "wifair.gym:CongestionWindow", vector_entry_point="wifair.gym:CongestionWindows")
