"""The collector over vector environments, on three that count their steps, in every mode of beginning anew."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.control import linear_policy, vector
from robustirl.control.policies import GaussianPolicy
from robustirl.control.vector import _inspect, collect_vector
from robustirl.errors import InvalidInputError

LENGTHS = (2, 3, 99)  # The first ends by itself, the second is cut off, the third goes on.
BOX = SimpleNamespace(low=np.full(2, -0.5, np.float32), high=np.full(2, 0.75, np.float32))


class Counting:
    """Observations are (number of the environment, steps since the start); a step pays ten times the latter."""

    num_envs = 3
    single_action_space = BOX
    single_observation_space = SimpleNamespace(shape=(2,))

    def __init__(self, mode, lengths=LENGTHS):
        self.metadata = {"autoreset_mode": SimpleNamespace(value=mode)}
        self.mode, self.lengths, self.actions, self.anew = mode, np.array(lengths), [], []
        self.steps = np.zeros(3, int)
        self.ended = np.zeros(3, bool)

    def _seen(self):
        return np.stack([np.arange(3.0), self.steps], -1).astype(np.float32)

    def reset(self, *, seed=None, options=None):
        mask = np.ones(3, bool) if options is None else options["reset_mask"]
        self.anew.append((seed, mask.tolist()))
        self.steps, self.ended = np.where(mask, 0, self.steps), self.ended & ~mask
        return self._seen(), {}

    def step(self, actions):
        self.actions.append(actions)
        waiting = self.ended if self.mode == "NextStep" else np.zeros(3, bool)
        assert self.mode != "Disabled" or not self.ended.any()  # Nobody steps what has ended.
        self.steps = np.where(waiting, 0, self.steps + 1)
        self.ended = (self.steps >= self.lengths) & ~waiting
        infos, seen = {}, self._seen()
        rewards = 10.0 * self.steps
        ended = self.ended
        if self.mode == "SameStep" and ended.any():
            infos = {
                "final_obs": np.array([row if end else None for row, end in zip(seen, ended, strict=True)], object)
            }
            infos["_final_obs"] = ended
            self.steps, self.ended = np.where(ended, 0, self.steps), np.zeros(3, bool)
            seen = self._seen()
        return seen, rewards, ended & (np.arange(3) == 0), ended & (np.arange(3) != 0), infos


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
def test_every_environment_gives_one_episode(mode):
    player = GaussianPolicy((jnp.array([[0.0, 2.0], [0.25, 0.0]]),), (), jnp.zeros(2))
    envs = Counting(mode)
    found = collect_vector(envs, player, horizon=4, mean_action=True, seed=7, key=jax.random.key(0))
    steps = np.array([[0, 0, 0], [1, 1, 1], [2, 2, 2], [2, 3, 3], [2, 3, 4]])
    np.testing.assert_array_equal(found.states[..., 1], steps)
    np.testing.assert_array_equal(found.states[..., 0], [[0, 1, 2]] * 5)
    np.testing.assert_array_equal(found.features, found.states)
    np.testing.assert_array_equal(found.active, [[1, 1, 1], [1, 1, 1], [0, 1, 1], [0, 0, 1]])
    np.testing.assert_array_equal(found.terminated, [True, False, False])
    np.testing.assert_array_equal(found.observed_rewards, [[10, 10, 10], [20, 20, 20], [0, 30, 30], [0, 0, 40]])
    assert found.by_player.all()
    np.testing.assert_allclose(found.player_actions[2, 1], [0.5, 2.0])  # As drawn,
    np.testing.assert_allclose(envs.actions[2][1], [0.5, 0.75])  # and as executed.
    assert envs.actions[0].dtype == np.float32
    assert envs.anew[0] == (7, [True, True, True])
    masks = [mask for _, mask in envs.anew[1:]]
    # One that has ended begins anew before each further step, which nobody looks at.
    assert masks == ([[True, False, False], [True, True, False]] if mode == "Disabled" else [])


def test_what_nobody_took_is_padded_and_features_are_looked_at():
    envs = Counting("SameStep")
    short = collect_vector(
        envs,
        linear_policy(1, 2),
        linear_policy(1, 2),
        0.0,
        features=lambda seen: seen[1:] * 2,
        horizon=2,
        key=jax.random.key(0),
    )
    np.testing.assert_array_equal(short.features[..., 0], [[0, 0, 0], [2, 2, 2], [4, 4, 4]])
    assert not short.by_player.any()
    np.testing.assert_array_equal(short.executed, short.opponent_actions)
    assert float(jnp.abs(short.player_actions - short.opponent_actions).min()) > 0


def test_episodes_that_end_before_the_horizon_are_filled_up():
    found = collect_vector(Counting("NextStep", (2, 2, 2)), linear_policy(2, 2), horizon=5, key=jax.random.key(0))
    np.testing.assert_array_equal(found.lengths, [2, 2, 2])
    np.testing.assert_array_equal(found.states[..., 1], [[0] * 3, [1] * 3, *[[2] * 3] * 4])
    assert found.active.shape == (5, 3)
    assert not found.player_actions[2:].any()
    assert not found.observed_rewards[2:].any()


def test_the_log_of_a_step_is_counted_before_the_first(monkeypatch):
    seen = []
    monkeypatch.setattr(vector, "require_history", lambda *given: seen.append(given))
    collect_vector(Counting("NextStep"), linear_policy(2, 2), horizon=2, key=jax.random.key(0))
    # Two observations of two numbers, two actions of two, a hand, a reward and whether it was active, of three.
    assert seen == [("steps", 2, 3 * (2 * 2 + 2 * 2 + 3))]


def test_one_step_is_the_shortest_episode(refused):
    found = collect_vector(Counting("NextStep"), linear_policy(2, 2), horizon=1, key=jax.random.key(0))
    assert found.active.shape == (1, 3)
    with refused("the horizon is 0"):
        collect_vector(Counting("NextStep"), linear_policy(2, 2), horizon=0, key=jax.random.key(0))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_envs": None}, "SimpleNamespace is not a vector environment"),
        ({"single_action_space": None}, "SimpleNamespace is not a vector environment"),
        ({"single_action_space": SimpleNamespace(low=None, high=BOX.high)}, "the action space is"),
        ({"single_action_space": SimpleNamespace(low=BOX.low, high=None)}, "the action space is"),
        ({"single_action_space": SimpleNamespace(low=BOX.low[None], high=BOX.high)}, "the action space is"),
        ({"single_action_space": SimpleNamespace(low=np.zeros(2, int), high=np.ones(2, int))}, "the action space is"),
        ({"single_observation_space": SimpleNamespace(shape=None)}, "the observation space is"),
        ({"single_observation_space": SimpleNamespace(shape=(2, 2))}, "the observation space is"),
    ],
)
def test_what_is_no_vector_environment_is_refused(changes, message):
    parts = {"num_envs": 3, "single_action_space": BOX, "single_observation_space": SimpleNamespace(shape=(2,))}
    assert _inspect(SimpleNamespace(**parts))[0] == 3
    given = {name: value for name, value in {**parts, **changes}.items() if value is not None}
    with pytest.raises(InvalidInputError, match=message):
        _inspect(SimpleNamespace(**given))
