"""Environments for learning pass the checkers of gymnasium and PettingZoo, and say what the network does."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")
pytest.importorskip("pettingzoo")

from gymnasium.utils.env_checker import check_env  # noqa: E402
from pettingzoo.test import parallel_api_test, parallel_seed_test  # noqa: E402
from wifair import ScenarioError  # noqa: E402
from wifair.gym import (  # noqa: E402
    ActionError,
    CongestionWindow,
    CongestionWindows,
    CongestionWindowsParallel,
)

ALONE: dict[str, Any] = {
    "duration": "10 s",
    "warm_up": "1 s",
    "wlan": {"standard": "802.11g"},
    "ap": {"queue": {"limit": "1000 packets"}},
    "stations": [{"name": "sta"}],
    "servers": [{"name": "server", "delay": "50 ms", "rate": "1 Gb/s"}],
}


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
def test_the_checkers_pass() -> None:
    made = gymnasium.make("wifair/CongestionWindow-v1", scenario="cc-rate-falls-by-half")
    check_env(made.unwrapped, skip_render_check=True)
    parallel_api_test(CongestionWindowsParallel(3, duration_s=5.0), num_cycles=100)
    parallel_seed_test(lambda: CongestionWindowsParallel(3, duration_s=5.0))


def test_a_window_limits_the_goodput() -> None:
    """Ten datagrams of 1472 bytes each round trip of 100 ms of wire and below 5 ms of air; a step has 5 rounds."""
    env = CongestionWindow(ALONE, step_s=0.5)
    env.reset(seed=1)
    for _ in range(3):
        (goodput, ratio, loss, window, in_flight), reward, terminated, truncated, _ = env.step(np.array([0.0]))
    assert goodput == pytest.approx(8 * 10 * 1472 / 0.1025 / 1e6, rel=0.21)
    assert 1 <= ratio < 1.05
    assert (loss, window, in_flight) == (0, pytest.approx(math.log2(10)), 1)
    assert reward == pytest.approx(math.log(goodput) - math.log(ratio), abs=1e-5)
    assert (terminated, truncated) == (False, False)


def test_actions_multiply_the_window_and_fill_the_queue() -> None:
    env = CongestionWindow(ALONE, step_s=0.5)
    env.reset(seed=1)
    seen = [env.step(np.array([1.0]))[0] for _ in range(7)]
    assert [round(float(one[3]), 4) for one in seen] == [round(math.log2(10) + step, 4) for step in range(1, 8)]
    assert seen[-1][1] > 2 * seen[0][1], "1280 datagrams wait in the queue"
    assert seen[-1][0] < 35, "802.11g carries no more"


def test_episodes_end_with_the_scenario_and_are_a_function_of_the_seed() -> None:
    def episode(seed: int) -> list[float]:
        env = CongestionWindow("cc-coffee-shop", step_s=0.5, reward="utility")
        env.reset(seed=seed)
        rewards: list[float] = []
        truncated = False
        while not truncated:
            _, reward, _, truncated, _ = env.step(np.array([0.3 if len(rewards) < 8 else 0.0]))
            rewards.append(reward)
        with pytest.raises(ActionError, match="has ended"):
            env.step(np.array([0.0]))
        return rewards

    assert len(episode(1)) == 50  # from 5 s to 30 s
    assert episode(1) == episode(1) != episode(2)


def test_environments_together_are_those_alone() -> None:
    many = CongestionWindows(3, ALONE, step_s=1.0, threads=2)
    alone = [CongestionWindow(ALONE, step_s=1.0) for _ in range(3)]
    many.reset(seed=7)
    for place, env in enumerate(alone):
        env.reset(seed=7 + place)
    rng = np.random.default_rng(3)
    for step in range(12):
        actions = rng.uniform(-1, 1, (3, 1))
        seen, rewards, terminated, truncated, info = many.step(actions)
        assert not terminated.any()
        assert truncated.all() == (step == 8)
        for place, env in enumerate(alone):
            one, reward, _, ended, _ = env.step(actions[place])
            assert (reward, ended) == (rewards[place], truncated[place])
            np.testing.assert_array_equal(one, info["final_obs"][place] if ended else seen[place])
            if ended:
                env.reset()


def test_agents_share_one_network() -> None:
    env = CongestionWindowsParallel(3, duration_s=5.0, reward="jain")
    env.reset(seed=1)
    equal = dict.fromkeys(env.agents, np.array([1.0]))
    for _ in range(6):
        _, rewards, *_ = env.step(equal)
    assert rewards["agent_1"] == rewards["agent_2"] > 0.95
    unequal = {**equal, "agent_1": np.array([-1.0])}
    for _ in range(6):
        seen, rewards, *_ = env.step(unequal)
    assert seen["agent_1"][0] < seen["agent_2"][0] / 4
    assert rewards["agent_1"] < 0.8


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: CongestionWindow(ALONE, reward="speed"),
            ValueError,
            "no reward 'speed': there are utility, power, jain",
        ),
        (lambda: CongestionWindow(ALONE, step_s=0.0), ValueError, "a step of 0.0 s"),
        (lambda: CongestionWindow({**ALONE, "durtion": "1 s"}), ScenarioError, "unknown key"),
        (
            lambda: CongestionWindow(ALONE, station="nobody").reset(seed=1),
            ScenarioError,
            "no station or server `nobody`",
        ),
        (lambda: CongestionWindow(ALONE).step(np.array([0.0])), ActionError, "call reset"),
        (lambda: CongestionWindowsParallel(0), ValueError, "0 agents: give 1 to 1000"),
    ],
)
def test_wrong_words_are_named(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("action", [1.5, -1.01, float("nan")])
def test_actions_outside_their_space_are_refused(action: float) -> None:
    env = CongestionWindow(ALONE)
    env.reset(seed=1)
    with pytest.raises(ActionError, match="give -1 to 1"):
        env.step(np.array([action]))
    parallel = CongestionWindowsParallel(2)
    parallel.reset(seed=1)
    with pytest.raises(ActionError, match="no action of agent_2"):
        parallel.step({"agent_1": np.array([0.0])})
