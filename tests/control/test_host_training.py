"""Segments of environments that step themselves, on three that follow a script."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np

from robustirl.control import PPOConfig
from robustirl.control.host_training import collect_segment, episodes_of, host_returns
from robustirl.control.networks import Scale
from robustirl.control.policies import GaussianPolicy
from robustirl.control.policy_gradient import Players
from robustirl.control.ppo_training import training_setting
from robustirl.control.segments import Walkers

# What each of three environments does at every step: g goes on, e ends by itself, c is cut off, - begins anew.
SCRIPT = ("-ggc", "ge-g", "gggg")
STILL = GaussianPolicy((jnp.array([[0.5], [0.0]]),), (), jnp.zeros(1))


class Scripted:
    """Observations are (number of the environment, steps so far); a step pays its number, counted from 1."""

    environments, horizon, width, action_size, discount = 3, 4, 2, 1, 0.9

    def __init__(self, script=SCRIPT):
        self.script, self.step, self.resets, self.moved = script, 0, 0, []

    def _seen(self, step):
        return np.stack([np.arange(3.0), np.full(3, step)], -1)

    def reset(self):
        self.step, self.resets = 0, self.resets + 1
        return self._seen(0)

    def advance(self, actions):
        assert actions.shape == (3, 1)
        self.moved.append(np.asarray(actions)[:, 0].tolist())
        marks = np.array([line[self.step % len(line)] for line in self.script])
        self.step += 1
        return SimpleNamespace(
            after=self._seen(self.step),
            onward=self._seen(self.step),
            paid=np.full(3, float(self.step)),
            terminated=marks == "e",
            truncated=marks == "c",
            counted=marks != "-",
        )


def test_a_step_that_was_not_taken_repeats_one_that_was():
    world = Scripted()
    walkers = Walkers(jnp.asarray(world.reset()), jnp.array([0, 5, 7]), jnp.array([0.0, 10.0, 20.0]))
    alone = Players(STILL, STILL)
    onward, rows = collect_segment(world, alone, Scale.empty(2), np.ones(()), walkers, 4, jax.random.key(0), True)
    # The first environment begins anew in the first step, which repeats the second; the second one in the third.
    np.testing.assert_array_equal(rows.features[..., 1], [[1, 0, 0], [1, 1, 1], [2, 1, 2], [3, 3, 3]])
    np.testing.assert_array_equal(rows.paid, [[2, 1, 1], [2, 2, 2], [3, 2, 3], [4, 4, 4]])
    np.testing.assert_array_equal(rows.terminated, [[0, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 0]])
    np.testing.assert_array_equal(rows.over, [[1, 0, 0], [0, 1, 0], [0, 1, 0], [1, 0, 0]])
    # Episodes are reported once: 5 + 2 steps and 10 + 1 + 2, then 3 steps and 2 + 3 + 4.
    np.testing.assert_array_equal(rows.lengths, [[0, 0, 0], [0, 7, 0], [0, 0, 0], [3, 0, 0]])
    np.testing.assert_array_equal(np.nan_to_num(rows.returns), [[0, 0, 0], [0, 13, 0], [0, 0, 0], [9, 0, 0]])
    np.testing.assert_array_equal(onward.ages, [0, 1, 11])
    np.testing.assert_array_equal(onward.totals, [0, 4, 30])
    np.testing.assert_allclose(rows.actions[..., 0], np.tile([0, 0.5, 1.0], (4, 1)))
    assert rows.by_player.all()
    working = rows._replace(paid=rows.paid.astype(np.float64)).as_segment()
    assert (working.paid.dtype, working.by_player.dtype, working.over.dtype) == (jnp.zeros(()).dtype, bool, bool)
    assert world.moved == [[0, 0.5, 1.0]] * 4


def test_policies_act_in_units_of_the_largest_action():
    world = Scripted()
    walkers = Walkers(jnp.asarray(world.reset()), jnp.zeros(3, int), jnp.zeros(3))
    alone, units = Players(STILL, STILL), np.array([3.0])
    key = jax.random.key(0)
    _, rows = collect_segment(world, alone, Scale.empty(2), np.ones(()), walkers, 4, key, True, units=units)
    assert world.moved == [[0, 1.5, 3.0]] * 4
    np.testing.assert_allclose(rows.actions[..., 0], np.tile([0, 0.5, 1.0], (4, 1)))  # What is learned from.


def test_whole_episodes_end_where_they_end():
    world = Scripted(("ge--", "gggc", "ccgg"))
    found = episodes_of(world, STILL, episodes=4, mean_action=True, key=jax.random.key(0))
    assert [len(one.over) for one in found] == [2, 4, 1, 2]  # The fourth is the first of the next round.
    assert [bool(one.terminated[-1, 0]) for one in found] == [True, False, False, True]
    assert world.resets == 2
    np.testing.assert_allclose(host_returns(world, STILL, 3, jax.random.key(0)), [1 + 2, 1 + 2 + 3 + 4, 1])


def test_environments_may_count_returns_without_a_discount():
    setting = training_setting(Undiscounted(), 0.9, 3 * 16 * 2, PPOConfig(environments=8, segment=16), None)
    assert (float(setting.discount), setting.horizon, setting.config.environments) == (1.0, 4, 3)


class Undiscounted(Scripted):
    discount = 1.0
