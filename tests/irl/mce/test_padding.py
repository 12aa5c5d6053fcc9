"""Padded worlds: the same numbers, few programs, and results of the size that was asked for."""

from typing import Any

import jax
import numpy as np
import optax
import pytest

from robustirl._runtime import double_precision
from robustirl.irl import fit, fit_many, paper_optimizer
from robustirl.irl.mce import padding
from robustirl.irl.mce.preparation import Settings, prepare
from robustirl.irl.mce.programs import advance_compiled
from robustirl.mdp import MDP, SuccessorKernel
from robustirl.planning import Temperatures
from robustirl.rewards import AbstractReward, LinearReward, NetworkReward, TabularReward
from tests.irl.mce.test_fit import random_world

SETTINGS = Settings(optax.sgd(1.0), 5, None, False, Temperatures(), None)
STATES = 12


def occupancy(states=STATES, seed=1):
    return np.random.default_rng(seed).dirichlet(np.ones(states))


def lists(states=STATES, actions=3, successors=2, seed=2):
    rng = np.random.default_rng(seed)
    probabilities = rng.dirichlet(np.ones(successors), size=(states, actions))
    return MDP(SuccessorKernel(rng.integers(states, size=(states, actions, successors)), probabilities), discount=0.9)


def features(states=STATES):
    return np.random.default_rng(4).normal(size=(states, 3))


CASES = {
    "tabular": (random_world(3, STATES), lambda: TabularReward(STATES)),
    "linear, lists": (lists(), lambda: LinearReward(features())),
    "network": (random_world(3, STATES), lambda: NetworkReward(features(), key=jax.random.key(0), depth=1)),
}


@pytest.mark.parametrize("name", ["tabular", pytest.param("linear, lists", marks=pytest.mark.slow), "network"])
def test_a_padded_fit_has_the_numbers_of_one_that_is_not(name):
    world, model = CASES[name]
    reward = model()
    settings: dict[str, Any] = {"optimizer": paper_optimizer(reward), "steps": 40, "keep_last": True}
    alone = fit(world, occupancy(), alpha=0.85, reward=reward, **settings)
    plain = fit_many([world], [occupancy()], [0.85], rewards=[reward], **settings)[0]  # Batches are not padded.
    assert jax.tree.structure(alone) == jax.tree.structure(plain)
    for one, other in zip(jax.tree.leaves(alone), jax.tree.leaves(plain), strict=True):
        assert np.shape(one) == np.shape(other)
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-9)


def test_reports_and_starts_are_of_the_size_that_was_asked_for():
    world, seen = random_world(3, STATES), []
    theta = np.random.default_rng(6).normal(size=STATES)
    found = fit(world, occupancy(), alpha=0.85, steps=3, initial_parameters=theta, callbacks=[seen.append])
    assert np.array_equal(seen[0].parameters, theta)
    assert seen[0].player.shape == found.player.shape == (STATES, 3)
    assert np.array_equal(seen[-1].reward, found.reward)


def test_what_is_added_has_no_value_no_mass_and_no_reward():
    with double_precision():
        (problem,), _ = prepare([random_world(3, STATES)], [occupancy()], [0.85], None, None, SETTINGS)
        padded = padding.pad_problem(problem)
    world = padded.game.mdp
    assert (world.num_states, world.num_actions) == (16, 4)
    added = np.arange(STATES, 16)
    assert np.array_equal(np.asarray(world.mask)[added], [[True, False, False, False]] * 4)
    assert not np.asarray(world.mask)[:, 3].any()
    assert np.asarray(world.initial)[STATES:].sum() == np.asarray(padded.expert)[STATES:].sum() == 0
    kernel = np.asarray(world.kernel.to_array())
    assert kernel[:STATES, :, STATES:].sum() == 0
    assert np.array_equal(kernel[added, 0, added], np.ones(4))
    assert np.array_equal(kernel[:STATES, :3, :STATES], problem.game.mdp.kernel.to_array())


def test_worlds_of_a_common_size_and_what_cannot_be_padded_stay_as_they_are():
    class Fixed(AbstractReward):
        def initial_parameters(self):
            return np.zeros(STATES)

        def __call__(self, parameters):
            return parameters

    def padded(world, reward=None):
        with double_precision():
            (problem,), _ = prepare([world], [occupancy(world.num_states)], [1.0], reward, None, SETTINGS)
            return padding.pad_problem(problem) is not problem

    assert padded(random_world(0, 12))
    assert not padded(random_world(0, 12), Fixed())
    assert not padded(random_world(0, 16, actions=2))
    assert padded(random_world(0, 16, actions=3))
    assert not padded(random_world(0, 200, actions=2))


def test_many_worlds_and_new_optimizers_are_few_programs():
    advance_compiled.clear()
    rng = np.random.default_rng(0)
    for steps in range(30):
        world = random_world(steps, states=int(rng.integers(10, 17)))
        found = fit(world, occupancy(world.num_states), steps=steps, optimizer=optax.adam(0.1), planner_tolerance=1e-9)
        assert int(found.verdict.steps) == steps
        assert found.player.shape == (world.num_states, 3)
    assert len(advance_compiled) == 1
