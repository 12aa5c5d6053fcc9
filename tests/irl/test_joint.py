"""One reward from several experts in several worlds."""

import functools

import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.demonstrations import Choices
from robustirl.envs import ThreeState
from robustirl.irl import fit, fit_jointly
from robustirl.irl.joint import RepeatedReward, _side_by_side, _union
from robustirl.mdp import MDP
from robustirl.planning import expert_policy, solve, state_occupancy
from robustirl.rewards import LinearReward, TabularReward

ENV = ThreeState()
WORLDS = [ENV.mdp(noise) for noise in (0.0, 0.1)]


@functools.cache  # Not at the top: every worker collects this file, and one runs it.
def rhos():
    return [np.asarray(state_occupancy(world, expert_policy(world, ENV.reward))) for world in WORLDS]


def test_one_reward_explains_experts_of_one_reward_in_every_world():
    joint = fit_jointly(WORLDS, rhos())
    assert joint.occupancy_gaps == pytest.approx([0, 0], abs=1e-3)
    for world, player in zip(WORLDS, joint.players, strict=True):
        assert np.asarray(solve(world, joint.reward).player) == pytest.approx(player, abs=1e-6)


def test_an_expert_alone_is_an_ordinary_fit_and_alphas_differ_by_world():
    alone = fit_jointly(WORLDS[:1], rhos()[:1], tolerance=1e-7)
    plain = fit(WORLDS[0], rhos()[0], alpha=1.0, tolerance=1e-7)
    assert alone.players[0] == pytest.approx(np.asarray(plain.player), abs=1e-5)
    robust = fit_jointly([WORLDS[0], WORLDS[0]], rhos(), [1.0, 0.95], throw=False)
    assert robust.alphas.tolist() == [1.0, 0.95]
    assert not np.allclose(robust.players[0], robust.players[1])


def test_the_likelihood_counts_every_choice_of_every_expert():
    """One state, two worlds that are the same: 6 of 8 and 0 of 4 choices are 6 of 12, so that the bonus is 0."""
    world = MDP([[[1.0], [1.0]]], discount=0.9)
    rows = [Choices([0] * 8, [1] * 6 + [0] * 2), Choices([0] * 4, [0] * 4)]
    joint = fit_jointly([world] * 2, rows, reward=LinearReward([[[0.0], [1.0]]]), objective="likelihood")
    assert float(joint.parameters[0]) == pytest.approx(0, abs=1e-8)


def test_the_world_of_all_worlds_and_a_reward_that_repeats_itself():
    shares = np.array([0.25, 0.75])
    union = _union(WORLDS, shares)
    kernel = np.asarray(union.kernel.dense())
    for k, world in enumerate(WORLDS):
        here = slice(3 * k, 3 * k + 3)
        np.testing.assert_allclose(kernel[here, :, here], np.asarray(world.kernel.dense()))
        np.testing.assert_allclose(np.asarray(union.initial)[here], shares[k] * np.asarray(world.initial))
    assert kernel[:3, :, 3:].sum() == kernel[3:, :, :3].sum() == 0
    repeated = RepeatedReward(TabularReward(3, 2), 2)
    given = jnp.arange(6.0).reshape(3, 2)
    assert repeated(given).tolist() == given.tolist() * 2
    assert repeated.seen(jnp.concatenate([given, 10 * given])).tolist() == (11 * given).tolist()


def test_choices_side_by_side_keep_their_groups_apart():
    rows = [Choices([0, 2, 1], [1, 0, 1], [7, 3, 7]), Choices([2, 0], [0, 1], [3, 3]), Choices([1], [1], [0])]
    found = _side_by_side(rows, 3)
    assert found.states.tolist() == [0, 2, 1, 3 + 2, 3 + 0, 6 + 1]
    assert found.actions.tolist() == [1, 0, 1, 0, 1, 1]
    assert found.groups.tolist() == [1, 0, 1, 2, 2, 3]


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (lambda: (WORLDS, rhos()[:1]), {}, "2 worlds and 1 experts were given"),
        (lambda: ([], []), {}, "no world was given"),
        (lambda: ([WORLDS[0], ThreeState(discount=0.5).mdp()], rhos()), {}, "discount 0.5"),
        (lambda: (WORLDS, rhos(), "auto"), {}, "alpha is chosen from demonstrations, but ndarray was given"),
        (lambda: (WORLDS, rhos(), [1.0]), {}, "1 alphas were given for 2 worlds"),
        (lambda: (WORLDS, rhos()), {"weights": [1.0, -1.0]}, "but 2 numbers above 0 are needed"),
    ],
)
def test_bad_requests_are_one_sentence(arguments, options, message, refused):
    with refused(message):
        fit_jointly(*arguments(), **options)
