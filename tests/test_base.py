"""Precision, programs, files and long loops: what all rooms stand on."""

import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import robustirl
from robustirl import _jax, planning
from robustirl._files import new_folder, read_arrays, write_arrays, write_atomically
from robustirl._jax import as_float, smallest_tolerance, solver_tolerance, sum_tolerance, tie_tolerance
from robustirl._progress import Interrupted, run_in_stretches
from robustirl.errors import InvalidInputError
from robustirl.mdp import MDP, MarkovGame

SINGLE, DOUBLE = jnp.zeros(1, jnp.float32), jnp.zeros(1, jnp.float64)
TWO_STATES = [[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 0.0]]]


def test_a_first_script_is_exact_and_leaves_jax_alone():
    program = """
        import copy, pickle
        import jax, jax.numpy as jnp, numpy as np
        import robustirl
        from robustirl import MDP, MarkovGame, envs, irl, planning

        env = envs.make("gridworld-4")
        world = env.mdp(noise=0.1)
        rho = planning.state_occupancy(world, planning.expert_policy(world, env.reward))
        fit = irl.fit(env.mdp(noise=0.0), rho, alpha=0.85, steps=20, throw=False)
        assert not jax.config.jax_enable_x64 and jnp.zeros(1).dtype == jnp.float32
        c = np.exp(-1.0)
        exact = 2 * np.log((c + np.sqrt(c * c + 4 * c)) / 2)  # The two-state chain, in closed form.
        game = MarkovGame(MDP(np.array([[[1.0, 0], [0, 1]], [[0, 1], [0, 0]]]), discount=0.5))
        for solver in (planning.Newton(), planning.ValueIteration(), planning.krylov.NewtonKrylov()):
            assert abs(planning.solve(game, [-1.0, 0.0], solver=solver).value[0] - exact) < 1e-10, solver
        assert isinstance(fit.player, np.ndarray) and fit.player.dtype == np.float64
        assert abs((fit.player @ np.ones(4)).sum() - 36) < 1e-10
        for other in (pickle.loads(pickle.dumps(world)), copy.deepcopy(world)):
            for mine, theirs in zip(jax.tree.leaves(world), jax.tree.leaves(other), strict=True):
                assert mine.dtype == theirs.dtype and np.array_equal(mine, theirs)
    """
    environment = {name: value for name, value in os.environ.items() if name != "JAX_ENABLE_X64"}
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(program)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_importing_is_light():
    heavy = ["matplotlib", "rich", "tyro", "scipy.optimize", "scipy.stats", "gymnasium", "minari", "pandas", "pyarrow"]
    heavy += ["ray", "sklearn", "torch"]
    program = f"import sys, robustirl; print([name for name in {heavy} if name in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", program], text=True) == "[]\n"


def test_single_precision_is_had_by_name():
    with robustirl.single_precision():
        for discount in (0.5, 0.99):
            game = MarkovGame(MDP(TWO_STATES, discount=discount), alpha=0.8)
            solvers = planning.Newton(), planning.ValueIteration()
            quick, plain = (planning.solve(game, [-1.0, 0.0], solver=solver) for solver in solvers)
            scale = max(1, np.abs(plain.value).max())
            assert quick.value.dtype == np.float32
            assert np.abs(quick.value - plain.value).max() <= 1e-3 * scale
            assert quick.verdict.error_bound <= 1e-3 * scale
        with pytest.raises(InvalidInputError, match="float32"):
            planning.solve(game, [-1.0, 0.0], tolerance=1e-10)
    solution = planning.solve(game, [-1.0, 0.0])  # Outside, that world is computed with in double precision.
    assert solution.value.dtype == np.float64
    np.testing.assert_allclose(solution.value, quick.value, rtol=1e-3)


@pytest.mark.filterwarnings("ignore:Explicitly requested dtype int64")  # Equinox counts in 64 bits in its error check.
def test_public_functions_work_inside_a_transformation_of_somebody_else():
    world = MDP(TWO_STATES, discount=0.5)

    def value(reward):
        return planning.solve(world, reward, solver=planning.Newton()).value

    rewards = np.array([[-1.0, 0.0], [1.0, 0.0]])
    exact = [value(reward) for reward in rewards]
    with jax.enable_x64(False):
        jitted = jax.jit(value)(jnp.asarray(rewards[0]))
        assert jitted.dtype == jnp.float32
        np.testing.assert_allclose(jitted, exact[0], rtol=1e-6)
        np.testing.assert_allclose(jax.vmap(value)(jnp.asarray(rewards)), exact, rtol=1e-6)


@pytest.mark.parametrize("array", [[1, 2], np.array([1, 2], np.float32), (True, False), jnp.arange(2)])
def test_everything_becomes_a_double(array):
    out = as_float(array)
    assert out.dtype == jnp.float64
    np.testing.assert_array_equal(out, np.asarray(array, float))


@pytest.mark.parametrize("array", [SINGLE, DOUBLE])
def test_tolerances_follow_the_type_and_never_fall_below_what_the_discount_allows(array):
    eps = float(jnp.finfo(array.dtype).eps)
    assert tie_tolerance(array) == 4096 * eps
    assert (sum_tolerance(array.dtype) < 1e-9) == (eps < 1e-10)
    for discount in (0.0, 0.9, 0.999, 1 - 1e-6):
        least = smallest_tolerance(array, jnp.asarray(discount))
        np.testing.assert_allclose(least, 16 * eps / (1 - discount))
        assert solver_tolerance(array, jnp.asarray(discount)) >= least


def test_programs_are_released_once_very_many_were_made(monkeypatch):
    double = _jax.jit(lambda x: 2 * x)
    monkeypatch.setattr(_jax, "MOST_PROGRAMS", 3)
    monkeypatch.setattr(_jax, "_made", 0)
    counts = []
    for size in range(1, 9):
        assert double(np.ones(size)).sum() == 2 * size
        counts.append(_jax._made)
    assert max(counts) <= 4 + 3  # A call of JAX may make a program or two of its own.
    assert counts[-1] < len(counts)


def test_what_is_written_is_whole_or_not_there(tmp_path):
    path = tmp_path / "arrays.npz"
    write_arrays(path, {"x": np.arange(3)})
    with pytest.raises(TypeError):
        write_atomically(path, None)  # pyright: ignore[reportArgumentType]
    assert read_arrays(path.read_bytes())["x"].tolist() == [0, 1, 2]
    with pytest.raises(ZeroDivisionError), new_folder(tmp_path / "out") as folder:
        (folder / "half").write_text(str(1 / 0))
    assert [found.name for found in tmp_path.iterdir()] == ["arrays.npz"]
    with pytest.raises(InvalidInputError, match="not empty"), new_folder(tmp_path):
        pass


def test_a_pickle_in_an_archive_is_never_run(tmp_path):
    class Danger:
        def __reduce__(self):
            return (os.mkdir, (str(tmp_path / "made"),))

    path = tmp_path / "danger.npz"
    np.savez(path, allow_pickle=True, x=np.array([Danger()], object))
    with pytest.raises(ValueError, match="pickle"):
        read_arrays(path.read_bytes())
    assert not (tmp_path / "made").exists()


def test_ctrl_c_keeps_the_last_complete_state():
    threading.Timer(0.3, signal.raise_signal, [signal.SIGINT]).start()

    def advance(n):
        time.sleep(0.02)
        return n + 1

    with pytest.raises(Interrupted) as caught:
        run_in_stretches(0, advance, is_over=lambda n: n > 1000, finish=lambda n: ("fit", n))
    assert caught.value.fit[0] == "fit"
    assert 1 <= caught.value.fit[1] <= 100


def test_a_pickled_world_keeps_its_digits_where_jax_has_half_of_them():
    world = MDP([[[0.1, 0.9]], [[1 / 3, 2 / 3]]], discount=0.9)
    with jax.enable_x64(False):
        found = pickle.loads(pickle.dumps(world))
    for one, other in zip(jax.tree.leaves(world), jax.tree.leaves(found), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
