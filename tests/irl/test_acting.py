"""Acting with a fitted model: drawing actions, stable-baselines3's manners, and continuous worlds."""

import copy
import pickle

import jax
import numpy as np
import pytest

import robustirl
from robustirl import envs, irl
from robustirl.control import PolicyGradientConfig
from robustirl.demonstrations import Demonstrations
from robustirl.irl.acting import draw_actions


def test_actions_are_drawn_by_their_probabilities():
    chances = np.tile([0.2, 0.0, 0.8], (20_000, 1))
    drawn = draw_actions(chances, seed=0)
    counts = np.bincount(drawn, minlength=3) / 20_000
    assert counts[1] == 0
    assert abs(counts[2] - 0.8) < 4 * np.sqrt(0.16 / 20_000)
    assert draw_actions(np.array([0.0, 1.0]), seed=0) == 1


@pytest.fixture(scope="module")
def model():
    return robustirl.RobustIRL(1.0, optimizer=irl.ADAM).fit(envs.ThreeState().mdp(), [0.1, 0.8, 0.1])


def test_a_model_acts_as_stable_baselines_does(model):
    policy = model.as_sb3(seed=3)
    action, state = policy.predict(np.array([0, 0]), state="memory", episode_start=np.array([1, 0]), deterministic=True)
    assert action.tolist() == model.predict([0, 0]).tolist()
    assert state == "memory"
    drawn = np.array([policy.predict(0)[0] for _ in range(300)])
    assert abs(drawn.mean() - model.policy_[0, 1]) < 0.1
    action, _ = model.as_sb3().predict(0, deterministic=True)
    assert action == model.predict(0)


def test_samples_depend_on_the_seed_alone(model):
    assert np.array_equal(model.sample([0] * 50, seed=1), model.sample([0] * 50, seed=1))
    generator = np.random.default_rng(1)
    assert not np.array_equal(model.sample([0] * 50, seed=generator), model.sample([0] * 50, seed=generator))


# The settings of the example of `fit_relative_entropy`, so that its program serves here, too.
CONFIG = irl.RelativeEntropyConfig(rounds=20, game=PolicyGradientConfig(steps=1, horizon=30))


@pytest.fixture(scope="module")
def sampled():
    made = robustirl.RobustIRL(0.9, algorithm="relative_entropy", config=CONFIG, seed=1)
    return made.fit(envs.GaussianGrid(), [0.5, 0.5, -0.7, 0.6, 0.0, 0.0, 1.0])


def test_one_surface_for_continuous_worlds(sampled):
    assert isinstance(sampled, irl.RelativeEntropyIRL)
    assert sampled.alpha_ == 0.9
    assert sampled.reward_.shape == (7,)
    world, states = envs.GaussianGrid(), np.array([[1.0, 1.0], [-0.5, 0.25]])
    features = np.stack([np.asarray(world.features(state)) for state in states])
    low, high = (np.asarray(bound) for bound in world.bounds)
    np.testing.assert_allclose(
        sampled.predict(states), np.clip(features @ np.asarray(sampled.policy_.weights[0]), low, high), rtol=1e-6
    )
    assert sampled.predict(states[0]).shape == (2,)
    assert not np.array_equal(sampled.sample(states, seed=0), sampled.predict(states))
    action, state = sampled.as_sb3().predict(states[0], deterministic=True)
    assert np.array_equal(action, sampled.predict(states[0]))
    assert state is None
    assert sampled.score([0.5, 0.5, -0.7, 0.6, 0.0, 0.0, 1.0]) <= 0
    assert "α = 0.9" in sampled.summary()
    assert "algorithm='relative_entropy'" in repr(sampled)
    assert sampled._repr_html_().startswith("<table>")


def test_it_is_saved_copied_and_pickled(sampled, tmp_path):
    sampled.save(tmp_path / "fit.npz")
    loaded = irl.load_fit(tmp_path / "fit.npz")
    assert isinstance(loaded, irl.RelativeEntropyFit)
    assert np.array_equal(loaded.parameters, sampled.reward_)
    for other in (copy.deepcopy(sampled), pickle.loads(pickle.dumps(sampled))):
        assert np.array_equal(other.reward_, sampled.reward_)
    again = type(sampled)(**sampled.get_params())
    assert repr(again) == repr(sampled)


def test_imitation_is_an_algorithm_too():
    made = robustirl.RobustIRL(0.9, algorithm="adversarial", seed=3)
    assert isinstance(made, irl.RobustImitation)
    assert (made.alpha, made.seed) == (0.9, 3)
    assert robustirl.RobustIRL(algorithm="adversarial").alpha == 1.0


def test_unknown_algorithms_and_early_questions_are_refused(refused):
    with refused("the algorithm is 'gail'", "relative_entropy"):
        robustirl.RobustIRL(algorithm="gail")  # pyright: ignore[reportCallIssue, reportArgumentType]
    with refused("call fit first"):
        robustirl.RobustIRL(algorithm="relative_entropy").predict([0.0, 0.0])


def test_keys_decide_the_draws(sampled):
    again = robustirl.RobustIRL(0.9, algorithm="relative_entropy", config=CONFIG, seed=1)
    again.fit(envs.GaussianGrid(), [0.5, 0.5, -0.7, 0.6, 0.0, 0.0, 1.0])
    assert all(np.array_equal(a, b) for a, b in zip(*map(jax.tree.leaves, (again.fit_, sampled.fit_)), strict=True))


@pytest.mark.parametrize("seed", [-1, "a", 1.5, True, 2**70, [1], jax.random.key(0)], ids=repr)
@pytest.mark.usefixtures("mistyped")
def test_what_is_no_seed_is_refused(model, sampled, seed, refused):
    for call in (
        lambda: model.sample([0], seed=seed),
        lambda: model.as_sb3(seed=seed),
        lambda: sampled.sample([1.0, 1.0], seed=seed),
        lambda: sampled.as_sb3(seed=seed),
    ):
        with refused("the seed is "):
            call()


@pytest.mark.usefixtures("mistyped")
def test_states_to_act_in_are_numbers(model, sampled, refused):
    walks = Demonstrations.from_arrays([[0, 1], [0]])
    for given in (walks, walks[0]):
        with refused(f"of the type {type(given).__name__}", ".states"):
            model.predict(given)
    with refused("the array of states is not a rectangular array"):
        model.sample([[0], [0, 1]], seed=0)
    for given in (walks, "a", None, [[1.0], [1.0, 2.0]]):
        with refused("the array of states is not a rectangular array of real numbers"):
            sampled.predict(given)
        with refused("features"):
            sampled.score(given)
    with refused("has shape (1,), but (7,)"):
        sampled.score([1.0])
