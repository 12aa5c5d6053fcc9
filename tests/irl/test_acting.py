"""Acting with a fitted model: drawing actions, stable-baselines3's manners, and continuous worlds."""

import jax
import numpy as np
import pytest

import robustirl
from robustirl import envs, irl
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


@pytest.mark.parametrize("seed", [-1, "a", 1.5, True, 2**70, [1], jax.random.key(0)], ids=repr)
@pytest.mark.usefixtures("mistyped")
def test_what_is_no_seed_is_refused(model, seed, refused):
    for call in (
        lambda: model.sample([0], seed=seed),
        lambda: model.as_sb3(seed=seed),
    ):
        with refused("the seed is "):
            call()


@pytest.mark.usefixtures("mistyped")
def test_states_to_act_in_are_numbers(model, refused):
    walks = Demonstrations.from_arrays([[0, 1], [0]])
    for given in (walks, walks[0]):
        with refused(f"of the type {type(given).__name__}", ".states"):
            model.predict(given)
    with refused("the array of states is not a rectangular array"):
        model.sample([[0], [0, 1]], seed=0)
