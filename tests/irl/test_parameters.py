"""What estimators share: parameters by name, a short form, and no answers before a fit."""

import jax.numpy as jnp
import pytest

from robustirl.irl import LBFGS, NotFittedError, RobustIRL
from robustirl.planning import Temperatures
from robustirl.rewards import TabularReward

STEPS = 30


def test_parameters_can_be_read_changed_and_cloned():
    model = RobustIRL(0.8, steps=STEPS, optimizer=LBFGS, temperatures=Temperatures(1.0, 0.5))
    clone = RobustIRL(**model.get_params())
    assert all(clone.get_params()[name] is value for name, value in model.get_params(deep=False).items())
    assert clone.set_params(alpha=0.7) is clone
    assert (clone.alpha, model.alpha) == (0.7, 0.8)
    assert set(model.get_params()) >= {"alpha", "reward", "optimizer", "steps", "tolerance", "tail", "confidence"}


def test_an_unknown_parameter_is_named_and_nothing_changes(refused):
    model = RobustIRL()
    with refused("there is no parameter 'alfa'; choose from alpha, algorithm, reward,"):
        model.set_params(alpha=0.5, alfa=0.5)
    assert model.alpha == "auto"


def test_the_repr_shows_what_differs_from_the_defaults():
    assert repr(RobustIRL()) == "RobustIRL()"
    model = RobustIRL(0.8, optimizer=LBFGS, reward=TabularReward(3), tolerance=0.1, initial_parameters=jnp.zeros(3))
    assert repr(model) == (
        "RobustIRL(alpha=0.8, reward=TabularReward, optimizer=LBFGS, tolerance=0.1, initial_parameters=...)"
    )
    assert repr(RobustIRL(optimizer=None, steps=200)) == "RobustIRL()"


@pytest.mark.parametrize(
    "use",
    [
        lambda model: model.reward_,
        lambda model: model.alpha_estimate_,
        lambda model: model.occupancy_estimate_,
        lambda model: model.warnings_,
        lambda model: model.summary(),
        lambda model: model.predict([0]),
        lambda model: model.score([1.0]),
        lambda model: model.save("nowhere.npz"),
    ],
)
def test_what_was_not_learned_cannot_be_used(use, refused, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with refused("this RobustIRL has not learned anything yet; call fit first."):
        use(RobustIRL())
    assert not hasattr(RobustIRL(), "policy_")
    assert issubclass(NotFittedError, AttributeError)
    assert not list(tmp_path.iterdir())
