"""Episodes recorded in Gymnasium's toy worlds are episodes of the worlds read from their tables."""

import gymnasium
import numpy as np
import pytest

from robustirl.demonstrations import estimate_occupancy, rollout_gymnasium
from robustirl.demonstrations.io.gymnasium import _acting
from robustirl.envs import from_gymnasium
from robustirl.planning import expert_policy, state_occupancy

TABLED = sorted(
    name
    for name, spec in gymnasium.registry.items()
    if "toy_text" in str(spec.entry_point) and hasattr(gymnasium.make(name).unwrapped, "P")
)
VARIANTS = [
    *(pytest.param(name, {}, marks=pytest.mark.slow if name == "Taxi-v4" else ()) for name in TABLED),  # And below.
    ("FrozenLake-v1", {"is_slippery": False}),
    ("FrozenLake-v1", {"map_name": "8x8", "success_rate": 0.8}),
    ("FrozenLake-v1", {"desc": ["HSH", "FFF", "GFH"]}),
    ("FrozenLake-v1", {"desc": ["SG", "GH"], "is_slippery": False}),
    pytest.param("Taxi-v4", {"is_rainy": True}, marks=pytest.mark.slow),
]


def test_the_registry_has_the_worlds_that_are_tried():
    assert {"CliffWalking-v1", "FrozenLake-v1", "FrozenLake8x8-v1", "Taxi-v4"} <= set(TABLED)


@pytest.mark.parametrize(("name", "options"), VARIANTS)
def test_recordings_agree_with_the_table(name, options):
    env = from_gymnasium(name, discount=0.95, **options)
    world = env.mdp()
    policy = np.asarray(expert_policy(world, env.reward, kind="optimal"))
    made = gymnasium.make(name, **options)
    demos = rollout_gymnasium(made, policy, episodes=20, horizon=300, seed=0)
    demos.check_against(world)
    demos.check_possible(world)  # Every move, and that terminated episodes end in absorbing states.
    assert demos.terminated.any()
    if len(policy) > made.observation_space.n:  # pyright: ignore[reportAttributeAccessIssue]
        short = rollout_gymnasium(made, policy[:-1], episodes=20, horizon=300, seed=0)
        assert short == demos


def test_the_occupancy_of_taxi_rides_is_that_of_the_world(refused):
    env = from_gymnasium("Taxi-v4", discount=0.95)
    world = env.mdp()
    policy = np.asarray(expert_policy(world, env.reward, kind="optimal"))
    made = gymnasium.make("Taxi-v4")
    demos = rollout_gymnasium(made, policy, episodes=400, horizon=300, seed=0)
    exact = np.asarray(state_occupancy(world, policy))
    found = estimate_occupancy(demos, world).occupancy
    assert (demos.last_states == 500).all()
    assert abs(found[500] - exact[500]) < 0.01  # More than half of all mass: 0.57.
    assert exact[500] > 0.5
    with refused("the policy has shape (499, 6)", "(501, 6)"):
        rollout_gymnasium(made, policy[:499], episodes=1, horizon=1, seed=0)


def test_agents_of_stable_baselines3_are_recorded_as_they_are():
    class Agent:
        """Answers as agents of stable-baselines3 do."""

        def predict(self, observation):
            return np.array({0: 1, 4: 1, 8: 2, 9: 2, 10: 1, 14: 2}[int(observation)]), None

    env = gymnasium.make("FrozenLake-v1", is_slippery=False)
    walks = rollout_gymnasium(env, Agent(), episodes=1, horizon=50, seed=0)
    assert walks[0].states.tolist() == [0, 4, 8, 9, 10, 14, 15]


def test_actions_are_drawn_as_the_policy_says(refused):
    act = _acting([[1.0, 0.0, 0.0], [0.5, 0.25, 0.25]], {2}, 3, np.random.default_rng(0))
    assert {act(0) for _ in range(20)} == {0}
    drawn = np.bincount([act(1) for _ in range(2000)], minlength=3) / 2000
    np.testing.assert_allclose(drawn, [0.5, 0.25, 0.25], atol=0.04)
    with refused("the policy takes action 3 in state 1, but there are 3"):
        _acting(lambda state: state + 2, {2}, 3, np.random.default_rng(0))(1)


@pytest.mark.parametrize("found", [np.array(2), (np.array(2), None)])
def test_an_agent_predicts_an_action_or_an_action_and_a_state(found):
    class Agent:
        def predict(self, state):
            assert state.shape == ()
            return found

    assert _acting(Agent(), {2}, 3, np.random.default_rng(0))(1) == 2
