"""The estimator hands on what it was made with."""

from types import SimpleNamespace

import jax
import pytest

from robustirl.irl import Interrupted, RelativeEntropyIRL
from robustirl.irl.relative_entropy import estimator


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
