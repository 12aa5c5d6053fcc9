"""Faults in NumPy archives are named, and pickles are never opened."""

import io

import numpy as np
import pytest

from robustirl.demonstrations import Demonstrations, load
from robustirl.demonstrations.io.npz import _some


def npz_file(tmp_path, **changes):
    arrays = {"schema": 1, "states": [0, 1, 2], "actions": [5], "lengths": [2, 1], "terminated": [True, False]}
    path = tmp_path / "demos.npz"
    np.savez(path, **{name: np.array(value) for name, value in (arrays | changes).items() if value is not None})  # pyright: ignore[reportArgumentType]
    return path


@pytest.mark.parametrize(
    ("changes", "culprits"),
    [
        ({"states": None}, ["no array 'states'", "actions, lengths, schema, terminated"]),
        ({"state_names": ["a", "b"]}, ["state 2 occurs", "2 state names"]),
        ({"state_names": ["a", "b", "b"]}, ["state name 'b'", "more than once"]),
        ({"schema": None}, ["no array 'schema'"]),
        ({"schema": 2}, ["schema 2", "upgrade"]),
        ({"schema": [1, 1]}, ["[1, 1]"]),
        ({"schema": 1.0}, ["1.0"]),
        ({"states": [0.0, 1.0, 2.0]}, ["'states'", "float64"]),
        ({"states": [0, 1, -2]}, ["'states'", "-2"]),
        ({"states": [[0, 1, 2]]}, ["'states'", "(1, 3)"]),
        ({"lengths": [2, 2]}, ["3 states", "4"]),
        ({"lengths": [3, 0]}, ["episode 1 is empty"]),
        ({"actions": [5, 5]}, ["2 actions", "need 1"]),
        ({"terminated": [1, 0]}, ["terminated", "int64"]),
        ({"terminated": [True]}, ["terminated", "(1,)"]),
        ({"states": [{}, 1, 2]}, ["plain arrays"]),
    ],
)
def test_faults_in_numpy_archives_are_named(tmp_path, changes, culprits, refused):
    assert load(npz_file(tmp_path)) == Demonstrations.from_arrays([[0, 1], [2]], [[5], []], terminated=[True, False])
    with refused("demos.npz", *culprits):
        load(npz_file(tmp_path, **changes))


def test_a_pickle_is_never_opened(tmp_path, refused):
    class Trap:
        def __reduce__(self):
            return (pytest.fail, ("the pickle ran",))

    path = tmp_path / "demos.npz"
    np.savez(path, states=np.array([Trap()], dtype=object))
    with refused("demos.npz", "plain arrays"):
        load(path)
    buffer = io.BytesIO()
    np.save(buffer, np.arange(3))
    path.write_bytes(buffer.getvalue())
    with refused("single array"):
        load(path)


def test_a_few_names_stand_for_many():
    assert _some("hgfedcba") == "a, b, c, d, e, f and 2 more"
    assert _some("fedcba") == "a, b, c, d, e, f"
    assert _some([]) == "nothing"
