"""Single and double precision: the scope of public functions, and the tolerances that follow."""

import os
import pickle
import subprocess
import sys
import textwrap
import timeit

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import robustirl
from robustirl import irl, planning
from robustirl._runtime import precision
from robustirl._runtime.precision import (
    as_float,
    smallest_tolerance,
    solver_tolerance,
    sum_tolerance,
    tie_tolerance,
    working_precision,
)
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP, MarkovGame

SINGLE, DOUBLE = jnp.zeros(1, jnp.float32), jnp.zeros(1, jnp.float64)


def in_a_fresh_process(code):
    """Run code in an interpreter where nothing was switched on and warnings are errors."""
    environment = {name: value for name, value in os.environ.items() if name != "JAX_ENABLE_X64"}
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(code)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_the_first_script_is_exact_and_leaves_jax_alone():
    done = in_a_fresh_process(
        """
        import copy, pickle
        import jax, jax.numpy as jnp, numpy as np
        import robustirl
        from robustirl import envs, irl, planning

        env = envs.make("gridworld-1")
        world = env.mdp(noise=0.1)
        rho = planning.state_occupancy(world, planning.expert_policy(world, env.reward))
        learner = env.mdp(noise=0.0)
        fit = irl.fit(learner, rho, alpha=0.85)
        assert not jax.config.jax_enable_x64 and jnp.zeros(1).dtype == jnp.float32

        # The two-state chain of the closed form below, to ten digits.
        kernel = np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 0.0]]])
        c = np.exp(-1.0)
        exact = 2 * np.log((c + np.sqrt(c * c + 4 * c)) / 2)
        game = robustirl.mdp.MarkovGame(robustirl.mdp.MDP(kernel, discount=0.5))
        for solver in (planning.Newton(), planning.ValueIteration(), planning.NewtonKrylov()):
            assert abs(planning.solve(game, [-1.0, 0.0], solver=solver).value[0] - exact) < 1e-10, solver

        # Results are plain arrays; worlds keep all their digits.
        assert isinstance(fit.player, np.ndarray) and fit.player.dtype == np.float64
        assert fit.player.argmax(-1).shape == (100,) and fit.mixture.dtype == np.float64
        assert abs((fit.player @ np.ones(4)).sum() - 100) < 1e-10
        assert abs(float(jnp.sum(fit.player)) - 100) < 1e-3
        assert f"{fit.verdict.occupancy_gap:.3f}" == f"{float(fit.verdict.occupancy_gap):.3f}"
        value = np.linspace(0, 1, 100) / 3
        expected = np.einsum("sat,t->sa", np.asarray(learner.kernel.probabilities), value)
        np.testing.assert_allclose(learner.kernel.expect(value), expected, rtol=0, atol=1e-14)
        for other in (pickle.loads(pickle.dumps(learner)), copy.deepcopy(learner)):
            for mine, theirs in zip(jax.tree.leaves(learner), jax.tree.leaves(other), strict=True):
                assert mine.dtype == theirs.dtype and np.array_equal(mine, theirs)
        assert np.array_equal(pickle.loads(pickle.dumps(fit)).player, fit.player)
        again = irl.fit(learner, fit.expert_occupancy, alpha=fit.alpha)
        assert np.array_equal(again.player, fit.player)
        print(planning.total_return(learner, fit.player, env.reward).item().hex())
        """
    )
    assert done.returncode == 0, done.stderr
    env = robustirl.envs.make("gridworld-1")
    with jax.enable_x64(True):  # The same with JAX's own switch.
        world, learner = env.mdp(noise=0.1), env.mdp(noise=0.0)
        rho = planning.state_occupancy(world, planning.expert_policy(world, env.reward))
        player = irl.fit(learner, rho, alpha=0.85).player
        assert isinstance(player, jax.Array)
        np.testing.assert_allclose(
            float.fromhex(done.stdout), planning.total_return(learner, player, env.reward), rtol=1e-12
        )


def test_single_precision_is_had_by_name():
    kernel = np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 0.0]]])
    with robustirl.single_precision():
        for discount in (0.5, 0.9, 0.99):
            game = MarkovGame(MDP(kernel, discount=discount), alpha=0.8)
            solvers = planning.Newton(), planning.ValueIteration()
            quick, plain = (planning.solve(game, [-1.0, 0.0], solver=solver) for solver in solvers)
            assert quick.value.dtype == np.float32
            assert quick.verdict.converged
            assert plain.verdict.converged
            scale = max(1, np.abs(plain.value).max())
            assert np.abs(quick.value - plain.value).max() <= 1e-3 * scale
            assert quick.verdict.error_bound <= 1e-3 * scale
            assert abs(planning.state_occupancy(game.mdp, quick.mixture).sum() - 1) < 1e-3
        with pytest.raises(InvalidInputError, match="float32"):
            planning.solve(game, [-1.0, 0.0], tolerance=1e-10)
        fit = irl.fit(game.mdp, planning.state_occupancy(game.mdp, quick.player), steps=5)
        assert fit.player.dtype == np.float32
    solution = planning.solve(game, [-1.0, 0.0])  # Outside, that world is computed with in double precision.
    assert solution.value.dtype == np.float64
    np.testing.assert_allclose(solution.value, quick.value, rtol=1e-3)


def test_public_functions_work_inside_a_transformation_of_somebody_else():
    world = MDP([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 0.0]]], discount=0.5)

    def value(reward):
        return planning.solve(world, reward, solver=planning.Newton()).value

    rewards = np.array([[-1.0, 0.0], [1.0, 0.0]])
    exact = [value(reward) for reward in rewards]
    with jax.enable_x64(False):
        jitted = jax.jit(value)(jnp.asarray(rewards[0]))
        assert jitted.dtype == jnp.float32
        np.testing.assert_allclose(jitted, exact[0], rtol=1e-6)
        np.testing.assert_allclose(jax.vmap(value)(jnp.asarray(rewards)), exact, rtol=1e-6)
        whole = jax.jit(lambda world, reward: planning.solve(world, reward).value)(world, jnp.asarray(rewards[0]))
        np.testing.assert_allclose(whole, exact[0], rtol=1e-6)


def test_the_scope_costs_little():
    @working_precision
    def nothing(x):
        return x

    with jax.enable_x64(False):
        seconds = min(timeit.repeat(lambda: nothing(1.0), number=200, repeat=20)) / 200
    assert seconds < 50e-6


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


@pytest.mark.usefixtures("mistyped")
def test_a_pickled_world_keeps_its_digits_where_jax_has_half_of_them():
    world = MDP([[[0.1, 0.9]], [[1 / 3, 2 / 3]]], discount=0.9)
    solution = planning.Verdict(*(np.asarray(x) for x in (True, 7, 0.1, 0.2)))
    with jax.enable_x64(False):
        found = pickle.loads(pickle.dumps(world))
        for one, other in zip(jax.tree.leaves(world), jax.tree.leaves(found), strict=True):
            assert isinstance(other, jax.Array)
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)
        assert isinstance(pickle.loads(pickle.dumps(solution)).residual, np.ndarray)
    with jax.enable_x64(True):
        assert isinstance(pickle.loads(pickle.dumps(solution)).residual, jax.Array)


def test_all_of_jax_is_switched(monkeypatch):
    asked = []
    monkeypatch.setattr(jax.config, "update", lambda *given: asked.append(given))
    robustirl.enable_x64()
    assert asked == [("jax_enable_x64", True)]


@pytest.mark.usefixtures("mistyped")
def test_tolerances_follow_from_the_type_and_the_discount():
    wide, narrow = np.zeros(1), np.zeros(1, dtype=np.float32)
    eps = {8: 2.0**-52, 4: 2.0**-23}
    for array in (wide, narrow):
        assert precision.epsilon(array) == eps[array.itemsize]
        assert precision.tie_tolerance(array) == 4096 * eps[array.itemsize]
        assert precision.smallest_tolerance(array, 0.75) == 64 * eps[array.itemsize]
    assert (precision.sum_tolerance(wide.dtype), precision.sum_tolerance(narrow.dtype)) == (1e-10, 1e-5)
