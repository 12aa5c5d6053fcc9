"""What a model that has learned answers: actions, and standard errors where there are some."""

import dataclasses

import equinox as eqx
import numpy as np

from robustirl.irl.inference import Inference
from tests.irl.saved import fitted


def test_standard_errors_are_asked_for_in_vain_and_what_is_free_is_named(refused):
    model = fitted()
    for ask in (lambda: model.standard_errors_, lambda: model.log_likelihood_, lambda: model.confidence_intervals_):
        with refused(
            "there are no standard errors: they come with objective='likelihood', a maximum that was found, and at most"
            " 200 parameters."
        ):
            ask()
    plain = model.summary()
    names, zeros = tuple(f"n{place}" for place in range(12)), np.zeros((12, 12))
    free = Inference(names, np.arange(12.0), -3.0, -2.0, 5, 2, zeros, zeros, zeros)
    model.inference_ = free
    told = model.summary()
    assert told.startswith(f"{plain}\n\n{free.summary(0.95)}\n\nnot identified by these choices: n0, n1,")
    assert told.endswith("n8, n9")
    model.inference_ = dataclasses.replace(free, information=np.eye(12))
    assert model.summary().endswith(model.inference_.summary(0.95))
    assert model.log_likelihood_ == -3.0
    assert model.standard_errors_.tolist() == [1.0] * 12


def test_predictions_for_one_state_and_for_several():
    model = fitted()
    model.fit_ = eqx.tree_at(lambda f: f.player, model.fit_, np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]]))
    assert model.predict_proba(1).tolist() == [0.2, 0.8]
    assert model.predict_proba(np.array([1, 0])).tolist() == [[0.2, 0.8], [0.9, 0.1]]
    assert model.predict_proba([]).shape == (0, 2)
    assert (model.predict(1), type(model.predict(np.int64(1)))) == (1, int)
    assert model.predict([2, 1, 0]).tolist() == [0, 1, 0]
