"""Saved models: exact both ways, whole or not at all, and one sentence for every file that is none."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from robustirl.demonstrations import Demonstrations
from robustirl.demonstrations import save as save_demonstrations
from robustirl.irl import LBFGS, RobustIRL, Status, load_fit, save_fit
from robustirl.irl._archive import Archive, read_archive, write_archive
from robustirl.mdp import MDP
from robustirl.planning import Temperatures
from robustirl.rewards import AbstractReward, LinearReward, NetworkReward, TabularReward
from tests.irl.saved import GOLDEN, content, fitted, made, same, written


@functools.cache  # Not at the top: every worker collects this file, and one runs it.
def network():
    return NetworkReward(np.eye(3), key=jax.random.key(3), width=4, depth=2)


TREES = {
    "array": lambda: jnp.asarray([1.5, -0.0, np.inf]),
    "network": lambda: network().initial_parameters(),
    "nested": lambda: {"b": [jnp.zeros(2), jnp.ones((1, 2))], "a": (jnp.asarray(3.0), None)},
    "empty": lambda: (),
}


@pytest.mark.parametrize("name", TREES)
def test_a_fit_comes_back_bit_for_bit(name, tmp_path):
    fit = made(TREES[name]())
    save_fit(fit, tmp_path / "fit.npz")
    same(load_fit(tmp_path / "fit.npz"), fit)
    assert load_fit(tmp_path / "fit.npz").verdict.status == Status.STOPPED
    assert [path.name for path in tmp_path.iterdir()] == ["fit.npz"]


PARAMETERS = {
    "default": dict,
    "plain": lambda: {
        "alpha": np.float64(0.1 + 0.2),
        "reward": "tabular",
        "optimizer": LBFGS,
        "steps": 7,
        "tolerance": 1e-3,
        "tail": "chain",
        "confidence": 0.9,
        "temperatures": Temperatures(1.0, 0.5),
        "planner_tolerance": 1e-9,
        "throw": False,
    },
    "tabular": lambda: {"reward": TabularReward(3), "alpha": "auto"},
    "linear": lambda: {"reward": LinearReward(np.arange(6.0).reshape(3, 2)), "initial_parameters": jnp.ones(2)},
    "network": lambda: {"reward": network(), "initial_parameters": network().initial_parameters()},
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_an_estimator_comes_back_with_its_parameters(name, tmp_path):
    model = fitted(**PARAMETERS[name]())
    model.save(tmp_path / "model.npz")
    again = RobustIRL.load(tmp_path / "model.npz")
    same(again.fit_, model.fit_)
    for key, value in model.get_params().items():
        found = again.get_params()[key]
        if isinstance(value, AbstractReward) or key == "initial_parameters":
            same(found, value)
        elif key == "optimizer":
            assert found is value
        else:
            assert found == value
    assert again.summary() == model.summary()
    assert again.warnings_ == model.warnings_
    found, saved = again.occupancy_estimate_, model.occupancy_estimate_
    assert found is not None
    assert saved is not None
    assert found.lower is not None
    for name in ("occupancy", "reliable", "error", "episodes", "tail"):
        assert np.array_equal(getattr(found, name), getattr(saved, name))
    same(load_fit(tmp_path / "model.npz"), model.fit_)


def test_an_exact_occupancy_has_no_estimate_to_save(tmp_path):
    fitted(estimate=False).save(tmp_path / "model.npz")
    assert RobustIRL.load(tmp_path / "model.npz").occupancy_estimate_ is None


class Doubled(AbstractReward):
    """A reward model of one's own."""

    def initial_parameters(self):
        return jnp.zeros(3)

    def __call__(self, parameters):
        return 2 * parameters


@pytest.mark.parametrize(
    ("parameter", "value", "kind"),
    [("optimizer", optax.sgd(0.1), "GradientTransformationExtraArgs"), ("reward", Doubled(), "Doubled")],
)
def test_what_is_no_data_is_named_and_asked_for_again(parameter, value, kind, tmp_path, refused):
    model = fitted(**{parameter: value})
    with pytest.warns(UserWarning, match=rf"the {parameter} \({kind}\) cannot be saved as data"):
        model.save(tmp_path / "model.npz")
    again = RobustIRL.load(tmp_path / "model.npz")
    same(again.fit_, model.fit_)
    again.save(tmp_path / "again.npz")  # Once more, without a further warning.
    world = MDP(np.ones((3, 1, 3)) / 3, discount=0.9)
    with refused(f"the {parameter} ({kind}) could not be saved with this model", f"set_params({parameter}=...)"):
        again.fit(world, [1 / 3] * 3)


def test_parameters_of_ones_own_kind_become_a_tuple(tmp_path):
    tree = Temperatures(jnp.zeros(2), jnp.ones(3))  # pyright: ignore[reportArgumentType]
    with pytest.warns(UserWarning, match="the parameters hold a Temperatures, which cannot be saved as such"):
        save_fit(made(tree), tmp_path / "fit.npz")
    again: Any = load_fit(tmp_path / "fit.npz")
    assert type(again.parameters) is tuple


def test_other_files_are_refused(tmp_path, refused):
    save_demonstrations(Demonstrations.from_arrays([[0, 1]], terminated=True), tmp_path / "demos.npz")
    with refused("demos.npz is not a saved model: it holds lengths, states, terminated"):
        load_fit(tmp_path / "demos.npz")
    np.save(tmp_path / "array.npy", np.zeros(3))
    with refused("array.npy is damaged, cut off or not an .npz file of plain arrays (it holds a single array)"):
        load_fit(tmp_path / "array.npy")
    (tmp_path / "text.npz").write_text("hello")
    with refused("text.npz is damaged, cut off or not"):
        RobustIRL.load(tmp_path / "text.npz")
    with refused("missing.npz cannot be read (No such file or directory)"):
        load_fit(tmp_path / "missing.npz")
    np.savez(
        tmp_path / "note.npz", note=np.frombuffer(b'{"format": "other"}', np.uint8), checksum=np.zeros(1, np.uint8)
    )
    with refused("note.npz is not a saved model, or its note was altered"):
        load_fit(tmp_path / "note.npz")


def test_a_fit_is_no_estimator(tmp_path, refused):
    save_fit(made(), tmp_path / "fit.npz")
    with refused("holds a fit, not an estimator; read it with load_fit."):
        RobustIRL.load(tmp_path / "fit.npz")


def test_a_model_of_other_parts_is_refused(tmp_path, refused):
    note, arrays = read_archive(written(tmp_path, content()))
    del arrays["fit.player"]
    write_archive(Archive({k: v for k, v in note.items() if k not in ("format", "schema")}, arrays), tmp_path / "a.npz")
    with refused("a.npz is a saved model, but not one this robustirl understands"):
        load_fit(tmp_path / "a.npz")


def test_what_cannot_be_written_leaves_what_was_there(tmp_path, refused):
    save_fit(made(), tmp_path / "fit.npz")
    before = (tmp_path / "fit.npz").read_bytes()
    with refused("nowhere/fit.npz cannot be written (No such file or directory)"):
        save_fit(made(), tmp_path / "nowhere" / "fit.npz")
    with refused("fit.json has the suffix '.json', but models are .npz files"):
        save_fit(made(), tmp_path / "fit.json")
    (tmp_path / "folder.npz").mkdir()
    with refused("folder.npz cannot be written"):
        save_fit(made(seed=1), tmp_path / "folder.npz")
    assert (tmp_path / "fit.npz").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fit.npz", "folder.npz"]


def test_the_same_fit_makes_the_same_file(tmp_path):
    for name in ("a.npz", "b.npz"):
        save_fit(made(), tmp_path / name)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_double_precision_is_kept_whatever_the_default_of_jax(tmp_path):
    save_fit(saved := made(), tmp_path / "fit.npz")
    with jax.enable_x64(False):
        loaded = load_fit(tmp_path / "fit.npz")
        assert isinstance(loaded.player, np.ndarray)
        for before, after in zip(jax.tree.leaves(saved), jax.tree.leaves(loaded), strict=True):
            assert before.dtype == after.dtype
            assert np.array_equal(before, after)


def test_files_of_version_01_are_read():
    model = RobustIRL.load(GOLDEN / "estimator-0.1.npz")
    assert (model.alpha, model.steps, model.fit_.verdict.status) == (0.9, 5, Status.MAX_STEPS)
    assert isinstance(model.reward, NetworkReward)
    rewards = model.reward(model.fit_.parameters)
    np.testing.assert_allclose(rewards, model.reward_, atol=1e-12)
    sampled = load_fit(GOLDEN / "relative-entropy-fit-0.1.npz")
    assert str(sampled.verdict).startswith("budget after 12 rounds with a feature gap of 0.118")
    assert bool(sampled.verdict.valid)
