"""The estimator: the numbers of `fit`, and the manners of scikit-learn."""

import copy
import functools
import pickle

import jax
import numpy as np
import pytest

from robustirl import envs
from robustirl.demonstrations import Demonstrations, estimate_occupancy, sample_demonstrations
from robustirl.errors import ConvergenceError, InvalidInputError
from robustirl.irl import RobustIRL, fit
from robustirl.irl.acting import NotFittedError
from robustirl.irl.result import Status
from robustirl.planning import expert_policy
from robustirl.rewards import TabularReward

STEPS = 30


@functools.cache
def world(noise=0.0):
    return envs.make("gridworld-4").mdp(noise)


@functools.cache
def demos(seed=0, episodes=300):
    expert = expert_policy(world(0.1), envs.make("gridworld-4").reward)
    return sample_demonstrations(world(0.1), expert, episodes=episodes, horizon=300, key=jax.random.key(seed))


@functools.cache
def fitted():
    return RobustIRL(0.9, steps=STEPS, throw=False).fit(world(), demos())


def test_the_estimator_is_fit_on_the_estimated_occupancy():
    model, estimate = fitted(), estimate_occupancy(demos(), world())
    plain = fit(world(), estimate.occupancy, alpha=0.9, steps=STEPS, throw=False)
    for name, attribute in (("reward", model.reward_), ("player", model.policy_)):
        assert np.array_equal(attribute, np.asarray(getattr(plain, name))), name
    assert model.alpha_ == 0.9
    assert model.estimate_.error == estimate.error
    assert model.alpha_selection_ is None
    for given in (estimate, estimate.occupancy, list(demos())):
        again = RobustIRL(0.9, steps=STEPS, throw=False).fit(world(), given)
        assert np.array_equal(again.reward_, model.reward_)


def test_predictions_are_the_policys():
    model = fitted()
    assert np.array_equal(model.predict_proba([3, 3, 0]), model.policy_[[3, 3, 0]])
    assert np.array_equal(model.predict(np.arange(36)), model.policy_.argmax(-1))
    assert model.use_.name == "greedy"
    assert isinstance(model.predict(6), int)
    drawn = model.sample(np.zeros(4000, int), seed=1)
    np.testing.assert_allclose(np.bincount(drawn, minlength=4) / 4000, model.policy_[0], atol=0.03)
    action, state = model.as_sb3(seed=0).predict(np.array([3]))
    assert action.shape == (1,)
    assert state is None


def test_states_out_of_range_are_named(refused):
    with refused("state 36 was asked about, but there are 36 states"):
        fitted().predict([0, 36])
    with refused("-1"):
        fitted().predict_proba([-1])
    with pytest.raises(NotFittedError, match="has not learned anything yet"):
        RobustIRL().predict([0])


def test_the_score_is_the_likelihood_of_a_move_of_the_mixture():
    model, kernel = fitted(), world().kernel.to_sparse().toarray().reshape(36, 4, 36)
    walk = Demonstrations.from_arrays([[7, 6, 0], [2, 35]], terminated=[True, False])
    moves = [(7, 6), (6, 0), (2, 35)]  # The last one is no move of the learner's world.
    mask = np.asarray(world().mask)
    anyhow = (np.asarray(model.fit_.opponent) + mask / mask.sum(-1, keepdims=True)) / 3
    acting = 0.9 * model.policy_ + 0.1 * anyhow
    expected = [np.log(acting[s] @ kernel[s, :, t] + 0.1 / 3 / 36) for s, t in moves]
    assert model.score(world(), walk) == pytest.approx(np.mean(expected))
    assert model.score([world()] * 2, list(walk)) == model.score(world(), walk)


def test_scikit_learn_searches_over_alpha():
    search = pytest.importorskip("sklearn.model_selection")
    grid = search.GridSearchCV(RobustIRL(steps=STEPS, throw=False), {"alpha": [1.0, 0.9, 0.6]}, cv=2)
    grid.fit([world()] * len(demos()), list(demos()))
    assert grid.best_params_ == {"alpha": 0.9}


@pytest.mark.parametrize(
    ("options", "data", "culprit"),
    [
        ({}, Demonstrations.from_arrays([[0, 99]]), "episode 0 is in state 99 at step 1, but there are 36 states"),
        ({}, np.ones(36), "the occupancy sums to 36.0 instead of 1"),
        ({"alpha": "auto"}, np.full(36, 1 / 36), "alpha"),
        ({"alpha": 1.5}, np.full(36, 1 / 36), "alpha is 1.5"),
        ({"tail": "cut"}, Demonstrations.from_arrays([[7, 1]]), "the tail is 'cut'"),
        ({"reward": TabularReward(5)}, np.full(36, 1 / 36), "rewards of shape (5,), but the world has 36 states"),
    ],
)
def test_bad_data_and_parameters_are_named(options, data, culprit, refused):
    with refused(culprit):
        RobustIRL(**{"alpha": 1.0, "steps": 2, **options}).fit(world(), data)
    with refused("there is no parameter 'beta'"):
        RobustIRL().set_params(beta=1)


def test_a_fit_that_fails_leaves_the_earlier_one():
    model = RobustIRL(0.9, steps=STEPS, throw=False).fit(world(), demos())
    before = model.fit_
    with pytest.raises(ConvergenceError, match="above the tolerance"):
        model.set_params(tolerance=1e-9, throw=True).fit(world(), demos())
    with pytest.raises(InvalidInputError):
        model.fit(world(), np.ones(36))
    assert model.fit_ is before


def test_an_interrupt_keeps_the_finished_steps():
    def interrupt(step):
        if step.step == 3:
            raise KeyboardInterrupt

    model = RobustIRL(0.9, steps=STEPS)
    with pytest.raises(KeyboardInterrupt):
        model.fit(world(), demos(), callbacks=[interrupt])
    assert model.fit_.verdict.status == Status.STOPPED
    assert np.array_equal(model.fit_.history.dual, fitted().fit_.history.dual[: len(model.fit_.history.dual)])


def test_copies_are_the_same_and_parameters_are_read_and_set():
    model = fitted()
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert twin.summary() == model.summary()
        assert np.array_equal(twin.policy_, model.policy_)
    assert repr(RobustIRL(0.9, steps=3)) == "RobustIRL(alpha=0.9, steps=3)"
    assert RobustIRL(**model.get_params()).get_params() == model.get_params()
