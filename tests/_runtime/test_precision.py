"""Single and double precision: what is said, and which tolerances follow."""

import os
import subprocess
import sys
import textwrap

import jax.numpy as jnp
import numpy as np
import pytest

import robustirl
from robustirl._runtime.precision import as_float, smallest_tolerance, solver_tolerance, sum_tolerance, tie_tolerance

SINGLE, DOUBLE = jnp.zeros(1, jnp.float32), jnp.zeros(1, jnp.float64)


def in_single_precision(code):
    """Run code in a fresh interpreter where nobody has asked for double precision."""
    environment = {name: value for name, value in os.environ.items() if name != "JAX_ENABLE_X64"}
    code = textwrap.dedent(code)
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)


def test_single_precision_is_announced_once_and_still_solves():
    done = in_single_precision(
        """
        import warnings
        import numpy as np
        from robustirl.errors import InvalidInputError, PrecisionWarning
        from robustirl.mdp import MDP, MarkovGame
        from robustirl.planning import expert_policy, newton, state_occupancy, value_iteration

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for discount in (0.5, 0.9, 0.99):
                kernel = np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 0.0]]])
                game = MarkovGame(MDP(kernel, discount=discount), alpha=0.8)
                quick, plain = newton(game, [-1.0, 0.0]), value_iteration(game, [-1.0, 0.0])
                assert quick.value.dtype == np.float32
                assert quick.verdict.converged and plain.verdict.converged
                scale = max(1, np.abs(plain.value).max())
                assert np.abs(quick.value - plain.value).max() <= 1e-3 * scale, discount
                assert quick.verdict.error_bound <= 1e-3 * scale, discount
                rho = state_occupancy(game.mdp, quick.mixture)
                assert abs(rho.sum() - 1) < 1e-3

        c = np.exp(-1.0)
        way_out = MarkovGame(MDP(kernel, discount=0.5))
        exact = 2 * np.log((c + np.sqrt(c * c + 4 * c)) / 2)
        assert abs(newton(way_out, [-1.0, 0.0]).value[0] - exact) <= 1e-4
        assert expert_policy(way_out.mdp, [-1.0, 0.0], kind="optimal").tolist() == [[0, 1], [1, 0]]

        try:
            newton(way_out, [-1.0, 0.0], tolerance=1e-10)
        except InvalidInputError as error:
            assert "float32" in str(error)
        else:
            raise AssertionError("a tolerance beyond float32 was accepted")

        about = [str(w.message) for w in caught if issubclass(w.category, PrecisionWarning)]
        assert len(about) == 1, about
        assert "float32" in about[0] and "enable_x64" in about[0]
        assert len(caught) == 1, [str(w.message) for w in caught]
        """
    )
    assert done.returncode == 0, done.stderr


def test_a_world_from_before_the_switch_is_refused():
    done = in_single_precision(
        """
        import warnings
        import robustirl
        from robustirl.errors import InvalidInputError

        warnings.simplefilter("ignore")
        world = robustirl.mdp.MDP([[[1.0]]], discount=0.5)
        robustirl.enable_x64()
        for use in (
            lambda: robustirl.planning.solvers.newton(world, [1.0]),
            lambda: robustirl.planning.solvers.value_iteration(robustirl.mdp.MarkovGame(world), [1.0]),
            lambda: robustirl.planning.state_occupancy(world, [[1.0]]),
            lambda: robustirl.planning.total_return(world, [[1.0]], [1.0]),
        ):
            try:
                use()
            except InvalidInputError as error:
                assert "float32" in str(error) and "enable_x64" in str(error), error
            else:
                raise AssertionError("arrays of two precisions were mixed")
        """
    )
    assert done.returncode == 0, done.stderr


def test_double_precision_is_silent():
    done = in_single_precision(
        """
        import warnings
        import robustirl

        warnings.simplefilter("error")
        robustirl.enable_x64()
        world = robustirl.mdp.MDP([[[1.0]]], discount=0.5)
        assert robustirl.planning.solvers.newton(robustirl.mdp.MarkovGame(world), [1.0]).value.dtype == "float64"
        """
    )
    assert done.returncode == 0, done.stderr


def test_the_tests_run_in_double_precision():
    robustirl.enable_x64()
    assert jnp.zeros(1).dtype == jnp.float64


@pytest.mark.parametrize("array", [[1, 2], np.array([1, 2], np.float32), (True, False), jnp.arange(2)])
def test_everything_becomes_a_double(array):
    out = as_float(array)
    assert out.dtype == jnp.float64
    np.testing.assert_array_equal(out, np.asarray(array, float))


def test_default_tolerances_follow_the_type():
    moderate = jnp.asarray(0.9)
    assert solver_tolerance(DOUBLE, moderate) == 1e-10
    assert solver_tolerance(SINGLE, moderate) == 1e-4
    assert sum_tolerance(np.dtype(np.float64)) < 1e-9 < sum_tolerance(np.dtype(np.float32)) < 1e-4
    assert 1e-13 < tie_tolerance(DOUBLE) < 1e-11 < tie_tolerance(SINGLE) < 1e-2


@pytest.mark.parametrize("array", [SINGLE, DOUBLE])
def test_tolerances_never_fall_below_what_the_discount_allows(array):
    eps = float(jnp.finfo(array.dtype).eps)
    for discount in (0.0, 0.9, 0.999, 1 - 1e-6):
        least = smallest_tolerance(array, jnp.asarray(discount))
        np.testing.assert_allclose(least, 16 * eps / (1 - discount))
        assert solver_tolerance(array, jnp.asarray(discount)) >= least
