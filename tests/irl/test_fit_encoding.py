"""Saved arrays that do not go together are refused when they are read, and not when they are used."""

import numpy as np
import pytest

from robustirl.irl import load_fit
from robustirl.irl._archive import Archive, read_archive, write_archive
from tests.irl.saved import GOLDEN, content, written


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
    note, arrays = read_archive(written(tmp_path, content()))
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
