"""One reward from several experts in several worlds."""

import functools
from types import SimpleNamespace

import jax
import numpy as np
import pytest

from robustirl.demonstrations import Choices, sample_demonstrations
from robustirl.envs import ThreeState, make
from robustirl.errors import InvalidInputError
from robustirl.irl import fit, fit_jointly, select_alpha
from robustirl.irl import joint as module
from robustirl.mdp import MDP
from robustirl.planning import expert_policy, solve, state_occupancy
from robustirl.rewards import AbstractReward, LinearReward, TabularReward

ENV = ThreeState()
WORLDS = [ENV.mdp(noise) for noise in (0.0, 0.1)]


@functools.cache  # Not at the top: every worker collects this file, and one runs it.
def rhos():
    return [np.asarray(state_occupancy(world, expert_policy(world, ENV.reward))) for world in WORLDS]


def test_one_reward_explains_experts_of_one_reward_in_every_world():
    joint = fit_jointly(WORLDS, rhos())
    assert joint.occupancy_gaps == pytest.approx([0, 0], abs=1e-3)
    assert joint.reward.shape == (3,)
    for world, player in zip(WORLDS, joint.players, strict=True):
        assert np.asarray(solve(world, joint.reward).player) == pytest.approx(player, abs=1e-6)


@pytest.mark.slow
def test_an_expert_alone_is_an_ordinary_fit_and_alphas_differ_by_world():
    alone = fit_jointly(WORLDS[:1], rhos()[:1], tolerance=1e-7)
    assert alone.players[0] == pytest.approx(np.asarray(fit(WORLDS[0], rhos()[0], tolerance=1e-7).player), abs=1e-5)
    robust = fit_jointly([WORLDS[0], WORLDS[0]], rhos(), [1.0, 0.95], throw=False)
    assert robust.alphas.tolist() == [1.0, 0.95]
    assert not np.allclose(robust.players[0], robust.players[1])


@pytest.mark.slow
def test_the_likelihood_counts_every_choice_of_every_expert():
    """One state, two worlds that are the same: 6 of 8 and 0 of 4 choices are 6 of 12, so that the bonus is 0."""
    world = MDP([[[1.0], [1.0]]], discount=0.9)
    rows = [Choices([0] * 8, [1] * 6 + [0] * 2), Choices([0] * 4, [0] * 4)]
    joint = fit_jointly([world] * 2, rows, reward=LinearReward([[[0.0], [1.0]]]), objective="likelihood")
    assert float(joint.parameters[0]) == pytest.approx(0, abs=1e-8)


def test_alpha_is_estimated_for_every_expert_with_the_reward_of_the_joint_fit():
    """Two states that are never left, the bonus of action 1 ten times as large in the second.

    Without an opponent σ(θ) and σ(10 θ) of the choices take the bonus: 95.3 % and all of them at θ = 3. The first
    expert takes it in 80 % of the choices in either state, which only an opponent with 1 - α = 0.2 explains.
    """
    world = MDP(np.eye(2)[:, None].repeat(2, 1), discount=0.5)
    bonus = LinearReward([[[0.0], [1.0]], [[0.0], [10.0]]], names=["bonus"])
    disturbed = Choices([0] * 400 + [1] * 400, ([1] * 320 + [0] * 80) * 2)
    alone = Choices([0] * 400 + [1] * 400, [1] * 381 + [0] * 19 + [1] * 400)
    joint = fit_jointly([world] * 2, [disturbed, alone], "auto", reward=bonus, objective="likelihood")
    assert joint.alphas.tolist() == [0.8, 1.0]
    assert float(joint.parameters[0]) == pytest.approx(3, abs=0.5)  # The opponent of 0.8 is a soft one.


@pytest.mark.slow
def test_alpha_is_selected_for_every_expert_by_its_own_demonstrations():
    env = make("gridworld-4")
    calm, noisy = env.mdp(0.0), env.mdp(0.2)
    walks = [
        sample_demonstrations(
            world, expert_policy(world, env.reward, temperature=1.0), episodes=400, horizon=200, key=jax.random.key(0)
        )
        for world in (calm, noisy)
    ]
    joint = fit_jointly([calm, calm], walks, "auto", throw=False)
    assert joint.alphas.tolist() == [select_alpha(calm, walk).alpha for walk in walks]
    assert joint.alphas[1] < joint.alphas[0]


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        (lambda: fit_jointly(WORLDS, rhos()[:1]), "2 worlds and 1 experts were given"),
        (lambda: fit_jointly([WORLDS[0], ThreeState(discount=0.5).mdp()], rhos()), "world 1 has .* discount 0.5"),
        (lambda: fit_jointly(WORLDS, rhos(), "auto"), "expert 0 is given by an occupancy, which does not tell α"),
        (lambda: fit_jointly(WORLDS, rhos(), [1.0]), "1 alphas were given for 2 worlds"),
        (lambda: fit_jointly(WORLDS, rhos(), weights=[1.0, -1.0]), "but 2 numbers above 0 are needed"),
    ],
)
def test_bad_requests_are_one_sentence(attempt, message):
    with pytest.raises(InvalidInputError, match=message):
        attempt()


def test_choices_side_by_side_keep_their_groups_apart():
    rows = [Choices([0, 2, 1], [1, 0, 1], [7, 3, 7]), Choices([2, 0], [0, 1], [3, 3]), Choices([1], [1], [0])]
    found = module._side_by_side(rows, 3)
    assert found.states.tolist() == [0, 2, 1, 3 + 2, 3 + 0, 6 + 1]
    assert found.actions.tolist() == [1, 0, 1, 0, 1, 1]
    assert found.groups.tolist() == [1, 0, 1, 2, 2, 3]


def test_an_alpha_is_for_all_worlds_or_one_for_each(refused):
    def alphas(given):
        return module._alphas(WORLDS, rhos(), given, TabularReward(3), "occupancy", {}).tolist()

    assert alphas(0.75) == [0.75, 0.75]
    assert alphas([0.75, 1]) == [0.75, 1.0]
    with refused("3 alphas were given for 2 worlds; give one, or one for each."):
        alphas([0.5, 0.5, 0.5])
    with refused("alphas is 'all', but numbers with 0 < alpha <= 1 or 'auto' are needed."):
        alphas("all")


def _fit(asked):
    """Return a stand-in for `fit` that notes what it is given and learns numbers in order."""

    def fit(world, evidence, **options):
        asked.append((world, evidence, options))
        return SimpleNamespace(
            occupancy=np.array([0.1, 0.1, 0.05, 0.25, 0.25, 0.25]),
            expert_occupancy=np.array([0.1, 0.15, 0.0, 0.25, 0.2, 0.3]),
            reward=np.arange(6.0),
            parameters="θ",
            player=np.arange(12.0).reshape(6, 2),
            opponent=-np.arange(12.0).reshape(6, 2),
        )

    return fit


def test_what_is_fitted_in_the_world_of_all_worlds(monkeypatch):
    asked = []
    monkeypatch.setattr(module, "fit", _fit(asked))
    rows, mask = np.array([[[0.0, 1.0], [1.0, 0.0]], [[0.5, 0.5], [0.0, 0.0]]]), [[True, True], [True, False]]
    rows = np.pad(rows, ((0, 1), (0, 0), (0, 1)))
    rows[2, 0, 2] = 1.0
    other = rows.copy()
    other[0, 0] = [0.25, 0.75, 0.0]
    starts = [np.array([1.0, 0.0, 0.0]), np.array([0.5, 0.0, 0.5])]
    worlds = [
        MDP(array, discount=0.5, initial=start, mask=[*mask, [True, False]])
        for array, start in zip((rows, other), starts, strict=True)
    ]
    experts = [[0.2, 0.3, 0.5], [0.6, 0.2, 0.2]]
    joint = fit_jointly(worlds, experts, [1.0, 0.5], weights=[1, 3], steps=7)
    world, evidence, options = asked.pop()
    kernel = np.zeros((6, 2, 6))
    kernel[:3, :, :3], kernel[3:, :, 3:] = rows, other
    np.testing.assert_allclose(world.kernel.to_array(), kernel)
    np.testing.assert_allclose(world.initial, [0.25, 0, 0, 0.375, 0, 0.375])
    assert np.asarray(world.mask).tolist() == [*mask, [True, False]] * 2
    assert float(world.discount) == 0.5
    np.testing.assert_allclose(evidence, [0.05, 0.075, 0.125, 0.45, 0.15, 0.15])
    assert options.pop("alpha").tolist() == [1.0] * 3 + [0.5] * 3
    shared = options.pop("reward")
    assert options == {"objective": "occupancy", "steps": 7}
    assert isinstance(shared, LinearReward)
    assert np.asarray(shared.features).tolist() == [*np.eye(3).tolist()] * 2
    assert shared.names == TabularReward(3).parameter_names()
    # What is learned is taken apart: a tenth is missed in the first world, which has a quarter of the weight.
    np.testing.assert_allclose(joint.occupancy_gaps, [0.4, 0.1 / 0.75])
    assert joint.reward.tolist() == [0, 1, 2]
    assert joint.players.tolist() == np.arange(12.0).reshape(2, 3, 2).tolist()
    assert joint.opponents.tolist() == (-np.arange(12.0).reshape(2, 3, 2)).tolist()
    assert joint.alphas.tolist() == [1.0, 0.5]
    assert (joint.parameters, joint.world, joint.model) == ("θ", world, shared)
    fit_jointly(worlds, experts, 0.75)
    assert asked.pop()[2]["alpha"] == 0.75
    taken = []
    monkeypatch.setattr(module, "_taken_apart", lambda *given: taken.extend(given[1:3]))
    fit_jointly(worlds[:1], experts[:1], 0.75)  # An expert alone.
    alphas, shares = taken
    assert (alphas.tolist(), shares.tolist()) == ([0.75], [1.0])
    np.testing.assert_allclose(asked.pop()[0].kernel.to_array(), rows)
    choices = [Choices([0, 1, 0], [0, 0, 1]), Choices([2], [0])]
    fit_jointly(worlds, choices, objective="likelihood")
    world, evidence, options = asked.pop()
    assert evidence.states.tolist() == [0, 1, 0, 5]
    np.testing.assert_allclose(world.initial, [0.75, 0, 0, 0.125, 0, 0.125])  # Every choice counts alike.
    assert options["objective"] == "likelihood"
    pairs = TabularReward(3, 2)
    fit_jointly(worlds, [np.full((3, 2), 1 / 6)] * 2, reward=pairs)
    assert np.asarray(asked.pop()[2]["reward"].features).shape == (6, 2, 6)


def test_any_other_reward_is_repeated():
    class Constant(AbstractReward):
        def initial_parameters(self):
            return 2.0

        def __call__(self, parameters):
            return np.array([[1.0, 2.0], [3.0, 4.0]]) * parameters

        def parameter_names(self):
            return ("size",)

    shared = module._repeated(Constant(), 2)
    assert np.asarray(shared(shared.initial_parameters())).tolist() == [[2, 4], [6, 8]] * 2
    assert shared.parameter_names() == ("size",)


def test_worlds_with_one_reward_share_shape_and_discount(refused):
    with refused("0 worlds and 0 experts were given, but an expert is needed for every world."):
        fit_jointly([], [])
    smaller = MDP([[[1.0], [1.0]]], discount=0.9)
    with refused("world 1 has (1, 2) states and actions and discount 0.9, but the first has (3, 2) and 0.9"):
        fit_jointly([WORLDS[0], smaller], rhos())
    for weights in ([1.0], [1.0, 0.0], [[1.0, 1.0]]):
        with refused(f"the weights are {weights!r}, but 2 numbers above 0 are needed."):
            fit_jointly(WORLDS, rhos(), weights=weights)
