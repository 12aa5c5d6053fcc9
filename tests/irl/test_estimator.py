"""The estimator: the numbers of `fit`, the manners of scikit-learn, and plain words about both."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl import envs
from robustirl.demonstrations import Demonstrations, OccupancyEstimate, estimate_occupancy, sample_demonstrations
from robustirl.errors import ConvergenceError, InvalidInputError
from robustirl.irl import Occasional, RobustIRL, Status, fit
from robustirl.irl.least_gap import with_least_gap
from robustirl.mdp import MDP
from robustirl.planning import expert_policy, state_occupancy
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
    return RobustIRL(0.9, steps=STEPS).fit(world(), demos())


def test_the_estimator_is_fit_on_the_estimated_occupancy():
    model, estimate = fitted(), estimate_occupancy(demos(), num_states=36, discount=0.99)
    plain = fit(world(), estimate.occupancy, alpha=0.9, steps=STEPS)
    assert jax.tree.all(jax.tree.map(jnp.array_equal, model.fit_, with_least_gap(plain, world())))
    for name, attribute in (
        ("reward", model.reward_),
        ("player", model.policy_),
        ("opponent", model.opponent_),
        ("occupancy", model.occupancy_),
        ("expert_occupancy", model.expert_occupancy_),
    ):
        assert jnp.array_equal(attribute, getattr(plain, name)), name
    assert model.alpha_ == 0.9
    assert model.occupancy_gap_ == float(plain.verdict.occupancy_gap)
    assert model.converged_ is False
    assert model.alpha_estimate_ is None
    assert model.occupancy_estimate_ is not None
    assert model.occupancy_estimate_.error == estimate.error
    assert model.fit(world(), demos()) is model


@pytest.mark.parametrize("exact", [True, False])
def test_an_occupancy_will_do(exact):
    estimate = estimate_occupancy(demos(), num_states=36, discount=0.99)
    model = RobustIRL(0.9, steps=STEPS, reward="tabular")
    model.fit(world(), estimate.occupancy if exact else estimate)
    assert jnp.array_equal(model.reward_, fitted().reward_)
    assert (model.occupancy_estimate_ is None) == exact
    assert ("given as exact" if exact else "an occupancy estimated from 300 episodes") in model.summary()


def test_alpha_can_come_from_the_demonstrations():
    model = RobustIRL("auto").fit(world(), demos())  # Few steps would end before the opponent has explained anything.
    estimate = model.alpha_estimate_
    assert estimate is not None
    assert estimate.method == "fits"
    assert estimate.low <= model.alpha_ == estimate.alpha < 1
    assert f"α = {model.alpha_:g}, chosen by comparing fits: α is {model.alpha_:g}: the opponent" in model.summary()
    seen = []
    few = RobustIRL("auto", steps=STEPS).fit(world(), demos()[:5], callbacks=[Occasional(seen.append)])
    assert few.alpha_ == 1
    assert not seen  # The fit at the chosen alpha is not made a second time to show a bar.
    assert any(text.startswith("the data do not settle α: α stays 1: 5 episodes") for text in few.warnings_)


def test_predictions_are_the_players():
    model = fitted()
    policy = np.asarray(model.policy_)
    assert np.array_equal(model.predict_proba([3, 3, 0]), policy[[3, 3, 0]])
    assert np.array_equal(model.predict(np.arange(36)), policy.argmax(-1))
    assert model.predict([7]).shape == (1,)
    assert model.predict_proba([1]).sum() == pytest.approx(1)


def test_states_out_of_range_are_named(refused):
    with refused("state 36 was asked about, but there are 36 states"):
        fitted().predict([0, 36])
    with refused("-1"):
        fitted().predict_proba([-1])
    with refused("the array of states holds float64"):
        fitted().predict([0.5])


def test_the_score_is_the_likelihood_of_a_move_of_the_mixture():
    model, kernel = fitted(), world().kernel.to_sparse().toarray().reshape(36, 4, 36)
    walk = Demonstrations.from_arrays([[7, 6, 0], [2, 35]], terminated=[True, False])
    moves = [(7, 6), (6, 0), (2, 35)]  # The last one is no move of the learner's world.
    mask = np.asarray(world().mask)
    anyhow = (np.asarray(model.opponent_) + mask / mask.sum(-1, keepdims=True)) / 3
    acting = 0.9 * np.asarray(model.policy_) + 0.1 * anyhow
    expected = [np.log(acting[s] @ kernel[s, :, t] + 0.1 / 3 / 36) for s, t in moves]
    assert model.score(walk) == pytest.approx(np.mean(expected))
    assert model.score(world(), walk) == model.score([world()] * 2, list(walk)) == model.score(walk)
    # An expert is better explained than somebody who wanders about.
    wanderer = sample_demonstrations(
        world(), mask / mask.sum(-1, keepdims=True), episodes=50, horizon=50, key=jax.random.key(1)
    )
    assert model.score(demos(1)) > model.score(wanderer)


def test_held_out_scores_choose_an_alpha_below_one():
    halves = [(demos()[0::2], demos()[1::2]), (demos()[1::2], demos()[0::2])]
    scores = {
        alpha: np.mean([RobustIRL(alpha, steps=STEPS).fit(world(), a).score(b) for a, b in halves])
        for alpha in (1.0, 0.9, 0.6)
    }
    assert max(scores, key=scores.__getitem__) == 0.9


def test_scikit_learn_searches_over_alpha():
    search = pytest.importorskip("sklearn.model_selection")
    grid = search.GridSearchCV(RobustIRL(steps=STEPS), {"alpha": [1.0, 0.9, 0.6]}, cv=2)
    grid.fit([world()] * len(demos()), list(demos()))
    assert grid.best_params_ == {"alpha": 0.9}


def test_the_score_of_an_occupancy_is_on_its_way_out():
    estimate = estimate_occupancy(demos(1), num_states=36, discount=0.99)
    expected = -float(np.abs(np.asarray(fitted().occupancy_) - estimate.occupancy).sum())
    for given in (estimate, estimate.occupancy):
        with pytest.warns(DeprecationWarning, match="score demonstrations instead"):
            assert fitted().score(given) == expected


def test_scores_of_other_worlds_are_refused(refused):
    with refused("episode 0 is in state 40 at step 0, but there are 36 states"):
        fitted().score(Demonstrations.from_arrays([[40, 1]], [[0]]))
    with refused("takes action 4 in state 2 at step 0, but the world has 4 actions"):
        fitted().score(Demonstrations.from_arrays([[2, 1]], [[4]]))
    with refused("hold no move out of a state that can be left"):
        fitted().score(Demonstrations.from_arrays([[2]], [[]]))
    with refused("the world has 3 states and 2 actions, but the fit has 36 and 4"):
        fitted().score(envs.make("three-state").mdp(), Demonstrations.from_arrays([[0, 1]]))
    with refused("2 worlds were given that are not one and the same"):
        fitted().score([world(), world(0.1)], list(demos()[:2]))
    with pytest.warns(DeprecationWarning, match="instead"), refused("the occupancy has shape (3,), but (36,)"):
        fitted().score([0.1, 0.2, 0.7])


@pytest.mark.parametrize(
    ("options", "data", "culprit"),
    [
        ({}, Demonstrations.from_arrays([[0, 99]]), "episode 0 is in state 99 at step 1, but there are 36 states"),
        ({}, Demonstrations.from_arrays([[7, 1]], [[9]]), "episode 0 takes action 9 in state 7 at step 0"),
        ({}, Demonstrations.from_arrays([[0, 1]], [[0]]), "the world does not offer it"),
        ({}, np.ones(36), "the occupancy sums to 36.0 instead of 1"),
        ({}, np.ones(5) / 5, "the occupancy has shape (5,), but (36,)"),
        ({"alpha": 1.5}, np.full(36, 1 / 36), "alpha is 1.5, but a number with 0 < alpha <= 1"),
        ({"tail": "cut"}, Demonstrations.from_arrays([[7, 1]]), "the tail is 'cut'"),
        ({"confidence": 2.0}, Demonstrations.from_arrays([[7, 1]]), "the confidence is 2.0"),
        ({"steps": -1}, np.full(36, 1 / 36), "steps is -1"),
        ({"reward": TabularReward(5)}, np.full(36, 1 / 36), "rewards of shape (5,), but the world has 36 states"),
    ],
)
def test_bad_data_and_parameters_are_named(options, data, culprit, refused):
    with refused(culprit):
        RobustIRL(**{"steps": STEPS, **options}).fit(world(), data)


def test_words_for_alpha_and_the_reward_are_checked(refused):
    model = RobustIRL().set_params(alpha="automatic")
    with refused("alpha is 'automatic', but a number with 0 < alpha <= 1 or 'auto' is needed."):
        model.fit(world(), demos())
    with refused("the reward is 'deep', but 'tabular' or a reward model is needed"):
        RobustIRL().set_params(reward="deep").fit(world(), demos())


def test_an_estimate_at_another_discount_is_refused(refused):
    with refused("the occupancy was estimated at discount 0.9, but the world's is 0.99"):
        RobustIRL().fit(world(), estimate_occupancy(demos(), num_states=36, discount=0.9))


def test_a_fit_that_fails_leaves_the_earlier_one():
    model = RobustIRL(0.9, steps=STEPS).fit(world(), demos())
    before = model.fit_
    with pytest.raises(ConvergenceError, match="above the tolerance"):
        model.set_params(tolerance=1e-9).fit(world(), demos())
    with pytest.raises(InvalidInputError):
        model.fit(world(), np.ones(36))
    assert model.fit_ is before


def test_a_missed_tolerance_is_a_warning_where_nothing_is_thrown():
    model = RobustIRL(0.9, steps=STEPS, tolerance=1e-9, throw=False).fit(world(), demos())
    assert not model.converged_
    assert "the tolerance 1e-09 was not reached." in model.warnings_
    reached = RobustIRL(0.9, steps=STEPS, tolerance=1.0).fit(world(), demos())
    assert reached.converged_
    assert "within the tolerance 1" in reached.summary()


def test_an_interrupt_keeps_the_finished_steps():
    def interrupt(step):
        if step.step == 3:
            raise KeyboardInterrupt

    model = RobustIRL(0.9, steps=STEPS)
    with pytest.raises(KeyboardInterrupt):
        model.fit(world(), demos(), callbacks=[interrupt])
    assert model.fit_.verdict.status == Status.STOPPED
    assert np.array_equal(model.fit_.history.dual, fitted().fit_.history.dual[:4])
    assert "stopped by a callback or an interrupt after 3 steps" in model.summary()


def test_the_summary_says_what_was_learned_from_what():
    text = fitted().summary()
    for phrase in (
        "Robust maximum causal entropy IRL\n",
        "300 episodes, ",
        "with actions",
        "36 states and 4 actions, γ = 0.99",
        "α = 0.9, as given",
        " steps",
        f"{fitted().occupancy_gap_:.4g} in l1, down from",
    ):
        assert phrase in text, phrase
    assert "warning" not in text


def test_a_gap_beyond_sampling_noise_is_called_that():
    estimate = estimate_occupancy(demos(), num_states=36, discount=0.99)
    sure = OccupancyEstimate(*[estimate.occupancy] * 3, estimate.reliable, 1e-6, 0.0, 10**9, 0.99, "hold", 0.95)
    model = RobustIRL(0.9, steps=STEPS).fit(world(), sure)
    assert "more than the error of the demonstrations explains (up to 1e-06 at 95 %)" in model.summary()


def test_doubts_about_the_data_are_spoken():
    # Two short episodes that start where the world never does and end where it can be left.
    walk = Demonstrations.from_arrays([[7, 8]] * 40, terminated=True)
    model = RobustIRL(0.9, steps=STEPS, throw=False).fit(world(), walk)
    said = " ".join(model.warnings_)
    assert "40 of 40 episodes end for good in states that can be left" in said
    assert "(the first in state 8)" in said
    assert "start elsewhere than the learner's world does" in said
    few = RobustIRL(0.9, steps=STEPS, throw=False).fit(world(), Demonstrations.from_arrays([[0]] * 2))
    assert any(text.startswith("the demonstrations are few or short") for text in few.warnings_)
    assert "warning" in few.summary()


@pytest.mark.slow
def test_a_single_state_world_is_learned_without_complaint():
    one = MDP([[[1.0]]], discount=0.5)
    model = RobustIRL(1.0, steps=2).fit(one, Demonstrations.from_arrays([[0], [0, 0]], terminated=True))
    assert model.predict([0]).tolist() == [0]
    assert model.occupancy_gap_ == pytest.approx(0, abs=1e-12)


def test_one_state_has_one_action_and_copies_predict_the_same():
    import copy
    import pickle

    env = envs.make("gridworld-4")
    world = env.mdp()
    rho = state_occupancy(world, expert_policy(world, env.reward, temperature=1.0))
    model = RobustIRL(alpha=1.0, steps=20).fit(world, rho)
    assert model.predict(6) == model.predict([6])[0] == model.predict(np.int64(6))
    assert isinstance(model.predict(6), int)
    assert model.predict_proba(6).shape == (4,)
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert twin.summary() == model.summary()  # Without a warning about precision.
        assert np.array_equal(twin.policy_, model.policy_)
