"""Fits in files: bit for bit, without pickles, and what is no such file."""

import json
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from robustirl.demonstrations import Demonstrations
from robustirl.envs import ThreeState
from robustirl.errors import InvalidInputError
from robustirl.irl import ADAM, RobustIRL, fit, load_fit, save_fit
from robustirl.irl.saving import read_record, write_record
from robustirl.planning import Temperatures
from robustirl.rewards import (
    AbstractReward,
    ClassReward,
    ConvolutionalReward,
    LinearReward,
    NetworkReward,
    TabularReward,
)

WORLD = ThreeState().mdp()


class Own(AbstractReward):
    """A reward model of a user."""

    size: jax.Array

    def initial_parameters(self):
        return {"scale": jnp.zeros(()), "shift": [jnp.zeros(3)]}

    def __call__(self, parameters):
        return parameters["scale"] * self.size + parameters["shift"][0]


def same(first, second):
    """Refuse anything but the very same bits."""
    assert jax.tree.structure(first) == jax.tree.structure(second)
    for one, other in zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True):
        assert np.asarray(one).dtype == np.asarray(other).dtype
        assert np.asarray(one).tobytes() == np.asarray(other).tobytes()


MODELS = [
    None,
    ClassReward([0, 0, 1], names=["ice", "goal"]),
    LinearReward([[1.0], [2.0], [0.0]], names=["slope"]),
    NetworkReward(np.eye(3), key=jax.random.key(0), width=4),
    ConvolutionalReward(np.eye(3), (1, 3), key=jax.random.key(0), width=2),
    Own(jnp.arange(3.0)),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_a_fit_is_read_as_it_was(model, tmp_path):
    found = fit(WORLD, [0.1, 0.8, 0.1], alpha=0.9, reward=model, steps=2, throw=False)
    save_fit(found, tmp_path / "fit.npz")
    same(load_fit(tmp_path / "fit.npz"), found)
    if model is not None:
        write_record(tmp_path / "model.npz", {"model": model})
        same(read_record(tmp_path / "model.npz")["model"], model)


def test_estimators_keep_what_was_learned(tmp_path):
    walks = Demonstrations.from_arrays([[0, 1]] * 8 + [[0, 2]] * 2, terminated=True)
    model = RobustIRL(0.9, reward=TabularReward(3), temperatures=Temperatures(0.5, 0.0), throw=False).fit(WORLD, walks)
    model.save(tmp_path / "model.npz")
    again = RobustIRL.load(tmp_path / "model.npz")
    assert repr(again) == repr(model)
    same(again.fit_, model.fit_)
    assert str(again.checks_) == str(model.checks_)
    assert again.summary() == model.summary()
    assert again.use_.name == model.use_.name
    assert np.array_equal(again.predict([0, 1, 2], seed=0), model.predict([0, 1, 2], seed=0))
    same(load_fit(tmp_path / "model.npz"), model.fit_)


def test_an_optimizer_is_left_out_with_a_warning(tmp_path):
    model = RobustIRL(1.0, optimizer=ADAM, steps=2, throw=False).fit(WORLD, [0.1, 0.8, 0.1])
    with pytest.warns(UserWarning, match="'optimizer' is no data"):
        model.save(tmp_path / "model.npz")
    assert RobustIRL.load(tmp_path / "model.npz").optimizer is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(optimizer=None).save(tmp_path / "model.npz")


def _changed(note, **changes):
    return np.frombuffer(json.dumps({**json.loads(note.tobytes()), **changes}).encode(), np.uint8)


def test_other_files_are_refused(tmp_path, refused):
    found = fit(WORLD, [0.1, 0.8, 0.1], alpha=1.0, steps=1, throw=False)
    path, other = tmp_path / "fit.npz", tmp_path / "other.npz"
    save_fit(found, path)
    content, arrays = path.read_bytes(), dict(np.load(path))
    for wrong in (b"", b"text", content[: len(content) // 2]):
        other.write_bytes(wrong)
        with refused("is not a fit that this robustirl has saved"):
            load_fit(other)
    note = arrays["note"]
    for altered in (
        {"note": _changed(note, format="robustirl-model")},
        {"note": _changed(note, parts={"fit": {"Popen": {"args": "ls"}}})},
        {"note": _changed(note, parts={"fit": {"Fit": {"player": 1}}})},
        {"note": np.array([{}], dtype=object)},  # A pickle.
        {"fit.player": None},
    ):
        changed = {name: array for name, array in {**arrays, **altered}.items() if array is not None}
        np.savez(other, **changed)
        with refused("is not a fit that this robustirl has saved"):
            load_fit(other)
    with refused("No such file or directory"):
        load_fit(tmp_path / "none.npz")
    with refused("has the suffix '.pkl'"):
        save_fit(found, tmp_path / "fit.pkl")
    with refused("cannot be written"):
        save_fit(found, tmp_path / "none" / "fit.npz")
    with refused("holds no RobustIRL"):
        RobustIRL.load(path)
    with refused("a fit is needed, but dict was given"):
        save_fit({}, path)
    with pytest.raises(InvalidInputError, match="fit holds a function, which cannot be written as data"):
        write_record(other, {"fit": print if False else (lambda: 0)})
