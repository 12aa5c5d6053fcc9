"""Fits and models of made-up numbers, and their files."""

import functools
import tempfile
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from robustirl._runtime import double_precision
from robustirl.demonstrations import OccupancyEstimate
from robustirl.irl import Diagnosis, Fit, FitVerdict, History, RobustIRL, save_fit
from robustirl.irl.evidence import Evidence


@double_precision()  # Whatever the test computes in.
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
            *[np.array([0.1, 0.2, 0.7])] * 3, np.array([True, False, True]), 0.1, 0.0, 7, 0.9, "hold", 0.95
        )
    model.fit_, model.evidence_ = made(), Evidence(0.9, 7, 12, False, 0.9, ("take care.",), None, found)
    return model


def same(first, second):
    """The same tree of the very same bits, types included."""
    assert jax.tree.structure(first) == jax.tree.structure(second)
    for one, other in zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True):
        assert one.dtype == other.dtype
        assert np.asarray(one).tobytes() == np.asarray(other).tobytes()


@functools.cache
def content():
    with tempfile.TemporaryDirectory() as folder:
        save_fit(made(), Path(folder) / "fit.npz")
        return (Path(folder) / "fit.npz").read_bytes()


def written(tmp_path, data):
    (tmp_path / "fit.npz").write_bytes(data)
    return tmp_path / "fit.npz"


GOLDEN = Path(__file__).parents[1] / "golden"
