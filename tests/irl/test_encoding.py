"""Rewards, trees and optimizers as data, and back."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from robustirl.irl import ADAM, load_fit, save_fit
from robustirl.irl._archive import read_archive
from robustirl.planning import Temperatures
from tests.irl.saved import fitted, made, same


def test_the_default_optimizer_is_known_by_name(tmp_path):
    fitted(optimizer=ADAM).save(tmp_path / "model.npz")
    assert read_archive(tmp_path / "model.npz").note["parameters"]["optimizer"] == "ADAM"


def test_a_layer_without_a_bias_comes_back_without_one(tmp_path):
    layer = eqx.nn.Linear(3, 2, use_bias=False, key=jax.random.key(1))
    save_fit(made((layer,)), tmp_path / "fit.npz")
    loaded: Any = load_fit(tmp_path / "fit.npz")
    again: Any = loaded.parameters
    assert again[0].bias is None
    assert (again[0].in_features, again[0].out_features) == (3, 2)
    same(again, (layer,))


def test_a_part_of_ones_own_kind_becomes_a_tuple_where_it_is(tmp_path):
    tree = Temperatures(jnp.zeros(2), jnp.ones(3))  # pyright: ignore[reportArgumentType]
    with pytest.warns(UserWarning, match="cannot be saved as such"):
        save_fit(made({"a": tree, "b": [None, (jnp.zeros(1),)]}), tmp_path / "fit.npz")
    loaded: Any = load_fit(tmp_path / "fit.npz")
    again: Any = loaded.parameters
    assert [leaf.tolist() for leaf in again["a"]] == [[0, 0], [1, 1, 1]]
    assert again["b"][0] is None
