"""What fits are given, checked before any work: starts, batches, kernels and choices."""

import jax.numpy as jnp
import numpy as np
import pytest

from robustirl._runtime import double_precision
from robustirl.demonstrations import Choices
from robustirl.irl import ADAM, LBFGS, NEWTON, SCORING
from robustirl.irl.mce import optimizer_choice
from robustirl.irl.mce.preparation import Settings, prepare
from robustirl.irl.mce.problem import DEFAULT_TOLERANCE, LIKELIHOOD, LIKELIHOOD_TOLERANCE
from robustirl.mdp import MDP, SuccessorKernel
from robustirl.planning import Temperatures
from robustirl.rewards import LinearReward, TabularReward
from robustirl.theory import as_uncertainty

WORLD = MDP([[[0.5, 0.5], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]], discount=0.5)
OTHER = MDP([[[1.0]]], discount=0.5)
EVEN = np.array([0.5, 0.5])
CHOICES = Choices([0, 0, 1, 0], [1, 1, 0, 0])


@pytest.fixture(autouse=True)
def scope():
    """Compute in double precision, as inside of a fit."""
    with double_precision():
        yield


def prepared(worlds=(WORLD,), evidence=(EVEN,), alphas=(1.0,), model=None, starts=None, uncertainty=None, **changes):
    settings = Settings(None, 10, None, False, Temperatures(), None)._replace(**changes)
    return prepare(list(worlds), list(evidence), list(alphas), model, starts, settings, uncertainty)


def test_starts_are_checked_and_kept(refused):
    assert prepared().starts == [None]
    found = prepared(
        [WORLD] * 2, [EVEN] * 2, [1.0, 0.5], starts=[np.array([1, 2]), np.array([3.0, 4.0], np.float32)]
    ).starts
    assert [np.asarray(start).tolist() for start in found] == [[1, 2], [3, 4]]
    assert {start.dtype for start in found} == {jnp.dtype("float64")}
    with refused("1 initial parameters were given for 2 fits; give one for each, or none."):
        prepared([WORLD] * 2, [EVEN] * 2, [1.0, 0.5], starts=[[1.0, 2.0]])
    shapes = "the initial parameters have the shapes [(3,)], but the reward model's have [(2,)], arranged as in its"
    with refused(shapes):
        prepared(starts=[np.zeros(3)])
    with refused("the initial parameters have the shapes [(2,)], but the reward model's have [(2,)], arranged"):
        prepared(starts=[{"theta": np.zeros(2)}])
    with refused("array 0 of the initial parameters is not finite at entry 1"):
        prepared(starts=[np.array([0.0, np.nan])])


def test_tolerances_follow_the_objective():
    assert _ends(prepared()) == (DEFAULT_TOLERANCE, True, False)
    assert _ends(prepared(tolerance=0.25)) == (0.25, False, False)
    assert _ends(prepared(keep_last=True)) == (0.0, False, True)
    by_choices = {"evidence": [CHOICES], "objective": LIKELIHOOD}
    assert _ends(prepared(**by_choices)) == (LIKELIHOOD_TOLERANCE, False, False)
    assert _ends(prepared(**by_choices, keep_last=True)) == (0.0, False, True)
    assert _ends(prepared(**by_choices, tolerance=0.25)) == (0.25, False, False)


def _ends(found):
    problem = found.problems[0]
    return float(problem.tolerance), bool(problem.relative), bool(problem.keep_last)


def test_choices_become_shares_with_a_penalty_a_choice(monkeypatch, refused):
    problem = prepared(evidence=[CHOICES], objective=LIKELIHOOD, penalty=2.0).problems[0]
    assert problem.expert.tolist() == [[0.25, 0.5], [0.25, 0.0]]
    assert (float(problem.objective.penalty), float(problem.objective.observations)) == (0.5, 4.0)
    assert problem.objective_name == LIKELIHOOD
    assert problem.optimizer is SCORING
    # The information is a matrix of the parameters; beside it stand the states.
    for model, largest, expected in ((None, 2, SCORING), (None, 1, LBFGS), (LinearReward([[0.0], [1.0]]), 1, LBFGS)):
        monkeypatch.setattr(optimizer_choice, "LARGEST_INFORMATION", largest)
        found = prepared(evidence=[CHOICES], objective=LIKELIHOOD, model=model)
        assert found.problems[0].optimizer is expected
    with refused("the player's temperature is 0, where a policy has no likelihood to climb; give one above 0."):
        prepared(evidence=[CHOICES], objective=LIKELIHOOD, temperatures=Temperatures(0.0))
    with refused("the objective is 'reward', but 'occupancy' or 'likelihood' is needed."):
        prepared(objective="reward")
    with refused("a penalty is for objective='likelihood'; occupancy matching has none."):
        prepared(penalty=1.0)


def test_a_set_of_kernels_takes_the_place_of_the_opponent(refused):
    around = as_uncertainty(WORLD, radius=0.1)
    found = prepared(uncertainty=around).problems[0]
    assert found.uncertainty is around
    assert found.optimizer is not NEWTON
    with refused("the uncertainty set is around another world; build it around the learner's."):
        prepared(uncertainty=as_uncertainty(OTHER, radius=0.1))
    with refused("the uncertainty set is around another world; build it around the learner's."):
        prepared([WORLD] * 2, [EVEN] * 2, [1.0] * 2, uncertainty=around)
    with refused("an uncertainty set takes the opponent's place; leave alpha out, or give 1."):
        prepared(alphas=[0.9], uncertainty=around)
    with refused("an uncertainty set needs a player's temperature above 0; the default is 1."):
        prepared(uncertainty=around, temperatures=Temperatures(0.0))
    with refused("a set of kernels is for occupancy matching; for a likelihood give alpha."):
        prepared(evidence=[CHOICES], objective=LIKELIHOOD, uncertainty=around)
    with refused("NEWTON is for the game; with an uncertainty set give another optimizer, or none."):
        prepared(uncertainty=around, optimizer=NEWTON)


def test_a_batch_shares_its_settings_and_keeps_the_rest_apart():
    alphas = [0.5, np.array([1.0, 0.75])]
    found = prepared([WORLD] * 2, [EVEN, [0.25, 0.75]], alphas, steps=7, optimizer=ADAM, starts=[EVEN, 2 * EVEN])
    assert found.steps == 7
    problems, starts = found.stacked()
    assert problems.game.alpha.tolist() == [[[0.5, 0.5]] * 2, [[1.0, 1.0], [0.75, 0.75]]]
    assert problems.expert.tolist() == [[0.5, 0.5], [0.25, 0.75]]
    assert np.asarray(starts).tolist() == [[0.5, 0.5], [1.0, 1.0]]
    assert (problems.steps.tolist(), problems.relative.tolist()) == ([7, 7], [True, True])
    assert problems.planner_tolerance is None
    player, opponent = problems.soft
    assert (player.tolist(), opponent) == ([1.0, 1.0], None)
    assert found.problems[0].model.shape == TabularReward(2).shape


def test_worlds_whose_halves_differ_are_one_batch():
    states = np.arange(1101)

    def rings(length):
        following = states // length * length + (states + 1) % length
        return MDP(SuccessorKernel(np.stack([states, following], 1)[:, None], np.full((1101, 1, 2), 0.5)), discount=0.5)

    def halved(*worlds):
        games = prepared(worlds, [states / states.sum()] * 2, [1.0, 1.0]).stacked()[0].game
        return games.mdp.kernel.halved

    one, many = rings(1101), rings(3)
    assert one.kernel.halved.first.size > many.kernel.halved.first.size
    assert halved(many, many).first.shape == (2, many.kernel.halved.first.size)
    assert halved(one, many) is None
