"""Saved models: exact both ways, whole or not at all, and one sentence for every file that is none."""

import dataclasses
import functools
import json
import tempfile
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from robustirl.demonstrations import Demonstrations, OccupancyEstimate
from robustirl.demonstrations import save as save_demonstrations
from robustirl.irl import ADAM, LBFGS, Diagnosis, Fit, FitVerdict, History, RobustIRL, Status, load_fit, save_fit
from robustirl.irl._archive import Archive, read_archive, write_archive
from robustirl.irl.evidence import Evidence
from robustirl.irl.inference import Inference
from robustirl.mdp import MDP
from robustirl.planning import Temperatures
from robustirl.rewards import AbstractReward, LinearReward, NetworkReward, TabularReward


def made(parameters=None, seed=0):
    """A fit of made-up numbers: saving does not care where they come from, and nothing has to be compiled."""
    rng = np.random.default_rng(seed)
    policy = jnp.asarray(rng.dirichlet(np.ones(2), size=3))
    vector = jnp.asarray(rng.normal(size=3))
    return Fit(
        player=policy,
        opponent=policy[::-1],
        reward=vector,
        parameters=vector if parameters is None else parameters,
        value=vector * 1e300,
        expert_occupancy=jnp.asarray([0.1, 0.2, 0.7]),
        occupancy=jnp.asarray([1 / 3, 1 / 3, 1 / 3]),
        alpha=jnp.asarray(0.9),
        history=History(jnp.asarray([2.0, 0.1 + 0.2]), jnp.asarray([0.0, -0.0]), jnp.asarray([3, 4])),
        verdict=FitVerdict(
            jnp.asarray(False),
            jnp.asarray(True),
            jnp.asarray(True),
            jnp.asarray(1),
            jnp.asarray(0.3),
            jnp.asarray(5e-324),
            jnp.asarray(False),
            jnp.asarray(1),
            jnp.asarray(0.5),
        ),
        diagnosis=Diagnosis(
            *(jnp.asarray(number) for number in (0.3, 0.0, 1.0, 0.3, 0.0, 0.0, 0.0, 0.9, 0.3, 0.3, 0.1))
        ),
    )


def fitted(estimate=True, **parameters):
    model = RobustIRL(**parameters)
    found = None
    if estimate:
        found = OccupancyEstimate(
            np.array([0.1, 0.2, 0.7]), None, None, np.array([True, False, True]), 0.1, 0.0, 7, 0.9, "hold", 0.95
        )
    model.fit_, model.evidence_ = made(), Evidence(0.9, 7, 12, False, 0.9, ("take care.",), None, found)
    return model


def same(first, second):
    """The same tree of the very same bits, types included."""
    assert jax.tree.structure(first) == jax.tree.structure(second)
    for one, other in zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True):
        assert one.dtype == other.dtype
        assert np.asarray(one).tobytes() == np.asarray(other).tobytes()


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
    assert found.lower is None
    for name in ("occupancy", "reliable", "radius", "episodes", "tail"):
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


@functools.cache
def content():
    with tempfile.TemporaryDirectory() as folder:
        save_fit(made(), Path(folder) / "fit.npz")
        return (Path(folder) / "fit.npz").read_bytes()


@pytest.mark.parametrize("keep", [0, 1, 100, 0.5, -1])
def test_a_file_that_was_cut_off_is_refused(keep, tmp_path, refused):
    size = int(len(content()) * keep) if isinstance(keep, float) else keep
    (tmp_path / "fit.npz").write_bytes(content()[:size])
    with refused("fit.npz is damaged, cut off or not an .npz file"):
        load_fit(tmp_path / "fit.npz")


def test_a_changed_byte_is_noticed_wherever_it_is(tmp_path, refused):
    rng = np.random.default_rng(0)
    noticed = 0
    for place in rng.choice(len(content()), size=150, replace=False):
        changed = bytearray(content())
        changed[place] ^= 0x10
        (tmp_path / "fit.npz").write_bytes(bytes(changed))
        try:
            found = load_fit(tmp_path / "fit.npz")
        except Exception as error:
            with refused("fit.npz"):
                raise error
            noticed += 1
        else:
            same(found, made())  # A date or an attribute of the zip container: the content is untouched.
    assert noticed > 75


def rewritten(tmp_path, change):
    """The file with its note or arrays changed and no checksum made anew."""
    with np.load(_write(tmp_path, content()), allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    change(arrays)
    np.savez(tmp_path / "fit.npz", **arrays)
    return tmp_path / "fit.npz"


def _write(tmp_path, data):
    (tmp_path / "fit.npz").write_bytes(data)
    return tmp_path / "fit.npz"


def test_an_altered_number_is_noticed(tmp_path, refused):
    def forge(arrays):
        arrays["fit.player"] = arrays["fit.player"][::-1]

    with refused("was altered or damaged: its content does not match its checksum"):
        load_fit(rewritten(tmp_path, forge))


def test_an_array_by_another_name_is_noticed(tmp_path, refused):
    def swap(arrays):
        arrays["fit.player"], arrays["fit.opponent"] = arrays["fit.opponent"], arrays["fit.player"]

    with refused("was altered or damaged"):
        load_fit(rewritten(tmp_path, swap))


def test_a_newer_file_asks_for_an_update(tmp_path, refused):
    def newer(arrays):
        note = json.loads(arrays["note"].tobytes()) | {"schema": 2}
        arrays["note"] = np.frombuffer(json.dumps(note).encode(), np.uint8)

    with refused("was written by a newer robustirl (schema 2, this one reads up to 1); update robustirl."):
        load_fit(rewritten(tmp_path, newer))


def test_other_files_are_refused(tmp_path, refused):
    save_demonstrations(Demonstrations.from_arrays([[0, 1]], terminated=True), tmp_path / "demos.npz")
    with refused("demos.npz is not a saved model: it holds lengths, schema, states, terminated"):
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


def test_pickles_are_never_opened(tmp_path, refused):
    class Trap:
        def __reduce__(self):
            return (pytest.fail, ("a pickle was opened",))

    trap = np.empty(1, dtype=object)
    trap[0] = Trap()
    np.savez(tmp_path / "trap.npz", note=trap, checksum=np.zeros(1, np.uint8))
    with refused("trap.npz is damaged, cut off or not an .npz file of plain arrays"):
        load_fit(tmp_path / "trap.npz")


def test_a_fit_is_no_estimator(tmp_path, refused):
    save_fit(made(), tmp_path / "fit.npz")
    with refused("holds a fit, not an estimator; read it with load_fit."):
        RobustIRL.load(tmp_path / "fit.npz")


def test_a_model_of_other_parts_is_refused(tmp_path, refused):
    note, arrays = read_archive(_write(tmp_path, content()))
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


def test_the_default_optimizer_is_known_by_name(tmp_path):
    fitted(optimizer=ADAM).save(tmp_path / "model.npz")
    assert read_archive(tmp_path / "model.npz").note["parameters"]["optimizer"] == "ADAM"


@pytest.mark.parametrize(
    ("name", "array", "culprit"),
    [
        ("value", np.zeros(2), "its array 'value' has the shape (2,) instead of (3,)"),
        ("opponent", np.zeros((3, 3)), "its array 'opponent' has the shape (3, 3) instead of (3, 2)"),
        ("alpha", np.zeros(1), "its array 'alpha' has the shape (1,) instead of ()"),
        ("verdict.steps", np.zeros(1, int), "its array 'verdict.steps' has the shape (1,) instead of ()"),
        ("history.dual", np.zeros(3), "its array 'history.occupancy_gap' has the shape (2,) instead of (3,)"),
        ("reward", np.array(["a", "b", "c"]), "its array 'reward' holds <U1"),
    ],
)
def test_arrays_that_do_not_go_together_are_named(name, array, culprit, tmp_path, refused):
    note, arrays = read_archive(_write(tmp_path, content()))
    note = {key: value for key, value in note.items() if key not in ("format", "schema")}
    write_archive(Archive(note, arrays | {f"fit.{name}": array}), tmp_path / "a.npz")
    with refused("a.npz is a saved model, but not one this robustirl understands", culprit):
        load_fit(tmp_path / "a.npz")


@pytest.mark.parametrize("name", ["features", "alpha", "history.finished", "history.parameters", "verdict.rounds"])
def test_arrays_of_a_sampled_fit_that_do_not_go_together_are_named(name, tmp_path, refused):
    note, arrays = read_archive(GOLDEN / "relative-entropy-fit-0.1.npz")
    note = {key: value for key, value in note.items() if key not in ("format", "schema")}
    write_archive(Archive(note, arrays | {f"fit.{name}": np.zeros((1, 2, 3))}), tmp_path / "a.npz")
    with refused("not one this robustirl understands", f"its array {name!r} has the shape (1, 2, 3) instead of ("):
        load_fit(tmp_path / "a.npz")


def test_a_layer_without_a_bias_comes_back_without_one(tmp_path):
    layer = eqx.nn.Linear(3, 2, use_bias=False, key=jax.random.key(1))
    save_fit(made((layer,)), tmp_path / "fit.npz")
    loaded: Any = load_fit(tmp_path / "fit.npz")
    again: Any = loaded.parameters
    assert again[0].bias is None
    assert (again[0].in_features, again[0].out_features) == (3, 2)
    same(again, (layer,))


def test_a_note_may_hold_what_is_no_number(tmp_path):
    write_archive(Archive({"kind": "fit", "tolerance": float("nan")}, {}), tmp_path / "a.npz")
    assert np.isnan(read_archive(tmp_path / "a.npz").note["tolerance"])


def test_objects_are_never_written(tmp_path):
    with pytest.raises(ValueError, match="allow_pickle=False"):
        write_archive(Archive({"kind": "fit"}, {"trap": np.array([{}], dtype=object)}), tmp_path / "a.npz")
    assert not list(tmp_path.iterdir())


def test_of_a_strange_file_eight_arrays_are_named(tmp_path, refused):
    many: dict[str, Any] = {f"array{place}": np.zeros(1) for place in range(9)}
    np.savez(tmp_path / "many.npz", **many)
    with refused("array6, array7; give a file that save() has written."):
        load_fit(tmp_path / "many.npz")


def test_a_part_of_ones_own_kind_becomes_a_tuple_where_it_is(tmp_path):
    tree = Temperatures(jnp.zeros(2), jnp.ones(3))  # pyright: ignore[reportArgumentType]
    with pytest.warns(UserWarning, match="cannot be saved as such"):
        save_fit(made({"a": tree, "b": [None, (jnp.zeros(1),)]}), tmp_path / "fit.npz")
    loaded: Any = load_fit(tmp_path / "fit.npz")
    again: Any = loaded.parameters
    assert [leaf.tolist() for leaf in again["a"]] == [[0, 0], [1, 1, 1]]
    assert again["b"][0] is None


GOLDEN = Path(__file__).parents[1] / "golden"


def test_files_of_version_01_are_read():
    model = RobustIRL.load(GOLDEN / "estimator-0.1.npz")
    assert (model.alpha, model.steps, model.fit_.verdict.status) == (0.9, 5, Status.MAX_STEPS)
    assert isinstance(model.reward, NetworkReward)
    rewards = model.reward(model.fit_.parameters)
    np.testing.assert_allclose(rewards, model.reward_, atol=1e-12)
    sampled = load_fit(GOLDEN / "relative-entropy-fit-0.1.npz")
    assert str(sampled.verdict).startswith("budget after 12 rounds with a feature gap of 0.118")
    assert bool(sampled.verdict.valid)


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
