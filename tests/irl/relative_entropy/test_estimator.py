"""The estimator hands on what it was made with."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from inline_snapshot import snapshot

from robustirl.control import linear_policy
from robustirl.errors import InvalidInputError
from robustirl.irl import Interrupted, RelativeEntropyIRL
from robustirl.irl.relative_entropy import estimator
from robustirl.irl.relative_entropy.result import (
    RelativeEntropyFit,
    RelativeEntropyHistory,
    RelativeEntropyVerdict,
)


@pytest.mark.parametrize(("given", "used"), [("auto", 1.0), (0.75, 0.75), ("other", "other")])
def test_alpha_is_one_by_default_and_another_word_is_left_to_be_refused(monkeypatch, given, used):
    asked = {}
    monkeypatch.setattr(
        estimator, "fit_relative_entropy", lambda *_, **options: asked.update(options) or SimpleNamespace()
    )
    model = RelativeEntropyIRL(given, seed=3, throw=False, tolerance=0.5)
    assert model.fit(None, None) is model
    assert (asked["alpha"], asked["throw"], asked["tolerance"]) == (used, False, 0.5)
    assert (jax.random.key_data(asked["key"]) == jax.random.key_data(jax.random.key(3))).all()


@pytest.mark.usefixtures("mistyped")
def test_what_is_no_seed_is_refused_before_a_fit(refused):
    for seed in (-1, "a", None, 0.5):
        with refused("the seed is "):
            RelativeEntropyIRL(seed=seed).fit(None, None)


def test_an_interrupted_fit_is_kept_if_there_is_one(monkeypatch):
    world, model, handed = object(), RelativeEntropyIRL(), [None, "so far"]

    def interrupt(*_, **__):
        raise Interrupted(handed.pop(0))

    monkeypatch.setattr(estimator, "fit_relative_entropy", interrupt)
    with pytest.raises(Interrupted):
        model.fit(world, None)
    assert "fit_" not in vars(model)
    with pytest.raises(Interrupted):
        model.fit(world, None)
    assert (model.fit_, model.world_) == ("so far", world)


def learned(alpha):
    numbers = jnp.array([1.0, -2.0])
    verdict = RelativeEntropyVerdict(*(jnp.asarray(part) for part in (False, True, False, 9, 0.25, 1.0, 0.5, 5.0)))
    policy = linear_policy(2, 1)
    history = RelativeEntropyHistory(*[numbers] * 3, jnp.zeros((2, 2)))
    model = RelativeEntropyIRL(alpha, seed=3, start="elsewhere")
    model.fit_ = RelativeEntropyFit(policy, policy, numbers, numbers, numbers + 1, jnp.asarray(alpha), history, verdict)
    return model


def test_what_was_learned_is_told_in_plain_words():
    assert learned(0.75).summary() == snapshot("""\
Robust relative-entropy IRL
  with           α = 0.75
  ended          budget after 9 rounds with a feature gap of 0.25.
  reward         [1, -2]\
""")
    model = learned(1.0)
    assert model.summary().startswith("Relative-entropy IRL\n")
    assert (model.alpha_, model.feature_gap_, model.converged_) == (1.0, 0.25, False)
    assert model.score([1.5, -1.0]) == -0.5
    assert repr(learned(0.75)) == "RobustIRL(algorithm='relative_entropy', alpha=0.75, seed=3)"
    assert "<td>α = 0.75</td>" in learned(0.75)._repr_html_()
    assert "<td>no; call fit(world, episodes)</td>" in RelativeEntropyIRL()._repr_html_()
    with pytest.raises(InvalidInputError, match=r"the states have shape \(1, 1, 2\), but one state, \[k\], or several"):
        model.predict(np.zeros((1, 1, 2)))


def test_actions_are_means_or_draws_within_bounds(monkeypatch):
    monkeypatch.setattr(estimator, "_actions", lambda world, policy, states, noise: states[:, :1] + noise)
    model = learned(1.0)
    model.world_ = SimpleNamespace(action_size=1)
    assert model.predict([3.0, 4.0]).tolist() == [3.0]
    assert model.predict([[3.0, 4.0], [5.0, 6.0]]).tolist() == [[3.0], [5.0]]
    drawn = np.random.default_rng(7).standard_normal((2, 1)) + np.array([[3.0], [5.0]])
    for seed in (7, np.random.default_rng(7)):
        np.testing.assert_array_equal(model.sample([[3.0, 4.0], [5.0, 6.0]], seed=seed), drawn)
